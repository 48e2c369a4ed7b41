"""How long the commands that read a home take in homes of 10, 1,000 and 10,000 matches, with as many people.

``python -m benchmarks.homes --sizes 10 1000 10000``. :mod:`tests.cli.test_growth` counts the work instead.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

from benchmarks.people import command
from p2pdice import PRESETS
from protocol.consensus.transcript import TRANSCRIPT_TAG
from protocol.crypto.keys import fingerprint
from protocol.storage.home import TRANSCRIPT_SUFFIX, Home
from protocol.storage.store import Store
from protocol.wire.canonical import encode
from protocol.wire.lookalikes import outline
from tests.simulation.world import genesis

PLAYED, SEEDS = genesis(PRESETS["classic"], 2, b"played")
_BEGUN: Final = 1_600_000_000
COMMANDS: Final = (
    ("matches",),
    ("matches", "--json"),
    ("history", "--json"),
    ("resume", "--list"),
    ("people", "--json"),
    ("purse", "--json"),
    ("doctor", "--wait", "0.5", "--json"),
)


def fill(home: Home, size: int) -> None:
    """Make a home with so many matches, half of them unfinished, and as many people and transcripts of others' matches.

    No match is named after a table, so that each name has to be told from all others.
    """
    with closing(Store(home.store)) as store:
        database = store._db
        database.execute("BEGIN")
        database.execute("INSERT INTO seeds VALUES (?, ?)", (b"k" * 32, SEEDS[0]))
        for number in range(1, size + 1):
            who = fingerprint(sha256(b"%d" % number).digest())
            database.execute(
                "INSERT INTO matches (number, match, genesis, match_key, created, formed, over, port) "
                "VALUES (?, ?, ?, ?, ?, 1, ?, 7000)",
                (number, sha256(b"%d" % number).digest(), PLAYED.encoded(), b"k" * 32, _BEGUN + number, number % 2),
            )
            name = f"Player {number % 500}"
            meeting = (who, number, name, outline(name), _BEGUN + number)
            database.execute("INSERT INTO meetings VALUES (?, ?, ?, ?, ?)", meeting)
        database.execute("COMMIT")
    home.matches.mkdir(mode=0o700)
    for number in range(size):
        watched = PLAYED._replace(table=sha256(b"%d" % number).digest()[:16]).encoded()
        path = home.matches / f"Watched {number}{TRANSCRIPT_SUFFIX}"  # no name of a match, so it gets one
        path.write_bytes(encode((TRANSCRIPT_TAG, watched)))


def main() -> None:
    """Measure and print CPU seconds, by size of the home."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1_000, 10_000])
    sizes = parser.parse_args().sizes
    with tempfile.TemporaryDirectory() as folder:
        homes = {size: Home(Path(folder) / str(size)) for size in sizes}
        for size, home in homes.items():
            home.path.mkdir(mode=0o700)
            fill(home, size)
        for words in COMMANDS:
            measured = (f"{command(*words, home=home):8.2f} s" for home in homes.values())
            print(f"{' '.join(words):30}", *measured)


if __name__ == "__main__":
    main()
