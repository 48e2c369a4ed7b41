"""The time in which nothing is played at a table, and its end: a bot must not wait for people forever."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self

from protocol.events import (
    Continued,
    Happened,
    MatchFormed,
    MatchResult,
    MatchStarted,
    NodeEvent,
    Suspended,
)

GIVE_UP: Final = 600
"""Seconds without play after which a bot leaves, unless told otherwise."""


class TooLongError(Exception):
    """Nothing was played for too long."""


class Lull:
    """A limit to the time in which nothing is played, whether between matches or because a match is suspended.

    An asynchronous context manager. The first lull begins with the block, and :class:`TooLongError` ends it. Lulls
    without any play between them are one, with pauses: people who keep coming and going do not make it longer.

    :param seconds: how long a lull may last.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        """How long this lull, or the next one, may last from its beginning or its last pause on."""
        self._since = 0.0
        self._limit = asyncio.timeout(seconds)
        self._is_lull = True

    async def __aenter__(self) -> Self:
        self._since = asyncio.get_running_loop().time()
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError:
            raise TooLongError from None

    def take(self, event: NodeEvent) -> None:
        """Note an event of the node."""
        match event:
            case Happened():
                self._left = self._seconds
            case MatchFormed() | MatchStarted() | Continued():
                self.note(is_lull=False)
            case MatchResult() | Suspended():
                self.note(is_lull=True)

    def note(self, *, is_lull: bool) -> None:
        """Note whether there is a lull now."""
        if is_lull != self._is_lull and not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._is_lull = is_lull
            if is_lull:
                self._since = now
                self._limit.reschedule(now + self._left)
            else:
                self._left -= now - self._since
                self._limit.reschedule(None)
