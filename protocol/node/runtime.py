"""What the parts of a node share: home, links, store, owner, and the outbox that is emptied once a turn of the loop.

All callbacks run in one event loop. What they cause is gathered in the :class:`~protocol.node.outbox.Outbox` and
carried out at the end of the turn, in the order of its steps.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from protocol.crypto.keys import Identity, fingerprint
from protocol.errors import RefuseCode
from protocol.events import LobbyChanged, NodeEvent, PlayerInfo, Stopped
from protocol.limits import Limits
from protocol.net.mesh import Mesh
from protocol.node.locator import Locator
from protocol.node.outbox import Do, Outbox, Send, Sent, Write
from protocol.storage.home import Home
from protocol.storage.store import Store, StoreError
from protocol.wire.frames import Frame, Refuse, Table, encode_frame

log = logging.getLogger(__name__)


class _Stopping:
    """Stops a node at disk errors. One serves all blocks, as several are entered for every message."""

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, StoreError | OSError):
            return False
        self._runtime._stop(f"cannot write to {self._runtime.home.path}: {error}")
        return True


class Runtime:
    """Home, links, store and owner of one node."""

    def __init__(
        self, home: Home, identity: Identity, store: Store, mesh: Mesh, locator: Locator, bounds: Limits
    ) -> None:
        self.home = home
        self.identity = identity
        self.store = store
        self.mesh = mesh
        self.locator = locator
        self.bounds = bounds
        self.loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[NodeEvent | None] = asyncio.Queue()
        """What the owner is to be told; None at the end."""
        self.is_silent = False
        """Nothing is taken or sent any more."""
        self.outbox: Outbox[tuple[tuple[bytes, ...], bytes]] = Outbox(lambda: self.loop.call_soon(self.flush))
        """What this turn of the loop has caused; its frames are encoded, each with the identities of its receivers."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = _Stopping(self)

    # What a turn of the loop causes

    def post(self, identity: bytes, frame: Frame) -> None:
        """Have a frame sent to a peer, if it is linked."""
        self.post_encoded((identity,), encode_frame(frame))

    def refuse(self, identity: bytes, code: RefuseCode, reason: str) -> None:
        """Refuse a linked peer, and end its link once that is sent."""
        self.post(identity, Refuse(code, reason))
        self.loop.call_soon(self.mesh.disconnect, identity)

    def post_encoded(self, identities: tuple[bytes, ...], frame: bytes) -> None:
        """Have the bytes of a frame sent to several peers."""
        self.outbox.post((identities, frame))

    def relay(self, identities: tuple[bytes, ...], frame: bytes) -> None:
        """Have the bytes of a frame sent behind all others. It may leave though nothing of this turn was stored."""
        self.outbox.relay((identities, frame))

    def flush(self) -> None:
        """Carry out what this turn of the loop has caused."""
        with self.stopping_at_disk_errors():
            for step in self.outbox.steps():
                match step:
                    case Write():
                        write = self.store.replace if step.replaces else self.store.write
                        write(step.messages[0].message.match, step.messages)
                    case Send():
                        identities, frame = step.letter
                        for identity in identities:
                            self.mesh.send(identity, frame)
                    case Sent():
                        self.mesh.flush()
                    case Do():
                        step.action()

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

    def stopping_at_disk_errors(self) -> _Stopping:
        """Fall silent for good if the block cannot write: what cannot be stored must not be sent."""
        return self._stopping

    def _stop(self, reason: str) -> None:
        if not self.is_silent:
            self.is_silent = True
            self.in_background(self.mesh.close())
            self.in_background(self.locator.withdraw())
            self.tell(Stopped(reason))

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin something that nothing waits for before :meth:`settled`."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("something that went on in the background has failed", exc_info=error)

    async def settled(self) -> None:
        """Wait for all that goes on in the background."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
