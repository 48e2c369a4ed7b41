"""TLS as a container for identity keys: both sides present a certificate, and only its key matters.

Every node issues its own leaf certificate under a certificate authority whose private key is derived from a public
constant. So the authority vouches for nothing, and anybody can issue anything under it. It exists because the standard
library can verify a client's certificate only against an issuer. TLS authenticates possession of the Ed25519 key in the
certificate by a signature over the handshake (RFC 8446, §4.4.3).
"""

from __future__ import annotations

import os
import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509.oid import NameOID

from protocol.crypto.keys import is_strict_public_key
from protocol.version import PROTOCOL_VERSION

ALPN: Final = {f"p2pdice/{version}": version for version in range(PROTOCOL_VERSION, 0, -1)}
"""Protocol versions by their names in TLS, this program's first. TLS selects the highest that both sides offer, which
is the version of the older program, so that the newer one can report the difference."""

_AUTHORITY_SEED: Final = sha256(b"p2pdice: a public authority that vouches for nothing").digest()
_AUTHORITY_NAME: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "p2pdice (vouches for nothing)")])
_LEAF_NAME: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "p2pdice node")])
# The first and last times that a certificate can express (RFC 5280, §4.1.2.5). A node with a wrong clock must neither
# be refused nor refuse others, and some boards start in 1970 after each boot.
_NOT_BEFORE: Final = datetime(1950, 1, 1, tzinfo=UTC)
_NOT_AFTER: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def authority_key() -> Ed25519PrivateKey:
    """Return the private key of the public authority, which is the same everywhere and known to everybody."""
    return Ed25519PrivateKey.from_private_bytes(_AUTHORITY_SEED)


@cache
def authority_certificate() -> x509.Certificate:
    """Return the self-signed certificate of the public authority, which is identical on every node."""
    key = authority_key()
    return (
        _unsigned(_AUTHORITY_NAME, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, None)
    )


def issue(public_key: Ed25519PublicKey) -> x509.Certificate:
    """Return the certificate of an identity; equal keys get identical bytes."""
    return (
        _unsigned(_LEAF_NAME, public_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority_key(), None)
    )


def _unsigned(subject: x509.Name, public_key: Ed25519PublicKey) -> x509.CertificateBuilder:
    serial = int.from_bytes(sha256(public_key.public_bytes_raw()).digest()[:16]) | 1
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_AUTHORITY_NAME)
        .public_key(public_key)
        .serial_number(serial)
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
    )


@dataclass(frozen=True, slots=True)
class Credentials:
    """The TLS contexts with which a node dials and accepts links under its identity."""

    public_key: bytes
    """The identity: 32 bytes."""
    server: ssl.SSLContext
    client: ssl.SSLContext


def credentials(identity: Ed25519PrivateKey) -> Credentials:
    """Issue a certificate for an identity and load it for both directions."""
    return Credentials(identity.public_key().public_bytes_raw(), server_context(identity), client_context(identity))


def server_context(identity: Ed25519PrivateKey) -> ssl.SSLContext:
    """Return the context for accepting links: TLS 1.3, certificates from both sides, no session tickets."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, identity)
    context.num_tickets = 0
    return context


def client_context(identity: Ed25519PrivateKey) -> ssl.SSLContext:
    """Return the context for dialling: TLS 1.3, certificates from both sides, no host names."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, identity)


def _context(protocol: int, identity: Ed25519PrivateKey) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET
    context.set_alpn_protocols(list(ALPN))
    context.load_verify_locations(cadata=authority_certificate().public_bytes(Encoding.DER))
    _load_identity(context, identity)
    return context


def _load_identity(context: ssl.SSLContext, identity: Ed25519PrivateKey) -> None:
    # The standard library loads private keys only from files. The file is encrypted under a password that never leaves
    # memory, so a file left behind by a crash is worthless.
    password = secrets.token_hex(32).encode()
    pem = identity.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    pem += issue(identity.public_key()).public_bytes(Encoding.PEM)
    descriptor, name = tempfile.mkstemp(prefix="p2pdice-", suffix=".pem")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        # The file is closed by now, because Windows can neither read nor delete a file still open for writing.
        context.load_cert_chain(name, password=password)
    finally:
        Path(name).unlink(missing_ok=True)


class Peer(NamedTuple):
    """The other side of a connection with a completed handshake."""

    key: bytes
    """The identity that it has proved."""
    version: int
    """The highest protocol version that both sides offer."""


def authenticate(connection: ssl.SSLObject) -> Peer:
    """Return the identity and version of the other side of a connection with a completed handshake.

    :raises ssl.SSLError: if it presents no admissible key, or speaks no version of this protocol.
    """
    version = ALPN.get(connection.selected_alpn_protocol() or "")
    if version is None:
        # OpenSSL completes the handshake even with a peer that offers no common protocol.
        raise ssl.SSLError("the peer does not speak p2pdice")
    return Peer(peer_key(connection), version)


def peer_key(connection: ssl.SSLObject | ssl.SSLSocket) -> bytes:
    """Return the identity of the other side: the 32 bytes of the Ed25519 key in its certificate.

    :raises ssl.SSLError: if the certificate is missing or unreadable, or its key is not in the prime-order subgroup.
    """
    der = connection.getpeercert(binary_form=True)
    if der is None:
        raise ssl.SSLError("the peer shows no certificate")
    try:
        key = x509.load_der_x509_certificate(der).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ssl.SSLError("the certificate of the peer cannot be read") from error
    if not isinstance(key, Ed25519PublicKey):
        raise ssl.SSLError("the certificate of the peer holds no Ed25519 key")
    raw = key.public_bytes_raw()
    if not is_strict_public_key(raw):
        raise ssl.SSLError("the key of the peer is not an admissible Ed25519 key")
    return raw
