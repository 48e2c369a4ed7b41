"""Access to a player's home: its log file, and the passphrase of its key.

Warnings and tracebacks go to the log, never to the player's terminal.
"""

from __future__ import annotations

import logging
import os
import sys
from getpass import getpass
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

import typer

from cli.exits import ExitCode, Failure
from cli.output import complain
from cli.render import escape, harmless, shown_path
from cli.settings import LOCK_VARIABLE, UNLOCK_VARIABLE, Settings, given_passphrases
from protocol.crypto.keys import Identity, WrongPassphraseError, is_protected, read_private
from protocol.files import check_own, own_opener
from protocol.limits import LOG_BYTES
from protocol.storage.home import Home

_TRIES: Final = 3


class EscapingFormatter(logging.Formatter):
    """Escapes control characters, because logs contain text from peers and are read in terminals.

    A record is one line, followed by the indented lines of its traceback, so that no text can imitate a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # another formatter may have cached an unescaped traceback
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escape(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"    {escape(line)}" for line in text.split("\n"))


class PrivateFileHandler(RotatingFileHandler):
    """Writes to a file that only its owner can read, because logs name other players and their addresses."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=own_opener)

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore disk errors, such as a full disk: the player learns of them in other ways."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def home_of(ctx: typer.Context) -> Home:
    """Return the home that a command acts on, after closing it to other accounts of this machine.

    :raises NoHomeError: as :attr:`cli.settings.Settings.home` does.
    """
    return Home(ctx.ensure_object(Settings).private_home())


def open_log(home: Path) -> Path:
    """Send the warnings of this process to the log file of ``home``, and return its path.

    :raises OSError: if the folder cannot be made, or the file belongs to another account.
    """
    path = Home(home).log
    root = logging.getLogger()
    if not any(isinstance(handler, RotatingFileHandler) for handler in root.handlers):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_own(path)
        handler = PrivateFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
    return path


def unlocked(home: Path) -> Identity | None:
    """Unlock the identity of a home with its passphrase; return None if no passphrase protects it.

    The passphrase comes from the environment, or is asked for up to three times.

    :raises Failure: if the passphrase is wrong, nothing is typed, or there is no terminal to ask at.
    :raises KeyFileError: if the key cannot be used.
    """
    given, path = given_passphrases.get(UNLOCK_VARIABLE), Home(home).identity
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
            return Identity.load(path, ask_passphrase(f"Passphrase of {shown_path(path)}: "))
        except WrongPassphraseError:
            if rest:
                complain("That is not the passphrase. Try again.")
    raise wrong


def ask_passphrase(prompt: str) -> str:
    """Ask for a passphrase without echoing it.

    :raises Failure: if there is no terminal, or nothing is typed.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure(
            "Your key is protected by a passphrase, and there is no terminal to ask for it.",
            hint=f"A script gives it in the environment variable {UNLOCK_VARIABLE}.",
            code=ExitCode.USAGE,
        )
    try:
        typed = getpass(harmless(prompt))  # getpass writes to the terminal directly
    except EOFError:
        typed = ""
    if not typed:
        raise Failure("Nothing was typed.", code=ExitCode.USAGE)
    return typed


def new_passphrase() -> str:
    """Return a new passphrase from the environment, or ask for it twice.

    :raises Failure: if there is no terminal, nothing is typed, or the two passphrases differ.
    """
    if given := given_passphrases.get(LOCK_VARIABLE, ""):
        return given
    if sys.stdin is None or not sys.stdin.isatty():
        hint = f"In a script, put the new passphrase in {LOCK_VARIABLE} and the current one in {UNLOCK_VARIABLE}."
        raise Failure("There is no terminal to ask for a passphrase.", hint=hint, code=ExitCode.USAGE)
    first = ask_passphrase("New passphrase: ")
    if ask_passphrase("Once more: ") != first:
        raise Failure("The two passphrases differ. Nothing was changed.", code=ExitCode.USAGE)
    return first
