"""House rules, given by --set or by a TOML file."""

from pathlib import Path

import pytest
import typer
from hypothesis import given

from cli.rulesets import chosen_ruleset, nearest_preset
from p2pdice.rulesets import PRESETS, Ruleset
from tests.p2pdice.rulesets import rulesets


def test_a_rules_file_changes_its_base(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_text('base = "wildcard"\ndice = 3\ndice-cap = 8\nraise = "either"\npalifico = true\n', encoding="utf-8")
    expected = PRESETS["wildcard"].with_options({"dice": "3", "dice-cap": "8", "raise": "either", "palifico": "yes"})
    assert chosen_ruleset(str(path), None) == expected


def test_a_rules_file_without_a_base_changes_classic_and_set_changes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_text("dice = 3\npalifico = false\n", encoding="utf-8")
    assert chosen_ruleset(str(path), ["dice=4"]) == PRESETS["classic"].with_options({"dice": "4"})


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"dice = 3.5", "takes a word or a number"),
        (b"dice = 99", "dice"),
        (b"sides = 8", "sides"),
        (b'base = "nothing"', "there is no ruleset"),
        (b"base = 1", "base names a ruleset"),
        (b'siding = "yes"', "siding"),
        (b"[dice]\nnumber = 3", "takes a word or a number"),
        (b"dice =", "not TOML"),
        (b'"\\u001b[2J" = 1', "x1b"),
        (b"dice = 0x" + b"f" * 10_000, "takes a word or a number"),
    ],
)
def test_a_wrong_rules_file_is_refused_with_the_reason(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(content)
    with pytest.raises(typer.BadParameter) as caught:
        chosen_ruleset(str(path), None)
    assert complaint in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_missing_rules_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        chosen_ruleset(str(tmp_path / "none.toml"), None)


@given(rulesets())
def test_every_ruleset_can_be_given_as_a_preset_with_changes(ruleset: Ruleset) -> None:
    base, changes = nearest_preset(ruleset)
    assert chosen_ruleset(base, list(changes)) == ruleset
    assert (ruleset.name is None) == bool(changes)
