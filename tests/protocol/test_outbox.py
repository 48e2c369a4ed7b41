"""The effects of one event loop turn are carried out in a fixed order: store, send, then run actions."""

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
from protocol.net.mesh import Mesh
from protocol.node import runtime as runtimes
from protocol.node.locator import Locator
from protocol.node.outbox import BATCH, Deliver, Delivered, Do, Outbox, Write
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.frames import Carried, Customs, encode_frame
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.links import Nobody
from tests.simulation.world import genesis
from tests.waiting import until

KEY = MatchKey(bytes(32))
MATCH = b"m" * 32
MESSAGES = tuple(sign(Message(MATCH, step, b"t" * 32, 0, Kind.LOCK, b"h" * 32), KEY) for step in range(2 * BATCH))


class Turns(RuleBasedStateMachine):
    """Checks the outbox's guarantees under any sequence of calls and turns. Some turns fail half-way."""

    def __init__(self) -> None:
        super().__init__()
        self.outbox: Outbox[int] = Outbox(self.schedule)
        self.due = 0
        """How many turns were requested since the last one."""
        self.kept: list[int] = []
        """Numbers of all messages to keep, without the replaced ones."""
        self.unwritten: list[int] = []
        """Numbers of the kept messages that are not on the disk yet."""
        self.disk: list[int] = []
        self.number = 0
        self.posted: list[int] = []
        self.relayed: list[int] = []
        self.actions: list[int] = []
        self.done: list[int] = []
        self.must_write = False
        self.is_needed = False
        """Some effect has to be carried out at the end of this turn."""

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
        """Replaces the messages on the disk. Unwritten ones stay, because frames of this turn may depend on them."""
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
            if number == breaks_off_at:  # this step fails: the disk is full, or the process dies
                if isinstance(step, Write):
                    return  # the messages are still to be stored
                break
            match step:
                case Write():
                    written = [signed.message.step for signed in step.messages]
                    self.disk = written if step.replaces else self.disk + written
                    assert self.disk == self.kept
                    self.unwritten = []
                case Deliver():
                    # If any frame is binding, no frame leaves before every kept message is on the disk.
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
    def a_turn_is_requested_exactly_once_when_there_is_something_to_do(self) -> None:
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


def test_messages_are_stored_together_before_the_next_binding_frame(outbox: Outbox[str]) -> None:
    outbox.keep(MESSAGES[0])
    outbox.relay("to a spectator")
    assert carried_out(outbox) == [Deliver("to a spectator"), Delivered()]
    outbox.keep(MESSAGES[1])
    outbox.post("to a player")
    assert carried_out(outbox) == [Write(MESSAGES[:2], False), Deliver("to a player"), Delivered()]
    assert carried_out(outbox) == []


def test_a_non_binding_frame_leaves_at_once_and_its_message_is_stored_before_the_next_binding_frame(
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


def test_a_full_batch_of_messages_is_stored_without_a_frame(outbox: Outbox[str]) -> None:
    for signed in MESSAGES[: BATCH - 1]:
        outbox.keep(signed)
    assert carried_out(outbox) == []
    outbox.keep(MESSAGES[BATCH - 1])
    assert carried_out(outbox) == [Write(MESSAGES[:BATCH], False)]


def test_effects_of_an_action_are_carried_out_in_the_next_turn(outbox: Outbox[str]) -> None:
    def answer() -> None:
        outbox.keep(MESSAGES[0])
        outbox.post("answer")

    outbox.afterwards(answer)
    assert carried_out(outbox) == [Do(answer)]
    assert carried_out(outbox) == [Write(MESSAGES[:1], False), Deliver("answer"), Delivered()]


def test_a_withdrawn_proposal_does_not_replace_messages_of_the_next_one(outbox: Outbox[str]) -> None:
    outbox.keep_only(MESSAGES[:2])
    outbox.forget(MATCH)
    outbox.keep(MESSAGES[2])
    outbox.write_all()
    assert carried_out(outbox) == [Write(MESSAGES[2:3], False)]


def test_messages_of_two_matches_are_stored_apart(outbox: Outbox[str]) -> None:
    """Receipts for the end of one match may still arrive while the next one is played."""
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


# The runtime with a real store


class Tapped(Mesh):
    """A mesh that records each frame sent and how many messages are on the disk at that moment."""

    def __init__(self, identity: Identity, store: Store) -> None:
        super().__init__(credentials(identity.private_key), Nobody())
        self.left: list[tuple[bytes, int]] = []
        """For each frame sent: (frame, number of messages on the disk)."""
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


async def test_frames_are_sent_after_the_messages_of_their_turn_are_stored(
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
    """A session that stores the messages of its match and ignores all other effects."""

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        assert isinstance(effect, Learned)
        self._runtime.outbox.keep(effect.signed)

    def carry_out(self, effect: WriteTranscript | CalledOff | Show) -> None:
        pass

    def follow_up(self) -> None:
        pass


async def test_a_binding_message_is_on_the_disk_before_it_is_sent(
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


async def test_messages_behind_reported_events_are_stored_even_if_no_frame_is_sent(
    node: tuple[Runtime, Store, Tapped], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, after a crash of all players, a saved match may name the wrong player as the one it waits for."""
    monkeypatch.setattr(runtimes, "IDLE", 0.05)
    runtime, store, _ = node
    runtime.outbox.keep(MESSAGES[0])
    runtime.outbox.afterwards(lambda: None)
    await asyncio.sleep(0.02)
    assert not store.messages(MATCH)  # it waits to be written together with others
    await until(lambda: store.messages(MATCH))
    runtime.outbox.keep(MESSAGES[1])
    runtime.outbox.afterwards(lambda: None)
    await asyncio.sleep(0)
    runtime.close()
    await asyncio.sleep(0.1)
    assert len(store.messages(MATCH)) == 1


async def test_nothing_is_sent_that_could_not_be_stored(node: tuple[Runtime, Store, Tapped]) -> None:
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
