"""The matches of a home without a running node: their names, their transcripts, and how they are forgotten."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.keys import MatchKey
from protocol.errors import NodeError
from protocol.files import write_whole
from protocol.storage import archive
from protocol.storage.archive import TranscriptFile, transcript_named, transcript_of, transcript_path, transcripts
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from protocol.storage.match_names import LONGEST_SLUG, free_name, is_name, short_id, slug
from protocol.storage.store import Store, StoredMatch
from protocol.wire.genesis import Patience, match_id
from tests.simulation.world import IDENTITIES, World, genesis

CLASSIC = PRESETS["classic"].with_options({"dice": "1"})


@contextmanager
def stored(folder: Path, world: World, me: int, table: str = "") -> Iterator[tuple[Store, StoredMatch]]:
    """Copy a simulated node's stored match into the store of a home."""
    store = archive.open_store(Home(folder))
    try:
        seed, match = world.seeds[me], match_id(world.data)
        key = MatchKey(seed).public
        store.add_seed(key, seed)
        store.add_match(match, world.data, key, created=0, port=0, table=table)
        store.mark_formed(match)
        store.write(match, world.machines[me].stored)
        IDENTITIES[world.genesis.roster[me].join.identity].save(Home(folder).identity)
        yield store, store.matches()[0]
    finally:
        store.close()


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


def test_a_player_whose_only_opponent_vanished_has_an_incomplete_transcript(tmp_path: Path) -> None:
    """Without a majority the opponent cannot be voted out, so the match never ends."""
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
    """Return a store with a match for each letter. Equal letters share a table; a capital means a formed match."""
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
def test_a_proposal_can_be_resumed_until_another_match_begins(
    tmp_path: Path, tables: str, can_go_on: list[int]
) -> None:
    with closing(proposals(tmp_path, tables)) as store:
        assert [each.created for each in archive.unfinished(store.matches())] == can_go_on
        assert archive.to_resume(store, None).created == can_go_on[0]


def test_a_proposal_cannot_be_resumed_after_another_match_has_ended(tmp_path: Path) -> None:
    with closing(proposals(tmp_path, "aB")) as store:
        store.mark_over(store.matches()[0].match)
        assert archive.unfinished(store.matches()) == ()


def test_a_match_is_found_by_the_word_last_or_a_unique_prefix_of_its_id() -> None:
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
def test_a_match_is_found_by_day_and_table_or_by_its_file_name(typed: str) -> None:
    matches = (match_named("ab", name="2026-11-22-friday-2"), match_named("abcd", name="2026-11-22-friday"))
    assert archive.find(matches, typed) == matches[1]


def test_a_match_is_not_found_by_a_prefix_of_its_name() -> None:
    """A user who forgets the evening's first match and repeats the command must not forget the second."""
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
    """A script with an unset variable once made the program forget the user's only match."""
    with pytest.raises(NodeError, match="the name of the match is empty"):
        archive.find((match_named("ab12"),), name)


def test_opening_a_home_in_use_reports_that_it_is_in_use(tmp_path: Path) -> None:
    with stored(tmp_path, World(CLASSIC, 2, 6), 0), pytest.raises(NodeError) as caught:
        archive.open_store(Home(tmp_path))
    assert caught.value.code == "home-in-use"


PRESET = PRESETS["classic"]
BEGUN = int(time.mktime((2026, 11, 22, 20, 15, 0, 0, 0, -1)))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(scope="module")
def played() -> World:
    """A match that has begun."""
    return begun(1)


def begun(seed: int) -> World:
    world = World(PRESET, 2, seed)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    return world


def ended(seed: int) -> World:
    world = World(CLASSIC, 2, seed)
    world.run()
    return world


def content(world: World) -> bytes:
    return write_transcript(world.machines[0].match.history)


def match(world: World) -> bytes:
    return world.machines[0].match.history.match


def put(home: Home, world: World, name: str = "") -> Path:
    path = home.matches / name if name else transcript_path(home, match(world), BEGUN, "classic")
    write_whole(path, content(world))
    return path


def test_a_transcript_file_is_named_by_day_ruleset_and_first_digits_of_the_match_id(home: Home, played: World) -> None:
    digits = match(played).hex()[:8]
    assert put(home, played).name == f"2026-11-22-classic-{digits}.p2pdice"
    house = transcript_path(Home(home.path / "other"), match(played), BEGUN, "house-rules")
    assert house.name == f"2026-11-22-house-rules-{digits}.p2pdice"


def test_a_match_keeps_its_file_on_later_days_and_after_the_file_is_renamed(home: Home, played: World) -> None:
    first = put(home, played)
    assert transcript_path(home, match(played), BEGUN + 100_000, "classic") == first
    old = first.rename(home.matches / f"{match(played).hex()}.p2pdice")
    assert transcript_path(home, match(played), BEGUN, "classic") == old
    assert transcript_of(home, match(played)) == old


@pytest.mark.parametrize("what", ["another match", "nothing to be read", "a folder"])
def test_a_transcript_never_overwrites_another_file(home: Home, played: World, what: str) -> None:
    """The name is already in use, as when two ids share eight digits. The existing file stays unchanged."""
    taken = transcript_path(home, match(played), BEGUN, "classic")
    other = content(begun(2)) if what == "another match" else b"mine"
    if what == "a folder":
        taken.mkdir(parents=True)
    else:
        write_whole(taken, other)
    path = put(home, played)
    assert path.name == f"2026-11-22-classic-{match(played).hex()[:9]}.p2pdice"
    assert taken.is_dir() or taken.read_bytes() == other
    assert transcript_of(home, match(played)) == path


def test_unreadable_files_are_not_listed_as_transcripts(home: Home, played: World) -> None:
    path = put(home, played)
    write_whole(home.matches / "x.p2pdice", b"\x92\xb4p2pdice/3/transcript\xc6\xff\xff\xff\xff")
    write_whole(home.matches / "y.p2pdice", b"")
    assert list(transcripts(home)) == [TranscriptFile(match(played), path, played.data)]


# Finding a transcript


def last_written(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


@pytest.mark.parametrize("named", ["last", "LAST", "id", "ID", "digits", "file", "file without its end", "path"])
def test_a_transcript_is_found_by_the_word_last_its_id_or_its_file_name(home: Home, played: World, named: str) -> None:
    path, other = put(home, played), put(home, begun(2))
    last_written(other, 1_000)
    digits = match(played).hex()
    names = {
        "id": digits,
        "ID": digits[:12].upper(),
        "digits": digits[: next(n for n in range(1, 64) if digits[:n] != match(begun(2)).hex()[:n])],
        "file": path.name,
        "file without its end": path.stem,
        "path": str(path),
    }
    assert transcript_named(home, names.get(named, named)) == path


def test_the_last_match_is_the_newest_finished_one_even_if_another_began_later(home: Home, played: World) -> None:
    """``verify last`` once failed as soon as a second match had begun."""
    finished = begun(2)
    with stored(home.path, finished, 0, table="Friday") as (store, match):
        store.mark_over(match.match)
    path = put(home, finished)
    home.identity.unlink()  # every world has other players
    with stored(home.path, played, 0, table="Friday"):
        assert transcript_named(home, "last") == path
        unfinished = put(home, played)  # as `matches save` writes it
        assert transcript_named(home, "last") == path
    path.unlink()
    with pytest.raises(NodeError, match="the transcript of the last match is not here"):
        transcript_named(home, "last")
    Home(home.path).store.unlink()
    assert transcript_named(home, "last") == unfinished


def test_the_last_match_is_the_one_that_ended_last_even_if_it_began_first(home: Home, played: World) -> None:
    """After an older match was resumed and finished, ``verify last`` once judged a newer one."""
    older, newer = begun(2), played
    with stored(home.path, older, 0, table="Friday"):
        path = put(home, older)
    home.identity.unlink()  # every world has other players
    with stored(home.path, newer, 0, table="Friday") as (store, _):
        put(home, newer)
        store.mark_over(match(newer))
        store.write(match(older), older.machines[0].disk[:1])
        assert [each.match for each in store.matches()] == [match(newer), match(older)]
        assert archive.find(store.matches(), "last", store.written_last).match == match(older)  # as `matches save` does
        store.mark_over(match(older))
        store.mark_over(match(newer))  # has no effect, as it had ended before
        assert transcript_named(home, "last") == path
        assert archive.find(store.matches(), "last", store.written_last).match == match(older)
        store.forget(match(older))
        assert archive.find(store.matches(), "last", store.written_last).match == match(newer)


def test_if_the_note_file_is_missing_the_last_match_is_the_newest(home: Home, played: World) -> None:
    with stored(home.path, played, 0) as (store, kept):
        store.database.note.remove()
        assert archive.find(store.matches(), "last", store.written_last) == kept


def test_a_watched_match_is_the_last_one_if_it_is_the_newest_finished_match(home: Home, played: World) -> None:
    watched = put(home, ended(2))
    with stored(home.path, played, 0, table="Friday") as (store, match):  # begun in 1970
        put(home, played)
        put(home, begun(3))  # of a forgotten match that never ended
        assert transcript_named(home, "last") == watched
        store.mark_over(match.match)
        last_written(watched, -1)
        assert transcript_named(home, "last") != watched


@pytest.mark.parametrize("has_store", [False, True])
def test_a_spectator_finds_the_watched_match(home: Home, played: World, has_store: bool) -> None:
    path = put(home, ended(2))
    last_written(path, 1_000)
    unfinished = put(home, played)
    if has_store:  # as in every home where a node has run
        archive.open_store(home).close()
    assert transcript_named(home, "last") == path
    path.unlink()
    assert transcript_named(home, "last") == unfinished
    with pytest.raises(NodeError, match="there is no file 2026-11-22-friday here"):
        transcript_named(home, "2026-11-22-friday")


def test_transcript_files_of_an_older_version_are_found(home: Home, played: World) -> None:
    """Their names were the whole id."""
    digits = match(played).hex()
    path = put(home, played, f"{digits}.p2pdice")
    assert {transcript_named(home, name) for name in ("last", digits[:8], digits, f"{digits}.p2pdice")} == {path}


def test_an_existing_path_takes_precedence_over_a_match_name(
    home: Home, played: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, played)
    monkeypatch.chdir(tmp_path)
    Path("last").write_bytes(b"mine")
    assert transcript_named(home, "last") == Path("last")


def test_a_damaged_file_is_found_by_its_name(home: Home) -> None:
    path = home.matches / "2026-11-22-classic-3f2a9c41.p2pdice"
    write_whole(path, b"damaged")
    assert transcript_named(home, path.stem) == path


def test_an_ambiguous_prefix_is_refused(home: Home, played: World) -> None:
    worlds = [begun(seed) for seed in range(20)]
    for world in worlds:
        put(home, world)
    starts = [match(world).hex()[0] for world in worlds]
    twice = next(each for each in starts if starts.count(each) > 1)
    with pytest.raises(NodeError, match=f"{starts.count(twice)} matches begin with {twice}"):
        transcript_named(home, twice)


@pytest.mark.parametrize("text", ["match.p2pdice", "./last", "a/b", "", " ", "../store", "3f2a.txt", "\x1b[2J"])
def test_a_missing_file_is_reported_as_missing(home: Home, played: World, text: str) -> None:
    put(home, played)
    with pytest.raises(FileNotFoundError):
        transcript_named(home, text)


def test_a_match_is_found_by_its_table_and_a_missing_transcript_is_reported(home: Home, played: World) -> None:
    with stored(home.path, played, 0, table="Friday's!") as (_, kept):
        name = kept.name
    assert name == f"{date.fromtimestamp(kept.created)}-fridays"
    for each in (name, name.upper(), match(played).hex()[:8], "last"):
        with pytest.raises(NodeError, match="has no transcript yet") as caught:
            transcript_named(home, each)
        assert caught.value.choices == ((f"p2pdice matches save {name}", "Write down the match so far"),)
    path = put(home, played)
    assert transcript_named(home, name) == path
    with pytest.raises(NodeError, match="no match here is called 2026-01-01-monday"):
        transcript_named(home, "2026-01-01-monday")


def test_transcripts_are_found_while_the_home_is_in_use(home: Home, played: World) -> None:
    with stored(home.path, played, 0, table="Friday") as (_, kept):
        path = put(home, played)
        assert transcript_named(home, match(played).hex()[:8]) == path
        assert transcript_named(home, "last") == path
        assert transcript_named(home, kept.name) == path


def test_the_name_of_a_transcript_file_needs_no_shell_quotes(home: Home, played: World) -> None:
    assert re.fullmatch("[a-z0-9.-]+", put(home, played).name)


HOSTILE = ["../../etc/passwd", "$(reboot)", "; rm -rf ~", "--yes", "-o", "\x1b[2J\u202e", "con", "ﬀ½", "e\u0301" * 50]


@given(st.text() | st.sampled_from(HOSTILE))
def test_every_match_name_is_safe_in_a_shell(text: str) -> None:
    name = slug(text)
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*|", name)
    assert len(name) <= LONGEST_SLUG
    whole = f"2026-11-22-{name or 'classic'}"
    assert shlex.quote(whole) == whole
    assert is_name(whole)


@given(st.text(alphabet="abcdef0123456789-", max_size=60))
def test_no_table_name_looks_like_the_transcript_name_of_a_match(text: str) -> None:
    assert not re.search("-[0-9a-f]{8,}$", slug(text))


@given(st.lists(st.sampled_from(["friday", "friday-2", "friday-99999", "saturday"]), max_size=12))
def test_match_names_are_unique_and_short(tables: list[str]) -> None:
    taken: list[str] = []
    for table in tables:
        taken.append(free_name(f"2026-11-22-{table}", taken))
    assert len(set(taken)) == len(taken)
    assert max(map(len, taken), default=0) <= len("2026-11-22-friday-99999-12")


def test_further_matches_at_a_table_get_a_number() -> None:
    assert free_name("friday", ["friday"]) == "friday-2"
    assert free_name("friday", ["friday", "friday-2"]) == "friday-3"


def test_a_freed_match_name_is_not_reused_while_a_later_number_exists() -> None:
    assert free_name("friday", ["friday-2"]) == "friday-3"


@given(st.binary(min_size=4, max_size=4), st.sets(st.binary(min_size=32, max_size=32), min_size=1, max_size=5))
def test_the_displayed_digits_identify_exactly_one_match(start: bytes, ids: set[bytes]) -> None:
    matches = {start + each[4:] for each in ids} | ids
    for match in matches:
        shown = short_id(match, matches)
        assert len(shown) >= 8
        assert [each for each in matches if each.hex().startswith(shown)] == [match]
