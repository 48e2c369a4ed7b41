"""One node of the world: a real :class:`protocol.match.match.Match` in a shell that does what :mod:`protocol.node.node`
does.

What a pass of the event loop causes is gathered in the node's own :class:`~protocol.node.outbox.Outbox`, whose steps
are carried out as they come. Between any two of these the process can die.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import TYPE_CHECKING, Final

from p2pdice.errors import RulesError
from p2pdice.moves import Concede
from p2pdice.players import Player
from protocol.consensus.replica import Learned, Replace
from protocol.consensus.transcript import write_transcript
from protocol.events import MatchFormed, MatchResult, Misbehaved, NodeEvent, YourTurn
from protocol.match.effects import (
    Accuse,
    Announce,
    Broadcast,
    CalledOff,
    Conceded,
    Effect,
    FrameReceived,
    Linked,
    MatchInput,
    PassOn,
    Played,
    Received,
    Send,
    Show,
    StoreChoice,
    Ticked,
    Unlinked,
    WakeAt,
    Withdrawn,
    WriteTranscript,
)
from protocol.match.match import Match
from protocol.match.signer import StaleMoveError
from protocol.node import outbox
from protocol.node.outbox import Outbox
from protocol.storage.database import StoreError
from protocol.wire.frames import Carried, Cut, Frame, Have, Leave, MalformedFrameError, Need, Page, encode_frame
from protocol.wire.genesis import match_id
from protocol.wire.messages import MalformedMessageError
from tests.owners import decide
from tests.simulation.disk import Disk
from tests.simulation.invariants import Violation
from tests.simulation.scheduler import Timer

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

TICK: Final = 1e-6
"""Seconds that a pass of the event loop takes at least."""


class Crash(Exception):
    """The process dies here."""


class Process:
    """The proposals in which one process takes part. Each is a machine of its own here."""

    def __init__(self) -> None:
        self._machines: tuple[Machine, ...] = ()

    def add(self, machine: Machine) -> None:
        """Take part in a proposal."""
        assert machine.match is not None
        machine.match.may_commit = partial(self.may_commit, machine)
        self._machines = (*self._machines, machine)

    def remove(self, machine: Machine) -> None:
        """Take part in a proposal no more."""
        self._machines = tuple(each for each in self._machines if each is not machine)

    def may_commit(self, machine: Machine) -> bool:
        """Tell whether COMMIT of the first roll may be signed in a proposal: nothing else binds or is played."""
        others = [each.match for each in self._machines if each is not machine and each.match is not None]
        return machine.has_purses_in_order and not any(each.is_bound or each.is_formed for each in others)

    def called_off(self, machine: Machine) -> None:
        """A proposal is dead: now another may bind."""
        for each in self._machines:
            if each is not machine:
                each.feed(Ticked())


class Machine:
    """A node and its owner.

    :param node: its number in the network; beyond the roster for a second machine with a copied key.
    :param author: index in the roster of the key that it plays with.
    :param data: the genesis of the match that it takes part in.
    :param process: with what its owner takes part in beside that.
    """

    make_match: Callable[..., Match] = Match

    def __init__(
        self,
        world: Simulation,
        node: int,
        author: int,
        disk: Disk,
        player: Player,
        data: bytes,
        process: Process | None = None,
    ) -> None:
        self.world = world
        self.node = node
        self.author = author
        self.data = data
        self.process = process or Process()
        self.disk = disk
        self.player = player
        self.is_honest = True
        self.is_gone = False
        """It will never come back."""
        self.is_on_loopback = world.plan.is_on_loopback
        """Rates of messages are not limited."""
        self.match: Match | None = None
        self.is_running = False
        self.is_asleep = False
        self.was_called_off = False
        """Its host, or its owner, had withdrawn the match; it may have been formed all the same."""
        self.has_conceded = False
        self.transcript = b""
        self.confirmed: bool | None = None
        self.shown: list[NodeEvent] = []
        self.armed: tuple[str, float] | None = None
        """(point, seconds): where the process will die, and for how long."""
        self.starts = 0
        self._turn: YourTurn | None = None
        self._wake: Timer | None = None
        self._outbox = self._new_outbox()
        self._encoded: tuple[Frame | None, bytes] = (None, b"")
        """The last frame of this turn, and its bytes."""
        self._deferred: list[Callable[[], None]] = []
        self._home = world.home(author)
        self._is_over = False
        disk.point = self._point

    # Life and death

    @property
    def is_listening(self) -> bool:
        """Whether a dialler gets an answer."""
        return self.is_running and not self.is_asleep

    @property
    def has_purses_in_order(self) -> bool:
        """The purses of all players are as the match names them."""
        if self._home is None or self.match is None:
            return True
        return self._home.keeper.may_sign(self.match.id, self.match.history.genesis)

    @property
    def is_called_off(self) -> bool:
        """The match will not be formed, unless others show that they have gone on."""
        return self.was_called_off and (self.match is None or self.match.is_called_off)

    def start(self) -> None:
        """Start the process from its disk; of the first time that is empty."""
        world = self.world
        stored = self.disk.load()
        world.checks.found(self, stored)
        self.starts += 1
        world.note("start", self.node, len(stored.messages))
        self._turn, self._wake, self._outbox, self._deferred = None, None, self._new_outbox(), []
        self.is_running, self.is_asleep = True, False
        known = (stored.messages, stored.choices) if self.starts > 1 else (None, None)
        if self._home is not None:
            self._home.play_on(self.disk)
        self.match = self.make_match(
            *(self.data, self.author, world.seeds[self.author], *known), host=world.host, stake=self._open_stake
        )
        self._is_over = False
        self.process.add(self)
        self._run(lambda: self._feed(Ticked()))
        if self.is_running:
            world.network.dial_all(self.node)
        for other in self._of_this_process():
            if other.starts and not other.is_running:
                other.start()

    def _of_this_process(self) -> list[Machine]:
        """Return what takes part in other proposals in this very process."""
        machines = self.world.network.machines.values()
        return [each for each in machines if each.process is self.process and each is not self]

    def die(self, *, loses_power: bool = False) -> None:
        """Lose everything that is not on the disk."""
        if not self.is_running:
            return
        self._die(loses_power)
        for other in self._of_this_process():
            if other.is_running:
                other._die(loses_power)

    def _die(self, loses_power: bool) -> None:
        self.world.note("died", self.node, loses_power)
        self.is_running, self.is_asleep, self.armed = False, False, None
        self._wake = None
        self.match = None
        self.close()
        self.disk.close()
        if loses_power:
            self.disk.lose_power()
        if self._home is not None:
            self._home.close()
        self.world.network.process_died(self.node, loses_power)

    def close(self) -> None:
        """Take part in the proposal no more."""
        self.process.remove(self)

    def die_for(self, seconds: float, *, loses_power: bool = False) -> None:
        """Die and be started again by the owner."""
        self.die(loses_power=loses_power)
        self.world.scheduler.after(seconds, self.start_again)

    def start_again(self) -> None:
        """What the owner does who finds the program ended."""
        if not self.is_running and not self.is_gone:
            self.start()

    def sleep(self, seconds: float) -> None:
        """Close the lid: nothing happens here until it is opened, and all timers fire late."""
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
                    self._run(call)
                self.world.network.woke_up()

        self.world.scheduler.after(seconds, wake)

    def _point(self, name: str) -> None:
        self.world.figures.points[name] += 1
        if self.armed is not None and self.armed[0] in (name, "anywhere"):
            seconds, self.armed = self.armed[1], None
            self.world.figures.crashes[name] += 1
            raise Crash(str(seconds))

    def _run(self, call: Callable[[], None]) -> None:
        """Let something happen in this process, unless it died or sleeps."""
        try:
            call()
        except Crash as crash:
            self.die_for(float(str(crash)))
        except Violation:
            raise
        except Exception:
            if self.is_honest:
                raise
            self.die_for(1.0)  # a cheat may trip over its own feet

    def plan(self, time: float, call: Callable[[], None]) -> Timer:
        """Let something happen in this process at a time; a machine that sleeps then does it when it wakes."""
        starts = self.starts

        def happen() -> None:
            if not self.is_running or self.starts != starts:
                return
            if self.is_asleep:
                self._deferred.append(call)
            else:
                self._run(call)

        return self.world.scheduler.at(time, happen)

    def feed(self, item: MatchInput) -> None:
        """Let the node take an input."""
        self.has_conceded = self.has_conceded or isinstance(item, Withdrawn)
        self._run(lambda: self._feed(item))

    # What the network calls

    def link_up(self, author: int) -> None:
        """The link to a player is up, perhaps in place of another."""
        self._run(lambda: self._feed(Linked(author)))

    def link_down(self, author: int) -> None:
        """The link to a player is down."""
        if self.is_running:
            self._run(lambda: self._feed(Unlinked(author)))

    def receive(self, author: int, data: bytes) -> None:
        """A frame came."""
        self._run(lambda: self._take(author, data))

    def _take(self, author: int, data: bytes) -> None:
        assert self.match is not None
        match = self.match.history.match
        try:
            frame = self.world.decoded(data)
        except MalformedFrameError:
            self.world.network.disconnect(self.node, author)
            return
        if isinstance(frame, Carried):
            try:
                signed = self.world.parsed(frame.data, frame.signature)
            except MalformedMessageError:
                self.world.network.disconnect(self.node, author)
                return
            if signed.message.match == match:
                self._feed(Received(author, signed))
        elif isinstance(frame, Need | Page | Cut | Have):
            if frame.match == match:
                self._feed(FrameReceived(author, frame))
        elif isinstance(frame, Leave) or type(frame).__name__ in ("Hello", "Welcome"):
            self.world.network.disconnect(self.node, author)

    # The match

    def _awake(self) -> None:
        self.world.checks.awake(self)
        self._feed(Ticked())

    def _feed(self, item: MatchInput) -> None:
        match = self.match
        if match is None or not self.is_running:
            return
        try:
            for effect in self._handled(match, item):
                match effect:
                    case StoreChoice():
                        self.disk.add_choice(effect.step, effect.text)
                    case Learned():
                        if effect.must_store:
                            self._outbox.keep(effect.signed)
                    case Replace():
                        self._outbox.keep_only(effect.messages)
                    case Send():
                        self._outbox.post((effect.author, effect.frame))
                    case Announce():
                        self._outbox.relay(*((author, effect.have) for author in self._peers()))
                    case Broadcast():
                        frames = ((author, effect.frame) for author in self._peers())
                        self._outbox.post(*frames, binds=effect.binds)
                    case PassOn():
                        carried = Carried(*effect.signed.wire)
                        self._outbox.relay(*((author, carried) for author in effect.authors))
                    case WakeAt():
                        if self._wake is not None:
                            self._wake.cancel()
                        # Exactly then; but a clock has moved on before anything that is due at once can happen.
                        due = max(effect.time, self.world.scheduler.now + TICK)
                        self._wake = self.plan(due, self._awake)
                    case _:
                        if isinstance(effect, WriteTranscript):
                            self._outbox.write_all()
                        self._outbox.afterwards(partial(self._carry_out, effect))
            self._keep_books()
        except StoreError as error:
            self._fall_silent(error)
            return
        self.world.checks.after_input(self)

    def _handled(self, match: Match, item: MatchInput) -> list[Effect]:
        if not self.is_honest:
            return match.handle(item, self.world.scheduler.now)
        began = process_time()
        effects = match.handle(item, self.world.scheduler.now)
        self.world.bill.computed(process_time() - began)
        return effects

    def _keep_books(self) -> None:
        if self._home is not None and self.match is not None:
            self._home.keeper.follow(self.match, is_over=self._is_over)

    def _open_stake(self, bet: int, tickets: int) -> bool:
        genesis = self.world.genesis
        return self._home is None or self._home.keeper.open_stake(match_id(self.data), genesis, (bet, tickets))

    def _new_outbox(self) -> Outbox[tuple[int, Frame]]:
        return Outbox(lambda: self.plan(self.world.scheduler.now, self._flush))

    def _flush(self) -> None:
        has_sent, self._encoded = False, (None, b"")
        try:
            for step in self._outbox.steps():
                match step:
                    case outbox.Write():
                        write = self.disk.replace if step.replaces else self.disk.write
                        write(step.messages)
                        self.world.checks.stored(self)
                    case outbox.Deliver():
                        if not has_sent:
                            has_sent = True
                            self._point("before sending")
                        self._send(*step.letter)
                        self._point("between two frames")
                    case outbox.Delivered():
                        self._point("after sending")
                    case outbox.Do():
                        step.action()
        except StoreError as error:
            self._fall_silent(error)

    def _peers(self) -> tuple[int, ...]:
        return tuple(author for author in range(self.world.plan.players) if author != self.author)

    def _send(self, author: int, frame: Frame) -> None:
        for bent in self.world.bent(self, author, frame):
            if isinstance(bent, bytes):
                data = bent
            elif bent is self._encoded[0]:  # the same goes to everybody: what holds for one of them holds for all
                data = self._encoded[1]
            else:
                data = encode_frame(bent)
                self.world.checks.before_sending(self, author, bent, data)
                self._encoded = bent, data
            self.world.network.send(self.node, author, data)

    def _carry_out(self, effect: Show | Accuse | CalledOff | WriteTranscript) -> None:
        match = self.match
        assert match is not None
        match effect:
            case Show():
                self._show(effect.event)
            case Accuse():
                self.world.checks.accused(self, effect)
                self.shown.append(Misbehaved(match.info[effect.author], effect.step, effect.reason))
            case CalledOff():
                self.was_called_off = True
                self.world.note("called off", self.node)
                self.process.called_off(self)
            case WriteTranscript():
                self._point("before the transcript")
                self.transcript = write_transcript(match.history, match.replica.proven.values())
                self.world.note("ended", self.node)
                self._point("after the transcript")

    def _fall_silent(self, error: StoreError) -> None:
        """What cannot be stored must not be sent: end everything, until the owner starts again."""
        self.world.note("silent", self.node, error)
        self.die()
        self.world.fell_silent(self)

    # The owner

    def _show(self, event: NodeEvent) -> None:
        self.shown.append(event)
        if isinstance(event, MatchFormed):
            self.disk.mark_formed()
        elif isinstance(event, MatchResult):
            self.disk.mark_over()
            self._is_over = True
            self._keep_books()
            self.confirmed = event.confirmed
            self.world.note("over", self.node, event.confirmed)
        elif isinstance(event, YourTurn):
            self._turn = event
            self.plan(self.world.scheduler.now + self.world.think(), lambda: self._move(event))

    def _move(self, turn: YourTurn) -> None:
        if self._turn is not turn:
            return
        self._turn = None
        move = decide(self.player, turn.view)
        self.world.note("move", self.node, turn.token, move)
        self.has_conceded = self.has_conceded or isinstance(move, Concede)
        try:
            self._feed(Conceded() if isinstance(move, Concede) else Played(move, turn.token))
        except StaleMoveError:
            self.world.figures.stale_moves += 1
        except RulesError:
            if self.is_honest:
                raise
