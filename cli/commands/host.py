"""``p2pdice host``: open a table."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.bots.crew import Crew, Recruit, hired
from cli.bots.names import bot_nickname, house_names
from cli.bots.programs import ProgramError, split_command
from cli.commands.nickname import NameOption, nickname
from cli.commands.waiting import waiting
from cli.front import application
from cli.log import open_log
from cli.render import escape
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from cli.settings import Settings
from cli.table.play import Company, InterfaceOption, Pledge, PledgeOption, PortOption, open_again, play, run
from cli.table.showing import BellOption, PaceOption, UiOption, showing

if TYPE_CHECKING:
    from p2pdice import Ruleset
    from protocol import Node

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


@app.command(epilog=EPILOG)
def host(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default=False)] = None,
    seats: Annotated[
        int | None,
        typer.Option(
            "--seats", min=2, max=10, metavar="N", show_default=False, help="Players in all, including you and bots."
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
            help="Seconds to make a choice. After that, the others can go on without you if they are more than half of"
            " the table. Your own bots wait for you if nobody else plays.",
        ),
    ] = 120,
    private: Annotated[bool, typer.Option("--private", help="Admit only players who have the join line.")] = False,
    programs: Annotated[
        list[str] | None,
        typer.Option("--bot", metavar="CMD", help="Seat a program that speaks the bot protocol; can be repeated."),
    ] = None,
    stakes: Annotated[bool, typer.Option("--stakes", help="Play for coins, whatever the rules: stakes=yes.")] = False,
    pledge: PledgeOption = Pledge.REDEEMED,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
) -> None:
    """Open a table and play at it.

    It prints the exact line that a friend types on another laptop on the same network. Without --seats the table has
    two seats; with --bots it has one for you and one for each bot. Against bots alone there is no hurry: you can leave
    and resume, and they come back with you.
    """
    from protocol import Patience, TableSettings
    from protocol.limits import PLAYERS

    try:
        commands = [split_command(program) for program in programs or ()]
    except ProgramError as error:
        raise typer.BadParameter(f"{escape(str(error))}.", param_hint="--bot") from None
    seated = bots + len(commands)
    wanted = seats if seats is not None else max(2, seated + 1)
    if seated >= wanted or wanted > PLAYERS:
        raise typer.BadParameter(
            f"{seated} bots and you need at least {seated + 1} seats, of ten.", param_hint="--seats"
        )
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    opened = TableSettings(
        table_name(table if table is not None else f"{player}'s table"),
        chosen_ruleset(rules, [*(changes or ()), *(["stakes=yes"] if stakes else [])]),
        wanted,
        Patience(human=patience),
        private,
    )

    open_log(settings.private_home())
    crew = run(recruits(bots, commands, player, opened.ruleset, has_guests=seated + 1 < wanted))

    async def enter(node: Node) -> None:
        node.pledge = pledge.value
        await node.host(opened)

    def company(node: Node) -> AbstractAsyncContextManager[Crew]:
        return hired(node, crew)

    async def again(node: Node, wish: str) -> Company:
        await open_again(node, opened, wish)
        return company

    play(
        settings,
        player,
        enter,
        showing(settings, ui, pace, bell),
        first="Opening the table.",
        port=port,
        interface=interface,
        company=company,
        again=again,
    )


def table_name(name: str) -> str:
    """Return a table's name if others can see, and type, it.

    :raises typer.BadParameter: with the reason.
    """
    from protocol import parse_address
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


async def recruits(
    bots: int, commands: Sequence[Sequence[str]], host: str, ruleset: Ruleset, has_guests: bool
) -> list[Recruit]:
    """Return the bots to be seated, each with a nickname and a key of its own.

    :param bots: number of house bots.
    :param commands: of programs. Each is started once, to learn its name and whether it speaks.
    :param has_guests: other people can sit down, who are told whose the bots are.
    :raises Failure: if a program cannot be started, or says no hello.
    """
    from cli.bots.program_reporter import introduced
    from protocol import Identity

    programs: list[str] = []
    if commands:
        async with waiting("Starting each bot once, to check that it speaks the protocol."):
            # To the end, as asyncio cannot drop a process that is being started.
            answers = await asyncio.gather(*(introduced(each, ruleset) for each in commands), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            programs.append(answer)
    names: list[str] = []
    for name in [*house_names(bots, [host, *programs]), *programs]:
        names.append(bot_nickname(name, host if has_guests else "", [host, *names]))
    everyone = [*[()] * bots, *commands]
    return [Recruit(name, Identity.generate(), tuple(command)) for name, command in zip(names, everyone, strict=True)]
