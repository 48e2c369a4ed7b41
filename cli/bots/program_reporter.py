"""What there is to tell about a program at a table: what it sees, its faults when it makes them, their number."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bots.bot import Fault, ProgramBot, fault_sentence, fault_summary
from cli.bots.bot_seat import seat
from cli.bots.names import program_name
from cli.bots.programs import ProgramError
from cli.exits import Failure
from cli.render import command_line, escape, sentence
from cli.text.event_json import BOT_DONE, BOT_FAILED, BOT_FAULT, event_line
from cli.text.narrate import narrate

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from p2pdice import Ruleset
    from protocol import Node
    from protocol.events import NodeEvent


class ProgramReporter:
    """Tells on standard output what a program at a table sees, and what it does wrong: in sentences, or as NDJSON.

    :param name: the program's nickname.
    """

    def __init__(self, name: str, as_json: bool) -> None:
        self._name = escape(name)
        self._as_json = as_json
        self._faults = 0

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Tell an event of the node."""
        print(event_line(event, seating) if self._as_json else narrate(event, seating), flush=True)

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
        print(json.dumps({"type": what, "sentence": text, **data}) if self._as_json else text, flush=True)


async def seat_program(
    home: Path,
    name: str,
    interface: str | None,
    enter: Callable[[Node], Awaitable[object]],
    command: Sequence[str],
    move_ms: int,
    as_json: bool,
    grace: float = 0,
) -> None:
    """Let a program play at a live table, as :func:`cli.bots.bot_seat.seat` does it, and tell what happens.

    :raises Failure: if it cannot be started, or the table cannot go on.
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
        await seat(home, name, interface, enter, program, witness.show, grace)
    finally:
        witness.sum_up(program)


async def introduced(command: Sequence[str], ruleset: Ruleset) -> str:
    """Start a program once, before it sits down anywhere, and return the name that it gives itself, else its file's.

    :raises Failure: if it cannot be started, or says no hello.
    """
    try:
        return await ProgramBot(command).introduce(ruleset) or program_name(command)
    except ProgramError as error:
        raise not_started(error, command) from None


def not_started(error: ProgramError, command: Sequence[str] = ()) -> Failure:
    """Return what a program that cannot be started, or says no hello, means to the person who named it.

    :param command: to be tried alone; empty if that is what was done.
    """
    hint = "" if error.has_run else "Name the program, or its interpreter and the file, as you would in a shell."
    choices = [(command_line("bot", "check", "--", *command), "Try it alone")] if command else []
    return Failure(sentence(f"the bot's program {escape(str(error))}"), hint=hint, choices=choices)
