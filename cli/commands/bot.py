"""``p2pdice bot``: programs as players."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from cli.bots.lull import GIVE_UP
from cli.bots.names import bot_nickname
from cli.commands.nickname import NameOption, nickname
from cli.commands.unattended import GiveUpOption, MatchesOption, MoveOption
from cli.exits import ExitCode
from cli.front import application
from cli.levels import LevelsOption
from cli.output import say
from cli.render import command_line, counted, escape, shown_path
from cli.settings import Settings
from cli.table.play import InterfaceOption, PledgeOption, run

if TYPE_CHECKING:
    from cli.bots.conformance import Report, Trial
    from protocol.node.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice bot check -- python3 odds15.py      does it speak the protocol?
  p2pdice bot Friday -- python3 odds15.py     let it play at the table Friday
  p2pdice bot -- ./mybot.sh --cautious        pick a table from a list
  p2pdice bot League --matches 20 -- ./mybot.sh   a whole evening
  p2pdice host --bot 'python3 odds15.py'      you against it

\b
The program and its arguments come after --. It speaks JSON lines on its
standard streams. docs/bots.md explains how, with a whole session. It runs
with your rights, like any program that you start.
"""
_COMMAND: Final = "p2pdice.bot-command"


class BotGroup(TyperGroup):
    """``bot TABLE -- CMD`` and ``bot check -- CMD``: a first word that is no command is a table. CMD is kept apart."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        elif len(args) > 1 and not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            _command(ctx)  # without --, the program's words would be complained about
        if not args and _COMMAND not in ctx.meta:
            args = ["--help"]
        elif not args or args[0] not in {*self.commands, "-h", "--help"}:
            args = ["play", *args]
        return list(super().parse_args(ctx, args))


app = application(cls=BotGroup, epilog=EPILOG)


@app.callback()
def bot() -> None:
    """Let your own program play at a table."""


@app.command(epilog=EPILOG)
def play(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", show_default=False)] = None,
    name: NameOption = None,
    move_ms: MoveOption = 2_000,
    pledge: PledgeOption = None,
    interface: InterfaceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print events as NDJSON.")] = False,
    matches: MatchesOption = None,
    give_up: GiveUpOption = None,
) -> None:
    """Seat a program at a table; the word play may be left out: bot TABLE -- CMD.

    Before it sits down, it is started once, to see whether it speaks the protocol. Its nickname is what it calls
    itself, or the one that --name gives, with a mark that it is a bot. You see what happens, as at a table of your own.
    When the program makes a fault (a late, malformed or illegal answer, or a crash), you are told, and a default move
    is played for it. At the end its faults are counted.

    With --matches it sits down again after each match. If no seat is free, it watches until there is one. If the host
    leaves after a match, the evening is over, and the exit code is 0.
    """
    from cli.commands.join import choose, seat_at
    from cli.commands.tables import look_around
    from cli.log import open_log

    if give_up is not None and matches is None:
        raise typer.BadParameter("it needs --matches.", param_hint="--give-up")
    command = _command(ctx)
    home = ctx.ensure_object(Settings).private_home()
    open_log(home)
    said = run(_introduced(command))
    player = bot_nickname(nickname(name) if name is not None else said)
    target = table if table is not None else choose(asyncio.run(look_around(interface)))

    async def look_on(node: Node) -> None:
        await node.watch(target if isinstance(target, str) else target[0].advertisement.name)

    from cli.bots.evening import Evening
    from cli.bots.program_reporter import seat_program

    enter, attend = seat_at(target, pledge), None
    if matches is not None:
        evening = Evening(enter, look_on, matches, GIVE_UP if give_up is None else give_up)
        enter, attend = evening.enter, evening.attend
    run(seat_program(home, player, interface, enter, command, move_ms, as_json, attend=attend))


async def _introduced(command: list[str]) -> str:
    from cli.bots.program_reporter import introduced
    from p2pdice.rulesets import PRESETS

    return await introduced(command, PRESETS["classic"])  # the rules of the table are not known yet


@app.command(epilog=EPILOG)
def check(
    ctx: typer.Context,
    move_ms: MoveOption = 2_000,
    level: LevelsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
) -> None:
    """Test whether a program speaks the bot protocol: bot check -- CMD.

    It plays against house bots in memory, by every ruleset. Its faults are listed, and the exit code is 1 if there are
    any. Its standard error goes to the log. A program that does not say hello is not tested any further.
    """
    from cli.bots.conformance import check as examine
    from cli.bots.program_reporter import not_started
    from cli.bots.programs import ProgramError
    from cli.log import open_log

    command = _command(ctx)
    settings = ctx.ensure_object(Settings)
    home = settings.private_home_if_any()
    log = None if home is None else open_log(home)
    reports: list[Report] = []

    def tell(trial: Trial) -> None:
        if not as_json:
            say(_line(trial))

    async def examined() -> None:
        try:
            reports.append(await examine(command, move_ms, level, tell))
        except ProgramError as error:
            raise not_started(error) from None

    run(examined())
    (report,) = reports
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        _print(report, log)
    if report.faults:
        raise typer.Exit(ExitCode.FAILURE)


def _line(trial: Trial) -> str:
    moves = f"{counted(trial.moves, 'move')}, place {trial.place}"
    return f"{trial.rules}, {counted(trial.players, 'player')}: {moves}, {counted(len(trial.faults), 'fault')}"


def _print(report: Report, log: Path | None) -> None:
    for trial, fault in report.faults:
        played = f"; {fault.played} was played instead" if fault.played else ""
        where = f"{trial.rules}, {counted(trial.players, 'player')}, turn {fault.turn}"
        say(f"  {where}: {fault.kind}: it {escape(fault.reason)}{played}")
    matches = counted(len(report.trials), "match", "matches")
    moves = sum(trial.moves for trial in report.trials)
    say(f"{report.name}: {matches}, {counted(moves, 'move')}, slowest answer {report.slowest_ms} ms.")
    if report.faults:
        early = "" if report.is_complete else " and was stopped"
        say(f"It made {counted(len(report.faults), 'fault')}{early}.")
        if log is not None:
            say(f"Its standard error is in {shown_path(log)}")
    else:
        say("It speaks the protocol.")


def _command(ctx: typer.Context) -> list[str]:
    command: list[str] = ctx.meta.get(_COMMAND, [])
    if not command:
        example = command_line("bot", "TABLE", "--", "python3", "odds15.py")
        raise typer.BadParameter(
            f"the program is missing: it comes after --, as in {example}", ctx=ctx, param_hint="-- CMD"
        )
    return command
