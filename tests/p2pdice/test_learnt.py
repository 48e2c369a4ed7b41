"""The nets trained by self-play make legal moves in the rounds that they cover, and cover no other rounds."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import UnexpectedInput
from p2pdice.moves import Bid, Evict, Hand, Hands, Move, Play, Rolled
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved import learnt, net
from p2pdice.solved.learnt import FEATURES, OUTPUTS, LearntNet
from p2pdice.solved.net import Layer
from p2pdice.solved.policy import likelihoods
from p2pdice.state import Expect
from tests.p2pdice.test_solved import at, dealt, layers


def play(rules: Ruleset, players: int, rng: Random) -> None:
    """Check the policy's moves in a part of a match in which players follow the policy or make any listed move."""
    state = new_match(rules, players, rng.randrange(players))
    hands: tuple[Hand, ...] = ()
    for _ in range(40):
        if state.awaits is Expect.ROLLED:
            state, _ = apply(state, Rolled())
            hands = dealt(state, rng)
        elif state.awaits is Expect.HANDS:
            state, _ = apply(state, Hands(hands))
        elif state.awaits is Expect.MOVE:
            moves = likelihoods(state, hands[state.turn])
            assert moves
            assert moves.keys() <= set(legal_moves(state))
            assert all(weight > 0 for weight in moves.values())
            listed: list[Move] = list(moves) if rng.random() < 0.7 else list(legal_moves(state))
            state, _ = apply(state, Play(state.turn, rng.choice(listed)))
        else:
            break


@pytest.mark.parametrize("name", learnt.RULE_NUMBERS)
@pytest.mark.parametrize("players", [2, 3, 6])
def test_some_legal_moves_are_likely_after_any_bids(name: str, players: int) -> None:
    for seed in range(3):
        play(PRESETS[name], players, Random(seed))


def test_a_round_that_a_player_has_left_has_no_policy() -> None:
    """The departed player's dice stay in play, but the order of turns has changed."""
    state, _ = apply(new_match(PRESETS["perudo"], 4), Rolled())
    state = at(state, (Bid(2, 3),))
    hands = dealt(state, Random(1))
    assert likelihoods(state, hands[1])
    state, _ = apply(state, Evict(2))
    assert likelihoods(state, hands[1]) is None


def test_every_feature_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [0.0] * FEATURES

    def spy(_layers: Sequence[Layer], row: Sequence[float]) -> Sequence[float]:
        seen[:] = [max(before, abs(value)) for before, value in zip(seen, row, strict=True)]
        return [0.0] * OUTPUTS

    monkeypatch.setattr(learnt, "scores", spy)
    for seed in range(30):
        for name in learnt.RULE_NUMBERS:
            play(PRESETS[name], 2 + seed % 5, Random(seed))
    play(PRESETS["wildcard"].with_options({"dice": "7"}), 3, Random(1))
    assert [index for index, most in enumerate(seen) if not most] == []
    assert max(seen) < 10


def test_a_net_with_other_inputs_is_refused() -> None:
    with pytest.raises(UnexpectedInput, match=f"{FEATURES} inputs and {OUTPUTS} outputs"):
        LearntNet(net.pack(layers()))
