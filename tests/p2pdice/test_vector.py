"""Matches side by side agree with the engine: the same dice and moves lead to the same states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import IllegalMove, RulesError, RulesetError, UnexpectedInput
from p2pdice.events import Event
from p2pdice.moves import LIAR, PASS, Bid, Hand, Hands, Input, Move, Play, Rolled
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect, State
from p2pdice.vector import SUPPORTED, Matches, decode, encode
from tests.p2pdice.scripted import rules
from tests.tiers import thoroughly

M = TypeVar("M", bound=Matches)
E = TypeVar("E", bound="Engine")


class Engine:
    """One match played by the engine."""

    def __init__(self, ruleset: Ruleset, players: int, first: int = 0) -> None:
        self.state = new_match(ruleset, players, first)
        self.hands: tuple[Hand, ...] = ()

    def take(self, item: Input) -> tuple[Event, ...]:
        self.state, events = apply(self.state, item)
        return events

    def deal(self, hands: Sequence[Sequence[int]]) -> None:
        """Start a round; a cup with fewer dice than faces takes the first of them."""
        cups = zip(hands, self.state.dice, strict=True)
        self.hands = tuple(tuple(sorted(map(int, faces[:number]))) for faces, number in cups)
        self.take(Rolled())

    def play(self, *moves: Move) -> None:
        for move in moves:
            self.take(Play(self.state.turn, move))
        if self.state.awaits is Expect.HANDS:
            self.take(Hands(self.hands))


def listed(matches: Matches, match: int) -> set[int]:
    """Return the numbers of the listed moves of a match, from the bounds of its bids."""
    lowest, highest = matches.bids()
    dice = int(matches.dice[match].sum())
    bids = {
        6 * quantity + face
        for face in range(6)
        for quantity in range(lowest[match, face], min(highest[match, face], dice) + 1)
    }
    calls = ({0} if matches.quantity[match] else set()) | ({1} if matches.may_call_exact()[match] else set())
    return bids | calls


def assert_equal(matches: Matches, match: int, state: State) -> None:
    assert tuple(matches.dice[match]) == state.dice
    assert matches.is_over[match] == (state.awaits is Expect.OVER)
    if matches.is_over[match]:
        better = 0
        for place in state.places:
            assert {int(matches.places[match, seat]) for seat in place} == {better}
            better += len(place)
        return
    assert matches.awaits_dice[match] == (state.awaits is Expect.ROLLED)
    assert (matches.round[match], matches.leader[match]) == (state.round, state.leader)
    assert bool(matches.palifico[match]) == state.palifico
    assert bool(matches.ones_wild[match]) == state.counting.ones_wild
    if state.awaits is Expect.MOVE:
        assert matches.turn[match] == state.turn


def play_both(matches: M, engines: list[E], rng: np.random.Generator) -> Iterator[tuple[M, list[E]]]:
    """Play the same random matches on both, and yield them before each move; compare them after it.

    Half of the time, matches that are over are dropped after a move, and the others change places.
    """
    while not matches.is_over.all():
        faces = matches.roll(rng)
        for cups, match in zip(faces, np.flatnonzero(matches.awaits_dice), strict=True):
            engines[match].deal(cups)
        matches.deal(faces)
        yield matches, engines
        waiting, moves = np.flatnonzero(matches.awaits_move), matches.random_moves(rng)
        for match in waiting:
            engines[match].play(decode(int(moves[match])))
        matches.play(moves)
        for match in waiting:
            assert_equal(matches, int(match), engines[match].state)
        if rng.random() < 0.5:
            kept = rng.permutation(np.flatnonzero(~matches.is_over))
            matches, engines = matches.take(kept), [engines[match] for match in kept]


def play_beside(ruleset: Ruleset, players: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, players, count).astype(np.int16)
    engines = [Engine(ruleset, players, int(seat)) for seat in first]
    for matches, played in play_both(Matches(ruleset, players, count, first), engines, rng):
        for match in np.flatnonzero(matches.awaits_move):
            assert listed(matches, int(match)) == {encode(move) for move in legal_moves(played[match].state)}


@pytest.mark.parametrize("name", SUPPORTED)
@pytest.mark.parametrize("players", [2, 4, *thoroughly([10])])
def test_random_matches_agree_with_the_engine(name: str, players: int) -> None:
    play_beside(PRESETS[name], players, 24 // players, seed=players)


OPTIONS = st.fixed_dictionaries(
    {
        "dice": st.sampled_from(["1", "2", "5"]),
        "exact": st.sampled_from(["none", "gain", "others-lose"]),
        "next-leader": st.sampled_from(["loser", "caller", "affected"]),
        "ones-bid": st.sampled_from(["free", "opening-only", "not-opening"]),
        "palifico": st.sampled_from(["no", "yes"]),
        "raise": st.sampled_from(["standard", "strict", "reset-quantity", "half-ones", "double-ones"]),
        "wild": st.sampled_from(["ones", "never", "unless-opened"]),
    }
)
"""Options of supported rules. Some of these options exclude each other."""


def with_options(options: dict[str, str]) -> Ruleset | None:
    """Return classic with these options; None if they exclude each other."""
    try:
        return PRESETS["classic"].with_options(options)
    except RulesetError:
        return None


@given(OPTIONS, st.integers(2, 5), st.integers(0, 2**32))
def test_matches_with_any_supported_rules_agree_with_the_engine(
    options: dict[str, str], players: int, seed: int
) -> None:
    if (ruleset := with_options(options)) is not None:
        play_beside(ruleset, players, 3, seed)


@pytest.mark.parametrize("name", sorted(set(PRESETS) - set(SUPPORTED)))
def test_other_rules_are_refused(name: str) -> None:
    with pytest.raises(RulesetError, match="classic"):
        Matches(PRESETS[name], 4, 1)


def test_the_supported_presets() -> None:
    assert SUPPORTED == ("classic", "spot-on", "wildcard", "perudo")


@given(st.integers(-7, 200))
def test_a_move_that_the_engine_refuses_is_refused_and_changes_nothing(number: int) -> None:
    matches = Matches(PRESETS["perudo"], 2, 2)
    matches.deal(np.ones((2, 2, 5), np.int8))
    start, _ = apply(new_match(PRESETS["perudo"], 2), Rolled())
    for state in (start, apply(start, Play(0, Bid(3, 4)))[0]):
        if state.bids:
            matches.play(np.full(2, encode(Bid(3, 4)), np.int16))
        try:
            apply(state, Play(state.turn, decode(number)))
        except RulesError:
            before = {name: np.copy(value) for name, value in vars(matches).items() if isinstance(value, np.ndarray)}
            with pytest.raises(IllegalMove, match="match 1"):
                matches.play(np.array([encode(Bid(4, 4)), number], np.int16))
            assert all(np.array_equal(value, vars(matches)[name]) for name, value in before.items())
        else:
            matches.take(np.array([0])).play(np.array([number], np.int16))


def test_malformed_faces_are_refused() -> None:
    matches = Matches(rules("classic"), 2, 1)
    for faces in (np.zeros((1, 2, 5), np.int8), np.full((1, 2, 5), 7, np.int8), np.ones((1, 2, 4), np.int8)):
        with pytest.raises(UnexpectedInput):
            matches.deal(faces)
    assert matches.awaits_dice.all()


def test_take_returns_independent_copies() -> None:
    rng = np.random.default_rng(3)
    matches = Matches(PRESETS["classic"], 3, 6)
    matches.deal(matches.roll(rng))
    taken = matches.take(np.array([4, 1]))
    hands = matches.hands.copy()
    taken.play(taken.random_moves(rng))
    assert (matches.quantity == 0).all()
    assert np.array_equal(matches.hands, hands)
    assert np.array_equal(taken.hands, hands[[4, 1]])


def test_decode_reverses_encode() -> None:
    assert [decode(encode(move)) for move in (LIAR, Bid(1, 1), Bid(999, 6))] == [LIAR, Bid(1, 1), Bid(999, 6)]
    with pytest.raises(UnexpectedInput):
        encode(PASS)
