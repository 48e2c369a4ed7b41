"""The matches of a home without a node: named, written out however far they have come, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.keys import MatchKey
from protocol.errors import NodeError
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from protocol.storage.match_names import short_id
from protocol.storage.store import Store, StoredMatch
from protocol.wire.genesis import Patience, match_id
from tests.simulation.world import IDENTITIES, World, genesis

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


@contextmanager
def stored(folder: Path, world: World, me: int, table: str = "") -> Iterator[tuple[Store, StoredMatch]]:
    """Put what a node of the world has on its disk into the store of a home."""
    store = archive.open_store(Home(folder))
    try:
        seed, match = world.seeds[me], match_id(world.data)
        key = MatchKey(seed).public
        store.add_seed(key, seed)
        store.add_match(match, world.data, key, created=0, port=0, table=table)
        store.mark_formed(match)
        machine = world.machines[me]
        store.write(match, [*machine.disk, *machine.unwritten])
        IDENTITIES[world.genesis.roster[me].join.identity].save(Home(folder).identity)
        yield store, store.matches()[0]
    finally:
        store.close()


@settings(max_examples=40)
@given(seed=st.integers(0, 10), steps=st.integers(0, 120), preset=st.sampled_from(sorted(PRESETS)))
def test_the_transcript_of_an_unfinished_match_names_the_awaited_players(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: int, preset: str
) -> None:
    world = World(PRESETS[preset], 2, seed)
    for _ in range(steps):
        world.step()
    assume(not world.machines[0].match.is_ended)
    with stored(tmp_path_factory.mktemp("home"), world, 0) as (store, match):
        data = archive.transcript(store, match)
    verdict = verify(data)
    history = world.machines[0].match.history
    assert (verdict.verdict, verdict.step) == (Judgement.INCOMPLETE, history.position.step)
    assert verdict.awaited == tuple(history.genesis.roster[author].join.nickname for author in history.missing())


def test_a_player_left_alone_has_a_file_of_all_that_was_signed(tmp_path: Path) -> None:
    """The other never comes back: no majority can put them out, and the match never ends."""
    world = World(CLASSIC, 2, 3, patience=Patience(5, 5))
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    gone = next(me for me, machine in enumerate(world.machines) if machine.turn)
    world.crash(gone)
    world.run()
    stays = 1 - gone
    assert not world.machines[stays].match.is_ended
    with stored(tmp_path, world, stays) as (store, match):
        verdict = verify(archive.transcript(store, match))
    assert (verdict.verdict, verdict.culprit) == (Judgement.INCOMPLETE, None)
    assert verdict.awaited == (world.genesis.roster[gone].join.nickname,)
    assert (verdict.round, verdict.fingerprints) == (
        1,
        tuple(player.fingerprint for player in world.machines[stays].match.by_seat()),
    )
    assert "in round 1, waiting for player" in verdict.reason


def test_the_transcript_of_a_finished_match_is_the_one_that_its_node_wrote(tmp_path: Path) -> None:
    world = World(CLASSIC, 3, 4)
    world.run()
    with stored(tmp_path, world, 1) as (store, match):
        assert archive.transcript(store, match) == world.machines[1].transcript


def test_a_forgotten_match_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(CLASSIC, 2, 5)
    world.run()
    with stored(tmp_path, world, 0) as (store, match):
        store.add_choice(match.match, 3, "stake 5")
        store.forget(match.match)
        assert store.matches() == ()
        assert store.choices(match.match) == {}
        with pytest.raises(StoreError):
            store.messages(match.match)
        with pytest.raises(StoreError):
            store.forget(match.match)
        tables = ("seeds", "matches", "messages", "choices")
        assert [store.database.read(f"SELECT COUNT(*) FROM {table}", (), (int,)) for table in tables] == [[(0,)]] * 4


def test_forgetting_one_of_two_proposals_with_one_seed_keeps_the_other_whole(tmp_path: Path) -> None:
    store = Store(Home(tmp_path).store)
    seed = bytes(32)
    key = MatchKey(seed).public
    store.add_seed(key, seed)
    ids = [match_id(genesis(CLASSIC, players, b"twice")[0].encoded()) for players in (2, 3)]
    for match in ids:
        store.add_match(match, b"genesis", key, created=0, port=0)
    newest, oldest = store.matches()
    store.forget(newest.match)
    assert store.matches() == (oldest,)
    store.forget(oldest.match)
    assert store.matches() == ()
    store.close()


def match_named(digits: str, *, over: bool = False, name: str = "") -> StoredMatch:
    match = bytes.fromhex(digits.ljust(64, "0"))
    return StoredMatch(match, b"", b"", formed=True, created=0, over=over, port=0, name=name)


def proposals(tmp_path: Path, tables: str) -> Store:
    """Return a store with a match for each letter: of one table for one letter, and formed if it is a capital."""
    store = Store(Home(tmp_path).store)
    for number, table in enumerate(tables):
        seed = table.upper().encode() * 32
        key = MatchKey(seed).public
        if table.upper() not in tables[:number].upper():
            store.add_seed(key, seed)
        data = genesis(CLASSIC, 2, number.to_bytes(4, "big"))[0].encoded()
        store.add_match(match_id(data), data, key, created=number, port=0)
        if table.isupper():
            store.mark_formed(match_id(data))
    return store


@pytest.mark.parametrize(
    ("tables", "can_go_on"),
    [("a", [0]), ("aa", [1]), ("ab", [1]), ("Ab", [1, 0]), ("aB", [1]), ("abB", [2]), ("ABa", [2, 1, 0])],
)
def test_a_proposal_can_be_returned_to_until_another_match_is_begun(
    tmp_path: Path, tables: str, can_go_on: list[int]
) -> None:
    with closing(proposals(tmp_path, tables)) as store:
        assert [each.created for each in archive.unfinished(store.matches())] == can_go_on
        assert archive.to_resume(store, None).created == can_go_on[0]


def test_a_proposal_is_not_returned_to_when_another_match_is_over(tmp_path: Path) -> None:
    with closing(proposals(tmp_path, "aB")) as store:
        store.mark_over(store.matches()[0].match)
        assert archive.unfinished(store.matches()) == ()


def test_a_match_is_named_by_last_or_any_unique_beginning() -> None:
    matches = (match_named("ab12"), match_named("ab34"), match_named("cd"))
    assert archive.find(matches, "last") == matches[0]
    assert archive.find(matches, " LAST ") == matches[0]
    assert archive.find(matches, "AB3") == matches[1]
    assert archive.find(matches, "c") == matches[2]
    for name, told in (("ab", "2 matches begin with ab"), ("ff", "no match here is called ff")):
        with pytest.raises(NodeError, match=told):
            archive.find(matches, name)
    with pytest.raises(NodeError, match="there is no match here"):
        archive.find((), "last")


@pytest.mark.parametrize("typed", ["2026-11-22-friday", " 2026-11-22-Friday", "2026-11-20-classic-abcd0000.p2pdice"])
def test_a_match_is_named_by_day_and_table_or_by_its_file(typed: str) -> None:
    matches = (match_named("ab", name="2026-11-22-friday-2"), match_named("abcd", name="2026-11-22-friday"))
    assert archive.find(matches, typed) == matches[1]


def test_no_match_is_taken_for_another_with_a_name_like_it() -> None:
    """Whoever forgets the first match of an evening, and types the same again, must not forget the second."""
    with pytest.raises(NodeError, match="no match here is called 2026-11-22-friday") as caught:
        archive.find((match_named("ab", name="2026-11-22-friday-2"),), "2026-11-22-friday")
    assert caught.value.hint == "did you mean 2026-11-22-friday-2?"


def test_the_printed_name_of_a_match_finds_it() -> None:
    matches = (
        match_named("ab", name="2026-11-22-friday"),
        match_named("abcdef0123"),
        match_named("abcdef0124"),
        match_named("cd", name="2026-11-22-abcdef01"),
    )
    for each in matches:
        assert archive.find(matches, archive.name_of(each, matches)) == each
        assert archive.find(matches, short_id(each.match, [other.match for other in matches])) == each


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_an_empty_name_does_not_find_the_only_match(name: str) -> None:
    """A script whose variable is not set asked to forget the only match there was, and that was done."""
    with pytest.raises(NodeError, match="the name of the match is empty"):
        archive.find((match_named("ab12"),), name)


def test_a_home_in_use_is_said_to_be(tmp_path: Path) -> None:
    with stored(tmp_path, World(CLASSIC, 2, 6), 0), pytest.raises(NodeError) as caught:
        archive.open_store(Home(tmp_path))
    assert caught.value.code == "home-in-use"
