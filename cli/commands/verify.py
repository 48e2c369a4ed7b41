"""``p2pdice verify``: the offline judge."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.boundary import complain
from cli.exits import ExitCode
from cli.front import application
from cli.render import counted, escape, listing, sentence

if TYPE_CHECKING:
    from protocol.verifier import Verdict

EPILOG: Final = """\b
Examples:
  p2pdice verify match.p2pdice
  p2pdice verify --json *.p2pdice | jq .verdict

\b
Exit codes: 0 fair, 10 misconduct proven, 11 incomplete, 12 unreadable or
altered, 13 fair but with claims that cannot be proven, 1 missing file. With
several files the worst one counts, in the order 10, 12, 1, 11, 13, 0.
"""

app = application()


@app.command(epilog=EPILOG)
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line per file.")] = False,
) -> None:
    """Judge transcripts and proofs of misconduct, without any network.

    Every signature, every commitment, every die and every move is checked again, from the file alone: it does not
    matter where the file comes from.
    """
    codes = {_verify_file(path, as_json) for path in files}
    raise typer.Exit(next(code for code in WORST_FIRST if code in codes))


WORST_FIRST: Final = (
    ExitCode.MISCONDUCT,
    ExitCode.ALTERED,
    ExitCode.FAILURE,
    ExitCode.INCOMPLETE,
    ExitCode.UNPROVEN,
    ExitCode.DONE,
)
CODES: Final = {
    "fair": ExitCode.DONE,
    "misconduct": ExitCode.MISCONDUCT,
    "incomplete": ExitCode.INCOMPLETE,
    "altered": ExitCode.ALTERED,
    "unproven": ExitCode.UNPROVEN,
}


def _verify_file(path: Path, as_json: bool) -> ExitCode:
    try:
        data = read_transcript(path)
    except OSError as error:
        complain(f"{escape(str(path))}: {sentence(error.strerror or str(error))}")
        return ExitCode.FAILURE
    from protocol.verifier import verify

    verdict = verify(data)
    if as_json:
        print(json.dumps({"file": str(path), **verdict.to_json()}), flush=True)
    else:
        print(f"{escape(str(path))}: {describe(verdict)}", flush=True)
    return CODES[verdict.verdict]


def read_transcript(path: Path) -> bytes:
    """Return the bytes of a file, but never more than just too many for a transcript.

    :raises OSError: if it cannot be read, or is no file but a folder, a pipe or a device: reading one of these may
        never end, and opening one may wait.
    """
    from protocol.limits import TRANSCRIPT

    _require_file(path.stat().st_mode)
    with open(path, "rb", opener=_open_without_waiting) as file:
        _require_file(os.fstat(file.fileno()).st_mode)  # another may have taken its place
        return file.read(TRANSCRIPT + 1) or b""


def _require_file(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "pipe" if stat.S_ISFIFO(mode) else "device"
        raise OSError(f"a {kind}, not a file; give it the file of a transcript or proof")


def _open_without_waiting(path: str, flags: int) -> int:
    # Windows has no O_NONBLOCK, and no pipes among its files either.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def describe(verdict: Verdict) -> str:
    """Return a verdict in two or three sentences."""
    players = [escape(name) for name in verdict.players]
    head = {
        "fair": "FAIR.",
        "misconduct": f"MISCONDUCT by {escape(verdict.culprit or '')}, proven by their own signature.",
        "incomplete": "INCOMPLETE, nothing wrong so far.",
        "altered": "UNREADABLE OR ALTERED; this blames nobody.",
        "unproven": "FAIR, but with claims that cannot be proven.",
    }[verdict.verdict]
    parts = [head, sentence(escape(verdict.reason))]
    if verdict.step is not None:
        parts.append(f"This is at step {verdict.step}.")
    if verdict.match is not None:
        parts.append(
            f"A match of {escape(verdict.rules or '')} between {listing(players)}: match {verdict.match[:12]}."
        )
    if verdict.winners:
        parts.append(f"{listing([escape(name) for name in verdict.winners])} won.")
    if verdict.signatures:
        parts.append(
            f"{counted(verdict.signatures, 'signature')} in {counted(verdict.steps, 'step')} checked and right."
        )
    return " ".join(parts)
