"""Catch-up: which peers a node asks for pages and when, and how it follows the history that the pages show."""

from __future__ import annotations

from collections.abc import Iterable

from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol.consensus.history import History
from protocol.consensus.position import Purpose
from protocol.consensus.reading import Reading
from protocol.consensus.replica import Replica
from protocol.crypto.keys import MatchKey
from protocol.match.catch_up import ANEW, COMPARE, CatchUp
from protocol.match.effects import FrameReceived, Linked, Send, Ticked
from protocol.match.match import Match
from protocol.wire.canonical import Value
from protocol.wire.frames import Have, Need, Page
from protocol.wire.messages import Kind, Signed
from tests.protocol.histories import add, until
from tests.protocol.scribe import due, signed_by, votes_to_close
from tests.simulation.world import World


class Parted:
    """Five players. The first to move is a cheat who sends different bids to ``me``, to ``peer`` and to the others."""

    def __init__(self) -> None:
        self.world = World(PRESETS["classic"].with_options({"dice": "1"}), 5, seed=2)
        machine = self.world.machines[0]
        while machine.match.history.position.purpose is not Purpose.TURN:
            assert self.world.step()
        history = machine.match.history
        self.parting = history.position.step
        self.others = until(history, self.parting)
        (self.cheat,) = history.position.owed
        rolled = history.chain[history.position.root_step + 1 :]
        self.rolled = [signed for each in rolled for signed in each.entries.values()]
        assert history.position.state is not None
        bids = view(history.position.state, history.position.seats.index(self.cheat), ()).legal[:3]
        told_me, self.told_peer, self.told_others = (
            self._say(self.others, self.cheat, Kind.MOVE, str(bid)) for bid in bids
        )
        self.peer, self.me = [each for each in history.position.live if each != self.cheat][:2]
        stored = [signed for each in history.chain[1:] for signed in each.entries.values()]
        self.match = Match(self.world.data, self.me, self.world.seeds[self.me], [*stored, told_me])
        self.match.handle(Linked(self.peer), 0.0)

    def _say(self, history: History, author: int, kind: Kind, body: Value) -> Signed:
        return signed_by(history, author, self.world.seeds[author], kind, body)

    def part(self, told: Signed) -> None:
        """Let the others' history go on with this message of the cheat."""
        self.others = until(self.others, self.parting)
        add(self.others, told)
        self.shown = [*self.rolled, told]

    def go_on(self, *missing: int) -> None:
        """Let the others close their open step, by votes if the ``missing`` players owe a message."""
        others = self.others
        owed = others.position.owed
        given = {each: due(others, each, self.world.seeds[each]) for each in owed if each not in missing}
        self.shown += given.values()
        reading, is_complete = Reading(others), len(given) == len(owed)
        for signed in given.values() if is_complete or others.position.kind is not Kind.LOCK else ():
            reading.add(signed)
        if not is_complete:
            voters = [each for each in others.position.base if each not in (self.me, self.peer)]
            certificate = [votes_to_close(others, each, MatchKey(self.world.seeds[each])) for each in voters]
            for vote in certificate:
                reading.add(vote)
            self.shown += certificate

    def until_lock(self) -> None:
        """Let the others go on until a LOCK is complete."""
        before = self.others.position.locks
        while self.others.position.locks == before:
            self.go_on(self.me)

    def show(self, *pages: Iterable[Signed]) -> None:
        """Let the match ask for the whole history, and answer with these pages."""
        match, peer = self.match, self.peer
        match.catch_up.ask(peer, 0.0)
        effects = match.handle(Ticked(), 0.0)
        for cursor, page in enumerate(pages, 1):
            assert any(isinstance(each, Send) and isinstance(each.frame, Need) for each in effects)
            wires = tuple(signed.wire for signed in page)
            answer = Page(match.history.match, cursor if cursor < len(pages) else 0, wires)
            effects = match.handle(FrameReceived(peer, answer), 0.0)


def test_a_peer_that_switched_to_another_history_is_followed() -> None:
    table = Parted()
    table.part(table.told_peer)
    table.go_on()
    table.show(table.shown)
    table.part(table.told_others)
    table.until_lock()
    table.show(table.shown)
    assert table.match.history.position.tip == table.others.position.tip


def test_pages_without_news_count_when_an_answer_is_folded() -> None:
    table = Parted()
    table.part(table.told_others)
    table.until_lock()
    known = len(table.rolled)
    table.show(table.shown[:known], table.shown[known:])
    assert table.match.history.position.tip == table.others.position.tip


class Asked:
    """A node at the start of a match with one linked peer, and the questions that it asks the peer."""

    def __init__(self) -> None:
        self.world = World(PRESETS["classic"], 2, seed=1)
        self.replica = Replica(self.world.data, 0)
        self.catch_up = CatchUp(self.replica)
        self.catch_up.linked(1, 0.0)
        self.message = due(self.replica.history, 1, self.world.seeds[1])

    def at(self, now: float) -> list[Need]:
        return [need for _, need in self.catch_up.questions(now)]

    def page(self, cursor: int) -> bool:
        """Answer with a page; return whether it was the last one."""
        return self.catch_up.go_on(1, Page(self.replica.history.match, cursor, (self.message.wire,)), 0.0)

    def told(self, have: Have, now: float) -> None:
        self.catch_up.take(1, have, now)


def test_a_page_whose_cursor_does_not_advance_is_the_last_one() -> None:
    table = Asked()
    table.catch_up.ask(1, 0.0)
    assert [need.cursor for need in table.at(0.0)] == [0]
    assert not table.page(5)
    assert [need.cursor for need in table.at(0.0)] == [5]
    assert table.page(5)
    assert table.at(100.0) == []


def test_a_peer_is_asked_even_if_only_its_votes_differ() -> None:
    table = Asked()
    mine = table.catch_up.have()
    for votes, now in ((b"", 0.0), (b"v" * 32, 10.0)):
        table.told(mine._replace(votes=votes), now)
        assert len(table.at(now + COMPARE)) == bool(votes)


def test_two_rounds_of_questions_to_a_peer_start_a_second_apart() -> None:
    table = Asked()
    more = table.catch_up.have()._replace(step=1)
    table.told(more, 0.0)
    assert len(table.at(0.0)) == 1
    assert table.page(0)
    table.told(more._replace(step=2), 0.1)
    assert table.at(0.1 + COMPARE) == []
    assert table.catch_up.due(0.1 + COMPARE) == ANEW
    assert len(table.at(ANEW)) == 1


def test_a_peer_that_has_shown_its_whole_history_is_asked_again_only_after_a_change() -> None:
    """The peer may hold messages that this node rejects, so their states can differ for ever."""
    table = Asked()
    more = table.catch_up.have()._replace(held=b"h" * 32)
    table.told(more, 0.0)
    assert len(table.at(COMPARE)) == 1
    assert table.page(0)
    table.told(more, 10.0)
    assert table.at(10.0 + COMPARE) == []
    table.told(more._replace(held=b"i" * 32), 20.0)
    assert len(table.at(20.0 + COMPARE)) == 1
    assert table.page(0)
    table.replica.take(table.message)
    table.told(more._replace(held=b"i" * 32), 30.0)
    assert len(table.at(30.0 + COMPARE)) == 1
