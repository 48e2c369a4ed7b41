"""This node as a guest: how it gets a seat at a table, follows the host, and returns after the match."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import (
    AwaitingHost,
    HostIs,
    LobbyChanged,
    PlayerInfo,
    SeatAsked,
    SeatPending,
    TableClosed,
    TableJoined,
)
from protocol.match.lobby import GuestTable
from protocol.net.dialer import DialError
from protocol.net.mesh import RefusedError
from protocol.node import locator
from protocol.node.audience import Floor
from protocol.node.door import Door
from protocol.node.locator import (
    LEFT,
    NamesakesSeatedError,
    PossibleHost,
    Target,
    WayBack,
    about_namesakes,
    error_for_owner,
    host_gone,
    known_code,
    unreachable,
)
from protocol.node.playing import Proposals
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion
from protocol.node.table_ledgers import Acts, TableLedgers
from protocol.storage.database import DamagedPurseError
from protocol.wire.frames import Carried, Customs, JoinTable, Leave, Propose, Refuse, Seat, ShowLedger, Table, TableAim
from protocol.wire.genesis import MalformedGenesisError, UnknownRulesError, match_id

_LATER: Final[dict[str, HostIs]] = {
    RefuseCode.NO_TABLE: "there",
    RefuseCode.FULL: "full",
    RefuseCode.PLAYING: "playing",
}
"""The refusals after which this node asks again, each with the state of the host that it reveals. If several possible
hosts have refused, only the first of their codes in this order counts."""


class Guest:
    """A guest's side of a lobby, over the network.

    :param proposals: the proposals in which this node takes part.
    :param door: the owner's decisions about players who have a trusted name but another key.
    """

    def __init__(
        self,
        runtime: Runtime,
        proposals: Proposals,
        door: Door,
    ) -> None:
        self._runtime = runtime
        self._proposals = proposals
        self._door = door
        self._wanted: Target | None = None
        self._seat: GuestTable | None = None
        self._ledgers: TableLedgers | None = None
        """The purses at a table with stakes."""
        self._proposed: Propose | None = None
        """The host's latest PROPOSE, while the purses in it are not in order."""
        self._admission: asyncio.Future[None] | None = None
        """Done when the host has answered; exists only while :meth:`try_to_enter` waits."""
        self._is_pending = False
        """Whether the host has replied that its owner is being asked."""
        self._on_pending: Callable[[], None] | None = None
        self._timeout: asyncio.Timeout | None = None
        """The time limit for the host's answer."""
        self._is_pledged = True
        """Whether the owner has chosen a pledge or need not choose one."""
        self._gone = ""
        """Why the link to the host last went down."""
        self._refused: RefusedError | None = None
        """Why there is no seat: the host may refuse even after showing the table."""

    async def enter(
        self, wanted: Target, pending: Callable[[], None] | None = None, *, is_pledged: bool = True
    ) -> None:
        """Sit down at a table, and return once admitted.

        :param pending: called when the host's owner is being asked.
        :param is_pledged: whether the owner has chosen a pledge.
        :raises NodeError: if no host is reached, this player is not admitted, or a pledge is missing.
        """
        self._is_pledged = is_pledged
        self._on_pending = pending
        try:
            await self.try_to_enter(wanted)
        except DialError as error:
            raise unreachable(error) from None
        except RefusedError as error:
            raise error_for_owner(error) from None

    async def try_to_enter(self, wanted: Target) -> None:
        """Sit down at a table, and return once admitted.

        :raises DialError: if no host is reached.
        :raises RefusedError: if this player is not admitted.
        """
        mesh = self._runtime.mesh
        self._wanted, self._refused, self._is_pending = wanted, None, False
        self._admission = self._runtime.loop.create_future()
        try:
            host = await mesh.connect(wanted.addresses, TableAim(wanted.id, wanted.token), wanted.may_be)
            try:
                async with asyncio.timeout(self._runtime.bounds.handshake) as self._timeout:
                    await self._admission
            except TimeoutError:
                self._seat = None
                mesh.disconnect(host)
                raise DialError("the host answered but gave you no seat") from None
        except asyncio.CancelledError:
            self.leave()  # the host may have given a seat at the same moment
            raise
        finally:
            self._admission = None
        if self._seat is None:
            raise self._refused or RefusedError(RefuseCode.CLOSED, "the seat was given up")
        frame = self._seat.shown
        assert frame is not None
        assert self._seat.ruleset is not None
        name = next((name for name, identity in frame.players if identity == host), "?")
        self._runtime.learn_rules_name(self._seat.ruleset, frame.rules_name)
        self._runtime.tell(
            TableJoined(
                frame.name,
                PlayerInfo(name, fingerprint(host)),
                self._seat.ruleset,
                frame.seats,
                self._runtime.rules_name(self._seat.ruleset),
                frame.customs.odds,
                frame.customs.talk,
            )
        )
        players = self._runtime.players(frame)
        self._runtime.tell(LobbyChanged(players, frame.seats))
        self._ask_about(players)

    def greet(self, identity: bytes, aim: TableAim) -> None:
        """Prepare to ask for a seat, now that the host has welcomed this node."""
        if self._admission is not None and self._wanted is not None:
            if self._wanted.id not in (b"", aim.table):
                self._close(RefuseCode.REFUSED, "another table is open there")
                self._runtime.mesh.disconnect(identity)
                return
            self._leave_ledgers()
            self._seat, self._proposed = GuestTable(aim.table, identity), None

    def take(self, identity: bytes, frame: Table | Propose | Seat | Refuse | ShowLedger) -> None:
        """Take a frame from the host until the match has begun. Frames from other peers are ignored."""
        seat = self._seat
        if seat is None or identity != seat.host or self._proposals.has_begun:
            return
        try:
            if isinstance(frame, Refuse):
                self._close(frame.code, frame.reason)
            elif isinstance(frame, ShowLedger):
                if self._ledgers is not None:
                    self._ledgers.take(identity, frame)
            elif isinstance(frame, Seat):
                if seat.own is not None and self._admission is not None and not self._admission.done():
                    self._hear_answer(frame)
            else:
                seat.hear(self._runtime.loop.time())
                if isinstance(frame, Propose):
                    self._consider(seat, frame)
                    # If the host has just withdrawn a match, the purse becomes free only at the end of this pass.
                    self._runtime.outbox.afterwards(self._look_again)
                else:
                    self._see(seat, frame)
        except MalformedGenesisError as error:
            code = RefuseCode.RULES if isinstance(error, UnknownRulesError) else RefuseCode.REFUSED
            self._close(code, f"what the host says cannot be accepted: {error}")
        except DamagedPurseError as error:
            self._close(RefuseCode.REFUSED, f"you cannot play for stakes: {error}")

    def _hear_answer(self, answer: Seat) -> None:
        """Take the host's answer to the request for a seat: granted, or wait until the host's owner has been asked."""
        assert self._admission is not None
        if answer.state:
            self._admission.set_result(None)
        elif self._timeout is not None and not self._is_pending:
            self._is_pending = True
            self._timeout.reschedule(self._runtime.loop.time() + limits.SEAT_ASKED + self._runtime.bounds.handshake)
            self._runtime.tell(SeatPending())
            if self._on_pending is not None:
                self._on_pending()

    def _namesakes(self, table: Table) -> tuple[PlayerInfo, ...]:
        return self._door.namesakes(self._runtime.players(table))

    def _ask_about(self, players: Collection[PlayerInfo]) -> None:
        """Ask the owner about players with a trusted name but another key, before a match with them has to be
        signed."""
        for player in self._door.namesakes(players):
            self._runtime.tell(SeatAsked(player, namesake=True))

    def _see(self, seat: GuestTable, frame: Table) -> None:
        """Follow who sits at the table. When it is shown for the first time, ask for a seat."""
        before = seat.shown
        assert self._wanted is not None
        self._wanted.check_name(frame.name)
        seat.update(frame)
        self._proposed = None
        if self._admission is None and before is not None and frame != before:
            changed = self._runtime.lobby_changed(before, frame)
            self._runtime.tell(changed)
            self._ask_about(changed.joined)
        if seat.own is None:
            assert seat.ruleset is not None
            if namesakes := self._namesakes(frame):
                self._give_up(NamesakesSeatedError(namesakes))
                return
            if seat.ruleset.motes and not self._is_pledged:
                self._ask_for_pledge(seat)
                return
            self._sit_down(seat)
        if self._ledgers is not None:
            self._ledgers.follow({identity for _, identity in frame.players})

    def _ask_for_pledge(self, seat: GuestTable) -> None:
        """Leave before a seat is taken, because a pledge is signed with the request for a seat."""
        self._seat = None
        self._runtime.mesh.disconnect(seat.host)
        if self._admission is not None and not self._admission.done():
            name = seat.shown.name if seat.shown is not None else ""
            reason = f'the rules of "{name}" have motes, and you have not chosen a pledge'
            self._admission.set_exception(NodeError(ErrorCode.PLEDGE, reason, "choose one with --pledge"))

    def _consider(self, seat: GuestTable, proposal: Propose) -> None:
        """Sign a proposed match if all its purses are in order; otherwise reconsider it when other purses are shown.

        :raises MalformedGenesisError: if it can never be signed, or the previous proposal still binds this node.
        """
        self._proposed = None
        for former in self._proposals.sessions:
            if proposal.resignation and seat.host in former.authors:
                former.take(seat.host, Carried(*proposal.resignation))
        if seat.own is None or self._proposals.find(match_id(proposal.genesis)) is not None:
            return
        if (genesis := seat.check_proposal(proposal.genesis)) is None:
            return
        if genesis.ruleset.stakes and not genesis.has_purses:
            raise UnknownRulesError("the match has stakes, but nobody brings a purse")
        if self._proposals.is_bound:
            raise MalformedGenesisError("another match is proposed, though the last one may begin")
        if self._proposals.committed_with(seat.own) >= limits.PROPOSALS:
            raise MalformedGenesisError("matches are proposed without end")
        assert seat.shown is not None
        if namesakes := self._namesakes(seat.shown):
            self._stand_up(seat, f"a match was proposed, and {about_namesakes(namesakes)}")
        elif self._runtime.purses.may_sign(match_id(proposal.genesis), genesis):
            occasion = Occasion.now(self.table_name, self.customs)
            playing = self._proposals.begin(genesis, occasion, seat.host, TableAim(genesis.table, self.token))
            playing.start((seat.host,))
        else:
            self._proposed = proposal

    def _sit_down(self, seat: GuestTable) -> None:
        """Ask for a seat at the table as it was shown; with stakes, also show the present purse."""
        assert seat.ruleset is not None
        seat.own = own = self._proposals.sign_on(seat.id, has_purse=seat.ruleset.stakes)
        if seat.ruleset.stakes:
            if self._ledgers is None:
                acts = Acts(lambda *_: None, self._refuse_purse, self._sit_again, self._look_again)
                self._ledgers = TableLedgers(self._runtime, acts, tuple, seat.host, has_stakes=True)
            self._runtime.post(seat.host, self._ledgers.own(own))
        self._runtime.post(seat.host, JoinTable(own.wire))

    def _sit_again(self, _: bytes = b"") -> None:
        if self._seat is not None and not self._proposals.has_begun:
            self._sit_down(self._seat)

    def _refuse_purse(self, identity: bytes, _: str, reason: str) -> None:
        """Leave the table because of a purse there, perhaps this player's own."""
        seat = self._seat
        if seat is None or self._proposals.has_begun:
            return
        names = {key: name for name, key in (seat.shown.players if seat.shown is not None else ())}
        is_own = identity == self._runtime.identity.public
        who = "" if is_own or identity not in names else f"{names[identity]} cannot play here: "
        self._stand_up(seat, f"{who}{reason}")

    def _stand_up(self, seat: GuestTable, reason: str) -> None:
        """Leave the table because of another player, or of a purse."""
        self._runtime.post(seat.host, Leave("left the table"))
        self._close(RefuseCode.REFUSED, reason)

    def _look_again(self) -> None:
        if self._seat is not None and self._proposed is not None and not self._proposals.has_begun:
            self._consider(self._seat, self._proposed)

    def _leave_ledgers(self) -> None:
        if self._ledgers is not None:
            self._ledgers.close()
            self._ledgers = None

    def lost(self, identity: bytes, reason: str) -> None:
        """Record that a link is down. A table closes without its host. But while a match forms, the host gets time to
        return, and a match that binds this node may still begin."""
        if self._seat is None or identity != self._seat.host or self._proposals.has_begun:
            return
        self._gone = reason
        if self._admission is not None and not self._admission.done() and reason != LEFT:
            self._seat = None
            self._leave_ledgers()
            self._admission.set_exception(DialError(host_gone(reason)))
        elif reason == LEFT or not self._proposals.is_alive:
            self._look_for_host()
        else:
            self._runtime.loop.call_later(limits.LINK_LOST, self._look_for_host)

    def _look_for_host(self) -> None:
        """Close if the host is gone. While the match may begin without it, look again later."""
        if not self.is_waiting or self._runtime.is_silent or self._runtime.mesh.is_linked(self.host):
            return
        if self._proposals.is_bound:
            self._runtime.loop.call_later(limits.LINK_LOST, self._look_for_host)
        else:
            self._close(RefuseCode.CLOSED, host_gone(self._gone))

    def gave_up(self) -> None:
        """Leave the table, unless that has happened already, because the proposed match was not formed in time."""
        was_left = self._wanted is not None and self._seat is None
        if not self._proposals.has_begun and not was_left:
            self._close(RefuseCode.CLOSED, "the match that was proposed has not begun in time")

    def floor(self) -> Floor | None:
        """Return the floor of the table at which this node has a seat. All words there come through the host."""
        if self._seat is None or self._seat.shown is None:
            return None
        own, host = self._runtime.identity.public, self._seat.host
        others = {key: self._runtime.player(name, key) for name, key in self._seat.shown.players if key != own}
        reach = () if self._proposals.has_begun or not self._runtime.mesh.is_linked(host) else (host,)
        return Floor(self._seat.id, others, relays=(host,), reach=reach, is_open=bool(self.customs.talk))

    def leave(self) -> None:
        """Give up the seat, unless the match has begun, and notify the host."""
        if self._seat is not None and self.is_waiting:
            self._leave_ledgers()
            seat, self._seat = self._seat, None
            self._runtime.post(seat.host, Leave("left the table"))
            self._runtime.loop.call_soon(self._runtime.mesh.disconnect, seat.host)

    @property
    def is_waiting(self) -> bool:
        """Whether this node has a seat at a table whose match has not begun."""
        return self._seat is not None and not self._proposals.has_begun

    @property
    def host(self) -> bytes:
        """The identity of the host of the table at which this node has a seat; empty if it has none."""
        return self._seat.host if self._seat is not None else b""

    @property
    def token(self) -> str:
        """The token of the table, if it is private."""
        return self._wanted.token if self._wanted is not None else ""

    @property
    def table_name(self) -> str:
        """The name of the table at which this node has a seat, which may be any text; empty if it has none."""
        return self._seat.shown.name if self._seat is not None and self._seat.shown is not None else ""

    @property
    def customs(self) -> Customs:
        """The customs of the table at which this node has a seat."""
        return self._seat.shown.customs if self._seat is not None and self._seat.shown is not None else Customs()

    def _close(self, code: str, reason: str) -> None:
        """Give up the table. The code comes from a peer and may be any text."""
        self._give_up(RefusedError(known_code(code), reason))

    def _give_up(self, error: RefusedError) -> None:
        """Give up the table; report the error to the owner, or to :meth:`try_to_enter` if that is waiting."""
        seat, self._seat = self._seat, None
        self._leave_ledgers()
        if self._admission is not None:
            self._refused = error
            if not self._admission.done():
                self._admission.set_result(None)
        else:
            self._runtime.tell(TableClosed(known_code(error.code), str(error)))
        if seat is not None:
            self._runtime.loop.call_soon(self._runtime.mesh.disconnect, seat.host)  # after LEAVE


async def come_back(runtime: Runtime, way: WayBack, enter: Callable[[Target], Awaitable[None]]) -> Target | None:
    """Return to a table: sit down as soon as a host has one open.

    :return: None once there is a seat; otherwise the target where a match is played without this player.
    :raises NodeError: if all hosts have been gone for too long, or a host does not admit this player.
    """
    last_seen = runtime.loop.time()
    told = _awaiting(way, "asked")
    runtime.tell(told)
    while not runtime.is_silent:
        refused: dict[str, Target] = {}
        for host in way.hosts:
            target = _target(runtime, way, host)
            try:
                await enter(target)
            except RefusedError as error:
                if error.code not in _LATER:
                    raise error_for_owner(error) from None
                refused[error.code] = target
            except DialError:
                continue
            else:
                return None
        now = runtime.loop.time()
        if refused:
            last_seen = now
        elif now > last_seen + locator.GONE:
            break
        host_is: HostIs = next((state for code, state in _LATER.items() if code in refused), "silent")
        if (awaiting := _awaiting(way, host_is)) != told:
            told = awaiting
            runtime.tell(told)
        if host_is == "playing":
            return refused[RefuseCode.PLAYING]
        await asyncio.sleep(locator.AGAIN)
    if runtime.is_silent:
        raise NodeError(ErrorCode.FAILED, "this program has stopped")
    who = way.hosts[0].player.name if len(way.hosts) == 1 else "anybody who played"
    raise NodeError(
        ErrorCode.UNREACHABLE, f"{who} cannot be reached any more", "host a table of your own, or join another one"
    )


def _awaiting(way: WayBack, host_is: HostIs) -> AwaitingHost:
    return AwaitingHost(way.hosts[0].player if len(way.hosts) == 1 else None, host_is, locator.GONE)


def _target(runtime: Runtime, way: WayBack, host: PossibleHost) -> Target:
    addresses = runtime.where(host.identity, way.match, host.addresses)
    return Target(tuple(addresses), b"", host.player.fingerprint, way.token)
