"""``p2pdice rules``, ``odds`` and ``referee``, which use only the game's engine."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.bots.referee import Referee, refusal
from cli.foreign_text import LINE_BYTES, LineBuffer, OverlongLineError
from cli.front import application
from cli.output import unguarded
from cli.render import dice_count, escape, percent
from cli.render import faces as in_words
from cli.rulesets import RulesOption, SetOption, chosen_ruleset, is_file_name
from cli.text.explain import WIDTH, explain, summary
from p2pdice.counting import at_least, exactly
from p2pdice.engine import legal_moves, new_match
from p2pdice.errors import MalformedMove
from p2pdice.moves import Bid, parse_move
from p2pdice.plurals import plural
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect, PlacedBid
from protocol.wire.names import ruleset_hash

if TYPE_CHECKING:
    from p2pdice.moves import Hand
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State

EPILOG: Final = """\b
Examples:
  p2pdice rules
  p2pdice rules classic
  p2pdice rules perudo --set dice=3 --set dice-cap=none
  p2pdice rules friday.toml           your own: see docs/house-rules.md
  p2pdice rules --json
"""

app = application()


@app.command(epilog=EPILOG)
def rules(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE.toml]", help="The ruleset to explain.", show_default=False)
    ] = None,
    changes: SetOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: options as data.")] = False,
) -> None:
    """List the rulesets, or explain one.

    With --set you get house rules: the named ruleset (classic if none is named) with some options changed. Each
    explanation lists the options of the rules, and ends with a worked round.
    """
    if name is None and not changes:
        _list(as_json)
        return
    base = name or "classic"
    ruleset = chosen_ruleset(base, changes)
    if as_json:
        print(json.dumps(_data(ruleset)))
        return
    called = Path(base).stem if is_file_name(base) else base
    title = ruleset.name or escape(" with ".join((called, ", ".join(changes))) if changes else called)
    print(explain(ruleset, title))


def _list(as_json: bool) -> None:
    if as_json:
        print(json.dumps({"rulesets": [_data(ruleset) for ruleset in PRESETS.values()]}))
        return
    for name, ruleset in PRESETS.items():
        print(textwrap.fill(f"{name}: {summary(ruleset)}.", WIDTH, subsequent_indent="    "))
    print("\nLearn one with: p2pdice rules NAME")


def _data(ruleset: Any) -> dict[str, Any]:
    return {
        "name": ruleset.name,
        "hash": ruleset_hash(ruleset).hex(),
        "options": dict(ruleset.options()),
        "summary": summary(ruleset),
    }


ODDS_EPILOG: Final = """\b
Examples:
  p2pdice odds 3x5
  p2pdice odds 4x2 --dice 15 --hand 1,2,2,5,6
  p2pdice odds 2x1 --hand 3,3 --dice 8 --rules perudo --json
"""
MOST_DICE: Final = 990
"""The most dice that can be in play: ten cups of 99."""
_COLUMN: Final = 9

odds_app = application()


@odds_app.command(epilog=ODDS_EPILOG)
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
    state = answered_bid(ruleset, _bid(bid), len(known), in_play)
    if as_json:
        print(json.dumps(_odds_data(state, known)))
    else:
        _print_odds(state, known)


def _bid(text: str) -> Bid:
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


def answered_bid(ruleset: Ruleset, bid: Bid, mine: int, in_play: int) -> State:
    """Return the state in which seat 0, with ``mine`` of the ``in_play`` dice, answers the bid of seat 1."""
    made = PlacedBid(bid.quantity, bid.face, 1)
    dice = (mine, in_play - mine)
    return new_match(ruleset, 2)._replace(bids=(made,), turn=0, phase="bidding", awaits=Expect.MOVE, dice=dice)


def chances_of(state: State, hand: Hand) -> tuple[Fraction, Fraction, list[tuple[Bid, Fraction]]]:
    """Return the probabilities that the standing bid is true, that it is exactly true, and that each raise is true."""
    standing = state.bid
    assert standing is not None
    unknown, counting = sum(state.dice) - len(hand), state.counting
    raises = [
        (move, at_least(move.quantity, move.face, hand, unknown, counting))
        for move in legal_moves(state)
        if isinstance(move, Bid)
    ]
    quantity, face = standing.quantity, standing.face
    return at_least(quantity, face, hand, unknown, counting), exactly(quantity, face, hand, unknown, counting), raises


def _odds_data(state: State, hand: Hand) -> dict[str, Any]:
    true, exact, raises = chances_of(state, hand)
    assert state.bid is not None
    return {
        "bid": f"{state.bid.quantity}x{state.bid.face}",
        "rules": state.ruleset.name,
        "dice": sum(state.dice),
        "hand": list(hand),
        "ones_wild": state.counting.ones_wild,
        "true": _chance(true),
        "exact": _chance(exact),
        "raises": [{"bid": str(bid), **_chance(chance)} for bid, chance in raises],
    }


def _chance(chance: Fraction) -> dict[str, Any]:
    return {"fraction": str(chance), "percent": round(float(100 * chance), 3)}


def _print_odds(state: State, hand: Hand) -> None:
    true, exact, raises = chances_of(state, hand)
    assert state.bid is not None
    hidden = sum(state.dice) - len(hand)
    held = f"you hold {' '.join(map(str, hand))}, " if hand else ""
    bid = in_words(state.bid.quantity, state.bid.face).capitalize()
    print(f"{bid}: {held}{dice_count(hidden)} hidden, {state.counting.note}.\n")
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
"""A row of raises is left out if all of them are less likely than this."""


REFEREE_EPILOG: Final = """\b
Examples:
  p2pdice referee --players 2 --rules perudo
  printf '{"deal": [[1,2,3,4,5],[2,2,3,6,6]]}\\n{"seat": 0, "do": "3x5"}\\n' |
    p2pdice referee --players 2

\b
Input lines, each a JSON object:
  {"pledges": ["redeemed", "cursed"]}    by seat; with motes, first of all
  {"stakes": [[50, 1000, 0, 0], null]}   bet, funds, staked and owned tickets
  {"roll": 4}                            a public die
  {"deal": [[1,2],[3,3]]}                the dice, kept until the showdown
  {"deal": null}                         real dice; at the showdown give
  {"hands": [[1,2], null]}               the opened cups; null: never opened
  {"seat": 0, "do": "3x5"}               a move
  {"evict": 1}                           a player has left
  {}                                     only show the state

\b
Answers: {"ok": true, "events": [...], "state": {...}}, or for a line that
changes nothing {"ok": false, "error": "..."}. The state says what it awaits.
"""

referee_app = application()


@referee_app.command(epilog=REFEREE_EPILOG)
def referee(
    players: Annotated[int, typer.Option("--players", min=2, max=10, metavar="N", help="Players at the table.")],
    rules: RulesOption = "classic",
    changes: SetOption = None,
    first: Annotated[
        int,
        typer.Option("--first", min=0, max=9, metavar="SEAT", help="The seat that leads the first round, from 0."),
    ] = 0,
) -> None:
    """Referee a match: one JSON object per line in, one new state out.

    Use it for a game with real dice, to check a bot's idea of the rules, or to make test vectors.
    """
    ruleset = chosen_ruleset(rules, changes)
    if first >= players:
        raise typer.BadParameter(f"there is no seat {first} among {players}.", param_hint="--first")
    match = Referee(ruleset, players, first)
    output = unguarded(sys.stdout).buffer
    for line in _input_lines(sys.stdin.fileno()):
        answer = refusal(str(line)) if isinstance(line, OverlongLineError) else match.answer(line)
        output.write(answer)
        output.flush()


def _input_lines(stream: int) -> Iterator[bytes | OverlongLineError]:
    buffer = LineBuffer()
    while chunk := os.read(stream, LINE_BYTES):
        buffer.feed(chunk)
        while (line := _next_line(buffer.take)) is not None:
            yield line
    if (line := _next_line(buffer.rest)) is not None:
        yield line


def _next_line(take: Callable[[], bytes | None]) -> bytes | OverlongLineError | None:
    try:
        return take()
    except OverlongLineError as error:
        return error
