"""Stakes: what may be bet, and what the match pays, with every ruleset."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.engine import apply, new_match
from p2pdice.errors import UnexpectedInput
from p2pdice.events import MatchOver, StakesOpened, StakesPaid
from p2pdice.moves import Concede, Play, Rolled, Stake, Stakes, Wager
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.stakes import check_wager, settlement
from p2pdice.state import Expect, State, plain
from p2pdice.views import state_json

from .scripted import play, random_play, rules, show

BETTING = rules(stakes="yes", dice="1")
Opened = tuple[int, int, int, int] | None


def staked(*stakes: Opened, ruleset: Ruleset = BETTING) -> State:
    return apply(new_match(ruleset, len(stakes)), Stakes(stakes))[0]


def won_by(winner: int, state: State) -> State:
    """Let all other players concede, in the order of seats."""
    return play(state, *(f"concede {seat}" for seat in range(state.players) if seat != winner))


def test_an_example_of_the_formula() -> None:
    state = won_by(0, staked((100, 1000, 0, 0), (50, 1000, 0, 0)))
    assert settlement(state) == ((160, 0), (60, -50), (0, 0))
    data = state_json(state)
    assert (data["payout"], data["delta"], data["ticket_delta"]) == ([160, 0], [60, -50], [0, 0])


def test_the_payment_is_reported_at_the_end_of_the_match() -> None:
    state = staked((100, 1000, 1, 1), (50, 1000, 2, 2))
    _, events = apply(state, Play(1, Concede()))
    assert events[-2:] == (StakesPaid((160, 0), (60, -50), (2, -2)), MatchOver(((0,), (1,)), (0,)))


def test_the_bonus_is_rounded_down_and_is_0_without_funds() -> None:
    assert settlement(won_by(0, staked((10, 30, 0, 0), (0, 0, 0, 0)))).payout == (13, 0)
    assert settlement(won_by(1, staked((10, 30, 0, 0), (0, 0, 0, 0)))).payout == (0, 10)
    assert settlement(won_by(0, staked((30, 30, 0, 0), (0, 5, 0, 0)))).payout == (60, 0)


def test_the_winner_receives_all_staked_tickets() -> None:
    assert settlement(won_by(2, staked((0, 9, 2, 5), (0, 9, 1, 1), (0, 9, 4, 4)))).ticket_delta == (-2, -1, 3)


def test_tied_winners_share_equally_and_the_remainder_goes_clockwise_from_the_last_leader() -> None:
    ruleset = rules("joker", dice="1", stakes="yes")
    state = staked((10, 10, 1, 1), (0, 10, 0, 0), (1, 10, 2, 2), ruleset=ruleset)
    state, _ = apply(state._replace(leader=2), Rolled())
    state, _ = show(play(state, "1x6", "liar", "accused"), "2", "2", "6")
    # Seats 1 and 2 were right; the last leader, seat 2, is first in line for the coin and the ticket left over.
    assert state.winners == (1, 2)
    assert settlement(state) == ((0, 5, 6), (-10, 5, 5), (-1, 1, 0))


def test_a_player_who_never_opened_a_stake_is_out_before_play() -> None:
    state, events = apply(new_match(BETTING, 3), Stakes(((100, 1000, 0, 0), None, (1, 1, 0, 0))))
    assert events[0] == StakesOpened((Wager(100, 1000, 0, 0), Wager(0, 0, 0, 0), Wager(1, 1, 0, 0)))
    assert (state.live, state.out, state.dice, state.expects.kind) == ((0, 2), (1,), (1, 0, 1), Expect.ROLLED)


def test_the_only_player_to_open_a_stake_wins_and_the_others_share_a_place() -> None:
    state = staked(None, (100, 1000, 0, 0), None)
    assert (state.awaits, state.winners, state.places) == (Expect.OVER, (1,), ((1,), (0, 2)))
    assert settlement(state).delta == (0, 10, 0)


def test_the_lead_passes_on_from_a_player_who_never_opened_a_stake() -> None:
    assert staked(None, (0, 1000, 0, 0), (0, 1000, 0, 0)).leader == 1


def test_a_player_who_has_left_stakes_nothing() -> None:
    state = play(new_match(BETTING, 3), "evict 1")
    assert state.expects == (Expect.STAKES, (0, 2))
    with pytest.raises(UnexpectedInput, match="seat 1 is not in the match"):
        apply(state, Stakes(((0, 1, 0, 0),) * 3))
    assert apply(state, Stakes(((0, 1, 0, 0), None, (0, 1, 0, 0))))[0].live == (0, 2)


def test_a_match_that_ends_before_the_stakes_pays_nothing() -> None:
    assert settlement(play(new_match(BETTING, 2), "evict 1")) == ((0, 0), (0, 0), (0, 0))


@pytest.mark.parametrize(
    ("stake", "message"),
    [
        ((11, 10, 0, 0), "a stake of 11 coins is more than the 10 owned"),
        ((2000, 1000, 0, 0), "a stake of 2,000 coins is more than the 1,000 owned"),
        ((0, 10, 2, 1), "a stake of 2 run tickets is more than the 1 owned"),
        ((0, 10, 1, 0), "a stake of 1 run ticket is more than the 0 owned"),
        ((-1, 10, 0, 0), "whole numbers"),
        ((True, 10, 0, 0), "whole numbers"),
        ((1.0, 10, 0, 0), "whole numbers"),
        ((0, 10**12 + 1, 0, 0), "whole numbers"),
        ((1, 10, 0), "four whole numbers"),
    ],
)
def test_nobody_can_stake_more_than_they_have(stake: tuple[int, ...], message: str) -> None:
    with pytest.raises(UnexpectedInput, match=message):
        check_wager(stake)
    with pytest.raises(UnexpectedInput, match=message):
        apply(new_match(BETTING, 2), Stakes(((0, 10, 0, 0), stake)))  # type: ignore[arg-type]


def test_stakes_have_one_item_for_each_seat_and_are_not_a_move() -> None:
    with pytest.raises(UnexpectedInput, match="1 stakes for 2 seats"):
        apply(new_match(BETTING, 2), Stakes(((0, 1, 0, 0),)))
    with pytest.raises(UnexpectedInput, match="open a stake first"):
        apply(new_match(BETTING, 2), Play(0, Stake(1)))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_played_for_stakes(name: str) -> None:
    ruleset = PRESETS[name].with_options({"stakes": "yes"})
    *_, (_, state, _) = random_play(ruleset, 4, Random(name))
    assert plain(state)[-1] == tuple(map(tuple, state.wagers))
    assert {"payout", "delta", "ticket_delta", "stakes"} <= state_json(state).keys()


def test_without_stakes_the_json_has_no_coins() -> None:
    *_, (_, state, _) = random_play(PRESETS["classic"], 4, Random(1))
    assert not {"payout", "delta", "ticket_delta", "stakes"} & state_json(state).keys()


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)).map(sorted), min_size=2, max_size=10))
def test_a_winner_gets_the_pool_and_a_bonus_of_at_most_their_bet(wagers: list[list[int]]) -> None:
    state = won_by(0, staked(*((bet, funds, 0, 0) for bet, funds in wagers)))
    pool = sum(bet for bet, _ in wagers)
    paid = settlement(state)
    assert pool <= paid.payout[0] <= pool + wagers[0][0]
    assert paid.delta[1:] == tuple(-bet for bet, _ in wagers[1:])
