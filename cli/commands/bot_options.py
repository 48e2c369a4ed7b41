"""The options of commands that seat bots."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Annotated, Final

import typer

from cli.bots.bot import DEFAULT_LEVEL, Level

GIVE_UP: Final = 600
"""Seconds without play after which a bot leaves, unless told otherwise."""
PROGRAMS: Final = "For hosts of programs"
"""A panel of the help: what those need who seat programs, or run a table by a script."""

MoveOption = Annotated[
    int,
    typer.Option("--move-ms", min=10, max=60_000, metavar="MS", help="Milliseconds that a program has for a move."),
]
LevelOption = Annotated[Level, typer.Option("--level", help="How the bot plays: from random moves to its best.")]
LevelsOption = Annotated[
    list[Level] | None,
    typer.Option(
        "--level",
        show_default=DEFAULT_LEVEL.value,
        help="How house bots play: from random moves to their best. If repeated, they take the levels in turn.",
    ),
]


def dealt(levels: Sequence[Level] | None, bots: int) -> tuple[Level, ...]:
    """Return a level for each of ``bots`` bots.

    :raises typer.BadParameter: for more levels than bots.
    """
    if levels and len(levels) > bots:
        raise typer.BadParameter(
            "There is no house bot to play like that."
            if not bots
            else f"{len(levels)} levels are too many for {bots}.",
            param_hint="--level",
        )
    return tuple(islice(cycle(levels or (DEFAULT_LEVEL,)), bots))
