"""What SPEC.md prints of the vectors that a program makes."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from protocol.consensus.verifier import examine
from tests.vectors.connection import printed
from tests.vectors.matches import FILES

FOLDER: Final = Path(__file__).parent
PATH: Final = FOLDER.parents[1] / "SPEC.md"

_HEAD: Final = "| file | SHA-256 | verdict | names | steps | last T |\n| --- | --- | --- | --- | --- | --- |\n"
_TABLE: Final = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")
_TRACE: Final = re.compile(r"(```trace\n).*?(?=```)", re.DOTALL)


def with_vectors(text: str) -> str:
    """Return SPEC.md with the vectors as they are now."""
    table = _HEAD + "".join(_row(name, make()) for name, make in FILES.items())
    text, tables = _TABLE.subn(lambda _: table, text)
    text, traces = _TRACE.subn(lambda found: found[1] + printed(), text)
    assert (tables, traces) == (1, 1)
    return text


def _row(name: str, data: bytes) -> str:
    examined = examine(data)
    verdict, history = examined.verdict, examined.history
    culprits = [f"culprit {verdict.culprit}"] if verdict.culprit else []
    names = ", ".join((*culprits, *(f"winner {winner}" for winner in verdict.winners)))
    end = f"{verdict.steps} | `{history.position.tip.hex()}`" if history is not None else "– | –"
    return f"| `{name}` | `{sha256(data).hexdigest()}` | {verdict.verdict} | {names} | {end} |\n"
