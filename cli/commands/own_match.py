"""Matches that this home plays. A player who tries to join or watch one is led back to it instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.exits import Failure, code_of
from cli.render import command_line, escape, sentence, stated
from cli.settings import home_words

if TYPE_CHECKING:
    from protocol import Node, NodeError, StoredMatch


def own_match(node: Node, target: str) -> StoredMatch | None:
    """Return the unfinished match of this home that a target names: its table, or the first digits of its id.

    An address can be that of any match: the newest one is returned for it.
    """
    text = target.strip().casefold()
    return next(
        (
            each
            for each in node.unfinished()
            if ":" in text
            or text == each.table_name.casefold()
            or (len(text) > 3 and each.match.hex().startswith(text))
        ),
        None,
    )


def way_back(node: Node, match: StoredMatch) -> tuple[str, str]:
    """Return the command that returns to a match, and its purpose."""
    words = ("resume", match.name or match.match.hex()[:8], *home_words(node.home.path))
    return command_line(*words), "You play an unfinished match there yourself. Return to it"


def refused(node: Node, target: str, error: NodeError) -> Failure | NodeError:
    """Return the failure to sit down at a table. If it is the table of one's own match, the way back is in it."""
    match = own_match(node, target)
    if match is None:
        return error
    hint = sentence(escape(error.hint)) if error.hint else ""
    return Failure(stated(error.parts), hint=hint, code=code_of(error), choices=[way_back(node, match)])
