"""Stores as earlier programs have written them, as test data: ``python -m tests.old_stores`` makes them anew.

Each is written by the program of a commit itself, which is taken out of this repository's history. It holds the match
of a transcript, as one of its players would have stored it: once finished, and once under another id unfinished.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
FOLDER: Final = HERE / "data"
OLD: Final = FOLDER / "version-1.p2pdice"
NEW: Final = HERE / "vectors" / "resign.p2pdice"

STORES: Final = {
    "store-1": ("bc45ea4", OLD),
    "store-2-first": ("d4d3567", OLD),
    "store-2": ("84e81fd", OLD),
    "store-3": ("24eaf41", NEW),
    "store-4": ("35ed04a", NEW),
    "store-5": ("25dfbe6", NEW),
    "store-6": ("fa87a1c", NEW),
    "store-7": ("427e8ca", NEW),
    "store-8": ("5c33f77", NEW),
}
"""By file name: the commit, and the transcript of the match. The first program of version 2 did not note who hosts."""
CREATED: Final = 1_763_812_800
OTHER: Final = b"o" * 32
"""Id of the unfinished match."""
SEED: Final = b"s" * 32
MESSAGES: Final = 12
"""How many messages of the finished match are stored."""

PROGRAM: Final = """
import sqlite3, sys
from itertools import islice
from pathlib import Path
try:
    from protocol.storage.store import Store
    from protocol.crypto.keys import MatchKey
    from protocol.wire.genesis import match_id
    from protocol.consensus.transcript import open_transcript
except ImportError:
    from protocol.store import Store
    from protocol.keys import MatchKey
    from protocol.genesis import match_id
    from protocol.transcript import open_transcript
path, transcript, created, other, seed, count = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
opened = open_transcript(transcript.read_bytes())
key = MatchKey(bytes.fromhex(seed)).public
store = Store(path)
store.add_seed(key, bytes.fromhex(seed))
for match in (match_id(opened.genesis), bytes.fromhex(other)):
    store.add_match(match, opened.genesis, key, int(created), 7000)
    store.mark_formed(match)
store.mark_over(match_id(opened.genesis))
store.write(match_id(opened.genesis), islice(opened.messages, int(count)))
store.add_choice(bytes.fromhex(other), 4, "3x5")
store.remember_address(b"i" * 32, "192.0.2.1", 7000, 1)
try:
    from protocol.node.purse_keeper import PurseKeeper
    from protocol.wire.purses import Freeze, following
except ImportError:
    pass
else:
    own = PurseKeeper(store, b"i" * 32, print).own
    for stake in (Freeze(b"n" * 32, 10, 0), Freeze(bytes.fromhex(other), 300, 0)):
        own.freeze(following(own.purse, stake))
store.close()
database = sqlite3.connect(path, isolation_level=None)
database.execute("PRAGMA journal_mode=DELETE")
database.execute("VACUUM")
"""


def write(name: str, path: Path) -> None:
    """Let an earlier program write a store."""
    commit, transcript = STORES[name]
    arguments = [transcript, CREATED, OTHER.hex(), SEED.hex(), MESSAGES]
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", commit, "p2pdice", "protocol"], cwd=HERE.parent, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        made = Path(folder) / "made" / "store.sqlite3"
        subprocess.run([sys.executable, "-c", PROGRAM, made, *map(str, arguments)], cwd=folder, check=True)
        path.write_bytes(made.read_bytes())


if __name__ == "__main__":
    for each in STORES:
        write(each, FOLDER / f"{each}.sqlite3")
