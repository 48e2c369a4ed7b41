"""The pace of a table. Bots bid within milliseconds, which is too fast for a person to follow.

The pace only affects what is shown. The node sends and receives messages without delay, but its events wait here until
enough time has passed since the last one was shown. People are slower than these delays, so their moves are shown at
once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from cli.table.board import CupOpened, Told, cups_in_order
from cli.table.scene import Motion, spans
from p2pdice import events as game
from protocol.events import DiceRolled, Happened, MatchResult, NodeEvent, YourTurn

if TYPE_CHECKING:
    from cli.table.board import Board

_BEFORE: Final[dict[type, float]] = {
    game.BidMade: 1200,
    game.ChallengeCalled: 1200,
    game.Sided: 800,
    game.RoundVoid: 700,
    game.PhaseBegun: 800,
    game.PowerPlayed: 1200,
    game.Passed: 600,
    game.PowerFailed: 1000,
    game.RoundStarted: 1400,
    MatchResult: 2600,
}
"""Milliseconds before an event of each type, at a person's pace. Other types have no delay."""
_RESOLVED: Final = 1000
"""Milliseconds before a power on the stack takes effect."""
_AFTER: Final[dict[type, float]] = {
    game.ChallengeCalled: 900,
    game.HandsShown: 700,
    game.Judged: 1200,
    game.DieLost: 350,
    game.DieGained: 350,
    game.PlayerOut: 350,
}
"""Milliseconds after an event of each type, before the next one."""
_VERDICT: Final = 2600
"""Milliseconds after a showdown, before the next round or the result."""
_ASKED: Final = 1800
"""Milliseconds after a showdown if the reader's turn is already waiting to be shown."""
_BETWEEN: Final = 450
"""Maximum milliseconds between two cups, besides their animations."""
_ALL_CUPS: Final = 2400
"""Maximum milliseconds between all cups, besides their animations."""
_LAST_CUP: Final = 900
_OWN: Final = (game.BidMade, game.ChallengeCalled, game.Sided, game.PowerPlayed, game.Passed, game.DieLost)
"""Types of events that are shown without delay if the reader caused them."""


def beats(event: NodeEvent, board: Board) -> Iterator[Told]:
    """Yield the beats of an event: in a showdown the opening of each cup, then the event itself.

    The caller's cup opens first, then the others clockwise, and the bidder's last.

    :param board: the board before the event.
    """
    if isinstance(event, Happened) and isinstance(shown := event.event, game.HandsShown):
        yield from _cups(shown, board.call, board.me)
    yield event


def _cups(shown: game.HandsShown, call: game.ChallengeCalled | None, me: int | None) -> Iterator[CupOpened]:
    seats = cups_in_order(shown, call)
    hidden = shown.unopened + sum(len(shown.hands[seat] or ()) for seat in seats)
    so_far = 0
    for seat in seats:
        # If the count equals the bid, a call of exact is still undecided: one more die would make it wrong.
        most = so_far + hidden
        is_decided = most < shown.quantity or so_far >= shown.quantity + (call is not None and call.call == "exact")
        cup = CupOpened(seat, shown, seat == me, seat == seats[-1], is_decided)
        yield cup
        so_far += cup.hits
        hidden -= len(shown.hands[seat] or ())


class Pace:
    """Delays the events of a node so that a person can follow.

    :param factor: 1 is a person's pace, 2 is half as fast, 0 shows everything at once.
    :param motion: ``full``, ``calm``, or ``none``, which shows a showdown as one picture.
    """

    def __init__(self, factor: float, motion: str = "full") -> None:
        self.longest = math.inf
        """Maximum delay of an event in seconds. Players must see that it is their turn early enough to move."""
        self.factor = factor
        """The current pace. It may be changed between two events."""
        self._kind = motion
        self._shown = 0.0
        """When :attr:`_last` was shown, by the loop's clock."""
        self._last: Told | None = None
        """The last shown event that was delayed or delays the next one."""
        self._moving: dict[type, tuple[Told, float]] = {}
        """The last event of each animated type, and when it was shown."""
        self._is_skipping = False
        self._skip = asyncio.Event()
        self._queue: asyncio.Queue[tuple[float, NodeEvent] | None] = asyncio.Queue()
        self._is_holding = False
        self._questions = 0
        """The number of requests for the reader's move that are not shown yet."""

    @property
    def is_holding(self) -> bool:
        """Whether some events are not shown yet."""
        return self._is_holding or not self._queue.empty()

    def motion(self) -> Motion:
        """Return the animations in progress. Requires a running loop."""
        now = asyncio.get_running_loop().time()
        since = {kind: (beat, (now - shown) * 1000) for kind, (beat, shown) in self._moving.items()}
        return Motion(since, self.factor, self._kind)

    def skip(self) -> None:
        """Show all waiting events at once, but not beyond the end of the round."""
        self._moving.clear()
        if self.is_holding:
            self._is_skipping = True
            self._skip.set()

    def hurry(self) -> None:
        """Show all events at once from now on."""
        self.factor = 0.0
        self._skip.set()

    async def follow(self, events: AsyncIterator[NodeEvent], board: Board) -> AsyncGenerator[Told, None]:
        """Yield each event when it is due to be shown.

        :param board: the caller must put each event on it before requesting the next one.
        """
        if not self.factor:
            async for event in events:
                for beat in beats(event, board):
                    yield beat
            return
        queue = self._queue
        reading = asyncio.create_task(self._read(events, queue))
        try:
            while (item := await queue.get()) is not None:
                arrived, told = item
                self._is_holding = True
                for beat in beats(told, board):
                    await self._wait(beat, arrived, board.me, len(board.players))
                    self._note(beat)
                    yield beat
                self._is_holding = False
                if queue.empty():
                    self._is_skipping = False
            await reading  # raises the exception of the source, if it failed
        finally:
            reading.cancel()
            self._queue = asyncio.Queue()  # the next call may follow another source
            self._is_holding = self._is_skipping = False
            self._questions = 0

    async def _read(
        self, events: AsyncIterator[NodeEvent], queue: asyncio.Queue[tuple[float, NodeEvent] | None]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for event in events:
                self._questions += isinstance(event, YourTurn)
                queue.put_nowait((loop.time(), event))
        finally:
            queue.put_nowait(None)

    async def _wait(self, beat: Told, arrived: float, me: int | None, players: int) -> None:
        loop = asyncio.get_running_loop()
        gap = self._gap(beat, me, players) * self.factor / 1000
        until = min(self._shown + gap, arrived + self.longest)
        if not self._is_skipping and until > loop.time():
            self._skip.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._skip.wait()
        if isinstance(beat, Happened) and isinstance(beat.event, game.RoundStarted):
            self._is_skipping = False

    def _note(self, beat: Told) -> None:
        now = asyncio.get_running_loop().time()
        if isinstance(beat, YourTurn):
            self._questions -= 1
        if spans(beat) and not self._is_skipping and self.factor:
            self._moving[type(_told(beat))] = beat, now
        if _before(beat) or type(_told(beat)) in _AFTER or isinstance(beat, YourTurn | DiceRolled | CupOpened):
            self._shown, self._last = now, beat

    def _gap(self, beat: Told, me: int | None, players: int) -> float:
        """Return the milliseconds that must pass between the last event shown and this one."""
        told, last = _told(beat), _told(self._last)
        is_still = self._kind == "none"
        if isinstance(told, game.RoundStarted | MatchResult) and isinstance(
            last, game.Judged | game.DieLost | game.DieGained | game.PlayerOut | game.RoundVoid
        ):
            return _ASKED if self._questions else _VERDICT
        if isinstance(told, CupOpened):
            if isinstance(last, CupOpened):
                return 0 if is_still else _between(last, told, players)
            return _AFTER[game.ChallengeCalled]
        if isinstance(last, CupOpened):
            return 0 if is_still else sum(spans(last))
        if is_still and isinstance(last, game.HandsShown | game.Judged):
            return 0
        own = isinstance(told, _OWN) and told.seat == me
        if isinstance(last, game.HandsShown | game.Judged | game.DieLost | game.DieGained | game.PlayerOut):
            return _AFTER[type(last)]
        return 0 if own else _before(beat)


def _told(beat: Told | None) -> object:
    return beat.event if isinstance(beat, Happened) else beat


def _before(beat: Told) -> float:
    told = _told(beat)
    return _RESOLVED if isinstance(told, game.PowerEvent) and told.resolves else _BEFORE.get(type(told), 0.0)


def _between(last: CupOpened, cup: CupOpened, players: int) -> float:
    gap = _LAST_CUP if cup.is_last else min(_BETWEEN, _ALL_CUPS / max(players, 1))
    return sum(spans(last)) + (gap / 2 if cup.is_decided else gap)
