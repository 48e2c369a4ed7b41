"""``p2pdice host``: open a table."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator
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
from cli.play import InterfaceOption, PortOption, play
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from cli.settings import Settings

if TYPE_CHECKING:
    from protocol.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice host                        a table for two
  p2pdice host Friday --seats 4       a table called Friday
  p2pdice host --bots 3               you against three house bots
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
        int, typer.Option("--patience", min=5, max=3600, metavar="S", help="Seconds that a player may think.")
    ] = 120,
    private: Annotated[bool, typer.Option("--private", help="Admit only who has the join line.")] = False,
    ui: Annotated[Interface, typer.Option("--ui", help="How the table is shown.")] = Interface.LINE,
) -> None:
    """Open a table and play at it.

    It prints the exact line that a friend types on another laptop of the same network. Without --seats there are two,
    or with --bots one for you and one for each bot.
    """
    from protocol.genesis import Patience
    from protocol.lobby import TableSettings

    wanted = seats if seats is not None else max(2, bots + 1)
    if bots >= wanted:
        raise typer.BadParameter(f"{bots} bots and you need at least {bots + 1} seats.", param_hint="--seats")
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    opened = TableSettings(
        table_name(table if table is not None else f"{player}'s table"),
        chosen_ruleset(rules, changes),
        wanted,
        Patience(human=patience),
        private,
    )

    farewell = ", and the house bots with you, for good" if bots else ""

    async def enter(node: Node) -> None:
        await node.host(opened)

    def company(node: Node) -> AbstractAsyncContextManager[object]:
        return house_bots(node.join_line, bots, node.home.log)

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
async def house_bots(join_line: str, count: int, log: Path) -> AsyncIterator[None]:
    """Seat house bots at the table of this process, for as long as it lasts. Their keys are thrown away with them."""
    if not count:
        yield
        return
    with TemporaryDirectory(prefix="p2pdice-bots-", ignore_cleanup_errors=True) as folder:
        bots = []
        for name in BOT_NAMES[:count]:
            arguments = [join_line, "--name", f"{name} (bot)", "--home", str(Path(folder, name.lower()))]
            bots.append(await start_house_bot(arguments, log))
        watches = [asyncio.create_task(_watch(name, bot, log)) for name, bot in zip(BOT_NAMES, bots, strict=False)]
        try:
            yield
        finally:
            for watch in watches:
                watch.cancel()
            await end(bots)


async def _watch(name: str, bot: asyncio.subprocess.Process, log: Path) -> None:
    if code := await bot.wait():
        complain(f"The house bot {name} {describe_exit(code)}. Its log: {log}")
