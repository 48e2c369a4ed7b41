"""Finding the table of a short code: of the players who advertise its number, the one who knows its words.

Multicast only says where to dial, and anybody on the network can say it. So this node tries everybody who is advertised
under the number, one after the other, and goes on with the first who proves to know the code. Each of them can check
one guess of their own, so it tries few.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TypeVar

from protocol import limits
from protocol.crypto.keys import fingerprint
from protocol.crypto.short_code import CodeExchange, CodeExchangeError, ShortCode
from protocol.errors import ErrorCode, NodeError, PeerError, RefuseCode
from protocol.net.addresses import Address
from protocol.net.dialer import Dialer, DialError
from protocol.net.discovery import Sighting
from protocol.net.link import BREACH, Link
from protocol.net.mesh import RefusedError, check_version
from protocol.node.locator import BY_LINE, Target
from protocol.node.refusals import refusal, unreachable
from protocol.wire.frames import (
    CodeAim,
    CodeElement,
    CodeProof,
    Frame,
    Hello,
    MalformedFrameError,
    Refuse,
    TableAim,
    Unknown,
    Welcome,
    decode_frame,
    encode_frame,
)

F = TypeVar("F", Welcome, CodeElement, CodeProof)


class CodeInquiry:
    """Finds the host who knows a short code.

    :param dialer: that of this node.
    """

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer

    async def find(self, code: ShortCode, told: Sequence[Sighting]) -> Target:
        """Return the table of the host who has proven to know the code.

        :param told: where tables with its number are said to be.
        :raises NodeError: if nobody has.
        """
        addresses = {address for sighting in told for address in sighting.addresses}
        if len(addresses) > limits.ADDRESSES_PER_NAME:
            raise NodeError(
                ErrorCode.REFUSED, f"number {code.number} is advertised at more addresses than can be tried", BY_LINE
            )
        search = _Search(code, self._dialer)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.CODE_SEARCH):
                if (found := await search.through(addresses)) is not None:
                    return found
        raise search.failure()


class _Search:
    """One search for the host who knows a code."""

    def __init__(self, code: ShortCode, dialer: Dialer) -> None:
        self._code = code
        self._dialer = dialer
        self._known: set[bytes] = set()
        """Identities that have answered at some address."""
        self._tried = 0
        """Players that were sent a proof."""
        self._said: list[RefusedError] = []
        self._problems: list[str] = []

    async def through(self, addresses: set[Address]) -> Target | None:
        """Return the table of the first who proves to know the code."""
        answered: asyncio.Queue[tuple[Address, bytes] | None] = asyncio.Queue()
        asking = {asyncio.create_task(self._see_who_answers(each, answered)) for each in addresses}
        try:
            for _ in addresses:
                if (at := await answered.get()) is None:
                    continue
                try:
                    return await self._try(*at)
                except RefusedError as error:
                    self._said.append(error)
                except PeerError as error:
                    self._problems.append(str(error))
                if self._tried >= limits.CODE_TRIES:
                    break
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        return None

    async def _see_who_answers(self, address: Address, answered: asyncio.Queue[tuple[Address, bytes] | None]) -> None:
        """Tell the identity at an address, or None if nobody answers or the identity is known already."""
        found = None
        try:
            link = await self._dialer.dial([address], _Silent(), self._is_new)
        except DialError as error:
            if not error.is_other:
                self._problems.append(str(error))
        else:
            found = address, link.peer_key
            link.close()
        answered.put_nowait(found)

    def _is_new(self, identity: bytes) -> bool:
        is_new = identity not in self._known
        self._known.add(identity)
        return is_new

    async def _try(self, address: Address, host: bytes) -> Target:
        """Prove to one player to know the code, and have it proven.

        :raises PeerError: if that player does not.
        """
        talk = _Talk(self._code.number)
        link = await self._dialer.dial([address], talk, host.__eq__)
        try:
            async with asyncio.timeout(self._dialer.limits.handshake):
                welcome = await talk.hear(Welcome)
                if not isinstance(welcome.aim, TableAim) or not welcome.aim.table:
                    raise DialError("somebody answers there, but has no table")
                table = welcome.aim.table
                own = self._dialer.credentials.public_key
                exchange = CodeExchange(self._code, own, host, table, is_host=False)
                link.send(encode_frame(CodeElement(exchange.element)))
                exchange.take((await talk.hear(CodeElement)).element)
                self._tried += 1
                link.send(encode_frame(CodeProof(exchange.proof, "")))
                answer = await talk.hear(CodeProof)
                if not exchange.is_proven_by(answer.proof):
                    raise CodeExchangeError("it does not know the code")
        except TimeoutError:
            raise DialError("somebody answers there, but does not go on") from None
        finally:
            link.close()
        return Target((address,), table, fingerprint(host), answer.token)

    def failure(self) -> NodeError:
        """Return why nobody was found."""
        number = self._code.number
        ask = "type the code again as the host sees it now, or the long join line below it"
        if self._tried >= limits.CODE_TRIES:
            problem = f"{self._tried} tables have number {number}, and none accepts these words"
            return NodeError(ErrorCode.REFUSED, problem, f"check the words; {ask}")
        for error in self._said:
            if error.code != RefuseCode.REFUSED or not self._tried:
                return refusal(error)
        if self._tried:
            wrong = f"the words are wrong, or the table with number {number} is somebody else's"
            return NodeError(ErrorCode.REFUSED, wrong, ask)
        return unreachable(DialError("; ".join(dict.fromkeys(self._problems)) or "nobody answers there"))


class _Silent:
    """A link on which nothing is said: TLS alone tells who is there."""

    def link_up(self, link: Link) -> None:
        pass

    def frame_received(self, link: Link, data: bytes) -> None:
        pass

    def link_down(self, link: Link, reason: str) -> None:
        pass


class _Talk:
    """The frames of one link, from HELLO on."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._heard: asyncio.Queue[Frame | PeerError] = asyncio.Queue(maxsize=limits.LOBBY_BURST)

    async def hear(self, kind: type[F]) -> F:
        """Return the next frame, which must be of a kind.

        :raises PeerError: if it is another, or none comes any more.
        """
        heard = await self._heard.get()
        if isinstance(heard, PeerError):
            raise heard
        if not isinstance(heard, kind):
            raise DialError("somebody answers there, but not as a host does")
        return heard

    def link_up(self, link: Link) -> None:
        try:
            check_version(link)
        except RefusedError as error:
            self._put(error)
        else:
            link.send(encode_frame(Hello(0, CodeAim(self._number))))

    def frame_received(self, link: Link, data: bytes) -> None:
        try:
            frame = decode_frame(data)
        except MalformedFrameError as error:
            link.drop(f"{BREACH}: it sent an invalid message ({error})")
            return
        if isinstance(frame, Welcome):
            link.widen()
        if not isinstance(frame, Unknown):
            self._put(RefusedError(frame.code, frame.reason) if isinstance(frame, Refuse) else frame)

    def link_down(self, link: Link, reason: str) -> None:
        self._put(DialError(f"nobody let us in: {reason}"))

    def _put(self, heard: Frame | PeerError) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self._heard.put_nowait(heard)
