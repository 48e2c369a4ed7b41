"""The options shared by the commands that seat bots."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.bots.bot import DEFAULT_LEVEL, Level
from cli.render import shown_path

GIVE_UP: Final = 600
"""The default number of seconds without play after which a bot leaves or a league ends."""
PROGRAMS: Final = "For hosts of programs"
"""The panel of the help with the options for seating programs and for running a table from a script."""

MoveOption = Annotated[
    int,
    typer.Option("--move-ms", min=10, max=60_000, metavar="MS", help="Milliseconds for each move of a program."),
]
LogsOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="DIR",
        file_okay=False,
        show_default=False,
        help="Keep every line that a bot reads and writes, with times, in new files in DIR.",
    ),
]
LevelOption = Annotated[Level, typer.Option("--level", help="How well the bot plays, from random moves to its best.")]
LevelsOption = Annotated[
    list[Level] | None,
    typer.Option(
        "--level",
        show_default=False,
        help="How well house bots play, from random moves to their best. If repeated, they take the levels in turn"
        f" (default: {DEFAULT_LEVEL}).",
    ),
]


def log_folder(folder: Path | None) -> Path | None:
    """Return the folder of ``--log`` as an absolute path, after creating it if it does not exist.

    :raises typer.BadParameter: if it cannot be created.
    """
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{shown_path(folder)}: {error.strerror}.", param_hint="--log") from None
    return folder.absolute()


def dealt(levels: Sequence[Level] | None, bots: int) -> tuple[Level, ...]:
    """Return a level for each of ``bots`` bots. ``levels`` are repeated in order if there are too few.

    :raises typer.BadParameter: if there are more levels than bots.
    """
    if levels and len(levels) > bots:
        raise typer.BadParameter(
            "There is no house bot to play like that."
            if not bots
            else f"{len(levels)} levels are too many for {bots}.",
            param_hint="--level",
        )
    return tuple(islice(cycle(levels or (DEFAULT_LEVEL,)), bots))
