"""The progress of a match: the open step, the players it waits for, and the remaining time. Screens draw it.

No event tells this, as it changes with every message and with the clock. A screen asks for it as often as it
likes: :attr:`protocol.match.match.Match.progress` and :meth:`protocol.match.match.Match.clock` change nothing.
Sans-I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.consensus.history import History
from protocol.consensus.kinds import stage_of
from protocol.consensus.position import Purpose, Stage
from protocol.events import PlayerInfo


@dataclass(frozen=True, slots=True)
class Progress:
    """The open step of a match."""

    step: int
    """Its number, which is also the number of closed steps, all verified by this node."""
    purpose: Purpose
    """Forming the match, drawing the seats, a deal, a turn, a showdown …"""
    stage: Stage
    given: tuple[PlayerInfo, ...]
    """Players whose message is here, in the order of seats; before seats are drawn, of the roster."""
    awaited: tuple[PlayerInfo, ...]
    """Players whose message is missing, in the same order."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long this node will still wait for the players who hold up the open step, by its own clock.

    Clocks of different nodes differ by as long as messages take. A player's node that is back after a restart, a sleep
    or a cut does not know how long the others have waited: if it is the one to choose, it shows only the time that they
    still wait at least; with others the time starts anew. An owner may wait longer than others.

    Messages that programs send by themselves usually arrive at once: their time is worth showing only after a second or
    two (``allowed - seconds``). If a person plays only against their own programs, these wait without end; a spectator
    does not know that, and its clock then means nothing.
    """

    awaited: tuple[PlayerInfo, ...]
    """The players that the match waits for, oneself included, in the order of :class:`Progress`."""
    seconds: float
    """The remaining time; 0 when patience is over and the others may vote. It can grow: patience starts again when a
    player comes back, and stands still during a vote on an earlier step."""
    allowed: float
    """The whole time of the player with the most remaining."""
    goes_on: bool
    """At 0 the others are enough to go on without them. Otherwise, as at a table of two, the match waits."""


def progress(history: History, info: tuple[PlayerInfo, ...]) -> Progress:
    """Return where a history stands.

    :param info: the players by roster index.
    """
    position = history.position
    if position.kind is None:
        owed: set[int] = set(position.players)
        here = owed.intersection(history.results)
    else:
        owed, here = set(position.owed), set(history.held)
    given = in_order(history, info, here)
    return Progress(position.step, position.purpose, stage_of(position), given, in_order(history, info, owed - here))


def in_order(history: History, info: tuple[PlayerInfo, ...], authors: set[int]) -> tuple[PlayerInfo, ...]:
    """Return some players in the order of seats, or of the roster as long as these are not drawn."""
    order = history.position.seats or range(history.roster_size)
    return tuple(info[author] for author in order if author in authors)
