"""What a pass of the loop causes is carried out in one order: stored, sent, done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from p2pdice.rulesets import PRESETS
from protocol.consensus.replica import Learned, Replace
from protocol.crypto.keys import Identity, MatchKey
from protocol.crypto.tls import credentials
from protocol.events import Stopped
from protocol.limits import Limits
from protocol.match.effects import CalledOff, Show, StoreChoice, Ticked, WriteTranscript
from protocol.match.match import Match
from protocol.net.addresses import Address
from protocol.net.mesh import Mesh, MeshOwner
from protocol.node import runtime as runtimes
from protocol.node.locator import Locator
from protocol.node.outbox import BATCH, Deliver, Delivered, Do, Outbox, Write
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import Aim, Carried, Customs, Frame, Hello, Refuse, encode_frame
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.simulation.world import genesis

KEY = MatchKey(bytes(32))
MATCH = b"m" * 32
MESSAGES = tuple(sign(Message(MATCH, step, b"t" * 32, 0, Kind.LOCK, b"h" * 32), KEY) for step in range(2 * BATCH))


class Turns(RuleBasedStateMachine):
    """Any sequence of causes and turns, in which some turns break off: what the owner of an outbox may rely on."""

    def __init__(self) -> None:
        super().__init__()
        self.outbox: Outbox[int] = Outbox(self.schedule)
        self.due = 0
        """How often a turn was asked for since the last one."""
        self.kept: list[int] = []
        """Numbers of all messages that were to be kept, but for what was replaced."""
        self.unwritten: list[int] = []
        """Numbers of those that are on no disk yet."""
        self.disk: list[int] = []
        self.number = 0
        self.posted: list[int] = []
        self.relayed: list[int] = []
        self.actions: list[int] = []
        self.done: list[int] = []
        self.must_write = False
        self.is_needed = False
        """Something was caused that has to be carried out at the end of this turn."""

    def schedule(self) -> None:
        self.due += 1

    def next(self) -> int:
        self.number += 1
        return self.number

    def message(self) -> Signed:
        self.kept.append(self.next() % len(MESSAGES))
        self.unwritten.append(self.kept[-1])
        return MESSAGES[self.kept[-1]]

    @rule(count=st.sampled_from([1, 1, 1, 2, BATCH - 1, BATCH]))
    def keep(self, count: int) -> None:
        for _ in range(count):
            self.outbox.keep(self.message())

    @rule(count=st.integers(1, 4))
    def keep_only(self, count: int) -> None:
        """What is on the disk gives way; what is not there yet may be what frames of this turn rest on."""
        before, self.kept, self.unwritten = self.unwritten, [], []
        self.outbox.keep_only([self.message() for _ in range(count)])
        self.kept += [number for number in dict.fromkeys(before) if number not in self.kept]
        self.unwritten = list(self.kept)

    @rule(count=st.integers(1, 3), binds=st.booleans())
    def post(self, count: int, binds: bool) -> None:
        letters = [self.next() for _ in range(count)]
        self.outbox.post(*letters, binds=binds)
        self.posted += letters
        self.must_write = self.must_write or binds
        self.is_needed = True

    @rule()
    def relay(self) -> None:
        self.relayed.append(self.next())
        self.outbox.relay(self.relayed[-1])
        self.is_needed = True

    @rule()
    def do_afterwards(self) -> None:
        number = self.next()
        self.actions.append(number)
        self.outbox.afterwards(lambda: self.done.append(number))
        self.is_needed = True

    @rule()
    def write_all(self) -> None:
        self.must_write = self.is_needed = True
        self.outbox.write_all()

    @rule(breaks_off_at=st.one_of(st.none(), st.integers(0, 5)))
    def turn(self, breaks_off_at: int | None) -> None:
        had_to_write = self.must_write
        letters = self.posted + self.relayed
        actions = self.actions
        self.posted, self.relayed, self.actions, self.done = [], [], [], []
        self.due, self.is_needed = 0, False
        kinds: list[int] = []
        sent: list[int] = []
        for number, step in enumerate(self.outbox.steps()):
            kinds.append((Write, Deliver, Delivered, Do).index(type(step)))
            if number == breaks_off_at:  # the disk is full, or the process died: this step is not done
                if isinstance(step, Write):
                    return  # what could not be stored remains to be
                break
            match step:
                case Write():
                    written = [signed.message.step for signed in step.messages]
                    self.disk = written if step.replaces else self.disk + written
                    assert self.disk == self.kept
                    self.unwritten = []
                case Deliver():
                    # If anything binds, nothing leaves as long as a crash could make this node forget anything.
                    assert not had_to_write or self.disk == self.kept
                    sent.append(step.letter)
                case Delivered():
                    assert sent == letters
                case Do():
                    step.action()
        else:
            assert (sent, self.done) == (letters, actions)
            assert not had_to_write or self.disk == self.kept
        self.must_write = False
        assert kinds == sorted(kinds)
        assert kinds.count(0) <= 1
        assert kinds.count(2) <= 1
        assert sum(number not in self.disk for number in self.kept) < BATCH

    @invariant()
    def a_turn_is_asked_for_once_and_as_soon_as_there_is_anything_to_do(self) -> None:
        assert self.due == self.is_needed


Turns.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestTurns = Turns.TestCase


def carried_out(outbox: Outbox[str]) -> list[object]:
    steps: list[object] = []
    for step in outbox.steps():
        steps.append(step)
        if isinstance(step, Do):
            step.action()
    return steps


@pytest.fixture
def outbox() -> Outbox[str]:
    return Outbox(lambda: None)


def test_messages_wait_for_the_next_frame_and_all_ride_along(outbox: Outbox[str]) -> None:
    outbox.keep(MESSAGES[0])
    outbox.relay("to a spectator")
    assert carried_out(outbox) == [Deliver("to a spectator"), Delivered()]
    outbox.keep(MESSAGES[1])
    outbox.post("to a player")
    assert carried_out(outbox) == [Write(MESSAGES[:2], False), Deliver("to a player"), Delivered()]
    assert carried_out(outbox) == []


def test_a_frame_that_does_not_bind_leaves_at_once_and_what_it_says_is_stored_with_the_next_that_does(
    outbox: Outbox[str],
) -> None:
    outbox.keep(MESSAGES[0])
    outbox.post("REVEAL", binds=False)
    assert carried_out(outbox) == [Deliver("REVEAL"), Delivered()]
    outbox.keep(MESSAGES[1])
    outbox.post("REVEAL of another match", binds=False)
    outbox.post("MOVE")
    written = Write(MESSAGES[:2], False)
    assert carried_out(outbox) == [written, Deliver("REVEAL of another match"), Deliver("MOVE"), Delivered()]


def test_so_many_messages_are_stored_without_a_frame_and_one_fewer_are_not(outbox: Outbox[str]) -> None:
    for signed in MESSAGES[: BATCH - 1]:
        outbox.keep(signed)
    assert carried_out(outbox) == []
    outbox.keep(MESSAGES[BATCH - 1])
    assert carried_out(outbox) == [Write(MESSAGES[:BATCH], False)]


def test_effects_of_an_action_belong_to_the_next_turn(outbox: Outbox[str]) -> None:
    def answer() -> None:
        outbox.keep(MESSAGES[0])
        outbox.post("answer")

    outbox.afterwards(answer)
    assert carried_out(outbox) == [Do(answer)]
    assert carried_out(outbox) == [Write(MESSAGES[:1], False), Deliver("answer"), Delivered()]


def test_effects_of_a_withdrawn_proposal_replace_nothing_of_the_next(outbox: Outbox[str]) -> None:
    outbox.keep_only(MESSAGES[:2])
    outbox.forget(MATCH)
    outbox.keep(MESSAGES[2])
    outbox.write_all()
    assert carried_out(outbox) == [Write(MESSAGES[2:3], False)]


def test_messages_of_two_matches_are_stored_apart(outbox: Outbox[str]) -> None:
    """The end of one match can still be confirmed while the next one is played."""
    other = sign(Message(b"n" * 32, 1, b"t" * 32, 0, Kind.LOCK, b"h" * 32), KEY)
    for signed in (MESSAGES[0], other, MESSAGES[1]):
        outbox.keep(signed)
    outbox.keep_only([other])
    outbox.write_all()
    assert carried_out(outbox) == [Write(MESSAGES[:2], False), Write((other,), True)]
    for signed in (MESSAGES[0], other):
        outbox.keep(signed)
    outbox.forget(MATCH)
    outbox.write_all()
    assert carried_out(outbox) == [Write((other,), False)]


# The shell


class Nobody(MeshOwner):
    """Owns links that nobody uses."""

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        raise AssertionError("nobody says HELLO here")

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        pass

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        pass

    def peer_down(self, identity: bytes, reason: str) -> None:
        pass


class Tapped(Mesh):
    """Links that write down, of every frame that leaves, what is on the disk at that moment."""

    def __init__(self, identity: Identity, store: Store) -> None:
        super().__init__(credentials(identity.private_key), Nobody())
        self.left: list[tuple[bytes, int]] = []
        """(frame, messages on the disk)"""
        self._store = store

    def send(self, identity: bytes, frame: bytes) -> None:
        self.left.append((frame, sum(len(self._store.messages(known.match)) for known in self._store.matches())))


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[tuple[Runtime, Store, Tapped]]:
    home, identity = Home(tmp_path), Identity.generate()
    store = Store(home.store)
    store.add_seed(KEY.public, b"s" * 32)
    store.add_match(MATCH, b"genesis", KEY.public, 1, 7000)
    mesh = Tapped(identity, store)
    yield Runtime(home, identity, store, mesh, Locator(None, is_enabled=False), Limits()), store, mesh
    store.close()


async def test_the_shell_sends_what_the_real_store_holds_at_the_end_of_the_turn(
    node: tuple[Runtime, Store, Tapped],
) -> None:
    runtime, store, mesh = node
    told: list[int] = []
    runtime.outbox.afterwards(lambda: told.append(len(mesh.left)))
    runtime.relay((b"spectator",), b"a message")
    for signed in MESSAGES[:3]:
        runtime.outbox.keep(signed)
        runtime.post_encoded((b"player", b"other"), signed.data)
    assert (store.messages(MATCH), mesh.left, told) == ((), [], [])
    await asyncio.sleep(0)
    assert [at for _, at in mesh.left] == [3] * 7
    assert mesh.left[-1][0] == b"a message"
    assert told == [7]
    runtime.outbox.keep_only(MESSAGES[5:6])
    runtime.outbox.write_all()
    await asyncio.sleep(0)
    assert [signed.id for signed in store.messages(MATCH)] == [MESSAGES[5].id]


class Bare(Session):
    """Stores what its match learns, and tells nobody."""

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        assert isinstance(effect, Learned)
        self._runtime.outbox.keep(effect.signed)

    def carry_out(self, effect: WriteTranscript | CalledOff | Show) -> None:
        pass

    def follow_up(self) -> None:
        pass


async def test_a_message_of_a_match_that_binds_is_on_the_disk_when_it_leaves(
    node: tuple[Runtime, Store, Tapped],
) -> None:
    runtime, store, mesh = node
    table, seeds = genesis(PRESETS["classic"], 3, b"a table")
    match = Match(table.encoded(), 0, seeds[0])
    store.add_match(match.id, table.encoded(), KEY.public, 1, 7000)
    session = Bare(runtime, match, Occasion.now("", Customs()))
    session.feed(Ticked())
    await asyncio.sleep(0)
    assert mesh.left == [(encode_frame(Carried(*match.history.held[0].wire)), 1)] * 2
    session.close()


async def test_what_the_owner_was_told_is_stored_though_no_frame_leaves(
    node: tuple[Runtime, Store, Tapped], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both programs were killed: the saved match named the wrong player as the one for whom it waits."""
    monkeypatch.setattr(runtimes, "IDLE", 0.05)
    runtime, store, _ = node
    runtime.outbox.keep(MESSAGES[0])
    runtime.outbox.afterwards(lambda: None)
    await asyncio.sleep(0.02)
    assert not store.messages(MATCH)  # it may ride along with others
    async with asyncio.timeout(10):
        while not store.messages(MATCH):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    runtime.outbox.keep(MESSAGES[1])
    runtime.outbox.afterwards(lambda: None)
    await asyncio.sleep(0)
    runtime.close()
    await asyncio.sleep(0.1)
    assert len(store.messages(MATCH)) == 1


async def test_the_shell_sends_nothing_that_the_disk_did_not_take(node: tuple[Runtime, Store, Tapped]) -> None:
    runtime, store, mesh = node
    store.close()
    told: list[str] = []
    runtime.outbox.keep(MESSAGES[0])
    runtime.post_encoded((b"player",), b"frame")
    runtime.outbox.afterwards(lambda: told.append("something"))
    await asyncio.sleep(0)
    assert (mesh.left, told, runtime.is_silent) == ([], [], True)
    assert isinstance(runtime.events.get_nowait(), Stopped)
    await runtime.tasks_done()
