"""``p2pdice matches``: lists, saves and forgets the matches of a home, both unfinished and finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.bots.crew import tidy
from cli.exits import Failure
from cli.front import JsonOption, NewFileOption, YesOption, application, check_new, stands_alone
from cli.home import home_of
from cli.output import complain, confirm, say
from cli.render import command_line, counted, sentence, shown_path, stated
from cli.settings import home_words
from cli.text.match_list import ListedMatch, listed, listed_with_files, show
from protocol.errors import BEGIN, NodeError
from protocol.files import write_own, write_whole
from protocol.storage import archive
from protocol.storage.home import Home

if TYPE_CHECKING:
    from protocol.storage.store import Store, StoredMatch

EXAMPLES: Final = """\b
Examples:
  p2pdice matches
  p2pdice matches save last           its transcript so far
  p2pdice matches save last -o unfinished.p2pdice
  p2pdice matches forget 2026-11-22-friday
"""
HOW_TO_NAME: Final = """\b
MATCH is a name from the first column of the list (the day and the table),
"last" for the match you played last, or the first digits of a match's id,
which the top line of the screen shows. The same names work for other
commands: for resume, "last" is your newest unfinished match; for verify,
replay and report, the one that ended last.
"""
EPILOG: Final = f"""{EXAMPLES}
{HOW_TO_NAME}Nothing can be forgotten while another p2pdice uses the home.
"""

QUIT_FIRST: Final = "First quit the match that is using this home. You can return to it later with: p2pdice resume"

app = application()

MatchArgument = Annotated[str, typer.Argument(metavar="MATCH", help="Named as explained below.", show_default=False)]


@app.callback(invoke_without_command=True, epilog=EPILOG)
def matches(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List, save or forget the matches that are kept here.

    Without a subcommand, it lists them.
    """
    if stands_alone(ctx, as_json, "matches", "list", "--json"):
        list_matches(ctx, as_json)


@app.command("list")
def list_matches(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the matches that are kept here.

    Unfinished matches come first, then finished ones, then those with only a transcript, because you watched or forgot
    them. Within each group the newest comes first. A match that was proposed, but not seen to begin, counts as
    unfinished. You can return to it until another match is proposed.

    The list is not verified. p2pdice verify checks whether a transcript was signed by its players.
    """
    home = home_of(ctx)
    if not home.has_store:
        kept: Sequence[StoredMatch] = ()
    else:
        with read(home) as (_, kept):
            pass
    matches = listed_with_files(home, sorted(kept, key=lambda each: (each.over, -each.number)), kept)
    show(matches, home, as_json)
    if not (matches or as_json):
        print("No match is kept here.")


@app.command(epilog=f"{EXAMPLES}\n{HOW_TO_NAME}")
def save(
    ctx: typer.Context,
    match: MatchArgument,
    out: NewFileOption = None,
) -> None:
    """Write the transcript of a match, finished or not.

    The transcript of an unfinished match contains everything signed so far: verify calls it incomplete, and says where
    the match stopped and who is awaited. Without -o, the file is written beside the transcripts of finished matches.
    """
    home = home_of(ctx)
    with read(home) as (store, stored_matches):
        stored = archive.find(stored_matches, match, store.written_last)
        data = archive.transcript(store, stored)
        kept_at = archive.path_for(home, store, stored)
    if out is not None:
        check_new(out)
    name = archive.name_of(stored, stored_matches)
    path, words = (kept_at, (name, *home_words(home.path))) if out is None else (out, (out,))
    (write_own if out is None else write_whole)(path, data)
    print(f"The transcript of {name} is {shown_path(path)}")
    print(f"Verify it with:\n    {command_line('verify', *words)}")


@app.command(epilog=EPILOG)
def forget(
    ctx: typer.Context,
    match: MatchArgument,
    is_sure: YesOption = False,
) -> None:
    """Forget a match, finished or not. You can never return to an unfinished match that you have forgotten.

    The bots that you seated in it are forgotten, too. Transcripts and proofs are separate files, and stay.
    """
    home = home_of(ctx)
    with opened(home) as (store, stored_matches):
        stored = archive.find(stored_matches, match, store.written_last)
        name = archive.name_of(stored, stored_matches)
        if not is_sure:
            is_staked = store.purses.is_staked(stored.match)
            _tell_of(listed(home, [stored], stored_matches)[0], home, is_staked=is_staked)
        words = ("matches", "forget", match, "--yes", *home_words(home.path))
        confirm("Forget it?", is_sure, command_line(*words))
        store.forget(stored.match)
        tidy(home, archive.unfinished(store.matches()))
    print(f"{name} is forgotten.")
    if files := archive.files_about(home, stored.match):
        stay, them = ("stays", "it") if len(files) == 1 else ("stay", "them")
        print(f"{counted(len(files), 'file').capitalize()} about it {stay}. Delete {them} if you want no trace of it:")
        for path in files:
            print(f"    {shown_path(path)}")


def _tell_of(match: ListedMatch, home: Home, *, is_staked: bool) -> None:
    """Print what the owner loses by forgetting a match."""
    say(match.line())
    if match.can_go_on:
        say("This match is unfinished. If you forget it, you cannot return: the others wait, or go on without you.")
        words = command_line("matches", "save", match.name, *home_words(home.path))
        print(f"To keep its transcript so far: {words}")
    if is_staked:
        say(
            "Your purse is busy with it, and stays so after you forget the match, until another player shows you how it"
            " ended, or you give your stake up."
        )


@contextmanager
def opened(home: Home, if_busy: str = QUIT_FIRST) -> Iterator[tuple[Store, tuple[StoredMatch, ...]]]:
    """Open the store of a home for writing; yield the store and its matches.

    Matches that have formed come first, and in each group the newest come first.

    :param if_busy: the hint if another process uses the home.
    :raises Failure: if the home has no store, or another process uses it.
    """
    _check(home)
    try:
        store = archive.open_store(home)
    except NodeError as error:
        raise Failure(stated(error.parts), hint=if_busy) from None
    with closing(store):
        yield _shown(store)


@contextmanager
def read(home: Home) -> Iterator[tuple[Store, tuple[StoredMatch, ...]]]:
    """Open the store of a home for reading, even while another process uses it; yield the same as :func:`opened`.

    :raises Failure: if the home has no store.
    """
    _check(home)
    with archive.read_store(home) as store:
        yield _shown(store)


def _check(home: Home) -> None:
    if not home.has_store:
        raise Failure(f"No match is kept in {shown_path(home.path)}.", choices=BEGIN)


def _shown(store: Store) -> tuple[Store, tuple[StoredMatch, ...]]:
    if store.loss is not None:
        complain(sentence(archive.describe(store.loss)))
    return store, store.matches()
