"""How to show a table: on the full screen or in lines, at which pace, and whether with a bell."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from cli.output import is_interactive
from cli.preferences import SLOWEST, Ui, preferences
from cli.settings import Settings
from cli.table.terminal import can_move_cursor, can_paint


class Showing(NamedTuple):
    """How to show one table."""

    ui: Ui = "line"
    """``screen``: the whole terminal, repainted when something changes; ``line``: sentences, one below the other."""
    pace: float = 0.0
    """1 is a person's pace, 2 half as fast, 0 shows everything at once."""
    bell: str = "off"
    """``off``, ``turn`` (only for the player's own turn) or ``all``."""
    color: str = "auto"
    """The background on which colours must be legible: ``dark``, ``light`` or ``auto`` (both); ``none`` for no
    colours."""
    motion: str = "full"
    """``full``, ``calm`` (no animations) or ``none``, which shows a showdown as one picture."""
    qr: bool = False
    """Whether the join line of the player's own table is also drawn as a QR code."""


def _pace(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= SLOWEST:
        raise typer.BadParameter(f"{value:g} is not a number from 0 to {SLOWEST:g}.")
    return value


UiOption = Annotated[
    Ui | None,
    typer.Option("--ui", show_default=False, help="How the table is shown (default: the full screen, where possible)."),
]
PaceOption = Annotated[
    float | None,
    typer.Option(
        "--pace",
        callback=_pace,
        metavar="F",
        show_default=False,
        help="How slowly moves are shown, from 0 to 10: 1 is a person's pace, 2 twice as slow, 0 shows them at once.",
    ),
]
BellOption = Annotated[
    bool | None, typer.Option("--bell/--no-bell", show_default=False, help="Ring when it is your turn.")
]


def showing(settings: Settings, ui: Ui | None, pace: float | None, bell: bool | None) -> Showing:
    """Return how to show a table: as the options say, or else the settings, within the abilities of this process.

    Through pipes there is nobody to follow, so the default pace is 0.

    :raises Failure: if the settings cannot be read.
    """
    if not is_interactive():
        return Showing("line", pace or 0.0)
    settled = preferences(settings)
    is_fit = can_paint() if ui is None else can_move_cursor()
    return Showing(
        (ui or settled.ui) if is_fit else "line",
        settled.pace if pace is None else pace,
        settled.bell if bell is None else ("turn" if bell else "off"),
        settled.color,
        settled.motion,
    )
