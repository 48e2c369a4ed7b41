"""``p2pdice arena``: a tournament between bots, in memory."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from math import comb, isnan
from pathlib import Path
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.arena.fixtures import gauntlet, name_key, named, round_robin, unique_names
from cli.arena.game import Plan
from cli.arena.game_file import MOST_GAMES, GameFileError
from cli.arena.pool import cluster as connected
from cli.arena.pool import local
from cli.arena.rating_list import MOST_BOTS, RatingList
from cli.arena.ratings import HEADS
from cli.arena.standings import CONFIDENCE, Decision, Summary, markdown, summary_json, summary_text
from cli.arena.tournament import Journal, kept, run
from cli.bots.bot_seat import introduced
from cli.bots.faults import trace_before, trace_lines
from cli.bots.player_class import EntrantError
from cli.bots.programs import ProgramError, split_command
from cli.commands.bot_options import LogsOption, MoveOption, log_folder
from cli.commands.judging import MOST_CORES, cores, progress_line
from cli.exits import ExitCode, Failure
from cli.front import JsonOption, PlayGroup, application
from cli.home import open_log
from cli.output import complain, say
from cli.render import counted, escape, sentence, shown_path
from cli.rulesets import SetOption, chosen_ruleset
from cli.settings import Settings
from p2pdice.plurals import plural
from protocol.storage.home import Home

if TYPE_CHECKING:
    from cli.arena.tournament import ArenaProgress

EPILOG: Final = """\b
Examples:
  p2pdice arena press odds --games 2000
  p2pdice arena odds 'python3 odds15.py' --rules classic --rules perudo
  p2pdice arena mind odds press --gauntlet --players 4 --until-decided
  p2pdice arena ./new.py ./old.py --until-decided --margin 2 --games 50000
  p2pdice arena odds my_bots:Careful --games 5000 --jobs 4 --out games.ndjson
  p2pdice arena list games.ndjson
  p2pdice arena odds my_bots:Careful --games 20 --log logs

\b
A BOT is one of:
  a house bot      random, cautious, press, odds, mind
  a command        in quotes; it speaks the protocol of docs/bots.md
  module:Class     a p2pdice.players.Player, made with a random.Random

\b
Each deal is played once for every rotation of the seats, with the same dice.
Ctrl-C stops an arena. The same command with --resume continues it, even
after a crash. Without --resume, a new arena begins, and the old one is kept.
"""
ERROR: Final = 0.01
"""The default of ``--error``: the accepted probability that any result is wrong."""
_SLICES: Final = 10
"""Number of progress lines that are printed without a terminal."""

LIST_EPILOG: Final = """\b
Examples:
  p2pdice arena list
  p2pdice arena list monday.ndjson tuesday.ndjson --rules classic
  p2pdice arena list arenas/*.ndjson --players 2 --json
"""


app = application(cls=PlayGroup, epilog=EPILOG)


@app.callback()
def arena() -> None:
    """Let bots play each other in memory, and find out which is better."""


@app.command(epilog=EPILOG)
def play(
    ctx: typer.Context,
    bots: Annotated[list[str], typer.Argument(metavar="BOT...", help="Two or more.", show_default=False)],
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rules",
            metavar="R",
            help="A ruleset, or a TOML file of one (default: classic); can be repeated.",
            show_default=False,
        ),
    ] = None,
    changes: SetOption = None,
    players: Annotated[
        list[int] | None,
        typer.Option(
            "--players",
            min=2,
            max=10,
            metavar="N",
            help="Seats at a table (default: 2); can be repeated.",
            show_default=False,
        ),
    ] = None,
    games: Annotated[
        int,
        typer.Option(
            "--games", min=1, max=MOST_GAMES, metavar="N", help="Games at each table, rounded up to whole deals."
        ),
    ] = 400,
    seed: Annotated[
        str, typer.Option("--seed", metavar="S", help="The same seed gives the same dice and house bots.")
    ] = "1",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            max=MOST_CORES,
            metavar="J",
            help="Number of processes (default: one per core).",
            show_default=False,
        ),
    ] = None,
    gauntlet: Annotated[
        bool, typer.Option("--gauntlet", help="Seat the first BOT alone at tables with copies of each other BOT.")
    ] = False,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Stop as soon as every bot is known to win more or less than its fair share. With --margin, it is"
            " enough that it is not worse.",
        ),
    ] = False,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            min=1e-9,
            max=0.5,
            metavar="P",
            show_default=False,
            help=f"With --until-decided: accept this chance that any result is wrong (default: {ERROR}).",
        ),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            "--margin",
            min=0.0,
            max=50.0,
            metavar="X",
            show_default=False,
            help="A bot counts as not worse if it wins at most X % of the games less than its fair share.",
        ),
    ] = 0.0,
    move_ms: MoveOption = 2_000,
    logs: LogsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the games to FILE, one line of JSON for each (default: a file in the home).",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the games in FILE, or the last arena with these arguments.")
    ] = False,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Play on the workers of this Dask scheduler; local starts one here.",
            show_default=False,
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the standings as one JSON object.")] = False,
) -> None:
    """Play an arena; the word play may be left out: arena BOT BOT.

    Nothing is sent or signed. Every bot meets every other bot, in all seats, with the same dice.
    """
    if not 2 <= len(bots) <= MOST_BOTS:
        raise typer.BadParameter(f"an arena takes 2 to {MOST_BOTS} bots.", param_hint="BOT")
    if out is not None and out.exists() and not resume:
        raise typer.BadParameter(
            f"{shown_path(out)} already exists. Add --resume to continue it, or name another file.",
            param_hint="--out",
        )
    if out is not None and not out.parent.is_dir():
        raise typer.BadParameter(f"{shown_path(out.parent)} is not a folder.", param_hint="--out")
    if out is not None and out.exists() and not out.is_file():  # opening a pipe could block
        raise typer.BadParameter(f"{shown_path(out)} is not a regular file.", param_hint="--out")
    if error is not None and isnan(error):
        raise typer.BadParameter("it must be a probability, such as 0.01.", param_hint="--error")
    if error is not None and not until_decided:
        raise typer.BadParameter("it needs --until-decided.", param_hint="--error")
    if isnan(margin):
        raise typer.BadParameter("it must be a percentage, such as 2.", param_hint="--margin")
    if jobs is not None and cluster:
        raise typer.BadParameter("each worker of a cluster has its own processes.", param_hint="--jobs")
    if any(unicodedata.category(character) == "Cs" for character in seed):
        raise typer.BadParameter("it is not text.", param_hint="--seed")
    if logs is not None and cluster:
        raise typer.BadParameter("the bots of a cluster play on other machines.", param_hint="--log")
    plan = _plan(bots, rules or ["classic"], changes, players or [2], games, seed, move_ms, gauntlet)
    plan = plan._replace(logs=log_folder(logs))
    settings = ctx.ensure_object(Settings)
    home = settings.private_home() if out is None else settings.private_home_if_any()
    if home is not None:
        open_log(home)  # the standard error of programs goes to the log, where it cannot garble the status line
    _try_out(plan)
    path = out or kept(_made(Home(home or settings.home).arenas), plan, is_resumed=resume)
    margin /= 100
    decision = Decision(plan.tables, ERROR if error is None else error, margin) if until_decided else None
    jobs = jobs or cores()
    with ExitStack() as stack:
        stack.enter_context(_ended_like_ctrl_c())
        try:
            journal = stack.enter_context(Journal(path, plan, is_resumed=resume))
        except GameFileError as wrong:
            raise Failure(sentence(str(wrong))) from None
        executors, workers = stack.enter_context(connected(cluster)) if cluster else (local(jobs, home), jobs)
        told = stack.enter_context(_progress())
        try:
            played = run(plan, journal, executors, workers, decision=decision, told=told)
        except (EntrantError, ProgramError) as wrong:
            raise Failure(sentence(escape(str(wrong)))) from None
        except KeyboardInterrupt:
            complain(f"The games so far are in {shown_path(path)}. The same command with --resume plays the rest.")
            raise
    summary = Summary(plan, played, decision, margin)
    if as_json:
        decided = decision.is_made if decision else None
        beside = {"decided": decided, "seed": seed, "file": str(path), "faults": journal.faults.to_json(plan)}
        print(json.dumps(summary_json(summary) | beside))
        return
    print(summary_text(summary))
    print()
    if faults := journal.faults.text(plan, path):
        say(faults)
        print()
    if decision:
        say(_told(decision, len(played)))
    say(f"The games are in {shown_path(path)}.")


@app.command("list", epilog=LIST_EPILOG)
def list_ratings(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="Files of arenas (default: those in the home).", show_default=False),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="R", help="Count only games with these rules; can be repeated."),
    ] = None,
    players: Annotated[
        list[int] | None,
        typer.Option("--players", min=2, max=10, metavar="N", help="Count only games of N players; can be repeated."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Rate the bots of many arenas together.

    A bot is the same in all files if it was typed in the same way: a house bot with the same version of p2pdice, a
    command or class in the same folder and with the same code. Games with equal seeds have the same dice, so they count
    as one observation, even in different files.
    """
    listed = RatingList(rules or (), players or ())
    paths = files or sorted(Home(ctx.ensure_object(Settings).home).arenas.glob("*.ndjson"))
    for path in paths:
        try:
            listed.read(path)
        except GameFileError as error:
            raise Failure(sentence(str(error))) from None
        except OSError as error:
            raise Failure(f"{shown_path(path)} cannot be read: {escape(error.strerror or str(error))}.") from None
    ratings = listed.ratings()
    texts = [each.bot.text for each in ratings]
    names = unique_names(texts)
    if as_json:
        data = [
            {"bot": name, "typed": each.bot.text, "origin": each.bot.origin, **each.rating.to_json()}
            for name, each in zip(names, ratings, strict=True)
        ]
        counts = {"games": listed.games, "incomplete": listed.incomplete, "confidence": CONFIDENCE}
        print(json.dumps({"bots": data, **counts}))
        return
    if not ratings:
        say("There are no complete deals of such games. Name the files that --out wrote, or play an arena first.")
        return
    rows = [[name, *each.rating.cells()] for name, each in zip(names, ratings, strict=True)]
    print("\n".join(markdown(("bot", *HEADS), rows, left=1)))
    print()
    for line in name_key(texts, names, [each.bot.origin for each in ratings]):
        say(line)
    left = f" {counted(listed.incomplete, 'game')} of incomplete deals do not count." if listed.incomplete else ""
    say(f"{counted(listed.games, 'game')} in {counted(len(paths), 'file')}.{left}")


def _plan(
    texts: list[str],
    rules: list[str],
    changes: list[str] | None,
    players: list[int],
    games: int,
    seed: str,
    move_ms: int,
    is_gauntlet: bool,
) -> Plan:
    names, sizes = tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(players))
    of = 0
    for size in sizes:
        pairings = len(texts) - 1 if is_gauntlet else comb(len(texts), min(size, len(texts)))
        of += len(names) * pairings * size * -(-games // size)
    if of > MOST_GAMES:
        raise typer.BadParameter(f"{of:,} games at all tables are too many: the limit is {MOST_GAMES:,}.")
    tables = (gauntlet if is_gauntlet else round_robin)(len(texts), names, sizes)
    rulesets = {name: chosen_ruleset(name, changes) for name in names}
    return Plan(named(texts), tables, tuple(rulesets[table.rules] for table in tables), games, seed, move_ms)


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """Make SIGTERM and SIGHUP act like Ctrl-C inside the block, so that nothing is left behind."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # ignore further signals during cleanup
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _try_out(plan: Plan) -> None:
    """Create every player once and start every program once, so that a faulty one is reported before any game."""
    for entrant in {each.text: each for each in plan.entrants}.values():
        try:
            if entrant.kind == "program":
                asyncio.run(introduced(split_command(entrant.text), plan.rulesets[0]))
            else:
                with redirect_stdout(sys.stderr):  # keep a module's output out of the standings
                    entrant.seat(Random(0))  # noqa: S311
        except (EntrantError, ProgramError) as error:
            if error.__cause__ is not None and (trace := trace_before(error.__cause__)):
                complain("\n".join(trace_lines(trace)))
            raise Failure(sentence(escape(str(error))), code=ExitCode.USAGE) from None


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _told(decision: Decision, games: int) -> str:
    if not decision.is_made:
        return f"{counted(games, 'game')} did not decide everything. More --games may, with --resume."
    return (
        f"Decided after {counted(games, 'game')}. The chance that any of these results is wrong is at most "
        f"{decision.error:.2%}."
    )


@contextmanager
def _progress() -> Iterator[Callable[[ArenaProgress], None]]:
    """Show the games played and the time left: in a status line, or without one in up to :data:`_SLICES` lines."""
    begun = time.monotonic()
    slices = 0
    with progress_line(sys.stderr) as progress:

        def told(now: ArenaProgress) -> None:
            nonlocal slices
            rate = (now.games - now.resumed) / max(time.monotonic() - begun, 1e-3)
            left = round((now.of - now.games) / rate)
            text = f"{now.games:,} of {now.of:,} {plural(now.of, 'game')}, {rate:.0f} a second, {left} s left"
            progress.now(text)
            if now.games * _SLICES // now.of > slices:
                slices = now.games * _SLICES // now.of
                if not progress.has_status:
                    progress.line(text)

        yield told
