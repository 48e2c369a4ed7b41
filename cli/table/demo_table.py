"""The table of the demo: a match that bots have just played, as a spectator sees it, and explained."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from cli.table.board import Told
from cli.table.replay_table import ReplayTable
from cli.table.scene import ReplayStrip, WatchStrip
from cli.table.tape import WATCHER
from cli.text.coach import facts
from p2pdice.events import RoundStarted
from protocol.events import Happened

if TYPE_CHECKING:
    from cli.settings import Settings
    from cli.table.showing import Showing
    from protocol.match.replay import Replay

_UNHURRIED: Final = 2
"""Rounds at a person's pace. The others share the rest of the time."""
_LONGEST: Final = 105.0
"""Seconds that the match takes if nobody stops it. It is played, and judged, in less than the rest of two minutes."""
_FASTEST: Final = 0.02
"""Of the pace: with very many rounds each is still seen."""


class DemoTable(ReplayTable):
    """A replay that plays by itself until a key stops it. Parameters are those of a replay."""

    title = "Demo"

    def __init__(self, replay: Replay, settings: Settings, showing: Showing, verdict: str) -> None:
        super().__init__(replay, settings, showing, WATCHER, verdict)
        self._facts = facts(len(replay.players))
        self._signatures = [0, *accumulate(len(step.messages) + len(step.votes) for step in replay.steps())]
        """Up to each step."""
        self._seconds: list[float] = []
        """What each round took so far, at a pace of 1."""
        self._began = self._round_began = 0.0

    async def run(self) -> None:
        self._began = asyncio.get_running_loop().time()
        self._is_playing.set()
        await super().run()

    def _introduce(self) -> None:
        self._say("Four facts about what you see, then the rest at a faster pace. Space skips a round, End all.")

    def _before_telling(self, event: Told) -> None:
        if isinstance(event, Happened) and isinstance(event.event, RoundStarted):
            self._set_pace()

    def _set_pace(self) -> None:
        """Measure the round that is over, and divide the time that is left among those to come."""
        now = asyncio.get_running_loop().time()
        if self._round_began and self.pace.factor:
            self._seconds.append((now - self._round_began) / self.pace.factor)
        self._round_began = now
        if len(self._seconds) >= _UNHURRIED and self.pace.factor:
            left = self._tape.rounds - self._tape.place.round + 1
            wanted = left * sum(self._seconds) / len(self._seconds)
            share = (self._began + _LONGEST - now) / wanted if wanted else 1.0
            self.pace.factor = min(max(share, _FASTEST), self._showing.pace)

    def told(self, event: Told) -> Sequence[str]:
        told = [*super().told(event)]
        is_new = isinstance(event, Happened) and isinstance(event.event, RoundStarted)
        return [f"({fact})", *told] if is_new and not self.face.shows_board and (fact := self._fact()) else told

    def _fact(self) -> str:
        board = self.board
        round_ = board.showdown.round if board.showdown is not None else board.state.round if board.state else 0
        return self._facts[round_ - 1] if 1 <= round_ <= len(self._facts) else ""

    def strip(self) -> ReplayStrip | WatchStrip:
        if not self._is_playing.is_set():
            return super().strip()
        step = self._tape.step
        return WatchStrip(step, self._signatures[min(step + 1, len(self._signatures) - 1)], self._fact())

    def key_bar(self) -> Sequence[tuple[str, str]]:
        if self.board.over is not None:
            return [("Enter", "leave"), ("start", ""), ("?", "help")]
        if self._is_playing.is_set():
            return [("Space", "next round"), ("End", "skip to the end"), ("→", "step"), ("Ctrl-C", "leave")]
        return super().key_bar()

    def obey(self, line: str) -> None:
        word = line.strip().lower()
        if self.board.over is not None and word in ("", "next", "play"):
            self._quit("")
        elif self._is_playing.is_set() and word == "play":
            self._skip_round()
        else:
            super().obey(line)

    def _say_end(self) -> None:
        if self.face.shows_board:
            self._say("That was the demo. Enter leaves; start shows it again.")
        else:
            self._quit("")

    def _skip_round(self) -> None:
        self._stop()
        if self._tape.place.round < self._tape.rounds:
            self._go_to_round(self._tape.place.round + 1)
            self._is_playing.set()
        else:
            self._to_end("")
