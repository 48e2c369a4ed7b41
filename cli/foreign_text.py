"""Text from outside, as editors and programs of any system write it: files of rules and settings, lines of programs.

It is UTF-8, or whatever its byte order mark says: editors of Windows write UTF-16, and put a mark before UTF-8, too.
"""

from __future__ import annotations

import codecs
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

    :raises OSError: if it cannot be read, or is no regular file.
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
