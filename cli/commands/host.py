"""``p2pdice host``: open a table."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.boundary import complain
from cli.children import BOT_NAMES, describe_exit, end, start_house_bot
from cli.front import application
from cli.names import NameOption, nickname
from cli.play import InterfaceOption, Pledge, PledgeOption, PortOption, play
from cli.programs import ProgramError, split_command
from cli.render import escape
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from cli.settings import Settings

if TYPE_CHECKING:
    from protocol.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice host                        a table for two
  p2pdice host Friday --seats 4       a table called Friday
  p2pdice host --bots 3               you against three house bots
  p2pdice host --bot 'python3 odds15.py'   you against a program
  p2pdice host --seats 3 --bots 1 --rules perudo --private

\b
Play starts when all seats are taken, or when you type start.
"""

app = application()


class Interface(StrEnum):
    """How a table is shown."""

    LINE = "line"
    """Plain sentences."""


@app.command(epilog=EPILOG)
def host(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default=False)] = None,
    seats: Annotated[
        int | None,
        typer.Option(
            "--seats", min=2, max=10, metavar="N", show_default=False, help="Players in all, you and bots included."
        ),
    ] = None,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    bots: Annotated[int, typer.Option("--bots", min=0, max=9, metavar="N", help="Seat this many house bots.")] = 0,
    name: NameOption = None,
    port: PortOption = 0,
    interface: InterfaceOption = None,
    patience: Annotated[
        int,
        typer.Option(
            "--patience",
            min=5,
            max=3600,
            metavar="S",
            help="Seconds for a choice. After that most of the others, if they are more than half, go on without you.",
        ),
    ] = 120,
    private: Annotated[bool, typer.Option("--private", help="Admit only who has the join line.")] = False,
    programs: Annotated[
        list[str] | None,
        typer.Option("--bot", metavar="CMD", help="Seat a program that speaks the bot protocol; can be repeated."),
    ] = None,
    stakes: Annotated[bool, typer.Option("--stakes", help="Play for coins, whatever the rules: stakes=yes.")] = False,
    pledge: PledgeOption = Pledge.REDEEMED,
    ui: Annotated[Interface, typer.Option("--ui", help="How the table is shown.")] = Interface.LINE,
) -> None:
    """Open a table and play at it.

    It prints the exact line that a friend types on another laptop of the same network. Without --seats there are two,
    or with --bots one for you and one for each bot.
    """
    from protocol.genesis import Patience
    from protocol.lobby import TableSettings

    try:
        commands = [split_command(program) for program in programs or ()]
    except ProgramError as error:
        raise typer.BadParameter(f"{escape(str(error))}.", param_hint="--bot") from None
    crew = bots + len(commands)
    wanted = seats if seats is not None else max(2, crew + 1)
    if crew >= wanted or wanted > len(BOT_NAMES):
        raise typer.BadParameter(f"{crew} bots and you need at least {crew + 1} seats, of ten.", param_hint="--seats")
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    opened = TableSettings(
        table_name(table if table is not None else f"{player}'s table"),
        chosen_ruleset(rules, [*(changes or ()), *(["stakes=yes"] if stakes else [])]),
        wanted,
        Patience(human=patience),
        private,
    )

    farewell = ", and the house bots with you, for good" if bots else ""

    async def enter(node: Node) -> None:
        node.pledge = pledge.value
        await node.host(opened)

    def company(node: Node) -> AbstractAsyncContextManager[object]:
        return company_of(node.join_line, [*[[]] * bots, *commands], node.home.log)

    play(settings, player, enter, port=port, interface=interface, company=company, farewell=farewell)


def table_name(name: str) -> str:
    """Return a table's name if others can see, and type, it.

    :raises typer.BadParameter: with the reason.
    """
    from protocol.addresses import parse_address
    from protocol.limits import TABLE_NAME_CHARACTERS

    name = unicodedata.normalize("NFC", name).strip()
    if not (1 <= len(name) <= TABLE_NAME_CHARACTERS and name.isprintable()):
        raise typer.BadParameter(f"a table's name has 1 to {TABLE_NAME_CHARACTERS} printable characters.")
    try:
        parse_address(name)
    except ValueError:
        if "/" not in name:
            return name
    raise typer.BadParameter("a table's name must not look like HOST:PORT or a join line.")


@asynccontextmanager
async def company_of(join_line: str, programs: Sequence[Sequence[str]], log: Path) -> AsyncIterator[None]:
    """Seat bots at the table of this process, for as long as it lasts. Their keys are thrown away with them.

    :param programs: the command of each bot; an empty one stands for the house's own.
    """
    if not programs:
        yield
        return
    with TemporaryDirectory(prefix="p2pdice-bots-", ignore_cleanup_errors=True) as folder:
        bots = []
        for name, program in zip(BOT_NAMES, programs, strict=False):
            arguments = ["--name", f"{name} (bot)", "--home", str(Path(folder, name.lower()))]
            arguments += ["--", *program]
            bots.append(await start_house_bot(join_line, arguments, log, is_heard=bool(program)))
        named = list(zip(BOT_NAMES, bots, strict=False))
        watches = [asyncio.create_task(_watch(name, bot, log)) for name, bot in named]
        listeners = [asyncio.create_task(_listen(name, bot)) for name, bot in named if bot.stdout is not None]
        try:
            yield
        finally:
            for watch in watches:
                watch.cancel()
            await end(bots)
            await asyncio.gather(*listeners)


async def _watch(name: str, bot: asyncio.subprocess.Process, log: Path) -> None:
    if code := await bot.wait():
        complain(f"The bot {name} {describe_exit(code)}. Its log: {log}")


async def _listen(name: str, bot: asyncio.subprocess.Process) -> None:
    """Pass on what there is to be said about the program of a bot."""
    assert bot.stdout is not None
    async for line in bot.stdout:
        said = json.loads(line)
        if said["type"] in ("BotFault", "BotDone"):
            print(f"{name}: {said['sentence']}", flush=True)
