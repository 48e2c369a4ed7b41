"""``p2pdice join``: sit down at a table."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.tables import describe, sightings
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.names import NameOption, nickname
from cli.play import InterfaceOption, Pledge, PledgeOption, PortOption, play
from cli.render import command_line, escape
from cli.settings import Settings, is_interactive

if TYPE_CHECKING:
    from protocol.discovery import Sighting
    from protocol.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice join                        pick from the tables on this network
  p2pdice join Friday                 the table called Friday
  p2pdice join 192.168.1.7:40312      the table at this address
  p2pdice join 192.168.1.7:40312/QZYM-KVHF-TQFB-G7RM-MHXD
                                      and only if the host has this key
"""

app = application()


@app.command(epilog=EPILOG)
def join(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[NAME|HOST:PORT|JOIN-LINE]", show_default=False)] = None,
    name: NameOption = None,
    pledge: PledgeOption = Pledge.REDEEMED,
    port: PortOption = 0,
    interface: InterfaceOption = None,
) -> None:
    """Sit down at somebody's table.

    The join line, which the host was shown, is the surest: it works where tables cannot be found by themselves, it
    admits to private tables, and it makes sure that you sit at the table of whoever gave it to you.
    """
    player = nickname(name)
    target = table if table is not None else choose(asyncio.run(sightings(interface)))

    async def enter(node: Node) -> None:
        node.pledge = pledge.value
        await node.join(target)

    play(ctx.ensure_object(Settings), player, enter, port=port, interface=interface)


def choose(found: tuple[Sighting, ...]) -> Sighting:
    """Return the table that the player picks; the only one there is, where nobody can be asked.

    :raises Failure: if there is none, or nobody can be asked which.
    """
    from protocol.discovery import LOBBY

    open_ones = [each for each in found if each.advertisement.status == LOBBY]
    if not open_ones:
        hint = f"Ask the host for the join line, or open a table yourself: {command_line('host')}"
        raise Failure("No open table was found on this network.", hint=hint, code=ExitCode.UNREACHABLE)
    if not is_interactive():
        if len(open_ones) == 1:
            return open_ones[0]
        names = ", ".join(escape(each.advertisement.name) for each in open_ones)
        hint = f"Name one of them: {command_line('join', 'NAME')}"
        raise Failure(f"There are {len(open_ones)} open tables: {names}.", hint=hint, code=ExitCode.USAGE)
    for number, each in enumerate(open_ones, start=1):
        print(f"{number}  {describe(each)}")
    while True:
        picked = pick(_ask(), open_ones)
        if picked is not None:
            return picked
        print("Type the number in front of a table, or its name.")


def _ask() -> str:
    try:
        return input("Which table? ")
    except EOFError:
        print()
        raise Failure("No table was chosen.") from None


def pick(answer: str, tables: list[Sighting]) -> Sighting | None:
    """Return the table with this number, name, or start of a name; the only one there is for an empty answer."""
    text = answer.strip()
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(tables):
        return tables[int(text) - 1]
    names = [each.advertisement.name.casefold() for each in tables]
    named = [each for each, name in zip(tables, names, strict=True) if name == text.casefold()]
    named = named or [each for each, name in zip(tables, names, strict=True) if name.startswith(text.casefold())]
    return named[0] if len(named) == 1 else None
