"""The guarantees of purses, and each attack on them, with real stores and signed messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from protocol.consensus.ends import Shown, read_evidence, read_shown
from protocol.crypto.keys import MatchKey
from protocol.node.purse import _read
from protocol.storage.database import DamagedPurseError
from protocol.storage.purses import OwnPurse
from protocol.wire import purses
from protocol.wire.genesis import make_join_record
from protocol.wire.messages import Kind, Message, sign
from protocol.wire.purses import MalformedPurseError, Purse, PurseState, Record, loss
from tests.protocol.bettors import STAKED, Bettor, Played, play, settle

People = Callable[[str], list[Bettor]]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[People]:
    """Return a function that makes one bettor for each letter of a string."""
    made: list[Bettor] = []

    def make(names: str) -> list[Bettor]:
        made.extend(Bettor(name, tmp_path) for name in names)
        return made[-len(names) :]

    yield make
    for each in made:
        each.store.close()


def back(shown: Shown) -> Shown:
    """Return a handed-back purse as its owner parses it."""
    return read_shown(*shown.wire)


def known_to(by: Bettor, owner: Bettor) -> Shown:
    """Return what ``by`` has stored of the owner's purse."""
    return next(_read(by.store.purses.met(owner.key)))


def handed_back(by: Bettor, to: Bettor) -> Shown:
    found = by.judge(to.sit()).back
    assert found is not None
    return back(found)


def sham(who: Bettor, bet: int = 300) -> None:
    """Win a match against a second identity of the same person."""
    other = Bettor(f"sham of {who.name} {Played.count}", who.path.parent)
    played = Played(who, other)
    played.stake({who: 0, other: bet})
    played.finish(who)
    other.store.close()


# Purses shown by strangers


def test_old_or_altered_copies_of_an_honest_purse_do_no_harm(people: People) -> None:
    host, owner, friend = people("HBD")
    old = []
    for _ in range(4):
        play(owner, friend)
        old.append(owner.sit())
    now = owner.sit()
    host.keeper.shown[owner.key] = now
    for each in old[:-1]:
        host.keeper.take_handed(each)
        assert not owner.keeper.take_own(each)
    assert host.takes(now)
    assert owner.purse.era == 0
    longer = old[-1].purse.with_record(loss(bytes(16), 9, 0))
    with pytest.raises(MalformedPurseError, match="as its owner has signed"):
        read_shown(old[-1].record.wire, longer.wire, (), ())


def test_a_purse_cannot_be_shown_as_another_players(people: People) -> None:
    owner, other = people("AB")
    play(owner, other)
    with pytest.raises(MalformedPurseError):
        read_shown(owner.sit().record.wire, other.purse.wire, (), ())


# One stake in two matches


def test_a_player_who_saw_one_stake_rejects_a_purse_without_it(people: People) -> None:
    owner, one, two, host = people("OXYZ")
    owner.back_up()
    first = Played(owner, one)
    first.stake({owner: 1000, one: 100})
    first.finish(one)
    owner.put_back()
    play(two, owner, bet=900)
    assert one.judge(owner.sit()).back is not None
    play(two, owner, bet=5)
    assert one.judge(owner.sit()).back is not None
    for each in (one, two):
        host.keeper.take_handed(back(each.keeper._with_end(known_to(each, owner))))
    assert host.judge(owner.sit()).back is not None
    assert owner.keeper.take_own(handed_back(one, owner))
    assert (owner.purse.era, owner.balance) == (1, 0)
    assert "contradicts itself" in owner.told[-1]
    assert all(each.takes(owner.sit()) for each in (one, two, host))


def test_an_honest_program_opens_one_stake_on_one_head(people: People) -> None:
    owner, other, third = people("OXY")
    one, two = Played(owner, other), Played(owner, third)
    one.stake({owner: 500})
    two.stake({owner: 500})
    assert (len(one.stakes), len(two.stakes)) == (1, 0)
    assert not owner.keeper.open_stake(one.id, one.genesis, (499, 0))
    assert owner.keeper.open_stake(one.id, one.genesis, (500, 0))
    owner.restart()
    assert owner.keeper.own.stake == (500, 0)
    assert owner.keeper.find_hindrance()


def test_no_stake_is_opened_on_a_head_that_the_match_does_not_name(people: People) -> None:
    owner, other = people("OX")
    played = Played(owner, other)
    owner.keeper._keep(owner.keeper.own._replace(purse=owner.purse.with_record(Record(bytes(16), 0, 0, 0, 0, 0))))
    assert not owner.keeper.open_stake(played.id, played.genesis, (10, 0))
    assert owner.keeper.own.stake is None


def test_a_purse_is_reserved_for_the_match_once_its_owner_has_sent_commit(people: People) -> None:
    owner, other = people("OX")
    played = Played(owner, other)
    owner.keeper.give_up(played.id, may_form=False)
    history = SimpleNamespace(genesis=played.genesis, match=played.id, position=SimpleNamespace(kind=None, state=None))
    match: Any = SimpleNamespace(history=history, is_bound=False, is_formed=False)
    owner.keeper.follow(match, is_over=False)
    assert not owner.keeper.own.busy
    match.is_formed = True
    owner.keeper.follow(match, is_over=False, is_given_up=True)  # the host claimed to withdraw the match, but lied
    assert not owner.keeper.own.busy
    owner.keeper.give_up(played.id, may_form=False)
    match.is_bound, match.is_formed = True, False
    owner.keeper.follow(match, is_over=False)
    assert owner.keeper.own.busy == played.id
    owner.restart()
    assert owner.keeper.own.busy == played.id


@pytest.mark.parametrize("may_form", [True, False])
def test_purses_shown_for_an_abandoned_match_are_kept_only_while_it_may_still_form(
    people: People, may_form: bool
) -> None:
    owner, other = people("OX")
    played = Played(owner, other)
    owner.keeper.give_up(played.id, may_form=may_form)
    assert not owner.keeper.own.busy
    owner.restart()
    assert [each.match for each in owner.store.purses.met(other.key)] == [played.id] * may_form


def test_giving_up_a_match_frees_a_purse_only_without_a_stake_in_it(people: People) -> None:
    owner, other, third = people("OXY")
    played = Played(owner, other)
    owner.keeper.give_up(played.id, may_form=False)
    assert not owner.keeper.own.busy
    played = Played(owner, third)
    played.stake({owner: 10})
    owner.keeper.give_up(played.id, may_form=False)
    assert (owner.keeper.own.busy, owner.keeper.own.stake) == (played.id, (10, 0))


def test_no_stake_is_opened_once_the_purse_is_no_longer_reserved_for_the_match(people: People) -> None:
    owner, other = people("OX")
    played = Played(owner, other)
    owner.restart()
    assert not owner.keeper.find_hindrance()
    played.stake({owner: 1})
    assert not played.stakes


def test_a_purse_is_reserved_again_when_a_peer_returns_its_stake(people: People) -> None:
    owner, other = people("OY")
    Played(owner, other).stake({owner: 50, other: 50})
    found = handed_back(other, owner)
    assert found.stake is not None
    owner.keeper._keep(owner.keeper.own._replace(busy=b"", stake=None))
    assert owner.keeper.take_own(found)
    assert owner.keeper.own.stake == (50, 0)


# Old backups, wiped and hidden purses


def test_a_lost_purse_is_restored_by_a_player_who_met_it(people: People) -> None:
    owner, other = people("OX")
    owner.back_up()
    play(other, owner, bet=900)
    lost = owner.purse.head
    owner.put_back()
    assert owner.balance == 1000
    assert owner.keeper.take_own(handed_back(other, owner))
    assert owner.purse.head == lost
    assert other.takes(owner.sit())
    assert owner.purse.era == 0


def test_matches_against_ones_own_keys_do_not_hide_a_fork(people: People) -> None:
    owner, other = people("OX")
    owner.back_up()
    play(other, owner, bet=900)
    owner.put_back()
    for _ in range(5):
        sham(owner)
    assert other.judge(owner.sit()).back is not None


def test_a_purse_that_has_folded_away_a_known_record_is_refused_until_its_owner_is_forgotten(people: People) -> None:
    owner, other, stranger = people("OXZ")
    owner.back_up()
    play(other, owner, bet=900)
    owner.put_back()
    with patch.object(purses, "RECORDS", 8):
        for _ in range(12):
            sham(owner)
        assert owner.purse.states[0].height > 1
        assert "no longer shows" in other.judge(owner.sit()).refusal
        assert stranger.takes(owner.sit())
        other.store.purses.forget(owner.key)
        assert other.takes(owner.sit())


def test_a_host_ignores_a_stake_older_than_every_shown_record(people: People) -> None:
    owner, other, host = people("OXH")
    play(other, owner, bet=100)
    with patch.object(purses, "RECORDS", 8):
        for _ in range(12):
            sham(owner)
        now = owner.sit()
        host.keeper.shown[owner.key] = now
        assert known_to(other, owner).stake is not None
        assert not host.keeper.take_handed(back(known_to(other, owner)))
        assert host.takes(now)


def test_an_altered_first_state_of_a_purse_is_detected_by_a_player_who_knows_it(people: People) -> None:
    """Altered sums before the first record would leave all record ids valid, because the ids do not cover them."""
    owner, other = people("OY")
    with patch.object(purses, "RECORDS", 8):
        for _ in range(12):
            sham(owner)
        Played(owner, other)
        start = owner.purse.states[0]
        rich = Purse(owner.key, 0, start._replace(balance=start.balance + 500), owner.purse.records)
        old = owner.sit().record
        join = old.join._replace(head=rich.head)
        bent = make_join_record(join, owner.identity, MatchKey(owner.seeds[join.match_key]))
        assert other.judge(Shown(bent, rich)).back is not None
    assert rich.end.id == owner.purse.end.id


@pytest.mark.parametrize("era", [0, 1, 7])
def test_a_new_era_starts_without_coins(people: People, era: int) -> None:
    (owner,) = people("O")
    coins = 1000 if era == 0 else 0
    assert Purse.new(owner.key, era).end.balance == coins
    rich = PurseState(0, Purse.new(owner.key, era).end.id, coins + 1, 0, ())
    with pytest.raises(MalformedPurseError, match="first state"):
        Purse(owner.key, era, rich, ())


# Ends


def test_a_player_of_a_match_rejects_a_false_end_and_all_later_records(people: People) -> None:
    winner, one, two, stranger = people("CABX")
    played = Played(winner, one, two)
    played.stake({winner: 300, one: 300, two: 300})
    played.finish(winner, known_by=[winner])
    for liar in (one, two):
        settle(liar, played.evidence(played.decide(liar), [one, two], liar.key))
        assert liar.balance > 1500
        for _ in range(3):
            assert "not the one known here" in winner.judge(liar.sit()).refusal
            sham(liar)
        assert stranger.takes(liar.sit())  # a majority of a match can deceive a stranger to it


def test_a_match_of_two_cannot_be_settled_by_one_player(people: People) -> None:
    winner, loser = people("OX")
    played = Played(winner, loser)
    played.stake({winner: 100, loser: 100})
    played.finish(winner, signers=[winner])
    assert winner.keeper.own.busy
    assert not loser.keeper.own.busy  # the loser gets nothing back, so needs no evidence
    with pytest.raises(MalformedPurseError, match="too few"):
        read_evidence(played.evidence(played.decide(winner), [winner]))
    own_word = winner.purse.with_record(Record(played.id[:16], 100, 0, 110, 0, 0))
    record = winner.sit().record
    join = record.join._replace(head=own_word.head)
    made = make_join_record(join, winner.identity, MatchKey(winner.seeds[join.match_key]))
    with pytest.raises(MalformedPurseError, match="without evidence"):
        read_shown(made.wire, own_word.wire, (), ())


def test_a_stake_cannot_be_taken_back_before_a_match_of_two_ends(people: People) -> None:
    owner, other = people("OY")
    played = Played(owner, other)
    played.stake({owner: 50, other: 50})
    taken_back = owner.purse.with_record(Record(played.id[:16], 50, 0, 0, 0, 0))
    owner.keeper._keep(OwnPurse(taken_back))
    owner.is_liar = True
    sham(owner)
    owner.is_liar = False
    assert "not over" in other.judge(owner.sit()).refusal


def test_two_of_three_settle_even_if_the_third_has_forgotten_one_of_them(people: People) -> None:
    winner, other, third = people("BAX")
    played = Played(winner, other, third)
    played.stake({winner: 50, other: 50, third: 50})
    played.finish(winner, signers=[winner, other], known_by=[winner, other])
    assert third.takes(winner.sit())
    third.store.purses.forget(other.key)
    assert third.takes(winner.sit())


@pytest.mark.parametrize("column", ["shown", "stake", "evidence"])
def test_a_damaged_store_is_reported_and_not_blamed_on_a_peer(people: People, column: str) -> None:
    owner, other = people("OY")
    owner.back_up()
    play(other, owner)
    handed = back(other.keeper._with_end(known_to(other, owner)))
    table = "purse_ends" if column == "evidence" else "purses_met"
    other.store.database.connection.execute(f"UPDATE {table} SET {column} = x'c1'")
    owner.put_back()
    host, old = other.keeper, owner.sit()
    host.shown[owner.key] = old
    for act in (lambda: host.judge(old), lambda: host.flaw(old.record), lambda: host.take_handed(handed)):
        with pytest.raises(DamagedPurseError, match="the store is damaged"):
            act()


def test_no_player_loses_more_than_they_staked(people: People) -> None:
    one, two, three = people("ABC")
    played = Played(one, two, three)
    played.stake({one: 10, two: 10, three: 10})
    account = played.decide(one)
    bets = [*account.bets]
    bets[played.author(three)] = (900, 0)
    evidence: Any = played.evidence(account._replace(bets=tuple(bets)), [one, two])
    genesis, stakes, end, *rest = evidence
    with pytest.raises(MalformedPurseError, match="player has not signed"):
        read_evidence((genesis, stakes, end, *rest))
    step, tip, opened = stakes
    swapped = tuple((each[0], 900, *each[2:]) if each[0] == played.author(three) else each for each in opened)
    with pytest.raises(MalformedPurseError, match="signature"):
        read_evidence((genesis, (step, tip, swapped), end, *rest))


def test_a_match_is_void_only_if_all_players_have_signed_so(people: People) -> None:
    one, two, three = people("ABC")
    played = Played(one, two, three)
    played.stake({one: 10, two: 20, three: 30})
    played.void(one)
    assert (one.balance, one.keeper.own.busy, one.purse.end.height) == (1000, b"", 1)
    evidence: Any = one.store.purses.evidence(played.id)
    genesis, stakes, end, results, gone = evidence
    with pytest.raises(MalformedPurseError, match="void"):
        read_evidence((genesis, stakes, end, results[:-1], gone))
    assert two.takes(one.sit())


def test_a_forfeited_stake_cannot_win_any_more(people: People) -> None:
    winner, loser = people("OX")
    played = Played(winner, loser)
    played.stake({winner: 100, loser: 100})
    winner.keeper.forfeit()
    assert winner.balance == 900
    played.finish(winner)
    assert winner.balance == 900
    with pytest.raises(MalformedPurseError, match="two records"):
        winner.purse.with_record(Record(played.id[:16], 0, 0, 210, 0, 0))
    assert loser.takes(winner.sit())


def test_a_forged_end_is_ignored_by_players_who_know_the_real_one(people: People) -> None:
    owner, one, two, host = people("CABH")
    played = Played(owner, one, two)
    played.stake({owner: 300, one: 300, two: 300})
    lie = played.evidence(played.decide(one), [one, two], b"lie")
    known = known_to(one, owner)._replace(evidence=lie)
    played.finish(owner)
    was = owner.purse
    owner.keeper.take_own(back(known))
    assert owner.purse is was
    now = owner.sit()
    host.keeper.shown[owner.key] = now
    host.keeper.take_handed(back(known))
    assert host.takes(now)


def test_an_owner_who_knows_the_end_rejects_evidence_of_another(people: People) -> None:
    """The owner knows the end, but too few players have signed it for a record."""
    owner, one, two = people("CAB")
    played = Played(owner, one, two)
    played.stake({owner: 300, one: 300, two: 300})
    lie = played.evidence(played.decide(one), [one, two], b"lie")
    played.finish(owner, signers=[owner], known_by=[owner])
    owner.keeper.take_own(back(known_to(one, owner)._replace(evidence=lie)))
    assert (owner.balance, owner.keeper.own.busy) == (1000, played.id)
    truth = played.evidence(played.decide(owner), [owner, two])
    owner.keeper.take_own(back(known_to(one, owner)._replace(evidence=truth)))
    assert (owner.balance, owner.keeper.own.busy) == (1690, b"")


def test_a_winner_who_missed_the_end_receives_it_from_other_players(people: People) -> None:
    winner, one, two, stranger = people("CABS")
    played = Played(winner, one, two)
    played.stake({winner: 300, one: 300, two: 300})
    played.finish(winner, known_by=[one, two])
    assert winner.keeper.own.busy
    found = handed_back(one, winner)
    assert winner.keeper.take_own(found)
    assert not winner.keeper.own.busy
    assert winner.balance == 1000 + 600 + 90
    assert all(each.takes(winner.sit()) for each in (one, two, stranger))


def test_a_host_passes_on_an_end_that_only_a_guest_knows(people: People) -> None:
    winner, host, guest = people("CHG")
    played = Played(winner, host, guest)
    played.stake({winner: 300, host: 300, guest: 300})
    played.finish(winner, known_by=[guest])
    shown = winner.sit()
    host.keeper.shown[winner.key] = shown
    without = host.judge(shown).back
    assert without is not None
    assert without.end is None
    assert host.keeper.take_handed(handed_back(guest, winner))
    assert not host.keeper.take_handed(handed_back(guest, winner))
    end = host.judge(shown).back
    assert end is not None
    assert winner.keeper.take_own(back(end))
    assert winner.balance > 1000


def test_a_player_who_resigned_cannot_withhold_the_pot(people: People) -> None:
    winner, loser = people("OX")
    played = Played(winner, loser)
    played.stake({winner: 100, loser: 100})
    evidence = played.evidence(played.decide(winner), [winner], gone=[loser])
    settle(winner, evidence)
    assert winner.balance == 1110
    assert read_shown(*winner.sit().wire)


def test_a_late_stake_is_returned(people: People) -> None:
    winner, late, third = people("OXY")
    played = Played(winner, late, third)
    played.stake({winner: 100, third: 100})
    assert late.keeper.open_stake(played.id, played.genesis, (70, 0))
    played.finish(winner)
    assert (late.balance, late.purse.end.height) == (1000, 1)
    assert winner.takes(late.sit())


# What other players' stores keep


def test_purses_shown_for_a_match_that_does_not_form_are_forgotten(people: People) -> None:
    owner, other = people("OX")
    play(owner, other)
    before = other.store.purses.met(owner.key)
    shown = [each.sit() for each in (owner, other)]
    again = Played(owner, other, shown=shown)
    for each in (owner, other):
        each.keeper.give_up(again.id, may_form=False)
        assert not each.keeper.find_hindrance()
    assert [each.match for each in other.store.purses.met(owner.key)] == [each.match for each in before]


def test_a_purse_from_a_finished_match_replaces_only_older_ones(people: People) -> None:
    owner, other = people("OX")
    matches = [play(owner, other) for _ in range(3)]
    other.store.purses.note_end(matches[1].id, (), ())  # this node had given the match up and learns of its end late
    assert [each.shown != b"" for each in other.store.purses.met(owner.key)] == [False, False, True]


def test_a_stake_signed_with_another_players_match_key_is_rejected(people: People) -> None:
    owner, other = people("OX")
    played = Played(owner, other)
    played.stake({owner: 10, other: 10})
    shown = known_to(other, owner)
    forged = sign(
        Message(played.id, STAKED, bytes(32), played.author(owner), Kind.STAKE, (1000, 0, bytes(32))),
        MatchKey(other.seeds[played.genesis.roster[played.author(other)].join.match_key]),
    )
    with pytest.raises(MalformedPurseError, match="signature that is wrong"):
        back(shown._replace(stake=forged))
