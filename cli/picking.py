"""Picking one of the tables or matches that were found on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.commands.tables import describe
from cli.exits import ExitCode, Failure
from cli.render import escape
from cli.settings import is_interactive

if TYPE_CHECKING:
    from protocol.discovery import Sighting


def pick_one(found: list[Sighting], question: str, command: str) -> Sighting:
    """Return the one that the player picks; the only one there is, where nobody can be asked.

    :param found: one at least.
    :param command: what names one of them where nobody can be asked.
    :raises Failure: if nobody can be asked which, or does not say.
    """
    if not is_interactive():
        if len(found) == 1:
            return found[0]
        names = ", ".join(escape(each.advertisement.name) for each in found)
        raise Failure(
            f"There are {len(found)} to choose from: {names}.", hint=f"Name one of them: {command}", code=ExitCode.USAGE
        )
    for number, each in enumerate(found, start=1):
        print(f"{number}  {describe(each)}")
    while True:
        picked = pick(_ask(question), found)
        if picked is not None:
            return picked
        print("Type the number in front of a table, or its name.")


def _ask(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        print()
        raise Failure("No table was chosen.") from None


def pick(answer: str, tables: list[Sighting]) -> Sighting | None:
    """Return the table with this number, name, or start of a name; the only one there is for an empty answer."""
    text = answer.strip()
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(tables):
        return tables[int(text) - 1]
    names = [each.advertisement.name.casefold() for each in tables]
    named = [each for each, name in zip(tables, names, strict=True) if name == text.casefold()]
    named = named or [each for each, name in zip(tables, names, strict=True) if name.startswith(text.casefold())]
    return named[0] if len(named) == 1 else None
