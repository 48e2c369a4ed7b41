"""The engine: a pure function from a state and an input to the next state and its events.

Theory of operation
-------------------
A state names the input that it expects (:attr:`State.expects`), and :func:`apply` accepts only that input. A round is::

    deal ──Rolled──▶ bidding ⟲ Bid ──Liar, Exact──▶ siding ⟲ Side ──▶ showdown ──Hands──▶ deal of the next round
                                                    (if the rules have it)            └──▶ over

Where dice have powers, a round is a turn of its leader, with windows (⟲) in which players play a die or pass::

    sunset ⟲ ──▶ deal ──Rolled──▶ night ⟲ ──▶ bidding ⟲ ──Liar──▶ showdown ──Hands──▶ discard ──Lose──▶ sunrise ⟲
                                                          sunset of the next turn, or crown ──Crown──▶ over ◀──┘

Playing a die at night or during the bidding opens a window for answers to it, and some dice then require a ``Roll``.
A match with powers starts with ``Pledges``, then ``Stakes`` if players bet, then the ``Roll`` for the prize. A match
without powers starts with ``Stakes`` if players bet.

``Evict`` and ``Play(seat, Concede())`` are accepted in every state except *over*. They may lead to *over* or pass the
turn to another seat.

Chance stays outside. ``Rolled`` carries no faces, and ``Hands`` brings all of them at the showdown. So the state is
public, and the driver of the engine (a network, a referee, a test) keeps the dice.

Each part of the rules is a *section*: a module of functions from (state, input) to (state, events). The mappings below
route each input to its section. Where dice have powers, :func:`p2pdice.turns.after` derives the states, event by
event.

=========================  =======================================================================================
:mod:`p2pdice.rounds`      pledges and stakes, rolling, passing the lead, the end and the winning die
:mod:`p2pdice.turns`       for dice with powers: the phases of a turn, the graveyard, the stack, losing a die
:mod:`p2pdice.powers`      the powers of the six motes
:mod:`p2pdice.bidding`     raise orders, bids, palifico's limits, the menu of moves
:mod:`p2pdice.counting`    which dice count for a bid
:mod:`p2pdice.showdown`    liar, exact, void accusations, sides; the verdict, dice lost and gained, palifico's start
:mod:`p2pdice.stakes`      valid stakes, and paying them out
=========================  =======================================================================================

Sections test options of the ruleset, never its name. An illegal input raises a :class:`RulesError`; states are
immutable, so the caller's state is unaffected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from p2pdice import bidding, rounds, showdown, turns
from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import PlayerOut, Transition
from p2pdice.motes import CROWN_EXAMPLE, LOSE_EXAMPLE, NOTATION
from p2pdice.moves import (
    PASS,
    SIDES,
    Bid,
    Concede,
    Crown,
    Evict,
    Exact,
    Hands,
    Input,
    Liar,
    Lose,
    Move,
    Pass,
    Play,
    Pledges,
    Power,
    Roll,
    Rolled,
    Side,
    Stakes,
)
from p2pdice.powers import POWERS
from p2pdice.rulesets import Ruleset
from p2pdice.state import MAX_PLAYERS, MIN_PLAYERS, NOBODY, Exit, Expect, Mischief, Phase, Reason, State, next_live

_Section = Callable[[State, int, Any], Transition]

_MOVES: Final[Mapping[Phase, Mapping[type, _Section]]] = {
    "bidding": {Bid: bidding.bid, Liar: showdown.call, Exact: showdown.call, Power: turns.power_stacked},
    "siding": {Side: showdown.side},
    "sunset": {Power: turns.power_used, Pass: turns.passed},
    "night": {Power: turns.power_stacked, Pass: turns.passed},
    "sunrise": {Power: turns.power_used, Pass: turns.passed},
    "discard": {Lose: turns.lost},
    "crown": {Crown: rounds.crowned},
}
"""The moves accepted in each phase, and their sections."""

_ANSWERS: Final[Mapping[type, _Section]] = {
    Power: turns.power_stacked,
    Pass: turns.passed,
}
"""The moves accepted while the stack is not empty, in any phase."""

_TABLE: Final[Mapping[type, tuple[Expect, Callable[[State, Any], Transition]]]] = {
    Pledges: (Expect.PLEDGES, rounds.pledged),
    Stakes: (Expect.STAKES, rounds.staked),
    Roll: (Expect.ROLL, turns.public_die),
    Rolled: (Expect.ROLLED, turns.rolled),
    Hands: (Expect.HANDS, showdown.hands_opened),
}
"""The inputs that come from no single seat: the :class:`Expect` that accepts each input, and its section."""

_MOVE: Final = Expect.MOVE  # a global is faster to look up than an enum member

_AWAITED: Final[Mapping[Expect, str]] = {
    Expect.MOVE: "it is the turn of seat {turn}",
    Expect.PLEDGES: "all players have to pledge first",
    Expect.STAKES: "all players have to open a stake first",
    Expect.ROLL: "a public die must be rolled first",
    Expect.ROLLED: "the dice must be rolled first",
    Expect.HANDS: "the cups must be opened first",
    Expect.OVER: "the match is over",
}
_WINDOW: Final = "play a die of yours from the graveyard, or pass"
_CHOICES: Final[Mapping[Phase, str]] = {
    "bidding": "bid, as in 3x5, or call the standing bid",
    "siding": "say accuser or accused",
    "sunset": _WINDOW,
    "night": _WINDOW,
    "sunrise": _WINDOW,
    "discard": f"name the die that you lose, as in {LOSE_EXAMPLE}",
    "crown": f"name the winning die, as in {CROWN_EXAMPLE}",
}
_ANSWERS_IN_WORDS: Final = " or ".join(
    f"{power.one}, as in {NOTATION[power.mote].example}" for power in POWERS.values() if power.is_answer
)


def new_match(ruleset: Ruleset, players: int, first: int = 0) -> State:
    """Return the state before the first roll. Seats are 0 to ``players`` - 1, clockwise, and ``first`` leads.

    :raises UnexpectedInput: if ``players`` is not 2 to 10 or ``first`` is not a seat.
    """
    if not MIN_PLAYERS <= players <= MAX_PLAYERS:
        raise UnexpectedInput(f"{players} players: a match has {MIN_PLAYERS} to {MAX_PLAYERS}")
    if not 0 <= first < players:
        raise UnexpectedInput(f"there is no seat {first}: seats are 0 to {players - 1}")
    phase, awaits = rounds.first_of(ruleset)
    dice, live, motes = (ruleset.dice,) * players, tuple(range(players)), Mischief() if ruleset.motes else None
    return State(
        NOBODY, (), phase, awaits, None, first, dice, live, 1, False, (), (), None, (), ruleset, players, motes
    )


def apply(state: State, item: Input) -> Transition:
    """Return the state after ``item`` and the events that ``item`` caused.

    >>> from p2pdice.rulesets import PRESETS
    >>> state, events = apply(new_match(PRESETS["classic"], 2), Rolled())
    >>> state.expects
    Expectation(kind=<Expect.MOVE: 'move'>, seats=(0,))
    >>> apply(state, Play(0, Bid(3, 5)))[1]
    (BidMade(seat=0, quantity=3, face=5),)

    :raises UnexpectedInput: if the state expects another input, or ``item`` is malformed.
    :raises IllegalMove: if the move is not allowed, or it is another seat's turn.
    """
    kind = type(item)
    if kind is Play:
        seat: int = item.seat  # type: ignore[union-attr]  # narrowed by kind, which is faster
        move: Move = item.move  # type: ignore[union-attr]
        if seat == state.turn and state.awaits is _MOVE:
            motes = state.motes
            sections = _MOVES[state.phase] if motes is None or not motes.stack else _ANSWERS
            section = sections.get(type(move))
            if section is not None:
                return section(state, seat, move)
        return _out_of_turn(state, seat, move)
    if kind is Evict:
        return _leave(state, item.seat, "evicted")  # type: ignore[union-attr]
    if kind not in _TABLE:
        raise UnexpectedInput(f"{kind.__name__} is not an input of the engine")
    awaited, taken = _TABLE[kind]
    if state.awaits is not awaited:
        raise UnexpectedInput(_awaited(state))
    return taken(state, item)


def _out_of_turn(state: State, seat: int, move: Move) -> Transition:
    """Accept a concession, which is possible at any time, and raise for every other move."""
    if type(move) is Concede:
        return _leave(state, seat, "conceded")
    if state.awaits is not _MOVE:
        raise UnexpectedInput(_awaited(state))
    if seat != state.turn:
        raise IllegalMove(f"seat {seat} cannot play {move}: {_awaited(state)}")
    answering = state.motes is not None and len(state.motes.stack) > 0
    choice = f"answer with {_ANSWERS_IN_WORDS}, or pass" if answering else _CHOICES[state.phase]
    raise IllegalMove(f"{move} does not fit here: {choice}")


def _awaited(state: State) -> str:
    return _AWAITED[state.awaits].format(turn=state.turn)


def legal_moves(state: State) -> Sequence[Move]:
    """Return the listed moves of the player whose turn it is; empty unless the state expects a move.

    Bids go up to the number of dice in play, or up to the lowest possible raise if the player must bid.
    :func:`apply` also accepts higher bids, up to 999. Conceding is always possible and never listed.

    >>> from p2pdice.rulesets import PRESETS
    >>> state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": "1"}), 2), Rolled())
    >>> state, _ = apply(state, Play(0, Bid(1, 5)))
    >>> [str(move) for move in legal_moves(state)]
    ['1x6', '2x5', 'liar']
    """
    if state.awaits is not _MOVE:
        return ()
    phase, motes = state.phase, state.motes
    if phase == "bidding" and not (motes is not None and motes.stack):
        return bidding.menu(state) if motes is None else (*bidding.menu(state), *turns.playable(state, state.turn))
    if phase == "siding":
        return SIDES
    assert motes is not None
    if phase == "discard":
        return tuple(map(Lose, motes.cups[state.turn]))
    if phase == "crown":
        return tuple(map(Crown, motes.cups[state.turn]))
    return (*turns.playable(state, state.turn), PASS)


# Departures
#
# The dice of a departed player stay in play until the round is settled, because the other players' bids count on them
# and the player may be the accuser or the accused. Then the cup is cleared. The player's standing bid remains and may
# be called, at no further cost to the player. Moves that the player owed lapse, and so do the player's effects on the
# stack.


def _leave(state: State, seat: int, reason: Reason) -> Transition:
    if state.awaits is Expect.OVER:
        raise UnexpectedInput("the match is over: players cannot leave it now")
    if seat not in state.live:
        live = ", ".join(map(str, state.live))
        raise UnexpectedInput(f"seat {seat} is not in the match any more: the live seats are {live}")
    out = PlayerOut(seat, reason)
    left = turns.after(state._replace(exits=(*state.exits, Exit((seat,), reason))), out)
    if rounds.is_decided(left):
        over, events = rounds.end_match(left)
        return over, (out, *events)
    left, lead = rounds.pass_lead(left, left.leader)
    if left.awaits is Expect.ROLLED or left.phase in _CUPS_AT_REST:
        left = rounds.clear_cups(left)  # no bid counts on these dice, so they are removed now
    left, events = _go_on(left, seat, state.motes)
    return left, (out, *lead, *events)


_CUPS_AT_REST: Final[frozenset[Phase]] = frozenset({"pledges", "stakes", "prize", "sunset", "discard", "sunrise"})


def _go_on(left: State, seat: int, before: Mischief | None) -> Transition:
    """Pass the turn on after ``seat`` has left; ``before`` is ``motes`` as it was before the departure."""
    if left.phase == "siding":
        assert left.challenge is not None
        return showdown.await_sides(left, left.challenge), ()
    if before is not None:
        assert left.motes is not None
        if before.stack and not left.motes.stack:
            return turns.resume(left)
        if before.stack and left.motes.stack[-1] != before.stack[-1]:
            return turns.ask_for_answers(left)
        if before.stack and left.awaits is Expect.ROLL:
            return turns.resolve(left)  # the player who left may be its target
        if left.turn == seat and left.phase == "discard":
            return turns.dawn(left)
        if left.turn == seat and (left.phase != "bidding" or left.motes.stack):
            return turns.ask(left)
        if left.turn == seat:
            return turns.free_turn(left, seat), ()
    if left.turn == seat:
        left = left._replace(turn=next_live(left.live, seat))
    return left, ()
