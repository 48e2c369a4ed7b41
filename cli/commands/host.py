"""``p2pdice host``: open a table."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.bots.bot import Level, bot_nickname, house_names
from cli.bots.bot_seat import introduced
from cli.bots.crew import Crew, Recruit, hired
from cli.bots.programs import ProgramError, split_command
from cli.commands.bot_options import PROGRAMS, LevelsOption, LogsOption, dealt, log_folder
from cli.commands.network import InterfaceOption, PledgeOption, PortOption, ask_for_pledge, waiting
from cli.front import PanelCommand, application
from cli.home import open_log
from cli.output import is_interactive
from cli.preferences import CHAT, ODDS, Chat, NameOption, Odds, nickname, preferences
from cli.render import default_table_name, escape
from cli.rulesets import RulesOption, SetOption, chosen_ruleset, rules_name
from cli.settings import Settings
from cli.table.play import Company, open_again, play, run
from cli.table.terminal import BellOption, PaceOption, UiOption, showing
from protocol.crypto.keys import Identity
from protocol.crypto.short_code import looks_like_a_code
from protocol.limits import PATIENCE_BOUNDS, PATIENCE_HUMAN, PLAYERS
from protocol.match.lobby import TableSettings
from protocol.net.addresses import parse_address
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from protocol.wire.frames import Customs
from protocol.wire.genesis import Patience
from protocol.wire.names import table_name_flaw

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset
    from protocol.node.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice host                        a table for two
  p2pdice host Friday --seats 4       a table called Friday
  p2pdice host --bots 3               you against three house bots
  p2pdice host --bots 2 --level mind  you against two of the best
  p2pdice host --seats 3 --bots 1 --rules perudo --private
  p2pdice host Friday --odds off --chat all   no odds; watchers may talk
  p2pdice host Friday --ask           you say who gets a seat
  p2pdice host --rules motes --pledge cursed   dice with powers
  p2pdice host --bot 'python3 odds15.py'   you against a program
  p2pdice host --bot my_bots:Careful --log logs   against a class of yours

\b
Play starts when all seats are taken, or when you type start. For a table of
bots and guests, at which you do not play: p2pdice league.
"""

app = application()


SeatsOption = Annotated[
    int | None,
    typer.Option("--seats", min=2, max=PLAYERS, metavar="N", show_default=False, help="Players in all, bots included."),
]
BotsOption = Annotated[int, typer.Option("--bots", min=0, metavar="N", help="Seat this many house bots.")]
PatienceOption = Annotated[
    int,
    typer.Option(
        "--patience",
        min=PATIENCE_BOUNDS[0],
        max=PATIENCE_BOUNDS[1],
        metavar="S",
        help="Seconds to make a choice. After that, the others can continue without the player if they are more than"
        " half of the table. Your own bots wait for you if nobody else plays.",
    ),
]
PrivateOption = Annotated[
    bool, typer.Option("--private", help="Admit only players who have the code or the join line.")
]
StakesOption = Annotated[bool, typer.Option("--stakes", help="Play for coins, whatever the rules: stakes=yes.")]
OddsOption = Annotated[
    Odds | None,
    typer.Option(
        "--odds",
        show_default=False,
        help="Show everybody how likely bids are (on), show it to nobody (off), or let each player decide (default;"
        " against bots alone: on). This cannot be enforced: anyone can use a calculator.",
    ),
]
ChatOption = Annotated[
    Chat | None, typer.Option("--chat", show_default=False, help="Let only players talk (default), or all.")
]
ProgramsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bot",
        metavar="BOT",
        rich_help_panel=PROGRAMS,
        help="Seat a bot: a command in quotes that speaks the bot protocol, module:Class, or a level. Can be repeated.",
    ),
]


@app.command(cls=PanelCommand, epilog=EPILOG)
def host(
    ctx: typer.Context,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="The name of the table (default: from your nickname).", show_default=False
        ),
    ] = None,
    seats: SeatsOption = None,
    bots: BotsOption = 0,
    level: LevelsOption = None,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    stakes: StakesOption = False,
    pledge: PledgeOption = None,
    name: NameOption = None,
    private: PrivateOption = False,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Ask before anybody gets a seat, not just when somebody uses a trusted player's name with a different"
            " key.",
        ),
    ] = False,
    patience: PatienceOption = PATIENCE_HUMAN,
    odds: OddsOption = None,
    chat: ChatOption = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
    qr: Annotated[bool, typer.Option("--qr", help="Also show the long join line as a QR code, for a camera.")] = False,
    programs: ProgramsOption = None,
    logs: LogsOption = None,
    advertise: Annotated[
        bool,
        typer.Option(
            "--advertise",
            rich_help_panel=PROGRAMS,
            help="Let others find and watch a table that has only you and your bots.",
        ),
    ] = False,
    port: PortOption = 0,
    interface: InterfaceOption = None,
) -> None:
    """Open a table and play at it.

    It shows a short code for a friend on the same network. Type link at the table for a long join line that also works
    where multicast is blocked. Three wrong tries close the code. Without --seats the table has two seats; with --bots
    it has one for you and one for each bot. Against bots alone there is no hurry: you can leave and resume, and the
    bots come back with you. Others do not see such a table unless you --advertise it.
    """
    commands = split_programs(programs)
    seated = bots + len(commands)
    if seated >= PLAYERS:
        raise typer.BadParameter(
            f"{seated} bots leave you no seat: a table has at most ten.", param_hint="--bots" if bots else "--bot"
        )
    wanted = enough_seats(seats, seated, seated + 1)
    is_alone = wanted == seated + 1
    levels = dealt(level, bots)
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    opened = table_settings(
        player,
        table,
        wanted,
        rules,
        changes,
        patience,
        private,
        customs(odds, chat, is_alone=is_alone),
        stakes=stakes,
    )
    opened = replace(opened, asks="always" if ask else "strangers", unlisted=is_alone and not advertise)
    if pledge is None and opened.ruleset.motes and is_interactive():
        pledge = ask_for_pledge()

    folder = log_folder(logs)
    open_log(settings.private_home())
    met = names_met(Home(settings.private_home()))
    crew = run(recruits(levels, commands, player, opened.ruleset, has_guests=not is_alone, met=met))

    async def enter(node: Node) -> None:
        node.pledge = pledge or "redeemed"
        await node.host(opened)

    def company(node: Node) -> AbstractAsyncContextManager[Crew]:
        return hired(node, crew, logs=folder)

    async def again(node: Node, wish: str) -> Company:
        await open_again(node, opened, wish)
        return company

    play(
        settings,
        player,
        enter,
        showing(settings, ui, pace, bell)._replace(qr=qr),
        first="Opening the table.",
        port=port,
        interface=interface,
        company=company,
        again=again,
    )


def split_programs(programs: Sequence[str] | None) -> list[list[str]]:
    """Split each command line into words.

    :raises typer.BadParameter: if a command line cannot be split.
    """
    try:
        return [split_command(program) for program in programs or ()]
    except ProgramError as error:
        raise typer.BadParameter(f"{escape(str(error))}.", param_hint="--bot") from None


def enough_seats(seats: int | None, bots: int, filled: int) -> int:
    """Return the number of seats of a table.

    :param seats: the wanted number; None for as many as are filled, but at least two.
    :param filled: the number of seats filled by bots and by a host who plays.
    :raises typer.BadParameter: if more seats are filled than wanted.
    """
    if seats is not None and filled > seats:
        raise typer.BadParameter(f"With {bots} bots you need at least {filled} seats.", param_hint="--seats")
    return seats if seats is not None else max(2, filled)


def table_settings(
    player: str,
    name: str | None,
    seats: int,
    rules: str,
    changes: Sequence[str] | None,
    patience: int,
    private: bool,
    its_customs: Customs,
    *,
    stakes: bool,
) -> TableSettings:
    """Return the settings of the table that a command's options describe.

    :param player: the nickname of the host, after whom a table without ``name`` is named.
    :raises typer.BadParameter: if the table's name or its rules are not allowed.
    """
    changes = [*(changes or ()), *(["stakes=yes"] if stakes else [])]
    return TableSettings(
        table_name(name if name is not None else default_table_name(player)),
        chosen_ruleset(rules, changes),
        seats,
        Patience(human=patience),
        private,
        rules_name(rules, changes),
        its_customs,
    )


def customs(odds: Odds | None, chat: Chat | None, *, is_alone: bool) -> Customs:
    """Return the customs of a table from the options, else from the player's settings.

    :param is_alone: whether the host plays only against bots. Odds then default to on instead of ``each``.
    """
    settled = preferences(Settings())
    shown = odds or settled.odds
    if odds is None and is_alone and shown == "each":
        shown = "on"
    return Customs(ODDS.index(shown), CHAT.index(chat or settled.chat))


def table_name(name: str) -> str:
    """Return a table's name, normalized to NFC and stripped.

    :raises typer.BadParameter: if others could not see or type the name, or it looks like another kind of target.
    """
    name = unicodedata.normalize("NFC", name).strip()
    if problem := table_name_flaw(name):
        raise typer.BadParameter(f"a table's name {problem}.")
    if "/" in name:
        raise typer.BadParameter('a table\'s name must not contain "/", which stands in join lines.')
    if looks_like_a_code(name):
        raise typer.BadParameter("a table's name must not look like a short code, NUMBER-WORD-WORD.")
    try:
        parse_address(name)
    except ValueError:
        return name
    raise typer.BadParameter("a table's name must not look like an address, HOST:PORT.")


def names_met(home: Home) -> list[str]:
    """Return the names of the people whom the owner of a home has met; an empty list if its store cannot be read."""
    if home.has_store:
        with suppress(StoreError), archive.read_store(home) as store:
            everybody = store.people.everybody()
            return [name for person in everybody for name in (person.name, *(used.name for used in person.names))]
    return []


async def recruits(
    levels: Sequence[Level],
    commands: Sequence[Sequence[str]],
    host: str,
    ruleset: Ruleset,
    *,
    has_guests: bool,
    met: Sequence[str] = (),
) -> list[Recruit]:
    """Return the bots to seat, each with its own nickname and key.

    :param levels: the levels of the house bots, one per bot.
    :param commands: the command lines of programs. Each is started once, to learn its name and test it.
    :param has_guests: whether other people can sit down. Then nicknames show whose bots they are.
    :param met: names of people who may sit down. House bots avoid them as long as other names are free.
    :raises Failure: if a program cannot be started, or does not say hello.
    """
    programs: list[str] = []
    if commands:
        async with waiting("Starting each bot once, to check that it speaks the protocol."):
            # All are awaited even if one fails, because asyncio cannot cancel the start of a process cleanly.
            answers = await asyncio.gather(*(introduced(each, ruleset) for each in commands), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            programs.append(answer)
    owner = host if has_guests else ""
    seated: list[Recruit] = []
    for name, level in zip(house_names(len(levels), [host, *programs, *met]), levels, strict=True):
        marked = bot_nickname(name, owner, [host, *(each.name for each in seated)], level.mark)
        seated.append(Recruit(marked, Identity.generate(), level=level))
    for name, command in zip(programs, commands, strict=True):
        marked = bot_nickname(name, owner, [host, *(each.name for each in seated)])
        seated.append(Recruit(marked, Identity.generate(), tuple(command)))
    return seated
