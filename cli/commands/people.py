"""``p2pdice people``: the people whom the owner of a home has met or trusts."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.exits import ExitCode, Failure
from cli.front import JsonOption, application, stands_alone
from cli.home import home_of
from cli.output import say
from cli.render import command_line, counted, escape, sentence, shown_path
from cli.settings import home_words
from protocol.crypto.keys import FINGERPRINT_CHARACTERS
from protocol.crypto.words import fingerprint_words, parse_typed_fingerprint
from protocol.limits import NICKNAME_CHARACTERS
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.people import Person
from protocol.wire.names import outline

EPILOG: Final = """\b
Examples:
  p2pdice people
  p2pdice people --json
  p2pdice people trust Ada
  p2pdice people trust K7QF-2M3A-...
  p2pdice people untrust Ada

\b
NAME is a name that the person has used. FINGERPRINT is in letters or in nine
words; its first eight letters are enough for a person in the list. To trust
somebody whom you have not met yet, give the whole fingerprint. If you give a
name, you trust the key that you met under it.
"""
SHOWN: Final = 8
"""How many people are listed if a name is ambiguous."""
BEGINNING: Final = 8
"""The fewest letters of a fingerprint, two groups, that identify a person. Otherwise a misspelled name could match a
fingerprint, or a key made so that its fingerprint begins with a short name."""

app = application()

WhoArgument = Annotated[
    list[str], typer.Argument(metavar="NAME|FINGERPRINT", help="The person whom you mean.", show_default=False)
]


@app.callback(invoke_without_command=True, epilog=EPILOG)
def people(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the people whom you have met, and mark those whom you trust.

    People are known by their keys, because anybody can take any name. For each person you see the names used, the
    fingerprint, how many matches you have played together, when you last met, and whether you trust the key. Bots whose
    names mark them as bots are left out. If you forget a match, you also forget the people whom you met only there.
    """
    if not stands_alone(ctx, as_json, "people", "--json"):
        return
    known = _known(home_of(ctx))
    if as_json:
        print(json.dumps({"people": [_json(person) for person in known]}))
        return
    home = home_of(ctx)
    if not known and not home.has_store and any(archive.transcripts(home)):
        say(f"{shown_path(home.store)} is missing, and with it the list of the people you have met.")
        words = ("identity", "restore", "FILE", *home_words(home.path))
        print(f"If you have a backup, it brings them back:\n    {command_line(*words)}")
        return
    if not known:
        print("You have met nobody yet; bots are not listed.")
        return
    say("\n".join(map(_line, known)))


def _line(person: Person) -> str:
    names = ", ".join(escape(name) for name in _names(person)) or "(no name yet)"
    met = "" if person.met is None else f", last on {datetime.fromtimestamp(person.met):%Y-%m-%d}"
    trusted = "  TRUSTED" if person.is_trusted else ""
    first = f"{person.fingerprint}  {names}  {counted(person.matches, 'match', 'matches')}{met}{trusted}"
    return f"{first}\n    {fingerprint_words(person.fingerprint)}"


def _names(person: Person) -> tuple[str, ...]:
    """Return a person's names, beginning with the one to display."""
    return tuple(dict.fromkeys(filter(None, (person.name, *(used.name for used in person.names)))))


def _json(person: Person) -> dict[str, Any]:
    def date(met: int | None) -> str | None:
        return None if met is None else datetime.fromtimestamp(met, UTC).isoformat(timespec="seconds")

    return {
        "fingerprint": person.fingerprint,
        "words": fingerprint_words(person.fingerprint),
        "name": person.name,
        "names": [{"name": used.name, "matches": used.matches, "met": date(used.met)} for used in person.names],
        "matches": person.matches,
        "met": date(person.met),
        "trusted": person.is_trusted,
    }


def _known(home: Home) -> tuple[Person, ...]:
    if not home.has_store:
        return ()
    with archive.read_store(home) as store:
        return store.people.everybody()


@app.command(epilog=EPILOG)
def trust(ctx: typer.Context, who: WhoArgument) -> None:
    """Trust a key: you know whose it is, because you have compared fingerprints.

    From then on, you are warned if somebody else at a table uses that name.
    """
    _set(ctx, " ".join(who), is_trusted=True)


@app.command(epilog=EPILOG)
def untrust(ctx: typer.Context, who: WhoArgument) -> None:
    """Stop trusting a key."""
    _set(ctx, " ".join(who), is_trusted=False)


def _set(ctx: typer.Context, who: str, *, is_trusted: bool) -> None:
    home = home_of(ctx)
    person, name = find(_known(home), who, home)  # before a store is created: a failure leaves nothing behind
    if not (is_trusted or person.is_trusted):
        raise Failure(f"You do not trust {_called(person, name)}.")
    with closing(archive.open_store(home)) as store:
        if is_trusted and person.fingerprint == archive.own_fingerprint(home, store.matches):
            raise Failure("That is your own key.", code=ExitCode.USAGE)
        if is_trusted:
            store.people.trust(person.fingerprint, name, int(time.time()))
        else:
            store.people.untrust(person.fingerprint)
    if not is_trusted:
        print(f"You no longer trust {_called(person, name)}.")
    else:
        key, whose = (f"{escape(name)}'s key", f"{escape(name)}'s") if name else ("this key", "Its owner's")
        words = fingerprint_words(person.fingerprint)
        print(f"You trust {key}. {whose} laptop must show the same words: {words}")
        print(f"There p2pdice identity shows them, and the fingerprint: {person.fingerprint}")
        undo = command_line("people", "untrust", person.fingerprint, *home_words(home.path))
        print(f"To take it back:\n    {undo}")


def _called(person: Person, name: str) -> str:
    return f"{escape(name)} ({person.fingerprint})" if name else person.fingerprint


def find(known: Sequence[Person], who: str, home: Home) -> tuple[Person, str]:
    """Return the person whom a text identifies, and the name to display: the one that matched, if a name matched.

    A text that is not a whole fingerprint matches both people who have used it as a name, and people whose fingerprint
    begins with it, because anybody can take a name that looks like a fingerprint.

    :param who: a name, the beginning of a fingerprint, or a whole fingerprint, even an unknown one.
    :param home: the home named in the hint.
    :raises Failure: if the text matches nobody, or several people.
    """
    if not who.strip():
        raise typer.BadParameter("it is empty", param_hint="NAME|FINGERPRINT")
    try:
        key = parse_typed_fingerprint(who)
    except ValueError as error:
        flaw = str(error)
    else:
        person = next((person for person in known if person.fingerprint == key), Person(key))
        return person, person.name
    form, beginning = outline(who), who.upper().replace("-", "").replace(" ", "")
    found: list[tuple[Person, str]] = []
    for person in known:
        named = next((name for name in _names(person) if form and outline(name) == form), None)
        is_begun = len(beginning) >= BEGINNING and person.fingerprint.replace("-", "").startswith(beginning)
        if named is not None or is_begun:
            found.append((person, named or person.name))
    if len(found) == 1:
        return found[0]
    if not found:
        problem = f"You have met nobody called {escape(who)}." if _may_be_a_name(who) else sentence(escape(flaw))
        hint = f"The people whom you have met: {command_line('people', *home_words(home.path))}"
        raise Failure(problem, hint=hint, code=ExitCode.USAGE)
    choices = "\n".join(_line(person) for person, _ in found[:SHOWN])
    hint = f"Give more of the fingerprint of the one you mean:\n{choices}"
    problem = f"{escape(who)} fits {counted(len(found), 'person', 'people')}."
    raise Failure(problem, hint=hint, code=ExitCode.USAGE)


def _may_be_a_name(who: str) -> bool:
    """Return whether a text is short enough for a nickname, and does not look like a fingerprint without dashes."""
    is_compact = len(who) == FINGERPRINT_CHARACTERS and who.isalnum() and not who.isalpha()
    return len(who) <= NICKNAME_CHARACTERS and not is_compact
