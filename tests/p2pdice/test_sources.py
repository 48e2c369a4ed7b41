"""The examples of the rule texts, played by the engine. Player 1 of a text is seat 0 here."""

import pytest

from p2pdice.engine import apply, legal_moves
from p2pdice.errors import IllegalMove
from p2pdice.moves import Bid, Liar, Play, parse_move
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect

from .scripted import play, rolled, settle, show


def raised(preset: str, old: str, new: str) -> bool:
    """Return whether ``new`` may follow ``old`` as the second bid of a round with many dice."""
    state = play(rolled(PRESETS[preset], (20, 20, 20)), old)
    listed = parse_move(new) in legal_moves(state)
    try:
        play(state, new)
    except IllegalMove:
        assert not listed
        return False
    assert listed
    return True


@pytest.mark.parametrize(
    ("preset", "old", "raises", "others"),
    [
        # exact.txt, 1: a higher face or more dice; 2: ones are worth a little more than double
        ("wildcard", "2x3", "2x4 2x5 2x6 3x2 3x3", "2x2"),
        ("wildcard", "2x1", "5x2", "4x2 4x3 4x4 4x5 4x6"),
        # joker.html
        ("joker", "3x2", "4x2 3x4 2x1", "2x6"),
        ("joker", "3x3", "", "3x2"),
        ("joker", "4x6", "", "2x1"),
        ("joker", "2x1", "4x2", ""),
        ("joker", "3x1", "", "5x2"),
        # bs-and-spot-on.txt: as many of a higher face, or more of any face; ones only if the round was opened on ones
        ("spot-on", "5x4", "5x6", "5x2"),
        ("spot-on", "4x4", "5x4 5x2", ""),
        ("spot-on", "2x1", "3x1", ""),
        ("spot-on", "2x2", "", "3x1"),
        # team-007.txt: more dice or a higher face
        ("plain", "3x5", "4x5 4x1 3x6 2x6", "3x5 3x4 2x5 1x1"),
        ("plain", "9x5", "1x6", ""),
        # motes-of-mischief.txt, its base game: more of the same face, or as many of a higher face
        ("classic", "3x4", "4x4 3x5", "4x5 4x3"),
    ],
)
def test_these_bids_are_raises_and_those_are_not(preset: str, old: str, raises: str, others: str) -> None:
    assert all(raised(preset, old, new) for new in raises.split())
    assert not any(raised(preset, old, new) for new in others.split())


@pytest.mark.parametrize(
    ("preset", "dice", "moves", "hands", "count", "left", "leader"),
    [
        pytest.param("wildcard", "222", "3x3 2x1 bs", "34 16 22", 1, "212", 1, id="a right challenge costs the bidder"),
        pytest.param("wildcard", "222", "3x3 4x2 bs", "12 22 34", 4, "221", 2, id="a wrong one costs the challenger"),
        pytest.param("wildcard", "222", "3x3 4x2 bs", "12 22 24", 5, "221", 2, id="also if dice exceed the bid"),
        pytest.param("wildcard", "222", "5x2 3x1 exact", "16 15 14", 3, "223", 2, id="a right exact gains a die"),
        pytest.param("wildcard", "555", "5x2 6x2 exact", "22223 22333 23456", 7, "554", 2, id="a wrong one loses one"),
        pytest.param("spot-on", "333", "5x4 0", "144 235 666", 3, "233", 1, id="a right BS costs the bidder"),
        pytest.param("spot-on", "333", "5x4 bs", "144 144 666", 6, "323", 1, id="a wrong BS costs its caller"),
        pytest.param("spot-on", "333", "5x4 2", "144 145 666", 5, "232", 1, id="right on the spot costs all others"),
        pytest.param("spot-on", "333", "5x4 2", "144 144 666", 6, "323", 1, id="wrong on the spot costs its caller"),
        pytest.param("spot-on", "33", "2x1 3x4 bs", "144 135", 2, "32", 0, id="ones that opened are not wild"),
        pytest.param("spot-on", "33", "3x4 bs", "144 135", 4, "32", 1, id="ones are wild otherwise"),
        pytest.param("plain", "33", "3x5 challenge", "155 245", 3, "32", 1, id="a bid of the number of dice is true"),
        pytest.param("plain", "33", "4x5 challenge", "155 245", 3, "23", 0, id="a bid above it costs the bidder"),
        pytest.param("classic", "33", "4x5 liar", "115 245", 4, "32", 1, id="ones count for the face of the bid"),
        pytest.param("classic", "133", "4x5 liar", "5 222 333", 1, "033", 1, id="the next player starts for a loser"),
    ],
)
def test_dice_and_leader_after_a_showdown(
    preset: str, dice: str, moves: str, hands: str, count: int, left: str, leader: int
) -> None:
    state, _ = show(play(rolled(PRESETS[preset], tuple(map(int, dice))), *moves.split()), *hands.split())
    assert (state.count, "".join(map(str, state.dice)), state.leader) == (count, left, leader)


def test_wildcard_2_ones_are_worth_a_little_more_than_double() -> None:
    chain = ["2x3", "2x6", "1x1", "3x2", "4x6", "2x1", "5x2"]
    state = play(rolled(PRESETS["wildcard"], (5, 5, 5)), *chain)
    assert [f"{bid.quantity}x{bid.face}" for bid in state.bids] == chain
    assert [bid.seat for bid in state.bids] == [0, 1, 2, 0, 1, 2, 0]


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


def test_plain_a_bid_cannot_be_repeated_in_a_round() -> None:
    state = play(rolled(PRESETS["plain"], (5, 5)), "3x5", "2x6")
    assert Bid(3, 5) not in legal_moves(state)
    with pytest.raises(IllegalMove, match="3x5 was bid before"):
        play(state, "3x5")


def test_plain_the_first_to_act_may_only_bid() -> None:
    state = rolled(PRESETS["plain"], (5, 5))
    assert all(isinstance(move, Bid) for move in legal_moves(state))
    with pytest.raises(IllegalMove, match="nothing to call yet"):
        play(state, "challenge")


def test_plain_the_last_die_lost_removes_its_player_and_the_last_player_wins() -> None:
    state, _ = show(play(rolled(PRESETS["plain"], (1, 3)), "4x5", "challenge"), "5", "245")
    assert (state.out, state.winners, state.places) == ((0,), (1,), ((1,), (0,)))


def test_classic_everybody_starts_with_five_dice() -> None:
    assert rolled(PRESETS["classic"], (PRESETS["classic"].dice,) * 2).dice == (5, 5)


def test_only_the_next_player_may_call_the_bluffer() -> None:
    state = play(rolled(PRESETS["classic"], (5, 5, 5)), "4x5")
    with pytest.raises(IllegalMove, match="turn of seat 1"):
        apply(state, Play(2, Liar()))
