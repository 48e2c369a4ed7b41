"""How far a match is: the open step, who has sent what it takes, and the time that is left. Screens draw it.

No event tells this, as it changes with every message and with the clock. It is asked for instead, as often as one
likes: :attr:`protocol.match.match.Match.progress` and :meth:`protocol.match.match.Match.clock` change nothing.
Sans-I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.consensus.history import History
from protocol.consensus.kinds import RULES
from protocol.consensus.position import Purpose, Stage
from protocol.events import PlayerInfo


@dataclass(frozen=True, slots=True)
class Progress:
    """The open step of a match."""

    step: int
    """Its number, which is also the number of closed steps; this node has verified all of them."""
    purpose: Purpose
    """What it belongs to: forming the match, drawing the seats, a deal, a turn, a showdown …"""
    stage: Stage
    given: tuple[PlayerInfo, ...]
    """Whose message is here, in the order of seats; before seats are drawn, in that of the roster."""
    awaited: tuple[PlayerInfo, ...]
    """Whose message is not here yet, in the same order."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long this node will still wait for the players who hold up the open step, by its own clock.

    Clocks of different nodes differ by as long as messages take. For a node that came later, as a spectator or after a
    restart, the time starts when it came. Messages that programs send by themselves usually arrive at once: their time
    is worth showing only after a second or two (``allowed - seconds``). If a person plays only against their own
    programs, these wait without end; a spectator does not know that, and its clock then means nothing.
    """

    awaited: tuple[PlayerInfo, ...]
    """Who is waited for, oneself included, in the order of :class:`Progress`."""
    seconds: float
    """What is left; 0 when patience is over and the others may have begun to vote. It can grow: patience starts again
    when a player comes back, and stands still while an earlier step is voted on."""
    allowed: float
    """How much it was at the start, for the player who has most left."""
    goes_on: bool
    """The others are enough to go on without them when nothing is left. Otherwise, as at a table of two, the match
    waits."""


def progress(record: History, info: tuple[PlayerInfo, ...]) -> Progress:
    """Return where a record stands.

    :param info: the players by roster index.
    """
    position = record.position
    if position.purpose is Purpose.END:
        owed: set[int] = set(position.players)
        here, stage = owed.intersection(record.results), Stage.CONFIRM
    else:
        assert position.kind is not None
        owed, here = set(position.owed), set(record.held)
        stage = Stage.CHOOSE if position.is_choice else RULES[position.kind].stage
    given = in_order(record, info, here)
    return Progress(position.step, position.purpose, stage, given, in_order(record, info, owed - here))


def in_order(record: History, info: tuple[PlayerInfo, ...], authors: set[int]) -> tuple[PlayerInfo, ...]:
    """Return some players in the order of seats, or of the roster as long as these are not drawn."""
    order = record.position.seats or range(record.players)
    return tuple(info[author] for author in order if author in authors)
