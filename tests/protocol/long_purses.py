"""A home whose purse has seen many settlements."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from p2pdice import PRESETS
from protocol.consensus.purse_proofs import read_proof
from protocol.crypto.keys import PurseKey
from protocol.match.own_purse import OwnPurse
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.canonical import encode
from protocol.wire.purses import Purse
from tests.protocol.test_purses import Owner, evidence_of
from tests.simulation.world import World, identity_of

OWNER = identity_of(b"owner", 0)
RULES = PRESETS["classic"].with_options({"dice": "1", "stakes": "yes"})


def settled(own: OwnPurse, seed: int) -> World:
    """Play a match against somebody, and settle it."""
    other = Owner(f"other {seed % 3}")
    world = World(RULES, 2, seed, owners=[(OWNER, own), other.seat])
    world.run()
    assert own.settle(evidence_of(world).encoded()) is not None
    return world


def fill(home: Home, settlements: int) -> None:
    """Store a purse that has seen so many settlements, and one more: only that last match was really played."""
    with closing(Store(home.store)) as store:
        own = PurseKeeper(store, OWNER.public, lambda _: None).own
        evidence = evidence_of(settled(own, 1)).encoded()
        key = own.purse.key
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("DELETE FROM purse_entries")
        database.execute("DELETE FROM purse_evidence")
        database.execute("DELETE FROM purse_partners")
        heights = range(2, 2 * settlements + 1, 2)
        database.executemany(
            "INSERT INTO purse_entries VALUES (1, ?, 3, ?, 1, ?, x'00', x'00')",
            ((height, height.to_bytes(32), height - 2) for height in heights),
        )
        database.executemany("INSERT INTO purse_evidence VALUES (1, ?, ?)", ((height, evidence) for height in heights))
        database.executemany(
            "INSERT INTO purse_partners VALUES (1, ?, ?, 'Ben', 1)",
            ((f"{height % 50}-{other}", height) for height in heights for other in range(3)),
        )
        purse = Purse(key, 2 * settlements, b"h" * 32, 11_000)
        database.execute("UPDATE purses SET state = ?", (encode(purse.wire),))
        ((seed,),) = database.execute("SELECT seed FROM purses").fetchall()
        database.commit()
    with closing(Store(home.store)) as store:
        shown = read_proof(Owner("z").own.proof())._replace(identity=OWNER.public, purse=purse)
        settled(OwnPurse(PurseKey(seed), shown, store.purses.keep), 2)
