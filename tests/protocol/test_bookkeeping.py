"""What a match writes about purses, and when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from protocol.consensus.history import History
from protocol.consensus.purse_proofs import End, write_fork
from protocol.consensus.settlements import gather
from protocol.limits import PURSES_SEEN
from protocol.match.match import Match
from protocol.match.own_purse import OwnPurse
from protocol.node.bookkeeping import Bookkeeping
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage.home import Home
from protocol.storage.store import Store, StoreError
from protocol.wire.purses import EntryKind, Freeze, following
from tests.protocol.long_purses import OWNER, RULES, settled
from tests.protocol.test_purse_keeper import join, keeper
from tests.protocol.test_purses import Owner, matches
from tests.simulation.world import World


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(Home(tmp_path / "home").store)) as opened:
        yield opened


def sat_down(store: Store, other: Owner, keeps: PurseKeeper | None = None) -> tuple[World, Match, PurseKeeper]:
    """Return a match that nobody has signed yet, of the store's owner against somebody whose purse was shown."""
    keeps = keeps or keeper(store)
    keeps.take(other.own.proof())
    world = World(RULES, 2, 3, owners=[(OWNER, keeps.own), other.seat])
    match = world.machines[0].match
    assert match is not None
    return world, match, keeps


def has_stakes(match: Match) -> bool:
    """Whether the stakes are open."""
    state = match.history.position.state
    return state is not None and bool(state.wagers)


def show_many(keeps: PurseKeeper) -> None:
    for number in range(PURSES_SEEN + 1):
        keeps.take(Owner(f"stranger {number}").own.proof())


def test_purses_of_a_signed_match_are_remembered_however_many_others_are_shown(store: Store) -> None:
    """A host could make a guest forget a purse so, between the signature and the stakes."""
    other = Owner("other")
    _, match, keeps = sat_down(store, other)
    Bookkeeping(keeps, match)
    show_many(keeps)
    assert keeps.flaw(join(other)) == ""


def test_no_other_branch_takes_the_place_of_a_purse_in_a_signed_match(store: Store) -> None:
    """A host showed one that begins later, between the genesis and the first roll. What was played was forgotten, and
    the same coins were bet again on the other branch."""
    other, branch = Owner("other"), Owner("other")
    for seed in range(2):
        settled(branch.own, seed)
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    taken = keeps.take(branch.own.proof())
    assert (taken.has_gap, taken.back) == (True, (other.own.proof(),))
    world.run()
    books.follow(is_over=False)
    met = store.purses.met(other.purse.key)
    assert met is not None
    assert met.shown is not None
    assert met.shown.purse.height == 1
    assert (
        keeps.flaw(join(other, branch.purse)) == "it was not shown how the purse goes on from what is known of it here"
    )


def test_strangers_are_shown_and_forgotten_while_a_match_is_held(store: Store) -> None:
    other = Owner("other")
    _, match, keeps = sat_down(store, other)
    Bookkeeping(keeps, match)
    show_many(keeps)
    known = [number for number in range(PURSES_SEEN + 1) if not keeps.flaw(join(Owner(f"stranger {number}")))]
    assert known == [*range(1, PURSES_SEEN + 1)]


def test_a_purse_is_kept_for_good_when_the_node_is_bound_to_the_match_and_not_before(store: Store) -> None:
    """Until the stakes it was in memory only, and a node that was started anew had forgotten it."""
    other = Owner("other")
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        books.follow(is_over=False)
        met = store.purses.met(other.purse.key)
        assert met is not None
        assert not met.is_kept
        assert world.step()
    assert not match.is_formed
    books.follow(is_over=False)
    met = store.purses.met(other.purse.key)
    assert met is not None
    assert met.is_kept
    assert met.shown == other.own.shown


def test_a_node_accepts_no_gap_in_a_purse_from_the_moment_it_is_bound(store: Store) -> None:
    """Also before the stakes are open. Behind a gap, the owner could hide a branch on which the same coins are bet."""
    other = Owner("other")
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        assert world.step()
    books.follow(is_over=False)
    known = other.own.proof()
    matches([other, Owner("third")], range(2))
    taken = keeps.take(other.own.proof())
    assert (taken.has_gap, taken.back) == (True, (known,))
    assert "how the purse goes on" in keeps.flaw(join(other))


def test_a_node_that_was_started_anew_before_it_was_bound_knows_the_purses(store: Store) -> None:
    other = Owner("other")
    _, match, keeps = sat_down(store, other)
    Bookkeeping(keeps, match)
    again = keeper(store)
    Bookkeeping(again, match)
    assert again.flaw(join(other)) == ""


def frozen_elsewhere(keeps: PurseKeeper, name: str) -> History:
    """Freeze a stake in a match that goes to its end without a word to this node; return it."""
    world, _, _ = sat_down(keeps._store, Owner(name), keeps)
    world.run()
    return world.machines[1].match.history


def test_no_match_is_settled_while_the_purse_stands_in_another_one_that_may_begin(store: Store) -> None:
    """A late RESULT of the match before moved the head of the purse: its owner could not stake in the next one."""
    keeps = keeper(store)
    before = frozen_elsewhere(keeps, "first")
    world, match, _ = sat_down(store, Owner("second"), keeps)
    books = Bookkeeping(keeps, match)
    while not has_stakes(match):
        assert not keeps.settle(before)
        assert world.step()
        books.follow(is_over=False)
    assert keeps.own.purse.frozen_for(match.id) is not None
    assert keeps.settle(before)
    assert keeps.own.purse.frozen_for(before.match) is None


def test_a_proposal_that_is_dropped_keeps_no_match_from_being_settled(store: Store) -> None:
    keeps = keeper(store)
    before = frozen_elsewhere(keeps, "first")
    _, match, _ = sat_down(store, Owner("second"), keeps)
    books = Bookkeeping(keeps, match)
    assert not keeps.settle(before)
    books.close()
    assert keeps.settle(before)


def test_nothing_is_added_to_a_purse_between_the_first_roll_and_the_stake(store: Store) -> None:
    """What others hand back, an end, newer entries or a fork, would take the stake's place."""
    keeps, twin = keeper(store), Owner("twin")
    before = frozen_elsewhere(keeps, "first")
    evidence = gather(before)
    assert evidence is not None
    end = End(keeps.own.key.public, EntryKind.SETTLEMENT, before.match, evidence.encoded())
    ahead = OwnPurse(keeps.own.key, keeps.own.shown, lambda *_: None)
    ahead.forfeit(before.match)
    aside = OwnPurse(keeps.own.key, keeps.own.shown, lambda *_: None)
    assert aside.freeze(following(aside.purse, Freeze(b"elsewhere".ljust(32), 1, 0))) is not None
    fork = write_fork((ahead.shown.entries[-1], aside.shown.entries[-1]))
    world, match, _ = sat_down(store, twin, keeps)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        assert world.step()
    books.follow(is_over=False)
    brought = keeps.own.purse
    for shown in (end.encoded(), ahead.proof(), fork):
        assert not keeps.take(shown).back
        assert keeps.own.purse == brought
    world.run()
    assert keeps.own.purse.frozen_for(match.id) is not None


def test_a_fork_further_below_does_not_end_a_purse_before_the_stake(store: Store) -> None:
    keeps = keeper(store)
    aside = OwnPurse(keeps.own.key, keeps.own.shown, lambda *_: None)
    assert aside.freeze(following(aside.purse, Freeze(b"elsewhere".ljust(32), 1, 0))) is not None
    for name in ("first", "second"):
        frozen_elsewhere(keeps, name)
    world, match, _ = sat_down(store, Owner("third"), keeps)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        assert world.step()
    books.follow(is_over=False)
    brought = keeps.own.purse
    keeps.take(aside.proof())
    assert keeps.own.purse == brought
    books.close()
    keeps.take(aside.proof())
    assert keeps.own.purse.balance == 0  # then it is over


def test_what_was_held_for_an_earlier_proposal_is_forgotten_with_the_next(store: Store) -> None:
    """So strangers who propose match after match do not fill the disk."""
    owners, keeps = [Owner(f"other {number}") for number in range(3)], keeper(store)
    for owner in owners:
        _, match, _ = sat_down(store, owner, keeps)
        Bookkeeping(keeps, match).close()
    show_many(keeps)
    assert [store.purses.met(owner.purse.key) is not None for owner in owners] == [False, False, True]
    assert [keeps.flaw(join(owner)) for owner in owners] == ["the purse was not shown", "the purse was not shown", ""]


def test_no_proposal_makes_a_node_forget_purses_of_matches_that_were_played(store: Store) -> None:
    """Else a host could propose a match, and an owner who has lost coins could then come with an old backup."""
    early = Owner("early")
    store.purses.remember(early.own.shown)
    _, match, keeps = sat_down(store, Owner("other"))
    Bookkeeping(keeps, match)
    met = store.purses.met(early.purse.key)
    assert met is not None
    assert met.is_kept


def signed_beside_each_other(store: Store) -> list[tuple[Owner, Match]]:
    """Sign two proposals, with different purses in them, and die before one of them binds the node."""
    keeps = keeper(store)
    signed = []
    for name in ("first", "second"):
        other = Owner(name)
        _, match, _ = sat_down(store, other, keeps)
        Bookkeeping(keeps, match)
        signed.append((other, match))
    return signed


@pytest.mark.parametrize("number", [0, 1])
def test_the_purses_of_every_signed_proposal_outlive_a_crash(store: Store, number: int) -> None:
    """Whichever of them is formed: a node that does not know a purse any more does not note its stake."""
    other, match = signed_beside_each_other(store)[number]
    again = keeper(store)
    Bookkeeping(again, match)
    assert again.flaw(join(other)) == ""


def test_a_node_that_was_started_anew_knows_the_purses_of_all_proposals_to_which_it_returns(store: Store) -> None:
    """It returns to all of them, the oldest first. The one that is formed is mostly the newest."""
    signed = signed_beside_each_other(store)
    again = keeper(store)
    again.hold(*(match.history.genesis for _, match in signed))
    for _, match in signed:
        Bookkeeping(again, match)
    assert [again.flaw(join(other)) for other, _ in signed] == ["", ""]


def test_what_is_held_is_what_was_shown_last(store: Store) -> None:
    """A node that died before a match was formed had an older head in its store, and took that for the newest."""
    other = Owner("other")
    _, match, keeps = sat_down(store, other)
    Bookkeeping(keeps, match)
    assert other.own.freeze(following(other.purse, Freeze(b"elsewhere".ljust(32), 10, 0))) is not None
    _, match, _ = sat_down(store, other, keeps)
    Bookkeeping(keeps, match)
    assert keeper(store).flaw(join(other)) == ""


def test_stakes_are_noted_by_a_node_that_was_started_anew_before_they_were_opened(store: Store) -> None:
    other = Owner("other")
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    while not match.is_formed:
        assert world.step()
    books.follow(is_over=False)
    world.run()
    again = keeper(store)
    Bookkeeping(again, match).follow(is_over=False)
    assert other.purse.frozen
    assert again.flaw(join(other)) == ""


@pytest.mark.parametrize("what", ["nothing", "the stake is given up", "the purse is given up", "others show its end"])
def test_whoever_returns_to_a_match_that_brings_nothing_any_more_is_told(store: Store, what: str) -> None:
    """They won, were told of the coins, and had none."""
    world, match, keeps = sat_down(store, Owner("other"))
    books = Bookkeeping(keeps, match)
    while not has_stakes(match):
        assert world.step()
        books.follow(is_over=False)
    told: list[str] = []
    if what == "the stake is given up":
        keeps.own.forfeit(match.id)
    elif what == "the purse is given up":
        keeps.begin_anew()
    elif what == "others show its end":
        world.run()
        evidence = gather(world.machines[1].match.history)
        assert evidence is not None
        keeps.take(End(keeps.own.key.public, EntryKind.SETTLEMENT, match.id, evidence.encoded()).encoded())
    Bookkeeping(keeper(store, told), match).follow(is_over=False)
    assert any("given up" in text for text in told) == ("given up" in what)
    assert any("is settled" in text for text in told) == ("others" in what)


def test_a_match_that_is_over_before_the_stakes_holds_up_nothing(store: Store) -> None:
    """Newer entries were not taken any more, and no match was settled, until the program was started anew."""
    keeps = keeper(store)
    before = frozen_elsewhere(keeps, "first")
    world, match, _ = sat_down(store, Owner("second"), keeps)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        assert world.step()
    books.follow(is_over=False)
    assert not keeps.settle(before)
    books.follow(is_over=True)
    assert keeps.settle(before)


def test_what_could_not_be_written_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stake counted as noted before it was written."""
    other = Owner("other")
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    while not match.is_formed:
        assert world.step()
    world.run()
    with monkeypatch.context() as patch:
        patch.setattr(store.purses, "remember", full)
        for _ in range(2):
            with pytest.raises(StoreError):
                books.follow(is_over=False)
    books.follow(is_over=False)
    assert keeper(store).flaw(join(other)) == ""


def full(*_: object) -> None:
    raise StoreError("the disk is full")


def test_a_stake_that_contradicts_what_was_shown_ends_the_purse(store: Store) -> None:
    """The owner has frozen something else at that height, and others have seen it."""
    other = Owner("other")
    before = other.own.shown
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    world.run()
    elsewhere = Owner("other")
    assert elsewhere.own.freeze(following(before.purse, Freeze(b"elsewhere".ljust(32), 10, 0))) is not None
    keeps.take(elsewhere.own.proof())
    books.follow(is_over=False)
    for each in (keeps, keeper(store)):
        assert each.flaw(join(other)) == "two entries of the purse contradict each other, so it has ended"


def test_a_fork_that_is_seen_before_a_node_is_bound_is_stored_with_the_purse(store: Store) -> None:
    other, twin = Owner("other"), Owner("other")
    world, match, keeps = sat_down(store, other)
    books = Bookkeeping(keeps, match)
    while not match.is_bound:
        assert world.step()
    for coins, owner in enumerate((other, twin)):
        assert owner.own.freeze(following(owner.purse, Freeze(b"elsewhere".ljust(32), coins, 0))) is not None
        keeps.take(owner.own.proof())
    books.follow(is_over=False)
    assert keeper(store).flaw(join(other)) == "two entries of the purse contradict each other, so it has ended"
