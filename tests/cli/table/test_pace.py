"""Events are shown in order with delays, which have a limit, and which a key skips."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any, cast

import pytest

from cli.table.board import Board, CupOpened, Told
from cli.table.pace import Pace
from cli.table.scene import Motion, spans
from p2pdice import events as game
from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply, new_match
from p2pdice.moves import Hand, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.state import Call, State
from p2pdice.views import view
from protocol.events import Happened, MatchStarted, NodeEvent, PlayerInfo, YourTurn

STATE, _ = apply(new_match(PRESETS["classic"], 3, 0), Rolled())
PLAYERS = tuple(PlayerInfo(name, name * 4) for name in ("Ada", "Ben", "Cleo"))
STARTED = MatchStarted("ab" * 32, PRESETS["classic"], PLAYERS, 0, STATE)
HANDS = ((1, 2, 3, 4, 5), (), (2, 2, 2, 2, 2))


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop with a simulated clock, which jumps to the next timer whenever the loop is idle."""

    _now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers, ready = cast("Any", self)._scheduled, cast("Any", self)._ready
        if timers and not ready:
            self._now = max(self._now, timers[0]._when)
        cast("Any", super())._run_once()


def happened(event: game.Event, state: State = STATE) -> Happened:
    return Happened(event, state)


def bid(seat: int, quantity: int = 1) -> Happened:
    return happened(game.BidMade(seat, quantity, 3))


def shown(
    pace: Pace, events: Sequence[NodeEvent], *, skip_after: int = -1, motions: list[Motion] | None = None
) -> list[tuple[float, Told]]:
    """Return each shown event and its time in seconds, if all events arrive at once.

    :param skip_after: the number of shown events after which a key is pressed.
    :param motions: receives the animations in progress at each shown event.
    """

    async def told() -> AsyncIterator[NodeEvent]:
        for event in events:
            yield event

    async def watch() -> list[tuple[float, Told]]:
        loop = asyncio.get_running_loop()
        board = Board()
        seen: list[tuple[float, Told]] = []
        began = loop.time()
        async for beat in pace.follow(told(), board):
            board.take(beat)
            seen.append((loop.time() - began, beat))
            if motions is not None:
                motions.append(pace.motion())
            if len(seen) == skip_after:
                loop.call_later(0.01, pace.skip)
        return seen

    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(watch())


def gaps(seen: Sequence[tuple[float, Told]]) -> list[float]:
    return [round(after - before, 1) for (before, _), (after, _) in pairwise(seen)]


def showdown(
    caller: int, bidder: int, hands: Sequence[Hand], quantity: int = 3, call: Call = "liar"
) -> list[NodeEvent]:
    """Return the events from a bid of threes and its call to the start of the next round."""
    count = sum(face in (1, 3) for hand in hands for face in hand)
    right = (count < quantity) == (call == "liar")
    loser = bidder if right else caller
    return [
        STARTED,
        bid(bidder, quantity),
        happened(game.ChallengeCalled(caller, call, bidder, quantity, 3)),
        happened(game.HandsShown(tuple(hands), quantity, 3, counting=ONES_WILD, count=count, unopened=0)),
        happened(game.Judged(caller, call, bidder, not right, right, (bidder,), (caller,))),
        happened(game.DieLost(loser, 4)),
        happened(game.RoundStarted(2, loser, (5, 5, 5), False)),
    ]


def opened(seen: Sequence[tuple[float, Told]]) -> list[CupOpened]:
    return [beat for _, beat in seen if isinstance(beat, CupOpened)]


def test_only_the_bids_of_others_are_delayed() -> None:
    seen = shown(Pace(1.0), [STARTED, bid(1), bid(2), bid(0), bid(1)])
    assert gaps(seen)[1:] == [1.2, 0.0, 1.2]


def test_delays_are_proportional_to_the_pace() -> None:
    events: list[NodeEvent] = [STARTED, bid(1), bid(2)]
    assert gaps(shown(Pace(2.0), events))[-1] == 2.4
    assert shown(Pace(0.0), events)[-1][0] < 0.1


@pytest.mark.parametrize(
    ("caller", "bidder", "order"), [(0, 2, [0, 1, 2]), (1, 0, [1, 2, 0]), (2, 1, [2, 0, 1]), (1, 2, [1, 0, 2])]
)
def test_callers_cup_opens_first_and_bidders_last(caller: int, bidder: int, order: list[int]) -> None:
    cups = opened(shown(Pace(1.0), showdown(caller, bidder, [(3, 3), (2, 2), (4, 4)])))
    assert [cup.seat for cup in cups] == order
    assert [cup.is_last for cup in cups] == [False, False, True]
    assert [cup.is_own for cup in cups] == [seat == 0 for seat in order]


def test_players_without_dice_have_no_cup_to_open() -> None:
    assert [cup.seat for cup in opened(shown(Pace(1.0), showdown(2, 0, [(1, 2), (), (2, 2)])))] == [2, 0]


def test_duration_of_each_part_of_a_showdown() -> None:
    """The reader's cup opens first and has one die that counts; the bidder's cup is last and has two."""
    seen = shown(Pace(1.0), showdown(0, 2, [(3, 4), (2, 2), (3, 3)], quantity=3))
    names = [type(getattr(beat, "event", beat)).__name__ for _, beat in seen]
    assert names[2:] == ["ChallengeCalled", *["CupOpened"] * 3, "HandsShown", "Judged", "DieLost", "RoundStarted"]
    own, cup, last = 0.25 + 0.11, 0.09 + 0.26, 0.09 + 0.26 + 2 * 0.6
    between = 0.45
    expected = [0.9, own + between, cup + 0.9, last, 0.7, 1.2, 2.6]
    assert gaps(seen)[2:] == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("quantity", "call", "decided"),
    [
        (2, "liar", [False, True, True]),  # the caller's two threes already make the bid true
        (9, "liar", [True, True, True]),  # six dice are too few
        (3, "liar", [False, False, False]),
        (2, "exact", [False, False, False]),  # another three would make the call wrong
        (1, "exact", [False, True, True]),
    ],
)
def test_cups_that_cannot_change_the_verdict_open_at_double_speed(
    quantity: int, call: Call, decided: list[bool]
) -> None:
    cups = opened(shown(Pace(1.0), showdown(0, 2, [(3, 3), (4, 4), (2, 2)], quantity, call)))
    assert [cup.is_decided for cup in cups] == decided
    for cup in cups:
        normal = CupOpened(cup.seat, cup.shown, cup.is_own, cup.is_last)
        assert sum(spans(cup)) == sum(spans(normal)) / (2 if cup.is_decided else 1)


@pytest.mark.parametrize(
    ("hands", "unopened", "quantity", "decided"),
    [
        (((3, 4), None, (2, 2)), 3, 6, [False] * 3),  # dice in the cup that stays down may count
        (((3, 4), None, (2, 2)), 0, 6, [True] * 3),
        (((3, 4), (2, 2), (2, 2)), 0, 4, [False, False, True]),  # four hits are impossible once two cups are open
    ],
)
def test_verdict_is_decided_once_the_closed_cups_cannot_change_it(
    hands: tuple[Hand | None, ...], unopened: int, quantity: int, decided: list[bool]
) -> None:
    count = sum(face in (1, 3) for hand in hands for face in hand or ())
    events: list[NodeEvent] = [
        STARTED,
        bid(2, quantity),
        happened(game.ChallengeCalled(0, "liar", 2, quantity, 3)),
        happened(game.HandsShown(hands, quantity, 3, counting=ONES_WILD, count=count, unopened=unopened)),
    ]
    assert [cup.is_decided for cup in opened(shown(Pace(1.0), events))] == decided


def test_skipped_events_are_not_animated() -> None:
    """The key ends the current animation and prevents those of the skipped events. Later events are animated again."""
    motions: list[Motion] = []
    pace = Pace(1.0)
    next_round = happened(game.RoundStarted(2, 1, (5, 5, 5), False))
    seen = shown(pace, [STARTED, bid(1), bid(2), bid(1), next_round, bid(2)], skip_after=2, motions=motions)
    assert [type(getattr(beat, "event", beat)).__name__ for _, beat in seen[2:]] == [
        "BidMade",
        "BidMade",
        "RoundStarted",
        "BidMade",
    ]
    assert [each.moves for each in motions] == [False, True, False, False, False, True]


async def test_key_skips_only_events_that_have_already_arrived() -> None:
    pace, board, loop = Pace(0.05), Board(), asyncio.get_running_loop()
    come: asyncio.Queue[NodeEvent | None] = asyncio.Queue()

    async def told() -> AsyncIterator[NodeEvent]:
        while (event := await come.get()) is not None:
            yield event

    for event in (STARTED, bid(1), bid(2)):
        come.put_nowait(event)
    times: list[float] = []
    async for beat in pace.follow(told(), board):
        board.take(beat)
        times.append(loop.time())
        if len(times) == 2:
            await asyncio.sleep(0)
            pace.skip()
        elif len(times) == 3:
            loop.call_later(0.001, come.put_nowait, bid(1))
            loop.call_later(0.002, come.put_nowait, bid(2))
            loop.call_later(0.003, come.put_nowait, None)
    later = [after - before for before, after in pairwise(times)]
    assert later[1] < 0.03
    assert later[2] > 0.03
    assert later[3] > 0.03


@pytest.mark.parametrize("motion", ["full", "calm", "none"])
def test_only_full_motion_animates_and_none_shows_a_showdown_at_once(motion: str) -> None:
    motions: list[Motion] = []
    seen = shown(Pace(1.0, motion), showdown(0, 2, [(3, 4), (2, 2), (3, 3)]), motions=motions)
    assert any(each.moves for each in motions) == (motion == "full")
    from_first_cup = next(when for when, beat in seen if isinstance(beat, CupOpened))
    lost = next(when for when, beat in seen if isinstance(getattr(beat, "event", None), game.DieLost))
    assert (lost - from_first_cup < 0.1) == (motion == "none")


def test_stages_of_a_cups_animation() -> None:
    shown_ = game.HandsShown(HANDS, 3, 2, counting=ONES_WILD, count=7, unopened=0)
    cup = CupOpened(2, shown_)
    stages = [Motion({CupOpened: (cup, age)}).stage(CupOpened) for age in (0, 89, 91, 351, 461, 899, 901)]
    assert stages == [0, 0, 1, 2, 3, 6, 1000]
    assert Motion({CupOpened: (cup, 180)}, 2.0).stage(CupOpened) == 1
    for still in (Motion({CupOpened: (cup, 0)}, 0.0), Motion({CupOpened: (cup, 0)}, kind="calm"), Motion()):
        assert still.stage(CupOpened) == 1000
        assert not still.moves


def test_key_in_a_showdown_skips_to_the_next_round() -> None:
    seen = shown(Pace(1.0), [*showdown(0, 2, [(3, 4), (2, 2), (3, 3)]), bid(2), bid(1)], skip_after=4)
    assert gaps(seen)[3:] == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2, 1.2]


def test_verdict_is_shown_for_less_time_before_the_readers_turn() -> None:
    events = showdown(0, 2, [(3, 4), (2, 2), (3, 3)])
    asked = YourTurn(view(new_match(PRESETS["classic"], 3, 0), 0, ()), 1)
    assert gaps(shown(Pace(1.0), [*events, asked]))[-2] == 1.8
    assert gaps(shown(Pace(1.0), events))[-1] == 2.6


def test_key_skips_at_most_to_the_next_round() -> None:
    next_round = happened(game.RoundStarted(2, 1, (5, 5, 5), False))
    seen = shown(Pace(1.0), [STARTED, bid(1), bid(2), bid(1), next_round, bid(2)], skip_after=2)
    assert gaps(seen)[1:] == [0.0, 0.0, 0.0, 1.2]


def test_no_event_is_delayed_longer_than_the_limit() -> None:
    pace = Pace(1.0)
    pace.longest = 3.0
    seen = shown(pace, [STARTED, *(bid(1 + place % 2) for place in range(20))])
    assert seen[-1][0] == pytest.approx(3.0, abs=0.2)


def test_hurry_removes_all_delays() -> None:
    pace = Pace(1.0)
    pace.hurry()
    assert shown(pace, [STARTED, bid(1), bid(2)])[-1][0] < 0.1
