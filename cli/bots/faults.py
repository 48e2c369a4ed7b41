"""Faults of bots, described for their authors: the mistake, the move that was played instead, the place in the code.

Reasons and traces can contain any text, because they come from the bot's program or class. Their length is limited
here, and they are escaped when they are printed.
"""

from __future__ import annotations

import importlib
import os
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import cli
from cli.render import counted, escape, harmless
from p2pdice.errors import RulesError
from p2pdice.players import contest

FaultKind = Literal["late", "malformed", "illegal", "crashed"]

REASON_CHARACTERS: Final = 300
"""Maximum length of a reason. Only a reason that quotes a bot's text can be longer."""
TRACE_CHARACTERS: Final = 4_000
"""Maximum length of a trace. The end is kept, which names the error and the nearest lines."""
_IN_TALK: Final[dict[FaultKind, str]] = {
    "late": "did not answer in time",
    "malformed": "said something that is not a move",
    "illegal": "made an illegal move",
    "crashed": "crashed",
}
_DETAILS: Final = re.compile(r"\([^()]*\)|\d+|: bid .*")
"""The parts of a reason that differ between faults with the same cause: numbers, lists in brackets, and what to bid."""
_LOCATION: Final = re.compile(r'File "[^"\n]*", line \d+')
_SHOWN_LINES: Final = 25
"""Maximum lines of a trace that are printed."""
_SHOWN_COLUMNS: Final = 200
_CALLERS: Final = (
    f"{Path(str(cli.__file__)).parent}{os.sep}",
    contest.__file__,
    str(importlib.__file__),
    "<frozen importlib",
)
"""Path prefixes of the code that imports or calls a bot's class, to be left out of tracebacks."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake of a bot."""

    kind: FaultKind
    reason: str
    """The mistake, as a predicate without a subject. It may contain text from the bot: escape it."""
    turn: int
    """The id of the turn; 0 before the first one."""
    played: str
    """The move that was played instead; empty if no move was due."""
    trace: str = ""
    """The end of a crashed program's standard error, or the traceback of a class. It may contain any text."""
    log: str = ""
    """The place of the fault in the bot's log, as ``FILE:LINE``; empty without a log."""


def likeness(kind: str, reason: str, trace: str) -> tuple[str, str, str]:
    """Return a key that is equal for faults with probably the same cause: it omits the details of their reasons."""
    where = _LOCATION.findall(trace)
    return kind, _DETAILS.sub("#", reason), where[-1] if where else ""


def predicate(reason: str, played: str, *notes: str) -> str:
    """Return a fault as a predicate about its bot: the reason, the move that was played instead, and notes in brackets.

    :param notes: omitted if empty.
    :returns: unescaped text.

    >>> predicate("did not answer", "liar", "two faults so far", "odds15.1.log:7")
    'did not answer, and liar was played instead (two faults so far; odds15.1.log:7)'
    """
    instead = f", and {played} was played instead" if played else ""
    beside = "; ".join(filter(None, notes))
    return f"{reason}{instead}{f' ({beside})' if beside else ''}"


def fault_sentence(name: str, fault: Fault, so_far: int) -> str:
    """Return a sentence on a fault for spectators. ``name`` must be safe to print."""
    notes = f"{counted(so_far, 'fault')} so far", fault.log
    return f"{name} {escape(predicate(fault.reason, fault.played, *notes))}."


def fault_in_talk(fault: Fault, so_far: int) -> str:
    """Return the chat message that tells the table about a fault. It contains no text from the program."""
    so = f", so I play {fault.played}" if fault.played else ""
    return f"My program {_IN_TALK[fault.kind]}{so} ({counted(so_far, 'fault')} so far)."


def trace_lines(trace: str) -> Iterator[str]:
    """Yield the last lines of a trace, indented and safe to print."""
    lines = trace.splitlines()
    if len(lines) > _SHOWN_LINES:
        yield "      ..."
    for line in lines[-_SHOWN_LINES:]:
        shown = line.expandtabs(4)
        yield f"      {harmless(shown[:_SHOWN_COLUMNS])}{' ...' if len(shown) > _SHOWN_COLUMNS else ''}".rstrip()


def error_text(error: BaseException, *, named: bool = True) -> str:
    """Return the message of an error in the code of a bot, even if ``str(error)`` fails.

    :param named: whether to begin with the error's type.
    """
    try:
        text = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001 - the bot's code may raise anything
        text = "(it has no readable message)"
    name = type(error).__name__
    return bounded((f"{name}: {text}" if text else name) if named else text)


def bounded(reason: str) -> str:
    """Return a reason cut to its maximum length."""
    return reason if len(reason) <= REASON_CHARACTERS else f"{reason[:REASON_CHARACTERS]}…"


def trace_before(error: BaseException) -> str:
    """Return the traceback of an error without :func:`error_text` at its end, which is printed separately.

    :returns: an empty text if nothing else is left.
    """
    return trace_of(error).rstrip().removesuffix(error_text(error))


def trace_of(error: BaseException) -> str:
    """Return the traceback of an error in the code of a bot, without the frames that called that code.

    :returns: an empty text if p2pdice itself refused the bot's move: the message is enough.
    """
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_CALLERS):
        frames = frames.tb_next
    if frames is None and isinstance(error, RulesError):
        return ""
    try:
        text = "".join(traceback.TracebackException(type(error), error, frames, limit=-20).format())
    except BaseException as second:  # noqa: BLE001 - the error's message may raise, too
        text = f"{type(error).__name__}, and no traceback: {type(second).__name__}"
    return text[-TRACE_CHARACTERS:]
