"""Picking one of the tables or matches that were found on the network."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from cli.exits import ExitCode, Failure
from cli.output import ask
from cli.render import escape
from cli.settings import is_interactive
from cli.text.tables_shown import Listed, describe


def pick_one(found: Sequence[Listed], question: str, command: str) -> Listed:
    """Return the one that the player picks. If nobody can be asked and there is only one, return it.

    :param found: at least one.
    :param command: how to name one of them on the command line.
    :raises Failure: if there are several and nobody can be asked, or the input ends.
    :raises typer.Exit: if the player picks none.
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
        answer = _ask(f"{question} {_what_to_type(found)} ")
        if not answer.strip() and len(found) > 1:
            print("None was chosen.")
            raise typer.Exit
        picked = pick(answer, found)
        if picked is not None:
            return picked
        print("Type the number in front of a table, or its name.")


def _what_to_type(found: Sequence[Listed]) -> str:
    return f"(number or name; Enter: {'none' if len(found) > 1 else '1'})"


def _ask(question: str) -> str:
    try:
        return ask(question)
    except EOFError:
        print()
        raise Failure("No table was chosen.") from None
    except KeyboardInterrupt:
        print()
        raise


def pick(answer: str, tables: Sequence[Listed]) -> Listed | None:
    """Return the table with this number, name, or start of a name; the only one there is for an empty answer.

    Capitals do not matter, unless several names differ only in them.
    """
    text = answer.strip()
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(tables):
        return tables[int(text) - 1]
    names = [each.advertisement.name for each in tables]
    folded = text.casefold()
    for fitting in (
        [name == text for name in names],
        [name.casefold() == folded for name in names],
        [name.casefold().startswith(folded) for name in names],
    ):
        if any(fitting):
            return tables[fitting.index(True)] if fitting.count(True) == 1 else None
    return None
