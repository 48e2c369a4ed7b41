"""The exit codes, and the one exception with which a command ends with one of them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.errors import ProtocolError
    from protocol.events import TableClosed


class ExitCode(IntEnum):
    """How a command ended. Scripts rely on these numbers."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    UNREACHABLE = 3
    """The network, the table or a peer cannot be reached."""
    MISMATCH = 4
    """Versions or rules differ."""
    FULL = 5
    """No seat is free."""
    REFUSED = 6
    TOO_FEW = 7
    """Of commands that nobody attends: too few players were there for too long."""
    MISCONDUCT = 10
    """``verify``: a player broke the rules, proven by their own signature."""
    INCOMPLETE = 11
    """``verify``: nothing is wrong so far, but the match is not over."""
    ALTERED = 12
    """``verify``: the file cannot be read or was altered; this blames nobody."""
    UNPROVEN = 13
    """``verify``: fair, but with claims that nothing can prove."""
    INTERRUPTED = 130


def code_of(error: ProtocolError) -> ExitCode:
    """Return the exit code of a command that ends with an error of the protocol."""
    return _refusal(error.code, ExitCode.FAILURE)


def closing_code(event: TableClosed) -> ExitCode:
    """Return the exit code of a command whose table was closed. A host who is gone counts as unreachable."""
    return _refusal(event.code, ExitCode.UNREACHABLE)


def _refusal(code: str, otherwise: ExitCode) -> ExitCode:
    from protocol.errors import ErrorCode  # only now: most commands end well

    found: dict[str, ExitCode] = {  # REFUSE has the same codes for the same reasons
        ErrorCode.UNREACHABLE: ExitCode.UNREACHABLE,
        ErrorCode.NOT_FOUND: ExitCode.UNREACHABLE,
        ErrorCode.VERSION: ExitCode.MISMATCH,
        ErrorCode.RULES: ExitCode.MISMATCH,
        ErrorCode.FULL: ExitCode.FULL,
        ErrorCode.REFUSED: ExitCode.REFUSED,
    }
    return found.get(code, otherwise)


class Failure(Exception):
    """An expected end of a command: what happened, why, and what to do next, each a sentence or empty.

    All of it can be printed as it is.

    :param choices: what can be typed next, whole commands, and what each of them leads to.
    """

    def __init__(
        self,
        what: str,
        why: str = "",
        hint: str = "",
        code: ExitCode = ExitCode.FAILURE,
        choices: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint
        self.code = code
        self.choices = tuple(choices)
