"""How house players use dice with powers: what each mote is worth to them, and when they play it.

The simple bots follow rules of thumb that look one step ahead. ``mind`` applies each possible move, assuming that
no player answers, and compares the strengths of all players, measured in dice.
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
"""The probability that a simple bot keeps a die that would only harm another player."""
ALONE: Final = 0.8
"""The factor on the value of a die that targets another die, while the graveyard holds no other."""
SHIELD: Final = 0.6
"""The value of immunity, in dice, to the next leader."""
SPARE_SHIELD: Final = 0.1
"""The value of immunity, in dice, to any other player."""
BARRED: Final = 0.5
"""The factor on the value of a die that its player may not play for now."""
STEEP: Final = 2.0
"""The exponent from dice to strength: twice the dice are worth more than twice as much."""

# What each mote is worth


def _never(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MoteWorth:
    """The value of one mote to the house players."""

    worth: int
    """The value to simple bots of a die in the graveyard that they may play, relative to other motes."""
    in_dice: float = 0.0
    """The same value to ``mind``. A die in the cup has the value 1."""
    copies: float = 0.0
    """Additional value to ``mind``, as a share of the most valuable die in the player's cup."""
    saves: bool = False
    """Whether the die has value for a player whose cup is empty."""
    appeal: Callable[[View, Power, int, Random], float] = _never
    """How much a simple bot wants this move in a window; 0 means not at all. The arguments are the bot's view, the
    move, the value of the target die (0 without one) and the bot's generator."""


def _needs_shield(view: View) -> bool:
    """Return whether the player leads the bidding next and is not immune yet."""
    state, seat = view.state, view.seat
    assert state.motes is not None
    leads_next = state.leader if state.phase == "sunset" else state.motes.successor
    return leads_next == seat and state.dice[seat] > 0 and seat not in state.motes.immune


def _light(_view: View, _move: Power, worth: int, _rng: Random) -> float:
    # Nothing is worth more than a die in the cup, which may even keep its player in the game.
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
    # The swapped die can then take another die back.
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
        "light": MoteWorth(worth=6, in_dice=0.9, saves=True, appeal=_light),  # the highest, since it regains a die
        "grey": MoteWorth(worth=5, in_dice=0.5, appeal=_grey),
        "neutral": MoteWorth(worth=3, copies=0.9, appeal=_neutral),
        "blue": MoteWorth(worth=4, in_dice=0.3),
        "red": MoteWorth(worth=2, in_dice=0.05, appeal=_red),
        "dark": MoteWorth(worth=3, in_dice=0.1, appeal=_dark),
    }
)

# Rules of thumb


def choose_power(view: View, moves: Sequence[Move], rng: Random) -> Move:
    """Return the move for a window, an answer, or a die to lose or crown.

    :param moves: the listed moves, at least one.
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
    """Return the most wanted of these plays, or None if keeping all dice is better."""
    wanted = [(appeal, move) for move in powers if (appeal := _appeal(view, move, rng)) > 0]
    return max(wanted, key=lambda pair: pair[0])[1] if wanted else None


def is_about_powers(moves: Sequence[Move]) -> bool:
    """Return whether the listed moves are for :func:`choose_power`: a window, an answer, a die to lose or crown."""
    return isinstance(moves[-1], Pass | Lose | Crown)


def _hurts(view: View, motes: Mischief) -> bool:
    """Return whether the top of the stack targets this player, or an effect or buried die of this player."""
    target = motes.stack[-1].target
    if isinstance(target, int):
        return target == view.seat
    return motes.sender(target) == view.seat or any(
        effect.die == target and effect.by == view.seat for effect in motes.stack
    )


def _appeal(view: View, move: Power, rng: Random) -> float:
    """Return how much a simple bot wants a play in a window; 0 means not at all."""
    worth = WORTH[move.target.mote].worth if isinstance(move.target, Die) else 0
    return WORTH[move.die.mote].appeal(view, move, worth, rng)


# Foresight


def best(state: State, seat: int, moves: Sequence[Move]) -> Move:
    """Return the move with the best chance for this seat to win. In a tie it is the last move, which is to pass."""
    return max(reversed(moves), key=lambda move: _chance(apply(state, Play(seat, move))[0], seat))


def better_than_none(state: State, seat: int, powers: Sequence[Power]) -> Power | None:
    """Return the best power to play, or None if playing none is at least as good."""
    now = _chance(state, seat)
    chances = [(_chance(apply(state, Play(seat, power))[0], seat), power) for power in powers]
    chance, power = max(chances, key=lambda pair: pair[0])
    return power if chance > now else None


def _chance(state: State, seat: int) -> float:
    """Estimate a seat's probability of winning after the stack has resolved without answers."""
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
    """Return a player's strength in dice. With an empty cup, only dice that save the player count."""
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
    """Estimate the probability that ``me`` wins with these dice left."""
    if ruleset.goal == "first-out":
        done = [seat for seat in live if dice[seat] <= 0]
        if done:
            return 1 / len(done) if me in done else 0.0
        strengths = {seat: 1 / dice[seat] ** STEEP for seat in live}
    else:
        strengths = {seat: dice[seat] ** STEEP if dice[seat] > 0 else 0.0 for seat in live}
    total = sum(strengths.values())
    return strengths.get(me, 0.0) / total if total else 0.0
