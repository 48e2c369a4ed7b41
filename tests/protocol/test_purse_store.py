"""Purses in the store: what is kept comes back, and a long life makes nothing slow."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from protocol.consensus.purse_proofs import End, read_proof, write_fork
from protocol.consensus.settlements import read_evidence
from protocol.consensus.voids import void_data, write_void
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import Identity, MatchKey, PublicKey, PurseKey, fingerprint
from protocol.limits import PURSES_SEEN
from protocol.match.own_purse import OwnPurse, PurseError
from protocol.node.purse_keeper import PurseKeeper, Taken
from protocol.storage import archive, purses
from protocol.storage.home import Home
from protocol.storage.store import Store, StoreError
from protocol.wire.genesis import Join, match_id
from protocol.wire.purses import EntryKind, Freeze, Frozen, MalformedPurseError, Purse, following
from tests.protocol.long_purses import OWNER, RULES, fill, settled
from tests.protocol.test_purses import Owner, evidence_of, forked, matches, play
from tests.simulation.world import World, identity_of


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    with closing(Store(home.store)) as opened:
        yield opened


def keeper(store: Store, told: list[str] | None = None) -> PurseKeeper:
    return PurseKeeper(store, OWNER.public, (told if told is not None else []).append)


def test_a_purse_comes_back_as_it_was(store: Store) -> None:
    own = keeper(store).own
    for seed in range(3):
        settled(own, seed)
    again = keeper(store).own
    assert again.purse == own.purse
    assert again.proof() == own.proof()
    assert again.key.public == own.key.public
    assert read_proof(again.proof()).purse == own.purse


def test_nobody_uses_up_the_grant_of_another_identity(store: Store) -> None:
    """Anybody can sign an OPENING that names somebody else. It once barred that newcomer from every such table."""
    keeps, victim = keeper(store), identity_of(b"victim", 0)
    forged, true = (OwnPurse.opened(bytes([seed]) * 32, victim.public, lambda *_: None) for seed in (1, 2))
    for each in (forged, true):
        keeps.take(each.proof())
    join = cast("Join", SimpleNamespace(identity=victim.public, purse=true.purse))
    assert keeps.flaw(join) == ""


def test_its_entries_and_partners_can_be_looked_at(store: Store) -> None:
    own = keeper(store).own
    for seed in range(3):
        settled(own, seed)
    lines = store.purses.lines(own.purse.key, 3)
    assert [line.height for line in lines] == [6, 5, 4]
    everything = store.purses.lines(own.purse.key, -1)
    assert sum(line.change for line in everything if line.kind is not EntryKind.FREEZE) == own.purse.balance
    partners = store.purses.partners(own.purse.key)
    assert sum(partner.change for partner in partners) == own.purse.balance - 1000
    assert {partner.fingerprint for partner in partners} == {
        fingerprint(Owner(f"other {number}").identity.public) for number in range(3)
    }


def test_a_forfeit_is_kept_with_what_it_cost(store: Store) -> None:
    own = keeper(store).own
    own.freeze(following(own.purse, Freeze(bytes(32), 70, 0)))
    own.forfeit(bytes(32))
    assert [(line.kind, line.change) for line in store.purses.lines(own.purse.key, 1)] == [(EntryKind.FORFEIT, -70)]
    assert keeper(store).own.purse.balance == 930


def test_after_an_end_the_next_purse_has_no_grant(store: Store) -> None:
    told: list[str] = []
    first = keeper(store, told)
    ended = first.own.purse.key
    one, other = (OwnPurse(PurseKey(seed(store)), first.own.shown, lambda *_: None) for _ in range(2))
    one.freeze(following(one.purse, Freeze(bytes(32), 1, 0)))
    other.freeze(following(other.purse, Freeze(b"1" * 32, 1, 0)))
    fork = write_fork((one.shown.entries[1], other.shown.entries[1]))
    assert first.take(fork).news
    assert "has ended" in told[0]
    assert first.own.purse.key != ended
    assert first.own.purse.balance == 0
    assert keeper(store).own.purse.key == first.own.purse.key


def seed(store: Store) -> bytes:
    found = store.purses.own(OWNER.public)
    assert found is not None
    return found[0]


def test_an_entry_that_could_not_be_kept_is_not_signed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a stake could be sent that a restarted node does not know."""
    own = keeper(store).own
    before = own.purse

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(own, "_keep", fail)
        with pytest.raises(StoreError):
            own.freeze(following(before, Freeze(bytes(32), 1, 0)))
    assert own.purse == before == keeper(store).own.purse


def stored_match(store: Store, *, is_over: bool, seed: int = 3) -> bytes:
    """Play a match against somebody, and store it like a node that stopped before it could settle it."""
    world = World(RULES, 2, seed, owners=[(OWNER, keeper(store).own), Owner("other").seat])
    world.run()
    match, key = match_id(world.data), MatchKey(world.seeds[0]).public
    store.add_seed(key, world.seeds[0])
    store.add_match(match, world.data, key, created=0, port=0)
    store.mark_formed(match)
    store.write(match, [*world.machines[0].disk, *world.machines[0].unwritten])
    if is_over:
        store.mark_over(match)
    return evidence_of(world).encoded()


def test_a_settlement_that_was_put_off_is_made_up_when_the_purse_is_brought(store: Store) -> None:
    ended = read_evidence(stored_match(store, is_over=True))
    assert keeper(store).own.purse.frozen_for(ended.match) is not None
    told: list[str] = []
    purse, proof = keeper(store, told).bring()
    assert not purse.frozen
    assert purse.balance == 1000 + ended.account.changes(ended.genesis, 0)[0] != 1000
    assert read_proof(proof).purse == purse == keeper(store).own.purse
    assert "your purse has" in told[0]


def test_an_end_that_somebody_hands_back_is_settled_once(store: Store) -> None:
    own, other = keeper(store).own, Owner("other")
    world = World(RULES, 2, 3, owners=[(OWNER, own), other.seat])
    world.run()
    evidence = evidence_of(world).encoded()
    told: list[str] = []
    mine = keeper(store, told)
    match = match_id(world.data)
    elsewhere = evidence_of(play([Owner("x"), Owner("y")], 62)).encoded()
    for wrong in (elsewhere, evidence[:-1]):
        with pytest.raises(MalformedPurseError):
            mine.take(End(own.purse.key, EntryKind.SETTLEMENT, match, wrong).encoded())
    of_other = End(other.purse.key, EntryKind.SETTLEMENT, match, evidence)
    taken = mine.take(of_other.encoded())
    assert taken == Taken(other.purse.key, news=of_other.encoded(), end=of_other)
    assert mine.own.purse.frozen
    assert told == []
    end = of_other._replace(key=own.purse.key).encoded()
    assert mine.take(end) == Taken(own.purse.key, news=end)
    assert not mine.own.purse.frozen
    assert len(told) == 1
    assert mine.take(end) == Taken(own.purse.key)
    assert keeper(store).own.purse == mine.own.purse


def test_only_ends_of_ones_own_matches_are_handed_back_and_only_to_who_was_in_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = keeper(store), Owner("other")
    world = World(RULES, 2, 1, owners=[(OWNER, mine.own), other.seat])
    world.run()
    evidence = evidence_of(world).encoded()
    join = next(each.join for each in world.genesis.roster if each.join.identity == other.identity.public)
    staked = join._replace(purse=other.purse)
    assert mine.ends(staked) == ()
    assert mine.own.settle(evidence) is not None
    assert mine.ends(staked) == (End(other.purse.key, EntryKind.SETTLEMENT, match_id(world.data), evidence),)
    # No signature is checked for that: a host with many strangers could keep a node busy.
    monkeypatch.setattr(PublicKey, "verifies", None)
    assert mine.ends(staked)
    (frozen,) = other.purse.frozen
    for purse in (
        None,
        join.purse,
        Owner("stranger").purse._replace(frozen=(frozen,)),
        other.purse._replace(frozen=(frozen._replace(match=bytes(32)),)),
        other.purse._replace(key=mine.own.purse.key),
    ):
        assert mine.ends(join._replace(purse=purse)) == ()


def test_that_a_match_is_void_is_handed_back_too(store: Store) -> None:
    told: list[str] = []
    mine, other = keeper(store, told), Owner("other")
    world = World(RULES, 2, 1, owners=[(OWNER, mine.own), other.seat])
    world.run()
    match = match_id(world.data)
    signatures = {author: MatchKey(seed).sign(void_data(match)) for author, seed in enumerate(world.seeds)}
    end = End(mine.own.purse.key, EntryKind.VOID, match, write_void(world.data, signatures))
    assert mine.take(end.encoded()).news
    assert (mine.own.purse.funds, mine.own.purse.frozen) == (1000, ())
    assert "void" in told[0]
    assert mine.take(end.encoded()) == Taken(end.key)
    join = next(each.join for each in world.genesis.roster if each.join.identity == other.identity.public)
    assert mine.ends(join._replace(purse=other.purse)) == (end._replace(key=other.purse.key),)


def test_a_stake_stays_frozen_until_its_match_is_over(store: Store) -> None:
    stored_match(store, is_over=False)
    assert len(keeper(store).bring()[0].frozen) == 1


def test_a_damaged_match_keeps_nobody_from_bringing_the_purse(home: Home) -> None:
    with closing(Store(home.store)) as store:
        stored_match(store, is_over=True)
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("UPDATE matches SET genesis = x'00'")
        database.commit()
    with closing(Store(home.store)) as store:
        assert len(keeper(store).bring()[0].frozen) == 1


def test_a_purse_without_room_for_another_stake_is_not_brought(store: Store) -> None:
    own = keeper(store).own
    for number in count():
        match = number.to_bytes(32)
        if not own.has_room:
            break
        assert own.freeze(following(own.purse, Freeze(match, 1, 0))) is not None
        if own.has_room:
            own.forfeit(match)
    with pytest.raises(PurseError, match="no room for another one"):
        keeper(store).bring()


def test_newer_entries_that_are_handed_back_are_kept_together_or_not_at_all(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power fails between two of them."""
    before = keeper(store).own.purse
    ahead = OwnPurse(PurseKey(seed(store)), keeper(store).own.shown, lambda *_: None)
    settled(ahead, 1)
    insert, inserted = purses._insert, []

    def fail_at_the_second(database: sqlite3.Connection, *rest: Any) -> None:
        inserted.append(rest)
        if len(inserted) == 2:
            raise sqlite3.OperationalError("disk I/O error")
        insert(database, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(purses, "_insert", fail_at_the_second)
        with pytest.raises(StoreError):
            keeper(store).take(ahead.proof())
    assert len(inserted) == 2
    assert keeper(store).own.purse == before
    assert keeper(store).take(ahead.proof()).news
    assert keeper(store).own.purse == ahead.purse
    assert keeper(store).own.proof() == ahead.proof()


def test_of_entries_that_are_handed_back_only_the_newer_ones_are_kept(store: Store) -> None:
    """A proof can begin far below the head that is here."""
    begun = keeper(store).own
    ahead = OwnPurse(begun.key, begun.shown, lambda *_: None)
    for number in range(4):
        ahead.freeze(following(ahead.purse, Freeze(bytes((number,)) * 32, 1, 0)))
        if number % 2:
            assert keeper(store).take(ahead.proof()).news
            assert keeper(store).own.shown == ahead.shown
    assert [line.height for line in store.purses.lines(ahead.purse.key, -1)] == [4, 3, 2, 1, 0]


def test_the_newest_that_was_seen_of_others_is_kept(store: Store) -> None:
    owners = [Owner(name) for name in "ab"]
    known = keeper(store)
    old = owners[0].own.proof()
    assert known.take(old).news
    assert known.knows(old)
    matches(owners, range(2))
    new = owners[0].own.proof()
    assert not known.knows(new)
    assert known.take(new).news
    taken = known.take(old)
    assert (taken.back, taken.news) == ((new,), b"")


def test_what_was_only_shown_is_not_stored(store: Store) -> None:
    """Else anybody could fill the disk with purses that nobody plays with."""
    one, other = forked()
    known = keeper(store)
    known.take(one.encoded())
    assert known.take(other.encoded()).news
    assert known.take(one.encoded()).back
    assert not store._read("SELECT key FROM purses_met", (), (bytes,))


def test_so_many_purses_that_were_only_shown_are_remembered_and_no_more(store: Store) -> None:
    known = keeper(store)
    proofs = [Owner(f"{number}").own.proof() for number in range(PURSES_SEEN + 1)]
    for proof in proofs:
        known.take(proof)
    assert [known.knows(proof) for proof in proofs] == [False] + [True] * PURSES_SEEN


def test_stakes_that_were_seen_are_kept_of_others(store: Store) -> None:
    """So an owner who goes back to a time before a match cannot bet again what they have lost in it."""
    owners = [Owner(name) for name in "cd"]
    known = keeper(store)
    shown = [owner.own.proof() for owner in owners]
    for proof in shown:
        known.take(proof)
    world = play(owners, 5)
    known.note(world.machines[0].match.history)
    for owner, proof in zip(owners, shown, strict=True):
        met = store.purses.met(owner.purse.key)
        assert met is not None
        assert met.shown is not None
        assert met.shown.purse.height == 1
        assert known.take(proof).back == (met.proof,)


def test_a_fork_is_kept_and_shown_to_whoever_shows_the_purse_again(store: Store) -> None:
    one, other = forked()
    store.purses.remember(one)
    known = keeper(store)
    assert not known.take(one.encoded()).back
    fork = known.take(other.encoded())
    assert fork.back == (fork.news,)
    for again in (known, keeper(store)):
        assert again.take(one.encoded()).back == fork.back
        assert not again.take(fork.news).news
        assert not again.knows(one.encoded())  # else nobody would look at it, and its owner would hear nothing


def test_a_second_grant_is_refused_also_after_a_restart(store: Store) -> None:
    first = Owner("e")
    again = OwnPurse.opened(tagged_hash("another", b""), first.identity.public, lambda *_: None)
    joins = [
        cast("Join", SimpleNamespace(identity=first.identity.public, purse=own.purse)) for own in (first.own, again)
    ]
    known = keeper(store)
    for own in (first.own, again):
        known.take(own.proof())
    assert known.flaw(joins[1]) == ""  # anybody could have written the other OPENING
    store.purses.remember(first.own.shown)
    known = keeper(store)
    known.take(again.proof())
    assert known.flaw(joins[0]) == ""
    assert "newcomer" in known.flaw(joins[1])


def test_a_second_grant_is_refused_by_whoever_met_the_first_purse_late(store: Store) -> None:
    """What is shown of a purse after its first settlement does not say with what it was opened."""
    owners = [Owner(name) for name in "fg"]
    matches(owners, range(1))
    known = keeper(store)
    for owner in owners:
        known.take(owner.own.proof())
    known.note(play(owners, 1).machines[0].match.history)
    first = owners[0]
    met = store.purses.met(first.purse.key)
    assert met is not None
    assert met.shown is not None
    assert met.shown.grant is None
    again = OwnPurse.opened(tagged_hash("another", b"f"), first.identity.public, lambda *_: None)
    known.take(again.proof())
    assert "newcomer" in known.flaw(cast("Join", SimpleNamespace(identity=first.identity.public, purse=again.purse)))


def test_damage_is_told_from_an_empty_purse(home: Home) -> None:
    with closing(Store(home.store)) as store:
        own = keeper(store).own
        own.freeze(following(own.purse, Freeze(bytes(32), 1, 0)))
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("DELETE FROM purse_entries WHERE height = 1")
        database.commit()
    with closing(Store(home.store)) as store, pytest.raises(StoreError, match="not all there"):
        _ = keeper(store).own
    with closing(Store(home.store)) as store:
        keeper(store).begin_anew()  # that helps
        own = keeper(store).own
        for number in (1, 2):
            own.freeze(following(own.purse, Freeze(bytes(31) + bytes((number,)), 0, 0)))
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("DELETE FROM purse_entries WHERE purse = 2 AND height = 1")
        database.commit()
    with closing(Store(home.store)) as store, pytest.raises(StoreError, match="not all there"):
        _ = keeper(store).own
    with closing(sqlite3.connect(home.store)) as database:
        database.execute("UPDATE purses SET state = x'90'")
        database.commit()
    with archive.read_store(home) as reader, pytest.raises(StoreError, match="damaged"):
        archive.purse(home, reader)


def steps(home: Home) -> int:
    """Return how many steps the database takes when the owner brings the purse, to the nearest ten."""
    taken = 0

    def count_step() -> int:
        nonlocal taken
        taken += 10
        return 0

    with closing(Store(home.store)) as store:
        store._db.set_progress_handler(count_step, 10)
        keeps = keeper(store)
        purse, proof = keeps.bring()
        assert read_proof(proof).purse == purse
        stranger = Purse(b"k" * 32, 1, b"h" * 32, 1000, (Frozen(b"m" * 32, 1, 0, 1),))
        assert keeps.ends(cast("Join", SimpleNamespace(identity=b"i" * 32, purse=stranger))) == ()
    return taken


def test_bringing_a_purse_takes_no_longer_after_ten_thousand_settlements(tmp_path: Path) -> None:
    short, long = Home(tmp_path / "short"), Home(tmp_path / "long")
    fill(short, 10)
    fill(long, 10_000)
    assert 0 < steps(long) < 2 * steps(short)


def test_so_many_settlements_can_be_looked_at(home: Home) -> None:
    fill(home, 10_000)
    Identity(OWNER.private_key).save(home.identity)
    with archive.read_store(home) as store:
        purse = archive.purse(home, store)
        assert purse is not None
        lines, partners = store.purses.lines(purse.key, 12), store.purses.partners(purse.key)
    assert (purse.height, len(lines), len(partners)) == (20_002, 12, 76)
