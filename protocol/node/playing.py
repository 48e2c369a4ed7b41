"""The matches in which this node has a seat: proposed matches, the one that binds it, and the one that it plays.

A COMMIT of the first roll binds its author: from then on the match may be formed. So a node signs it in one proposal at
a time, and then waits until it has all COMMITs or the host's RESIGN, or until :data:`~protocol.limits.BOUND` seconds
have passed. After :data:`~protocol.limits.ASK_OTHERS` seconds it asks the other players. A proposal that was given up
is kept: it may have been formed without this node's knowledge. If it was, the node signs what the others need, and
resigns. Before the COMMIT a proposal need not be stored.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from protocol import limits
from protocol.consensus.replica import Learned, Replace
from protocol.crypto.keys import MatchKey
from protocol.errors import ErrorCode, NodeError, PeerError, RefuseCode
from protocol.events import AwaitingPlayers, Claimed, MatchFormed, MatchResult, Notice, PeerBack, PlayerInfo
from protocol.match.effects import (
    CalledOff,
    FrameReceived,
    Show,
    StoreChoice,
    Ticked,
    Withdrawn,
    WriteTranscript,
)
from protocol.match.lobby import NotAdmittedError, check_token
from protocol.match.match import Match
from protocol.match.waiting import Clock, Party
from protocol.net.addresses import Address
from protocol.node.audience import Audience, Floor
from protocol.node.runtime import Runtime
from protocol.node.session import Occasion, Session
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.storage.match_names import calendar
from protocol.storage.store import Claim, StoredMatch
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
from protocol.wire.genesis import Genesis, Join, JoinRecord, make_join_record, match_id, parse_genesis
from protocol.wire.messages import Signed

LATER_DIALLER: Final = 1.0
"""The head start in seconds of the player with the lower roster index, when two players could dial each other."""


class PlayerSession(Session):
    """One match, proposed or running, in which this node has a seat.

    :param occasion: when and where the match is played.
    :param audience: the spectators, who receive whatever this node learns.
    :param proposals: the node's proposals, including this one.
    :param store: stores the match itself, before its first message is stored; None if that was done already.
    :param is_given_up: whether this node will not play the match, even if it is formed.
    """

    def __init__(
        self,
        runtime: Runtime,
        match: Match,
        occasion: Occasion,
        audience: Audience,
        proposals: Proposals,
        store: Callable[[], None] | None = None,
        *,
        is_given_up: bool = False,
    ) -> None:
        super().__init__(runtime, match, occasion)
        self.is_given_up = is_given_up
        self.dialled: frozenset[bytes] = frozenset()
        """The players whom this node dials for this match."""
        self._linked: set[bytes] = set()
        """The players whose links were reported to the match."""
        self.watch: Callable[[], None] = lambda: None
        """Called after every input."""
        self.all_confirmed = asyncio.Event()
        """Set once every player who has not left has signed the end."""
        self._audience = audience
        self._proposals = proposals
        self._store_match = store
        self._unstored: list[Signed] = []
        """The messages of a proposal without this node's COMMIT; a crash may lose them."""
        self._has_purses = match.history.genesis.has_purses
        self._missed: set[bytes] = set()
        """The identities of players who had no link when the match was claimed, and have not dialled since."""
        self.is_retired = is_given_up
        self._is_shown = match.is_formed and not is_given_up
        """Whether spectators are sent new messages. Before PROPOSE, they could not use them."""
        self._awaited: tuple[PlayerInfo, ...] | None = None
        """The players reported missing; None while none are reported."""
        self._refused_by: set[bytes] = set()

    def start(self, seated: Collection[bytes]) -> None:
        """Start to take part, and send what this node owes.

        :param seated: the identities that are already linked for the table of this match.
        """
        self._runtime.mesh.set_roster(self.authors)
        self.feed(Ticked())
        for identity in filter(self._runtime.mesh.is_linked, seated):
            self.linked(identity)

    @property
    def has_purses_in_order(self) -> bool:
        """Whether the purses of all players are those that the match names."""
        return self._runtime.purses.may_sign(self.match.id, self.match.history.genesis)

    def keep_links(self, *, resumed: bool = False) -> None:
        """Dial the other players whenever they are not linked. Links that are already up serve the match, too."""
        assert self.match.me is not None
        for identity, author in self.authors.items():
            self.keep_link(identity, self.aim, 0.0 if resumed or self.match.me < author else LATER_DIALLER)
            if self._runtime.mesh.is_linked(identity):
                self.linked(identity)

    def linked(self, identity: bytes) -> None:
        if identity not in self._linked:
            self._linked.add(identity)
            super().linked(identity)

    def keep_link(self, identity: bytes, aim: Callable[[], Aim], patience: float = 0.0) -> None:
        """Dial a player whenever they have not been linked for ``patience`` seconds."""
        known = self.match.history.genesis.roster[self.authors[identity]].join.addresses
        self.dialled |= {identity}
        self._runtime.mesh.keep(identity, partial(self._runtime.where, identity, self.match.id, known), aim, patience)

    def tell_who_is_awaited(self) -> None:
        """Notify the owner of missing players, from now on until the match is formed."""
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

    def greet(self, identity: bytes, at: Address) -> None:
        """Record that a player is linked, and at which address."""
        if identity in self.authors:
            self._runtime.store.remember_address(identity, *at)
            self._linked.discard(identity)  # a new link, which may replace an older one
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
        """Take a frame: any from a player, only NEED from a spectator."""
        if identity in self.authors:
            if isinstance(frame, Have) and frame.match == self.match.id:
                self.linked(identity)  # the link may be older than this session
            if isinstance(frame, Need):
                self._answer(self.authors[identity], frame)
            elif isinstance(frame, Cut):
                if frame.match == self.match.id:
                    self.feed(FrameReceived(self.authors[identity], frame))
            else:
                self.take(identity, frame)
        elif (
            isinstance(frame, Need)
            and frame.match == self.match.id
            and self._audience.may_ask(identity, self.match.history.genesis.table)
        ):
            # A spectator gets a number above all roster indices. The match uses it only to tell askers apart.
            self._answer(self.match.history.roster_size + self._audience.number(identity), frame)

    def refused(self, identity: bytes, reason: str) -> None:
        """Show the owner why a player has closed the link; only once for each player, as this node dials again."""
        if identity in self.authors and identity not in self._refused_by:
            self._refused_by.add(identity)
            self.tell(Notice(f"{self.match.info[self.authors[identity]].name} has ended the connection: {reason}"))

    def floor(self) -> Floor:
        """Return the floor of this match."""
        others = {identity: self.match.info[author] for identity, author in self.authors.items()}
        watching = self.spectators
        reach = (*filter(self._runtime.mesh.is_linked, others), *watching) if self.match.is_formed else ()
        is_open = bool(self.occasion.customs.talk)
        return Floor(self.match.id, others, reach=reach, onward=watching, is_open=is_open)

    def _answer(self, asker: int, need: Need) -> None:
        history = self.match.history
        if need.match == history.match:
            self.feed(FrameReceived(asker, need))

    def clock(self) -> Clock | None:
        return None if self.is_claimed else super().clock()

    def claim(self, seconds: float) -> Claimed:
        """Leave the match, write its transcript so far, and store the claim.

        :param seconds: how long the other player has been away.
        :raises OSError: if the transcript cannot be written.
        """
        away = tuple(player for player in self.match.info if not player.is_me)
        self._runtime.outbox.write_all()
        self.keep_transcript()
        self._runtime.store.claim(self.match.id, Claim(calendar(time.time()), int(seconds)))
        self.is_claimed = self.is_over = True
        self._missed = {each for each in self.authors if not self._runtime.mesh.is_linked(each)}
        for identity in self.dialled:
            self._runtime.mesh.stop_dialling(identity)
        for identity in filter(self._runtime.mesh.is_linked, self.authors):
            self._runtime.post(identity, Leave("left the match"))
            self._runtime.loop.call_soon(self._runtime.mesh.disconnect, identity)
        self.close()
        players = self.match.by_seat() or self.match.info
        return Claimed(self.match.id.hex(), players, away, int(seconds), self._transcript_path)

    def came_back(self, identity: bytes) -> None:
        """Notify the owner, once, that the player who was away when the match was claimed wants to continue it."""
        if identity in self._missed:
            self._missed.discard(identity)
            self.tell(PeerBack(self.match.info[self.authors[identity]]))

    def follow_up(self) -> None:
        self.watch()
        history = self.match.history
        if self.match.is_ended and {*range(history.roster_size)} - {*history.position.left} <= {*history.results}:
            self.all_confirmed.set()
        if self._has_purses and not self._runtime.is_silent:
            self._runtime.purses.follow(self.match, is_over=self.is_over, is_given_up=self.is_given_up)

    def close(self) -> None:
        super().close()
        self._runtime.purses.release(self.match.id)

    def send(self, author: int, frame: Frame) -> None:
        if author < self.match.history.roster_size:
            super().send(author, frame)
        else:
            self._audience.answer(author - self.match.history.roster_size, frame)

    def show(self) -> None:
        """Show the match to the spectators of its table: all messages so far, and from now on those that are new."""
        self._is_shown = True
        self._audience.post(Propose(self.match.history.genesis_data))
        for signed in self.match.replica.shown(0):
            self._audience.post(Carried(*signed.wire))

    def greet_spectator(self, identity: bytes) -> None:
        """Show a spectator the match, and which players this node cannot reach."""
        self._runtime.post(identity, Propose(self.match.history.genesis_data))
        if (cut := self.match.cut) is not None:
            self._runtime.post(identity, cut)

    @property
    def spectators(self) -> tuple[bytes, ...]:
        return self._audience.watching(self.match.history.genesis.table) if self._is_shown else ()

    def keep(self, effect: StoreChoice | Learned | Replace) -> None:
        outbox = self._runtime.outbox
        match effect:
            case Learned(must_store=False):
                pass
            case Learned() if (store_match := self._store_match) is not None:
                self._unstored.append(effect.signed)
                if self.match.has_committed:
                    store_match()
                    self._store_match = None
                    for each in self._unstored:
                        outbox.keep(each)
                    self._proposals.bound(self)
            case Learned():
                outbox.keep(effect.signed)
            case Replace() if self._store_match is None:
                outbox.keep_only(effect.messages)
            case StoreChoice() if self._store_match is None:
                self._runtime.store.add_choice(self.match.id, effect.step, effect.text)

    def carry_out(self, effect: WriteTranscript | CalledOff | Show) -> None:
        match effect:
            case Show(MatchFormed() as event):
                self._runtime.store.mark_formed(self.match.id)
                self._proposals.became_formed(self)
                self.tell(event)
            case Show(MatchResult() as event):
                seats = self.match.history.position.seats
                self._runtime.store.mark_over(self.match.id, [seats[seat] for seat in event.places[0]])
                self.is_over = True
                try:
                    self.follow_up()  # purses are stored first, as an owner may leave as soon as the end is shown
                finally:
                    self.tell(event)
            case Show():
                self.tell(effect.event)
            case CalledOff():
                self._runtime.purses.give_up(self.match.id, may_form=not self.match.is_withdrawn)
                self.is_given_up = self.is_retired = True
                if self._store_match is None:
                    self._runtime.store.mark_given_up(self.match.id)
                self._proposals.stop_dialling(self)
            case WriteTranscript():
                self.keep_transcript()


class Owner(Protocol):
    """The owner's choices for the next match or return to a match."""

    name: str
    pledge: str
    party: Party | None


class Proposals:
    """The matches that this node signs or plays, and how they bind it.

    :param owner: the owner's name and pledge, which go into each JOIN that this node signs.
    :param formed: called when a match is formed that this node will play.
    :param gave_up: called when the last proposal took too long.
    """

    def __init__(
        self,
        runtime: Runtime,
        audience: Audience,
        owner: Owner,
        formed: Callable[[], None],
        gave_up: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._audience = audience
        self._owner = owner
        self._tell_formed = formed
        self._tell_gave_up = gave_up
        self._seed = b""
        """The seed of the next match."""
        self.sessions: tuple[PlayerSession, ...] = ()
        self.session: PlayerSession | None = None
        """The match being played, otherwise the latest proposal."""

    def find(self, match: bytes) -> PlayerSession | None:
        """Return the proposal with this match id; None if there is none."""
        return next((each for each in self.sessions if each.match.id == match), None)

    @property
    def has_begun(self) -> bool:
        """Whether the match that this node plays is formed, even if its owner has not been told yet, or has claimed it
        since."""
        playing = self.session
        return playing is not None and playing.match.is_formed and not playing.is_given_up

    @property
    def formed(self) -> PlayerSession | None:
        """The match that this node plays, once it is formed."""
        playing = self.session
        return playing if self.has_begun and playing is not None and not playing.is_claimed else None

    @property
    def is_bound(self) -> bool:
        """Whether a proposal binds this node, so that it may have to play it."""
        return any(each.match.is_bound for each in self.sessions)

    @property
    def is_alive(self) -> bool:
        """Whether a match is proposed and is neither formed nor called off."""
        return any(not (each.match.is_called_off or each.match.is_formed) for each in self.sessions)

    def committed_with(self, own: JoinRecord) -> int:
        """Return the number of proposals with this join record in which this node has signed COMMIT."""
        return sum(each.match.has_committed and own in each.match.history.genesis.roster for each in self.sessions)

    # Taking part

    def sign_on(self, table: bytes, *, has_purse: bool = False) -> JoinRecord:
        """Make a join record for a table, and with it the seed of the match.

        :raises StoreError: if the purse cannot be read.
        """
        runtime, owner = self._runtime, self._owner
        head = runtime.purses.own.purse.head if has_purse else None
        self._seed = secrets.token_bytes(32)
        key, nonce = MatchKey(self._seed), secrets.token_bytes(32)
        addresses = runtime.mesh.addresses[: limits.JOIN_ADDRESSES]
        join = Join(table, runtime.identity.public, key.public, owner.name, addresses, nonce, owner.pledge, head)
        return make_join_record(join, runtime.identity, key)

    def begin(self, genesis: Genesis, occasion: Occasion, host: bytes, link: TableAim | None = None) -> PlayerSession:
        """Take part in a proposed match. The caller starts the session.

        :param host: the identity of the host, who proposes it.
        :param link: for a guest, the aim with which to dial the host.
        """
        self._audience.turn_to(genesis.table)
        data = genesis.encoded()
        match, seed, store = match_id(data), self._seed, self._runtime.store
        index = {record.join.identity: author for author, record in enumerate(genesis.roster)}
        me = index[self._runtime.identity.public]
        match_key, port = genesis.roster[me].join.match_key, self._runtime.mesh.port

        def keep() -> None:
            store.add_seed(match_key, seed)
            at, table, customs, asks = occasion
            store.add_match(match, data, match_key, at, port, table, index[host], customs, asks)

        stake = self._stake(match, genesis)
        proposed = Match(data, me, seed, party=self._owner.party, host=index[host], stake=stake)
        self.session = PlayerSession(self._runtime, proposed, occasion, self._audience, self, keep)
        self._add(self.session)
        if link is not None:
            self.session.keep_link(host, lambda: link)
        return self.session

    def resume(self, stored: StoredMatch) -> PlayerSession:
        """Return to a match where this node left it.

        :raises NodeError: if the stored match is damaged.
        """
        self.serve_given_up(but=stored.match)  # first, as a new proposal replaces all without COMMIT
        self.session = returned = self._stored(stored)
        self._audience.turn_to(returned.match.history.genesis.table)
        returned.keep_links(resumed=True)
        returned.start(())
        if not stored.formed:
            self.bound(returned)
            returned.tell_who_is_awaited()
        return returned

    def serve_given_up(self, but: bytes = b"") -> None:
        """Serve the proposals that this home has signed but does not play: others may have formed them.

        :param but: the id of the match that is played.
        """
        for stored in archive.given_up(self._runtime.store.matches()):
            if stored.match != but and self.find(stored.match) is None:
                with suppress(NodeError, StoreError):
                    served = self._stored(stored)
                    if served.match.is_formed and not served.is_given_up:  # a crash came before the mark
                        self._drop(served)
                        self._runtime.store.mark_formed(stored.match)  # its owner may resume it
                    else:
                        served.feed(Withdrawn())

    def _stored(self, stored: StoredMatch) -> PlayerSession:
        store = self._runtime.store
        try:
            match = Match(
                *(stored.genesis, archive.roster_index(stored), stored.seed),
                *(store.messages(stored.match), store.choices(stored.match)),
                party=self._owner.party,
                host=stored.host,
                stake=self._stake(stored.match, parse_genesis(stored.genesis)),
            )
        except (PeerError, StoreError) as error:
            raise NodeError(ErrorCode.FAILED, f"the stored match is damaged: {error}") from None
        occasion = Occasion(stored.created, stored.table_name, stored.customs, stored.asks)
        playing = PlayerSession(self._runtime, match, occasion, self._audience, self, is_given_up=stored.given_up)
        self._add(playing)
        return playing

    def _stake(self, match: bytes, genesis: Genesis) -> Callable[[int, int], bool]:
        return lambda bet, tickets: self._runtime.purses.open_stake(match, genesis, (bet, tickets))

    def _add(self, playing: PlayerSession) -> None:
        """Add a proposal, and drop all without this node's COMMIT. Of proposals that were given up, keep only the
        newest."""
        for each in self.sessions:
            if not each.match.has_committed:
                self._drop(each)
        for each in [each for each in self.sessions if each.is_given_up][: -limits.PROPOSALS]:
            self._drop(each)
            self._runtime.store.forget(each.match.id)
            self._runtime.purses.give_up(each.match.id, may_form=each.match.is_formed)
        playing.match.may_commit = partial(self._may_commit, playing)
        self.sessions = (*self.sessions, playing)

    def _may_commit(self, playing: PlayerSession) -> bool:
        others = (each for each in self.sessions if each is not playing and not each.is_given_up)
        return playing.has_purses_in_order and not any(each.match.is_bound or each.match.is_formed for each in others)

    def _drop(self, playing: PlayerSession) -> None:
        playing.close()
        self.sessions = tuple(each for each in self.sessions if each is not playing)
        self.stop_dialling(playing)

    def stop_dialling(self, playing: PlayerSession) -> None:
        """Stop dialling the players of a match, except players of other proposals."""
        wanted = {identity for each in self.sessions if each is not playing for identity in each.dialled}
        for identity in playing.dialled - wanted:
            self._runtime.mesh.stop_dialling(identity)
        playing.dialled = frozenset()

    # Notifications from proposals

    def bound(self, playing: PlayerSession) -> None:
        """Start the time limits of a proposal that binds this node: it signed COMMIT just now or before a restart."""
        self._runtime.loop.call_later(limits.ASK_OTHERS, self._ask, playing)
        self._runtime.loop.call_later(limits.BOUND, self._give_up, playing)

    def _ask(self, playing: PlayerSession) -> None:
        if playing.match.is_bound and playing in self.sessions:
            playing.keep_links()

    def _give_up(self, playing: PlayerSession) -> None:
        if playing.match.is_bound and playing in self.sessions and not self._runtime.is_silent:
            playing.feed(Withdrawn())
            self._tell_gave_up()

    def became_formed(self, playing: PlayerSession) -> None:
        """Dial the players of a match, so that all learn that it is formed; for a limited time if it was given up."""
        playing.keep_links()
        if playing.is_given_up:
            self._runtime.loop.call_later(limits.BOUND, self.stop_dialling, playing)
        else:
            self.session = playing
            playing.show()
            self._tell_formed()

    # Leaving

    def turn_away(self, played: PlayerSession | None) -> None:
        """Give up everything that binds this node, because its owner turns to another table.

        :param played: the match that was played last, which is then no longer among the proposals.
        """
        if played is not None:
            self.sessions = tuple(each for each in self.sessions if each is not played)
            self.stop_dialling(played)
        for each in self.sessions:
            if each.match.is_bound:
                each.feed(Withdrawn())
            elif not each.match.has_committed:
                self._drop(each)
        self.session = None

    def close(self) -> None:
        for each in (*self.sessions, self.session):
            if each is not None:
                each.close()
