"""Only a node with an admissible key completes the handshake, and no attacker can make it expensive."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from protocol.crypto import tls
from protocol.crypto.keys import is_strict_public_key
from protocol.crypto.tls import authority_certificate, authority_key, client_context, credentials, server_context
from protocol.limits import HANDSHAKE_FROM_DIALLER, HANDSHAKE_FROM_LISTENER, HANDSHAKE_HELLO, KIB, Limits
from protocol.net import channel
from protocol.net.channel import shake_hands
from protocol.net.dialer import DialError
from protocol.net.link import Link
from protocol.net.listener import listen
from protocol.wire.frames import frame_header
from tests.programs import PATIENCE
from tests.protocol.chains import CHAINS, show
from tests.protocol.links import HOST, KNOCKING, Opener, Recorder, dial, identity, is_cut_off, raw_tls


def foreign_certificate(
    context: ssl.SSLContext,
    tmp_path: Any,
    *,
    name: x509.Name,
    key: Ed25519PrivateKey,
    issuer: Ed25519PrivateKey,
    alternative: bytes | None = None,
) -> None:
    """Load a certificate for ``key`` signed by ``issuer`` and naming the authority as issuer."""
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
async def test_only_a_node_becomes_a_link(
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


async def test_a_certificate_with_undecodable_names_does_no_harm(opens: Opener, tmp_path: Any) -> None:
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
    """A hostile TLS peer on a socket."""

    def __init__(self, context: ssl.SSLContext, connection: socket.socket, *, is_server: bool) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=is_server)
        self.connection = connection
        self.sent = 0

    async def run(self) -> None:
        """Continue the handshake until the victim ends the connection."""
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


@pytest.mark.parametrize("we_dial", [False, True], ids=["listener", "dialer"])
@pytest.mark.parametrize(("kind", "length"), [("small keys", 24), ("small keys", 379), ("compressed points", 50)])
async def test_a_long_certificate_chain_is_cut_off_before_openssl_parses_it(
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


async def test_a_handshake_does_not_block_the_event_loop(opens: Opener) -> None:
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


async def test_a_slow_handshake_counts_as_several_against_the_rate_limit() -> None:
    limits = dataclasses.replace(KNOCKING, handshake_burst=4, handshake_rate=0.01)
    listener = await listen([HOST, "::1"], 0, credentials(identity()), recorder := Recorder(), limits)
    key, guest = identity(), Recorder()
    costly = show(client_context(key), key, CHAINS["curves of their own"](1))
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(HOST, listener.port, ssl=costly, server_hostname="")
        await is_cut_off(reader)
        writer.close()
    await dial(
        "::1", listener.port, credentials(identity()), guest, limits=limits
    )  # by now the slow handshake is charged
    with pytest.raises(DialError, match="broke off the connection"):
        await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    await recorder.until(lambda: bool(recorder.links))
    listener.close()
    for link in (*guest.links, *recorder.links):
        link.drop("the test is over")
    await asyncio.sleep(0.05)


async def test_a_listener_that_keeps_sending_tls_messages_without_content_is_dropped() -> None:
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


async def test_tls_records_of_one_byte_count_against_the_rate_limit(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    throttled: list[Link] = []
    throttle = Link._throttle

    def noted(link: Link, seconds: float) -> None:
        throttled.append(link)
        throttle(link, seconds)

    monkeypatch.setattr(Link, "_throttle", noted)
    table = await opens(Limits(own_machine_rate=100, burst=10, handshake=2))
    _, writer = await raw_tls(table, client_context(identity()))
    message = bytes(range(200))
    for byte in (*frame_header(message), *message):
        writer.write(bytes([byte]))
    await table.recorder.until(lambda: table.recorder.frames == [message])
    for byte in (*frame_header(message), *message):
        writer.write(bytes([byte]))
    await table.recorder.until(lambda: table.recorder.frames == [message] * 2)  # throttled without loss
    assert throttled
    writer.close()
