"""Whoever waits for a seat at a table: what they are told, what they can type, and how they leave."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.settings import Settings
from cli.table.face import Face
from cli.table.player_table import PlayerTable
from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice import PRESETS, new_match
from protocol.events import AwaitingHost, HostIs, MatchResult, MatchStarted, PeerLost, PlayerInfo
from protocol.wire.genesis import Patience
from tests.cli.paper import Paper

ADA, BEN = PlayerInfo("Ada", "1111-2222"), PlayerInfo("Ben", "3333-4444")
STARTED = MatchStarted("ab" * 32, PRESETS["classic"], (ADA, BEN), None, new_match(PRESETS["classic"], 2), resumed=True)
OVER = MatchResult("ab" * 32, ((0,), (1,)), (ADA, BEN), Path("transcript"), True)


def table() -> tuple[PlayerTable, list[str]]:
    """Return the table of somebody who has a way back, and what is said there."""
    paper = Paper(is_interactive=True)
    genesis = SimpleNamespace(patience=Patience())
    match = SimpleNamespace(info=(ADA, BEN), history=SimpleNamespace(genesis=genesis))
    node = cast("Any", SimpleNamespace(match=match))

    async def again(_wish: str) -> None:
        await asyncio.Event().wait()

    return PlayerTable(node, Settings(Path("home")), face=cast("Face", paper), again=again), paper.said


async def test_a_player_who_waits_for_a_seat_looks_on_and_is_told_so() -> None:
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
    assert waiting.hint() == 'You get a seat in the next match if one is free. Type "quit" to leave.'
    said.clear()
    waiting.take(OVER)
    assert not any('"again"' in each for each in said)


def test_nobody_who_left_after_a_match_is_away_in_the_next_one_that_they_play() -> None:
    guest, _ = table()
    for event in (STARTED, OVER, PeerLost(BEN, left_on_purpose=True)):
        guest.take(event)
    assert BEN.fingerprint in guest.board.away
    guest.take(replace(STARTED, match_id="cd" * 32, resumed=False))
    assert not guest.board.away | guest.board.gone


async def test_a_wish_for_another_match_is_answered_at_once_if_the_host_has_left() -> None:
    guest, said = table()
    for event in (STARTED, OVER, PeerLost(ADA, left_on_purpose=True)):
        guest.take(event)
    assert said[-1] == "Ada left."
    guest.obey("again")
    await asyncio.sleep(0)
    for state in ("asked", "silent"):
        guest.take(AwaitingHost(ADA, state, 20.0))
    assert said[-1].startswith("Ada, the host, left. Type again host to open the table yourself")
    assert guest._returning is not None
    await asyncio.wait([guest._returning])
    assert not guest.is_waiting


def test_a_player_who_leaves_while_the_end_is_still_being_shown_has_left_the_table() -> None:
    late, said = table()
    late.take(STARTED)
    cast("Any", late)._node.match = None
    late.obey("quit")
    assert said[-1] == "You left the table."


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("asked", "Asking Ada for a seat."),
        ("silent", "Ada does not answer. If that lasts 20 seconds, you stop waiting."),
        ("there", "Waiting for Ada to open the table again."),
        ("full", "No seat is free now. You get the next one."),
        ("playing", "Ada is playing with others. You watch, and get a seat in the next match if one is free."),
    ],
)
def test_a_player_who_waits_is_told_the_reason(state: HostIs, told: str) -> None:
    assert narrate(AwaitingHost(ADA, state, 20.0), Seating()) == told
