"""``p2pdice purse void``: if all players sign that a match is void, they get their stakes back."""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from cli.exits import ExitCode
from protocol.consensus.ends import stake_in, stakes_of
from protocol.crypto.keys import MatchKey
from protocol.node.purse import PurseKeeper
from protocol.storage.home import Home
from protocol.storage.stakes import Voiding
from protocol.storage.store import Store
from protocol.wire.genesis import match_id
from protocol.wire.messages import Kind, Signed, sign
from protocol.wire.purses import MalformedPurseError
from tests.programs import Done, run_here
from tests.protocol.test_backup import OWNER, fill
from tests.protocol.test_ends import ONE_DIE
from tests.simulation.world import World, identity_of

NAMES = "abc"
Command = Callable[..., Done]


def keeper(store: Store, name: str) -> PurseKeeper:
    return PurseKeeper(store, identity_of(name.encode(), 0).public, lambda _: None)


@pytest.fixture
def match(tmp_path: Path) -> bytes:
    """An unfinished match whose three players have opened their stakes. Each player's home contains it."""
    return kept_by_three(tmp_path, lambda messages, *_: messages[:20])


def kept_by_three(tmp_path: Path, kept: Callable[[list[Signed], int, MatchKey], Iterable[Signed]]) -> bytes:
    """Let three players play for stakes, each with a home; return the id of the match.

    :param kept: selects the messages that a home keeps, given all messages, the roster index, and the match key.
    """
    stores = [Store(Home(tmp_path / name).store) for name in NAMES]
    owners = [(identity_of(name.encode(), 0), keeper(store, name)) for name, store in zip(NAMES, stores, strict=True)]
    world = World(ONE_DIE, 3, 7, owners=[(identity, each.own.purse.head) for identity, each in owners])
    world.run()
    found, stakes = match_id(world.data), stakes_of(world.machines[0].match.history)
    for author, record in enumerate(world.genesis.roster):
        place = next(place for place, (who, _) in enumerate(owners) if who.public == record.join.identity)
        (identity, purse), store, seed = owners[place], stores[place], world.seeds[author]
        machine = world.machines[author]
        store.add_seed(MatchKey(seed).public, seed)
        store.add_match(found, world.data, MatchKey(seed).public, created=0, port=0)
        store.mark_formed(found)
        store.write(found, kept([*machine.disk, *machine.unwritten], author, MatchKey(seed)))
        purse.bind(found, world.genesis)
        assert purse.open_stake(found, world.genesis, stake_in(stakes[author]))
        purse.note_stakes(found, world.genesis, stakes)
        store.close()
        identity.save(Home(tmp_path / NAMES[place]).identity)
    return found


@pytest.fixture
def at(tmp_path: Path) -> Command:
    return lambda name, *arguments: run_here(*arguments, home=tmp_path / name)


def line_of(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("VOID-"))


def funds(at: Command, name: str) -> int:
    found = json.loads(at(name, "purse", "--json").stdout)
    return int(found["balance"]) - (found["busy"]["bet"] if found["busy"] else 0)


def test_with_the_lines_of_all_players_every_stake_is_returned(match: bytes, at: Command, tmp_path: Path) -> None:
    lines = {name: line_of(at(name, "purse", "void", match.hex(), "--yes")) for name in NAMES}
    assert all(funds(at, name) < 1000 for name in NAMES)
    for name in NAMES:
        others = [line for other, line in lines.items() if other != name]
        done = at(name, "purse", "void", match.hex(), *others)
        assert "The match is void" in done.stdout
        assert line_of(done) == lines[name]
        assert funds(at, name) == 1000
        again = at(name, "purse", "void", match.hex())
        assert "The match is void already." in again.stdout
        assert "Not here yet" not in again.stdout
        with closing(Store(Home(tmp_path / name).store)) as store:
            own = keeper(store, name).own
        assert (own.busy, own.purse.end.balance, own.purse.records[0].change) == (b"", 1000, 0)


def test_void_prints_json(match: bytes, at: Command) -> None:
    asked = at("a", "purse", "void", match.hex(), "--json")
    assert asked.returncode == ExitCode.USAGE
    assert asked.stdout == ""
    first = json.loads(at("a", "purse", "void", match.hex(), "--yes", "--json").stdout)
    busy = json.loads(at("a", "purse", "--json").stdout)["busy"]
    assert (first["match"], first["bet"], first["tickets"]) == (match.hex(), busy["bet"], busy["tickets"])
    assert first["line"].startswith("VOID-")
    assert (len(first["missing"]), first["void"]) == (2, False)
    lines = [json.loads(at(name, "purse", "void", match.hex(), "--yes", "--json").stdout)["line"] for name in "bc"]
    last = json.loads(at("a", "purse", "void", match.hex(), *lines, "--json").stdout)
    assert last == {**first, "missing": [], "void": True}
    again = json.loads(at("a", "purse", "void", match.hex(), "--json").stdout)
    assert (again["missing"], again["void"]) == ([], True)
    assert funds(at, "a") == 1000


def test_players_whose_lines_are_missing_are_named(match: bytes, at: Command) -> None:
    first = at("a", "purse", "void", match.hex(), "--yes")
    assert "Still missing: the lines of player " in first.stdout
    assert first.stdout.count("player ") == 2
    second = at("b", "purse", "void", match.hex(), "--yes", line_of(first))
    assert second.stdout.count("player ") == 1
    assert funds(at, "b") < 1000


def test_nothing_is_signed_without_confirmation(match: bytes, at: Command, tmp_path: Path) -> None:
    asked = at("a", "purse", "void", match.hex())
    assert asked.returncode == ExitCode.USAGE
    assert "VOID-" not in asked.stdout
    with closing(Store(Home(tmp_path / "a").store)) as store:
        assert not store.matches()[0].void


def test_a_player_who_signed_a_void_cannot_resume_the_match(match: bytes, at: Command, tmp_path: Path) -> None:
    """Otherwise they could lose the match and still get their stake back."""
    assert "To play on" in at("a", "purse").stdout
    at("a", "purse", "void", match.hex(), "--yes")
    assert "To play on" not in at("a", "purse").stdout
    assert [each["state"] for each in json.loads(at("a", "matches", "--json").stdout)["matches"]] == ["void"]
    assert "; you have signed that it is void" in at("a", "matches").stdout
    assert "p2pdice" not in at("a", "matches").stdout  # neither resume nor verify is suggested
    resumed = at("a", "resume", match.hex())
    assert resumed.returncode != 0
    assert "You have signed that" in resumed.stderr
    assert "no unfinished match" in at("a", "resume").stderr


def test_a_void_is_stored_before_it_is_signed(match: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with closing(Store(Home(tmp_path / "a").store)) as store:
        monkeypatch.setattr(store, "mark_void", fail)
        with pytest.raises(OSError, match="full"):
            Voiding(store, match).sign()


@pytest.mark.parametrize("ending", ["the end", "a resignation", "a resignation in a history that was left"])
def test_a_player_who_signed_the_end_cannot_sign_a_void(tmp_path: Path, at: Command, ending: str) -> None:
    """Otherwise the winner could settle the match by its end, while the others take their stakes back."""

    def kept(messages: list[Signed], me: int, key: MatchKey) -> Iterable[Signed]:
        if ending == "the end":
            return [each for each in messages if each.message.kind != Kind.RESULT or each.message.author == me]
        place, last = next(
            (place, each) for place, each in enumerate(messages) if place >= 20 and each.message.author == me
        )
        resigned = last.message._replace(kind=Kind.RESIGN, body=())
        if ending == "a resignation":
            return [*messages[:place], sign(resigned, key)]
        return [*messages[:place], sign(resigned._replace(tip=bytes(32)), key)]

    match = kept_by_three(tmp_path, kept)
    refused = at("a", "purse", "void", match.hex(), "--yes")
    assert "You have signed the end of that match" in " ".join(refused.stderr.split())
    assert "VOID-" not in refused.stdout


def test_a_finished_match_cannot_be_void(at: Command, tmp_path: Path) -> None:
    match = kept_by_three(tmp_path, lambda messages, *_: messages)
    with closing(Store(Home(tmp_path / "a").store)) as store:
        store.mark_over(match)
        assert not keeper(store, "a").find_hindrance()  # the match settled the purse
    refused = at("a", "purse", "void", match.hex(), "--yes")
    assert "match is over" in refused.stderr
    assert "VOID-" not in refused.stdout


def written(match: bytes, signature: bytes) -> str:
    return "VOID-" + b32encode(match + signature).decode().rstrip("=")


def test_wrong_lines_are_refused_with_the_reason(match: bytes, at: Command) -> None:
    line = line_of(at("b", "purse", "void", match.hex(), "--yes"))
    stranger = written(match, MatchKey(bytes(32)).sign(b"anything"))
    elsewhere = written(bytes(32), bytes(64))
    for wrong, reason in (
        ("hello", "begins with VOID-"),
        (line[:-1], "and this one 153"),
        (line + "A", "and this one 155"),
        (line[:-1] + "1", "only the letters"),
        (elsewhere, "another match"),
        (stranger, "none of the players"),
    ):
        refused = at("a", "purse", "void", match.hex(), "--yes", wrong)
        assert refused.returncode == ExitCode.USAGE
        assert reason in " ".join(refused.stderr.split())
        assert "VOID-" not in refused.stdout
    spaced = at("a", "purse", "void", match.hex(), "--yes", f" {line[:40].lower()} {line[40:]}")
    assert spaced.stdout.count("player ") == 1
    broken = at("a", "purse", "void", match.hex(), "--yes", line[:80], line[80:])
    assert broken.stdout.count("player ") == 1


def test_a_player_without_a_frozen_stake_can_still_sign(match: bytes, at: Command) -> None:
    """They staked nothing, or gave up their stake. The others still need their line."""
    at("a", "purse", "forfeit", "--yes")
    lines = {name: line_of(at(name, "purse", "void", match.hex(), "--yes")) for name in NAMES}
    before = funds(at, "a")
    for name in "ba":
        done = at(name, "purse", "void", match.hex(), *(line for other, line in lines.items() if other != name))
        assert done.returncode == 0
        assert "The match is void." in done.stdout
        assert ("back" in done.stdout) == (name == "b")
    assert (funds(at, "a"), funds(at, "b")) == (before, 1000)
    assert line_of(at("b", "purse", "void", match.hex())) == lines["b"]  # in case the player has lost the line


def test_a_match_without_stakes_cannot_be_void(at: Command, tmp_path: Path) -> None:
    with closing(Store(Home(tmp_path / "a").store)) as store:
        fill(store)
        match = store.matches()[0].match
    OWNER.save(Home(tmp_path / "a").identity)
    refused = at("a", "purse", "void", match.hex(), "--yes")
    assert "No match with stakes is called" in refused.stderr


def test_a_forgotten_match_cannot_be_void(match: bytes, at: Command, tmp_path: Path) -> None:
    with closing(Store(Home(tmp_path / "a").store)) as store:
        store.forget(match)
    refused = at("a", "purse", "void", match.hex(), "--yes")
    assert refused.returncode != 0
    assert "No match with stakes is called" in refused.stderr


def test_no_purse_accepts_a_void_without_all_signatures(match: bytes, tmp_path: Path) -> None:
    with closing(Store(Home(tmp_path / "a").store)) as store:
        voiding = Voiding(store, match)
        voiding.sign()
        own = keeper(store, "a")
        with pytest.raises(MalformedPurseError, match="all its players"):
            own.take_evidence(voiding.evidence)
        assert own.own.busy == match
