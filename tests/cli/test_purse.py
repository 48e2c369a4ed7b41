"""``p2pdice purse``: what it shows, what it gives up, and what it says that coins are worth."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.exits import ExitCode
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage.home import Home
from protocol.storage.store import Loss, Store
from protocol.wire.purses import Freeze, following
from tests.cli.conftest import Run
from tests.protocol.long_purses import OWNER, settled
from tests.protocol.test_purse_store import stored_match

STUCK = b"\xab" * 32


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose owner has settled two matches, and has 70 coins frozen for a third one."""
    made = Home(tmp_path / "home")
    with closing(Store(made.store)) as store:
        own = PurseKeeper(store, OWNER.public, lambda _: None).own
        for seed in range(2):
            settled(own, seed)
        own.freeze(following(own.purse, Freeze(STUCK, 70, 0)))
    OWNER.save(made.identity)
    return made


def balance(home: Home) -> int:
    with closing(Store(home.store)) as store:
        return PurseKeeper(store, OWNER.public, lambda _: None).own.purse.balance


def read(here: Run) -> dict[str, Any]:
    found = json.loads(here("purse", "--json").stdout)
    assert isinstance(found, dict)
    return found


def test_a_newcomer_is_told_what_the_first_match_brings(here: Run) -> None:
    assert here("purse").stdout == (
        "You have no purse yet. You get one, with 1,000 coins, at your first table with stakes.\n"
    )
    assert read(here) == {"purse": None}


@pytest.mark.parametrize("command", ["void abab", "forfeit abab", "new"])
def test_where_there_is_no_purse_nothing_can_be_given_up_and_nothing_is_made(
    here: Run, tmp_path: Path, command: str
) -> None:
    done = here("purse", *command.split())
    assert done.returncode == ExitCode.FAILURE
    assert done.stderr.startswith("Error: You have no purse yet.")
    assert not (tmp_path / "home").exists()


def test_it_shows_what_there_is_and_where_it_came_from(here: Run, home: Home) -> None:
    shown = here("purse").stdout
    assert f"{balance(home):,} coins, 70 of them frozen; no run tickets." in shown
    assert "abababab: 70 coins" in shown
    assert "p2pdice purse forfeit abababab" in shown
    assert "Entries, 6 in all" in shown
    assert shown.count("player 1") == 2
    assert "\n       1,000  to begin with\n" in shown
    assert f"\n  {balance(home) - 1000:>+10,d}  won and lost in matches\n" in shown
    assert "given up" not in shown
    assert "lost with" not in shown
    assert "Anybody can make new keys" in shown


def test_every_coin_is_accounted_for_also_after_more_entries_than_are_listed(here: Run, home: Home) -> None:
    with closing(Store(home.store)) as store:
        own = PurseKeeper(store, OWNER.public, lambda _: None).own
        own.forfeit(STUCK)
        for seed in range(2, 7):
            settled(own, seed)
        end = own.purse.balance
    shown = here("purse").stdout
    assert "opened" not in shown
    assert "1,000  to begin with" in shown
    assert "-70  given up" in shown
    found = read(here)["origin"]
    assert found == {"grant": 1000, "matches": end - 930, "forfeits": -70, "lost_entries": 0}
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("DELETE FROM purse_entries WHERE height BETWEEN 1 AND 4")
        database.commit()
    assert "lost with an old backup" in here("purse").stdout
    found = read(here)["origin"]
    assert found["lost_entries"] != 0
    assert sum(found.values()) == end


def test_a_match_that_broke_off_can_be_played_on(here: Run, home: Home) -> None:
    with closing(Store(home.store)) as store:
        stored_match(store, is_over=False)
        name = store.matches()[0].name
    shown = here("purse").stdout
    assert f"To play on:\n    p2pdice resume {name}" in shown
    assert shown.index("To play on") < shown.index("To give up")


def test_a_match_that_is_not_kept_here_cannot_be_played_on(here: Run, home: Home) -> None:
    assert "To play on" not in here("purse").stdout


def test_a_store_that_has_lost_its_last_messages_is_named_beside_its_purse(
    here: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frozen coins were gone from view, and nothing said why."""
    monkeypatch.setattr(Store, "_find_loss", lambda _: Loss(STUCK, is_here=False))
    assert "the last one played here, is missing" in here("purse").stderr


def test_as_data(here: Run, home: Home) -> None:
    found = read(here)
    assert (found["balance"], found["funds"], found["height"]) == (balance(home), balance(home) - 70, 5)
    stuck = {"match": STUCK.hex(), "name": None, "bet": 70, "tickets": 0, "can_resume": False, "void": False}
    assert found["frozen"] == [stuck]
    kinds = [entry["kind"] for entry in found["entries"]]
    assert kinds == ["freeze", "settlement", "freeze", "settlement", "freeze", "opening"]
    assert sum(entry["coins"] for entry in found["entries"] if entry["kind"] != "freeze") == found["balance"]
    assert sum(partner["change"] for partner in found["partners"]) == found["balance"] - 1000
    assert set(found) == {
        *("purse", "height", "head", "balance", "funds", "tickets", "free_tickets", "souls", "frozen", "entries"),
        *("origin", "partners"),
    }


def test_a_damaged_purse_keeps_its_owner_from_a_table_with_stakes_and_says_what_helps(here: Run, home: Home) -> None:
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("DELETE FROM purse_entries WHERE height = 5")
        database.commit()
    done = here("host", "--stakes", "--seats", "2", "--private", "--interface", "127.0.0.1", "--ui", "line")
    assert done.returncode == ExitCode.FAILURE
    assert "the entries of the purse in the store are not all there" in done.stderr
    assert "p2pdice identity restore" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_frozen_can_be_given_up(here: Run, home: Home) -> None:
    before = balance(home)
    asked = here("purse", "forfeit", "abab")
    assert asked.returncode == ExitCode.USAGE
    assert "no terminal to ask at" in asked.stderr
    assert balance(home) == before
    asked = here("purse", "forfeit", "abab", "--json")
    assert asked.returncode == ExitCode.USAGE
    assert asked.stdout == ""
    done = here("purse", "forfeit", "abab", "--yes")
    assert done.returncode == 0
    assert done.stdout == f"You have given up 70 coins. Your purse has {before - 70:,} coins now.\n"
    assert balance(home) == before - 70
    again = here("purse", "forfeit", "abab", "--yes")
    assert again.returncode == ExitCode.FAILURE
    assert "Nothing of yours is frozen" in again.stderr


def test_a_stake_in_a_match_that_is_not_kept_is_not_given_up_without_a_warning(here: Run, home: Home) -> None:
    """The match may be over, in entries that the others know: another entry would be a second end."""
    assert "tells you its end at a table" in here("purse").stdout
    assert "they hand back what your purse lacks" in here("purse", "forfeit", "abab").stderr
    with closing(Store(home.store)) as store:
        stored_match(store, is_over=False)
        kept = store.matches()[0].name
    assert "hand back" not in here("purse", "forfeit", kept).stderr
    here("purse", "forfeit", "abab", "--yes")
    assert "tells you its end at a table" not in here("purse").stdout


def test_what_was_given_up_as_data(here: Run, home: Home) -> None:
    before = balance(home)
    done = json.loads(here("purse", "forfeit", "abab", "--yes", "--json").stdout)
    assert done == {"match": STUCK.hex(), "bet": 70, "tickets": 0, "balance": before - 70}
    assert balance(home) == before - 70


def test_a_damaged_purse_can_be_given_up_as_its_error_recommends(here: Run, home: Home) -> None:
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("UPDATE purses SET state = x'00'")
        database.commit()
    assert "p2pdice purse new" in " ".join(here("purse").stderr.split())
    done = here("purse", "new", "--yes")
    assert done.returncode == 0, done.stderr
    assert balance(home) == 0


def test_a_new_purse_begins_without_coins(here: Run, home: Home) -> None:
    """Everybody knows that it comes after another one: the grant in its OPENING is 0."""
    before = read(here)["purse"]
    asked = here("purse", "new")
    assert asked.returncode == ExitCode.USAGE
    assert read(here)["purse"] == before
    done = here("purse", "new", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "You have given up your purse. You have a new one with 0 coins.\n"
    new = read(here)
    assert new["purse"] != before
    assert (new["balance"], new["frozen"], [entry["coins"] for entry in new["entries"]]) == (0, [], [0])


def test_whoever_has_no_purse_cannot_give_one_up(here: Run) -> None:
    refused = here("purse", "new", "--yes")
    assert refused.returncode == ExitCode.FAILURE
    assert "You have no purse yet" in refused.stderr
    assert read(here) == {"purse": None}


def test_the_help_says_what_coins_are_worth(here: Run) -> None:
    told = " ".join(here("purse", "--help").stdout.split())
    assert "Keys are free, and every new key begins with 1,000 coins" in told
    assert "only among people who know each other's keys" in told
