"""The options of commands that play without a person: how much, and how long they wait for play."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.bots.lull import GIVE_UP

MatchesOption = Annotated[
    int | None,
    typer.Option(
        "--matches",
        min=1,
        max=10_000,
        metavar="N",
        show_default=False,
        help="Unattended: play this many matches at the table (default: 1).",
    ),
]
MoveOption = Annotated[
    int,
    typer.Option("--move-ms", min=10, max=60_000, metavar="MS", help="Milliseconds that a program has for a move."),
]
GiveUpOption = Annotated[
    int | None,
    typer.Option(
        "--give-up",
        min=1,
        max=86_400,
        metavar="S",
        show_default=False,
        help="Unattended: leave with exit code 7 if nothing is played for S seconds, as too few players are there"
        f" (default: {GIVE_UP}).",
    ),
]
