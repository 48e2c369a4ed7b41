"""One finding of the doctor: a line for a person, and data for a program."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.render import shown

if TYPE_CHECKING:
    from protocol.errors import Parts


PEER: Final = "peer"
"""The check of a table that somebody named. Its result says nothing about playing at others."""


class State(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Play is possible, but something may go wrong or is missing."""
    PROBLEM = "problem"
    """Nobody can play from here until this is fixed."""


class Finding(NamedTuple):
    """A check, its result, and the remedy.

    The texts may hold anything, even what others wrote: they are escaped when they are printed.
    """

    check: str
    """One or two words; scripts rely on them."""
    state: State
    says: str | Parts
    """A sentence without its full stop."""
    remedy: str | Parts = ""
    """A sentence without its full stop that says what to do; empty if there is nothing to do."""

    def line(self) -> str:
        """Return the finding as one line."""
        mark = {State.OK: "ok", State.WARNING: "note", State.PROBLEM: "FIX"}[self.state]
        remedy = f" {shown(self.remedy)}." if self.remedy else ""
        return f"{mark:<4}  {self.check}: {shown(self.says)}.{remedy}"

    def data(self) -> dict[str, str]:
        """Return the finding as JSON data."""
        return {
            "check": self.check,
            "state": self.state,
            "says": "".join(map(str, self.says)),
            "remedy": "".join(map(str, self.remedy)),
        }
