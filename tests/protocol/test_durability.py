"""The messages that a node must store on disk before it sends them, and those it need not: SPEC.md, §11."""

from __future__ import annotations

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import Purpose
from protocol.crypto.hashing import HASH_BYTES
from protocol.events import Misbehaved
from protocol.match.effects import Broadcast, Conceded, Effect, MatchInput, Received
from protocol.match.match import Match
from protocol.wire.frames import Carried
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Signed
from tests.protocol.voting import HURRIED, deliver_except_to, signed_by
from tests.simulation.world import Machine, World

PLAYERS = 4
SHORT = PRESETS["classic"].with_options({"dice": "2"})
OPENINGS = (Kind.REVEAL, Kind.OPEN)


class Observed(Match):
    """Records in ``waits`` whether each message of its own waits for the disk, and whether more witness signatures
    could arrive than it held when it signed the LOCK before."""

    witnessed: frozenset[int] = frozenset()

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        effects = super().handle(item, now)
        for effect in effects:
            match effect:
                case Broadcast(Carried(data, signature), binds):
                    message = parse_signed(data, signature).message
                    if message.author != self.me:
                        continue
                    place = self.history.chain[message.step]
                    if message.kind is Kind.LOCK and place.locks:
                        self.witnessed = frozenset(self.history.countersigned.get(place.locks[-1].tip, ()))
                    others = set(range(PLAYERS)).difference(place.players, place.left, self.witnessed)
                    waits.add((message.kind, message.kind in OPENINGS and bool(others), binds))
        return effects


waits: set[tuple[int, bool, bool]] = set()
"""(kind, whether more witness signatures could arrive, whether the message waits for the disk)"""


def test_only_messages_that_bind_their_author_or_state_a_choice_wait_for_the_disk() -> None:
    waits.clear()
    world = World(SHORT.with_options({"stakes": "yes"}), PLAYERS, seed=1, kinds=dict.fromkeys(range(PLAYERS), Observed))
    world.run()
    always = (Kind.COMMIT, Kind.LOCK, Kind.STAKE, Kind.MOVE, Kind.RESULT)
    assert waits == {
        *((kind, False, True) for kind in always),
        *((kind, more, more) for kind in OPENINGS for more in (False, True)),
        (Kind.WITNESS, False, False),
    }


def test_votes_and_resignations_wait_for_the_disk() -> None:
    waits.clear()
    world = World(SHORT, PLAYERS, seed=1, patience=HURRIED, kinds=dict.fromkeys(range(PLAYERS), Observed))
    gone = world.first_turn()
    world.crash(gone)
    world.feed((gone + 1) % PLAYERS, Conceded())
    world.run()
    kinds = {Kind.ABSENT, Kind.CLOSE, Kind.RESIGN}
    assert {(kind, waited) for kind, _, waited in waits if kind in kinds} == {(kind, True) for kind in kinds}


def test_an_opening_waits_for_the_disk_if_its_author_has_not_signed_the_lock_before_it() -> None:
    """Votes closed that LOCK. After a crash the author could sign it, and then resign in the slot of the opening."""
    world = World(SHORT, PLAYERS, seed=1, patience=HURRIED)
    me, others = 0, range(1, PLAYERS)
    match = world.machines[me].match
    while not (match.history.position.purpose is Purpose.DEAL and me in match.history.held):
        assert world.step()
    deliver_except_to(world, me)
    for other in others:
        world.cut(me, other)
    while any(world.machines[other].match.history.position.kind is not Kind.REVEAL for other in others):
        assert world.step()
    for signed in reversed([*world.machines[1].match.replica.shown(match.history.position.step)]):
        world.feed(me, Received(signed.message.author, signed))  # the votes before the messages they name
    assert match.history.chain[-1].certificate
    (reveal,) = (
        signed for signed in signed_by(world, me, Kind.REVEAL) if signed.message.tip == match.history.position.tip
    )
    assert reveal in world.machines[me].disk


def sent_and_not_stored(world: World, kind: Kind) -> tuple[int, Signed]:
    """Run until a player has sent a message of this kind without storing it; return the player and the message."""
    while True:
        assert world.step()
        for me, machine in enumerate(world.machines):
            signed = machine.match.replica.signed_at(machine.match.history.position)
            if signed is not None and signed.message.kind is kind and signed in machine.unwritten:
                return me, signed


def carries(opening: Signed) -> bool:
    """Tell whether a REVEAL or OPEN carries a witness signature."""
    body = opening.message.body
    return len(body) > HASH_BYTES if isinstance(body, bytes) else isinstance(body, tuple) and body[-1] != b""


def said(machine: Machine, sent: Signed) -> list[bytes]:
    """Return the ids of the messages that a node has kept for the slot of ``sent``."""
    return [signed.id for signed in machine.stored if signed.message[:4] == sent.message[:4]]


@pytest.mark.parametrize("are_witnessed", [False, True])
@pytest.mark.parametrize("kind", OPENINGS)
def test_a_message_sent_but_lost_in_a_crash_is_signed_again_with_the_same_bytes(
    kind: Kind, are_witnessed: bool
) -> None:
    world = World(SHORT, PLAYERS, seed=2)
    while True:
        me, sent = sent_and_not_stored(world, kind)
        if carries(sent) == are_witnessed:
            break
    world.crash(me)
    assert sent.id not in {signed.id for signed in world.machines[me].disk}
    world.restart(me)
    world.run()
    assert [machine.confirmed for machine in world.machines] == [True] * PLAYERS
    for machine in world.machines:
        assert machine.match.history.chain[sent.message.step + 1].entries[me].id == sent.id


@pytest.mark.parametrize("are_witnessed", [False, True])
def test_a_restarted_player_does_not_resign_in_the_slot_of_a_message_it_may_have_lost(are_witnessed: bool) -> None:
    """A player who holds the REVEAL is cut off when the author restarts, so a RESIGN would convict the author later."""
    world = World(SHORT, PLAYERS, seed=3, patience=Patience(30, 5))
    while True:
        me, sent = sent_and_not_stored(world, Kind.REVEAL)
        if carries(sent) == are_witnessed:
            break
    keeper = (me + 1) % PLAYERS
    while world.links[me, keeper]:
        world.deliver(me, keeper)
    world.crash(me)
    for other in range(PLAYERS):
        world.cut(keeper, other)
    world.restart(me)
    world.cut(me, keeper)
    world.feed(me, Conceded())
    while not (again := said(world.machines[me], sent)):
        assert world.step()
    for other in range(PLAYERS):
        if other != keeper:
            world.link(keeper, other)
    world.run()
    assert [world.told(each, Misbehaved) for each in range(PLAYERS)] == [[]] * PLAYERS
    assert again == [sent.id]
    assert me in world.machines[keeper].match.history.position.resigned
