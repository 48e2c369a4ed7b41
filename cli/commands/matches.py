"""``p2pdice matches``: the matches that this home remembers, unfinished and finished."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.boundary import complain
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.output import say
from cli.render import command_line, counted, escape, listing, sentence
from cli.seating import display_names
from cli.settings import Settings, home_words, is_interactive

if TYPE_CHECKING:
    from protocol.events import PlayerInfo
    from protocol.home import Home
    from protocol.store import Store, StoredMatch

EPILOG: Final = """\b
Examples:
  p2pdice matches
  p2pdice matches save last           its transcript, however far it has come
  p2pdice matches save 3f2a9c -o unfinished.p2pdice
  p2pdice matches forget 2026-11-22-friday

\b
MATCH is "last", a name as it is listed here (the day and the table), or any
unique beginning of a match's id. So it is wherever a command takes a match.
None of these commands works while another p2pdice uses the home.
"""

QUIT_FIRST: Final = "Quit the match that is played there first; p2pdice resume returns to it."

app = application()

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object.")]
MatchArgument = Annotated[str, typer.Argument(metavar="MATCH", show_default=False)]


@app.callback(invoke_without_command=True, epilog=EPILOG)
def matches(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List, save or forget the matches that are kept here.

    Without a further word, they are listed.
    """
    if ctx.invoked_subcommand is None:
        list_matches(ctx, as_json)
    elif as_json:
        instead = command_line("matches", "list", "--json")
        raise typer.BadParameter(f"it is only for the list, as in: {instead}", param_hint="--json")


@app.command("list")
def list_matches(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the matches that are kept here.

    First come the unfinished ones, then the finished ones; of each kind the newest first.
    """
    from protocol.home import Home

    home = Home(ctx.ensure_object(Settings).private_home())
    if not home.store.exists():
        kept: Sequence[StoredMatch] = ()
    else:
        with opened(home) as (_, kept):
            pass
    show(sorted(kept, key=lambda each: each.over), kept, home, as_json)
    if not (kept or as_json):
        print("No match is kept here.")


@app.command()
def save(
    ctx: typer.Context,
    match: MatchArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", dir_okay=False, show_default=False, help="Write to FILE, which is new."
        ),
    ] = None,
) -> None:
    """Write the transcript of a match, finished or not.

    That of an unfinished match holds all that was signed so far: verify calls it incomplete, and says where the match
    stopped and who is awaited. Without -o it goes where the transcripts of finished matches are.
    """
    from protocol import archive
    from protocol.genesis import parse_genesis
    from protocol.home import Home, write_whole
    from protocol.transcript_files import transcript_path

    home = Home(ctx.ensure_object(Settings).private_home())
    with opened(home) as (store, stored_matches):
        stored = archive.find(stored_matches, match)
        data = archive.transcript(store, stored)
    if out is not None and out.exists():
        raise Failure(f"{escape(str(out))} exists already.", hint="Give a file that does not exist yet.")
    name = archive.name_of(stored, stored_matches)
    path, words = out, [str(out)]
    if path is None:
        path = transcript_path(home, stored.match, stored.created, parse_genesis(stored.genesis).ruleset)
        words = [name, *home_words(home.path)]
    write_whole(path, data)
    print(f"The transcript of {name} is {escape(str(path))}")
    print(f"What it shows:\n    {command_line('verify', *words)}")


@app.command()
def forget(
    ctx: typer.Context,
    match: MatchArgument,
    is_sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget a match, finished or not. Whoever forgets an unfinished one can never return to it.

    The bots that you had seated in it are forgotten, too. Transcripts and proofs are files of their own, and stay.
    """
    from cli.crew import tidy
    from protocol import archive
    from protocol.home import Home
    from protocol.transcript_files import files_about

    home = Home(ctx.ensure_object(Settings).private_home())
    with opened(home) as (store, stored_matches):
        stored = archive.find(stored_matches, match)
        name = archive.name_of(stored, stored_matches)
        if not is_sure and not _wants_to_forget(stored, name):
            print(f"{name} is kept.")
            return
        store.forget(stored)
        tidy(home, archive.unfinished(store.matches()))
    print(f"{name} is forgotten.")
    if files := files_about(home, stored.match):
        stay, them = ("stays", "it") if len(files) == 1 else ("stay", "them")
        print(f"{counted(len(files), 'file').capitalize()} about it {stay}. Delete {them} if you want no trace of it:")
        for path in files:
            print(f"    {escape(str(path))}")


def _wants_to_forget(stored: StoredMatch, name: str) -> bool:
    """Ask the owner whether a match is to be forgotten.

    :param name: what it is called here.
    :raises Failure: if nobody can be asked.
    """
    if not is_interactive():
        hint = f"If you are sure: {command_line('matches', 'forget', name, '--yes')}"
        raise Failure(f"{name} was not forgotten: nobody can be asked here.", hint=hint, code=ExitCode.USAGE)
    say(line(name, stored))
    if not stored.over:
        say("It is unfinished. You can never return to it then; the others wait for you, or go on without you.")
        print(f"To keep what there is of it: {command_line('matches', 'save', name)}")
    try:
        answer = input("Forget it? [y/N] ")
    except EOFError:
        print()
        answer = ""
    return answer.strip().lower() in ("y", "yes")


@contextmanager
def opened(home: Home, if_busy: str = QUIT_FIRST) -> Iterator[tuple[Store, tuple[StoredMatch, ...]]]:
    """Hold the store of a home, and what is kept in it: formed matches first, of each kind the newest first.

    :param if_busy: what to type if another process uses the home.
    :raises Failure: if the home has none, or another process uses it.
    """
    from protocol import archive
    from protocol.errors import NodeError

    if not home.store.exists():
        raise Failure(f"No match is kept in {escape(str(home.path))}.")
    try:
        store = archive.open_store(home)
    except NodeError as error:
        raise Failure(sentence(escape(str(error))), hint=if_busy) from None
    if store.loss is not None:
        complain(sentence(archive.describe(store.loss)))
    try:
        yield store, store.matches()
    finally:
        store.close()


def show(stored: Sequence[StoredMatch], kept: Sequence[StoredMatch], home: Home, as_json: bool) -> None:
    """Print matches, a line each and what can be done with them, or one JSON object.

    :param kept: all matches of the home; what names a match names no other of these.
    """
    from protocol import archive
    from protocol.transcript_files import transcripts

    names = [archive.name_of(each, kept) for each in stored]
    if as_json:
        files = dict(transcripts(home))
        listed = [data(name, each, files.get(each.match)) for name, each in zip(names, stored, strict=True)]
        print(json.dumps({"matches": listed}))
        return
    width = max(map(len, names), default=0)
    for name, each in zip(names, stored, strict=True):
        say(line(name.ljust(width), each))
    for command, what, over in (
        ("resume", "Return to", False),
        ("replay", "See again", True),
        ("verify", "Judge", True),
    ):
        newest = next((name for name, each in zip(names, stored, strict=True) if each.over is over), None)
        if newest is not None:
            print(f"{what + ':':10} {command_line(command, newest, *home_words(home.path))}")


def line(name: str, stored: StoredMatch) -> str:
    """Return a match in a line that begins with what it is called here."""
    each = data(name, stored)
    start = f"{name}  {each['match'][:8]}  {each['state']:10}"
    if not each["players"]:
        return f"{start}  damaged: nobody can tell who plays"
    players = display_names(_players(stored))
    winners = [players[author] for author in stored.winners if author < len(players)]
    won = f"; {listing(winners)} won" if winners else ""
    return f"{start}  {each['rules']}: {listing(players)}{won}"


def _players(stored: StoredMatch) -> tuple[PlayerInfo, ...]:
    from protocol.events import PlayerInfo
    from protocol.genesis import parse_genesis
    from protocol.keys import fingerprint

    roster = parse_genesis(stored.genesis).roster
    return tuple(PlayerInfo(record.join.nickname, fingerprint(record.join.identity)) for record in roster)


def data(name: str, stored: StoredMatch, transcript: Path | None = None) -> dict[str, Any]:
    """Return a match as JSON-able data; ``begun`` is local time."""
    from protocol.genesis import MalformedGenesisError, parse_genesis
    from protocol.rulesets import ruleset_label

    try:
        genesis = parse_genesis(stored.genesis)
    except MalformedGenesisError:
        genesis = None
    players = [record.join.nickname for record in genesis.roster] if genesis is not None else []
    return {
        "name": name,
        "table": stored.table or None,
        "match": stored.match.hex(),
        "state": "finished" if stored.over else "unfinished" if stored.formed else "proposed",
        "begun": datetime.fromtimestamp(stored.created).isoformat(timespec="minutes"),
        "rules": ruleset_label(genesis.ruleset) if genesis is not None else None,
        "players": players,
        "winners": [players[author] for author in stored.winners if author < len(players)],
        "transcript": str(transcript) if transcript is not None else None,
    }
