"""The log file of a home. Warnings and tracebacks go there, and never to a player's terminal."""

from __future__ import annotations

import logging
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from cli.render import escape
from protocol.files import check_own, own_opener
from protocol.limits import LOG_BYTES
from protocol.storage.home import Home


class EscapingFormatter(logging.Formatter):
    """Escapes all control characters but its own line breaks: logs are read in terminals, and hold texts of peers.

    A record is one line, and the lines of a traceback are indented, so no text can look like a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # another formatter may have left an unescaped traceback there
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
    """Writes to a file that only its owner can read: a log names other players and their addresses."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=own_opener)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing of a disk that is full or read-only: the player has heard of it by other ways."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def log_path(home: Path) -> Path:
    """Return where the log file of ``home`` is."""
    return Home(home).log


def open_log(home: Path) -> Path:
    """Send the warnings of this process to the log file of ``home``, and return its path.

    :raises OSError: if the folder cannot be made, or the file is not the owner's own.
    """
    path = log_path(home)
    root = logging.getLogger()
    if not any(isinstance(handler, RotatingFileHandler) for handler in root.handlers):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_own(path)
        handler = PrivateFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
    return path
