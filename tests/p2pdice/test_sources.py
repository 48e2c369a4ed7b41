"""Every example that the rule texts give, played out. Seats count from 0: player 1 of a text is seat 0."""

import pytest

from p2pdice.engine import apply, legal_moves
from p2pdice.errors import IllegalMove
from p2pdice.moves import Bid, Liar, Play, parse_move
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect

from .scripted import play, rolled, settle, show


def raised(preset: str, old: str, new: str) -> bool:
    """Whether ``new`` may follow ``old`` as second bid of a round with plenty of dice."""
    state = play(rolled(PRESETS[preset], (20, 20, 20)), old)
    listed = parse_move(new) in legal_moves(state)
    try:
        play(state, new)
    except IllegalMove:
        assert not listed
        return False
    assert listed
    return True


# exact.txt: the preset wildcard


@pytest.mark.parametrize("new", ["2x4", "2x5", "2x6", "3x2", "3x3"])
def test_wildcard_1_two_threes_are_raised_by_a_higher_face_or_by_more_dice(new: str) -> None:
    assert raised("wildcard", "2x3", new)


def test_wildcard_1_two_threes_are_not_raised_by_two_twos_but_by_three() -> None:
    assert not raised("wildcard", "2x3", "2x2")
    assert raised("wildcard", "2x3", "3x2")


def test_wildcard_2_ones_are_worth_a_little_more_than_double() -> None:
    chain = ["2x3", "2x6", "1x1", "3x2", "4x6", "2x1", "5x2"]
    state = play(rolled(PRESETS["wildcard"], (5, 5, 5)), *chain)
    assert [f"{bid.quantity}x{bid.face}" for bid in state.bids] == chain
    assert [bid.seat for bid in state.bids] == [0, 1, 2, 0, 1, 2, 0]


def test_wildcard_2_five_twos_are_the_lowest_bid_after_two_ones() -> None:
    assert raised("wildcard", "2x1", "5x2")
    assert not any(raised("wildcard", "2x1", f"4x{face}") for face in range(2, 7))


def test_wildcard_3_a_right_challenge_costs_the_bidder() -> None:
    state = play(rolled(PRESETS["wildcard"], (2, 2, 2)), "3x3", "2x1", "bs")
    state, _ = show(state, "34", "16", "22")
    assert state.count == 1
    assert state.dice == (2, 1, 2)


def test_wildcard_4_a_wrong_challenge_costs_the_challenger() -> None:
    state = play(rolled(PRESETS["wildcard"], (2, 2, 2)), "3x3", "4x2", "bs")
    state, _ = show(state, "12", "22", "34")
    assert state.count == 4
    assert state.dice == (2, 2, 1)


def test_wildcard_4_more_dice_than_bid_make_the_bid_true_as_well() -> None:
    state = play(rolled(PRESETS["wildcard"], (2, 2, 2)), "3x3", "4x2", "bs")
    assert show(state, "12", "22", "24")[0].dice == (2, 2, 1)


def test_wildcard_5_a_right_exact_gains_a_die() -> None:
    state = play(rolled(PRESETS["wildcard"], (2, 2, 2)), "5x2", "3x1", "exact")
    state, _ = show(state, "16", "15", "14")
    assert (state.count, state.dice) == (3, (2, 2, 3))


def test_wildcard_6_a_wrong_exact_loses_a_die() -> None:
    state = play(rolled(PRESETS["wildcard"], (5, 5, 5)), "5x2", "6x2", "exact")
    state, _ = show(state, "22223", "22333", "23456")
    assert (state.count, state.dice) == (7, (5, 5, 4))


def test_wildcard_7_two_rounds_of_three_players() -> None:
    state = play(rolled(PRESETS["wildcard"], (2, 2, 2)), "1x2", "2x2", "2x4", "3x2", "3x4", "bs")
    state = settle(state, "12", "24", "22")
    assert state.dice == (2, 1, 2)
    assert state.expects.seats == (1,)
    state = play(state, "3x5", "4x4", "exact")
    state, _ = show(state, "14", "2", "44")
    assert state.count == 4
    assert state.dice == (3, 1, 2)
    assert state.leader == 0


# joker.html


@pytest.mark.parametrize(("old", "new"), [("3x2", "4x2"), ("3x2", "3x4"), ("3x2", "2x1"), ("2x1", "4x2")])
def test_joker_overbids(old: str, new: str) -> None:
    assert raised("joker", old, new)


@pytest.mark.parametrize(("old", "new"), [("3x2", "2x6"), ("3x3", "3x2"), ("4x6", "2x1"), ("3x1", "5x2")])
def test_joker_no_overbids(old: str, new: str) -> None:
    assert not raised("joker", old, new)


def test_joker_all_take_sides_clockwise_and_the_right_side_discards_a_die() -> None:
    state = play(rolled(PRESETS["joker"], (5, 5, 5, 5)), "5x6", "liar")
    assert state.expects.seats == (2,)
    state = play(state, "accuser")
    assert state.expects.seats == (3,)
    state = play(state, "accused")
    assert state.expects.kind is Expect.HANDS
    state, _ = show(state, "11223", "22334", "22334", "22334")
    assert state.count == 2
    assert state.dice == (5, 4, 4, 5)
    assert state.leader == 0


def test_joker_the_first_without_dice_wins_and_play_goes_on_for_the_other_places() -> None:
    state = play(rolled(PRESETS["joker"], (1, 2, 1)), "1x6", "liar", "accused")
    state, _ = show(state, "6", "22", "3")
    assert (state.out, state.awaits, state.winners) == ((2, 0), Expect.OVER, (2, 0))

    state = settle(play(rolled(PRESETS["joker"], (1, 2, 2)), "1x6", "liar", "accuser"), "6", "22", "33")
    assert (state.out, state.winners, state.expects.seats) == ((0,), (), (1,))
    state = settle(play(state, "3x3", "liar"), "", "12", "22")
    assert state.dice == (0, 2, 1)
    state = settle(play(state, "3x3", "liar"), "", "12", "2")
    assert (state.awaits, state.places) == (Expect.OVER, ((0,), (2,), (1,)))


# bs-and-spot-on.txt


def test_spot_on_same_number_needs_a_higher_face() -> None:
    assert raised("spot-on", "5x4", "5x6")
    assert not raised("spot-on", "5x4", "5x2")


def test_spot_on_a_higher_number_goes_with_any_face() -> None:
    assert raised("spot-on", "4x4", "5x4")
    assert raised("spot-on", "4x4", "5x2")


def test_spot_on_bs_right_costs_the_bidder_and_its_caller_leads() -> None:
    state, _ = show(play(rolled(PRESETS["spot-on"], (3, 3, 3)), "5x4", "0"), "144", "235", "666")
    assert (state.count, state.dice, state.leader) == (3, (2, 3, 3), 1)


def test_spot_on_a_wrong_bs_costs_its_caller_a_die_and_keeps_the_lead() -> None:
    state, _ = show(play(rolled(PRESETS["spot-on"], (3, 3, 3)), "5x4", "bs"), "144", "144", "666")
    assert (state.count, state.dice, state.leader) == (6, (3, 2, 3), 1)


def test_spot_on_right_costs_everybody_else_and_its_caller_leads() -> None:
    state, _ = show(play(rolled(PRESETS["spot-on"], (3, 3, 3)), "5x4", "2"), "144", "145", "666")
    assert (state.count, state.dice, state.leader) == (5, (2, 3, 2), 1)


def test_spot_on_wrong_costs_its_caller() -> None:
    state, _ = show(play(rolled(PRESETS["spot-on"], (3, 3, 3)), "5x4", "2"), "144", "144", "666")
    assert (state.dice, state.leader) == ((3, 2, 3), 1)


def test_spot_on_ones_are_wild_unless_they_open() -> None:
    opened = play(rolled(PRESETS["spot-on"], (3, 3)), "2x1", "3x4", "bs")
    assert show(opened, "144", "135")[0].count == 2
    assert show(play(rolled(PRESETS["spot-on"], (3, 3)), "3x4", "bs"), "144", "135")[0].count == 4


def test_spot_on_ones_are_bid_only_when_they_opened() -> None:
    assert raised("spot-on", "2x1", "3x1")
    assert not raised("spot-on", "2x2", "3x1")


# team-007.txt: the preset plain


@pytest.mark.parametrize(
    ("old", "new"), [("3x5", "4x5"), ("3x5", "4x1"), ("3x5", "3x6"), ("3x5", "2x6"), ("9x5", "1x6")]
)
def test_plain_a_bid_has_more_dice_or_a_higher_face(old: str, new: str) -> None:
    assert raised("plain", old, new)


@pytest.mark.parametrize(("old", "new"), [("3x5", "3x5"), ("3x5", "3x4"), ("3x5", "2x5"), ("3x5", "1x1")])
def test_plain_a_bid_with_neither_is_refused(old: str, new: str) -> None:
    assert not raised("plain", old, new)


def test_plain_two_bids_cannot_chase_each_other_for_ever() -> None:
    state = play(rolled(PRESETS["plain"], (5, 5)), "3x5", "2x6")
    assert Bid(3, 5) not in legal_moves(state)
    with pytest.raises(IllegalMove, match="3x5 was bid before"):
        play(state, "3x5")


def test_plain_the_first_to_act_may_only_bid() -> None:
    state = rolled(PRESETS["plain"], (5, 5))
    assert all(isinstance(move, Bid) for move in legal_moves(state))
    with pytest.raises(IllegalMove, match="no bid to call"):
        play(state, "challenge")


def test_plain_a_bid_equal_to_the_number_of_dice_costs_the_challenger() -> None:
    state, _ = show(play(rolled(PRESETS["plain"], (3, 3)), "3x5", "challenge"), "155", "245")
    assert (state.count, state.dice, state.leader) == (3, (3, 2), 1)


def test_plain_a_bid_above_the_number_of_dice_costs_the_bidder() -> None:
    state, _ = show(play(rolled(PRESETS["plain"], (3, 3)), "4x5", "challenge"), "155", "245")
    assert (state.dice, state.leader) == ((2, 3), 0)


def test_plain_the_last_die_lost_removes_its_player_and_the_last_player_wins() -> None:
    state, _ = show(play(rolled(PRESETS["plain"], (1, 3)), "4x5", "challenge"), "5", "245")
    assert (state.out, state.winners, state.places) == ((0,), (1,), ((1,), (0,)))


# motes-of-mischief.txt, its base game: the preset classic


def test_classic_a_raise_is_more_of_the_same_face_or_as_many_of_a_higher_face() -> None:
    assert raised("classic", "3x4", "4x4")
    assert raised("classic", "3x4", "3x5")
    assert not raised("classic", "3x4", "4x5")
    assert not raised("classic", "3x4", "4x3")


def test_classic_ones_count_for_the_face_of_the_bid() -> None:
    state, _ = show(play(rolled(PRESETS["classic"], (3, 3)), "4x5", "liar"), "115", "245")
    assert (state.count, state.dice, state.leader) == (4, (3, 2), 1)


def test_classic_everybody_starts_with_five_dice() -> None:
    assert rolled(PRESETS["classic"], (PRESETS["classic"].dice,) * 2).dice == (5, 5)


def test_classic_if_the_loser_is_eliminated_the_next_player_starts() -> None:
    state, _ = show(play(rolled(PRESETS["classic"], (1, 3, 3)), "4x5", "liar"), "5", "222", "333")
    assert (state.live, state.leader) == ((1, 2), 1)


def test_only_the_next_player_may_call_the_bluffer() -> None:
    state = play(rolled(PRESETS["classic"], (5, 5, 5)), "4x5")
    with pytest.raises(IllegalMove, match="turn of seat 1"):
        apply(state, Play(2, Liar()))
