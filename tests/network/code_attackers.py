"""Attackers of short codes: an eavesdropper, a man in the middle, a guessing guest, and a false host.

They know the whole protocol, and can decrypt their own links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from hashlib import sha256
from typing import TypeVar

from spake2.ed25519_group import Ed25519Group as Group
from spake2.parameters.ed25519 import ParamsEd25519 as Params
from spake2.spake2 import finalize_SPAKE2

from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import Identity
from protocol.crypto.short_code import CodeExchange, ShortCode
from protocol.crypto.tls import credentials
from protocol.limits import Limits
from protocol.net.addresses import Address
from protocol.net.link import Link
from protocol.wire.frames import (
    CodeAim,
    CodeElement,
    CodeProof,
    Frame,
    Hello,
    Refuse,
    TableAim,
    Welcome,
    decode_frame,
    encode_frame,
)
from tests.programs import PATIENCE
from tests.protocol.links import FakeHost, dial

HOST = "127.0.0.1"
BOUNDS = Limits()
F = TypeVar("F", bound=Frame)


class Conversation:
    """One link of an attacker."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.link: Link | None = None

    def link_up(self, link: Link) -> None:
        self.link = link

    def frame_received(self, link: Link, data: bytes) -> None:
        link.widen()
        self.heard.put_nowait(decode_frame(data))

    def link_down(self, link: Link, reason: str) -> None:
        self.heard.put_nowait(None)

    def say(self, frame: Frame) -> None:
        assert self.link is not None
        self.link.send(encode_frame(frame))

    def close(self) -> None:
        assert self.link is not None
        self.link.close()

    async def hear(self) -> Frame | None:
        """Return the next frame; None once the link is down."""
        async with asyncio.timeout(PATIENCE):
            return await self.heard.get()

    async def hear_a(self, kind: type[F]) -> F:
        heard = await self.hear()
        assert isinstance(heard, kind), heard
        return heard


async def call(at: Address, number: int, identity: Identity | None = None) -> Conversation:
    """Dial a host, and greet it as a guest who knows its code would."""
    talk = Conversation()
    await dial(*at, credentials((identity or Identity.generate()).private_key), talk, limits=BOUNDS)
    talk.say(Hello(0, CodeAim(number)))
    return talk


class Guesser:
    """A guest who guesses a code. It receives the host's element, and chooses when to send its proof."""

    def __init__(self, guess: ShortCode) -> None:
        self.guess = guess
        self.identity = Identity.generate()

    async def begin(self, at: Address, host: bytes) -> Frame | None:
        """Begin an exchange with the host; return its element, or its refusal."""
        self.talk = await call(at, self.guess.number, self.identity)
        welcome = await self.talk.hear()
        if not isinstance(welcome, Welcome):
            return welcome
        assert isinstance(welcome.aim, TableAim)
        self.table = welcome.aim.table
        self.exchange = CodeExchange(self.guess, self.identity.public, host, self.table, is_host=False)
        self.talk.say(CodeElement(self.exchange.element))
        answer = await self.talk.hear()
        if isinstance(answer, CodeElement):
            self.exchange.take(answer.element)
        return answer

    def show(self) -> None:
        self.talk.say(CodeProof(self.exchange.proof, ""))

    async def is_let_in(self) -> bool:
        answer = await self.talk.hear()
        self.talk.close()
        return isinstance(answer, CodeProof)


class FalseHost(FakeHost):
    """A host that answers for a code's number without knowing the code.

    :param guess: the code that it tries.
    """

    def __init__(self, guess: ShortCode) -> None:
        super().__init__()
        self.guess = guess
        self.table = b"\0" * 16
        self.proofs: list[bytes] = []
        self.elements: list[bytes] = []
        self.exchange: CodeExchange | None = None
        self.reached = asyncio.Event()
        """Set once a guest has opened a link."""

    def link_up(self, link: Link) -> None:
        super().link_up(link)
        self.reached.set()

    def frame_received(self, link: Link, data: bytes) -> None:
        link.widen()
        frame = decode_frame(data)
        match frame:
            case Hello():
                link.send(encode_frame(Welcome(TableAim(self.table, ""))))
            case CodeElement():
                own = self.identity.public
                self.exchange = CodeExchange(self.guess, link.peer_key, own, self.table, is_host=True)
                self.exchange.take(frame.element)
                self.elements.append(frame.element)
                link.send(encode_frame(CodeElement(self.exchange.element)))
            case CodeProof():
                self.proofs.append(frame.proof)
                link.send(encode_frame(CodeProof(bytes(32), "")))


class Relay(FalseHost):
    """A man in the middle, who poses as the host to guests and as a guest to the host.

    TLS ends at the relay on both sides, under its own key, and the relay forwards every frame.

    :param host: the host's address.
    """

    def __init__(self, host: Address, number: int) -> None:
        super().__init__(ShortCode(number, "", ""))
        self._host = host
        self.passed: list[Frame] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._onward: dict[Link, Conversation] = {}

    def frame_received(self, link: Link, data: bytes) -> None:
        link.widen()
        frame = decode_frame(data)
        if isinstance(frame, Hello):
            task = asyncio.create_task(self._bring_back(link))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self.passed.append(frame)
            self._onward[link].say(frame)

    async def _bring_back(self, link: Link) -> None:
        self._onward[link] = talk = await call(self._host, self.guess.number, self.identity)
        while (frame := await talk.hear()) is not None:
            self.passed.append(frame)
            link.send(encode_frame(frame))
            if isinstance(frame, CodeProof | Refuse):
                break
        talk.close()


def overhear(
    guest: bytes, host: bytes, table: bytes, elements: tuple[bytes, bytes], proof: bytes, codes: Iterable[ShortCode]
) -> ShortCode | None:
    """Return the code that matches a guest's proof, found with everything that an eavesdropper can compute.

    As shared element, it tries the two elements that were sent, and elements that follow from weak scalars.
    """
    ours, theirs = map(Group.bytes_to_element, elements)
    for code in codes:
        word = str(code).encode()
        number = Group.password_to_scalar(word)
        first = ours.add(Params.M.scalarmult(-number))
        second = theirs.add(Params.N.scalarmult(-number))
        poor = Group.random_scalar(bytes)
        shared = (ours, theirs, first, second, Group.Base, first.scalarmult(poor), ours.scalarmult(poor))
        keys = [finalize_SPAKE2(guest, host, *elements, each.to_bytes(), word) for each in shared]
        keys += [sha256(word).digest(), sha256(word + b"".join(elements)).digest()]
        if proof in [tagged_hash("code-proof", key, 0, guest, host, table) for key in keys]:
            return code
    return None


def try_all(false: FalseHost, guest: bytes, codes: Iterable[ShortCode]) -> ShortCode | None:
    """Return the code that matches the proof sent to a false host, which knows its own scalar of that exchange."""
    assert false.exchange is not None
    side = false.exchange._side
    theirs = Group.bytes_to_element(false.elements[-1])
    for code in codes:
        word = str(code).encode()
        plain = theirs.add(side.my_unblinding().scalarmult(-Group.password_to_scalar(word)))
        shared = plain.scalarmult(side.xy_scalar).to_bytes()
        key = finalize_SPAKE2(guest, false.identity.public, false.elements[-1], false.exchange.element, shared, word)
        if tagged_hash("code-proof", key, 0, guest, false.identity.public, false.table) == false.proofs[-1]:
            return code
    return None
