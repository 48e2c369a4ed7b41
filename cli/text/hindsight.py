"""Hindsight: how likely a bid or a call was to be right, for its player, and whether it was. For replays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cli.render import columns, dice_count, faces, percent
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.counting import at_least, count, exactly
from p2pdice.events import Event
from p2pdice.moves import Hand
from p2pdice.state import State


@dataclass(frozen=True, slots=True)
class Weighed:
    """A bid, or a call on one, in numbers."""

    is_call: bool
    face: int
    by: int | None
    """The seat of the player whose dice were in view; None if no dice were."""
    chance: Fraction
    """The chance that the bid is true, or the call right, with only those dice in view."""
    count: int | None = None
    """Dice that count for the bid, among the known dice; None if the reader must not know."""
    unknown: int | None = None
    """Dice in cups that were never opened; None if the reader must not know."""
    is_right: bool | None = None
    """Whether the bid is true, or the call right; None if that cannot be known."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that ``replay --json`` prints."""
        return {
            "seen_by": self.by,
            "fraction": str(self.chance),
            "percent": round(float(100 * self.chance), 3),
            "count": self.count,
            "unknown": self.unknown,
            "right": self.is_right,
        }


def weigh(event: Event, state: State, hands: Mapping[int, Hand], eyes: int | None) -> Weighed | None:
    """Return how likely a bid or a call was to be right; None for anything else.

    :param state: the one after it.
    :param hands: dice that are known, by seat.
    :param eyes: the seat whose dice alone the reader sees; None if the reader sees all.
    """
    if not isinstance(event, game.BidMade | game.ChallengeCalled):
        return None
    call = event.call if isinstance(event, game.ChallengeCalled) else None
    by = event.seat if eyes is None else eyes
    hand = hands.get(by, ())
    quantity, face, wild = event.quantity, event.face, state.ones_wild
    hidden = sum(state.dice) - len(hand)
    true = at_least(quantity, face, hand, hidden, wild)
    chance = exactly(quantity, face, hand, hidden, wild) if call == "exact" else 1 - true if call == "liar" else true
    seen_by = by if hand else None
    if eyes is not None:
        return Weighed(call is not None, face, seen_by, chance)
    there = count(hands.values(), face, wild)
    unknown = sum(dice for seat, dice in enumerate(state.dice) if seat not in hands)
    return Weighed(
        call is not None, face, seen_by, chance, there, unknown, _is_right(call, quantity, there, there + unknown)
    )


def _is_right(call: str | None, quantity: int, least: int, most: int) -> bool | None:
    """Tell whether a bid is true, or a call on it right, when ``least`` to ``most`` dice count for it."""
    if call == "exact":
        return False if not least <= quantity <= most else True if least == most else None
    is_true = True if least >= quantity else False if most < quantity else None
    return is_true if call is None or is_true is None else not is_true


def hindsight(weighed: Weighed, seating: Seating) -> str:
    """Return the weighed bid or call in a sentence.

    >>> from cli.text.seating import Seating
    >>> hindsight(Weighed(False, 5, 0, Fraction(1, 3), 2, 0, False), Seating(("Ada", "Ben")))
    "Ada's own dice make it 33% likely; with two fives in all it is false."
    """
    it = "the call" if weighed.is_call else "it"
    right, wrong = ("right", "wrong") if weighed.is_call else ("true", "false")
    if weighed.chance in (0, 1):
        likely = f"sure to be {right if weighed.chance else wrong}"
    else:
        likely = f"{percent(weighed.chance)} likely" + (" to be right" if weighed.is_call else "")
    if weighed.by is None:
        told = f"Without any dice in view {it} is {likely}"
    else:
        whose = seating.whose(weighed.by)
        told = f"{whose[:1].upper()}{whose[1:]} own dice make {it} {likely}"
    if weighed.count is None or weighed.unknown is None:
        return f"{told}."
    known = _known(weighed.count, weighed.face, weighed.unknown)
    if weighed.is_right is None:
        return f"{told}; {known} nobody can tell."
    return f"{told}; {known} {it} is {right if weighed.is_right else wrong}."


def in_short(weighed: Weighed, seating: Seating) -> str:
    """Return the weighed bid or call in a few words: first whether it is true, then how likely it was.

    >>> from cli.text.seating import Seating
    >>> in_short(Weighed(False, 5, 0, Fraction(1, 3), 2, 0, False), Seating(("Ada", "Ben")))
    'it is false; 33% for Ada'
    """
    likely = percent(weighed.chance)
    if weighed.by is not None:
        likely = f"{likely} for {seating.who(weighed.by)}"
    right, wrong = ("right", "wrong") if weighed.is_call else ("true", "false")
    return likely if weighed.is_right is None else f"it is {right if weighed.is_right else wrong}; {likely}"


def chances(quantity: int, face: int, state: State, hands: Mapping[int, Hand], seating: Seating) -> Iterator[str]:
    """Yield how likely a bid is for each player whose dice are known, and whether it is true."""
    there = count(hands.values(), face, state.ones_wild)
    unknown = sum(dice for seat, dice in enumerate(state.dice) if seat not in hands)
    is_true = _is_right(None, quantity, there, there + unknown)
    known = _known(there, face, unknown)
    said = "nobody can tell" if is_true is None else f"it is {'true' if is_true else 'false'}"
    yield f"{faces(quantity, face).capitalize()}: {known} {said}. How likely it is, by each player's own dice:"
    width = max((columns(seating.who(seat)) for seat in hands), default=0)
    for seat, hand in sorted(hands.items()):
        chance = at_least(quantity, face, hand, sum(state.dice) - len(hand), state.ones_wild)
        name = seating.who(seat)
        yield f"    {name}{' ' * (width - columns(name))}  {percent(chance)}"


def _known(there: int, face: int, unknown: int) -> str:
    return f"with {faces(there, face)} " + (f"and {dice_count(unknown)} unknown" if unknown else "in all")
