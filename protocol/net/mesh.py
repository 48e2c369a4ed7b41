"""The mesh: one welcomed link per peer, redialled for as long as the peer is wanted.

After TLS come HELLO and WELCOME: the dialler states its aim, and the dialled node accepts or refuses. Only then does
the rest of the node learn of the peer. Nodes of other protocol versions are refused without a greeting, since TLS has
negotiated the version.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from protocol import limits
from protocol.crypto.tls import Credentials
from protocol.errors import PeerError, RefuseCode
from protocol.limits import Limits
from protocol.net.addresses import Address
from protocol.net.dialer import Accept, Dialer, DialError, anybody
from protocol.net.link import BREACH, ENDED, Allowances, Link, LinkUse
from protocol.net.listener import EVERYWHERE, Listener, listen
from protocol.version import PROTOCOL_VERSION, versions_differ
from protocol.wire.frames import (
    Aim,
    Frame,
    Hello,
    MalformedFrameError,
    MatchAim,
    Refuse,
    TableAim,
    Unknown,
    WatchAim,
    Welcome,
    decode_frame,
    encode_frame,
)

REPLACED: Final = Refuse(RefuseCode.REFUSED, "another program with your key has taken your place")
"""The last frame on a displaced link."""


def is_answer(asked: Aim, aim: Aim) -> bool:
    """Return whether the aim in a WELCOME answers the aim in the HELLO. Without this check, a peer could choose its own
    role at the node that dialled it."""
    if isinstance(asked, MatchAim):
        return aim == asked
    return isinstance(aim, TableAim) or (isinstance(aim, MatchAim) and isinstance(asked, WatchAim))


class RefusedError(PeerError):
    """The other node refused. ``code`` comes from its REFUSE frame, and need not be a :class:`RefuseCode`."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def check_version(link: Link) -> None:
    """Check that a dialled peer speaks this program's version of the protocol, before greeting it.

    :raises RefusedError: if it does not.
    """
    if link.version != PROTOCOL_VERSION:
        raise RefusedError(RefuseCode.VERSION, versions_differ(link.version))


class MeshOwner(Protocol):
    """The owner of a mesh, which admits peers and receives their frames. Its methods are called in the event loop."""

    def welcome(self, identity: bytes, hello: Hello) -> Aim | Refuse:
        """Answer a HELLO: return the aim for this node's WELCOME, or a refusal."""

    def peer_up(self, identity: bytes, aim: Aim, at: Address) -> None:
        """Note that a link is up, which may replace an older link to the same peer.

        :param aim: the aim in the peer's HELLO or WELCOME.
        :param at: the address at which the peer listens.
        """

    def peer_frame(self, identity: bytes, frame: Frame) -> None:
        """Receive a frame with a valid form and unchecked content."""

    def peer_down(self, identity: bytes, reason: str) -> None:
        """Note that the peer's link is down and was not replaced."""


class _Wish:
    """A peer to which the node wants a link."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()
        """Set when its link is down, or may be dead."""
        self.prompt = asyncio.Event()
        """Set to dial it now, linked or not."""


class _PeerLink(NamedTuple):
    link: Link
    since: float
    is_replacement: bool
    aim: Aim
    """The aim in the peer's HELLO or WELCOME."""
    asked: Aim | None
    """The aim in this node's HELLO; None if the peer dialled."""
    at: Address
    """The address at which the peer listens."""


class _Dialled:
    """A link that this node dialled and that the peer has not answered yet."""

    def __init__(self, asked: Aim) -> None:
        self.asked = asked
        """The aim in this node's HELLO."""
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Mesh:
    """All links of one node.

    :param credentials: this node's identity for TLS.
    """

    def __init__(self, credentials: Credentials, owner: MeshOwner, bounds: Limits | None = None) -> None:
        self._credentials = credentials
        self._owner = owner
        self._bounds = bounds or Limits()
        self._allowances = Allowances(self._bounds)
        self.dialer = Dialer(credentials, self._bounds, self._allowances)
        """Opens all outgoing links of this node, including those outside the mesh."""
        self._listener: Listener | None = None
        self._links: set[Link] = set()
        """Every link whose connection may still exist."""
        self._peers: dict[bytes, _PeerLink] = {}
        self._dialled: dict[Link, _Dialled] = {}
        self._wanted: dict[bytes, asyncio.Task[None]] = {}
        self._wishes: dict[bytes, _Wish] = {}
        self._showing: asyncio.TimerHandle | None = None
        """The timer that sends the queues of spectators."""

    # The node's side

    async def listen(self, port: int, hosts: Iterable[str] = EVERYWHERE) -> None:
        """Start accepting links; raise OSError if the port is taken."""
        self._listener = await listen(tuple(hosts), port, self._credentials, self, self._bounds, self._allowances)

    @property
    def port(self) -> int:
        """The port on which this node listens; 0 if it does not listen."""
        return self._listener.port if self._listener else 0

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses at which this node can be reached, best first."""
        return self._listener.addresses if self._listener else ()

    def set_roster(self, identities: Iterable[bytes]) -> None:
        """Set the identities that do not count as strangers."""
        self._allowances.roster = frozenset(identities)

    def set_use(self, identity: bytes, use: LinkUse) -> None:
        """Set the purpose of a peer's link. The aims of players in a match and of spectators set it automatically."""
        if (peer := self._peers.get(identity)) is not None:
            peer.link.use = use

    def is_linked(self, identity: bytes) -> bool:
        return identity in self._peers

    def aim(self, identity: bytes) -> Aim | None:
        """Return the aim in a linked peer's HELLO or WELCOME; None if the peer is not linked."""
        peer = self._peers.get(identity)
        return peer.aim if peer is not None else None

    def asked(self, identity: bytes) -> Aim | None:
        """Return the aim with which this node dialled a linked peer; None if the peer dialled."""
        peer = self._peers.get(identity)
        return peer.asked if peer is not None else None

    def linked(self) -> tuple[bytes, ...]:
        """Return the identities of all peers whose link is up, sorted."""
        return tuple(sorted(self._peers))

    def others_at(self, identity: bytes) -> frozenset[Address]:
        """Return the addresses of the other linked peers: dialling this peer there would reach one of them."""
        others = [peer for each, peer in self._peers.items() if each != identity]
        local = {
            peer.at[1] for peer in others if peer.link.is_on_own_machine
        }  # linked by loopback, which is never advertised
        here = ((host, port) for host, _ in self.addresses for port in local)
        return frozenset((*(peer.at for peer in others), *here))

    def send(self, identity: bytes, frame: bytes) -> None:
        """Queue an encoded frame until :meth:`flush`, or drop it if there is no link. Catch-up replaces lost frames."""
        if (peer := self._peers.get(identity)) is not None:
            peer.link.queue(frame)

    def excuse(self, identity: bytes) -> None:
        """Do not count the frame that the owner is receiving against its sender's rate."""
        if (peer := self._peers.get(identity)) is not None:
            peer.link.excuse()

    def flush(self) -> None:
        """Send everything that was queued in this pass of the event loop; to spectators a moment later.

        A spectator is sent all messages of a match, often several within milliseconds. Frames that are flushed together
        need only one TLS record and one system call.
        """
        has_spectators = False
        for peer in self._peers.values():
            if isinstance(peer.aim, WatchAim):
                has_spectators = True
            else:
                peer.link.flush()
        if has_spectators and self._showing is None:
            self._showing = asyncio.get_running_loop().call_later(limits.SPECTATOR_DELAY, self._show)

    def _show(self) -> None:
        """Send the queues of spectators."""
        self._showing = None
        for peer in self._peers.values():
            if isinstance(peer.aim, WatchAim):
                peer.link.flush()

    def disconnect(self, identity: bytes, reason: str = ENDED) -> None:
        """Send the queue of a peer and end its link.

        :param reason: passed on to the owner.
        """
        if (peer := self._peers.get(identity)) is not None:
            peer.link.close(reason)

    async def connect(self, addresses: Iterable[Address], aim: Aim, accept: Accept = anybody) -> bytes:
        """Dial a peer at all its addresses, exchange HELLO and WELCOME, and return its identity.

        :param accept: decides by the identity proved by TLS, before HELLO. Other peers that answer at an address are
            ignored.
        :raises DialError: if no accepted peer answers.
        :raises RefusedError: if the peer refuses.
        """
        link = await self.dialer.dial(addresses, self, accept)
        dialled = self._dialled[link] = _Dialled(aim)  # no frame is read before the next pass of the loop
        try:
            check_version(link)
            link.send(encode_frame(Hello(self.port, aim)))
            await dialled.answer
        except BaseException:
            link.close()
            raise
        finally:
            del self._dialled[link]
            if not dialled.answer.cancel() and not dialled.answer.cancelled():
                dialled.answer.exception()  # mark it as retrieved: the caller gets this error or a more exact one
        return link.peer_key

    def keep(
        self, identity: bytes, addresses: Callable[[], Iterable[Address]], aim: Callable[[], Aim], patience: float
    ) -> None:
        """Dial a peer whenever it is not linked, until :meth:`stop_dialling`.

        :param patience: seconds to let the peer dial first, so that two peers do not dial each other at once.
        """
        self.stop_dialling(identity)
        self._wishes[identity] = _Wish()
        self._wanted[identity] = asyncio.create_task(self._keep(identity, addresses, aim, patience))

    def stop_dialling(self, identity: bytes) -> None:
        """Stop dialling a peer. An established link stays up."""
        if (task := self._wanted.pop(identity, None)) is not None:
            task.cancel()
        self._wishes.pop(identity, None)

    def dial_anew(self) -> None:
        """Dial all wanted peers now, because this machine slept or changed addresses, so that its links may be dead.

        A link that still works is replaced by the new one.
        """
        for wish in self._wishes.values():
            wish.prompt.set()
            wish.lost.set()

    def stop_dialling_all(self) -> None:
        for identity in tuple(self._wanted):
            self.stop_dialling(identity)

    async def close(self) -> None:
        """End everything. Queues are still sent, as far as peers read them in time."""
        dialling = tuple(self._wanted.values())
        self.stop_dialling_all()
        if self._showing is not None:
            self._showing.cancel()
        if self._listener is not None:
            self._listener.close()
        for link in self._links:
            link.close()
        await asyncio.gather(*dialling, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._bounds.shutdown):
                await asyncio.gather(*(link.wait_closed() for link in self._links))

    async def _keep(
        self, identity: bytes, addresses: Callable[[], Iterable[Address]], aim: Callable[[], Aim], patience: float
    ) -> None:
        wish = self._wishes[identity]
        attempt = 0
        await asyncio.sleep(patience)
        while True:
            if identity in self._peers and not wish.prompt.is_set():
                attempt = 0
                wish.lost.clear()
                await wish.lost.wait()
                if not wish.prompt.is_set():
                    await asyncio.sleep(patience)
                continue
            wish.prompt.clear()
            try:
                await self.connect(addresses(), aim(), identity.__eq__)
            except (DialError, RefusedError):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(limits.BACKOFF[min(attempt, len(limits.BACKOFF) - 1)]):
                        await wish.prompt.wait()
                attempt = 0 if wish.prompt.is_set() else attempt + 1

    # The links' side

    def link_up(self, link: Link) -> None:
        self._links = {link, *(each for each in self._links if each.is_connected or each.is_up)}

    def link_down(self, link: Link, reason: str) -> None:
        dialled = self._dialled.get(link)
        if dialled is not None and not dialled.answer.done():
            dialled.answer.set_exception(DialError(f"nobody let you in: {reason}"))
        peer = self._peers.get(link.peer_key)
        if peer is not None and peer.link is link:
            del self._peers[link.peer_key]
            if (wish := self._wishes.get(link.peer_key)) is not None:
                wish.lost.set()
            self._owner.peer_down(link.peer_key, reason)

    def frame_received(self, link: Link, data: bytes) -> None:
        if link.version != PROTOCOL_VERSION:  # its frames have a different format
            reason = versions_differ(PROTOCOL_VERSION, link.version)
            link.send(encode_frame(Refuse(RefuseCode.VERSION, reason)))
            link.close()
            return
        try:
            frame = decode_frame(data)
        except MalformedFrameError as error:
            link.drop(f"{BREACH}: it sent an invalid message ({error})")
            return
        peer = self._peers.get(link.peer_key)
        if peer is not None and peer.link is link:
            if isinstance(frame, (Hello, Welcome)):
                link.drop(f"{BREACH}: it greeted twice")
            elif isinstance(frame, Refuse) and self._is_dialling(link):
                pass  # this node is dialling the peer again, so the peer is replacing this link
            elif not isinstance(frame, Unknown):
                self._owner.peer_frame(link.peer_key, frame)
        elif link.outbound:
            self._take_answer(link, frame)
        else:
            self._take_hello(link, frame)

    def _take_answer(self, link: Link, frame: Frame) -> None:
        dialled = self._dialled.get(link)
        if dialled is None or dialled.answer.done():
            return
        if isinstance(frame, Refuse):
            dialled.answer.set_exception(RefusedError(frame.code, frame.reason))
        elif not isinstance(frame, Welcome):
            link.drop(f"{BREACH}: it did not answer the greeting")
        elif not is_answer(dialled.asked, frame.aim):
            link.drop(f"{BREACH}: it answered another greeting")
        else:
            dialled.answer.set_result(None)
            self._establish(link, frame.aim, link.remote, dialled.asked)

    def _take_hello(self, link: Link, frame: Frame) -> None:
        if not isinstance(frame, Hello):
            link.drop(f"{BREACH}: it did not greet first")
            return
        answer = self._owner.welcome(link.peer_key, frame)
        if isinstance(answer, Refuse):
            link.send(encode_frame(answer))
            link.close()
        elif self._may_replace(link):
            link.send(encode_frame(Welcome(answer)))
            self._establish(link, frame.aim, (link.remote[0], frame.port))
        else:
            link.close()

    def _establish(self, link: Link, aim: Aim, at: Address, asked: Aim | None = None) -> None:
        old = self._peers.get(link.peer_key)
        if not self._may_replace(link):
            link.close()
            return
        link.widen()
        is_member = link.peer_key in self._allowances.roster
        link.use = LinkUse.ENGAGED if is_member or isinstance(aim, MatchAim | WatchAim) else LinkUse.IDLE
        now = asyncio.get_running_loop().time()
        self._peers[link.peer_key] = _PeerLink(link, now, old is not None, aim, asked, at)
        if old is not None:
            old.link.send(encode_frame(REPLACED))
            old.link.close()
        self._owner.peer_up(link.peer_key, aim, at)

    def _is_dialling(self, old: Link) -> bool:
        """Return whether this node is dialling a peer to which it already has a link."""
        return any(each.peer_key == old.peer_key and each is not old for each in self._dialled)

    def _may_replace(self, link: Link) -> bool:
        """Return whether a new link to a peer takes the place of the current one."""
        old = self._peers.get(link.peer_key)
        if old is None or asyncio.get_running_loop().time() - old.since >= limits.REPLACEMENT:
            return True
        if old.link.outbound != link.outbound:
            # Both sides dialled at once. Both keep the link dialled by the lower identity, so that one link remains.
            own_is_lower = self._credentials.public_key < link.peer_key
            return link.outbound == own_is_lower
        return not old.is_replacement
