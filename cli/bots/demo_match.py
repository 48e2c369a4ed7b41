"""A match between house bots on one machine: each a process with a home of its own, found by multicast, over TLS."""

from __future__ import annotations

import asyncio
import json
import secrets
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.bots.bot_processes import Order, complaints_in, describe_exit, end, start_house_bot
from cli.bots.names import BOT_NAMES, bot_nickname
from cli.exits import ExitCode, Failure
from cli.home import log_path
from cli.levels import Level, shown
from cli.render import shown_path
from cli.text.event_json import NAMES
from protocol.events import MatchResult, TableOpened

STALLED: Final = 60.0
"""Seconds without news after which a match between programs is given up."""


@dataclass(slots=True)
class Contestant:
    """One bot."""

    name: str
    home: Path
    level: Level
    transcript: Path | None = None
    """None until this bot has seen the match end."""
    found_by_itself: bool = True
    """Multicast led it to the table; otherwise it was given the address."""

    @property
    def nickname(self) -> str:
        """What the others call it."""
        return bot_nickname(self.name, level=level) if (level := shown(self.level)) else self.name


class DemoMatch:
    """One match.

    :param levels: of the bots, one for each.
    :param rules: ``--rules`` and ``--set`` as a child takes them.
    :param seed: fixes the bots' choices, together with their names.
    :param show: gets every event of the hosting bot, as :mod:`cli.text.event_json` writes it.
    :param warn: gets other news that is worth a line.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        rules: list[str],
        folder: Path,
        seed: str | None,
        show: Callable[[dict[str, Any]], None],
        warn: Callable[[str], None],
    ) -> None:
        self.contestants = [
            Contestant(name, folder / name.lower(), level) for name, level in zip(BOT_NAMES, levels, strict=False)
        ]
        self._rules = rules
        self._seed = seed
        self._show = show
        self._warn = warn
        self._table = f"demo {secrets.token_hex(4)}"
        self._join_line = ""
        self._processes: list[Process] = []

    async def run(self) -> None:
        """Play the match to its end on every node.

        :raises Failure: if a process fails or nothing happens any more, naming the log to look at.
        """
        try:
            async with asyncio.timeout(STALLED) as patience:
                await asyncio.gather(*(self._play(each, patience) for each in self.contestants))
        except TimeoutError:
            logs = shown_path(log_path(self.contestants[0].home))
            raise Failure(f"Nothing has happened for {STALLED:.0f} seconds.", hint=f"See the logs, as {logs}") from None
        finally:
            await end(self._processes)

    async def _play(self, contestant: Contestant, patience: asyncio.Timeout) -> None:
        is_host = contestant is self.contestants[0]
        seat = ["--seats", str(len(self.contestants))] if is_host else []
        code = await self._follow(contestant, self._table, seat, patience)
        if code == ExitCode.UNREACHABLE and self._join_line and not is_host:
            if all(each.found_by_itself for each in self.contestants):
                self._warn("The table was not found by multicast in time: the bots are told its address.")
            contestant.found_by_itself = False
            code = await self._follow(contestant, self._join_line, seat, patience)
        if code or contestant.transcript is None:
            why = describe_exit(code) if code else "ended before the match did"
            raise Failure(f"The bot {contestant.name} {why}.", hint=complaints_in(log_path(contestant.home)))

    async def _follow(self, contestant: Contestant, table: str, seat: list[str], patience: asyncio.Timeout) -> int:
        own = ["--name", contestant.nickname, "--home", str(contestant.home), "--level", contestant.level]
        arguments = [*seat, *self._rules, *own]
        if self._seed is not None:
            arguments += ["--seed", f"{self._seed}/{contestant.name}"]
        process = await start_house_bot(Order(table), arguments, log_path(contestant.home), is_heard=True)
        self._processes.append(process)
        assert process.stdout is not None
        async for line in process.stdout:
            patience.reschedule(asyncio.get_running_loop().time() + STALLED)
            self._take(contestant, json.loads(line))
        return await process.wait()

    def _take(self, contestant: Contestant, event: dict[str, Any]) -> None:
        if event["type"] == NAMES[TableOpened]:
            self._join_line = event["join_line"]
        if event["type"] == NAMES[MatchResult]:
            contestant.transcript = Path(event["transcript"])
        if contestant is self.contestants[0]:
            self._show(event)
