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
from cli.render import qr_code
from cli.table.table import KEY_HELP
from tests.cli.seat import seated as piped
from tests.programs import side_by_side
from tests.tiers import thoroughly

if sys.platform == "win32":
    pytest.skip("pseudo-terminals of this kind are POSIX", allow_module_level=True)

from tests.cli.keys import BAND, COLOR, DOWN, ESCAPE, PAGE_DOWN, PAGE_UP, RIGHT, UP, KeyPlayer
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
    player.wait_for(player.is_over, "the end card")
    player.until_display("match over", "again", "quit")
    player.type("q\r")  # the ghost after the cursor is taken
    assert player.end() == ExitCode.DONE
    assert player.is_sane()
    assert b"\x1b[?1049h" in player.raw
    after = player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "p2pdice verify " in after  # what is to be copied stays on the terminal
    assert "You left the table." in after


def test_a_qr_code_is_shown_once_on_the_screen_and_on_a_page_where_there_is_no_room_for_it(terminal: Open) -> None:
    player = terminal("a", "host", "--qr", size=(80, 24))
    code = [row.rstrip() for row in qr_code(player.join_line(), "dark")]
    assert not any(code[3] in row for row in player.display()), "no slice of it is beside the code"
    player.type("qr\r")
    player.until_display("Qr", "back to the table", *code)
    player.type(ESCAPE)
    player.until_display("Tell your friends")
    player.resize(160, 48)
    player.wait_for(lambda: code[3] in "\n".join(player.display()), "the code beside the seats")
    assert "\n".join(player.display()).count(code[3]) == 1
    player.type("qr\r")
    player.until_display("back to the table", *code)
    player.type(ESCAPE)
    player.resize(80, 14)
    player.type("qr\r")
    player.until_said("Make the window larger, or give your friend the long line instead.")


def test_a_bid_is_chosen_with_arrows_and_shown_with_its_odds(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    chosen = player.last_line()
    player.until_display("Enter  bid ", "%")
    player.type(UP)
    player.wait_for(lambda: player.last_line() not in (chosen, "your turn>"), "another bid")
    player.type("%")
    player.wait_for(lambda: not re.search(r"\d%", "\n".join(player.display())), "no odds")
    assert "○" in "\n".join(player.display())
    assert re.search(r"your turn> \dx\d$", player.last_line())
    player.type(ESCAPE)
    player.until_last_line("your turn>")
    player.type("%")
    player.wait_for(lambda: re.search(r"\d%", "\n".join(player.display())), "odds")


def test_typing_replaces_a_bid_chosen_with_keys_and_continues_a_completed_word(
    terminal: Open,
) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    player.type("sa")
    player.until_last_line("your turn> say")  # the last letter is a ghost
    player.type("\t good luck")
    player.until_last_line("your turn> say good luck")


def test_a_slip_of_the_calling_key_costs_nothing(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    if "call liar" not in player.key_bar():
        player.make_first()
        player.wait_for(lambda: player.is_asked() and "call liar" in player.key_bar(), "a bid of the bot")
    player.type("!")
    player.until_display("your turn> liar", "Call liar? ! or Enter calls it, Esc takes it back.")
    player.type(ESCAPE)
    player.until_last_line("your turn>")
    assert "You call" not in "\n".join(player.display())


def test_help_covers_the_table_until_a_key_is_pressed(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("?")
    player.until_display("Help", "Keys:", "call liar", "back to the table")
    player.type(PAGE_DOWN)
    player.until_display("At any time:", "quit")
    player.type("x")  # it closes the page, and begins the next line
    player.wait_for(lambda: "back to the table" not in player.key_bar(), "the table")
    player.until_last_line("your turn> x")


@pytest.mark.parametrize("size", [(80, 24), (40, 14)])
def test_the_rules_are_read_at_the_table_as_a_page(terminal: Open, size: tuple[int, int]) -> None:
    player = terminal("a", "host", "--bots", "1", "--rules", "perudo", size=size)
    player.wait_for(player.is_asked, "a turn")
    player.type("rules\r")
    player.until_display("Rules", "page 1 of ", "2 to 10 players")
    for _ in range(30):
        player.type(PAGE_DOWN)
    player.wait_for(lambda: re.search(r"page (\d+) of \1\b", player.display()[0]), "the end of the page")
    assert re.search("gains a die: five( now)?\\.", " ".join(" ".join(player.display()).split()))
    player.type(ESCAPE)
    player.wait_for(lambda: "back to the table" not in player.key_bar(), "the table")


def test_the_page_of_help_breaks_no_word(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", size=(60, 20))
    player.wait_for(player.is_asked, "a turn")
    player.type("?")
    told = " ".join(" ".join(player.until_display("Keys:", "back to the table")).split())
    for key, does in [*KEY_HELP.items()][:6]:
        assert f"{key} {does}" in told


def test_a_bid_that_cannot_be_made_is_not_offered_to_enter(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", "--rules", "perudo")
    player.wait_for(player.is_asked, "a turn")
    if "make the first bid" not in player.status():
        player.type("!!")
        player.wait_for(lambda: "make the first bid" in player.status(), "another round")
    player.type("1x1")  # no ones to begin with, by these rules
    player.until_last_line("your turn> 1x1")
    assert "Enter" not in player.key_bar()


def test_words_are_typed_completed_and_answered_as_in_lines(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("od\t")
    player.until_last_line("your turn> odds")
    player.type(" 9x4\r")
    player.until_said("ine fours", " likely, ")
    player.type(UP)  # an arrow chooses a bid while the line is empty
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")


def test_a_reply_goes_when_the_turn_does(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "2", pace="3")
    while "is choosing" not in player.status():
        player.wait_for(lambda: player.is_asked() or "is choosing" in player.status(), "a turn")
        if player.is_asked():
            player.make_first()
            player.wait_for(lambda: not player.is_asked(), "another player's turn")
    player.type("9x4\r")
    player.until_display("Not yet: ")
    player.wait_for(lambda: not any("Not yet: " in row for row in player.display()), "the next turn")


def test_a_line_longer_than_the_window_leaves_the_prompt_in_sight(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("x" * 100)
    player.until_display("xx")
    player.type(ESCAPE)
    player.until_last_line("your turn>")


def test_leaving_a_match_is_asked_about_in_a_box_and_conceding_begins_there(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("\x04")
    player.until_display("Leave the table?", "s  Stay", "l  Come back later", "c  Concede", "you lose this match")
    player.type("x")  # no choice, and no beginning of a line
    player.type(ESCAPE)
    player.wait_for(lambda: "Leave the table?" not in "\n".join(player.display()), "the table")
    assert player.last_line() == "your turn>"
    player.type("concede\r")
    player.until_display("▸ c  Concede")
    player.type("odd\r")  # no choice, so its Enter does not choose either
    player.type(UP)
    player.until_display("▸ l  Come back later")
    player.type(f"{DOWN}\r")
    player.wait_for(player.is_over, "the end")
    assert "Ben wins" in player.status()


def test_one_ctrl_c_leaves_no_table(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("\x03")
    player.until_display("Ctrl-C again leaves the table.")
    player.type("o")
    player.wait_for(lambda: "Ctrl-C" not in "\n".join(player.display()), "the keys")
    player.type("\x03")
    player.until_display("Ctrl-C again leaves the table.")
    player.type("\x03")
    assert player.end() == ExitCode.INTERRUPTED


def test_the_title_of_the_window_says_whose_turn_it_is_and_is_given_back(terminal: Open) -> None:
    player = terminal("a", "host", "Friday", "--seats", "2")
    player.wait_for(lambda: player.title() == "Friday: 1 of 2", "a title")
    player.type("\x03\x03")
    player.end()
    assert player.raw.index(b"\x1b[22;2t") < player.raw.index(b"\x1b]2;Friday") < player.raw.rindex(b"\x1b[23;2t")
    solo = terminal("b", "host", "Friday", "--bots", "1")
    solo.wait_for(solo.is_asked, "a turn")
    solo.wait_for(lambda: solo.title() == "▶ Your turn - Friday", "another title")


def test_a_key_shows_the_rest_of_a_showdown_at_once(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", pace="4")
    called = re.compile("calls? liar on")
    player.wait_for(player.is_asked, "a turn")
    if "call liar" not in player.key_bar():
        player.make_first()
        player.wait_for(lambda: player.is_asked() or called.search(player.status()), "an answer")
    if player.is_asked():
        player.call()
    player.wait_for(lambda: called.search(player.status()), "a call")
    began = time.monotonic()
    player.type("n")
    player.wait_for(lambda: "round 2" in player.display()[0], "the next round")
    assert time.monotonic() - began < 8  # it takes more than 20 at this pace
    assert player.last_line().endswith("n")


def test_the_talk_has_a_line_for_a_round_and_none_for_its_bids(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    while "Round 1: " not in player.said():
        if "call liar" in player.key_bar():
            player.call()
        else:
            player.make_first()
        player.wait_for(player.is_asked, "a turn")
    player.type(PAGE_UP)
    player.until_display("Talk", "Round 1: ", "back to the table")
    told = " ".join(" ".join(player.display()[1:BAND]).split())
    assert re.search(r"Round 1: .* called .*, there (was|were) .*; .* lost a die\.", told)
    assert not re.search(r"\b(bids?|opens?|rolls?)\b", told)


def test_a_ghost_completes_words_and_leaves_moves_alone(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("3")
    player.until_last_line("your turn> 3")
    player.type("\x7f")
    if "call liar" not in player.key_bar():
        player.make_first()
        player.wait_for(lambda: player.is_asked() and "call liar" in player.key_bar(), "a bid of the bot")
    for typed, ghost in {"q": "quit", "pl": "players", "tru": "trust", "l": "l", "zz": "zz", "say a": "say a"}.items():
        player.type(typed)
        player.until_last_line(f"your turn> {ghost}")
        player.type("\x7f" * len(typed))
        player.until_last_line("your turn>")


@pytest.mark.parametrize(
    "keys", ["\x03\x03", *thoroughly(["\x04\x04", "\x04l", "quit\rl"])], ids=["ctrl-c", "ctrl-d", "a letter", "quit"]
)
def test_leaving_restores_the_terminal_and_says_how_to_come_back(terminal: Open, keys: str) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    for key in keys:
        player.type(key)
        time.sleep(0.3)  # a dialog opens only after the line was obeyed
    assert player.end() == (ExitCode.INTERRUPTED if keys[0] == "\x03" else ExitCode.DONE)
    assert "p2pdice resume " in player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert player.is_sane()


def test_the_end_of_the_process_restores_the_terminal_too(terminal: Open) -> None:
    player = terminal("a", "host")
    player.until_display("Tell your friends")
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
    player.until_display("(you)")
    assert bool(COLOR.search(player.raw)) == is_colored


@pytest.mark.parametrize(("color", "code"), [("dark", b"107"), ("light", b"40"), ("none", b"")])
def test_colours_are_those_that_are_settled(terminal: Open, tmp_path: Path, color: str, code: bytes) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'color = "{color}"\n', encoding="utf-8")
    player = terminal("a", "host", "--bots", "1", P2PDICE_CONFIG=str(settings))
    player.wait_for(player.is_asked, "a turn")
    grounds = set(re.findall(rb"[\[;](4[0-7]|10[0-7])(?=[;m])", player.raw))
    assert not code or code in grounds, "the ground of dice"
    assert not {b"107", b"40"} - {code} & grounds
    assert bool(COLOR.search(player.raw)) == bool(code)


def test_a_terminal_without_pictures_gets_ascii(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", LANG="C", LC_ALL="C")
    player.wait_for(player.is_asked, "a turn")
    player.until_display("[o", "(you)")
    assert player.raw.isascii()


@pytest.mark.parametrize("ui", ["screen", *thoroughly(["line"])])
def test_a_frozen_terminal_holds_up_no_match(tmp_path: Path, ui: str) -> None:
    """The terminal of one player takes not a byte more. What they type is played all the same, and all stay in."""
    options = ("--seats", "3", "--set", "dice=1", "--patience", "5", "--ui", ui, "--pace", "0", "--name", "Ada")
    with Terminal(tmp_path / "a", "host", *options) as frozen, ExitStack() as others:
        line = frozen.join_line()
        ben, cleo = (
            others.enter_context(piped(tmp_path / name, "join", line, "--name", name)) for name in ("Ben", "Cleo")
        )
        frozen.until("Round 1" if ui == "line" else "round 1")
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
        if ui == "screen":
            frozen.until(" win")  # "You win" or "Ben wins"
            frozen.type("\x1b")  # a page may cover the end card: the answer to the last line that was typed blindly
        frozen.until(" win", "Everybody ")


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


def test_a_host_is_asked_about_a_newcomer_in_a_box_and_the_guest_is_told(terminal: Open, tmp_path: Path) -> None:
    host = terminal("a", "host", "--ask", "--seats", "3", size=(100, 30))
    with Terminal(tmp_path / "b", "join", host.join_line(), "--ui", "line", "--name", "Mallory") as guest:
        host.until_display("Mallory wants to sit down", "Let them sit", "Refuse", "Let them watch")
        guest.until("The host is being asked whether you may sit down.")
        host.type(ESCAPE)
        host.wait_for(lambda: "Let them sit" not in "\n".join(host.display()), "the box is closed")
        assert "Mallory wants to sit down." in host.status(), "the question stays"
        assert "seat" in host.key_bar()
        host.type("seat\r")
        host.until_said("2 of 3 seats taken")
        guest.until("Ada and you have seats.")
        host.type(f"{DOWN}remove\r")
        host.until_said("1 of 3 seats taken")
        assert guest.end() != ExitCode.DONE


def test_a_lesson_in_the_lobby_ends_when_the_match_begins(terminal: Open, tmp_path: Path) -> None:
    host = terminal("a", "host", "--seats", "3")
    line = host.join_line()
    host.until_display("learn plays a 60-second round meanwhile.")
    host.type("learn\r")
    host.until_display("Your first round", "step 1 of 5", "three dice are yours")
    with ExitStack() as others:
        for name in ("Ben", "Cleo"):
            others.enter_context(Terminal(tmp_path / name, "join", line, "--ui", "line", "--name", name))
        host.until_display("Ada's table", "round 1")
        assert "Coach" not in "\n".join(host.display())


def test_a_lesson_is_left_for_the_lobby_that_went_on(terminal: Open, tmp_path: Path) -> None:
    host = terminal("a", "host", "--seats", "3")
    line = host.join_line()
    host.type("learn\r")
    host.until_display("step 1 of 5")
    with Terminal(tmp_path / "b", "join", line, "--ui", "line", "--name", "Ben"):
        host.wait_for(lambda: "2 of 3" in host.title() or "Coach" in host.said(), "Ben")
        host.type(" ")
        host.until_display("step 2 of 5")
        host.type(ESCAPE)
        host.until_display("2 of 3 seats taken", "Ben")


@pytest.mark.parametrize("odds", ["off", "on"])
def test_odds_are_hidden_where_the_table_hides_them(terminal: Open, odds: str) -> None:
    player = terminal("a", "host", "--bots", "1", "--odds", odds)
    player.wait_for(player.is_asked, "a turn")
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    player.wait_for(player.hint, "its words")
    is_on = odds == "on"
    assert (":" in player.hint()) == is_on
    assert bool(re.search(r"\d%", "\n".join(player.display()))) == is_on
    player.type(ESCAPE)
    player.type("%")
    if is_on:
        player.wait_for(lambda: not re.search(r"\d%", "\n".join(player.display())), "no odds")
        return
    player.until_said("Odds are hidden at this table.")
    player.type("odds 1x6")
    player.until_last_line("your turn> odds 1x6")
    player.wait_for(lambda: "Odds are hidden" not in player.said(), "no reply to the key any more")
    player.type("\r")
    player.until_said("Odds are hidden at this table.")
    assert not re.search(r"\d%", "\n".join(player.display()))
