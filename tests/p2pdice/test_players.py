"""The house bots: each level plays legally in every ruleset, and in its own style."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.counting import ONES_WILD, at_least
from p2pdice.engine import apply, new_match
from p2pdice.errors import IllegalMove
from p2pdice.moves import Bid, Input, Liar, Move, Play, Power, Rolled, Stake
from p2pdice.players import LEVELS, CautiousPlayer, MindPlayer, OddsPlayer, Player, PressPlayer
from p2pdice.players.bidders import ImaginedRound, held
from p2pdice.players.contest import Course, DrawnDice
from p2pdice.players.contest import contest as play_out
from p2pdice.players.mind import Proof
from p2pdice.players.playouts import Thought
from p2pdice.players.tactics import share
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved.policy import likelihoods
from p2pdice.stakes import check_wager
from p2pdice.state import State
from p2pdice.views import View, view
from tests.tiers import thoroughly

from .rulesets import rulesets
from .scripted import listed, play, reach, show, table


class ChancePlayer(Player):
    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def choose(self, view: View) -> Move:
        return self.rng.choice(view.legal)


def contest(ruleset: Ruleset, bots: Sequence[Player], rng: Random) -> tuple[State, list[Move]]:
    moves = []

    def note(item: Input, _: object) -> None:
        if isinstance(item, Play):
            moves.append(item.move)
            assert len(moves) < 20_000

    return play_out(ruleset, bots, rng, note), moves


def test_an_illegal_answer_changes_nothing() -> None:
    noted: list[Input] = []
    course = Course(
        PRESETS["classic"], 2, DrawnDice(Random(1)), lambda event: None, lambda item, hands: noted.append(item)
    )
    asked = course.asked
    with pytest.raises(IllegalMove):
        course.go_on(Liar())
    assert course.asked is asked is not None
    assert noted == [Rolled()]


@pytest.mark.parametrize("level", LEVELS)
@given(ruleset=rulesets(), players=st.integers(2, 4), seed=st.integers(0, 999))
@settings(max_examples=5, deadline=None)
def test_every_level_plays_every_ruleset_to_the_end(level: str, ruleset: Ruleset, players: int, seed: int) -> None:
    rng = Random(seed)
    table = [LEVELS[level](rng), *(LEVELS["random"](rng) for _ in range(players - 1))]
    state, _ = contest(ruleset, table, rng)
    assert state.winners


@pytest.mark.parametrize("name", PRESETS)
def test_all_levels_play_every_preset_together(name: str) -> None:
    rng = Random(name)
    state = play_out(PRESETS[name], [make(rng) for make in LEVELS.values()], rng)
    assert len(state.out) >= 4


@pytest.mark.parametrize("level", LEVELS)
def test_equal_generators_give_equal_matches(level: str) -> None:
    def places(seed: int) -> list[object]:
        table = [LEVELS[level](Random(seed + seat)) for seat in range(3)]
        few = {"dice": "3"}
        return [play_out(PRESETS[name].with_options(few), table, Random(1)) for name in ("classic", "perudo")]

    assert places(1) == places(1)


@pytest.mark.parametrize(
    "beside", ["odds", *(pytest.param(level, marks=pytest.mark.thorough) for level in ("press", "cautious"))]
)
@pytest.mark.parametrize("name", ["classic", *thoroughly(["perudo", "motes"])])
def test_mind_beats_each_of_these_levels(name: str, beside: str) -> None:
    wins = 0
    for game in range(24):
        whims = [Random(f"{game} {seat}") for seat in range(4)]
        table = [LEVELS[beside](whim) for whim in whims]
        table[game % 4] = MindPlayer(whims[game % 4])
        wins += game % 4 in play_out(PRESETS[name], table, Random(game)).winners
    assert wins >= 10, "a fair share is 6"


def test_mind_can_choose_without_having_seen_any_event() -> None:
    state, _ = apply(new_match(PRESETS["classic"], 3), Rolled())
    state = play(state, "2x6")
    assert MindPlayer(Random(1)).choose(view(state, 1, (2, 2, 3, 4, 5))) in view(state, 1).legal


def test_mind_learns_how_each_player_bids() -> None:
    mind = MindPlayer(Random(0))
    others = [LEVELS[name](Random(1)) for name in ("cautious", "odds", "press")]
    play_out(PRESETS["classic"], [mind, *others], Random(1))
    for seat, model in ((1, 0), (2, 1), (3, 2)):
        assert mind.habits[seat].weights[model] > 0.5


def test_mind_forgets_habits_when_a_match_starts() -> None:
    mind = MindPlayer(Random(1))
    play_out(PRESETS["classic"], [mind, PressPlayer(Random(2))], Random(1))
    assert mind.habits
    mind.started(PRESETS["classic"], 0, 2)
    assert not mind.habits


@pytest.mark.parametrize(
    ("level", "players"), [("cautious", 2), ("odds", 2), ("press", 2), ("cautious", 4), ("press", 4)]
)
def test_mind_recognizes_simple_bots(level: str, players: int) -> None:
    mind = MindPlayer(Random(1))
    others = [LEVELS[level](Random(seat)) for seat in range(1, players)]
    play_out(PRESETS["classic"], [mind, *others], Random(1))
    assert all(mind.proofs[seat].is_enough for seat in range(1, players))


@pytest.mark.parametrize("level", ["random", "mind"])
@pytest.mark.parametrize("players", [2, 4])
def test_mind_takes_no_other_player_for_a_simple_bot(level: str, players: int) -> None:
    mind = MindPlayer(Random(1))
    others = [LEVELS[level](Random(seat)) for seat in range(1, players)]
    play_out(PRESETS["classic"], [mind, *others], Random(1))
    assert not any(mind.proofs[seat].is_enough for seat in range(1, players))


@pytest.mark.parametrize("rounds", [10, 100])
def test_two_moves_that_no_simple_bot_makes_refute_any_proof(rounds: int) -> None:
    """With two fives in the hand, all simple bots open with fives, and none opens with six ones."""
    hand = held((2, 3, 4, 5, 5), 10, ONES_WILD)
    opening = ImaginedRound(PRESETS["classic"], (5, 5), (0, 1), False, 1).turn(0, 0, 0)
    proof = Proof()
    assert not proof.is_enough
    for _ in range(rounds):
        proof.add(hand, opening, 8 + 5, 0.05)
    assert proof.is_enough
    for _ in range(2):
        proof.add(hand, opening, 6 * 8 + 1, 0.0)
    assert not proof.is_enough


def test_mind_plays_the_policy_against_an_unknown_opponent() -> None:
    state, _ = apply(new_match(PRESETS["classic"], 2), Rolled())
    state = play(state, "2x3")
    hand = (1, 3, 3, 5, 5)
    policy = likelihoods(state, hand)
    assert policy is not None
    mind = MindPlayer(Random(1))
    mind.started(state.ruleset, 1, 2)
    drawn = Counter(mind.choose(view(state, 1, hand)) for _ in range(300))
    for move, weight in policy.items():
        assert drawn.pop(move, 0) / 300 == pytest.approx(weight / sum(policy.values()), abs=0.1)
    assert not drawn


def test_mind_simulates_rounds_only_against_a_simple_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    imagined = []

    def choose(self: Thought, may_call: bool) -> int:
        imagined.append(self.view.state.round)
        return 0 if may_call else 6 * 8 + 6

    monkeypatch.setattr(Thought, "choose", choose)
    state, _ = apply(new_match(PRESETS["classic"], 2), Rolled())
    mind = MindPlayer(Random(1))
    mind.started(state.ruleset, 0, 2)
    mind.choose(view(state, 0, (2, 2, 3, 4, 5)))
    assert not imagined
    turn = ImaginedRound(PRESETS["classic"], (5, 5), (0, 1), False, 1).turn(1, 0, 0)
    for _ in range(9):
        mind.proofs[1].add(held((2, 3, 4, 5, 5), 10, ONES_WILD), turn, 8 + 5, 0.05)
    mind.choose(view(state, 0, (2, 2, 3, 4, 5)))
    assert imagined == [1]


def test_cautious_makes_the_safest_raise_and_calls_a_bid_that_is_probably_false() -> None:
    state, _ = apply(new_match(PRESETS["classic"], 2), Rolled())
    state = play(state, "2x3")
    assert str(CautiousPlayer(Random(1)).choose(view(state, 1, (1, 3, 3, 5, 5)))) == "2x5"
    assert CautiousPlayer(Random(1)).choose(view(play(state, "2x4", "5x4"), 1, (2, 3, 3, 5, 6))) == Liar()


def test_press_makes_the_highest_bid_that_is_still_likely() -> None:
    state, _ = apply(new_match(PRESETS["classic"], 2), Rolled())
    hand = (1, 3, 3, 5, 6)
    bid = PressPlayer(Random(1)).choose(view(state, 0, hand))
    assert bid == Bid(4, 3)
    assert at_least(4, 3, hand, 5, ONES_WILD) >= Fraction(3, 4) > at_least(5, 3, hand, 5, ONES_WILD)
    assert PressPlayer(Random(1)).choose(view(play(state, "7x6"), 1, hand)) == Liar()


def test_random_calls_as_often_as_it_bids() -> None:
    state = play(apply(new_match(PRESETS["classic"], 3), Rolled())[0], "2x3")
    rng = Random(1)
    calls = sum(LEVELS["random"](rng).choose(view(state, 1, (1, 2, 3, 4, 5))) == Liar() for _ in range(200))
    assert 70 < calls < 130


@pytest.mark.parametrize("name", PRESETS)
def test_odds_beats_random_moves_in_every_preset(name: str) -> None:
    rng = Random(name)
    wins = 0
    for game in range(12):
        bots = [OddsPlayer(rng) if seat == game % 3 else ChancePlayer(rng) for seat in range(3)]
        wins += game % 3 in contest(PRESETS[name], bots, rng)[0].winners
    assert wins >= 9


def test_odds_prefers_false_bids_if_the_rules_reward_being_wrong() -> None:
    hand = (2, 3, 3, 4, 5)

    def sound_openings(goal: str) -> int:
        """Return how many of 40 openings are probably true."""
        state, _ = apply(new_match(PRESETS["classic"].with_options({"goal": goal}), 3), Rolled())
        openings = [OddsPlayer(Random(seed)).choose(view(state, 0, hand)) for seed in range(40)]
        bids = [move for move in openings if isinstance(move, Bid)]
        return sum(at_least(bid.quantity, bid.face, hand, 10, ONES_WILD) > Fraction(1, 2) for bid in bids)

    assert sound_openings("last-standing") > 30
    assert sound_openings("first-out") < 10


def test_matches_of_odds_have_more_than_two_bids_a_round() -> None:
    rng = Random(5)
    state, moves = contest(PRESETS["classic"], [OddsPlayer(rng) for _ in range(4)], rng)
    assert sum(isinstance(move, Bid) for move in moves) > 2 * state.round


def test_other_generators_give_other_matches() -> None:
    def moves(seed: int) -> list[Move]:
        return contest(PRESETS["perudo"], [OddsPlayer(Random(seed + seat)) for seat in range(3)], Random(1))[1]

    assert moves(1) != moves(50)


@pytest.mark.parametrize("level", ["odds", "mind"])
def test_a_bot_saves_itself_with_light(level: str) -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = play(reach(table(2, *buried), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "44444")
    for seed in range(10):
        move = LEVELS[level](Random(seed)).choose(view(state, 0))
        assert isinstance(move, Power)
        assert move.die.mote == "light"


@pytest.mark.parametrize("level", ["odds", "mind"])
def test_a_bot_makes_itself_immune_before_it_leads(level: str) -> None:
    sunset = reach(table(3, "grey@0"), "sunset", loses="red@0")
    assert str(LEVELS[level](Random(1)).choose(view(sunset, 0))) == "play grey@0"


def test_odds_calls_an_immune_bidder_and_then_raises() -> None:
    sunset = reach(table(3, "grey@0"), "sunset", loses="red@0")
    state = play(reach(play(sunset, "play grey@0"), "bidding"), "1x2")
    assert OddsPlayer(Random(1)).choose(view(state, 1, (2, 2, 2, 2, 2))) == Liar()
    state = play(state, "liar")
    assert isinstance(OddsPlayer(Random(1)).choose(view(state, 1, (2, 2, 2, 2, 2))), Bid)


@pytest.mark.parametrize("level", ["odds", "mind"])
def test_a_bot_answers_only_powers_that_target_its_own_dice(level: str) -> None:
    night = reach(table(3, "dark@0", "light@1", "light@2", "blue@1", prize=3), "night")
    aimed = play(night, "play dark@0 destroy light@1")
    assert str(LEVELS[level](Random(1)).choose(view(aimed, 1))) == "play blue@1"
    other = play(night, "play dark@0 destroy light@2")
    assert str(LEVELS[level](Random(1)).choose(view(other, 1))) == "pass"


def test_odds_plays_a_cursed_die_before_bidding() -> None:
    state = reach(table(3, "dark@0", "light@1", prize=3), "bidding")
    played = [str(OddsPlayer(Random(seed)).choose(view(state, 0, (2, 2, 2, 2)))) for seed in range(10)]
    assert "play dark@0 destroy light@1" in played


def test_odds_loses_neutral_rather_than_red() -> None:
    state = reach(table(2, "light@0", "grey@0", "blue@0", prize=6), "discard")
    assert str(OddsPlayer(Random(1)).choose(view(state, 0))) == "lose neutral@0"


def test_odds_swaps_light_into_the_graveyard_to_play_it() -> None:
    sunset = reach(table(3, "neutral@0"), "sunset", loses="red@0")
    assert str(OddsPlayer(Random(1)).choose(view(sunset, 0))) == "play neutral@0 swap light@0"


def test_odds_swaps_grey_into_the_graveyard_only_if_it_leads_next() -> None:
    sunset = reach(table(3, "neutral@0", "light@0 2", "neutral@1", "light@1 2"), "sunset", loses="red@0")
    assert str(OddsPlayer(Random(1)).choose(view(sunset, 0))) == "play neutral@0 swap grey@0"
    other = play(sunset, "pass")
    assert "play neutral@1 swap grey@1" in listed(other)
    assert str(OddsPlayer(Random(1)).choose(view(other, 1))) == "pass"


def test_odds_loses_light_first_and_crowns_a_die_of_its_pledge() -> None:
    assert str(OddsPlayer(Random(1)).choose(view(reach(table(2), "discard"), 0))) == "lose light@0"
    state = play(reach(table(2), "bidding"), "evict 0")  # seat 1 is pledged to Cursed
    assert str(OddsPlayer(Random(1)).choose(view(state, 1))) == "crown blue@1"


@given(funds=st.integers(0, 10**12), tickets=st.integers(0, 9), seed=st.integers(0, 99))
def test_odds_stakes_at_most_a_fifth_of_its_funds(funds: int, tickets: int, seed: int) -> None:
    stake = OddsPlayer(Random(seed)).stake(funds, tickets)
    assert check_wager((stake.bet, funds, stake.tickets, tickets))
    assert 5 * stake.bet <= funds
    assert ChancePlayer(Random(seed)).stake(funds, tickets) == Stake(0)


@pytest.mark.parametrize(("goal", "likeliest"), [("last-standing", 0), ("first-out", 2)])
def test_more_dice_are_better_unless_the_first_player_without_dice_wins(goal: str, likeliest: int) -> None:
    chances = [share(PRESETS["classic"].with_options({"goal": goal}), [4, 3, 1], [0, 1, 2], seat) for seat in range(3)]
    assert sum(chances) == pytest.approx(1)
    assert chances.index(max(chances)) == likeliest


def test_mind_opens_high_while_immune() -> None:
    sunset = reach(table(2, "grey@0"), "sunset", loses="red@0")
    state = reach(play(sunset, "play grey@0"), "bidding")
    bid = MindPlayer(Random(1)).choose(view(state, state.turn, (2, 2, 3)))
    assert isinstance(bid, Bid)
    assert bid.quantity >= 6, "a call would be void, so the other player has to raise"
