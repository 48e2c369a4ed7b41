"""A whole demo: separate processes, real discovery, TLS and signatures, in the ordinary run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cli import children
from cli.account import Account
from cli.commands.demo import judge
from cli.exhibition import Exhibition
from cli.exits import Failure
from cli.seating import Seating
from cli.stream import event_line
from p2pdice import PRESETS, new_match
from protocol import events as node
from tests.cli.conftest import Run
from tests.cli.samples import FINGERPRINT, GAME, bidding

pytestmark = pytest.mark.xdist_group("multicast")


def test_a_demo_ends_with_identical_transcripts_in_homes_of_their_own(demo: dict[str, Any]) -> None:
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


def test_a_demo_is_told_round_by_round(demo: dict[str, Any]) -> None:
    lines = demo["progress"].splitlines()
    assert lines[0].startswith("The seed fixes what the bots choose.")
    rounds = [line for line in lines if line.startswith("Round ")]
    assert len(rounds) == demo["rounds"] > 0
    assert all(" liar: " in line and "loses a die" in line for line in rounds)
    assert "\x1b" not in demo["progress"]


def test_for_people_a_demo_ends_with_the_paths_and_what_to_type(p2pdice: Run, tmp_path: Path) -> None:
    done = p2pdice("demo", "--players", "2", "--rules", "joker", "--set", "dice=2", "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Two transcripts verified, byte for byte the same" in done.stdout
    command = done.stdout.splitlines()[-1].split()
    assert p2pdice(*command[1:]).returncode == 0


def exhibition(tmp_path: Path, warnings: list[str]) -> Exhibition:
    return Exhibition(2, ["--set", "dice=1"], tmp_path, None, lambda event: None, warnings.append)


async def test_where_multicast_fails_the_bots_are_told_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = children.start_house_bot

    async def start_deaf(table: str, arguments: list[str], log: Path, *, is_heard: bool) -> asyncio.subprocess.Process:
        # The guest looks for a table that nobody advertises, as if the network had swallowed the advertisement.
        is_guest = "--seats" not in arguments and "/" not in table
        return await start("nowhere" if is_guest else table, arguments, log, is_heard=is_heard)

    monkeypatch.setattr("cli.exhibition.start_house_bot", start_deaf)
    warnings: list[str] = []
    played = exhibition(tmp_path, warnings)
    await played.run()
    assert [each.found_by_itself for each in played.contestants] == [True, False]
    assert len(warnings) == 1
    assert judge(played)[0].verdict == "fair"


async def test_a_bot_with_a_broken_key_is_named_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "ben").mkdir(mode=0o700)
    (tmp_path / "ben" / "identity.key").write_bytes(b"no key")
    (tmp_path / "ben" / "identity.key").chmod(0o600)
    with pytest.raises(Failure, match="The bot Ben") as failed:
        await exhibition(tmp_path, []).run()
    log = tmp_path / "ben" / "p2pdice.log"
    assert str(log) in failed.value.hint
    assert "not a readable key" in log.read_text(encoding="utf-8")


def test_transcripts_that_differ_are_a_failure(demo: dict[str, Any], tmp_path: Path) -> None:
    played = exhibition(tmp_path, [])
    for contestant, cut in zip(played.contestants, (0, 40), strict=True):
        contestant.transcript = tmp_path / contestant.name
        content = Path(demo["transcripts"][0]).read_bytes()
        contestant.transcript.write_bytes(content[: len(content) - cut])
    with pytest.raises(Failure, match=r"is (incomplete|altered)"):
        judge(played)


def test_an_account_takes_every_event_in_its_stride() -> None:
    account = Account()
    seating = Seating(("A", "B", "C"))
    players = tuple(node.PlayerInfo(name, FINGERPRINT) for name in ("A\x1b", "B", "C"))
    start = node.MatchStarted("ab" * 32, PRESETS["perudo"], players, 0, new_match(PRESETS["perudo"], 3))
    told: list[node.NodeEvent] = [start, *(node.Happened(event, bidding()) for event in GAME)]
    lines = [account.take(json.loads(event_line(event, seating))) for event in told]
    assert [line for line in lines if line] == [
        "Round 3 (A\\x1b 5, B 4). A\\x1b 2x3, B liar, B exact, C accuser: three threes, the round is void,"
        " B loses a die, B gains a die, B is out, B is out, B is out, B is out"
    ]
    assert account.ending == "A\\x1b and C won; then B"
