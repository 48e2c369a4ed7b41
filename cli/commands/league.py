"""``p2pdice league``: a night of matches between bots and guests, at an unattended table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from cli.bots.league import WAIT, League, LeagueReport, Terms
from cli.commands.bot_options import GIVE_UP, PROGRAMS, LevelsOption, LogsOption, dealt, log_folder
from cli.commands.host import (
    BotsOption,
    ChatOption,
    OddsOption,
    PatienceOption,
    PrivateOption,
    ProgramsOption,
    SeatsOption,
    StakesOption,
    customs,
    enough_seats,
    names_met,
    recruits,
    split_programs,
    table_settings,
)
from cli.commands.network import InterfaceOption, PledgeOption, PortOption
from cli.front import PanelCommand, application
from cli.home import open_log
from cli.preferences import NameOption, nickname
from cli.rulesets import RulesOption, SetOption
from cli.settings import Settings
from cli.table.play import run
from protocol.limits import PATIENCE_HUMAN, PLAYERS
from protocol.storage.home import Home

EPILOG: Final = """\b
Examples:
  p2pdice league --bots 3 --matches 20            three house bots
  p2pdice league Friday --seats 4 --matches 20    your bot and three guests
  p2pdice league --seats 4 --bot 'python3 odds15.py' --at-least 3
  p2pdice league --seats 2 --bot my_bots:Careful --bot mind --log logs
  p2pdice league Friday --matches 20 --json --out transcripts

\b
A guest's program joins with: p2pdice bot Friday --matches 20 -- BOT
Exit code 7: too few players were there for too long. docs/league.md has a
script.
"""

app = application()


@app.command(cls=PanelCommand, epilog=EPILOG)
def league(
    ctx: typer.Context,
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="The name of the table (default: from your nickname).", show_default=False
        ),
    ] = None,
    matches: Annotated[
        int, typer.Option("--matches", min=1, max=10_000, metavar="N", help="Play this many matches.")
    ] = 1,
    seats: SeatsOption = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            "--at-least",
            min=2,
            max=PLAYERS,
            metavar="N",
            show_default=False,
            help="No match begins with fewer players (default: your bots, and a guest if a seat is free).",
        ),
    ] = None,
    wait: Annotated[
        int,
        typer.Option(
            "--wait",
            min=0,
            max=86_400,
            metavar="S",
            help="Once enough players are there, wait S seconds for more.",
        ),
    ] = WAIT,
    give_up: Annotated[
        int,
        typer.Option(
            "--give-up",
            min=1,
            max=86_400,
            metavar="S",
            help="End the night if nothing is played for S seconds because too few players are there.",
        ),
    ] = GIVE_UP,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    stakes: StakesOption = False,
    pledge: PledgeOption = None,
    name: NameOption = None,
    private: PrivateOption = False,
    patience: PatienceOption = PATIENCE_HUMAN,
    odds: OddsOption = None,
    chat: ChatOption = None,
    bots: BotsOption = 0,
    level: LevelsOption = None,
    programs: ProgramsOption = None,
    logs: LogsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            file_okay=False,
            show_default=False,
            rich_help_panel=PROGRAMS,
            help="Also put the transcripts into DIR.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=PROGRAMS, help="One line of JSON for each event.")
    ] = False,
    port: PortOption = 0,
    interface: InterfaceOption = None,
) -> None:
    """Play a night of matches between bots and guests, unattended.

    One of your bots, a house bot if you name none, sits in your seat. It signs with your key, and bets your coins if
    there are stakes. Without --seats the table has a seat for each of your bots, and at least two. Ctrl-C makes the
    current match the last one.
    """
    commands = split_programs(programs)
    if not commands:
        bots = max(bots, 1)  # the protocol requires that the host has a seat
    seated = bots + len(commands)
    if seated > PLAYERS:
        raise typer.BadParameter(
            f"{seated} bots are too many: a table has at most ten.", param_hint="--bots" if bots else "--bot"
        )
    wanted = enough_seats(seats, seated, seated)
    least = at_least if at_least is not None else min(wanted, max(2, seated + 1))
    if least > wanted:
        raise typer.BadParameter(f"The table has only {wanted} seats.", param_hint="--at-least")
    levels = dealt(level, bots)
    player = nickname(name)
    opened = table_settings(
        player,
        table,
        wanted,
        rules,
        changes,
        patience,
        private,
        customs(odds, chat, is_alone=False),
        stakes=stakes,
    )
    folder = log_folder(logs)
    home = ctx.ensure_object(Settings).private_home()
    open_log(home)
    met = names_met(Home(home))
    crew = run(recruits(levels, commands, player, opened.ruleset, has_guests=seated < wanted, met=met))
    report = LeagueReport(Home(home), matches, out, as_json=as_json)
    night = League(opened, crew, Terms(matches, least, wait, give_up), report, folder)
    ending = run(night.run(home, port, interface, pledge or "redeemed"))
    raise typer.Exit(ending.exit_code)
