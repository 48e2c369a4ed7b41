"""``p2pdice house-bot``: one house bot as a process, as ``host --bots`` and ``demo`` start it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from cli.exits import Failure, closing_code
from cli.front import application
from cli.lines import PipedLines
from cli.names import NameOption, nickname
from cli.play import InterfaceOption, first_of, run
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from cli.seating import Seating
from cli.settings import Settings
from cli.stream import event_line
from protocol.events import Happened, MatchOver, MatchStarted, Stopped, TableClosed, YourTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from p2pdice.players import Player
    from protocol.node import Node

app = application()


@app.command()
def house_bot(
    ctx: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="What to join; with --seats, the name to host.")],
    name: NameOption = None,
    seats: Annotated[
        int | None, typer.Option("--seats", min=2, max=10, metavar="N", help="Host the table, with N seats in all.")
    ] = None,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    seed: Annotated[str | None, typer.Option("--seed", help="Fixes the bot's choices, never its secrets.")] = None,
    interface: InterfaceOption = None,
) -> None:
    """Seat a house bot; what it sees goes to standard output as NDJSON.

    It leaves when its standard input ends, so that it never outlives whoever started it.
    """
    from cli.log import open_log
    from p2pdice.players import OddsPlayer
    from protocol.lobby import TableSettings
    from protocol.node import Node

    home = ctx.ensure_object(Settings).home
    player_name = nickname(name)
    player = OddsPlayer(Random(seed))  # noqa: S311 - whims of a bot; secrets never come from here
    hosted = TableSettings(table, chosen_ruleset(rules, changes), seats) if seats is not None else None
    open_log(home)

    async def play() -> None:
        node = await Node.open(home, player_name, interface=interface)
        try:
            entering: Awaitable[object] = node.join(table) if hosted is None else node.host(hosted)
            await entering
            await _follow(node, player)
        finally:
            await node.close()

    async def play_while_wanted() -> None:
        await first_of(play(), _until_input_ends())

    run(play_while_wanted())


async def _until_input_ends() -> None:
    lines = PipedLines()
    while await lines.read() is not None:
        pass  # nothing that is said changes anything


async def _follow(node: Node, player: Player) -> None:
    seating = Seating()
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
        print(event_line(event, seating), flush=True)
        match event:
            case MatchStarted():
                assert event.my_seat is not None
                player.started(event.ruleset, event.my_seat, len(event.players))
            case Happened():
                player.happened(event.event)
            case YourTurn():
                node.play(player.choose(event.view), event.token)
            case MatchOver():
                player.over(event.places)
                return
            case TableClosed():
                raise Failure(event.reason, code=closing_code(event))
            case Stopped():
                raise Failure(event.reason)
