"""A table's seats, and the proposals that a guest refuses to sign."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from p2pdice.rulesets import PRESETS
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import Identity, MatchKey
from protocol.limits import UNSIGNED
from protocol.match.lobby import Attendance, GuestTable, HostedTable, Lobby, NotAdmittedError, TableSettings
from protocol.wire.canonical import Value
from protocol.wire.frames import Customs, Table, TableAim, WatchAim
from protocol.wire.genesis import (
    Genesis,
    JoinRecord,
    MalformedGenesisError,
    Patience,
    make_join_record,
    private_table_id,
)
from tests.simulation.world import IDENTITIES, TABLE, identity_of, join_record, match_seed

CLASSIC = PRESETS["classic"]
RECORDS = [join_record(b"lobby", number) for number in range(5)]
HOST, ANN, BEA, COY, DAN = RECORDS


def table(seats: int = 3) -> HostedTable:
    return HostedTable(TableSettings("Friday", CLASSIC, seats), TABLE, HOST, "")


def refusal(hosted: HostedTable, identity: bytes, wire: Value) -> str:
    before = hosted.records
    with pytest.raises(NotAdmittedError) as caught:
        hosted.admit(identity, wire)
    assert hosted.records == before
    return caught.value.code


def test_guests_are_seated_in_order_of_arrival_until_the_table_is_full() -> None:
    hosted = table()
    assert not hosted.is_full
    for guest in (BEA, ANN):
        hosted.admit(guest.join.identity, guest.wire)
    assert hosted.is_full
    assert hosted.records == (HOST, BEA, ANN)
    assert refusal(hosted, COY.join.identity, COY.wire) == "full"


def test_a_seat_is_free_again_once_its_guest_leaves() -> None:
    hosted = table(2)
    hosted.admit(ANN.join.identity, ANN.wire)
    assert hosted.release(ANN.join.identity)
    assert not hosted.release(ANN.join.identity)
    hosted.admit(BEA.join.identity, BEA.wire)
    assert hosted.records == (HOST, BEA)


def test_the_last_seats_are_kept_for_players_of_the_previous_match() -> None:
    hosted = table(4)
    hosted.expected = {ANN.join.identity, BEA.join.identity}
    hosted.admit(COY.join.identity, COY.wire)
    assert refusal(hosted, DAN.join.identity, DAN.wire) == "full"
    hosted.admit(ANN.join.identity, ANN.wire)
    assert refusal(hosted, DAN.join.identity, DAN.wire) == "full"
    hosted.release(COY.join.identity)
    hosted.admit(DAN.join.identity, DAN.wire)
    hosted.admit(BEA.join.identity, BEA.wire)
    assert hosted.records == (HOST, ANN, DAN, BEA)


def test_a_guest_who_joins_twice_keeps_one_seat_with_the_newer_record() -> None:
    hosted = table(2)
    hosted.admit(ANN.join.identity, ANN.wire)
    again = join_record(b"another match", 1, nickname=ANN.join.nickname, identity=identity_of(b"lobby", 1))
    assert again.join.match_key != ANN.join.match_key
    hosted.admit(ANN.join.identity, again.wire)
    assert hosted.records == (HOST, again)


def test_a_guest_keeps_its_first_name_until_it_leaves() -> None:
    hosted = table()
    hosted.admit(ANN.join.identity, ANN.wire)
    renamed = join_record(b"lobby", 1, nickname="ann again")
    assert refusal(hosted, ANN.join.identity, renamed.wire) == "refused"
    hosted.release(ANN.join.identity)
    hosted.admit(ANN.join.identity, renamed.wire)
    assert hosted.records == (HOST, renamed)


def test_a_join_record_must_match_its_link_and_table_and_be_valid() -> None:
    hosted = table()
    assert refusal(hosted, BEA.join.identity, ANN.wire) == "refused"
    foreign = join_record(b"lobby", 1, table=b"\0" + b"x" * 15)
    assert refusal(hosted, ANN.join.identity, foreign.wire) == "no-table"
    data, identity_signature, match_signature = ANN.wire
    for wire in (
        (data, match_signature, identity_signature),
        (data, bytes(64), match_signature),
        (data, identity_signature, bytes(64)),
        (data, identity_signature),
        (),
        b"",
    ):
        assert refusal(hosted, ANN.join.identity, wire) == "refused"


def claimed(place: str) -> JoinRecord:
    """Return a valid join record whose match key, or whose identity, equals Ann's match key."""
    seed = match_seed(b"lobby", 1)
    if place == "match key":
        return make_join_record(
            BEA.join._replace(match_key=ANN.join.match_key), IDENTITIES[BEA.join.identity], MatchKey(seed)
        )
    alike = Identity(Ed25519PrivateKey.from_private_bytes(tagged_hash("match-key", seed)))
    return join_record(b"lobby", 2, identity=alike)


@pytest.mark.parametrize("place", ["identity", "match key"])
def test_a_guest_cannot_join_with_another_players_key(place: str) -> None:
    """Otherwise no match could form once the table is full, and the last guest to sit down would be blamed."""
    hosted = table()
    hosted.admit(ANN.join.identity, ANN.wire)
    record = claimed(place)
    assert refusal(hosted, record.join.identity, record.wire) == "refused"
    hosted.release(ANN.join.identity)
    hosted.admit(record.join.identity, record.wire)


def test_a_private_table_requires_its_token_and_an_open_table_needs_none() -> None:
    identifier = private_table_id("SECRET")
    own = join_record(b"lobby", 0, table=identifier)
    private, public = HostedTable(TableSettings("Friday", CLASSIC, 3), identifier, own, "SECRET"), table()
    for aim in (TableAim(b"", "SECRET"), TableAim(identifier, "SECRET"), WatchAim(b"", "SECRET")):
        private.check_aim(aim)
    public.check_aim(TableAim(b"", ""))
    public.check_aim(WatchAim(TABLE, ""))
    for token in ("", "secret", "SECRE", "SECRETS", "ЅECRET"):
        with pytest.raises(NotAdmittedError) as caught:
            private.check_aim(TableAim(b"", token))
        assert caught.value.code == "refused"
        with pytest.raises(NotAdmittedError):
            private.check_aim(WatchAim(identifier, token))


def test_a_guest_who_asks_for_another_table_is_told_that_it_is_gone() -> None:
    with pytest.raises(NotAdmittedError) as caught:
        table().check_aim(TableAim(b"x" * 16, ""))
    assert caught.value.code == "no-table"


def seated() -> tuple[HostedTable, GuestTable]:
    hosted = table()
    for guest in (ANN, BEA):
        hosted.admit(guest.join.identity, guest.wire)
    seat = GuestTable(TABLE, HOST.join.identity)
    seat.own = ANN
    seat.update(hosted.frame())
    return hosted, seat


def test_a_guest_signs_the_advertised_rules() -> None:
    hosted, seat = seated()
    assert seat.ruleset == CLASSIC
    assert seat.check_proposal(hosted.genesis().encoded()) == hosted.genesis()


def roster(*records: object) -> dict[str, object]:
    return {"roster": tuple(sorted(records, key=lambda record: record.join.identity))}  # type: ignore[attr-defined]


A, B, C = (bytes((number,)) * 32 for number in range(3))


def test_a_guest_may_delay_its_signatures_for_fifteen_seconds_in_total() -> None:
    attendance = Attendance()
    attendance.await_((A, B), 0.0)
    assert attendance.due() == UNSIGNED
    attendance.await_((A,), 4.0)  # B has signed
    attendance.await_((), 10.0)  # the proposal was withdrawn
    assert attendance.due() == math.inf
    attendance.await_((A, B), 100.0)
    assert attendance.late(104.9) == []
    assert attendance.late(105.0) == [A]
    assert attendance.late(111.0) == [A, B]


def test_a_guest_without_a_link_has_two_seconds_to_come_back() -> None:
    attendance = Attendance()
    attendance.lost(A, 1.0)
    attendance.linked(A)
    assert attendance.due() == math.inf
    attendance.lost(A, 5.0)
    attendance.lost(A, 6.0)
    assert (attendance.due(), attendance.late(6.9), attendance.late(7.0)) == (7.0, [], [A])
    attendance.release(A)
    assert attendance.due() == math.inf


def test_a_guest_may_return_to_its_seat_only_once() -> None:
    attendance = Attendance()
    assert [attendance.note_return(A), attendance.note_return(B), attendance.note_return(A)] == [True, True, False]


def admitted(attendance: Attendance, identity: bytes, guests: Sequence[bytes]) -> str:
    try:
        attendance.check(identity, guests)
    except NotAdmittedError as error:
        return error.code
    return "yes"


@pytest.mark.parametrize(
    ("failed", "is_started", "expected"),
    [
        ((), False, ("yes", "yes")),
        ((C,), False, ("yes", "closed")),
        ((C,), True, ("full", "closed")),
        ((C, C, C), False, ("full", "closed")),
    ],
)
def test_only_some_guests_are_admitted_while_proposals_are_made(
    failed: tuple[bytes, ...], is_started: bool, expected: tuple[str, str]
) -> None:
    attendance = Attendance()
    attendance.is_started = is_started
    for each in failed:
        attendance.fail(each)
    assert (admitted(attendance, B, [A]), admitted(attendance, C, [A])) == expected
    assert admitted(attendance, A, [A]) == "yes"
    assert admitted(attendance, B, []) == "yes", "without any guest, no match could begin"


BAD_PROPOSALS: dict[str, dict[str, object]] = {
    "other rules": {"ruleset": PRESETS["plain"]},
    "without the host": roster(ANN, BEA),
    "no patience": {"patience": Patience(0, 0)},
    "other patience": {"patience": Patience(5, 3600)},
    "one player missing": roster(HOST, ANN),
    "one extra player": roster(HOST, ANN, BEA, COY),
    "another player instead": roster(HOST, ANN, COY),
    "another name": roster(HOST, ANN, join_record(b"lobby", 2, nickname="other")),
    "unsorted": {"roster": tuple(sorted((HOST, ANN), key=lambda record: record.join.identity))[::-1]},
}


@pytest.mark.parametrize("changes", BAD_PROPOSALS.values(), ids=BAD_PROPOSALS.keys())
def test_a_guest_refuses_to_sign_a_changed_proposal(changes: dict[str, object]) -> None:
    hosted, seat = seated()
    proposal: Genesis = hosted.genesis()._replace(**changes)  # type: ignore[arg-type]
    with pytest.raises(MalformedGenesisError):
        seat.check_proposal(proposal.encoded())


@pytest.mark.parametrize("others", [(), (join_record(b"lobby", 1, nickname="other"),)], ids=["none", "another record"])
def test_a_guest_ignores_a_proposal_without_its_latest_join_record(others: tuple[JoinRecord, ...]) -> None:
    hosted, seat = seated()
    proposal: Genesis = hosted.genesis()._replace(**roster(HOST, BEA, *others))  # type: ignore[arg-type]
    assert seat.check_proposal(proposal.encoded()) is None


def test_a_proposal_for_another_table_is_not_signed() -> None:
    _, seat = seated()
    there = [join_record(b"lobby", number, table=b"\0" + b"x" * 15) for number in (0, 1)]
    other = HostedTable(TableSettings("Friday", CLASSIC, 2), b"\0" + b"x" * 15, there[0], "")
    other.admit(there[1].join.identity, there[1].wire)
    with pytest.raises(MalformedGenesisError):
        seat.check_proposal(other.genesis().encoded())


BAD_WORDS: dict[str, dict[str, object]] = {
    "rules that changed": {"ruleset": PRESETS["plain"].options()},
    "unknown rules": {"ruleset": (("colour", "red"),)},
    "no patience": {"patience": (0, 0)},
    "a table name with a direction override": {"name": "Friday\u202eyadirF"},
    "an invisible table name": {"name": "\u3164"},
    "an empty table name": {"name": ""},
    "an invalid player name": {"players": (("a\x1b[2J", ANN.join.identity),)},
    "customs that changed": {"customs": Customs(odds=0)},
    "a player twice": {"players": (("ann", ANN.join.identity), ("bea", ANN.join.identity))},
}


@pytest.mark.parametrize("changes", BAD_WORDS.values(), ids=BAD_WORDS.keys())
def test_a_guest_rejects_invalid_table_details_from_the_host(changes: dict[str, object]) -> None:
    hosted, seat = seated()
    before = seat.shown
    word: Table = hosted.frame()._replace(**changes)  # type: ignore[arg-type]
    with pytest.raises(MalformedGenesisError):
        seat.update(word)
    assert seat.shown == before


@pytest.mark.parametrize("name", ["a\u202eb", "\u3164", " ", "Perudo", "house rules", "\u0301a"])
def test_a_guest_rejects_rules_with_an_impossible_name(name: str) -> None:
    hosted, _ = seated()
    rules = PRESETS["classic"].with_options({"dice": "3"}).options()
    word = hosted.frame()._replace(ruleset=rules, rules_name="friday")
    Lobby(hosted.id, HOST.join.identity).update(word)
    with pytest.raises(MalformedGenesisError, match="the rules have a name"):
        Lobby(hosted.id, HOST.join.identity).update(word._replace(rules_name=name))
    with pytest.raises(MalformedGenesisError, match="the rules have a name"):
        Lobby(hosted.id, HOST.join.identity).update(word._replace(ruleset=PRESETS["classic"].options()))


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "a\u202eb", "\u3164", " a"])
def test_a_player_with_an_invalid_nickname_gets_no_seat_and_no_signature(name: str) -> None:
    record = join_record(b"seed", 1, nickname=name)
    assert refusal(table(), record.join.identity, record.wire) == "refused"
    hosted, seat = seated()
    records = sorted((*hosted.records, join_record(b"seed", 7, nickname=name)), key=lambda each: each.join.identity)
    with pytest.raises(MalformedGenesisError, match="nickname"):
        seat.check_proposal(hosted.genesis()._replace(roster=tuple(records)).encoded())
