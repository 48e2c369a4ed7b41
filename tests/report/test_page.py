"""The page of a report agrees with the replay, contains the transcript, fetches nothing, and trusts no player."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from cli.exits import ExitCode
from cli.render import columns
from cli.report.page import COLUMN, HEIGHT, WIDTH, bars, dice_over_time, page, scripts
from cli.text.rounds import weigh
from p2pdice.events import DieLost
from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import examine
from protocol.events import CupsSeen, Happened
from protocol.match.replay import Replay
from tests.cli.conftest import Run, here, p2pdice
from tests.cli.test_replay import play
from tests.simulation.world import World

__all__ = ["here", "p2pdice"]

HOSTILE = ('<b>"Ada"</b>', "</script>Ben", "Cleo'--><img")
"""Names have at most 20 characters."""


class Elements(HTMLParser):
    """All elements of a page, their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_data(self, data: str) -> None:
        if self._in in self.code:
            self.code[self._in].append(data)
            self._in = ""

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def made(transcript: bytes) -> str:
    return page(Replay(examine(transcript), Path("x")), transcript, "FAIR.")


@pytest.fixture(scope="module")
def classic() -> bytes:
    return play(PRESETS["classic"].with_options({"dice": "3"})).machines[0].transcript


def shown(text: str) -> str:
    """Return the visible text of a page."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body)))


@pytest.mark.parametrize("name", PRESETS)
def test_every_hand_bid_and_lost_die_is_on_the_page(name: str) -> None:
    transcript = play(PRESETS[name]).machines[0].transcript
    replay = Replay(examine(transcript), Path("x"))
    text = made(transcript)
    events = [event for _, event in replay.tell()]
    hands = sum(cup != () for event in events if isinstance(event, CupsSeen) for cup in event.hands)
    weighed = sum(
        weigh(event.event, event.state, {}, None) is not None for event in events if isinstance(event, Happened)
    )
    lost = sum(isinstance(event, Happened) and isinstance(event.event, DieLost) for event in events)
    assert text.count('class="dice"') == hands
    assert text.count('class="odds"') == weighed
    told = " ".join(re.findall(r"<ol>.*?</ol>", text, re.DOTALL))
    assert len(re.findall(r"(?:loses|right and puts) (?:a die|(?:\w+\'s )?[A-Z][a-z]+)", shown(told))) == lost
    assert text.count('<p class="mono">') == replay.verdict.steps
    assert len(re.findall(", signed [0-9a-f]{16}<", text)) == sum(
        len(step.messages) + len(step.votes) for step in replay.steps()
    )


def test_the_page_carries_the_transcript_whole_and_stays_small(classic: bytes) -> None:
    text = made(classic)
    found = re.search(r'<script id="transcript" type="text/plain">([^<]*)</script>', text)
    assert found is not None
    assert b64decode(found[1]) == classic
    full = play(PRESETS["classic"], 4, names=("Ada", "Ben", "Cleo", "Dan")).machines[0].transcript
    assert len(made(full).encode()) < 500_000


def test_nothing_is_fetched_and_only_the_programs_own_code_may_run(classic: bytes) -> None:
    text = made(classic)
    found = Elements(text)
    assert not {tag for tag, _ in found.tags} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "audio",
        "video",
    }
    for _, attributes in found.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href", "style", "action")}
    assert not re.search(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}/|@import|url\(", text)
    policy = next(each["content"] for _, each in found.tags if each.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    style, (_, script) = found.code["style"][0], found.code["script"]
    for code in (style, script):
        assert f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" in policy


def test_no_name_becomes_markup_or_code() -> None:
    transcript = play(PRESETS["classic"].with_options({"dice": "2"}), names=HOSTILE).machines[0].transcript
    hostile, tame = (
        Elements(made(data))
        for data in (transcript, play(PRESETS["classic"].with_options({"dice": "2"})).machines[0].transcript)
    )
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in tame.tags}
    assert all(name in shown(made(transcript)) for name in HOSTILE)
    assert len(hostile.code["script"]) == 2


def test_namesakes_are_told_apart_wherever_they_are_named() -> None:
    transcript = (
        play(PRESETS["classic"].with_options({"dice": "2"}), names=("Ada", "Ada", "Cleo")).machines[0].transcript
    )
    text = made(transcript)
    replay = Replay(examine(transcript), Path("x"))
    keys = [player.fingerprint[:4] for player in replay.players if player.name == "Ada"]
    steps = text[text.index("Every step and its signatures") :]
    for name in (f"Ada [{key}]" for key in keys):
        assert f"<bdi>{name}</bdi>, MOVE" in steps
    assert "Ada</bdi>," not in steps


def test_no_script_contains_its_end_tag() -> None:
    assert not re.search(r"</script|<!--", scripts(), re.IGNORECASE)


def test_few_dice_are_not_called_uneven() -> None:
    """Two dice with different faces were once called uneven, although two dice cannot be more even."""
    few, many = (play(PRESETS["classic"].with_options({"dice": dice}), 3).machines[0].transcript for dice in "15")
    assert "at least this uneven" not in made(few)
    assert "at least this uneven" in made(many)


def test_every_picture_has_its_text(classic: bytes) -> None:
    text = made(classic)
    pictures = [each for tag, each in Elements(text).tags if tag == "svg"]
    assert pictures
    for attributes in pictures:
        assert (
            attributes.get("aria-hidden") == "true" or attributes.get("aria-label") or attributes.get("aria-labelledby")
        )


def test_lines_of_a_chart_stay_inside_and_labels_do_not_overlap() -> None:
    rounds = [tuple(max(0, 5 - number - seat) for seat in range(10)) for number in range(6)]
    chart = dice_over_time([f"P{seat}" for seat in range(10)], rounds)
    labels = sorted(track.label_at[1] for track in chart.tracks)
    assert all(below - above >= 12.9 for above, below in pairwise(labels))
    for track in chart.tracks:
        for x, y in (map(float, point.split(",")) for point in track.points.split()):
            assert 0 <= x <= 640
            assert -2 <= y <= 222
    assert all(12 <= track.label_at[1] + 4 <= HEIGHT for track in chart.tracks), "every label is in the picture"
    long = dice_over_time(["Maximilian Alexander", "五" * 20], [(5, 5), (4, 4), (0, 3)])
    assert all(track.label_at[0] + COLUMN * columns(track.name) <= WIDTH for track in long.tracks)
    assert bars([0] * 6)[1] == 0.0


def test_the_story_comes_first_and_the_title_says_who_won(classic: bytes) -> None:
    text = made(classic)
    winner = Replay(examine(classic), Path("x")).verdict.winners[0]
    assert f"<title>{winner} wins: " in text
    parts = [f'<h1><bdi class="winner">{winner}</bdi> wins</h1>', 'id="claim"', "Standings", "Dice left"]
    parts += ["To remember", "Round by round", "Dice dealt", 'id="result"', "Every step and its signatures"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert re.findall(r'class="place">(\d)<', text) == ["1", "2", "3"]


def test_each_round_is_told_in_its_heading(classic: bytes) -> None:
    """The call, the count, and who lost a die."""
    replay = Replay(examine(classic), Path("x"))
    losses = [e.event for _, e in replay.tell() if isinstance(e, Happened) and isinstance(e.event, DieLost)]
    endings = re.findall(r'<summary>Round (\d+)<span class="ending">(.*?)</span>', made(classic))
    assert [int(number) for number, _ in endings] == [*range(1, len(losses) + 1)]
    assert all(" called " in told for _, told in endings)
    losers = [re.findall(r"(\w+) lost a die", told) for _, told in endings]
    assert losers == [[replay.players[loss.seat].name] for loss in losses]


# The command


def test_a_report_is_written_once_and_names_its_file(here: Run, tmp_path: Path, classic: bytes) -> None:
    (tmp_path / "m.p2pdice").write_bytes(classic)
    where = str(tmp_path / "m.html")
    done = here("report", str(tmp_path / "m.p2pdice"), "-o", where)
    assert done.returncode == ExitCode.DONE, done.stderr
    assert where in done.stdout.replace("\n", "")
    again = here("report", str(tmp_path / "m.p2pdice"), "-o", where)
    assert again.returncode == ExitCode.FAILURE
    assert "exists already" in again.stderr


def test_an_altered_file_gets_no_report(here: Run, tmp_path: Path, classic: bytes) -> None:
    (tmp_path / "m.p2pdice").write_bytes(classic[:-1] + bytes([classic[-1] ^ 1]))
    done = here("report", str(tmp_path / "m.p2pdice"), "-o", str(tmp_path / "m.html"))
    assert done.returncode == ExitCode.ALTERED
    assert not (tmp_path / "m.html").exists()


def test_an_unfinished_match_gets_a_report_that_says_so(here: Run, tmp_path: Path) -> None:
    world = World(PRESETS["classic"].with_options({"dice": "3"}), 3, 2)
    for _ in range(60):
        world.step()
    (tmp_path / "m.p2pdice").write_bytes(write_transcript(world.machines[0].match.history, ()))
    done = here("report", str(tmp_path / "m.p2pdice"), "-o", str(tmp_path / "m.html"))
    assert done.returncode == ExitCode.INCOMPLETE
    text = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "<strong>INCOMPLETE. Nothing wrong so far; the file ends in round" in text
    assert text.count('class="place">not finished<') == 3
    assert "not finished: a report by p2pdice</title>" in text


def test_the_page_does_not_depend_on_the_name_of_the_file(here: Run, tmp_path: Path, classic: bytes) -> None:
    """So a reader who extracts the transcript from a page, and makes a page of it, can compare the two pages."""
    pages = []
    for name in ("Friday: final", "match"):
        (tmp_path / f"{name}.p2pdice").write_bytes(classic)
        out = tmp_path / f"{name}.html"
        assert here("report", str(tmp_path / f"{name}.p2pdice"), "-o", str(out)).returncode == ExitCode.DONE
        pages.append(out.read_bytes())
    assert pages[0] == pages[1]
    assert b"Friday" not in pages[0]


def test_the_table_of_dice_agrees_with_the_picture(classic: bytes) -> None:
    text = made(classic)
    table = text[text.index("The same as a table") : text.index("Round by round")]
    rows = [tuple(map(int, re.findall(r">(\d+)<", row)))[-3:] for row in re.findall("<tr>(.*)</tr>", table)[1:]]
    replay = Replay(examine(classic), Path("x"))
    assert rows[-1] == replay.last_dice
    assert sum(rows[0]) == 9
    points = re.search('class="track t0" points="([^"]*)"', text)
    assert points is not None
    assert len(rows) == len(points[1].split())
