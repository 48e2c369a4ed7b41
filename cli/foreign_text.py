"""Readers for text from outside: rules and settings files written by any editor, and lines written by other programs.

The text is UTF-8, or UTF-16 if its byte order mark says so. Windows editors write UTF-16, and UTF-8 with a mark.
"""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any, Final

from protocol.files import read_outside

LARGEST_FILE: Final = 64 * 1024
"""In bytes: far more than rules or settings need, even with long comments. A larger file is something else."""

_DEEPEST: Final = 16
"""Maximum dots in a key. Rules and settings have none, and the parser's time and memory grow with their square."""
_TOKEN: Final = re.compile(
    r"""(?s)(?P<dot>\.)|(?P<part>[A-Za-z0-9_-]++|[ \t]++)|\#[^\n]*+"""
    r"""|\"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?"""
    r"""|(?P<quoted>"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)|."""
)
"""The TOML tokens needed to find keys. Each begins where the previous one ends, so the scan takes linear time."""

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ForeignTextError(ValueError):
    """A file is too long, not text, or not TOML. The message is a clause whose subject is the file."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        """The line of the fault, counted from 1; None if the fault has no line."""


def read_text(path: Path) -> str:
    """Return the text of a file.

    :raises OSError: if the file cannot be read, or is not a regular file.
    :raises ForeignTextError: if it is longer than :data:`LARGEST_FILE`, or neither UTF-8 nor UTF-16.
    """
    data = read_outside(path, LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ForeignTextError(f"it is longer than {LARGEST_FILE} bytes")
    try:
        return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = None if data.startswith(_UTF_16) else data.count(b"\n", 0, error.start) + 1
        raise ForeignTextError("this is neither UTF-8 nor UTF-16 text", line) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML in time and memory bounded by the length of the text.

    :raises ForeignTextError: if the text is not TOML, or is nested too deeply.
    """
    import tomllib

    dots = 0
    for token in _TOKEN.finditer(text):
        dots = dots + 1 if token["dot"] else dots if token["part"] or token["quoted"] else 0
        if dots > _DEEPEST:
            raise ForeignTextError("it is nested too deeply", text.count("\n", 0, token.start()) + 1)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ForeignTextError("it is nested too deeply") from None
    except ValueError as error:
        if not isinstance(error, tomllib.TOMLDecodeError):  # Python refuses numbers with thousands of digits
            raise ForeignTextError("it has a number with too many digits") from None
        where = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        problem = str(error)[: where.start()] if where else str(error)
        line = int(where[1]) if where and where[1] else len(text.splitlines()) if where else None
        raise ForeignTextError(f"this is not TOML: {problem}", line) from None


class Decoder:
    """Incrementally converts a stream of UTF-8 or UTF-16 bytes to UTF-8 without a byte order mark."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        """The first bytes, until it is known whether they are a byte order mark; None after that."""
        self._utf_16: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes, *, is_last: bool = False) -> bytes:
        """Return these bytes converted to UTF-8. Invalid UTF-16 becomes invalid UTF-8."""
        if self._start is not None:
            data = self._start + data
            if len(data) < len(codecs.BOM_UTF8) and codecs.BOM_UTF8.startswith(data) and not is_last:
                self._start = data
                return b""
            if data in (codecs.BOM_UTF16_LE[:1], codecs.BOM_UTF16_BE[:1]) and not is_last:
                self._start = data
                return b""
            self._start = None
            if data.startswith(_UTF_16):
                self._utf_16 = codecs.getincrementaldecoder("utf-16")("surrogatepass")
            data = data.removeprefix(codecs.BOM_UTF8)
        if self._utf_16 is None:
            return data
        try:
            return self._utf_16.decode(data, is_last).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # the data ends in the middle of a character
            return b"\xff"


LINE_BYTES: Final = 65_536
"""Maximum length of a line in bytes: ten times the length of a deal of ten full cups."""


class OverlongLineError(ValueError):
    """A line is longer than :data:`LINE_BYTES`, and was discarded."""

    def __init__(self) -> None:
        super().__init__(f"the line is longer than {LINE_BYTES} bytes")


class LineBuffer:
    """Splits a stream of bytes into lines of UTF-8. A line longer than :data:`LINE_BYTES` is discarded."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._data = bytearray()
        self._searched = 0
        self._is_skipping = False
        """Whether the rest of an overlong line is still to be discarded."""

    def __len__(self) -> int:
        return len(self._data)

    def feed(self, data: bytes) -> None:
        """Append bytes."""
        self._data += self._decoder.feed(data)

    def take(self) -> bytes | None:
        """Return the next line without its line break; None if it is not complete yet.

        :raises OverlongLineError: once for each line that is too long.
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
        """Return the last line of the input if it has no line break; None if nothing is left.

        :raises OverlongLineError: if the last line is too long.
        """
        self._data += self._decoder.feed(b"", is_last=True)
        return self._cut(bytes(self._data), len(self._data)) if self._data or self._is_skipping else None

    def clear(self) -> None:
        """Discard all bytes that were not taken."""
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
    """Parse a line as a JSON object.

    >>> read_object(b'{"roll": 3}')
    {'roll': 3}

    :raises ValueError: if the line is not a JSON object, or contains something that other JSON parsers may read
        differently: a duplicate key, NaN, or bytes that are not UTF-8. The message names the problem.
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
    """Return a JSON value from outside in ASCII for an error message, truncated to 60 characters."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"  # it may be nested too deeply to print
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def write_object(data: dict[str, Any]) -> bytes:
    """Return a JSON object as one line of ASCII, with its line break."""
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"
