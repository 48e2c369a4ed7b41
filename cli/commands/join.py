"""``p2pdice join``: sit down at a table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.network import (
    InterfaceOption,
    Pledge,
    PledgeOption,
    PortOption,
    ask_for_pledge,
    place_in,
    refused,
    shown,
    waiting,
)
from cli.commands.tables import LISTEN, Found, ListedTable, listed, listening, look_around, pick_one
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.home import unlocked
from cli.output import agrees, complain, is_interactive
from cli.preferences import NameOption, nickname
from cli.render import command_line, escape, listing, sentence, stated
from cli.settings import Settings
from cli.table.play import Enter, play, run
from cli.table.terminal import BellOption, PaceOption, UiOption, showing
from cli.text.seating import display_names
from protocol.crypto.short_code import looks_like_a_code
from protocol.errors import LOOK_ON, ErrorCode, NodeError
from protocol.events import NamesakeError
from protocol.net.discovery import LOBBY

if TYPE_CHECKING:
    from protocol.events import PlayerInfo
    from protocol.net.discovery import Sighting
    from protocol.node.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice join                        pick from the tables on this network, or
                                      wait for the first one to open
  p2pdice join 417-tiger-olive        the table with this short code
  p2pdice join Friday                 the table called Friday
  p2pdice join 192.168.1.7:40312      the table at this address
  p2pdice join 192.168.1.7:40312/QZYM-KVHF-TQFB-G7RM-MHXD
                                      and only if the host has this key
  p2pdice join Friday --no-wait       fail if it is not open yet; for scripts
"""

app = application()


@app.command(epilog=EPILOG)
def join(
    ctx: typer.Context,
    table: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|CODE|HOST:PORT|JOIN-LINE]", help="Without it, pick from a list.", show_default=False
        ),
    ] = None,
    name: NameOption = None,
    pledge: PledgeOption = None,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait",
            show_default=False,
            help="Wait for a name or code that is not there yet (default: at a terminal).",
        ),
    ] = None,
    port: PortOption = 0,
    interface: InterfaceOption = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
) -> None:
    """Sit down at somebody's table.

    The host sees a short code and a long join line. Either one admits you to a private table, and makes sure that you
    sit at the table of the person who gave it to you. The long line also works where tables are not found
    automatically.

    You can run this before the table is open: at a terminal, it waits until the table opens. Ctrl-C leaves. If the
    match has already begun, you can watch it.
    """
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    is_patient = is_interactive() if wait is None else wait
    target = place_in(" ".join(table)) if table else choose(run(find_open(interface, is_patient=is_patient)))
    how = showing(settings, ui, pace, bell)
    me = unlocked(settings.private_home())
    let_in: tuple[PlayerInfo, ...] = ()
    while True:
        curtained = ExitStack()
        absent = _teller(target, curtained) if is_patient else None
        enter = seat_at(target, pledge, absent, curtained, asks=is_interactive(), let_in=let_in)
        sit_down = partial(play, settings, player, enter, how, first=search(target), port=port, interface=interface)
        try:
            sit_down(identity=me, curtained=curtained)
        except NamesakeError as error:
            accept(error.players)
            let_in += error.players
        except NodeError as error:
            if error.code is ErrorCode.PLEDGE:
                pledge = ask_for_pledge()
                continue
            if error.choices != LOOK_ON or not (is_interactive() and agrees(f"{stated(error.parts)} Watch it?")):
                raise
            from cli.commands import watch

            is_code = isinstance(target, str) and looks_like_a_code(target)  # a code admits only players
            seen = watch.choose(run(look_around(interface))).advertisement.id if is_code else _name(target)
            run(watch.look_on(settings, seen, player, interface, how, me))
            return
        else:
            return


def seat_at(
    target: str | tuple[Sighting, ...],
    pledge: Pledge | None,
    absent: Callable[[NodeError], None] | None = None,
    curtained: ExitStack | None = None,
    *,
    asks: bool = False,
    let_in: Sequence[PlayerInfo] = (),
) -> Enter:
    """Return a coroutine function that seats a node at a table.

    :param target: the typed target, or all sightings with the name of the picked table.
    :param absent: called with the reason if the table is not there yet, before the node waits for it. If it is None,
        the node does not wait.
    :param curtained: closed before a message about a pending question to the host is printed, so that it is visible.
    :param asks: whether the player can be asked for a pledge. Then none is taken by default if the rules have motes.
    :param let_in: players with a trusted name but another key, with whom the player has agreed to play.
    """

    async def enter(node: Node) -> None:
        node.pledge = pledge or "redeemed"
        for player in let_in:
            node.seat(player)
        try:
            async with waiting(search(target)):
                await node.join(target, absent, pending, is_pledged=pledge is not None or not asks)
        except NamesakeError:
            raise
        except NodeError as error:
            raise refused(node, _name(target), error) from None

    def pending() -> None:
        if curtained is not None:
            curtained.close()
        complain("The host is being asked whether you may sit down. Ctrl-C leaves.")

    return enter


def accept(players: Sequence[PlayerInfo]) -> None:
    """Ask whether to play with people who have a trusted name but another key.

    :raises Failure: if the answer is no, or the player cannot be asked.
    """
    names = zip(display_names(players), players, strict=True)
    who = listing([f"{name} ({player.fingerprint})" for name, player in names])
    how = "under a name you trust, but with a different key"
    if len(players) > 1:
        how = "under names you trust, but with different keys"
    what = f"{who} {'is' if len(players) == 1 else 'are'} at this table, {how}."
    if not is_interactive():
        hint = f"Compare keys with them. At a terminal {command_line('join')} asks whether to sit down all the same."
        raise Failure(what, hint=hint, code=ExitCode.REFUSED)
    if not agrees(f"{what} Compare keys before you play. Sit down all the same?"):
        raise Failure("You did not sit down.", hint="The host was not asked.", code=ExitCode.REFUSED)


def _name(target: str | tuple[Sighting, ...]) -> str:
    return target if isinstance(target, str) else target[0].advertisement.name


def _teller(target: str | tuple[Sighting, ...], curtained: ExitStack) -> Callable[[NodeError], None]:
    """Return a function that closes ``curtained``, and prints that the table is not open yet."""

    def tell(error: NodeError) -> None:
        curtained.close()
        remedy = sentence(escape(error.hint)) or "A private table is found only by its code or its long line."
        complain(f"{stated(error.parts)} {remedy}\nWaiting until it opens. Ctrl-C leaves.")

    return tell


async def find_open(interface: str | None, *, is_patient: bool) -> Found:
    """Return the tables on this network.

    :param is_patient: whether to wait until at least one of them is open.
    """
    async with listening(interface) as discovery:
        async with waiting("Looking for tables on this network."):
            await asyncio.sleep(LISTEN)
        if is_patient and not _open_ones(discovery.tables()):
            complain("No table is open on this network yet. Waiting for one. Ctrl-C leaves.")
            for each in listed(discovery.tables()):
                if (name := each.advertisement.name) != "-":
                    complain(f"{escape(name)} is being played. To watch it:\n    {command_line('watch', name)}")
            complain(f"To open a table yourself:\n    {command_line('host')}")
            while not _open_ones(discovery.tables()):
                await discovery.changed()
        return Found(discovery.tables(), discovery.told())


def _open_ones(found: Iterable[Sighting]) -> list[ListedTable]:
    return [each for each in listed(found) if each.advertisement.status == LOBBY]


def search(target: str | tuple[Sighting, ...]) -> str:
    """Return the sentence to print while the node asks for a seat or, without an address, searches for the table."""
    if not isinstance(target, str):
        return f"Asking for a seat at {escape(target[0].advertisement.name)}."
    if looks_like_a_code(target):
        return "Looking for the table with this short code on this network."
    if ":" in target:
        return f"Asking for a seat at {shown(target)}."
    return f'Looking for the table "{escape(target)}" on this network.'


def choose(found: Found) -> tuple[Sighting, ...]:
    """Let the player pick an open table; return all sightings with its name, because several hosts can use one name.

    :raises Failure: if no table is open, or there are several and the player cannot be asked.
    """
    from protocol.node.locator import tables_called

    open_ones = _open_ones(found.now)
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
