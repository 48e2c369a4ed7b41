"""One player as a process: ``python -m tests.network.player --home DIR --name NAME …``, played by a house bot.

It prints one JSON object per line: ``{"event": "opened" | "joined" | "started" | "moved" | "over" | "failed", …}``, and
events about others: ``out``, ``lost``, ``back``, ``suspended``, ``continued``, ``taken-back``, ``misbehaved``. After
the match it stays until its standard input is closed, so that others can fetch missing messages.

With ``--journal FILE`` it appends every signed message to the file before sending it. With ``--arrivals FILE`` it
appends the times of all messages, in the format of :mod:`tests.network.arrivals`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from p2pdice.events import BidMade, ChallengeCalled, PlayerOut
from p2pdice.players import OddsPlayer
from p2pdice.players.contest import answer
from p2pdice.rulesets import PRESETS
from protocol.errors import NodeError
from protocol.events import (
    Continued,
    Happened,
    MatchResult,
    MatchStarted,
    Misbehaved,
    NodeEvent,
    PeerBack,
    PeerLost,
    Stopped,
    Suspended,
    TableMoved,
    TakenBack,
    YourTurn,
)
from protocol.limits import RATE, Limits
from protocol.match.lobby import TableSettings
from protocol.node.node import Node
from protocol.wire.genesis import Patience
from tests.network import arrivals
from tests.network.journal import write_down
from tests.owners import Creeper, make


def bounds(options: argparse.Namespace) -> Limits:
    """Return the limits of this player's links."""
    limits = Limits(own_machine_rate=RATE, paces_own_machine=True) if options.lan else Limits()
    if options.silence is not None:
        limits = replace(limits, silence=options.silence, keepalive=options.silence / 3)
    return limits


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def sit(node: Node, options: argparse.Namespace) -> None:
    if options.host:
        ruleset = PRESETS["classic"].with_options({"dice": str(options.dice), "raise": options.raise_})
        patience = Patience(*options.patience)
        opened = await node.host(TableSettings(options.table, ruleset, options.host, patience))
        say("opened", join_line=opened.join_line, advertised=opened.advertised, reachable=opened.is_reachable)
    elif options.watch:
        await node.watch(options.watch)
        say("joined")
    elif options.join:
        await node.join(options.join)
        say("joined")
    else:
        await node.resume(options.resume)


async def play(node: Node, options: argparse.Namespace) -> None:
    bot = (Creeper if options.creep else OddsPlayer)(random.Random(options.name))
    async for event in node.events():
        if isinstance(event, MatchStarted):
            say("started", match=event.match_id, resumed=event.resumed)
        elif isinstance(event, YourTurn):
            while options.hold is not None and not options.hold.exists():  # noqa: ASYNC110 - another process creates it
                await asyncio.sleep(0.05)
            await asyncio.sleep(options.delay)
            with contextlib.suppress(NodeError):  # the turn is over because the others voted this player out
                make(node, answer(bot, event.view), event.token)
        elif isinstance(event, MatchResult):
            places = [[event.players[seat].name for seat in place] for place in event.places]
            say("over", transcript=str(event.transcript), confirmed=event.confirmed, places=places)
            return
        else:
            tell(event, node)


def tell(event: NodeEvent, node: Node) -> None:
    """Print an event that needs no answer."""
    match event:
        case Happened(PlayerOut(seat=seat, reason=reason)):
            assert node.match is not None
            say("out", player=node.match.by_seat()[seat].name, reason=reason)
        case Happened(BidMade() | ChallengeCalled()):
            say("moved")
        case PeerLost():
            say("lost", player=event.player.name)
        case PeerBack():
            say("back", player=event.player.name)
        case TableMoved():
            say("readdressed", join_line=event.join_line)
        case Suspended():
            say("suspended", awaited=[player.name for player in event.awaited])
        case Continued():
            say("continued")
        case TakenBack():
            say("taken-back")
        case Misbehaved():
            say("misbehaved", player=event.player.name, reason=event.reason, proof=str(event.proof))
        case Stopped():
            say("stopped", reason=event.reason)


async def run(options: argparse.Namespace, begun: Callable[[Node], None] = lambda node: None) -> None:
    """Run one player to the end; ``begun`` is called with the node once it has a seat."""
    try:
        node = await Node.open(
            options.home,
            options.name,
            interface=options.interface,
            discovery=options.discovery,
            port=options.port,
            bounds=bounds(options),
        )
        if options.journal:
            write_down(node, options.journal)
        if options.arrivals:
            arrivals.write_down(node, options.arrivals)
        await sit(node, options)
    except NodeError as error:
        say("failed", code=error.code, reason=error.reason)
        sys.exit(1)
    begun(node)
    await play(node, options)
    await asyncio.to_thread(sys.stdin.read)
    await node.close()


def arguments() -> argparse.ArgumentParser:
    """Return the parser of a player's options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--hold", type=Path, help="make no move before this file is there")
    parser.add_argument("--table", default="Friday")
    parser.add_argument("--interface")
    parser.add_argument("--discovery", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to think before a move")
    parser.add_argument("--dice", type=int, default=5, help="at the start of the match, for the host")
    parser.add_argument("--raise", dest="raise_", default="strict", help="what counts as a raise, for the host")
    parser.add_argument("--creep", action="store_true", help="bid so that the match lasts")
    parser.add_argument("--patience", type=int, nargs=2, default=(), metavar="SECONDS", help="of people, of programs")
    parser.add_argument("--journal", type=Path, help="where every signed message is written before it leaves")
    parser.add_argument("--arrivals", type=Path, help="where it is written when messages were sent and when they came")
    parser.add_argument("--lan", action="store_true", help="take other processes of this machine for other machines")
    parser.add_argument("--silence", type=float, help="seconds without hearing anything after which a link is cut")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--host", type=int, metavar="SEATS")
    action.add_argument("--join", metavar="TARGET")
    action.add_argument("--watch", metavar="TARGET")
    action.add_argument("--resume", metavar="MATCH")
    return parser


if __name__ == "__main__":
    asyncio.run(run(arguments().parse_args()))
