"""What a node makes of purses: which of them are in order, what is shown to whom, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from protocol.consensus.history import History
from protocol.consensus.purse_proofs import write_fork
from protocol.consensus.settlements import read_evidence
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import fingerprint
from protocol.errors import NodeError
from protocol.limits import FROZEN, PURSES_SEEN
from protocol.match import own_purse
from protocol.match.own_purse import OwnPurse, PurseError
from protocol.node import purse_keeper
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.store import Store, StoreError
from protocol.storage.voiding import Voiding
from protocol.wire.canonical import encode
from protocol.wire.genesis import Join
from protocol.wire.purses import EntryKind, Freeze, Purse, following
from tests.protocol.long_purses import OWNER, RULES, settled
from tests.protocol.test_purse_store import stored_match
from tests.protocol.test_purses import Owner, evidence_of, forked, matches, play, settle
from tests.simulation.world import World, identity_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(Home(tmp_path / "home").store)) as opened:
        yield opened


def keeper(store: Store, told: list[str] | None = None, identity: bytes = OWNER.public) -> PurseKeeper:
    return PurseKeeper(store, identity, (told if told is not None else []).append)


def join(owner: Owner, purse: Purse | None = None) -> Join:
    return cast("Join", SimpleNamespace(identity=owner.identity.public, purse=purse or owner.purse))


def mine(keeps: PurseKeeper, identity: bytes = OWNER.public) -> Join:
    return cast("Join", SimpleNamespace(identity=identity, purse=keeps.own.purse))


def run(store: Store, name: str) -> World:
    """Play a match of the store's owner against somebody; nothing is settled."""
    world = World(RULES, 2, 3, owners=[(OWNER, keeper(store).own), Owner(name).seat])
    world.run()
    return world


# In order


def test_a_purse_is_in_order_exactly_as_it_was_shown(store: Store) -> None:
    keeps, owner = keeper(store), Owner("a")
    freezing = owner.own.freeze(following(owner.purse, Freeze(bytes(32), 10, 0)))
    assert freezing is not None
    assert keeps.flaw(join(owner)) == "the purse was not shown"
    keeps.take(owner.own.proof())
    right = owner.purse
    assert keeps.flaw(join(owner)) == ""
    for wrong, why in (
        (right._replace(balance=right.balance + 1), "not as it was shown"),
        (right._replace(frozen=()), "not as it was shown"),
        (right._replace(head=bytes(32)), "not as it was shown"),
        (right._replace(height=right.height - 1), "newer entries"),
        (right._replace(height=right.height + 1), "how the purse goes on"),
    ):
        assert why in keeps.flaw(join(owner, wrong))
    stolen = cast("Join", SimpleNamespace(identity=identity_of(b"thief", 0).public, purse=right))
    assert "somebody else's" in keeps.flaw(stolen)
    assert keeps.flaw(cast("Join", SimpleNamespace(identity=OWNER.public, purse=None))) == "no purse was shown"


def test_ones_own_purse_is_in_order_as_it_is_now(store: Store) -> None:
    keeps = keeper(store)
    before = mine(keeps)
    assert keeps.flaw(before) == ""
    assert "somebody else's" in keeps.flaw(mine(keeps, identity_of(b"thief", 0).public))
    keeps.own.freeze(following(keeps.own.purse, Freeze(bytes(32), 10, 0)))
    assert "changed since" in keeps.flaw(before)
    assert keeps.flaw(mine(keeps)) == ""


def test_only_a_grant_is_refused_to_whoever_has_brought_another_purse(store: Store) -> None:
    first, other = Owner("a"), Owner("b")
    store.purses.remember(first.own.shown)
    keeps = keeper(store)
    for grant, is_right in ((1000, False), (0, True)):
        again = OwnPurse.opened(
            tagged_hash("again", bytes((grant > 0,))), first.identity.public, lambda *_: None, grant
        )
        keeps.take(again.proof())
        assert (keeps.flaw(join(first, again.purse)) == "") == is_right
    keeps.take(other.own.proof())
    assert keeps.flaw(join(other)) == ""


def test_a_purse_that_comes_back_under_another_identity_gives_its_first_owner_no_second_grant(store: Store) -> None:
    """Two who play together can sign a match to which one of them brings the purse of the other."""
    owner, friend = Owner("a"), identity_of(b"friend", 0)
    store.purses.remember(owner.own.shown)
    keeps = keeper(store)
    world = World(RULES, 2, 3, owners=[(friend, owner.own), Owner("b").seat])
    world.run()
    settle(world)
    taken = keeps.take(owner.own.proof())
    assert taken.news
    assert taken.shown is not None
    assert taken.shown.identity == friend.public
    again = OwnPurse.opened(tagged_hash("again", b""), owner.identity.public, lambda *_: None)
    for each in (keeps, keeper(store)):
        each.take(again.proof())
        assert "a newcomer's coins" in each.flaw(join(owner, again.purse))


def test_a_fork_ends_a_purse_whether_it_was_known_before_or_not(store: Store) -> None:
    one, other = forked()
    fork = write_fork((one.entries[1], other.entries[1]))
    owner, bystander = Owner("a"), Owner("b")
    for each in (Owner("c").own.shown, bystander.own.shown):
        store.purses.remember(each)
    for is_shown in (False, True):
        keeps = keeper(store)
        if is_shown:
            store.purses.remember(one)
            keeps.take(one.encoded())
        assert keeps.take(fork).news == fork
        assert "contradict" in keeps.flaw(join(owner))
        assert keeps.differing(join(owner)) == keeps.known(join(owner)) == fork
        assert keeps.take(one.encoded()).back == (fork,)
        assert keeps.take(fork).news == b""
    again = keeper(store)
    assert "contradict" in again.flaw(join(owner))
    assert again.flaw(join(bystander)) == ""  # nobody else's is ended


# Who is shown what


def test_owners_are_shown_what_differs_and_others_what_is_known(store: Store) -> None:
    keeps, owner = keeper(store), Owner("a")
    assert keeps.known(join(owner)) == keeps.differing(join(owner)) == b""
    keeps.take(owner.own.proof())
    assert keeps.known(join(owner)) == owner.own.proof()
    assert keeps.differing(join(owner)) == b""
    assert keeps.known(mine(keeps)) == keeps.own.proof()
    for height in (-1, 1):
        assert keeps.differing(join(owner, owner.purse._replace(height=height))) == owner.own.proof()


def test_whoever_shows_ones_own_purse_as_it_is_hears_nothing(store: Store) -> None:
    told: list[str] = []
    keeps = keeper(store, told)
    settled(keeps.own, 1)
    taken = keeps.take(keeps.own.proof())
    assert (taken.back, taken.news, told) == ((), b"", [])


def test_of_purses_that_were_only_shown_those_looked_at_last_are_remembered(store: Store) -> None:
    keeps = keeper(store)
    owners = [Owner(f"{number}") for number in range(PURSES_SEEN + 1)]
    for owner in owners[:-1]:
        keeps.take(owner.own.proof())
    assert keeps.flaw(join(owners[0])) == ""
    keeps.take(owners[-1].own.proof())
    assert [keeps.knows(owner.own.proof()) for owner in owners[:2]] == [True, False]


def test_a_gap_is_told_from_what_is_only_older(store: Store) -> None:
    owners = [Owner(name) for name in "ab"]
    proofs = [owners[0].own.proof()]
    for seed in (1, 2):
        matches(owners, range(seed, seed + 1))
        proofs.append(owners[0].own.proof())
    keeps = keeper(store)
    keeps.take(proofs[2])
    assert keeps.take(proofs[1]).has_gap is False
    assert keeps.take(proofs[0]).has_gap is True
    assert keeps.take(proofs[2]).back == ()


# What is kept


def test_newer_entries_of_what_was_only_shown_are_not_stored_either(store: Store) -> None:
    owners = [Owner(name) for name in "ab"]
    keeps = keeper(store)
    for seed in (1, 2):
        assert keeps.take(owners[0].own.proof()).news
        matches(owners, range(seed, seed + 1))
    assert store.purses.met(owners[0].purse.key) is None


def test_a_proof_that_cannot_be_read_any_more_gives_way_to_another(store: Store) -> None:
    owner = Owner("a")
    store.purses.remember(owner.own.shown)
    with store._transaction() as database:
        database.execute("UPDATE purses_met SET proof = x'90'")
    keeps = keeper(store)
    assert keeps.flaw(join(owner)) == "the purse was not shown"
    assert keeps.take(owner.own.proof()).news
    met = store.purses.met(owner.purse.key)
    assert met is not None
    assert met.shown == owner.own.shown


def test_a_stake_that_was_seen_stays_frozen_for_those_who_saw_it(store: Store) -> None:
    """Its owner can bring the purse as it is now, though the match was not settled. Once that was refused."""
    owners = [Owner(name) for name in "cd"]
    keeps = keeper(store)
    for owner in owners:
        keeps.take(owner.own.proof())
    keeps.note(play(owners, 5).machines[0].match.history)
    for each in (keeps, keeper(store)):
        assert [each.flaw(join(owner)) for owner in owners] == ["", ""]


def test_coins_that_a_purse_never_had_do_not_come_into_it_with_a_stake(store: Store) -> None:
    """Others may sign a match whose join record says more than the purse has, at the same height and head."""
    liar, keeps = Owner("liar"), keeper(store)
    keeps.take(liar.own.proof())
    claimed = liar.own.shown._replace(purse=liar.purse._replace(balance=1_000_000))
    rich = OwnPurse(liar.own.key, claimed, lambda *_: None)
    world = World(RULES, 2, 3, owners=[(liar.identity, rich), Owner("b").seat])
    world.run()
    assert (rich.purse.height, rich.purse.balance) == (1, 1_000_000)
    keeps.note(world.machines[0].match.history)
    assert "how the purse goes on" in keeps.flaw(join(liar, rich.purse))
    assert keeps.flaw(join(liar)) == ""


def test_a_stake_of_long_ago_does_not_take_the_place_of_what_came_after_it(store: Store) -> None:
    owners = [Owner(name) for name in "cd"]
    world = play(owners, 5)
    settle(world)
    keeps = keeper(store)
    keeps.take(owners[0].own.proof())
    keeps.note(world.machines[0].match.history)
    assert keeps.flaw(join(owners[0])) == ""


def test_a_stake_after_which_the_proof_would_be_too_long_is_left_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = [Owner(name) for name in "cd"]
    keeps, before = keeper(store), [owner.own.shown for owner in owners]
    for each in before:
        keeps.take(each.encoded())
    monkeypatch.setattr(purse_keeper, "PURSE", len(before[0].encoded()) + 100)
    keeps.note(play(owners, 5).machines[0].match.history)
    for each in before:
        met = store.purses.met(each.purse.key)
        assert met is not None
        assert met.shown == each


def test_a_stake_that_a_backup_lacks_is_frozen_again(store: Store) -> None:
    own = keeper(store).own
    copy = OwnPurse(own.key, own.shown, lambda *_: None)
    world = World(RULES, 2, 3, owners=[(OWNER, copy), Owner("other").seat])
    world.run()
    keeps = keeper(store)
    keeps.note(world.machines[0].match.history)
    assert keeps.own.purse == keeper(store).own.purse == copy.purse
    assert keeps.own.purse.frozen


# Settling


def test_a_match_is_settled_as_soon_as_it_can_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    history = run(store, "other").machines[0].match.history
    keeps = keeper(store)
    results = dict(history.results)
    history.results.clear()
    assert not keeps.settle(history)  # too few have signed
    history.results.update(results)
    with monkeypatch.context() as patch:
        patch.setattr(own_purse, "PURSE", 500)
        assert not keeps.settle(history)  # no room
    assert keeps.own.purse.frozen
    assert keeps.settle(history)
    assert not keeps.own.purse.frozen
    history.results.clear()
    assert keeps.settle(history)  # nothing is left to do


def test_a_match_that_waits_for_room_is_settled_after_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (3, 4):
        stored_match(store, is_over=True, seed=seed)
    keeps = keeper(store)
    settle_now, tried = keeps.settle, []

    def refuse_once(history: History) -> bool:
        tried.append(history)
        return len(tried) > 1 and settle_now(history)

    monkeypatch.setattr(keeps, "settle", refuse_once)
    assert len(keeps.own.purse.frozen) == 2
    assert keeps.bring()[0].frozen == ()


def test_a_match_in_which_something_else_was_staked_is_never_settled(store: Store) -> None:
    own = keeper(store).own
    world = World(RULES, 2, 3, owners=[(OWNER, OwnPurse(own.key, own.shown, lambda *_: None)), Owner("other").seat])
    world.run()
    history = world.machines[0].match.history
    keeps = keeper(store)
    keeps.own.freeze(following(keeps.own.purse, Freeze(history.match, 1, 0)))
    before = keeps.own.purse
    assert keeps.settle(history)
    assert keeps.own.purse == before


def test_a_purse_with_sixteen_frozen_stakes_is_not_brought(store: Store) -> None:
    keeps = keeper(store)
    for number in range(FROZEN):
        assert keeps.bring()[0] == keeps.own.purse
        keeps.own.freeze(following(keeps.own.purse, Freeze(bytes((number,)) * 32, 1, 0)))
    with pytest.raises(PurseError, match="16 stakes are frozen"):
        keeps.bring()


# The store


def test_each_identity_in_a_store_has_a_purse_of_its_own(store: Store) -> None:
    other = identity_of(b"another", 0).public
    first, second = keeper(store), keeper(store, identity=other)
    assert first.own.purse.key != second.own.purse.key
    assert second.own.purse.balance == 1000
    second.own.freeze(following(second.own.purse, Freeze(bytes(32), 10, 0)))
    settled(first.own, 1)
    for keeps, identity in ((first, OWNER.public), (second, other)):
        assert keeper(store, identity=identity).own.shown == keeps.own.shown
    assert store.purses.owners() == (other, OWNER.public)
    first.begin_anew()
    assert keeper(store, identity=other).own.shown == second.own.shown
    assert store.purses.owners() == (OWNER.public, other)
    assert store.purses.state(OWNER.public) == first.own.purse
    assert first.own.purse.balance == 0


def test_a_damaged_purse_of_one_identity_hides_none_of_another(store: Store) -> None:
    """A stake in a match that was to be forgotten was not seen."""
    other = identity_of(b"another", 0).public
    first, second = keeper(store), keeper(store, identity=other)
    assert first.own.purse.key != second.own.purse.key
    first.own.freeze(following(first.own.purse, Freeze(b"match".ljust(32), 10, 0)))
    with store._transaction() as database:
        database.execute("UPDATE purses SET state = x'00' WHERE key = ?", (second.own.purse.key,))
    assert archive.has_frozen(store, b"match".ljust(32))
    assert not archive.has_frozen(store, bytes(32))


def test_what_was_given_up_is_told_of_the_stake_that_was_frozen_last(store: Store) -> None:
    own = keeper(store).own
    for coins in (5, 70):
        own.freeze(following(own.purse, Freeze(b"match".ljust(32), coins, 0)))
        own.forfeit(b"match".ljust(32))
    assert [line.change for line in store.purses.lines(own.purse.key, -1)] == [-70, 70, -5, 5, 1000]
    assert store.purses.origin(own.purse).lost_entries == 0


def test_a_purse_that_is_only_held_is_not_kept_for_good_when_its_proof_cannot_be_read(store: Store) -> None:
    """Its owner counted as somebody who had had the coins of a newcomer."""
    other, first = Owner("other"), keeper(store)
    world = World(RULES, 2, 3, owners=[(OWNER, first.own), other.seat])
    assert world.machines[0].match is not None
    first.take(other.own.proof())
    first.hold(world.machines[0].match.history.genesis)
    with store._transaction() as database:
        database.execute("UPDATE purses_met SET proof = x'00'")
    keeper(store).take(other.own.proof())
    met = store.purses.met(other.purse.key)
    assert met is not None
    assert not met.is_kept


def test_a_proof_with_two_settlements_comes_back_as_it_was(store: Store) -> None:
    own = keeper(store).own
    suspended = World(RULES, 2, 3, owners=[(OWNER, own), Owner("x").seat])
    suspended.run()
    settled(own, 1)
    assert own.settle(evidence_of(suspended).encoded()) is not None
    assert len(own.shown.evidence) == 2
    assert keeper(store).own.shown == own.shown


def test_a_head_that_is_not_the_last_entry_is_damage(store: Store) -> None:
    keeps = keeper(store)
    settled(keeps.own, 1)
    with store._transaction() as database:
        database.execute("UPDATE purses SET state = ?", (encode(keeps.own.purse._replace(head=bytes(32)).wire),))
    with pytest.raises(StoreError, match="not all there"):
        _ = keeper(store).own


def test_partners_are_told_by_what_they_brought_and_their_last_name(store: Store) -> None:
    keeps = keeper(store)
    for seed in range(6):
        settled(keeps.own, seed)
    key = keeps.own.purse.key
    changes = [partner.change for partner in store.purses.partners(key)]
    assert changes == sorted(changes, reverse=True)
    with store._transaction() as database:
        rows = [(1, "friend", height, name, 10_000) for height, name in ((20, "Old"), (22, "New"), (21, "Middle"))]
        database.executemany("INSERT INTO purse_partners VALUES (?, ?, ?, ?, ?)", rows)
    assert store.purses.partners(key)[0] == ("friend", "New", 3, 30_000)
    assert fingerprint(OWNER.public) not in {partner.fingerprint for partner in store.purses.partners(key)}


def test_evidence_that_is_missing_is_damage(store: Store) -> None:
    settled(keeper(store).own, 1)
    with store._transaction() as database:
        database.execute("DELETE FROM purse_evidence")
    with pytest.raises(StoreError, match="not all there"):
        _ = keeper(store).own


def test_what_was_frozen_in_entries_that_are_lost_can_be_given_up(store: Store) -> None:
    own = keeper(store).own
    own.freeze(following(own.purse, Freeze(bytes(32), 70, 0)))
    with store._transaction() as database:
        database.execute("DELETE FROM purse_entries WHERE height = 1")
    own.forfeit(bytes(32))
    assert own.purse.balance == 930


def test_a_match_that_is_over_cannot_be_made_void(store: Store) -> None:
    """Its settlement is what counts: a loser could ask for the stake back."""
    ended = read_evidence(stored_match(store, is_over=True))
    with pytest.raises(NodeError, match="is over"):
        Voiding(store, ended.match)


def test_a_void_or_forfeit_is_kept_with_the_stake_of_its_own_match(store: Store) -> None:
    own = keeper(store).own
    for match, bet in ((b"1" * 32, 70), (b"2" * 32, 30)):
        own.freeze(following(own.purse, Freeze(match, bet, 0)))
    own.forfeit(b"2" * 32)
    assert [(line.kind, line.match, line.change) for line in store.purses.lines(own.purse.key, 2)] == [
        (EntryKind.FORFEIT, b"2" * 32, -30),
        (EntryKind.FREEZE, b"2" * 32, 30),
    ]
