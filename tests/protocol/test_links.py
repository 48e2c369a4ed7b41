"""Links carry messages between nodes that prove their keys, and nothing that a peer does costs more than its own link.

Every test here uses real sockets and real TLS, and fails if anything reaches the event loop's exception handler.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from protocol.crypto import tls
from protocol.crypto.keys import is_strict_public_key
from protocol.crypto.tls import authority_certificate, authority_key, client_context, credentials, server_context
from protocol.limits import (
    FRAME,
    FRAME_BEFORE_WELCOME,
    HANDSHAKE_FROM_DIALLER,
    HANDSHAKE_FROM_LISTENER,
    HANDSHAKE_HELLO,
    KIB,
    Limits,
)
from protocol.net import channel
from protocol.net import link as link_module
from protocol.net.channel import Channel, shake_hands
from protocol.net.dialer import DialError, dial, dial_any
from protocol.net.link import BREACH, Link
from protocol.net.listener import Listener, listen
from protocol.rate_limit import Buckets
from protocol.wire.framing import frame_header
from tests.programs import PATIENCE
from tests.protocol.chains import CHAINS, show

SHORT = Limits(handshake=0.4, started_frame=0.4, silence=0.8, keepalive=0.2, shutdown=0.2)
"""Everything that would take seconds takes tenths."""
HOST = "127.0.0.1"
"""Far above anything that is waited for: only a failing test takes so long."""


class Recorder:
    """An owner of links that notes what it is told."""

    def __init__(self, *, widens: bool = True) -> None:
        self.widens = widens
        self.links: list[Link] = []
        self.frames: list[bytes] = []
        self.ends: list[tuple[Link, str]] = []
        self._progress = asyncio.Event()

    def link_up(self, link: Link) -> None:
        self.links.append(link)
        if self.widens:
            link.widen()
        self._progress.set()

    def frame_received(self, link: Link, frame: bytes) -> None:
        assert link in self.links
        assert link not in [ended for ended, _ in self.ends]
        self.frames.append(frame)
        self._progress.set()

    def link_down(self, link: Link, reason: str) -> None:
        assert link in self.links
        assert link not in [ended for ended, _ in self.ends], "a link ends once"
        self.ends.append((link, reason))
        self._progress.set()

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason in self.ends]

    def has_heard_all_ends(self) -> bool:
        return len(self.ends) == len(self.links)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._progress.clear()
                await self._progress.wait()


NUMBERS: Iterator[int] = itertools.count(1)


def identity() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(next(NUMBERS).to_bytes(32, "big"))


class Table:
    """A listening node."""

    def __init__(self, limits: Limits, recorder: Recorder) -> None:
        self.limits = limits
        self.recorder = recorder
        self.identity = identity()
        self.credentials = credentials(self.identity)
        self.listener: Listener

    async def dial(self, recorder: Recorder, key: Ed25519PrivateKey | None = None, limits: Limits = SHORT) -> Link:
        return await dial(HOST, self.listener.port, credentials(key or identity()), recorder, limits=limits)

    async def is_alive(self) -> bool:
        """Have an honest stranger link up and say something that arrives."""
        guest = Recorder()
        link = await self.dial(guest)
        token = f"alive {next(NUMBERS)}".encode()
        link.send(token)
        await self.recorder.until(lambda: token in self.recorder.frames)
        link.close()
        await guest.until(lambda: bool(guest.ends))
        return True


Opener = Callable[..., Awaitable[Table]]


@pytest_asyncio.fixture(loop_scope="function")
async def opens() -> AsyncIterator[Opener]:
    """Opens tables; watches that no exception is left to the event loop, and no socket open."""
    left_over: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: left_over.append(context))
    tables: list[Table] = []

    async def open_table(limits: Limits = SHORT, *, widens: bool = True) -> Table:
        table = Table(limits, Recorder(widens=widens))
        table.listener = await listen([HOST], 0, table.credentials, table.recorder, limits)
        tables.append(table)
        return table

    yield open_table
    for table in tables:
        table.listener.close()
        for link in table.recorder.links:
            link.drop("the test is over")
    for table in tables:
        await table.recorder.until(table.recorder.has_heard_all_ends)
    await asyncio.sleep(0.05)
    gc.collect()  # a forgotten socket warns here, and a warning fails the test
    assert left_over == []


async def is_cut_off(reader: asyncio.StreamReader) -> bool:
    """Wait for the other side to end the connection, cleanly or not."""
    async with asyncio.timeout(PATIENCE):
        with suppress(OSError):
            while await reader.read(64 * KIB):
                pass
        return True


async def raw_tls(table: Table, context: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(HOST, table.listener.port, ssl=context, server_hostname="")


# Honest nodes


async def test_two_nodes_exchange_messages_of_every_size(opens: Opener) -> None:
    table = await opens()
    guest, key = Recorder(), identity()
    link = await table.dial(guest, key)
    await table.recorder.until(lambda: bool(table.recorder.links))
    (host_link,) = table.recorder.links
    messages = [b"x" * size for size in (1, 250, 16 * KIB, FRAME - 1, FRAME)] + [b"%d" % n for n in range(500)]
    for message in messages:
        link.send(message)
        host_link.send(message[::-1])
    await table.recorder.until(lambda: len(table.recorder.frames) == len(messages))
    await guest.until(lambda: len(guest.frames) == len(messages))
    assert table.recorder.frames == messages
    assert guest.frames == [message[::-1] for message in messages]
    assert link.peer_key == table.credentials.public_key
    assert host_link.peer_key == key.public_key().public_bytes_raw()
    assert (link.outbound, host_link.outbound) == (True, False)
    assert link.remote == (HOST, table.listener.port)
    assert host_link.remote == link.local


async def test_what_was_sent_before_closing_arrives_and_both_hear_of_the_end_once(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    link.send(b"the last word")
    link.close()
    link.close()
    link.send(b"nothing more")
    await table.recorder.until(lambda: bool(table.recorder.ends))
    await guest.until(lambda: bool(guest.ends))
    assert table.recorder.frames == [b"the last word"]
    assert guest.reasons == ["this program ended the connection"]
    assert not link.is_up


async def test_what_was_sent_before_closing_arrives_though_much_of_the_peers_lies_unread(opens: Opener) -> None:
    table = await opens(Limits(own_machine_rate=5, burst=5, handshake=2))
    talker = Recorder()
    link = await table.dial(talker)
    for _ in range(500):
        link.send(bytes(1000))
    await table.recorder.until(lambda: len(table.recorder.frames) == 5)
    table.recorder.links[0].send(b"enough")
    table.recorder.links[0].close()
    await talker.until(lambda: bool(talker.ends))
    assert talker.frames == [b"enough"]


async def test_idle_links_keep_each_other_alive(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    await asyncio.sleep(2 * SHORT.silence)
    assert link.is_up
    assert table.recorder.ends == []
    assert table.recorder.frames == guest.frames == []


@pytest.mark.parametrize("size", [0, FRAME + 1])
async def test_what_is_no_message_is_not_sent(opens: Opener, size: int) -> None:
    table = await opens()
    link = await table.dial(Recorder())
    with pytest.raises(ValueError, match="a message has"):
        link.send(bytes(size))


@pytest.mark.parametrize("turns", range(5))
async def test_who_knocks_while_a_listener_is_closed_is_cut_off(opens: Opener, turns: int) -> None:
    table = await opens(SHORT)
    await asyncio.sleep(0.05)
    with socket.create_connection((HOST, table.listener.port)) as visitor:
        for _ in range(turns):
            await asyncio.sleep(0)
        table.listener.close()
        await asyncio.sleep(0.05)
        gc.collect()  # a connection that was forgotten complains here
        visitor.settimeout(0)
        with suppress(ConnectionResetError):
            assert visitor.recv(1) == b""


async def test_a_closed_listener_leaves_its_links_up(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.listener.close()
    link.send(b"still here")
    await table.recorder.until(lambda: bool(table.recorder.frames))
    with pytest.raises(DialError, match="nobody listens"):
        await table.dial(Recorder())


# Hostile bytes: every one of these is cut off, and an honest node beside it is served


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"",
        bytes(1000),
        b"\xff" * 70_000,
        b"GET / HTTP/1.1\r\nHost: table\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + bytes(400),
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01",
    ],
    ids=["nothing", "zeros", "a lot", "HTTP", "huge TLS record", "part of a ClientHello"],
)
async def test_what_is_no_tls_is_cut_off(opens: Opener, bytes_sent: bytes) -> None:
    table = await opens()
    reader, writer = await asyncio.open_connection(HOST, table.listener.port)
    writer.write(bytes_sent)
    assert await table.is_alive()
    assert await is_cut_off(reader)
    writer.close()
    assert len(table.recorder.links) == 1  # the honest one


async def test_a_handshake_byte_by_byte_is_cut_off(opens: Opener) -> None:
    table = await opens()
    reader, writer = await asyncio.open_connection(HOST, table.listener.port)
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        client_context(identity()).wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    ended = asyncio.create_task(is_cut_off(reader))
    for byte in outgoing.read():
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)
        if ended.done():
            break
    assert await ended
    assert table.recorder.links == []
    writer.close()


@pytest.mark.parametrize(
    ("bytes_sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "allowed"),
        (frame_header(bytes(FRAME_BEFORE_WELCOME + 1)), "allowed"),
        (frame_header(b"abc") + b"ab", "did not end it"),
        (b"\x00", "did not end it"),
        (b"", "nothing was heard"),
    ],
    ids=["4 GiB", "too long before WELCOME", "half a message", "half a length", "nothing"],
)
async def test_a_stranger_with_bad_frames_is_dropped(opens: Opener, bytes_sent: bytes, reason: str) -> None:
    limits = Limits(handshake=5, started_frame=0.3, silence=0.8, shutdown=0.2)
    table = await opens(limits, widens=False)
    reader, writer = await raw_tls(table, client_context(identity()))
    writer.write(bytes_sent)
    assert await table.is_alive()
    assert await is_cut_off(reader)
    assert any(reason in each for each in table.recorder.reasons)
    writer.close()


async def test_a_stranger_that_never_says_hello_is_dropped(opens: Opener) -> None:
    table = await opens(widens=False)
    guest = Recorder()
    await table.dial(guest)  # sends keepalives, so it is not silent
    await table.recorder.until(lambda: table.recorder.reasons == ["the other program said nothing in time"])
    await guest.until(lambda: bool(guest.ends))


async def test_frames_may_be_long_once_welcome_has_been_exchanged(opens: Opener) -> None:
    table = await opens(widens=False)
    welcomed = Recorder()
    link = await table.dial(welcomed)
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.recorder.links[0].widen()
    link.send(bytes(FRAME_BEFORE_WELCOME + 1))
    await table.recorder.until(lambda: bool(table.recorder.frames))
    assert table.recorder.ends == []


async def test_a_frame_above_the_limit_is_refused_by_its_length_also_after_welcome(opens: Opener) -> None:
    table = await opens(Limits(handshake=2, shutdown=0.2))
    _, writer = await raw_tls(table, client_context(identity()))
    writer.write(frame_header(bytes(FRAME + 1)))  # and nothing of the frame itself
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert table.recorder.reasons == [f"{BREACH}: it sent a frame of {FRAME + 1} bytes, where {FRAME} are allowed"]
    writer.close()


# Hostile TLS


def foreign_certificate(
    context: ssl.SSLContext,
    tmp_path: Any,
    *,
    name: x509.Name,
    key: Ed25519PrivateKey,
    issuer: Ed25519PrivateKey,
    alternative: bytes | None = None,
) -> None:
    """Load a certificate for ``key`` that ``issuer`` signed under the authority's name."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(authority_certificate().subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
    )
    if alternative is not None:
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.oid.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, alternative), critical=False
        )
    file = tmp_path / "certificate.pem"
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + builder.sign(issuer, None).public_bytes(Encoding.PEM)
    )
    context.load_cert_chain(file)


NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stranger")])


@pytest.mark.parametrize(
    "flaw", ["no ALPN", "wrong ALPN", "TLS 1.2", "no certificate", "another authority", "inadmissible key", "own key"]
)
async def test_what_is_no_node_never_becomes_a_link(
    opens: Opener, flaw: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await opens()
    context, key = client_context(identity()), identity()
    if flaw == "no ALPN":
        context.set_alpn_protocols([])
    elif flaw == "wrong ALPN":
        context.set_alpn_protocols(["p2pdice/0"])
    elif flaw == "TLS 1.2":
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif flaw == "no certificate":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(list(tls.ALPN))
    elif flaw == "another authority":
        foreign_certificate(context, tmp_path, name=NAME, key=key, issuer=identity())
    elif flaw == "inadmissible key":
        foreign_certificate(context, tmp_path, name=NAME, key=key, issuer=authority_key())
        bad = key.public_key().public_bytes_raw()
        monkeypatch.setattr(tls, "is_strict_public_key", lambda raw: raw != bad and is_strict_public_key(raw))
    else:
        context = table.credentials.client
    with suppress(OSError):
        reader, writer = await raw_tls(table, context)
        assert await is_cut_off(reader)
        writer.close()
    assert await table.is_alive()
    assert len(table.recorder.links) == 1


async def test_a_certificate_with_names_that_are_no_text_does_no_harm(opens: Opener, tmp_path: Any) -> None:
    table = await opens()
    context, key = client_context(identity()), identity()
    undecodable_dns_name = b"\x30\x04\x82\x02\xff\xfe"
    foreign_certificate(context, tmp_path, name=NAME, key=key, issuer=authority_key(), alternative=undecodable_dns_name)
    _, writer = await raw_tls(table, context)
    await table.recorder.until(lambda: bool(table.recorder.links))
    assert table.recorder.links[0].peer_key == key.public_key().public_bytes_raw()
    assert await table.is_alive()
    writer.close()


class Attack:
    """A peer that is driven as OpenSSL drives one, over a socket."""

    def __init__(self, context: ssl.SSLContext, connection: socket.socket, *, is_server: bool) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=is_server)
        self.connection = connection
        self.sent = 0

    async def run(self) -> None:
        """Do the handshake as far as the victim goes along."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while True:
                with suppress(ssl.SSLWantReadError):
                    self.tls.do_handshake()
                self.sent += self.outgoing.pending
                await loop.sock_sendall(self.connection, self.outgoing.read())
                if not (answer := await loop.sock_recv(self.connection, 64 * KIB)):
                    return
                self.incoming.write(answer)


@pytest.mark.parametrize("we_dial", [False, True], ids=["who answers", "who dials"])
@pytest.mark.parametrize(("kind", "length"), [("small keys", 24), ("small keys", 379), ("compressed points", 50)])
async def test_of_a_chain_of_certificates_openssl_gets_a_kilobyte(
    monkeypatch: pytest.MonkeyPatch, kind: str, length: int, we_dial: bool
) -> None:
    taken: list[int] = []
    take = channel._Pieces.take

    async def take_note(pieces: channel._Pieces, most: int) -> bytes:
        piece = await take(pieces, most)
        taken.append(len(piece))
        return piece

    monkeypatch.setattr(channel._Pieces, "take", take_note)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for each in (ours, theirs):
            each.setblocking(False)
        key, victim = identity(), credentials(identity())
        context = show(server_context(key) if we_dial else client_context(key), key, CHAINS[kind](length))
        attack = Attack(context, theirs, is_server=we_dial)
        attacking = asyncio.create_task(attack.run())
        costs: list[float] = []
        with pytest.raises(ssl.SSLError, match="more for the handshake than a node does"):
            await shake_hands(ours, victim.client if we_dial else victim.server, costs.append, is_server=not we_dial)
        attacking.cancel()
    rest = HANDSHAKE_FROM_LISTENER if we_dial else HANDSHAKE_FROM_DIALLER
    assert attack.sent > 2 * rest
    assert sum(taken) <= HANDSHAKE_HELLO + rest


async def test_a_handshake_is_computed_beside_the_event_loop(opens: Opener) -> None:
    the_loop_goes_on = threading.Event()

    class Slow(ssl.SSLObject):
        def do_handshake(self) -> None:
            assert the_loop_goes_on.wait(PATIENCE)
            super().do_handshake()

    table = await opens(Limits(handshake=2 * PATIENCE, shutdown=0.2))
    table.credentials.server.sslobject_class = Slow
    dialling = asyncio.create_task(table.dial(Recorder(), limits=Limits(handshake=2 * PATIENCE)))
    asyncio.get_running_loop().call_later(0.05, the_loop_goes_on.set)
    await dialling


async def test_a_handshake_that_takes_long_counts_for_many() -> None:
    limits = dataclasses.replace(KNOCKING, handshake_burst=4, handshake_rate=0.01)
    listener = await listen([HOST, "::1"], 0, credentials(identity()), recorder := Recorder(), limits)
    key, guest = identity(), Recorder()
    costly = show(client_context(key), key, CHAINS["curves of their own"](1))
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(HOST, listener.port, ssl=costly, server_hostname="")
        await is_cut_off(reader)
        writer.close()
    await dial("::1", listener.port, credentials(identity()), guest, limits=limits)  # comes later than what it cost
    with pytest.raises(DialError, match="broke off the connection"):
        await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    await recorder.until(lambda: bool(recorder.links))
    listener.close()
    for link in (*guest.links, *recorder.links):
        link.drop("the test is over")
    await asyncio.sleep(0.05)


async def test_a_listener_that_goes_on_with_messages_of_tls_is_dropped() -> None:
    hostile = server_context(identity())
    hostile.options &= ~ssl.OP_NO_TICKET
    hostile.num_tickets = 1000
    accepted: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: accepted.append(writer), HOST, 0, ssl=hostile)
    guest = Recorder()
    link = await dial(HOST, server.sockets[0].getsockname()[1], credentials(identity()), guest)
    await guest.until(lambda: bool(guest.ends))
    assert "carries nothing" in guest.reasons[0]
    await link.wait_closed()
    for writer in accepted:
        writer.close()
    server.close()


async def test_records_of_one_byte_count_as_messages(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    throttled: list[Link] = []
    throttle = Link._throttle

    def noted(link: Link) -> None:
        throttled.append(link)
        throttle(link)

    monkeypatch.setattr(Link, "_throttle", noted)
    table = await opens(Limits(own_machine_rate=100, burst=10, handshake=2))
    _, writer = await raw_tls(table, client_context(identity()))
    message = bytes(range(200))
    for byte in (*frame_header(message), *message):
        writer.write(bytes([byte]))
    await table.recorder.until(lambda: table.recorder.frames == [message])
    for byte in (*frame_header(message), *message):
        writer.write(bytes([byte]))
    await table.recorder.until(lambda: table.recorder.frames == [message] * 2)  # held back, and nothing is lost
    assert throttled
    writer.close()


# Caps, rates and queues


async def test_strangers_are_capped_and_players_get_in_all_the_same(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=2, handshake=2))
    player = identity()
    table.listener.roster = frozenset([player.public_key().public_bytes_raw()])
    strangers = [Recorder() for _ in range(3)]
    for each in strangers:
        await table.dial(each, limits=Limits())
    await strangers[2].until(lambda: bool(strangers[2].ends))
    guest = Recorder()
    link = await table.dial(guest, player, Limits())
    link.send(b"it is my turn")
    await table.recorder.until(lambda: table.recorder.frames == [b"it is my turn"])
    assert [bool(each.ends) for each in strangers] == [False, False, True]
    assert len(table.recorder.links) == 3


async def test_one_address_cannot_take_all_places(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: False)
    table = await opens(Limits(handshake=2))
    strangers = [Recorder() for _ in range(4)]
    for each in strangers:
        await table.dial(each, limits=Limits())
    await strangers[3].until(lambda: bool(strangers[3].ends))
    assert len(table.recorder.links) == table.limits.links_per_address == 3


@pytest.mark.parametrize("is_own_machine", [True, False], ids=["all", "of one address"])
async def test_strangers_who_are_not_welcomed_make_room_for_newer_ones(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, is_own_machine: bool
) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: is_own_machine)
    table = await opens(Limits(links_outside_roster=3, links_per_address=3, handshake=5), widens=False)
    silent = [Recorder() for _ in range(6)]
    for each in silent:
        await table.dial(each, limits=Limits())
    for each in silent[:3]:
        await each.until(lambda each=each: bool(each.ends))  # type: ignore[misc]
    assert await table.is_alive()
    assert set(table.recorder.reasons) >= {"the place was needed for somebody else"}
    assert len(table.listener._links) <= 3


async def test_of_a_crowd_that_comes_at_once_no_more_stay_than_there_are_places(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=3, handshake=5), widens=False)
    crowd = [Recorder() for _ in range(30)]
    await asyncio.gather(*(table.dial(each, limits=Limits()) for each in crowd), return_exceptions=True)
    links, ends = table.recorder.links, table.recorder.ends
    # The table may hear of its links after those who dialled, so it may have fewer than three for a moment.
    await table.recorder.until(lambda: len(links) > 3 and len(ends) == len(links) - 3)
    assert sum(link.is_up for link in links) == len(table.listener._links) == 3


async def test_strangers_who_were_welcomed_stay(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=3, handshake=5))
    welcomed = [Recorder() for _ in range(3)]
    for each in welcomed:
        await table.dial(each, limits=Limits())
    for _ in range(3):
        late = Recorder()
        await table.dial(late, limits=Limits())
        await late.until(lambda late=late: bool(late.ends))  # type: ignore[misc]
    assert [each.ends for each in welcomed] == [[], [], []]


async def test_many_nodes_of_one_machine_can_link_up(opens: Opener) -> None:
    table = await opens()
    for _ in range(6):
        await table.dial(Recorder())
    await table.recorder.until(lambda: len(table.recorder.links) == 6)


async def test_a_link_that_is_gone_frees_its_place(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=1, handshake=2))
    assert await table.is_alive()
    await table.recorder.until(lambda: len(table.recorder.ends) == 1)
    assert await table.is_alive()


async def test_a_players_newest_link_displaces_the_oldest(opens: Opener) -> None:
    table = await opens(Limits(links_per_member=2, handshake=2))
    player = identity()
    table.listener.roster = frozenset([player.public_key().public_bytes_raw()])
    guests = [Recorder() for _ in range(3)]
    for each in guests:
        await table.dial(each, player)
    await guests[0].until(lambda: bool(guests[0].ends))
    await table.recorder.until(lambda: len(table.recorder.links) == 3)
    assert [link for link, _ in table.recorder.ends] == [table.recorder.links[0]]
    assert table.recorder.reasons[0] == "the same player has come back over another connection"


async def test_of_a_players_links_that_come_at_once_no_more_stay_than_the_limit(opens: Opener) -> None:
    patient = Limits(links_per_member=3, handshake=60)  # thirty handshakes take their time on a busy machine
    table = await opens(patient)
    player = identity()
    table.listener.roster = frozenset([player.public_key().public_bytes_raw()])
    crowd = [Recorder() for _ in range(30)]
    await asyncio.gather(*(table.dial(each, player, patient) for each in crowd), return_exceptions=True)
    await table.recorder.until(lambda: len(table.recorder.ends) >= len(table.recorder.links) - 3)
    assert sum(link.is_up for link in table.recorder.links) == 3


async def test_open_connections_that_do_nothing_keep_nobody_out(opens: Opener) -> None:
    table = await opens(Limits(handshakes=4, handshake=5))
    idle = [socket.create_connection((HOST, table.listener.port)) for _ in range(20)]
    assert await table.is_alive()
    idle[0].settimeout(PATIENCE)
    assert await asyncio.to_thread(idle[0].recv, 1) == b""  # the oldest had to make room
    for each in idle:
        each.close()


KNOCKING = Limits(paces_own_machine=True, handshake=2)


async def test_an_address_that_begins_too_many_handshakes_is_refused_and_another_is_not() -> None:
    limits = dataclasses.replace(KNOCKING, handshake_burst=3, handshake_rate=0.1)
    recorder = Recorder()
    listener = await listen([HOST, "::1"], 0, credentials(identity()), recorder, limits)
    guest = Recorder()
    for _ in range(3):
        await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    for _ in range(2):
        with pytest.raises(DialError, match="broke off the connection"):
            await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    await dial("::1", listener.port, credentials(identity()), guest, limits=limits)
    await recorder.until(lambda: len(recorder.links) == 4)
    listener.close()
    for link in (*guest.links, *recorder.links):
        link.drop("the test is over")
    await asyncio.sleep(0.05)


async def test_handshakes_of_all_addresses_together_are_paced_and_none_is_lost(opens: Opener) -> None:
    table = await opens(dataclasses.replace(KNOCKING, accept_burst=2, accept_rate=4))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await asyncio.gather(*(table.dial(Recorder(), limits=Limits()) for _ in range(5)))
    await table.recorder.until(lambda: len(table.recorder.links) == 5)
    assert loop.time() - begun >= 0.5


def test_of_addresses_without_end_only_the_last_ones_are_watched() -> None:
    visits: Buckets[str] = Buckets(rate=5, burst=1, most=8)
    for number in range(100):
        bucket = visits.bucket(f"fe80::{number}", now=0)
        assert not bucket.wait(0)
        bucket.take()
    assert visits.bucket("fe80::99", now=0).wait(0)
    assert len(visits) == 8


async def test_a_crowd_at_the_door_does_not_stop_the_event_loop(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    table = await opens()
    received: list[socket.socket] = []
    receive = table.listener._receive

    def noted(connection: socket.socket) -> float:
        received.append(connection)
        return receive(connection)

    monkeypatch.setattr(table.listener, "_receive", noted)
    crowd = [socket.create_connection((HOST, table.listener.port)) for _ in range(30)]
    for turn in range(1, 20):
        await asyncio.sleep(0)
        assert len(received) <= turn
    for each in crowd:
        each.close()
    assert await table.is_alive()
    assert len(received) == 31


async def test_strangers_who_were_cut_off_leave_nothing_for_the_collector(opens: Opener) -> None:
    def remains() -> int:
        return sum(isinstance(each, Link | Channel | ssl.SSLObject) for each in gc.get_objects())

    table = await opens()
    gc.collect()
    gc.disable()
    try:
        before = remains()
        for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01") * 5:
            reader, writer = await asyncio.open_connection(HOST, table.listener.port)
            writer.write(data)
            writer.write_eof()
            assert await is_cut_off(reader)
            writer.close()
        await asyncio.sleep(0.1)
        assert remains() <= before + 2
    finally:
        gc.enable()


async def test_a_peer_that_does_not_read_loses_its_link_and_nobody_else_does(opens: Opener) -> None:
    table = await opens(Limits(outgoing_queue=256 * KIB, handshake=2, shutdown=0.2))
    _, writer = await raw_tls(table, client_context(identity()))
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await table.recorder.until(lambda: bool(table.recorder.links))
    (deaf,) = table.recorder.links
    sent = 0
    while deaf.is_up:
        deaf.send(bytes(FRAME))
        sent += FRAME
        assert sent < 64 * KIB * KIB
        await asyncio.sleep(0)
    assert await table.is_alive()
    assert "the other program does not take what it is sent" in table.recorder.reasons
    writer.transport.abort()


async def test_above_the_rate_reading_stops_and_nothing_is_lost(opens: Opener) -> None:
    table = await opens(Limits(own_machine_rate=100, burst=10, silence=0.5, keepalive=0.1, handshake=2))
    link = await table.dial(Recorder())
    messages = [b"%d" % n for n in range(60)]
    for message in messages:
        link.send(message)
    await table.recorder.until(lambda: bool(table.recorder.frames))
    assert table.recorder.frames == messages[:10]
    await table.recorder.until(lambda: len(table.recorder.frames) == 60)
    assert table.recorder.frames == messages
    assert table.recorder.ends == []


@pytest.mark.parametrize("size", [1000, FRAME], ids=["messages", "pages"])
async def test_a_flood_is_held_back_by_the_flooder_itself(opens: Opener, size: int) -> None:
    slow = Limits(own_machine_rate=5, burst=5, catch_up_rate=FRAME, catch_up_burst=5 * FRAME, silence=60, handshake=2)
    table = await opens(slow)
    flooder = Recorder()
    link = await table.dial(flooder, limits=Limits(outgoing_queue=512 * KIB, handshake=2))
    sent = 0
    while link.is_up:
        link.send(bytes(size))
        sent += size
        assert sent < 64 * KIB * KIB
        await asyncio.sleep(0)
    assert await table.is_alive()
    assert len(table.recorder.frames) < 20


async def test_history_for_catch_up_is_counted_in_bytes_and_apart_from_messages(opens: Opener) -> None:
    slow = Limits(own_machine_rate=1, burst=10, catch_up_rate=FRAME, catch_up_burst=4 * FRAME, handshake=2)
    table = await opens(slow)
    link = await table.dial(Recorder())
    pages, messages = [bytes(FRAME)] * 3, [b"%d" % n for n in range(9)]
    for each in (*pages, *messages):
        link.send(each)
    await table.recorder.until(lambda: len(table.recorder.frames) == 12)  # pages took nothing from the messages
    for _ in range(3):
        link.send(bytes(FRAME))
    await table.recorder.until(lambda: len(table.recorder.frames) == 14)  # the last of them on credit
    await asyncio.sleep(0.3)
    assert len(table.recorder.frames) == 14
    await table.recorder.until(lambda: len(table.recorder.frames) == 15)
    assert table.recorder.ends == []


@pytest.mark.parametrize("is_own_machine", [True, False])
async def test_peers_of_other_machines_have_a_rate_and_those_of_this_one_have_none(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, is_own_machine: bool
) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: is_own_machine)
    table = await opens(Limits(rate=20, burst=10, handshake=2))
    link = await table.dial(Recorder())
    for number in range(30):
        link.send(b"%d" % number)
    await table.recorder.until(lambda: len(table.recorder.frames) >= 10)
    assert len(table.recorder.frames) == (30 if is_own_machine else 10)
    await table.recorder.until(lambda: len(table.recorder.frames) == 30)


async def test_a_peer_that_is_held_back_and_ends_with_a_bad_frame_is_dropped_without_noise(opens: Opener) -> None:
    table = await opens(Limits(own_machine_rate=100, burst=20, handshake=2, shutdown=0.2))

    def send_and_break_off() -> ssl.SSLSocket:
        plain = socket.create_connection((HOST, table.listener.port))
        stranger = client_context(identity()).wrap_socket(plain)
        stranger.sendall((frame_header(b"tick") + b"tick") * 21)
        return stranger

    stranger = await asyncio.to_thread(send_and_break_off)
    await table.recorder.until(lambda: len(table.recorder.frames) == 20)
    # Lies unread while reading is stopped, and is followed by an end of the stream without TLS's own.
    stranger.sendall(b"\xff\xff\xff\xff")
    stranger.shutdown(socket.SHUT_WR)
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert table.recorder.frames == [b"tick"] * 21
    assert await table.is_alive()
    stranger.close()


# Dialling


async def test_the_expected_identity_must_answer(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    with pytest.raises(DialError, match="another player answers"):
        await dial(HOST, table.listener.port, credentials(identity()), guest, bytes(32).__eq__, SHORT)
    assert guest.links == []
    accept = table.credentials.public_key.__eq__
    link = await dial(HOST, table.listener.port, credentials(identity()), guest, accept, SHORT)
    assert link.is_up


async def test_a_host_name_leads_past_whoever_else_answers_at_one_of_its_addresses(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = await opens(), await opens()
    both = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (HOST, each.listener.port)) for each in (wrong, right)]

    async def resolve(*_: object, **__: object) -> list[object]:
        return list(both)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    for _ in range(6):
        both.reverse()
        accept = right.credentials.public_key.__eq__
        link = await dial("two.example", 1, credentials(identity()), Recorder(), accept, SHORT)
        assert link.peer_key == right.credentials.public_key


async def test_a_node_does_not_link_to_itself(opens: Opener) -> None:
    table = await opens()
    with pytest.raises(DialError, match="this program itself"):
        await table.dial(Recorder(), table.identity)
    assert table.recorder.links == []


async def test_one_good_address_among_bad_ones_is_found_and_only_it_becomes_a_link(opens: Opener) -> None:
    table = await opens()
    mute = socket.create_server((HOST, 0))
    guest = Recorder()
    link = await dial_any(
        [(HOST, 1), mute.getsockname(), (HOST, table.listener.port), ("localhost", table.listener.port)],
        credentials(identity()),
        guest,
        limits=Limits(handshake=5),
    )
    assert link.is_up
    assert guest.links == [link]
    link.send(b"hello")
    await table.recorder.until(lambda: bool(table.recorder.frames))
    mute.close()


async def test_failures_to_dial_are_sentences(opens: Opener) -> None:
    mute = socket.create_server((HOST, 0))

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    web = await asyncio.start_server(answer, HOST, 0)
    own = credentials(identity())

    async def problem(*addresses: tuple[str, int]) -> str:
        with pytest.raises(DialError) as caught:
            await dial_any(addresses, own, Recorder(), limits=SHORT)
        return str(caught.value)

    assert await problem() == "no address is known"
    assert await problem((HOST, 1)) == f"nobody listens at {HOST}:1"
    assert await problem(mute.getsockname()) == f"{HOST}:{mute.getsockname()[1]} did not answer within 0.4 seconds"
    assert "something other than p2pdice answers" in await problem(web.sockets[0].getsockname())
    assert await problem(("x" * 64, 1)) == f"no machine is known by the name {'x' * 64}"
    mute.close()
    web.close()
    await web.wait_closed()


async def test_a_dial_given_up_at_any_moment_leaves_no_connection_behind(opens: Opener) -> None:
    table = await opens()
    guest, own = Recorder(), credentials(identity())
    for turns in range(40):
        dialling = asyncio.create_task(dial(HOST, table.listener.port, own, guest, limits=Limits()))
        for _ in range(turns):
            await asyncio.sleep(0)
        dialling.cancel()
        with suppress(asyncio.CancelledError):
            (await dialling).drop("too late to give up")
    assert await table.is_alive()
    await table.recorder.until(table.recorder.has_heard_all_ends)
    await guest.until(guest.has_heard_all_ends)


# Listening


async def test_ipv4_and_ipv6_share_one_port() -> None:
    listener = await listen([HOST, "::1"], 0, credentials(identity()), Recorder(), SHORT)
    assert listener.addresses == ((HOST, listener.port), ("::1", listener.port))
    for host in (HOST, "::1"):
        link = await dial(host, listener.port, credentials(identity()), Recorder(), limits=SHORT)
        assert link.remote == (host, listener.port)
        link.drop("seen")
    listener.close()
    await asyncio.sleep(0.05)


async def test_a_taken_port_is_said_to_be_taken() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} is taken"):
            await listen([HOST], port, credentials(identity()), Recorder())
