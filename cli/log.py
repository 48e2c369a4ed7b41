"""The log file of a home: where warnings and tracebacks go, so that none of them reaches a player's terminal."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from cli.render import escape
from protocol.home import Home
from protocol.limits import LOG_BYTES


class EscapingFormatter(logging.Formatter):
    """Writes no control character but the line break: a log is read in a terminal, and peers have their say in it."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(escape(line) for line in super().format(record).split("\n"))


def log_path(home: Path) -> Path:
    """Return where the log file of ``home`` is."""
    return Home(home).log


def open_log(home: Path) -> Path:
    """Send the warnings of this process to the log file of ``home``, and return its path.

    :raises OSError: if the folder cannot be made.
    """
    path = log_path(home)
    root = logging.getLogger()
    if not any(isinstance(handler, RotatingFileHandler) for handler in root.handlers):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
    return path
