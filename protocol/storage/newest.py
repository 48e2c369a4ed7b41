"""The newest commit of a store, noted in a file beside it.

If SQLite's write-ahead log is missing or damaged, SQLite silently goes on with an older state. The note reveals that.
It is written after every commit and never waited for. A killed process leaves it whole, and a power cut can only leave
an older note, which raises no alarm.
"""

from __future__ import annotations

import contextlib
import logging
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from protocol.crypto.hashing import HASH_BYTES
from protocol.files import own_opener, read_own
from protocol.storage.home import note_of

log = logging.getLogger(__name__)

_COUNT_BYTES: Final = 8
_CHECK_BYTES: Final = 8
_LENGTH: Final = HASH_BYTES + _COUNT_BYTES + _CHECK_BYTES


class Noted(NamedTuple):
    """The match that was written last."""

    match: bytes
    messages: int
    """How many messages of it were stored then."""


class Note:
    """The file beside a store. Nothing depends on it, so its errors are only logged."""

    def __init__(self, store: Path) -> None:
        self._path = note_of(store)
        self._file: FileIO | None = None

    def read(self) -> Noted | None:
        """Return the note; None if none can be read."""
        try:
            data = read_own(self._path, _LENGTH + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cannot read %s: %s", self._path, error)
            return None
        content = data[:-_CHECK_BYTES]
        if len(data) != _LENGTH or data != content + _check(content):
            return None
        return Noted(content[:HASH_BYTES], int.from_bytes(content[HASH_BYTES:]))

    def write(self, noted: Noted) -> None:
        """Note a confirmed commit."""
        content = noted.match + noted.messages.to_bytes(_COUNT_BYTES)
        try:
            if self._file is None:
                self._file = FileIO(self._path, "wb", opener=own_opener)
            self._file.seek(0)
            self._file.write(content + _check(content))
        except OSError as error:
            log.warning("cannot write %s: %s", self._path, error)

    def remove(self) -> None:
        """Remove the note."""
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
