"""``p2pdice watch``, which shows and verifies a match as it is played."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.matches import opened
from cli.commands.network import InterfaceOption, place_in, refused, shown, waiting
from cli.commands.tables import Found, ListedTable, listed, look_around, pick_one
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.home import open_log, unlocked
from cli.preferences import WatcherNameOption, nickname
from cli.render import command_line
from cli.settings import Settings
from cli.table.live_table import SpectatorTable, report
from cli.table.play import alone, rejoin, run, show, sit
from cli.table.terminal import BellOption, PaceOption, Showing, UiOption, showing
from protocol.errors import LOOK_ON, ErrorCode, NodeError
from protocol.node.node import Node
from protocol.storage.home import Home

if TYPE_CHECKING:
    from protocol.crypto.keys import Identity

EPILOG: Final = """\b
Examples:
  p2pdice watch                       pick from the tables on this network
  p2pdice watch Friday                the table called Friday
  p2pdice watch 3f2a9c                the match whose id begins like this
  p2pdice watch 192.168.1.7:40312     the match at this address
  p2pdice watch Friday --json         one JSON object for each event

\b
You need the join line to watch a private table. A player and a watcher need
separate homes: to watch on a machine where you play, give --home DIR.
"""

app = application()


@app.command(epilog=EPILOG)
def watch(
    ctx: typer.Context,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE|MATCH]", help="Without it, pick from a list.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON for each event.")] = False,
    name: WatcherNameOption = None,
    interface: InterfaceOption = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
) -> None:
    """Watch a match, and verify it as it is played.

    Your own program checks every signature, commitment and die. You need not trust any player, and you see no dice
    before their cups are opened. At the end you have the same transcript as the players. Your program follows one of
    the players; if that player leaves, it follows another. When the match is over, type "again" to sit down for the
    next one; --name and --bell apply from then on.

    TABLE is a name, HOST:PORT or a join line, as for join; MATCH is the beginning of a match's id.
    """
    settings = ctx.ensure_object(Settings)
    home = Home(settings.private_home())
    if home.store.exists():
        words = ["watch", *([table] if table is not None else []), "--home", "DIR"]
        with opened(home, f"Watch from another home: {command_line(*words)}"):
            pass  # fail now if the home is busy, not after the person has chosen a match
    picked = choose(asyncio.run(look_around(interface))).advertisement if table is None else None
    target = picked.id if picked is not None else place_in(table or "")
    how = None if as_json else showing(settings, ui, pace, bell)
    run(look_on(settings, target, nickname(name), interface, how, called=picked.name if picked is not None else ""))


async def look_on(
    settings: Settings,
    target: str,
    name: str,
    interface: str | None,
    how: Showing | None,
    identity: Identity | None = None,
    called: str = "",
) -> None:
    """Watch a match until the person leaves, or sits down for the next one.

    :param how: how to show the match; None for one line of JSON per event.
    :param identity: the home's identity, if it is already unlocked.
    :param called: the name of a picked table. Its match has an id of its own, so if it begins before the table is
        found again by ``target``, it is found by this name.
    """
    home = settings.private_home()
    open_log(home)
    me = identity or unlocked(home)
    node = await Node.open(home, name, interface=interface, identity=me)
    try:
        try:
            async with waiting(f"Looking for {shown(called or target)}."):
                try:
                    await node.watch(target)
                except NodeError as error:
                    if not called or (error.code is not ErrorCode.NOT_FOUND and error.choices != LOOK_ON):
                        raise
                    target = called
                    await node.watch(target)
        except NodeError as error:
            raise refused(node, target, error) from None
        if how is None:
            await report(node)
            return
        gallery = SpectatorTable(node, how, target)
        await show(gallery)
        if gallery.wants_seat:
            await sit(node, how, alone, rejoin, watched=gallery)
    finally:
        await node.close()


def choose(found: Found) -> ListedTable:
    """Let the person pick a running match, or a table that still waits for players.

    :raises Failure: if there is none, or there are several and the person cannot be asked.
    """
    there = listed(found.now)
    if not there:
        hint = f"Ask the host for the join line, and type: {command_line('watch', 'JOIN-LINE')}"
        raise Failure("No table was found on this network.", hint=hint, code=ExitCode.UNREACHABLE)
    return pick_one(there, "Which match?", command_line("watch", "NAME"))
