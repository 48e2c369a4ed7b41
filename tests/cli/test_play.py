"""Whole matches in line mode, between processes with homes of their own, over real sockets and real multicast."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.bots.crew import Order
from cli.exits import ExitCode
from cli.render import qr_code
from protocol.storage.store import Store
from tests.cli.conftest import Run
from tests.cli.seat import SeatedPlayer, play_together, seated
from tests.programs import environment
from tests.tiers import thoroughly

Sit = Callable[..., SeatedPlayer]
RETURN = "Perhaps you mean your own unfinished match. Return to it:\n    p2pdice resume 2"


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Sit]:
    """Start players. Each home has the name of its player."""
    with ExitStack() as stack:

        def start(name: str, command: str, *arguments: str) -> SeatedPlayer:
            named = () if command == "resume" else ("--name", name)
            return stack.enter_context(seated(tmp_path / name, command, *arguments, *named))

        yield start


def join_line(host: SeatedPlayer) -> str:
    while "/" not in (line := host.until("p2pdice join ").split()[-1]):  # skips the short code, which is printed first
        pass
    return line


def transcript(output: str) -> Path:
    line = next(line for line in output.splitlines() if "The transcript is " in line)
    return Path(line.partition("The transcript is ")[2])


def assert_one_fair_match(here: Run, *players: SeatedPlayer) -> None:
    ends = [player.finish() for player in players]
    assert [code for code, _ in ends] == [0] * len(players)
    paths = [transcript(output) for _, output in ends]
    assert len({path.read_bytes() for path in paths}) == 1
    assert here("verify", *map(str, paths)).returncode == ExitCode.DONE


@pytest.mark.parametrize("how", ["join line", *thoroughly(["name", "address", "short code"])])
def test_a_guest_joins_and_a_match_is_played(sit: Sit, here: Run, tmp_path: Path, how: str) -> None:
    table = f"{tmp_path.name} {how}"[-40:].strip()
    host = sit("Ada", "host", table, "--set", "dice=2", *(["--private"] if how in ("join line", "short code") else []))
    code = host.until("p2pdice join ").split()[-1] if how == "short code" else ""
    line = join_line(host)
    ways = {"name": table, "address": line.partition("/")[0], "join line": line, "short code": code}
    guest = sit("Ben", "join", ways[how])
    assert "Ada's table" in guest.until("You are at ")
    play_together(host, guest)
    assert_one_fair_match(here, host, guest)


def test_the_host_starts_a_match_before_all_seats_are_taken(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--seats", "4", "--set", "dice=1", "--rules", "spot-on")
    line = join_line(host)
    guests = [sit(name, "join", line) for name in ("Ben", "Cleo")]
    host.until("One seat is free.")
    host.type("start")
    play_together(host, *guests)
    assert_one_fair_match(here, host, *guests)


def test_a_host_can_remove_a_guest_and_readmit_them(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--seats", "3")
    line = join_line(host)
    guest = sit("Ben", "join", line)
    host.until("Ben sits down.")
    host.type("remove Ben")
    code, output = guest.finish()
    assert code == ExitCode.REFUSED
    assert "the host has sent you away from this table." in output.lower()
    refused = sit("Ben", "join", line).finish()
    assert refused[0] == ExitCode.REFUSED
    host.type("seat Ben")
    assert "Ada's table" in sit("Ben", "join", line).until("You are at ")


def test_a_match_against_a_silent_player_can_be_claimed(sit: Sit, here: Run, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--patience", "5")
    guest = sit("Ben", "join", join_line(host))
    guest.until("You roll")
    host.until("You roll")
    host.type("1x2")  # in case it is her turn, so that the match waits for Ben
    host.type("claim")
    host.until("away for a while")
    host.until("The match waits for Ben.")
    host.type("claim")
    assert "Ben had been away for" in host.until("You left the match")
    code, output = host.finish()
    assert code == ExitCode.DONE
    path = Path(output.partition("The match so far is in ")[2].splitlines()[0])
    assert ": INCOMPLETE" in here("verify", str(path)).stdout.upper()
    for command in (("matches",), ("history",)):
        told = here(*command, "--home", str(tmp_path / "Ada")).stdout
        assert "nobody won: you left it when the other player had been away for " in told
    assert here("history", "stats", "--home", str(tmp_path / "Ada")).stdout.startswith("No match")
    assert "p2pdice resume " in output.partition("Go on with it, once they are back, with:")[2].splitlines()[1]
    listed = here("resume", "--list", "--home", str(tmp_path / "Ada")).stdout
    assert "nobody won: you left it" in listed
    assert "Take back: p2pdice resume " in listed
    assert here("resume", "--home", str(tmp_path / "Ada")).returncode == ExitCode.FAILURE


def test_house_rules_have_the_name_of_their_file(sit: Sit, here: Run, tmp_path: Path) -> None:
    path = tmp_path / "friday.toml"
    path.write_text('base = "perudo"\ndice = 1\npalifico = false\n', encoding="utf-8")
    rules = "friday (perudo with dice=1 and palifico=no)"
    host = sit("Ada", "host", "Kitchen", "--rules", str(path))
    host.until("p2pdice join ")
    assert "Kitchen: friday " in here("tables").stdout
    guest = sit("Ben", "join", "Kitchen")
    guest.until(f"playing the house rules {rules}.")
    for player in (host, guest):
        player.until(f"Playing the house rules {rules}.")
    assert "like" not in host.shown() + guest.shown()
    play_together(host, guest)
    assert_one_fair_match(here, host, guest)
    for name, player, named in (("Ada", host, "-friday-"), ("Ben", guest, "-house-rules-")):
        home = ("--home", str(tmp_path / name))
        assert named in transcript(player.shown()).name
        assert "  friday: " in here("matches", *home).stdout
        assert "  friday: " in here("history", "--rules", "Friday", *home).stdout
        assert f"Playing the house rules {rules}." in here("replay", "last", *home).stdout
    other = ("--home", str(tmp_path / "Cleo"))
    assert "is not one of" in here("history", "--rules", "friday", *other).stderr


def test_a_concession_out_of_turn_takes_effect_on_return(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--set", "dice=1")
    guest = sit("Ben", "join", join_line(host))
    is_hosts_turn = "You start" in host.until("Round 1.")
    guest.until("You roll ")
    quitter, other, name = (guest, host, "Ben") if is_hosts_turn else (host, guest, "Ada")
    quitter.type("concede")
    quitter.until("You concede. You'll be out as soon as")
    quitter.type("quit")
    quitter.finish()
    back = sit(name, "resume")
    other.type("1x2")
    other.until(f"{name} conceded and is out.")
    assert_one_fair_match(here, back, other)


def test_a_killed_player_can_resume_the_match(sit: Sit, here: Run, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--seats", "3", "--set", "dice=1", "--odds", "off")
    line = join_line(host)
    guests = [sit(name, "join", line) for name in ("Ben", "Cleo")]
    for player in (host, *guests):
        player.until("You roll ")
    host.kill_9()
    guests[0].until("Ada isn't answering")
    for theirs in (line, line.partition("/")[0], f"127.0.0.1:1/{line.partition('/')[2]}"):
        for command in ("join", "watch"):
            refused = here(command, theirs, "--home", str(tmp_path / "Ada"))
            assert refused.returncode != 0
            assert RETURN in refused.stderr, theirs
    for elsewhere in ("127.0.0.1:1", "127.0.0.1:1/T4Z5-WFHY-2XDW-PX45-WP3P", f"127.0.0.1:1/{'T4Z5' * 6}"):
        refused = here("join", elsewhere, "--home", str(tmp_path / "Ada"))
        assert refused.returncode == ExitCode.UNREACHABLE
        assert "unfinished" not in refused.stderr
    for command in ("join", "watch"):
        refused = here(command, "ada's table", "--home", str(tmp_path / "Ada"), "--interface", "127.0.0.1")
        assert refused.returncode != 0
        assert RETURN in refused.stderr
    back = sit("Ada", "resume")
    back.until("You are back in match")
    back.type("odds 1x2")
    back.until("Odds are hidden at this table.")
    play_together(back, *guests)
    assert_one_fair_match(here, back, *guests)


def test_late_guests_are_refused_and_a_player_who_quits_is_told_how_to_resume(
    sit: Sit, here: Run, tmp_path: Path
) -> None:
    host = sit("Ada", "host", "--set", "dice=1")
    line = join_line(host)
    guest = sit("Ben", "join", line)
    for player in (host, guest):
        player.until("You roll ")
    late = here("join", line)
    assert late.returncode in (ExitCode.FULL, ExitCode.REFUSED)
    elsewhere = here("join", line.partition("/")[0] + "/QZYM-KVHF-TQFB-G7RM-MHXD")
    assert elsewhere.returncode == ExitCode.UNREACHABLE
    assert late.stderr[:7] == elsewhere.stderr[:7] == "Error: "
    guest.type("quit")
    code, output = guest.finish()
    assert code == 0
    words = output.splitlines()[-1].split()
    assert words[:2] == ["p2pdice", "resume"]
    listed = json.loads(here("resume", "--list", "--json", "--home", str(tmp_path / "Ben")).stdout)
    (unfinished,) = listed["matches"]
    assert unfinished["match"].startswith(words[2])
    assert sorted(unfinished["players"]) == ["Ada", "Ben"]
    back = sit("Ben", "resume", words[2])
    back.until("You are back in match")
    back.type("concede")
    play_together(host, back)
    assert "Ben conceded and is out." in host.seen
    assert_one_fair_match(here, host, back)


def test_a_line_in_a_wrong_encoding_is_answered(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "p2pdice", "host", "--name", "Ada"]
    done = subprocess.run(
        command, env=environment(tmp_path), input=b"\xff\xfe\nplayers\n", capture_output=True, check=True
    )
    lines = done.stdout.decode().splitlines()
    assert any("? shows what you can type." in line for line in lines)
    assert any(line.startswith("    Ada: you, ") for line in lines)
    assert lines[-1] == "You left the table.", "after the end of the input"
    assert done.stderr == b""


def test_a_house_bot_ends_when_its_host_is_gone(tmp_path: Path) -> None:
    with seated(tmp_path / "bot", "house-bot", "--seats", "2") as bot:
        bot.type(Order(tmp_path.name[-30:]).line())
        opened = json.loads(bot.until('"TableOpened"'))
        assert opened["sentence"].startswith("Tell your friends.")
        bot.close_input()
        assert bot.finish()[0] == ExitCode.DONE


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("join", "192.0.2.7"), "Add the port that the host sees: 192.0.2.7:40312"),
        (("watch", "192.0.2.7"), "Add the port that the host sees: 192.0.2.7:40312"),
        *(
            (("join", "Friday", "--pace", pace), f"{pace} is not a number from 0 to 10.")
            for pace in ("11", "-1", "nan")
        ),
        (("host", "Fri/day"), 'must not contain "/"'),
        (
            ("host", "\u1019\u103c\u102d\u102f\u1037"),
            "a table's name must not have more than 2 combining marks on a character.",
        ),
        (("host", "4 wise monkeys"), "must not look like a short code"),
        (("join", "417", "tigger", "olive"), "No short code has the word tigger: did you mean trigger or tiger?"),
        (
            ("tables", "--interface", "nowhere0"),
            "There is no network interface nowhere0. Leave out --interface, or name",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_in_commands_of_players_are_explained(here: Run, arguments: tuple[str, ...], reason: str) -> None:
    done = here(*arguments)
    is_about_the_network = arguments[0] == "tables" or "tigger" in arguments
    assert done.returncode == (ExitCode.UNREACHABLE if is_about_the_network else ExitCode.USAGE)
    assert reason in " ".join(done.stderr.split())


@pytest.mark.parametrize("target", ["127.0.0.1:1", "nowhere.invalid:80", "127.0.0.1:1/AAAA"])
def test_a_table_that_does_not_answer_cannot_be_joined(here: Run, target: str) -> None:
    done = here("join", target)
    assert done.returncode == ExitCode.UNREACHABLE
    assert done.stderr.startswith("Error: ")


def test_resuming_nothing_creates_no_home(here: Run, tmp_path: Path) -> None:
    """Regression test: a key was created silently."""
    assert here("resume", "--list").stdout == "There is no unfinished match here.\n"
    for made in (False, True):
        done = here("resume")
        assert done.returncode == ExitCode.FAILURE
        assert "There is no unfinished match here." in done.stderr
        assert (tmp_path / "home").exists() is made
        Store(tmp_path / "home" / "store.sqlite3").close()
    assert not (tmp_path / "home" / "identity.key").exists()


def test_tables_are_listed_and_watched_until_ctrl_c(here: Run, tmp_path: Path) -> None:
    name = tmp_path.name[-40:]
    with seated(tmp_path / "watcher", "tables", "--watch") as watcher:
        with seated(tmp_path / "Ada", "host", name, "--seats", "3", "--rules", "joker", "--qr") as host:
            watcher.until(f"open: {name}: joker")
            code = qr_code(join_line(host), "dark")
            host.until(code[5])
            tables = json.loads(here("tables", "--json").stdout)["tables"]
            (mine,) = [table for table in tables if table["name"] == name]
            assert (mine["rules"], mine["seats_taken"], mine["seats"], mine["status"]) == ("joker", 1, 3, "lobby")
            assert f"{name}: joker, 1 of 3 seats taken, at " in here("tables").stdout
            if sys.platform == "win32":  # on Windows, a test cannot send Ctrl-C
                host.type("quit")
            else:
                host.process.send_signal(signal.SIGINT)
                exit_code, output = host.finish()
                assert (exit_code, output.splitlines()[-1]) == (ExitCode.INTERRUPTED, "You left the table.")
            watcher.until(f"closed: {name}: joker")
        if sys.platform != "win32":
            watcher.process.send_signal(signal.SIGINT)
            exit_code, output = watcher.finish()
            assert (exit_code, "Traceback" in output) == (ExitCode.INTERRUPTED, False)
