"""The identity file: it is read, or refused with an error that names it. It is never changed."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec, ed448, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from protocol.crypto.keys import IDENTITY_FILE, Identity, KeyFileError, is_strict_public_key
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target

PASSPHRASE = "correct horse"
DAMAGED = b"""\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBA8ej+G+eofzoy6Prfz
fhMNAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQZ88Bm1XwF+vVNge9
OeVuiARAa2fTL4K9MWvxJsGlP+LWEaA3tbGXHUTie8Gmt/wybM5AJdaEO99fiGWL
lnA8fhv7OJjrO+iFzXtHtxl7xWdqbg==
-----END ENCRYPTED PRIVATE KEY-----
"""
"""A key file with one changed bit. The passphrase still decrypts it, but the result is not a key."""


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        path = home / IDENTITY_FILE
        path.write_bytes(data)
        path.chmod(0o600)
        for passphrase in (None, PASSPHRASE):
            try:
                identity, is_new = Identity.load_or_create(home, passphrase)
            except KeyFileError as error:
                assert str(path) in str(error)
            else:
                assert not is_new
                assert is_strict_public_key(identity.public)
        assert path.read_bytes() == data


@cache
def examples() -> tuple[bytes, ...]:
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    plain: KeySerializationEncryption = NoEncryption()
    others = (
        ec.derive_private_key(7, ec.SECP256R1()),
        ed448.Ed448PrivateKey.from_private_bytes(bytes(57)),
        x25519.X25519PrivateKey.from_private_bytes(bytes(32)),
    )
    return (
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, plain),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSPHRASE.encode())),
        key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, plain),
        key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, plain),
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        *(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, plain) for other in others),
        others[0].private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, plain),
        DAMAGED,
        b"",
    )


TARGETS = (Target("identity", check, examples, mutate_bytes),)
