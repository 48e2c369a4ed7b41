"""Passphrases of identity keys: asked for at a terminal, or taken from the environment for scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.exits import ExitCode, Failure
from cli.output import complain
from cli.render import harmless, shown_path

if TYPE_CHECKING:
    from protocol.crypto.keys import Identity

VARIABLE: Final = "P2PDICE_PASSPHRASE"
NEW_VARIABLE: Final = "P2PDICE_NEW_PASSPHRASE"
_TRIES: Final = 3
_given: dict[str, str] = {}
"""What the environment gave this process, by variable."""


def take_from_environment() -> None:
    """Take passphrases out of the environment: bots are processes of other people's programs, and inherit it."""
    _given.clear()
    for variable in (VARIABLE, NEW_VARIABLE):
        if variable in os.environ:
            _given[variable] = os.environ.pop(variable)


def unlocked(home: Path) -> Identity | None:
    """Return the identity of a home if a passphrase protects it; None if there is nothing to unlock.

    :raises Failure: if the passphrase is wrong, or nobody can be asked.
    :raises KeyFileError: if the key cannot be used.
    """
    from protocol.crypto.keys import Identity, WrongPassphraseError, is_protected, read_private
    from protocol.storage.home import Home

    given, path = _given.get(VARIABLE), Home(home).identity
    if not os.path.lexists(path) or not is_protected(read_private(path)):
        return None
    wrong = Failure(f"That is not the passphrase of {shown_path(path)}, or the file is damaged.")
    if given is not None:
        try:
            return Identity.load(path, given)
        except WrongPassphraseError:
            raise wrong from None
    for rest in range(_TRIES - 1, -1, -1):
        try:
            return Identity.load(path, ask(f"Passphrase of {shown_path(path)}: "))
        except WrongPassphraseError:
            if rest:
                complain("That is not the passphrase. Try again.")
    raise wrong


def ask(prompt: str, variable: str = VARIABLE) -> str:
    """Ask for a passphrase, which is not shown.

    :param variable: where a script gives it.
    :raises Failure: if there is no terminal, or nothing is typed.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure(
            "Your key is protected by a passphrase, and there is no terminal to ask for it.",
            hint=f"A script gives it in the environment variable {variable}.",
            code=ExitCode.USAGE,
        )
    from getpass import getpass

    try:
        typed = getpass(harmless(prompt))  # it writes to the terminal by itself
    except EOFError:
        typed = ""
    if not typed:
        hint = (
            "To have no passphrase any more: p2pdice identity passphrase --remove" if variable == NEW_VARIABLE else ""
        )
        raise Failure("Nothing was typed.", hint=hint, code=ExitCode.USAGE)
    return typed


def new_passphrase() -> str:
    """Return a new passphrase: typed twice, or from the environment.

    :raises Failure: if there is none.
    """
    if given := _given.get(NEW_VARIABLE, ""):
        return given
    if sys.stdin is None or not sys.stdin.isatty():
        hint = f"A script gives the new one in the environment variable {NEW_VARIABLE}, the present one in {VARIABLE}."
        raise Failure("There is no terminal to ask for a passphrase.", hint=hint, code=ExitCode.USAGE)
    first = ask("New passphrase: ")
    if ask("Once more: ") != first:
        raise Failure("The two are different. Nothing was changed.", code=ExitCode.USAGE)
    return first
