"""Commands in a home whose key or store is another than it was: each says so in a sentence, and makes nothing worse."""

from __future__ import annotations

import contextlib
import io
import shutil
import sqlite3
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from cli import boundary
from cli.exits import ExitCode
from p2pdice import PRESETS
from protocol.crypto.keys import Identity
from protocol.errors import NodeError
from protocol.node.node import Node
from protocol.storage.home import Home
from protocol.storage.store import StoreError
from tests.cli.conftest import Run
from tests.fuzz.targets.store import PLACES
from tests.protocol.test_archive import stored
from tests.simulation.world import World
from tests.tiers import thoroughly

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})
NONSENSE = (-1, 2**63 - 1, "x\x1b[2J", b"\xff" * 32)
"""For any column, as SQLite keeps values of any type in each."""


@cache
def homes() -> tuple[Path, Path]:
    """Return a home with an unfinished match, closed in order, and as a crash would have left it."""
    folder = Path(tempfile.mkdtemp(prefix="p2pdice-"))
    world = World(CLASSIC, 2, 1)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    with stored(folder / "home", world, 0) as (store, match):
        store.add_choice(match.match, 4, "stake 5")
        store.remember_address(world.genesis.roster[1].join.identity, "192.0.2.1", 7000, 1)
        shutil.copytree(folder / "home", folder / "crashed")
    return folder / "home", folder / "crashed"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    shutil.copytree(homes()[0], tmp_path / "home")
    return Home(tmp_path / "home")


@pytest.fixture
def crashed(tmp_path: Path) -> Home:
    shutil.copytree(homes()[1], tmp_path / "home")
    return Home(tmp_path / "home")


@pytest.fixture(scope="module", autouse=True)
def tidied_up() -> object:
    yield
    shutil.rmtree(homes()[0].parent)
    homes.cache_clear()


def told(*arguments: str) -> str:
    """Run a command in this process; return all that it prints."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        patch.setattr(sys, "argv", ["p2pdice", *arguments])
        assert boundary.run() in tuple(ExitCode)
    return output.getvalue()


@pytest.mark.parametrize(
    "command", ["resume", "identity show", *thoroughly(["host", "join nowhere", "watch 127.0.0.1:1"])]
)
def test_no_command_makes_another_key_where_matches_were_played(p2pdice: Run, home: Home, command: str) -> None:
    home.identity.unlink()
    done = p2pdice(*command.split())
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.identity} is missing, the key of " in done.stderr
    assert "put it back from a backup" in done.stderr
    assert not home.identity.exists()


def test_who_has_another_key_is_not_back(p2pdice: Run, home: Home) -> None:
    home.identity.unlink()
    other, _ = Identity.load_or_create(home.path)
    done = p2pdice("resume")
    assert done.returncode == ExitCode.FAILURE
    assert "You are back" not in done.stdout
    first, hint = done.stderr.splitlines()
    assert first.endswith(f", but the key of this home is now that of {other.fingerprint}.")
    assert hint == "Put the identity.key of that time back from a backup: only its owner can return."


def test_whoever_looks_at_the_matches_is_told_that_the_last_one_is_missing(p2pdice: Run, crashed: Home) -> None:
    assert p2pdice("matches").stderr == ""
    crashed.path.joinpath("store.sqlite3").unlink()
    done = p2pdice("resume")
    assert done.returncode == ExitCode.FAILURE
    assert ", the last one played here, is missing: " in done.stderr
    assert ", the last one played here, is missing: " in p2pdice("matches").stderr


@pytest.mark.parametrize("place", PLACES, ids=".".join)
async def test_nonsense_in_any_column_is_shown_harmlessly_or_named(home: Home, place: tuple[str, str]) -> None:
    table, column = place
    for value in NONSENSE:
        path = home.path.with_name("edited")
        shutil.copytree(home.path, path)
        with (
            contextlib.closing(sqlite3.connect(Home(path).store, isolation_level=None)) as database,
            contextlib.suppress(sqlite3.IntegrityError),  # SQLite itself refuses that
        ):
            database.execute(f"UPDATE {table} SET {column} = ?", (value,))
        for command in ("resume --list", "matches --json", "matches save last"):
            output = told(*command.split(), "--home", str(path))
            assert "inside p2pdice" not in output, output
            assert "too large" not in output
            assert "\x1b" not in output
        await resume(path)
        shutil.rmtree(path)


async def resume(path: Path) -> None:
    """Return to the match, or be told in a sentence why that cannot be."""
    with contextlib.suppress(NodeError, StoreError):
        node = await Node.open(path, "A", discovery=False, interface="127.0.0.1")
        try:
            await node.resume()
        finally:
            await node.close()
