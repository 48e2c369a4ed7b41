"""The two families of errors in this package, and the error that a node raises to its owner.

Every error here is of one of two families. They tell whose fault it is, so code that does not care about details
catches a family.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import ClassVar, Final


class ErrorCode(StrEnum):
    """The kind of failure. ``cli`` chooses exit codes by it, and prints it to programs."""

    UNREACHABLE = "unreachable"
    NOT_FOUND = "not-found"
    VERSION = "version"
    RULES = "rules"
    FULL = "full"
    REFUSED = "refused"
    HOME_IN_USE = "home-in-use"
    NO_MATCH = "no-match"
    PLEDGE = "pledge"
    FAILED = "failed"


class RefuseCode(StrEnum):
    """Why a node refuses another: the code of a REFUSE frame. A peer may send any other text."""

    VERSION = "version"
    RULES = "rules"
    FULL = "full"
    REFUSED = "refused"
    CLOSED = "closed"
    PLAYING = "playing"
    NO_MATCH = "no-match"
    NO_TABLE = "no-table"


Part = str | PurePath
Parts = tuple[Part, ...]
"""A text in which each path is a part of its own."""

Choices = tuple[tuple[str | Parts, str], ...]
"""Whole commands, each with a few words on its effect. They act on the default home: ``cli`` adds another one."""

SEE_TABLES: Final = (("p2pdice tables", "See the tables"),)
SEE_MATCHES: Final = (("p2pdice matches", "See all of them"),)
BEGIN: Final = (("p2pdice host", "Open a table"), ("p2pdice join", "Or sit down at one"))
LOOK_ON: Final = (("p2pdice watch", "Watch it"),)


class ProtocolError(Exception):
    """Base of all errors that this package defines, with all that its user has to be told.

    The text is given in parts. A path is a part of its own, so that it can be quoted for a shell. All others may quote
    a peer: they are escaped before they reach a terminal.
    """

    outcome: ClassVar[str] = ""
    """What cannot be done, where the text gives only the reason."""
    code: str = ErrorCode.FAILED
    """An :class:`ErrorCode`; of a refusal the code of its REFUSE frame, which may be any text of a peer."""
    hint: str = ""
    """The remedy, if there is one."""
    choices: Choices = ()
    """Commands to type instead. The words on a command may contain a peer's text."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.parts = parts

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


class LocalError(ProtocolError):
    """Our own family: the caller asked for something that cannot be done, or this machine is in trouble."""


class PeerError(ProtocolError):
    """The family of the others: a peer sent something malformed or forbidden, refused, or does not answer.

    A file counts like its author: an unreadable transcript or genesis raises errors of this family.
    """


class NodeError(LocalError):
    """The node cannot do what its owner wants; a person must know why."""

    code: ErrorCode

    def __init__(self, code: ErrorCode, reason: str | Parts, hint: str = "", choices: Choices = ()) -> None:
        super().__init__(*((reason,) if isinstance(reason, str) else reason))
        self.code = code
        self.reason = str(self)
        self.hint = hint
        self.choices = choices
