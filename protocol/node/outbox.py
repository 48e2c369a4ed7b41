"""The effects of one pass of a node's event loop, and the order in which they are carried out. Sans-I/O.

Theory of operation
-------------------
During a pass of the event loop, effects are only collected: messages to store, frames to send, actions to take
afterwards. At the end of the pass the owner carries out the :meth:`Outbox.steps` one by one, in their order::

    Write       all messages not yet on the disk, if a frame of this pass binds or too many messages wait
    Deliver     each frame; relayed frames come last
    Delivered   all frames of this pass were sent
    Do          the rest: show events to the owner, write files

So no message binds a node that could forget it in a crash or power cut: a Write is done only when the data is safely on
the disk. If a step fails, because the disk is full or the process dies, the owner requests no more steps, and nothing
after that step happens.

Up to :data:`BATCH` messages wait in memory until the next frame that binds, or for :data:`IDLE` seconds. After a crash,
the node would sign its own messages again with the same bytes, and the authors of the others usually still have them.
The wait is limited because those authors may be gone too, and the owner has seen what happened. All waiting messages
are written at once and in order, so the disk always holds a prefix of what the node knew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from protocol.wire.messages import Signed

BATCH: Final = 64
"""The number of messages in memory at which they are stored even if no frame binds."""
IDLE: Final = 1.0
"""Seconds after which messages in memory are stored even if no frame binds. The owner of the outbox keeps this time."""

Letter = TypeVar("Letter")
"""A frame and its receivers, in a form chosen by the owner."""


class Write(NamedTuple):
    """Store these messages of one match in one transaction."""

    messages: tuple[Signed, ...]
    replaces: bool
    """Whether they replace all stored messages of their match."""


class Deliver(NamedTuple, Generic[Letter]):
    """Deliver one frame to its receivers."""

    letter: Letter


class Delivered(NamedTuple):
    """All frames of this pass have been sent."""


class Do(NamedTuple):
    """Call the action."""

    action: Callable[[], None]


class Outbox(Generic[Letter]):
    """Collects the effects of a pass.

    :param schedule: called once per pass, at the first effect that must be carried out at its end.
    """

    def __init__(self, schedule: Callable[[], object]) -> None:
        self._request_steps = schedule
        self._is_scheduled = False
        self._unwritten: dict[bytes, list[Signed]] = {}
        """The messages to be stored, by match."""
        self._posted: list[Letter] = []
        self._relayed: list[Letter] = []
        self._afterwards: list[Callable[[], None]] = []
        self._must_write = False
        self._replacing: set[bytes] = set()
        """The matches whose stored messages are all to be replaced."""

    @property
    def is_behind(self) -> bool:
        """Whether messages wait in memory."""
        return bool(self._unwritten)

    def keep(self, signed: Signed) -> None:
        """Queue a message for storage, at the latest before the next frame that binds is sent."""
        self._unwritten.setdefault(signed.message.match, []).append(signed)

    def keep_only(self, messages: Iterable[Signed]) -> None:
        """Queue these messages for storage in place of all stored messages of their match.

        Messages that still wait for storage are appended, as frames of this pass may depend on them.
        """
        by_id = {signed.id: signed for signed in messages}
        match = next(iter(by_id.values())).message.match
        for signed in self._unwritten.get(match, ()):
            by_id.setdefault(signed.id, signed)
        self._unwritten[match] = list(by_id.values())
        self._replacing.add(match)

    def forget(self, match: bytes) -> None:
        """Drop all messages of a match that wait for storage."""
        self._unwritten.pop(match, None)
        self._replacing.discard(match)

    def post(self, *letters: Letter, binds: bool = True) -> None:
        """Queue frames for sending, in this order.

        :param binds: whether everything must be stored first; all frames of the pass then wait for that.
        """
        self._posted += letters
        self._must_write = self._must_write or binds
        self._schedule()

    def relay(self, *letters: Letter) -> None:
        """Queue frames to be sent after all posted frames. They do not require anything to be stored."""
        self._relayed += letters
        self._schedule()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Queue an action to be taken after all frames of this pass have been sent."""
        self._afterwards.append(action)
        self._schedule()

    def write_all(self) -> None:
        """Have everything stored at the end of this pass, even if nothing is sent."""
        self._must_write = True
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._request_steps()

    def steps(self) -> Iterator[Write | Deliver[Letter] | Delivered | Do]:
        """Yield the steps of this pass. A step counts as done when the next one is requested.

        Effects caused by a step belong to the next pass. If a step fails, messages that were not stored stay queued;
        frames and actions that were not reached are lost.
        """
        self._is_scheduled = False
        posted, self._posted = self._posted, []
        relayed, self._relayed = self._relayed, []
        afterwards, self._afterwards = self._afterwards, []
        unwritten = sum(map(len, self._unwritten.values()))
        if self._must_write or unwritten >= BATCH:
            for match, messages in tuple(self._unwritten.items()):
                yield Write(tuple(messages), match in self._replacing)
                self.forget(match)
        self._must_write = False
        for letter in (*posted, *relayed):
            yield Deliver(letter)
        if posted or relayed:
            yield Delivered()
        for action in afterwards:
            yield Do(action)
