"""A face of a table that writes down what it is told."""

from __future__ import annotations

import asyncio


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
