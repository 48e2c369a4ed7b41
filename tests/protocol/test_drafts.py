"""What a peer shows of a history that is not this node's is folded page by page, whatever closed its steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from p2pdice import PRESETS
from protocol.consensus.electorate import Entries
from protocol.consensus.history import History
from protocol.consensus.position import Purpose
from protocol.consensus.replica import Replica
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Signed
from tests.protocol.scribe import due, signed_by
from tests.simulation.world import World


class Parted:
    """A table of five in its second round, one player out: four have gone on, but for one who has voted on the deal."""

    def __init__(self) -> None:
        self.world = World(PRESETS["classic"].with_options({"dice": "1"}), 5, seed=2)
        machine = self.world.machines[0]
        while not self._is_turn(machine.match.history):
            assert self.world.step()
        history = machine.match.history
        position = history.position
        self.others = history.fork(position.step)
        (self.silent,) = position.owed
        (self.witness,) = position.witnesses
        self.parted, *self.live = (each for each in position.live if each != self.silent)
        self.replica = Replica(self.world.data, self.parted)
        parting = position.locked + 1
        for before in history.chain[1 : parting + 1]:
            for signed in before.entries.values():
                self.replica.take(signed)
            self.replica.close_steps()
        own = self.replica.history
        assert own.position.step == parting
        self.replica.take(self.absent(own, self.parted, tuple(b"" for _ in own.position.owed)))
        after = history.chain[position.locked + 1 :]
        self.shown = [signed for each in after for signed in each.entries.values()]

    @staticmethod
    def _is_turn(history: History) -> bool:
        position = history.position
        return position.purpose is Purpose.TURN and len(position.live) == 4 and len(position.base) == 5

    def absent(self, history: History, author: int, entries: Entries, number: int = 0) -> Signed:
        return self._vote(history, author, Kind.ABSENT, (number, entries, -1))

    def close(self, history: History, author: int, entries: Entries, number: int = 0) -> Signed:
        return self._vote(history, author, Kind.CLOSE, (number, entries))

    def _vote(self, history: History, author: int, kind: Kind, body: Value) -> Signed:
        return signed_by(history, author, self.world.seeds[author], kind, body)

    def put_out(self, certificate: Sequence[Signed], held: Collection[Signed] = ()) -> None:
        """Have the others close their open step by these votes."""
        for signed in held:
            self.others.hold(signed)
        self.others.close_without(certificate)
        self.shown += [*held, *certificate]

    def until_lock(self) -> None:
        """Have the others go on, without the one who has parted, to a complete LOCK."""
        others, before = self.others, self.others.position.locked
        while others.position.locked == before:
            owed = others.position.owed
            given = {each: due(others, each, self.world.seeds[each]) for each in owed}
            given.pop(self.parted, None)
            if self.parted in owed:
                entries = tuple(given[each].id if each in given else b"" for each in owed)
                voters = sorted((*self.live, self.witness))
                self.put_out([self.close(others, each, entries) for each in voters], given.values())
            else:
                self.shown += given.values()
                for signed in given.values():
                    others.add(signed)

    def follow(self) -> None:
        self.replica.follow(self.live[0], self.shown)


def test_a_step_decided_by_absent_votes_is_folded() -> None:
    table = Parted()
    one, other = table.live
    closers = sorted((one, table.witness, table.silent))
    backer = table.absent(table.others, other, (b"",))
    table.put_out([backer, *(table.close(table.others, each, (b"",)) for each in closers)])
    table.until_lock()
    table.follow()
    assert table.replica.history.position.tip == table.others.position.tip


@pytest.mark.parametrize("kind", [Kind.ABSENT, Kind.CLOSE])
def test_votes_of_a_liar_in_other_rounds_keep_nobody_from_following(kind: Kind) -> None:
    table = Parted()
    cast = table.absent if kind is Kind.ABSENT else table.close
    table.shown += [cast(table.others, table.silent, (b"",), number) for number in range(1, 5)]
    closers = sorted((*table.live, table.witness))
    table.put_out([table.close(table.others, each, (b"",)) for each in closers])
    table.until_lock()
    table.follow()
    assert table.replica.history.position.tip == table.others.position.tip


def test_a_liar_who_votes_twice_in_a_deciding_round_stops_nobody_and_is_found() -> None:
    table = Parted()
    other = (bytes(32),)
    table.shown.append(table.close(table.others, table.witness, other))
    closers = sorted((*table.live, table.witness))
    table.put_out([table.close(table.others, each, (b"",)) for each in closers])
    table.until_lock()
    table.follow()
    assert table.replica.history.position.tip == table.others.position.tip
    assert set(table.replica.proven) == {table.witness}


def test_a_message_that_breaks_a_rule_only_on_the_history_of_a_peer_proves_nothing() -> None:
    """A proof is read beside the history that this node holds, and there the message is only foreign."""
    table = Parted()
    seed = table.world.seeds[table.silent]
    table.shown.append(signed_by(table.others, table.silent, seed, Kind.MOVE, "no move"))
    table.follow()
    assert table.replica.proven == {}
