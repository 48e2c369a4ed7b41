"""The table that this node hosts: its guests, and the matches that it proposes to them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.crypto.short_code import ShortCode
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import LobbyChanged, Notice, PlayerInfo, SeatWanted
from protocol.match.effects import Withdrawn
from protocol.match.lobby import NO_TABLE, Attendance, HostedTable, NotAdmittedError
from protocol.net.link import LinkUse
from protocol.node.audience import SPECTATOR, Audience, Floor
from protocol.node.door import BEGUN, ONLY_WATCH, OVER, REMOVED, CodeDesk, Door
from protocol.node.locator import LEFT
from protocol.node.playing import PlayerSession, Proposals
from protocol.node.purse import FOLDED
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion
from protocol.node.table_ledgers import Acts, TableLedgers
from protocol.rate_limit import Bucket
from protocol.wire.frames import Aim, CodeAim, JoinTable, Propose, Refuse, Seat, ShowLedger, TableAim, WatchAim
from protocol.wire.genesis import JoinRecord

MOST_TOLD_OF: Final = 10
"""Once the owner was told of this many peers that want a seat, it is told of no more spectators, because a stranger can
watch and ask with any number of keys."""
KEPT: Final = 10.0
"""Seconds for which seats are reserved for the players of the previous match: enough for a few requests."""
BEGUN_WITHOUT: Final = "the match has begun without you"
KEPT_FOR_PROGRAMS: Final = 60.0
"""Seconds for which seats are reserved for the owner's own programs, as many programs take a while to start."""
FAILED: Final = NotAdmittedError(RefuseCode.CLOSED, "the match begins without you, as you kept it from forming")


class Host:
    """The host's side of a table, over the network.

    :param audience: the spectators.
    :param proposals: the proposals in which this node takes part.
    :param advertise: advertises the present state of the table.
    :param code: the short code, if the table can be found by one.
    :param door: the owner's decisions about who may sit down.
    :param programs: returns the owner's own programs. They need no consent, and their seats are reserved.
    :param returning: the players of the previous match, by identity. Strangers cannot take their links.
    """

    def __init__(
        self,
        runtime: Runtime,
        table: HostedTable,
        audience: Audience,
        proposals: Proposals,
        advertise: Callable[[], None],
        code: ShortCode | None,
        door: Door,
        programs: Callable[[], Collection[bytes]],
        returning: Mapping[bytes, PlayerInfo] = MappingProxyType({}),
    ) -> None:
        self.table = table
        self._door = door
        self._programs = programs
        self._places: dict[bytes, str] = {}
        """The addresses of the peers whose present link was welcomed for a seat at this table."""
        self.code_desk = CodeDesk(runtime, table, code)
        acts = Acts(self._join, self._lose_purse, self._renew, self._follow_purses)
        self.ledgers = TableLedgers(runtime, acts, lambda: table.records, has_stakes=table.settings.ruleset.stakes)
        self._runtime = runtime
        self._audience = audience
        audience.turn_to(table.id)
        self._proposals = proposals
        self._advertise = advertise
        self._returning = returning
        table.expected = {*filter(runtime.mesh.is_linked, returning), *programs()}
        self._keeping = [
            runtime.loop.call_later(KEPT, lambda: table.expected.intersection_update(programs())),
            runtime.loop.call_later(KEPT_FOR_PROGRAMS, table.expected.clear),
        ]
        self._proposal: PlayerSession | None = None
        """The current proposal; None if it was withdrawn."""
        self._former: tuple[bytes, bytes] | tuple[()] = ()
        """The RESIGN that withdrew the previous proposal."""
        self._attendance = Attendance()
        self._patience: asyncio.TimerHandle | None = None
        self._pace = Bucket(limits.JOIN_RATE, limits.JOIN_BURST, runtime.loop.time())
        self._refused = Bucket(limits.REFUSED_RATE, limits.REFUSED_BURST, runtime.loop.time())
        self._asking: dict[bytes, JoinTable] = {}
        """The peers whose JOIN waits for an answer, in order of arrival, each with its latest JOIN."""
        self._next_seat: asyncio.TimerHandle | None = None
        self._told_of: set[bytes] = set()
        """The peers that the owner was told want a seat."""

    @property
    def seated(self) -> tuple[bytes, ...]:
        """The identities of the guests, in the order of joining."""
        return tuple(record.join.identity for record in self.table.records[1:])

    @property
    def has_begun(self) -> bool:
        """Whether the match is formed, so that the table is no longer open."""
        return self._proposal is not None and self._proposal.match.is_formed

    def open(self) -> None:
        """Show the owner, and spectators of the previous match, who sits at the table."""
        self._update_roster()
        self._audience.post(self.table.frame())
        self._runtime.tell(LobbyChanged(self._runtime.players(self.table.frame()), self.table.settings.seats))
        self._audience.tell()

    def propose(self) -> None:
        """Propose a match to all guests, and seat no newcomers from now on.

        If guests' purses have to be put in order first, notify the owner.

        :raises NodeError: if there are no guests, the match has begun, or the owner's purse is busy.
        """
        if self.has_begun:
            raise NodeError(ErrorCode.FAILED, "the match has begun")
        if len(self.table.records) < 2:
            raise NodeError(ErrorCode.FAILED, "a match needs two players", "wait until somebody joins")
        if self.ledgers.has_stakes and (reason := self._runtime.purses.find_hindrance()):
            raise NodeError(ErrorCode.FAILED, reason, choices=(("p2pdice purse", "What you can do"),))
        self._attendance.is_started = True
        self._propose()
        if self._proposal is None and (flawed := self.ledgers.flawed()):
            names = ", ".join(each.join.nickname for each in self.table.records if each.join.identity in flawed)
            self._runtime.tell(Notice(f"the match cannot begin before this purse is in order: {names}"))

    def _propose(self) -> None:
        """Propose a match, if one is wanted, none is proposed, and all purses are in order."""
        is_wanted = self.table.is_full or (self._attendance.is_closed and len(self.table.records) > 1)
        if not is_wanted or self._proposal is not None or self.ledgers.flawed():
            return
        if self._former:  # without a new join record, it could be the genesis of the withdrawn match
            self._sign_again()
        settings = self.table.settings
        occasion = Occasion.now(settings.name, settings.customs, settings.asks)
        self._proposal = proposal = self._proposals.begin(self.table.genesis(), occasion, self._runtime.identity.public)
        proposal.start(self.seated)
        proposal.watch = self._watch
        for identity in proposal.authors:
            self._show_proposal(identity)
        self._watch()

    def _show_proposal(self, identity: bytes) -> None:
        if self._proposal is not None:
            self._runtime.post(identity, Propose(self._proposal.match.history.genesis_data, self._former))

    def withdraw(self) -> None:
        """Resign from the proposed match. Without the host it cannot form, no matter what the others have signed."""
        if self._proposal is None or self.has_begun:
            return
        proposal, self._proposal = self._proposal, None
        proposal.feed(Withdrawn())
        assert proposal.match.me is not None
        self._former = proposal.match.history.withdrawals[proposal.match.me].wire
        self._watch()

    def _watch(self) -> None:
        """Update which guests the proposal waits for, and dismiss those who have failed it."""
        now, failed = self._runtime.loop.time(), list[bytes]()
        awaited: tuple[bytes, ...] = ()
        if self._proposal is not None and not self.has_begun:
            match = self._proposal.match
            roster = match.history.genesis.roster
            awaited = tuple(roster[author].join.identity for author in match.history.missing() if author != match.me)
            wrong = {*match.replica.proven, *match.history.withdrawals}
            failed = [roster[author].join.identity for author in sorted(wrong) if author != match.me]
            if match.history.missing() and not awaited:  # only this node's own: its purse is not in order
                self._runtime.loop.call_soon(self._follow_purses)
        self._attendance.await_(awaited, now)
        if self.has_begun:
            self._door.close(BEGUN_WITHOUT)
        if self._patience is not None:
            self._patience.cancel()
        due = self._attendance.due()
        self._patience = self._runtime.loop.call_at(max(due, now), self._look_again) if due < math.inf else None
        if failed:
            self._runtime.loop.call_soon(self._dismiss, failed)  # later, as the match is handling its input now

    def _look_again(self) -> None:
        self._dismiss(self._attendance.late(self._runtime.loop.time()))

    def _dismiss(
        self, identities: Collection[bytes], why: NotAdmittedError = FAILED, *, is_barred: bool = True
    ) -> None:
        """Refuse peers and free their seats. A guest has failed if a match is proposed, or one was withdrawn for this
        guest's JOIN or purse."""
        if self.has_begun or self._runtime.is_silent:
            return
        with self._runtime.stopping_at_disk_errors():
            for identity in identities:
                self._runtime.refuse(identity, why.code, str(why))
                is_failed = self._proposal is not None or identity in self._attendance.returned
                if is_failed and identity in self.seated:
                    self._attendance.fail(identity, is_barred=is_barred)
            for identity in identities:
                self._give_away(identity)
            self._watch()

    def close(self) -> None:
        """Cancel all timers, refuse waiting newcomers, and close the ledgers."""
        timers = *self._keeping, self._patience, self._next_seat
        for timer in timers:
            if timer is not None:
                timer.cancel()
        if self._proposal is not None:  # its match is still served, but the door belongs to the next table
            self._proposal.watch = lambda: None
        self._door.close(NO_TABLE)
        self.ledgers.close()
        self.code_desk.close()

    def floor(self) -> Floor:
        """Return the floor of this table, where the host passes words on."""
        guests = {
            record.join.identity: self._runtime.player(record.join.nickname, record.join.identity)
            for record in self.table.records[1:]
        }
        listeners: tuple[bytes, ...] = ()
        if not self.has_begun:
            watching = self._audience.watching(self.table.id)
            listeners = (*filter(self._runtime.mesh.is_linked, guests), *watching)
        is_open = bool(self.table.settings.customs.talk)
        return Floor(self.table.id, guests, reach=listeners, onward=listeners, is_open=is_open)

    # Guests

    def welcome(self, identity: bytes, aim: TableAim) -> TableAim | Refuse:
        """Answer a peer that wants a seat."""
        if self.has_begun:
            self._note_who_wants_a_seat(identity)
            return Refuse(RefuseCode.NO_TABLE, NO_TABLE)
        try:
            self.table.check_aim(aim)
            self._door.check(identity)
            self._attendance.check(identity, self.seated)
            self.table.check_room(identity)
        except NotAdmittedError as error:
            if error.code is RefuseCode.FULL:
                self._note_who_wants_a_seat(identity)
            return Refuse(error.code, str(error))
        return TableAim(self.table.id, "")

    def welcome_to_desk(self, identity: bytes, aim: CodeAim) -> TableAim | Refuse:
        """Answer a peer that wants to prove that it knows the short code."""
        if identity in self.seated:
            seat = "in this match: resume it" if self.has_begun else "at this table"
            return Refuse(RefuseCode.REFUSED, f"you already have a seat {seat}")
        if self._proposal is not None and self.has_begun and aim.number == self.code_desk.number:
            if self._proposal.is_over or self._proposal.match.is_ended:
                return Refuse(RefuseCode.NO_TABLE, OVER)
            return Refuse(RefuseCode.PLAYING, BEGUN)
        return self.code_desk.welcome(aim)

    def _note_who_wants_a_seat(self, identity: bytes) -> None:
        played = self._proposal if self.has_begun else None
        if identity in self._told_of or (played is not None and not played.is_over):
            return
        if played is not None and identity in played.authors:
            wanted = SeatWanted(played.match.info[played.authors[identity]])
        elif self._audience.has_watched(identity) and len(self._told_of) < MOST_TOLD_OF:
            wanted = SeatWanted(self._runtime.player(self._runtime.known_as(identity) or SPECTATOR, identity), True)
        else:
            return
        self._told_of.add(identity)
        self._runtime.tell(wanted)

    def welcome_spectator(self, identity: bytes, aim: WatchAim) -> TableAim | Refuse:
        """Answer a peer that wants to watch."""
        try:
            self.table.check_aim(aim)
            self._door.check(identity, only_watches=True)
        except NotAdmittedError as error:
            return Refuse(error.code, str(error))
        if identity in self.seated:
            return Refuse(RefuseCode.REFUSED, "you already have a seat at this table, so you cannot watch it too")
        if len(self._audience) >= limits.SPECTATORS_OF_A_LOBBY:
            return Refuse(RefuseCode.FULL, "there is no room for more spectators before the match begins")
        return TableAim(self.table.id, "")

    def greet_spectator(self, identity: bytes) -> None:
        """Show the table to a spectator."""
        self._runtime.post(identity, self.table.frame())

    def greet(self, identity: bytes, aim: Aim | None, host: str) -> None:
        """Note a new link, which may replace an older one. A peer may use it only for what it was welcomed for.

        A welcomed peer is shown the table. If no JOIN comes in time, the link is closed, as it takes up room. A
        returning guest is also shown the proposed match, whatever the link is for.

        :param aim: the aim in the peer's HELLO; None if this node dialled.
        :param host: the peer's address.
        """
        if self.has_begun:
            return
        self.code_desk.lost(identity)
        is_seated = identity in self.seated
        if isinstance(aim, TableAim):
            self._places[identity] = host
        elif not is_seated:
            self._forget_request(identity)
        if isinstance(aim, CodeAim):
            self.code_desk.greet(identity, host)
        if isinstance(aim, TableAim) or is_seated:
            self._runtime.post(identity, self.table.frame())
        if is_seated:
            self._attendance.linked(identity)
            self.ledgers.show_to(identity)
            self._show_proposal(identity)
            self._watch()
        if isinstance(aim, CodeAim | TableAim):
            self._runtime.loop.call_later(self._runtime.bounds.handshake, self._expect_join, identity)

    def _expect_join(self, identity: bytes) -> None:
        if identity in self.seated or identity in self._audience or self._door.is_asked_about(identity):
            return
        if not self.code_desk.expire(identity):
            self._runtime.mesh.disconnect(identity)

    def may_join(self, identity: bytes) -> bool:
        """Return whether a linked peer may send JOIN and LEDGER: it sits here, or was welcomed for a seat. Only these
        have shown the token of a private table."""
        return identity in self._places or identity in self.seated

    def take(self, identity: bytes, frame: ShowLedger | JoinTable) -> None:
        """Check a purse, or give a peer a seat once its purse is in order.

        :param identity: a peer that :meth:`may_join`.
        """
        if not self.has_begun:
            self.ledgers.take(identity, frame)
        elif isinstance(frame, JoinTable):
            self._join(identity, frame)

    def _join(self, identity: bytes, frame: JoinTable) -> None:
        """Give a peer a seat or refuse it; at once, unless seats have changed hands too often lately."""
        self._runtime.mesh.set_use(identity, LinkUse.ENGAGED)
        self._asking[identity] = frame
        self._admit_next()

    def _admit_next(self) -> None:
        """Answer peers that wait for a seat, as many as the rate limit permits now."""
        if self._next_seat is not None:
            self._next_seat.cancel()
        with self._runtime.stopping_at_disk_errors():
            while self._asking:
                if wait := self._pace.wait(self._runtime.loop.time()):
                    self._next_seat = self._runtime.loop.call_later(wait, self._admit_next)
                    return
                identity = next(iter(self._asking))
                self._admit(identity, self._asking.pop(identity))

    def _admit(self, identity: bytes, frame: JoinTable) -> None:
        """Give a peer a seat or refuse it; propose the match when all seats are taken."""
        if self.has_begun:
            self._runtime.refuse(identity, RefuseCode.NO_TABLE, NO_TABLE)
            return
        before = self.table.frame()
        try:
            self._attendance.check(identity, self.seated)
            if self._count_withdrawal(identity):
                self._dismiss([identity])
                return
            self._door.check(identity)
            record = self.table.check_join(identity, frame.record)
            if self._has_to_wait(identity, record, frame):
                return
            self.table.admit(identity, frame.record)
        except NotAdmittedError as error:
            self._dismiss([identity], error)
            return
        self._pace.take()
        self.withdraw()
        if self.table.frame() != before:  # otherwise only the join record is new, and the others need not know
            self._changed(joined=identity)
            self.ledgers.show_to(identity)
        self._runtime.post(identity, Seat(1))
        self.ledgers.spread(record)
        self._propose()

    # The owner's decisions

    def _has_to_wait(self, identity: bytes, record: JoinRecord, frame: JoinTable) -> bool:
        """Return whether a newcomer has to wait because the owner is asked first.

        :raises NotAdmittedError: if too many newcomers are waiting for an answer.
        """
        player = self._runtime.player(record.join.nickname, identity)
        if identity in (*self.seated, *self._programs()) or self._returning.get(identity) == player:
            return False
        came_by = "code" if self.code_desk.has_admitted(identity) else "line" if self.table.token else "network"
        asks = self.table.settings.asks
        return self._door.ask(player, identity, frame, asks, came_by, self._places[identity])

    def seat(self, player: PlayerInfo) -> None:
        """Let a player sit down: at once if they are waiting, otherwise when they come."""
        if (waiting := self._door.let_in(player)) is not None:
            self._join(*waiting)

    def seats(self, player: PlayerInfo) -> bool:
        """Return whether a player is a guest here."""
        return any(fingerprint(identity) == player.fingerprint for identity in self.seated)

    def keep_out(self, player: PlayerInfo, *, may_watch: bool = False) -> None:
        """Give a player no seat until :meth:`seat` is called, and send them away if they have one.

        :raises NodeError: if the match has begun.
        """
        if self.has_begun:
            raise NodeError(ErrorCode.FAILED, "the match has begun: nobody can be sent away from it")
        self._door.keep_out(player, may_watch=may_watch)
        for identity in self.seated:
            if fingerprint(identity) == player.fingerprint:
                code, reason = (RefuseCode.FULL, ONLY_WATCH) if may_watch else (RefuseCode.REFUSED, REMOVED)
                self.withdraw()
                self._runtime.refuse(identity, code, reason)
                self._give_away(identity)

    # Purses

    def _lose_purse(self, identity: bytes, name: str, reason: str) -> None:
        """Refuse a peer whose purse is not in order, and notify the owner."""
        if self.has_begun:
            return
        key = fingerprint(identity)
        if identity in self.seated or self._refused.admits(self._runtime.loop.time()):
            text = f"{name or 'somebody'} ({key}) cannot play here: {reason}"
            if reason.endswith(FOLDED):
                text += f". To accept this purse anyway, close the table, run p2pdice purse forget {key} and host again"
            self._runtime.tell(Notice(text))
        why = NotAdmittedError(RefuseCode.REFUSED, reason)
        self._dismiss([identity], why, is_barred=self._count_withdrawal(identity))

    def _count_withdrawal(self, identity: bytes) -> bool:
        """Count a withdrawal against the guest whose frame or purse caused it; return whether the guest fails."""
        return self._proposal is not None and identity in self.seated and not self._attendance.note_return(identity)

    def _renew(self, sender: bytes) -> None:
        """Show the owner's present purse, because a guest has handed back records that it lacked. This withdraws the
        proposal, so it counts against a guest who hands records back one by one."""
        if not self.has_begun:
            if self._count_withdrawal(sender):
                self._dismiss([sender])
            self.withdraw()
            self._sign_again()
            self._propose()

    def _sign_again(self) -> None:
        self.table.renew(self._proposals.sign_on(self.table.id, has_purse=self.ledgers.has_stakes))
        self.ledgers.spread(self.table.records[0])

    def _follow_purses(self) -> None:
        """Withdraw a proposal if a purse is not in order; propose a match once all are."""
        if self.has_begun or self._runtime.is_silent:
            return
        with self._runtime.stopping_at_disk_errors():
            if flawed := self.ledgers.flawed():
                self._dismiss([each for each in flawed if self._count_withdrawal(each)])
                self.withdraw()
            self._propose()

    def lost(self, identity: bytes, reason: str) -> None:
        """Record that a link is down. Free the guest's seat: at once, or if the guest does not return soon."""
        self._forget_request(identity)
        self.code_desk.lost(identity)
        if self.has_begun or identity not in self.seated:
            return
        if reason == LEFT or self._proposal is None:
            self._dismiss([identity], is_barred=False)
        else:
            self._attendance.lost(identity, self._runtime.loop.time())
            self._watch()

    def _forget_request(self, identity: bytes) -> None:
        """Forget that a peer has asked, or may ask, for a seat."""
        self._asking.pop(identity, None)
        self._places.pop(identity, None)
        self._door.lost(identity)
        if identity not in self.seated:
            self.ledgers.release(identity)

    def _give_away(self, identity: bytes) -> None:
        """Free a guest's seat, if it has one. Withdraw a match proposed with the guest, and propose another one."""
        self._asking.pop(identity, None)
        if identity not in self.seated:
            return
        self.withdraw()
        names = {record.join.identity: record.join.nickname for record in self.table.records}
        self.ledgers.release(identity)
        self._attendance.release(identity)
        self.table.release(identity)
        self._changed(left=self._runtime.player(names[identity], identity))
        if not self.seated:
            self._attendance = Attendance()
        self._propose()

    def _changed(self, *, joined: bytes = b"", left: PlayerInfo | None = None) -> None:
        frame = self.table.frame()
        for record in self.table.records[1:]:
            self._runtime.post(record.join.identity, frame)
        self._audience.post(frame)
        new = tuple(self._runtime.player(name, key) for name, key in frame.players if key == joined)
        self._runtime.tell(LobbyChanged(self._runtime.players(frame), frame.seats, new, (left,) if left else ()))
        self._update_roster()
        self._advertise()

    def _update_roster(self) -> None:
        self._runtime.mesh.set_roster({*self._returning, *(record.join.identity for record in self.table.records)})
