"""The short code of the table that this node hosts: it admits those who prove that they know it.

Three wrong proofs close a code. Nothing that depends on the code is sent before a proof was
judged, and a wrong one is counted before it is answered, so whoever breaks off has learned nothing.
"""

from __future__ import annotations

from protocol import limits
from protocol.crypto.code_exchange import CodeExchange, CodeExchangeError
from protocol.crypto.short_code import ShortCode
from protocol.errors import RefuseCode
from protocol.events import CodeTried
from protocol.match.lobby import HostedTable
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import CodeAim, CodeElement, CodeProof, Refuse, TableAim

OTHER_NUMBER = "no table with this number is open here"
CLOSED = "the short code of this table is closed after too many wrong tries: ask the host for a new one"
BUSY = "the short code of this table has too many callers right now: try again in a few seconds"
WRONG = "the short code is wrong"
RENEWED = "this table has a new short code: ask the host for it"


class CodeDesk:
    """Judges those who say that they know the code of a table.

    :param code: None if nobody could find the table by it.
    """

    def __init__(self, runtime: Runtime, table: HostedTable, code: ShortCode | None) -> None:
        self._runtime = runtime
        self._table = table
        now = runtime.loop.time()
        self._pace = Bucket(limits.CODE_RATE, limits.CODE_BURST, now)
        self._pace_of_each: Buckets[str] = Buckets(
            limits.CODE_RATE_PER_ADDRESS, limits.CODE_BURST_PER_ADDRESS, limits.ADDRESSES_WATCHED
        )
        self._addresses: dict[bytes, str] = {}
        """Of the peers that are welcome to an exchange and have not begun it."""
        self._exchanges: dict[bytes, CodeExchange] = {}
        """Those under way, by the peer's identity."""
        self._overtaken: set[bytes] = set()
        """Peers that were welcomed with a former code."""
        self.renew(code)

    def renew(self, code: ShortCode | None) -> None:
        """Take another code. Whoever was welcomed with the former one is refused at their next frame."""
        self.code = code
        self.tries_left = limits.CODE_TRIES if code is not None else 0
        self._overtaken.update(self._addresses, self._exchanges)
        self._addresses.clear()
        self._exchanges.clear()

    def welcome(self, aim: CodeAim) -> TableAim | Refuse:
        """Answer a peer that wants to prove that it knows the code."""
        if self.code is None or aim.number != self.code.number:
            return Refuse(RefuseCode.NO_TABLE, OTHER_NUMBER)
        if not self.tries_left:
            return Refuse(RefuseCode.REFUSED, CLOSED)
        return TableAim(self._table.id, "")

    def greet(self, identity: bytes, host: str) -> None:
        """Wait for the element of a welcomed peer.

        :param host: where the peer is.
        """
        self.lost(identity)
        self._addresses[identity] = host

    def lost(self, identity: bytes) -> None:
        """Forget a peer whose link is down."""
        self._addresses.pop(identity, None)
        self._exchanges.pop(identity, None)
        self._overtaken.discard(identity)

    def take(self, identity: bytes, frame: CodeElement | CodeProof) -> None:
        """Go on with the exchange of a peer; each link is good for one."""
        if identity in self._overtaken:
            self._overtaken.discard(identity)
            self._runtime.refuse(identity, RefuseCode.REFUSED, RENEWED)
        elif isinstance(frame, CodeElement):
            if (host := self._addresses.pop(identity, None)) is not None:
                self._answer(identity, host, frame)
        elif (exchange := self._exchanges.pop(identity, None)) is not None:
            self._judge(identity, exchange, frame)
        elif not self.tries_left:
            self._runtime.refuse(identity, RefuseCode.REFUSED, CLOSED)

    def _answer(self, identity: bytes, host: str, frame: CodeElement) -> None:
        now = self._runtime.loop.time()
        if self.code is None or not self.tries_left:
            self._runtime.refuse(identity, RefuseCode.REFUSED, CLOSED)
        elif not (self._pace_of_each.bucket(host, now).admits(now) and self._pace.admits(now)):
            self._runtime.refuse(identity, RefuseCode.REFUSED, BUSY)
        else:
            own = self._runtime.identity.public
            exchange = CodeExchange(self.code, identity, own, self._table.id, is_host=True)
            try:
                exchange.take(frame.element)
            except CodeExchangeError as error:
                self._runtime.refuse(identity, RefuseCode.REFUSED, str(error))
                return
            self._exchanges[identity] = exchange
            self._runtime.post(identity, CodeElement(exchange.element))

    def _judge(self, identity: bytes, exchange: CodeExchange, frame: CodeProof) -> None:
        if exchange.is_proven_by(frame.proof):
            self._runtime.post(identity, CodeProof(exchange.proof, self._table.token))
            return
        self.tries_left -= 1
        if not self.tries_left:
            self._exchanges.clear()
        self._runtime.tell(CodeTried(self.tries_left))
        self._runtime.refuse(identity, RefuseCode.REFUSED, WRONG)
