"""Processes that run the real :class:`protocol.node.activities.Activities` in a world, on its clock, network and disks.

A process can die between any two steps of the node's outbox, and around every write to the disk. A :class:`Machine` is
the part of one process in one match.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from itertools import cycle
from operator import attrgetter
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple, cast

from p2pdice.errors import RulesError
from p2pdice.moves import Concede
from p2pdice.players import Player
from p2pdice.players.contest import answer
from protocol.events import MatchResult, NodeEvent, Stopped, YourTurn
from protocol.limits import Limits
from protocol.match.effects import Accuse, Conceded, Effect, MatchInput, Played, Ticked, Withdrawn
from protocol.match.match import Match
from protocol.match.signer import StaleMoveError
from protocol.match.waiting import Party
from protocol.net.addresses import Address
from protocol.net.link import ENDED
from protocol.net.mesh import Mesh, MeshOwner
from protocol.node.activities import Activities
from protocol.node.locator import Locator
from protocol.node.playing import PlayerSession
from protocol.node.session import Occasion
from protocol.storage.home import Home
from protocol.wire.frames import (
    Carried,
    Cut,
    Frame,
    Have,
    Hello,
    MalformedFrameError,
    MatchAim,
    Need,
    Page,
    Unknown,
    Welcome,
)
from protocol.wire.genesis import match_id, parse_genesis
from tests.simulation.disk import Disk
from tests.simulation.invariants import Violation
from tests.simulation.scheduler import Timer
from tests.simulation.world import IDENTITIES

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
TICK: Final = 1e-6
"""The shortest delay of a timer, in seconds."""


class Crash(Exception):
    """Raised where a process dies. Its text is the number of seconds until the owner restarts the process."""


class _Handle(asyncio.TimerHandle):
    timer: Timer

    def cancel(self) -> None:
        super().cancel()
        self.timer.cancel()


class _Loop(asyncio.BaseEventLoop):
    """The event loop of one process. Its callbacks are timers of the world's scheduler."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def time(self) -> float:
        return self._process.world.scheduler.now

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        # A real clock advances before a timer fires, even if the timer has no delay.
        return self._handle(max(when, self.time() + TICK), partial(callback, *args))

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self._handle(self.time(), partial(callback, *args))

    def _handle(self, when: float, call: Callable[[], object]) -> _Handle:
        handle = _Handle(when, call, (), self)
        handle.timer = self._process.plan(when, call)
        return handle

    def create_task(self, coro: Coroutine[Any, Any, T], **_: object) -> asyncio.Task[T]:  # type: ignore[override]
        """Run a coroutine to its end at once. It must not wait for anything."""
        done = self.create_future()
        try:
            coro.send(None)
        except StopIteration as end:
            done.set_result(end.value)
        else:
            raise NotImplementedError("a coroutine that waits is not supported")
        return cast("asyncio.Task[T]", done)


class _Links(Mesh):
    """The mesh of one process. It never dials, because the network of the world makes all links."""

    def __init__(self, process: Process, owner: MeshOwner) -> None:
        self._process = process
        self._owner = owner
        self._network = process.world.network
        self._is_sending = False

    @property
    def port(self) -> int:
        return self.addresses[0][1]

    @property
    def addresses(self) -> tuple[Address, ...]:
        return self._process.world.genesis.roster[self._process.author].join.addresses

    def is_linked(self, identity: bytes) -> bool:
        return identity in self.linked()

    def linked(self) -> tuple[bytes, ...]:
        authors = self._network.linked(self._process.node)
        return tuple(sorted(self._process.world.genesis.roster[author].join.identity for author in authors))

    def asked(self, identity: bytes) -> None:
        """Nothing to do: every link is for the match."""

    def send(self, identity: bytes, frame: bytes) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._process.point("before sending")
        self._process.send(self._process.world.author(identity), frame)
        self._process.point("between two frames")

    def flush(self) -> None:
        self._is_sending = False
        self._process.point("after sending")

    def excuse(self, identity: bytes) -> None:
        self._network.excuse(self._process.node, self._process.world.author(identity))

    def disconnect(self, identity: bytes, reason: str = ENDED) -> None:
        self._network.disconnect(self._process.node, self._process.world.author(identity), reason)

    def take(self, identity: bytes, data: bytes) -> None:
        """Handle the bytes of a frame, like the real mesh."""
        try:
            frame = self._process.world.decoded(data)
        except MalformedFrameError:
            self.disconnect(identity)
            return
        if isinstance(frame, Hello | Welcome):
            self.disconnect(identity)
        elif not isinstance(frame, Unknown):
            self._owner.peer_frame(identity, frame)

    def set_roster(self, identities: object) -> None:
        """Nothing to do: no simulated peer is a stranger."""

    def keep(self, *_: object) -> None:
        """Nothing to do: the network keeps all links."""

    def stop_dialling(self, identity: bytes) -> None:
        """Nothing to do: the network keeps all links."""

    async def close(self) -> None:
        """Nothing to do: :meth:`Process.die` ends the links."""


class Process:
    """The process of one node, which can die and be started again from its disk, and the owner who plays there.

    :param node: the number of the node in the network. It equals ``author``, except for the second node of a player
        who uses one key on two machines: such nodes get higher numbers.
    :param author: the roster index of the player.
    """

    pledge = "redeemed"
    party: Party | None = None

    def __init__(self, world: Simulation, node: int, author: int, disk: Disk, player: Player) -> None:
        self.world = world
        self.node = node
        self.author = author
        self.disk = disk
        self.player = player
        join = world.genesis.roster[author].join
        self.name = join.nickname
        self.identity = join.identity
        self.home = Home(Path(f"node {node}"))
        self.secrets = cycle((world.seeds[author], join.nonce))
        """The values that stand for random bytes when the node signs a JOIN: match seed and nonce by turns."""
        self.is_honest = True
        self.is_gone = False
        """Whether it will never start again."""
        self.is_on_loopback = world.plan.is_on_loopback
        """Whether the rate limits of messages do not apply to it."""
        self.is_running = False
        self.is_asleep = False
        self.armed: tuple[str, float] | None = None
        """(point, seconds): the point at which the process will die, and the time until it is started again."""
        self.starts = 0
        self.machines: tuple[Machine, ...] = ()
        """All proposals and matches of this process."""
        self.active: Activities
        self.loop: _Loop
        self._turn: YourTurn | None = None
        self._checked = b""
        """The bytes of the last frame that was checked. A frame that goes to several nodes is checked once."""
        self._deferred: list[Callable[[], object]] = []
        """Timers that fired while the machine slept."""
        backups = (each.kind == "restored backup" and each.node == node for each in world.plan.faults)
        disk.begin(self.point, self._stored, keeps_backups=any(backups))

    # Life and death

    @property
    def is_listening(self) -> bool:
        """Whether a node that dials this one gets an answer."""
        return self.is_running and not self.is_asleep

    def start(self) -> None:
        """Start the process from its disk."""
        self.starts += 1
        self._turn, self._deferred = None, []
        self.loop = _Loop(self)
        self.world.resources.callback(self.loop.close)
        self.is_running, self.is_asleep = True, False
        self.run(self._begin)
        if self.is_running:
            self.world.network.dial_all(self.node)

    def _begin(self) -> None:
        world = self.world
        store = self.disk.open(machine.id for machine in self.machines)
        world.checks.found(self.node, store)
        world.note("start", self.node, sum(len(self.disk.sizes[machine.id]) for machine in self.machines))
        identity = IDENTITIES[self.identity]
        locator = Locator(None, is_enabled=False)
        self.active = Activities(self.home, identity, store, locator, Limits(), self, None, self._link)
        self.active.runtime.purses.shown.update(world.shown_to(self.identity))
        kept = filter(None, (store.match(machine.id) for machine in self.machines))
        played = (each for each in kept if each.formed or not each.given_up)
        wanted = max(played, key=attrgetter("number"), default=None)
        if wanted is not None:
            self.active.proposals.resume(wanted)
        else:
            self.active.proposals.serve_given_up()
        for machine in self.machines:
            if machine.session is None:
                machine.take_part()

    def _link(self, owner: MeshOwner) -> Mesh:
        self.links = _Links(self, owner)
        return self.links

    def die(self, *, loses_power: bool = False) -> None:
        """End the process. Everything that is not on the disk is lost."""
        if not self.is_running:
            return
        self.world.note("died", self.node, loses_power)
        self.is_running, self.is_asleep, self.armed = False, False, None
        for machine in self.machines:
            machine.match = None
        if loses_power:
            self.disk.lose_power()
        self.world.network.process_died(self.node, loses_power)

    def die_for(self, seconds: float, *, loses_power: bool = False) -> None:
        """Die. The owner starts the process again after some seconds."""
        self.die(loses_power=loses_power)
        self.world.scheduler.after(seconds, self.start_again)

    def start_again(self) -> None:
        """Start the process, unless it runs already or is gone for good."""
        if not self.is_running and not self.is_gone:
            self.start()

    def sleep(self, seconds: float) -> None:
        """Suspend the machine. When it wakes, its timers fire late."""
        if not self.is_listening:
            return
        self.world.note("asleep", self.node)
        self.is_asleep = True
        self.world.network.fell_asleep(self.node)
        starts = self.starts

        def wake() -> None:
            if self.is_asleep and self.starts == starts:
                self.world.note("awake", self.node)
                self.is_asleep = False
                deferred, self._deferred = self._deferred, []
                for call in deferred:
                    self.run(call)
                self.world.network.go_on()

        self.world.scheduler.after(seconds, wake)

    def point(self, name: str) -> None:
        """Called at every point where the process can die. :raises Crash: if it dies here."""
        self.world.figures.points[name] += 1
        if self.armed is not None and self.armed[0] in (name, "anywhere"):
            seconds, self.armed = self.armed[1], None
            self.world.figures.crashes[name] += 1
            raise Crash(str(seconds))

    def plan(self, time: float, call: Callable[[], object]) -> Timer:
        """Call a function in this process at a certain time, or when the machine wakes, if it sleeps then."""
        starts = self.starts

        def happen() -> None:
            if not self.is_running or self.starts != starts:
                return
            if self.is_asleep:
                self._deferred.append(call)
            else:
                self.run(call)

        return self.world.scheduler.at(time, happen)

    def run(self, call: Callable[[], object]) -> None:
        """Call a function in this process, then handle the events that the node has emitted."""
        if not self.is_running:
            return
        world = self.world
        world.acting.append(self)
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(self.loop)
        try:
            call()
            self._hear()
        except Crash as crash:
            self.die_for(float(str(crash)))
        except Violation:
            raise
        except Exception:
            if self.is_honest:
                raise
            self.die_for(1.0)  # a cheat may break its own node
        finally:
            asyncio._set_running_loop(outer)
            world.acting.pop()

    # Called by the network

    def link_up(self, author: int) -> None:
        """A link to a player is up. It may replace an older one."""
        join = self.world.genesis.roster[author].join
        self.run(lambda: self.active.peer_up(join.identity, MatchAim(self.world.match), join.addresses[0]))

    def link_down(self, author: int, reason: str) -> None:
        """The link to a player is down."""
        self.run(lambda: self.active.peer_down(self.world.genesis.roster[author].join.identity, reason))

    def receive(self, author: int, data: bytes) -> None:
        """A frame from a player has arrived."""
        self.run(lambda: self.links.take(self.world.genesis.roster[author].join.identity, data))

    # Called by the node

    def send(self, author: int, data: bytes) -> None:
        """Send the bytes of a frame. A cheat may send others instead."""
        if self.is_honest and data is not self._checked:
            self._checked = data
            frame = self.world.decoded(data)
            if (machine := self._sender(frame)) is not None:
                self.world.checks.before_sending(machine, author, frame, data)
        for bent in self.world.bent(self, author, data):
            self.world.network.send(self.node, author, bent)

    def _sender(self, frame: Frame) -> Machine | None:
        """Return the part of this process in the match of a frame; None if the match belongs to an earlier world."""
        if isinstance(frame, Carried):
            match = self.world.parsed(frame.data, frame.signature).message.match
        else:
            match = frame.match if isinstance(frame, Need | Page | Cut | Have) else b""
        return next((machine for machine in self.machines if machine.id == match), None)

    def write(self, path: Path, data: bytes) -> None:
        """Write a transcript, or another file of this home."""
        if path.parent != self.home.matches:
            return  # a proof; Checks.accused has checked it
        machine = next(each for each in self.machines if path.stem.endswith(each.id.hex()[:8]))
        self.point("before the transcript")
        machine.transcript = data
        self.world.note("ended", self.node)
        self.point("after the transcript")

    def _stored(self) -> None:
        for machine in self.machines:
            self.world.checks.stored(machine)

    # The owner

    def _hear(self) -> None:
        """Handle the events that the node has emitted, and update the state of its matches."""
        events = self.active.runtime.events
        while self.is_running and not events.empty():
            self._take(events.get_nowait())
        for machine in self.machines if self.is_running else ():
            machine.look()

    def _take(self, event: NodeEvent | None) -> None:
        if isinstance(event, Stopped):  # the owner will start it again
            self.world.note("silent", self.node, event.reason)
            self.die()
            self.world.heal_after(self.world.streams.disk.uniform(0.5, 5.0), self.start_again)
        elif isinstance(event, MatchResult):
            machine = next(each for each in self.machines if each.id.hex() == event.match_id)
            machine.confirmed = event.confirmed
            self.world.note("over", self.node, event.confirmed)
        elif isinstance(event, YourTurn):
            self._turn = event
            self.plan(self.world.scheduler.now + self.world.think(), lambda: self._move(event))

    def _move(self, turn: YourTurn) -> None:
        session = self.active.proposals.session
        if self._turn is not turn or session is None:
            return
        self._turn = None
        move = answer(self.player, turn.view)
        self.world.note("move", self.node, turn.token, move)
        try:
            session.feed(Conceded() if isinstance(move, Concede) else Played(move, turn.token))
        except StaleMoveError:
            pass  # the turn is over
        except RulesError:
            if self.is_honest:
                raise


class Machine:
    """The part of one process in one match, which may only be proposed.

    :param number: its number in reports.
    :param data: the genesis.
    """

    def __init__(self, process: Process, number: int, data: bytes) -> None:
        self.process = process
        self.node = number
        self.data = data
        self.id = match_id(data)
        self.world = process.world
        self.author = process.author
        self.disk = process.disk
        self.match: Match | None = None
        self.was_called_off = False
        """Whether its host or owner has withdrawn the match. Other players may have formed the match anyway."""
        self.is_replaced = False
        """Whether another proposal replaced this one before the player signed COMMIT."""
        self.has_conceded = False
        self.transcript = b""
        self.confirmed: bool | None = None
        process.machines = (*process.machines, self)

    @property
    def is_honest(self) -> bool:
        return self.process.is_honest

    @property
    def is_called_off(self) -> bool:
        """Whether this player has given the match up. It is formed anyway if peers show that they have gone on."""
        return self.was_called_off and (self.match is None or self.is_replaced or self.match.is_called_off)

    @property
    def session(self) -> PlayerSession | None:
        return self.process.active.proposals.find(self.id)

    def take_part(self) -> None:
        """Sign the proposal, unless it was withdrawn or this player's match has begun.

        A process that was restarted signs it anew, with the same keys, because a proposal is not stored.
        """
        if self.was_called_off or self.has_conceded or self.process.active.proposals.formed is not None:
            self.was_called_off = True
            return
        active, genesis = self.process.active, parse_genesis(self.data)
        active.proposals.sign_on(genesis.table, has_purse=genesis.ruleset.stakes)
        host = genesis.roster[self.world.host].join.identity
        active.proposals.begin(genesis, Occasion(0, "table"), host).start(active.mesh.linked())

    def feed(self, item: MatchInput) -> None:
        """Pass an input to the match, if the node has it."""
        session = self.session
        if session is not None:
            self.process.run(lambda: session.feed(item))

    def look(self) -> None:
        """Update this object from the state of the match at its node."""
        session = self.session
        if session is None:
            self.was_called_off = self.is_replaced = True
        elif session.is_given_up and not self.was_called_off:
            self.was_called_off = True
            self.world.note("called off", self.node)
        if session is not None and session.is_over and self.confirmed is None:
            self.confirmed = True  # a node does not report the result to an owner who has given the match up


class Observed(Match):
    """The match of an honest node. It is the real class, but timed, and checked after every input."""

    def __init__(self, machine: Machine, *arguments: Any, **options: Any) -> None:
        self._machine = machine
        super().__init__(*arguments, **options)

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        machine, world = self._machine, self._machine.world
        if isinstance(item, Ticked):
            world.checks.awake(machine)
        machine.has_conceded = machine.has_conceded or isinstance(item, Conceded | Withdrawn)
        began = process_time()
        effects = super().handle(item, now)
        world.bill.computed(process_time() - began)
        world.checks.after_input(machine)
        for effect in effects:
            if isinstance(effect, Accuse):
                world.checks.accused(machine, effect)
        return effects
