"""A new kind of message needs only one class and an entry in a script. These tests add an invented kind.

Nodes then treat it like every other kind: they await it, vote out players who do not send it, convict players who
contradict it, store it, catch up on it, verify it and replay it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pdice.events import PlayerOut
from p2pdice.rulesets import PRESETS
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES, SCRIPTS
from protocol.consensus.position import Commitments, Position, Purpose, Stage
from protocol.consensus.rule import Closing, HistoryView, MisconductError, Rule, Secrets, is_hash, short
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import Judgement, examine, verify
from protocol.crypto.keys import MatchKey
from protocol.events import Happened, Misbehaved
from protocol.match.effects import Broadcast, Conceded
from protocol.match.match import Match
from protocol.match.replay import Replay
from protocol.wire.frames import Carried
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.simulation.world import World


class Nod(Rule[bytes]):
    """The author's index and 31 unpredictable bytes. All players in the game must nod before each move."""

    kind = 12
    shape = "byte string of 32 bytes"
    stage = Stage.COMMIT
    task = "nod"

    def fits(self, body: object) -> bool:
        return is_hash(body)

    def deed(self, body: bytes) -> str:
        return f"nodded {short(body)}"

    def judge(self, history: HistoryView, position: Position, signed: Signed, body: bytes) -> None:
        if body[0] != signed.message.author:
            raise MisconductError.of(signed, "nodded in another name")

    def fold(self, closing: Closing[bytes], position: Position) -> Position:
        given = {author: (body,) for author, body in closing.bodies.items()}
        return position._replace(committed=Commitments(closing.context, given))

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        return bytes((secrets.author,)) + secrets.secret(secrets.context(position), "nod")[1:]


NOD = Nod.kind
SHORT = PRESETS["classic"].with_options({"dice": "1"})


@pytest.fixture(autouse=True)
def _nod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, NOD, Nod())
    monkeypatch.setitem(SCRIPTS, Purpose.TURN, (NOD, Kind.MOVE))


def nods(history: History) -> list[Position]:
    """Return the positions of the steps that await a nod."""
    return [position for position in history.chain if position.kind == NOD]


def outs(history: History) -> list[PlayerOut]:
    """Return the event of each player who left the game."""
    return [event for position in history.chain for event, _ in position.happened if isinstance(event, PlayerOut)]


def left_at(history: History, author: int) -> Position:
    """Return the last position at which an author had not left."""
    return next(position for position in reversed(history.chain) if author not in position.left)


def forged(world: World, author: int, body: bytes) -> Signed:
    """Return a nod for the open step with any body, signed by its author."""
    history = world.machines[author].match.history
    message = Message(history.match, history.position.step, history.position.tip, author, NOD, body)
    return sign(message, MatchKey(world.seeds[author]))


def test_nods_are_part_of_every_turn_and_their_transcript_can_be_verified_and_replayed() -> None:
    world = World(SHORT, 3, seed=1)
    world.run()
    chain = world.machines[0].match.history.chain
    turns = [position for position in chain if position.purpose is Purpose.TURN]
    assert [position.kind for position in turns] == [NOD, Kind.MOVE] * (len(turns) // 2)
    for position, after in zip(turns[::2], turns[1::2], strict=True):
        assert position.owed == position.live
        assert after.committed is not None
        assert set(after.committed.given) == {*position.owed}
    assert {machine.match.history.position.tip for machine in world.machines} == {chain[-1].tip}
    examined = examine(world.machines[0].transcript)
    assert examined.verdict.verdict is Judgement.FAIR
    replayed = [moment.event for moment in Replay(examined, Path("match")).tell()]
    assert [event for event in replayed if isinstance(event, Happened)] == world.told(0, Happened)


def test_players_who_have_not_nodded_are_awaited() -> None:
    world = World(SHORT, 3, seed=1)
    history = world.machines[0].match.history
    while history.position.kind != NOD or not history.missing():
        assert world.step()
    progress = world.machines[0].match.progress
    assert progress.stage is Stage.COMMIT
    verdict = verify(write_transcript(history))
    assert verdict.verdict is Judgement.INCOMPLETE
    assert verdict.reason.endswith(" to nod")
    assert set(verdict.awaited) == {player.name for player in progress.awaited}


class Silent(Match):
    """Sends every message except nods."""

    def _do_what_is_owed(self) -> bool:
        return self.history.position.kind != NOD and super()._do_what_is_owed()


def test_a_player_who_never_nods_is_voted_out() -> None:
    world = World(SHORT, 4, seed=2, patience=Patience(5, 5), kinds={1: Silent})
    world.run()
    history = world.machines[0].match.history
    assert history.position.left == (1,)
    assert left_at(history, 1).kind == NOD
    assert history.position.purpose is Purpose.END
    assert verify(world.machines[0].transcript).verdict is Judgement.UNPROVEN


def test_a_player_may_resign_instead_of_nodding() -> None:
    world = World(SHORT, 4, seed=3)
    turn = world.first_turn()
    quitter = next(author for author in range(4) if author != turn)
    world.feed(quitter, Conceded())
    world.run()
    history = world.machines[turn].match.history
    assert history.position.resigned == (quitter,)
    assert left_at(history, quitter).kind == NOD
    (out,) = [out for out in outs(history) if out.reason == "conceded"]
    assert history.position.seats[out.seat] == quitter
    assert verify(world.machines[turn].transcript).verdict is Judgement.FAIR


class Twofold(Match):
    """Signs two different nods for each slot, and sends both to all peers."""

    def _send(self, signed: Signed) -> None:
        super()._send(signed)
        if signed.message.kind == NOD:
            assert isinstance(signed.message.body, bytes)
            other = signed.message._replace(body=signed.message.body[:1] + bytes(31))
            self._emit(Broadcast(Carried(*sign(other, self.signer.key).wire)))


def test_two_nods_in_one_step_prove_misconduct() -> None:
    world = World(SHORT, 4, seed=4, kinds={2: Twofold}, patience=Patience(5, 5))
    world.run()
    for me in (0, 1, 3):
        machine = world.machines[me]
        assert machine.match.history.position.left == (2,)
        (misbehaved,) = world.told(me, Misbehaved)
        assert "two messages for one slot: nodded" in misbehaved.reason
        assert all(verify(proof).verdict is Judgement.MISCONDUCT for proof in machine.proofs)
        assert verify(machine.transcript).verdict is Judgement.MISCONDUCT


def test_a_nod_that_breaks_its_rule_proves_misconduct() -> None:
    world = World(SHORT, 4, seed=5, kinds={0: Silent}, patience=Patience(5, 5))
    while any(machine.match.history.position.kind != NOD for machine in world.machines):
        assert world.step()
    for other in (1, 2, 3):
        world.send(0, other, Carried(*forged(world, 0, b"\xff" * 32).wire))
    world.run()
    for machine in world.machines[1:]:
        assert machine.match.history.position.left == (0,)
        (proof,) = machine.proofs
        verdict = verify(proof)
        assert (verdict.verdict, "nodded in another name" in verdict.reason) == (Judgement.MISCONDUCT, True)


@pytest.mark.parametrize("keeps_its_disk", [True, False])
def test_a_restarted_node_catches_up_on_nods(keeps_its_disk: bool) -> None:
    world = World(SHORT, 4, seed=6)
    while len(nods(world.machines[3].match.history)) < 4:
        assert world.step()
    world.crash(3)
    for _ in range(200):
        world.step()
    world.restart(3, None if keeps_its_disk else ())
    world.run()
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    assert world.machines[3].match.is_confirmed
    assert not any(world.told(me, Misbehaved) for me in range(4))
    assert verify(world.machines[3].transcript).verdict is Judgement.FAIR
