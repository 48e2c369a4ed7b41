"""``p2pdice referee``: the engine as a filter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Final

import typer

from cli.bots.ndjson import LINE_BYTES, LineBuffer, OverlongLineError
from cli.front import application
from cli.output import unguarded
from cli.rulesets import RulesOption, SetOption, chosen_ruleset

EPILOG: Final = """\b
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

app = application()


@app.command(epilog=EPILOG)
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

    For a game with real dice, to check a bot's idea of the rules, or to make test vectors.
    """
    from cli.bots.referee import Referee, refusal

    ruleset = chosen_ruleset(rules, changes)
    if first >= players:
        raise typer.BadParameter(f"there is no seat {first} among {players}.", param_hint="--first")
    match = Referee(ruleset, players, first)
    output = unguarded(sys.stdout).buffer
    for line in _lines(sys.stdin.fileno()):
        answer = refusal(str(line)) if isinstance(line, OverlongLineError) else match.answer(line)
        output.write(answer)
        output.flush()


def _lines(stream: int) -> Iterator[bytes | OverlongLineError]:
    buffer = LineBuffer()
    while chunk := os.read(stream, LINE_BYTES):
        buffer.feed(chunk)
        while (line := _next(buffer.take)) is not None:
            yield line
    if (line := _next(buffer.rest)) is not None:
        yield line


def _next(take: Callable[[], bytes | None]) -> bytes | OverlongLineError | None:
    try:
        return take()
    except OverlongLineError as error:
        return error
