"""The error that a node raises to its owner."""

from __future__ import annotations

from typing import Final

Choices = tuple[tuple[str, str], ...]
"""Whole commands, and what each of them leads to."""

SEE_TABLES: Final[Choices] = (("p2pdice tables", "See what is there"),)
SEE_MATCHES: Final[Choices] = (("p2pdice matches", "See all of them"),)
LOOK_ON: Final[Choices] = (("p2pdice watch", "Look on"),)


class NodeError(Exception):
    """Something a person must know about; ``code`` says what kind of thing, for exit codes.

    ``unreachable``, ``not-found``, ``version``, ``rules``, ``full``, ``refused``, ``home-in-use``, ``no-match``,
    ``failed``.
    """

    def __init__(self, code: str, reason: str, hint: str = "", choices: Choices = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        """What to do about it, if there is something."""
        self.choices = choices
        """What can be typed instead. What it leads to may contain what a peer wrote."""
