"""One claim for every value of every option, on a ruleset that differs from ``classic`` in it alone."""

import pytest

from p2pdice.engine import legal_moves, new_match
from p2pdice.errors import IllegalMove
from p2pdice.events import PalificoBegins
from p2pdice.moves import Bid, Exact
from p2pdice.state import Expect, State

from .scripted import play, rolled, rules, settle, show


def second_bids(state: State, *, up_to: int) -> set[str]:
    return {str(move) for move in legal_moves(state) if isinstance(move, Bid) and move.quantity <= up_to}


@pytest.mark.parametrize(
    ("value", "after", "raises"),
    [
        ("standard", "2x3", {"2x4", "2x5", "2x6", "3x1", "3x2", "3x3", "3x4", "3x5", "3x6"}),
        ("strict", "2x3", {"2x4", "2x5", "2x6", "3x3"}),
        ("reset-quantity", "2x4", {"1x5", "1x6", "2x5", "2x6", "3x4", "3x5", "3x6"}),
        ("either", "2x4", {"1x5", "1x6", "2x5", "2x6", "3x1", "3x2", "3x3", "3x4", "3x5", "3x6"}),
        ("half-ones", "3x5", {"2x1", "3x1", "3x6"}),
        ("half-ones", "1x1", {"2x1", "3x1", "3x2", "3x3", "3x4", "3x5", "3x6"}),
        ("double-ones", "3x5", {"2x1", "3x1", "3x6"}),
        ("double-ones", "1x1", {"2x1", "3x1", *(f"{n}x{face}" for n in (2, 3) for face in range(2, 7))}),
    ],
)
def test_raise_orders(value: str, after: str, raises: set[str]) -> None:
    assert second_bids(play(rolled(rules(raise_=value), (5, 5)), after), up_to=3) == raises


def test_half_ones_rounds_the_half_up() -> None:
    state = rolled(rules(raise_="half-ones"), (5, 5))
    assert second_bids(play(state, "5x6"), up_to=4) == {"3x1", "4x1"}
    assert second_bids(play(state, "4x6"), up_to=3) == {"2x1", "3x1"}


@pytest.mark.parametrize(("value", "counted"), [("ones", 3), ("never", 2), ("unless-opened", 3)])
def test_wild_when_a_face_opened(value: str, counted: int) -> None:
    assert show(play(rolled(rules(wild=value), (3, 3)), "2x5", "liar"), "155", "234")[0].count == counted


@pytest.mark.parametrize(("value", "counted"), [("ones", 3), ("never", 2), ("unless-opened", 2)])
def test_wild_when_ones_opened(value: str, counted: int) -> None:
    assert show(play(rolled(rules(wild=value), (3, 3)), "2x1", "2x5", "liar"), "155", "234")[0].count == counted


def test_a_bid_on_ones_counts_ones_alone() -> None:
    assert show(play(rolled(rules(wild="ones"), (3, 3)), "2x1", "liar"), "155", "234")[0].count == 1


def test_ones_bid_free() -> None:
    assert "1x1" in map(str, legal_moves(rolled(rules(ones_bid="free"), (5, 5))))


def test_ones_bid_opening_only() -> None:
    state = rolled(rules(ones_bid="opening-only", raise_="standard"), (5, 5))
    assert "1x1" in map(str, legal_moves(state))
    assert "3x1" in map(str, legal_moves(play(state, "2x1")))
    assert "3x1" not in map(str, legal_moves(play(state, "2x2")))
    with pytest.raises(IllegalMove, match="not opened on ones"):
        play(state, "2x2", "3x1")


def test_ones_bid_not_opening() -> None:
    state = rolled(rules(ones_bid="not-opening", raise_="standard"), (5, 5))
    assert "1x1" not in map(str, legal_moves(state))
    assert "3x1" in map(str, legal_moves(play(state, "2x2")))
    with pytest.raises(IllegalMove, match="not opened on ones"):
        play(state, "1x1")


def test_exact_none() -> None:
    state = play(rolled(rules(), (5, 5)), "2x2")
    assert Exact() not in legal_moves(state)
    with pytest.raises(IllegalMove, match="no call of exact"):
        play(state, "exact")


@pytest.mark.parametrize(
    ("value", "right", "wrong"), [("gain", (2, 3, 2), (2, 1, 2)), ("others-lose", (1, 2, 1), (2, 1, 2))]
)
def test_exact(value: str, right: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    state = play(rolled(rules(exact=value), (2, 2, 2)), "3x2", "exact")
    assert show(state, "12", "23", "44")[0].dice == right
    assert show(state, "12", "22", "44")[0].dice == wrong
    assert show(state, "12", "33", "44")[0].dice == wrong


def test_players_who_go_out_at_once_share_a_place_clockwise_from_the_caller() -> None:
    state = play(rolled(rules(exact="others-lose"), (1, 1, 1), first=1), "1x2", "exact")
    state, _ = show(state, "3", "3", "2")
    assert (state.out, state.places, state.winners) == ((0, 1), ((2,), (0, 1)), (2,))


def test_exact_may_not_be_called_from_round_1000_on() -> None:
    state = rolled(rules(exact="gain"), (5, 5), round=999)
    assert Exact() in legal_moves(play(state, "2x2"))
    state = settle(play(state, "2x2", "exact"), "22345", "33456")
    assert state.round == 1000
    assert Exact() not in legal_moves(play(state, "2x2"))
    with pytest.raises(IllegalMove, match="after round 999"):
        play(state, "2x2", "exact")


def test_verdict_loser_loses_die() -> None:
    state = play(rolled(rules(verdict="loser-loses-die"), (2, 2, 2)), "3x2", "liar")
    assert show(state, "33", "44", "55")[0].dice == (1, 2, 2)


def test_verdict_right_side_discards_without_siding_concerns_accuser_and_accused() -> None:
    state = play(rolled(rules(verdict="right-side-discards"), (2, 2, 2)), "3x2", "liar")
    assert show(state, "33", "44", "55")[0].dice == (2, 1, 2)
    assert show(state, "22", "24", "55")[0].dice == (1, 2, 2)


def test_siding() -> None:
    sided = rolled(rules(verdict="right-side-discards", siding="yes"), (2, 2, 2, 2))
    state = play(sided, "3x2", "liar")
    assert [str(move) for move in legal_moves(state)] == ["accuser", "accused"]
    with pytest.raises(IllegalMove, match="accuser or accused"):
        play(state, "4x2")
    assert show(play(state, "accused", "accuser"), "22", "24", "55", "66")[0].dice == (1, 2, 1, 2)
    assert play(rolled(rules(), (2, 2, 2, 2)), "3x2", "liar").expects.kind is Expect.HANDS


def test_with_two_players_nobody_is_there_to_side() -> None:
    state = play(rolled(rules(verdict="right-side-discards", siding="yes"), (2, 2)), "3x2", "liar")
    assert state.expects.kind is Expect.HANDS


@pytest.mark.parametrize(("value", "places"), [("last-standing", ((1,), (0,))), ("first-out", ((0,), (1,)))])
def test_goal(value: str, places: tuple[tuple[int, ...], ...]) -> None:
    state, _ = show(play(rolled(rules(goal=value), (1, 2)), "3x2", "liar"), "3", "33")
    assert state.places == places


@pytest.mark.parametrize(
    ("value", "after_right", "after_wrong"), [("loser", 0, 1), ("caller", 1, 1), ("affected", 0, 1)]
)
def test_next_leader_after_liar(value: str, after_right: int, after_wrong: int) -> None:
    state = play(rolled(rules(next_leader=value), (2, 2, 2)), "1x2", "liar")
    assert show(state, "33", "44", "55")[0].leader == after_right
    assert show(state, "22", "44", "55")[0].leader == after_wrong


@pytest.mark.parametrize(
    ("value", "after_right", "after_wrong"), [("loser", 0, 1), ("caller", 1, 1), ("affected", 1, 1)]
)
def test_next_leader_after_exact(value: str, after_right: int, after_wrong: int) -> None:
    state = play(rolled(rules(next_leader=value, exact="gain"), (2, 2, 2)), "1x2", "exact")
    assert show(state, "23", "44", "55")[0].leader == after_right
    assert show(state, "33", "44", "55")[0].leader == after_wrong


def test_affected_means_the_caller_when_several_cups_or_none_changed() -> None:
    several = play(rolled(rules(next_leader="affected", exact="others-lose"), (2, 2, 2)), "1x2", "exact")
    assert show(several, "23", "44", "55")[0].leader == 1
    capped = play(rolled(rules(next_leader="affected", exact="gain", dice_cap="5"), (5, 5, 5)), "1x2", "exact")
    state, _ = show(capped, "23333", "33333", "33333")
    assert (state.dice, state.leader) == ((5, 5, 5), 1)


@pytest.mark.parametrize("dice", ["1", "10"])
def test_dice(dice: str) -> None:
    assert new_match(rules(dice=dice), 3).dice == (int(dice),) * 3


def test_dice_cap() -> None:
    def after(cap: str, dice: int) -> int:
        state = play(rolled(rules(exact="gain", dice_cap=cap), (5, dice)), "1x6", "exact")
        return show(state, "23456", "2" * dice)[0].dice[1]

    assert (after("6", 5), after("6", 6)) == (6, 6)
    assert (after("none", 98), after("none", 99)) == (99, 99)


# Palifico


PALIFICO = rules("perudo")


def test_palifico_follows_a_first_drop_to_one_die_and_is_led_by_that_player() -> None:
    state, events = show(play(rolled(PALIFICO, (2, 4, 4)), "5x2", "liar"), "22", "3333", "3333")
    assert PalificoBegins(0) in events
    assert (state.palifico, state.leader, state.dropped) == (True, 0, (0,))


def test_palifico_comes_once_per_player() -> None:
    state = play(rolled(PALIFICO, (2, 4, 4), dropped=(0,)), "5x2", "liar")
    assert not show(state, "22", "3333", "3333")[0].palifico


def test_palifico_lasts_one_round() -> None:
    state = rolled(PALIFICO, (1, 4, 4), palifico=True, dropped=(0,))
    assert not show(play(state, "2x1", "liar"), "1", "1333", "3333")[0].palifico


def test_palifico_is_not_for_players_who_start_with_one_die() -> None:
    state = play(rolled(rules("perudo", dice="1", dice_cap="5"), (2, 2)), "3x2", "liar")
    assert not show(state, "33", "33")[0].palifico


def test_palifico_of_several_is_led_by_the_first_clockwise_from_the_caller() -> None:
    ruleset = rules("perudo", exact="others-lose", dice_cap="none")
    state, _ = show(play(rolled(ruleset, (2, 2, 2, 2), first=1), "1x2", "exact"), "33", "33", "23", "44")
    assert (state.leader, state.dropped, state.palifico) == (3, (0, 1, 3), True)


def test_palifico_has_no_wild_ones() -> None:
    state = play(rolled(PALIFICO, (1, 4, 4), palifico=True), "1x3", "liar")
    assert not state.counting.ones_wild
    assert show(state, "1", "1222", "1223")[0].count == 1


def test_palifico_may_open_on_ones_and_raises_as_standard() -> None:
    state = rolled(PALIFICO, (1, 1, 4), palifico=True)
    assert Bid(1, 1) in legal_moves(state)
    assert second_bids(play(state, "1x1"), up_to=1) == {"1x2", "1x3", "1x4", "1x5", "1x6"}


def test_palifico_only_one_die_gives_the_right_to_change_the_face() -> None:
    state = play(rolled(PALIFICO, (1, 4, 1), palifico=True), "1x3")
    assert second_bids(state, up_to=3) == {"2x3", "3x3"}
    with pytest.raises(IllegalMove, match="only a player with one die"):
        play(state, "2x4")
    assert "2x4" in second_bids(play(state, "2x3"), up_to=3)


def test_without_the_option_nothing_follows_a_drop_to_one_die() -> None:
    assert not show(play(rolled(rules(), (2, 4)), "5x2", "liar"), "22", "3333")[0].palifico
