"""A new power takes three records: amber replaces Red in each, and everything else works unchanged.

The records are read when modules are imported. So all claims about amber are tested in a separate process, where the
sources are changed as a contributor would change them. Tests that hold for every power run there as well.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import chain
from pathlib import Path
from random import Random
from types import CodeType
from typing import Final

import pytest

RECORDS: Final = {
    "p2pdice.motes": """Notation(
        mote="amber",
        group="cursed",
        aliases=("resin",),
        verb="over",
        target=int,
        example="play amber@1 over 2",
        lasting="caught",
        souls={"light": "Honey", "grey": "Fog", "neutral": "Lamp", "blue": "Sea", "red": "Sap", "dark": "Pitch"},
    )""",
    "p2pdice.powers": """MotePower(
        mote="amber",
        targets=amber.targets,
        take_effect=amber.throw,
        outcomes=(1, 2, 3, 4, 5, 6),
        lasting=amber.Caught,
        turn_begins=amber.free,
        events=(amber.PlayerCaught(0, 1, 3), amber.AmberMelted(0), amber.PlayerFreed(0, 1)),
        letter="A",
        color="yellow",
        hint="is thrown over another live player, as in {example}",
        rule=amber.RULE,
        brief="catch a player in amber",
        deed="catch",
        purpose=" over {target}",
    )""",
    "p2pdice.players.tactics": '"amber": MoteWorth(worth=2, in_dice=0.2, appeal=amber.appeal)',
}
"""Amber's record for each module that has a record of each mote."""


ROOT: Final = Path(__file__).parents[1]


class Edited(SourceFileLoader):
    """Loads a module as if amber replaced another mote in its source."""

    def __init__(self, fullname: str, path: str, old: str) -> None:
        super().__init__(fullname, path)
        self.old = old

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        record = rf"""(?<=^{self.old.upper()}: Final = )\w+\(\n.*?^\)|"{self.old}": MoteWorth\(.*?\)(?=,)"""
        old = re.compile(record, re.MULTILINE | re.DOTALL)
        source, changed = old.subn(RECORDS[fullname], source)
        assert changed == 1, fullname
        if fullname != "p2pdice.motes":
            source = source.replace("\n\nfrom p2pdice", "\n\nfrom tests import amber\nfrom p2pdice", 1)
        code: CodeType = compile(source, self.path, "exec")
        return code


class Finder:
    """Finds the modules with records, and loads them with amber in place of ``old``."""

    def __init__(self, old: str) -> None:
        self.old = old

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if fullname not in RECORDS:
            return None
        path = str(ROOT.joinpath(*fullname.split(".")).with_suffix(".py"))
        return spec_from_file_location(fullname, path, loader=Edited(fullname, path, self.old))


class ClaimsOnAmber:
    """The claims that hold in a process with amber."""

    def test_it_is_played_told_and_written_down_in_whole_matches(self) -> None:
        from cli.text.narrate import event_line
        from cli.text.seating import Seating
        from p2pdice.state import plain
        from p2pdice.views import state_json
        from protocol.events import Happened
        from tests.p2pdice.scripted import random_play, rules

        told: dict[str, str] = {}
        for _, state, events in chain.from_iterable(random_play(rules("motes"), 3, Random(seed)) for seed in range(8)):
            caught = state_json(state)["caught"]
            assert isinstance(caught, list)
            shown = plain(state)[16]
            assert isinstance(shown, tuple)
            assert shown[9] == tuple((each["seat"], each["by"]) for each in caught)
            for event in events:
                line = json.loads(event_line(Happened(event, state), Seating(("Ada", "Ben", "Cleo"), 0)))
                told.setdefault(f"{line['event']['type']} {line['event'].get('seat')}", line["sentence"])
        assert told["melted 0"] == "Your amber melts."
        assert any(text.endswith(" amber.") for event, text in told.items() if event.startswith("freed"))

    def test_it_forbids_dice_and_voids_an_accusation(self) -> None:
        from p2pdice.engine import apply
        from p2pdice.errors import IllegalMove
        from p2pdice.moves import Roll
        from tests.p2pdice.scripted import play, reach, table

        state = play(reach(table(3, "amber@0", "dark@1", "light@0", prize=2), "night"), "play amber@0 over 1")
        state = play(apply(state, Roll(5))[0], "1x2")
        with pytest.raises(IllegalMove, match="an Amber forbids you to play cursed dice"):
            play(state, "play dark@1 destroy light@0")
        state = play(state, "2x2", "liar")
        assert state.motes is not None
        assert (state.turn, state.motes.must_raise, state.motes.lasting) == (2, True, ())

    def test_it_is_on_the_screen(self) -> None:
        from cli.table.board import Board
        from cli.table.picture import picture
        from cli.table.scene import Scene
        from cli.table.theme import Theme, painted
        from cli.text.move_forms import offers
        from cli.text.narrate_game import graveyard
        from p2pdice.engine import apply
        from p2pdice.moves import Roll
        from p2pdice.views import view
        from protocol.events import MatchStarted, YourTurn
        from tests.cli.table.boards import people
        from tests.p2pdice.scripted import play, reach, table

        state = reach(table(3, "amber@0", prize=2), "night")
        board = Board()
        board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"]), 0, state))
        board.take(YourTurn(view(state, 0), 1))
        moves = offers(view(state, 0), board.seating.names)
        canvas = picture(board, Scene(moves=moves, picked=0), 80, 24, Theme("256"))
        for words in ("1  Amber over Ben", " L   N   B   A   D ", "● you Amber"):
            assert words in canvas.text()
        assert any("on-amber" in style for style, *_ in canvas.fragments())
        assert canvas.theme.style().get_attrs_for_style_str("class:on-amber").bgcolor == "f2d24b"
        assert painted("Amber", "dark") == "\x1b[93mAmber\x1b[0m"
        board.state, _ = apply(play(state, "play amber@0 over 1"), Roll(1))
        assert "caught" in picture(board, Scene(), 80, 24, Theme()).text()
        assert "Caught: Ben" in graveyard(board.state, board.seating)

    def test_it_can_be_typed_and_is_in_the_rules(self) -> None:
        from cli.text.explain import motes_sections, worked
        from cli.text.speech import hear
        from p2pdice.moves import parse_move
        from p2pdice.rulesets import PRESETS
        from p2pdice.views import view
        from tests.amber import RULE
        from tests.p2pdice.scripted import reach, table

        night = reach(table(3, "amber@0", prize=2), "night")
        heard = hear("resin over ben", view(night, 0), ("Ada", "Ben", "Cleo"), ())
        assert heard == parse_move("play resin@0 over 1")
        assert ("Amber (night).", (RULE, "Type catch Ben.")) in [*motes_sections()]
        assert any("Amber" in line for line in worked(PRESETS["motes"]))

    def test_the_house_plays_it_in_an_arena(self) -> None:
        from cli.arena.fixtures import fixtures, named, round_robin
        from cli.arena.game import Plan, play_games
        from p2pdice.players import LEVELS
        from p2pdice.rulesets import PRESETS

        bots = [*LEVELS]
        tables = round_robin(len(bots), ("motes",), (len(bots),))
        plan = Plan(named(bots), tables, (PRESETS["motes"],) * len(tables), 2, "1", 20_000)
        games = play_games(plan, tuple(fixtures(plan.tables, plan.games)))
        assert not any(chain.from_iterable(game.faults for game in games))
        assert "play amber@" in json.dumps([game.lines for game in games])


HOLD_FOR_EVERY_POWER = (
    "tests/p2pdice/test_powers.py",
    "tests/p2pdice/test_changes.py",
    "tests/cli/test_narrate.py::test_the_samples_contain_every_type_of_event",
    "tests/cli/test_narrate.py::test_every_event_is_told_in_whole_sentences",
    "tests/cli/test_narrate_motes.py::test_in_any_match_sentences_are_whole_and_offered_moves_are_legal",
    "tests/cli/table/test_whole_matches.py::test_matches_with_every_power_are_drawn",
)


def main(old: str) -> int:
    """Replace a mote with amber, and test the claims; return pytest's exit code."""
    sys.meta_path.insert(0, Finder(old))
    options = ("-n0", "-q", "-p", "no:cacheprovider", "-o", "python_classes=Claims*")
    claims = [f"{__file__}::{ClaimsOnAmber.__name__}"] if old == "red" else []
    return pytest.main([*options, *claims, *HOLD_FOR_EVERY_POWER])


@pytest.mark.parametrize(
    "old", ["red", *(pytest.param(mote, marks=pytest.mark.thorough) for mote in ("light", "grey", "neutral", "dark"))]
)
def test_a_new_power_is_three_records(old: str) -> None:
    """Amber can replace any mote except Blue, because one mote must be an answer."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; from tests.test_new_power import main; sys.exit(main({old!r}))"],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
