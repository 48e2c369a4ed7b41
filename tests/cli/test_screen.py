"""The full screen on a pseudo-terminal: keys, pages, boxes, colours, and how it is left."""

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
    pytest.skip("needs a POSIX pseudo-terminal", allow_module_level=True)

from tests.cli.keys import BAND, COLOR, DOWN, ESCAPE, PAGE_DOWN, PAGE_UP, RIGHT, UP, KeyPlayer
from tests.cli.screen import Terminal

pytestmark = pytest.mark.multicast

Open = Callable[..., KeyPlayer]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """A function that starts a command on the full screen, with a home of its own."""
    with ExitStack() as stack:

        def start(home: str, *arguments: str, **options: object) -> KeyPlayer:
            return stack.enter_context(KeyPlayer(tmp_path / home, *arguments, **options))  # type: ignore[arg-type]

        yield start


@pytest.fixture(scope="module")
def shared_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyPlayer]:
    """A table against a bot for several tests. They are in one group, so that a single process opens it."""
    with KeyPlayer(tmp_path_factory.mktemp("shared") / "a", "host", "--bots", "1") as player:
        yield player


@pytest.fixture
def on_turn(shared_table: KeyPlayer) -> Iterator[KeyPlayer]:
    """A player on turn at the shared table, with an empty input line."""
    shared_table.wait_for(shared_table.is_asked, "a turn")
    yield shared_table
    shared_table.type(ESCAPE)
    shared_table.until_last_line("your turn>")


SHARED = pytest.mark.xdist_group("shared table")


def test_a_whole_match_is_played_with_keys_while_the_window_is_resized(terminal: Open) -> None:
    """More sizes and colour modes are tested in :mod:`tests.cli.test_screen_matches`."""
    player = terminal("a", "host", "--rules", "motes", "--pledge", "redeemed", "--bots", "2")
    sizes = iter(((60, 20), (120, 40), (80, 24), (40, 12)))

    def look() -> None:
        if size := next(sizes, None):
            player.pull(*size)

    player.play_with_keys(look)
    player.resize(80, 24)
    player.wait_for(player.is_over, "the end card")
    player.until_display("match over", "again", "quit")
    player.type("q\r")  # the grey completion after the cursor is accepted
    assert player.end() == ExitCode.DONE
    assert player.is_sane()
    assert b"\x1b[?1049h" in player.raw
    after = player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "p2pdice verify " in after  # a command to copy stays on the terminal
    assert "You left the table." in after


def test_a_qr_code_is_shown_beside_the_seats_or_on_a_page(terminal: Open) -> None:
    player = terminal("a", "host", "--qr", size=(80, 24))
    code = [row.rstrip() for row in qr_code(player.join_line(), "dark")]
    assert not any(code[3] in row for row in player.display()), "no part of it is on the screen"
    player.type("qr\r")
    player.until_display("Join by camera", "back to the table", *code)
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


@SHARED
def test_a_bid_is_chosen_with_arrows_and_shown_with_its_odds(on_turn: KeyPlayer) -> None:
    player = on_turn
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


@SHARED
def test_typing_replaces_a_bid_chosen_with_keys_and_continues_a_completed_word(on_turn: KeyPlayer) -> None:
    player = on_turn
    player.type(RIGHT)
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")
    player.type("sa")
    player.until_last_line("your turn> say")  # the last letter is a grey completion
    player.type("\t good luck")
    player.until_last_line("your turn> say good luck")


@SHARED
def test_a_call_by_key_needs_confirmation(on_turn: KeyPlayer) -> None:
    player = on_turn
    if "call liar" not in player.key_bar():
        player.make_first()
        player.wait_for(lambda: player.is_asked() and "call liar" in player.key_bar(), "a bid of the bot")
    player.type("!")
    player.until_display("your turn> liar", "Call liar? ! or Enter calls it, Esc takes it back.")
    player.type(ESCAPE)
    player.until_last_line("your turn>")
    assert "You call" not in "\n".join(player.display())


@SHARED
def test_help_covers_the_table_until_a_key_is_pressed(on_turn: KeyPlayer) -> None:
    player = on_turn
    player.type("?")
    player.until_display("Help", "Keys:", "call liar", "back to the table")
    player.type(PAGE_DOWN)
    player.until_display("At any time:", "quit")
    player.type("x")  # closes the page, and is the first letter of the next line
    player.wait_for(lambda: "back to the table" not in player.key_bar(), "the table")
    player.until_last_line("your turn> x")


@pytest.mark.parametrize("size", [(80, 24), *thoroughly([(40, 14)])])
def test_rules_and_help_are_read_as_pages(terminal: Open, size: tuple[int, int]) -> None:
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
    player.resize(60, 20)
    player.type("?")
    told = " ".join(" ".join(player.until_display("Keys:", "back to the table")).split())
    for key, does in [*KEY_HELP.items()][:6]:
        assert f"{key} {does}" in told, "no word is broken"


def test_enter_is_not_offered_for_an_illegal_bid(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", "--rules", "perudo")
    player.wait_for(player.is_asked, "a turn")
    if "make the first bid" not in player.status():
        player.type("!!")
        player.wait_for(lambda: "make the first bid" in player.status(), "another round")
    player.type("1x1")  # these rules allow no opening bid on ones
    player.until_last_line("your turn> 1x1")
    assert "Enter" not in player.key_bar()


@SHARED
def test_words_are_completed_and_answered_on_the_full_screen(on_turn: KeyPlayer) -> None:
    player = on_turn
    player.type("od\t")
    player.until_last_line("your turn> odds")
    player.type(" 9x4\r")
    player.until_said("ine fours", " likely, ")
    player.type(UP)  # with an empty line, an arrow chooses a bid
    player.wait_for(lambda: re.search(r"your turn> \dx\d$", player.last_line()), "a bid")


def test_a_reply_disappears_at_the_end_of_the_turn(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "2", pace="3")
    while "is choosing" not in player.status():
        player.wait_for(lambda: player.is_asked() or "is choosing" in player.status(), "a turn")
        if player.is_asked():
            player.make_first()
            player.wait_for(lambda: not player.is_asked(), "another player's turn")
    player.type("9x4\r")
    player.until_display("Not yet: ")
    player.wait_for(lambda: not any("Not yet: " in row for row in player.display()), "the next turn")


@SHARED
def test_a_line_longer_than_the_window_keeps_the_prompt_visible(on_turn: KeyPlayer) -> None:
    on_turn.type("x" * 100)
    on_turn.until_display("xx")


def test_leaving_opens_a_box_that_also_offers_to_concede(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1")
    player.wait_for(player.is_asked, "a turn")
    player.type("\x04")
    player.until_display("Leave the table?", "s  Stay", "l  Come back later", "c  Concede", "you lose this match")
    player.type("x")  # neither a choice nor the start of a line
    player.type(ESCAPE)
    player.wait_for(lambda: "Leave the table?" not in "\n".join(player.display()), "the table")
    assert player.last_line() == "your turn>"
    player.type("concede\r")
    player.until_display("▸ c  Concede")
    player.type("odd\r")  # not a choice, so Enter does not choose either
    player.type(UP)
    player.until_display("▸ l  Come back later")
    player.type(f"{DOWN}\r")
    player.wait_for(player.is_over, "the end")
    assert "Ben wins" in player.status()


def test_ctrl_c_twice_leaves_and_restores_the_window_title(terminal: Open) -> None:
    player = terminal("a", "host", "Friday", "--seats", "2")
    player.wait_for(lambda: player.title() == "Friday: 1 of 2", "a title")
    player.type("\x03")
    player.until_display("Ctrl-C again leaves the table.")
    player.type("o")
    player.wait_for(lambda: "Ctrl-C" not in "\n".join(player.display()), "the keys")
    player.type("\x03")
    player.until_display("Ctrl-C again leaves the table.")
    player.type("\x03")
    assert player.end() == ExitCode.INTERRUPTED
    assert player.raw.index(b"\x1b[22;2t") < player.raw.index(b"\x1b]2;Friday") < player.raw.rindex(b"\x1b[23;2t")
    solo = terminal("b", "host", "Friday", "--bots", "1")
    solo.wait_for(solo.is_asked, "a turn")
    solo.wait_for(lambda: solo.title() == "▶ Your turn - Friday", "another title")


def test_a_key_skips_the_pauses_of_a_showdown(terminal: Open) -> None:
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
    assert time.monotonic() - began < 8  # at this pace, it would take more than 20 seconds
    assert player.last_line().endswith("n")


def test_the_talk_has_one_line_per_round(terminal: Open) -> None:
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


@SHARED
def test_the_grey_completion_completes_words_but_not_moves(on_turn: KeyPlayer) -> None:
    player = on_turn
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
        time.sleep(0.3)  # a dialog opens only after the line was processed
    assert player.end() == (ExitCode.INTERRUPTED if keys[0] == "\x03" else ExitCode.DONE)
    assert "p2pdice resume " in player.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert player.is_sane()


def test_termination_restores_the_terminal(terminal: Open) -> None:
    player = terminal("a", "host")
    player.until_display("Tell your friends")
    player.process.terminate()
    assert player.end() == ExitCode.INTERRUPTED
    assert player.raw.rpartition(b"\x1b[?1049l")[1]
    assert player.is_sane()


@pytest.mark.parametrize(
    ("variables", "is_colored"),
    [pytest.param({}, True, marks=pytest.mark.thorough), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False)],
)
def test_colours_are_omitted_if_unwanted_or_unsupported(
    terminal: Open, variables: dict[str, object], is_colored: bool
) -> None:
    player = terminal("a", "host", "--bots", "1", **variables)
    player.wait_for(player.is_asked, "a turn")
    player.until_display("(you)")
    assert bool(COLOR.search(player.raw)) == is_colored


@pytest.mark.parametrize(
    ("color", "code"), [("dark", b"107"), ("light", b"40"), pytest.param("none", b"", marks=pytest.mark.thorough)]
)
def test_colours_follow_the_setting(terminal: Open, tmp_path: Path, color: str, code: bytes) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'color = "{color}"\n', encoding="utf-8")
    player = terminal("a", "host", "--bots", "1", P2PDICE_CONFIG=str(settings))
    player.wait_for(player.is_asked, "a turn")
    grounds = set(re.findall(rb"[\[;](4[0-7]|10[0-7])(?=[;m])", player.raw))
    assert not code or code in grounds, "the background of dice"
    assert not {b"107", b"40"} - {code} & grounds
    assert bool(COLOR.search(player.raw)) == bool(code)


def test_a_terminal_without_pictures_gets_ascii(terminal: Open) -> None:
    player = terminal("a", "host", "--bots", "1", LANG="C", LC_ALL="C")
    player.wait_for(player.is_asked, "a turn")
    player.until_display("[o", "(you)")
    assert player.raw.isascii()


@pytest.mark.parametrize("ui", ["screen", *thoroughly(["line"])])
def test_a_frozen_terminal_does_not_delay_the_match(tmp_path: Path, ui: str) -> None:
    """A player's terminal stops reading output. Their moves are still played, and no player is evicted."""
    options = ("--seats", "3", "--set", "dice=1", "--patience", "5", "--ui", ui, "--pace", "0", "--name", "Ada")
    with Terminal(tmp_path / "a", "host", *options) as frozen, ExitStack() as others:
        line = frozen.join_line()
        ben, cleo = (
            others.enter_context(piped(tmp_path / name, "join", line, "--name", name)) for name in ("Ben", "Cleo")
        )
        frozen.until("Round 1" if ui == "line" else "round 1")
        frozen.freeze()
        for _ in range(150):
            frozen.type("\x0c")  # each one repaints the screen; together they exceed the buffer of a terminal
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
            frozen.type("\x1b")  # closes a page that a blindly typed line may have opened over the end card
        frozen.until(" win", "Everybody ")


def test_a_first_frame_is_painted_and_removed_before_an_error(terminal: Open) -> None:
    guest = terminal("b", "join", "127.0.0.1:9")
    assert guest.end() == ExitCode.UNREACHABLE
    painted, _, after = guest.raw.partition(b"\x1b[?1049l")
    assert painted == b"\x1b[?1049h\x1b[2J\x1b[H Asking for a seat at 127.0.0.1:9."
    assert after.startswith(b"Error: ")


def test_a_dumb_terminal_gets_no_control_sequences(terminal: Open) -> None:
    guest = terminal("b", "join", "127.0.0.1:9", TERM="dumb")
    assert guest.end() == ExitCode.UNREACHABLE
    assert b"\x1b" not in guest.raw


def test_a_host_is_asked_about_a_newcomer_in_a_box(terminal: Open, tmp_path: Path) -> None:
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
    host.until_display("learn to play a 60-second round.")
    host.type("learn\r")
    host.until_display("Your first round", "step 1 of 5", "three dice are yours")
    with ExitStack() as others:
        for name in ("Ben", "Cleo"):
            others.enter_context(Terminal(tmp_path / name, "join", line, "--ui", "line", "--name", name))
        host.until_display("Ada's table", "round 1")
        assert "Coach" not in "\n".join(host.display())


def test_leaving_a_lesson_shows_the_current_lobby(terminal: Open, tmp_path: Path) -> None:
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
def test_odds_are_hidden_if_the_table_hides_them(terminal: Open, odds: str) -> None:
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
