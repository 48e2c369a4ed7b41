"""A ruleset explains itself from its options, so that house rules do so too."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.explain import WIDTH, explain, summary
from p2pdice import MOTES, OPTIONS, PRESETS, TWIN_SOULS, Ruleset, RulesetError, parse_move
from p2pdice.motes import GROUP_OF
from tests.cli.conftest import Run

SPELLINGS = {
    name: option.choices or tuple(str(number) for number in range(option.low, option.high + 1))
    for name, option in OPTIONS.items()
}


@st.composite
def changed(draw: st.DrawFn) -> tuple[Ruleset, Ruleset]:
    """Return a ruleset and another one that differs in a single option."""
    base = PRESETS[draw(st.sampled_from(sorted(PRESETS)))]
    name = draw(st.sampled_from(sorted(SPELLINGS)))
    value = draw(st.sampled_from(SPELLINGS[name]))
    try:
        other = base.with_options({name: value})
    except RulesetError:
        return base, base
    return base, other


@given(changed())
def test_every_option_changes_what_is_explained(pair: tuple[Ruleset, Ruleset]) -> None:
    pages = [explain(ruleset, "Rules").partition("Options:")[0] for ruleset in pair]
    assert (pages[0] == pages[1]) == (pair[0] == pair[1])


@given(changed())
def test_no_page_is_wider_than_a_terminal(pair: tuple[Ruleset, Ruleset]) -> None:
    assert max(map(len, explain(pair[1], "Rules").splitlines())) <= WIDTH
    assert "\n" not in summary(pair[1])


def test_the_list_names_every_preset(p2pdice: Run) -> None:
    done = p2pdice("rules")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if line[:1].strip()][:-1] == list(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_page_ends_with_the_options_that_it_was_made_of(p2pdice: Run, name: str) -> None:
    page = p2pdice("rules", name).stdout
    options = " ".join(page.rpartition("Options: ")[2].split())
    assert options == " ".join(f"{key}={value}" for key, value in PRESETS[name].options())


def test_house_rules_are_called_what_they_are(p2pdice: Run) -> None:
    page = p2pdice("rules", "perudo", "--set", "dice-cap=none", "--set", "dice=3").stdout
    assert page.startswith("Perudo with dice-cap=none, dice=3\n")
    assert "three dice each" in page


def test_rules_as_data(p2pdice: Run) -> None:
    load: Callable[[str], dict[str, object]] = json.loads
    every = load(p2pdice("rules", "--json").stdout)
    one = load(p2pdice("rules", "joker", "--json").stdout)
    house = load(p2pdice("rules", "--set", "raise=either", "--json").stdout)
    assert [each["name"] for each in every["rulesets"]] == list(PRESETS)  # type: ignore[attr-defined]
    assert one["options"] == dict(PRESETS["joker"].options())
    assert (house["name"], house["options"]) == (
        None,
        dict(PRESETS["classic"].with_options({"raise": "either"}).options()),
    )


def test_motes_are_explained_so_that_they_can_be_played(p2pdice: Run) -> None:
    page = " ".join(p2pdice("rules", "motes").stdout.split())
    for mote in MOTES:
        assert f"{mote.capitalize()} ({'sunset, sunrise' if GROUP_OF[mote] == 'redeemed' else 'night'})." in page
    assert all(name in page for name in TWIN_SOULS.values())
    assert "out of 1,000 coins" in page
    typed = re.findall(r"(?:Type|type) (\w+ \w+@\d(?: (?:take|swap|destroy) \w+@\d| on \d)?)", page)
    assert {str(parse_move(text)) for text in typed} == set(typed)
    assert len(typed) == 8
    assert "lost dice have powers; coins at stake" in p2pdice("rules").stdout.replace("\n    ", " ")
