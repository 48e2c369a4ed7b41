"""Everything that a node holds of a match: the history, votes, proofs, and messages that have no place yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from protocol.consensus.absence import Absence
from protocol.consensus.electorate import Entries, Place
from protocol.consensus.errors import MisconductError
from protocol.consensus.history import History
from protocol.consensus.steps import FORMED
from protocol.consensus.votes import read_vote
from protocol.crypto.hashing import tagged_hash
from protocol.wire.messages import VOTES, Kind, Signed


class Holdings:
    """Everything that a node holds of one match, to ask about and to show to others.

    It changes nothing: :class:`~protocol.consensus.intake.Intake` fills it as messages come, and
    :class:`~protocol.consensus.replica.Replica` as steps close and histories change.

    :param me: index of the node in the roster; None for a spectator.
    :raises MalformedGenesisError: if ``genesis_data`` is not a valid genesis.
    """

    def __init__(self, genesis_data: bytes, me: int | None) -> None:
        self.history = History(genesis_data)
        self.absence = Absence(me)
        self.proven: dict[int, MisconductError] = {}
        """What proves that an author broke the rules, by author."""
        self.own: dict[tuple[bytes, int], Signed] = {}
        """The messages that this node has signed since the last complete LOCK, votes apart, by tip and step. They are
        sent again unchanged if a step that was taken back returns."""
        self._later: dict[int, dict[tuple[int, int, int], Signed]] = {}
        """Messages for later steps, by author and (step, kind, voting round). The kind is 0 for all but votes and
        RESIGN: an honest author signs one message of the others in a step."""
        self._second: dict[tuple[bytes, int], Signed] = {}
        """The second of two messages of an author for one step, by tip and author."""
        self._aside: dict[int, dict[tuple[bool, bool], Signed]] = {}
        """Messages that have no place in the history, by author, and by whether it is a vote and whether its step is in
        the history: LOCKs of another state, messages for a step that was closed without them, messages of another
        history or of a dropped part of this one. The last message of each sort is kept, as its author may contradict
        it. Their signatures are right."""
        self._tail: tuple[Place, ...] = ()
        self._tail_before = b""
        """The tip at which the tail was computed. The tail depends on nothing else."""

    # For the absence rule (protocol.consensus.tally.HistoryView)

    def tail(self) -> Sequence[Place]:
        """Return the steps that a vote can still change."""
        position = self.history.position
        if position.step < FORMED:
            return ()
        if self._tail_before != position.tip:
            last = position.step - (position.kind is None)
            self._tail = tuple(self.history.place(step) for step in range(max(FORMED, position.locked), last + 1))
            self._tail_before = position.tip
        return self._tail

    @property
    def may_vote(self) -> bool:
        """Everybody has signed the COMMIT of the first roll. Before that, nobody is voted absent."""
        return self.history.position.step >= FORMED

    def closed(self, step: int) -> Entries | None:
        """Return the ids of the messages that closed a step."""
        return self.history.closed(step)

    def held(self, step: int) -> Mapping[int, bytes]:
        """Return the ids of the messages that this node holds for a step, by author."""
        chain = self.history.chain
        here = chain[step + 1].entries if step + 1 < len(chain) else self.history.held
        return {author: signed.id for author, signed in here.items()}

    def culprits(self) -> Set[int]:
        """Return the authors who are proven to have broken the rules."""
        return self.proven.keys()

    def elsewhere(self) -> Iterator[tuple[int, int]]:
        """Yield author and round of each vote on a later step, or on a step of another history."""
        position = self.history.position
        for author in position.base:
            for kept in (self._later.get(author, {}), self._aside.get(author, {})):
                for signed in kept.values():
                    if signed.message.kind in VOTES and signed.message.step >= position.locked:
                        yield author, read_vote(signed).round

    def tainted(self) -> Iterator[bytes]:
        """Yield the tips of the steps that need a vote at once, because an author who owes a message has cheated."""
        if not self.proven:
            return
        for place in self.tail():
            if self.absence.has_voted(place.tip):
                continue
            is_open = self.history.closed(place.step) is None
            # Others may still be choosing, or their messages on the way: patience with them goes on.
            only_cheats_missing = is_open and all(author in self.proven for author in self.history.missing())
            if any(
                (place.tip, author) in self._second or (only_cheats_missing and author in self.proven)
                for author in place.owed
            ):
                yield place.tip

    @property
    def is_deciding(self) -> bool:
        """This node takes part in a vote on a step that it had closed. The others cannot go on before that is
        decided."""
        place = self.absence.contested(self) if self.absence.ballots else None
        return place is not None and self.history.closed(place.step) is not None and self.absence.has_voted(place.tip)

    # How this node stands

    @property
    def is_calm(self) -> bool:
        """This node holds nothing but the history and messages for the open step."""
        return not (self._later or self._aside or self.absence.ballots or self.proven)

    @property
    def is_diverged(self) -> bool:
        """More than half of the base lock another state than this node's program has come to, or no state can be locked
        by more than half of them any more.

        No player has done wrong then: some program has a bug, perhaps this one.
        """
        if not self._aside:
            return False
        position = self.history.position
        held = self.history.held
        aside = (signed.message for kept in self._aside.values() for signed in kept.values())
        others = [
            message.body
            for message in aside
            if (message.kind, message.tip) == (Kind.LOCK, position.tip) and message.author not in held
        ]
        if not others:
            return False
        most = max(others.count(body) for body in others)
        ours = len(held) + len(self.history.countersigned.get(position.tip, ()))
        unknown = len(position.base) - ours - len(others)
        return most >= position.majority or max(ours, most) + unknown < position.majority

    @property
    def is_astray(self) -> bool:
        """This node cannot go on by itself: it has voted, or the open step waits only for a vote about a cheat. Others
        may have closed that step before they knew of the cheat."""
        return self.absence.round >= 0 or self.history.is_complete

    # For others, and for the store

    def messages(self) -> Iterator[Signed]:
        """Yield all messages, in an order that leads another replica to the same point."""
        yield from self._closed_with(0)
        # Votes and proofs come before messages that must not close the open step by themselves.
        yield from self._votes()
        yield from self._proofs()
        yield from self._open()

    def shown(self, step: int) -> Iterator[Signed]:
        """Yield all messages from a step on for a peer that may lack them, first those that the match goes on with."""
        yield from self._closed_with(step)
        yield from self._proofs()
        yield from self._open()
        yield from self._votes()
        # This may be the only copy left of a message for a later step, if its author has lost it.
        for author in sorted(self._later):
            yield from (self._later[author][slot] for slot in sorted(self._later[author]))

    def _closed_with(self, step: int) -> Iterator[Signed]:
        for index in range(step + 1, len(self.history.chain)):
            position = self.history.chain[index]
            yield from position.entries.values()
            yield from position.certificate

    def _votes(self) -> Iterator[Signed]:
        """Yield the votes that anybody can use: those further ahead than anybody follows are neither shown nor
        stored."""
        for place in self.tail():
            if votes := [*self.absence.on(place.tip).votes()]:
                last = self.absence.last_counted(self, place.majority)
                yield from (vote.source for vote in votes if vote.round <= last)

    def _proofs(self) -> Iterator[Signed]:
        for author in sorted(self.proven):
            yield from self.proven[author].evidence
        yield from (self._second[slot] for slot in sorted(self._second))

    def _open(self) -> Iterator[Signed]:
        history = self.history
        yield from (history.held[author] for author in sorted(history.held))
        if history.position.step < FORMED:
            yield from (history.withdrawals[author] for author in sorted(history.withdrawals))
        yield from (known[author] for _, known in sorted(history.countersigned.items()) for author in sorted(known))
        yield from (history.results[author] for author in sorted(history.results))

    def digests(self) -> tuple[bytes, bytes]:
        """Return two digests: of the messages for the open step, and of the votes that may still matter together with
        the authors who are proven to have broken the rules. A digest of nothing is empty.

        If the digests of two nodes differ, one of them lacks something.
        """
        tip = self.history.position.tip
        held = {signed.id for signed in self._open()}
        held.update(signed.id for (step_tip, _), signed in self._second.items() if step_tip == tip)
        votes = {signed.id for signed in self._votes()}
        culprits = bytes(sorted(self.proven))
        return (
            tagged_hash("held", b"".join(sorted(held))) if held else b"",
            tagged_hash("votes", b"".join(sorted(votes)), culprits) if votes or culprits else b"",
        )
