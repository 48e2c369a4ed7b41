"""What the parts of a node share, and the order in which each turn of the event loop is carried out.

All callbacks run in one event loop. What they cause is gathered during one turn of the loop and then carried out in
this order: the store is written, frames are sent, the owner is told. So nothing leaves this node that a crash could
make it forget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from protocol.events import LobbyChanged, NodeEvent, PlayerInfo, Stopped
from protocol.home import Home
from protocol.keys import Identity, fingerprint
from protocol.limits import Limits
from protocol.mesh import Mesh
from protocol.messages import Signed
from protocol.store import Store, StoreError
from protocol.whereabouts import Whereabouts
from protocol.wire import Frame, Table, encode_frame

_BATCH: Final = 64
"""Messages of others that are kept in memory before they are stored without an own one."""


class Shell:
    """Home, links, store and owner of one node."""

    def __init__(
        self, home: Home, identity: Identity, store: Store, mesh: Mesh, whereabouts: Whereabouts, bounds: Limits
    ) -> None:
        self.home = home
        self.identity = identity
        self.store = store
        self.mesh = mesh
        self.whereabouts = whereabouts
        self.bounds = bounds
        self.loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[NodeEvent | None] = asyncio.Queue()
        """What the owner is to be told; None at the end."""
        self.is_silent = False
        """Nothing is taken or sent any more."""
        # What this turn of the loop has caused.
        self._unwritten: list[Signed] = []
        self._frames: list[tuple[bytes, bytes]] = []
        self._relayed: list[tuple[bytes, bytes]] = []
        self._afterwards: list[Callable[[], None]] = []
        self._must_write = False
        self._must_replace = False
        self._flush_is_due = False
        self._tasks: set[asyncio.Task[None]] = set()

    # What a turn of the loop causes

    def keep(self, signed: Signed) -> None:
        """Have a message stored, before the next frame is sent at the latest."""
        self._unwritten.append(signed)

    def keep_only(self, messages: Iterable[Signed]) -> None:
        """Have these messages stored instead of all that is stored of their match."""
        self._unwritten = list(messages)
        self._must_replace = True

    def keep_nothing(self) -> None:
        """Forget what is not stored yet: the proposal that it belonged to is withdrawn."""
        self._unwritten.clear()

    def post(self, identity: bytes, frame: Frame) -> None:
        """Have a frame sent to a peer, if it is linked."""
        self.post_encoded((identity,), encode_frame(frame))

    def post_encoded(self, identities: tuple[bytes, ...], frame: bytes) -> None:
        """Have the bytes of a frame sent to several peers."""
        self._frames += [(identity, frame) for identity in identities]
        self._schedule_flush()

    def relay(self, identities: tuple[bytes, ...], frame: bytes) -> None:
        """Have the bytes of a frame sent behind all others. It may leave though nothing of this turn was stored."""
        self._relayed += [(identity, frame) for identity in identities]
        self._schedule_flush()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Have something done after all frames of this turn were sent."""
        self._afterwards.append(action)
        self._schedule_flush()

    def write_all(self) -> None:
        """Have everything stored at the end of this turn, whether or not anything is sent."""
        self._must_write = True
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Store, then send, then tell: all that this turn of the loop has caused."""
        self._flush_is_due = False
        frames, self._frames = self._frames, []
        relayed, self._relayed = self._relayed, []
        afterwards, self._afterwards = self._afterwards, []
        # Messages of others wait for the next that leaves: a crash loses nothing that their authors do not have.
        must_write = self._must_write or bool(frames) or len(self._unwritten) >= _BATCH
        with self.stopping_at_disk_errors():
            if self._unwritten and must_write:
                write = self.store.replace if self._must_replace else self.store.write
                write(self._unwritten[0].message.match, self._unwritten)
                self._must_replace = False
                self._unwritten.clear()
            self._must_write = False
            for identity, frame in (*frames, *relayed):
                self.mesh.send(identity, frame)
            self.mesh.flush()
            for action in afterwards:
                action()

    # The owner

    def tell(self, event: NodeEvent) -> None:
        """Tell the owner, now."""
        self.events.put_nowait(event)

    def player(self, name: str, identity: bytes) -> PlayerInfo:
        """Return what the owner is told of a player."""
        return PlayerInfo(name, fingerprint(identity), is_me=identity == self.identity.public)

    def players(self, table: Table) -> tuple[PlayerInfo, ...]:
        """Return who sits at a table, the host first."""
        return tuple(self.player(name, identity) for name, identity in table.players)

    def lobby_changed(self, before: Table, now: Table) -> LobbyChanged:
        """Return what the owner is told of the difference between two words of a convenor."""
        joined = tuple(self.player(*each) for each in now.players if each not in before.players)
        left = tuple(self.player(*each) for each in before.players if each not in now.players)
        return LobbyChanged(self.players(now), now.seats, joined, left)

    # Trouble

    @contextmanager
    def stopping_at_disk_errors(self) -> Iterator[None]:
        """Fall silent for good if the block cannot write: what cannot be stored must not be sent."""
        try:
            yield
        except (StoreError, OSError) as error:
            self._stop(f"cannot write to {self.home.path}: {error}")

    def _stop(self, reason: str) -> None:
        if not self.is_silent:
            self.is_silent = True
            self.in_background(self.mesh.close())
            self.in_background(self.whereabouts.withdraw())
            self.tell(Stopped(reason))

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin something that nothing waits for before :meth:`settled`."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settled(self) -> None:
        """Wait for all that goes on in the background."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
