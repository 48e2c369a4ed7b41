"""What one turn of a node's loop causes, and the order in which that is carried out. Sans-I/O.

Theory of operation
-------------------
Whatever happens in a turn of the loop is only gathered: messages to be stored, frames to be sent, things to be done
afterwards. At the end of the turn the owner asks for the :meth:`Outbox.steps` and carries them out, one by one, in
the order in which they come::

    Write   what a crash must not make this node forget
    Send    each frame; those that may leave though nothing was stored come last
    Sent    there are no more frames in this turn
    Do      what is due afterwards: the owner is told, files are written

So nothing leaves a node that a crash could make it forget. An owner that cannot carry out a step, because the disk is
full or the process dies, asks for no more of them: then nothing behind that step happens either.

Messages of others wait in memory for the next frame that leaves, :data:`BATCH` of them at most: a crash loses nothing
that their authors do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from protocol.wire.messages import Signed

BATCH: Final = 64
"""Messages that are kept in memory before they are stored although no frame leaves."""

Letter = TypeVar("Letter")
"""What the owner sends: a frame and to whom."""


class Write(NamedTuple):
    """Store these messages of one match in one transaction."""

    messages: tuple[Signed, ...]
    replaces: bool
    """They take the place of all that is stored of their match."""


class Send(NamedTuple, Generic[Letter]):
    """Send this."""

    letter: Letter


class Sent(NamedTuple):
    """All frames of this turn were sent."""


class Do(NamedTuple):
    """Do this."""

    action: Callable[[], None]


class Outbox(Generic[Letter]):
    """What a turn has caused so far.

    :param schedule: called once in a turn, as soon as it causes anything that must be carried out at its end.
    """

    def __init__(self, schedule: Callable[[], object]) -> None:
        self._schedule = schedule
        self._is_scheduled = False
        self._unwritten: dict[bytes, list[Signed]] = {}
        """By match."""
        self._posted: list[Letter] = []
        self._relayed: list[Letter] = []
        self._afterwards: list[Callable[[], None]] = []
        self._must_write = False
        self._replacing: set[bytes] = set()
        """Matches of which everything that is stored is replaced."""

    def keep(self, signed: Signed) -> None:
        """Have a message stored, before the next frame is sent at the latest."""
        self._unwritten.setdefault(signed.message.match, []).append(signed)

    def keep_only(self, messages: Iterable[Signed]) -> None:
        """Have these messages stored instead of all that is stored of their match.

        What is still to be stored of it stays so, behind them: frames of this turn may rest on it.
        """
        by_id = {signed.id: signed for signed in messages}
        match = next(iter(by_id.values())).message.match
        for signed in self._unwritten.get(match, ()):
            by_id.setdefault(signed.id, signed)
        self._unwritten[match] = list(by_id.values())
        self._replacing.add(match)

    def forget(self, match: bytes) -> None:
        """Forget what is not stored yet of a match that was proposed: the proposal is withdrawn."""
        self._unwritten.pop(match, None)
        self._replacing.discard(match)

    def post(self, *letters: Letter) -> None:
        """Have frames sent, in this order, after everything was stored."""
        self._posted += letters
        self._be_scheduled()

    def relay(self, *letters: Letter) -> None:
        """Have frames sent behind all that were posted. They may leave though nothing of this turn was stored."""
        self._relayed += letters
        self._be_scheduled()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Have something done after all frames of this turn were sent."""
        self._afterwards.append(action)
        self._be_scheduled()

    def write_all(self) -> None:
        """Have everything stored at the end of this turn, whether or not anything is sent."""
        self._must_write = True
        self._be_scheduled()

    def _be_scheduled(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._schedule()

    def steps(self) -> Iterator[Write | Send[Letter] | Sent | Do]:
        """Yield what is to be done about this turn; a step counts as done when the next one is asked for.

        What a step causes belongs to the next turn. What could not be stored remains to be stored; frames and actions
        that were not reached are gone.
        """
        self._is_scheduled = False
        posted, self._posted = self._posted, []
        relayed, self._relayed = self._relayed, []
        afterwards, self._afterwards = self._afterwards, []
        unwritten = sum(map(len, self._unwritten.values()))
        if self._must_write or posted or unwritten >= BATCH:
            for match, messages in tuple(self._unwritten.items()):
                yield Write(tuple(messages), match in self._replacing)
                self.forget(match)
        self._must_write = False
        for letter in (*posted, *relayed):
            yield Send(letter)
        if posted or relayed:
            yield Sent()
        for action in afterwards:
            yield Do(action)
