"""The desk for short codes: its limit on exchanges, and what it forgets when a link or a code ends."""

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
    """A desk without a node. Tests move its clock, and the frames it sends are recorded."""

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
        """Advance the clock; return the peers that were sent a frame meanwhile, in order."""
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
        """Greet a peer, and tell whether its exchange begins at once instead of waiting for its turn."""
        self.greet(identity, host)
        answer = self.said(identity, ELEMENT)
        assert answer is None or isinstance(answer, CodeElement)
        return answer is not None

    def is_proven(self, identity: bytes, host: str) -> bool:
        """Let a peer prove that it knows the code; tell whether the desk accepts it without a wait."""
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


# Limits on exchanges


def test_the_rate_limit_on_exchanges_is_shared_by_all_peers(desk: Desk) -> None:
    """Otherwise an attacker with many addresses could keep the host's CPU busy."""
    begun = [desk.begins(peer(number), address(number)) for number in range(CODE_BURST + 3)]
    assert begun == [True] * CODE_BURST + [False] * 3
    assert desk.wait(1.5 / CODE_RATE) == [peer(CODE_BURST)]
    assert desk.wait(2 / CODE_RATE) == [peer(CODE_BURST + 1), peer(CODE_BURST + 2)]
    assert desk.wait(10) == []


def break_off(desk: Desk, times: int, host: str = HOME) -> None:
    """Begin exchanges and break each off as soon as the desk answers."""
    for number in range(times):
        if not desk.begins(peer(number), host):
            desk.wait(1 / CODE_RATE)
        desk.lost(peer(number))


def test_peers_at_an_address_that_broke_off_exchanges_wait_behind_all_others(desk: Desk) -> None:
    """Otherwise one attacker could keep all guests from the table."""
    break_off(desk, CODE_BURST)
    callers = [(peer(100), HOME), (peer(101), HOME), (peer(102), address(1)), (peer(103), address(2))]
    assert not any(desk.begins(*each) for each in callers)
    assert desk.wait(4.5 / CODE_RATE) == [peer(102), peer(103), peer(100), peer(101)]


def test_guests_who_prove_the_code_do_not_slow_others_at_the_same_address(desk: Desk) -> None:
    assert all(desk.is_proven(peer(number), HOME) for number in range(CODE_BURST))
    assert not any(desk.begins(*each) for each in ((peer(100), HOME), (peer(101), address(1))))
    assert desk.wait(2.5 / CODE_RATE) == [peer(100), peer(101)]


def test_a_peer_that_leaves_the_queue_uses_up_no_turn(desk: Desk) -> None:
    for number in range(CODE_BURST + 20):
        desk.begins(peer(number), address(number))
    for number in range(CODE_BURST, CODE_BURST + 19):
        desk.lost(peer(number))
    assert desk.wait(1 / CODE_RATE) == [peer(CODE_BURST + 19)]
    assert desk.told == []


def test_repeated_breaking_off_warns_the_host_once_and_costs_no_try(desk: Desk) -> None:
    break_off(desk, CODE_BREAKS - 1)
    assert desk.told == []
    break_off(desk, 3 * CODE_BREAKS)
    assert desk.told == [Notice(BREAKING_OFF)]
    assert desk.tries_left == CODE_TRIES
    desk.renew(OTHER)
    break_off(desk, CODE_BREAKS)
    assert desk.told == [Notice(BREAKING_OFF)] * 2


# What the desk forgets


def test_a_peer_that_reconnects_after_a_new_code_can_begin_an_exchange(desk: Desk) -> None:
    """Only its old link was refused for the former code, and that link is down."""
    desk.greet(GUEST, HOME)
    desk.renew(CODE)
    desk.lost(GUEST)
    assert desk.begins(GUEST, HOME)


def test_an_exchange_ends_with_its_link(desk: Desk) -> None:
    """A proof over the next link belongs to no exchange, and costs no try."""
    assert desk.begins(GUEST, HOME)
    desk.lost(GUEST)
    desk.greet(GUEST, HOME)
    assert desk.said(GUEST, WRONG) is None
    assert desk.tries_left == CODE_TRIES
    assert desk.told == []


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_link_that_began_under_a_former_code_is_refused(desk: Desk, has_begun: bool) -> None:
    """Its peer showed the number of the former code, so it must not get a guess at the new one."""
    desk.greet(GUEST, HOME)
    if has_begun:
        assert isinstance(desk.said(GUEST, ELEMENT), CodeElement)
    desk.renew(OTHER)
    assert desk.said(GUEST, WRONG if has_begun else ELEMENT) == Refuse(RefuseCode.REFUSED, CODE_RENEWED)
    for frame in (ELEMENT, WRONG):
        assert desk.said(GUEST, frame) is None
    assert desk.tries_left == CODE_TRIES
