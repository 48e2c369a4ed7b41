"""Homes with a damaged store: resuming a match fails with a readable error and changes nothing."""

import shutil
from pathlib import Path

import pytest

from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import Identity, MatchKey, fingerprint
from protocol.errors import NodeError
from protocol.node.node import Node
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.genesis import match_id
from protocol.wire.messages import Kind, Message, sign
from tests.simulation.world import IDENTITIES, genesis

MADE, SEEDS = genesis(PRESETS["classic"], 2, b"damaged")
DATA = MADE.encoded()


def store_match(home: Path, *, seed: bytes = SEEDS[0], match: bytes = match_id(DATA), choice: str = "") -> None:
    store = Store(Home(home).store)
    key = MatchKey(seed).public
    store.add_seed(key, seed)
    store.add_match(match, DATA, key, created=0, port=0)
    store.mark_formed(match)
    if choice:
        store.add_choice(match, 4, choice)
    store.close()
    if not Home(home).identity.exists():
        IDENTITIES[MADE.roster[0].join.identity].save(Home(home).identity)


async def resume(home: Path) -> str:
    node = await Node.open(home, "A", discovery=False, interface="127.0.0.1")
    try:
        return await node.resume()
    finally:
        await node.close()


async def test_an_undamaged_home_is_resumed(tmp_path: Path) -> None:
    store_match(tmp_path, choice="stake 5")
    assert await resume(tmp_path) == match_id(DATA).hex()


@pytest.mark.parametrize(
    "damage",
    [{"seed": bytes(32)}, {"match": bytes(32)}, {"choice": "no move"}, {"choice": "3x5"}],
    ids=["the seed of another key", "another match id", "a choice that is no move", "a choice that is no stake"],
)
async def test_resuming_from_a_damaged_store_reports_the_damage(tmp_path: Path, damage: dict[str, object]) -> None:
    store_match(tmp_path, **damage)  # type: ignore[arg-type]
    with pytest.raises(NodeError, match="the stored match is damaged"):
        await resume(tmp_path)


async def test_a_match_begun_with_another_key_is_not_resumed(tmp_path: Path) -> None:
    store_match(tmp_path)
    Home(tmp_path).identity.unlink()
    other, _ = Identity.load_or_create(tmp_path)
    node = await Node.open(tmp_path, "A", discovery=False, interface="127.0.0.1")
    with pytest.raises(NodeError) as caught:
        await node.resume()
    begun = fingerprint(MADE.roster[0].join.identity)
    assert f"was begun as {begun}, but the key of this home is now that of {other.fingerprint}" in caught.value.reason
    assert "put the identity.key of that time back from a backup" in caught.value.hint
    assert (node.port, node.match) == (0, None)
    await node.close()


async def test_a_home_with_matches_but_no_key_gets_no_new_key(tmp_path: Path) -> None:
    store_match(tmp_path)
    Home(tmp_path).identity.unlink()
    with pytest.raises(NodeError) as caught:
        await resume(tmp_path)
    assert f"identity.key is missing, the key of {fingerprint(MADE.roster[0].join.identity)}" in caught.value.reason
    assert not Home(tmp_path).identity.exists()
    Store(Home(tmp_path).store).close()  # the failed resume has released the lock of the store


async def test_a_home_without_matches_gets_a_key(tmp_path: Path) -> None:
    Store(Home(tmp_path).store).close()
    await (await Node.open(tmp_path, "A", discovery=False)).close()
    assert Home(tmp_path).identity.exists()


SECOND, SECOND_SEEDS = genesis(PRESETS["classic"], 2, b"second")


def play_two(home: Path) -> Path:
    """Store two matches with a message each; return a copy of the home as it is after a crash during the second."""
    crashed = home.with_name("crashed")
    store = Store(Home(home).store)
    for made, seeds in ((MADE, SEEDS), (SECOND, SECOND_SEEDS)):
        match, key = match_id(made.encoded()), MatchKey(seeds[0])
        store.add_seed(key.public, seeds[0])
        store.add_match(match, made.encoded(), key.public, created=0, port=0)
        store.mark_formed(match)
        store.write(match, [sign(Message(match, 0, bytes(32), 0, Kind.LOCK, bytes(32)), key)])
        if made is MADE:
            store.close()
            store = Store(Home(home).store)
    IDENTITIES[MADE.roster[0].join.identity].save(Home(home).identity)
    shutil.copytree(home, crashed)
    store.close()
    return crashed


async def test_after_a_crash_the_newest_match_is_found(tmp_path: Path) -> None:
    node = await Node.open(play_two(tmp_path / "home"), "A", discovery=False)
    assert node.find().match == match_id(SECOND.encoded())
    assert node.loss == ""
    await node.close()


@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "overwritten", "an older store"])
async def test_an_older_match_is_not_resumed_in_place_of_a_lost_newest_one(tmp_path: Path, damage: str) -> None:
    home = Home(play_two(tmp_path / "home"))
    log = home.path / "store.sqlite3-wal"
    content = log.read_bytes()
    if damage == "removed":
        log.unlink()
    elif damage == "emptied":
        log.write_bytes(b"")
    elif damage == "cut":
        log.write_bytes(content[:5000])
    elif damage == "overwritten":
        log.write_bytes(bytes(5000) + content[5000:])
    else:
        for path in home.path.glob("store.sqlite3*"):
            if not path.name.endswith("-newest"):
                path.unlink()
        store_match(home.path)
    node = await Node.open(home.path, "A", discovery=False, interface="127.0.0.1")
    with pytest.raises(NodeError) as caught:
        await node.resume()
    lost, older = match_id(SECOND.encoded()), match_id(DATA)
    assert f"match {lost.hex()[:8]}, the last one played here, is missing" in caught.value.reason
    assert "return to an older match by its id" in caught.value.hint
    assert node.loss == caught.value.reason
    assert node.find(older.hex()[:8]).match == older
    await node.close()
