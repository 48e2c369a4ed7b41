"""A history that a peer shows in several pages, or otherwise than before, is followed all the same."""

from __future__ import annotations

from collections.abc import Iterable

from p2pdice import PRESETS, Bid, view
from protocol.consensus.history import History
from protocol.consensus.position import Purpose
from protocol.crypto.keys import MatchKey
from protocol.match.effects import Linked, Paged, Send, Ticked
from protocol.match.match import Match
from protocol.wire.frames import Need, Page
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.protocol.scribe import due
from tests.simulation.world import World


class Parted:
    """Five players, the first of whom to move bids one thing to ``me`` and other things to others."""

    def __init__(self) -> None:
        self.world = World(PRESETS["classic"].with_options({"dice": "1"}), 5, seed=2)
        machine = self.world.machines[0]
        while machine.match.record.position.purpose is not Purpose.TURN:
            assert self.world.step()
        record = machine.match.record
        self.parting = record.position.step
        self.others = record.fork(self.parting)
        (self.cheat,) = record.position.owed
        rolled = record.chain[record.position.locked + 1 :]
        self.rolled = [signed for each in rolled for signed in each.entries.values()]
        assert record.position.state is not None
        bids = view(record.position.state, record.position.seats.index(self.cheat), ()).legal[:3]
        told_me, self.told_peer, self.told_others = (
            self._say(self.others, self.cheat, Kind.MOVE, str(bid)) for bid in bids
        )
        self.peer, self.me = [each for each in record.position.live if each != self.cheat][:2]
        stored = [signed for each in record.chain[1:] for signed in each.entries.values()]
        self.match = Match(self.world.data, self.me, self.world.seeds[self.me], [*stored, told_me])
        self.match.handle(Linked(self.peer), 0.0)

    def _say(self, history: History, author: int, kind: Kind, body: object) -> Signed:
        position = history.position
        message = Message(history.match, position.step, position.tip, author, kind, body)  # type: ignore[arg-type]
        return sign(message, MatchKey(self.world.seeds[author]))

    def part(self, told: Signed) -> None:
        """Have the others take this message of the cheat's."""
        self.others = self.others.fork(self.parting)
        self.others.add(told)
        self.shown = [*self.rolled, told]

    def go_on(self, *missing: int) -> None:
        """Have the others close their open step, by votes if these owe something."""
        others = self.others
        owed = others.position.owed
        given = {each: due(others, each, self.world.seeds[each], self._move()) for each in owed if each not in missing}
        self.shown += given.values()
        if len(given) == len(owed):
            for signed in given.values():
                others.add(signed)
            return
        for signed in given.values():
            others.hold(signed)
        entries = tuple(given[each].id if each in given else b"" for each in owed)
        voters = [each for each in others.position.base if each not in (self.me, self.peer)]
        certificate = [self._say(others, each, Kind.CLOSE, (0, entries)) for each in voters]
        others.close_without(certificate)
        self.shown += certificate

    def _move(self) -> str:
        """Return a move of the player on turn: one that ends the round, if possible."""
        position = self.others.position
        if position.purpose is not Purpose.TURN:
            return ""
        assert position.state is not None
        legal = view(position.state, position.seats.index(position.owed[0]), ()).legal
        return str(min(legal, key=lambda move: isinstance(move, Bid)))

    def until_lock(self) -> None:
        """Have the others go on to a complete LOCK."""
        before = self.others.position.locked
        while self.others.position.locked == before:
            self.go_on(self.me)

    def show(self, *pages: Iterable[Signed]) -> None:
        """Let the match ask for everything, and answer in these pages."""
        match, peer = self.match, self.peer
        match._catch_up.ask(peer, 0.0)
        effects = match.handle(Ticked(), 0.0)
        for cursor, page in enumerate(pages, 1):
            assert any(isinstance(each, Send) and isinstance(each.frame, Need) for each in effects)
            wires = tuple(signed.wire for signed in page)
            answer = Page(match.record.match, cursor if cursor < len(pages) else 0, wires)
            effects = match.handle(Paged(peer, answer), 0.0)


def test_a_peer_that_has_gone_over_to_another_history_than_it_showed_is_followed() -> None:
    table = Parted()
    table.part(table.told_peer)
    table.go_on()
    table.show(table.shown)
    table.part(table.told_others)
    table.until_lock()
    table.show(table.shown)
    assert table.match.record.position.tip == table.others.position.tip


def test_all_pages_of_an_answer_are_folded_also_those_that_hold_nothing_new() -> None:
    table = Parted()
    table.part(table.told_others)
    table.until_lock()
    known = len(table.rolled)
    table.show(table.shown[:known], table.shown[known:])
    assert table.match.record.position.tip == table.others.position.tip
