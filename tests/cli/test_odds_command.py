"""``p2pdice odds``: the odds agree with a count of all rolls, and the raises with the rules."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands.rules import answered_bid, chances_of
from p2pdice.moves import Bid
from p2pdice.rulesets import PRESETS
from tests.cli.conftest import Run


def test_odds_of_a_bid_come_with_the_odds_of_every_raise(here: Run) -> None:
    data: dict[str, Any] = json.loads(here("odds", "2x3", "--dice", "4", "--hand", "3,6", "--json").stdout)
    assert list(data) == ["bid", "rules", "dice", "hand", "ones_wild", "true", "exact", "raises"]
    assert (data["bid"], data["rules"], data["dice"], data["hand"]) == ("2x3", "classic", 4, [3, 6])
    assert data["true"] == {"fraction": "5/9", "percent": 55.556}
    assert data["exact"] == {"fraction": "4/9", "percent": 44.444}
    assert [each["bid"] for each in data["raises"]] == ["2x4", "2x5", "2x6", "3x3", "4x3"]
    assert data["raises"][2:4] == [
        {"bid": "2x6", "fraction": "5/9", "percent": 55.556},
        {"bid": "3x3", "fraction": "1/9", "percent": 11.111},
    ]


@pytest.mark.parametrize("wild", ["ones", "never"])
@pytest.mark.parametrize("bid", ["1x1", "2x5", "3x6"])
def test_the_odds_equal_a_count_of_all_rolls(here: Run, wild: str, bid: str) -> None:
    data = json.loads(here("odds", bid, "--dice", "5", "--hand", "15", "--set", f"wild={wild}", "--json").stdout)
    quantity, face = int(bid[0]), int(bid[2])
    counts = [
        sum(die == face or (die == 1 and wild == "ones") for die in (1, 5, *roll))
        for roll in product(range(1, 7), repeat=3)
    ]
    assert Fraction(data["true"]["fraction"]) == Fraction(sum(count >= quantity for count in counts), 216)
    assert Fraction(data["exact"]["fraction"]) == Fraction(sum(count == quantity for count in counts), 216)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_ruleset_has_its_own_raises(here: Run, preset: str) -> None:
    data = json.loads(here("odds", "3x4", "--rules", preset, "--json").stdout)
    bids = {each["bid"] for each in data["raises"]}
    assert "4x4" in bids
    assert ("2x1" in bids) == (preset in ("wildcard", "perudo", "joker"))
    assert ("1x5" in bids) == (preset == "plain")
    assert ("4x2" in bids) == (preset not in ("classic", "motes"))


def test_if_the_opening_decides_whether_ones_are_wild_the_given_bid_counts_as_the_opening(here: Run) -> None:
    wild = [json.loads(here("odds", bid, "--rules", "spot-on", "--json").stdout)["ones_wild"] for bid in ("1x1", "1x2")]
    assert wild == [False, True]


def test_the_table_fits_the_terminal_and_omits_unlikely_raises(here: Run) -> None:
    text = here("odds", "3x5", "--dice", "60", "--hand", "1 3 3").stdout
    lines = text.splitlines()
    assert lines[0] == "Three fives: you hold 1 3 3, 57 dice hidden, ones are wild."
    assert lines[2].split() == ["true", "over", "99%"]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Raises to more dice are under 1% each."
    assert len(lines) < 50


def test_a_bid_without_a_legal_raise_is_reported(here: Run) -> None:
    assert here("odds", "10x6", "--dice", "10").stdout.endswith("No raise is possible with the dice in play.\n")


@given(
    st.integers(1, 999),
    st.integers(1, 6),
    st.lists(st.integers(1, 6), max_size=12),
    st.integers(0, 60),
    st.sampled_from(sorted(PRESETS)),
)
def test_odds_are_probabilities_for_every_bid(
    quantity: int, face: int, hand: list[int], hidden: int, preset: str
) -> None:

    if not hand and not hidden:
        return
    state = answered_bid(PRESETS[preset], Bid(quantity, face), len(hand), len(hand) + hidden)
    true, exact, raises = chances_of(state, tuple(sorted(hand)))
    assert 0 <= exact <= true <= 1
    assert all(0 <= chance <= 1 for _, chance in raises)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("liar",), "'liar' is not a bid"),
        (("3x7",), "'3x7' is not a bid"),
        (("\x1b[2J",), "is not a bid"),
        (("3x5", "--hand", "7"), "'7' is not a hand"),
        (("3x5", "--hand", "1,,2"), "is not a hand"),
        (("3x5", "--hand", "1,2,3", "--dice", "2"), "you hold 3 dice, and 2 are in play"),
        (("3x5", "--dice", "0"), "--dice"),
        (("3x5", "--rules", "nothing"), "there is no ruleset"),
    ],
)
def test_mistakes_in_odds_commands_are_explained(here: Run, arguments: tuple[str, ...], complaint: str) -> None:
    done = here("odds", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "\x1b" not in done.stderr
