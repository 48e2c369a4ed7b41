"""The error that a node raises to its owner."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

Choices = tuple[tuple[str, str], ...]
"""Whole commands, and what each of them leads to."""

SEE_TABLES: Final[Choices] = (("p2pdice tables", "See what is there"),)
SEE_MATCHES: Final[Choices] = (("p2pdice matches", "See all of them"),)
LOOK_ON: Final[Choices] = (("p2pdice watch", "Look on"),)


class ErrorCode(StrEnum):
    """The kinds of :class:`NodeError`."""

    UNREACHABLE = "unreachable"
    NOT_FOUND = "not-found"
    VERSION = "version"
    RULES = "rules"
    FULL = "full"
    REFUSED = "refused"
    HOME_IN_USE = "home-in-use"
    NO_MATCH = "no-match"
    FAILED = "failed"


class RefuseCode(StrEnum):
    """The codes of REFUSE, as SPEC lists them. A peer may send others."""

    VERSION = "version"
    NO_TABLE = "no-table"
    PLAYING = "playing"
    FULL = "full"
    REFUSED = "refused"
    RULES = "rules"
    NO_MATCH = "no-match"
    CLOSED = "closed"


class NodeError(Exception):
    """Something a person must know about; ``code`` says what kind of thing, for exit codes."""

    def __init__(self, code: ErrorCode, reason: str, hint: str = "", choices: Choices = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        """What to do about it, if there is something."""
        self.choices = choices
        """What can be typed instead. What it leads to may contain what a peer wrote."""
