"""Evidence of settlements, and the entries that follow: one thing is wrong, and everything else is signed anew.

So nothing but the rule that a test names can refuse it.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, cast

import pytest

from p2pdice.moves import MAX_COINS
from protocol.consensus.accounts import Account, result_hash
from protocol.consensus.purse_proofs import after, settlement
from protocol.consensus.settlements import Evidence, gather, read_evidence
from protocol.crypto.keys import MatchKey
from protocol.limits import FROZEN, PURSE, SOULS, STEPS
from protocol.match.effects import Conceded
from protocol.wire.canonical import Value, encode
from protocol.wire.messages import Kind, Message, sign
from protocol.wire.purses import (
    Body,
    Entry,
    Forfeit,
    Freeze,
    Frozen,
    MalformedPurseError,
    Opening,
    Purse,
    Settled,
    SignedEntry,
    Void,
    following,
    parse_entry,
    sign_entry,
)
from tests.protocol.test_purses import ONE_DIE, Owner, evidence_of, play
from tests.simulation.world import World

PLAYERS = 5


@cache
def ended() -> World:
    """A match of five that nobody has settled yet."""
    owners = [Owner(f"five {number}") for number in range(PLAYERS)]
    for owner in owners:  # so their funds are 600
        assert owner.own.freeze(following(owner.purse, Freeze(b"elsewhere".ljust(32), 400, 0))) is not None
    return play(owners, 90)


def signed(world: World, author: int, kind: Kind, step: int, tip: bytes, body: Any) -> bytes:
    match = world.machines[0].match.id
    return sign(Message(match, step, tip, author, kind, body), MatchKey(world.seeds[author])).signature


def told(account: Account, authors: range = range(PLAYERS)) -> Evidence:
    """Return evidence of this account, with RESULTs of these players."""
    right = evidence_of(ended())
    body = result_hash(right.state, account.encoded())
    results = tuple((author, signed(ended(), author, Kind.RESULT, right.step, right.tip, body)) for author in authors)
    return right._replace(account=account.encoded(), results=results)


def right_account() -> Account:
    return read_evidence(evidence_of(ended()).encoded()).account


def resigned(author: int, step: int = 3) -> tuple[int, int, bytes, bytes]:
    return author, step, bytes(32), signed(ended(), author, Kind.RESIGN, step, bytes(32), ())


def refused(evidence: Evidence, why: str) -> None:
    with pytest.raises(MalformedPurseError, match=why):
        read_evidence(evidence.encoded())


def staking(bet: int, tickets: int) -> Evidence:
    """Return evidence in which the first player has staked so much, and the purse has signed it."""
    account = right_account()
    own = ended().purses[0]
    brought = ended().genesis.roster[0].join.purse
    assert brought is not None
    freeze = sign_entry(following(brought, Freeze(ended().machines[0].match.id, bet, tickets)), own.key).signature
    evidence = told(account._replace(bets=((bet, tickets), *account.bets[1:])))
    return evidence._replace(freezes=(freeze, *evidence.freezes[1:]))


# Who must have signed


def test_more_than_half_of_those_who_did_not_resign_must_have_signed() -> None:
    for resigning, needed in ((0, 3), (1, 3), (2, 2), (3, 2), (4, 1)):
        gone = tuple(resigned(author) for author in range(resigning))
        staying = range(resigning, PLAYERS)
        enough = told(right_account(), staying[:needed])._replace(resignations=gone)
        assert read_evidence(enough.encoded()).account == right_account()
        refused(told(right_account(), staying[: needed - 1])._replace(resignations=gone), "too few")


def test_the_result_of_who_resigned_does_not_count() -> None:
    """Two have resigned and sign the end all the same: two of the three others are needed still."""
    gone = (resigned(0), resigned(1))
    refused(told(right_account(), range(3))._replace(resignations=gone), "too few")
    read_evidence(told(right_account(), range(4))._replace(resignations=gone).encoded())


@pytest.mark.parametrize(
    "change",
    [
        lambda gone: (gone[1], gone[0]),
        lambda gone: (gone[0], gone[0]),
        lambda gone: (gone[0], resigned(0, 4)),
        lambda gone: (gone[0], (PLAYERS, *gone[1][1:])),
        lambda gone: (gone[0], (-1, *gone[1][1:])),
    ],
)
def test_resignations_are_of_players_in_order_one_of_each(change: Any) -> None:
    gone = change((resigned(0), resigned(1)))
    refused(told(right_account())._replace(resignations=gone), "out of order")


def test_a_resignation_is_signed_by_its_author_for_its_step() -> None:
    author, step, tip, signature = resigned(0)
    for wrong in (
        (1, step, tip, signature),
        (author, step + 1, tip, signature),
        (author, step, b"1" * 32, signature),
        resigned(0, 1),  # before this step it declines the match
    ):
        refused(told(right_account(), range(1, PLAYERS))._replace(resignations=(wrong,)), "resignation that was not")


def test_results_are_of_players_in_order_one_of_each() -> None:
    results = told(right_account()).results
    stranger, nobody = (PLAYERS, results[0][1]), (-1, results[0][1])
    for wrong in (results[::-1], (results[0], *results), (*results, stranger), (nobody, *results)):
        refused(told(right_account())._replace(results=wrong), "out of order")


def test_a_resignation_counts_from_the_second_step_on() -> None:
    """Before that it declines the match."""
    for step in (2, STEPS - 1):
        read_evidence(told(right_account(), range(1, 4))._replace(resignations=(resigned(0, step),)).encoded())


# What players gather


def test_nothing_is_gathered_of_a_match_that_is_not_over_or_has_no_purses() -> None:
    owners = [Owner(name) for name in "ab"]
    begun = World(ONE_DIE, 2, 92, owners=[owner.seat for owner in owners])
    assert gather(begun.machines[0].match.history) is None
    without = World(ONE_DIE, 2, 91)
    without.run()
    history = without.machines[0].match.history
    assert history.position.kind is None
    assert gather(history) is None


@pytest.mark.parametrize("moment", range(18, 60, 3))
def test_others_accept_whatever_is_gathered(moment: int) -> None:
    """Somebody resigns at any moment, and whichever RESULTs are missing: it is nothing, or enough."""
    world = World(ONE_DIE, 3, 93, owners=[Owner(name).seat for name in "abc"])
    for _ in range(moment):
        world.step()
    world.machines[0].turn = None
    world.feed(0, Conceded())
    world.run()
    history = world.machines[1].match.history
    if history.position.kind is not None:
        return  # it was declined
    results = dict(history.results)
    for number in range(len(results) + 1):
        for kept in combinations(sorted(results), number):
            history.results.clear()
            history.results.update({author: results[author] for author in kept})
            found = gather(history)
            assert (found is not None) or len(kept) < 2
            if found is not None:
                read_evidence(found.encoded())


def test_who_resigned_before_the_stakes_holds_up_nobodys_coins() -> None:
    """Of four, one has resigned in the second step, the first in which that counts, and signs nothing more. Neither
    does the loser. So two of three have signed; of four it would be too few, and the pot would stay frozen."""
    world = World(ONE_DIE, 4, 95, owners=[Owner(name).seat for name in "abcd"])
    while world.machines[0].match.history.position.step < 1:
        assert world.step()
    world.feed(0, Conceded())
    world.run()
    history = world.machines[1].match.history
    gone = [each for step in history.chain for each in step.entries.values() if each.message.kind == Kind.RESIGN]
    assert [(each.message.author, each.message.step) for each in gone] == [(0, 2)]
    history.results.pop(0)
    history.results.pop(3)
    found = gather(history)
    assert found is not None
    assert [author for author, *_ in found.resignations] == [0]
    assert sum(bet for bet, _ in read_evidence(found.encoded()).account.bets) > 0


# Stakes


def test_a_bet_needs_the_freeze_of_its_purse() -> None:
    right = told(right_account())
    assert right_account().bets[0] != (0, 0)
    refused(right._replace(freezes=(b"", *right.freezes[1:])), "no purse has frozen")
    refused(right._replace(freezes=(right.freezes[1], *right.freezes[1:])), "no purse has frozen")
    (bet, tickets), *others = right_account().bets
    for other in ((bet + 1, tickets), (bet - 1, tickets)):
        refused(told(right_account()._replace(bets=(other, *others))), "no purse has frozen")


def test_who_staked_nothing_needs_no_freeze_and_a_wrong_one_is_refused() -> None:
    account = right_account()._replace(bets=((0, 0), *right_account().bets[1:]))
    right = told(account)
    read_evidence(right._replace(freezes=(b"", *right.freezes[1:])).encoded())
    refused(right, "no purse has frozen")


def test_bets_and_tickets_are_within_what_was_brought() -> None:
    read_evidence(staking(600, 0).encoded())
    refused(staking(601, 0), "above funds")
    refused(staking(600, 1), "above funds")


def test_each_player_has_one_place_for_a_freeze() -> None:
    right = told(right_account())
    for wrong in (right.freezes[:-1], (*right.freezes, b"")):
        refused(right._replace(freezes=wrong), "not those of its players")


def test_what_a_winner_would_get_above_the_limit_is_lost() -> None:
    """An entry could not even spell it."""
    found = read_evidence(evidence_of(ended()).encoded())
    rich = right_account()._replace(bets=((MAX_COINS, MAX_COINS),) * PLAYERS, winners=(0,), earners=())
    own = ended().purses[0].purse
    stake = own.frozen_for(found.match)
    assert stake is not None
    frozen = (stake._replace(bet=MAX_COINS, tickets=MAX_COINS),)
    before = own._replace(balance=MAX_COINS, tickets=MAX_COINS, frozen=frozen)
    body = settlement(before, found._replace(account=rich)).body
    assert isinstance(body, Settled)
    assert (body.change, body.balance) == (MAX_COINS, MAX_COINS)
    assert body.tickets <= MAX_COINS


def test_the_tickets_that_a_winner_gets_can_be_written_down_however_many_are_staked() -> None:
    """Else two purses with all the tickets there can be would make the winner sign an entry that nobody can read."""
    found = read_evidence(evidence_of(ended()).encoded())
    staked = right_account()._replace(bets=((0, 0), *((0, MAX_COINS),) * (PLAYERS - 1)), winners=(0,), earners=())
    own = ended().purses[0]
    stake = own.purse.frozen_for(found.match)
    assert stake is not None
    frozen = tuple(each._replace(bet=0, tickets=0) if each is stake else each for each in own.purse.frozen)
    before = own.purse._replace(frozen=frozen)
    signed = sign_entry(settlement(before, found._replace(account=staked)), own.key)
    assert parse_entry(*signed.wire) == signed
    assert after(before, signed).tickets == MAX_COINS


# Forms


@pytest.mark.parametrize(
    "change",
    [
        {"winners": ()},
        {"winners": (0, 0)},
        {"winners": (PLAYERS,)},
        {"winners": (-1,)},
        {"earners": (1, 1)},
        {"earners": (PLAYERS,)},
        {"bets": ((1, 0),) * (PLAYERS - 1)},
        {"bets": ((1, 0),) * (PLAYERS + 1)},
        {"bets": ((-1, 0), *((1, 0),) * (PLAYERS - 1))},
        {"bets": ((MAX_COINS + 1, 0), *((1, 0),) * (PLAYERS - 1))},
        {"bets": ((1, 0, 0), *((1, 0),) * (PLAYERS - 1))},
        {"soul": "x" * 41},
    ],
)
def test_an_impossible_account_is_refused_though_all_have_signed_it(change: dict[str, Any]) -> None:
    refused(told(right_account()._replace(**change)), "account of a settlement has the wrong form")


@pytest.mark.parametrize(
    "change",
    [
        {"step": STEPS},
        {"step": -1},
        {"tip": bytes(31)},
        {"state": bytes(33)},
        {"freezes": (bytes(63),) * PLAYERS},
        {"freezes": (0,) * PLAYERS},
        {"results": ((0,),)},
        {"results": ((0, bytes(64), 0),)},
        {"resignations": ((0, 3, bytes(32)),)},
        {"resignations": ((0, STEPS, bytes(32), bytes(64)),)},
        {"resignations": ((0, 3, bytes(31), bytes(64)),)},
    ],
)
def test_evidence_of_another_form_is_refused(change: dict[str, Any]) -> None:
    refused(told(right_account())._replace(**change), "wrong form")


def test_evidence_has_eight_parts_and_so_many_bytes() -> None:
    right = told(right_account())
    for parts in (tuple(right)[:-1], (*right, b"")):
        with pytest.raises(MalformedPurseError, match="wrong form"):
            read_evidence(encode(cast("Value", parts)))
    with pytest.raises(MalformedPurseError, match="too long"):
        read_evidence(bytes(PURSE + 1))


def test_a_match_without_purses_settles_nothing() -> None:
    world = World(ONE_DIE, 2, 91)
    refused(told(right_account())._replace(genesis=world.data), "without purses")


# The fold over entries

MATCH = b"m" * 32


def purse(**parts: Any) -> Purse:
    return Owner("fold").purse._replace(**parts)


def entry(body: Body, before: Purse, **parts: Any) -> SignedEntry:
    return sign_entry(following(before, body)._replace(**parts), Owner("fold").own.key)


def settled(before: Purse, change: int, tickets: int = 0, soul: str = "") -> Settled:
    sums = min(before.balance + change, MAX_COINS), min(before.tickets + tickets, MAX_COINS)
    return Settled(MATCH, bytes(32), change, tickets, soul, *sums)


def test_an_entry_names_the_one_before_and_the_next_height() -> None:
    before = purse()
    body = Freeze(MATCH, 1, 0)
    assert after(before, entry(body, before)).height == 1
    for wrong in ({"predecessor": b"1" * 32}, {"height": 2}, {"purse": Owner("other").purse.key}):
        with pytest.raises(MalformedPurseError, match="does not follow"):
            after(before, entry(body, before, **wrong))


def test_a_purse_is_opened_once_and_first() -> None:
    owner = Owner("fold")
    with pytest.raises(MalformedPurseError, match="opened twice"):
        after(owner.purse, owner.kept[0])
    with pytest.raises(MalformedPurseError, match="does not follow"):
        after(None, entry(Freeze(MATCH, 1, 0), owner.purse))
    opening = Entry(owner.purse.key, 0, b"", Opening(owner.identity.public, 0))
    assert after(None, sign_entry(opening, owner.own.key)).balance == 0


@pytest.mark.parametrize("body", [Void(MATCH), Forfeit(MATCH), Settled(MATCH, bytes(32), 0, 0, "", 1000, 0)])
def test_what_frees_a_stake_needs_one_for_its_match(body: Body) -> None:
    other = purse(frozen=(Frozen(b"o" * 32, 10, 0, 0),))
    with pytest.raises(MalformedPurseError, match="without a frozen stake"):
        after(other, entry(body, other))
    both = other._replace(frozen=(Frozen(MATCH, 5, 0, 0), *other.frozen))
    assert after(both, entry(body, both)).frozen == other.frozen


def test_a_void_gives_back_what_a_forfeit_takes_away() -> None:
    before = purse(tickets=3, frozen=(Frozen(MATCH, 70, 2, 0),))
    void, forfeit = (after(before, entry(body, before)) for body in (Void(MATCH), Forfeit(MATCH)))
    assert (void.balance, void.funds, void.tickets) == (1000, 1000, 3)
    assert (forfeit.balance, forfeit.funds, forfeit.tickets) == (930, 930, 1)


def test_only_what_is_not_frozen_can_be_frozen() -> None:
    before = purse(tickets=3, frozen=(Frozen(b"o" * 32, 400, 2, 0),))
    assert after(before, entry(Freeze(MATCH, 600, 1), before)).funds == 0
    for bet, tickets in ((601, 1), (600, 2)):
        with pytest.raises(MalformedPurseError, match="more than its funds"):
            after(before, entry(Freeze(MATCH, bet, tickets), before))


def test_one_stake_for_a_match_and_sixteen_in_all() -> None:
    before = purse(frozen=(Frozen(MATCH, 1, 0, 0),))
    with pytest.raises(MalformedPurseError, match="two stakes in one match"):
        after(before, entry(Freeze(MATCH, 1, 0), before))
    full = purse(frozen=tuple(Frozen(bytes((number,)) * 32, 0, 0, 0) for number in range(FROZEN)))
    with pytest.raises(MalformedPurseError, match="more than 16 stakes"):
        after(full, entry(Freeze(MATCH, 0, 0), full))
    nearly = full._replace(frozen=full.frozen[1:])
    assert len(after(nearly, entry(Freeze(bytes(32), 0, 0), nearly)).frozen) == FROZEN


def test_frozen_stakes_stand_by_match() -> None:
    before = purse(frozen=(Frozen(b"z" * 32, 1, 0, 0),))
    found = after(before, entry(Freeze(MATCH, 1, 0), before))
    assert [each.match for each in found.frozen] == [MATCH, b"z" * 32]


def test_the_sums_of_a_settlement_are_those_after_it() -> None:
    before = purse(frozen=(Frozen(MATCH, 10, 0, 0),))
    right = settled(before, 25, 1)
    found = after(before, entry(right, before))
    assert (found.balance, found.tickets, found.frozen) == (1025, 1, ())
    for wrong in (right._replace(balance=1024), right._replace(tickets=0), right._replace(change=24)):
        with pytest.raises(MalformedPurseError, match="sums"):
            after(before, entry(wrong, before))


def test_what_is_above_the_limit_is_lost() -> None:
    before = purse(balance=MAX_COINS - 5, tickets=MAX_COINS, frozen=(Frozen(MATCH, 0, 0, 0),))
    found = after(before, entry(settled(before, 10, 1), before))
    assert (found.balance, found.tickets) == (MAX_COINS, MAX_COINS)


def test_a_soul_is_put_in_and_a_thirty_third_kind_is_lost() -> None:
    souls = tuple((f"{number:02}", 1) for number in range(SOULS))
    full = purse(frozen=(Frozen(MATCH, 0, 0, 0),), souls=souls)
    assert after(full, entry(settled(full, 0, soul="another"), full)).souls == souls
    assert after(full, entry(settled(full, 0, soul="05"), full)).souls[5] == ("05", 2)
    most = full._replace(souls=(*souls[:-1], (souls[-1][0], MAX_COINS)))
    assert after(most, entry(settled(most, 0, soul=souls[-1][0]), most)).souls == most.souls
    room = full._replace(souls=souls[1:])
    assert after(room, entry(settled(room, 0, soul="00"), room)).souls == souls
    assert after(room, entry(settled(room, 0), room)).souls == souls[1:]
