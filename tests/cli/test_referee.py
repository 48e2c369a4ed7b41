"""``p2pdice referee``: it plays whole matches line by line, and a refused line changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.bots.referee import Referee
from cli.foreign_text import LINE_BYTES, LineBuffer, OverlongLineError
from p2pdice.rulesets import PRESETS
from tests.cli.conftest import Run
from tests.programs import MODULE, PATIENCE, Program, environment


def ask(referee: Referee, **line: Any) -> dict[str, Any]:
    answer = referee.answer(json.dumps(line).encode())
    assert answer.isascii()
    assert answer.endswith(b"\n")
    assert answer.count(b"\n") == 1
    data: dict[str, Any] = json.loads(answer)
    assert set(data) == ({"ok", "events", "state"} if data["ok"] else {"ok", "error"})
    return data


def state(referee: Referee) -> dict[str, Any]:
    return dict(ask(referee)["state"])


COMMON = {
    *("phase", "round", "awaits", "to_act", "leader", "dice", "bid", "bids", "ones_wild", "palifico", "must_raise"),
    *("challenge", "hands", "count", "legal", "out", "winners", "places"),
}
MOTES = {"pledges", "prize", "cups", "graveyard", "removed", "stack", "immune", "blocked"}


def test_a_round_with_dice_known_from_the_deal() -> None:
    referee = Referee(PRESETS["classic"], 2)
    assert state(referee)["awaits"] == "deal"
    dealt = ask(referee, deal=[[5, 4, 3, 2, 1], [2, 2, 3, 6, 6]])
    assert dealt["events"] == [{"type": "round", "round": 1, "leader": 0, "dice": [5, 5], "palifico": False}]
    assert (dealt["state"]["awaits"], dealt["state"]["to_act"], dealt["state"]["hands"]) == ("move", 0, None)
    bid = ask(referee, seat=0, do=" 3 X 5 ")["state"]
    assert (bid["bid"], bid["legal"][0], bid["legal"][-1]) == ({"quantity": 3, "face": 5, "seat": 0}, "3x6", "liar")
    called = ask(referee, seat=1, do="dudo")
    assert [event["type"] for event in called["events"]] == ["challenge", "hands", "verdict", "die-lost"]
    assert set(called["state"]) == COMMON
    assert (called["state"]["hands"], called["state"]["count"]) == ([[1, 2, 3, 4, 5], [2, 2, 3, 6, 6]], 2)
    assert (called["state"]["dice"], called["state"]["leader"], called["state"]["round"]) == ([4, 5], 0, 2)


def test_a_round_with_dice_given_at_the_showdown() -> None:
    referee = Referee(PRESETS["classic"], 3, first=2)
    ask(referee, deal=None)
    ask(referee, seat=2, do="9x2")
    ask(referee, evict=1)
    assert ask(referee, seat=0, do="liar")["state"]["awaits"] == "hands"
    judged = ask(referee, hands=[[6, 5, 4, 3, 2], None, [2, 2, 2, 2, 1]])
    assert [event["type"] for event in judged["events"]] == ["hands", "void"]
    assert judged["state"]["hands"] == [[2, 3, 4, 5, 6], None, [1, 2, 2, 2, 2]]
    assert (judged["state"]["dice"], judged["state"]["out"]) == ([5, 0, 5], [1])
    assert ask(referee, deal=[[1] * 5, [], [1] * 5])["ok"]


def test_the_dice_of_an_evicted_player_still_count() -> None:
    referee = Referee(PRESETS["classic"], 3)
    ask(referee, deal=[[2] * 5, [2] * 5, [3] * 5])
    ask(referee, seat=0, do="9x2")
    ask(referee, evict=1)
    judged = ask(referee, seat=2, do="liar")
    assert judged["state"]["hands"] == [[2] * 5, [2] * 5, [3] * 5]
    assert judged["state"]["dice"] == [5, 0, 4]


def test_a_challenge_with_sides_shows_them_by_seat() -> None:
    referee = Referee(PRESETS["joker"], 3)
    ask(referee, deal=[[2] * 5, [3] * 5, [4] * 5])
    ask(referee, seat=0, do="9x2")
    called = ask(referee, seat=1, do="liar")["state"]
    assert (called["phase"], called["challenge"]) == ("siding", {"seat": 1, "call": "liar", "sides": {}})
    assert called["legal"] == ["accuser", "accused"]
    assert ask(referee, seat=2, do="accuser")["state"]["dice"] == [5, 4, 4]


def test_a_match_with_motes_and_stakes_from_the_pledges_to_the_payout() -> None:
    referee = Referee(PRESETS["motes"], 2)
    assert state(referee)["awaits"] == "pledges"
    assert ask(referee, pledges=["redeemed", "cursed"])["state"]["awaits"] == "stakes"
    assert ask(referee, stakes=[[100, 1000, 0, 0], [50, 1000, 1, 2]])["state"]["phase"] == "prize"
    drawn = ask(referee, roll=6)["state"]
    assert (drawn["prize"], drawn["phase"], drawn["awaits"]) == ("dark", "night", "deal")
    assert drawn["cups"][0] == ["light@0", "grey@0", "neutral@0", "blue@0", "red@0"]
    assert set(drawn) == COMMON | MOTES | {"stakes"}
    ask(referee, deal=[[2] * 5, [3] * 5])
    ask(referee, seat=0, do="6x2")
    lost = ask(referee, seat=1, do="liar")["state"]
    assert (lost["phase"], lost["to_act"], lost["legal"][-1]) == ("discard", 0, "lose red@0")
    buried = ask(referee, seat=0, do="lose grey@0")["state"]
    assert (buried["phase"], buried["graveyard"]) == ("sunrise", [{"die": "grey@0", "sent_by": 0}])
    won = ask(referee, evict=1)["state"]
    assert (won["phase"], won["legal"]) == (
        "crown",
        ["crown light@0", "crown neutral@0", "crown blue@0", "crown red@0"],
    )
    over = ask(referee, seat=0, do="crown light@0")["state"]
    assert set(over) == COMMON | MOTES | {"stakes", "twin_soul", "ticket_delta", "payout", "delta"}
    assert over["twin_soul"] == {"name": "Eclipse", "motes": ["light", "dark"]}
    assert (over["winners"], over["places"]) == ([0], [[0], [1]])
    assert (over["payout"], over["delta"], over["ticket_delta"]) == ([160, 0], [60, -50], [2, -1])
    assert not ask(referee, seat=0, do="pass")["ok"]


def a_line(now: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Return a random line that the state awaits."""
    players = len(now["dice"])
    match now["awaits"]:
        case "move":
            return {"seat": now["to_act"], "do": rng.choice([*now["legal"], *now["legal"][-1:] * 20])}
        case "deal":
            return {"deal": [rng.choices(range(1, 7), k=dice) for dice in now["dice"]]}
        case "roll":
            return {"roll": rng.randint(1, 6)}
        case "pledges":
            return {"pledges": rng.choices(["redeemed", "cursed"], k=players)}
    return {"stakes": [[rng.randint(0, 10), 10, 0, 0] for _ in range(players)]}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_random_match_is_played_to_its_end(preset: str) -> None:
    rng = Random(preset)
    referee = Referee(PRESETS[preset], 3, 1)
    now = state(referee)
    while now["awaits"] != "over":
        answer = ask(referee, **a_line(now, rng))
        assert answer["ok"], answer
        now = answer["state"]
    assert sorted(seat for place in now["places"] for seat in place) == [0, 1, 2]


REFUSED = [
    b"",
    b"{",
    b"[]",
    b"3",
    b"null",
    b"{} {}",
    b'{"deal": NaN}',
    b'{"deal": [[1,2,3,4,5],[1,2,3,4,-Infinity]]}',
    b'{"deal": null, "deal": null}',
    b'{"deal": null, "more": 1}',
    b'{"deal": [[1,2,3,4,5]]}',
    b'{"deal": [[1,2,3,4,5],[1,2,3,4]]}',
    b'{"deal": [[1,2,3,4,5],[1,2,3,4,7]]}',
    b'{"deal": [[1,2,3,4,5],[1,2,3,4,true]]}',
    b'{"deal": [[1,2,3,4,5],[1,2,3,4,5.0]]}',
    b'{"deal": [[1,2,3,4,5],null]}',
    b'{"deal": {"0": [1,2,3,4,5]}}',
    b'{"hands": [[1,2,3,4,5],[1,2,3,4,5]]}',
    b'{"seat": 0, "do": "3x5"}',
    b'{"seat": 0}',
    b'{"seat": "0", "do": "3x5"}',
    b'{"seat": 0, "do": 3}',
    b'{"seat": -1, "do": "concede"}',
    b'{"seat": 2, "do": "concede"}',
    b'{"seat": true, "do": "concede"}',
    b'{"seat": 1e999, "do": "concede"}',
    b'{"seat": ' + b"9" * 5000 + b', "do": "concede"}',
    b'{"evict": 7}',
    b'{"evict": null}',
    b'{"evict": [0]}',
    b'{"roll": 3}',
    b'{"roll": {}}',
    b'{"pledges": ["redeemed", "cursed"]}',
    b'{"stakes": [null, null]}',
    b'{"stakes": 4}',
    b"\xff\xfe{}",
    b'{"do": "\xc3\x28", "seat": 0}',
    b'{"\\ud800": "\\ud800"}',
    b'{"seat": 0, "do": "\\ud800\\u0000\\u001b[2J"}',
    b"[" * 50_000,
    b'{"deal":' * 9_000,
    b'{"roll": ' + b"[" * 900 + b"]" * 900 + b"}",
]


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:40].decode("ascii", "backslashreplace"))
def test_an_invalid_line_is_refused_and_changes_nothing(line: bytes) -> None:
    referee = Referee(PRESETS["classic"], 2)
    before = referee.state
    answer = json.loads(referee.answer(line))
    assert set(answer) == {"ok", "error"}
    assert answer["ok"] is False
    assert answer["error"].replace("\n", "").isprintable()
    assert referee.state is before


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([0, 1, 2, 6, "3x5"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from(["seat", "do", "deal", "hands", "roll", "pledges", "stakes", "evict", "x"])
FITTING = st.sampled_from(
    [
        {},
        {"pledges": ["redeemed", "cursed"]},
        {"stakes": [[5, 9, 0, 0], [0, 0, 0, 0]]},
        {"roll": 3},
        {"deal": [[1, 2, 3, 4, 5], [1, 1, 6, 6, 6]]},
        {"deal": None},
        {"hands": [[1, 2, 3, 4, 5], None]},
        *(
            {"seat": seat, "do": move}
            for seat in (0, 1)
            for move in ("2x3", "liar", "pass", "lose red@0", "lose red@1")
        ),
        {"evict": 1},
    ]
)


@given(st.sampled_from(sorted(PRESETS)), st.lists(FITTING | st.dictionaries(KEYS, JSON, max_size=3), max_size=12))
def test_every_line_is_answered_and_a_refused_one_changes_nothing(preset: str, lines: list[dict[str, Any]]) -> None:
    referee = Referee(PRESETS[preset], 2)
    for line in lines:
        before = referee.state
        if ask(referee, **line)["ok"]:
            assert not line or referee.state != before
        else:
            assert referee.state is before


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(line: bytes) -> None:
    assert json.loads(Referee(PRESETS["classic"], 2).answer(line))["ok"] in (True, False)


def fed_in_pieces(buffer: LineBuffer, stream: bytes, data: st.DataObject) -> list[bytes]:
    """Feed a stream to a buffer in pieces of random lengths; return the lines that come out."""
    taken = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        buffer.feed(stream[:cut])
        stream = stream[cut:]
        while (line := buffer.take()) is not None:
            taken.append(line)
    return taken


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b".")), max_size=8), st.data())
def test_a_line_buffer_returns_whole_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer()
    taken = fed_in_pieces(buffer, stream, data)
    assert taken == [line.removesuffix(b"\r") for line in lines]
    assert buffer.rest() is None


@settings(max_examples=20)
@given(st.integers(1, 5 * LINE_BYTES), st.integers(1_000, 2 * LINE_BYTES))
def test_an_overlong_line_is_not_kept_in_memory(length: int, chunk: int) -> None:
    buffer = LineBuffer()
    stream = b"x" * length + b"\n{}\n"
    taken: list[bytes | str] = []
    for start in range(0, len(stream), chunk):
        buffer.feed(stream[start : start + chunk])
        while True:
            try:
                line = buffer.take()
            except OverlongLineError:
                taken.append("too long")
                continue
            if line is None:
                break
            taken.append(line)
        assert len(buffer) <= LINE_BYTES
    assert taken == (["too long", b"{}"] if length > LINE_BYTES else [b"x" * length, b"{}"])


def test_a_line_of_ten_megabytes_is_refused_without_using_memory(tmp_path: Path) -> None:
    lines = b'{"deal": null}\n' + b'{"deal": [' + b"9" * 10_000_000 + b"]}\n" + b"{}\n{}"
    peak = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    code = f"import atexit, sys; atexit.register(lambda: exec({peak!r})); import cli; cli.main()"
    measure = code if sys.platform != "win32" else "import cli; cli.main()"
    peaks = []
    for given_lines in (b"{}\n", lines):
        done = subprocess.run(
            [sys.executable, "-c", measure, "referee", "--players", "2"],
            input=given_lines,
            env=environment(tmp_path),
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
        peaks.append(int(done.stderr or 0))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True, True]
    assert answers[1]["error"] == f"the line is longer than {LINE_BYTES} bytes"
    assert answers[2] == answers[3]
    assert peaks[1] - peaks[0] < 4_000 * (1024 if sys.platform == "darwin" else 1)


def test_each_line_is_answered_before_the_next_is_written(tmp_path: Path) -> None:
    arguments = ("referee", "--players", "2", "--rules", "perudo", "--set", "dice=1", "--first", "1")
    with Program(*MODULE, *arguments, home=tmp_path) as referee:
        answers = referee.output
        for line, awaits in (("{}", "deal"), ('{"deal": [[1], [2]]}', "move"), ('{"seat": 1, "do": "9x6"}', "move")):
            before = len(answers)
            referee.type(line)
            referee.wait_for(lambda before=before: len(answers) > before, f"an answer to {line}")  # type: ignore[misc]
            assert json.loads(answers[-1])["state"]["awaits"] == awaits
        referee.close_input()
        assert referee.end() == 0
        assert len(answers) == 3


def test_a_missing_seat_cannot_lead(p2pdice: Run) -> None:
    done = p2pdice("referee", "--players", "3", "--first", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no seat 3 among 3" in done.stderr
