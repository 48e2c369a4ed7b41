"""``p2pdice purse``: what it shows, how stakes are given up, and what the help says about the worth of coins."""

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


def test_a_player_without_a_purse_is_told_how_to_get_one(here: Run) -> None:
    assert here("purse").stdout == (
        "You have no purse yet. You get one, with 1,000 coins, at your first table with stakes.\n"
    )
    assert read(here) == {"purse": None}


@pytest.mark.parametrize("command", ["void abab", "forfeit", "forget Ann"])
def test_without_a_purse_nothing_can_be_given_up_and_no_store_is_created(
    here: Run, tmp_path: Path, command: str
) -> None:
    done = here("purse", *command.split())
    assert done.returncode == ExitCode.FAILURE
    assert "You have no purse yet" in done.stderr
    assert not Home(tmp_path / "home").store.exists()


def test_the_purse_shows_its_balance_and_history(here: Run, home: Home) -> None:
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


def test_the_purse_prints_json(here: Run, home: Home) -> None:
    found = read(here)
    assert len(found["head"]) == 64
    assert "purse" not in found
    assert (found["era"], found["height"], found["balance"], found["tickets"]) == (0, 2, 710, 0)
    assert found["busy"]["bet"] == 70
    assert found["busy"]["can_resume"]
    assert [(each["bet"], each["change"]) for each in found["records"]] == [(10, 10), (300, -300)]


def test_the_purse_warns_of_a_store_without_its_last_messages(
    here: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "_find_loss", lambda _: Loss(bytes(32), is_here=False))
    assert "missing" in here("purse").stderr


def test_a_frozen_stake_can_be_given_up(here: Run, home: Home) -> None:
    asked = here("purse", "forfeit")
    assert asked.returncode == ExitCode.USAGE
    assert read(here)["balance"] == 710
    done = here("purse", "forfeit", "--yes")
    assert "You have given up 70 coins. Your purse has 640 coins now." in done.stdout
    assert read(here)["busy"] is None
    assert "You have nothing staked" in here("purse", "forfeit", "--yes").stderr


def test_giving_up_a_stake_prints_json(here: Run, home: Home) -> None:
    done = json.loads(here("purse", "forfeit", "--yes", "--json").stdout)
    assert (done["bet"], done["tickets"], done["balance"]) == (70, 0, 640)


def test_another_players_purse_can_be_forgotten(here: Run, home: Home) -> None:
    with closing(Store(home.store)) as store:
        (ann,) = set(store.purses.everybody()) - set(store.purses.owners())
    assert "is forgotten" in here("purse", "forget", fingerprint(ann), "--yes").stdout
    with closing(Store(home.store)) as store:
        assert store.purses.met(ann) == ()
    assert "have not played for stakes" in here("purse", "forget", fingerprint(ann)).stderr  # without a question


def test_a_damaged_purse_is_reported(here: Run, home: Home) -> None:
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
    """The id of a match that Ada left before its end, with 70 coins staked against her own house bot."""
    table = ("host", "Cellar", "--bots", "1", "--stakes", "--name", "Ada")
    with seated(tmp_path / "home", *table) as ada:
        ada.until("on your own victory")
        ada.type("stake 70")
        ada.until("Round 1")
        ada.type("quit")
        assert ada.finish()[0] == ExitCode.DONE
    return str(read(here)["busy"]["match"])


def test_a_sealed_stake_is_shown(here: Run, tmp_path: Path) -> None:
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


def test_a_match_against_ones_own_bots_can_be_voided_alone(here: Run, left: str) -> None:
    """The host signs for their bots, which cannot send a line."""
    assert "  classic with stakes: " in here("matches").stdout, "the rules have the name of their preset"
    assert read(here)["busy"]["sealed"] is False
    done = json.loads(here("purse", "void", left, "--yes", "--json").stdout)
    assert (done["missing"], done["void"], len(done["bot_lines"])) == ([], True, 1)
    assert read(here)["balance"] == 1000
    assert read(here)["busy"] is None


def test_resuming_after_giving_up_the_stake_says_that_nothing_can_be_won(here: Run, left: str, tmp_path: Path) -> None:
    assert "nothing into your purse" not in here("purse").stdout
    assert here("purse", "forfeit", "--yes").returncode == ExitCode.DONE
    with seated(tmp_path / "home", "resume") as ada:
        ada.until("its end brings nothing into your purse, even if you win")
