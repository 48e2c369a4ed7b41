"""A table of this node's: who asks for a seat over which link, who leaves, and when the match is proposed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from protocol import limits
from protocol.errors import ErrorCode, NodeError, RefuseCode
from protocol.events import LobbyChanged, PlayerInfo
from protocol.match.effects import Withdrawn
from protocol.match.lobby import NO_TABLE, HostedTable, NotAdmittedError
from protocol.node.player_session import PlayerSession
from protocol.node.refusals import LEFT
from protocol.node.runtime import Runtime
from protocol.node.spectators import Spectators
from protocol.node.talking import Floor
from protocol.wire.frames import JoinTable, Propose, Refuse, TableAim, WatchAim
from protocol.wire.genesis import Genesis, JoinRecord, match_id

FORMING_PATIENCE: Final = 2.0
"""Seconds that convenor and guest wait for each other when their link is lost while the match forms, before the seat is
free again."""
KEPT: Final = 10.0
"""Seconds for which seats are kept for those who have played here before: a few rounds of asking."""
SILENT: Final = "the match begins without you, as nothing came from you"


class Host:
    """The convenor's table on the network.

    :param audience: who watches, here before the start.
    :param sign_on: makes another join record of the convenor's for the table with this id.
    :param begin: takes part in a proposed match.
    :param advertise: tells the network what has become of the table.
    :param returning: players of the match before, whose links are not refused for the sake of strangers.
    """

    def __init__(
        self,
        runtime: Runtime,
        table: HostedTable,
        audience: Spectators,
        sign_on: Callable[[bytes], JoinRecord],
        begin: Callable[[bytes, Genesis], PlayerSession],
        advertise: Callable[[], None],
        returning: Collection[bytes] = (),
    ) -> None:
        self.table = table
        self._runtime = runtime
        self._audience = audience
        self._sign_on = sign_on
        self._begin = begin
        self._advertise = advertise
        self._returning = frozenset(returning)
        table.expected = {identity for identity in returning if runtime.mesh.is_linked(identity)}
        self._keeping = runtime.loop.call_later(KEPT, table.expected.clear)
        self._proposal: PlayerSession | None = None
        """The one that is neither withdrawn nor called off."""
        self._withdrawn: set[bytes] = set()
        """Ids of the proposals that were withdrawn since the convenor last took a new join record."""
        self._patience: asyncio.TimerHandle | None = None
        self._lost: dict[bytes, asyncio.TimerHandle] = {}
        """Guests who were lost while the match forms."""

    @property
    def seated(self) -> tuple[bytes, ...]:
        """Who has a seat here and is linked for that."""
        return tuple(record.join.identity for record in self.table.records[1:])

    @property
    def has_begun(self) -> bool:
        """The match is formed: the table is none any more."""
        return self._proposal is not None and self._proposal.match.is_formed

    def open(self) -> None:
        """Tell who sits here from the start: the owner, and who has watched the match before."""
        self._mind_the_roster()
        self._audience.post(self.table.frame())
        self._runtime.tell(LobbyChanged(self._runtime.players(self.table.frame()), self.table.settings.seats))

    def propose(self) -> None:
        """Propose a match among who sits here.

        :raises NodeError: if nobody else does, or the match has begun.
        """
        if self.has_begun:
            raise NodeError(ErrorCode.FAILED, "the match has begun")
        if len(self.table.records) < 2:
            raise NodeError(ErrorCode.FAILED, "a match needs two players", "wait until somebody joins")
        if self._proposal is not None and self._proposal.match.record.genesis == self.table.genesis():
            return  # it was proposed, and some have not signed yet
        self._withdraw()
        if match_id(self.table.genesis().encoded()) in self._withdrawn or len(self._withdrawn) >= limits.PROPOSALS:
            self.table.renew(self._sign_on(self.table.table))
            self._withdrawn.clear()
        genesis = self.table.genesis()
        self._proposal = proposal = self._begin(genesis.encoded(), genesis)
        for identity in proposal.authors:
            self._runtime.post(identity, Propose(genesis.encoded()))
        self._patience = self._runtime.loop.call_later(genesis.patience.human, self._lose_patience)

    def _withdraw(self) -> None:
        """Resign from the match that was proposed: without the convenor it is none, whatever the others have signed."""
        proposal, self._proposal = self._proposal, None
        if self._patience is not None:
            self._patience.cancel()
        if proposal is not None:
            self._withdrawn.add(proposal.match.record.match)
            proposal.feed(Withdrawn())

    def _lose_patience(self) -> None:
        """Propose the match anew without those from whom nothing comes."""
        if self._proposal is None or self.has_begun:
            return
        record = self._proposal.match.record
        silent = [record.genesis.roster[author].join.identity for author in record.missing()]
        with self._runtime.stopping_at_disk_errors():
            self._withdraw()
            for identity in silent:
                if identity != self._runtime.identity.public:
                    self._runtime.refuse(identity, RefuseCode.CLOSED, SILENT)
                    self._give_away(identity)
            if len(self.table.records) > 1:
                self.propose()

    def called_off(self, proposal: PlayerSession, by: Collection[bytes]) -> None:
        """Note that guests have resigned from what was proposed: they have no seat any more."""
        if proposal is self._proposal:
            self._withdraw()
            for identity in by:
                self._give_away(identity)

    def close(self) -> None:
        """Wait for nobody any more."""
        for timer in (self._keeping, self._patience, *self._lost.values()):
            if timer is not None:
                timer.cancel()

    def floor(self) -> Floor:
        """Return where words are said at this table: the host passes them on."""
        guests = {
            record.join.identity: self._runtime.player(record.join.nickname, record.join.identity)
            for record in self.table.records[1:]
        }
        listeners = (
            () if self.has_begun else (*filter(self._runtime.mesh.is_linked, guests), *self._audience.identities)
        )
        return Floor(self.table.table, guests, reach=listeners, onward=listeners)

    # Guests

    def welcome(self, identity: bytes, aim: TableAim) -> TableAim | Refuse:
        """Answer who wants a seat."""
        if self.has_begun:
            return Refuse(RefuseCode.NO_TABLE, NO_TABLE)
        try:
            self.table.check_aim(aim)
            self.table.check_room(identity)
        except NotAdmittedError as error:
            return Refuse(error.code, str(error))
        return TableAim(self.table.table, "")

    def welcome_spectator(self, identity: bytes, aim: WatchAim) -> TableAim | Refuse:
        """Answer who wants to wait for the start and watch."""
        try:
            self.table.check_aim(aim)
        except NotAdmittedError as error:
            return Refuse(error.code, str(error))
        if self._is_guest(identity):
            return Refuse(RefuseCode.REFUSED, "you already have a seat at this table, so you cannot watch it too")
        if len(self._audience) >= limits.SPECTATORS_OF_A_LOBBY:
            return Refuse(RefuseCode.FULL, "there is no room for more spectators before the match begins")
        return TableAim(self.table.table, "")

    def greet_spectator(self, identity: bytes) -> None:
        """Show the table to whoever was welcomed to watch."""
        self._runtime.post(identity, self.table.frame())

    def greet(self, identity: bytes) -> None:
        """Wait for the JOIN of a peer who was welcomed; who asks for no seat then is in the way of others."""
        self._runtime.loop.call_later(self._runtime.bounds.handshake, self._expect_join, identity)

    def _expect_join(self, identity: bytes) -> None:
        if not self._is_guest(identity) and identity not in self._audience:
            self._runtime.mesh.disconnect(identity)

    def _is_guest(self, identity: bytes) -> bool:
        return any(record.join.identity == identity for record in self.table.records)

    def take_join(self, identity: bytes, frame: JoinTable) -> None:
        """Give a peer a seat, or say why not; propose the match when all are taken."""
        try:
            if self.has_begun:
                raise NotAdmittedError(RefuseCode.NO_TABLE, NO_TABLE)
            self.table.admit(identity, frame.record)
        except NotAdmittedError as error:
            self._runtime.refuse(identity, error.code, str(error))
            return
        self._changed(joined=identity)
        if self._proposal is not None and identity in self._proposal.authors:
            self._withdraw()  # they sit here with another join record now
        if self.table.is_full:
            self.propose()

    def lost(self, identity: bytes, reason: str) -> None:
        """Free the seat of a guest whose link is down: at once, or after a while if it may come back."""
        if self.has_begun:
            return
        if self._proposal is not None and identity in self._proposal.authors and reason != LEFT:
            self._lost[identity] = self._runtime.loop.call_later(FORMING_PATIENCE, self._release, identity)
        else:
            self._release(identity)

    def _release(self, identity: bytes) -> None:
        """Free the seat of a guest who is gone, unless they came back or the match was formed after all."""
        self._lost.pop(identity, None)
        if not self.has_begun and not self._runtime.mesh.is_linked(identity):
            self._give_away(identity)

    def _give_away(self, identity: bytes) -> None:
        """Free the seat of a guest; a match that was proposed with them is withdrawn."""
        if self._proposal is not None and identity in self._proposal.authors:
            self._withdraw()
        names = {record.join.identity: record.join.nickname for record in self.table.records}
        if self.table.release(identity):
            self._changed(left=self._runtime.player(names[identity], identity))

    def _changed(self, *, joined: bytes = b"", left: PlayerInfo | None = None) -> None:
        frame = self.table.frame()
        for record in self.table.records[1:]:
            self._runtime.post(record.join.identity, frame)
        self._audience.post(frame)
        new = tuple(self._runtime.player(name, key) for name, key in frame.players if key == joined)
        self._runtime.tell(LobbyChanged(self._runtime.players(frame), frame.seats, new, (left,) if left else ()))
        self._mind_the_roster()
        self._advertise()

    def _mind_the_roster(self) -> None:
        self._runtime.mesh.set_roster(self._returning.union(record.join.identity for record in self.table.records))
