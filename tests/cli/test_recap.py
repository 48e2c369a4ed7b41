"""The recap of a match, compared with matches whose best bluff, worst call and luckiest roll were computed by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from cli.table.board import Board
from cli.table.replay_table import Tape
from cli.text.rounds import RecapRow, Round, fold, recap, roll_chance
from cli.text.seating import Seating
from p2pdice.counting import NOTHING_WILD, ONES_WILD
from p2pdice.engine import new_match
from p2pdice.events import AccusationVoid, BidMade, HandsShown, Judged
from p2pdice.moves import Hand
from p2pdice.rulesets import PRESETS
from protocol.events import Happened, MatchStarted, TakenBack
from tests.cli.table.boards import Sample, people
from tests.cli.test_replay_table import replay

SEATING = Seating.of(people(("Ada", "Ben", "Cleo"), me=None), None)


def round_(
    number: int, hands: tuple[Hand | None, ...], *bids: tuple[int, int, int], caller: int, wild: bool = True
) -> Round:
    """Return a round with these bids (seat, quantity, face). The last one was called a lie."""
    bidder, quantity, face = bids[-1]
    there = sum(each in (face, 1 if wild else face) for hand in hands for each in hand or ())
    unopened = 5 * hands.count(None)
    shown = HandsShown(hands, quantity, face, ONES_WILD if wild else NOTHING_WILD, there, unopened)
    is_true = there >= quantity
    verdict = Judged(caller, "liar", bidder, is_true, not is_true, (caller,), (bidder,))
    made = tuple(BidMade(*bid) for bid in bids)
    return Round(number, made, shown=shown, verdict=None if unopened else verdict)


# Six fives: Ada has none, so 6 of 10 dice at 1/3, (3360 + 960 + 180 + 20 + 1) / 59049 = 7.7%. There are three.
BLUFF = round_(1, ((2, 2, 3, 4, 6), (1, 3, 3, 5, 5), (2, 4, 4, 6, 6)), (0, 6, 5), (1, 7, 5), caller=2)
# Two fours: Cleo has none, so 2 of 6 dice at 1/3, 1 - (64 + 192) / 729 = 65%. There are three; her call was wrong.
CALL = round_(2, ((1, 1, 4), (2, 3, 6), (2, 3, 5)), (1, 2, 4), caller=2)
# Three sixes: Ben has one, so for him it is 2 of 6 dice again. Ada calls and has none: 3 of 6, 1 - 496 / 729 = 32%.
UNLIKELY = round_(3, ((2, 3, 4), (2, 3, 6), (1, 6, 6)), (1, 3, 6), caller=0)


def test_a_likely_bid_is_not_a_bluff() -> None:
    """The statistics use the same definition. One six among five hidden dice at 1/3 is 87% likely."""
    likely = round_(4, ((2,) * 5, (3,) * 5), (0, 1, 6), (1, 2, 3), caller=0)
    assert "Best bluff" not in [row.title for row in recap((likely,), Seating(("Ada", "Ben")))]


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        ((), []),
        ((BLUFF,), ["Best bluff: Ada bid six fives holding none: 8% likely, and nobody called."]),
        (
            (CALL,),
            [
                "Worst call: Cleo called Ben's two fours: 65% likely, and there were three.",
                "Luckiest roll: Ada rolled 1 1 4 in round 2: three fours, one roll in 6.",
            ],
        ),
        (
            (UNLIKELY, CALL, BLUFF),
            [
                "Best bluff: Ada bid six fives holding none: 8% likely, and nobody called.",
                "Worst call: Cleo called Ben's two fours: 65% likely, and there were three.",
                "Luckiest roll: Cleo rolled 1 6 6 in round 3: three sixes, one roll in 6.",
            ],
        ),
    ],
)
def test_the_recap_of_a_match_equals_the_one_computed_by_hand(rounds: tuple[Round, ...], told: list[str]) -> None:
    assert [f"{row.title}: {row.who} {row.text}" for row in recap(rounds, SEATING)] == told


def test_a_bluff_counts_as_called_if_a_shield_voided_the_call() -> None:
    played = Round(1, (BidMade(0, 6, 5),))
    called = fold((played,), Happened(AccusationVoid(1, 0), new_match(PRESETS["classic"], 3)))
    bluff, *_ = recap((BLUFF._replace(shielded=called[-1].shielded),), SEATING)
    assert bluff.text == "bid six fives holding none: 8% likely, and a shield voided the call."


def test_undecided_bids_and_calls_are_not_in_the_recap() -> None:
    hands = (BLUFF.shown.hands[0], None, BLUFF.shown.hands[2]) if BLUFF.shown else ()
    rounds = [round_(1, hands, (0, 5, 5), (1, 7, 5), caller=2)]
    assert [row.title for row in recap(rounds, SEATING)] == []


def test_a_calls_odds_include_the_dice_under_an_unopened_cup() -> None:
    """Ada sees no four and calls two fours among ten other dice, five of them unopened: 1 - (1024 + 5120) / 59049."""
    called = round_(1, ((2, 2, 3, 5, 6), None, (4, 4, 3, 3, 6)), (1, 2, 4), caller=0)
    called = called._replace(verdict=Judged(0, "liar", 1, True, False, (0,), (1,)))
    row = next(row for row in recap([called], SEATING) if row.title == "Worst call")
    assert row.text == "called Ben's two fours: 90% likely, and there were at least two."


def test_the_only_bid_of_a_round_is_not_a_bluff() -> None:
    alone = BLUFF._replace(bids=BLUFF.bids[:1])
    assert recap([alone], SEATING) == ()


def test_in_a_special_round_ones_are_not_wild_in_the_recap() -> None:
    # Four threes of five, without wild ones: 6 * (25 + 1) of 7776 rolls, one in 49.8.
    (row,) = recap([round_(1, ((1, 3, 3, 3, 3),), (0, 5, 3), caller=0, wild=False)], SEATING)
    assert row == RecapRow("Luckiest roll", 0, "Ada", "rolled 1 3 3 3 3 in round 1: four threes, one roll in 50.")


def test_a_roll_of_wild_ones_alone_is_named_as_ones() -> None:
    (row,) = recap([round_(1, ((1, 1, 1), (2, 3, 4)), (0, 3, 1), caller=1)], SEATING)[-1:]
    assert row.text == "rolled 1 1 1 in round 1: three ones, one roll in 6."


def test_a_roll_more_frequent_than_one_in_six_is_not_lucky() -> None:
    common = round_(1, ((2, 5), (3, 4)), (0, 1, 3), caller=1)
    assert "Luckiest roll" not in [row.title for row in recap([common], SEATING)]
    pair = round_(1, ((2, 2), (3, 4)), (0, 1, 3), caller=1, wild=False)
    assert recap([pair], SEATING)[-1].text == "rolled 2 2 in round 1: two twos, one roll in 6."


def test_the_recap_calls_the_reader_you() -> None:
    rows = recap([BLUFF, CALL], SEATING._replace(me=0))
    assert [row.who for row in rows] == ["You", "Cleo", "You"]


@pytest.mark.parametrize("ones_wild", [True, False])
@pytest.mark.parametrize("dice", [1, 2, 3, 4, 5])
def test_the_chance_of_a_roll_equals_its_share_of_all_rolls(dice: int, ones_wild: bool) -> None:
    most = [
        max(sum(each == face or (ones_wild and each == 1) for each in roll) for face in range(2 if ones_wild else 1, 7))
        for roll in product(range(1, 7), repeat=dice)
    ]
    for wanted in range(1, dice + 1):
        share = Fraction(sum(each >= wanted for each in most), 6**dice)
        assert roll_chance(wanted, dice, ONES_WILD if ones_wild else NOTHING_WILD) == share


@pytest.mark.parametrize("name", ["classic", "joker", "motes"])
def test_a_replay_and_a_table_record_the_same_rounds(name: str) -> None:
    told = replay(name)
    tape = Tape(told, None)
    while events := tape.forward():
        for event in events:
            tape.board.take(event)
    assert len(tape.board.rounds) == len(told.rounds)
    rounds: tuple[Round, ...] = ()
    for moment in told.tell():
        rounds = fold(rounds, moment.event)
    assert rounds == tape.board.rounds
    assert all(each.bids for each in tape.board.rounds)


def test_rounds_that_are_taken_back_are_forgotten() -> None:
    sample = Sample(PRESETS["classic"])
    sample.roll()
    sample.play("2x3", "2x4")
    before, state = sample.board.rounds, sample.state
    sample.play("3x4", "liar")
    sample.open((1, 2, 3, 3, 6), (1, 1, 2, 4, 5), (2, 2, 3, 4, 6))
    sample.roll()
    assert len(sample.board.rounds) == 2
    sample.board.take(TakenBack(state))
    assert sample.board.rounds == before


def test_the_next_match_begins_with_no_rounds() -> None:
    board = Board()
    board.rounds = (BLUFF,)
    players = people(("Ada", "Ben"))
    state = Sample(PRESETS["classic"], ("Ada", "Ben")).state
    board.take(MatchStarted("cd" * 32, PRESETS["classic"], players, 0, state))
    assert board.rounds == fold((BLUFF,), MatchStarted("cd" * 32, PRESETS["classic"], players, 0, state)) == ()
