"""In line mode, the prompt appears only when no more output is about to follow."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.table import face
from cli.table.face import TerminalLines


async def test_no_prompt_between_a_move_and_its_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face, "_LULL", 0.0)
    monkeypatch.setattr(face, "_REST", 0.0)
    queue = face._typed[asyncio.get_running_loop()] = asyncio.Queue()
    written: list[str] = []
    table = SimpleNamespace(prompt=lambda: "> ", is_behind=True, moves_by_itself=False)
    writer = cast("Any", SimpleNamespace(write=written.append))
    lines = TerminalLines(cast("Any", table), writer, bell="off", color="")
    lines._prompt()
    queue.put_nowait("liar")
    assert await lines.read() == "liar"
    lines.tell("The cups go up.")
    lines.refresh()
    for _ in range(5):
        await asyncio.sleep(0)
    assert "".join(written) == "> The cups go up.\n"
    lines.say("There are 9 dice.")
    lines._prompt()
    assert written[-1] == "> "
    assert lines._prompting is not None
    lines._prompting.cancel()


async def test_no_prompt_between_events_that_are_still_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face, "_LULL", 0.0)
    monkeypatch.setattr(face, "_REST", 0.0)
    # A queue made here prevents a thread that reads the standard input of the tests.
    face._typed[asyncio.get_running_loop()] = asyncio.Queue()
    written: list[str] = []
    asked = asyncio.Event()

    def write(text: str) -> None:
        written.append(text)
        if text.endswith("> "):
            asked.set()

    table = SimpleNamespace(prompt=lambda: "> ", is_behind=False, moves_by_itself=False)
    lines = TerminalLines(cast("Any", table), cast("Any", SimpleNamespace(write=write)), bell="off", color="")
    lines.refresh()
    await asked.wait()
    table.is_behind = True
    for cup in ("Ada  1 2", "Ben  3 4"):
        lines.tell(cup)
        lines.refresh()
        for _ in range(5):
            await asyncio.sleep(0)
    table.is_behind = False
    asked.clear()
    await asyncio.wait_for(asked.wait(), 5)
    shown = "".join(written)
    assert shown.count(">") == 2
    assert shown.endswith("> ")
