"""A tape of a match: it moves forward, back and to any round of a replay, and holds the board of its place.

The events of one step of the history are a scene, and the tape moves by scenes. It keeps a copy of the board from the
start of each round that it has reached, so to go back it folds one round again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.table.board import Board
from p2pdice.events import MatchOver, StakesPaid, TicketsEarned, TwinSoulJoined
from protocol.events import CupsSeen, Happened, MatchResult

if TYPE_CHECKING:
    from protocol.events import NodeEvent
    from protocol.match.replay import Replay


class Place(NamedTuple):
    """A place on the tape."""

    round: int
    """0 before the first roll."""
    number: int
    """The scene's number in this round, from 1."""


START: Final = Place(0, 1)
WATCHER: Final = -1
"""In place of a seat: the view of a spectator, who sees no dice before their cup is opened."""


class Taped(NamedTuple):
    """The events of one step of the history, or the end of the match."""

    place: Place
    step: int
    events: tuple[NodeEvent, ...]
    is_last: bool


class Tape:
    """One replay, in one player's view from its start to its end.

    :param eyes: the seat whose dice the reader sees; None for all, :data:`WATCHER` for none.
    :param name: stands in place of the table's; the file's if it is empty.
    """

    def __init__(self, replay: Replay, eyes: int | None, name: str = "") -> None:
        self.replay = replay
        self.eyes = eyes
        self.board = Board()
        self.board.name = name or replay.path.stem  # that of the table is not in a transcript
        """As it is after :attr:`place`."""
        self.place = Place(0, 0)
        """The place of the scene that was told last."""
        self.step = 0
        """Its step of the history."""
        self._starts = (0, *replay.rounds)
        self._boards = [self.board.copy()]
        """Before each round that was reached."""
        self._lengths: list[int] = []
        """The number of scenes in each round that was passed."""
        self._ahead = self._scenes(0)
        self._next = next(self._ahead, None)

    def _scenes(self, round_: int) -> Iterator[Taped]:
        number = 0
        sees_none = self.eyes == WATCHER
        told = self.replay.tell(None if sees_none else self.eyes, self._starts[round_])
        if sees_none:
            told = (moment for moment in told if not isinstance(moment.event, CupsSeen))
        groups = (
            (step, tuple(moment.event for moment in group))
            # The end is a scene of its own: the last verdict is seen before it.
            for (step, _), group in groupby(told, lambda each: (each[0], _is_end(each[1])))
        )
        following = next(groups, None)
        while following is not None:
            step, events = following
            following = next(groups, None)
            if round_ + 1 < len(self._starts) and step >= self._starts[round_ + 1]:
                round_, number = round_ + 1, 0
            number += 1
            yield Taped(Place(round_, number), step, events, following is None)

    @property
    def rounds(self) -> int:
        """The number of rounds in the match."""
        return len(self._starts) - 1

    def forward(self) -> tuple[NodeEvent, ...]:
        """Go on by one scene, and return its events, for the owner to put on :attr:`board`.

        :return: nothing at the end.
        """
        scene = self._next
        if scene is None:
            return ()
        if scene.place.round == len(self._boards):
            self._boards.append(self.board.copy())
            self._lengths.append(self.place.number)
        self.place, self.step = scene.place, scene.step
        self._next = next(self._ahead, None)
        return scene.events

    def seek(self, place: Place) -> None:
        """Go to just before a place, so that its scene comes next; beyond the end, to just before the last scene."""
        known = min(place.round, len(self._boards) - 1)
        if self._next is None or self._next.place > place or self._next.place.round < known:
            self.board = self._boards[known].copy()
            self._ahead = self._scenes(known)
            self._next = next(self._ahead, None)
        while self._next is not None and self._next.place < place and not self._next.is_last:
            for event in self.forward():
                self.board.take(event)

    def seek_back(self) -> bool:
        """Go one scene back, so that the one before the last told comes next; return whether there was one."""
        round_, number = self.place
        if number > 1:
            self.seek(Place(round_, number - 1))
        elif round_:
            self.seek(Place(round_ - 1, self._lengths[round_ - 1]))
        else:
            return False
        return True


def _is_end(event: NodeEvent) -> bool:
    """Tell whether an event is about the whole match that is over."""
    if isinstance(event, Happened):
        return isinstance(event.event, TwinSoulJoined | TicketsEarned | StakesPaid | MatchOver)
    return isinstance(event, MatchResult)
