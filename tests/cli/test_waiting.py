"""Waiting for a table to open or for a free seat: what a player is told, what they can type, and how they leave."""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.exits import ExitCode
from cli.table.live_table import SpectatorTable
from cli.table.play import open_again
from cli.table.player_table import PlayerTable
from cli.table.table import Face
from cli.table.terminal import Showing
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice.engine import new_match
from p2pdice.rulesets import PRESETS
from protocol.errors import ErrorCode, NodeError
from protocol.events import (
    AwaitingHost,
    HostIs,
    MatchResult,
    MatchStarted,
    PeerLost,
    PlayerInfo,
    TableJoined,
    Watching,
)
from protocol.match.lobby import TableSettings
from protocol.net.discovery import PRIVATE, Advertisement
from protocol.net.mdns import Discovery
from protocol.node.locator import Locator
from protocol.storage.home import Home
from protocol.version import PROTOCOL_VERSION
from protocol.wire.genesis import Patience, parse_genesis
from tests.cli.conftest import Run
from tests.cli.paper import Paper
from tests.cli.seat import play_together, seated
from tests.programs import PATIENCE
from tests.tiers import thoroughly

if sys.platform != "win32":
    from tests.cli.screen import Terminal

TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
NOWHERE = "The table that never opens"

ADA, BEN = PlayerInfo("Ada", "1111-2222"), PlayerInfo("Ben", "3333-4444")
STARTED = MatchStarted("ab" * 32, PRESETS["classic"], (ADA, BEN), None, new_match(PRESETS["classic"], 2), resumed=True)
OVER = MatchResult("ab" * 32, ((0,), (1,)), (ADA, BEN), Path("transcript"), True)


def table() -> tuple[PlayerTable, list[str]]:
    """Return the table of a player who can play again, and its record of sentences."""
    paper = Paper(is_interactive=True)
    genesis = SimpleNamespace(patience=Patience())
    match = SimpleNamespace(info=(ADA, BEN), history=SimpleNamespace(genesis=genesis, walk=lambda _: ()))
    node = cast("Any", SimpleNamespace(match=match))

    async def again(_wish: str) -> None:
        await asyncio.Event().wait()

    return PlayerTable(node, face=cast("Face", paper), again=again), paper.said


async def test_a_player_who_waits_for_a_seat_only_watches() -> None:
    waiting, said = table()
    waiting.take(OVER)
    waiting.obey("again")
    waiting.take(STARTED)
    said.clear()
    for line in ("again", "concede", "quit"):
        waiting.obey(line)
    assert said == [
        "You are already waiting for the next match.",
        "You only watch this match.",
        "You left the table.",
    ]
    said.clear()
    waiting.take(OVER)
    assert not any('"again"' in each for each in said)


def test_a_player_who_left_after_a_match_is_not_away_in_the_next() -> None:
    guest, _ = table()
    for event in (STARTED, OVER, PeerLost(BEN, left_on_purpose=True)):
        guest.take(event)
    assert BEN.fingerprint in guest.board.away
    guest.take(replace(STARTED, match_id="cd" * 32, resumed=False))
    assert not guest.board.away | guest.board.gone | guest.away().keys()


def test_a_player_who_was_away_still_is_after_a_return() -> None:
    guest, _ = table()
    for event in (STARTED, PeerLost(BEN), STARTED):
        guest.take(event)
    assert guest.away().keys() == {BEN.fingerprint}


HOST_LEFT = "Ada, the host, left. Type again host to open a table, or quit and join one with p2pdice join."


def test_a_guest_is_told_once_what_to_do_if_the_host_leaves_after_the_match() -> None:
    for leaves, told in ((ADA, HOST_LEFT), (BEN, "Ben left.")):
        guest, said = table()
        guest.take(TableJoined("Friday", ADA, PRESETS["classic"], 2))
        for event in (STARTED, OVER):
            guest.take(event)
        said.clear()
        guest.take(PeerLost(leaves, left_on_purpose=True))
        assert said == [told]


async def test_again_is_answered_at_once_if_the_host_has_left() -> None:
    guest, said = table()
    for event in (STARTED, OVER, PeerLost(ADA, left_on_purpose=True)):
        guest.take(event)
    assert said[-1] == "Ada left.", "nobody has said that she is the host"
    guest.obey("again")
    await asyncio.sleep(0)
    for state in ("asked", "silent"):
        guest.take(AwaitingHost(ADA, state, 20.0))
    assert said[-1] == HOST_LEFT
    assert guest._returning is not None
    await asyncio.wait([guest._returning])
    assert not guest.is_waiting


def test_quitting_while_the_end_is_shown_leaves_the_table() -> None:
    late, said = table()
    late.take(STARTED)
    cast("Any", late)._node.match = None
    late.obey("quit")
    assert said[-1] == "You left the table."


@pytest.mark.parametrize(
    ("host", "state", "told"),
    [
        (ADA, "asked", "Asking Ada for a seat."),
        (ADA, "silent", "Ada isn't answering. If that lasts 20 seconds, you stop waiting."),
        (ADA, "there", "Waiting for Ada to open the table again."),
        (ADA, "full", "No seat is free now. You get the next one."),
        (ADA, "playing", "Ada is playing with others. You watch, and get a seat in the next match if one is free."),
        (None, "silent", "None of the players is answering. If that lasts 20 seconds, you stop waiting."),
        (None, "there", "Waiting for one of the players to open the table again."),
    ],
)
def test_a_waiting_player_or_spectator_is_told_the_reason(host: PlayerInfo | None, state: HostIs, told: str) -> None:
    assert narrate(AwaitingHost(host, state, 20.0), Seating()) == told


@pytest.mark.parametrize(
    ("wish", "seats", "rules"),
    [
        ("", 3, "classic"),
        ("4", 4, "classic"),
        ("perudo", 3, "perudo"),
        ("4 perudo", 4, "perudo"),
        ("perudo 4", 4, "perudo"),
    ],
)
async def test_again_takes_seats_and_rules_in_any_order(wish: str, seats: int, rules: str) -> None:
    opened: list[TableSettings] = []

    async def host(table: TableSettings) -> None:
        opened.append(table)

    node = cast("Any", SimpleNamespace(party=None, host=host))
    await open_again(node, TableSettings("Friday", PRESETS["classic"], 3), wish)
    assert [(table.seats, table.ruleset) for table in opened] == [(seats, PRESETS[rules])]


async def test_if_the_host_does_not_return_a_guest_is_told_how_to_host() -> None:
    guest, said = table()

    async def again(_wish: str) -> None:
        raise NodeError(ErrorCode.UNREACHABLE, "Ada cannot be reached any more", "host a table of your own")

    guest._again = again
    for event in (STARTED, OVER):
        guest.take(event)
    guest.obey("again")
    assert guest._returning is not None
    await guest._returning
    assert said[-1].startswith("Ada cannot be reached any more. Type again host to open a table, or quit")


@pytest.mark.parametrize("rules", ["motes", "classic"])
def test_a_reopened_table_with_motes_names_the_pledge(rules: str) -> None:
    guest, said = table()
    cast("Any", guest)._node.pledge = "redeemed"
    for event in (STARTED, OVER):
        guest.take(event)
    said.clear()
    for _ in range(2):
        guest.take(TableJoined("Friday", ADA, PRESETS[rules], 2))
    told = "You are pledged to Redeemed. If you prefer Cursed, quit now and come back with --pledge cursed."
    assert said.count(told) == (rules == "motes")


def test_a_spectator_can_ask_for_a_seat_during_the_match() -> None:
    paper = Paper(is_interactive=True)
    genesis = SimpleNamespace(patience=Patience())
    match = SimpleNamespace(
        info=(ADA, BEN),
        history=SimpleNamespace(genesis=genesis, walk=lambda _: ()),
        is_ended=False,
        id=bytes.fromhex(STARTED.match_id),
    )
    node = cast("Any", SimpleNamespace(match=match))
    watching = SpectatorTable(node, Showing(), "Friday")
    watching.face = cast("Face", paper)
    assert not watching.board.may_speak, "the table has not allowed spectators to speak"
    assert not watching.is_offered("again")
    watching.take(STARTED)
    watching.obey("again")
    assert paper.said[-1] == "You sit down for the next match as soon as this one is over."
    assert watching.is_waiting
    assert not watching.wants_seat
    watching.take(OVER)
    assert watching.wants_seat


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a spectator",), "A spectator is watching."),
        (("ada",), "ada is watching."),
        (("a spectator", "Eve", "a spectator"), "Eve and two spectators are watching."),
        (("a spectator",) * 3, "Three spectators are watching."),
    ],
)
def test_spectators_are_named_or_counted(names: tuple[str, ...], told: str) -> None:
    assert narrate(Watching(names), Seating()) == told


# Commands that wait for their table


def test_without_a_terminal_join_does_not_wait_unless_asked(here: Run) -> None:
    for place in ([], [NOWHERE], ["417-tiger-olive"]):
        done = here("join", *place)
        assert done.returncode == ExitCode.UNREACHABLE
        assert "Waiting" not in done.stderr
        assert (NOWHERE in done.stderr) is (place == [NOWHERE])


@pytest.mark.parametrize("place", ["name", *thoroughly(["any"])])
def test_join_waits_until_the_table_opens(tmp_path: Path, place: str) -> None:
    table = f"Early {tmp_path.name}"[-30:]
    with seated(tmp_path / "Ben", "join", *([table] if place == "name" else []), "--wait", "--name", "Ben") as guest:
        guest.until("Ctrl-C leaves.")
        with seated(tmp_path / "Ada", "host", table, "--set", "dice=1", "--name", "Ada") as host:
            guest.until(table)
            play_together(host, guest)
            assert host.finish()[0] == guest.finish()[0] == ExitCode.DONE


@TERMINAL
def test_a_waiting_player_can_leave_with_ctrl_c(tmp_path: Path) -> None:
    with Terminal(tmp_path / "home", "join", NOWHERE, "--ui", "screen") as person:
        person.until(f'led "{NOWHERE}" is advertised', "Waiting until it opens. Ctrl-C leaves.")
        assert person.interrupt() == ExitCode.INTERRUPTED
        assert "Traceback" not in person.shown()
        assert person.is_sane()
    with Terminal(tmp_path / "home", "join", NOWHERE, "--no-wait") as person:
        assert person.end() == ExitCode.UNREACHABLE


@TERMINAL
def test_join_without_a_name_waits_for_the_first_table(tmp_path: Path) -> None:
    with Terminal(tmp_path / "Ben", "join", "--name", "Ben") as person:
        person.until("Waiting for one. Ctrl-C leaves.", "p2pdice host")
        with seated(tmp_path / "Ada", "host", "Late", "--name", "Ada") as host:
            person.until("Which table?")
            person.type("\r")
            host.until("Ben")


@TERMINAL
def test_joining_too_late_offers_to_watch(tmp_path: Path) -> None:
    table = f"Late {tmp_path.name}"[-30:]
    with (
        seated(tmp_path / "Ada", "host", table, "--name", "Ada") as host,
        seated(tmp_path / "Ben", "join", table, "--wait", "--name", "Ben") as guest,
    ):
        if guest.until("You roll ") and host.until("You roll "):
            with Terminal(tmp_path / "Eve", "join", table, "--name", "Eve") as late:
                late.until("has begun already. Watch it?")
                late.type("y\r")
                late.until("Round 1")
                late.type("quit\r")
                assert late.end() == ExitCode.DONE
            with Terminal(tmp_path / "Eve", "join", table, "--name", "Eve") as late:
                late.until("has begun already. Watch it?")
                late.type("\r")
                assert late.end() == ExitCode.REFUSED


@TERMINAL
def test_picked_table_is_watched_although_its_match_begins_meanwhile(tmp_path: Path) -> None:
    table = f"Late {tmp_path.name}"[-30:]
    with seated(tmp_path / "Ada", "host", table, "--name", "Ada") as host:
        host.until("p2pdice join ")
        with Terminal(tmp_path / "Eve", "watch", "--name", "Eve") as late:
            late.until(table, "Which match?")
            with seated(tmp_path / "Ben", "join", table, "--wait", "--name", "Ben") as guest:
                guest.until("You roll ")
                host.until("You roll ")
                late.type(f"{table}\r")
                late.until("Round 1")
                late.type("quit\r")
                assert late.end() == ExitCode.DONE


# The pledge


@TERMINAL
@pytest.mark.parametrize(
    ("answer", "pledge"),
    [
        ("\r", "redeemed"),
        pytest.param("2\r", "cursed", marks=pytest.mark.thorough),
        pytest.param("c\r", "cursed", marks=pytest.mark.thorough),
    ],
)
def test_a_host_at_a_terminal_is_asked_for_a_pledge(tmp_path: Path, answer: str, pledge: str) -> None:
    with Terminal(tmp_path / "home", "host", "--rules", "motes", "--bots", "1", "--name", "Ada") as person:
        person.until("run ticket if it is of the group", "Your pledge?")
        person.type(answer)
        person.until("on your own victory")
        assert pledge in pledges_of(tmp_path / "home")


@TERMINAL
def test_a_guest_is_asked_for_a_pledge_after_seeing_the_rules(tmp_path: Path) -> None:
    table = ("host", "Moths", "--rules", "motes", "--name", "Ada")
    with seated(tmp_path / "Ada", *table) as host:  # through a pipe there is no question
        host.until("p2pdice join ")
        with Terminal(tmp_path / "Ben", "join", "Moths", "--name", "Ben") as guest:
            guest.until("Your pledge?")
            assert "Ben" not in host.shown(), "no seat is taken without a pledge"
            guest.type("cursed\r")
            host.until("on your own victory")
            assert pledges_of(tmp_path / "Ada") == {"redeemed", "cursed"}


@TERMINAL
def test_a_guest_is_not_asked_for_an_unneeded_pledge(tmp_path: Path) -> None:
    for rules, given in (("motes", ("--pledge", "cursed")), ("classic", ())):
        with seated(tmp_path / f"Ada {rules}", "host", rules, "--rules", rules, "--name", "Ada") as host:
            host.until("p2pdice join ")
            with Terminal(tmp_path / f"Ben {rules}", "join", rules, *given, "--name", "Ben") as guest:
                host.until("Ben")
                host.until("on your own victory", "Round 1")
                assert "Your pledge?" not in guest.shown()


def pledges_of(home: Path) -> set[str]:
    """Return the pledges of all players in the match of a home."""
    with closing(sqlite3.connect(f"file:{Home(home).store}?mode=ro", uri=True)) as store:
        (genesis,) = store.execute("SELECT genesis FROM matches").fetchone()
    return {record.join.pledge for record in parse_genesis(genesis).roster}


async def test_join_waits_until_a_code_is_advertised() -> None:
    locator, host, told = Locator(None, is_enabled=True), Discovery(), []
    number = 901 + secrets.randbelow(90)

    def absent(error: NodeError) -> None:
        told.append(error.reason)
        opening.set()

    opening = asyncio.Event()
    hearing = locator.numbered(number, absent)
    search = asyncio.ensure_future(anext(hearing))
    try:
        await asyncio.wait([search, asyncio.create_task(opening.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert told == [f"no table here has number {number}"]
        await host.start(None)
        await host.advertise(Advertisement("00" * 8, "-", "-", 0, 2, PRIVATE, PROTOCOL_VERSION, number), 7000)
        async with asyncio.timeout(PATIENCE):
            assert {each.advertisement.number for each in await search} == {number}
    finally:
        await hearing.aclose()
        await host.close()
        await locator.close()


@pytest.mark.parametrize(("resumed", "minutes"), [(False, 12), (True, 0)])
def test_a_table_measures_the_length_of_matches_that_began_there(
    monkeypatch: pytest.MonkeyPatch, resumed: bool, minutes: int
) -> None:
    line, _ = table()
    now = [100.0]
    monkeypatch.setattr("cli.table.live_table.time.monotonic", lambda: now[0])
    line.take(replace(STARTED, resumed=resumed))
    now[0] += 12 * 60 + 20
    line.take(OVER)
    assert line.minutes == minutes
