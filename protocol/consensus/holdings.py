"""Everything that a node holds of a match: the history, the ballot on its root, proofs, and messages without a
place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from protocol.consensus.ballot import Ballot
from protocol.consensus.errors import MisconductError
from protocol.consensus.history import History
from protocol.consensus.position import Position
from protocol.crypto.hashing import tagged_hash
from protocol.wire.messages import VOTES, Kind, Signed


class Holdings:
    """Everything that a node holds of one match, to ask about and to show to others.

    It changes nothing: :class:`~protocol.consensus.replica.Replica` fills it as messages come.

    :param me: index of the node in the roster; None for a spectator.
    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        self.history = History(genesis_data)
        self.me = me
        self.ballot = Ballot(me, self.history.position, self.history)
        """All that is held behind the root."""
        self.proven: dict[int, MisconductError] = {}
        """What proves that an author broke the rules, by author."""
        self._votes_ahead: dict[int, dict[tuple[int, int, bytes, int], Signed]] = {}
        """Votes on roots that are not known yet, by author and (step, round, tip, kind)."""
        self._aside: dict[tuple[int, bool], Signed] = {}
        """The last message that has no place, by author and whether it is a vote: a LOCK of another state, a RESULT of
        another end, a message for a step that was closed without it or of another history. Its author may contradict
        it. The signatures are right."""

    # How this node stands

    @property
    def is_calm(self) -> bool:
        """This node holds nothing but the history and messages for the open step."""
        ballot = self.ballot
        has_votes = next(ballot.votes(), None) is not None or bool(self._votes_ahead)
        return not (has_votes or self._aside or self.proven or any(ballot.branches.later.values()))

    @property
    def is_diverged(self) -> bool:
        """More than half of the base lock another state than this node's program has come to, or no state can be locked
        by more than half of them any more.

        No player has done wrong then: some program has a bug, perhaps this one.
        """
        position, held = self.history.position, self.history.held
        aside = (signed.message for signed in self._aside.values())
        signed = {each.author: each.body for each in aside if (each.kind, each.tip) == (Kind.LOCK, position.tip)}
        for vote in self.ballot.votes():
            if vote.value is not None and vote.value.tip == position.tip and isinstance(vote.value.entries, bytes):
                signed[vote.author] = vote.value.entries
        others = [body for author, body in signed.items() if body != position.lock and author not in held]
        if not others:
            return False
        most = max(others.count(body) for body in others)
        ours = len(held) + len(self.history.countersigned.get(position.tip, ()))
        unknown = len(position.base) - ours - len(others)
        return most >= position.majority or max(ours, most) + unknown < position.majority

    def signed_at(self, position: Position) -> Signed | None:
        """Return what this node has signed for a step behind the root, if it is kept; votes apart."""
        if self.me is None:
            return None
        said = self.ballot.branches.said(position.tip, self.me)
        beside = self.history.countersigned.get(position.tip, {}).get(self.me)
        return said[0] if said else beside

    # For others, and for the store

    def messages(self) -> Iterator[Signed]:
        """Yield all messages, in an order that leads another replica to the same point."""
        yield from self._closed_with(0, self.history.position.root)
        yield from self._behind_root()
        yield from self._later()
        yield from self._proofs()
        yield from self._beside()
        yield from (vote.signed for vote in self.ballot.votes())

    def shown(self, step: int) -> Iterator[Signed]:
        """Yield all messages from a step on for a peer that may lack them, first those that the match goes on with."""
        history, told = self.history, set[bytes]()
        for signed in chain(
            self._closed_with(step, history.position.step),
            (signed for signed in self._behind_root() if signed.message.tip != history.position.tip),
            self._proofs(),
            self._behind_root(),
            self._beside(),
            (vote.signed for vote in self.ballot.votes()),
            self._later(),  # perhaps the only copy left, if the author has lost it
        ):
            if signed.id not in told:
                told.add(signed.id)
                yield signed

    def _closed_with(self, step: int, until: int) -> Iterator[Signed]:
        for position in self.history.chain[step + 1 : until + 1]:
            yield from position.entries.values()
            yield from position.certificate

    def _behind_root(self) -> Iterator[Signed]:
        for slots in self.ballot.branches.messages.values():
            for author in sorted(slots):
                yield from slots[author]

    def _later(self) -> Iterator[Signed]:
        for author, kept in sorted(self.ballot.branches.later.items()):
            yield from (kept[slot] for slot in sorted(kept))
            yield from (signed for _, signed in sorted(self._votes_ahead.get(author, {}).items()))

    def _proofs(self) -> Iterator[Signed]:
        for author in sorted(self.proven):
            yield from self.proven[author].evidence

    def _beside(self) -> Iterator[Signed]:
        history = self.history
        yield from (history.withdrawals[author] for author in sorted(history.withdrawals))
        yield from (known[author] for _, known in sorted(history.countersigned.items()) for author in sorted(known))
        yield from (history.results[author] for author in sorted(history.results))

    def digests(self) -> tuple[bytes, bytes]:
        """Return two digests: of the messages for the open step, and of the votes that may still matter together with
        the authors who are proven to have broken the rules. A digest of nothing is empty.

        If the digests of two nodes differ, one of them lacks something.
        """
        slots = self.ballot.branches.messages[self.history.position.tip]
        held = {signed.id for kept in slots.values() for signed in kept} | {signed.id for signed in self._beside()}
        votes = {vote.signed.id for vote in self.ballot.counting()}
        culprits = bytes(sorted(self.proven))
        return (
            tagged_hash("held", b"".join(sorted(held))) if held else b"",
            tagged_hash("votes", b"".join(sorted(votes)), culprits) if votes or culprits else b"",
        )


def is_vote(signed: Signed) -> bool:
    """Tell whether a message is a vote."""
    return signed.message.kind in VOTES
