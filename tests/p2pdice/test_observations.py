"""Observations show what a player may know, and are the same for the engine and for matches side by side."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.errors import RulesetError, UnexpectedInput
from p2pdice.events import Event
from p2pdice.moves import LIAR, SIDES, Bid, Input, Move
from p2pdice.observations import ObservedMatches, Observer
from p2pdice.players import LEVELS, Player
from p2pdice.players.contest import contest
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect
from p2pdice.vector import SUPPORTED, decode, encode
from p2pdice.views import View
from tests.p2pdice.test_vector import OPTIONS, Engine, play_both, with_options
from tests.tiers import thoroughly

LEARNABLE = [name for name, ruleset in PRESETS.items() if not ruleset.motes]


class Watched(Engine):
    """A match of the engine with its observer."""

    def __init__(self, ruleset: Ruleset, players: int, first: int = 0) -> None:
        super().__init__(ruleset, players, first)
        self.observer = Observer(ruleset, players)

    def take(self, item: Input) -> tuple[Event, ...]:
        events = super().take(item)
        for event in events:
            self.observer.happened(event)
        return events

    @property
    def view(self) -> View:
        return View(self.state, self.state.turn, self.hands[self.state.turn])

    def seen(self) -> dict[str, Any]:
        return self.observer.observe(self.view)


def random_match(ruleset: Ruleset, players: int, seed: int, first: int = 0, shift: int = 0) -> list[dict[str, Any]]:
    """Return all observations of a random match; ``shift`` moves every player by this many seats."""
    rng = Random(seed)
    match, seen = Watched(ruleset, players, (first + shift) % players), []
    while match.state.awaits is not Expect.OVER:
        if match.state.awaits is Expect.ROLLED:
            faces = [rng.choices(range(1, 7), k=99) for _ in range(players)]
            match.deal([faces[seat - shift] for seat in range(players)])
        else:
            seen.append(match.seen())
            allowed = seen[-1]["action_mask"].nonzero()[0].tolist()
            match.play(match.observer.act(rng.choice(allowed)))
    return seen


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return all(np.array_equal(ours[part], theirs[part]) for part in ("observation", "action_mask"))


def compare(ruleset: Ruleset, players: int, count: int, seed: int) -> int:
    """Play random matches on both, and compare all observations; return their number."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, players, count).astype(np.int16)
    watched = [Watched(ruleset, players, int(seat)) for seat in first]
    compared = 0
    for matches, engines in play_both(ObservedMatches(ruleset, players, count, first), watched, rng):
        seen = matches.observe()
        for row, match in enumerate(np.flatnonzero(matches.awaits_move)):
            assert same({part: values[row] for part, values in seen.items()}, engines[match].seen())
            compared += 1
    return compared


@pytest.mark.parametrize("name", SUPPORTED)
@pytest.mark.parametrize("players", [2, *thoroughly([5])])
def test_engine_and_arrays_give_equal_observations(name: str, players: int) -> None:
    assert compare(PRESETS[name], players, 6, seed=players) > 100


@given(OPTIONS, st.integers(2, 4), st.integers(0, 2**32))
def test_engine_and_arrays_give_equal_observations_under_any_rules(
    options: dict[str, str], players: int, seed: int
) -> None:
    if (ruleset := with_options(options)) is not None:
        compare(ruleset, players, 2, seed)


@pytest.mark.parametrize("name", LEARNABLE)
@given(seed=st.integers(0, 2**32), shift=st.integers(1, 2))
def test_observations_do_not_depend_on_the_number_of_a_seat(name: str, seed: int, shift: int) -> None:
    ruleset = PRESETS[name].with_options({"dice": "2"})
    for ours, theirs in zip(random_match(ruleset, 3, seed), random_match(ruleset, 3, seed, shift=shift), strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize("name", LEARNABLE)
@given(seed=st.integers(0, 2**32))
def test_masks_are_not_empty_and_all_numbers_are_from_0_to_1(name: str, seed: int) -> None:
    for seen in random_match(PRESETS[name].with_options({"dice": "1"}), 3, seed):
        assert seen["action_mask"].any()
        assert 0 <= seen["observation"].min() <= seen["observation"].max() <= 1


def test_observations_contain_all_bids_of_the_round() -> None:
    match = Watched(PRESETS["plain"], 3, first=1)
    match.deal(((1, 2, 3, 4, 5),) * 3)
    made = [(1, Bid(2, 3)), (2, Bid(1, 5)), (0, Bid(3, 3)), (1, Bid(3, 6))]
    match.play(*(bid for _, bid in made))
    at, seen = match.observer.layout, match.seen()["observation"]
    by_seat = seen[at.bids :].reshape(3, -1)
    read = {((2 + int(step)) % 3, decode(int(number) + 6)) for step, number in zip(*by_seat.nonzero(), strict=True)}
    assert read == set(made)


def test_observations_contain_the_last_showdown_and_habits() -> None:
    match = Watched(PRESETS["classic"], 2)
    match.deal(((2, 2, 3, 4, 4), (1, 1, 4, 6, 6)))
    at, nothing = match.observer.layout, match.seen()["observation"]
    assert not nothing[at.verdict : at.dice].any()
    assert not nothing[at.habits : at.bids].any()
    match.play(Bid(2, 4), Bid(8, 4), LIAR)  # five dice count as fours, so seat 1 loses a die
    match.deal(((1, 1, 1, 1, 1), (1, 1, 1, 1)))
    seen = match.seen()["observation"]
    assert match.state.turn == 1
    assert seen[at.verdict : at.dice].tolist() == pytest.approx([1 / 20, 0.8, 0, 0, 0, 1, 0, 0, 1])
    own, other = seen[at.habits : at.parties].reshape(2, 4).tolist()
    assert own == pytest.approx([1, 0, 3 / 8, 0])
    assert other == pytest.approx([1, 1, 1, 1])
    assert seen[at.parties : at.shown].tolist() == [1, 0, 0, 1]
    assert (seen[at.shown : at.bids] * 5).round().tolist() == [2, 0, 0, 1, 0, 2, 0, 2, 1, 2, 0, 0]


def test_observations_contain_sides() -> None:
    match = Watched(PRESETS["joker"], 4)
    match.deal(((1, 2, 3, 4, 5),) * 4)
    match.play(Bid(2, 3), LIAR, SIDES[0])
    at, seen = match.observer.layout, match.seen()
    assert seen["observation"][at.sides : at.habits].reshape(4, 3).tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
    ]
    assert [decode(int(number)) for number in seen["action_mask"].nonzero()[0]] == list(SIDES)


def test_a_late_observer_knows_the_round_but_no_earlier_showdown() -> None:
    match = Watched(PRESETS["classic"], 2)
    match.deal(((2, 2, 3, 4, 4), (1, 1, 4, 6, 6)))
    match.play(Bid(9, 4), LIAR)
    match.deal(((1, 1, 1, 1), (1, 1, 1, 1, 1)))
    match.play(Bid(2, 4))
    at, late = match.observer.layout, Observer(PRESETS["classic"], 2).observe(match.view)
    expected = match.seen()["observation"]
    expected[at.verdict : at.dice] = expected[at.habits : at.bids] = 0
    assert np.array_equal(late["observation"], expected)


def test_a_bid_above_the_encoded_quantities_is_observed_as_the_highest() -> None:
    match = Watched(PRESETS["classic"], 2)
    match.deal(((1,) * 5,) * 2)
    match.play(Bid(999, 6))
    seen = match.seen()
    assert seen["observation"][-1] == 1  # the last number of the other seat
    assert seen["action_mask"].nonzero()[0].tolist() == [encode(LIAR)]


class Chance(Player):
    """An untrained agent: it draws any action that the mask allows."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self.observer = Observer(ruleset, players)

    def happened(self, event: Event) -> None:
        self.observer.happened(event)

    def choose(self, view: View) -> Move:
        allowed = self.observer.observe(view)["action_mask"].nonzero()[0]
        return self.observer.act(self.rng.choice(allowed.tolist()))


@pytest.mark.parametrize("name", LEARNABLE)
def test_an_agent_can_play_as_a_bot(name: str) -> None:
    for seed in range(3):
        over = contest(
            PRESETS[name], [Chance(Random(seed)), *(LEVELS["odds"](Random(n)) for n in (1, 2))], Random(seed)
        )
        assert over.winners


def test_unsupported_rules_players_and_actions_are_refused() -> None:
    with pytest.raises(RulesetError, match="motes"):
        Observer(PRESETS["motes"], 3)
    with pytest.raises(UnexpectedInput, match="11 players"):
        Observer(PRESETS["classic"], 11)
    with pytest.raises(UnexpectedInput, match="number 4"):
        Observer(PRESETS["classic"], 2).act(4)
