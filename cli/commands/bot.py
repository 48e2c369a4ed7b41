"""``p2pdice bot``: programs as players."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from cli.bots.names import bot_nickname
from cli.commands.nickname import NameOption, nickname
from cli.exits import ExitCode
from cli.front import application
from cli.render import command_line, counted, escape
from cli.settings import Settings
from cli.table.play import InterfaceOption, Pledge, PledgeOption, run

if TYPE_CHECKING:
    from cli.bots.conformance import Report, Trial

EPILOG: Final = """\b
Examples:
  p2pdice bot check -- python3 odds15.py      does it speak the protocol?
  p2pdice bot Friday -- python3 odds15.py     let it play at the table Friday
  p2pdice bot -- ./mybot.sh --cautious        pick a table from a list
  p2pdice host --bot 'python3 odds15.py'      you against it

\b
What comes after -- is the program and its arguments; it speaks JSON lines
on its standard streams. docs/bots.md explains how, with a whole session. It
runs with your rights, like any program that you start.
"""
_COMMAND: Final = "p2pdice.bot-command"


class BotGroup(TyperGroup):
    """``bot TABLE -- CMD`` and ``bot check -- CMD``: what is no command is a table; what follows -- is kept apart."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        if not args and _COMMAND not in ctx.meta:
            args = ["--help"]
        elif not args or args[0] not in {*self.commands, "-h", "--help"}:
            args = ["play", *args]
        return list(super().parse_args(ctx, args))


app = application(cls=BotGroup, epilog=EPILOG)

MoveOption = Annotated[
    int,
    typer.Option("--move-ms", min=10, max=60_000, metavar="MS", help="Milliseconds that it has for a move."),
]


@app.callback()
def bot() -> None:
    """Let your own program play at a table."""


@app.command(epilog=EPILOG)
def play(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", show_default=False)] = None,
    name: NameOption = None,
    move_ms: MoveOption = 2_000,
    pledge: PledgeOption = Pledge.REDEEMED,
    interface: InterfaceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print events as NDJSON.")] = False,
) -> None:
    """Seat a program at a table; the word play may be left out: bot TABLE -- CMD.

    Before it sits down, it is started once, to see whether it speaks the protocol. Its nickname is what it calls
    itself, unless --name says otherwise. You see what happens, as at a table of your own. When the program makes a
    fault (a late, malformed or illegal answer, or a crash), you are told, and a default move is played for it. At the
    end its faults are counted.
    """
    from cli.commands.join import choose, seat_at
    from cli.commands.tables import look_around
    from cli.log import open_log

    command = _command(ctx)
    home = ctx.ensure_object(Settings).private_home()
    open_log(home)
    said = run(_introduced(command))
    player = nickname(name) if name is not None else bot_nickname(said)
    target = table if table is not None else choose(asyncio.run(look_around(interface)))

    from cli.bots.program_reporter import seat_program

    run(seat_program(home, player, interface, seat_at(target, pledge), command, move_ms, as_json))


async def _introduced(command: list[str]) -> str:
    from cli.bots.program_reporter import introduced
    from p2pdice import PRESETS

    return await introduced(command, PRESETS["classic"])  # what is played is not known before


@app.command(epilog=EPILOG)
def check(
    ctx: typer.Context,
    move_ms: MoveOption = 2_000,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
) -> None:
    """Test whether a program speaks the bot protocol: bot check -- CMD.

    It plays against house bots in memory, by every ruleset. Its faults are listed, and the exit code is 1 if there are
    any. What it writes to standard error goes to the log. A program that does not say hello is not tested any further.
    """
    from cli.bots.conformance import check as examine
    from cli.bots.program_reporter import not_started
    from cli.bots.programs import ProgramError
    from cli.log import open_log

    command = _command(ctx)
    log = open_log(ctx.ensure_object(Settings).private_home())
    reports: list[Report] = []

    async def examined() -> None:
        try:
            reports.append(await examine(command, move_ms, lambda trial: None if as_json else print(_line(trial))))
        except ProgramError as error:
            raise not_started(error) from None

    run(examined())
    (report,) = reports
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        _print(report, str(log))
    if report.faults:
        raise typer.Exit(ExitCode.FAILURE)


def _line(trial: Trial) -> str:
    moves = f"{counted(trial.moves, 'move')}, place {trial.place}"
    return f"{trial.rules}, {counted(trial.players, 'player')}: {moves}, {counted(len(trial.faults), 'fault')}"


def _print(report: Report, log: str) -> None:
    for trial, fault in report.faults:
        played = f"; {fault.played} was played instead" if fault.played else ""
        where = f"{trial.rules}, {counted(trial.players, 'player')}, turn {fault.turn}"
        print(f"  {where}: {fault.kind}: it {escape(fault.reason)}{played}")
    matches = counted(len(report.trials), "match", "matches")
    moves = sum(trial.moves for trial in report.trials)
    print(f"{report.name}: {matches}, {counted(moves, 'move')}, slowest answer {report.slowest_ms} ms.")
    if report.faults:
        early = "" if report.is_complete else " and was stopped"
        print(f"It made {counted(len(report.faults), 'fault')}{early}. Its standard error is in {log}")
    else:
        print("It speaks the protocol.")


def _command(ctx: typer.Context) -> list[str]:
    command: list[str] = ctx.meta.get(_COMMAND, [])
    if not command:
        example = command_line("bot", "TABLE", "--", "python3", "odds15.py")
        raise typer.BadParameter(f"the program is missing: it comes after --, as in {example}", param_hint="-- CMD")
    return command
