"""The errors and reasons that a node's owner is told when a table or match cannot be entered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from protocol.errors import LOOK_ON, ErrorCode, NamesakeError, NodeError, RefuseCode
from protocol.events import PlayerInfo
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError

_CLOSING: Final = frozenset(RefuseCode) - {RefuseCode.PLAYING, RefuseCode.NO_MATCH}
_KEPT: Final = {each.value: each for each in (ErrorCode.VERSION, ErrorCode.RULES, ErrorCode.FULL)}


def closing_code(code: str) -> RefuseCode:
    """Return the code of :class:`~protocol.events.TableClosed` for a code that may be any text of a peer."""
    return RefuseCode(code) if code in _CLOSING else RefuseCode.REFUSED


LEFT: Final = "they have left"
"""Why a link ends after LEAVE."""


def host_gone(reason: str) -> str:
    """Return why a table is closed whose host's link went down for a reason."""
    return "the host has left" if reason == LEFT else f"the host is gone ({reason})"


def unreachable(error: DialError) -> NodeError:
    """Return the owner's error for a failed dial."""
    hint = "check the address, and that no firewall is in between; the host's join line works most reliably"
    if error.is_other:
        hint = "the join line is of another table, or an old one: ask the host for the one that is shown now"
    return NodeError(ErrorCode.UNREACHABLE, str(error), hint)


class StrangersError(RefusedError):
    """This node has asked for no seat: somebody sits there with a trusted name and another key."""

    def __init__(self, players: tuple[PlayerInfo, ...]) -> None:
        super().__init__(RefuseCode.REFUSED, strangers_there(players))
        self.players = players


def strangers_there(players: Sequence[PlayerInfo]) -> str:
    """Return what is wrong with players who have a trusted name and another key."""
    names = ", ".join(f"{player.name} ({player.fingerprint})" for player in players)
    return f"somebody you trust has such a name and another key: {names}"


def refusal(error: RefusedError) -> NodeError:
    """Return the owner's error for a refusal."""
    if isinstance(error, StrangersError):
        return NamesakeError(str(error), error.players)
    if error.code == RefuseCode.PLAYING:
        return NodeError(ErrorCode.REFUSED, str(error), choices=LOOK_ON)
    return NodeError(_KEPT.get(error.code, ErrorCode.REFUSED), str(error))
