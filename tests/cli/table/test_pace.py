"""What happens is shown at a person's pace: apart, in order, never far behind, and at once for whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any, cast

import pytest

from cli.table.board import CupOpened, Told
from cli.table.pace import Pace
from p2pdice import PRESETS, State, new_match
from p2pdice import events as game
from protocol.events import Happened, MatchStarted, NodeEvent, PlayerInfo

STATE = new_match(PRESETS["classic"], 3, 0)
PLAYERS = tuple(PlayerInfo(name, name * 4) for name in ("Ada", "Ben", "Cleo"))
STARTED = MatchStarted("ab" * 32, PRESETS["classic"], PLAYERS, 0, STATE)
HANDS = ((1, 2, 3, 4, 5), (), (2, 2, 2, 2, 2))


class FastLoop(asyncio.SelectorEventLoop):
    """A loop whose clock goes on to the next timer when there is nothing else to do."""

    _skew = 0.0

    def time(self) -> float:
        return super().time() + self._skew

    def _run_once(self) -> None:
        timers, ready = cast("Any", self)._scheduled, cast("Any", self)._ready
        if timers and not ready:
            self._skew += max(0.0, timers[0]._when - self.time())
        cast("Any", super())._run_once()


def happened(event: game.Event, state: State = STATE) -> Happened:
    return Happened(event, state)


def bid(seat: int, quantity: int = 1) -> Happened:
    return happened(game.BidMade(seat, quantity, 3))


def shown(pace: Pace, events: Sequence[NodeEvent], *, skip_after: int = -1) -> list[tuple[float, Told]]:
    """Return what is shown and when, in seconds, if everything has happened at once.

    :param skip_after: the number of things shown after which a key is pressed.
    """

    async def told() -> AsyncIterator[NodeEvent]:
        for event in events:
            yield event

    async def watch() -> list[tuple[float, Told]]:
        loop = asyncio.get_running_loop()
        seen: list[tuple[float, Told]] = []
        began = loop.time()
        async for beat in pace.follow(told()):
            seen.append((loop.time() - began, beat))
            if len(seen) == skip_after:
                loop.call_later(0.01, pace.skip)
        return seen

    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(watch())


def gaps(seen: Sequence[tuple[float, Told]]) -> list[float]:
    return [round(after - before, 1) for (before, _), (after, _) in pairwise(seen)]


def test_bids_of_others_come_one_after_the_other_and_ones_own_at_once() -> None:
    seen = shown(Pace(1.0), [STARTED, bid(1), bid(2), bid(0), bid(1)])
    assert gaps(seen)[1:] == [1.2, 0.0, 1.2]


def test_twice_the_pace_takes_twice_as_long_and_none_no_time() -> None:
    events: list[NodeEvent] = [STARTED, bid(1), bid(2)]
    assert gaps(shown(Pace(2.0), events))[-1] == 2.4
    assert shown(Pace(0.0), events)[-1][0] < 0.1


def test_cups_are_opened_one_after_the_other_before_they_are_counted() -> None:
    showdown = happened(game.HandsShown(HANDS, 3, 2, ones_wild=True, count=7, unopened=0))
    seen = shown(Pace(1.0), [STARTED, showdown])
    assert [beat.seat if isinstance(beat, CupOpened) else type(beat).__name__ for _, beat in seen[1:]] == [
        0,
        2,
        "Happened",
    ]
    assert all(gap == 0.7 for gap in gaps(seen)[1:])


def test_a_key_shows_what_has_happened_up_to_the_next_round_and_no_further() -> None:
    next_round = happened(game.RoundStarted(2, 1, (5, 5, 5), False))
    seen = shown(Pace(1.0), [STARTED, bid(1), bid(2), bid(1), next_round, bid(2)], skip_after=2)
    assert gaps(seen)[1:] == [0.0, 0.0, 0.0, 1.2]


def test_nothing_is_held_back_for_longer_than_allowed() -> None:
    pace = Pace(1.0)
    pace.longest = 3.0
    seen = shown(pace, [STARTED, *(bid(1 + place % 2) for place in range(20))])
    assert seen[-1][0] == pytest.approx(3.0, abs=0.2)


def test_a_player_who_asks_for_the_end_has_no_more_to_wait() -> None:
    pace = Pace(1.0)
    pace.hurry()
    assert shown(pace, [STARTED, bid(1), bid(2)])[-1][0] < 0.1
