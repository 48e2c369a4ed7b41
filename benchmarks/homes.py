"""Measure how much slower commands become as a home collects matches, people, records, transcripts and proofs.

``python -m benchmarks.homes --sizes 10 1000 10000``. :mod:`tests.cli.test_growth` counts operations rather than time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG
from protocol.crypto.keys import Identity, MatchKey, fingerprint
from protocol.files import own_opener
from protocol.storage.home import TRANSCRIPT_SUFFIX, Home
from protocol.storage.purses import OwnPurse
from protocol.storage.store import Store
from protocol.wire.canonical import encode
from protocol.wire.genesis import match_id
from protocol.wire.messages import Kind, Message, sign
from protocol.wire.names import outline
from protocol.wire.purses import Purse, loss
from tests.simulation.world import genesis, identity_of, played

CLASSIC: Final = PRESETS["classic"]
NEW_FILE: Final = "FILE"
"""Stands for a file that does not exist yet."""
COMMANDS: Final = (
    ("matches",),
    ("matches", "--json"),
    ("matches", "save", "last", "-o", NEW_FILE),
    ("history",),
    ("history", "--json"),
    ("resume", "--list"),
    ("verify", "last"),
    ("replay", "last"),
    ("people",),
    ("people", "--json"),
    ("people", "trust", fingerprint(bytes(32))),
    ("purse",),
    ("purse", "--json"),
    ("identity", "backup", NEW_FILE),
    ("doctor", "--wait", "0.5", "--json"),
)
OPENING: Final = ("host", "--stakes", "--ui", "line", "--name", "Ada")
OPEN: Final = "is open"
"""The text that a host's program prints when the table is open."""
OWNER: Final = identity_of(b"owner", 0)
WORKED: Final = (0, 3)
"""Accepted exit codes. On a machine without a network, commands cannot play but still read the home."""
_BEGUN: Final = 1_600_000_000
"""The start of the matches, in seconds since 1970."""
_OTHERS: Final = 3
"""Number of other people in each match."""


def fill(home: Home, size: int) -> None:
    """Fill a home with ``size`` matches of its owner, half of them unfinished, and with ``size`` people, purse records,
    proofs of misconduct, and transcripts of other matches. The newest transcript is of a complete match.

    The owner's matches have no table names, so p2pdice must make their names distinct. All signatures are valid. The
    owner met each person in three matches.
    """
    for folder in (home.path, home.matches, home.proof(b"", b"").parent):
        folder.mkdir(mode=0o700)
    OWNER.save(home.identity)
    with closing(Store(home.store)) as store:
        database = store.database.connection
        database.execute("BEGIN")
        for number in range(1, size + 1):
            made, _, seed = _match(b"played", number, OWNER)
            key = MatchKey(seed).public
            database.execute("INSERT INTO seeds VALUES (?, ?)", (key, seed))
            database.execute(
                "INSERT INTO matches (number, match, genesis, match_key, created, formed, over, port) "
                "VALUES (?, ?, ?, ?, ?, 1, ?, 7000)",
                (number, match_id(made), made, key, _BEGUN + number, number % 2),
            )
            for other in range(_OTHERS):
                who = (number * _OTHERS + other) % size
                name = f"Player {who % 500}"
                meeting = (fingerprint(who.to_bytes(32)), number, name, outline(name), _BEGUN + number)
                database.execute("INSERT OR IGNORE INTO meetings VALUES (?, ?, ?, ?, ?)", meeting)
        database.execute("COMMIT")
        purse = Purse.new(OWNER.public)
        for number in range(size):
            purse = purse.with_record(loss(number.to_bytes(16), 0, 0))
        store.purses.keep(OwnPurse(purse))
    cheat = identity_of(b"cheat", 0)
    for number in range(size):
        made, author, seed = _match(b"watched", number, cheat)
        _write(home.matches / f"Watched {number}{TRANSCRIPT_SUFFIX}", number, encode((TRANSCRIPT_TAG, made)))
        proof = [encode((PROOF_TAG, made))]
        for kind, body in ((Kind.MOVE, "liar"), (Kind.RESIGN, ())):
            message = Message(match_id(made), 1, bytes(32), author, kind, body)
            proof.append(encode(sign(message, MatchKey(seed)).wire))
        _write(home.proof(match_id(made), cheat.public), number, b"".join(proof))
    _write(home.matches / f"Whole{TRANSCRIPT_SUFFIX}", size + 1, _whole())


def _match(what: bytes, number: int, player: Identity) -> tuple[bytes, int, bytes]:
    """Return the genesis of a match, and the roster index and match seed of one player in it."""
    other = identity_of(what, number)
    made, seeds = genesis(CLASSIC, 2, b"%s %d" % (what, number), sitting=((player, None), (other, None)))
    me = next(author for author, record in enumerate(made.roster) if record.join.identity == player.public)
    return made.encoded(), me, seeds[me]


@cache
def _whole() -> bytes:
    return played(CLASSIC, 2)


def _write(path: Path, second: int, data: bytes) -> None:
    with open(path, "xb", opener=own_opener) as file:
        file.write(data)
    os.utime(path, (_BEGUN + second, _BEGUN + second))


def command(*words: str, home: Home, until: str = "") -> float:
    """Return the CPU seconds of a command and its children, which depend less on other load than elapsed time.

    :param until: output that marks the end of the measured work, after which the command is terminated.
    """
    with tempfile.TemporaryDirectory() as folder:
        filled = [str(Path(folder) / word) if word == NEW_FILE else word for word in words]
        before = os.times()
        arguments = [sys.executable, "-m", "p2pdice", *filled, "--home", str(home.path)]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            seen = any(until in line for line in process.stdout) if until else bool(process.stdout.read())
            assert seen, f"{' '.join(words)} did not do what is measured"
            if until:
                process.kill()
        after = os.times()
    assert until or process.returncode in WORKED, f"{' '.join(words)} ended with {process.returncode}"
    return after.children_user + after.children_system - before.children_user - before.children_system


def asked(home: Home, times: int = 100) -> float:
    """Return the CPU seconds of a table's queries about a new key whose name many others have used."""
    with closing(Store(home.store, is_reader=True)) as store:
        begun = time.process_time()
        for number in range(times):
            store.people.mismatch(fingerprint(bytes([number]) * 32), "Player 7")
        return (time.process_time() - begun) / times


def main() -> None:
    """Measure and print CPU seconds by size of the home."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 1_000])
    parser.add_argument("--repeat", type=int, default=3, help="runs for each figure; the fastest counts")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = [Home(Path(folder) / str(size)) for size in wanted.sizes]
        for size, home in zip(wanted.sizes, homes, strict=True):
            fill(home, size)
        print(f"{'':28}", *(f"{size:>9}" for size in wanted.sizes))
        for words, until in (*((words, "") for words in COMMANDS), (OPENING, OPEN)):
            best = [min(command(*words, home=home, until=until) for _ in range(wanted.repeat)) for home in homes]
            print(f"{' '.join(words[:3])[:28]:28}", *(f"{seconds:7.2f} s" for seconds in best), flush=True)
        print(f"{'one question of a table':28}", *(f"{asked(home) * 1000:6.2f} ms" for home in homes))


if __name__ == "__main__":
    main()
