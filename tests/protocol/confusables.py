"""Generates the table of :mod:`protocol.wire.names`: ``python -m tests.protocol.confusables confusables.txt``.

The input is https://www.unicode.org/Public/security/latest/confusables.txt. Run this with the newest Python, which has
the newest Unicode database.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path
from typing import Final

from protocol.wire.names import TABLE, is_unseen

FOLDER: Final = Path(__file__).parents[2] / "protocol" / "wire"
_LINE: Final = re.compile(r"([0-9A-F]+) ;\t([0-9A-F]+(?: [0-9A-F]+)*) ;\tMA\b")


def table(text: str) -> str:
    """Return the entries of Unicode's table that names can contain, a line each: a text, then its look-alikes."""
    passing: dict[str, list[str]] = {}
    for code, form in _LINE.findall(text):
        character = chr(int(code, 16))
        target = unicodedata.normalize("NFKD", "".join(chr(int(each, 16)) for each in form.split()))
        letters = "".join(filter(str.isalnum, target))
        is_possible = unicodedata.normalize("NFKD", character) == character and not is_unseen(character)
        if is_possible and letters != character and (letters or character.isalnum()):
            passing.setdefault(letters, []).append(character)
    return "".join(
        f"{_codes(target) or '-'}: {_codes(''.join(sorted(passing[target])))}\n" for target in sorted(passing)
    )


def _codes(text: str) -> str:
    return " ".join(f"{ord(each):x}" for each in text)


if __name__ == "__main__":
    notice = [line for line in (FOLDER / TABLE).read_text("ascii").splitlines(keepends=True) if line.startswith("#")]
    (FOLDER / TABLE).write_text("".join(notice) + table(Path(sys.argv[1]).read_text("utf-8")), "ascii")
