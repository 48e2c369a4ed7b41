"""The events of a match for the owner: each step is reported once, even across restarts. Sans-I/O.

:class:`MatchEvents` turns positions into events. Both a node's :class:`EventFeed` and a replay
(:mod:`protocol.match.replay`) use it, so that both report the same events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Final

from p2pdice.events import PlayerOut
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES
from protocol.consensus.position import FORMED, Position, Stage, departure
from protocol.consensus.rule import MisconductError
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
from protocol.match.effects import Effect, Show, WriteTranscript

LOST_AFTER: Final = 1.0
"""Seconds until a lost link is reported: when an interface comes or goes, all links are replaced within this time."""


class MatchEvents:
    """The events of a match, as one player or spectator sees them.

    :param me: the roster index of the player who sees the events; None for a spectator.
    :param proven: proofs of misconduct, by author.
    :param hand: returns that player's dice at a position; empty if the player has none there.
    """

    def __init__(
        self,
        history: History,
        info: tuple[PlayerInfo, ...],
        me: int | None,
        proven: Mapping[int, MisconductError],
        hand: Callable[[Position], tuple[int, ...]],
    ) -> None:
        self.history = history
        self.info = info
        self._me = me
        self._proven = proven
        self._hand = hand

    def between(self, before: Position, after: Position) -> Iterator[NodeEvent]:
        """Yield the events between one position and the next."""
        if after.step == FORMED:
            yield MatchFormed(self.history.match.hex())
        if before.state is None and after.state is not None:
            yield self._start(after, resumed=False)
        following = [state for _, state in after.happened[1:]]  # all events of one input share one state
        for (event, state), later in zip_longest(after.happened, following):
            eviction = None
            if isinstance(event, PlayerOut) and event.reason == "evicted":
                eviction = self._eviction(after, event.seat)
            yield Happened(event, state, eviction, is_last=later is not state)
        if after.deal is not before.deal and (hand := self._hand(after)):
            yield DiceRolled(hand)

    def standing(self, position: Position) -> Iterator[NodeEvent]:
        """Yield events that describe the current state, for an owner who saw the earlier events before a restart."""
        if position.state is not None:
            yield self._start(position, resumed=True)
            if hand := self._hand(position):
                yield DiceRolled(hand)

    def _start(self, position: Position, resumed: bool) -> MatchStarted:
        assert position.state is not None
        seats = position.seats
        seat = seats.index(self._me) if self._me is not None else None
        ruleset = self.history.genesis.ruleset
        by_seat = tuple(self.info[author] for author in seats)
        return MatchStarted(self.history.match.hex(), ruleset, by_seat, seat, position.state, resumed)

    def _eviction(self, position: Position, seat: int) -> Eviction | None:
        author = position.seats[seat]
        departed = departure(self.history.chain, author)
        if departed is None:
            return None
        voters = tuple(sorted(position.seats.index(voter) for voter in departed.voters))
        proof = self._proven.get(author)
        if proof is not None:
            return Eviction(proof.step, False, voters, proof.reason)
        return Eviction(departed.step, RULES[departed.kind].stage is Stage.CHOOSE, voters)


class EventFeed:
    """Reports the events of a match to the owner of one node.

    :param events: the events of the match, as its owner sees them.
    :param emit: receives the effects.
    """

    def __init__(self, events: MatchEvents, emit: Callable[[Effect], None]) -> None:
        self._history = events.history
        self._info = events.info
        self._events = events
        self._emit = emit
        self._told = 0
        """The index in the chain up to which positions have been reported."""
        self._is_resumed = self._is_formed = False
        self._lost: set[int] = set()
        """The players whose loss was reported."""
        self._going: dict[int, float] = {}
        """When to report the loss of other players, by author."""
        self._on_purpose: set[int] = set()
        self._complained_of: set[int] = set()

    def show(self, event: NodeEvent) -> None:
        self._emit(Show(event))

    def resume(self) -> None:
        """Begin with the current state: the history so far was reported before a restart."""
        self._told = len(self._history.chain) - 1
        self._is_formed = self._told >= FORMED
        self._is_resumed = True

    def bring_up_to_date(self) -> bool:
        """Report all events since the last call.

        :return: whether the match was formed since the last call.
        """
        chain = self._history.chain
        has_formed = False
        if self._is_resumed:
            self._is_resumed = False
            self._show_where_it_stands()
        while self._told < len(chain) - 1:
            before = chain[self._told]
            self._told += 1
            position = chain[self._told]
            for event in self._events.between(before, position):
                if isinstance(event, MatchFormed):
                    if self._is_formed:
                        continue  # reported before the history changed
                    self._is_formed = has_formed = True
                self._emit(Show(event))
            if position.kind is None:
                self._emit(WriteTranscript())
        return has_formed

    def _show_where_it_stands(self) -> None:
        position = self._history.position
        for event in self._events.standing(position):
            self.show(event)
        if position.kind is None:
            self._emit(WriteTranscript())

    def take_back(self, since: int) -> bool:
        """Roll back the steps from ``since`` on, and return whether any of them had been reported."""
        if self._told <= since:
            return False
        self._told = since
        state = self._history.chain[since].state
        if state is not None:
            self.show(TakenBack(state))
        return True

    def lost(self, author: int, on_purpose: bool, now: float) -> None:
        """Record that a player's link is down. It is reported at once if they left on purpose, otherwise if it stays
        down for :data:`LOST_AFTER`."""
        self._going[author] = now if on_purpose else now + LOST_AFTER
        self._on_purpose.add(author) if on_purpose else self._on_purpose.discard(author)

    def tell_lost(self, now: float) -> float:
        """Report links that have been down for long enough; return when to check again, infinity for never.

        Before the match is formed, its owner has not been told who plays. Such a loss is reported afterwards.
        """
        if self._history.position.step < FORMED:
            return math.inf
        for author in [author for author, due in self._going.items() if due <= now]:
            del self._going[author]
            if self._history.position.kind is None and author not in self._on_purpose:
                continue  # irrelevant after the end
            self._lost.add(author)
            self.show(PeerLost(self._info[author], author in self._on_purpose))
        return min(self._going.values(), default=math.inf)

    def back(self, author: int) -> None:
        """Record that the link to a player is up, and report that if its loss was reported."""
        self._going.pop(author, None)
        if author in self._lost:
            self._lost.discard(author)
            self.show(PeerBack(self._info[author]))

    def complain(self, author: int, text: str) -> None:
        """Report malformed messages from a player, but only once, as there may be any number of them."""
        if author not in self._complained_of:
            self._complained_of.add(author)
            self.show(Notice(text))
