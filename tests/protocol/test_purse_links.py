"""Links: how a purse shows that it goes on from what somebody knows, and every way in which it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from protocol.consensus.purse_links import LINKS_TAG, read_shown, write_links
from protocol.consensus.purse_proofs import Relation, Shown, compare, read_proof, write_fork
from protocol.limits import PURSE, PURSE_LINKS, SHOWN_PURSE
from protocol.node import purse_keeper
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage.home import Home
from protocol.storage.store import Store
from protocol.wire.canonical import Value, decode, encode
from protocol.wire.purses import EntryKind, Freeze, MalformedPurseError, SignedEntry, following
from tests.protocol.long_purses import OWNER, settled
from tests.protocol.test_purse_store import keeper
from tests.protocol.test_purses import Owner, matches


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(Home(tmp_path / "home").store)) as opened:
        yield opened


@pytest.fixture(scope="module")
def owner() -> Owner:
    """After five matches: the proof begins at height 9, and the head has height 10."""
    owners = [Owner(name) for name in "ab"]
    matches(owners, range(50, 55))
    return owners[0]


def links(owner: Owner, height: int) -> bytes:
    kept = owner.kept
    return write_links((height, kept[height].id), kept[height + 1 : 9], owner.own.proof())


def known(owner: Owner, height: int) -> Shown:
    """Return what somebody knows who met the purse long ago."""
    entries = owner.kept[: height + 1]
    purse = owner.purse._replace(height=height, head=entries[-1].id)
    return Shown(owner.identity.public, purse, tuple(entries), ())


@pytest.mark.parametrize("height", range(11))
def test_a_proof_alone_reaches_back_to_the_entry_before_it(owner: Owner, height: int) -> None:
    expected = Relation.GAP if height < 8 else Relation.NEWER if height < 10 else Relation.SAME
    assert compare(known(owner, height), read_proof(owner.own.proof())) is expected


@pytest.mark.parametrize("height", range(7))
def test_links_reach_back_to_the_entry_that_is_known(owner: Owner, height: int) -> None:
    shown = read_shown(links(owner, height))
    assert shown._replace(links=()) == read_proof(owner.own.proof())
    assert shown.links == tuple(signed.id for signed in owner.kept[height:9])
    for at in range(8):
        assert compare(known(owner, at), shown) is (Relation.NEWER if at >= height else Relation.GAP)


def test_links_from_another_branch_than_the_known_one_are_refused(owner: Owner) -> None:
    other = known(owner, 4)
    other = other._replace(entries=other.entries[:1], purse=other.purse._replace(head=bytes(32)))
    with pytest.raises(MalformedPurseError, match="does not go on"):
        compare(other, read_shown(links(owner, 2)))


def test_a_fork_in_sight_is_a_fork_also_behind_links(owner: Owner) -> None:
    one = known(owner, 9)
    changed = owner.kept[9]._replace(id=bytes(32))
    assert compare(one._replace(entries=(changed,)), read_shown(links(owner, 2))) is Relation.FORK


def _altered(owner: Owner, change: str) -> Value:
    name, height, head, given, proof = cast("tuple[Any, ...]", decode(links(owner, 2)))
    between: list[Any] = list(given)
    match change:
        case "another id":
            head = bytes(32)
        case "a short id":
            head = head[:-1]
        case "another height":
            height = 3
        case "a link less":
            between = between[1:]
        case "a link less and one higher":
            height, between = 3, between[1:]
        case "a link twice":
            height, between = 1, [between[0], *between]
        case "links in another order":
            between = between[::-1]
        case "another kind":
            between[0] = (int(EntryKind.FORFEIT), between[0][1][:1])
        case "an unknown kind":
            between[0] = (9, between[0][1])
        case "an opening":
            between[0] = (int(EntryKind.OPENING), (owner.identity.public, 1000))
        case "no pair":
            between[0] = between[0][:1]
        case "other coins":
            between[0] = (between[0][0], (between[0][1][0], between[0][1][1] + 1, between[0][1][2]))
        case "no links":
            between = []
        case "no proof":
            proof = b""
        case "a proof of somebody else":
            proof = Owner("c").own.proof()
        case "links for a proof":
            proof = links(owner, 4)
        case "a negative height":
            height = -1
    return (name, height, head, tuple(between), proof)


ALTERED = {
    "another id": "do not lead",
    "a short id": "wrong form",
    "another height": "do not end",
    "a negative height": "wrong form",
    "a link less": "do not end",
    "a link less and one higher": "do not lead",
    "a link twice": "do not lead",
    "links in another order": "do not lead",
    "another kind": "do not lead",
    "an unknown kind": "entry of a purse has the wrong form",
    "an opening": "opened twice",
    "no pair": "not a pair",
    "other coins": "do not lead",
    "no links": "wrong form",
    "no proof": "cannot be read",
    "a proof of somebody else": "do not end",
    "links for a proof": "not the proof",
}


@pytest.mark.parametrize("change", ALTERED)
def test_altered_links_are_refused(owner: Owner, change: str) -> None:
    assert encode(_altered(owner, "nothing")) == links(owner, 2)
    altered = encode(_altered(owner, change))
    assert altered != links(owner, 2)
    with pytest.raises(MalformedPurseError, match=ALTERED[change]):
        read_shown(altered)


def test_links_are_refused_by_their_length_before_they_are_read() -> None:
    with pytest.raises(MalformedPurseError, match=f"at most {SHOWN_PURSE}"):
        read_shown(bytes(SHOWN_PURSE + 1))
    with pytest.raises(MalformedPurseError, match=f"at most {PURSE}"):
        read_shown(bytes(PURSE + 1))
    with pytest.raises(MalformedPurseError, match="links of a purse cannot be read"):
        read_shown(encode((LINKS_TAG, 0, b"", (), b"")).ljust(SHOWN_PURSE, b"\0"))


def test_so_many_links_are_read_and_no_more(owner: Owner) -> None:
    for number in (PURSE_LINKS, PURSE_LINKS + 1):
        link = (int(EntryKind.FREEZE), (bytes(32), 1, 0))
        data = encode((LINKS_TAG, 0, bytes(32), (link,) * number, owner.own.proof()))
        expected = "do not end" if number == PURSE_LINKS else "wrong form"
        with pytest.raises(MalformedPurseError, match=expected):
            read_shown(data)


def test_cut_links_are_refused(owner: Owner) -> None:
    data = links(owner, 2)
    for length in range(len(data)):
        with pytest.raises(MalformedPurseError):
            read_shown(data[:length])


def test_the_longest_links_fit_into_a_frame() -> None:
    longest = (int(EntryKind.SETTLEMENT), (bytes(32), bytes(32), -(10**12), -(10**12), "x" * 40, 10**12, 10**12))
    data = encode((LINKS_TAG, 2**32 - 1, bytes(32), (longest,) * PURSE_LINKS, bytes(PURSE)))
    assert len(data) <= SHOWN_PURSE


# What an owner shows


def _met_long_ago(own: PurseKeeper, height: int) -> Shown:
    signed = own._kept.entry(own.own.key.public, height)
    assert signed is not None
    purse = own.own.purse._replace(height=height, head=signed.id)
    return Shown(OWNER.public, purse, (signed,), ())


def _take_all(before: Shown, series: Sequence[bytes]) -> Shown:
    for data in series:
        shown = read_shown(data)
        assert compare(before, shown) is Relation.NEWER
        before = shown
    return before


@pytest.mark.parametrize("most", [1, 2, 3, 7, PURSE_LINKS])
def test_an_owner_shows_how_the_purse_goes_on_in_as_many_proofs_as_that_takes(
    store: Store, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(purse_keeper, "PURSE_LINKS", most)
    mine = keeper(store)
    for seed in range(6):
        settled(mine.own, seed)
    for height in range(12):
        old = _met_long_ago(mine, height)
        taken = mine._take_own(old, b"")
        assert not taken.news
        assert _take_all(old, taken.back).purse == mine.own.purse
        assert all(len(read_shown(data).links) <= most + 1 for data in taken.back)
        if taken.back and height % 2 == most % 2 == 0:  # each proof goes as far as it can: they begin at even heights
            assert len(read_shown(taken.back[0]).links) == min(most, 10 - height) + (height < 10)
    assert not mine._take_own(_met_long_ago(mine, 12), b"").back


@pytest.mark.parametrize("most", [1, 5])
def test_an_owner_who_has_lost_an_entry_shows_nothing_that_does_not_fit(
    store: Store, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(purse_keeper, "PURSE_LINKS", most)
    mine = keeper(store)
    for seed in range(4):
        settled(mine.own, seed)
    known = [_met_long_ago(mine, height) for height in range(8)]
    for lost in range(1, 8):
        with store._transaction() as database:
            (row,) = database.execute("SELECT * FROM purse_entries WHERE height = ?", (lost,)).fetchall()
            database.execute("DELETE FROM purse_entries WHERE height = ?", (lost,))
        for old in known:
            reached = _take_all(old, mine._take_own(old, b"").back).purse
            assert reached.height < lost or lost <= old.purse.height
        with store._transaction() as database:
            database.execute("INSERT INTO purse_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def test_an_owner_shows_a_few_proofs_at_a_time_and_goes_on_from_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purse_keeper, "PURSE_LINKS", 2)
    monkeypatch.setattr(purse_keeper, "PURSE_SERIES", 2)
    mine = keeper(store)
    for seed in range(6):
        settled(mine.own, seed)
    old, asked = _met_long_ago(mine, 0), 0
    while old.purse.height < 12:
        series = mine._take_own(old, b"").back
        assert 0 < len(series) <= 2
        old, asked = _take_all(old, series), asked + 1
    assert asked > 1


def test_an_owner_who_is_shown_the_other_branch_ends_the_purse(store: Store) -> None:
    told: list[str] = []
    mine = keeper(store, told)
    for seed in range(3):
        settled(mine.own, seed)
    key = mine.own.key
    signed = store.purses.entry(key.public, 1)
    assert signed is not None
    other: SignedEntry = signed._replace(id=bytes(32))
    purse = mine.own.purse._replace(height=1, head=other.id)
    taken = mine._take_own(Shown(OWNER.public, purse, (other,), ()), b"fork")
    assert taken.back == (taken.news,) == (write_fork((signed, other)),)
    assert "has ended" in told[-1]
    assert mine.own.key.public != key.public


def test_what_was_only_shown_gives_way_to_a_proof_that_begins_later(store: Store, owner: Owner) -> None:
    """Nobody asks for links who has neither won nor lost anything with the purse."""
    mine = keeper(store)
    new = Owner("a")
    assert mine.take(new.own.proof()).news
    taken = mine.take(owner.own.proof())
    assert (taken.news, taken.back, taken.has_gap) == (owner.own.proof(), (), False)


def test_what_was_brought_to_a_match_does_not(store: Store, owner: Owner) -> None:
    mine = keeper(store)
    first = Owner("a").own
    store.purses.remember(first.shown)
    taken = mine.take(owner.own.proof())
    assert (taken.news, taken.back, taken.has_gap) == (owner.own.proof(), (first.proof(),), True)
    assert mine.take(links(owner, 0)).news
    assert mine.take(first.proof()).has_gap  # what is sent back has no links
    for again in (mine, keeper(store)):  # it is kept
        assert again.take(owner.own.proof()).news == b""


def test_freezing_more_makes_no_gap(store: Store) -> None:
    mine = keeper(store)
    settled(mine.own, 1)
    before = mine.own.shown
    mine.own.freeze(following(mine.own.purse, Freeze(bytes(32), 1, 0)))
    assert compare(before, read_proof(mine.own.proof())) is Relation.NEWER
