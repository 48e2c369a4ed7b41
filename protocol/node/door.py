"""Admission to a table that this node hosts: the owner's decisions about players, and the short code.

The host's owner is asked about newcomers while these wait. Only a few can wait at a time, one from each address, and
the number of questions from each place is limited: identities are free, but a person's attention is not.

A short code admits peers that prove that they know it. Three wrong proofs close a code. Nothing that depends on the
code is sent before a proof was judged, and a wrong proof is counted before it is answered, so a guest who breaks off
has learned nothing. As an exchange takes computing time, the rate of exchanges is limited. Peers
that come too fast are not refused, but wait for their turn. Peers whose place (:func:`~protocol.net.addresses.origin`)
has the fewest failed exchanges come first. So a peer that begins exchanges and breaks them off waits behind guests who
have the code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final, NamedTuple

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.crypto.short_code import CodeExchange, CodeExchangeError, ShortCode
from protocol.errors import RefuseCode
from protocol.events import Asks, CodeTried, Notice, PlayerInfo, SeatAsked
from protocol.match.lobby import HostedTable, NotAdmittedError
from protocol.net.addresses import origin
from protocol.net.link import LinkUse
from protocol.node.runtime import Runtime
from protocol.rate_limit import Bucket, Buckets
from protocol.wire.frames import CodeAim, CodeElement, CodeProof, JoinTable, Refuse, Seat, TableAim

REMOVED: Final = "the host has sent you away from this table"
ONLY_WATCH: Final = "the host gives you no seat, but you can watch"
ASKED_ABOUT_ANOTHER: Final = "the host is being asked about somebody else: try again in a moment"
UNANSWERED: Final = "the host has not said whether you may sit down"
WITHDRAWN: Final = "{} no longer asks for a seat."
TURNED_AWAY: Final = "{} got no answer within two minutes and was turned away."
OTHER_NUMBER: Final = "no table with this number is open here"
CODE_CLOSED: Final = "the short code of this table is closed after too many wrong tries: ask the host for a new one"
CODE_BUSY: Final = "the short code of this table has too many callers right now: try again in a few seconds"
WRONG_CODE: Final = "the short code is wrong"
BREAKING_OFF: Final = (
    "Somebody keeps starting to enter the short code and then hanging up. This tells them nothing, and other guests go "
    "first. The long join line still works."
)
BEGUN: Final = "the match at this table has begun"
OVER: Final = "the match at this table is over: ask the host to open the table again, and for its new short code"
CODE_RENEWED: Final = "this table has a new short code: ask the host for it"


class _Question(NamedTuple):
    asked: SeatAsked
    frame: JoinTable
    """The latest request."""
    place: str
    timer: asyncio.TimerHandle


class Door:
    """The owner's decisions about players, and the newcomers who wait for one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._let_in: set[PlayerInfo] = set()
        """Admitted players, by both name and key, as the owner has seen both."""
        self._kept_out: dict[str, tuple[PlayerInfo, RefuseCode]] = {}
        """With the code ``refused`` players are sent away; with ``full`` they may still watch."""
        self._questions: dict[bytes, _Question] = {}
        """Open questions, by identity."""
        self._pace: Buckets[str] = Buckets(limits.QUESTION_RATE, limits.QUESTION_BURST, limits.ADDRESSES_WATCHED)

    @property
    def asked(self) -> tuple[SeatAsked, ...]:
        """The open questions about newcomers, oldest first."""
        return tuple(question.asked for question in self._questions.values())

    @property
    def kept_out(self) -> tuple[PlayerInfo, ...]:
        """The players who get no seat."""
        return tuple(player for player, _ in self._kept_out.values())

    def is_asked_about(self, identity: bytes) -> bool:
        """Return whether a newcomer waits for an answer."""
        return identity in self._questions

    def check(self, identity: bytes, *, only_watches: bool = False) -> None:
        """Check that the owner has not excluded this player.

        :raises NotAdmittedError: if the owner has.
        """
        _, code = self._kept_out.get(fingerprint(identity), (None, None))
        if code is not None and not (only_watches and code is RefuseCode.FULL):
            raise NotAdmittedError(code, ONLY_WATCH if code is RefuseCode.FULL else REMOVED)

    def let_in(self, player: PlayerInfo) -> tuple[bytes, JoinTable] | None:
        """Let a player sit down from now on. If they are already waiting, return their identity and request."""
        self._kept_out.pop(player.fingerprint, None)
        self._let_in.add(player)
        identity = self._waiting(player)
        return (identity, self._answered(identity).frame) if identity is not None else None

    def keep_out(self, player: PlayerInfo, *, may_watch: bool = False) -> None:
        """Give a player no seat until they are let in. If they are waiting, refuse them."""
        code = RefuseCode.FULL if may_watch else RefuseCode.REFUSED
        self._let_in = {each for each in self._let_in if each.fingerprint != player.fingerprint}
        self._kept_out[player.fingerprint] = player, code
        if (identity := self._waiting(player)) is not None:
            self._answered(identity)
            self._runtime.refuse(identity, code, ONLY_WATCH if may_watch else REMOVED)

    def namesakes(self, players: Collection[PlayerInfo]) -> tuple[PlayerInfo, ...]:
        """Return the players who use a trusted player's name with another key, and whom the owner has not let in."""
        return tuple(each for each in players if each not in self._let_in and self._runtime.is_namesake(each))

    def ask(self, player: PlayerInfo, identity: bytes, frame: JoinTable, asks: Asks, came_by: str, at: str) -> bool:
        """Ask the owner about a newcomer if required, and return whether the newcomer has to wait for the answer.

        An answer holds for one name with one key. If a newcomer changes the name, the owner is asked again.

        :param at: the newcomer's address.
        :raises NotAdmittedError: if too many newcomers are waiting, or too many came from this place lately.
        """
        if (open_one := self._questions.get(identity)) is not None:
            if open_one.asked.player == player:
                self._questions[identity] = open_one._replace(frame=frame)
                return True
            self.lost(identity)
        if asks == "never" or player in self._let_in:
            return False
        is_namesake = self._runtime.is_namesake(player)
        if asks != "always" and not is_namesake:
            return False
        now, loop = self._runtime.loop.time(), self._runtime.loop
        others = [each.place for each in self._questions.values()]
        is_crowd = at in others or len(others) >= limits.SEATS_ASKED
        if is_crowd or not self._pace.bucket(origin(at), now).admits(now):
            raise NotAdmittedError(RefuseCode.FULL, ASKED_ABOUT_ANOTHER)
        asked = SeatAsked(player, is_namesake, came_by)
        timer = loop.call_later(limits.SEAT_ASKED, self._give_up, identity)
        self._questions[identity] = _Question(asked, frame, at, timer)
        self._runtime.post(identity, Seat(0))
        self._runtime.tell(asked)
        return True

    def lost(self, identity: bytes) -> None:
        """Drop the question about a newcomer whose link is down."""
        if identity in self._questions:
            self._forget(identity, WITHDRAWN)

    def close(self, reason: str) -> None:
        """Refuse all waiting newcomers, because the table has closed."""
        for identity in tuple(self._questions):
            self._refuse(identity, RefuseCode.NO_TABLE, reason)

    def _give_up(self, identity: bytes) -> None:
        self._refuse(identity, RefuseCode.REFUSED, UNANSWERED, TURNED_AWAY)

    def _forget(self, identity: bytes, why: str) -> None:
        self._runtime.tell(Notice(why.format(self._answered(identity).asked.player.name)))

    def _refuse(self, identity: bytes, code: RefuseCode, reason: str, told: str = WITHDRAWN) -> None:
        self._forget(identity, told)
        self._runtime.refuse(identity, code, reason)

    def _waiting(self, player: PlayerInfo) -> bytes | None:
        return next((key for key, each in self._questions.items() if each.asked.player == player), None)

    def _answered(self, identity: bytes) -> _Question:
        question = self._questions.pop(identity)
        question.timer.cancel()
        return question


class _Exchange(NamedTuple):
    """An exchange in which this node takes part."""

    place: str
    """The place that the peer connects from."""
    exchange: CodeExchange


class _Caller(NamedTuple):
    """A peer whose element waits for its turn."""

    place: str
    element: bytes


class CodeDesk:
    """Checks peers that claim to know the short code of a table.

    :param code: the code; None if the table cannot be found by one.
    """

    def __init__(self, runtime: Runtime, table: HostedTable, code: ShortCode | None) -> None:
        self._runtime = runtime
        self._table = table
        now = runtime.loop.time()
        self._pace = Bucket(limits.CODE_RATE, limits.CODE_BURST, now)
        self._failures: Buckets[str] = Buckets(
            limits.CODE_RATE_PER_PLACE, limits.CODE_BURST_PER_PLACE, limits.ADDRESSES_WATCHED
        )
        """By place: the number of exchanges that may still fail before peers from other places come first."""
        self._places: dict[bytes, str] = {}
        """The places of peers that may begin an exchange and have not."""
        self._waiting: dict[bytes, _Caller] = {}
        """The peers whose element waits for its turn, in order of arrival."""
        self._exchanges: dict[bytes, _Exchange] = {}
        """The exchanges in progress, by the peer's identity."""
        self._next: asyncio.TimerHandle | None = None
        self._admitted: dict[bytes, None] = {}
        """The identities that have proven that they know a code; only the latest are kept."""
        self._overtaken: set[bytes] = set()
        """The peers that were welcomed while an earlier code was valid."""
        self.renew(code)

    def renew(self, code: ShortCode | None) -> None:
        """Replace the code. Peers that were welcomed with the previous one are refused at their next frame."""
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
            return Refuse(RefuseCode.REFUSED, CODE_CLOSED)
        return TableAim(self._table.id, "")

    def has_admitted(self, identity: bytes) -> bool:
        """Return whether a peer has proven that it knows a code of this table."""
        return identity in self._admitted

    def greet(self, identity: bytes, host: str) -> None:
        """Wait for the element of a welcomed peer.

        :param host: the peer's address.
        """
        self.lost(identity)
        self._places[identity] = origin(host)

    def lost(self, identity: bytes) -> None:
        """Forget a peer whose link is down. An exchange in progress counts as broken off."""
        self._places.pop(identity, None)
        self._waiting.pop(identity, None)
        self._overtaken.discard(identity)
        if self._exchanges.pop(identity, None) is not None:
            self._broken_off += 1
            if self._broken_off == limits.CODE_BREAKS:
                self._runtime.tell(Notice(BREAKING_OFF))

    def expire(self, identity: bytes) -> bool:
        """Refuse a peer whose turn has not come in time; return whether it was waiting."""
        if self._waiting.pop(identity, None) is None:
            return False
        self._runtime.refuse(identity, RefuseCode.REFUSED, CODE_BUSY)
        return True

    def take(self, identity: bytes, frame: CodeElement | CodeProof) -> None:
        """Continue a peer's exchange. Each link is good for one exchange."""
        if identity in self._overtaken:
            self._overtaken.discard(identity)
            self._runtime.refuse(identity, RefuseCode.REFUSED, CODE_RENEWED)
        elif isinstance(frame, CodeElement):
            if (place := self._places.pop(identity, None)) is not None:
                self._runtime.mesh.set_use(identity, LinkUse.TRYING)
                self._waiting[identity] = _Caller(place, frame.element)
                self._answer_next()
        elif (begun := self._exchanges.pop(identity, None)) is not None:
            self._judge(identity, begun, frame)
        elif not self.tries_left:
            self._runtime.refuse(identity, RefuseCode.REFUSED, CODE_CLOSED)

    def _answer_next(self) -> None:
        """Answer waiting peers, as many as the rate limit permits now."""
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
            self._runtime.refuse(identity, RefuseCode.REFUSED, CODE_CLOSED)
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
        self._runtime.refuse(identity, RefuseCode.REFUSED, WRONG_CODE)
