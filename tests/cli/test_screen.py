"""The full screen on a real terminal: whole matches played with keys, at several sizes, and left in order."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.exits import ExitCode
from cli.table.screen import KEYS
from cli.text.qr_code import qr_code
from tests.cli.seat import seated as piped
from tests.programs import side_by_side
from tests.tiers import thoroughly

if sys.platform == "win32":
    pytest.skip("pseudo-terminals of this kind are POSIX", allow_module_level=True)

from tests.cli.keys import COLOR, ESCAPE, PAGE_DOWN, RIGHT, UP, KeyPlayer
from tests.cli.screen import Terminal

pytestmark = pytest.mark.multicast

Open = Callable[..., KeyPlayer]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Open full screens, each with a home of its own."""
    with ExitStack() as stack:

        def start(home: str, *arguments: str, **options: object) -> KeyPlayer:
            return stack.enter_context(KeyPlayer(tmp_path / home, *arguments, **options))  # type: ignore[arg-type]

        yield start


def test_a_whole_match_is_played_with_keys_alone_while_the_window_changes(terminal: Open) -> None:
    """Others, at each size and in each mode, are played in :mod:`tests.cli.test_screen_matches`."""
    player = terminal("a", "host", "--rules", "motes", "--pledge", "redeemed", "--bots", "2")
    sizes = iter(((60, 20), (120, 40), (80, 24), (40, 12)))

    def look() -> None:
        if size := next(sizes, None):
            player.pull(*size)

    player.play_with_keys(look)
    player.resize(80, 24)
    player.until_display("The match is over.", "1. ", "The transcript is", 'Type "again" for another match, or "quit".')
    player.type("quit\r")
    assert player.end() == ExitCode.DONE
    assert player.is_sane()
    assert b"\x1b[?1049h" in player.raw
    after = player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "p2pdice verify " in after  # what is to be copied stays on the terminal
    assert "You left the table." in after


def test_a_qr_code_is_shown_once_on_the_screen_and_on_a_page_where_there_is_no_room_for_it(terminal: Open) -> None:
    player = terminal("a", "host", "--qr", size=(80, 24))
    player.until_display("To see the QR code, type qr.")
    line = re.findall(r"p2pdice join (\S+/\S+)", "\n".join(player.display()))[0]
    code = [row.rstrip() for row in qr_code(line, "dark")]
    assert not any("█" in row for row in player.display()), "no slice of it is in the log"
    player.type("qr\r")
    player.until_display("Any other key closes this.", *code)
    player.type(ESCAPE)
    player.until_display("To see the QR code, type qr.")
    player.resize(160, 48)
    player.wait_for(lambda: code[3] in "\n".join(player.display()), "the code in the panel")
    assert "\n".join(player.display()).count(code[3]) == 1
    player.type("qr\r")
    player.until_display("Any other key closes this.", *code)
    player.type(ESCAPE)
    player.resize(80, 14)
    player.type("qr\r")
    player.until_said("Make the window larger, or give your friend the long line instead.")
    assert not any("█" in row for row in player.display())


def test_a_bid_is_chosen_with_arrows_and_shown_with_its_odds(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    chosen = player.last_line()
    player.until_display("Enter bids it.", "% likely")
    player.type(UP)
    player.wait_for(lambda: player.last_line() not in (chosen, "your turn>"), "another bid")
    player.type("%")
    player.wait_for(lambda: "% likely" not in "\n".join(player.display()), "no odds")
    assert re.search(r"your turn> \dx\d$", player.last_line())
    player.type(ESCAPE)
    player.until_last_line("your turn>")
    player.type("%")
    player.until_display("% likely")


def test_typing_replaces_a_bid_chosen_with_keys_and_continues_a_completed_word(
    terminal: Open,
) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    player.type("sa")
    player.until_last_line("your turn> sa")
    player.type("\t good luck")
    player.until_last_line("your turn> say good luck")


def test_a_slip_of_the_calling_key_costs_nothing(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    if "! liar" not in "\n".join(player.display()):
        player.make_first()
        player.wait_for(lambda: player.is_asked() and "! liar" in "\n".join(player.display()), "a bid of the bot")
    player.type("!")
    player.until_display("your turn> liar", "! or Enter calls the bid a lie; Escape does not.")
    player.type(ESCAPE)
    player.until_last_line("your turn>")
    assert "You call liar" not in "\n".join(player.display())


def test_help_covers_the_table_until_a_key_is_pressed(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("?")
    player.until_display("Keys:", "call liar", "Any other key closes this.")
    player.type(PAGE_DOWN)
    player.until_display("quit", "leave; you can return")
    player.type("x")  # it closes the page, and begins the next line
    player.until_display("(you)")
    player.until_last_line("your turn> x")
    assert "You roll" in (log := "\n".join(player.display()))  # what was asked has not driven it out
    assert "At any time:" not in log


@pytest.mark.parametrize("size", [(80, 24), (40, 14)])
def test_the_rules_are_read_at_the_table_as_a_page(terminal: Open, size: tuple[int, int]) -> None:
    player = terminal("a", "host", "--bots", "1", "--rules", "perudo", size=size)
    player.wait_for(player.is_asked, "a turn")
    player.type("rules\r")
    player.until_display("Perudo", "======", "The aim. 2 to 10 players", "PageDown: ")
    for _ in range(30):
        player.type(PAGE_DOWN)
    player.wait_for(lambda: not any("PageDown" in row for row in player.display()), "the end of the page")
    assert "gains a die: five dice now." in " ".join(" ".join(player.display()).split())
    player.type(ESCAPE)
    player.until_display("(you)")


def test_the_page_of_help_breaks_no_word(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", size=(60, 20))
    player.wait_for(player.is_asked, "a turn")
    player.type("?")
    told = " ".join(" ".join(player.until_display("Keys:", "Any other key closes this.")).split())
    for key in KEYS[1:7]:
        assert " ".join(key.split()) in told


def test_a_bid_that_cannot_be_made_is_not_offered_to_enter(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", "--rules", "perudo")
    player.wait_for(player.is_asked, "a turn")
    if "Your turn: open" not in "\n".join(player.display()):
        player.type("!!")
        player.until_display("Your turn: open")
    player.type("1x1")  # no ones to begin with, by these rules
    player.until_display("It cannot be bid now.")


def test_words_are_typed_completed_and_answered_as_in_lines(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("od\t")
    player.until_last_line("your turn> odds")
    player.type(" 9x4\r")
    player.until_display("Nine fours: ", " likely, ")
    player.type(UP)  # an arrow chooses a bid while the line is empty
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")


def test_a_line_longer_than_the_window_leaves_the_prompt_in_sight(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("x" * 100)
    player.until_display("xx")
    player.type(ESCAPE)
    player.until_last_line("your turn>")


@pytest.mark.parametrize("keys", ["\x03", *thoroughly(["\x04", "quit\r"])], ids=["ctrl-c", "ctrl-d", "quit"])
def test_leaving_restores_the_terminal_and_says_how_to_come_back(terminal: Open, keys: str) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type(keys)
    assert player.end() == (ExitCode.INTERRUPTED if keys == "\x03" else ExitCode.DONE)
    assert "p2pdice resume " in player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert player.is_sane()


def test_the_end_of_the_process_restores_the_terminal_too(terminal: Open) -> None:
    player = terminal("a", "host")
    player.until_display("On another laptop, type:")
    player.process.terminate()
    assert player.end() == ExitCode.INTERRUPTED
    assert player.raw.rpartition(b"\x1b[?1049l")[1]
    assert player.is_sane()


@pytest.mark.parametrize(
    ("variables", "is_colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)]
)
def test_colours_are_left_out_where_none_are_wanted_or_there_are_none(
    terminal: Open, variables: dict[str, object], is_colored: bool
) -> None:
    player = terminal("a", "host", "--bots", "1", **variables)
    player.wait_for(player.is_asked, "a turn")
    player.until_display("(you)", "to move")
    assert bool(COLOR.search(player.raw)) == is_colored


@pytest.mark.parametrize(("color", "code"), [("dark", b"\x1b[0;96;1m"), ("light", b"\x1b[0;34;1m"), ("none", b"")])
def test_colours_are_those_that_are_settled(terminal: Open, tmp_path: Path, color: str, code: bytes) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'color = "{color}"\n', encoding="utf-8")
    player = terminal("a", "host", "--bots", "1", P2PDICE_CONFIG=str(settings))
    player.wait_for(player.is_asked, "a turn")
    player.until_display("to move")
    assert code in player.raw
    assert bool(COLOR.search(player.raw)) == bool(code)


def test_a_terminal_without_pictures_gets_ascii(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", LANG="C", LC_ALL="C")
    player.wait_for(player.is_asked, "a turn")
    player.until_display("#####", "|o", "You roll ")
    assert player.raw.isascii()


@pytest.mark.parametrize("ui", ["screen", "line"])
def test_a_frozen_terminal_holds_up_no_match(tmp_path: Path, ui: str) -> None:
    """The terminal of one player takes not a byte more. What they type is played all the same, and all stay in."""
    options = ("--seats", "3", "--set", "dice=1", "--patience", "5", "--ui", ui, "--pace", "0", "--name", "Ada")
    with Terminal(tmp_path / "a", "host", *options) as frozen, ExitStack() as others:
        rows = frozen.until_display("On another laptop, type:", "p2pdice join ", "Two are free.")
        line = next(row for row in rows if row.lstrip().startswith("p2pdice join ")).split()[2]
        ben, cleo = (
            others.enter_context(piped(tmp_path / name, "join", line, "--name", name)) for name in ("Ben", "Cleo")
        )
        frozen.until("You roll ")
        frozen.freeze()
        for _ in range(150):
            frozen.type("\x0c")  # each paints all anew, together far more than a terminal holds back
            time.sleep(0.01)
        is_over = threading.Event()

        def play_blindly() -> None:
            while not is_over.wait(0.3):
                frozen.type("1x2\rliar\r")

        def play_on() -> None:
            side_by_side((ben, ben.play_to_the_end), (cleo, cleo.play_to_the_end))
            is_over.set()

        side_by_side((frozen, play_blindly), (ben, play_on))
        for player in (ben, cleo):
            assert player.end() == ExitCode.DONE
            assert "came from them" not in player.shown()
            assert "Everybody signed the result." in player.shown()
        frozen.thaw()
        frozen.until("The match is over", "Everybody signed the result.")


def test_a_frame_is_painted_at_once_and_gone_before_an_error_is_told(terminal: Open) -> None:
    guest = terminal("b", "join", "127.0.0.1:9")
    assert guest.end() == ExitCode.UNREACHABLE
    painted, _, after = guest.raw.partition(b"\x1b[?1049l")
    assert painted == b"\x1b[?1049h\x1b[2J\x1b[H Asking for a seat at 127.0.0.1:9."
    assert after.startswith(b"Error: ")


def test_a_terminal_that_only_prints_is_painted_on_by_nobody_though_it_is_asked_for(terminal: Open) -> None:
    guest = terminal("b", "join", "127.0.0.1:9", TERM="dumb")
    assert guest.end() == ExitCode.UNREACHABLE
    assert b"\x1b" not in guest.raw
