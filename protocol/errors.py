"""The two families of errors in this package, and the error that a node raises to its owner.

Each error belongs to one family. The family shows whose fault the error is, so code that needs no details catches a
family.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import ClassVar, Final


class ErrorCode(StrEnum):
    """The kind of failure. ``cli`` chooses exit codes by it and prints it for programs."""

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
    """The reason for a refusal, as the code of a REFUSE frame. A peer may send any other text."""

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
"""A text in parts, in which each path is a separate part."""

Choices = tuple[tuple[str | Parts, str], ...]
"""Complete commands, each with a short description. They act on the default home: ``cli`` inserts another home."""

SEE_TABLES: Final = (("p2pdice tables", "See the tables"),)
SEE_MATCHES: Final = (("p2pdice matches", "See all of them"),)
BEGIN: Final = (("p2pdice host", "Open a table"), ("p2pdice join", "Or sit down at one"))
LOOK_ON: Final = (("p2pdice watch", "Watch it"),)


class ProtocolError(Exception):
    """Base of all errors that this package defines, with everything that the user needs to see.

    The text comes in parts. A path is a separate part, so that it can be quoted for a shell. Other parts may quote a
    peer, and are escaped before they reach a terminal.
    """

    outcome: ClassVar[str] = ""
    """What cannot be done, if the text gives only the reason."""
    code: str = ErrorCode.FAILED
    """An :class:`ErrorCode`. For a refusal, the code of its REFUSE frame, which may be any text from a peer."""
    hint: str = ""
    """The remedy, or an empty string."""
    choices: Choices = ()
    """Commands to use instead. Their descriptions may contain a peer's text."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)
        self.parts = parts

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


class LocalError(ProtocolError):
    """Family of local errors: the caller asked for something impossible, or this machine has a problem."""


class PeerError(ProtocolError):
    """Family of remote errors: a peer sent something malformed or forbidden, refused, or did not answer.

    A file counts as its author's: an unreadable transcript or genesis raises errors of this family.
    """


class NodeError(LocalError):
    """The node cannot do what its owner wants, for a reason that a person should see."""

    code: ErrorCode

    def __init__(self, code: ErrorCode, reason: str | Parts, hint: str = "", choices: Choices = ()) -> None:
        super().__init__(*((reason,) if isinstance(reason, str) else reason))
        self.code = code
        self.reason = str(self)
        self.hint = hint
        self.choices = choices
