"""``p2pdice join``: sit down at a table."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.nickname import NameOption, nickname
from cli.commands.own_match import refused
from cli.commands.picking import pick_one
from cli.commands.tables import Found, look_around
from cli.commands.waiting import place_in, shown, waiting
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.render import command_line, escape
from cli.settings import Settings, is_interactive
from cli.table.play import Enter, InterfaceOption, Pledge, PledgeOption, PortOption, play
from cli.table.showing import BellOption, PaceOption, UiOption, showing
from cli.text.tables_shown import listed

if TYPE_CHECKING:
    from protocol import Node, Sighting

EPILOG: Final = """\b
Examples:
  p2pdice join                        pick from the tables on this network
  p2pdice join 417-tiger-olive        the table with this short code
  p2pdice join Friday                 the table called Friday
  p2pdice join 192.168.1.7:40312      the table at this address
  p2pdice join 192.168.1.7:40312/QZYM-KVHF-TQFB-G7RM-MHXD
                                      and only if the host has this key
"""

app = application()


@app.command(epilog=EPILOG)
def join(
    ctx: typer.Context,
    table: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME|CODE|HOST:PORT|JOIN-LINE]", show_default=False)
    ] = None,
    name: NameOption = None,
    pledge: PledgeOption = Pledge.REDEEMED,
    port: PortOption = 0,
    interface: InterfaceOption = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
) -> None:
    """Sit down at somebody's table.

    The host sees a short code and a long join line. Both admit you to private tables, and both make sure that you sit
    at the table of the person who gave it to you. The long line also works where tables are not found by themselves.
    """
    player = nickname(name)
    target = place_in(" ".join(table)) if table else choose(asyncio.run(look_around(interface)))
    settings = ctx.ensure_object(Settings)
    how = showing(settings, ui, pace, bell)
    first = search(target)
    play(settings, player, seat_at(target, pledge), how, first=first, port=port, interface=interface)


def seat_at(target: str | tuple[Sighting, ...], pledge: Pledge) -> Enter:
    """Return how a node sits down at a table.

    :param target: what was typed, or every sighting by the name of the table that was picked.
    """

    from protocol import NodeError

    async def enter(node: Node) -> None:
        node.pledge = pledge.value
        try:
            async with waiting(search(target)):
                await node.join(target)
        except NodeError as error:
            name = target if isinstance(target, str) else target[0].advertisement.name
            raise refused(node, name, error) from None

    return enter


def search(target: str | tuple[Sighting, ...]) -> str:
    """Return a sentence for the wait: a table is asked for a seat, or looked for if only its name is known."""
    from protocol import looks_like_a_code

    if not isinstance(target, str):
        return f"Asking for a seat at {escape(target[0].advertisement.name)}."
    if looks_like_a_code(target):
        return "Looking for the table with this short code on this network."
    if ":" in target:
        return f"Asking for a seat at {shown(target)}."
    return f'Looking for the table "{escape(target)}" on this network.'


def choose(found: Found) -> tuple[Sighting, ...]:
    """Return all sightings of the name of the open table that the player picks. Anybody can use a name.

    :raises Failure: if there is none, or nobody can be asked which.
    """
    from protocol import LOBBY, tables_called

    open_ones = [each for each in listed(found.now) if each.advertisement.status == LOBBY]
    if not open_ones:
        hint = f"Ask the host for the join line, or open a table yourself: {command_line('host')}"
        raise Failure("No open table was found on this network.", hint=hint, code=ExitCode.UNREACHABLE)
    names = [each.advertisement.name for each in open_ones]
    if is_interactive():
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            print(
                f'More than one table is called "{escape(name)}". If you pick one of these, their hosts are asked, and'
                " if several answer, you are shown a join line for each."
            )
    picked = pick_one(open_ones, "Which table?", command_line("join", "NAME"))
    return tables_called(found.told, picked.advertisement.name)
