"""``p2pdice host``: open a table."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.bots.bot import bot_nickname, house_names
from cli.bots.bot_seat import introduced
from cli.bots.crew import Crew, Recruit, hired
from cli.bots.programs import ProgramError, split_command
from cli.commands.bot_options import GIVE_UP, GiveUpOption, LevelsOption, MatchesOption, dealt
from cli.commands.network import InterfaceOption, Pledge, PledgeOption, PortOption, ask_for_pledge, waiting
from cli.front import application
from cli.home import open_log
from cli.levels import Level, shown
from cli.output import is_interactive
from cli.preferences import CHAT, ODDS, NameOption, nickname, preferences
from cli.render import escape
from cli.rulesets import RulesOption, SetOption, chosen_ruleset, rules_name
from cli.settings import Settings
from cli.table.play import Company, open_again, play, run
from cli.table.showing import BellOption, PaceOption, UiOption, showing
from protocol.crypto.keys import Identity
from protocol.crypto.short_code import looks_like_a_code
from protocol.limits import PATIENCE_HUMAN, PLAYERS
from protocol.match.lobby import TableSettings
from protocol.net.addresses import parse_address
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
  p2pdice host --bot 'python3 odds15.py'   you against a program
  p2pdice host --seats 3 --bots 1 --rules perudo --private
  p2pdice host Friday --odds off --chat all   no odds; who watches may talk
  p2pdice host Friday --ask           you say who gets a seat
  p2pdice host --rules motes --pledge cursed   dice with powers
  p2pdice host League --no-play --seats 4 --matches 20 --json
                                      a night of bots and guests, for a script

\b
Play starts when all seats are taken, or when you type start.
"""

app = application()


class Odds(StrEnum):
    """Whether programs show the odds of bids at a table."""

    ON = "on"
    OFF = "off"
    EACH = "each"


class Chat(StrEnum):
    """The people whose words are heard at a table."""

    PLAYERS = "players"
    ALL = "all"


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
    level: LevelsOption = None,
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
    ] = PATIENCE_HUMAN,
    private: Annotated[
        bool, typer.Option("--private", help="Admit only players who have the code or the join line.")
    ] = False,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Ask before anybody gets a seat, not just when somebody uses a trusted player's name with a different"
            " key.",
        ),
    ] = False,
    advertise: Annotated[
        bool, typer.Option("--advertise", help="Let others find a table that has only you and your bots, to watch it.")
    ] = False,
    programs: Annotated[
        list[str] | None,
        typer.Option("--bot", metavar="CMD", help="Seat a program that speaks the bot protocol; can be repeated."),
    ] = None,
    stakes: Annotated[bool, typer.Option("--stakes", help="Play for coins, whatever the rules: stakes=yes.")] = False,
    pledge: PledgeOption = None,
    odds: Annotated[
        Odds | None,
        typer.Option(
            "--odds",
            show_default=False,
            help="Show everybody how likely bids are (on), show it to nobody (off), or let each player decide (default;"
            " against bots alone: on). This cannot be enforced: anyone can use a calculator.",
        ),
    ] = None,
    chat: Annotated[
        Chat | None,
        typer.Option("--chat", show_default=False, help="Let only players talk (default), or all."),
    ] = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
    qr: Annotated[bool, typer.Option("--qr", help="Also show the long join line as a QR code, for a camera.")] = False,
    no_play: Annotated[bool, typer.Option("--no-play", help="Leave the table to bots and guests.")] = False,
    matches: MatchesOption = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            "--at-least",
            min=2,
            max=10,
            metavar="N",
            show_default=False,
            help="With --no-play: no match begins with fewer players (default: your bots and a guest).",
        ),
    ] = None,
    wait: Annotated[
        int | None,
        typer.Option(
            "--wait",
            min=0,
            max=86_400,
            metavar="S",
            show_default=False,
            help="With --no-play: once enough players are there, wait S seconds for others (default: 30).",
        ),
    ] = None,
    give_up: GiveUpOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            file_okay=False,
            show_default=False,
            help="With --no-play: put the transcripts into DIR, too.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --no-play: print events as NDJSON.")] = False,
) -> None:
    """Open a table and play at it.

    It shows a short code to tell a friend on the same network, and below it a long line that also works where multicast
    is blocked. Three wrong tries close the code. Without --seats the table has two seats; with --bots it has one for
    you and one for each bot. Against bots alone there is no hurry: you can leave and resume, and they come back with
    you. Others do not see such a table unless you --advertise it.

    With --no-play you need not be there: bots and guests play one match after another, and one of your bots has your
    seat. Ctrl-C makes the current match the last one. Exit code 7 means that too few players were there for too long.
    docs/league.md has a script.
    """
    of_a_night = {"--matches": matches, "--at-least": at_least, "--wait": wait, "--give-up": give_up, "--out": out}
    of_a_person = {"--ui": ui, "--pace": pace, "--bell": bell, "--qr": qr or None, "--ask": ask or None}
    for option, value in (of_a_person if no_play else of_a_night | {"--json": as_json or None}).items():
        if value is not None:
            problem = "nobody looks at this table" if no_play else "it needs --no-play"
            raise typer.BadParameter(f"{problem}.", param_hint=option)
    try:
        commands = [split_command(program) for program in programs or ()]
    except ProgramError as error:
        raise typer.BadParameter(f"{escape(str(error))}.", param_hint="--bot") from None
    if no_play and not commands:
        bots = max(bots, 1)  # the protocol has no host without a seat
    seated = bots + len(commands)
    filled = seated + (not no_play)
    wanted = seats if seats is not None else max(2, filled)
    if filled > PLAYERS:
        left = "are too many" if no_play else "leave you no seat"
        raise typer.BadParameter(f"{seated} bots {left}: a table has at most ten.", param_hint="--bots")
    if filled > wanted:
        raise typer.BadParameter(f"With {seated} bots you need at least {filled} seats.", param_hint="--seats")
    least = at_least if at_least is not None else min(wanted, max(2, filled + 1))
    if least > wanted:
        raise typer.BadParameter(f"The table has only {wanted} seats.", param_hint="--at-least")
    levels = dealt(level, bots)
    player = nickname(name)
    settings = ctx.ensure_object(Settings)
    options = [*(changes or ()), *(["stakes=yes"] if stakes else [])]
    is_alone = filled == wanted and not no_play
    opened = TableSettings(
        table_name(table if table is not None else f"{player}'s table"),
        chosen_ruleset(rules, options),
        wanted,
        Patience(human=patience),
        private,
        rules_name(rules, options),
        customs(odds, chat, is_alone=is_alone),
        "always" if ask else "strangers",
        unlisted=is_alone and not advertise,
    )
    if pledge is None and opened.ruleset.motes and not no_play and is_interactive():
        pledge = ask_for_pledge()
    pledged = (pledge or Pledge.REDEEMED).value

    open_log(settings.private_home())
    crew = run(recruits(levels, commands, player, opened.ruleset, has_guests=filled < wanted))
    if no_play:
        from cli.bots.league import WAIT, League, LeagueReport, Terms

        terms = Terms(matches or 1, least, WAIT if wait is None else wait, GIVE_UP if give_up is None else give_up)
        report = LeagueReport(Home(settings.private_home()), terms.matches, out, as_json=as_json)
        league = League(opened, crew, terms, report)
        ending = run(league.run(settings.private_home(), port, interface, pledged))
        raise typer.Exit(ending.exit_code)

    async def enter(node: Node) -> None:
        node.pledge = pledged
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
        showing(settings, ui, pace, bell)._replace(qr=qr),
        first="Opening the table.",
        port=port,
        interface=interface,
        company=company,
        again=again,
    )


def customs(odds: Odds | None, chat: Chat | None, *, is_alone: bool) -> Customs:
    """Return the customs of a table: by the options, else by the settings.

    :param is_alone: its owner plays against their own bots only, who do not mind odds.
    """
    settled = preferences(Settings())
    shown = odds or settled.odds
    if odds is None and is_alone and shown == Odds.EACH:
        shown = Odds.ON
    return Customs(ODDS.index(shown), CHAT.index(chat or settled.chat))


def table_name(name: str) -> str:
    """Return a table's name if others can see it and type it.

    :raises typer.BadParameter: with the reason.
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


async def recruits(
    levels: Sequence[Level], commands: Sequence[Sequence[str]], host: str, ruleset: Ruleset, has_guests: bool
) -> list[Recruit]:
    """Return the bots to be seated, each with a nickname and a key of its own.

    :param levels: of the house bots, one for each.
    :param commands: of programs. Each is started once, to learn its name and whether it speaks.
    :param has_guests: other people can sit down; nicknames tell them whose the bots are.
    :raises Failure: if a program cannot be started, or says no hello.
    """
    programs: list[str] = []
    if commands:
        async with waiting("Starting each bot once, to check that it speaks the protocol."):
            # To the end, as asyncio cannot drop a process that is being started.
            answers = await asyncio.gather(*(introduced(each, ruleset) for each in commands), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            programs.append(answer)
    owner = host if has_guests else ""
    seated: list[Recruit] = []
    for name, level in zip(house_names(len(levels), [host, *programs]), levels, strict=True):
        marked = bot_nickname(name, owner, [host, *(each.name for each in seated)], shown(level))
        seated.append(Recruit(marked, Identity.generate(), level=level))
    for name, command in zip(programs, commands, strict=True):
        marked = bot_nickname(name, owner, [host, *(each.name for each in seated)])
        seated.append(Recruit(marked, Identity.generate(), tuple(command)))
    return seated
