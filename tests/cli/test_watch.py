"""``p2pdice watch`` through pipes: output for programs, and the reasons why a match cannot be watched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.exits import ExitCode
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import verify
from tests.cli.conftest import Run
from tests.cli.seat import OVER, SeatedPlayer, play_together, seated
from tests.programs import MODULE, Program
from tests.protocol.test_archive import stored
from tests.simulation.world import World

pytestmark = pytest.mark.multicast


def line_of(host: SeatedPlayer) -> str:
    return host.until("    p2pdice join ").split()[2]


def test_a_watching_program_gets_an_object_per_event_and_a_fair_transcript(tmp_path: Path) -> None:
    with seated(tmp_path / "a", "host", "--interface", "127.0.0.1", "--set", "dice=1", "--name", "Ada") as host:
        line = line_of(host)
        with Program(*MODULE, "watch", line, "--json", home=tmp_path / "w") as watching:
            watching.close_input()  # the end of the input must not end watching
            watching.wait_for(lambda: watching.output, "a first object")
            with seated(tmp_path / "b", "join", line, "--name", "Ben") as guest:
                play_together(host, guest)
                assert (watching.end(), watching.errors) == (0, [])
                assert (host.finish()[0], guest.finish()[0]) == (0, 0)
    told: list[dict[str, Any]] = [json.loads(each) for each in watching.output]
    assert told[0]["type"] == "TableWatched"
    kinds = {each["type"] for each in told}
    assert {"LobbyChanged", "MatchFormed", "MatchStarted", "Happened", "MatchOver"} <= kinds
    assert not kinds & {"DiceRolled", "YourTurn"}
    assert all(each["sentence"] for each in told)
    assert verify(Path(told[-1]["transcript"]).read_bytes()).verdict == "fair"


def test_watching_continues_after_the_end_of_the_input(tmp_path: Path, here: Run) -> None:
    with seated(tmp_path / "a", "host", "--interface", "127.0.0.1", "--set", "dice=1", "--name", "Ada") as host:
        line = line_of(host)
        with (
            seated(tmp_path / "w", "watch", line) as watcher,
            seated(tmp_path / "b", "join", line, "--name", "Ben") as guest,
        ):
            watcher.type("liar")
            watcher.until("You only watch here.")
            watcher.type("say hello")
            watcher.until("Spectators cannot speak.")
            watcher.close_input()
            play_together(host, guest)
            watcher.until(OVER)
            code, output = watcher.finish()
    assert code == 0
    assert "You roll" not in output


@pytest.mark.parametrize(
    ("target", "code", "why"),
    [
        ("127.0.0.1:1", ExitCode.UNREACHABLE, "nobody listens"),
        ("127.0.0.1:1/TYPO", ExitCode.UNREACHABLE, "not a join line"),
        ("p2pdice watch 127.0.0.1:1", ExitCode.UNREACHABLE, "nobody listens"),
        ("127.0.0.1:99999", ExitCode.UNREACHABLE, "is not an address: a port is a number from 1 to 65535"),
    ],
)
def test_a_match_that_cannot_be_watched_is_answered_with_the_reason(
    here: Run, target: str, code: ExitCode, why: str
) -> None:
    done = here("watch", target)
    assert done.returncode == code
    assert why in done.stderr.lower()
    assert done.stdout == ""


def test_the_help_says_who_sees_a_spectators_name(here: Run) -> None:
    assert "It is not shown while you watch" in " ".join(here("watch", "--help").stdout.split())


def test_a_home_in_use_is_reported_before_a_match_is_chosen(tmp_path: Path, here: Run) -> None:
    with stored(tmp_path / "home", World(PRESETS["classic"], 2, 2), 0):
        for table in ([], ["Friday"]):
            done = here("watch", *table)
            assert done.returncode == ExitCode.FAILURE
            assert done.stdout == ""
            hint = f"p2pdice {' '.join(['watch', *table])} --home DIR\n"
            assert f"is in use by another p2pdice.\nWatch from another home: {hint}" in done.stderr


def test_a_private_table_needs_the_whole_join_line(tmp_path: Path, here: Run) -> None:
    with seated(tmp_path / "a", "host", "--private", "--interface", "127.0.0.1", "--name", "Ada") as host:
        line = line_of(host)
        watching, joining = here("watch", line.partition("/")[0]), here("join", line.rpartition("/")[0])
    assert watching.returncode == joining.returncode == ExitCode.REFUSED
    assert "join line" in watching.stderr
    assert "private" in joining.stderr


def test_watching_with_a_short_code_is_refused_with_advice(here: Run) -> None:
    done = here("watch", "417-tiger-olive", "--name", "Eve")
    assert done.returncode == ExitCode.REFUSED
    assert "for joining, not for watching" in done.stderr
    assert "long join line" in done.stderr
