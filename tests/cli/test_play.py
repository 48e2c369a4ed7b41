"""Whole matches by hand, between processes with homes of their own, over real sockets and real multicast."""

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
    """Start players, each in the home of their name."""
    with ExitStack() as stack:

        def start(name: str, command: str, *arguments: str) -> SeatedPlayer:
            named = () if command == "resume" else ("--name", name)
            return stack.enter_context(seated(tmp_path / name, command, *arguments, *named))

        yield start


def join_line(host: SeatedPlayer) -> str:
    while "/" not in (line := host.until("p2pdice join ").split()[-1]):  # the short code comes first
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


@pytest.mark.parametrize("how", ["name", "join line", *thoroughly(["address", "short code"])])
def test_a_friend_sits_down_and_both_play_a_match(sit: Sit, here: Run, tmp_path: Path, how: str) -> None:
    table = f"{tmp_path.name} {how}"[-40:].strip()
    host = sit("Ada", "host", table, "--set", "dice=2", *(["--private"] if how in ("join line", "short code") else []))
    code = host.until("p2pdice join ").split()[-1] if how == "short code" else ""
    line = join_line(host)
    ways = {"name": table, "address": line.partition("/")[0], "join line": line, "short code": code}
    guest = sit("Ben", "join", ways[how])
    assert "Ada's table" in guest.until("You are at ")
    play_together(host, guest)
    assert_one_fair_match(here, host, guest)


def test_three_sit_down_and_the_host_starts_before_a_fourth_comes(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--seats", "4", "--set", "dice=1", "--rules", "spot-on")
    line = join_line(host)
    guests = [sit(name, "join", line) for name in ("Ben", "Cleo")]
    host.until("One seat is free.")
    host.type("start")
    play_together(host, *guests)
    assert_one_fair_match(here, host, *guests)


def test_a_host_sends_a_guest_away_and_lets_them_in_again(sit: Sit, here: Run) -> None:
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


def test_a_match_whose_other_player_does_not_answer_is_left_as_claimed(sit: Sit, here: Run, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--patience", "5")
    guest = sit("Ben", "join", join_line(host))
    guest.until("You roll")
    host.until("You roll")
    host.type("1x2")  # if it is not her turn, that says so, and Ben does not answer all the same
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
        assert "claimed, not confirmed" in here(*command, "--home", str(tmp_path / "Ada")).stdout
    assert here("history", "stats", "--home", str(tmp_path / "Ada")).stdout.startswith("No match")
    assert "p2pdice resume " in output.partition("Go on with it, once they are back, with:")[2].splitlines()[1]
    listed = here("resume", "--list", "--home", str(tmp_path / "Ada")).stdout
    assert "claimed, not confirmed" in listed
    assert "Take back: p2pdice resume " in listed
    assert here("resume", "--home", str(tmp_path / "Ada")).returncode == ExitCode.FAILURE


def test_house_rules_are_called_by_the_name_of_their_file_wherever_it_is_known(
    sit: Sit, here: Run, tmp_path: Path
) -> None:
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


def test_a_player_who_gives_up_and_quits_out_of_turn_gives_up_on_return(sit: Sit, here: Run) -> None:
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


def test_a_killed_player_comes_back_and_the_match_goes_on(sit: Sit, here: Run, tmp_path: Path) -> None:
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


def test_a_player_who_leaves_is_told_the_way_back_and_may_play_on(sit: Sit, here: Run, tmp_path: Path) -> None:
    host = sit("Ada", "host", "--set", "dice=1")
    guest = sit("Ben", "join", join_line(host))
    for player in (host, guest):
        player.until("You roll ")
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


def test_the_end_of_the_input_leaves_the_table(sit: Sit) -> None:
    host = sit("Ada", "host")
    join_line(host)
    host.close_input()
    code, output = host.finish()
    assert (code, output.splitlines()[-1]) == (0, "You left the table.")


def test_a_line_in_a_wrong_encoding_costs_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "p2pdice", "host", "--name", "Ada"]
    done = subprocess.run(
        command, env=environment(tmp_path), input=b"\xff\xfe\nplayers\n", capture_output=True, check=True
    )
    lines = done.stdout.decode().splitlines()
    assert any("? shows what you can type." in line for line in lines)
    assert any(line.startswith("    Ada: you, ") for line in lines)
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that stands for Ctrl-C in a test")
def test_ctrl_c_leaves_the_table_with_130(sit: Sit) -> None:
    host = sit("Ada", "host")
    host.until("You have a seat")
    host.process.send_signal(signal.SIGINT)
    code, output = host.finish()
    assert code == ExitCode.INTERRUPTED
    assert output.splitlines()[-1] == "You left the table."


def test_house_bots_fill_the_seats_and_go_when_the_host_goes(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--bots", "2", "--set", "dice=1")
    assert "(bot)" in host.until("All seats are taken.")
    host.play_to_the_end()
    assert_one_fair_match(here, host)


def test_a_house_bot_leaves_when_its_host_is_gone(tmp_path: Path) -> None:
    with seated(tmp_path / "bot", "house-bot", "--seats", "2") as bot:
        bot.type(Order(tmp_path.name[-30:]).line())
        opened = json.loads(bot.until('"TableOpened"'))
        assert opened["sentence"].startswith("Tell your friends.")
        bot.close_input()
        assert bot.finish()[0] == ExitCode.DONE


def test_a_full_table_and_a_wrong_key_are_refused_with_their_codes(sit: Sit, here: Run) -> None:
    host = sit("Ada", "host", "--seats", "2", "--set", "dice=5")
    line = join_line(host)
    sit("Ben", "join", line).until("You are at ")
    host.until("All seats are taken.")
    late = here("join", line)
    assert late.returncode in (ExitCode.FULL, ExitCode.REFUSED)
    elsewhere = here("join", line.partition("/")[0] + "/QZYM-KVHF-TQFB-G7RM-MHXD")
    assert elsewhere.returncode == ExitCode.UNREACHABLE
    for refused in (late, elsewhere):
        assert refused.stderr.startswith("Error: ")
        assert "Traceback" not in refused.stderr


def test_a_private_table_takes_the_whole_join_line(sit: Sit, here: Run) -> None:
    line = join_line(sit("Ada", "host", "--private"))
    refused = here("join", line.rpartition("/")[0])
    assert refused.returncode == ExitCode.REFUSED
    assert "private" in refused.stderr


@pytest.mark.parametrize("command", ["join", "watch"])
def test_an_address_without_a_port_is_said_to_have_none(here: Run, command: str) -> None:
    done = here(command, "192.0.2.7")
    assert done.returncode == ExitCode.USAGE
    assert "Add the port that the host sees: 192.0.2.7:40312" in done.stderr


@pytest.mark.parametrize("pace", ["11", "-1", "nan"])
def test_a_pace_that_is_none_is_told_which_there_are(here: Run, pace: str) -> None:
    done = here("join", "Friday", "--pace", pace)
    assert done.returncode == ExitCode.USAGE
    assert f"{pace} is not a number from 0 to 10." in done.stderr


def test_a_name_that_would_be_taken_for_a_join_line_is_refused_with_the_character(here: Run) -> None:
    assert 'must not contain "/"' in here("host", "Fri/day").stderr


def test_a_name_that_others_could_not_be_shown_is_refused_with_the_rule(here: Run) -> None:
    said = here("host", "\u1019\u103c\u102d\u102f\u1037").stderr
    assert "a table's name must not have more than 2 combining marks on a character." in " ".join(said.split())


def test_a_name_that_would_be_taken_for_a_short_code_is_refused(here: Run) -> None:
    assert "must not look like a short code" in here("host", "4 wise monkeys").stderr


def test_a_word_that_is_in_no_code_is_said_with_the_one_that_may_be_meant(here: Run) -> None:
    done = here("join", "417", "tigger", "olive")  # as it is said aloud
    assert done.stderr == "Error: No short code has the word tigger: did you mean trigger or tiger?\n"


def test_a_qr_code_is_drawn_below_the_line_if_it_is_asked_for(sit: Sit) -> None:
    host = sit("Ada", "host", "--qr")
    line = join_line(host)
    assert qr_code(line, "dark")[5] in host.until(qr_code(line, "dark")[5])


def test_without_the_interface_that_is_named_tables_are_looked_for_on_another(here: Run) -> None:
    done = here("tables", "--interface", "nowhere0")
    assert (
        done.stderr == "Error: There is no network interface nowhere0.\nLeave out --interface, or name another one.\n"
    )


@pytest.mark.parametrize("target", ["127.0.0.1:1", "nowhere.invalid:80", "there is no such table", "127.0.0.1:1/AAAA"])
def test_a_table_that_does_not_answer_cannot_be_joined(here: Run, target: str) -> None:
    done = here("join", target)
    assert done.returncode == ExitCode.UNREACHABLE
    assert done.stderr.startswith("Error: ")


def test_nothing_to_resume_is_said_and_nothing_is_made(here: Run, tmp_path: Path) -> None:
    """A key was made, and nobody was told."""
    assert here("resume", "--list").stdout == "There is no unfinished match here.\n"
    for made in (False, True):
        done = here("resume")
        assert done.returncode == ExitCode.FAILURE
        assert "There is no unfinished match here." in done.stderr
        assert (tmp_path / "home").exists() is made
        Store(tmp_path / "home" / "store.sqlite3").close()
    assert not (tmp_path / "home" / "identity.key").exists()


def test_a_home_is_for_one_process_at_a_time(sit: Sit, here: Run, tmp_path: Path) -> None:
    join_line(sit("Ada", "host"))
    done = here("resume", "--home", str(tmp_path / "Ada"))
    assert done.returncode == ExitCode.FAILURE
    assert "--home" in done.stderr


def test_a_table_is_listed_while_it_is_open(sit: Sit, here: Run, tmp_path: Path) -> None:
    name = tmp_path.name[-40:]
    join_line(sit("Ada", "host", name, "--seats", "3", "--rules", "joker"))
    tables = json.loads(here("tables", "--json").stdout)["tables"]
    (mine,) = [table for table in tables if table["name"] == name]
    assert (mine["rules"], mine["seats_taken"], mine["seats"], mine["status"]) == ("joker", 1, 3, "lobby")
    assert f"{name}: joker, 1 of 3 seats taken, at " in here("tables").stdout


def test_a_watcher_is_told_what_opens_and_closes_until_ctrl_c(tmp_path: Path) -> None:
    name = tmp_path.name[-40:]
    with seated(tmp_path / "watcher", "tables", "--watch") as watcher:
        with seated(tmp_path / "Ada", "host", name) as host:
            watcher.until(f"open: {name}: classic")
            host.type("quit")
            watcher.until(f"closed: {name}: classic")
        if sys.platform != "win32":  # where no signal stands for Ctrl-C in a test
            watcher.process.send_signal(signal.SIGINT)
            code, output = watcher.finish()
            assert (code, "Traceback" in output) == (ExitCode.INTERRUPTED, False)
