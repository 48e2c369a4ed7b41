"""Reports on a program at a table: the events it sees, each of its faults, and their number at the end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bots.bot_seat import Attend, seat
from cli.bots.names import program_name
from cli.bots.program_bot import MOVE_MS, Fault, ProgramBot, fault_sentence, fault_summary
from cli.bots.programs import ProgramError
from cli.exits import Failure
from cli.output import say
from cli.render import command_line, escape, sentence
from cli.text.event_json import BOT_DONE, BOT_FAILED, BOT_FAULT, event_line
from cli.text.narrate import narrate

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from p2pdice.rulesets import Ruleset
    from protocol.events import NodeEvent
    from protocol.node.node import Node


class ProgramReporter:
    """Prints the events that a program at a table sees, and its faults: in sentences, or as NDJSON.

    :param name: the program's nickname.
    """

    def __init__(self, name: str, as_json: bool) -> None:
        self._bot = name
        self._name = escape(name)
        self._as_json = as_json
        self._faults = 0

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Tell an event of the node."""
        if self._as_json:
            print(event_line(event, seating), flush=True)
        else:
            say(narrate(event, seating))

    def fault(self, fault: Fault) -> None:
        """Tell a fault."""
        self._faults += 1
        sentence = fault_sentence(self._name, fault, self._faults)
        self._say(BOT_FAULT, sentence, kind=fault.kind, faults=self._faults)

    def failed(self, failure: Failure) -> None:
        """Tell a supervisor why the program does not play; anybody else is told when the command ends."""
        if self._as_json:
            self._say(BOT_FAILED, failure.what)

    def sum_up(self, bot: ProgramBot) -> None:
        """Tell how the program did."""
        self._say(BOT_DONE, fault_summary(self._name, bot), moves=bot.moves, faults=dict(bot.faults))

    def _say(self, what: str, text: str, **data: Any) -> None:
        if self._as_json:
            print(json.dumps({"type": what, "sentence": text, "bot": self._bot, **data}), flush=True)
        else:
            say(text)


async def seat_program(
    home: Path,
    name: str,
    interface: str | None,
    enter: Callable[[Node], Awaitable[object]],
    command: Sequence[str],
    move_ms: int,
    as_json: bool,
    grace: float = 0,
    attend: Attend | None = None,
) -> None:
    """Let a program play at a live table as :func:`cli.bots.bot_seat.seat` does, and report the events.

    :raises Failure: if it cannot be started, or the table cannot go on.
    """
    async with reported(name, command, as_json, move_ms) as (program, witness):
        await seat(home, name, interface, enter, program, witness.show, grace, attend)


@asynccontextmanager
async def reported(
    name: str, command: Sequence[str], as_json: bool, move_ms: int = MOVE_MS
) -> AsyncIterator[tuple[ProgramBot, ProgramReporter]]:
    """Start a program that plays inside the block, which closes it; report its faults, and in the end their number.

    :raises Failure: if it cannot be started.
    """
    witness = ProgramReporter(name, as_json)
    program = ProgramBot(command, move_ms=move_ms, on_fault=witness.fault)
    try:
        await program.open()
    except ProgramError as error:
        failure = not_started(error)
        witness.failed(failure)
        raise failure from None
    try:
        yield program, witness
    finally:
        witness.sum_up(program)


async def introduced(command: Sequence[str], ruleset: Ruleset) -> str:
    """Start a program once before it sits down; return the name that it gives itself, else that of its file.

    :raises Failure: if it cannot be started, or says no hello.
    """
    try:
        return await ProgramBot(command).introduce(ruleset) or program_name(command)
    except ProgramError as error:
        raise not_started(error, command) from None


def not_started(error: ProgramError, command: Sequence[str] = ()) -> Failure:
    """Return the failure to report when a program cannot be started, or says no hello.

    :param command: suggested for a check of the program alone; empty if this was such a check.
    """
    hint = "" if error.has_run else "Name the program, or its interpreter and the file, as you would in a shell."
    choices = [(command_line("bot", "check", "--", *command), "Try it alone")] if command else []
    return Failure(sentence(f"the bot's program {escape(str(error))}"), hint=hint, choices=choices)
