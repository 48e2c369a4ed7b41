"""``--level``: how house bots play."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import cycle, islice
from typing import Annotated, Final

import typer


class Level(StrEnum):
    """A level of the house bots; :data:`p2pdice.players.LEVELS` has the same, but takes longer to import."""

    RANDOM = "random"
    CAUTIOUS = "cautious"
    PRESS = "press"
    ODDS = "odds"
    MIND = "mind"


DEFAULT_LEVEL: Final = Level.ODDS
"""It bluffs now and then, and a person has a chance against it; ``mind`` is for people who want a hard opponent."""

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


def shown(level: Level) -> str:
    """Return the level for a nickname: empty for the usual one."""
    return "" if level is DEFAULT_LEVEL else level.value
