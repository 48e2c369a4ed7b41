"""The desk for a short code: how many exchanges it takes part in, and what it forgets when a link or a code ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from p2pdice.rulesets import PRESETS
from protocol.crypto.short_code import CodeExchange, ShortCode
from protocol.errors import RefuseCode
from protocol.events import NodeEvent, Notice
from protocol.limits import CODE_BREAKS, CODE_BURST, CODE_RATE, CODE_TRIES
from protocol.match.lobby import HostedTable, TableSettings
from protocol.node.door import BREAKING_OFF, CODE_RENEWED, CodeDesk
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
        self._alarms: list[tuple[float, Callable[[], None]]] = []
        runtime = SimpleNamespace(
            loop=SimpleNamespace(time=lambda: self.now, call_later=self._set_alarm),
            mesh=SimpleNamespace(set_use=lambda identity, standing: None),
            identity=HOST,
            post=lambda identity, frame: self.sent.append((identity, frame)),
            refuse=lambda identity, code, reason: self.sent.append((identity, Refuse(code, reason))),
            tell=self.told.append,
        )
        own = join_record(b"host", 0, nickname="host", identity=HOST)
        table = HostedTable(TableSettings("Friday", PRESETS["classic"], 5), TABLE, own, "")
        super().__init__(cast("Runtime", runtime), table, CODE)

    def _set_alarm(self, seconds: float, ring: Callable[[], None]) -> SimpleNamespace:
        alarm = self.now + seconds, ring
        self._alarms.append(alarm)
        return SimpleNamespace(cancel=partial(self._put_off, alarm))

    def _put_off(self, alarm: tuple[float, Callable[[], None]]) -> None:
        if alarm in self._alarms:
            self._alarms.remove(alarm)

    def wait(self, seconds: float) -> list[bytes]:
        """Let time pass; return the peers that were sent something, in order."""
        self.sent.clear()
        end = self.now + seconds
        while self._alarms and (due := min(at for at, _ in self._alarms)) <= end:
            alarm = next(each for each in self._alarms if each[0] == due)
            self._alarms.remove(alarm)
            self.now = due
            alarm[1]()
        self.now = end
        return [identity for identity, _ in self.sent]

    def said(self, identity: bytes, frame: CodeElement | CodeProof) -> Frame | None:
        """Return the answer to a frame; None if there is none."""
        self.sent.clear()
        self.take(identity, frame)
        assert len(self.sent) <= 1
        return self.sent[0][1] if self.sent else None

    def begins(self, identity: bytes, host: str) -> bool:
        """Greet a peer, and tell whether its exchange is taken up at once; else it has to wait for its turn."""
        self.greet(identity, host)
        answer = self.said(identity, ELEMENT)
        assert answer is None or isinstance(answer, CodeElement)
        return answer is not None

    def is_proven(self, identity: bytes, host: str) -> bool:
        """Have a peer prove that it knows the code; tell whether it did so at once."""
        guest = CodeExchange(CODE, identity, HOST.public, TABLE, is_host=False)
        self.greet(identity, host)
        answer = self.said(identity, CodeElement(guest.element))
        if not isinstance(answer, CodeElement):
            return False
        guest.take(answer.element)
        return isinstance(self.said(identity, CodeProof(guest.proof, "")), CodeProof)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def peer(number: int) -> bytes:
    return number.to_bytes(32)


def address(number: int) -> str:
    return f"198.51.100.{number}"


# How many


def test_exchanges_are_paced_for_all_together_and_the_rest_are_answered_in_turn(desk: Desk) -> None:
    """Somebody with many addresses would keep the host computing."""
    begun = [desk.begins(peer(number), address(number)) for number in range(CODE_BURST + 3)]
    assert begun == [True] * CODE_BURST + [False] * 3
    assert desk.wait(1.5 / CODE_RATE) == [peer(CODE_BURST)]
    assert desk.wait(2 / CODE_RATE) == [peer(CODE_BURST + 1), peer(CODE_BURST + 2)]
    assert desk.wait(10) == []


def break_off(desk: Desk, times: int, host: str = HOME) -> None:
    """Begin exchanges and break them off, as fast as they are taken up."""
    for number in range(times):
        if not desk.begins(peer(number), host):
            desk.wait(1 / CODE_RATE)
        desk.lost(peer(number))


def test_who_breaks_exchanges_off_waits_behind_all_others(desk: Desk) -> None:
    """Else one stranger who calls without end would keep everybody from the table."""
    break_off(desk, CODE_BURST)
    callers = [(peer(100), HOME), (peer(101), HOME), (peer(102), address(1)), (peer(103), address(2))]
    assert not any(desk.begins(*each) for each in callers)
    assert desk.wait(4.5 / CODE_RATE) == [peer(102), peer(103), peer(100), peer(101)]


def test_guests_with_the_code_who_come_from_one_place_do_not_count_against_each_other(desk: Desk) -> None:
    assert all(desk.is_proven(peer(number), HOME) for number in range(CODE_BURST))
    assert not any(desk.begins(*each) for each in ((peer(100), HOME), (peer(101), address(1))))
    assert desk.wait(2.5 / CODE_RATE) == [peer(100), peer(101)]


def test_a_caller_who_goes_before_the_turn_costs_nobody_a_turn(desk: Desk) -> None:
    for number in range(CODE_BURST + 20):
        desk.begins(peer(number), address(number))
    for number in range(CODE_BURST, CODE_BURST + 19):
        desk.lost(peer(number))
    assert desk.wait(1 / CODE_RATE) == [peer(CODE_BURST + 19)]
    assert desk.told == []


def test_the_host_is_told_once_that_somebody_keeps_breaking_off_and_no_try_is_lost(desk: Desk) -> None:
    break_off(desk, CODE_BREAKS - 1)
    assert desk.told == []
    break_off(desk, 3 * CODE_BREAKS)
    assert desk.told == [Notice(BREAKING_OFF)]
    assert desk.tries_left == CODE_TRIES
    desk.renew(OTHER)
    break_off(desk, CODE_BREAKS)
    assert desk.told == [Notice(BREAKING_OFF)] * 2


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
    assert desk.said(GUEST, WRONG if has_begun else ELEMENT) == Refuse(RefuseCode.REFUSED, CODE_RENEWED)
    for frame in (ELEMENT, WRONG):
        assert desk.said(GUEST, frame) is None
    assert desk.tries_left == CODE_TRIES
