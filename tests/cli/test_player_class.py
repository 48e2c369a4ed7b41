"""Names of bots. A bot's modules replace no other modules, and a name clash is reported."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

from cli.bots.player_class import EntrantError, make_player, own_modules, version_of

PLAYER = "from p2pdice.players import Player\nclass Mine(Player):\n    def __init__(self, rng): pass\n"
PLAYER += "    def choose(self, view): return view.legal[0]\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, and unload its modules afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})


def write(**files: str) -> None:
    for name, text in files.items():
        path = Path(*name.split("_in_")[::-1]).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("hidden", ["cli", "protocol", "p2pdice", "numpy", "pytest"])
@pytest.mark.parametrize("statement", ["import {}", "from {} import x", "if 1:\n    import {}.x as y"])
def test_a_module_hidden_by_another_of_the_same_name_is_reported(hidden: str, statement: str) -> None:
    write(odd_bots="import odd_deeper\n" + PLAYER, odd_deeper=statement.format(hidden), **{hidden: "x = 1"})
    with pytest.raises(
        EntrantError,
        match=rf"{hidden}\.py has the name of a module (of p2pdice|at .*), which Python takes instead: rename it",
    ):
        make_player("odd_bots:Mine", Random(1))


def test_a_class_in_a_hidden_module_is_reported() -> None:
    write(protocol=PLAYER)
    with pytest.raises(EntrantError, match=r"protocol\.py has the name of a module of p2pdice"):
        make_player("protocol:Mine", Random(1))


def test_a_module_that_the_bot_does_not_import_may_have_any_name() -> None:
    write(odd_free="import random\n" + PLAYER, cli="", protocol="import cli", random="x = 1", json="x = 1")
    assert make_player("odd_free:Mine", Random(1))


def test_the_modules_of_a_class_are_read_only_once() -> None:
    write(odd_again=PLAYER, numpy="")
    assert make_player("odd_again:Mine", Random(1))
    write(odd_again="import numpy\n" + PLAYER)  # if it were read again, it would be refused
    assert make_player("odd_again:Mine", Random(1))


def test_own_modules_are_found_through_imports_without_running_them() -> None:
    write(
        odd_main="import odd_pack.inner\nraise SystemExit",
        __init___in_odd_pack="",
        inner_in_odd_pack="from . import beside\nfrom .beside import x\nimport odd_main, gone, json",
        beside_in_odd_pack="broken (",
        odd_unused="",
    )
    files = {str(file.relative_to(Path.cwd())) for file in own_modules(Path.cwd(), "odd_main").files}
    assert files == {str(Path(*each.split("/"))) for each in (
        "odd_main.py", "odd_pack/__init__.py", "odd_pack/inner.py", "odd_pack/beside.py"
    )}  # fmt: skip


@pytest.mark.parametrize("bot", ["odd_vers:Mine", "python3 odd_vers.py", "./odd_vers.py --fast"])
def test_a_bots_version_changes_only_with_its_code(bot: str) -> None:
    write(odd_vers="import odd_more\n" + PLAYER, odd_more="x = 1", odd_other="")
    Path("odd_vers.py").chmod(0o755)
    before = version_of(bot)
    write(odd_other="x = 2")
    assert version_of(bot) == before
    write(odd_vers="import odd_more\n" + PLAYER + "# changed\n")
    after = version_of(bot)
    assert after != before
    if not bot.startswith("./"):  # such a file may be in any language, so its imports are not read
        write(odd_more="x = 2")
        assert version_of(bot) != after


def test_house_bots_have_no_version_of_their_own_and_even_missing_bots_have_one() -> None:
    assert version_of("odds") == ""
    assert len({version_of(bot) for bot in ("gone:Mine", "./gone", "python3 gone.py", "'", "cli.bots.bot:Bot")}) == 5
