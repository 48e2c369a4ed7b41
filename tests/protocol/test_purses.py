"""Purses as values: records, states, heads and ledgers, and the relation between two purses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.moves import MAX_COINS
from p2pdice.rulesets import PRESETS
from protocol.crypto.hashing import tagged_hash
from protocol.limits import LEDGER, RECORDS, SOULS
from protocol.wire import purses
from protocol.wire.canonical import encode
from protocol.wire.genesis import MalformedGenesisError, parse_genesis
from protocol.wire.purses import (
    MalformedPurseError,
    Purse,
    PurseState,
    Record,
    Relation,
    Staked,
    loss,
    parse_head,
    parse_purse,
)
from tests.simulation.world import genesis, identity_of

OWNER = identity_of(b"owner", 0).public
STAKES = PRESETS["classic"].with_options({"stakes": "yes"})


def match(number: int) -> bytes:
    return tagged_hash("example", number)


def won(number: int, bet: int = 10, change: int = 5, tickets: int = 0, soul: int = 0) -> Record:
    return Record(match(number)[:16], bet, 0, change, tickets, soul)


def after(*records: Record, era: int = 0) -> Purse:
    purse = Purse.new(OWNER, era)
    for record in records:
        purse = purse.with_record(record)
    return purse


def test_only_the_first_era_has_the_coins_of_a_newcomer() -> None:
    assert Purse.new(OWNER).head[:2] == (0, 0)
    assert [Purse.new(OWNER, era).end.balance for era in range(3)] == [1000, 0, 0]
    assert len({Purse.new(OWNER, era).head.id for era in range(3)}) == 3


def test_records_move_coins_tickets_and_souls() -> None:
    purse = after(won(1), won(2, change=-10), won(3, tickets=2, soul=5), won(4, soul=5), won(5, soul=1))
    assert purse.end[2:] == (1000 + 5 - 10 + 15, 2, ((1, 1), (5, 2)))
    assert purse.head.height == purse.end.height == 5
    assert parse_purse(OWNER, purse.wire).states == purse.states


@pytest.mark.parametrize(
    ("record", "is_loss"),
    [
        (loss(match(1), 10, 2), True),
        (won(1, change=-10), True),
        (won(1, bet=0, change=0), True),
        (won(1, change=-10, tickets=1), False),
        (won(1, change=-10, soul=1), False),
        (won(1, change=-9), False),
    ],
)
def test_a_loss_returns_nothing(record: Record, is_loss: bool) -> None:
    assert record.is_loss is is_loss


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (won(1, bet=1006), "more was staked"),
        (Record(match(1)[:16], 0, 1, 0, 0, 0), "more was staked"),
        (won(1, bet=10, change=-11), "more was lost"),
        (Record(match(1)[:16], 0, 0, 0, -1, 0), "more was lost"),
        (won(1, change=MAX_COINS - 999), "largest amount"),
        (won(9), "two records"),
    ],
)
def test_a_record_that_cannot_follow_is_refused(record: Record, why: str) -> None:
    with pytest.raises(MalformedPurseError, match=why):
        after(won(9)).with_record(record)


def test_a_stake_may_be_the_whole_balance_and_sums_may_reach_their_limit() -> None:
    assert after(won(1, bet=1000, change=-1000)).end.balance == 0
    assert after(won(1, change=MAX_COINS - 1000)).end.balance == MAX_COINS


BAD_RECORDS: tuple[tuple[Any, ...], ...] = (
    (bytes(15), 0, 0, 0, 0, 0),
    (bytes(17), 0, 0, 0, 0, 0),
    (bytes(16), -1, 0, 0, 0, 0),
    (bytes(16), MAX_COINS + 1, 0, 0, 0, 0),
    (bytes(16), 0, -1, 0, 0, 0),
    (bytes(16), 0, 0, MAX_COINS + 1, 0, 0),
    (bytes(16), 0, 0, 0, "", 0),
    (bytes(16), 0, 0, 0, 0, SOULS + 1),
    (bytes(16), 0, 0, 0, 0, -1),
    (bytes(16), 0, 0, 0, 0),
    (bytes(16), 0, 0, 0, 0, 0, 0),
)
BAD_STATES: tuple[tuple[Any, ...], ...] = (
    (-1, bytes(32), 0, 0, ()),
    (2**32, bytes(32), 0, 0, ()),
    (1, bytes(31), 0, 0, ()),
    (1, bytes(32), -1, 0, ()),
    (1, bytes(32), 0, MAX_COINS + 1, ()),
    (1, bytes(32), 0, 0, ((0, 1),)),
    (1, bytes(32), 0, 0, ((16, 1),)),
    (1, bytes(32), 0, 0, ((1, 0),)),
    (1, bytes(32), 0, 0, ((2, 1), (1, 1))),
    (1, bytes(32), 0, 0, ((1, 1), (1, 1))),
    (1, bytes(32), 0, 0, ((1, 1, 1),)),
    (1, bytes(32), 0, 0, 0),
    (1, bytes(32), 0, 0),
)


@pytest.mark.parametrize("record", BAD_RECORDS)
def test_a_malformed_record_is_refused(record: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedPurseError, match="record of a purse"):
        parse_purse(OWNER, (0, tuple(Purse.new(OWNER).end), (record,)))


@pytest.mark.parametrize("state", BAD_STATES)
def test_a_malformed_state_is_refused(state: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedPurseError, match="wrong form"):
        parse_purse(OWNER, (0, state, ()))


@pytest.mark.parametrize(
    "value", [(), 0, b"", (0, (), ()), (0, tuple(Purse.new(OWNER).end), 0), (2**32, tuple(Purse.new(OWNER).end), ())]
)
def test_a_malformed_ledger_is_refused(value: Any) -> None:
    with pytest.raises(MalformedPurseError):
        parse_purse(OWNER, value)


@pytest.mark.parametrize("place", range(5))
def test_each_malformed_part_of_a_head_is_refused(place: int) -> None:
    head: tuple[Any, ...] = tuple(Purse.new(OWNER).head)
    assert parse_head(head) == head
    for bad in (-1, 2**63, "0", b"x"):
        with pytest.raises(MalformedPurseError, match="head of a purse"):
            parse_head((*head[:place], bad, *head[place + 1 :]))
    with pytest.raises(MalformedPurseError, match="head of a purse"):
        parse_head(head[:-1])


def test_a_ledger_belongs_to_its_owner() -> None:
    with pytest.raises(MalformedPurseError, match="first state"):
        parse_purse(bytes(32), Purse.new(OWNER).wire)


def test_a_full_ledger_folds_its_older_half() -> None:
    with patch.object(purses, "RECORDS", 8):
        purse = after(*(won(number) for number in range(9)))
        assert len(purse.records) == 5
        assert purse.states[0].height == 4
        whole = after(*(won(number) for number in range(8)))
        assert parse_purse(OWNER, purse.wire).head == purse.head
    assert purse.end.balance == 1000 + 9 * 5
    assert purse.at(8) == whole.end
    assert purse.at(3) is None


def test_a_ledger_of_the_longest_records_is_still_valid_after_folding() -> None:
    many = [
        Record(match(number)[:16], 10**10, 10**10, (-1) ** number * 5 * 10**9, (-1) ** number * 5 * 10**9, 1)
        for number in range(1000)
    ]
    souls = tuple((each, MAX_COINS - 1000) for each in range(1, SOULS + 1))
    purse = Purse(OWNER, 0, PurseState(2**31, bytes(32), 10**11, 10**11, souls), tuple(many[:780]))
    rest = iter(many[780:])
    while purse.states[0].height == 2**31:
        purse = purse.with_record(next(rest))
    assert len(parse_purse(OWNER, purse.wire).records) >= 400


@pytest.mark.parametrize("left", [0, 1, RECORDS // 3 - 1, RECORDS // 3])
def test_a_ledger_cut_shorter_than_folding_leaves_it_is_refused(left: int) -> None:
    purse = Purse(OWNER, 0, Purse.new(OWNER).end, tuple(won(number) for number in range(RECORDS)))
    cut = Purse(OWNER, 0, purse.states[RECORDS - left], purse.records[RECORDS - left :])
    assert cut.head == purse.head
    if left == RECORDS // 3:
        assert parse_purse(OWNER, cut.wire).head == purse.head
    else:
        with pytest.raises(MalformedPurseError, match="too few records"):
            parse_purse(OWNER, cut.wire)


def test_the_head_covers_the_souls_of_the_first_state_shown() -> None:
    """Otherwise a peer could return a ledger with false Twin Souls at its start and the signed head at its end."""
    purse = after(won(1, soul=2), won(2), won(3))
    for height in (1, 2):
        shown = Purse(OWNER, 0, purse.states[height], purse.records[height:])
        assert shown.head == purse.head
        for souls in ((), ((1, 1),), ((2, 2),)):
            assert (
                Purse(OWNER, 0, purse.states[height]._replace(souls=souls), purse.records[height:]).head != shown.head
            )


def test_a_ledger_always_fits_into_a_frame() -> None:
    largest = Record(match(0)[:16], MAX_COINS, MAX_COINS, -MAX_COINS, MAX_COINS, SOULS)
    assert RECORDS * 27 < LEDGER < RECORDS * len(encode(tuple(largest)))
    many = [Record(match(number)[:16], 1000, 0, 1 + number % 2, 0, 0) for number in range(RECORDS + 1)]
    start = PurseState(1, bytes(32), 10**11, 0, ())
    assert len(encode(Purse(OWNER, 0, start, tuple(many[:-1])).wire)) <= LEDGER
    with pytest.raises(MalformedPurseError, match="too long"):
        Purse(OWNER, 0, start, tuple(many))
    dear = [
        each._replace(bet=10**10, tickets=10**10, change=(-1) ** number * 5 * 10**9) for number, each in enumerate(many)
    ]
    with pytest.raises(MalformedPurseError, match="too long"):
        Purse(OWNER, 0, start._replace(tickets=10**11), tuple(dear[:-1]))


def folded(purse: Purse, height: int) -> Purse:
    return Purse(OWNER, purse.era, purse.states[height], purse.records[height:])


BASE = after(won(1), won(2), won(3))
LONGER = BASE.with_record(won(4))
FURTHER = LONGER.with_record(won(5))
OTHER = after(won(1), won(2), won(3, change=6)).with_record(won(4))


@pytest.mark.parametrize(
    ("known", "shown", "relation"),
    [
        (BASE, BASE, Relation.SAME),
        (BASE, LONGER, Relation.LONGER),
        (LONGER, BASE, Relation.OLDER),
        (BASE, folded(LONGER, 3), Relation.LONGER),
        (BASE, folded(FURTHER, 4), Relation.FOLDED),
        (folded(FURTHER, 4), BASE, Relation.OLDER),
        (BASE, OTHER, Relation.FORK),
        (OTHER, BASE, Relation.FORK),
        (BASE, Purse.new(OWNER, 1), Relation.LONGER),
        (Purse.new(OWNER, 1), LONGER, Relation.OLDER),
        (
            BASE,
            Purse(OWNER, 0, BASE.states[1]._replace(balance=BASE.states[1].balance + 1), BASE.records[1:]),
            Relation.FORK,
        ),
    ],
)
def test_the_relation_between_two_purses(known: Purse, shown: Purse, relation: Relation) -> None:
    assert known.relation_of(shown) is relation


NEXT = LONGER.records[-1].staked
ELSE = won(5).staked


@pytest.mark.parametrize(
    ("known", "staked", "shown", "shown_staked", "relation"),
    [
        (BASE, NEXT, BASE, NEXT, Relation.SAME),
        (BASE, None, BASE, NEXT, Relation.LONGER),
        (BASE, NEXT, BASE, None, Relation.OLDER),
        (BASE, NEXT, BASE, ELSE, Relation.FORK),
        (BASE, NEXT, LONGER, None, Relation.LONGER),
        (BASE, ELSE, LONGER, None, Relation.FORK),
        (LONGER, None, BASE, NEXT, Relation.OLDER),
        (LONGER, None, BASE, ELSE, Relation.FORK),
        (BASE, ELSE, folded(FURTHER, 4), None, Relation.FOLDED),
        (folded(FURTHER, 4), None, BASE, ELSE, Relation.OLDER),
        (BASE, ELSE, Purse.new(OWNER, 1), None, Relation.LONGER),
        (Purse.new(OWNER, 1), None, BASE, ELSE, Relation.OLDER),
        (LONGER, None, BASE, (NEXT[0], NEXT[1] + 1, NEXT[2]), Relation.FORK),
    ],
)
def test_a_stake_must_be_followed_by_its_record(
    known: Purse, staked: Staked | None, shown: Purse, shown_staked: Staked | None, relation: Relation
) -> None:
    assert known.relation_of(shown, staked, shown_staked) is relation


@given(st.lists(st.integers(1, 4), max_size=6), st.lists(st.integers(1, 4), max_size=6))
def test_two_purses_are_one_branch_exactly_if_one_is_a_prefix_of_the_other(first: list[int], second: list[int]) -> None:
    one, other = (
        after(*(won(number, change=change) for number, change in enumerate(each))) for each in (first, second)
    )
    is_branch = first[: len(second)] == second[: len(first)]
    assert (one.relation_of(other) is not Relation.FORK) is is_branch
    assert (other.relation_of(one) is not Relation.FORK) is is_branch


# Genesis


def sitting(*heads: Any) -> bytes:
    seats = [(identity_of(b"sitting", number), head) for number, head in enumerate(heads)]
    return genesis(STAKES, len(heads), b"sitting", sitting=seats)[0].encoded()


def test_all_players_or_none_bring_a_purse_and_only_to_a_match_with_stakes() -> None:
    head = Purse.new(OWNER).head
    brought = parse_genesis(sitting(head, head._replace(balance=7, tickets=3)))
    assert brought.has_purses
    assert {brought.funds(0), brought.funds(1)} == {(1000, 0), (7, 3)}
    without = parse_genesis(sitting(None, None))
    assert not without.has_purses
    assert without.funds(0) == (1000, 0)
    for wrong in (
        sitting(head, None),
        parse_genesis(sitting(head, head))._replace(ruleset=PRESETS["classic"]).encoded(),
    ):
        with pytest.raises(MalformedGenesisError, match="has purses only"):
            parse_genesis(wrong)


CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda head: head._replace(era=-1),
    lambda head: head._replace(height=2**32),
    lambda head: head._replace(balance=MAX_COINS + 1),
    lambda head: head._replace(id=bytes(31)),
)


@pytest.mark.parametrize("change", CHANGES)
def test_an_impossible_head_is_refused(change: Callable[[Any], Any]) -> None:
    head = Purse.new(OWNER).head
    with pytest.raises(MalformedGenesisError, match="head of a purse"):
        parse_genesis(sitting(head, change(head)))
