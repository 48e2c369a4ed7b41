"""Certificates carry an identity and nothing else."""

from __future__ import annotations

import hashlib
import os
import ssl
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from protocol.crypto import tls
from protocol.crypto.tls import (
    Credentials,
    authenticate,
    authority_certificate,
    authority_key,
    client_context,
    credentials,
    issue,
    peer_key,
    server_context,
)


def identity(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


class Shown:
    """A stub for a TLS connection whose peer presented this certificate."""

    def __init__(self, der: bytes | None) -> None:
        self.der = der

    def getpeercert(self, binary_form: bool) -> bytes | None:
        assert binary_form
        return self.der


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Connect two contexts in memory; raise the error of either side."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_side=False),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    waiting = list(ends)
    while waiting:
        for end in list(waiting):
            try:
                end.do_handshake()
                authenticate(end)
            except ssl.SSLWantReadError:
                continue
            waiting.remove(end)
    return ends


def test_each_side_learns_the_others_key() -> None:
    ours, theirs = credentials(identity(1)), credentials(identity(2))
    client, server = shake_hands(ours.client, theirs.server)
    assert peer_key(client) == theirs.public_key == identity(2).public_key().public_bytes_raw()
    assert peer_key(server) == ours.public_key
    assert client.version() == server.version() == "TLSv1.3"


def test_certificates_depend_only_on_the_key_and_never_expire() -> None:
    key = identity(1).public_key()
    certificate = issue(key)
    assert certificate == issue(key)
    assert certificate != issue(identity(2).public_key())
    for each in (certificate, authority_certificate()):
        assert (each.not_valid_before_utc.year, each.not_valid_after_utc.year) == (1950, 9999)
        each.verify_directly_issued_by(authority_certificate())


def test_certificates_have_the_specified_fields() -> None:
    key = identity(1).public_key()
    for certificate, name, public, is_authority in (
        (authority_certificate(), "p2pdice (vouches for nothing)", authority_key().public_key(), True),
        (issue(key), "p2pdice node", key, False),
    ):
        assert certificate.version is x509.Version.v3
        assert certificate.subject.rfc4514_string() == f"CN={name}"
        assert certificate.issuer.rfc4514_string() == "CN=p2pdice (vouches for nothing)"
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        assert (start.isoformat(), end.isoformat()) == ("1950-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00")
        number = int.from_bytes(hashlib.sha256(public.public_bytes_raw()).digest()[:16], "big") | 1
        assert certificate.serial_number == number
        (extension,) = certificate.extensions
        assert extension.critical
        assert extension.value == x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None)


def test_the_private_key_is_never_unencrypted_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[tuple[bytes, int]] = []

    def load_cert_chain(context: ssl.SSLContext, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        seen.append((Path(certfile).read_bytes(), stat.S_IMODE(os.stat(certfile).st_mode)))
        raise OSError("the disk is gone")

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load_cert_chain)
    with pytest.raises(OSError, match="the disk is gone"):
        client_context(identity(1))
    ((content, mode),) = seen
    assert b"ENCRYPTED PRIVATE KEY" in content
    if sys.platform != "win32":
        assert mode == 0o600
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert isinstance(credentials(identity(1)), Credentials)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "point",
    [bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f", b"\xee" + b"\xff" * 30 + b"\x7f"],
    ids=["order 4", "identity", "order 2", "not canonical"],
)
def test_a_key_outside_the_prime_order_group_is_rejected(point: bytes) -> None:
    shown: Any = Shown(issue(Ed25519PublicKey.from_public_bytes(point)).public_bytes(Encoding.DER))
    with pytest.raises(ssl.SSLError, match="not an admissible"):
        peer_key(shown)


def test_only_an_ed25519_certificate_is_accepted() -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    issued = issue(identity(1).public_key())
    foreign = (
        x509.CertificateBuilder()
        .subject_name(issued.subject)
        .issuer_name(issued.issuer)
        .public_key(key)
        .serial_number(1)
        .not_valid_before(issued.not_valid_before_utc)
        .not_valid_after(issued.not_valid_after_utc)
        .sign(authority_key(), None)
        .public_bytes(Encoding.DER)
    )
    good = issued.public_bytes(Encoding.DER)
    for der in (None, b"", b"junk", good[:-1], foreign):
        shown: Any = Shown(der)
        with pytest.raises(ssl.SSLError):
            peer_key(shown)


def test_the_handshake_fails_on_an_inadmissible_key(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = credentials(identity(1)), credentials(identity(2))
    monkeypatch.setattr(tls, "is_strict_public_key", lambda raw: raw != ours.public_key)
    with pytest.raises(ssl.SSLError, match="not an admissible"):
        shake_hands(ours.client, theirs.server)


@pytest.mark.parametrize("protocols", [["p2pdice/9"], ["h2", "http/1.1"], []])
def test_the_handshake_fails_on_another_alpn_protocol(protocols: list[str]) -> None:
    ours = client_context(identity(1))
    ours.set_alpn_protocols(protocols)
    with pytest.raises(ssl.SSLError):
        shake_hands(ours, server_context(identity(2)))
