"""NDJSON from programs that are not trusted: lines of bounded length, objects with one meaning."""

from __future__ import annotations

import json
from typing import Any, Final

from cli.foreign_text import Decoder

LINE_BYTES: Final = 65_536
"""The longest line that is read: ten times as long as the deal of ten full cups."""


class OverlongLineError(ValueError):
    """A line is too long; nothing of it was kept."""

    def __init__(self) -> None:
        super().__init__(f"the line is longer than {LINE_BYTES} bytes")


class LineBuffer:
    """Bytes as they come, cut into lines of UTF-8. However long a line is, no more than :data:`LINE_BYTES` of it are
    kept."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._data = bytearray()
        self._searched = 0
        self._is_skipping = False
        """The rest of a line that was too long is still to come."""

    def __len__(self) -> int:
        return len(self._data)

    def feed(self, data: bytes) -> None:
        """Add bytes to the end."""
        self._data += self._decoder.feed(data)

    def take(self) -> bytes | None:
        """Return the next line without its end, or None as long as it is not complete.

        :raises OverlongLineError: once for each line that is too long, instead of the line.
        """
        end = self._data.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._data)
            if self._searched > LINE_BYTES:
                self._is_skipping = True
                self.clear()
            return None
        return self._cut(bytes(self._data[:end]), end + 1)

    def rest(self) -> bytes | None:
        """Return the last line, if the input ended without a line break.

        :raises OverlongLineError: if it is too long.
        """
        self._data += self._decoder.feed(b"", is_last=True)
        return self._cut(bytes(self._data), len(self._data)) if self._data or self._is_skipping else None

    def clear(self) -> None:
        """Throw away the lines that were not taken."""
        self._data.clear()
        self._searched = 0

    def _cut(self, line: bytes, length: int) -> bytes:
        del self._data[:length]
        self._searched = 0
        skipped, self._is_skipping = self._is_skipping, False
        if skipped or len(line) > LINE_BYTES:
            raise OverlongLineError
        return line.removesuffix(b"\r")


def read_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object that a line holds.

    >>> read_object(b'{"roll": 3}')
    {'roll': 3}

    :raises ValueError: for anything else, and where JSON readers disagree: a key twice, NaN, bytes that are no UTF-8.
        The text names the problem.
    """
    try:
        value = json.loads(line.decode(), object_pairs_hook=_unique, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"the line is not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(value, dict):
        raise ValueError("the line is not a JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {short(key)} is there twice")
        values[key] = value
    return values


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def short(value: object) -> str:
    """Return a JSON value from outside for an error message: in ASCII, and cut if it is long."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"  # of any depth
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def write_object(data: dict[str, Any]) -> bytes:
    """Return an object as one line, in ASCII."""
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"
