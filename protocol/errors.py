"""What all errors of this package have in common, and the error that a node raises to its owner.

Every error here is of one of two families. They tell whose fault it is, so code that does not care about details
catches a family.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ProtocolError(Exception):
    """Base of all errors that this package defines."""


class LocalError(ProtocolError):
    """Our own family: the caller asked for something that cannot be done, or this machine is in trouble."""


class PeerError(ProtocolError):
    """The family of the others: a peer sent something malformed or forbidden, refused, or does not answer.

    A file is judged like its author: what cannot be read as a transcript or a genesis raises errors of this family.
    """


class ErrorCode(StrEnum):
    """What kind of thing went wrong. ``cli`` chooses exit codes by it, and prints it to programs."""

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
    """Why a node says no to another: the code of a REFUSE frame. A peer may send any other text."""

    VERSION = "version"
    RULES = "rules"
    FULL = "full"
    REFUSED = "refused"
    CLOSED = "closed"
    PLAYING = "playing"
    NO_MATCH = "no-match"
    NO_TABLE = "no-table"


Choices = tuple[tuple[str, str], ...]
"""Whole commands, and what each of them leads to."""

SEE_TABLES: Final[Choices] = (("p2pdice tables", "See what is there"),)
SEE_MATCHES: Final[Choices] = (("p2pdice matches", "See all of them"),)
LOOK_ON: Final[Choices] = (("p2pdice watch", "Watch it"),)


class NodeError(LocalError):
    """The node cannot do what its owner wants; a person must know why."""

    def __init__(self, code: ErrorCode, reason: str, hint: str = "", choices: Choices = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        """What to do about it, if there is something."""
        self.choices = choices
        """What can be typed instead. What it leads to may contain what a peer wrote."""
