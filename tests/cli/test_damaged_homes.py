"""In a home whose key or store was lost, replaced or damaged, each command explains that and changes nothing."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path

import pytest

from cli.exits import ExitCode
from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import Identity, fingerprint
from protocol.errors import NodeError
from protocol.node.node import Node
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from tests.cli.conftest import Run
from tests.fuzz.targets.store import PLACES
from tests.programs import run_here
from tests.protocol.test_archive import stored
from tests.simulation.world import World
from tests.tiers import thoroughly

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})
TEXT = "x\x1b[2J"
OTHERS = (-1, 2**63 - 1, b"\xff" * 32)
"""Values that any column may contain, because SQLite does not enforce the types of columns."""


@cache
def homes() -> tuple[Path, Path]:
    """Return two copies of a home with an unfinished match: after a clean exit, and after a crash."""
    folder = Path(tempfile.mkdtemp(prefix="p2pdice-"))
    world = World(CLASSIC, 2, 1)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    with stored(folder / "home", world, 0) as (store, match):
        store.add_choice(match.match, 4, "stake 5")
        store.people.trust(fingerprint(b"z" * 32), "Zoe", 1)
        store.remember_address(world.genesis.roster[1].join.identity, "192.0.2.1", 7000)
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


@pytest.mark.parametrize(
    "command", ["resume", "identity show", *thoroughly(["host", "join nowhere", "watch 127.0.0.1:1"])]
)
def test_no_command_replaces_a_missing_key_in_a_home_with_matches(here: Run, home: Home, command: str) -> None:
    home.identity.unlink()
    done = here(*command.split())
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.identity} is missing, the key of " in done.stderr
    assert "put it back from a backup" in done.stderr
    assert not home.identity.exists()


def test_a_home_with_another_key_cannot_resume_its_match(here: Run, home: Home) -> None:
    home.identity.unlink()
    other, _ = Identity.load_or_create(home.path)
    done = here("resume")
    assert done.returncode == ExitCode.FAILURE
    assert "You are back" not in done.stdout
    first, hint = done.stderr.splitlines()
    assert first.endswith(f", but the key of this home is now that of {other.fingerprint}.")
    assert hint == "Put the identity.key of that time back from a backup: only its owner can return."


def test_a_store_without_the_last_match_is_reported(here: Run, crashed: Home) -> None:
    assert here("matches").stderr == ""
    crashed.path.joinpath("store.sqlite3").unlink()
    done = here("resume")
    assert done.returncode == ExitCode.FAILURE
    assert ", the last one played here, is missing: " in done.stderr
    assert ", the last one played here, is missing: " in here("matches").stderr


@pytest.mark.parametrize("command", ["matches", "resume", "host --bots 1 --ui line"])
def test_a_damaged_store_is_reported_and_left_unchanged(here: Run, home: Home, command: str) -> None:
    content = b"no database at all" * 1000
    home.store.write_bytes(content)
    done = here(*command.split())
    assert done.returncode == ExitCode.FAILURE
    assert f"{home.store}: file is not a database" in done.stderr
    assert "he file is damaged, not empty, and was left as it is: put it back from a backup" in done.stderr
    assert done.stderr.endswith("Put it back from a backup:\n    p2pdice identity restore BACKUP\n")
    assert home.store.read_bytes() == content


def test_a_removed_store_is_reported_as_missing(here: Run, home: Home) -> None:
    for path in home.path.glob("store.sqlite3*"):
        if path != home.store_note:
            path.unlink()
    for command in ("matches", "history", "resume --list"):
        assert ", the last one played here, is missing: " in here(*command.split()).stderr
    assert here("matches", "--home", str(home.path / "new")).stderr == ""


@pytest.mark.parametrize("place", PLACES, ids=".".join)
@pytest.mark.parametrize("is_whole", [False, *thoroughly([True])])
async def test_nonsense_in_any_column_is_escaped_or_reported(
    home: Home, place: tuple[str, str], is_whole: bool
) -> None:
    """Each column gets a text and one of the other values; in a thorough run, all of them."""
    table, column = place
    for value in (TEXT, *(OTHERS if is_whole else [OTHERS[PLACES.index(place) % len(OTHERS)]])):
        path = home.path.with_name("edited")
        shutil.copytree(home.path, path)
        with (
            contextlib.closing(sqlite3.connect(Home(path).store, isolation_level=None)) as database,
            contextlib.suppress(sqlite3.IntegrityError),  # SQLite refuses the value
        ):
            database.execute(f"UPDATE {table} SET {column} = ?", (value,))
        for command in ("resume --list", "matches --json", "matches save last", "people", "people --json"):
            done = run_here(*command.split(), home=path)
            output = done.stdout + done.stderr
            assert done.returncode in tuple(ExitCode)
            assert "inside p2pdice" not in output, output
            assert "too large" not in output
            assert "\x1b" not in output
        await resume(path)
        shutil.rmtree(path)


async def resume(path: Path) -> None:
    """Resume the match. A documented error is also accepted."""
    with contextlib.suppress(NodeError, StoreError):
        node = await Node.open(path, "A", discovery=False, interface="127.0.0.1")
        try:
            await node.resume()
        finally:
            await node.close()


@pytest.mark.parametrize("date", [-1, 2**62, "x\x1b[2J"])
def test_a_match_with_any_date_can_be_forgotten(here: Run, home: Home, date: object) -> None:
    with contextlib.closing(sqlite3.connect(home.store, isolation_level=None)) as database:
        database.execute("UPDATE matches SET created = ?", (date,))
        ((match,),) = database.execute("SELECT match FROM matches").fetchall()
    assert "damaged" in here("matches").stdout or isinstance(date, int)
    assert here("matches", "forget", match.hex(), "--yes").returncode == ExitCode.DONE
    assert here("matches").stdout == "No match is kept here.\n"
