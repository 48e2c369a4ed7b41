"""``p2pdice odds``: exact probabilities of a bid."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.front import application
from cli.render import dice_count, escape, percent
from cli.render import faces as in_words
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from p2pdice.plurals import plural

if TYPE_CHECKING:
    from p2pdice.inputs import Hand
    from p2pdice.moves import Bid
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State

EPILOG: Final = """\b
Examples:
  p2pdice odds 3x5
  p2pdice odds 4x2 --dice 15 --hand 1,2,2,5,6
  p2pdice odds 2x1 --hand 3,3 --dice 8 --rules perudo --json
"""
MOST_DICE: Final = 990
"""Ten cups of 99."""
_COLUMN: Final = 9

app = application()


@app.command(epilog=EPILOG)
def odds(
    bid: Annotated[str, typer.Argument(metavar="BID", help="Such as 3x5: three fives.")],
    dice: Annotated[
        int | None,
        typer.Option(
            "--dice",
            min=1,
            max=MOST_DICE,
            metavar="N",
            show_default=False,
            help="Dice in all cups, yours included (default: those of two players).",
        ),
    ] = None,
    hand: Annotated[
        str, typer.Option("--hand", metavar="FACES", show_default=False, help="Your own dice, such as 1,3,3.")
    ] = "",
    rules: RulesOption = "classic",
    changes: SetOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with exact fractions.")] = False,
) -> None:
    """Show how likely a bid is, and each raise over it.

    The odds are exact for a player who knows only their own dice. Where the first bid of a round decides whether ones
    are wild, this bid counts as the first.
    """
    ruleset = chosen_ruleset(rules, changes)
    known = _hand(hand)
    in_play = dice if dice is not None else max(2 * ruleset.dice, len(known))
    if len(known) > in_play:
        more = f"you hold {len(known)} dice, and {in_play} {plural(in_play, 'is', 'are')} in play."
        raise typer.BadParameter(more, param_hint="--dice")
    state = _standing(ruleset, _bid(bid), len(known), in_play)
    if as_json:
        print(json.dumps(_data(state, known)))
    else:
        _print(state, known)


def _bid(text: str) -> Bid:
    from p2pdice.errors import MalformedMove
    from p2pdice.moves import Bid, parse_move

    try:
        move = parse_move(text)
    except MalformedMove:
        move = None
    if not isinstance(move, Bid):
        raise typer.BadParameter(f"{escape(text)!r} is not a bid, such as 3x5 for three fives.", param_hint="BID")
    return move


def _hand(text: str) -> Hand:
    if not re.fullmatch(r"([1-6][, ]?){0,99}", text):
        raise typer.BadParameter(f"{escape(text)!r} is not a hand, such as 1,3,3.", param_hint="--hand")
    return tuple(sorted(int(face) for face in text if face.isdigit()))


def _standing(ruleset: Ruleset, bid: Bid, mine: int, in_play: int) -> State:
    """Return the state in which seat 0, with ``mine`` dice, answers a bid."""
    from p2pdice.engine import new_match
    from p2pdice.state import Expect, StandingBid

    made = StandingBid(bid.quantity, bid.face, 1)
    dice = (mine, in_play - mine)
    state = new_match(ruleset, 2)
    table = state.table._replace(dice=dice)
    return state._replace(bids=(made,), turn=0, phase="bidding", awaits=Expect.MOVE, table=table)


def _chances(state: State, hand: Hand) -> tuple[Fraction, Fraction, list[tuple[Bid, Fraction]]]:
    """Return three chances: of the standing bid, of the same bid being exactly true, and of each listed raise."""
    from p2pdice.engine import legal_moves
    from p2pdice.moves import Bid
    from p2pdice.odds import at_least, exactly

    standing = state.bid
    assert standing is not None
    unknown, wild = sum(state.dice) - len(hand), state.ones_wild
    raises = [
        (move, at_least(move.quantity, move.face, hand, unknown, wild))
        for move in legal_moves(state)
        if isinstance(move, Bid)
    ]
    quantity, face = standing.quantity, standing.face
    return at_least(quantity, face, hand, unknown, wild), exactly(quantity, face, hand, unknown, wild), raises


def _data(state: State, hand: Hand) -> dict[str, Any]:
    true, exact, raises = _chances(state, hand)
    assert state.bid is not None
    return {
        "bid": f"{state.bid.quantity}x{state.bid.face}",
        "rules": state.ruleset.name,
        "dice": sum(state.dice),
        "hand": list(hand),
        "ones_wild": state.ones_wild,
        "true": _chance(true),
        "exact": _chance(exact),
        "raises": [{"bid": str(bid), **_chance(chance)} for bid, chance in raises],
    }


def _chance(chance: Fraction) -> dict[str, Any]:
    return {"fraction": str(chance), "percent": round(float(100 * chance), 3)}


def _print(state: State, hand: Hand) -> None:
    true, exact, raises = _chances(state, hand)
    assert state.bid is not None
    hidden = sum(state.dice) - len(hand)
    held = f"you hold {' '.join(map(str, hand))}, " if hand else ""
    wild = "ones are wild" if state.ones_wild else "ones are not wild"
    print(f"{in_words(state.bid.quantity, state.bid.face).capitalize()}: {held}{dice_count(hidden)} hidden, {wild}.\n")
    for what, chance in (("true", true), ("exactly true", exact), ("a lie", 1 - true)):
        print(f"  {what:16}{percent(chance):>9}")
    if not raises:
        print("\nNo raise is possible with the dice in play.")
        return
    print("\nThe raises, and how likely each is to be true:\n")
    print("        " + "".join(f"{name:>{_COLUMN}}" for name in ("ones", "twos", "threes", "fours", "fives", "sixes")))
    table = {(bid.quantity, bid.face): chance for bid, chance in raises}
    likely = [quantity for (quantity, _), chance in table.items() if chance >= _SHOWN]
    last = max([*likely, min(quantity for quantity, _ in table)])
    for quantity in sorted({quantity for quantity, _ in table if quantity <= last}):
        cells = (table.get((quantity, face)) for face in range(1, 7))
        row = "".join(f"{'-' if chance is None else percent(chance):>{_COLUMN}}" for chance in cells)
        print(f"  {quantity:>4}  {row}".rstrip())
    if any(quantity > last for quantity, _ in table):
        print("\nRaises to more dice are under 1% each.")


_SHOWN: Final = Fraction(1, 100)
"""Rows of raises that are all less likely are left out."""
