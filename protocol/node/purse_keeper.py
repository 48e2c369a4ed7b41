"""The purse of this node's player, and what is known of those of others.

A purse that somebody brings to a table is in order if this node knows exactly that head as the newest one; so whoever
brings it has to show it first. The store holds the purses that were brought to a match. What was only shown is
forgotten in time: nothing was lost or won with it.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from p2pdice import NEWCOMER_COINS
from p2pdice.plurals import plural
from protocol.consensus.history import History
from protocol.consensus.purse_links import read_shown, write_links
from protocol.consensus.purse_proofs import (
    End,
    Relation,
    Shown,
    after,
    compare,
    fork_of,
    genesis_of,
    is_end,
    is_fork,
    read_end,
    read_fork,
    write_fork,
)
from protocol.consensus.settlements import gather, stakes_of
from protocol.crypto.keys import PurseKey
from protocol.errors import NodeError
from protocol.limits import FROZEN, PURSE, PURSE_LINKS, PURSE_SERIES, PURSES_SEEN
from protocol.match.own_purse import OwnPurse, PurseError
from protocol.storage import archive
from protocol.storage.purses import Met
from protocol.storage.store import DamagedPurseError, Store, StoredMatch, StoreError
from protocol.wire.genesis import Genesis, Join
from protocol.wire.purses import Entry, EntryKind, MalformedPurseError, Purse, Settled, following, verified

log = logging.getLogger(__name__)


class Taken(NamedTuple):
    """What came of a purse that was shown."""

    key: bytes
    shown: Shown | None = None
    """The purse; None for a fork or an end."""
    back: tuple[bytes, ...] = ()
    """To be sent back to whoever showed it: newer entries, a fork, or what is known here, from which the owner has to
    show how the purse goes on."""
    news: bytes = b""
    """What the owner has to see of it, if this node did not know it."""
    has_gap: bool = False
    """What was shown and what is known are so far apart that only the owner can show what is between."""
    end: End | None = None
    """The end of a match, for somebody else."""


class PurseKeeper:
    """See the module.

    :param identity: that of the node's player.
    :param tell: tells the owner something, as a sentence.
    """

    def __init__(self, store: Store, identity: bytes, tell: Callable[[str], None]) -> None:
        self._store = store
        self._kept = store.purses
        self._identity = identity
        self._tell = tell
        self._own: OwnPurse | None = None
        self._seen: OrderedDict[bytes, Met] = OrderedDict()
        """What is known of the purses of others that were shown of late, by their keys."""
        self._held: dict[Genesis, frozenset[bytes]] = {}
        """Keys of purses in matches that this node has signed and is not bound to yet."""
        self._brought: dict[bytes, frozenset[bytes]] = {}
        """Keys of the purses that were brought to settled matches which others asked about of late: reading that from
        the evidence takes a while."""
        self._staking: Genesis | None = None
        """The match that binds this node, as long as it waits for the stake. It names the purse as it was brought, so
        nothing else may be added to it."""
        self._unanswered: set[int] = set()
        """Heights of one's own purse behind which entries are missing, as the owner was told."""
        self._tried_at = b""
        """The head at which matches were last settled late: looking through them takes time, and a table is shown
        often."""

    # One's own

    @property
    def own(self) -> OwnPurse:
        """The purse, which is opened when it is first asked for.

        :raises StoreError: if the store does not work, or what it holds of the purse is damaged.
        """
        if self._own is None:
            try:
                known = self._kept.own(self._identity)
            except MalformedPurseError as error:  # no peer's doing
                raise DamagedPurseError(f"the store is damaged: {error}") from None
            if known is not None:
                seed, shown = known
                self._own = OwnPurse(PurseKey(seed), shown, self._kept.keep)
            else:
                self._own = self._open(0 if self._kept.had_one(self._identity) else NEWCOMER_COINS)
        return self._own

    def _open(self, grant: int) -> OwnPurse:
        """Open a purse in place of the one before, if there was one."""
        seed = secrets.token_bytes(32)
        opened = OwnPurse.opened(seed, self._identity, self._kept.keep, grant)
        self._kept.add(seed, opened.shown.entries[0], opened.purse)
        self._unanswered.clear()
        return opened

    def bring(self) -> tuple[Purse, bytes]:
        """Return the purse for a join record, and the proof that is shown with it. What could not be settled at the end
        of its match is settled first, if it can be now.

        :raises PurseError: if nothing more can be frozen in it.
        """
        self.settle_late()
        if len(self.own.purse.frozen) >= FROZEN:
            raise PurseError(
                f"{FROZEN} stakes are frozen in your purse: finish one of these matches, or give one up with"
                " p2pdice purse forfeit"
            )
        if not self.own.has_room:
            raise PurseError(
                "too many of your stakes came after the last match that was settled, so the purse has no room for"
                " another one: return to the newest of these matches that can still be finished; if there is none,"
                " begin another purse: p2pdice purse new"
            )
        return self.own.purse, self.own.proof()

    def freeze(self, entry: Entry) -> bytes | None:
        """Freeze a stake by this entry, and return the signature; None if the purse was brought in another state."""
        signature = self.own.freeze(entry)
        if signature is not None:
            self._staking = None
        return signature

    def begin_anew(self) -> None:
        """End the purse, also one that cannot be read, and open another one, without a grant."""
        self._own = self._open(0)

    def _end_own(self) -> None:
        self.begin_anew()
        self._tell(
            "Two entries of your purse contradict each other, as after going back to a backup, so it has ended. You"
            " begin a new one, without coins. Nobody takes this for cheating."
        )

    # Matches

    def hold(self, *geneses: Genesis) -> None:
        """Remember the purses of matches until they are released, however many others are shown meanwhile, and also
        after a crash. Those of earlier matches that are not held any more are forgotten.

        :raises StoreError: if that cannot be written.
        """
        with_purses = [genesis for genesis in geneses if genesis.has_purses]
        if not with_purses:
            return
        self._held.update((genesis, genesis.purse_keys) for genesis in with_purses)
        held = sorted(self._held_keys)
        known = [met.shown for key in held if (met := self._met(key)) is not None and not met.is_kept]
        self._kept.hold([shown for shown in known if shown is not None], held)

    @property
    def _held_keys(self) -> frozenset[bytes]:
        return frozenset().union(*self._held.values())

    def release(self, genesis: Genesis) -> None:
        """Remember the purses of a match no longer than others, and wait for no stake in it."""
        self._held.pop(genesis, None)
        self.expect_no_stake(genesis)

    def expect_no_stake(self, genesis: Genesis) -> None:
        """Wait for no stake in a match any more: it is over, or will not begin."""
        if self._staking == genesis:
            self._staking = None

    def meet(self, genesis: Genesis) -> None:
        """Store what is known of the purses that others have brought to a match that this node is bound to."""
        for record in genesis.roster:
            purse = record.join.purse
            met = self._met(purse.key) if purse is not None and purse.key != self.own.key.public else None
            if met is None or met.shown is None or met.is_kept:
                continue
            self._kept.remember(met.shown)
            if met.fork:
                self._kept.keep_fork(met.shown.purse.key, met.fork)
            self._remember(met.shown.purse.key, met._replace(is_kept=True))
        self._held.pop(genesis, None)
        if self.is_brought_to(genesis):
            self._staking = genesis

    def is_brought_to(self, genesis: Genesis) -> bool:
        """Tell whether one's own purse, as it is now, stands in a join record of a match."""
        return genesis.has_purses and any(record.join.purse == self.own.purse for record in genesis.roster)

    @property
    def _has_to_stay(self) -> bool:
        """Whether a match that has begun, or may begin, names one's own purse as it is now."""
        return self._staking is not None or any(map(self.is_brought_to, self._held))

    def note(self, history: History) -> None:
        """Take over what the stakes of a match have frozen, once they are open: of others, and what one's own purse has
        lost since."""
        self.expect_no_stake(history.genesis)
        for author, stake in stakes_of(history).items():
            brought = history.genesis.roster[author].join.purse
            assert brought is not None
            entry = following(brought, stake.freeze)
            if entry.purse == self.own.key.public:
                self.own.freeze(entry)  # a store put back from a backup may lack it
                continue
            met, signed = self._met(entry.purse), verified(entry, stake.signature)
            if met is None or met.shown is None or signed is None:
                continue
            if (found := fork_of(met.shown.entries, (signed,))) is not None:
                self._end(entry.purse, write_fork(found))
            elif met.shown.purse == brought:
                longer = met.shown._replace(entries=(*met.shown.entries, signed), purse=after(brought, signed))
                is_short = len(longer.encoded()) <= PURSE
                self._see(longer if is_short else met.shown, is_kept=True)

    def remind(self, history: History) -> None:
        """Tell the owner of a match that goes on if its end will bring nothing into the purse."""
        last = self._kept.last_of(self._identity, history.match)
        if last is EntryKind.FORFEIT:
            self._tell("You have given up what you staked in this match, so its end brings nothing into your purse")
        elif last is EntryKind.SETTLEMENT:
            self._tell("This match is settled in your purse already: others have shown its end")

    def settle(self, history: History) -> bool:
        """Settle a match that is over; tell whether there is nothing more to settle in it. That has to wait while the
        purse, as it is, stands in another match that may begin."""
        if self.own.purse.frozen_for(history.match) is None:
            return True
        if self._has_to_stay:
            return False
        evidence = gather(history)
        return evidence is not None and self._settle(history.match, evidence.encoded())

    def _settle(self, match: bytes, evidence: bytes, kind: EntryKind = EntryKind.SETTLEMENT) -> bool:
        """Settle a match by evidence, or take back what is frozen for it; tell whether there is nothing more to settle
        in it."""
        try:
            if kind is EntryKind.VOID:
                self.own.void(match, evidence)
                self._tell(
                    f"A match is void, as all its players have signed: you can bet {_coins(self.own.purse.funds)}"
                )
                return True
            signed = self.own.settle(evidence)
        except PurseError as error:
            log.warning("match %s cannot be settled yet: %s", match.hex()[:8], error)
            return False
        except MalformedPurseError as error:
            log.warning("match %s cannot be settled: %s", match.hex()[:8], error)
            return True
        if signed is not None and isinstance(signed.entry.body, Settled):
            body = signed.entry.body
            change = f"{body.change:+,d} {plural(body.change, 'coin')}"
            self._tell(f"{change}: your purse has {_coins(body.balance)} now")
        return True

    def settle_late(self) -> None:
        """Settle the matches in the store that are over and for which something is frozen still: too few had signed the
        end, the purse had no room, or the power failed."""
        if self._has_to_stay or self.own.purse.head == self._tried_at:
            return  # or nothing has changed since
        frozen = [self._store.match(each.match) for each in self.own.purse.frozen]
        left = [found for each in frozen if each is not None and each.over and (found := self._history(each))]
        tried: list[History] | None = None
        while left != tried:  # each settlement can make room for another
            tried, left = left, [history for history in left if not self.settle(history)]
        self._tried_at = self.own.purse.head

    def _history(self, stored: StoredMatch) -> History | None:
        try:
            return archive.replica(self._store, stored).history
        except (NodeError, StoreError) as error:
            log.warning("match %s cannot be settled: %s", stored.match.hex()[:8], error)
            return None

    # Those of others

    def knows(self, data: bytes) -> bool:
        """Tell whether these bytes are what is known of a purse already, without looking into them."""
        return any(met.proof == data and not met.fork for met in self._seen.values())

    def _met(self, key: bytes) -> Met | None:
        met = self._seen.get(key) or self._kept.met(key)
        if met is not None:
            self._remember(key, met)
        return met

    def _see(self, shown: Shown, *, is_kept: bool) -> None:
        """Take a purse as the newest that is known."""
        shown = shown._replace(links=())
        if is_kept:
            self._kept.remember(shown)
        self._remember(shown.purse.key, Met(shown, shown.encoded(), is_kept=is_kept))

    def _remember(self, key: bytes, met: Met) -> None:
        self._seen[key] = met
        self._seen.move_to_end(key)
        held = self._held_keys
        if len(self._seen.keys() - held) > PURSES_SEEN:
            del self._seen[next(each for each in self._seen if each not in held)]

    def take(self, data: bytes) -> Taken:
        """Take what somebody has shown or handed back.

        :raises MalformedPurseError: if it is no right proof, fork or end of a match.
        """
        if is_fork(data):
            return self._take_fork(data)
        if is_end(data):
            return self._take_end(data)
        shown = read_shown(data)
        key = shown.purse.key
        if key == self.own.key.public:
            return self._take_own(shown, data)
        met = self._met(key)
        if met is not None and met.fork:
            return Taken(key, shown, (met.fork,))
        if met is None or met.shown is None:
            self._see(shown, is_kept=met is not None and met.is_kept)
            return Taken(key, shown, news=data)
        relation = compare(met.shown, shown)
        if relation is Relation.FORK:
            found = fork_of(met.shown.entries, shown.entries)
            assert found is not None
            fork = write_fork(found)
            self._end(key, fork)
            return Taken(key, shown, (fork,), fork)
        if relation is Relation.OLDER:
            return Taken(key, shown, (met.proof,), has_gap=compare(shown, met.shown) is Relation.GAP)
        if relation is Relation.GAP and (met.is_kept or key in self._held_keys):
            return Taken(key, shown, (met.proof,), data, has_gap=True)
        if relation is Relation.SAME:
            return Taken(key, shown)
        self._see(shown, is_kept=met.is_kept)
        return Taken(key, shown, news=data)

    def _take_own(self, shown: Shown, data: bytes) -> Taken:
        """Take over newer entries of one's own purse, or show how it goes on from older ones."""
        key, height = shown.purse.key, shown.purse.height
        if self._staking is not None and height >= self.own.purse.height:
            return Taken(key, shown)
        mine = self._kept.entry(key, height)
        known = self.own.shown.entries if mine is None else (*self.own.shown.entries, mine)
        if (found := fork_of(known, shown.entries)) is not None:
            if self._staking is not None:
                return Taken(key, shown)
            fork = write_fork(found)
            self._end_own()
            return Taken(key, shown, (fork,), fork)
        if self.own.adopt(shown):
            self._tell(f"Others knew newer entries of your purse. It has {_coins(self.own.purse.balance)} now")
            return Taken(key, shown, news=data)
        if height == self.own.purse.height:
            return Taken(key, shown)
        series = self._continued(height, shown.purse.head) if mine is not None else ()
        if not series and height not in self._unanswered:
            self._unanswered.add(height)
            self._tell(
                "Somebody knows your purse from before entries that you lost with an old backup, so you cannot play"
                " for stakes with them. They would accept a new purse, without coins (p2pdice purse -h says more)"
            )
        return Taken(key, shown, series)

    def _continued(self, height: int, head: bytes) -> tuple[bytes, ...]:
        """Return proofs of one's own purse that go on from this entry, one from the other, as far as a few of them go;
        nothing if entries are missing."""
        series: list[bytes] = []
        while len(series) < PURSE_SERIES and height < self.own.purse.height:
            found = self._kept.continued(self.own.key.public, height, PURSE_LINKS)
            if found is None:
                break
            between, proof, last = found
            series.append(write_links((height, head), between, proof) if between else proof)
            height, head = last.entry.height, last.id
        return tuple(series)

    def _take_fork(self, data: bytes) -> Taken:
        key = read_fork(data)[0].entry.purse
        if key == self.own.key.public:
            if self._staking is not None:
                return Taken(key)
            self._end_own()
            return Taken(key, news=data)
        met = self._met(key)
        if met is not None and met.fork:
            return Taken(key)
        self._end(key, data)
        return Taken(key, news=data)

    def _take_end(self, data: bytes) -> Taken:
        end, before = read_end(data), self.own.purse
        if end.key != before.key:
            return Taken(end.key, news=data, end=end)
        # A match that may begin, but does not bind this node, is proposed again with the purse as it is then.
        if before.frozen_for(end.match) is not None and self._staking is None:
            self._settle(end.match, end.evidence, end.kind)
        return Taken(end.key, news=data if self.own.purse != before else b"")

    def ends(self, join: Join, but: Collection[bytes] = ()) -> tuple[End, ...]:
        """Return, for the owner of a purse that is brought, the ends of matches for which something is frozen in it: of
        those that are settled or void in a purse of this node's player.

        :param but: matches whose ends the owner was shown already.
        """
        purse = join.purse
        if purse is None or purse.key == self.own.key.public:
            return ()
        ends = self._kept.ends([each.match for each in purse.frozen if each.match not in but], purse.key)
        # Anybody can freeze something for a match that they were not in.
        return tuple(end for end in ends if purse.key in self._purses_of(end))

    def _purses_of(self, end: End) -> frozenset[bytes]:
        """Return the keys of the purses that were brought to a match which this node's purse has settled."""
        if end.match not in self._brought:
            while len(self._brought) >= PURSES_SEEN:
                del self._brought[next(iter(self._brought))]
            self._brought[end.match] = frozenset()
            with suppress(MalformedPurseError):  # the store is damaged
                self._brought[end.match] = genesis_of(end.evidence).purse_keys
        return self._brought[end.match]

    def _end(self, key: bytes, fork: bytes) -> None:
        met = self._met(key) or Met(None, b"")
        if met.is_kept:
            self._kept.keep_fork(key, fork)
        self._remember(key, met._replace(proof=b"", fork=fork))

    def flaw(self, join: Join) -> str:
        """Return why a purse that is brought is not in order; empty if it is."""
        purse = join.purse
        if purse is None:
            return "no purse was shown"
        if purse.key == self.own.key.public:
            if join.identity != self._identity:
                return "the purse is somebody else's"
            return "" if purse == self.own.purse else "the purse has changed since"
        met = self._met(purse.key)
        if met is None or (met.shown is None and not met.fork):
            return "the purse was not shown"
        if met.fork:
            return "two entries of the purse contradict each other, so it has ended"
        assert met.shown is not None
        if met.shown.identity != join.identity:
            return "the purse is somebody else's"
        if met.shown.grant and self._kept.has_brought_another(join.identity, purse.key):
            return (
                "this key had a newcomer's coins in another purse: bring that purse back from a backup, or begin one"
                " without coins (p2pdice purse new)"
            )
        if purse.height < met.shown.purse.height:
            return "newer entries of the purse are known here, and have not been taken over"
        if purse.height > met.shown.purse.height:
            return "it was not shown how the purse goes on from what is known of it here"
        return "" if purse == met.shown.purse else "the purse is not as it was shown"

    def differing(self, join: Join) -> bytes:
        """Return what the owner of a purse that is brought has to see: a fork, or what is known, if it is newer or
        older; empty if that is nothing."""
        if join.purse is None or (met := self._met(join.purse.key)) is None:
            return b""
        is_other = met.shown is not None and met.shown.purse.height != join.purse.height
        return met.fork or (met.proof if is_other else b"")

    def known(self, join: Join) -> bytes:
        """Return what is known of the purse in a join record, to be shown to others; empty if nothing is."""
        if join.purse is None:
            return b""
        if join.purse.key == self.own.key.public:
            return self.own.proof()
        met = self._met(join.purse.key)
        return b"" if met is None else met.fork or met.proof


def _coins(count: int) -> str:
    return f"{count:,} {plural(count, 'coin')}"
