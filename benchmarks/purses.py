"""How long ``p2pdice purse`` and opening a table take with a purse that has seen many settlements.

``python -m benchmarks.purses --settlements 10000``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from protocol.crypto.keys import Identity
from protocol.storage.home import Home
from tests.protocol.long_purses import OWNER, fill


def command(*words: str, home: Home, until: str = "") -> float:
    """Return the CPU seconds of a command and its children: those of a busy machine's clock would say nothing.

    :param until: what the command has printed when it has done what is measured; it is ended then.
    """
    before = os.times()
    arguments = [sys.executable, "-m", "p2pdice", *words, "--home", str(home.path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        seen = any(until in line for line in process.stdout) if until else bool(process.stdout.read())
        assert seen, f"{' '.join(words)} did not do what is measured"
        if until:
            process.kill()
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print: the reference is a purse with a single settlement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settlements", type=int, default=10_000)
    wanted = parser.parse_args()
    opening = ("host", "--stakes", "--ui", "line", "--name", "Ada")
    with tempfile.TemporaryDirectory() as folder:
        homes = [Home(Path(folder) / name) for name in ("short", "long")]
        for home, settlements in zip(homes, (1, wanted.settlements), strict=True):
            fill(home, settlements)
            Identity(OWNER.private_key).save(home.identity)
        for words, until in ((("purse",), ""), (("purse", "--json"), ""), (opening, "is open")):
            short, long = (min(command(*words, home=home, until=until) for _ in range(5)) for home in homes)
            print(f"{' '.join(words[:2]):14} {long:.3f} s, with one settlement {short:.3f} s")


if __name__ == "__main__":
    main()
