"""The effects of one pass of a node's loop, and the order in which they are carried out. Sans-I/O.

Theory of operation
-------------------
A pass of the loop only gathers its effects: messages to store, frames to send, things to do afterwards. At the end of
the pass the owner carries out the :meth:`Outbox.steps`, one by one, in their order::

    Write       all messages that are on no disk yet, if a frame of this pass binds
    Deliver     each frame; those that are passed on come last
    Delivered   there are no more frames in this pass
    Do          the rest: the owner is told, files are written

So nothing binds a node that a crash or a power cut could make it forget: a Write is done when the disk has it for good.
If a step fails, because the disk is full or the process dies, the owner asks for no more steps, and nothing after that
step happens.

Up to :data:`BATCH` messages wait in memory until the next frame that binds, or for :data:`IDLE` seconds: the node signs
its own again with the same bytes, and the authors of the others still have them after a crash. But the authors may be
gone, too, and the owner has seen what happened. All of them are written at once, in their order: what is on the disk is
always a beginning of what the node has known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from protocol.wire.messages import Signed

BATCH: Final = 64
"""Messages in memory after which they are stored even if no frame binds."""
IDLE: Final = 1.0
"""Seconds after which messages in memory are stored even if no frame binds. The owner of the outbox counts them."""

Letter = TypeVar("Letter")
"""A frame and its receivers, in the owner's form."""


class Write(NamedTuple):
    """Store these messages of one match in one transaction."""

    messages: tuple[Signed, ...]
    replaces: bool
    """They replace all stored messages of their match."""


class Deliver(NamedTuple, Generic[Letter]):
    """Deliver one frame to its receivers."""

    letter: Letter


class Delivered(NamedTuple):
    """All frames of this pass were sent."""


class Do(NamedTuple):
    """Do this."""

    action: Callable[[], None]


class Outbox(Generic[Letter]):
    """The effects of a pass so far.

    :param schedule: called once in a pass, at the first effect that must be carried out at its end.
    """

    def __init__(self, schedule: Callable[[], object]) -> None:
        self._request_steps = schedule
        self._is_scheduled = False
        self._unwritten: dict[bytes, list[Signed]] = {}
        """By match."""
        self._posted: list[Letter] = []
        self._relayed: list[Letter] = []
        self._afterwards: list[Callable[[], None]] = []
        self._must_write = False
        self._replacing: set[bytes] = set()
        """Matches whose stored messages are all replaced."""

    @property
    def is_behind(self) -> bool:
        """Messages wait in memory."""
        return bool(self._unwritten)

    def keep(self, signed: Signed) -> None:
        """Have a message stored, before the next frame that binds is sent at the latest."""
        self._unwritten.setdefault(signed.message.match, []).append(signed)

    def keep_only(self, messages: Iterable[Signed]) -> None:
        """Have these messages stored instead of all stored messages of their match.

        Messages that still wait for the store follow them: frames of this pass may rest on those.
        """
        by_id = {signed.id: signed for signed in messages}
        match = next(iter(by_id.values())).message.match
        for signed in self._unwritten.get(match, ()):
            by_id.setdefault(signed.id, signed)
        self._unwritten[match] = list(by_id.values())
        self._replacing.add(match)

    def forget(self, match: bytes) -> None:
        """Forget the messages of a match that are not stored yet."""
        self._unwritten.pop(match, None)
        self._replacing.discard(match)

    def post(self, *letters: Letter, binds: bool = True) -> None:
        """Have frames sent, in this order.

        :param binds: after everything was stored; with them all other frames of this pass wait.
        """
        self._posted += letters
        self._must_write = self._must_write or binds
        self._schedule()

    def relay(self, *letters: Letter) -> None:
        """Have frames sent after all posted frames. They do not wait for the store."""
        self._relayed += letters
        self._schedule()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Have something done after all frames of this pass were sent."""
        self._afterwards.append(action)
        self._schedule()

    def write_all(self) -> None:
        """Have everything stored at the end of this pass, whether or not anything is sent."""
        self._must_write = True
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._request_steps()

    def steps(self) -> Iterator[Write | Deliver[Letter] | Delivered | Do]:
        """Yield the steps of this pass; a step counts as done when the next one is asked for.

        Effects of a step belong to the next pass. Messages that could not be stored stay; frames and actions that were
        not reached are gone.
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
