"""``p2pdice house-bot``: one bot as a process, as ``host``, ``resume`` and ``demo`` start it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.nickname import NameOption, nickname
from cli.front import application
from cli.levels import DEFAULT_LEVEL, LevelOption
from cli.rulesets import RulesOption, SetOption, chosen_ruleset, rules_name
from cli.settings import Settings
from cli.table.face import PipedInput
from cli.table.play import InterfaceOption, first_of, run

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from protocol.events import NodeEvent
    from protocol.node.node import Node

app = application()


@app.command()
def house_bot(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- CMD]", help="A program that plays, instead of the house.")
    ] = None,
    name: NameOption = None,
    seats: Annotated[
        int | None, typer.Option("--seats", min=2, max=10, metavar="N", help="Host the table, with N seats in all.")
    ] = None,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    level: LevelOption = DEFAULT_LEVEL,
    seed: Annotated[str | None, typer.Option("--seed", help="Fixes the bot's choices, never its secrets.")] = None,
    interface: InterfaceOption = None,
    move_ms: Annotated[int, typer.Option("--move-ms", metavar="MS", help="Milliseconds that a program gets.")] = 2_000,
) -> None:
    """Seat a bot; what it sees goes to standard output as NDJSON.

    The first line of its standard input names its table or match, and the player who seated it
    (cli.bots.bot_processes.Order). It leaves when its standard input ends, so it never outlives the process that
    started it.
    """
    from cli.bots.bot import PlayerBot
    from cli.bots.bot_processes import PATIENCE, Order
    from cli.bots.bot_seat import seat
    from cli.bots.program_reporter import seat_program
    from cli.log import open_log
    from cli.text.event_json import event_line
    from p2pdice.players import house_player
    from protocol.match.lobby import TableSettings

    home = ctx.ensure_object(Settings).private_home()
    player_name = nickname(name)
    ruleset = chosen_ruleset(rules, changes)
    open_log(home)

    def show(event: NodeEvent, seating: Seating) -> None:
        print(event_line(event, seating), flush=True)

    async def play(order: Order) -> None:
        async def enter(node: Node) -> None:
            node.party = order.party()
            if order.match:
                await node.resume(order.match)
            elif seats is None:
                await node.join(order.table)
            else:
                await node.host(TableSettings(order.table, ruleset, seats, rules_name=rules_name(rules, changes)))

        # When a host was killed and resumes at once, its former bots may still be leaving.
        grace = 2 * PATIENCE if order.match else 0.0
        if command:
            await seat_program(home, player_name, interface, enter, command, move_ms, as_json=True, grace=grace)
            return
        bot = PlayerBot(player_name, house_player(level, Random(seed)))  # noqa: S311 - whims; secrets never come from here
        await seat(home, player_name, interface, enter, bot, show, grace)

    async def play_while_wanted() -> None:
        lines = PipedInput()
        line = await lines.read()
        if line is not None:
            await first_of(play(Order.read(line)), _until_end(lines))

    run(play_while_wanted())


async def _until_end(lines: PipedInput) -> None:
    while await lines.read() is not None:
        pass  # nothing that is said changes anything
