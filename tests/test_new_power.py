"""A new power is one module: the one here takes the place of Red, and everything else works as it stands.

The registry is read when modules are imported. So all claims on it are made in a process of their own, in which it
is changed before that. Tests that hold for every power are run there, too.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

import p2pdice.powers
from p2pdice.events import Event, Names, PowerEvent
from p2pdice.motes import Die, Group, Mote
from p2pdice.powers.power import Lasting, MotePower, Target

if TYPE_CHECKING:
    from p2pdice.mischief import Effect, Mischief
    from p2pdice.moves import Power
    from p2pdice.state import State
    from p2pdice.views import View

# The module of the new power


@dataclass(frozen=True, slots=True)
class Caught(Lasting):
    """The player can play no dice, and the next accusation against them is void, until they lead."""

    mote: ClassVar[Mote] = "amber"
    name: ClassVar[str] = "caught"
    voids_accusations: ClassVar[bool] = True

    def forbids(self, _group: Group) -> bool:
        return True

    def turn_begins(self, leader: int) -> PowerEvent | None:
        return PlayerFreed(self.by, self.seat) if leader == self.seat else None

    def to_json(self) -> dict[str, int | str]:
        return {"seat": self.seat, "by": self.by}


@dataclass(frozen=True, slots=True)
class PlayerCaught(PowerEvent):
    type: ClassVar[str] = "caught"
    resolves: ClassVar[bool] = True
    seat: int
    target: int
    face: int

    def after(self, motes: Mischief) -> Mischief:
        return motes.with_lasting(Caught(self.target, self.seat))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.target, 'is', 'are')} caught in {names.whose(self.seat)} amber."


@dataclass(frozen=True, slots=True)
class AmberMelted(PowerEvent):
    type: ClassVar[str] = "melted"
    resolves: ClassVar[bool] = True
    seat: int

    def after(self, motes: Mischief) -> Mischief:
        return motes

    def sentence(self, names: Names) -> str:
        return f"{names.whose(self.seat)} amber melts."


@dataclass(frozen=True, slots=True)
class PlayerFreed(PowerEvent):
    type: ClassVar[str] = "freed"
    seat: int
    target: int

    def after(self, motes: Mischief) -> Mischief:
        return motes.without_lasting(Caught(self.target, self.seat))

    def sentence(self, names: Names) -> str:
        return f"{names.does(self.target, 'is', 'are')} free of {names.whose(self.seat)} amber."


def _targets(state: State, _motes: Mischief, seat: int, _die: Die) -> Iterable[Target]:
    return (other for other in state.live if other != seat)


def _throw(_motes: Mischief, effect: Effect, face: int) -> tuple[Event, ...]:
    assert isinstance(effect.target, int)
    return (AmberMelted(effect.by),) if face == 6 else (PlayerCaught(effect.by, effect.target, face),)


def _appeal(_view: View, _move: Power, _worth: int, _rng: Random) -> float:
    return 20


AMBER: Final = MotePower(
    mote="amber",
    group="cursed",
    targets=_targets,
    take_effect=_throw,
    outcomes=(1, 2, 3, 4, 5, 6),
    lasting=Caught,
    events=(PlayerCaught(0, 1, 3), AmberMelted(0), PlayerFreed(0, 1)),
    verb="over",
    target=int,
    example="play amber@1 over 2",
    aliases=("resin",),
    letter="A",
    color="yellow",
    hint="is thrown over another live player, as in {example}",
    rule="Catch another player, unless the die shows a six.",
    brief="catch a player in amber",
    deed="catch",
    purpose=" over {target}",
    souls={"light": "Honey", "grey": "Fog", "neutral": "Lamp", "blue": "Sea", "red": "Sap", "dark": "Pitch"},
    worth=2,
    in_dice=0.2,
    appeal=_appeal,
)

# Its test


class ClaimsOnAmber:
    """They hold where amber is in the registry."""

    def test_it_is_played_told_and_written_down_in_whole_matches(self) -> None:
        from cli.text.event_json import event_line
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
        from p2pdice.inputs import Roll
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
        from cli.table.coloring import painted
        from cli.table.picture import picture
        from cli.table.scene import Scene
        from cli.table.theme import Theme
        from cli.text.move_forms import offers
        from cli.text.narrate_motes import graveyard
        from p2pdice.engine import apply
        from p2pdice.inputs import Roll
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
        from cli.text.explain_motes import motes_sections
        from cli.text.speech import hear
        from cli.text.worked import worked
        from p2pdice.moves import parse_move
        from p2pdice.rulesets import PRESETS
        from p2pdice.views import view
        from tests.p2pdice.scripted import reach, table

        night = reach(table(3, "amber@0", prize=2), "night")
        heard = hear("resin over ben", view(night, 0), ("Ada", "Ben", "Cleo"), ())
        assert heard == parse_move("play resin@0 over 1")
        assert ("Amber (night).", (AMBER.rule, "Type catch Ben.")) in [*motes_sections()]
        assert any("Amber" in line for line in worked(PRESETS["motes"]))
        assert getattr(p2pdice, PlayerCaught.__name__) is PlayerCaught

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


ROOT = Path(__file__).parents[1]
HOLD_FOR_EVERY_POWER = (
    "tests/p2pdice/test_powers.py",
    "tests/p2pdice/test_changes.py",
    "tests/cli/test_narrate.py::test_the_samples_hold_every_type_of_event",
    "tests/cli/test_narrate.py::test_every_event_is_told_in_whole_sentences",
    "tests/cli/test_narrate_motes.py::test_in_any_match_all_is_told_in_whole_sentences_and_what_is_offered_can_be_typed",
    "tests/cli/table/test_whole_matches.py::test_matches_with_every_power_are_drawn",
)
NOT_IN_THE_FOLDER = "tests/p2pdice/test_powers.py::test_each_module_of_the_folder_holds_the_power_named_like_it"


def main(old: str) -> int:
    """Put amber in the place of a mote, and make the claims."""
    vars(importlib.import_module(f"p2pdice.powers.{old}"))[old.upper()] = AMBER
    importlib.reload(p2pdice.powers)
    options = ("-n0", "-q", "-p", "no:cacheprovider", "-o", "python_classes=Claims*", "--deselect", NOT_IN_THE_FOLDER)
    claims = [f"{__file__}::{ClaimsOnAmber.__name__}"] if old == "red" else []
    return pytest.main([*options, *claims, *HOLD_FOR_EVERY_POWER])


@pytest.mark.parametrize(
    "old", ["red", *(pytest.param(mote, marks=pytest.mark.thorough) for mote in ("light", "grey", "neutral", "dark"))]
)
def test_a_new_power_is_one_module(old: str) -> None:
    """In place of any mote but Blue: one has to be an answer."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; from tests.test_new_power import main; sys.exit(main({old!r}))"],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
