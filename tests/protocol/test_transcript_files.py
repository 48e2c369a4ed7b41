"""Transcripts on disk: what their files are called, and that none takes the place of another."""

from __future__ import annotations

import os
import re
import time
from datetime import date
from pathlib import Path

import pytest

from p2pdice.rulesets import PRESETS
from protocol.errors import NodeError
from protocol.files import write_whole
from protocol.storage.archive import TranscriptFile, transcript_named, transcript_of, transcript_path, transcripts
from protocol.storage.home import Home
from tests.protocol.test_archive import stored
from tests.simulation.world import World

CLASSIC = PRESETS["classic"]
BEGUN = int(time.mktime((2026, 11, 22, 20, 15, 0, 0, 0, -1)))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(scope="module")
def played() -> World:
    """A match that has begun."""
    return begun(1)


def begun(seed: int) -> World:
    world = World(CLASSIC, 2, seed)
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    return world


def content(world: World) -> bytes:
    from protocol.consensus.transcript import write_transcript

    return write_transcript(world.machines[0].match.history)


def match(world: World) -> bytes:
    return world.machines[0].match.history.match


def put(home: Home, world: World, name: str = "") -> Path:
    path = home.matches / name if name else transcript_path(home, match(world), BEGUN, "classic")
    write_whole(path, content(world))
    return path


def test_a_file_is_named_by_day_rules_and_the_first_digits_of_the_id(home: Home, played: World) -> None:
    digits = match(played).hex()[:8]
    assert put(home, played).name == f"2026-11-22-classic-{digits}.p2pdice"
    house = transcript_path(Home(home.path / "other"), match(played), BEGUN, "house-rules")
    assert house.name == f"2026-11-22-house-rules-{digits}.p2pdice"


def test_a_match_has_one_file_whatever_day_it_is_and_whatever_the_file_is_called(home: Home, played: World) -> None:
    first = put(home, played)
    assert transcript_path(home, match(played), BEGUN + 100_000, "classic") == first
    old = first.rename(home.matches / f"{match(played).hex()}.p2pdice")
    assert transcript_path(home, match(played), BEGUN, "classic") == old
    assert transcript_of(home, match(played)) == old


@pytest.mark.parametrize("what", ["another match", "nothing to be read", "a folder"])
def test_another_file_is_never_overwritten(home: Home, played: World, what: str) -> None:
    """Two ids that share eight digits: the file that has the name already stays what it is."""
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


def test_proofs_and_unreadable_files_are_no_transcripts(home: Home, played: World) -> None:
    path = put(home, played)
    write_whole(home.matches / "x.p2pdice", b"\x92\xb4p2pdice/3/transcript\xc6\xff\xff\xff\xff")
    write_whole(home.matches / "y.p2pdice", b"")
    assert list(transcripts(home)) == [TranscriptFile(match(played), path, played.data)]


# Naming one


def last_written(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


@pytest.mark.parametrize("named", ["last", "LAST", "id", "ID", "digits", "file", "file without its end", "path"])
def test_a_transcript_is_named_by_last_its_id_or_its_file(home: Home, played: World, named: str) -> None:
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


def test_the_last_match_is_the_newest_finished_one_even_if_one_was_begun_after_it(home: Home, played: World) -> None:
    """``verify last`` failed all evening long, as soon as the second match had begun."""
    finished = begun(2)
    with stored(home.path, finished, 0, table="Friday") as (store, match):
        store.mark_over(match.match)
    path = put(home, finished)
    home.identity.unlink()  # each of these worlds has players of its own
    with stored(home.path, played, 0, table="Friday"):
        assert transcript_named(home, "last") == path
        unfinished = put(home, played)  # as matches save writes it
        assert transcript_named(home, "last") == path
    path.unlink()
    with pytest.raises(NodeError, match="the transcript of the last match is not here"):
        transcript_named(home, "last")
    Home(home.path).store.unlink()
    assert transcript_named(home, "last") == unfinished


def test_a_match_that_was_watched_is_the_last_one_if_it_is_the_newest_that_is_finished(
    home: Home, played: World
) -> None:
    watched = put(home, begun(2))
    with stored(home.path, played, 0, table="Friday") as (store, match):  # begun in 1970
        put(home, played)
        assert transcript_named(home, "last") == watched
        store.mark_over(match.match)
        last_written(watched, -1)
        assert transcript_named(home, "last") != watched


def test_a_spectator_without_a_store_finds_the_watched_match(home: Home, played: World) -> None:
    path = put(home, played)
    assert not home.store.exists()
    assert transcript_named(home, "last") == path
    with pytest.raises(NodeError, match="there is no file 2026-11-22-friday here"):
        transcript_named(home, "2026-11-22-friday")


def test_the_files_of_an_older_version_are_found(home: Home, played: World) -> None:
    """They were named by the whole id."""
    digits = match(played).hex()
    path = put(home, played, f"{digits}.p2pdice")
    assert {transcript_named(home, name) for name in ("last", digits[:8], digits, f"{digits}.p2pdice")} == {path}


def test_a_file_that_exists_wins(home: Home, played: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, played)
    monkeypatch.chdir(tmp_path)
    Path("last").write_bytes(b"mine")
    assert transcript_named(home, "last") == Path("last")


def test_a_damaged_file_is_found_by_its_name(home: Home) -> None:
    path = home.matches / "2026-11-22-classic-3f2a9c41.p2pdice"
    write_whole(path, b"damaged")
    assert transcript_named(home, path.stem) == path


def test_a_name_that_could_be_two_is_none(home: Home, played: World) -> None:
    worlds = [begun(seed) for seed in range(20)]
    for world in worlds:
        put(home, world)
    starts = [match(world).hex()[0] for world in worlds]
    twice = next(each for each in starts if starts.count(each) > 1)
    with pytest.raises(NodeError, match=f"{starts.count(twice)} matches begin with {twice}"):
        transcript_named(home, twice)


@pytest.mark.parametrize("text", ["match.p2pdice", "./last", "a/b", "", " ", "../store", "3f2a.txt", "\x1b[2J"])
def test_a_missing_file_is_said_to_be_missing(home: Home, played: World, text: str) -> None:
    put(home, played)
    with pytest.raises(FileNotFoundError):
        transcript_named(home, text)


def test_by_its_table_a_match_is_found_and_one_without_a_transcript_is_said_to_have_none(
    home: Home, played: World
) -> None:
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


def test_while_somebody_plays_transcripts_are_named_as_ever(home: Home, played: World) -> None:
    with stored(home.path, played, 0, table="Friday") as (_, kept):
        path = put(home, played)
        assert transcript_named(home, match(played).hex()[:8]) == path
        assert transcript_named(home, "last") == path
        assert transcript_named(home, kept.name) == path


def test_a_printed_path_needs_no_quotes(home: Home, played: World) -> None:
    assert re.fullmatch("[a-z0-9.-]+", put(home, played).name)
