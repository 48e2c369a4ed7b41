"""docs/house-rules.md is correct: its example file, its commands, and its tables of options and raises."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from cli.front import build
from cli.rulesets import chosen_ruleset
from cli.settings import Settings
from p2pdice.bidding import raises
from p2pdice.rulesets import _REFUSED, OPTIONS, PRESETS
from protocol.consensus.verifier import verify
from protocol.wire.names import ruleset_label
from tests.programs import ROOT
from tests.simulation.world import World
from tests.test_playing_page import words

GUIDE = (ROOT / "docs" / "house-rules.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, without the header row."""
    table = GUIDE.partition(heading)[2].partition("\n| ")[2].partition("\n\n")[0]
    return [re.split(r" \| ", line.strip("| ")) for line in table.splitlines()[2:]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the guide's example file into the working directory."""
    (content,) = blocks("toml")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / content.split()[1].rstrip(":")
    path.write_text(content, encoding="utf-8")
    return path


def test_a_match_with_the_rules_of_the_guides_file_is_judged_fair(file: Path) -> None:
    ruleset = chosen_ruleset(file.name, None)
    changes = {"dice": "3", "exact": "others-lose", "dice-cap": "none", "palifico": "no"}
    assert ruleset == PRESETS["perudo"].with_options(changes)
    world = World(ruleset, 3, 1)
    world.run()
    verdict = verify(world.machines[0].transcript)
    assert (verdict.verdict, verdict.rules) == ("fair", ruleset_label(ruleset))
    assert f"`{verdict.rules}`" in GUIDE


def test_the_guides_commands_print_what_it_shows(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [shlex.split(line) for block in blocks("sh") for line in block.splitlines()]
    shown = []
    for program, *arguments in commands:
        assert program == "p2pdice"
        assert file.name in arguments
        if arguments[0] != "host":  # that would wait for players
            build().main(arguments, prog_name="p2pdice", obj=Settings(), standalone_mode=False)
            shown.append(capsys.readouterr().out)
    options, _ = blocks("text")
    assert shown[0].startswith("Friday\n======\n\nThe aim. 2 to 10 players have three dice each")
    assert options in shown[0]
    assert "Three fives: you hold" in shown[1]


def test_a_mistake_in_the_file_is_answered_as_the_guide_says(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace("dice = 3", "dice = 30"), encoding="utf-8")
    with pytest.raises(typer.BadParameter) as caught:
        chosen_ruleset(file.name, None)
    assert str(caught.value) == blocks("text")[1].strip()


def test_the_guide_describes_every_option_and_value() -> None:
    described = rows("## How the file is written")
    assert [words(cells[0]) for cells in described] == [[name] for name in OPTIONS]
    classic = dict(PRESETS["classic"].options())
    for name, values, default, meaning in described:
        option = OPTIONS[words(name)[0]]
        numbers = [str(option.low), str(option.high)] if option.high else []
        assert words(values) == [*option.choices, *numbers], name
        assert words(default) == [str(classic[option.name])]
        assert meaning


def test_the_guides_examples_of_raises_agree_with_the_engine() -> None:
    described = rows("### What raises a bid")
    assert [words(cells[0])[0] for cells in described] == list(OPTIONS["raise"].choices)
    for order, higher, lower in described:
        (name,) = words(order)
        for bid in words(higher) + words(lower):
            quantity, face = map(int, bid.split("x"))
            assert (quantity in raises(name, 3, 4)[face - 1]) is (bid in words(higher)), (name, bid)


def test_the_guide_names_every_refused_combination() -> None:
    listed = re.findall("^- (.*)$", GUIDE.partition("## What does not go together")[2], re.MULTILINE)
    assert listed == [message.partition(":")[0] for _, message in _REFUSED]
