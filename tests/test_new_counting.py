"""A new way of counting takes one class: if ones count against a bid, the engine, odds and sentences all follow."""

import pickle
from fractions import Fraction
from random import Random

import pytest

from cli.text.explain import explain
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice import rulesets
from p2pdice.counting import COUNTINGS, NOTHING_WILD, at_least, rows
from p2pdice.errors import RulesetError
from p2pdice.events import DieLost, HandsShown, RoundVoid
from p2pdice.players import LEVELS, house_player
from p2pdice.players.contest import Course, DrawnDice, answer
from p2pdice.rulesets import OPTIONS, Ruleset
from p2pdice.views import state_json, view
from protocol.events import Happened
from tests.p2pdice.countings import Against
from tests.p2pdice.scripted import play, random_play, rolled, rules, show
from tests.p2pdice.test_vector import play_beside

SEATING = Seating(("Ada", "Ben", "Cleo"), 0)


@pytest.fixture(autouse=True)
def against(monkeypatch: pytest.MonkeyPatch) -> Against:
    """Register the class as a further value of the option ``wild``."""
    counting = Against()
    monkeypatch.setitem(COUNTINGS, counting.name, counting)
    wild = OPTIONS["wild"]._replace(choices=tuple(COUNTINGS))
    monkeypatch.setattr(rulesets, "OPTIONS", {**OPTIONS, "wild": wild})
    return counting


def ruleset(preset: str = "classic", **options: str) -> Ruleset:
    return rules(preset, wild="against", **options)


def test_the_engine_counts_by_it(against: Against) -> None:
    state = play(rolled(ruleset(), (3, 3)), "2x5", "liar")
    assert state.counting is against
    state, events = show(state, "155", "245")
    assert (state.count, state.dice) == (2, (3, 2))
    state, _ = show(play(rolled(ruleset(), (3, 3)), "2x5", "liar"), "155", "115")
    assert (state.count, state.dice) == (0, (2, 3))
    assert isinstance(events[0], HandsShown)
    assert narrate(Happened(events[0], state), SEATING)


@pytest.mark.parametrize(
    ("bid", "is_void"), [("1x5", True), ("2x5", True), ("4x5", True), ("5x5", False)], ids=["low", "2", "4", "high"]
)
def test_a_closed_cup_may_hold_ones_that_count_against_the_bid(bid: str, is_void: bool) -> None:
    """Two fives are visible and two dice are hidden, so none to four may count."""
    _, events = show(play(rolled(ruleset(), (2, 2)), bid, "liar"), "55", "?")
    assert any(isinstance(event, RoundVoid) for event in events) == is_void
    assert any(isinstance(event, DieLost) for event in events) != is_void


def test_in_palifico_each_face_counts_for_itself_alone() -> None:
    assert rolled(ruleset("perudo"), (3, 1), palifico=True).counting is NOTHING_WILD


def test_odds_count_by_it(against: Against) -> None:
    assert at_least(1, 5, (5, 5), 1, against) == 1
    assert at_least(2, 5, (5, 5), 1, against) == Fraction(5, 6)
    assert at_least(1, 5, (1, 1), 2, against) == 0
    assert rows((1, 1), 2, against)[5] == (1 / 36, 0.0)


@pytest.mark.parametrize("preset", ["classic", "perudo", "spot-on", "joker"])
def test_whole_matches_are_narrated(preset: str) -> None:
    rng = Random(1)
    for _, after, events in random_play(ruleset(preset), 3, rng):
        assert state_json(after)["ones_wild"] is False
        assert all(narrate(Happened(event, after), SEATING) is not None for event in events)


@pytest.mark.parametrize("level", LEVELS)
def test_house_players_play_by_it(level: str) -> None:
    players = [house_player(level, Random(seat)) for seat in range(3)]
    course = Course(ruleset(dice="2"), 3, DrawnDice(Random(1)), lambda event: None)
    for seat, player in enumerate(players):
        player.started(course.state.ruleset, seat, 3)
    while (asked := course.asked) is not None:
        course.go_on(answer(players[asked.seat], asked))
    assert len(course.state.winners) == 1


def test_a_house_player_considers_that_its_ones_count_against() -> None:
    state = rolled(ruleset(), (5, 5))
    player = house_player("cautious", Random(1))
    assert str(player.choose(view(state, 0, (1, 1, 5, 5, 5)))) == "1x1"


def test_matches_in_arrays_agree_with_the_engine() -> None:
    play_beside(ruleset("perudo"), 4, 60, seed=3)


def test_the_rules_page_has_its_sentence(against: Against) -> None:
    assert against.rule in explain(ruleset(), "Ours", columns=None)


def test_pickling_keeps_its_identity(against: Against) -> None:
    assert pickle.loads(pickle.dumps(against)) is against


def test_other_values_of_the_option_are_refused() -> None:
    with pytest.raises(RulesetError, match="wild=sideways is not possible"):
        rules(wild="sideways")
