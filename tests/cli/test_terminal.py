"""Line mode on a pseudo-terminal of 80 x 24."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.exits import ExitCode
from tests.cli.screen import Terminal
from tests.programs import PATIENCE, side_by_side
from tests.tiers import thoroughly

if sys.platform == "win32":
    pytest.skip("needs a POSIX pseudo-terminal", allow_module_level=True)

pytestmark = pytest.mark.multicast

COLOR = re.compile(rb"\x1b\[[0-9;]*[34][0-9](?:;[0-9;]*)?m")

Open = Callable[..., Terminal]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """A function that starts a command in a terminal, with a home of its own."""
    with ExitStack() as stack:

        def start(home: str, *arguments: str, **variables: str) -> Terminal:
            if arguments[0] in ("host", "join", "watch"):
                arguments = (*arguments, "--ui", "line")
            opened = Terminal(tmp_path / home, *arguments, **variables)  # type: ignore[arg-type]
            return stack.enter_context(opened)

        yield start


def play(*players: Terminal) -> None:
    """Let players take turns until the match is over."""
    side_by_side(*((player, player.play_to_the_end) for player in players))


@pytest.fixture
def seated(terminal: Open, tmp_path: Path) -> Callable[..., tuple[Terminal, Terminal]]:
    """A function that seats two players by join line. It returns first the player on turn, then the other."""

    def seat(*options: str) -> tuple[Terminal, Terminal]:
        host = terminal("a", "host", "--name", "Ada", *options)
        host.until("You have a seat.")
        line = host.shown().partition("p2pdice join ")[2].split()[0]
        guest = terminal("b", "join", line, "--name", "Ben")
        for player in (host, guest):
            player.until("You roll ")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for first, second in ((host, guest), (guest, host)):
                if first.is_on_turn():
                    return first, second
            time.sleep(0.02)
        raise host.failure("nobody is on turn")

    return seat


def test_two_players_find_each_other_and_play_a_match(terminal: Open, tmp_path: Path) -> None:
    table = tmp_path.name[-30:]
    host = terminal("a", "host", table, "--name", "Ada", "--set", "dice=2")
    host.until("You have a seat. One is free.")
    guest = terminal("b", "join", "--name", "Ben")
    guest.until("Which table?")
    assert f"{table}: house rules " in guest.shown()
    guest.type(f"no such table\r{table}\r")
    guest.until("You are at ")
    assert "Type the number in front of a table, or its name." in guest.shown()
    host.until("Ben sits down")
    play(host, guest)
    assert (host.end(), guest.end()) == (0, 0)
    for player in (host, guest):
        assert re.search("Verify it with:\n    p2pdice verify [0-9a-f]{8}\n", player.shown())
        assert player.is_sane()


def test_two_players_make_mistakes_talk_and_concede(seated: Callable[..., tuple[Terminal, Terminal]]) -> None:
    mover, waiting = seated()
    mover.type("liar\rthree\r")
    mover.until("Nothing to call yet.")
    mover.until("'three' is not a move; did you mean 1x3? Legal: 1x1, 1x2, 1x3 … or 10x6.")
    mover.until_last_line("your turn>")
    waiting.type("1x2\r")
    waiting.until("Not yet: ")
    waiting.until_last_line(">")
    waiting.type("say hello\r")
    mover.until("says: hello")
    waiting.until_last_line(">")
    mover.type("say good luck\r")
    waiting.until("says: good luck")
    waiting.until_last_line(">")  # the prompt returns after a message
    mover.type("dice\rodds 3x4\r\r")
    mover.until(" likely, ", "; your turn; ")
    for player in (mover, waiting):  # line mode never repaints
        assert not re.search(rb"\x1b\[(?![0-9;]*m)", player.raw)
        assert b"\r" not in player.raw.replace(b"\r\n", b"")
    waiting.type("pla")
    waiting.until("pla")
    mover.type("2x3\r")
    waiting.until("bids two threes")
    waiting.until_last_line("your turn, Ada bid two threes>", "your turn, Ben bid two threes>")
    assert " ".join(waiting.shown().split()).count("Ctrl-R shows it, Ctrl-U clears it.") == 1
    waiting.type("\x12")
    waiting.until_last_line("pla")  # a partly typed line survives the bid
    waiting.type("yers\r")
    waiting.until("Ada: ", "Ben: ")
    waiting.type("concede\r")
    waiting.until("If you are sure, type concede yes.")
    waiting.type("concede yes\r")
    mover.until("You win.")
    assert (mover.leave(), waiting.leave()) == (0, 0)


def test_two_matches_with_talk_between_them_and_a_waiting_spectator(
    terminal: Open,
) -> None:
    host = terminal("a", "host", "--name", "Ada", "--set", "dice=1")
    host.until("You have a seat.")
    (line,) = re.findall(r"p2pdice join (\S+:\S+)", host.shown())
    watcher = terminal("c", "watch", line, "--name", "Eve")
    watcher.until("You are watching ")
    guest = terminal("b", "join", line, "--name", "Ben")
    side_by_side(*((player, player.play_a_match) for player in (host, guest)))
    for player in (host, guest, watcher):
        player.until("Again?")
    guest.type("say well played, Ada!\r")
    host.until("Ben says: well played, Ada!")
    host.type("mute be\r")
    host.until("Messages from Ben are hidden from now on.")
    guest.type("say still there?\r")
    guest.until("You say: still there?")
    watcher.type("again\r")
    watcher.until("Waiting for Ada to open the table again.")
    host.type("again perudo\r")
    host.until("Tell your friends.")
    guest.type("again\r")
    host.until("Ben sits down. All seats are taken.")
    guest.until("playing perudo.", "You roll ")
    watcher.until("Ada is playing with others. You watch", "You watch match")
    assert "still there" not in host.shown()
    watcher.type("players\r")
    watcher.until("choosing", "you wait for a seat]")
    guest.type("1x2\r")  # in case Ben is on turn, because Ada's concession is sent with the next message
    host.type("concede yes\r")
    for player in (host, guest, watcher):
        player.until("This evening's score: ")
    watcher.type("quit\r")
    watcher.until("You left the table.")
    assert (host.leave(), watcher.end(), guest.leave()) == (0, 0, 0)


def test_a_spectator_can_ask_for_a_seat_before_the_end_was_shown(terminal: Open) -> None:
    host = terminal("a", "host", "--name", "Ada", "--set", "dice=1")
    host.until("You have a seat.")
    (line,) = re.findall(r"p2pdice join (\S+:\S+)", host.shown())
    watcher = terminal("c", "watch", line, "--name", "Eve", "--pace", "10")
    watcher.until("You are watching ")
    guest = terminal("b", "join", line, "--name", "Ben")
    side_by_side(*((player, player.play_a_match) for player in (host, guest)))
    host.until("Again?")
    assert "The transcript is" not in watcher.shown()
    watcher.type("again\r")
    watcher.until("The match is over. You join the next one once its end has been shown.")
    watcher.until("The transcript is", "Waiting for Ada to open the table again.")
    assert "Again?" not in watcher.shown()


@pytest.mark.parametrize("keys", [("\x03", "\x04"), *thoroughly([("\x04", "quit\r")])], ids=ascii)
def test_leaving_restores_the_terminal_and_says_how_to_come_back(
    seated: Callable[..., tuple[Terminal, Terminal]], keys: tuple[str, str]
) -> None:
    mover, waiting = seated()
    for player, pressed in zip((mover, waiting), keys, strict=True):
        player.type(pressed)
        assert player.end() == (ExitCode.INTERRUPTED if pressed == "\x03" else ExitCode.DONE)
        assert "Come back with:\n    p2pdice resume " in player.shown()
        assert player.is_sane()
        if player is mover:
            waiting.until("left, and can still come back")


def test_a_spectator_watches_from_the_lobby_and_cannot_move(terminal: Open, tmp_path: Path) -> None:
    table = tmp_path.name[-30:]
    host = terminal("a", "host", table, "--name", "Ada", "--set", "dice=1")
    host.until("You have a seat. One is free.")
    watcher = terminal("c", "watch", table)
    watcher.until("You are watching at Ada's table", "Ada has a seat. One is free.")
    guest = terminal("b", "join", table, "--name", "Ben")
    watcher.until("Ben sits down", "Playing house rules", "Round 1.")
    watcher.type("3x5\r")
    watcher.until("You only watch here.")
    watcher.until_last_line(">")
    watcher.type("help\r")
    watcher.until("stop watching")
    watcher.type("dice\r")
    watcher.until("Dice: ")
    play(host, guest)
    assert (host.end(), guest.end(), watcher.leave()) == (0, 0, 0)
    assert re.search("Verify it with:\n    p2pdice verify [0-9a-f]{8}\n", watcher.shown())
    assert not set(watcher.shown().splitlines()) & {"You roll 1.", "your turn>"}
    assert "You roll" not in watcher.shown()
    assert watcher.is_sane()


def test_a_match_to_watch_is_picked_from_a_list(
    terminal: Open, seated: Callable[..., tuple[Terminal, Terminal]]
) -> None:
    seated()
    watcher = terminal("c", "watch")
    watcher.until("Which match?")
    listed = [line for line in watcher.shown().splitlines() if ": classic, playing, at " in line]
    # If other matches are running on this machine, only the number identifies this one.
    watcher.type(f"{listed[0].split()[0]}\r")
    watcher.until("You watch match ", 'at the table "Ada\'s table", playing classic.', "Round 1.")
    watcher.type("players\r")
    watcher.until("choosing")
    watcher.type("quit\r")
    assert watcher.end() == 0
    assert "Watch again with:\n    p2pdice watch " in watcher.shown()
    assert watcher.is_sane()


def test_ctrl_c_while_choosing_a_table_ends_with_130(terminal: Open, tmp_path: Path) -> None:
    host = terminal("a", "host", tmp_path.name[-30:], "--name", "Ada")
    host.until("You have a seat")
    guest = terminal("b", "join")
    guest.until("Which table?")
    assert guest.interrupt() == ExitCode.INTERRUPTED
    assert "Traceback" not in guest.shown()


@pytest.mark.parametrize(
    ("variables", "options", "is_colored"),
    [
        ({}, [], True),
        pytest.param({"NO_COLOR": "1"}, [], False, marks=pytest.mark.thorough),
        pytest.param({}, ["--no-color"], False, marks=pytest.mark.thorough),
    ],
    ids=["color", "NO_COLOR", "--no-color"],
)
def test_a_demo_is_coloured_only_if_allowed(
    terminal: Open, variables: dict[str, str], options: list[str], is_colored: bool
) -> None:
    shown = terminal("a", "demo", "--fast", "--players", "2", "--set", "dice=1", *options, **variables)
    assert shown.end() == 0
    assert "byte for byte the same" in shown.shown()
    assert bool(COLOR.search(shown.raw)) == is_colored
    assert shown.is_sane()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("join", "No-such-table"), 'Looking for the table "No-such-table" on this network.'),
        (("watch", "No-such-table"), "Looking for No-such-table."),
        (("tables",), "Looking for tables on this network."),
    ],
    ids=["join", "watch", "tables"],
)
def test_slow_network_steps_are_announced(terminal: Open, arguments: tuple[str, ...], word: str) -> None:
    waiting = terminal("a", *arguments)
    waiting.until(word)
    assert waiting.process.poll() is None


def test_the_secret_of_a_join_line_is_not_printed(terminal: Open) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        waiting = terminal("a", "join", f"{address}/QZYM-KVHF-TQFB-G7RM-MHXD/SECRET")
        waiting.until(f"Asking for a seat at {address}.")
        assert "SECRET" not in waiting.shown()
