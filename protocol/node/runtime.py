"""What all parts of a node share: home, links, store, owner, and the outbox.

All callbacks run in one event loop. Their effects wait in the :class:`~protocol.node.outbox.Outbox` until the end of
the loop's pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Final

from p2pdice.rulesets import Ruleset
from protocol import limits
from protocol.crypto.keys import Identity, fingerprint
from protocol.errors import RefuseCode
from protocol.events import (
    LobbyChanged,
    MatchStarted,
    NodeEvent,
    Notice,
    PlayerInfo,
    Recognised,
    Stopped,
    Unfamiliar,
)
from protocol.limits import Limits
from protocol.net.addresses import Address
from protocol.net.mesh import Mesh
from protocol.node.locator import Locator
from protocol.node.outbox import IDLE, Deliver, Delivered, Do, Outbox, Write
from protocol.node.purse import PurseKeeper
from protocol.storage.database import StoreError, failure
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import Frame, Refuse, Table, encode_frame
from protocol.wire.names import is_marked_as_bot, ruleset_hash

log = logging.getLogger(__name__)

_RECOGNISED: Final = 256
"""The number of players that are remembered as already reported. Before a match, a host can name any number of them."""


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
        """Events for the owner, followed by None at the end."""
        self.is_silent = False
        """Whether the node has stopped handling input and sending frames."""
        self.outbox: Outbox[tuple[tuple[bytes, ...], bytes]] = Outbox(lambda: self.loop.call_soon(self.flush))
        """The effects of this pass of the event loop. A letter is an encoded frame with its receivers' identities."""
        self._catching_up: asyncio.TimerHandle | None = None
        """The timer for storing received messages that no frame waits for."""
        self.purses = PurseKeeper(store, identity.public, lambda text: self.tell(Notice(text)))
        self._recognised: set[PlayerInfo] = set()
        """Players on whom this home has already reported to the owner."""
        self._names: dict[str, str] = {}
        """The names of players who were recently at a table, by fingerprint."""
        self._tasks: set[asyncio.Task[None]] = set()

    def where(self, identity: bytes, match: bytes, known: Iterable[Address]) -> list[Address]:
        """Return the addresses at which to dial a player, except this node's own: first addresses that worked before,
        newest first, then the ``known`` ones, then addresses advertised for the match, unless another linked peer
        listens there."""
        advertised = self.locator.addresses_of(match, self.mesh.others_at(identity))
        candidates = dict.fromkeys((*self.store.addresses(identity), *known, *advertised))
        own = set(self.mesh.addresses)
        return [address for address in candidates if address not in own]

    def rules_name(self, ruleset: Ruleset) -> str:
        """Return the name of house rules: the owner's own, or the last one given by a host; empty if none is known."""
        try:
            return "" if ruleset.name else self.store.rules_names().get(ruleset_hash(ruleset), "")
        except StoreError as error:  # the match can be played without it
            log.warning("cannot tell what rules are called: %s", error)
            return ""

    def learn_rules_name(self, ruleset: Ruleset, name: str) -> None:
        """Remember a host's name for the house rules of its table, unless the owner has named them."""
        if name and name != self.rules_name(ruleset):
            try:
                self.store.learn_rules_name(ruleset_hash(ruleset), name)
            except StoreError as error:  # the match can be played without it
                log.warning("cannot remember that rules are called %r: %s", name, error)

    # Effects of a pass of the loop

    def post(self, identity: bytes, frame: Frame) -> None:
        """Queue a frame for a peer; it is sent if the peer is linked."""
        self.post_encoded((identity,), encode_frame(frame))

    def refuse(self, identity: bytes, code: RefuseCode, reason: str) -> None:
        """Refuse a linked peer, and close its link once the frame is sent."""
        self.post(identity, Refuse(code, reason))
        self.loop.call_soon(self.mesh.disconnect, identity)

    def post_encoded(self, identities: tuple[bytes, ...], frame: bytes, *, binds: bool = True) -> None:
        """Queue an encoded frame for several peers.

        :param binds: whether the frame waits for the store.
        """
        self.outbox.post((identities, frame), binds=binds)

    def relay(self, identities: tuple[bytes, ...], frame: bytes) -> None:
        """Queue an encoded frame to be sent after all others, without waiting for the store."""
        self.outbox.relay((identities, frame))

    def flush(self) -> None:
        """Carry out the effects of this pass of the event loop."""
        with self.stopping_at_disk_errors():
            for step in self.outbox.steps():
                match step:
                    case Write():
                        write = self.store.replace if step.replaces else self.store.write
                        write(step.messages[0].message.match, step.messages)
                    case Deliver():
                        identities, frame = step.letter
                        for identity in identities:
                            self.mesh.send(identity, frame)
                    case Delivered():
                        self.mesh.flush()
                    case Do():
                        step.action()
        if self._catching_up is None and self.outbox.is_behind:
            self._catching_up = self.loop.call_later(IDLE, self._catch_up)

    def _catch_up(self) -> None:
        """Store the messages that no frame has waited for."""
        self._catching_up = None
        if self.outbox.is_behind and not self.is_silent:
            self.outbox.write_all()

    def close(self) -> None:
        """Cancel the timer."""
        if self._catching_up is not None:
            self._catching_up.cancel()

    # The owner

    def tell(self, event: NodeEvent) -> None:
        """Report an event to the owner at once."""
        self.events.put_nowait(event)
        match event:
            case LobbyChanged():
                self._recognise(event.players)
            case MatchStarted():
                self._recognise(event.players, bytes.fromhex(event.match_id))

    def _recognise(self, players: tuple[PlayerInfo, ...], match: bytes = b"") -> None:
        """Report how well this home knows these players, and warn of suspicious names and keys."""
        for player in players:
            if player.is_me or player in self._recognised:
                continue
            if len(self._names) >= limits.KNOWN_BY_NAME:
                self._names.clear()
            self._names[player.fingerprint] = player.name
            if len(self._recognised) >= _RECOGNISED:
                self._recognised.clear()
            self._recognised.add(player)
            try:
                self.recognise(player, match)
                mismatch = self.store.people.mismatch(player.fingerprint, player.name, match)
            except StoreError as error:  # the match can be played without it
                log.warning("cannot tell who %s is: %s", player.fingerprint, error)
                return
            if any(mismatch):
                namesakes = tuple(PlayerInfo(each.name, each.fingerprint) for each in mismatch.namesakes)
                self.events.put_nowait(Unfamiliar(player, mismatch.known_as, namesakes, mismatch.trusted))

    def recognise(self, player: PlayerInfo, match: bytes = b"") -> None:
        """Report to the owner how well this home knows a player.

        :param match: the id of the running match, which does not count.
        :raises StoreError: if the store cannot be read.
        """
        if not is_marked_as_bot(player.name):
            person = self.store.people.person(player.fingerprint, match)
            self.events.put_nowait(Recognised(player, person.is_trusted, person.matches))

    def is_namesake(self, player: PlayerInfo) -> bool:
        """Return whether a trusted player has this player's name but another key; False if the store cannot be read."""
        try:
            return not player.is_me and bool(self.store.people.mismatch(player.fingerprint, player.name).trusted)
        except StoreError as error:
            log.warning("cannot tell who %s is: %s", player.fingerprint, error)
            return False

    def known_as(self, identity: bytes) -> str:
        """Return the name that this home has stored for a key, or else the player's name at a recent table; empty if
        there is none."""
        key = fingerprint(identity)
        try:
            return self.store.people.person(key).name or self._names.get(key, "")
        except StoreError:
            return self._names.get(key, "")

    def player(self, name: str, identity: bytes) -> PlayerInfo:
        """Return a player in the form used in events."""
        return PlayerInfo(name, fingerprint(identity), is_me=identity == self.identity.public)

    def players(self, table: Table) -> tuple[PlayerInfo, ...]:
        """Return the players at a table, the host first."""
        return tuple(self.player(name, identity) for name, identity in table.players)

    def lobby_changed(self, before: Table, now: Table) -> LobbyChanged:
        """Return the event for the difference between two states of a table."""
        joined = tuple(self.player(*each) for each in now.players if each not in before.players)
        left = tuple(self.player(*each) for each in before.players if each not in now.players)
        return LobbyChanged(self.players(now), now.seats, joined, left)

    # Errors

    @contextlib.contextmanager
    def stopping_at_disk_errors(self) -> Iterator[None]:
        """Stop the node if the block cannot write, because nothing unstored may be sent. The error is not raised."""
        try:
            yield
        except (StoreError, OSError) as error:
            if self.is_silent:
                return
            self.is_silent = True
            self.in_background(self.mesh.close())
            self.in_background(self.locator.withdraw())
            told = error if isinstance(error, StoreError) else failure("cannot write to", self.home.path, error)
            self.tell(Stopped(str(told)))

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task. Only :meth:`tasks_done` waits for it."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("something that went on in the background has failed", exc_info=error)

    async def tasks_done(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
