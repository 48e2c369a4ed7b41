"""Players who are out of the game sign the LOCKs that they see and can vote, and the others do not wait for them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.branches import Outcome
from protocol.consensus.history import History
from protocol.consensus.kinds import CARRIED
from protocol.consensus.position import Purpose
from protocol.consensus.rule import MisconductError, RejectedMessageError
from protocol.consensus.verifier import verify
from protocol.crypto.keys import SIGNATURE_BYTES, MatchKey, PublicKey
from protocol.match.effects import Received
from protocol.wire.canonical import Value
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.histories import fork
from tests.protocol.scribe import due
from tests.simulation.replacing import replaced
from tests.simulation.world import World

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


def until_out(world: World, count: int) -> set[int]:
    """Play until ``count`` players are out of the game on every node; return these players."""
    while True:
        playing = {author for machine in world.machines for author in machine.match.history.position.players}
        if len(world.machines) - len(playing) >= count:
            return set(range(len(world.machines))) - playing
        assert world.step()


@pytest.mark.parametrize("players", [4, 10])
def test_finalists_go_on_at_once_when_all_earlier_players_are_gone(players: int) -> None:
    world = World(CLASSIC, players, seed=1)
    out = until_out(world, players - 2)
    gone_at = world.now
    for author in out:
        world.crash(author)
    finalists = [machine.match for author, machine in enumerate(world.machines) if author not in out]
    while not all(match.is_ended for match in finalists):
        assert world.step()
    chains = [match.history.chain for match in finalists]
    assert all(chain[-1].state is not None and chain[-1].state.winners for chain in chains)
    assert not any(position.certificate for chain in chains for position in chain)
    assert world.now - gone_at < 3


def test_the_first_of_two_signatures_on_a_witness_message_is_kept() -> None:
    """One key can make several valid signatures. A player who has forgotten sending one must not send another."""
    world = World(CLASSIC, 4, seed=1)
    (witness,) = until_out(world, 1)
    history = next(machine.match.history for author, machine in enumerate(world.machines) if author != witness)
    while not (before := history.countersignatures()):
        assert world.step()

    def verifies(key: PublicKey, signature: bytes, data: bytes) -> bool:
        return True

    with replaced(PublicKey, PublicKey.verifies, verifies):
        assert history.is_countersigned(history.position, witness, bytes(SIGNATURE_BYTES))
    assert history.countersignatures() == before


def carried(signed: Signed) -> set[int]:
    """Return the witnesses whose signatures a message carries."""
    body = signed.message.body
    match signed.message.kind:
        case Kind.REVEAL:
            assert isinstance(body, bytes)
            return {*body[32::CARRIED]}
        case Kind.OPEN:
            assert isinstance(body, tuple)
            assert isinstance(body[-1], bytes)
            return {*body[-1][::CARRIED]}
        case _:
            return set()


def test_the_base_is_the_authors_of_the_last_three_locks_and_the_carried_witnesses() -> None:
    """Recompute SPEC.md §5, *The base*, from the messages alone. A witness who stays online never loses the vote."""
    world = World(PRESETS["classic"].with_options({"dice": "2"}), 5, seed=1)
    world.run()
    chain = world.machines[0].match.history.chain
    owed: list[set[int]] = []
    here: set[int] = set()
    seen = 0
    for before, after in pairwise(chain):
        for signed in after.entries.values():
            here |= carried(signed)
        if before.kind is Kind.LOCK:
            owed.append({*before.owed})
            assert {*after.base} == set().union(*owed[-3:], here) - {*before.left}
            seen += bool(here)
            here = set()
    assert seen > 2
    assert {*chain[-1].base} == set(range(5))
    assert verify(world.machines[0].transcript).verdict == "fair"


def test_a_crashed_witness_stays_in_the_base_for_at_most_three_segments() -> None:
    world = World(PRESETS["classic"].with_options({"dice": "2"}), 4, seed=2)
    (out,) = until_out(world, 1)
    world.crash(out)
    start = world.machines[(out + 1) % 4].match.history.position.locks[-1][0]
    world.run()
    chain = world.machines[(out + 1) % 4].match.history.chain
    bases = {after.locks[-1][0]: after.base for after in chain if after.locks and after.locks[-1][0] >= start}
    assert [out in base for base in bases.values()][4:] == [False] * (len(bases) - 4)
    assert len(bases) > 4


def behind_a_lock_with_a_witness() -> tuple[World, History, int]:
    """Return a world, a history whose next message may carry a witness's signature, and the witness."""
    world = World(CLASSIC, 5, seed=1)
    (out,) = until_out(world, 1)
    history = world.machines[0].match.history
    while (
        history.position.kind not in (Kind.REVEAL, Kind.OPEN) or out in history.chain[history.position.locks[0][0]].owed
    ):
        assert world.step()
    here = fork(history)
    here.held = {}
    return world, here, out


def said(world: World, history: History, author: int, kind: Kind, body: Value, step: int | None = None) -> Signed:
    position = history.chain[history.position.step if step is None else step]
    return sign(Message(history.match, position.step, position.tip, author, kind, body), MatchKey(world.seeds[author]))


def test_carrying_a_false_witness_signature_is_misconduct() -> None:
    world, history, out = behind_a_lock_with_a_witness()
    author = history.position.owed[0]
    step, _, lock = history.position.locks[0]
    right = said(world, history, out, Kind.WITNESS, lock, step).signature
    later = said(
        world, history, out, Kind.WITNESS, history.position.locks[1][2], history.position.locks[1][0]
    ).signature
    history.countersigned = {}
    proper = due(history, author, world.seeds[author]).message

    def carrying(witness: int, signature: bytes) -> Signed:
        body, more = proper.body, bytes((witness,)) + signature
        if isinstance(body, bytes):
            return said(world, history, author, Kind.REVEAL, body + more)
        assert isinstance(body, tuple)
        return said(world, history, author, Kind.OPEN, (*body[:-1], more))

    assert history.weigh(carrying(out, right)) is Outcome.ADDED
    for witness, signature in ((out, bytes(64)), (out, later), (author, right), (9, right)):
        with pytest.raises(MisconductError, match="carried a signature that is not a witness's"):
            history.weigh(carrying(witness, signature))


def test_only_players_out_of_the_game_can_witness_and_only_a_lock() -> None:
    world, history, out = behind_a_lock_with_a_witness()
    step, _, lock = history.position.locks[1]
    history.countersigned = {}
    assert history.countersign(said(world, history, out, Kind.WITNESS, lock, step)) is Outcome.ADDED
    for author, body, where in (
        (history.position.owed[0], lock, step),
        (out, bytes(32), step),
        (out, lock, step + 1),
    ):
        with pytest.raises(RejectedMessageError):
            history.countersign(said(world, history, author, Kind.WITNESS, body, where))


def test_a_signature_under_either_of_the_last_two_locks_is_kept() -> None:
    world, history, out = behind_a_lock_with_a_witness()
    history.countersigned = {}
    for step, tip, lock in history.position.locks:
        signed = said(world, history, out, Kind.WITNESS, lock, step)
        assert history.countersign(signed) is Outcome.ADDED
        assert history.countersigned[tip].keys() == {out}


def test_signatures_of_witnesses_are_kept_only_under_the_last_two_locks_and_the_open_one() -> None:
    world = World(CLASSIC, 4, seed=1)
    history, most = world.machines[0].match.history, 0
    while world.step():
        position = history.position
        assert {*history.countersigned} <= {position.tip, *(lock.tip for lock in position.locks)}
        most = max(most, sum(map(bool, history.countersigned.values())))
    assert most >= 2


def test_an_evicted_player_cannot_be_a_witness() -> None:
    world = World(CLASSIC, 5, seed=1, patience=Patience(5, 5))
    gone = world.machines[0].match.history.roster_size - 1
    history = world.machines[0].match.history
    while history.position.purpose is not Purpose.TURN:
        assert world.step()
    world.crash(gone)
    while not (gone in history.position.left and history.position.kind is Kind.OPEN):
        assert world.step()
    here = fork(history)
    step, _, lock = here.position.locks[1]
    with pytest.raises(RejectedMessageError):
        here.countersign(said(world, here, gone, Kind.WITNESS, lock, step))
    here.held = {}
    author = here.position.owed[0]
    step, _, lock = here.position.locks[0]
    signature = said(world, here, gone, Kind.WITNESS, lock, step).signature
    body = due(here, author, world.seeds[author]).message.body
    assert isinstance(body, tuple)
    with pytest.raises(MisconductError, match="carried a signature that is not a witness's"):
        here.weigh(said(world, here, author, Kind.OPEN, (*body[:-1], bytes((gone,)) + signature)))


def test_a_witness_of_another_state_counts_as_a_program_that_disagrees() -> None:
    """Three of four players signed another state than this node's: two who owe the LOCK, and a witness."""
    world = World(CLASSIC, 4, seed=1)
    (witness,) = until_out(world, 1)
    me = next(author for author in range(4) if author != witness)
    match = world.machines[me].match
    history = match.history
    while history.position.kind is not Kind.LOCK or witness in history.position.owed or len(history.held) > 1:
        assert world.step()
    others = [author for author in history.missing() if author != me]
    for author in others:
        world.feed(me, Received(author, said(world, history, author, Kind.LOCK, bytes(32))))
    assert not match.replica.is_diverged
    world.feed(me, Received(witness, said(world, history, witness, Kind.WITNESS, bytes(32))))
    assert match.replica.is_diverged
