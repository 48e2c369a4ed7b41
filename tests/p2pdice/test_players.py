"""The house player: plays every ruleset to its end, legally, and better than chance."""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice import (
    PRESETS,
    Bid,
    Expect,
    Hand,
    Hands,
    Liar,
    Move,
    Play,
    Power,
    Rolled,
    Ruleset,
    Stake,
    State,
    View,
    apply,
    check_wager,
    new_match,
    view,
)
from p2pdice.odds import at_least
from p2pdice.players import OddsPlayer, Player

from .rulesets import rulesets
from .scripted import before_play, play, reach, roll, show, table


class ChancePlayer(Player):
    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def choose(self, view: View) -> Move:
        return self.rng.choice(view.legal)


def contest(ruleset: Ruleset, bots: Sequence[Player], rng: Random) -> tuple[State, list[Move]]:
    state = new_match(ruleset, len(bots), rng.randrange(len(bots)))
    hands: tuple[Hand, ...] = ((),) * state.players
    moves = []
    while state.awaits is not Expect.OVER:
        if state.awaits is Expect.ROLLED:
            hands = roll(state.dice, rng)
            state, _ = apply(state, Rolled())
        elif state.awaits is Expect.HANDS:
            state, _ = apply(state, Hands(hands))
            hands = ((),) * state.players
        elif state.awaits is not Expect.MOVE:
            state, _ = apply(state, before_play(state, rng))
        else:
            moves.append(bots[state.turn].choose(view(state, state.turn, hands[state.turn])))
            state, _ = apply(state, Play(state.turn, moves[-1]))
            assert len(moves) < 20_000
    return state, moves


@given(ruleset=rulesets(), players=st.integers(2, 4), seed=st.integers(0, 999))
@settings(max_examples=15, deadline=None)
def test_it_plays_every_ruleset_to_the_end(ruleset: Ruleset, players: int, seed: int) -> None:
    rng = Random(seed)
    state, _ = contest(ruleset, [OddsPlayer(rng) for _ in range(players)], rng)
    assert state.winners


@pytest.mark.parametrize("name", PRESETS)
def test_it_beats_chance_at_every_preset(name: str) -> None:
    rng = Random(name)
    wins = 0
    for game in range(12):
        bots = [OddsPlayer(rng) if seat == game % 3 else ChancePlayer(rng) for seat in range(3)]
        wins += game % 3 in contest(PRESETS[name], bots, rng)[0].winners
    assert wins >= 9


def test_it_plays_to_be_wrong_if_the_rules_reward_that() -> None:
    hand = (2, 3, 3, 4, 5)

    def sound_openings(goal: str) -> int:
        """How many of 40 openings are more likely true than not."""
        state, _ = apply(new_match(PRESETS["classic"].with_options({"goal": goal}), 3), Rolled())
        openings = [OddsPlayer(Random(seed)).choose(view(state, 0, hand)) for seed in range(40)]
        bids = [move for move in openings if isinstance(move, Bid)]
        return sum(at_least(bid.quantity, bid.face, hand, 10, ones_wild=True) > Fraction(1, 2) for bid in bids)

    assert sound_openings("last-standing") > 30
    assert sound_openings("first-out") < 10


def test_its_matches_are_not_dull() -> None:
    rng = Random(5)
    state, moves = contest(PRESETS["classic"], [OddsPlayer(rng) for _ in range(4)], rng)
    assert sum(isinstance(move, Bid) for move in moves) > 2 * state.round


def test_equal_generators_play_alike() -> None:
    def moves(seed: int) -> list[Move]:
        return contest(PRESETS["perudo"], [OddsPlayer(Random(seed + seat)) for seat in range(3)], Random(1))[1]

    assert moves(1) == moves(1)
    assert moves(1) != moves(50)


def test_it_saves_itself_with_light() -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = play(reach(table(2, *buried), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "44444")
    for seed in range(10):
        move = OddsPlayer(Random(seed)).choose(view(state, 0))
        assert isinstance(move, Power)
        assert move.die.mote == "light"


def test_it_makes_itself_immune_before_it_leads_and_spends_the_immunity_of_others() -> None:
    sunset = reach(table(3, "grey@0"), "sunset", loses="red@0")
    assert str(OddsPlayer(Random(1)).choose(view(sunset, 0))) == "play grey@0"
    state = play(reach(play(sunset, "play grey@0"), "bidding"), "1x2")
    assert OddsPlayer(Random(1)).choose(view(state, 1, (2, 2, 2, 2, 2))) == Liar()
    state = play(state, "liar")
    assert isinstance(OddsPlayer(Random(1)).choose(view(state, 1, (2, 2, 2, 2, 2))), Bid)


def test_it_answers_what_is_aimed_at_it_and_nothing_else() -> None:
    night = reach(table(3, "dark@0", "light@1", "light@2", "blue@1", prize=3), "night")
    aimed = play(night, "play dark@0 destroy light@1")
    assert str(OddsPlayer(Random(1)).choose(view(aimed, 1))) == "play blue@1"
    other = play(night, "play dark@0 destroy light@2")
    assert str(OddsPlayer(Random(1)).choose(view(other, 1))) == "pass"


def test_it_loses_light_first_and_crowns_what_it_is_pledged_to() -> None:
    assert str(OddsPlayer(Random(1)).choose(view(reach(table(2), "discard"), 0))) == "lose light@0"
    state = play(reach(table(2), "bidding"), "evict 0")  # seat 1 is pledged to Cursed
    assert str(OddsPlayer(Random(1)).choose(view(state, 1))) == "crown blue@1"


@given(funds=st.integers(0, 10**12), tickets=st.integers(0, 9), seed=st.integers(0, 99))
def test_it_stakes_what_it_has(funds: int, tickets: int, seed: int) -> None:
    stake = OddsPlayer(Random(seed)).stake(funds, tickets)
    assert check_wager((stake.bet, funds, stake.tickets, tickets))
    assert ChancePlayer(Random(seed)).stake(funds, tickets) == Stake(0)
