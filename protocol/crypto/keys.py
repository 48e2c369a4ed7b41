"""Ed25519 keys: strict verification, the long-lived identity of a home, and the key of one match.

Lenient verification accepts public keys of small order, for which one signature fits many messages. A signature by such
a key would prove nothing. So every key is checked once, before its first use, to be the canonical encoding of a point
in the prime-order subgroup, and signatures whose R has small order are refused. In addition, R is recomputed and
compared as bytes, and s must be below the group order (RFC 8032, §5.1.7). Then only the signer can make a valid
signature of a message.

libsodium signs and verifies in half the time that OpenSSL takes. Not every version of it compares R as bytes. So it is
first tested with signatures that only a lenient verifier accepts; if it accepts one, OpenSSL verifies instead.
"""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from base64 import b32encode
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from protocol.crypto.hashing import tagged_hash
from protocol.errors import LocalError
from protocol.files import NotOwnError, naming, read_own, write_whole
from protocol.limits import KEY_FILE_BYTES, KEYS_REMEMBERED

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64

IDENTITY_FILE: Final = "identity.key"

FINGERPRINT_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_VALUES: Final = {character: value for value, character in enumerate(FINGERPRINT_ALPHABET)}
_FINGERPRINT_DATA: Final = 19
"""Characters of five bits each: 95 bits make it infeasible to find a second key with the same fingerprint."""
FINGERPRINT_CHARACTERS: Final = _FINGERPRINT_DATA + 1
"""The length with the check character but without dashes."""
_LOOKALIKES: Final = str.maketrans("018", "OIB", "- \t:")


def _small_order_encodings() -> frozenset[bytes]:
    # The y coordinates of the eight points of small order, each with either sign bit; 0 and 1 also as p and p + 1.
    # These are all fourteen byte strings that a lenient decoder accepts for such a point.
    prime = 2**255 - 19
    order_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    coordinates = (0, 1, prime - 1, prime, prime + 1, order_8, prime - order_8)
    return frozenset(((sign << 255) | y).to_bytes(KEY_BYTES, "little") for y in coordinates for sign in (0, 1))


SMALL_ORDER: Final = _small_order_encodings()


@lru_cache(maxsize=KEYS_REMEMBERED)
def is_strict_public_key(raw: bytes) -> bool:
    """Return whether ``raw`` is the canonical encoding of a point in the prime-order subgroup, except the identity.

    >>> is_strict_public_key(bytes(32)), is_strict_public_key(b"short")
    (False, False)
    """
    from nacl.bindings import crypto_core_ed25519_is_valid_point

    return len(raw) == KEY_BYTES and crypto_core_ed25519_is_valid_point(raw)


TRIAL_KEY: Final = bytes.fromhex("b3e651c66debe10733cc0e60890edaa945fa070df2332de6b15781ba47bf2b0e")
TRIAL_MESSAGE: Final = b"p2pdice"
TRIALS: Final = {
    # the signer's own signature
    "e5e924499725159b7cbda96d8a967f495046ff1e0b5fd26d2b707cf09a24f231"
    "2a17d26caa91e20ca95d07487af50cbb83b94c71678f001cec1e7f76c040810c": True,
    # the same with the group order added to s
    "e5e924499725159b7cbda96d8a967f495046ff1e0b5fd26d2b707cf09a24f231"
    "17ebc7c9c4f4f4647ffafeea58efebcf83b94c71678f001cec1e7f76c040811c": False,
    # the same with R moved by a point of order 8, valid only if the equation is multiplied by the cofactor
    "bc3b3ceb64229d6ee990f67d87e4942761112e0288b94994de178a5135ef399a"
    "beaf35b271d4f7dfa97440221339c312c15ecb831704ef21a4d6e8a86a4d060d": False,
}
"""Test signatures, and whether strict verification accepts each."""

_Verify = Callable[[bytes, bytes, bytes], bool]
"""Verifies a signature of some bytes under a public key, given in this order."""


def _openssl_verifies(signature: bytes, data: bytes, raw: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, data)
    except InvalidSignature:
        return False
    return True


@cache
def _verification() -> _Verify:
    """Return libsodium's verification if it is strict, otherwise OpenSSL's."""
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import BadSignatureError

    def sodium_verifies(signature: bytes, data: bytes, raw: bytes) -> bool:
        try:
            crypto_sign_open(signature + data, raw)
        except BadSignatureError:
            return False
        return True

    is_strict = all(
        sodium_verifies(bytes.fromhex(signature), TRIAL_MESSAGE, TRIAL_KEY) is is_right
        for signature, is_right in TRIALS.items()
    )
    return sodium_verifies if is_strict else _openssl_verifies


class PublicKey:
    """A key that passed :func:`is_strict_public_key`.

    :raises ValueError: if ``raw`` is not such a key.
    """

    __slots__ = ("_verify", "raw")

    def __init__(self, raw: bytes) -> None:
        if not is_strict_public_key(raw):
            raise ValueError("not a canonical Ed25519 key of the prime-order subgroup")
        self.raw = raw
        self._verify = _verification()

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Return whether the 64-byte ``signature`` over ``data`` is valid under this key, verified strictly."""
        if len(signature) != SIGNATURE_BYTES or signature[:32] in SMALL_ORDER:
            return False
        return self._verify(signature, data, self.raw)


class MatchKey:
    """The signing key of one match. It is derived from the match seed, and lost with it."""

    __slots__ = ("_secret", "_sign", "public")

    def __init__(self, seed: bytes) -> None:
        from nacl.bindings import crypto_sign, crypto_sign_seed_keypair

        self.public, self._secret = crypto_sign_seed_keypair(tagged_hash("match-key", seed))
        self._sign = crypto_sign

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte signature over ``data``."""
        return self._sign(data, self._secret)[:SIGNATURE_BYTES]


def _check_character(text: str) -> str:
    # Luhn's algorithm in base 32. It detects every single error, and every swap of neighbours except for one pair.
    total = 0
    for position, character in enumerate(reversed(text)):
        value = _VALUES[character] * (2 - position % 2)
        total += value // 32 + value % 32
    return FINGERPRINT_ALPHABET[-total % 32]


def fingerprint(identity: bytes) -> str:
    """Return an identity's fingerprint: 95 bits of the key's hash and a check character, in five groups of four.

    Identities outlive protocol versions. So do their fingerprints, which people may have written down.

    >>> fingerprint(bytes(32))
    'T4Z5-WFHY-2XDW-PX45-WP3P'
    """
    data = b32encode(tagged_hash("fingerprint", identity, version=1)).decode("ascii")[:_FINGERPRINT_DATA]
    text = data + _check_character(data)
    return "-".join(text[i : i + 4] for i in range(0, len(text), 4))


def parse_fingerprint(text: str) -> str:
    """Return a typed fingerprint in its printed form. Case, dashes and spaces are ignored; 0, 1, 8 mean O, I, B.

    :raises ValueError: if it has another length, an invalid character or a wrong check character.
    """
    compact = text.upper().translate(_LOOKALIKES)
    if len(compact) != FINGERPRINT_CHARACTERS or not _VALUES.keys() >= set(compact):
        raise ValueError(f"a fingerprint has {FINGERPRINT_CHARACTERS} letters and digits 2-7")
    if _check_character(compact[:-1]) != compact[-1]:
        raise ValueError("the fingerprint has a typing error: its check character does not fit")
    return "-".join(compact[i : i + 4] for i in range(0, len(compact), 4))


class KeyFileError(LocalError):
    """The identity key file cannot be read, written or trusted. The message states the reason and the remedy."""

    outcome = "your identity cannot be used"


class WrongPassphraseError(KeyFileError):
    """The passphrase is wrong or missing, or was given for a key file without one."""


_ENCRYPTED: Final = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"
_SALT: Final = re.compile(rb"\Ap2pdice argon2id ([0-9a-f]{32})\n")
"""The first line of a protected key file. PEM derives its key by 2,048 rounds of PBKDF2, which a thief with a graphics
card can try millions of times per second. So the PEM password is derived from passphrase and salt by Argon2id."""


def is_protected(data: bytes) -> bool:
    """Return whether the content of a key file is protected by a passphrase."""
    return _ENCRYPTED in data


def _stretch(passphrase: str, salt: bytes) -> bytes:
    """Derive the secret that encrypts a key file. Each guess costs 64 MiB and a few tenths of a second."""
    from nacl.pwhash import argon2id

    limits = argon2id.OPSLIMIT_INTERACTIVE, argon2id.MEMLIMIT_INTERACTIVE
    # Keyboards encode some letters in two ways, and a terminal may pass on bytes that are not text.
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
    return argon2id.kdf(32, typed, salt, *limits).hex().encode()


def read_key(data: bytes, passphrase: str | None, path: Path) -> Identity:
    """Return the identity in a key file.

    :param data: the content of the file.
    :param path: its path, for error messages.
    :raises WrongPassphraseError: if it needs another passphrase, or none although one is given.
    :raises KeyFileError: if it is not a usable key.
    """
    key: object
    is_locked = is_protected(data)
    if is_locked and not passphrase:
        raise WrongPassphraseError(path, " is protected by a passphrase")
    if passphrase and not is_locked:
        raise WrongPassphraseError(path, " has no passphrase")
    salt = _SALT.match(data)
    secret = (
        (passphrase or "").encode("utf-8", "surrogateescape")
        if salt is None
        else _stretch(passphrase or "", bytes.fromhex(salt[1].decode()))
    )
    try:
        key = load_pem_private_key(data, secret or None)
    except (TypeError, ValueError, InternalError):  # InternalError: a decrypted key of the wrong length
        if is_locked:
            raise WrongPassphraseError("that is not the passphrase of ", path, ", or the file is damaged") from None
        raise KeyFileError(
            path, " is not a readable key; put it back from a backup, or make another one with p2pdice identity new"
        ) from None
    except UnsupportedAlgorithm:
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(path, " holds a key of another kind; make another one with p2pdice identity new")
    return Identity(key)


def replace_key_file(path: Path, data: bytes) -> Path | None:
    """Install a key file atomically; return the path under which its predecessor is kept, or None.

    :param data: the new content.
    :raises KeyFileError: if an existing file cannot be trusted.
    :raises OSError: if the file cannot be written; an existing one is then left in place.
    """
    kept = None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(path):
        if (former := read_private(path)) == data:
            return None
        kept = _keep(path, former)
    write_whole(path, data)
    return kept


def _keep(path: Path, data: bytes) -> Path:
    """Write the content of a key file to a new file beside it, and return its path."""
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.old-{number}")
        with suppress(FileExistsError):
            _create(kept, data)
            return kept
        number += 1


def _create(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with naming(path), open(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_private(path: Path) -> bytes:
    """Return the content of a key file that no other account can read.

    :raises KeyFileError: if others can read it, or it is not the owner's own file.
    :raises OSError: if it cannot be read.
    """
    try:
        return read_own(path, KEY_FILE_BYTES, is_secret=True)
    except NotOwnError as error:
        if error.is_open:
            raise KeyFileError(path, " can be read by others; run: chmod 600 ", path) from None
        raise KeyFileError(path, f": {error.strerror}") from None


class Identity:
    """The long-lived key of a home. It identifies the player, certifies match keys and authenticates links."""

    __slots__ = ("fingerprint", "private_key", "public")

    def __init__(self, private_key: Ed25519PrivateKey) -> None:
        self.private_key = private_key
        self.public = private_key.public_key().public_bytes_raw()
        self.fingerprint = fingerprint(self.public)

    @classmethod
    def generate(cls) -> Identity:
        """Return a new random identity without storing it."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load_or_create(cls, home: Path, passphrase: str | None = None) -> tuple[Identity, bool]:
        """Return the identity of ``home`` and whether it was created by this call.

        The folder gets mode 0700 and the file 0600. The file is created exclusively and never overwritten.

        :raises KeyFileError: if the file is not a usable key, is open to others, or needs another passphrase.
        """
        path = home / IDENTITY_FILE
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.path.lexists(path):
                identity = cls.generate()
                with suppress(FileExistsError):  # another process was first
                    identity.save(path, passphrase)
                    return identity, True
            return cls.load(path, passphrase), False
        except OSError as error:
            raise KeyFileError("cannot use ", path, f": {error.strerror or error}") from error

    def save(self, path: Path, passphrase: str | None = None) -> None:
        """Write the key to a new file.

        :raises FileExistsError: if the file exists; it is left unchanged.
        :raises OSError: if it cannot be written.
        """
        _create(path, self.encoded(passphrase))

    def encoded(self, passphrase: str | None = None) -> bytes:
        """Return the content of a key file for this key."""
        salt = secrets.token_bytes(16)
        encryption: KeySerializationEncryption = (
            BestAvailableEncryption(_stretch(passphrase, salt)) if passphrase else NoEncryption()
        )
        pem = self.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        return (f"p2pdice argon2id {salt.hex()}\n".encode() if passphrase else b"") + pem

    @classmethod
    def load(cls, path: Path, passphrase: str | None = None) -> Identity:
        """Return the identity in a key file.

        :raises WrongPassphraseError: if it needs another passphrase, or none although one is given.
        :raises KeyFileError: if the file is not a usable key, or is open to others.
        :raises OSError: if it cannot be read.
        """
        return read_key(read_private(path), passphrase, path)
