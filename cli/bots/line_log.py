"""A log of one bot: each line that it reads and writes, with the time, for its author.

The lines come from a program that may write anything. They are escaped, so that the file can be shown in a terminal.
The size of the file is limited. Its name has only letters, digits, - and _, so that it cannot leave its folder.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from cli.foreign_text import LINE_BYTES
from cli.render import harmless
from protocol.files import NotOwnError, own_opener

Mark = Literal[">", "<", "!", "#"]
"""The kind of a line: read by the bot, written by it, written to its standard error, or a remark of p2pdice."""
LARGEST_LOG: Final = 256 * 1024 * 1024
"""In bytes: enough for some ten thousand games."""
_PLAIN: Final = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_CHARACTERS: Final = 40


class LineLog:
    """The log of one bot in a folder, in a new file.

    :param name: the name of the bot: any text.
    :raises OSError: if the file cannot be created.
    """

    def __init__(self, folder: Path, name: str) -> None:
        plain = _PLAIN.sub("-", name).strip("-")[:_NAME_CHARACTERS] or "bot"
        self._rests: dict[Mark, bytes] = {}
        """By mark, the beginning of a line whose end has not arrived."""
        self._size = self._lines = 0
        number = 1
        while True:
            self.path = folder / f"{plain}.{number}.log"
            try:
                self._file = open(self.path, "xb", opener=own_opener)  # noqa: SIM115 - it stays open as long as the bot
                break
            except (FileExistsError, NotOwnError):  # another process has just created it, or it is a link
                number += 1

    def feed(self, mark: Mark, data: bytes) -> None:
        """Log some bytes of a stream; an incomplete line waits for its end."""
        *lines, rest = (self._rests.get(mark, b"") + data).split(b"\n")
        if len(rest) > LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._rests[mark] = rest
        for line in lines:
            self._write(mark, line)

    def remark(self, text: str) -> str:
        """Log a remark of one or more lines, after everything that has arrived so far; return its ``FILE:LINE``."""
        self._finish()
        where = f"{self.path.name}:{self._lines + 1}"
        for line in text.splitlines():
            self._write("#", line.encode(errors="backslashreplace"))
        return where

    def close(self) -> None:
        """Log the incomplete lines, and close the file."""
        self._finish()
        self._file.close()

    def _finish(self) -> None:
        for mark, rest in self._rests.items():
            if rest:
                self._write(mark, rest)
        self._rests.clear()

    def _write(self, mark: Mark, line: bytes) -> None:
        if self._size > LARGEST_LOG or self._file.closed:
            return
        time = datetime.now().isoformat(sep=" ", timespec="milliseconds")
        text = harmless(line[:LINE_BYTES].removesuffix(b"\r").decode(errors="backslashreplace")).replace("\n", " ")
        whole = f"{time} {mark} {text}{' ...' if len(line) > LINE_BYTES else ''}\n".encode(errors="backslashreplace")
        self._size += len(whole)
        self._lines += 1
        if self._size > LARGEST_LOG:
            whole = f"{time} # This log is full: the rest is not kept.\n".encode()
        self._file.write(whole)
        self._file.flush()
