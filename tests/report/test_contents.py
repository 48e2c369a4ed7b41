"""The contents of a report agree with the events of the match, and its charts with their numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cli.history import chi_square, p_value
from cli.render import percent
from cli.report.page import BOTTOM, HEIGHT, LEFT, TOP, Contents, bars, contents, dice_over_time
from p2pdice.counting import at_least, exactly
from p2pdice.events import BidMade, ChallengeCalled, RoundStarted, StakesPaid
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import examine
from protocol.events import CupsSeen, Happened, MatchResult
from protocol.match.replay import Replay
from tests.cli.test_replay import play

EXACT = PRESETS["wildcard"].with_options({"dice": "3", "stakes": "yes"})
"""Rules with exact calls and stakes."""
SEEDS = (2, 3, 4)


def replays() -> list[Replay]:
    return [Replay(examine(play(EXACT, 3, seed).machines[0].transcript), Path("x")) for seed in SEEDS]


@pytest.fixture(scope="module")
def told() -> list[tuple[Replay, Contents]]:
    return [(replay, contents(replay)) for replay in replays()]


def test_each_bid_and_call_has_its_own_chance_and_outcome(told: list[tuple[Replay, Contents]]) -> None:
    kinds = set()
    for replay, shown in told:
        expected = []
        hands: tuple[tuple[int, ...] | None, ...] = ()
        for _, event in replay.tell():
            if isinstance(event, CupsSeen):
                hands = event.hands
            if not isinstance(event, Happened) or not isinstance(event.event, BidMade | ChallengeCalled):
                continue
            said, state = event.event, event.state
            faces = {said.face, 1} if state.counting.ones_wild else {said.face}
            own = hands[said.seat] or ()
            hidden = sum(state.dice) - len(own)
            there = sum(die in faces for hand in hands for die in hand or ())
            likely = at_least(said.quantity, said.face, own, hidden, state.counting)
            if isinstance(said, BidMade):
                chance, outcome = likely, "true" if there >= said.quantity else "false"
            elif said.call == "exact":
                chance = exactly(said.quantity, said.face, own, hidden, state.counting)
                outcome = "right" if there == said.quantity else "wrong"
            else:
                chance, outcome = 1 - likely, "right" if there < said.quantity else "wrong"
            kinds.add((getattr(said, "call", "bid"), outcome))
            expected.append((percent(chance), float(chance), outcome))
        lines = [line for each in shown.rounds for line in each.lines if line.outcome]
        assert [(line.percent, line.share, line.outcome) for line in lines] == expected
    assert {("bid", "true"), ("bid", "false"), ("liar", "right"), ("liar", "wrong")} <= kinds
    assert "exact" in {call for call, _ in kinds}


def test_each_hand_is_shown_with_its_player(told: list[tuple[Replay, Contents]]) -> None:
    for replay, shown in told:
        seen = [event.hands for _, event in replay.tell() if isinstance(event, CupsSeen)]
        cups = [
            [(name, [int(die) for die in re.findall(r"\d", text)]) for name, text in each.hands]
            for each in shown.rounds
        ]
        names = shown.seating.names
        assert [each for each in cups if each] == [
            [(name, [*hand]) for name, hand in zip(names, hands, strict=True) if hand] for hands in seen
        ]
        dealt = [[sum((hands[seat] or ()).count(face) for hands in seen) for face in range(1, 7)] for seat in range(3)]
        assert shown.dealt == dealt
        assert [shown.evenness(seat) for seat in range(3)] == [p_value(chi_square(counts)) for counts in dealt]
        assert len({shown.evenness(seat) for seat in range(3)}) > 1


def test_places_dice_and_payments_agree_with_the_events(told: list[tuple[Replay, Contents]]) -> None:
    paid_out = False
    for replay, shown in told:
        happened = [event.event for _, event in replay.tell() if isinstance(event, Happened)]
        (result,) = (event for _, event in replay.tell() if isinstance(event, MatchResult))
        (paid,) = (event for event in happened if isinstance(event, StakesPaid))
        assert [each.dice for each in shown.rounds if each.dice] == [
            event.dice for event in happened if isinstance(event, RoundStarted)
        ]
        assert shown.places == result.places
        shared = replace(shown, places=((2, 0), (1,)))
        assert [shared.place(seat) for seat in range(3)] == [1, 3, 1]
        assert shown.payments == [*zip(shown.seating.names, paid.payout, paid.delta, strict=True)]
        paid_out |= paid.payout != paid.delta
        assert replay.players[shown.places[0][0]].name in replay.verdict.winners
    assert paid_out


# Charts


def test_lines_of_a_chart_agree_with_the_numbers() -> None:
    """The chart has two players and three moments. Lines of players are 2.5 apart, so that they do not overlap."""
    chart = dice_over_time(["Ada", "Ben"], [(4, 4), (4, 2), (3, 0)])
    floor, ceiling = HEIGHT - BOTTOM, TOP
    high = {count: floor - count * (floor - ceiling) / 4 for count in range(5)}
    middle = (LEFT + chart.right) / 2
    for track, counts, aside in zip(chart.tracks, ((4, 4, 3), (4, 2, 0)), (-1.25, 1.25), strict=True):
        points = [tuple(map(float, point.split(","))) for point in track.points.split()]
        assert [x for x, _ in points] == pytest.approx([LEFT, middle, chart.right], abs=0.1)
        assert [y for _, y in points] == pytest.approx([high[count] + aside for count in counts], abs=0.1)
    assert [(tick.text, tick.at) for tick in chart.dice] == [(str(count), high[count]) for count in range(5)]
    assert [tick.text for tick in chart.rounds] == ["1", "2"]


def test_bars_are_as_high_as_their_counts() -> None:
    drawn, even = bars([1, 2, 3, 4, 5, 6])
    assert [(bar.face, bar.x, bar.height) for bar in drawn] == [
        *((1, 4, 8), (2, 23, 16), (3, 42, 24), (4, 61, 32), (5, 80, 40), (6, 99, 48))
    ]
    assert even == 28
