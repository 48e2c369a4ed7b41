"""The tables and traces of generated vectors in SPEC.md."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

from protocol.consensus.verifier import examine
from protocol.wire.messages import VOTES, Kind, Message
from tests.vectors.connection import printed
from tests.vectors.matches import FILES

FOLDER: Final = Path(__file__).parent
PATH: Final = FOLDER.parents[1] / "SPEC.md"

_HEAD: Final = "| file | SHA-256 | verdict | names | steps | last T |\n| --- | --- | --- | --- | --- | --- |\n"
_TABLE: Final = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)*")
_TRACE: Final = re.compile(r"(```trace\n).*?(?=```)", re.DOTALL)
_DECIDED: Final = re.compile(r"(```decided\n).*?(?=```)", re.DOTALL)
_LOCK: Final = 10
"""The step of `votes.p2pdice` with a LOCK that votes decide."""


def with_vectors(text: str) -> str:
    """Return SPEC.md with its tables and traces replaced by current ones."""
    table = _HEAD + "".join(_row(name, make()) for name, make in FILES.items())
    text, tables = _TABLE.subn(lambda _: table, text)
    text, traces = _TRACE.subn(lambda found: found[1] + printed(), text)
    text, decisions = _DECIDED.subn(lambda found: found[1] + _decided(), text)
    assert (tables, traces, decisions) == (1, 1, 1)
    return text


def _decided() -> str:
    """Return one line for each message from a root to the decision on the next LOCK, with tips and hashes."""
    history = examine(FILES["votes.p2pdice"]()).history
    assert history is not None
    lines = []
    for before, after in pairwise(history.chain[history.chain[_LOCK].root_step : _LOCK + 2]):
        lines.append(f"T_{before.step} = {before.tip.hex()}")
        for signed in (*after.entries.values(), *after.certificate):
            message = signed.message
            lines.append(f"  step {message.step}, author {message.author}, {Kind(message.kind).name}: {_told(message)}")
            lines += [] if message.kind in VOTES else [f"    id {signed.id.hex()}"]
        lines += [f"  state hash {before.signed_hash.hex()}"] if before.signed_hash else []
    return "\n".join((*lines, f"T_{after.step} = {after.tip.hex()}", ""))


def _told(message: Message) -> str:
    if message.kind not in VOTES:
        return str(message.body)
    number, (step, _, _) = cast("tuple[int, tuple[int, bytes, bytes]]", message.body)
    return f"[{number}, [{step}, T_{step}, state hash]]"


def _row(name: str, data: bytes) -> str:
    examined = examine(data)
    verdict, history = examined.verdict, examined.history
    culprits = [f"culprit {verdict.culprit}"] if verdict.culprit else []
    names = ", ".join((*culprits, *(f"winner {winner}" for winner in verdict.winners)))
    end = f"{verdict.steps} | `{history.position.tip.hex()}`" if history is not None else "– | –"
    return f"| `{name}` | `{sha256(data).hexdigest()}` | {verdict.verdict} | {names} | {end} |\n"
