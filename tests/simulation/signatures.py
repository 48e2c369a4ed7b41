"""A cache of Ed25519 checks: all nodes of a world run in one process, and check the same signatures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from protocol.crypto.keys import PublicKey


@contextmanager
def cached_checks() -> Iterator[None]:
    """Check each (library, key, message, signature) only once inside the ``with`` block."""
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
