"""Strict Ed25519, fingerprints, and the identity file."""

import os
import socket
import stat
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_sign_open

from protocol.crypto import keys
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import (
    IDENTITY_FILE,
    SIGNATURE_BYTES,
    SMALL_ORDER,
    TRIAL_KEY,
    TRIAL_MESSAGE,
    TRIALS,
    Identity,
    KeyFileError,
    MatchKey,
    PublicKey,
    fingerprint,
    is_strict_public_key,
    parse_fingerprint,
)
from protocol.limits import KEY_FILE_BYTES
from tests.fuzz.targets.identity import DAMAGED, PASSPHRASE
from tests.third_party import third_party


@pytest.fixture(params=["libsodium", "OpenSSL, as this libsodium is lenient"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The library that verifies signatures: libsodium, or OpenSSL because libsodium is lenient."""
    if request.param != "libsodium":
        is_strictly_right = crypto_sign_open
        *_, moved = TRIALS

        def open_leniently(signed: bytes, key: bytes) -> bytes:
            # Accept this signature, like versions that multiply both sides of the equation by the cofactor.
            return b"" if signed[:SIGNATURE_BYTES].hex() == moved else is_strictly_right(signed, key)

        monkeypatch.setattr("nacl.bindings.crypto_sign_open", open_leniently)
    keys._verification.cache_clear()
    yield request.param
    keys._verification.cache_clear()


def verdict(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        return PublicKey(public).verifies(signature, message)
    except ValueError:
        return False


def test_every_signature_of_wycheproof_gets_the_expected_verdict(library: str) -> None:
    cases = 0
    for group in third_party("wycheproof-ed25519.json")["testGroups"]:
        public = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            right = verdict(public, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
            assert right == (case["result"] == "valid"), case["comment"]
            cases += 1
    assert cases == 151


def test_the_strict_rule_refuses_all_twelve_edge_cases_of_speccheck(library: str) -> None:
    cases = third_party("ed25519-speccheck-cases.json")
    assert len(cases) == 12
    for case in cases:
        assert not verdict(*(bytes.fromhex(case[name]) for name in ("pub_key", "signature", "message")))


def test_only_the_first_trial_signature_is_valid(library: str) -> None:
    """This holds for OpenSSL too, which replaces a lenient libsodium."""
    key = PublicKey(TRIAL_KEY)
    assert [key.verifies(bytes.fromhex(each), TRIAL_MESSAGE) for each in TRIALS] == [True, False, False]
    own = MatchKey(bytes(32))
    assert PublicKey(own.public).verifies(own.sign(b"x"), b"x")
    assert not PublicKey(own.public).verifies(own.sign(b"x"), b"y")


def test_openssl_verifies_if_libsodium_is_lenient(library: str) -> None:
    assert (keys._verification() is keys._openssl_verifies) is (library != "libsodium")


def test_both_libraries_make_the_same_signatures() -> None:
    seed = tagged_hash("match-key", bytes(32))
    key, other = MatchKey(bytes(32)), Ed25519PrivateKey.from_private_bytes(seed)
    assert key.public == other.public_key().public_bytes_raw()
    assert key.sign(b"x") == other.sign(b"x")


def test_all_fourteen_small_order_keys_are_refused_although_openssl_accepts_them() -> None:
    assert len(SMALL_ORDER) == 14
    for raw in SMALL_ORDER:
        Ed25519PublicKey.from_public_bytes(raw)  # OpenSSL accepts it, hence the strict check
        assert not is_strict_public_key(raw)
        with pytest.raises(ValueError, match="prime-order"):
            PublicKey(raw)


def test_a_small_order_r_is_refused_before_the_library_is_asked(library: str) -> None:
    key = MatchKey(bytes(32))
    for raw in SMALL_ORDER:
        assert not PublicKey(key.public).verifies(raw + bytes(32), b"x")


def test_a_key_of_mixed_order_is_refused_although_openssl_accepts_it() -> None:
    """Libraries that multiply by the cofactor and those that do not would disagree on its signatures."""
    mixed = bytes.fromhex("cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d")
    Ed25519PublicKey.from_public_bytes(mixed)
    assert mixed not in SMALL_ORDER
    assert not is_strict_public_key(mixed)


@given(st.binary(max_size=64), st.integers(0, 64 * 8 - 1))
def test_a_signature_with_one_flipped_bit_is_invalid(message: bytes, bit: int) -> None:
    key = MatchKey(b"seed" * 8)
    public = PublicKey(key.public)
    signature = bytearray(key.sign(message))
    assert public.verifies(bytes(signature), message)
    assert not public.verifies(bytes(signature), message + b"!")
    signature[bit // 8] ^= 1 << bit % 8
    assert not public.verifies(bytes(signature), message)


@given(st.binary(min_size=32, max_size=32), st.integers(0, 19), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_a_fingerprint_may_be_spelled_loosely_but_not_with_a_wrong_character(key: bytes, at: int, other: str) -> None:
    text = fingerprint(key)
    assert parse_fingerprint(text.lower().replace("-", " ")) == text
    assert parse_fingerprint(text.replace("O", "0").replace("I", "1").replace("B", "8")) == text
    compact = text.replace("-", "")
    wrong = compact[:at] + other + compact[at + 1 :]
    if wrong != compact:
        with pytest.raises(ValueError, match="typing error"):
            parse_fingerprint(wrong)


def test_an_identity_is_created_once_and_kept_private(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    identity, is_new = Identity.load_or_create(home)
    again, is_new_again = Identity.load_or_create(home)
    assert (is_new, is_new_again) == (True, False)
    assert identity.public == again.public
    assert is_strict_public_key(identity.public)
    if sys.platform != "win32":
        assert stat.S_IMODE((home / IDENTITY_FILE).stat().st_mode) == 0o600
        assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_an_encrypted_key_opens_only_with_its_passphrase(tmp_path: Path) -> None:
    identity, _ = Identity.load_or_create(tmp_path, "correct horse")
    assert Identity.load_or_create(tmp_path, "correct horse")[0].public == identity.public
    for wrong in (None, "battery staple"):
        with pytest.raises(KeyFileError, match="passphrase"):
            Identity.load_or_create(tmp_path, wrong)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    Identity.load_or_create(tmp_path)
    os.chmod(tmp_path / IDENTITY_FILE, mode)
    with pytest.raises(KeyFileError, match="chmod 600"):
        Identity.load_or_create(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_an_unreadable_key_file_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / IDENTITY_FILE
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="p2pdice identity new"):
        Identity.load_or_create(tmp_path)
    assert path.read_bytes() == content


def test_a_key_of_another_algorithm_is_refused_with_its_own_error(tmp_path: Path) -> None:
    key = ec.derive_private_key(7, ec.SECP256R1())
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    curve = bytes.fromhex("06082a8648ce3d030107")
    unknown = der.replace(curve, curve[:-1] + b"\x7f")
    pem = b"-----BEGIN PRIVATE KEY-----\n" + b64encode(unknown) + b"\n-----END PRIVATE KEY-----\n"
    path = tmp_path / IDENTITY_FILE
    path.write_bytes(pem)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="another kind"):
        Identity.load_or_create(tmp_path)
    assert path.read_bytes() == pem


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets nobody make links by default")
def test_a_symlink_in_place_of_the_key_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / IDENTITY_FILE).symlink_to(elsewhere / IDENTITY_FILE)
    with pytest.raises(KeyFileError, match="is a link, which is not followed"):
        Identity.load_or_create(tmp_path)
    assert not elsewhere.exists()
    Identity.load_or_create(elsewhere)
    with pytest.raises(KeyFileError, match="is a link, which is not followed"):
        Identity.load_or_create(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has none of these")
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device", "a socket"])
def test_a_key_must_be_a_regular_file(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has a length limit
    path = Path(IDENTITY_FILE)
    if kind == "a folder":
        path.mkdir(mode=0o700)
    elif kind == "a pipe":
        os.mkfifo(path, 0o600)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        monkeypatch.setattr(keys, "IDENTITY_FILE", "/dev/zero")
        path = Path("/dev/zero")
    with pytest.raises(KeyFileError, match=rf"{path}: it is a .*, not a file; move it away"):
        Identity.load_or_create(Path())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no links by default")
def test_a_symlink_created_between_check_and_open_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    Identity.load_or_create(elsewhere)
    (tmp_path / IDENTITY_FILE).symlink_to(elsewhere / IDENTITY_FILE)
    monkeypatch.setattr(Path, "lstat", Path.stat)  # the check saw the file itself
    with pytest.raises(KeyFileError, match="cannot use"):
        Identity.load_or_create(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mode bits")
def test_a_readable_key_swapped_in_between_check_and_open_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Identity.load_or_create(tmp_path)
    other = tmp_path / "other"
    Identity.generate().save(other)
    other.chmod(0o644)
    open_file = os.open

    def exchange_and_open(path: Path, flags: int, *mode: int) -> int:
        other.replace(path)
        return open_file(path, flags, *mode)

    monkeypatch.setattr(os, "open", exchange_and_open)
    with pytest.raises(KeyFileError, match="can be read by others"):
        Identity.load_or_create(tmp_path)
    assert not other.exists()


def test_a_key_file_is_read_only_up_to_the_longest_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / IDENTITY_FILE
    Identity.generate().save(path)
    with path.open("ab") as file:
        file.truncate(100 * KEY_FILE_BYTES)  # sparse on most file systems
    read: list[int] = []
    load = load_pem_private_key

    def load_and_measure(data: bytes, password: bytes | None) -> object:
        read.append(len(data))
        return load(data, password)

    monkeypatch.setattr(keys, "load_pem_private_key", load_and_measure)
    with suppress(KeyFileError):  # libraries differ on trailing data after a key
        Identity.load_or_create(tmp_path)
    assert read == [KEY_FILE_BYTES]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other owners")
def test_a_key_of_another_account_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Identity.load_or_create(tmp_path)
    found = (tmp_path / IDENTITY_FILE).stat()
    others = os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))
    monkeypatch.setattr(Path, "lstat", lambda _: others)
    with pytest.raises(KeyFileError, match="belongs to another account"):
        Identity.load_or_create(tmp_path)


def test_two_processes_that_create_an_identity_at_once_get_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = Identity.load_or_create(tmp_path)
    monkeypatch.setattr(os.path, "lexists", lambda path: False)  # the state that the second process saw
    second, is_new = Identity.load_or_create(tmp_path)
    assert (second.public, is_new) == (first.public, False)


def test_an_encrypted_key_with_a_flipped_bit_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / IDENTITY_FILE
    path.write_bytes(DAMAGED)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="or the file is damaged"):
        Identity.load_or_create(tmp_path, PASSPHRASE)
    assert path.read_bytes() == DAMAGED
