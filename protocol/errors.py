"""The error that a node raises to its owner."""

from __future__ import annotations


class NodeError(Exception):
    """Something a person must know about; ``code`` says what kind of thing, for exit codes.

    ``unreachable``, ``not-found``, ``version``, ``rules``, ``full``, ``refused``, ``home-in-use``, ``no-match``,
    ``failed``.
    """

    def __init__(self, code: str, reason: str, hint: str = "", choices: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint
        """What to do about it, if there is something."""
        self.choices = choices
        """What can be typed instead, whole commands, and what each leads to, which may contain what a peer wrote."""
