"""The exit codes, and :class:`Failure`, the exception that ends a command with one of them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.errors import ProtocolError
    from protocol.events import TableClosed


class ExitCode(IntEnum):
    """The exit code of a command. Scripts rely on these numbers."""

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
    """An unattended command waited too long for enough players."""
    MISCONDUCT = 10
    """``verify``: a player's own signature proves that they broke the rules."""
    INCOMPLETE = 11
    """``verify``: nothing is wrong so far, but the match is not over."""
    ALTERED = 12
    """``verify``: the file is unreadable or was altered; no player is blamed."""
    UNPROVEN = 13
    """``verify``: the match was fair, but the file contains claims that cannot be proven."""
    INTERRUPTED = 130


def code_of(error: ProtocolError) -> ExitCode:
    """Return the exit code of a command that ended with a protocol error."""
    return _refusal(error.code, ExitCode.FAILURE)


def closing_code(event: TableClosed) -> ExitCode:
    """Return the exit code of a command whose table was closed: ``UNREACHABLE`` if the cause is unknown."""
    return _refusal(event.code, ExitCode.UNREACHABLE)


def _refusal(code: str, otherwise: ExitCode) -> ExitCode:
    from protocol.errors import ErrorCode  # imported late: most commands succeed

    found: dict[str, ExitCode] = {  # REFUSE frames use the same codes
        ErrorCode.UNREACHABLE: ExitCode.UNREACHABLE,
        ErrorCode.NOT_FOUND: ExitCode.UNREACHABLE,
        ErrorCode.VERSION: ExitCode.MISMATCH,
        ErrorCode.RULES: ExitCode.MISMATCH,
        ErrorCode.FULL: ExitCode.FULL,
        ErrorCode.REFUSED: ExitCode.REFUSED,
    }
    return found.get(code, otherwise)


class Failure(Exception):
    """An expected failure of a command: what happened, why, and a hint for what to do next, each a sentence or empty.

    All texts are already escaped for the terminal.

    :param choices: complete commands to type next, each with its meaning.
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
