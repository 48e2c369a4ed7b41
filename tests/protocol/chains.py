"""Certificate chains that an attacker can send: as many as TLS accepts, or a few that are slow to parse."""

from __future__ import annotations

import ssl
import tempfile
from base64 import encodebytes
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ec import SECP224R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from protocol.crypto.tls import issue

SEQUENCE: Final = 0x30
INTEGER: Final = 0x02
BITS: Final = 0x03
BYTES: Final = 0x04
TIME: Final = 0x17

EC_KEY: Final = bytes.fromhex("06072a8648ce3d0201")
SECP224R1_CURVE: Final = bytes.fromhex("06052b81040021")
PRIME_FIELD: Final = bytes.fromhex("06072a8648ce3d0101")
ED25519: Final = bytes.fromhex("300506032b6570")


def der(tag: int, *contents: bytes) -> bytes:
    """Return an ASN.1 value encoded in DER."""
    content = b"".join(contents)
    length = len(content)
    if length < 128:
        return bytes((tag, length)) + content
    size = (length.bit_length() + 7) // 8
    return bytes((tag, 128 | size)) + length.to_bytes(size, "big") + content


def integer(number: int) -> bytes:
    return der(INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def certificate(number: int, public_key: bytes) -> bytes:
    """Return an unsigned certificate with empty names for an already encoded public key."""
    nobody = der(SEQUENCE)
    validity = der(SEQUENCE, der(TIME, b"000101000000Z"), der(TIME, b"490101000000Z"))
    content = der(SEQUENCE, integer(number), ED25519, nobody, validity, nobody, public_key)
    return der(SEQUENCE, content, ED25519, der(BITS, b"\0"))


def small_keys(length: int) -> list[bytes]:
    """Return certificates that are as small as possible."""
    keys = (Ed25519PrivateKey.from_private_bytes(each.to_bytes(32, "big")) for each in range(1, length + 1))
    return [
        certificate(number, key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
        for number, key in enumerate(keys)
    ]


def compressed_points(length: int) -> list[bytes]:
    """Return certificates with compressed keys on secp224r1, where the square root is slow."""
    point = derive_private_key(7, SECP224R1()).public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    key = der(SEQUENCE, der(SEQUENCE, EC_KEY, SECP224R1_CURVE), der(BITS, b"\0", point))
    return [certificate(number, key) for number in range(length)]


def own_curves(length: int) -> list[bytes]:
    """Return certificates with keys on a custom curve, chosen so that the square root is as slow as possible."""
    prime = 903 * 2**648 + 1
    size = (prime.bit_length() + 7) // 8
    x, y = 7, pow(5, 12345, prime)
    b = (y * y - x**3 - 3 * x) % prime
    point = bytes((2 | y & 1,)) + x.to_bytes(size, "big")
    curve = der(
        SEQUENCE,
        integer(1),
        der(SEQUENCE, PRIME_FIELD, integer(prime)),
        der(SEQUENCE, der(BYTES, (3).to_bytes(size, "big")), der(BYTES, b.to_bytes(size, "big"))),
        der(BYTES, point),
        integer(prime - 2),
        integer(1),
    )
    key = der(SEQUENCE, der(SEQUENCE, EC_KEY, curve), der(BITS, b"\0", point))
    return [certificate(number, key) for number in range(length)]


CHAINS: Final[dict[str, Callable[[int], list[bytes]]]] = {
    "small keys": small_keys,
    "compressed points": compressed_points,
    "curves of their own": own_curves,
}


def show(context: ssl.SSLContext, key: Ed25519PrivateKey, chain: list[bytes]) -> ssl.SSLContext:
    """Make ``context`` send the usual certificate of a node with this key, followed by ``chain``."""
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem += issue(key.public_key()).public_bytes(Encoding.PEM)
    for each in chain:
        pem += b"-----BEGIN CERTIFICATE-----\n" + encodebytes(each) + b"-----END CERTIFICATE-----\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.pem")
        path.write_bytes(pem)
        context.load_cert_chain(path)
    return context
