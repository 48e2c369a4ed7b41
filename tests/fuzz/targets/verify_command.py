"""``p2pdice verify`` with a hostile file: it prints the verdict in printable lines, and exits with its code."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from cli.commands.verify import CODES
from protocol.consensus.verifier import verify
from tests.fuzz.samples import sign_transcript
from tests.fuzz.target import Target
from tests.fuzz.targets import verifier
from tests.programs import run_here


def check(data: bytes) -> None:
    for content in dict.fromkeys((data, sign_transcript(data))):
        _verify(content)


def _verify(content: bytes) -> None:
    code = CODES[verify(content).verdict]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.p2pdice"
        path.write_bytes(content)
        told = _told("verify", str(path), expected=code)
        assert told[0].startswith(str(path))
        (line,) = _told("verify", "--json", str(path), expected=code)
        data = json.loads(line)
        assert CODES[data["verdict"]] == code


def _told(*arguments: str, expected: int) -> list[str]:
    """Run a command that must print only to standard output. Return its lines."""
    done = run_here(*arguments, home=Path(arguments[-1]).parent)
    assert (done.returncode, done.stderr) == (expected, "")
    *lines, end = done.stdout.split("\n")
    assert end == ""
    assert all(line.isprintable() for line in lines)
    return lines


TARGETS = (Target("verify-command", check, verifier.examples, verifier.mutate),)
