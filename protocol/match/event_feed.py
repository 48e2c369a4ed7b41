"""What the owner is told of a match: each step once, also after a restart. Sans-I/O.

:class:`MatchEvents` turns positions into events. A node's :class:`EventFeed` and a replay
(:mod:`protocol.match.replay`) both use it, so they tell alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

from p2pdice import Event, PlayerOut
from protocol.consensus.departures import departure
from protocol.consensus.errors import MisconductError
from protocol.consensus.history import History
from protocol.consensus.position import Position, Purpose
from protocol.consensus.steps import FORMED
from protocol.events import (
    DiceRolled,
    Eviction,
    Happened,
    MatchFormed,
    MatchStarted,
    NodeEvent,
    Notice,
    PeerBack,
    PeerLost,
    PlayerInfo,
    TakenBack,
)
from protocol.match.effects import Effect, Ended, Formed, Show
from protocol.wire.messages import Kind


class MatchEvents:
    """The events of a match, as one player or spectator sees them.

    :param me: the index in the roster of the player who is told; None for a spectator.
    :param proven: proofs of misconduct, by author.
    :param hand: returns the dice of that player at a position; nothing if they have none there.
    """

    def __init__(
        self,
        record: History,
        info: tuple[PlayerInfo, ...],
        me: int | None,
        proven: Mapping[int, MisconductError],
        hand: Callable[[Position], tuple[int, ...]],
    ) -> None:
        self.record = record
        self.info = info
        self._me = me
        self._proven = proven
        self._hand = hand

    def between(self, before: Position, after: Position) -> Iterator[NodeEvent]:
        """Yield what has happened from one position to the next."""
        if after.step == FORMED:
            yield MatchFormed(self.record.match.hex())
        if before.state is None and after.state is not None:
            yield self._start(after, resumed=False)
        following = [state for _, state in after.happened[1:]]  # all events of one input share one state
        for (event, state), later in zip_longest(after.happened, following):
            yield Happened(event, state, self._eviction(after, event), is_last=later is not state)
        if after.deal is not before.deal and (hand := self._hand(after)):
            yield DiceRolled(hand)

    def standing(self, position: Position) -> Iterator[NodeEvent]:
        """Yield where the match stands, for an owner who was told before a restart how it came to that."""
        if position.state is not None:
            yield self._start(position, resumed=True)
            if hand := self._hand(position):
                yield DiceRolled(hand)

    def _start(self, position: Position, resumed: bool) -> MatchStarted:
        assert position.state is not None
        seats = position.seats
        seat = seats.index(self._me) if self._me is not None else None
        ruleset = self.record.genesis.ruleset
        by_seat = tuple(self.info[author] for author in seats)
        return MatchStarted(self.record.match.hex(), ruleset, by_seat, seat, position.state, resumed)

    def _eviction(self, position: Position, event: Event) -> Eviction | None:
        if not isinstance(event, PlayerOut) or event.reason != "evicted":
            return None
        author = position.seats[event.seat]
        left = departure(self.record.chain, author)
        if left is None:
            return None
        witnesses = tuple(sorted(position.seats.index(witness) for witness in left.witnesses))
        proof = self._proven.get(author)
        if proof is not None:
            return Eviction(proof.step, False, witnesses, proof.reason)
        return Eviction(left.step, left.kind is Kind.MOVE, witnesses)


class EventFeed:
    """What one node tells its owner.

    :param events: of the match, as its owner sees them.
    :param emit: takes the effects.
    """

    def __init__(self, events: MatchEvents, emit: Callable[[Effect], None]) -> None:
        self._record = events.record
        self._info = events.info
        self._events = events
        self._emit = emit
        self._told = 0
        """Index into the chain of positions: what came before has been told."""
        self._is_resumed = False
        self._lost: set[int] = set()
        self._complained_of: set[int] = set()

    def show(self, event: NodeEvent) -> None:
        """Tell the owner."""
        self._emit(Show(event))

    def resume(self) -> None:
        """Begin with where the match stands: what the history holds now was told before a restart."""
        self._told = len(self._record.chain) - 1
        self._is_resumed = True

    def bring_up_to_date(self) -> bool:
        """Tell all that has happened since the last time.

        :return: whether the match was formed meanwhile.
        """
        chain = self._record.chain
        has_formed = False
        if self._is_resumed:
            self._is_resumed = False
            self._show_where_it_stands()
        while self._told < len(chain) - 1:
            before = chain[self._told]
            self._told += 1
            position = chain[self._told]
            if self._told == FORMED:
                has_formed = True
                self._emit(Formed())
            for event in self._events.between(before, position):
                self.show(event)
            if position.purpose is Purpose.END:
                self._emit(Ended())
        return has_formed

    def _show_where_it_stands(self) -> None:
        position = self._record.position
        for event in self._events.standing(position):
            self.show(event)
        if position.purpose is Purpose.END:
            self._emit(Ended())

    def take_back(self, since: int) -> bool:
        """A step was decided otherwise than it stood; tell whether the owner had been told of it."""
        if self._told <= since:
            return False
        self._told = since
        state = self._record.chain[since].state
        if state is not None:
            self.show(TakenBack(state))
        return True

    def lost(self, author: int, on_purpose: bool) -> None:
        """The link to a player is down."""
        self._lost.add(author)
        self.show(PeerLost(self._info[author], on_purpose))

    def back(self, author: int) -> None:
        """The link to a player is up."""
        if author in self._lost:
            self._lost.discard(author)
            self.show(PeerBack(self._info[author]))

    def complain(self, author: int, text: str) -> None:
        """Tell once that a player sends nonsense: they may send any amount of it."""
        if author not in self._complained_of:
            self._complained_of.add(author)
            self.show(Notice(text))
