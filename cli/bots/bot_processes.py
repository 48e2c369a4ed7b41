"""Bots as processes of their own: started, given orders, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import cli
from cli.bots.programs import forbid_vfork, own_group
from cli.exits import ExitCode
from cli.render import shown_path
from protocol.files import is_full, own_opener

if TYPE_CHECKING:
    from protocol.match.timeouts import Party

PATIENCE: Final = 3.0
"""Seconds that a child gets to say goodbye before it is killed; a finished node lingers for two."""
_EXITS: Final[dict[int, str]] = {
    ExitCode.UNREACHABLE: "could not reach the table",
    ExitCode.FULL: "found no free seat",
    ExitCode.REFUSED: "was refused",
}


class Order(NamedTuple):
    """Tells a bot which table or match to go to: the first line of its standard input.

    A join line may admit to a private table, and every account of a machine can read the arguments of a process.
    """

    table: str = ""
    """The target of a bot that joins, the name of the table for one that hosts."""
    match: str = ""
    """Id of the match to which it returns instead."""
    person: str = ""
    """Identity key of the player who seated it, in hexadecimal digits; empty if nobody did."""
    programs: tuple[str, ...] = ()
    """Identity keys of all bots that they seated."""

    @classmethod
    def to_join(cls, table: str, party: Party) -> Order:
        """Return the order to sit down at a table of the person."""
        return cls(table, "", party.person.hex(), tuple(sorted(each.hex() for each in party.programs)))

    @classmethod
    def to_resume(cls, match: str, party: Party) -> Order:
        """Return the order to return to a match with the person."""
        return cls.to_join("", party)._replace(match=match)

    @classmethod
    def read(cls, line: str) -> Order:
        """Return the order that :meth:`line` writes."""
        table, match, person, programs = json.loads(line)
        return cls(table, match, person, tuple(programs))

    def line(self) -> str:
        """Return the order as a line of JSON."""
        return json.dumps(self)

    def party(self) -> Party | None:
        """Return the person who has seated the bot, with all their bots; None if nobody has."""
        from protocol.match.timeouts import Party

        if not self.person:
            return None
        return Party(bytes.fromhex(self.person), frozenset(map(bytes.fromhex, self.programs)))


async def start_house_bot(
    order: Order, arguments: Sequence[str], log: Path, *, folder: str | None = None, is_heard: bool = False
) -> Process:
    """Start ``p2pdice house-bot`` with these arguments. It ends with its standard input, even if we are killed.

    :param log: where its complaints go.
    :param folder: where it runs; None for here.
    :param is_heard: give its standard output as a pipe.
    :raises OSError: if it cannot be started.
    """
    # The interpreter that runs us, and the very same p2pdice; never one that lies in the current folder by chance.
    root = str(Path(cli.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    forbid_vfork()
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
            cwd=folder,
            **own_group(),  # Ctrl-C is for us: we tell it when to leave
        )
    assert process.stdin is not None
    process.stdin.write(f"{order.line()}\n".encode())
    return process


def _appended(log: Path) -> BinaryIO:
    return open(log, "ab", opener=own_opener)


async def end(processes: Iterable[Process]) -> None:
    """Tell children to leave, and kill those that do not."""
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


def complaints_in(log: Path) -> str:
    """Return where to look for what a process complained of: a full disk keeps no log, and is the likely cause."""
    return f"The disk is full: {shown_path(log.parent)}" if is_full(log.parent) else f"Its log: {shown_path(log)}"


def describe_exit(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "is still running"
    if code < 0:
        return f"was killed by signal {-code}"
    return _EXITS.get(code, f"ended with exit code {code}")
