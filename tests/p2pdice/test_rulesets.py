"""Rulesets as data: presets, the wire form, and combinations that are refused."""

import pytest
from hypothesis import given

from p2pdice.errors import RulesetError
from p2pdice.rulesets import OPTIONS, PRESETS, Ruleset

from .rulesets import rulesets
from .scripted import rules


@given(rulesets())
def test_the_wire_form_round_trips_in_any_order(ruleset: Ruleset) -> None:
    options = ruleset.options()
    assert Ruleset.from_options(options) == Ruleset.from_options(reversed(options)) == ruleset
    assert [name for name, _ in options] == sorted(OPTIONS)
    assert all(type(value) in (int, str) for _, value in options)


@given(rulesets())
def test_options_as_texts_reach_every_ruleset(ruleset: Ruleset) -> None:
    assert rules().with_options({name: str(value) for name, value in ruleset.options()}) == ruleset


def test_presets_know_their_names_and_house_rules_have_none() -> None:
    assert list(PRESETS) == ["classic", "motes", "spot-on", "plain", "wildcard", "joker", "perudo"]
    assert all(preset.name == name for name, preset in PRESETS.items())
    assert rules(dice="3").name is None


def test_the_presets_have_these_options() -> None:
    common = {"dice": 5, "dice-cap": "none", "palifico": "no", "motes": "no", "stakes": "no"}
    columns = ("raise", "wild", "ones-bid", "exact", "verdict", "siding", "goal", "next-leader")
    table = {
        "classic": "strict ones free none loser-loses-die no last-standing loser",
        "motes": "strict ones free none loser-loses-die no last-standing loser",
        "spot-on": "standard unless-opened opening-only others-lose loser-loses-die no last-standing caller",
        "plain": "either never free none loser-loses-die no last-standing loser",
        "wildcard": "half-ones ones free gain loser-loses-die no last-standing affected",
        "joker": "double-ones ones free none right-side-discards yes first-out loser",
        "perudo": "half-ones ones not-opening gain loser-loses-die no last-standing affected",
    }
    special: dict[str, dict[str, str | int]] = {
        "perudo": {"dice-cap": 5, "palifico": "yes"},
        "motes": {"motes": "yes", "stakes": "yes"},
    }
    assert list(table) == list(PRESETS)
    for name, row in table.items():
        changed = special.get(name, {})
        assert dict(PRESETS[name].options()) == {**common, **dict(zip(columns, row.split(), strict=True)), **changed}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verdict": "right-side-discards", "exact": "gain"}, "needs exact=none"),
        ({"siding": "yes"}, "needs verdict=right-side-discards"),
        ({"dice-cap": "5"}, "needs exact=gain"),
        ({"dice-cap": "5", "exact": "others-lose"}, "needs exact=gain"),
        ({"dice-cap": "4", "exact": "gain"}, "must not be below dice"),
        ({"motes": "yes", "dice": "4"}, "motes=yes needs dice=5"),
        ({"motes": "yes", "exact": "gain"}, "motes=yes needs dice=5, exact=none"),
        ({"motes": "yes", "verdict": "right-side-discards"}, "motes=yes needs"),
        ({"motes": "yes", "verdict": "right-side-discards", "siding": "yes"}, "motes=yes needs"),
        ({"motes": "yes", "goal": "first-out"}, "motes=yes needs"),
        ({"motes": "yes", "palifico": "yes"}, "motes=yes needs"),
        ({"dice": "11"}, "from 1 to 10"),
        ({"dice": "0"}, "from 1 to 10"),
        ({"dice": "none"}, "from 1 to 10"),
        ({"dice": "٣"}, "from 1 to 10"),
        ({"dice-cap": "100", "exact": "gain"}, "none or a number from 1 to 99"),
        ({"raise": "higher"}, "raise is standard, strict"),
        ({"wild": "\x1b[31m"}, r"wild='\\x1b\[31m' is not possible"),
        ({"jokers": "yes"}, "no option jokers"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(RulesetError, match=message):
        rules().with_options(options)


def test_from_options_requires_every_option_once() -> None:
    options = rules().options()
    with pytest.raises(RulesetError, match="no value for dice"):
        Ruleset.from_options(options[1:])
    with pytest.raises(RulesetError, match="twice"):
        Ruleset.from_options((*options, options[0]))


@pytest.mark.parametrize("value", ["5", True, 5.0, None, b"5", (5,)])
def test_from_options_refuses_values_of_other_types(value: object) -> None:
    options = [(name, value if name == "dice" else given) for name, given in rules().options()]
    with pytest.raises(RulesetError, match="dice="):
        Ruleset.from_options(options)  # type: ignore[arg-type]


def test_an_invalid_combination_cannot_be_constructed() -> None:
    with pytest.raises(RulesetError, match="needs verdict"):
        Ruleset(siding=True)
