"""The table of a replay: stepping, jumping and playing always show the board as it was at that place."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.exits import ExitCode
from cli.table.board import Board
from cli.table.pace import beats
from cli.table.picture import picture
from cli.table.replay_table import WATCHER, Place, ReplayTable, Tape
from cli.table.scene import Scene
from cli.table.terminal import Showing
from cli.table.theme import Theme
from p2pdice.rulesets import PRESETS
from p2pdice.stakes import settlement
from protocol.consensus.verifier import examine
from protocol.match.replay import Replay
from tests.cli.paper import Paper
from tests.cli.test_replay import play
from tests.waiting import until

if sys.platform != "win32":
    from tests.cli.screen import Terminal

VERDICT = "x.p2pdice: FAIR."


MATCHES: dict[str, bytes] = {}


def replay(name: str) -> Replay:
    if name not in MATCHES:
        MATCHES[name] = play(PRESETS[name]).machines[0].transcript
    return Replay(examine(MATCHES[name]), Path("x.p2pdice"))


class Looking:
    """A replay table and what it prints."""

    def __init__(self, name: str = "classic", eyes: int | None = None, pace: float = 0.0) -> None:
        self.paper = Paper(is_interactive=True)
        self.replay = replay(name)
        self.table = ReplayTable(self.replay, Showing(pace=pace), eyes, VERDICT, self.paper)
        self.types("start")

    def types(self, *lines: str) -> list[str]:
        self.paper.said.clear()
        for line in lines:
            self.table.obey(line)
        return self.paper.said

    @property
    def place(self) -> Place:
        return self.table._tape.place


def on_board(board: Board) -> dict[str, Any]:
    mutable = {"hands": dict(board.hands), "away": set(board.away), "showdown": repr(board.showdown)}
    return vars(board) | mutable


@pytest.mark.parametrize("name", ["classic", "motes"])
@pytest.mark.parametrize("seat", [None, 0, WATCHER])
def test_events_on_a_copy_of_a_board_leave_the_board_unchanged(name: str, seat: int | None) -> None:
    tape = Tape(replay(name), seat)
    while events := tape.forward():
        before = on_board(tape.board)
        twin = tape.board.copy()
        for event in events:
            for beat in beats(event, twin):
                twin.take(beat)
        assert on_board(tape.board) == before
        for event in events:
            tape.board.take(event)
        assert on_board(tape.board) == on_board(twin)


@pytest.mark.parametrize("name", ["classic", "motes", "joker"])
def test_as_a_spectator_dice_are_hidden_until_the_showdown(name: str) -> None:
    looking = Looking(name)
    looking.types("as spectator")
    looking.types("start")
    showdowns = 0
    while not looking.table.board.over:
        looking.types("next")
        assert not looking.table.board.hands
        assert looking.table.board.me is None
        showdowns += looking.table.board.showdown is not None
    assert showdowns


def folded(replay: Replay, eyes: int | None, place: Place) -> Board:
    """Return the board at a place, built from the start of the match."""
    tape = Tape(replay, eyes)
    while tape.place != place:
        events = tape.forward()
        assert events, place
        for event in events:
            tape.board.take(event)
    return tape.board


WAYS = st.one_of(
    st.sampled_from(
        [
            "",
            "next",
            "back",
            "next round",
            "back round",
            "start",
            "end",
            "as 1",
            "as all",
            "as spectator",
            "n",
            "b",
            "odds",
        ]
    ),
    st.integers(0, 12).map(lambda number: f"round {number}"),
)


@settings(max_examples=25)
@given(st.sampled_from(["classic", "motes", "joker"]), st.lists(WAYS, max_size=25))
def test_the_board_at_a_place_does_not_depend_on_the_way_there(name: str, lines: list[str]) -> None:
    looking = Looking(name)
    for line in lines:
        looking.types(line)
    tape = looking.table._tape
    assert looking.table.board is tape.board
    assert on_board(tape.board) == on_board(folded(looking.replay, tape.eyes, looking.place))


@pytest.mark.parametrize("name", ["classic", "motes", "joker"])
def test_back_reverses_next(name: str) -> None:
    looking = Looking(name)
    there = [looking.place]
    told = []
    while not looking.table.board.over:
        told.append(list(looking.types("")))
        there.append(looking.place)
    assert len(set(there)) == len(there)
    assert "The transcript ends here." in "\n".join(looking.types("next"))
    for place, said in zip(there[-2:0:-1], told[-2::-1], strict=True):
        assert looking.types("back") == said
        assert looking.place == place
    looking.types("back", "back", "back", "back")
    assert looking.types("back") == ["This is the start."]
    assert looking.place.round == 0


def test_a_replay_keeps_no_score_and_shows_no_confirmation() -> None:
    looking = Looking()
    looking.types("end", "start", "end")
    shown = painted(looking)
    assert "match over" in shown
    assert not looking.table.won
    assert not re.search("confirmed|signed", shown)


def test_the_end_of_a_match_with_stakes_shows_gains_and_losses() -> None:
    looking = Looking("motes")
    told = "\n".join(looking.types("end"))
    board, shown = looking.table.board, painted(looking)
    assert board.state is not None
    for name, change in zip(board.seating.names, settlement(board.state).delta, strict=True):
        assert f"{name} {change:+,d}" in told
        assert f"{name} {change:+,d} coin" in " ".join(shown.split())
    assert board.state.motes is not None
    soul = board.state.motes.soul
    assert soul is not None
    assert re.search(rf"Twin Soul +{soul.name}\.", shown)


def test_the_last_verdict_is_seen_before_the_end() -> None:
    looking = Looking()
    looking.types("end")
    assert looking.table.board.over is not None
    looking.types("back")
    board = looking.table.board
    assert board.over is None
    assert board.showdown is not None
    assert board.showdown.played.verdict is not None


def test_jumping_to_a_round_shows_its_dice() -> None:
    looking = Looking()
    rounds = len(looking.replay.rounds)
    for line, number in (("round 3", 3), ("2", 2), ("next round", 3), ("back round", 2), ("back round", 1), ("n r", 2)):
        said = "\n".join(looking.types(line))
        assert said.startswith(f"Round {number}. ")
        assert "All dice of this round:" in said
        assert looking.place == Place(number, 1)
    looking.types("", "")
    assert "\n".join(looking.types("back round")).startswith(
        "Round 2."
    )  # the first press goes to the start of this round
    assert looking.types(f"round {rounds + 1}") == [f"There is no round {rounds + 1}: the match has {rounds} rounds."]
    assert looking.types("round x")[0].startswith("Type round and a number from 1 to ")
    assert looking.place == Place(2, 1)
    assert any(" wins. Then " in text for text in looking.types("end"))
    assert looking.table.board.over is not None


def test_changing_the_viewer_keeps_the_place() -> None:
    looking = Looking()
    looking.types("round 2", "")
    place, name = looking.place, looking.replay.players[1].name
    said = looking.types(f"as {name.lower()}")
    assert said[0] == f'You see what {name} saw; "you" is {name}.'
    assert looking.place == place
    board = looking.table.board
    assert (board.me, set(board.hands)) == (1, {1})
    assert looking.types("as all")[0] == "You see all dice."
    assert set(looking.table.board.hands) == {0, 1, 2}
    assert looking.table.board.me is None
    assert "No player's name begins with 'dora'" in looking.types("as dora")[0]
    assert looking.place == place


def test_odds_are_those_of_all_players_or_of_the_viewer() -> None:
    looking = Looking()
    looking.types("round 1", "")
    said = looking.types("odds")
    assert re.search(r"with \w+ (\w+) in all it is (true|false)\. How likely it is, by each player's own dice", said[0])
    assert [line.split()[0] for line in said[1:]] == [player.name for player in looking.replay.players]
    assert all(re.search(r"\d%$", line) for line in said[1:])
    assert "One six: " in looking.types("odds 1x6")[0]
    looking.types("as 0")
    assert "judging by your own dice" in looking.types("odds")[0]


@pytest.mark.parametrize(
    "line", ["help", "table", "bids", "dice", "players", "rules", "liar", "3x5", "\x1b[2J", "o" * 9]
)
def test_other_lines_are_answered_without_changing_the_place(line: str) -> None:
    looking = Looking()
    looking.types("round 2", "", "")
    place = looking.place
    said = looking.types(line)
    assert said
    assert all(text.replace("\n", "").isprintable() for text in said)
    assert looking.place == place


async def test_play_continues_to_the_end() -> None:
    looking = Looking()
    playing = asyncio.create_task(looking.table.follow())
    looking.types("play")
    await until(lambda: playing.done() or any("The transcript ends here." in text for text in looking.paper.said))
    assert playing.cancel()
    told = "\n".join(looking.paper.said)
    assert all(f"Round {number}. " in told for number in range(1, len(looking.replay.rounds) + 1))
    assert told.count("The cups go up.") == len(looking.replay.rounds)


async def test_a_line_stops_playing_after_the_current_scene() -> None:
    looking = Looking(pace=0.001)
    tape = looking.table._tape
    playing = asyncio.create_task(looking.table.follow())
    looking.types("end", "back")  # the last showdown
    looking.types("back round", "play")
    await until(lambda: tape.board.showdown is not None and not tape.board.showdown.is_counted, every=0)
    place = looking.place
    assert looking.table.prompt() == "playing; Enter stops> "
    looking.table.obey("")
    assert looking.place == place
    assert on_board(looking.table.board) == on_board(folded(looking.replay, None, place))
    told = list(looking.paper.said)
    for _ in range(100):
        await asyncio.sleep(0)
    assert looking.paper.said == told
    assert looking.place == place
    assert re.fullmatch(r"start> |round \d+ of \d+> ", looking.table.prompt())
    playing.cancel()


async def test_interrupted_play_tells_everything_once_and_in_order() -> None:
    whole = Looking()
    playing = asyncio.create_task(whole.table.follow())
    whole.types("play")
    await until(lambda: "The transcript ends here." in "\n".join(whole.paper.said))
    playing.cancel()
    looking = Looking(pace=0.0001)
    playing = asyncio.create_task(looking.table.follow())
    looking.types("play")
    for stops in range(1, 8):
        await until(lambda: len(looking.paper.said) > 9 * stops)  # noqa: B023
        looking.table.obey("")
        assert not looking.table.is_behind
        await asyncio.sleep(0)
        looking.table.obey("play")
    await until(lambda: "The transcript ends here." in "\n".join(looking.paper.said))
    playing.cancel()
    assert looking.paper.said == whole.paper.said


async def test_words_are_obeyed_during_play() -> None:
    looking = Looking(pace=10)
    playing = asyncio.create_task(looking.table.follow())
    looking.types("play")
    await asyncio.sleep(0)
    assert "\nRound 3. " in "\n".join(looking.types("round 3"))
    looking.types("play", "play")
    assert not looking.table._is_playing.is_set()
    playing.cancel()


def test_the_keys_of_a_replay_type_existing_words() -> None:
    looking = Looking()
    assert {line.split()[0] for line in ReplayTable.key_lines.values()} <= set(looking.table.words)
    assert looking.table.completions()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_a_replay_in_line_mode_at_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(PRESETS["classic"].with_options({"dice": "3"})).machines[0].transcript)
    with Terminal(tmp_path, "replay", str(path), "--ui", "line") as person:
        person.until("FAIR.", "You see all dice.", "In order:")
        person.type("\r")
        person.until("Round 1.", "All dice of this round:")
        person.type("round 3\r")
        person.until("Round 3.")
        person.type("play\r")
        person.until("own dice make it")
        person.type("\r")
        person.type("quit\r")
        assert person.end() == 0
        assert person.is_sane()


def test_the_picture_has_all_dice_and_the_bidders_odds() -> None:
    looking = Looking()
    looking.types("round 1", "")
    board = looking.table.board
    assert board.state is not None
    assert board.state.bid is not None
    bidder = board.seating.names[board.state.bid.seat]
    shown = painted(looking)
    assert shown.startswith(" ⚄ x   classic   round 1")  # the name of the file is x.p2pdice
    cups = shown.split("\n")[3]
    assert re.findall(r"\d", cups) == [
        str(face) for seat in range(len(board.seating.names)) for face in board.hands[seat]
    ]
    assert re.search("(likely|certain|impossible)\n", shown)
    assert re.search(rf"(true|false): there .* with {bidder}'s dice", shown)
    looking.types("as 0")
    shown = painted(looking)
    assert "dice\n" in shown
    assert not re.search("(true|false): there", shown)
    assert re.search("(likely|certain|impossible)\n", shown)


def test_the_picture_shows_the_place_in_the_match() -> None:
    looking = Looking()
    rounds = looking.table._tape.rounds
    looking.types("round 2")
    told = painted(looking).split("\n")
    (numbers,) = (row for row in told if row.startswith("  round "))
    assert re.findall(r"\d+", numbers) == [str(number) for number in range(1, rounds + 1)]
    (losers,) = (row for row in told if row.startswith("  lost "))
    assert 0 < len(losers.split()) - 1 <= rounds
    (steps,) = (row for row in told if row.startswith("  step "))
    first = re.search(r"(\d+) of (\d+)$", steps)
    assert first is not None
    assert first[1] == "1"
    looking.types(*["next"] * (int(first[2]) - 1))
    assert f" {first[2]} of {first[2]}" in painted(looking)
    looking.types("next")
    assert looking.place.round == 3


def test_the_picture_counts_no_steps_before_round_1() -> None:
    looking = Looking()
    sizes = [(80, 24), (60, 18), (40, 12)]
    for size in sizes:
        shown = painted(looking, *size)
        assert "before the first roll" in shown
        assert not re.search(r"\d of \d", shown)
    looking.types("next")
    assert all(re.search(r"\b1 of \d", painted(looking, *size)) for size in sizes)


def painted(looking: Looking, columns: int = 80, height: int = 24) -> str:
    """Return the text on a screen of this size."""
    table = looking.table
    return picture(table.board, Scene(strip=table.strip(), verdict=table.verdict), columns, height, Theme()).text()


def test_on_a_screen_drawn_dice_are_not_told_and_keys_are_shown() -> None:
    looking = Looking()
    looking.paper.shows_board = True
    assert not any("All dice" in text for text in looking.types("round 2"))
    said = "\n".join(looking.types("help"))
    assert all(
        re.search(rf"^    {'space' if key == ' ' else key} +{line}$", said, re.MULTILINE | re.IGNORECASE)
        for key, line in looking.table.key_lines.items()
    )
    assert "    PageDown  next round" in said
    keys = looking.table.key_bar()
    assert ("quit", "") in keys[:3]  # visible at any width
    bar = picture(looking.table.board, Scene(keys=keys), 80, 24, Theme()).text().split("\n")[21]
    assert "PgUp PgDn  round" in bar
    assert all(f" {key}" in bar for key, _ in keys)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pseudo-terminal")
def test_on_the_full_screen_keys_step_jump_and_play(tmp_path: Path) -> None:
    path = tmp_path / "match.p2pdice"
    path.write_bytes(play(PRESETS["classic"].with_options({"dice": "3"})).machines[0].transcript)
    with Terminal(tmp_path, "replay", str(path), "--ui", "screen", "--pace", "0.1") as person:
        person.until("PgUp PgDn  round", "start>")
        person.type("\x1b[C")
        person.until("round 1", "round 1 of ")
        person.type("\x1b[6~")
        person.until("Round 2.")
        person.type("\x1b[D")
        person.until("and wild ones")
        person.type("\x1b[F")
        person.until("match over")
        person.type("\x1b[H")
        person.until_last_line("start>")
        person.type(" ")
        person.until("any key  stops")
        person.type("x")
        person.wait_for(lambda: re.fullmatch(r"start>|round \d+ of \d+>", person.last_line()), "an empty line")
        assert person.interrupt() == ExitCode.INTERRUPTED
        assert person.is_sane()


def test_no_file_name_forges_the_verdict_in_the_title(tmp_path: Path) -> None:
    forged = tmp_path / "evening: fair. by Ada.p2pdice"
    forged.write_bytes((Path(__file__).parents[1] / "vectors" / "illegal-move.p2pdice").read_bytes())
    examined = examine(forged.read_bytes())
    table = ReplayTable(Replay(examined, forged), Showing(), None, "evening: fair. by Ada: MISCONDUCT")
    drawn = picture(table.board, Scene(verdict=table.verdict), 120, 40, Theme("24", "dark", False)).text()
    assert "! misconduct" in drawn.split("\n")[0]
    assert "✓" not in drawn.split("\n")[0]
