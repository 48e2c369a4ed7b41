"""``p2pdice purse``: what it shows, what it gives up, and what it says that coins are worth."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.exits import ExitCode
from protocol.crypto.keys import fingerprint
from protocol.storage.home import Home
from protocol.storage.store import Loss, Store
from tests.cli.conftest import Run
from tests.cli.seat import seated
from tests.protocol.bettors import Bettor, Played, play


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose owner has won 10 coins, lost 300, and has 70 staked in a third match."""
    made, folder = Home(tmp_path / "home"), tmp_path / "made"
    folder.mkdir()
    me, ann = Bettor("me", folder), Bettor("Ann", folder)
    play(me, ann, bet=10)
    play(ann, me, bet=300)
    Played(me, ann).stake({me: 70, ann: 5})
    for each in (me, ann):
        each.store.close()
    made.path.mkdir()
    me.path.rename(made.store)
    me.identity.save(made.identity)
    return made


def read(here: Run) -> dict[str, Any]:
    found = json.loads(here("purse", "--json").stdout)
    assert isinstance(found, dict)
    return found


def test_a_newcomer_is_told_what_the_first_match_brings(here: Run) -> None:
    assert here("purse").stdout == (
        "You have no purse yet. You get one, with 1,000 coins, at your first table with stakes.\n"
    )
    assert read(here) == {"purse": None}


@pytest.mark.parametrize("command", ["void abab", "forfeit", "forget Ann"])
def test_where_there_is_no_purse_nothing_can_be_given_up_and_nothing_is_made(
    here: Run, tmp_path: Path, command: str
) -> None:
    done = here("purse", *command.split())
    assert done.returncode == ExitCode.FAILURE
    assert "You have no purse yet" in done.stderr
    assert not Home(tmp_path / "home").store.exists()


def test_it_shows_what_there_is_and_where_it_came_from(here: Run, home: Home) -> None:
    told = here("purse").stdout
    assert told.startswith("710 coins; no run tickets.\nBusy with ")
    assert ": 70 coins staked." in told
    assert "    p2pdice resume " in told
    assert "    p2pdice purse forfeit" in told
    lines = [line.split() for line in told.splitlines() if "staked  " in line]
    assert [line[:4] for line in lines] == [
        ["2", "-300,", "300", "staked"],
        ["1", "+10,", "10", "staked"],
    ]
    assert "only among people who know each other's keys" in " ".join(told.split())


def test_as_data(here: Run, home: Home) -> None:
    found = read(here)
    assert len(found["head"]) == 64
    assert "purse" not in found
    assert (found["era"], found["height"], found["balance"], found["tickets"]) == (0, 2, 710, 0)
    assert found["busy"]["bet"] == 70
    assert found["busy"]["can_resume"]
    assert [(each["bet"], each["change"]) for each in found["records"]] == [(10, 10), (300, -300)]


def test_a_store_that_has_lost_its_last_messages_is_named_beside_its_purse(
    here: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "_find_loss", lambda _: Loss(bytes(32), is_here=False))
    assert "missing" in here("purse").stderr


def test_what_is_staked_can_be_given_up(here: Run, home: Home) -> None:
    asked = here("purse", "forfeit")
    assert asked.returncode == ExitCode.USAGE
    assert read(here)["balance"] == 710
    done = here("purse", "forfeit", "--yes")
    assert "You have given up 70 coins. Your purse has 640 coins now." in done.stdout
    assert read(here)["busy"] is None
    assert "You have nothing staked" in here("purse", "forfeit", "--yes").stderr


def test_what_was_given_up_as_data(here: Run, home: Home) -> None:
    done = json.loads(here("purse", "forfeit", "--yes", "--json").stdout)
    assert (done["bet"], done["tickets"], done["balance"]) == (70, 0, 640)


def test_somebodys_purse_can_be_forgotten(here: Run, home: Home) -> None:
    with closing(Store(home.store)) as store:
        (ann,) = set(store.purses.everybody()) - set(store.purses.owners())
    assert "is forgotten" in here("purse", "forget", fingerprint(ann), "--yes").stdout
    with closing(Store(home.store)) as store:
        assert store.purses.met(ann) == ()
    assert "have not played for stakes" in here("purse", "forget", fingerprint(ann)).stderr  # before any question


def test_a_damaged_purse_is_called_that(here: Run, home: Home) -> None:
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("UPDATE purses SET ledger = x'00'")
        database.commit()
    done = here("purse")
    assert done.returncode == ExitCode.FAILURE
    assert "the store is damaged" in done.stderr.lower()
    assert "identity restore" in done.stderr


def test_the_help_says_what_coins_are_worth(here: Run) -> None:
    told = " ".join(here("purse", "--help").stdout.split())
    assert "every new key begins with 1,000 coins" in told
    assert "coins mean something only among people who know each other's keys" in told


# While a match is played


@pytest.fixture
def left(tmp_path: Path, here: Run) -> str:
    """Ada has staked 70 coins against a house bot of hers, and has left before the end. The id of the match."""
    table = ("host", "Cellar", "--bots", "1", "--stakes", "--set", "dice=2", "--name", "Ada")
    with seated(tmp_path / "home", *table) as ada:
        ada.until("on your own victory")
        ada.type("stake 70")
        ada.until("Round 1")
        ada.type("quit")
        assert ada.finish()[0] == ExitCode.DONE
    return str(read(here)["busy"]["match"])


def test_a_stake_that_is_still_sealed_is_shown(here: Run, tmp_path: Path) -> None:
    host = ("host", "Attic", "--stakes", "--name", "Ada")
    with seated(tmp_path / "home", *host) as ada:
        ada.until("p2pdice join ")
        with seated(tmp_path / "Ben", "join", "Attic", "--wait", "--name", "Ben"):
            ada.until("on your own victory")
            shown = here("purse").stdout
            assert "you have not staked anything yet" in shown
            assert "To free your purse, if all players agree:" in shown
            assert "your stake" not in shown
            assert "No match with stakes has changed it yet." in shown
            assert "0 in all" not in shown
            assert read(here)["busy"]["bet"] == 0
            ada.type("stake 70")
            ada.type("quit")
            assert ada.finish()[0] == ExitCode.DONE
            assert ": 70 coins staked, not opened yet." in here("purse").stdout
            busy = read(here)["busy"]
            assert (busy["bet"], busy["sealed"]) == (70, True)


def test_a_match_against_ones_own_bots_is_void_at_once(here: Run, left: str) -> None:
    """Nobody else could send the line of a bot."""
    assert read(here)["busy"]["sealed"] is False
    done = json.loads(here("purse", "void", left, "--yes", "--json").stdout)
    assert (done["missing"], done["void"], len(done["bot_lines"])) == ([], True, 1)
    assert read(here)["balance"] == 1000
    assert read(here)["busy"] is None


def test_who_returns_after_giving_up_a_stake_is_told_that_nothing_can_be_won(
    here: Run, left: str, tmp_path: Path
) -> None:
    assert "nothing into your purse" not in here("purse").stdout
    assert here("purse", "forfeit", "--yes").returncode == ExitCode.DONE
    with seated(tmp_path / "home", "resume") as ada:
        ada.until("its end brings nothing into your purse, even if you win")


def test_a_preset_with_stakes_is_listed_by_its_name(here: Run, tmp_path: Path) -> None:
    with seated(tmp_path / "home", "host", "--bots", "1", "--stakes", "--name", "Ada") as ada:
        ada.until("on your own victory")
        ada.type("quit")
        ada.finish()
    shown = here("matches").stdout
    assert "  classic with stakes: " in shown
    assert "house rules" not in shown
