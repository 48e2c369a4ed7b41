"""The demo: a match between processes, with real discovery, TLS and signatures."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.bots import crew
from cli.bots.bot import Level
from cli.bots.crew import DemoMatch, Order
from cli.commands.demo import RoundSummary, judge
from cli.exits import Failure
from cli.text.narrate import event_line
from cli.text.seating import Seating
from p2pdice import events
from p2pdice.motes import Die
from p2pdice.views import state_json
from protocol import events as node
from tests.cli.conftest import Run
from tests.cli.samples import node_events
from tests.p2pdice.scripted import random_play, rules

pytestmark = pytest.mark.multicast


def test_the_demo_leaves_an_identical_transcript_in_each_home(demo: dict[str, Any]) -> None:
    paths = [Path(path) for path in demo["transcripts"]]
    homes = [path.parents[1] for path in paths]
    assert [home.name for home in homes] == ["ada", "ben", "cleo", "dan"]
    assert {home.parent for home in homes} == {Path(demo["folder"])}
    assert len({path.read_bytes() for path in paths}) == 1
    assert len({(home / "identity.key").read_bytes() for home in homes}) == 4
    assert (demo["verdict"], demo["identical"], sorted(demo["players"])) == (
        "fair",
        True,
        ["Ada", "Ben", "Cleo", "Dan"],
    )
    assert set(demo["winners"]) <= set(demo["players"])


def test_the_demo_reports_each_round_and_every_cup(demo: dict[str, Any]) -> None:
    lines = demo["progress"].splitlines()
    assert lines[0].startswith("The seed fixes the bots' choices.")
    rounds = [line for line in lines if line.startswith("Round ")]
    assert len(rounds) == demo["rounds"] > 0
    told = " ".join(demo["progress"].split())
    showdowns = [event for event in demo["events"] if event["type"] == "hands"]
    assert told.count("The cups go up.") == len(showdowns) == demo["rounds"]
    cups = [line for line in lines if line.startswith("    ")]
    shown = [[int(face) for face in re.findall("[1-6]", line)] for line in cups]
    assert shown == [cup for event in showdowns for cup in event["hands"] if cup]
    assert told.count(" loses a die: ") == sum(event["type"] == "die-lost" for event in demo["events"])
    assert max(map(len, lines[2:])) < 80
    assert "\x1b" not in demo["progress"]


def test_the_demos_json_contains_the_places(demo: dict[str, Any]) -> None:
    assert [demo["players"][seat] for seat in demo["places"][0]] == demo["winners"]
    assert sorted(seat for place in demo["places"] for seat in place) == [0, 1, 2, 3]
    assert not {"prize", "stakes", "twin_soul"} & set(demo)


def test_the_demos_last_commands_can_be_typed(p2pdice: Run, tmp_path: Path) -> None:
    done = p2pdice("demo", "--players", "2", "--rules", "joker", "--set", "dice=2", "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Two transcripts verified, byte for byte the same" in done.stdout
    commands = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("    p2pdice ")]
    assert [command[0] for command in commands] == ["verify", "replay"]
    judged, seen = (p2pdice(*command) for command in commands)
    assert (judged.returncode, seen.returncode) == (0, 0)
    assert "FAIR" in judged.stdout
    assert seen.stdout.count("All dice of this round:") == seen.stdout.count("\nRound ") > 0


def exhibition(tmp_path: Path, warnings: list[str]) -> DemoMatch:
    return DemoMatch([Level.ODDS, Level.MIND], ["--set", "dice=1"], tmp_path, None, lambda event: None, warnings.append)


async def test_without_multicast_the_demos_bots_get_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = crew.start_house_bot

    async def start_deaf(
        order: Order, arguments: list[str], log: Path, *, is_heard: bool
    ) -> asyncio.subprocess.Process:
        # The guest looks for a table that is not advertised, as if the network had lost the advertisement.
        is_guest = "--seats" not in arguments and "/" not in order.table
        return await start(Order("nowhere") if is_guest else order, arguments, log, is_heard=is_heard)

    monkeypatch.setattr("cli.bots.crew.start_house_bot", start_deaf)
    warnings: list[str] = []
    played = exhibition(tmp_path, warnings)
    await played.run()
    assert [each.found_by_itself for each in played.contestants] == [True, False]
    assert warnings == ["The table was not found by multicast in time: the bots are told its address."]
    verdict, _ = judge(played)
    assert verdict.verdict == "fair"
    assert sorted(verdict.players) == ["Ada", "Ben (mind bot)"], "a level is named if it is not the default"


async def test_a_demo_bot_with_a_broken_key_is_reported_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "ben").mkdir(mode=0o700)
    (tmp_path / "ben" / "identity.key").write_bytes(b"no key")
    (tmp_path / "ben" / "identity.key").chmod(0o600)
    with pytest.raises(Failure, match="The bot Ben") as failed:
        await exhibition(tmp_path, []).run()
    log = tmp_path / "ben" / "p2pdice.log"
    assert str(log) in failed.value.hint
    assert "not a readable key" in log.read_text(encoding="utf-8")


def test_different_transcripts_fail_the_demo(demo: dict[str, Any], tmp_path: Path) -> None:
    played = exhibition(tmp_path, [])
    for contestant, cut in zip(played.contestants, (0, 40), strict=True):
        contestant.transcript = tmp_path / contestant.name
        content = Path(demo["transcripts"][0]).read_bytes()
        contestant.transcript.write_bytes(content[: len(content) - cut])
    with pytest.raises(Failure, match=r"is (incomplete|altered)"):
        judge(played)


def account_of(told: list[node.NodeEvent], seating: Seating) -> tuple[RoundSummary, list[str]]:
    """Return the summary of these events of a node, and the lines that it prints."""
    account = RoundSummary()
    return account, [line for event in told for line in account.take(json.loads(event_line(event, seating)))]


def test_the_summary_of_a_demo_accepts_every_event() -> None:
    account, lines = account_of(list(node_events("A\x1b")), Seating(("A", "B", "C")))
    assert lines[lines.index("Round 3. B starts. 9 dice. Special round: ones aren't wild.") - 1] == ""
    assert "    A: 1, 3, 3. Three count." in lines
    assert account.ending == "A and C win. Then B."
    assert account.rounds == 3
    assert {"type": "taken-back"} in account.events
    assert all(line.isprintable() for line in lines)


@given(st.integers(0, 2**32), st.sampled_from([{}, {"stakes": "no"}]))
@settings(max_examples=15, deadline=None)
def test_a_demo_of_motes_reports_all_events_and_agrees_with_the_referee(seed: int, changes: dict[str, str]) -> None:
    seating = Seating(("Ada", "Ben", "Cleo"))
    told: list[node.NodeEvent] = []
    for _, state, happened in random_play(rules("motes", **changes), 3, Random(seed)):
        told += [node.Happened(event, state) for event in happened]
    account, lines = account_of(told, seating)
    judged = state_json(state)
    known = {"pledges", "prize", "stakes", "twin_soul", "payout", "delta", "ticket_delta", "places"} & set(judged)
    outcome = account.outcome()
    # A winner who leaves before naming the winning die has won without a Twin Soul.
    assert {key: outcome.get(key) for key in known} == {key: judged[key] for key in known}
    assert account.events == [event.event.to_json() for event in told if isinstance(event, node.Happened)]
    text = " ".join(lines)
    for event in (each.event for each in told if isinstance(each, node.Happened)):
        match event:
            case events.PrizeDrawn():
                assert f"The prize is {event.mote.capitalize()};" in text
            case events.StakesOpened():
                assert f"Ada {event.stakes[0].bet:,} of " in text
            case events.DieLost(die=Die() as die):
                assert f"{die.mote.capitalize()} to the graveyard" in text
            case events.PowerPlayed() if event.target is not None:
                aim = event.target
                target = seating.names[aim] if isinstance(aim, int) else seating.die(aim, event.seat)
                played = seating.die(event.die, event.seat)
                deeds = "to take back|to swap it for|to stop|to block|to destroy"
                assert re.search(rf"plays {played} ({deeds}) {target}", text)
            case events.TwinSoulJoined():
                assert f"the Twin Soul {event.name}" in text
            case events.StakesPaid():
                assert all(f"paid {coins:,}" in text for coins in event.payout if coins)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_at_a_terminal_a_demo_is_shown_on_the_full_screen(tmp_path: Path) -> None:
    from tests.cli.screen import Terminal

    options = ("--players", "3", "--set", "dice=2", "--out", str(tmp_path / "out"), "--ui", "screen", "--pace", "1")
    with Terminal(tmp_path / "me", "demo", *options) as watcher:
        watcher.until_display("Three programs found each other", "Demo", "round 1")
        assert not re.search(r"dice .*[●⚀-⚅]", "\n".join(watcher.display()[2:5])), "cups are closed"
        watcher.type(" ")
        watcher.until_display("Nobody can see a die early", "round 2")
        watcher.type("\x1b[F")
        watcher.until_display("match over")
        watcher.type("\r")
        assert watcher.end() == 0
        after = watcher.raw.rpartition(b"\x1b[?1049l")[2].decode()
        assert "Three transcripts verified, byte for byte the same" in " ".join(after.split())
