"""A node: one player's program on the LAN, as its owner uses it.

The parts behind it: :mod:`protocol.node.host` and :mod:`protocol.node.guest` are the two sides of a lobby,
:mod:`protocol.node.playing` is a match with a seat, and :mod:`protocol.node.watching` a match without one.
:mod:`protocol.node.activities` holds these, dispatches frames to them and advertises the node;
:mod:`protocol.node.runtime` is shared by all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Final

from p2pdice.moves import Move
from protocol.crypto.keys import Identity, KeyFileError
from protocol.crypto.short_code import ShortCode, UnknownWordError, new_short_code, parse_short_code
from protocol.crypto.tls import credentials
from protocol.errors import ErrorCode, NodeError
from protocol.events import CodeMade, NodeEvent, Notice, PlayerInfo, SeatAsked, TableOpened
from protocol.limits import Limits
from protocol.match.effects import Conceded, Extended, Played
from protocol.match.lobby import HostedTable, TableSettings
from protocol.match.match import Match
from protocol.match.signer import StaleMoveError
from protocol.match.waiting import Clock, Party
from protocol.net.addresses import format_address, new_token
from protocol.net.discovery import Sighting
from protocol.net.mesh import Mesh
from protocol.node import locator
from protocol.node.activities import Activities, Doing
from protocol.node.guest import come_back
from protocol.node.host import Host
from protocol.node.inquiry import Inquiry
from protocol.node.locator import ID_DIGITS, Locator, OnMissing, Target, WayBack, direct_target
from protocol.node.session import Session
from protocol.node.watching import SpectatorSession
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from protocol.storage.store import Store, StoredMatch
from protocol.wire.frames import Customs, Leave
from protocol.wire.genesis import (
    PLEDGES,
    MalformedGenesisError,
    is_private,
    open_table_id,
    parse_genesis,
    private_table_id,
)
from protocol.wire.names import NicknameError, check_nickname, rules_name_flaw, ruleset_hash, table_name_flaw

log = logging.getLogger(__name__)

LINGER: Final = 2.0
"""Seconds for which a closing node waits for players who have not confirmed the end."""


class Node:
    """One player's node. Create it with :meth:`open`; it reports everything through :meth:`events`."""

    def __init__(
        self,
        home: Home,
        name: str,
        identity: Identity,
        store: Store,
        port: int,
        interface: str | None,
        locator: Locator,
        bounds: Limits,
    ) -> None:
        self.home = home
        self.name = name
        self.identity = identity
        self.pledge = PLEDGES[0]
        """The pledge in the next join record, ``redeemed`` or ``cursed``. It matters only in games with motes."""
        self.party: Party | None = None
        """Set before a match begins or is resumed, if one person's programs sit at the table: see
        :mod:`protocol.match.waiting`."""
        self._store = store
        self._port = port
        self._locator = locator
        links = partial(Mesh, credentials(identity.private_key), bounds=bounds)
        self._active = Activities(home, identity, store, locator, bounds, self, interface, links)
        self._runtime = self._active.runtime
        self._mesh = self._active.mesh
        self._inquiry = Inquiry(self._mesh.dialer)
        self._own_table: tuple[bytes, str] | None = None
        """The id and token of the table that this node hosted last."""
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        home: Path,
        name: str,
        *,
        port: int = 0,
        interface: str | None = None,
        discovery: bool = True,
        identity: Identity | None = None,
        bounds: Limits | None = None,
    ) -> Node:
        """Open a home and create its node. The node contacts no peer until it hosts, joins, watches or resumes.

        :param port: the port to listen at; 0 for any free port.
        :param interface: the name or address of the only interface to use; None to use all.
        :param discovery: False to never use multicast.
        :param identity: the home's identity, if it is already unlocked.
        :param bounds: limits of links that replace the protocol's, for tests.
        :raises NodeError: if the home is in use or unreadable, or the name is not allowed.
        """
        try:
            check_nickname(name)
            store = archive.open_store(Home(home))
        except NicknameError as error:
            raise NodeError(
                ErrorCode.FAILED, f"{name!r} cannot be a nickname: {error}", "choose another with --name"
            ) from None
        except StoreError as error:
            raise NodeError(ErrorCode.FAILED, error.parts, error.hint, error.choices) from None
        try:
            if identity is None:
                identity, _ = archive.unlock(Home(home), store)
        except (KeyFileError, StoreError) as error:
            store.close()
            raise NodeError(ErrorCode.FAILED, error.parts) from None
        locator = Locator(interface, is_enabled=discovery)
        return cls(Home(home), name, identity, store, port, interface, locator, bounds or Limits())

    # For the owner

    async def events(self) -> AsyncIterator[NodeEvent]:
        """Yield events until the node is closed. Only one consumer may use this."""
        while (event := await self._runtime.events.get()) is not None:
            yield event

    @property
    def port(self) -> int:
        """The port at which this node listens; 0 if it does not listen yet."""
        return self._mesh.port

    @property
    def former(self) -> Match | None:
        """The last match played here to its end, once the owner has turned to another table."""
        return self._active.former.match if self._active.former is not None else None

    @property
    def match(self) -> Match | None:
        """The match that is proposed, played or watched here; also after its end, until the owner turns to another
        table. It may be read, but never fed.

        Screens read :attr:`~protocol.match.match.Match.progress` from it, and :meth:`clock` from the node.
        """
        session = self._session
        return session.match if session is not None else None

    def clock(self) -> Clock | None:
        """Return the players whom the match waits for and their remaining time: see
        :meth:`protocol.match.match.Match.clock`.

        Also None for the step that was open when this node began to watch, because its beginning is unknown.
        """
        return self._session.clock() if self._session is not None else None

    @property
    def _session(self) -> Session | None:
        """The session that is proposed, played or watched."""
        watching, playing = self._active.watching, self._active.proposals.session
        if playing is not None and not playing.match.is_called_off:
            return playing
        return watching.followed if watching is not None else None

    @property
    def table_id(self) -> bytes:
        """The id of the table that this node hosts; empty if it hosts none."""
        return self._active.hosting.table.id if self._active.hosting is not None else b""

    @property
    def join_line(self) -> str:
        """The argument for ``p2pdice join`` on another laptop; empty unless this node hosts."""
        return self._active.join_line

    @property
    def coins(self) -> int | None:
        """The coins in this player's purse; None if the purse cannot be read."""
        try:
            return self._runtime.purses.own.purse.end.balance
        except StoreError:
            return None

    @property
    def customs(self) -> Customs:
        """The customs of the table of :attr:`match`."""
        return self._session.occasion.customs if self._session is not None else Customs()

    def table_again(self, name: str) -> TableSettings | None:
        """Return settings for a new table like the one of :attr:`match`, or of :attr:`former` if there is no match.

        If the old table admitted newcomers without asking, as a league does, the new one asks about strangers.

        :param name: the name of the new table.

        :returns: None if there was no match here.
        """
        session = self._session or self._active.former
        if session is None:
            return None
        genesis, occasion = session.match.history.genesis, session.occasion
        return TableSettings(
            name,
            genesis.ruleset,
            len(genesis.roster),
            genesis.patience,
            is_private(genesis.table),
            self._runtime.rules_name(genesis.ruleset),
            occasion.customs,
            "always" if occasion.asks == "always" else "strangers",
            unlisted=session.match.is_solo,
        )

    async def host(self, settings: TableSettings) -> TableOpened:
        """Open a table and advertise it: under its name, or, if it is private, only by its code's number.

        After a match the same node can open the table again, with the same or other settings. The table keeps its id,
        token and port, so that its join line stays valid, unless ``private`` changes. A restarted node, or a former
        guest, opens another table. Players return by :meth:`rejoin`; spectators continue to watch automatically.

        :raises NodeError: if a name in the settings is not allowed, this node cannot listen, its table is already open,
            its match is not over, or this player's purse is busy.
        """
        if problem := table_name_flaw(settings.name):
            raise NodeError(
                ErrorCode.FAILED, f"{settings.name!r} cannot be a table's name", f"a table's name {problem}"
            )
        if settings.rules_name and (problem := rules_name_flaw(settings.rules_name)):
            raise NodeError(
                ErrorCode.FAILED, f"{settings.rules_name!r} cannot be a name of rules", f"a name of rules {problem}"
            )
        self._active.leave_behind()
        self._active.proposals.serve_given_up()
        await self._active.listen(self._port)
        if settings.rules_name and settings.ruleset.name is None:
            self._store.name_rules(ruleset_hash(settings.ruleset), settings.rules_name)
        if self._own_table is None or settings.private is not bool(self._own_table[1]):
            token = new_token() if settings.private else ""
            self._own_table = (private_table_id(token) if token else open_table_id()), token
        table, token = self._own_table
        await self._locator.withdraw()
        is_found = await self._locator.start()
        code = new_short_code(self._locator.numbers()) if is_found and not settings.unlisted else None
        if settings.ruleset.stakes and (reason := self._runtime.purses.find_hindrance()):
            raise NodeError(ErrorCode.FAILED, reason, choices=(("p2pdice purse", "What you can do"),))
        own = self._active.proposals.sign_on(table, has_purse=settings.ruleset.stakes)
        hosted = HostedTable(settings, table, own, token)
        before = self._active.former
        returning = {} if before is None else {key: before.match.info[place] for key, place in before.authors.items()}
        self._active.hosting = Host(
            self._runtime,
            hosted,
            self._active.audience,
            self._active.proposals,
            self._active.advertise,
            code,
            self._active.door,
            lambda: self.party.programs if self.party is not None else (),
            returning,
        )
        is_advertised = is_found and not (settings.private or settings.unlisted)
        self._active.advertise()
        addresses = tuple(map(format_address, self._mesh.addresses))
        kind = "private" if settings.private else "unlisted" if settings.unlisted else ""
        problem = "" if is_advertised else f"the table is {kind}" if kind else self._locator.problem
        opened = TableOpened(
            settings.name,
            self._active.tell_join_line(),
            addresses,
            is_advertised,
            problem,
            is_reachable=self._active.is_reachable,
            seats=settings.seats,
            ruleset=settings.ruleset,
            rules_name=settings.rules_name,
            code=str(code) if code is not None else "",
            odds=settings.customs.odds,
            talk=settings.customs.talk,
        )
        self._runtime.tell(opened)
        if is_advertised and (left_out := self._locator.left_out):
            reason = f"which {'does' if len(left_out) == 1 else 'do'} not support multicast"
            self._runtime.tell(Notice(f"The table is not advertised on {', '.join(left_out)}, {reason}."))
        self._active.hosting.open()
        return opened

    def renew_code(self) -> None:
        """Give the open table another short code, reported by :class:`~protocol.events.CodeMade`.

        :raises NodeError: if no table is open here, or it cannot be found by a code.
        """
        hosting = self._active.hosting
        if hosting is None or hosting.has_begun:
            raise NodeError(ErrorCode.FAILED, "only an open table of your own has a short code")
        before = hosting.code_desk.code
        if before is None:
            raise NodeError(
                ErrorCode.FAILED,
                f"a short code would not work: {self._locator.problem}",
                "give the others the join line",
            )
        code = new_short_code(self._locator.numbers() | {before.number})
        hosting.code_desk.renew(code)
        self._active.advertise()
        self._runtime.tell(CodeMade(str(code)))

    def start_match(self) -> None:
        """Propose a match to all guests at this node's table.

        :raises NodeError: if this node hosts no table, there are no guests, the match has begun, or this player's
            purse is busy.
        """
        if self._active.hosting is None:
            raise NodeError(ErrorCode.FAILED, "only the host of a table starts the match")
        self._active.hosting.propose()

    # Who sits at the table

    @property
    def asked(self) -> tuple[SeatAsked, ...]:
        """The open questions about newcomers at this node's table, oldest first."""
        return self._active.door.asked

    @property
    def kept_out(self) -> tuple[PlayerInfo, ...]:
        """The players whom the owner has refused or sent away; :meth:`seat` lets them in again."""
        return self._active.door.kept_out

    def seat(self, player: PlayerInfo) -> None:
        """Let a player sit down at this node's table: at once if they are waiting, otherwise when they come.

        This also revokes :meth:`refuse` and :meth:`remove`. A guest uses it to accept a player who has a trusted name
        but another key. It holds until the node is closed.
        """
        if self._active.hosting is not None:
            self._active.hosting.seat(player)
        else:
            self._active.door.let_in(player)

    def refuse(self, player: PlayerInfo) -> None:
        """Exclude a player from this node's table, as guest and as spectator, until :meth:`seat`. A guest is sent away.

        :raises NodeError: if this node hosts no table, or the match has begun.
        """
        self._keep_out(player)

    def let_watch(self, player: PlayerInfo) -> None:
        """Give a player no seat at this node's table, but let them watch, until :meth:`seat`.

        :raises NodeError: as :meth:`refuse`.
        """
        self._keep_out(player, may_watch=True)

    def remove(self, player: PlayerInfo) -> None:
        """Send a guest away from this node's table until :meth:`seat`.

        :raises NodeError: as :meth:`refuse`, or if no such guest sits there.
        """
        hosting = self._active.hosting
        if hosting is not None and not hosting.has_begun and not hosting.seats(player):
            raise NodeError(ErrorCode.FAILED, f"{player.name} does not sit at your table")
        self._keep_out(player)

    def _keep_out(self, player: PlayerInfo, *, may_watch: bool = False) -> None:
        if self._active.hosting is None:
            raise NodeError(ErrorCode.FAILED, "only the host of a table says who sits there")
        with self._runtime.stopping_at_disk_errors():
            self._active.hosting.keep_out(player, may_watch=may_watch)

    async def tables(self, seconds: float = 2.0) -> tuple[Sighting, ...]:
        """Return the tables advertised on the LAN, after listening for this many seconds.

        :raises NodeError: if multicast does not work on this machine.
        """
        return await self._locator.tables(seconds)

    async def join(
        self,
        target: str | Sequence[Sighting],
        on_missing: OnMissing | None = None,
        pending: Callable[[], None] | None = None,
        *,
        is_pledged: bool = True,
    ) -> None:
        """Sit down at a table, given as ``NAME``, ``HOST:PORT``, a join line or a short code. Return once admitted.

        :param target: a text, or all sightings of the name of a sighted table.
        :param on_missing: if given, wait for a table that is not advertised; called with the reason.
        :param pending: called when the host's owner is asked whether this node gets a seat.
        :param is_pledged: whether the owner has chosen a pledge. If not, no seat is taken where a pledge matters.
        :raises NodeError: if nobody is found or reached there, several players answer for the name, this player is not
            admitted, or has to choose a pledge.
        """
        if on_missing is not None:
            self._active.watch_network()
        if (code := _typed_code(target)) is not None:
            async with aclosing(self._locator.numbered(code.number, on_missing)) as heard:
                wanted = await self._inquiry.find_by_code(code, heard)
        else:
            (wanted,) = await self._inquiry.choose("join", lambda: self._locator.resolve(target, on_missing))
        self._active.leave_behind()
        self._active.proposals.serve_given_up()
        await self._active.listen(self._port)
        await self._active.joining.enter(wanted, pending, is_pledged=is_pledged)

    async def rejoin(self) -> None:
        """Sit down again at the table of the last match, after playing as a guest or watching.

        Return once admitted; cancel the call to stop waiting. The call waits while the host answers but has not opened
        the table again, or plays with others; :class:`~protocol.events.AwaitingHost` reports the state. A match that is
        played meanwhile is watched.

        :raises NodeError: if there is no such table, its match is not over, the host has been gone for too long, or
            this player is not admitted. The call may be repeated.
        """
        if self._active.hosting is not None:
            raise NodeError(ErrorCode.FAILED, "the table is your own", "open it again")
        if self._active.doing is Doing.GUEST:
            raise NodeError(ErrorCode.FAILED, "you already sit at the table", "wait for the host to begin")
        self._active.leave_behind()
        if self._active.way_back is None:
            raise NodeError(ErrorCode.FAILED, "there is no table to go back to", "join one, or host one of your own")
        await self._active.listen(self._port)
        await self._locator.withdraw()
        while wanted := await come_back(self._runtime, self._active.way_back, self._active.joining.try_to_enter):
            await self._watch_meanwhile(self._active.way_back, wanted)

    async def _watch_meanwhile(self, way: WayBack, wanted: Target) -> None:
        """Watch the match that is played without this node until its end; do nothing if it is already over."""
        self._active.watching = watching = SpectatorSession(self._runtime, only_match=True)
        try:
            await watching.enter((wanted,))
            await watching.over.wait()
        except NodeError as error:
            log.info("the match cannot be watched: %s", error)
            await asyncio.sleep(locator.AGAIN)
        self._active.leave_behind()
        self._active.way_back = way  # the same host, although another player may have shown the match

    async def watch(self, target: str) -> None:
        """Watch a table or match, given as ``NAME``, ``HOST:PORT``, a join line, or the first digits of a match id.

        Return once the match, or before its start the table, is shown.

        :raises NodeError: if nobody is found or reached there, several players answer for the name, or this node may
            not watch.
        """
        targets = await self._inquiry.choose("watch", lambda: self._locator.resolve_to_watch(target))
        if self._active.doing is not Doing.GUEST:  # the host refuses a guest who wants to watch, so keep the seat
            self._active.leave_behind()
        self._active.watch_network()
        self._active.watching = watching = SpectatorSession(self._runtime)
        try:
            await watching.enter(targets)
        except NodeError:
            self._active.watching = None
            raise

    def unfinished(self) -> tuple[StoredMatch, ...]:
        """Return the matches of this home that can be resumed, newest first."""
        return archive.unfinished(self._store.matches())

    def unfinished_at(self, target: str) -> StoredMatch | None:
        """Return the newest unfinished match of this home that a target of :meth:`join` or :meth:`watch` can mean.

        A match fits if the target is its table's name, the beginning of its id, a join line with the key of one of its
        players, or an address that one of them used.
        """
        return next((each for each in self.unfinished() if self._can_mean(target, each)), None)

    def _can_mean(self, target: str, stored: StoredMatch) -> bool:
        try:
            direct = direct_target(target)
            roster = parse_genesis(stored.genesis).roster
        except (NodeError, MalformedGenesisError):
            return False
        if direct is None:
            text = target.strip().casefold()
            is_id = len(text) >= ID_DIGITS and stored.match.hex().startswith(text)
            return is_id or text == stored.table_name.casefold()
        if direct.fingerprint:
            return any(direct.may_be(record.join.identity) for record in roster)
        places = (
            place for each in roster for place in (*each.join.addresses, *self._store.addresses(each.join.identity))
        )
        return not set(direct.addresses).isdisjoint(places)

    @property
    def loss(self) -> str:
        """The data that the store has lost, as a sentence without its full stop; empty if nothing is lost."""
        return archive.describe(self._store.loss) if self._store.loss is not None else ""

    def find(self, match: str | None = None) -> StoredMatch:
        """Return the match that :meth:`resume` would return to.

        :raises NodeError: if there is no such match.
        """
        return archive.to_resume(self._store, match)

    async def resume(self, match: str | None = None) -> str:
        """Return to a match after a crash, a sleep or a quit: the last one, or the one named as in
        :func:`archive.find`.

        A finished match is resumed only by name, to give its end to others. So is a claimed match, which continues if
        the other player returns too.

        :returns: the whole match id, in hexadecimal digits.
        :raises NodeError: if there is no such match, or it cannot be resumed.
        """
        stored = self.find(match)
        try:
            archive.check_owner(self.home, stored, self.identity)
        except (MalformedGenesisError, StoreError) as error:
            raise NodeError(ErrorCode.FAILED, f"the stored match is damaged: {error}") from None
        self._active.leave_behind()
        self._store.take_claim_back(stored.match)
        try:
            await self._active.listen(self._port or stored.port)
        except NodeError:
            await self._active.listen(0)
        await self._locator.start()
        returned = self._active.proposals.resume(stored)
        self.name = next(
            player.name for player in returned.match.info if player.is_me
        )  # the name that the other players know
        self._active.advertise()
        stakes = returned.match.history.genesis.ruleset.stakes
        if stakes and not returned.match.is_ended and self._runtime.purses.has_settled(stored.match):
            self._runtime.tell(
                Notice(
                    "You have given up what you staked in this match: its end brings nothing into your purse, even if"
                    " you win."
                )
            )
        return stored.match.hex()

    def play(self, move: Move, token: int) -> None:
        """Make a move, in answer to the :class:`~protocol.events.YourTurn` with this token.

        :raises RulesError: if the move is illegal; choose another one.
        :raises NodeError: if that turn is over.
        """
        if self._active.proposals.session is None:
            return
        try:
            self._active.proposals.session.feed(Played(move, token))
        except StaleMoveError as error:
            raise NodeError(ErrorCode.FAILED, str(error)) from None

    def concede(self) -> None:
        """Resign with the next message that this node owes. The wish outlasts a restart."""
        if self._active.proposals.session is not None:
            self._active.proposals.session.feed(Conceded())

    def wait_longer(self, seconds: float) -> None:
        """Give the awaited players more time, from the end of this node's patience, or from now if that has passed.

        If the others are a majority, they may still continue without these players.

        :raises NodeError: if the match waits for no player.
        """
        playing = self._active.proposals.session
        if playing is None or not playing.match.is_formed or not playing.match.history.missing():
            raise NodeError(ErrorCode.FAILED, "the match waits for nobody")
        playing.feed(Extended(seconds))

    @property
    def can_claim(self) -> bool:
        """Whether the other player in a match of two has been away for so long that :meth:`claim` is possible."""
        return self._absence > 0

    @property
    def _absence(self) -> float:
        playing = self._active.proposals.formed
        return playing.match.absence(self._runtime.loop.time()) if playing is not None else 0.0

    def claim(self) -> None:
        """Leave a match of two whose other player is away, as claimed but unconfirmed.

        Nobody has won, no coins move, and stakes stay staked. :class:`~protocol.events.Claimed` reports the claim. This
        node is then free for another table; it returns to the match if :meth:`resume` names it.

        :raises NodeError: if this is not a match of two, or the other player has not been away for long enough.
        """
        playing, absence = self._active.proposals.formed, self._absence
        if playing is None or not absence:
            reason = "you can claim a match of two when the other player has been away for a while"
            raise NodeError(ErrorCode.FAILED, reason, "in a larger one, the others go on without who is away")
        with self._runtime.stopping_at_disk_errors():
            self._runtime.tell(playing.claim(absence))
            is_staked = playing.match.history.genesis.ruleset.stakes
            if is_staked and (reason := self._runtime.purses.find_hindrance()):
                self._runtime.tell(Notice(f"{reason}; p2pdice purse says what you can do"))
            self._runtime.in_background(self._locator.withdraw())

    def say(self, text: str) -> None:
        """Send a chat message to all others at the table: before, during or after the match, as long as links last.

        The text is composed (NFC) and its spaces are made single before it is signed. :class:`~protocol.events.Said`
        reports it to all of them, and to this player.

        :param text: up to 200 characters.
        :raises NodeError: if the text is too long or contains forbidden characters, if it comes too fast after others
            (the limit is five at once, then one per second), or if no listener is there.
        """
        if self._active.doing is Doing.WATCHING and not any(floor.is_open for floor in self._active.floors()):
            raise NodeError(ErrorCode.REFUSED, "spectators cannot speak", "sit down for the next match")
        self._active.talking.say(self._runtime.player(self.name, self.identity.public), self._active.floors(), text)

    def trust(self, player: PlayerInfo) -> None:
        """Trust a player's key from now on, under their present name.

        :raises NodeError: if that cannot be stored.
        """
        try:
            self._store.people.trust(player.fingerprint, player.name, int(time.time()))
            self._runtime.recognise(player, b"" if self.match is None else self.match.id)
        except StoreError as error:
            raise NodeError(ErrorCode.FAILED, error.parts, error.hint) from None

    async def close(self) -> None:
        """Leave. Linked peers are notified; a running match can be resumed; a finished one is served a moment
        longer."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._runtime.is_silent:
            await self._take_leave()
        self._active.close()
        self._runtime.close()
        await self._mesh.close()
        await self._runtime.tasks_done()
        await self._locator.close()
        self._store.close()
        self._runtime.events.put_nowait(None)

    async def _take_leave(self) -> None:
        ended = [session for session in self._active.sessions if session.match.is_ended]
        if ended and self._mesh.linked():
            try:
                async with asyncio.timeout(LINGER):
                    await asyncio.gather(*(session.all_confirmed.wait() for session in ended))
            except TimeoutError:
                log.info("left although somebody had not confirmed the end")
        if self._active.hosting is not None:
            self._active.hosting.withdraw()
        self._runtime.is_silent = True
        for identity in self._mesh.linked():
            self._runtime.post(identity, Leave("left the table"))
        self._runtime.flush()


def _typed_code(target: str | Sequence[Sighting]) -> ShortCode | None:
    """Return the short code that was typed; None if the text has another form.

    :raises NodeError: if it contains a word that no code contains.
    """
    try:
        return parse_short_code(target) if isinstance(target, str) else None
    except UnknownWordError as error:
        raise NodeError(ErrorCode.NOT_FOUND, str(error)) from None
