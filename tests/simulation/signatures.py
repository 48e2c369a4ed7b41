"""A cache of Ed25519 checks: N nodes of one process check the same bytes N times, and the answer cannot change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from protocol.crypto.keys import PublicKey


@contextmanager
def cached_checks() -> Iterator[None]:
    """Let each library check each (key, message, signature) once while this lasts. Bytes and answers stay real."""
    check = PublicKey.verifies
    known: dict[tuple[object, bytes, bytes, bytes], bool] = {}

    def verifies(key: PublicKey, signature: bytes, data: bytes) -> bool:
        question = (key._verify, key.raw, data, signature)
        if question not in known:
            known[question] = check(key, signature, data)
        return known[question]

    PublicKey.verifies = verifies  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        PublicKey.verifies = check  # type: ignore[method-assign]
