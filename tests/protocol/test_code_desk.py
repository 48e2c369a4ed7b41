"""The desk for a short code: how many exchanges it takes part in, and what it forgets when a link or a code ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from p2pdice import PRESETS
from protocol.crypto.code_exchange import CodeExchange
from protocol.crypto.short_code import ShortCode
from protocol.errors import RefuseCode
from protocol.events import NodeEvent
from protocol.limits import CODE_BURST, CODE_BURST_PER_ADDRESS, CODE_RATE, CODE_TRIES
from protocol.match.lobby import HostedTable, TableSettings
from protocol.node.code_desk import BUSY, RENEWED, CodeDesk
from protocol.node.runtime import Runtime
from protocol.wire.frames import CodeElement, CodeProof, Frame, Refuse
from tests.simulation.world import TABLE, identity_of, join_record

HOST = identity_of(b"host", 0)
CODE = ShortCode(417, "tiger", "olive")
OTHER = CODE._replace(second="violin")
GUEST = b"guest".ljust(32)
HOME = "192.0.2.1"
ELEMENT = CodeElement(CodeExchange(CODE, GUEST, HOST.public, TABLE, is_host=False).element)
WRONG = CodeProof(bytes(32), "")


class Desk(CodeDesk):
    """The desk of a table without a node. Its clock stands still, and what would be sent is noted."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[tuple[bytes, Frame]] = []
        self.told: list[NodeEvent] = []
        runtime = SimpleNamespace(
            loop=SimpleNamespace(time=lambda: self.now),
            identity=HOST,
            post=lambda identity, frame: self.sent.append((identity, frame)),
            refuse=lambda identity, code, reason: self.sent.append((identity, Refuse(code, reason))),
            tell=self.told.append,
        )
        own = join_record(b"host", 0, nickname="host", identity=HOST)
        table = HostedTable(TableSettings("Friday", PRESETS["classic"], 5), TABLE, own, "")
        super().__init__(cast("Runtime", runtime), table, CODE)

    def said(self, identity: bytes, frame: CodeElement | CodeProof) -> Frame | None:
        """Return the answer to a frame; None if there is none."""
        self.sent.clear()
        self.take(identity, frame)
        assert len(self.sent) <= 1
        return self.sent[0][1] if self.sent else None

    def begins(self, identity: bytes, host: str) -> bool:
        """Greet a peer, and tell whether its exchange is taken up; else there are too many."""
        self.greet(identity, host)
        answer = self.said(identity, ELEMENT)
        assert isinstance(answer, CodeElement) or answer == Refuse(RefuseCode.REFUSED, BUSY)
        return isinstance(answer, CodeElement)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def peer(number: int) -> bytes:
    return number.to_bytes(32)


def address(number: int) -> str:
    return f"198.51.100.{number}"


# How many


def test_exchanges_are_paced_for_all_addresses_together(desk: Desk) -> None:
    """Somebody with many addresses would keep the host computing."""
    begun = [desk.begins(peer(number), address(number)) for number in range(CODE_BURST + 3)]
    assert begun == [True] * CODE_BURST + [False] * 3
    desk.now += 1 / CODE_RATE
    assert [desk.begins(peer(number), address(number)) for number in (100, 101)] == [True, False]


def test_one_address_above_its_own_pace_uses_up_nothing_of_others(desk: Desk) -> None:
    """Else one stranger who calls without end would keep everybody from the table."""
    begun = [desk.begins(peer(number), HOME) for number in range(3 * CODE_BURST)]
    assert sum(begun) == CODE_BURST_PER_ADDRESS
    left = CODE_BURST - CODE_BURST_PER_ADDRESS
    assert all(desk.begins(peer(100 + number), address(number)) for number in range(left))


# What is forgotten


def test_who_comes_back_with_the_new_code_is_not_told_of_the_former_one(desk: Desk) -> None:
    """The link with which they were overtaken is down."""
    desk.greet(GUEST, HOME)
    desk.renew(CODE)
    desk.lost(GUEST)
    assert desk.begins(GUEST, HOME)


def test_an_exchange_ends_with_its_link(desk: Desk) -> None:
    """A proof over the next link belongs to none, and costs no try."""
    assert desk.begins(GUEST, HOME)
    desk.lost(GUEST)
    desk.greet(GUEST, HOME)
    assert desk.said(GUEST, WRONG) is None
    assert desk.tries_left == CODE_TRIES
    assert desk.told == []


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_link_that_a_new_code_has_overtaken_is_good_for_nothing_more(desk: Desk, has_begun: bool) -> None:
    """It was welcomed by the number of the former code: it must not come to a guess at the new one."""
    desk.greet(GUEST, HOME)
    if has_begun:
        assert isinstance(desk.said(GUEST, ELEMENT), CodeElement)
    desk.renew(OTHER)
    assert desk.said(GUEST, WRONG if has_begun else ELEMENT) == Refuse(RefuseCode.REFUSED, RENEWED)
    for frame in (ELEMENT, WRONG):
        assert desk.said(GUEST, frame) is None
    assert desk.tries_left == CODE_TRIES
