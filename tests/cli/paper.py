"""A face of a table that writes down what it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cli.settings import Settings
from cli.table.player_table import PlayerTable
from protocol.storage.home import Home


class Paper:
    """Keeps every sentence, and reads the lines that are put into it."""

    shows_board = False
    page_size: tuple[int, int] | None = None

    def __init__(self, *, is_interactive: bool) -> None:
        self.is_interactive = is_interactive
        self.said: list[str] = []
        self.to_come: list[str] = []

    async def read(self) -> str | None:
        await asyncio.sleep(0)
        return self.to_come.pop(0) if self.to_come else None

    def tell(self, text: str, talk: object = None) -> None:
        self.said.append(text)

    def say(self, text: str) -> None:
        self.said.append(text)

    def remind(self, status: str) -> None:
        """It is said when it is asked for."""

    def refresh(self) -> None:
        """Nothing is shown."""

    def ring(self, why: str = "turn") -> None:
        """Nobody is called."""

    def show(self, table: object) -> None:
        """It keeps sentences only."""


def on_paper(
    node: object = None, *, home: Path | None = None, is_interactive: bool = True, **options: Any
) -> tuple[PlayerTable, Paper]:
    """Return the table of a player whose node is this one, or has as much of one as a test needs, and its paper."""
    paper, owner = Paper(is_interactive=is_interactive), cast("Any", node or SimpleNamespace())
    if not hasattr(owner, "home"):
        owner.home = Home(Settings(home).home)
    return PlayerTable(owner, face=cast("Any", paper), **options), paper
