"""``p2pdice bot``, which seats programs as players, and ``p2pdice house-bot``, which runs one bot as a process."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from cli.bots.bot import DEFAULT_LEVEL, PlayerBot, bot_nickname
from cli.bots.bot_seat import Evening, Reporter, introduced, not_started, reported, seat
from cli.bots.crew import KILL_AFTER, Order, restore_path
from cli.bots.faults import likeness, predicate, trace_lines
from cli.bots.program_bot import TABLE_SIZES
from cli.bots.program_bot import check as examine
from cli.bots.programs import ProgramError
from cli.commands.bot_options import GIVE_UP, LevelOption, LevelsOption, LogsOption, MoveOption, log_folder
from cli.commands.join import choose, seat_at
from cli.commands.network import InterfaceOption, PledgeOption
from cli.commands.tables import look_around
from cli.exits import ExitCode
from cli.front import PlayGroup, application
from cli.home import open_log
from cli.output import say
from cli.preferences import NameOption, nickname
from cli.render import command_line, counted, escape, shown_path
from cli.rulesets import RulesOption, SetOption, chosen_ruleset, described, rules_name
from cli.settings import Settings
from cli.table.face import PipedInput
from cli.table.play import first_of, run
from p2pdice.players import house_player
from p2pdice.rulesets import PRESETS, Ruleset
from protocol.match.lobby import TableSettings

if TYPE_CHECKING:
    from cli.bots.faults import Fault
    from cli.bots.program_bot import Conformance, Trial
    from protocol.node.node import Node

EPILOG: Final = """\b
Examples:
  p2pdice bot check -- python3 odds15.py      does it speak the protocol?
  p2pdice bot check --log logs -- my_bots:Careful   a class of yours
  p2pdice bot check --set dice=2 --players 2 -- agent:Agent   only these
  p2pdice bot Friday -- python3 odds15.py     let it play at the table Friday
  p2pdice bot -- ./mybot.sh --cautious        pick a table from a list
  p2pdice bot League --matches 20 -- ./mybot.sh   a whole evening
  p2pdice host --bot 'python3 odds15.py'      you against it

\b
The bot comes after --: a program and its arguments, module:Class, or a level
of the house bots. A program speaks JSON lines on its standard streams.
docs/bots.md explains how, with a whole session. It runs with your rights,
like any program that you start.
"""
_COMMAND: Final = "p2pdice.bot-command"

MatchesOption = Annotated[
    int | None,
    typer.Option(
        "--matches",
        min=1,
        max=10_000,
        metavar="N",
        show_default=False,
        help="Play this many matches at the table (default: one).",
    ),
]
GiveUpOption = Annotated[
    int | None,
    typer.Option(
        "--give-up",
        min=1,
        max=86_400,
        metavar="S",
        show_default=False,
        help="With --matches: leave with exit code 7 if nothing is played for S seconds because too few players are"
        f" there (default: {GIVE_UP}).",
    ),
]


class BotGroup(PlayGroup):
    """Parses ``bot TABLE -- BOT`` and ``bot check -- BOT``.

    BOT is kept in the context's ``meta``, out of reach of option parsing.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_COMMAND] = args[:at], args[at + 1 :]
        elif len(args) > 1 and not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
            _command(ctx)  # without --, the program's options would cause misleading errors
        if not args and _COMMAND in ctx.meta:
            args = ["play"]
        return super().parse_args(ctx, args)


class BotCommand(TyperCommand):
    """A command whose last arguments are a bot, after ``--``."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return [*super().collect_usage_pieces(ctx), "--", "BOT"]


app = application(cls=BotGroup, epilog=EPILOG)


@app.callback()
def bot() -> None:
    """Let your own program play at a table."""


@app.command(cls=BotCommand, epilog=EPILOG)
def play(
    ctx: typer.Context,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Without it, pick from a list.", show_default=False)
    ] = None,
    name: NameOption = None,
    move_ms: MoveOption = 2_000,
    pledge: PledgeOption = None,
    interface: InterfaceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON for each event.")] = False,
    matches: MatchesOption = None,
    give_up: GiveUpOption = None,
    logs: LogsOption = None,
) -> None:
    """Seat a program at a table; the word play may be left out: bot TABLE -- BOT.

    The program is first started once, to check that it speaks the protocol. It plays under the name that it gives
    itself, or that --name gives it, marked as a bot. You see the match as if you played yourself. When the program
    makes a fault (a late, malformed or illegal answer, or a crash), you see a message, and a default move is played.
    At the end its faults are counted.

    With --matches the program sits down again after each match. If no seat is free, it watches until there is one. If
    the host leaves after a match, the evening is over, and the exit code is 0.
    """
    if give_up is not None and matches is None:
        raise typer.BadParameter("it needs --matches.", param_hint="--give-up")
    command = _command(ctx)
    folder = log_folder(logs)
    home = ctx.ensure_object(Settings).private_home()
    open_log(home)
    said = run(introduced(command, PRESETS["classic"]))  # the table's rules are not known yet
    player = bot_nickname(nickname(name) if name is not None else said)
    target = table if table is not None else choose(asyncio.run(look_around(interface)))

    async def look_on(node: Node) -> None:
        await node.watch(target if isinstance(target, str) else target[0].advertisement.name)

    enter, attend = seat_at(target, pledge), None
    if matches is not None:
        evening = Evening(enter, look_on, matches, GIVE_UP if give_up is None else give_up)
        enter, attend = evening.enter, evening.attend

    async def seated() -> None:
        async with reported(player, command, as_json, move_ms, folder) as (program, reporter):
            await seat(home, player, interface, enter, program, reporter, attend=attend)

    run(seated())


@app.command(cls=BotCommand, epilog=EPILOG)
def check(
    ctx: typer.Context,
    move_ms: MoveOption = 2_000,
    level: LevelsOption = None,
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="R", help="Only this ruleset, a name or a FILE.toml.", show_default=False),
    ] = None,
    changes: SetOption = None,
    players: Annotated[
        int | None,
        typer.Option("--players", min=2, max=10, metavar="N", help="Only tables of N.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
    logs: LogsOption = None,
) -> None:
    """Test whether a program speaks the bot protocol: bot check -- BOT.

    The program plays against house bots in memory, with every ruleset and with two and four players, unless options
    name some of them. Its faults are listed, and the exit code is 1 if there are any. Its standard error goes to the
    log. A program that does not say hello is not tested further.
    """
    command = _command(ctx)
    folder = log_folder(logs)
    settings = ctx.ensure_object(Settings)
    home = settings.private_home_if_any()
    log = None if home is None else open_log(home)
    rulesets: Mapping[str, Ruleset] = PRESETS
    if rules is not None or changes:
        ruleset = chosen_ruleset(rules or "classic", changes)
        rulesets = {described(ruleset, rules_name(rules or "classic", changes)): ruleset}
    sizes = TABLE_SIZES if players is None else (players,)
    reports: list[Conformance] = []

    def tell(trial: Trial) -> None:
        if not as_json:
            say(_line(trial))

    async def examined() -> None:
        try:
            reports.append(
                await examine(command, move_ms, level or [DEFAULT_LEVEL], tell, folder, rulesets=rulesets, sizes=sizes)
            )
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


def _print(report: Conformance, log: Path | None) -> None:
    alike: defaultdict[tuple[str, str, str], list[tuple[Trial, Fault]]] = defaultdict(list)
    for trial, fault in report.faults:
        alike[likeness(fault.kind, fault.reason, fault.trace)].append((trial, fault))
    for (trial, fault), *others in alike.values():
        where = f"{trial.rules}, {counted(trial.players, 'player')}, turn {fault.turn}"
        times = f"the first of {counted(len(others) + 1, 'such fault')}" if others else ""
        say(f"  {where}: {fault.kind}: it {escape(predicate(fault.reason, fault.played, times, fault.log))}")
        for line in trace_lines(fault.trace):
            say(line)
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
            f"the program is missing: it comes after --, as in {example}", ctx=ctx, param_hint="-- BOT"
        )
    return command


house_bot_app = application()


@house_bot_app.command()
def house_bot(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- CMD]", help="A program that plays instead of a house bot.")
    ] = None,
    name: NameOption = None,
    seats: Annotated[
        int | None, typer.Option("--seats", min=2, max=10, metavar="N", help="Host the table, with N seats in total.")
    ] = None,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    level: LevelOption = DEFAULT_LEVEL,
    seed: Annotated[str | None, typer.Option("--seed", help="Fixes the bot's choices, never its secrets.")] = None,
    interface: InterfaceOption = None,
    move_ms: Annotated[int, typer.Option("--move-ms", metavar="MS", help="Milliseconds for each move.")] = 2_000,
    logs: LogsOption = None,
) -> None:
    """Seat a bot, and print the events that it sees as NDJSON.

    The first line of its standard input names its table or match and the player who seated it (cli.bots.crew.Order).
    The bot leaves when its standard input ends, so that it never outlives the process that started it.
    """
    restore_path()
    home = ctx.ensure_object(Settings).private_home()
    player_name = nickname(name)
    ruleset = chosen_ruleset(rules, changes)
    open_log(home)

    async def play(order: Order) -> None:
        async def enter(node: Node) -> None:
            node.party = order.party()
            if order.match:
                await node.resume(order.match)
            elif seats is None:
                await node.join(order.table)
            else:
                await node.host(TableSettings(order.table, ruleset, seats, rules_name=rules_name(rules, changes)))

        # If a killed host resumes at once, its former bots may still be leaving.
        grace = 2 * KILL_AFTER if order.match else 0.0
        if command:
            async with reported(player_name, command, True, move_ms, logs) as (program, reporter):
                await seat(home, player_name, interface, enter, program, reporter, grace)
            return
        bot = PlayerBot(player_name, house_player(level, Random(seed)))  # noqa: S311 - no secret comes from here
        await seat(home, player_name, interface, enter, bot, Reporter(as_json=True), grace)

    async def play_while_wanted() -> None:
        lines = PipedInput()
        line = await lines.read()
        if line is not None:
            await first_of(play(Order.read(line)), _until_end(lines))

    run(play_while_wanted())


async def _until_end(lines: PipedInput) -> None:
    while await lines.read() is not None:
        pass  # further input has no meaning
