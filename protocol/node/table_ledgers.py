"""The purses at one table with stakes. All players show and judge them. A player who knows more records of a purse
than its owner hands these back.

A host judges a purse only by what its owner has signed in it, never by anything else that a guest says about it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from protocol import limits
from protocol.consensus.ends import Shown, read_shown
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import JoinTable, ShowLedger
from protocol.wire.genesis import JoinRecord
from protocol.wire.purses import MalformedPurseError

PATIENCE: Final = 5.0
"""Seconds for an owner to take over what was handed back and sit down again. Guests wait twice as long for others, so
that the host is the first to give up on the owner."""


class Acts(NamedTuple):
    """Actions that a host or a guest takes because of purses."""

    join: Callable[[bytes, JoinTable], None]
    """For a host: continue with the JOIN of a peer whose purse is in order."""
    lose: Callable[[bytes, str, str], None]
    """For a host: refuse a peer, seated or not. For a guest: leave the table. The arguments are the identity, the
    nickname (empty if none was shown) and the reason."""
    again: Callable[[bytes], None]
    """Make a new join record, because the owner's purse has changed; a guest then sends LEDGER and JOIN. The argument
    identifies the peer that handed the purse back, or the owner if no peer did."""
    changed: Callable[[], None]
    """React to changed purses. A host withdraws its proposal until they are in order; a guest reconsiders the host's
    latest proposal."""


class TableLedgers:
    """The purses at one table, for the host or a guest.

    For the host, the purse of a guest is the one shown for the guest's current join record. A purse shown for another
    join record waits for the JOIN with that record.

    :param records: returns the join records of all players at the table; a guest has none.
    :param host: the identity of the host; empty at the owner's own table.
    :param has_stakes: whether the rules require purses. If not, JOINs are passed on and nothing else is done.
    """

    def __init__(
        self,
        runtime: Runtime,
        acts: Acts,
        records: Callable[[], Sequence[JoinRecord]],
        host: bytes = b"",
        *,
        has_stakes: bool,
    ) -> None:
        self.has_stakes = has_stakes
        self._runtime = runtime
        self._purses = runtime.purses
        self._acts = acts
        self._records = records
        self._host = host
        self._queues: dict[bytes, deque[ShowLedger | JoinTable]] = {}
        """The frames of each peer that wait for their turn."""
        self._paces = Buckets[bytes](limits.LEDGER_RATE, limits.LEDGER_BURST, limits.PEERS_PACED)
        self._pace = Bucket(limits.TABLE_LEDGER_RATE, limits.TABLE_LEDGER_BURST, runtime.loop.time())
        self._next: asyncio.TimerHandle | None = None
        self._patience: dict[bytes, asyncio.TimerHandle] = {}
        """Timers for owners whose purse is not in order."""
        self._pending: dict[bytes, Shown] = {}
        """For a host: purses shown for join records that have no seat yet."""
        self._players: Collection[bytes] = ()
        """For a guest: the players in the host's latest TABLE."""
        self._handed: set[tuple[bytes, bytes]] = set()
        """For a host: the guests who have handed back a purse, each with its owner."""
        self._forget()

    def _forget(self) -> None:
        self._purses.shown.clear()
        self._purses.handed.clear()

    def close(self) -> None:
        """Forget the table and cancel all timers."""
        for timer in (self._next, *self._patience.values()):
            if timer is not None:
                timer.cancel()
        self._queues.clear()
        self._forget()

    def release(self, identity: bytes) -> None:
        """Forget a player who left the table or never sat down."""
        self._queues.pop(identity, None)
        self._note(identity, is_flawed=False)
        self._pending.pop(identity, None)
        self._purses.shown.pop(identity, None)
        self._purses.handed.pop(identity, None)
        self._handed = {pair for pair in self._handed if pair[1] != identity}

    def follow(self, players: Collection[bytes]) -> None:
        """For a guest: forget all players who are not at the table according to its host."""
        self._players = players
        for identity in {*self._purses.shown, *self._patience} - {self._runtime.identity.public, self._host, *players}:
            self.release(identity)

    def flawed(self) -> list[bytes]:
        """Return the owners whose purses at this node's own table are not in order, so that no match can be proposed.
        Guests among them get some time to sit down again."""
        if not self.has_stakes:
            return []
        (own, *guests), mine = self._records(), self._purses.own
        is_own = own.join.head == mine.purse.head and not mine.busy
        others = [guest.join.identity for guest in guests if self._purses.flaw(guest)]
        for owner in others:
            self._note(owner, is_flawed=True)
        return others if is_own else [own.join.identity, *others]

    # Purses to send

    def own(self, record: JoinRecord) -> ShowLedger:
        """Return the LEDGER that a guest sends before JOIN. If the purse stays busy, the guest leaves."""
        self._note(self._runtime.identity.public, is_flawed=bool(self._purses.find_hindrance()))
        return ShowLedger(*self._purses.show(record).wire)  # type: ignore[arg-type]

    def spread(self, record: JoinRecord) -> None:
        """Send all others the purse of a player with a new join record."""
        if (pending := self._pending.get(record.join.identity)) is not None and pending.record == record:
            self._purses.shown[record.join.identity] = self._pending.pop(record.join.identity)
        for guest in self._records()[1:]:
            self._show(record, guest.join.identity)

    def show_to(self, identity: bytes) -> None:
        """Send a seated guest what may have been lost with its last link: the purses of all others, and what its own
        lacks."""
        for record in self._records():
            self._show(record, identity)
        if (own := self._purses.shown.get(identity)) is not None:
            self._accepts(own)

    def _show(self, record: JoinRecord, identity: bytes) -> None:
        owner, shown = record.join.identity, self._purses.shown.get(record.join.identity)
        if owner == self._runtime.identity.public and self.has_stakes:
            shown = self._purses.show(record)
        if owner != identity and shown is not None and shown.record == record:
            self._post(identity, shown)

    def _post(self, identity: bytes, shown: Shown) -> None:
        self._runtime.post(identity, ShowLedger(*shown.wire))  # type: ignore[arg-type]

    # Frames received

    def take(self, sender: bytes, frame: ShowLedger | JoinTable) -> None:
        """Check a purse that a peer shows, or continue with a JOIN if its purse is in order. Peers take turns."""
        if not self.has_stakes:
            if isinstance(frame, JoinTable):
                self._acts.join(sender, frame)
            return
        self._queues.setdefault(sender, deque(maxlen=limits.LEDGERS_WAITING)).append(frame)
        if self._next is not None:
            self._next.cancel()  # a peer that comes too fast must not delay the others
        self._take_turns()

    def _take_turns(self) -> None:
        self._next = None
        now = self._runtime.loop.time()
        with self._runtime.stopping_at_disk_errors():
            while self._queues:
                waits = {sender: self._wait_for(sender, now) for sender in self._queues}
                sender = min(waits, key=lambda each: waits[each])
                if waits[sender]:
                    self._next = self._runtime.loop.call_later(waits[sender], self._take_turns)
                    return
                queue = self._queues.pop(sender)
                frame = queue.popleft()
                if queue:
                    self._queues[sender] = queue  # after all others
                self._look(sender, frame)

    def _wait_for(self, sender: bytes, now: float) -> float:
        if isinstance(self._queues[sender][0], JoinTable):
            return 0.0
        return max(self._pace.wait(now), self._paces.bucket(sender, now).wait(now))

    def _look(self, sender: bytes, frame: ShowLedger | JoinTable) -> None:
        if isinstance(frame, JoinTable):
            self._admit(sender, frame)
            return
        self._paces.bucket(sender, self._runtime.loop.time()).take()
        self._pace.take()
        try:
            shown = read_shown(*frame)
        except MalformedPurseError as error:
            self._lose(sender, f"what was shown of a purse cannot be accepted: {error}")
            return
        if not self._host and shown.owner != sender and sender not in self._purses.shown:
            return  # only seated guests are shown purses, so only they can hand one back
        if shown.owner == self._runtime.identity.public:
            if self._purses.take_own(shown):
                self._acts.again(sender)
        elif self._host:
            if shown.owner == self._host or shown.owner in self._players:
                self._purses.shown[shown.owner] = shown
                if self._accepts(shown):
                    self._acts.changed()
        elif shown.owner == sender:
            self._pending[sender] = shown
        elif shown.owner in self._purses.shown and self._purses.take_handed(shown):
            if (sender, shown.owner) in self._handed:  # honest guests hand back the newest first
                self._lose(sender, "another player's purse was handed back in parts")
            self._handed.add((sender, shown.owner))
            self._accepts(self._purses.shown[shown.owner])
            self._acts.changed()

    def _shown_by(self, owner: bytes) -> Shown | None:
        """Return the purse that an owner showed last; None if there is none."""
        return self._pending.get(owner) or self._purses.shown.get(owner)

    def _admit(self, sender: bytes, frame: JoinTable) -> None:
        """Continue with a JOIN if the purse is in order."""
        shown = self._shown_by(sender)
        if shown is None or shown.record.wire != frame.record:
            self._lose(sender, "a purse has to be shown before a seat is asked for")
        elif self._accepts(shown):
            self._acts.join(sender, frame)

    def _accepts(self, shown: Shown) -> bool:
        """Return whether a purse is in order. If records are missing, send them to the owner (a guest does so through
        the host) and wait for a better purse. If anything else is wrong, a host refuses the owner at once."""
        owner, verdict = shown.owner, self._purses.judge(shown)
        if verdict.refusal and not self._host:
            self._lose(owner, verdict.refusal)
            return False
        if verdict.back is not None:
            self._post(self._host or owner, verdict.back)
        self._note(owner, is_flawed=bool(verdict.flaw))
        return not verdict.flaw

    def _note(self, owner: bytes, *, is_flawed: bool) -> None:
        """Start an owner's time limit when a flaw is found in the purse; stop it when the purse is in order."""
        if not is_flawed:
            if (timer := self._patience.pop(owner, None)) is not None:
                timer.cancel()
        elif owner not in self._patience:
            is_others = self._host and owner != self._runtime.identity.public
            patience = 2 * PATIENCE if is_others else PATIENCE
            self._patience[owner] = self._runtime.loop.call_later(patience, self._stop_waiting, owner)

    def _stop_waiting(self, owner: bytes) -> None:
        self._patience.pop(owner, None)
        is_own = owner == self._runtime.identity.public
        with self._runtime.stopping_at_disk_errors():
            flaw = self._purses.find_hindrance() if is_own else self._flaw(owner)
            if flaw:
                self._lose(owner, flaw)
            elif is_own:
                self._acts.again(owner)  # the match that it was busy with is now settled

    def _flaw(self, owner: bytes) -> str:
        """Return why the purse of a player who sits or wants to sit here is not in order; empty if it is."""
        seated = (record for record in self._records() if record.join.identity == owner)
        flaw, shown = next(map(self._purses.flaw, seated), ""), self._shown_by(owner)
        return flaw or (self._purses.judge(shown).flaw if shown is not None else "")

    def _lose(self, identity: bytes, reason: str) -> None:
        name = shown.record.join.nickname if (shown := self._shown_by(identity)) is not None else ""
        self.release(identity)
        is_own = identity == self._runtime.identity.public
        self._acts.lose(identity, name, reason if is_own else f"the purse cannot be used: {reason}")
