"""Text from outside, as editors and programs of any system write it: files of rules and settings, lines of programs.

It is UTF-8, or whatever its byte order mark says: editors of Windows write UTF-16, and put a mark before UTF-8, too.
"""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import Any, Final

from protocol.files import read_outside

LARGEST_FILE: Final = 64 * 1024
"""Bytes: far more than all rules or settings and long comments take. A larger file is something else."""

_DEEPEST: Final = 16
"""Dots in a key: those of rules and settings have none. The parser's time and memory grow with the square of it."""
_TOKEN: Final = re.compile(
    r"""(?s)(?P<dot>\.)|(?P<part>[A-Za-z0-9_-]++|[ \t]++)|\#[^\n]*+"""
    r"""|\"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?"""
    r"""|(?P<quoted>"(?:[^"\\\n]|\\.)*+"?|'[^'\n]*+'?)|."""
)
"""The tokens of TOML, as far as keys depend on them. Each begins where the one before ends: nothing is read twice."""

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class ForeignTextError(ValueError):
    """A text cannot be used: it is too long, no text, or no TOML. The text says which, as a clause about the file."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        """The line of the fault, from 1, if it is in one."""


def read_text(path: Path) -> str:
    """Return the text of a file.

    :raises OSError: if it cannot be read, or is not a regular file.
    :raises ForeignTextError: if it is longer than :data:`LARGEST_FILE`, or no text.
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
    """Return the table of a TOML text, in time and memory that its length bounds.

    :raises ForeignTextError: if it is no TOML, or nested deeply.
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
        if not isinstance(error, tomllib.TOMLDecodeError):  # Python reads no numbers of thousands of digits
            raise ForeignTextError("it has a number with too many digits") from None
        where = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        problem = str(error)[: where.start()] if where else str(error)
        line = int(where[1]) if where and where[1] else len(text.splitlines()) if where else None
        raise ForeignTextError(f"this is not TOML: {problem}", line) from None


class Decoder:
    """Turns the bytes of a stream into UTF-8, as they come."""

    def __init__(self) -> None:
        self._start: bytes | None = b""
        """The first bytes, as long as it is open whether they are a mark."""
        self._utf_16: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes, *, is_last: bool = False) -> bytes:
        """Return what these bytes are in UTF-8. What is no UTF-16 becomes bytes that are no UTF-8."""
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
        except UnicodeDecodeError:  # half a character at the end
            return b"\xff"


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
