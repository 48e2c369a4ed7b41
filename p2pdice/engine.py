"""The engine: a pure function from a state and an input to the next state and what happened.

Theory of operation
-------------------
A state says what it waits for (:attr:`State.expects`) and takes exactly that. One round runs::

    deal ──Rolled──▶ bidding ⟲ Bid ──Liar, Exact──▶ siding ⟲ Side ──▶ showdown ──Hands──▶ deal of the next round
                                                    (if the rules have it)            └──▶ over

``Evict`` and ``Play(seat, Concede())`` are taken in every state but *over*, and may lead to *over* or to the turn of
another seat.

Chance stays outside: ``Rolled`` has no faces, ``Hands`` brings them all at the showdown. So the state is public, and
whoever drives the engine (a network, a referee, a test) keeps the dice.

Each part of the rules is a section of its own: a module with functions from (state, input) to (state, events). The
tables below are all that connects them:

=============================  ===================================================================================
:mod:`p2pdice.rounds`          rolling, the passing of the lead, the end of a round and of the match
:mod:`p2pdice.bidding`         bids, palifico's limits, the menu of moves
:mod:`p2pdice.challenge`       liar, exact, taking sides
:mod:`p2pdice.showdown`        counting, the verdict also with unopened cups, dice lost and gained, palifico's start
:mod:`p2pdice.departure`       eviction and conceding
=============================  ===================================================================================

A section asks options of the ruleset, never for its name. An illegal input raises a :class:`RulesError`; states are
values, so the one it was tried on is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from p2pdice import bidding, challenge, departure, rounds, showdown
from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import Event
from p2pdice.inputs import Evict, Hands, Input, Play, Rolled
from p2pdice.moves import SIDES, Bid, Concede, Exact, Liar, Move, Side
from p2pdice.rulesets import Ruleset
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS, NOBODY, Expect, Phase, State

Transition = tuple[State, tuple[Event, ...]]

_MOVES: Final[Mapping[tuple[Phase, type], Callable[[State, int, Any], Transition]]] = {
    ("bidding", Bid): bidding.bid,
    ("bidding", Liar): challenge.call,
    ("bidding", Exact): challenge.call,
    ("siding", Side): challenge.side,
}
"""What the player on turn may do, by phase."""

_ROUND: Final[Mapping[type, tuple[Expect, Callable[[State, Any], Transition]]]] = {
    Rolled: (Expect.ROLLED, rounds.rolled),
    Hands: (Expect.HANDS, showdown.hands_opened),
}
"""What the table does, and when."""

_AWAITED: Final[Mapping[Expect, str]] = {
    Expect.MOVE: "it is the turn of seat {turn}",
    Expect.ROLLED: "the dice must be rolled first",
    Expect.HANDS: "the cups must be opened first",
    Expect.OVER: "the match is over",
}
_CHOICES: Final[Mapping[Phase, str]] = {
    "bidding": "bid, as in 3x5, or call the standing bid",
    "siding": "say accuser or accused",
}


def new_match(ruleset: Ruleset, players: int, first: int = 0) -> State:
    """Return the state before the first roll: seats are 0 to ``players`` - 1, clockwise, and ``first`` leads.

    :raises UnexpectedInput: unless there are 2 to 10 players and ``first`` is one of them.
    """
    if not MIN_PLAYERS <= players <= MAX_PLAYERS:
        raise UnexpectedInput(f"{players} players: a match has {MIN_PLAYERS} to {MAX_PLAYERS}")
    if not 0 <= first < players:
        raise UnexpectedInput(f"there is no seat {first}: seats are 0 to {players - 1}")
    return State(
        turn=NOBODY,
        bids=(),
        phase="bidding",
        awaits=Expect.ROLLED,
        challenge=None,
        leader=first,
        dice=(ruleset.dice,) * players,
        live=tuple(range(players)),
        round=1,
        palifico=False,
        dropped=(),
        hands=(),
        count=None,
        exits=(),
        ruleset=ruleset,
        players=players,
    )


def apply(state: State, item: Input) -> Transition:
    """Return the state after ``item`` and the events that it caused.

    >>> from p2pdice import PRESETS
    >>> state, events = apply(new_match(PRESETS["classic"], 2), Rolled())
    >>> state.expects
    Expectation(kind=<Expect.MOVE: 'move'>, seats=(0,))
    >>> apply(state, Play(0, Bid(3, 5)))[1]
    (BidMade(seat=0, quantity=3, face=5),)

    :raises UnexpectedInput: if the state waits for something else or for another shape of it.
    :raises IllegalMove: if the move is not allowed, or not this seat's.
    """
    kind = type(item)
    if kind is Play:
        return _play(state, item.seat, item.move)  # type: ignore[union-attr]  # narrowed by kind, which is faster
    if kind is Evict:
        return departure.evicted(state, item)  # type: ignore[arg-type]
    if kind not in _ROUND:
        raise UnexpectedInput(f"{kind.__name__} is no input of the engine")
    awaited, section = _ROUND[kind]
    if state.awaits is not awaited:
        raise UnexpectedInput(_awaited(state))
    return section(state, item)


def _play(state: State, seat: int, move: Move) -> Transition:
    if seat == state.turn and state.awaits is Expect.MOVE:
        section = _MOVES.get((state.phase, type(move)))
        if section is not None:
            return section(state, seat, move)
    if type(move) is Concede:
        return departure.conceded(state, seat, move)
    if state.awaits is not Expect.MOVE:
        raise UnexpectedInput(_awaited(state))
    if seat != state.turn:
        raise IllegalMove(f"seat {seat} cannot play {move}: {_awaited(state)}")
    raise IllegalMove(f"{move} does not fit here: {_CHOICES[state.phase]}")


def _awaited(state: State) -> str:
    return _AWAITED[state.awaits].format(turn=state.turn)


def legal_moves(state: State) -> Sequence[Move]:
    """Return the listed moves of the player on turn; empty if no move is awaited.

    Bids go up to the number of dice in play; :func:`apply` takes higher ones, too, up to 999. Conceding is always
    possible and never listed.

    >>> from p2pdice import PRESETS
    >>> state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": "1"}), 2), Rolled())
    >>> state, _ = apply(state, Play(0, Bid(1, 5)))
    >>> [str(move) for move in legal_moves(state)]
    ['1x6', '2x5', 'liar']
    """
    if state.awaits is not Expect.MOVE:
        return ()
    return SIDES if state.phase == "siding" else bidding.menu(state)
