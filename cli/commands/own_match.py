"""Matches that this home plays. A player who cannot join or watch one is led back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render import command_line

if TYPE_CHECKING:
    from protocol.errors import NodeError
    from protocol.node.node import Node


def refused(node: Node, target: str, error: NodeError) -> NodeError:
    """Return the failure to join or watch what was typed; with the way back, if it can mean a match of one's own."""
    from protocol.errors import NamesakeError

    match = node.unfinished_at(target)
    if match is None or isinstance(error, NamesakeError):
        return error
    resume = command_line("resume", match.name or match.match.hex()[:8])
    way_back = resume, "Perhaps you mean your own unfinished match. Return to it"
    return type(error)(error.code, error.parts, error.hint, (way_back, *error.choices))
