"""The option of unattended commands: how long they wait for play."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.bots.lull import GIVE_UP

GiveUpOption = Annotated[
    int | None,
    typer.Option(
        "--give-up",
        min=1,
        max=86_400,
        metavar="S",
        show_default=False,
        help="Leave with exit code 7 if nothing is played for S seconds, as too few players are there"
        f" (default: {GIVE_UP}).",
    ),
]
