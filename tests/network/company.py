"""A company of players: complete nodes in this process, each with its own home, played by house bots.

Sockets, TLS and stores are real; only the owner at the keyboard is a program. Tests wait for events, not for fixed
times. Any exception that reaches the event loop's handler fails the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import random
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from p2pdice.players import OddsPlayer
from p2pdice.players import Player as Bot
from p2pdice.players.contest import answer
from p2pdice.rulesets import PRESETS, Ruleset
from protocol.consensus.verifier import verify
from protocol.errors import NodeError
from protocol.events import Happened, MatchResult, Misbehaved, NodeEvent, TableOpened, YourTurn
from protocol.limits import Limits
from protocol.match.lobby import TableSettings as Settings
from protocol.net.addresses import Address
from protocol.node.node import Node
from protocol.wire.frames import Frame, decode_frame, encode_frame
from protocol.wire.genesis import Patience
from tests.network import views
from tests.owners import make
from tests.programs import PATIENCE
from tests.waiting import until

CLASSIC = PRESETS["classic"].with_options({"dice": "3"})
HOST = "127.0.0.1"
WAITING = Patience()
"""The default patience of tables in tests."""
IMPATIENT = Patience(5, 5)
"""The least patience that a table may have."""

E = TypeVar("E")


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits between matches, and after them."""
    monkeypatch.setattr("protocol.node.locator.AGAIN", 0.1)
    monkeypatch.setattr("protocol.node.locator.GONE", 1.0)
    monkeypatch.setattr("protocol.match.waiting.RESULT_WAIT", 0.3)
    monkeypatch.setattr("protocol.limits.REPLACEMENT", 0.2)  # shorter, because such matches last less than two seconds


class Heard:
    """A record of all events that a node emits."""

    def __init__(self) -> None:
        self.events: list[NodeEvent] = []
        self._progress = asyncio.Event()

    def hear(self, event: NodeEvent) -> None:
        self.events.append(event)
        self._progress.set()

    def told(self, kind: type[E]) -> list[E]:
        """Return all events of one kind that the node has emitted."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(
        self, kind: type[E], condition: Callable[[E], bool] = lambda _: True, after: int = 0, times: int = 1
    ) -> E:
        """Wait for events of this kind that meet the condition; ignore the first ``after`` events of all kinds.

        :param times: how many such events to wait for; the last of them is returned.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                self._progress.clear()
                found = [event for event in self.events[after:] if isinstance(event, kind) and condition(event)]
                if len(found) >= times:
                    return found[times - 1]
                await self._progress.wait()


class Player(Heard):
    """A node and the bot that plays it."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node
        self.bot: Bot = OddsPlayer(random.Random(node.name))
        self._most = math.inf
        """The bot answers no turn once the game has had this many events."""
        self._turn: YourTurn | None = None
        self._listening = asyncio.create_task(self._listen())

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def address(self) -> Address:
        return HOST, self.node.port

    async def _listen(self) -> None:
        async for event in self.node.events():
            self.hear(event)
            if isinstance(event, YourTurn):
                self._turn = event
                self._answer()

    def _answer(self) -> None:
        if self._turn is None or len(self.told(Happened)) >= self._most:
            return
        turn, self._turn = self._turn, None
        with contextlib.suppress(NodeError):  # the turn is over because a player was voted out
            make(self.node, answer(self.bot, turn.view), turn.token)

    def hold(self, after: int = 0) -> None:
        """Answer no turn once the game has had ``after`` events, so that the match stops at this player's turn."""
        self._most = after

    def go_on(self) -> None:
        """Answer turns again, including the open one."""
        self._most = math.inf
        self._answer()

    async def kill(self) -> Path:
        """End the node as if its process were killed, without sending or storing anything; return its home."""
        node = self.node
        views.crash(node)
        for peer in tuple(node._mesh._peers.values()):
            if peer.link._channel is not None:
                peer.link._channel.abort()
        await node._locator.close()
        self._listening.cancel()
        await asyncio.sleep(0)
        node._store.close()  # the lock ends with the process
        return node.home.path

    async def leave(self) -> None:
        """Close the node, and record its last events."""
        async with asyncio.timeout(PATIENCE):
            await self.node.close()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening


class Company:
    """All players of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.players: list[Player] = []

    async def sit(
        self,
        name: str,
        *,
        home: Path | None = None,
        port: int = 0,
        discovery: bool = False,
        bounds: Limits | None = None,
        interface: str | None = HOST,
    ) -> Player:
        """Open a node. Without a given home, each name has its own."""
        node = await Node.open(
            home or self.folder / name, name, port=port, interface=interface, discovery=discovery, bounds=bounds
        )
        player = Player(node)
        self.players.append(player)
        return player

    async def table(
        self,
        seats: int,
        names: Iterable[str] = "ABCDEFGHIJ",
        patience: Patience = WAITING,
        ruleset: Ruleset = CLASSIC,
        **options: Any,
    ) -> tuple[list[Player], TableOpened]:
        """Open a table hosted by the first name, and let the others join. The match begins if all seats are filled.

        :param options: arguments of :meth:`sit` for all nodes.
        """
        first, *others = list(names)[:seats]
        host = await self.sit(first, **options)
        opened = await host.node.host(Settings("Friday", ruleset, seats, patience))
        return [host, *await self.join(opened.join_line, *others, **options)], opened

    async def join(self, line: str, *names: str, **options: Any) -> list[Player]:
        """Open a node for each name, and let them join a table one after the other."""
        guests = []
        for name in names:
            guests.append(await self.sit(name, **options))
            await guests[-1].node.join(line)
        return guests

    async def leave(self) -> None:
        await asyncio.gather(*(player.leave() for player in self.players))


def bend(player: views.HasNode, send: Callable[[bytes, Frame], bool | Frame]) -> None:
    """Filter a node's frames: ``send(receiver, frame)`` returns whether to send it, or a frame to send instead."""
    post = player.node._runtime.post_encoded

    def bent(identities: tuple[bytes, ...], frame: bytes, *, binds: bool = True) -> None:
        for identity in identities:
            sent = send(identity, decode_frame(frame))
            if sent is not False:
                post((identity,), frame if sent is True else encode_frame(sent), binds=binds)

    player.node._runtime.post_encoded = bent  # type: ignore[method-assign]


@contextlib.asynccontextmanager
async def company(folder: Path) -> AsyncIterator[Company]:
    """Open a company; after the test, close it and check that nothing is left behind."""
    left_over: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
    gathered = Company(folder)
    try:
        yield gathered
    finally:
        await gathered.leave()
        await sockets_closed()
    gc.collect()  # a forgotten socket or task is reported here
    assert not left_over, left_over


async def sockets_closed() -> None:
    """Wait until the event loop watches no sockets. A closing link waits briefly for the peer to close it too."""
    selector = getattr(asyncio.get_running_loop(), "_selector", None)  # Windows' loop has none
    await until(lambda: selector is None or len(selector.get_map()) <= 1)
    await asyncio.sleep(0.05)


async def agree(*players: Player) -> bytes:
    """Wait for the end of the match, check that all players have the same fair transcript, and return it."""
    ends = [await player.until(MatchResult) for player in players]
    transcripts = {end.transcript.read_bytes() for end in ends}
    assert len(transcripts) == 1
    transcript = transcripts.pop()
    assert verify(transcript).verdict == "fair"
    assert len({end.places for end in ends}) == 1
    for player in players:
        assert player.told(Misbehaved) == []
    return transcript


async def in_mid_match(player: Player, events: int = 4) -> None:
    """Wait until the game has had at least ``events`` events and stands still at this player's turn."""
    player.hold(events)
    await until(lambda: player._turn is not None and len(player.told(Happened)) >= events)
