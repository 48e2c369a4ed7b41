"""The models of other players that ``mind`` uses: they know the legal moves, and bid like the house bots."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.counting import ONES_WILD
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.moves import Bid, Exact, Hand, Liar, Rolled
from p2pdice.players import CautiousPlayer, OddsPlayer, PressPlayer
from p2pdice.players.bidders import (
    CAUTIOUS,
    EXACT,
    LIAR,
    ODDS,
    PRESS,
    PRIOR,
    Action,
    Held,
    ImaginedRound,
    Presser,
    Safest,
    Turn,
    action_of,
    held,
    move_of,
)
from p2pdice.players.playouts import Playout, Thought, World
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect, State
from p2pdice.views import view

from .scripted import random_play, roll


def turns(ruleset: Ruleset, seed: int) -> list[tuple[State, Hand, Turn, Held]]:
    """Return the bidding turns of a random match, each with a random hand."""
    rng = Random(seed)
    found = []
    for state, _, _ in random_play(ruleset, 3, rng):
        if state.awaits is Expect.MOVE and state.phase == "bidding":
            round_ = ImaginedRound(ruleset, state.dice, state.live, state.palifico, state.round)
            first = state.bids[0].face if state.bids else 0
            standing = action_of(state.bids[-1]) if state.bids else 0
            turn = round_.turn(state.turn, standing, first, round_.made(state.bids))
            hand = roll(state.dice, rng)[state.turn]
            found.append((state, hand, turn, held(hand, round_.total, state.counting)))
    return found


def actions(turn: Turn) -> set[int]:
    bids = {quantity * 8 + face for face, low, high in turn.options for quantity in range(low, high + 1)}
    return bids | ({LIAR} if turn.may_call else set()) | ({EXACT} if turn.may_exact else set())


WITHOUT_MOTES = [name for name, rules in PRESETS.items() if not rules.motes]


@pytest.mark.parametrize("name", WITHOUT_MOTES)
def test_a_turn_has_the_legal_moves(name: str) -> None:
    for state, _, turn, _ in turns(PRESETS[name], 1):
        made = set(map(action_of, state.bids))
        assert {move_of(each) for each in actions(turn) - made} == set(legal_moves(state))


@pytest.mark.parametrize("name", ["classic", "perudo", "spot-on", "wildcard"])
def test_models_bid_like_their_house_bots(name: str) -> None:
    for state, hand, turn, had in turns(PRESETS[name], 2):
        seen = view(state, state.turn, hand)
        assert move_of(CAUTIOUS.act(had, turn, 0.5)) == CautiousPlayer(Random(1)).choose(seen)
        assert move_of(PRESS.act(had, turn, 0.5)) == PressPlayer(Random(1)).choose(seen)
        for seed in range(5):
            chosen = OddsPlayer(Random(seed)).choose(seen)
            assert isinstance(chosen, Bid | Liar | Exact)
            assert ODDS.likelihood(had, turn, action_of(chosen)) > 0


@given(seed=st.integers(0, 999), name=st.sampled_from(["classic", "perudo", "joker"]))
@settings(max_examples=5, deadline=None)
def test_likelihoods_sum_to_one_and_every_act_is_likely(seed: int, name: str) -> None:
    for _, _, turn, had in turns(PRESETS[name], seed)[:6]:
        for bidder in PRIOR:
            assert sum(bidder.likelihood(had, turn, each) for each in actions(turn)) == pytest.approx(1)
            for whim in (0.0, 0.1, 0.3, 0.6, 0.99):
                assert bidder.likelihood(had, turn, bidder.act(had, turn, whim)) > 0


def test_models_have_the_parameters_of_their_house_bots() -> None:
    assert isinstance(CAUTIOUS, Safest)
    assert isinstance(ODDS, Safest)
    assert isinstance(PRESS, Presser)
    assert (CAUTIOUS.trust, CAUTIOUS.bluff) == (0, 0)
    assert (ODDS.trust, ODDS.bluff, ODDS.NERVE) == (OddsPlayer.TRUST, OddsPlayer.BLUFF, OddsPlayer.NERVE)
    assert (PRESS.opening, PRESS.raising) == (PressPlayer.OPENING, PressPlayer.RAISE)


@pytest.mark.parametrize("name", WITHOUT_MOTES)
def test_calls_in_an_imagined_round_have_the_outcomes_of_the_engine(name: str) -> None:
    """The dice after each call of a random match are compared, and the countings."""
    before: State | None = None
    for state, _, _ in random_play(PRESETS[name], 3, Random(3)):
        if before is not None and before.challenge is not None and before.awaits is Expect.HANDS:
            round_ = ImaginedRound(before.ruleset, before.dice, before.live, before.palifico, before.round)
            assert round_.counting(before.bids[0].face) is before.counting
            caller, call, sides = before.challenge
            assert state.count is not None
            action = LIAR if call == "liar" else EXACT
            right = round_.is_right(action, before.bids[-1].quantity, state.count)
            sided = [seat for seat, side in sides if (side == "accuser") == right]
            assert tuple(round_.dice_after(action, caller, before.bids[-1].seat, right, sided)) == state.dice
        before = state


class OnOnes:
    """Bids on ones whenever that is allowed."""

    def __init__(self) -> None:
        self.replies: list[Action] = []

    def act(self, held: Held, turn: Turn, whim: float) -> Action:
        self.replies.append(next((low * 8 + face for face, low, _ in turn.options if face == 1), LIAR))
        return self.replies[-1]

    def likelihood(self, held: Held, turn: Turn, action: Action) -> float:
        return 1.0


def test_a_cached_reply_is_not_reused_after_an_opening_on_another_face() -> None:
    state, _ = apply(new_match(PRESETS["spot-on"], 2), Rolled())  # ones may be bid only if the round was opened on them
    hand = (2, 2, 3, 4, 5)
    round_ = ImaginedRound(state.ruleset, state.dice, state.live, state.palifico, state.round)
    had = held(hand, round_.total, ONES_WILD)

    def replies(*openings: int) -> list[Action]:
        """Return the other player's replies to one bid after each of these openings, in one world."""
        thought = Thought(view(state, 0, hand), round_, {}, Random(1))
        bidder = OnOnes()
        world = World({0: had, 1: had}, {1: bidder}, {1: 0.5})
        for face in openings:
            thought.bid(3 * 8 + 3, [world], face, -1, Playout(0, 0, frozenset(), 0))
        return bidder.replies

    assert replies(1) != replies(2)
    assert replies(1, 2) == replies(1) + replies(2)
    assert replies(3, 2) == replies(3)
