"""Each value of each option, tested on ``classic`` with only this option changed."""

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


WILD = "155 234"
RIGHT, WRONG = "33 44 55", "22 44 55"
"""Hands for which a call of liar on 1x2 is right, and hands for which it is wrong."""


@pytest.mark.parametrize(
    ("options", "dice", "moves", "hands", "count", "left", "leader"),
    [
        ("wild=ones", "33", "2x5 liar", WILD, 3, "32", 1),
        ("wild=never", "33", "2x5 liar", WILD, 2, "32", 1),
        ("wild=unless-opened", "33", "2x5 liar", WILD, 3, "32", 1),
        ("wild=ones", "33", "2x1 2x5 liar", WILD, 3, "23", 0),
        ("wild=never", "33", "2x1 2x5 liar", WILD, 2, "23", 0),
        ("wild=unless-opened", "33", "2x1 2x5 liar", WILD, 2, "23", 0),
        ("wild=ones", "33", "2x1 liar", WILD, 1, "23", 0),  # a bid on ones counts ones alone
        ("exact=gain", "222", "3x2 exact", "12 23 44", 3, "232", 0),
        ("exact=gain", "222", "3x2 exact", "12 22 44", 4, "212", 1),
        ("exact=gain", "222", "3x2 exact", "12 33 44", 2, "212", 1),
        ("exact=others-lose", "222", "3x2 exact", "12 23 44", 3, "121", 0),
        ("exact=others-lose", "222", "3x2 exact", "12 22 44", 4, "212", 1),
        ("exact=others-lose", "222", "3x2 exact", "12 33 44", 2, "212", 1),
        ("verdict=loser-loses-die", "222", "3x2 liar", RIGHT, 0, "122", 0),
        ("verdict=right-side-discards", "222", "3x2 liar", RIGHT, 0, "212", 0),  # only the winner discards
        ("verdict=right-side-discards", "222", "3x2 liar", "22 24 55", 3, "122", 1),
        ("next-leader=loser", "222", "1x2 liar", RIGHT, 0, "122", 0),
        ("next-leader=loser", "222", "1x2 liar", WRONG, 2, "212", 1),
        ("next-leader=caller", "222", "1x2 liar", RIGHT, 0, "122", 1),
        ("next-leader=caller", "222", "1x2 liar", WRONG, 2, "212", 1),
        ("next-leader=affected", "222", "1x2 liar", RIGHT, 0, "122", 0),
        ("next-leader=affected", "222", "1x2 liar", WRONG, 2, "212", 1),
        ("next-leader=loser exact=gain", "222", "1x2 exact", "23 44 55", 1, "232", 0),
        ("next-leader=loser exact=gain", "222", "1x2 exact", RIGHT, 0, "212", 1),
        ("next-leader=caller exact=gain", "222", "1x2 exact", "23 44 55", 1, "232", 1),
        ("next-leader=caller exact=gain", "222", "1x2 exact", RIGHT, 0, "212", 1),
        ("next-leader=affected exact=gain", "222", "1x2 exact", "23 44 55", 1, "232", 1),
        ("next-leader=affected exact=gain", "222", "1x2 exact", RIGHT, 0, "212", 1),
        # If several cups or no cups changed, the caller leads.
        ("next-leader=affected exact=others-lose", "222", "1x2 exact", "23 44 55", 1, "121", 1),
        ("next-leader=affected exact=gain dice-cap=5", "555", "1x2 exact", "23333 33333 33333", 1, "555", 1),
    ],
)
def test_dice_and_leader_after_a_showdown(
    options: str, dice: str, moves: str, hands: str, count: int, left: str, leader: int
) -> None:
    ruleset = rules(**dict(option.split("=") for option in options.split()))
    state, _ = show(play(rolled(ruleset, tuple(map(int, dice))), *moves.split()), *hands.split())
    assert (state.count, "".join(map(str, state.dice)), state.leader) == (count, left, leader)


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
    with pytest.raises(IllegalMove, match="classic has no exact"):
        play(state, "exact")


def test_players_who_go_out_together_share_a_place_clockwise_from_the_caller() -> None:
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


def test_siding() -> None:
    sided = rolled(rules(verdict="right-side-discards", siding="yes"), (2, 2, 2, 2))
    state = play(sided, "3x2", "liar")
    assert [str(move) for move in legal_moves(state)] == ["accuser", "accused"]
    with pytest.raises(IllegalMove, match="accuser or accused"):
        play(state, "4x2")
    assert show(play(state, "accused", "accuser"), "22", "24", "55", "66")[0].dice == (1, 2, 1, 2)
    assert play(rolled(rules(), (2, 2, 2, 2)), "3x2", "liar").expects.kind is Expect.HANDS


def test_with_two_players_there_are_no_sides_to_take() -> None:
    state = play(rolled(rules(verdict="right-side-discards", siding="yes"), (2, 2)), "3x2", "liar")
    assert state.expects.kind is Expect.HANDS


@pytest.mark.parametrize(("value", "places"), [("last-standing", ((1,), (0,))), ("first-out", ((0,), (1,)))])
def test_goal(value: str, places: tuple[tuple[int, ...], ...]) -> None:
    state, _ = show(play(rolled(rules(goal=value), (1, 2)), "3x2", "liar"), "3", "33")
    assert state.places == places


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


def test_palifico_after_several_drops_is_led_by_the_first_clockwise_from_the_caller() -> None:
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


def test_palifico_only_a_player_with_one_die_may_change_the_face() -> None:
    state = play(rolled(PALIFICO, (1, 4, 1), palifico=True), "1x3")
    assert second_bids(state, up_to=3) == {"2x3", "3x3"}
    with pytest.raises(IllegalMove, match="only a player with one die"):
        play(state, "2x4")
    assert "2x4" in second_bids(play(state, "2x3"), up_to=3)


def test_without_the_option_no_palifico_follows_a_drop_to_one_die() -> None:
    assert not show(play(rolled(rules(), (2, 4)), "5x2", "liar"), "22", "3333")[0].palifico
