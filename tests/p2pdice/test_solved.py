"""The policy for solved rounds gives away no more than stated, and a damaged net is refused."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from random import Random
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import UnexpectedInput
from p2pdice.moves import FACES, LIAR, Bid, Hand, Hands, Move, Play, Rolled
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved import __main__, net, policy
from p2pdice.solved.exploitability import BestResponse, Likelihoods, bounds, match_bounds
from p2pdice.solved.net import FEATURES, OUTPUTS, Layer, Net
from p2pdice.solved.policy import Table, likelihoods
from p2pdice.solved.rounds import beginning, highest_bid, number_of, sequences
from p2pdice.state import State

TABLES = list(product((1, 2, 3), repeat=2))
SMALL = {(1, 1): 17 / 36, (1, 2): 13 / 27, (2, 1): 17 / 27}
"""The opener's share of wins under optimal play, solved exactly as linear programs in sequence form."""


def at(state: State, bids: tuple[Bid, ...]) -> State:
    for bid in bids:
        state, _ = apply(state, Play(state.turn, bid))
    return state


def share_of_rounds(table: Table, opener: int, responder: int) -> tuple[float, float]:
    """Return the bounds of the opener's share of wins."""

    def play(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> Sequence[Likelihoods]:
        return [table.weights(bids, hand) for hand in hands]

    return bounds(beginning(opener, responder), play)


# Rounds


@pytest.mark.parametrize(("opener", "responder"), TABLES)
def test_a_round_begins_in_a_state_of_classic(opener: int, responder: int) -> None:
    state = beginning(opener, responder)
    assert state.dice == (opener, responder)
    assert (state.turn, state.leader, state.bids) == (0, 0, ())
    assert state.ruleset.with_options({"dice": "5"}) == PRESETS["classic"]


def test_the_largest_round_with_a_table_has_35454_sequences_of_bids() -> None:
    assert sum(1 for _ in sequences(beginning(3, 3))) == 35_454


# Exploitability


def test_best_responses_agree_with_a_calculation_by_hand() -> None:
    """Both have one die. If the responder always calls, the opener wins by bidding the die in their own cup. If the
    opener always bids two ones, a call wins unless both dice are ones.
    """
    state = beginning(1, 1)

    def simple(bids: tuple[Bid, ...], hands: Sequence[Hand]) -> Sequence[Likelihoods]:
        return [{LIAR: 1} if bids else {Bid(2, 1): 1} for _ in hands]

    assert BestResponse(state, 0, simple).chance() == pytest.approx(1.0)
    assert BestResponse(state, 1, simple).chance() == pytest.approx(35 / 36)


def test_the_bounds_of_a_match_follow_from_those_of_its_rounds() -> None:
    numbers = (1, 2)
    fair = dict.fromkeys(product(numbers, numbers), (0.5, 0.5))
    assert match_bounds(fair, 2) == (0.5, 0.5)
    # An opponent who wins three of four rounds, whoever opens, wins two rounds before losing two with 27/32.
    assert match_bounds(dict.fromkeys(fair, (0.25, 0.75)), 2) == pytest.approx((27 / 32, 27 / 32))
    # Only rounds that the policy opens are lost: the opponent opens, wins half the time, and then all the others.
    first, other = match_bounds(dict.fromkeys(fair, (0.0, 0.5)), 1)
    assert (first, other) == (0.5, 1.0)


@pytest.mark.parametrize(
    "table", [*SMALL, *(pytest.param(table, marks=pytest.mark.thorough) for table in TABLES if table not in SMALL)]
)
def test_no_opponent_wins_much_against_the_tables_of_the_package(table: tuple[int, int]) -> None:
    low, high = share_of_rounds(policy.table(*table), *table)
    assert 0 <= high - low < 0.005
    assert low - 1e-9 <= SMALL.get(table, low) <= high + 1e-9


def test_a_check_fails_if_a_policy_gives_too_much_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    __main__.main(["check", "--rounds", "1-1"])
    monkeypatch.setattr(__main__, "WORST_TABLE", 0.0001)
    with pytest.raises(SystemExit) as caught:
        __main__.main(["check", "--rounds", "1-1"])
    assert caught.value.code
    assert capsys.readouterr().out.count("| 1 | 1 |") == 2


# The policy at play


def dealt(state: State, rng: Random) -> tuple[Hand, ...]:
    return tuple(tuple(sorted(rng.choices(range(1, 7), k=dice))) for dice in state.dice)


@given(st.tuples(st.integers(1, 5), st.integers(1, 5)), st.integers(0, 10**9))
def test_the_policy_makes_legal_moves_after_any_bids(dice: tuple[int, int], seed: int) -> None:
    state, rng = beginning(*dice), Random(seed)
    cups = dealt(state, rng)
    while not state.challenge:
        moves = likelihoods(state, cups[state.turn])
        assert moves
        assert moves.keys() <= set(legal_moves(state))
        assert all(weight > 0 for weight in moves.values())
        move: Move = rng.choice(list(moves) if rng.random() < 0.5 else legal_moves(state))
        state, _ = apply(state, Play(state.turn, move))


@pytest.mark.parametrize("dice", [(1, 1), (4, 2), (5, 5)])
def test_the_policy_calls_a_bid_that_is_higher_than_any_of_its_own(dice: tuple[int, int]) -> None:
    state = at(beginning(*dice), (Bid(highest_bid(sum(dice)) + 1, 3),))
    moves = likelihoods(state, (3,) * dice[1])
    assert moves is not None
    assert set(moves) == {LIAR}


def test_the_policy_covers_the_last_two_players_of_a_larger_match() -> None:
    state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": "1"}), 3, 1), Rolled())
    state, _ = apply(at(state, (Bid(1, 6),)), Play(2, LIAR))
    state, _ = apply(state, Hands(((2,), (2,), (2,))))
    assert state.live == (0, 2)
    state, _ = apply(state, Rolled())
    assert likelihoods(state, (2,))


@pytest.mark.parametrize(
    ("ruleset", "players"),
    [
        (PRESETS["classic"].with_options({"raise": "standard"}), 2),
        (PRESETS["plain"], 2),
        (PRESETS["plain"], 3),
        (PRESETS["joker"], 2),
        (PRESETS["classic"], 7),
        (PRESETS["classic"].with_options({"dice": "6"}), 2),
        (PRESETS["perudo"], 7),
        (PRESETS["perudo"].with_options({"palifico": "no"}), 3),
        (PRESETS["wildcard"].with_options({"dice-cap": "5"}), 2),
    ],
)
def test_other_rounds_have_no_policy(ruleset: Ruleset, players: int) -> None:
    state, _ = apply(new_match(ruleset, players), Rolled())
    assert likelihoods(state, dealt(state, Random(1))[0]) is None


# The net


def layers() -> list[Layer]:
    """Return a small net with random weights."""
    rng = Random(1)
    sizes = (FEATURES, 8, OUTPUTS)
    return [
        Layer([[rng.gauss(0, 1) for _ in range(new)] for _ in range(old)], [rng.gauss(0, 1) for _ in range(new)])
        for old, new in pairwise(sizes)
    ]


def bids_of(rng: Random, highest: int) -> list[Bid]:
    """Return random bids of a round."""
    bids: list[Bid] = []
    while rng.random() < 0.7:
        standing = number_of(bids[-1]) if bids else 0
        raises = [move for _, move in net.outputs(standing, highest) if isinstance(move, Bid)]
        if not raises:
            break
        bids.append(rng.choice(raises))
    return bids


def test_every_feature_is_used() -> None:
    seen = [0.0] * FEATURES
    for seed in range(3000):
        rng = Random(seed)
        own, unseen = rng.randint(1, 5), rng.randint(1, 5)
        highest = highest_bid(own + unseen)
        hand = rng.choices(FACES, k=own)
        row = [0.0] * FEATURES
        bids = list(map(number_of, bids_of(rng, highest)))
        net.features(row, [hand.count(face) for face in FACES], unseen, bids, highest, net.TAILS, net.RAISES)
        seen = [max(before, abs(value)) for before, value in zip(seen, row, strict=True)]
    assert [index for index, most in enumerate(seen) if not most] == []
    assert max(seen) < 3


def test_packing_rounds_weights_to_255_steps() -> None:
    made = layers()
    packed = net.pack(made)
    for layer, read in zip(made, Net(packed).layers, strict=True):
        assert read.biases == pytest.approx(layer.biases)
        for weights, again in zip(zip(*layer.weights, strict=True), zip(*read.weights, strict=True), strict=True):
            assert again == pytest.approx(weights, abs=max(map(abs, weights)) / 254 * 1.001)
    assert net.pack(Net(packed).layers) == packed


def test_the_nets_of_the_package_are_smaller_than_300_kb() -> None:
    package = Path(net.__file__).parent
    assert sum(path.stat().st_size for path in package.glob("*.net")) <= 300_000


def spoiled() -> dict[str, bytes]:
    packed = net.pack(layers())
    data = bytearray(zlib.decompress(packed))
    endless, shapes = bytearray(data), bytearray(data)
    endless[10:14] = pack("<f", math.nan)  # the scale of the first output
    shapes[2] += 1
    return {
        "no bytes": b"",
        "not zlib": b"classic",
        "cut off": packed[:-100],
        "a byte too many": zlib.compress(bytes(data) + b"x"),
        "a byte too few": zlib.compress(bytes(data[:-1])),
        "no layers": zlib.compress(bytes(2)),
        "empty": zlib.compress(b""),
        "a scale that is not a number": zlib.compress(bytes(endless)),
        "other inputs": zlib.compress(bytes(shapes)),
        "a gigabyte of zeros": zlib.compress(bytes(1 << 24)) + bytes(10),
        "layers without end": zlib.compress(b"\1" * (1 << 20)),
    }


@pytest.mark.parametrize("fault", spoiled())
def test_a_file_that_is_not_a_net_is_refused_with_the_reason(fault: str) -> None:
    with pytest.raises(UnexpectedInput, match="net"):
        Net(spoiled()[fault])


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(content: bytes) -> None:
    for packed in (content, zlib.compress(content)):
        with pytest.raises(UnexpectedInput):
            Net(packed)
