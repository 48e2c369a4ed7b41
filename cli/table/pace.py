"""The pace of a table: bots bid in milliseconds, and nobody can follow four bids at once.

It only concerns what is shown. The node takes and gives messages whenever they come; its events wait here until enough
time has passed since the last one was shown. So moves of people, who take longer anyhow, are not held back at all.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import Final

from cli.table.board import CupOpened, Told
from p2pdice import events as game
from protocol.events import DiceRolled, Happened, MatchResult, MatchStarted, NodeEvent, YourTurn

_SECONDS: Final[dict[type, float]] = {
    game.BidMade: 1.2,
    game.ChallengeCalled: 1.2,
    game.Sided: 0.8,
    CupOpened: 0.7,
    game.HandsShown: 0.7,
    game.Judged: 0.8,
    game.RoundVoid: 0.8,
    game.DieLost: 0.7,
    game.DieGained: 0.7,
    game.PlayerOut: 0.7,
    game.PhaseBegun: 0.8,
    game.PowerPlayed: 1.2,
    game.Passed: 0.6,
    game.PowerFailed: 1.0,
    game.RoundStarted: 1.4,
    MatchResult: 2.5,
}
"""Seconds before an event is shown, after the last one, at a person's pace. Other events are shown at once."""
_RESOLVED: Final = 1.0
"""The same for the event of a power that was on the stack."""
_OWN: Final = (game.BidMade, game.ChallengeCalled, game.Sided, game.PowerPlayed, game.Passed, game.DieLost)
"""Events that are shown at once if they are the reader's own."""


def beats(event: NodeEvent) -> Iterator[Told]:
    """Yield the parts in which an event is shown, one after the other: in a showdown, each cup by itself."""
    if isinstance(event, Happened) and isinstance(shown := event.event, game.HandsShown):
        for seat, cup in enumerate(shown.hands):
            if cup != ():
                yield CupOpened(seat, shown)
    yield event


class Pace:
    """Holds back the events of a node, so that a person can follow.

    :param factor: 1 is a person's pace, 2 is half as fast, 0 shows everything at once.
    """

    def __init__(self, factor: float) -> None:
        self.longest = math.inf
        """The most seconds that an event is held back: a player on turn must see the question in time."""
        self._factor = factor
        self._me: int | None = None
        self._shown = 0.0
        """The time of the last event shown, by the loop's clock."""
        self._is_skipping = False
        self._skip = asyncio.Event()
        self._queue: asyncio.Queue[tuple[float, NodeEvent] | None] = asyncio.Queue()
        self._is_holding = False

    @property
    def is_holding(self) -> bool:
        """Whether some events are not shown yet."""
        return self._is_holding or not self._queue.empty()

    def skip(self) -> None:
        """Show all events so far at once, but stop at the end of the round."""
        if self.is_holding:
            self._is_skipping = True
            self._skip.set()

    def hurry(self) -> None:
        """Hold nothing back any more."""
        self._factor = 0.0
        self._skip.set()

    async def follow(self, events: AsyncIterator[NodeEvent]) -> AsyncGenerator[Told, None]:
        """Yield the events when it is time to show them."""
        if not self._factor:
            async for event in events:
                for beat in beats(event):
                    yield beat
            return
        queue = self._queue
        reading = asyncio.create_task(self._read(events, queue))
        try:
            while (item := await queue.get()) is not None:
                arrived, told = item
                self._is_holding = True
                for beat in beats(told):
                    await self._wait(beat, arrived)
                    yield beat
                self._is_holding = False
                if queue.empty():
                    self._is_skipping = False
            await reading  # raises what it raised
        finally:
            reading.cancel()
            self._queue = asyncio.Queue()  # the same pace may follow other events next
            self._is_holding = self._is_skipping = False

    async def _read(
        self, events: AsyncIterator[NodeEvent], queue: asyncio.Queue[tuple[float, NodeEvent] | None]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for event in events:
                queue.put_nowait((loop.time(), event))
        finally:
            queue.put_nowait(None)

    async def _wait(self, beat: Told, arrived: float) -> None:
        loop = asyncio.get_running_loop()
        until = min(self._shown + self._seconds(beat) * self._factor, arrived + self.longest)
        if not self._is_skipping and until > loop.time():
            self._skip.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._skip.wait()
        if isinstance(beat, Happened) and isinstance(beat.event, game.RoundStarted):
            self._is_skipping = False
        if isinstance(beat, MatchStarted):
            self._me = beat.my_seat
        if self._seconds(beat) or isinstance(beat, YourTurn | DiceRolled):
            self._shown = loop.time()

    def _seconds(self, beat: Told) -> float:
        told = beat.event if isinstance(beat, Happened) else beat
        if isinstance(told, _OWN) and told.seat == self._me:
            return 0.0
        if isinstance(told, game.PowerEvent) and told.resolves:
            return _RESOLVED
        return _SECONDS.get(type(told), 0.0)
