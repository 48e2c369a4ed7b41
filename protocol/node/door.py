"""The door of this node's tables: who may sit down, as its owner has said in the course of the evening.

A host's person is asked about newcomers while these wait. Only a few wait at a time, one from each address, and no
place asks often: identities are free, and a person's attention is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final, NamedTuple

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.errors import RefuseCode
from protocol.events import Notice, PlayerInfo, SeatAsked
from protocol.match.lobby import Asks, NotAdmittedError
from protocol.net.addresses import origin
from protocol.node.runtime import Runtime
from protocol.rate_limit import Buckets
from protocol.wire.frames import JoinTable, Seat

REMOVED: Final = "the host has sent you away from this table"
ONLY_WATCH: Final = "the host gives you no seat, but you can watch"
BUSY: Final = "the host is being asked about somebody else: try again in a moment"
UNANSWERED: Final = "the host has not said whether you may sit down"
WITHDRAWN: Final = "{} no longer asks for a seat."
TURNED_AWAY: Final = "{} got no answer within two minutes and was turned away."


class _Question(NamedTuple):
    asked: SeatAsked
    frame: JoinTable
    """The latest request."""
    place: str
    timer: asyncio.TimerHandle


class Door:
    """What the owner has said about players, and the newcomers who wait for an answer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._let_in: set[PlayerInfo] = set()
        """By name and key: the owner has seen both."""
        self._kept_out: dict[str, tuple[PlayerInfo, RefuseCode]] = {}
        """``refused``: they are sent away; ``full``: they may watch."""
        self._questions: dict[bytes, _Question] = {}
        """By identity."""
        self._pace: Buckets[str] = Buckets(limits.QUESTION_RATE, limits.QUESTION_BURST, limits.ADDRESSES_WATCHED)

    @property
    def asked(self) -> tuple[SeatAsked, ...]:
        """The questions about newcomers that are open, the oldest first."""
        return tuple(question.asked for question in self._questions.values())

    @property
    def kept_out(self) -> tuple[PlayerInfo, ...]:
        """The players who get no seat."""
        return tuple(player for player, _ in self._kept_out.values())

    def is_asked_about(self, identity: bytes) -> bool:
        """Tell whether a newcomer waits for an answer."""
        return identity in self._questions

    def check(self, identity: bytes, *, only_watches: bool = False) -> None:
        """See that the owner keeps nobody out.

        :raises NotAdmittedError: if they do.
        """
        _, code = self._kept_out.get(fingerprint(identity), (None, None))
        if code is not None and not (only_watches and code is RefuseCode.FULL):
            raise NotAdmittedError(code, ONLY_WATCH if code is RefuseCode.FULL else REMOVED)

    def let_in(self, player: PlayerInfo) -> tuple[bytes, JoinTable] | None:
        """Let a player sit down from now on; return identity and request of one who waits for that."""
        self._kept_out.pop(player.fingerprint, None)
        self._let_in.add(player)
        identity = self._waiting(player)
        return (identity, self._answered(identity).frame) if identity is not None else None

    def keep_out(self, player: PlayerInfo, *, may_watch: bool = False) -> None:
        """Give a player no seat until they are let in; one who waits is told."""
        code = RefuseCode.FULL if may_watch else RefuseCode.REFUSED
        self._let_in = {each for each in self._let_in if each.fingerprint != player.fingerprint}
        self._kept_out[player.fingerprint] = player, code
        if (identity := self._waiting(player)) is not None:
            self._answered(identity)
            self._runtime.refuse(identity, code, ONLY_WATCH if may_watch else REMOVED)

    def strangers(self, players: Collection[PlayerInfo]) -> tuple[PlayerInfo, ...]:
        """Return those who have a name of somebody trusted, and another key, unless they were let in."""
        return tuple(each for each in players if each not in self._let_in and self._runtime.is_namesake(each))

    def asks(self, player: PlayerInfo, identity: bytes, frame: JoinTable, asks: Asks, came_by: str, at: str) -> bool:
        """Ask the owner about a newcomer, if they are to be asked; tell whether the newcomer has to wait.

        The answer is about one name with one key. With another name a newcomer is asked about anew.

        :param at: where the newcomer is.
        :raises NotAdmittedError: if too many wait already, or have come from there of late.
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
            raise NotAdmittedError(RefuseCode.FULL, BUSY)
        asked = SeatAsked(player, is_namesake, came_by)
        timer = loop.call_later(limits.SEAT_ASKED, self._give_up, identity)
        self._questions[identity] = _Question(asked, frame, at, timer)
        self._runtime.post(identity, Seat(0))
        self._runtime.tell(asked)
        return True

    def lost(self, identity: bytes) -> None:
        """The link to somebody is down, who wants no seat any more."""
        if identity in self._questions:
            self._forget(identity, WITHDRAWN)

    def close(self, reason: str) -> None:
        """The table is open no more: refuse all who wait."""
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
