"""The recap of a match: its best bluff, its worst call and its luckiest roll, with exact chances. No I/O.

Only dice that were shown tell anything, so a round counts once its cups are open. The best bluff is the bid least
likely by its bidder's own dice that was false and was raised. The worst call is the wrong call of a lie on the bid that
was likeliest by the caller's own dice. The luckiest roll has the rarest number of one face; wild ones count, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import NamedTuple

from cli.render import faces, number, percent
from cli.text.rounds import Round
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.counting import count


class Row(NamedTuple):
    """One row of a recap, as text that is safe to print."""

    title: str
    """Two words: ``Best bluff``."""
    seat: int
    """The player whom it is about."""
    who: str
    """Their name, or ``You``."""
    text: str
    """The rest of the sentence."""


def recap(rounds: Iterable[Round], seating: Seating) -> tuple[Row, ...]:
    """Return the rows of a recap. A row without a candidate is left out; of equals the first is taken."""
    opened = [(each, each.shown) for each in rounds if each.shown is not None]
    found = (
        [row for each, shown in opened for row in find(each, shown, seating)] for find in (_bluffs, _calls, _rolls)
    )
    return tuple(min(rows, key=lambda each: each[0])[1] for rows in found if rows)


def _bluffs(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, Row]]:
    hands = [*filter(None, shown.hands)]
    for bid in played.bids[:-1]:  # the last one was not raised
        chance = played.chance(bid.seat, bid.quantity, bid.face)
        there = count(hands, bid.face, shown.ones_wild)
        if chance is None or there + shown.unopened >= bid.quantity:
            continue
        held = number(count((shown.hands[bid.seat] or (),), bid.face, shown.ones_wild)).replace("no", "none")
        text = f"bid {faces(bid.quantity, bid.face)} holding {held}: {_likely(chance)}, and nobody called."
        yield chance, _row("Best bluff", bid.seat, text, seating)


def _calls(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, Row]]:
    verdict = played.verdict
    if verdict is None or verdict.call_right or verdict.call != "liar":
        return
    if (chance := played.chance(verdict.caller, shown.quantity, shown.face)) is not None:
        least = "at least " * bool(shown.unopened)
        there = f"{'was' if shown.count == 1 and not least else 'were'} {least}{number(shown.count)}"
        what = f"{seating.whose(verdict.bidder)} {faces(shown.quantity, shown.face)}"
        text = f"called {what}: {_likely(chance)}, and there {there}."
        yield 1 - chance, _row("Worst call", verdict.caller, text, seating)


def _rolls(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, Row]]:
    for seat, hand in enumerate(shown.hands):
        if not hand:
            continue
        wild = shown.ones_wild
        # A hand of ones alone is a number of ones; else wild ones count with the others.
        counts = [(count((hand,), face, wild and set(hand) != {1}), face) for face in range(1, 7)]
        most, face = max(counts)
        chance = roll_chance(most, len(hand), wild)
        if chance <= Fraction(1, 2):
            text = f"rolled {' '.join(map(str, hand))} in round {played.number}: {faces(most, face)}, one roll in "
            yield chance, _row("Luckiest roll", seat, f"{text}{round(1 / chance):,}.", seating)


def _likely(chance: Fraction) -> str:
    if chance in (0, 1):
        return "certain" if chance else "impossible"
    return f"{percent(chance)} likely"


def _row(title: str, seat: int, text: str, seating: Seating) -> Row:
    return Row(title, seat, seating.does(seat, "", "").strip(), text)


@lru_cache(maxsize=256)
def roll_chance(most: int, dice: int, ones_wild: bool) -> Fraction:
    """Return the chance that a roll has at least ``most`` dice of some face, with wild ones added to each other face.

    >>> roll_chance(5, 5, ones_wild=True), roll_chance(2, 2, ones_wild=False)
    (Fraction(13, 648), Fraction(1, 6))
    """
    if not ones_wild:
        return 1 - Fraction(_ways(dice, 6, most - 1), 6**dice)
    fewer = sum(comb(dice, ones) * _ways(dice - ones, 5, most - 1 - ones) for ones in range(min(most, dice + 1)))
    return 1 - Fraction(fewer, 6**dice)


def _ways(dice: int, faces: int, most: int) -> int:
    """Return in how many ways dice can show so many faces, none of them more than ``most`` times."""
    ways = [1] + [0] * dice
    for _ in range(faces):
        ways = [sum(comb(n, k) * ways[n - k] for k in range(min(n, most) + 1)) for n in range(dice + 1)]
    return ways[dice]
