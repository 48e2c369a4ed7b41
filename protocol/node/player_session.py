"""A match as this node plays it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Final

from protocol.consensus.replica import Learned, Replace
from protocol.errors import RefuseCode
from protocol.events import AwaitingPlayers, Claimed, NodeEvent, Notice, PlayerInfo
from protocol.match.effects import (
    CalledOff,
    Ended,
    Formed,
    MatchInput,
    Needed,
    Over,
    PassOn,
    Severed,
    Show,
    StoreChoice,
    Ticked,
)
from protocol.match.lobby import NotAdmittedError, check_token
from protocol.match.match import Match
from protocol.match.progress import Clock
from protocol.net.addresses import Address
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.node.spectators import Spectators
from protocol.node.talking import Floor
from protocol.storage.match_names import calendar
from protocol.storage.store import Claim
from protocol.wire.frames import (
    Aim,
    Carried,
    Cut,
    Frame,
    Have,
    Leave,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    TableAim,
    WatchAim,
)
from protocol.wire.messages import Signed

if TYPE_CHECKING:
    from protocol.node.proposals import Proposals

LATER_DIALLER: Final = 1.0
"""Head start, in seconds, of the lower roster index of two players who could dial each other."""


class PlayerSession(Session):
    """One match, proposed or running, in which this node has a seat.

    :param occasion: when and where it is played.
    :param audience: is sent whatever this node learns.
    :param store: keeps the match, before its first message is kept; None if it is kept already.
    :param is_given_up: this node will not play the match, even if it is formed.
    """

    proposals: Proposals
    """Those among which this one is."""

    def __init__(
        self,
        runtime: Runtime,
        match: Match,
        occasion: Occasion,
        audience: Spectators,
        store: Callable[[], None] | None = None,
        *,
        is_given_up: bool = False,
    ) -> None:
        super().__init__(runtime, match, occasion)
        self.is_given_up = is_given_up
        self.dialled: frozenset[bytes] = frozenset()
        """The players whom this node dials for this match."""
        self._linked: set[bytes] = set()
        """The players whose link the match knows of."""
        self.watch: Callable[[], None] = lambda: None
        """Called after every input."""
        self.all_confirmed = asyncio.Event()
        """Every player of the roster has signed the end."""
        self._audience = audience
        self._store = store
        self._unstored: list[Signed] = []
        """Messages of a proposal in which this node has not signed COMMIT: after a crash it takes no part in it."""
        self.is_claimed = False
        """The owner has left the match, in which the other player is away. It takes and signs nothing more."""
        self._is_retired = is_given_up
        self._awaited: tuple[PlayerInfo, ...] | None = None
        """Those who were told to be missing; None if that is not told."""
        self._refused_by: set[bytes] = set()

    def start(self, seated: Collection[bytes]) -> None:
        """Take part, and send what this node owes.

        :param seated: identities that are linked for the table of this match.
        """
        self._runtime.mesh.set_roster(self.authors)
        self.feed(Ticked())
        for identity in self._runtime.mesh.linked():
            if identity in seated and identity in self.authors:
                self.linked(identity)

    @property
    def match_key(self) -> bytes:
        """The key with which this node signs in the match."""
        assert self.match.me is not None
        return self.match.history.genesis.roster[self.match.me].join.match_key

    @property
    def has_purses_in_order(self) -> bool:
        """The purses of all players are as the match names them."""
        return self._runtime.purses.may_sign(self.match.id, self.match.history.genesis)

    def keep_links(self, *, resumed: bool = False) -> None:
        """Dial the other players whenever they are not linked. Links that are up serve the match, too."""
        assert self.match.me is not None
        for identity, author in self.authors.items():
            self._keep_link(identity, self.aim, 0.0 if resumed or self.match.me < author else LATER_DIALLER)
            if self._runtime.mesh.is_linked(identity):
                self.linked(identity)

    def linked(self, identity: bytes) -> None:
        if identity not in self._linked:
            self._linked.add(identity)
            super().linked(identity)

    def keep_link_to_host(self, host: bytes, aim: TableAim) -> None:
        """Dial the host whenever it is not linked, as a guest whose match is not formed."""
        self._keep_link(host, lambda: aim, 0.0)

    def _keep_link(self, identity: bytes, aim: Callable[[], Aim], patience: float) -> None:
        known = self.match.history.genesis.roster[self.authors[identity]].join.addresses
        self.dialled |= {identity}
        self._runtime.mesh.keep(identity, partial(self._runtime.where, identity, self.match.id, known), aim, patience)

    def tell_who_is_awaited(self) -> None:
        """Tell the owner who is missing, from now on until the match is formed."""
        self._awaited = ()
        self._tell_awaited()

    def _tell_awaited(self) -> None:
        is_linked, awaited = self._runtime.mesh.is_linked, self._awaited
        if awaited is None or self.match.is_formed:
            return
        self._awaited = tuple(self.match.info[author] for each, author in self.authors.items() if not is_linked(each))
        if self._awaited != awaited:
            who = self.match.info, self._awaited
            self.tell(AwaitingPlayers(self.match.id.hex(), self.occasion.table_name, *who))

    def retire(self) -> None:
        """Tell the owner nothing any more: they have left the match behind. Others are still served."""
        self._is_retired = True

    def greet(self, identity: bytes, at: Address) -> None:
        """Note that a player is linked, and where."""
        if identity in self.authors:
            self._runtime.store.remember_address(identity, *at)
            self._linked.discard(identity)  # it is a new link, perhaps in place of another
            self.linked(identity)
            self._tell_awaited()

    def lost(self, identity: bytes, reason: str) -> None:
        self._linked.discard(identity)
        super().lost(identity, reason)
        self._tell_awaited()

    def welcome_spectator(self, identity: bytes, aim: WatchAim) -> MatchAim | Refuse:
        """Answer a peer that wants to watch."""
        history = self.match.history
        if aim.id not in (b"", history.match, history.genesis.table):
            return Refuse(RefuseCode.NO_MATCH, "that match is not played at this address")
        try:
            check_token(history.genesis.table, aim.token)
        except NotAdmittedError as error:
            return Refuse(error.code, str(error))
        if identity in self.authors:
            return Refuse(RefuseCode.REFUSED, "you have a seat in this match: resume it, you cannot watch it")
        return self.aim()

    def hear(self, identity: bytes, frame: Carried | Need | Page | Cut | Have) -> None:
        """Take a frame: anything from a player, from a spectator nothing but NEED."""
        if identity in self.authors:
            if isinstance(frame, Have) and frame.match == self.match.id:
                self.linked(identity)  # over a link that is older than this session
            if isinstance(frame, Need):
                self._answer(self.authors[identity], frame)
            elif isinstance(frame, Cut):
                if frame.match == self.match.id:
                    self.feed(Severed(self.authors[identity], frame.authors))
            else:
                self.take(identity, frame)
        elif isinstance(frame, Need) and frame.match == self.match.id and self._audience.may_ask(identity):
            # A number above all roster indices: the match needs it only to tell askers apart.
            self._answer(self.match.history.roster_size + self._audience.number(identity), frame)

    def refused(self, identity: bytes, reason: str) -> None:
        """Tell the owner why a player has ended the link, once for each player: this program dials them again."""
        if identity in self.authors and identity not in self._refused_by:
            self._refused_by.add(identity)
            self.tell(Notice(f"{self.match.info[self.authors[identity]].name} has ended the connection: {reason}"))

    def floor(self) -> Floor:
        """Return where words are said in this match."""
        others = {identity: self.match.info[author] for identity, author in self.authors.items()}
        watching = self._audience.identities
        reach = (*filter(self._runtime.mesh.is_linked, others), *watching) if self.match.is_formed else ()
        is_open = bool(self.occasion.customs.talk)
        return Floor(self.match.id, others, reach=reach, onward=watching, is_open=is_open)

    def _answer(self, asker: int, need: Need) -> None:
        history = self.match.history
        if need.match == history.match:
            self.feed(Needed(asker, need))

    def clock(self) -> Clock | None:
        return None if self.is_claimed else super().clock()

    def claim(self, seconds: float) -> Claimed:
        """Leave the match, write what there is of it, and keep a note for the owner.

        :param seconds: how long the other player has been away.
        :raises OSError: if the transcript cannot be written.
        """
        away = tuple(player for player in self.match.info if not player.is_me)
        self._runtime.outbox.write_all()
        self.keep_transcript()
        self._runtime.store.claim(self.match.id, Claim(calendar(time.time()), int(seconds)))
        self.is_claimed = self.is_over = True
        for identity in self.dialled:
            self._runtime.mesh.stop_dialling(identity)
        for identity in filter(self._runtime.mesh.is_linked, self.authors):
            self._runtime.post(identity, Leave("left the match"))
            self._runtime.loop.call_soon(self._runtime.mesh.disconnect, identity)
        self.close()
        players = self.match.by_seat() or self.match.info
        return Claimed(self.match.id.hex(), players, away, int(seconds), self._transcript_path)

    def feed(self, item: MatchInput) -> None:
        if self.is_claimed:
            return
        super().feed(item)
        self.watch()
        history = self.match.history
        if self.match.is_ended and {*range(history.roster_size)} - {*history.position.left} <= {*history.results}:
            self.all_confirmed.set()
        self._keep_books()

    def _keep_books(self) -> None:
        if not (self._runtime.is_silent or self.is_given_up):
            with self._runtime.stopping_at_disk_errors():
                self._runtime.purses.follow(self.match, is_over=self.is_over)

    def close(self) -> None:
        super().close()
        self._runtime.purses.release(self.match.id)

    def send(self, author: int, frame: Frame) -> None:
        if author < self.match.history.roster_size:
            super().send(author, frame)
        else:
            self._audience.answer(author - self.match.history.roster_size, frame)

    def hearers(self, frame: Frame) -> tuple[bytes, ...]:
        others = super().hearers(frame)
        return (*others, *self._audience.identities) if isinstance(frame, Cut) else others

    def greet_spectator(self, identity: bytes) -> None:
        """Show the match to a spectator, and whom this node cannot reach."""
        self._runtime.post(identity, Propose(self.match.history.genesis_data))
        if (cut := self.match.cut) is not None:
            self._runtime.post(identity, cut)

    def receivers(self, effect: PassOn) -> tuple[bytes, ...]:
        return (*super().receivers(effect), *self._audience.identities)

    def announce(self, have: Have) -> None:
        super().announce(have)
        self._audience.relay(have)

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        if isinstance(effect, Learned):
            if effect.must_store:
                self._keep_message(effect.signed)
        elif self._store is not None:
            pass
        elif isinstance(effect, Replace):
            self._runtime.outbox.keep_only(effect.messages)
        else:
            self._runtime.store.add_choice(self.match.id, effect.step, effect.text)

    def _keep_message(self, signed: Signed) -> None:
        if self._store is None:
            self._runtime.outbox.keep(signed)
            return
        self._unstored.append(signed)
        if self.match.has_committed:
            self._store()
            self._store = None
            for each in self._unstored:
                self._runtime.outbox.keep(each)
            self.proposals.bound(self)

    def tell(self, event: NodeEvent) -> None:
        if not self._is_retired:
            super().tell(event)

    def carry_out(self, effect: Ended | Formed | CalledOff | Over | Show) -> None:
        match effect:
            case Show():
                self.tell(effect.event)
            case Formed():
                self._runtime.store.mark_formed(self.match.id)
                self.proposals.formed(self)
            case CalledOff():
                self._runtime.purses.give_up(self.match.id)
                self.is_given_up = self._is_retired = True
                if self._store is None:
                    self._runtime.store.mark_given_up(self.match.id)
                self.proposals.called_off(self)
            case Ended():
                self.keep_transcript()
            case Over():
                position = self.match.history.position
                winners = position.state.places[0] if position.state is not None else ()
                self._runtime.store.mark_over(self.match.id, [position.seats[seat] for seat in winners])
                self.is_over = True
                self._keep_books()  # an owner may leave as soon as the end is told
                self.tell(self.result(effect.confirmed))
