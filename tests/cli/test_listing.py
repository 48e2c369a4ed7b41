"""Tables and matches as they are listed and picked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.listing import changes, data, describe, listed
from cli.picking import pick
from protocol.discovery import LOBBY, PLAYING, Advertisement, Sighting

FRIDAY = Advertisement("ab" * 16, "Friday", "classic", 1, 3, LOBBY, 1)
MATCH = replace(FRIDAY, id="cd" * 32, seats_taken=3, status=PLAYING)


def told(advertisement: Advertisement, *nodes: int) -> list[Sighting]:
    """Return the records of nodes that tell this."""
    hosts = [(f"192.0.2.{node}", f"fd00::{node}") for node in nodes]
    return [Sighting(advertisement, ((v6, 7000), (v4, 7000)), v4) for v4, v6 in hosts]


def test_a_match_that_all_its_players_tell_of_is_listed_once() -> None:
    (row,) = listed(told(MATCH, 1, 2, 3))
    assert describe(row) == "Friday: classic, playing, at [fd00::1]:7000 and two more"
    assert data(row)["addresses"] == [
        *(f"[fd00::{node}]:7000" for node in (1, 2, 3)),
        *(f"192.0.2.{node}:7000" for node in (1, 2, 3)),
    ]


@pytest.mark.parametrize(
    "lie", [{"name": "Sunday"}, {"rules": "motes"}, {"seats": 4}, {"seats_taken": 2}, {"status": LOBBY}, {"version": 2}]
)
def test_a_false_record_of_a_match_hides_no_true_one(lie: dict[str, object]) -> None:
    false = replace(MATCH, **lie)  # type: ignore[arg-type]
    for found in ([*told(false, 9), *told(MATCH, 1, 2)], [*told(MATCH, 1), *told(false, 9), *told(MATCH, 2)]):
        rows = {row.advertisement: row for row in listed(found)}
        assert set(rows) == {MATCH, false}
        assert ("192.0.2.1", 7000) in rows[MATCH].addresses
        assert ("192.0.2.9", 7000) not in rows[MATCH].addresses


def test_who_tells_the_same_of_an_open_table_stands_apart() -> None:
    assert len(listed(told(FRIDAY, 1, 2))) == 2


advertisements = st.sampled_from([FRIDAY, MATCH, replace(FRIDAY, seats_taken=2), replace(MATCH, name="Sunday")])
networks = st.dictionaries(st.integers(1, 5), advertisements, max_size=5).map(
    lambda nodes: [sighting for node, advertisement in nodes.items() for sighting in told(advertisement, node)]
)


@given(networks, networks)
def test_who_follows_the_changes_knows_what_there_is(before: list[Sighting], now: list[Sighting]) -> None:
    """A match is no other because one more of its players tells of it."""
    old, new = listed(before), listed(now)
    reports = changes(old, new)
    kinds = [kind for kind, _ in reports]
    assert len(old) + kinds.count("open") - kinds.count("closed") == len(new)
    said = Counter(row.advertisement for kind, row in reports if kind != "closed")
    assert said == Counter(row.advertisement for row in new) - Counter(row.advertisement for row in old)


def test_a_table_whose_match_begins_changes_and_is_neither_closed_nor_opened() -> None:
    steps = [told(FRIDAY, 1), told(MATCH, 1), told(MATCH, 1, 2), told(MATCH, 2), []]
    rows = [listed(step) for step in steps]
    assert [[kind for kind, _ in changes(*pair)] for pair in pairwise(rows)] == [
        ["changed"],
        [],
        [],
        ["closed"],
    ]


@pytest.mark.parametrize(
    ("answer", "place"),
    [("1", 0), ("friday", 0), ("FRIDAY", 1), ("Fr", None), ("sun", 2), ("4", None), ("", None), ("Saturday", None)],
)
def test_a_table_is_picked_by_number_or_by_as_much_of_its_name_as_tells_it_apart(
    answer: str, place: int | None
) -> None:
    names = ("friday", "FRIDAY", "Sunday")
    rows = listed(each for number, name in enumerate(names) for each in told(replace(FRIDAY, name=name), number))
    assert pick(answer, rows) == (None if place is None else rows[place])


def test_the_only_one_is_picked_by_saying_nothing() -> None:
    rows = listed(told(FRIDAY, 1))
    assert pick("", rows) == rows[0]
