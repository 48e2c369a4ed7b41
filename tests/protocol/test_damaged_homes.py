"""A home whose store holds something else than was written: resuming says so in words, and nothing else happens."""

from pathlib import Path

import pytest

from p2pdice import PRESETS
from protocol.errors import NodeError
from protocol.genesis import match_id
from protocol.home import Home
from protocol.keys import MatchKey
from protocol.node import Node
from protocol.store import Store
from tests.simulation.world import genesis

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


async def resume(home: Path) -> str:
    node = await Node.open(home, "A", discovery=False, interface="127.0.0.1")
    try:
        return await node.resume()
    finally:
        await node.close()


async def test_an_undamaged_one_is_resumed(tmp_path: Path) -> None:
    store_match(tmp_path, choice="stake 5")
    assert await resume(tmp_path) == match_id(DATA).hex()


@pytest.mark.parametrize(
    "damage",
    [{"seed": bytes(32)}, {"match": bytes(32)}, {"choice": "no move"}, {"choice": "3x5"}],
    ids=["the seed of another key", "another match id", "a choice that is no move", "a choice that is no stake"],
)
async def test_a_damaged_one_is_called_damaged(tmp_path: Path, damage: dict[str, object]) -> None:
    store_match(tmp_path, **damage)  # type: ignore[arg-type]
    with pytest.raises(NodeError, match="the stored match is damaged"):
        await resume(tmp_path)
