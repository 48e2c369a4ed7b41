"""What there is to tell about a program at a table: what it sees, its faults when it makes them, their number."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.bots import Fault, ProgramBot, fault_sentence, fault_summary
from cli.driver import seat
from cli.exits import Failure
from cli.narrate import narrate
from cli.programs import ProgramError
from cli.render import escape, sentence
from cli.stream import event_line

if TYPE_CHECKING:
    from cli.seating import Seating
    from protocol.events import NodeEvent
    from protocol.node import Node


class Witness:
    """Tells on standard output what a program at a table sees, and what it does wrong: in sentences, or as NDJSON."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._bot: ProgramBot | None = None

    def watch(self, bot: ProgramBot) -> None:
        """Know whose faults these are."""
        self._bot = bot

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Tell an event of the node."""
        print(event_line(event, seating) if self._as_json else narrate(event, seating), flush=True)

    def fault(self, fault: Fault) -> None:
        """Tell a fault."""
        assert self._bot is not None
        count = self._bot.faults.total()
        self._say("BotFault", fault_sentence(self._bot.name, fault, count), kind=fault.kind, faults=count)

    def sum_up(self, bot: ProgramBot) -> None:
        """Tell how the program did."""
        self._say("BotDone", fault_summary(bot), moves=bot.moves, faults=dict(bot.faults))

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
) -> None:
    """Let a program play at a live table, as :func:`cli.driver.seat` does it, and tell what happens.

    :raises Failure: if it cannot be started, or the table cannot go on.
    """
    witness = Witness(as_json)
    program = await _opened(command, move_ms, witness)
    try:
        await seat(home, name, interface, enter, program, witness.show)
    finally:
        witness.sum_up(program)


async def _opened(command: Sequence[str], move_ms: int, witness: Witness) -> ProgramBot:
    """Start a program whose faults are told.

    :raises Failure: if it cannot be started.
    """
    program = ProgramBot(command, move_ms=move_ms, on_fault=witness.fault)
    witness.watch(program)
    try:
        await program.open()
    except ProgramError as error:
        raise not_started(error) from None
    return program


def not_started(error: Exception) -> Failure:
    """Return what a program that cannot be started means to whoever named it."""
    hint = "Name the program, or its interpreter and the file, as you would in a shell."
    return Failure(sentence(f"the bot's program {escape(str(error))}"), hint=hint)
