"""A fake user interface of a table, which records what it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cli.settings import Settings
from cli.table.player_table import PlayerTable
from protocol.storage.home import Home


class Paper:
    """Records every sentence in ``said``, and reads the lines in ``to_come`` as if a player typed them."""

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
        """Ignore the status line."""

    def refresh(self) -> None:
        """Paint nothing."""

    def ring(self, why: str = "turn") -> None:
        """Ring no bell."""

    def show(self, table: object) -> None:
        """Show no board."""


def on_paper(
    node: object = None, *, home: Path | None = None, is_interactive: bool = True, **options: Any
) -> tuple[PlayerTable, Paper]:
    """Return a player's table and the :class:`Paper` that it writes to. ``node`` may be a stub."""
    paper, owner = Paper(is_interactive=is_interactive), cast("Any", node or SimpleNamespace())
    if not hasattr(owner, "home"):
        owner.home = Home(Settings(home).home)
    return PlayerTable(owner, face=cast("Any", paper), **options), paper
