"""What a store has confirmed last, noted in a file beside it.

SQLite goes on without a word where its write-ahead log is missing or damaged: with what it held some time before. The
note tells. It is written behind every commit and never waited for: whatever kills the process leaves it as it is, and
a power cut can only leave an older one, which finds fault with nothing.
"""

from __future__ import annotations

import contextlib
import logging
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from protocol.crypto.hashing import HASH_BYTES
from protocol.storage.home import private_opener

log = logging.getLogger(__name__)

_COUNT_BYTES: Final = 8
_CHECK_BYTES: Final = 8


class Noted(NamedTuple):
    """The match that was written last."""

    match: bytes
    messages: int
    """How many were stored of it then."""


class Note:
    """The file beside a store. Nothing depends on it: what goes wrong with it is logged."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}-newest")
        self._file: FileIO | None = None

    def read(self) -> Noted | None:
        """Return what is noted; None if there is no note, or none that can be read."""
        try:
            data = self._path.read_bytes() if self._path.is_file() else b""
        except OSError as error:
            log.warning("cannot read %s: %s", self._path, error)
            return None
        content = data[: HASH_BYTES + _COUNT_BYTES]
        if data != content + _check(content) or len(content) != HASH_BYTES + _COUNT_BYTES:
            return None
        return Noted(content[:HASH_BYTES], int.from_bytes(content[HASH_BYTES:]))

    def write(self, noted: Noted) -> None:
        """Note what the store has confirmed."""
        content = noted.match + noted.messages.to_bytes(_COUNT_BYTES)
        try:
            if self._file is None:
                self._file = FileIO(self._path, "wb", opener=private_opener)
            self._file.seek(0)
            self._file.write(content + _check(content))
        except OSError as error:
            log.warning("cannot write %s: %s", self._path, error)

    def remove(self) -> None:
        """Note nothing any more."""
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _check(content: bytes) -> bytes:
    return sha256(content).digest()[:_CHECK_BYTES]
