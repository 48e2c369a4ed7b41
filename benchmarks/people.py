"""How long ``p2pdice people`` and what a table asks take, in a home that knows many people from many matches.

``python -m benchmarks.people --people 10000 --matches 10000``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from protocol.crypto.keys import fingerprint
from protocol.storage.home import Home
from protocol.storage.people import People
from protocol.storage.store import Store
from protocol.wire.lookalikes import outline

SEATS = 4


def fill(home: Home, people: int, matches: int) -> None:
    """Write a store in which each match was played with others in turn, as a formed match writes it."""
    with closing(Store(home.store)) as store:
        database = store._db
        database.execute("BEGIN")
        database.execute("INSERT INTO seeds VALUES (?, ?)", (b"k" * 32, bytes(32)))
        for number in range(1, matches + 1):
            row = (number, number.to_bytes(32), bytes(1500), b"k" * 32, 1_600_000_000 + number, 1, 1, 7000)
            columns = "number, match, genesis, match_key, created, formed, over, port"
            database.execute(f"INSERT INTO matches ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            for other in range(SEATS - 1):
                who = (number * (SEATS - 1) + other) % people
                name = f"Player {who % 500}"
                values = (fingerprint(who.to_bytes(32)), number, name, outline(name), 1_600_000_000 + number)
                database.execute("INSERT OR IGNORE INTO meetings VALUES (?, ?, ?, ?, ?)", values)
        database.execute("COMMIT")


def command(*words: str, home: Home) -> float:
    """Return the CPU seconds of a command and its children: those of a busy machine's clock would say nothing."""
    before = os.times()
    arguments = [sys.executable, "-m", "p2pdice", *words, "--home", str(home.path)]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def asked(store: People, times: int) -> float:
    """Return the CPU seconds of one question for a new key under a name that many have used."""
    begun = time.process_time()
    for number in range(times):
        store.mismatch(fingerprint(bytes([number]) * 32), "Player 7")
    return (time.process_time() - begun) / times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--matches", type=int, default=10_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        fill(home, wanted.people, wanted.matches)
        for words in (("people",), ("people", "--json"), ("people", "trust", fingerprint(bytes(32)))):
            print(f"{' '.join(words[:2]):14} {min(command(*words, home=home) for _ in range(5)):.3f} s")
        with closing(Store(home.store, is_reader=True)) as store:
            print(f"{'at a table':14} {asked(store.people, 100) * 1000:.3f} ms for each player")


if __name__ == "__main__":
    main()
