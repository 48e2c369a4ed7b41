"""House bots as processes of their own: started, watched, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import cli
from cli.exits import ExitCode
from protocol.home import private_opener

PATIENCE: Final = 3.0
"""Seconds that a child gets to say goodbye before it is killed; a finished node lingers for two."""
_EXITS: Final[dict[int, str]] = {
    ExitCode.UNREACHABLE: "could not reach the table",
    ExitCode.FULL: "found no free seat",
    ExitCode.REFUSED: "was refused",
}
BOT_NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun")
"""One for each seat of the largest table."""


async def start_house_bot(table: str, arguments: Sequence[str], log: Path, *, is_heard: bool = False) -> Process:
    """Start ``p2pdice house-bot`` with these arguments. It ends when its standard input does, so also if we are killed.

    :param table: what it joins or hosts, one line. A join line may admit to a private table, and every account of a
        machine can read the arguments of a process: so the child is told through its standard input.
    :param log: where its complaints go.
    :param is_heard: give its standard output as a pipe.
    """
    # The interpreter that runs us, and the very same p2pdice; never one that lies in the current folder by chance.
    root = str(Path(cli.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _appended(log) as complaints:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "p2pdice",
            "house-bot",
            *arguments,
            stdin=PIPE,
            stdout=PIPE if is_heard else DEVNULL,
            stderr=complaints,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
        )
    assert process.stdin is not None
    process.stdin.write(f"{table}\n".encode())
    return process


def _appended(log: Path) -> BinaryIO:
    return open(log, "ab", opener=private_opener)


async def end(processes: Iterable[Process]) -> None:
    """Tell children to leave, and see to it that they have."""
    running = [process for process in processes if process.returncode is None]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    if not running:
        return
    _, stubborn = await asyncio.wait([asyncio.ensure_future(process.wait()) for process in running], timeout=PATIENCE)
    if stubborn:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await asyncio.wait(stubborn)


def describe_exit(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by signal {-code}"
    return _EXITS.get(code, f"ended with exit code {code}")
