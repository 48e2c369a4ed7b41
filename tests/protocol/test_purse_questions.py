"""What a host asks the owners of purses for its guests, and what it shows whom of the answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest

from protocol.consensus.purse_proofs import Shown
from protocol.limits import PURSE_ANSWERS
from protocol.match.lobby import HostedTable
from protocol.node.purse_desk import PurseDesk
from protocol.node.runtime import Runtime
from protocol.wire.frames import Frame, ShowPurse
from tests.protocol.long_purses import settled
from tests.protocol.test_purses import Owner


class Desk:
    """The desk of a host, the purse of one owner at the table, and what was posted to whom."""

    def __init__(self) -> None:
        self.owner = Owner("owner")
        self.posted: list[tuple[bytes, bytes]] = []
        guests = [Owner(f"guest {number}") for number in range(PURSE_ANSWERS + 3)]
        self.guests = [guest.identity.public for guest in guests]
        self.before = self.owner.own.shown
        settled(self.owner.own, 1)
        records = [SimpleNamespace(join=SimpleNamespace(identity=b"host", purse=None))]
        records += [SimpleNamespace(join=SimpleNamespace(identity=each, purse=None)) for each in self.guests]
        records.append(
            SimpleNamespace(join=SimpleNamespace(identity=self.owner.identity.public, purse=self.owner.purse))
        )
        self.table = table = SimpleNamespace(records=records)
        runtime = SimpleNamespace(post=self._post, loop=SimpleNamespace(time=lambda: 0.0))
        self.desk = PurseDesk(cast("Runtime", runtime), cast("HostedTable", table), Mock(), Mock())

    def _post(self, identity: bytes, frame: Frame) -> None:
        assert isinstance(frame, ShowPurse)
        self.posted.append((identity, frame.proof))

    def ask(self, guest: int, known: Shown | None = None) -> list[tuple[bytes, bytes]]:
        """Let a guest ask how the purse goes on; return what is posted."""
        self.posted.clear()
        self.desk._ask(self.guests[guest], self.owner.purse.key, known or self.before, b"the question")
        return [*self.posted]

    def answer(self) -> list[tuple[bytes, bytes]]:
        self.posted.clear()
        self.desk._answer(self.owner.identity.public, self.owner.purse.key, self.owner.own.shown, b"the answer")
        return [*self.posted]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_whoever_asks_what_was_answered_is_shown_the_answer(desk: Desk) -> None:
    """Strangers with one old proof, one after the other, used up what the owner may show."""
    assert desk.ask(0) == [(desk.owner.identity.public, b"the question")]
    assert desk.answer() == [(desk.guests[0], b"the answer")]
    assert desk.ask(1) == [(desk.guests[1], b"the answer")]
    assert desk.ask(1) == []  # once for each guest


def test_an_answer_in_several_proofs_is_shown_whole(desk: Desk) -> None:
    desk.ask(0)
    halfway = desk.owner.own.shown
    settled(desk.owner.own, 2)
    desk.table.records[-1].join.purse = desk.owner.purse
    desk.desk._answer(desk.owner.identity.public, desk.owner.purse.key, halfway, b"the first half")
    desk.answer()
    assert [shown for _, shown in desk.ask(1)] == [b"the first half", b"the answer"]


def test_two_who_ask_the_same_at_once_wait_for_one_answer(desk: Desk) -> None:
    desk.ask(0)
    assert desk.ask(1) == []
    assert desk.answer() == [(desk.guests[0], b"the answer"), (desk.guests[1], b"the answer")]


def test_who_knows_something_else_has_an_answer_of_their_own(desk: Desk) -> None:
    desk.ask(0)
    desk.answer()
    later = desk.before._replace(purse=desk.before.purse._replace(head=b"another head".ljust(32)))
    assert desk.ask(1, later) == [(desk.owner.identity.public, b"the question")]


def test_a_few_answers_are_kept(desk: Desk) -> None:
    for number in range(PURSE_ANSWERS + 2):
        desk.ask(number, desk.before._replace(purse=desk.before.purse._replace(head=bytes((number,)) * 32)))
        desk.answer()
    assert len(desk.desk._answers) == PURSE_ANSWERS
