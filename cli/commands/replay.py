"""``p2pdice replay`` and ``p2pdice report``, which show a past match at a table or on a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.arena.game_file import GameFileError, is_arena
from cli.arena.retold_game import RetoldGame, UnreadableGameError, game_from
from cli.commands.judging import named_transcript, read_transcript
from cli.commands.verify import CODES, FileVerdict, describe, headline
from cli.exits import ExitCode, Failure
from cli.front import NewFileOption, application, check_new
from cli.output import complain, is_interactive, say
from cli.render import command_line, escape, sentence, shown_path
from cli.settings import Settings
from cli.table.board import Board
from cli.table.pace import beats
from cli.table.play import run, show
from cli.table.replay_table import UNSIGNED, ReplayTable, Retelling, look_back
from cli.table.terminal import PaceOption, UiOption, showing
from cli.text.narrate import VERDICT, event_line
from cli.text.rounds import weigh
from cli.text.seating import UnknownPlayerError, find_seat
from p2pdice.events import RoundStarted
from protocol.consensus.verifier import Judgement, examine
from protocol.events import Happened
from protocol.files import read_outside, write_whole
from protocol.match.replay import Replay
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.wire.names import ruleset_hash

if TYPE_CHECKING:
    from collections.abc import Iterator


EPILOG: Final = """\b
Examples:
  p2pdice replay last                your last match
  p2pdice replay 2026-11-22-friday   as p2pdice matches lists it
  p2pdice replay match.p2pdice       any transcript
  p2pdice replay last --as Ada       what Ada saw, and no more
  p2pdice replay last --as 0         the same for seat 0
  p2pdice replay last | less         the whole match
  p2pdice replay last --json | jq .sentence
  p2pdice replay games.ndjson --game 17   a game of p2pdice arena

\b
Exit codes: 0 shown, and the match was fair, with or without claims that
cannot be proven; 10 shown, and somebody's misconduct is proven; 11 shown as
far as it goes, as the match is unfinished; 12 unreadable or altered, so
nothing was shown; 4 written by another protocol version; 1 no such file, or
one without a match in it.
"""

REPORT_EPILOG: Final = """\b
Examples:
  p2pdice report last
  p2pdice report 2026-11-22-friday -o friday.html
  p2pdice report match.p2pdice -o match.html
  p2pdice report games.ndjson --game 17 -o game.html

\b
The exit codes are those of p2pdice replay.
"""


app = application()
report_app = application()

FileOrMatch = Annotated[
    str, typer.Argument(metavar="FILE|MATCH", help="A file, or a match of yours, such as last.", show_default=False)
]
GameOption = Annotated[
    int | None,
    typer.Option(
        "--game",
        min=0,
        metavar="N",
        show_default=False,
        help="Show game N of the file of an arena. Nobody signed it, so nothing is verified.",
    ),
]
NOT_SIGNED: Final = "Nobody signed this game, so nothing was verified: a file like this proves nothing."


@app.command(epilog=EPILOG)
def replay(
    ctx: typer.Context,
    match: FileOrMatch,
    eyes: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME|SEAT",
            show_default=False,
            help="Show only what one player saw: the beginning of a name, or a seat number from 0.",
        ),
    ] = None,
    game: GameOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON for each event.")] = False,
    ui: UiOption = None,
    pace: PaceOption = None,
) -> None:
    """Look back at a match: step, play and jump through its transcript.

    The transcript is verified first, as p2pdice verify does. You see all dice from the roll on, and with each bid how
    likely it seemed to its bidder. In a pipe or a file, you get the whole match at once.

    With --game, FILE is that of an arena, which nobody signed. The faults of its bots are shown, too.
    """
    settings = ctx.ensure_object(Settings)
    path, _, replayed = opened(match, settings, as_json, game)
    seat = None if eyes is None else _seat(replayed, eyes)
    verdict = told_verdict(replayed, is_kept=path != Path(match))
    if as_json:
        for line in data_lines(replayed, seat, path):
            print(line)
    elif is_interactive():
        how = showing(settings, ui, pace, bell=False)
        run(show(ReplayTable(replayed, how, seat, "\n".join(verdict))))
    else:
        for line in story(replayed, seat, verdict):
            say(line)
    raise typer.Exit(_code(replayed))


@report_app.command(epilog=REPORT_EPILOG)
def report(
    ctx: typer.Context,
    match: FileOrMatch,
    out: NewFileOption = None,
    game: GameOption = None,
) -> None:
    """Make a page that shows a match and verifies it in the browser.

    One HTML file: the verdict, the players, each round with what was likely and what was true, pictures of the dice,
    and every signature. It carries the transcript, and fetches nothing. Mail it, or put it on a disk.
    """
    from cli.report.page import page  # imported late: replay does not need it, and it would double the imports

    path, data, replayed = opened(match, ctx.ensure_object(Settings), as_json=False, game=game)
    target = out if out is not None else Path(f"{path.stem}{'' if game is None else f'-{game}'}.html")
    check_new(target)
    judged = replayed.verdict
    verdict = f"UNSIGNED. {NOT_SIGNED}" if judged is None else f"{headline(judged)} {sentence(escape(judged.reason))}"
    write_whole(target, page(replayed, data, verdict).encode())
    say(f"The report is {shown_path(target)}; open it in a browser.")
    raise typer.Exit(_code(replayed))


def _code(replayed: Retelling) -> ExitCode:
    code = ExitCode.DONE if replayed.verdict is None else CODES[replayed.verdict.verdict]
    return ExitCode.DONE if code is ExitCode.UNPROVEN else code


def told_verdict(replayed: Retelling, *, is_kept: bool = False) -> list[str]:
    """Return the verdict on a file in two lines; for an unsigned game, lines that say that there is none.

    :param is_kept: see :attr:`cli.commands.verify.FileVerdict.is_kept`.
    """
    if isinstance(replayed, RetoldGame):
        title = f"{shown_path(replayed.path)}, game {replayed.number}"
        return [f"{title}: UNSIGNED.", f"  {NOT_SIGNED}", f"  The dice are those of the seed {escape(replayed.seed)}."]
    assert replayed.verdict is not None
    return describe(FileVerdict(replayed.path, replayed.verdict, is_kept=is_kept))[:2]


def opened(name: str, settings: Settings, as_json: bool, game: int | None = None) -> tuple[Path, bytes, Retelling]:
    """Verify a transcript, and return its path, its bytes, and the match in it; or open a game of an arena.

    :param name: a path, or a match in the home.
    :param as_json: whether to print the verdict as JSON if there is no match to show.
    :param game: the number of a game of an arena.
    :return: for a game of an arena, no bytes: there is no transcript to embed.
    :raises Failure: if the file cannot be read, or is a proof of misconduct without a match, or has no such game.
    :raises typer.Exit: if the file was altered or another protocol version wrote it, after the verdict is printed.
    """
    try:
        path = named_transcript(name, settings)
        if game is not None or is_arena(read_outside(path, 64)):
            return path, b"", _game(path, game)
        data = read_transcript(path)
    except OSError as error:
        raise Failure(
            f"{escape(name)}: {sentence(error.strerror or str(error))}",
            hint=f"The matches kept here: {command_line('matches')}",
        ) from None
    examined = examine(data)
    report = FileVerdict(path, examined.verdict)
    if examined.history is not None:
        home = settings.private_home_if_any()
        names = {} if home is None else archive.rules_names(Home(home))
        rules = names.get(ruleset_hash(examined.history.genesis.ruleset), "")
        return path, data, Replay(examined, path, rules)
    if examined.verdict.verdict in (Judgement.ALTERED, Judgement.OTHER_VERSION):
        if as_json:
            print(json.dumps(report.to_json()))
        complain("\n".join(describe(report)))
        raise typer.Exit(report.code)
    hint = f"What it proves: {command_line('verify', path)}"
    raise Failure(f"{shown_path(path)} is a proof of misconduct: it holds no match to look at.", hint=hint)


def _game(path: Path, game: int | None) -> RetoldGame:
    try:
        return game_from(path, game)
    except GameFileError as error:
        raise Failure(sentence(str(error)), code=ExitCode.ALTERED) from None
    except UnreadableGameError as error:
        which = "" if game is None else f", game {game}"
        raise Failure(f"{shown_path(path)}{which}: {sentence(escape(str(error)))}", code=ExitCode.ALTERED) from None


def _seat(replayed: Retelling, wanted: str) -> int:
    """Return the seat given by ``--as``.

    :raises typer.BadParameter: if it fits no player, or several.
    """
    try:
        return find_seat(replayed.players, wanted)
    except UnknownPlayerError as error:
        raise typer.BadParameter(str(error), param_hint="--as") from None


def story(replayed: Retelling, seat: int | None, verdict: list[str]) -> Iterator[str]:
    """Yield the verdict and the whole match in plain sentences, with an empty line before each round."""
    yield from verdict
    board = Board()
    for _, event in replayed.tell(seat):
        if isinstance(event, Happened) and isinstance(event.event, RoundStarted):
            yield ""
        for beat in beats(event, board):
            board.take(beat)
            yield from look_back(beat, board)
    if replayed.verdict is not None and CODES[replayed.verdict.verdict] is not ExitCode.DONE:
        yield from ("", "The transcript ends here.", *verdict)


def data_lines(replayed: Retelling, seat: int | None, path: Path) -> Iterator[str]:
    """Yield lines of JSON: the verdict, then all events of the match."""
    judged = replayed.verdict
    shown = {"file": str(path), "verdict": UNSIGNED} if judged is None else FileVerdict(path, judged).to_json()
    yield json.dumps({"type": VERDICT, **shown})
    board = Board()
    for step, event in replayed.tell(seat):
        board.take(event)
        beside: dict[str, Any] = {"step": step}
        if isinstance(event, Happened) and (weighed := weigh(event.event, event.state, board.hands, board.me)):
            beside["odds"] = weighed.to_json()
        yield event_line(event, board.seating, **beside)
