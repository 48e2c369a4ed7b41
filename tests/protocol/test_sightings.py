"""The records kept of multicast DNS are bounded whatever arrives, and replaced records are kept for a while."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from math import inf

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from zeroconf import DNSAddress, DNSPointer, DNSRecord, DNSService, DNSText

from protocol.limits import ADDRESSES_PER_PEER, FORMER_LIFE, TABLE_ANSWER, TABLE_LIFE, TABLES, TABLES_ASKED_FOR
from protocol.net import discovery as module
from protocol.net.discovery import (
    ASKING,
    IPV4,
    IPV6,
    LOBBY,
    POINTER,
    SERVICE,
    SERVICE_TYPE,
    TEXT,
    Advertisement,
    Sighting,
    Sightings,
)
from tests.fuzz.targets.txt import check_records

FRIDAY = Advertisement("00c0ffee", "Friday", "classic", 1, 4, LOBBY, 1)
HOME, ELSEWHERE = "192.0.2.1", "192.0.2.66"


def text(advertisement: Advertisement) -> bytes:
    entries = (f"{key}={value}".encode() for key, value in advertisement.to_txt().items())
    return b"".join(bytes((len(each),)) + each for each in entries)


def pointer(instance: str, ttl: int = TABLE_LIFE) -> DNSRecord:
    return DNSPointer(SERVICE_TYPE, POINTER, 1, ttl, f"{instance}.{SERVICE_TYPE}")


def service(instance: str, target: str, port: int = 7000) -> DNSRecord:
    return DNSService(f"{instance}.{SERVICE_TYPE}", SERVICE, 1, 120, 0, 0, port, target)


def told(instance: str, advertisement: Advertisement = FRIDAY) -> DNSRecord:
    return DNSText(f"{instance}.{SERVICE_TYPE}", TEXT, 1, TABLE_LIFE, text(advertisement))


def addresses(target: str, *hosts: str, zone: int | None = None) -> Iterator[DNSRecord]:
    for host in hosts:
        packed = ip_address(host).packed
        yield DNSAddress(target, IPV4 if len(packed) == 4 else IPV6, 1, 120, packed, scope_id=zone)


def table(instance: str, *hosts: str, target: str = "", port: int = 7000) -> list[DNSRecord]:
    """Build all records that a node announces for its table."""
    at = target or f"{instance}.local."
    return [pointer(instance), service(instance, at, port), told(instance), *addresses(at, *(hosts or (HOME,)))]


def places(tables: tuple[Sighting, ...]) -> set[tuple[str, int]]:
    return {address for each in tables for address in each.addresses}


# Honest tables


def test_the_order_of_a_tables_records_does_not_matter() -> None:
    together, one_by_one = Sightings(), Sightings()
    records = table("abc", HOME, "fe80::1")
    together.hear(records, 0)
    for record in (records[0], *reversed(records[1:])):
        one_by_one.hear([record], 0)
    expected = (Sighting(FRIDAY, ((HOME, 7000),), "abc"),)
    assert together.look(1) == expected
    assert one_by_one.look(1) == ()  # an address heard before its service is not kept; it is queried later
    assert ("abc.local.", IPV4) in one_by_one.questions(1)
    one_by_one.hear(addresses("abc.local.", HOME), 1)
    assert one_by_one.look(1) == expected


def test_a_link_local_address_keeps_the_zone_in_which_it_was_heard() -> None:
    seen = Sightings()
    seen.hear([*table("abc", "fe80::1")], 0)
    assert seen.look(0) == ()
    seen.hear(addresses("abc.local.", "fe80::1", zone=7), 0)
    assert places(seen.look(0)) == {("fe80::1%7", 7000)}
    seen.hear(addresses("abc.local.", "fe80::1"), 0)  # the same address in a packet over IPv4
    assert places(seen.look(0)) == {("fe80::1%7", 7000)}


def test_names_ignore_the_case_of_ascii_letters_only() -> None:
    seen = Sightings(own="OWN." + SERVICE_TYPE)
    seen.hear(table("own"), 0)
    assert seen.look(0) == ()
    seen.hear([pointer("abc"), service("ABC", "HOST.local."), told("Abc"), *addresses("host.LOCAL.", HOME)], 0)
    assert len(seen.look(0)) == 1
    seen.hear(table("É"), 0)
    seen.hear(table("é"), 0)
    assert {each.instance for each in seen.look(0)} == {"abc", "É", "é"}  # only ASCII ignores case (RFC 6762, §16)


def test_a_table_expires_and_is_not_queried_before() -> None:
    seen = Sightings()
    seen.hear(table("abc"), 0)
    assert len(seen.look(TABLE_LIFE - 1)) == 1
    assert seen.due(TABLE_LIFE - 1) == TABLE_LIFE
    assert seen.look(TABLE_LIFE) == ()
    assert seen.due(TABLE_LIFE) == inf


def test_queries_list_known_tables_for_the_first_half_of_their_life() -> None:
    seen = Sightings()
    seen.hear(table("abc"), 0)
    assert list(seen.known(10)) == [(f"abc.{SERVICE_TYPE}", TABLE_LIFE - 10)]
    assert list(seen.known(TABLE_LIFE / 2)) == []


# Earlier records


@pytest.mark.parametrize(
    "forged",
    [
        [service("abc", "eve.local.", 6666), *addresses("eve.local.", ELSEWHERE)],
        [*addresses("abc.local.", ELSEWHERE)],
        [service("abc", "abc.local.", 6666)],
        [DNSText(f"abc.{SERVICE_TYPE}", TEXT, 1, 4500, b"\x00")],
        [pointer("abc", ttl=0)],
        [pointer("abc", ttl=0), *table("abc", ELSEWHERE, target="eve.local.")],
    ],
    ids=["another host", "another address", "another port", "no table", "gone", "gone and back"],
)
@pytest.mark.parametrize("looks", [True, False])
def test_the_true_address_of_a_table_is_kept_after_any_hijack(forged: list[DNSRecord], looks: bool) -> None:
    seen = Sightings()
    seen.hear(table("abc"), 0)
    if looks:
        seen.look(0)
    seen.hear(forged, 1)
    if looks:
        seen.look(1)
    assert (HOME, 7000) in places(seen.told(1))
    seen.hear(table("abc"), 2)
    assert places(seen.look(2)) == {(HOME, 7000)}
    kept = seen.told(2)
    assert (HOME, 7000) in places(kept)
    assert places(seen.look(2)) < places(kept) or forged[0].type in (POINTER, TEXT)


def test_earlier_advertisements_are_forgotten_after_a_while() -> None:
    seen = Sightings()
    seen.hear(table("abc"), 0)
    seen.hear(addresses("abc.local.", ELSEWHERE), 0)
    seen.look(0)
    assert places(seen.told(FORMER_LIFE - 1)) == {(HOME, 7000), (ELSEWHERE, 7000)}
    assert places(seen.told(FORMER_LIFE)) == {(ELSEWHERE, 7000)}


@pytest.mark.parametrize("what", ["ids", "addresses"])
def test_no_table_is_reported_during_a_flood_of_changes(what: str) -> None:
    """Otherwise an attacker could flood the network until nodes forget which host had a name first."""
    seen = Sightings()
    for number in range(300):
        forged = table("abc", *([f"10.0.{number >> 8}.{number & 255}"] if what == "addresses" else [HOME]))
        if what == "ids":
            forged[2] = told("abc", Advertisement(f"{number:08x}", "Friday", "classic", 1, 4, LOBBY, 1))
        seen.hear(forged, 0)
    with pytest.raises(ValueError, match="more tables were advertised"):
        seen.told(FORMER_LIFE - 1)
    assert len(seen.told(FORMER_LIFE + 1)) == 1


# Floods


def test_tables_displace_names_without_details() -> None:
    seen = Sightings()
    for number in range(10 * TABLES):
        seen.hear([pointer(f"false {number}")], 0)
    seen.hear(table("honest"), 0)
    for number in range(10 * TABLES):
        seen.hear([pointer(f"wrong {number}")], 0)
    assert [each.instance for each in seen.look(0)] == ["honest"]
    assert len(seen._services) == TABLES
    assert [each.instance for each in seen.look(TABLE_ANSWER)] == ["honest"]
    assert len(seen._services) == 1


def test_names_without_details_are_queried_a_few_at_a_time_in_turn() -> None:
    seen = Sightings()
    seen.hear([pointer(f"false {number}") for number in range(40)], 0)
    asked: list[str] = []
    for moment in (0.0, ASKING / 2, ASKING, 2 * ASKING):
        questions = seen.questions(moment)
        assert len(questions) == (0 if moment == ASKING / 2 else 2 * TABLES_ASKED_FOR)
        assert seen.due(moment) <= moment + ASKING
        asked += {name for name, _ in questions}
    assert len(set(asked)) == 3 * TABLES_ASKED_FOR


LABELS = st.builds(
    lambda one, ones, other, others: one * ones + other * others,
    st.sampled_from("xX.\u0130\u212a\ufffd") | st.characters(),
    st.integers(0, 70),
    st.sampled_from("xX.\u0130\u212a\ufffd") | st.characters(),
    st.integers(0, 70),
)
"""Includes letters whose lower case has another length in UTF-8, and the replacement character for invalid UTF-8."""


@given(LABELS, LABELS)
@example(instance="evil", target="\u0130" * 31)
@example(instance="\u212a" * 15 + "\ufffd" * 16, target="host")
def test_every_query_can_be_encoded_whatever_names_are_heard(instance: str, target: str) -> None:
    at = f"{target}.local."
    check_records([pointer(instance), service(instance, at)])
    check_records([pointer(instance), service(instance, at), told(instance), *addresses(at, HOME)])


NAMES = st.sampled_from(["a", "b", "c", "d", "e.f", "\x1b", "x" * 64, "é" * 40, ""])
TARGETS = st.sampled_from(["a.local.", "b.local.", "A.LOCAL.", "", ".", "a..b.", "y" * 64 + ".local."])
HOSTS = st.sampled_from([HOME, ELSEWHERE, "fe80::1", "224.0.0.1", "::", "127.0.0.1"]) | st.integers(1, 2**31).map(
    lambda number: str(ip_address(number))
)
RECORDS = st.one_of(
    st.builds(pointer, NAMES, st.sampled_from([0, 1, TABLE_LIFE, 2**32 - 1])),
    st.builds(service, NAMES, TARGETS, st.integers(0, 65535)),
    st.builds(told, NAMES),
    st.builds(lambda name, data: DNSText(f"{name}.{SERVICE_TYPE}", TEXT, 1, 1, data), NAMES, st.binary(max_size=40)),
    st.builds(
        lambda target, host, zone: next(addresses(target, host, zone=zone)), TARGETS, HOSTS, st.none() | st.just(3)
    ),
)


@given(st.lists(st.tuples(st.lists(RECORDS, max_size=30), st.sampled_from([0, 0.0625, 1, 5, 100])), max_size=12))
def test_memory_and_queries_are_bounded_whatever_is_heard(packets: list[tuple[list[DNSRecord], float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TABLES", 3)
        patch.setattr(module, "FORMER_TABLES", 4)
        patch.setattr(module, "TABLES_ASKED_FOR", 2)
        seen, now, asked_at = Sightings(), 0.0, -inf
        for records, pause in packets:
            seen.hear(records, now)
            assert len(seen._services) <= 3
            assert set(seen._vague) <= set(seen._services)
            assert len(seen._hosts) <= 6 + 30
            assert len(seen._former) <= 4
            now += pause
            tables = seen.look(now)
            assert {each.instance for each in tables} <= {"a", "b", "c", "d", "e.f", "é" * 40}
            assert all(1 <= len(each.addresses) <= ADDRESSES_PER_PEER for each in tables)
            assert seen.look(now) == tables
            questions = seen.questions(now)
            assert len({name for name, kind in questions if kind == TEXT}) <= 2
            if questions:
                assert now - asked_at >= ASKING
                asked_at = now
            assert seen.due(now) > now
            assert len(seen._hosts) <= 3
