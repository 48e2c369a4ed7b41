"""The purse of this node's player: it grows by what the player stakes, wins and gives up. Sans-I/O.

An entry is kept before anything that depends on it is sent. A purse never signs two entries of one height: that would
end it for everybody who sees both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from p2pdice import NEWCOMER_COINS
from p2pdice.moves import MAX_COINS
from protocol.consensus.purse_proofs import (
    Relation,
    Shown,
    after,
    begins_at,
    compare,
    genesis_of,
    needs_evidence,
    settlement,
    stake_in,
)
from protocol.consensus.settlements import read_evidence
from protocol.consensus.voids import check_void
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import SIGNATURE_BYTES, PurseKey
from protocol.errors import LocalError
from protocol.limits import PURSE
from protocol.wire.purses import (
    Body,
    Entry,
    EntryKind,
    Forfeit,
    Freeze,
    MalformedPurseError,
    Opening,
    Purse,
    SignedEntry,
    Void,
    following,
    sign_entry,
)

Keep = Callable[[Sequence[tuple[SignedEntry, bytes]], Purse], None]
"""Stores entries, each with its evidence, if it needs any, and the purse after them: all of it or nothing."""


class PurseError(LocalError):
    """The purse cannot do that. The text says why."""


class OwnPurse:
    """One purse, with its key.

    :param shown: the purse from the last entry on at which a proof can begin.
    """

    def __init__(self, key: PurseKey, shown: Shown, keep: Keep) -> None:
        self.key = key
        self.shown = shown
        self._keep = keep

    @classmethod
    def opened(cls, seed: bytes, identity: bytes, keep: Keep, grant: int = NEWCOMER_COINS) -> OwnPurse:
        """Open a purse. The caller keeps its first entry.

        :param grant: a newcomer's coins; 0 after another purse of the same owner.
        """
        key = PurseKey(seed)
        signed = sign_entry(Entry(key.public, 0, b"", Opening(identity, grant)), key)
        return cls(key, Shown(identity, after(None, signed), (signed,), ()), keep)

    @property
    def purse(self) -> Purse:
        """The purse at its head."""
        return self.shown.purse

    def proof(self) -> bytes:
        """Return what a table is shown."""
        return self.shown.encoded()

    @property
    def has_room(self) -> bool:
        """Whether the purse can be shown after another FREEZE."""
        entry = following(self.purse, Freeze(bytes(HASH_BYTES), MAX_COINS, MAX_COINS))
        largest = SignedEntry(entry.encoded(), bytes(SIGNATURE_BYTES), entry, b"")
        return len(self.shown._replace(entries=(*self.shown.entries, largest)).encoded()) <= PURSE

    def freeze(self, entry: Entry) -> bytes | None:
        """Freeze a stake by this entry, and return the signature; None if the purse was brought in another state.

        Once more gives the same signature.
        """
        for signed in self.shown.entries:
            if signed.entry == entry:
                return signed.signature
        if entry != following(self.purse, entry.body):
            return None
        try:
            return self._append(entry.body).signature
        except (MalformedPurseError, PurseError):
            return None

    def settle(self, evidence: bytes) -> SignedEntry | None:
        """Settle the match that this is evidence for; None if nothing is frozen for it (any more).

        :raises MalformedPurseError: if it is no evidence, or tells of another stake.
        :raises PurseError: if the purse could not be shown after that. After a later match there will be room for it.
        """
        ended = read_evidence(evidence)
        if self.purse.frozen_for(ended.match) is None:
            return None
        return self._append(settlement(self.purse, ended).body, evidence)

    def forfeit(self, match: bytes) -> SignedEntry:
        """Give up what is frozen for a match.

        :raises PurseError: if that is nothing, or the purse could not be shown after that.
        """
        if self.purse.frozen_for(match) is None:
            raise PurseError("nothing is frozen for that match")
        return self._append(Forfeit(match))

    def void(self, match: bytes, evidence: bytes) -> SignedEntry:
        """Take back what is frozen for a match, as all its players have signed that it is void.

        :raises MalformedPurseError: if the evidence is not right.
        :raises PurseError: if nothing is frozen, or the purse could not be shown after that.
        """
        if self.purse.frozen_for(match) is None:
            raise PurseError("nothing is frozen for that match")
        stake_in(self.purse, match, check_void(evidence, match, self.key.public))
        return self._append(Void(match), evidence)

    def _append(self, body: Body, evidence: bytes = b"") -> SignedEntry:
        signed = sign_entry(following(self.purse, body), self.key)
        purse = after(self.purse, signed)
        shown = self.shown
        proofs = (*shown.evidence, evidence) if evidence else shown.evidence
        shown = shown._replace(purse=purse, entries=(*shown.entries, signed), evidence=proofs)
        if signed.entry.kind is EntryKind.SETTLEMENT:
            shown = since(shown, begins_at(self.key.public, genesis_of(evidence)))
        if len(shown.encoded()) > PURSE:
            raise PurseError(
                "the purse could not be shown any more, as too much of it came after the last match that was settled"
            )
        self._keep([(signed, evidence)], purse)
        self.shown = shown
        return signed

    def adopt(self, shown: Shown) -> bool:
        """Take over newer entries of this purse that others have handed back; tell whether there were any.

        :raises PurseError: if they contradict those that are here: then the purse is ended.
        """
        if shown.purse.key != self.key.public:
            return False
        relation = compare(self.shown, shown)
        if relation is Relation.FORK:
            raise PurseError("two entries of the purse contradict each other")
        # Across a gap, too: the entries between are lost, but nobody else can have signed those that come after.
        if relation not in (Relation.NEWER, Relation.GAP):
            return False
        evidence = iter(shown.evidence)
        entries = [(signed, next(evidence) if needs_evidence(signed) else b"") for signed in shown.entries]
        self._keep([each for each in entries if each[0].entry.height > self.purse.height], shown.purse)
        self.shown = shown
        return True


def since(shown: Shown, height: int) -> Shown:
    """Return a purse without the entries up to this height."""
    entries = tuple(signed for signed in shown.entries if signed.entry.height > height)
    count = sum(map(needs_evidence, entries))
    return shown._replace(entries=entries, evidence=shown.evidence[len(shown.evidence) - count :])
