"""Players who are out of the game sign what they see and can vote, and nobody waits for them."""

from __future__ import annotations

import pytest

from p2pdice import PRESETS
from protocol.consensus.errors import MisconductError, RejectedMessageError
from protocol.consensus.history import History, Outcome
from protocol.consensus.kinds.lock import carried
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import verify
from protocol.crypto.keys import MatchKey
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.simulation.world import World

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


def until_out(world: World, count: int) -> set[int]:
    """Play until so many are out of the game and all know the LOCK behind that; return who they are."""
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


def test_a_witness_who_is_there_is_carried_in_the_next_lock_and_votes() -> None:
    world = World(CLASSIC, 4, seed=1)
    (out,) = until_out(world, 1)
    world.run()
    chain = world.machines[0].match.history.chain
    bodies = [
        signed.message.body
        for position in chain
        for signed in position.entries.values()
        if signed.message.kind is Kind.LOCK
    ]
    assert any(isinstance(body, bytes) and out in carried(body) for body in bodies)
    assert out in chain[-1].base
    assert verify(world.machines[0].transcript).verdict == "fair"


def test_a_witness_who_is_gone_stays_in_the_base_for_two_segments_at_most() -> None:
    world = World(PRESETS["classic"].with_options({"dice": "2"}), 4, seed=2)
    (out,) = until_out(world, 1)
    world.crash(out)
    start = world.machines[(out + 1) % 4].match.history.position.locked
    world.run()
    chain = world.machines[(out + 1) % 4].match.history.chain
    bases = {position.locked: position.base for position in chain if position.locked >= start}
    assert [out in base for base in bases.values()][3:] == [False] * (len(bases) - 3)
    assert len(bases) > 3


def at_a_lock_with_a_witness() -> tuple[World, History, int]:
    world = World(CLASSIC, 4, seed=1)
    (out,) = until_out(world, 1)
    history = world.machines[0].match.history
    while history.position.kind is not Kind.LOCK:
        assert world.step()
    return world, history.fork(history.position.step), out


def said(world: World, history: History, author: int, kind: Kind, body: bytes, step: int | None = None) -> Signed:
    position = history.chain[history.position.step if step is None else step]
    return sign(Message(history.match, position.step, position.tip, author, kind, body), MatchKey(world.seeds[author]))


def test_carrying_a_false_witness_signature_is_misconduct() -> None:
    world, history, out = at_a_lock_with_a_witness()
    author = history.position.owed[0]
    last = history.chain[history.position.locked]
    right = said(world, history, out, Kind.WITNESS, last.lock, last.step).signature
    assert history.judge(said(world, history, author, Kind.LOCK, history.position.lock)) is Outcome.ADDED
    for witness, signature in ((out, bytes(64)), (author, right), (9, right)):
        body = history.position.lock + bytes((witness,)) + signature
        with pytest.raises(MisconductError, match="carried a signature that is not a witness's"):
            history.judge(said(world, history, author, Kind.LOCK, body))


def test_only_players_out_of_the_game_witness_and_only_a_lock() -> None:
    world, history, out = at_a_lock_with_a_witness()
    history.countersigned = {}
    assert history.countersign(said(world, history, out, Kind.WITNESS, history.position.lock)) is Outcome.ADDED
    for author, body, step in (
        (history.position.owed[0], history.position.lock, history.position.step),
        (out, bytes(32), history.position.step),
        (out, history.position.lock, history.position.step - 1),
    ):
        with pytest.raises(RejectedMessageError):
            history.countersign(said(world, history, author, Kind.WITNESS, body, step))


def test_a_player_who_left_is_no_witness() -> None:
    world = World(CLASSIC, 5, seed=1, patience=Patience(5, 5))
    gone = world.machines[0].match.history.roster_size - 1
    history = world.machines[0].match.history
    while history.position.purpose is not Purpose.TURN:
        assert world.step()
    world.crash(gone)
    while not (gone in history.position.left and history.position.kind is Kind.LOCK and history.position.witnessed):
        assert world.step()
    here, last = history.fork(history.position.step), history.chain[history.position.locked]
    signed = said(world, here, gone, Kind.WITNESS, last.lock, last.step)
    with pytest.raises(RejectedMessageError):
        here.countersign(signed)
    body = here.position.lock + bytes((gone,)) + signed.signature
    with pytest.raises(MisconductError, match="carried a signature that is not a witness's"):
        here.judge(said(world, here, here.position.owed[0], Kind.LOCK, body))
