"""All readers of an arena's file refuse the same lines, and name the first wrong line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.arena.game_file import LONGEST_LINE, Game, GameFileError
from cli.arena.rating_list import RatingList
from cli.arena.retold_game import game_from
from cli.arena.tournament import Journal, filed, heading
from cli.exits import Failure
from cli.foreign_text import write_object
from tests.cli.test_arena import plan, played, text

ARENA = plan("odds", "odds", games=4)
GAMES: list[Game] = []
FAULT = {"seat": 0, "line": 0, "kind": "late", "reason": "", "played": "", "trace": "", "log": "", "times": 1}


def line(fixture: int, **change: Any) -> dict[str, Any]:
    if not GAMES:
        GAMES.extend(played(ARENA))
    data: dict[str, Any] = json.loads(json.dumps(filed(ARENA, text(ARENA, fixture), GAMES[fixture]).to_json()))
    return {key: value for key, value in (data | change).items() if value is not DROPPED}


DROPPED = "dropped"


def resume(path: Path) -> None:
    with Journal(path, ARENA, is_resumed=True):
        pass


def rate(path: Path) -> None:
    RatingList().read(path)


def show(path: Path) -> None:
    game_from(path, None)


def find(path: Path) -> None:
    game_from(path, 0)


READERS = pytest.mark.parametrize("read", [resume, rate, show, find], ids=["resumed", "rated", "shown", "found"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Journal(tmp_path / "games", ARENA, is_resumed=False):
        pass
    return tmp_path / "games"


@READERS
@pytest.mark.parametrize(
    "garbage", ["[]", "{", "[" * 100_000, '"\\ud800"', "1e999", "\x00", '{"a": NaN}', '{"a": 1, "a": 2}', "",
     "{}", '{"type":"match"}', '{"type":"game"}', '{"type":"game","number":0,', '{"type":"game","number":0}'],
    ids=lambda garbage: garbage[:30],
)  # fmt: skip
def test_a_line_of_something_else_is_refused(path: Path, read: Callable[[Path], None], garbage: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{garbage}\n{json.dumps(line(0))}\n")
    before = path.read_bytes()
    with pytest.raises(GameFileError, match=r"^line 2 of .*: "):
        read(path)
    assert path.read_bytes() == before


@READERS
@pytest.mark.parametrize(
    "change",
    [
        *({key: DROPPED} for key in ("bots", "names", "options", "lines", "leader", "places", "described", "seed")),
        {"ms": DROPPED},
        {"number": "x"}, {"number": -1}, {"number": 0.5}, {"number": 10**12}, {"rules": 1}, {"leader": 2},
        {"leader": -1}, {"type": "arena game"},
        {"places": [[0], [7]]}, {"places": [[], [0, 1]]}, {"places": [[0, 1], [1]]},
        {"places": [[0], [1], [2]]}, {"faults": [{"late": "x"}, {}]}, {"faults": [[], {}]}, {"faults": [{}]},
        {"ms": [[]]}, {"ms": [[1e308], []]}, {"ms": [[-1], []]}, {"faults": [{"\x1b[2J": 1}, {}]},
        {"faults": [{"late": -3}, {}]}, {"faults": [{"late": 10**4200}, {}]}, {"faults": [{"late": 1.5}, {}]},
        {"described": [{}]}, {"described": [FAULT | {"seat": 2}]}, {"described": [FAULT | {"trace": "x" * 9_000}]},
        {"described": [FAULT | {"kind": "\x1b[2J"}]}, {"described": [FAULT | {"line": -1}]},
        {"described": [FAULT | {"times": 0}]}, {"described": [FAULT | {"times": 10**30}]},
        {"described": [FAULT | {"log": "x" * 99}]}, {"described": [FAULT | {"reason": 1}]},
        {"described": [FAULT] * 99}, {"described": [FAULT | {"reason": []}]},
        {"described": [FAULT | dict.fromkeys(("reason", "trace"), "x" * 999)]}, {"described": 1},
        {"lines": [[1]]}, {"bots": ["odds"]}, {"bots": ["odds", 1]}, {"bots": ["x" * 5_000, "odds"]},
        {"bots": ["odds"] * 3}, {"names": ["odds"] * 3}, {"names": ["x" * 15, "odds"]}, {"seed": 1}, {"options": []},
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_a_line_that_is_not_a_game_is_refused(path: Path, read: Callable[[Path], None], change: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line(0, **change))}\n")
    before = path.read_bytes()
    with pytest.raises(GameFileError, match=r"^line 2 of .*: ") as refused:
        read(path)
    assert str(refused.value).isprintable()
    assert path.read_bytes() == before


@READERS
def test_a_game_that_is_there_twice_is_refused(path: Path, read: Callable[[Path], None]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line(fixture))}\n" for fixture in (1, 1, 0))
    with pytest.raises(GameFileError, match=r"^line 3 of .*: game 1 is there twice$"):
        read(path)


@READERS
def test_a_file_of_too_many_games_is_refused(
    path: Path, read: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.arena.game_file.MOST_GAMES", 2)
    with path.open("ab") as file:
        file.writelines(write_object(line(fixture)) for fixture in (1, 2, 3))
    with pytest.raises(Failure if read is show else GameFileError, match=r"^line 4 of .* than 2 games$|several games"):
        read(path)


def test_only_the_game_that_is_looked_for_is_parsed(path: Path) -> None:
    with path.open("ab") as file:
        file.write(write_object(line(1, places=[])) + write_object(line(0)))
    find(path)
    with pytest.raises(GameFileError, match=r"^line 2 of .*: this is not a game of an arena: "):
        game_from(path, 1)


def test_a_second_heading_is_refused_in_the_file_of_one_arena(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(GameFileError, match=r"^line 2 of .*: this is a second heading$"):
        resume(path)


@READERS
def test_an_overlong_line_is_not_read_into_memory(
    path: Path, read: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.arena.game_file.LONGEST_LINE", 10_000)
    with path.open("a", encoding="utf-8") as file:
        file.write(" " * 10_000)
    with pytest.raises(GameFileError, match=r"^line 2 of .*: the line is too long$"):
        read(path)


@READERS
def test_an_incomplete_last_line_is_ignored(path: Path, read: Callable[[Path], None]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line(0))}\n{json.dumps(line(1))}")
    read(path)
    with pytest.raises(Failure, match="It has no game 1"):
        game_from(path, 1)


def test_the_longest_game_of_a_failing_bot_fits_in_a_line() -> None:
    faults = [FAULT | {"seat": seat, "reason": "\U0001f3b2" * 301, "trace": "\U0001f3b2" * 4_000} for seat in range(10)]
    ten: dict[str, Any] = {
        "number": 0, "rules": "classic", "leader": 0, "places": [list(range(10))], "faults": [{"late": 9}] * 10,
        "ms": [[1.5] * 2_000] * 10, "lines": [{"seat": 9, "do": "50x6"}] * 20_000, "described": faults * 8,
        "bots": ["odds"] * 10, "names": ["odds"] * 10, "options": {}, "seed": "1",
    }  # fmt: skip
    assert Game.from_json(ten)
    assert len(json.dumps(ten)) < LONGEST_LINE


@pytest.mark.parametrize(
    "whole",
    [b"not an arena", write_object(line(0)), b'{"type":"arena"}\n', write_object(heading(plan("odds", "press")))],
    ids=["no line", "a game", "an empty heading", "another arena"],
)
def test_the_file_of_another_arena_is_not_overwritten(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "other").write_bytes(whole)
    with pytest.raises(Failure, match=r"other is not the file of this arena\.$") as refused:
        resume(tmp_path / "other")
    assert refused.value.hint.startswith("Repeat the original arguments")
    assert (tmp_path / "other").read_bytes() == whole


@READERS
@pytest.mark.parametrize("whole", [b'{"type":"game"}\n', b"{}\n", b"a line\n"])
def test_a_file_of_something_else_is_not_overwritten(
    tmp_path: Path, read: Callable[[Path], None], whole: bytes
) -> None:
    (tmp_path / "other").write_bytes(whole)
    with pytest.raises(GameFileError, match=r"^line 1 of .*: (this is|the line is) n"):
        read(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == whole
