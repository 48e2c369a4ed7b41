"""How house players play dice with powers: what each mote is worth to them, and when they want to play it.

The simple ones follow rules of thumb, which look one step ahead and know only the view. ``mind`` tries each move as if
nobody answered, and compares the strength of all players, counted in dice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from p2pdice.engine import apply
from p2pdice.motes import GROUP_OF, NOTATION, Die, Mote
from p2pdice.moves import PASS, Crown, Lose, Move, Pass, Play, Power, Roll
from p2pdice.powers import POWERS
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, Mischief, State
from p2pdice.views import View

RESTRAINT: Final = 0.4
"""How often a simple bot saves a die that only hurts somebody else."""
ALONE: Final = 0.8
"""The part of its worth that is left of a die that needs a target, while no other die is in the graveyard."""
SHIELD: Final = 0.6
"""The worth of immunity, in dice, to the player who leads the bidding next."""
SPARE_SHIELD: Final = 0.1
"""The worth of immunity, in dice, to everybody else."""
BARRED: Final = 0.5
"""The part of its worth that is left of a die that may not be played for now."""
STEEP: Final = 2.0
"""A player's strength is the number of dice to this power: twice the dice are worth more than twice as much."""

# What each mote is worth


def _never(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MoteWorth:
    """What one mote is worth to the house players."""

    worth: int
    """How much this die is worth in one's graveyard, beside the other motes."""
    in_dice: float = 0.0
    """The same to ``mind``: counted in dice of a cup."""
    copies: float = 0.0
    """The part of the worth of the best die in the cup that it adds."""
    saves: bool = False
    """Whether it is worth something to a player without a die in the cup."""
    appeal: Callable[[View, Power, int, Random], float] = _never
    """How much a simple bot wants this move in a window, 0 for not at all: from its view, the move, the worth of the
    target die (0 without one) and its generator."""


def _needs_shield(view: View) -> bool:
    """Whether the player is to lead the bidding next, and an accusation would still count."""
    state, seat = view.state, view.seat
    assert state.motes is not None
    leads_next = state.leader if state.phase == "sunset" else state.motes.successor
    return leads_next == seat and state.dice[seat] > 0 and seat not in state.motes.immune


def _light(_view: View, _move: Power, worth: int, _rng: Random) -> float:
    # Nothing is worth more than a die in the cup, and it may keep its player alive.
    return 10 + worth / 10


def _grey(view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 5 if _needs_shield(view) else 0


def _neutral(view: View, move: Power, _worth: int, _rng: Random) -> float:
    motes, target = view.state.motes, move.target
    assert motes is not None
    assert isinstance(target, Die)
    lasting = POWERS[target.mote].lasting
    if lasting is not None and lasting.voids_accusations:
        return 4 if _needs_shield(view) else 0
    # It then brings another die back.
    others = any(buried.die != move.die for buried in motes.graveyard)
    return 8 if WORTH[target.mote].saves and others else 0


def _red(view: View, move: Power, _worth: int, rng: Random) -> float:
    motes, target = view.state.motes, move.target
    assert motes is not None
    if any(each.seat == target and each.mote == move.die.mote for each in motes.lasting) or rng.random() < RESTRAINT:
        return 0
    return 1 + sum(buried.sent_by == target for buried in motes.graveyard)


def _dark(view: View, move: Power, worth: int, rng: Random) -> float:
    state, target = view.state, move.target
    assert state.motes is not None
    assert isinstance(target, Die)
    sender = state.motes.sender(target)
    if sender == view.seat or sender not in state.live or rng.random() < RESTRAINT:
        return 0
    return worth


WORTH: Final[Mapping[Mote, MoteWorth]] = MappingProxyType(
    {
        "light": MoteWorth(worth=6, in_dice=0.9, saves=True, appeal=_light),  # the most, as it brings a die back
        "grey": MoteWorth(worth=5, in_dice=0.5, appeal=_grey),
        "neutral": MoteWorth(worth=3, copies=0.9, appeal=_neutral),
        "blue": MoteWorth(worth=4, in_dice=0.3),
        "red": MoteWorth(worth=2, in_dice=0.05, appeal=_red),
        "dark": MoteWorth(worth=3, in_dice=0.1, appeal=_dark),
    }
)

# Rules of thumb


def choose_power(view: View, moves: Sequence[Move], rng: Random) -> Move:
    """Return the move to make where dice can only be played, lost or crowned.

    :param moves: the listed moves; there is at least one.
    """
    motes = view.state.motes
    assert motes is not None
    if isinstance(moves[0], Lose):
        return max(moves, key=lambda move: WORTH[move.die.mote].worth if isinstance(move, Lose) else 0)
    if isinstance(moves[0], Crown):
        pledge = motes.pledges[view.seat]
        return next((move for move in moves if isinstance(move, Crown) and GROUP_OF[move.die.mote] == pledge), moves[0])
    if motes.stack:
        return moves[0] if isinstance(moves[0], Power) and _hurts(view, motes) else PASS
    return wanted_power(view, [move for move in moves if isinstance(move, Power)], rng) or PASS


def wanted_power(view: View, powers: Sequence[Power], rng: Random) -> Power | None:
    """Return the most wanted of these plays; None if it is better to keep all dice."""
    wanted = [(appeal, move) for move in powers if (appeal := _appeal(view, move, rng)) > 0]
    return max(wanted, key=lambda pair: pair[0])[1] if wanted else None


def is_about_powers(moves: Sequence[Move]) -> bool:
    """Whether these listed moves are for :func:`choose_power`: a window, an answer, a die to lose or to crown."""
    return isinstance(moves[-1], Pass | Lose | Crown)


def _hurts(view: View, motes: Mischief) -> bool:
    """Whether the top of the stack is aimed at this player: a seat, an effect or a die that it may still play."""
    target = motes.stack[-1].target
    if isinstance(target, int):
        return target == view.seat
    return motes.sender(target) == view.seat or any(
        effect.die == target and effect.by == view.seat for effect in motes.stack
    )


def _appeal(view: View, move: Power, rng: Random) -> float:
    """Return how much a play is wanted in a window; 0 for not at all."""
    worth = WORTH[move.target.mote].worth if isinstance(move.target, Die) else 0
    return WORTH[move.die.mote].appeal(view, move, worth, rng)


# Foresight


def best(state: State, seat: int, moves: Sequence[Move]) -> Move:
    """Return the move after which this seat has the best chance to win; among equals the last, which is to pass."""
    return max(reversed(moves), key=lambda move: _chance(apply(state, Play(seat, move))[0], seat))


def better_than_none(state: State, seat: int, powers: Sequence[Power]) -> Power | None:
    """Return the best power to play; None if it is as good to play none."""
    now = _chance(state, seat)
    chances = [(_chance(apply(state, Play(seat, power))[0], seat), power) for power in powers]
    chance, power = max(chances, key=lambda pair: pair[0])
    return power if chance > now else None


def _chance(state: State, seat: int) -> float:
    """Return roughly how likely a seat is to win once the stack has resolved and nobody has answered."""
    motes = state.motes
    if motes is not None and motes.stack:
        if state.awaits is Expect.ROLL:
            outcomes = POWERS[motes.stack[-1].die.mote].outcomes
            return sum(_chance(apply(state, Roll(face))[0], seat) for face in outcomes) / len(outcomes)
        if state.awaits is Expect.MOVE:
            return _chance(apply(state, Play(state.turn, PASS))[0], seat)
    if state.awaits is Expect.OVER or len(state.live) == 1:
        return float(seat in state.live)
    return share(state.ruleset, [strength(state, other) for other in range(state.players)], state.live, seat)


def strength(state: State, seat: int) -> float:
    """Return the strength of a player, in dice. Without a die in the cup only a die that saves is worth anything."""
    motes = state.motes
    assert motes is not None
    if seat not in state.live:
        return 0.0
    cup = motes.cups[seat]
    total = float(len(cup))
    for die, sent_by in motes.graveyard:
        value = WORTH[die.mote]
        if sent_by == seat and (cup or value.saves):
            worth = value.in_dice + value.copies * max((WORTH[other.mote].in_dice for other in cup), default=0.0)
            if NOTATION[die.mote].target is Die and not value.copies and len(motes.graveyard) == 1:
                worth *= ALONE
            total += worth * (1 if motes.obstacle(seat, GROUP_OF[die.mote]) is None else BARRED)
    if cup and seat in motes.immune:
        leader = state.leader if motes.successor < 0 else motes.successor
        total += SHIELD if leader == seat else SPARE_SHIELD
    return total


def share(ruleset: Ruleset, dice: Sequence[float], live: Sequence[int], me: int) -> float:
    """Return roughly how likely ``me`` is to win with these dice left."""
    if ruleset.goal == "first-out":
        done = [seat for seat in live if dice[seat] <= 0]
        if done:
            return 1 / len(done) if me in done else 0.0
        strengths = {seat: 1 / dice[seat] ** STEEP for seat in live}
    else:
        strengths = {seat: dice[seat] ** STEEP if dice[seat] > 0 else 0.0 for seat in live}
    total = sum(strengths.values())
    return strengths.get(me, 0.0) / total if total else 0.0
