"""The work of commands that read a home grows in proportion to the home, and not faster."""

from __future__ import annotations

import json
import sqlite3
import sys
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.homes import COMMANDS, NEW_FILE, WORKED, fill
from protocol.storage.home import Home
from tests.programs import run_here
from tests.tiers import thoroughly

pytestmark = pytest.mark.xdist_group("growth")  # so that only one process fills the homes

SMALL, TIMES = 25, 8
MORE = 1.4
"""The tolerated factor above proportional growth, because sorting and trees grow a little faster."""


class Work:
    """Counts function calls, including those of C functions, and every tenth step of SQLite."""

    def __init__(self) -> None:
        self.count = 0

    def _note(self, frame: FrameType, event: str, arg: object) -> None:
        if event in ("call", "c_call"):
            self.count += 1

    def of(self, *words: str, home: Home) -> int:
        def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
            made: sqlite3.Connection = plain(*arguments, **options)
            made.set_progress_handler(lambda: 0, 10)  # this call is counted, too
            return made

        plain = sqlite3.connect
        self.count = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", connect)
            sys.setprofile(self._note)
            try:
                new = str(home.path.parent / uuid4().hex)
                done = run_here(*(new if word == NEW_FILE else word for word in words), home=home.path)
            finally:
                sys.setprofile(None)
        assert done.returncode in WORKED, done.stderr
        assert "--json" not in words or json.loads(done.stdout)
        return self.count


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> list[Home]:
    found = []
    for size in (1, SMALL, TIMES * SMALL):
        home = Home(tmp_path_factory.mktemp("homes") / str(size))
        fill(home, size)
        found.append(home)
    return found


@pytest.mark.parametrize("words", [*COMMANDS[::2], *thoroughly(COMMANDS[1::2])], ids=" ".join)
def test_a_home_eight_times_as_large_takes_about_eight_times_the_work(
    words: tuple[str, ...], homes: list[Home]
) -> None:
    Work().of(*words, home=homes[0])  # so that imports are not counted
    least, small, large = (Work().of(*words, home=home) for home in homes)
    assert large - least <= MORE * TIMES * max(small - least, SMALL)
