"""The short code of the table that this node hosts: it admits those who prove that they know it.

Three wrong proofs close a code. Nothing that depends on the code is sent before a proof was judged, and a wrong one is
counted before it is answered, so a guest who breaks off has learned nothing.

An exchange costs some computing, so they are paced. Nobody is refused for that: those who come too fast wait for their
turn. First come those whose place (:func:`~protocol.net.addresses.origin`) has the fewest failed exchanges. So a peer
that begins exchanges and breaks them off waits behind guests who have the code.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from protocol import limits
from protocol.crypto.short_code import CodeExchange, CodeExchangeError, ShortCode
from protocol.errors import RefuseCode
from protocol.events import CodeTried, Notice
from protocol.match.lobby import HostedTable
from protocol.net.addresses import origin
from protocol.net.link import LinkUse
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import CodeAim, CodeElement, CodeProof, Refuse, TableAim

OTHER_NUMBER = "no table with this number is open here"
CLOSED = "the short code of this table is closed after too many wrong tries: ask the host for a new one"
BUSY = "the short code of this table has too many callers right now: try again in a few seconds"
WRONG = "the short code is wrong"
BREAKING_OFF = (
    "Somebody keeps starting to enter the short code and then hanging up. This tells them nothing, and other guests go "
    "first. The long join line still works."
)
BEGUN = "the match at this table has begun"
OVER = "the match at this table is over: ask the host to open the table again, and for its new short code"
RENEWED = "this table has a new short code: ask the host for it"


class _Exchange(NamedTuple):
    """One that this node takes part in."""

    place: str
    """Where the peer comes from."""
    exchange: CodeExchange


class _Caller(NamedTuple):
    """A peer whose element waits for its turn."""

    place: str
    element: bytes


class CodeDesk:
    """Judges those who say that they know the code of a table.

    :param code: None if nobody could find the table by it.
    """

    def __init__(self, runtime: Runtime, table: HostedTable, code: ShortCode | None) -> None:
        self._runtime = runtime
        self._table = table
        now = runtime.loop.time()
        self._pace = Bucket(limits.CODE_RATE, limits.CODE_BURST, now)
        self._failures: Buckets[str] = Buckets(
            limits.CODE_RATE_PER_PLACE, limits.CODE_BURST_PER_PLACE, limits.ADDRESSES_WATCHED
        )
        """How many exchanges of each place may still fail before others have their turn first."""
        self._places: dict[bytes, str] = {}
        """Of the peers that are welcome to an exchange and have not begun it."""
        self._waiting: dict[bytes, _Caller] = {}
        """In the order of coming."""
        self._exchanges: dict[bytes, _Exchange] = {}
        """Those under way, by the peer's identity."""
        self._next: asyncio.TimerHandle | None = None
        self._admitted: dict[bytes, None] = {}
        """Identities that have proven that they know a code; the latest are kept."""
        self._overtaken: set[bytes] = set()
        """Peers that were welcomed with a former code."""
        self.renew(code)

    def renew(self, code: ShortCode | None) -> None:
        """Take another code. Whoever was welcomed with the former one is refused at their next frame."""
        self.code = code
        self.tries_left = limits.CODE_TRIES if code is not None else 0
        self._broken_off = 0
        self._overtaken.update(self._places, self._waiting, self._exchanges)
        for those in (self._places, self._waiting, self._exchanges):
            those.clear()

    def close(self) -> None:
        """Cancel the timer."""
        if self._next is not None:
            self._next.cancel()

    @property
    def number(self) -> int:
        """The number of the code; 0 if there is none."""
        return self.code.number if self.code is not None else 0

    def welcome(self, aim: CodeAim) -> TableAim | Refuse:
        """Answer a peer that wants to prove that it knows the code."""
        if aim.number != self.number:
            return Refuse(RefuseCode.NO_TABLE, OTHER_NUMBER)
        if not self.tries_left:
            return Refuse(RefuseCode.REFUSED, CLOSED)
        return TableAim(self._table.id, "")

    def has_admitted(self, identity: bytes) -> bool:
        """Tell whether a peer has proven that it knows a code of this table."""
        return identity in self._admitted

    def greet(self, identity: bytes, host: str) -> None:
        """Wait for the element of a welcomed peer.

        :param host: where the peer is.
        """
        self.lost(identity)
        self._places[identity] = origin(host)

    def lost(self, identity: bytes) -> None:
        """Forget a peer whose link is down; an exchange with it has been broken off."""
        self._places.pop(identity, None)
        self._waiting.pop(identity, None)
        self._overtaken.discard(identity)
        if self._exchanges.pop(identity, None) is not None:
            self._broken_off += 1
            if self._broken_off == limits.CODE_BREAKS:
                self._runtime.tell(Notice(BREAKING_OFF))

    def expire(self, identity: bytes) -> bool:
        """Refuse a peer whose turn has not come in time; tell whether it waited for one."""
        if self._waiting.pop(identity, None) is None:
            return False
        self._runtime.refuse(identity, RefuseCode.REFUSED, BUSY)
        return True

    def take(self, identity: bytes, frame: CodeElement | CodeProof) -> None:
        """Go on with the exchange of a peer; each link is good for one."""
        if identity in self._overtaken:
            self._overtaken.discard(identity)
            self._runtime.refuse(identity, RefuseCode.REFUSED, RENEWED)
        elif isinstance(frame, CodeElement):
            if (place := self._places.pop(identity, None)) is not None:
                self._runtime.mesh.set_use(identity, LinkUse.TRYING)
                self._waiting[identity] = _Caller(place, frame.element)
                self._answer_next()
        elif (begun := self._exchanges.pop(identity, None)) is not None:
            self._judge(identity, begun, frame)
        elif not self.tries_left:
            self._runtime.refuse(identity, RefuseCode.REFUSED, CLOSED)

    def _answer_next(self) -> None:
        """Answer those who wait, as many as may be answered now."""
        if self._next is not None:
            self._next.cancel()
        while self._waiting:
            now = self._runtime.loop.time()
            if wait := self._pace.wait(now):
                self._next = self._runtime.loop.call_later(wait, self._answer_next)
                return
            identity = min(
                self._waiting, key=lambda each: self._failures.bucket(self._waiting[each].place, now).wait(now)
            )
            self._answer(identity, self._waiting.pop(identity), now)

    def _answer(self, identity: bytes, caller: _Caller, now: float) -> None:
        if self.code is None or not self.tries_left:
            self._runtime.refuse(identity, RefuseCode.REFUSED, CLOSED)
            return
        self._pace.take()
        self._failures.bucket(caller.place, now).take()
        exchange = CodeExchange(self.code, identity, self._runtime.identity.public, self._table.id, is_host=True)
        try:
            exchange.take(caller.element)
        except CodeExchangeError as error:
            self._runtime.refuse(identity, RefuseCode.REFUSED, str(error))
            return
        self._exchanges[identity] = _Exchange(caller.place, exchange)
        self._runtime.post(identity, CodeElement(exchange.element))

    def _judge(self, identity: bytes, begun: _Exchange, frame: CodeProof) -> None:
        if begun.exchange.is_proven_by(frame.proof):
            self._failures.bucket(begun.place, self._runtime.loop.time()).put_back()
            self._admitted[identity] = None
            if len(self._admitted) > limits.KNOWN_BY_NAME:
                del self._admitted[next(iter(self._admitted))]
            self._runtime.post(identity, CodeProof(begun.exchange.proof, self._table.token))
            return
        self.tries_left -= 1
        if not self.tries_left:
            self._exchanges.clear()
        self._runtime.tell(CodeTried(self.tries_left))
        self._runtime.refuse(identity, RefuseCode.REFUSED, WRONG)
