"""Nodes over real sockets: how guests find a table and join it, and what false advertisements cannot do."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sqlite3
from dataclasses import replace

import pytest
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from protocol.crypto.keys import Identity
from protocol.errors import NodeError
from protocol.events import LobbyChanged, MatchResult, MatchStarted, TableJoined
from protocol.limits import ADDRESSES_PER_NAME, ADDRESSES_PER_PEER, Limits
from protocol.match.lobby import TableSettings
from protocol.net.addresses import JoinLine, format_address, parse_join_line
from protocol.net.discovery import SERVICE_TYPE, Advertisement, Sighting
from protocol.net.mdns import Discovery, DiscoveryUnavailable
from protocol.net.mesh import Mesh
from protocol.storage.home import STORE_FILE
from protocol.version import PROTOCOL_VERSION
from protocol.wire.frames import (
    Carried,
    Frame,
    MatchAim,
    Propose,
    Refuse,
    Seat,
    Table,
    TableAim,
    Welcome,
)
from protocol.wire.genesis import parse_genesis
from tests.network import views
from tests.network.company import CLASSIC, HOST, Company, Player, agree, in_mid_match
from tests.programs import PATIENCE
from tests.protocol.links import FakeHost
from tests.tiers import thoroughly

SHORT = Limits(handshake=0.5)
MULTICAST = pytest.mark.multicast


async def refused(player: Player, target: str | tuple[Sighting, ...]) -> str:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NodeError) as caught:
            await player.node.join(target)
    assert caught.value.reason
    return caught.value.code


# Sitting down


@pytest.mark.parametrize("seats", [3, *thoroughly([2, 5])])
async def test_a_guest_joins_by_join_line_and_plays_a_whole_match(people: Company, seats: int) -> None:
    players, _ = await people.table(seats)
    await agree(*players)
    for player in players:
        assert player.told(MatchResult)[0].confirmed
        assert [event.is_me for event in player.told(MatchStarted)[0].players].count(True) == 1
        (kept,), (end,) = player.node._store.matches(), player.told(MatchResult)
        names = [record.join.nickname for record in parse_genesis(kept.genesis).roster]
        assert [names[author] for author in kept.winners] == [end.players[seat].name for seat in end.places[0]]


async def test_a_guest_who_joins_by_address_learns_who_hosts_the_table(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3))
    guest = await people.sit("guest")
    await guest.node.join(opened.addresses[0])
    joined = await guest.until(TableJoined)
    assert (joined.name, joined.host.name, joined.ruleset, joined.seats) == ("Friday", "host", CLASSIC, 3)
    assert joined.host.fingerprint == host.node.identity.fingerprint
    assert [player.name for player in (await guest.until(LobbyChanged)).players] == ["host", "guest"]
    changed = await host.until(LobbyChanged, lambda event: bool(event.joined))
    assert [player.name for player in changed.joined] == ["guest"]


@MULTICAST
async def test_a_table_is_found_by_its_name_and_in_the_list_of_tables(people: Company) -> None:
    await multicast()
    host = await people.sit("host", discovery=True)
    name = f"Friday {secrets.token_hex(4)}"  # others may be playing on this machine
    opened = await host.node.host(TableSettings(name, CLASSIC, 3))
    assert opened.advertised
    by_name = await people.sit("by name", discovery=True)
    await by_name.node.join(name)
    looking = await people.sit("looking", discovery=True)
    (sighting,) = [each for each in await looking.node.tables(1.0) if each.advertisement.name == name]
    assert sighting.advertisement.seats_taken == 2
    await looking.node.join((sighting,))
    await agree(host, by_name, looking)


async def multicast() -> None:
    discovery = Discovery()
    try:
        await discovery.start(HOST)
    except DiscoveryUnavailable as error:
        pytest.skip(f"multicast on loopback is needed: {error}")
    finally:
        await discovery.close()


@MULTICAST
async def test_a_name_that_nobody_advertises_is_not_found(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    await multicast()
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.2)
    assert await refused(await people.sit("guest", discovery=True), "Saturday") == "not-found"


@MULTICAST
async def test_joining_by_a_name_that_two_tables_share_is_refused(people: Company) -> None:
    """Any node can copy the name of a table. Only the host's fingerprint tells two such tables apart."""
    await multicast()
    name = f"Friday {secrets.token_hex(4)}"
    right, wrong = await people.sit("right", discovery=True), await people.sit("wrong", discovery=True)
    opened = await right.node.host(TableSettings(name, CLASSIC, 2))
    await wrong.node.host(TableSettings(name, CLASSIC, 2))
    guest = await people.sit("guest", discovery=True)
    with pytest.raises(NodeError, match="two different players answer") as caught:
        await guest.node.join(name)
    assert "join line" in caught.value.hint
    assert {str(typed).partition("/")[2] for typed, _ in caught.value.choices} == {
        each.node.identity.fingerprint for each in (right, wrong)
    }
    await guest.node.join(opened.join_line)
    await agree(right, guest)


async def test_joining_by_name_without_discovery_is_refused_with_advice(people: Company) -> None:
    guest = await people.sit("guest")
    with pytest.raises(NodeError, match="switched off") as caught:
        await guest.node.join("Friday")
    assert caught.value.code == "unreachable"
    assert "join line" in caught.value.hint


async def test_a_full_table_refuses_another_guest(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    deaf = await people.sit("deaf")
    # This guest takes the seat but receives no proposal, so the match does not form.
    views.hear_only(deaf, lambda _, frame: not isinstance(frame, Carried | Seat | Propose))
    joining = asyncio.create_task(deaf.node.join(opened.join_line))
    await host.until(LobbyChanged, lambda event: [player.name for player in event.joined] == ["deaf"])
    assert await refused(await people.sit("late"), opened.join_line) == "full"
    joining.cancel()


async def test_a_private_table_admits_only_guests_with_the_whole_join_line(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2, private=True))
    assert not opened.advertised
    line = parse_join_line(opened.join_line)
    guest = await people.sit("guest")
    for attempt in (opened.addresses[0], str(line._replace(token="")), str(line._replace(token="WRONG"))):
        assert await refused(guest, attempt) == "refused"
    await guest.node.join(opened.join_line)
    await agree(host, guest)


async def test_the_token_is_never_sent_to_an_impostor_at_the_hosts_address(people: Company) -> None:
    impostor = FakeHost(Welcome(TableAim(bytes(16), "")))
    line = (await impostor.open())._replace(fingerprint=Identity.generate().fingerprint, token="SECRET")
    guest = await people.sit("guest")
    assert await refused(guest, str(line)) == "unreachable"
    assert impostor.heard == []
    impostor.close()


@pytest.mark.parametrize("enter", ["join", "watch"])
async def test_a_join_line_works_although_a_stranger_has_one_of_its_addresses(people: Company, enter: str) -> None:
    """Another laptop may have been given the host's former address. It receives no frame."""
    host, impostor = await people.sit("host"), FakeHost()
    right = parse_join_line((await host.node.host(TableSettings("Friday", CLASSIC, 9))).join_line)
    wrong = await impostor.open()
    for number in range(6):
        addresses = (*wrong.addresses, *right.addresses)[:: 1 if number % 2 else -1]
        guest = await people.sit(f"guest {number}")
        await getattr(guest.node, enter)(str(right._replace(addresses=addresses)))
    assert impostor.heard == []
    impostor.close()


@pytest.mark.parametrize("enter", ["join", "watch"])
async def test_the_error_names_strangers_that_answered_instead_of_the_host(people: Company, enter: str) -> None:
    one, other = FakeHost(), FakeHost()
    lines = [await one.open(), await other.open()]
    addresses = tuple(address for line in lines for address in line.addresses)
    wanted = JoinLine(((HOST, 1), *addresses), Identity.generate().fingerprint)
    with pytest.raises(NodeError) as caught:
        await getattr((await people.sit("guest")).node, enter)(str(wanted))
    assert caught.value.code == "unreachable"
    assert caught.value.hint.startswith("the join line is of another table")
    assert f"nobody listens at {HOST}:1" in caught.value.reason
    for line in lines:
        assert f"{format_address(line.addresses[0])} another player answers, {line.fingerprint}" in caught.value.reason
    assert one.heard == other.heard == []
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((Refuse("version", "we speak 9 here"),), "version"),
        ((Refuse("rules", "other rules"),), "rules"),
        ((Refuse("something new", "because"),), "refused"),
        ((Welcome(MatchAim(bytes(32))),), "unreachable"),
        ((Welcome(TableAim(bytes(16), "")), Refuse("full", "too late")), "full"),
        ((Welcome(TableAim(bytes(16), "")),), "unreachable"),
        ((), "unreachable"),
    ],
)
async def test_a_guest_is_told_why_it_was_refused(people: Company, answers: tuple[Frame, ...], code: str) -> None:
    host = FakeHost(*answers)
    line = await host.open()
    bounds = SHORT if code == "unreachable" else None  # a busy machine may answer later than SHORT allows
    assert await refused(await people.sit("guest", bounds=bounds), str(line)) == code
    host.close()


async def test_a_dead_address_is_unreachable_and_a_malformed_one_is_not_found(people: Company) -> None:
    guest = await people.sit("guest")
    assert await refused(guest, "127.0.0.1:1") == "unreachable"
    assert await refused(guest, "127.0.0.1:1/TYPO") == "not-found"


def told(host: Player, name: str = "Friday", table: bytes | None = None) -> Sighting:
    """Return the sighting of a host's table, or a forged one with another name or id."""
    assert host.node._active.hosting is not None
    identifier = (table if table is not None else views.hosting(host).table.id).hex()
    advertisement = Advertisement(identifier, name, "classic", 1, 3, "lobby", PROTOCOL_VERSION)
    return Sighting(advertisement, ((HOST, host.node.port),), "x")


FRIDAY = TableSettings("Friday", CLASSIC, 3)


async def two_hosts(people: Company, *, has_one_id: bool = True) -> tuple[Player, Player]:
    """Return the hosts of two tables with the same name and, by default, the same id."""
    right, wrong = await people.sit("Ada"), await people.sit("Eve")
    for each in (right, wrong):
        await each.node.host(FRIDAY)
    assert right.node._active.hosting is not None
    assert wrong.node._active.hosting is not None
    if has_one_id:
        views.hosting(wrong).table.id = views.hosting(right).table.id
    return right, wrong


@pytest.mark.parametrize("enter", ["join", "watch"])
async def test_a_guest_of_one_table_is_not_seated_at_another(
    people: Company, enter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forged or outdated record may give the address of one table, even its id, for another table."""
    host, guest = await people.sit("Ada"), await people.sit("Ben", discovery=True)
    await host.node.host(FRIDAY)
    for sighting in (told(host, "Sunday"), told(host, "Sunday", bytes(16)), told(host, "Friday", bytes(16))):
        tables_are(monkeypatch, guest, sighting)
        with pytest.raises(NodeError) as caught:
            await getattr(guest.node, enter)(sighting.advertisement.name)
        assert caught.value.code == "not-found"
        there = f'"Friday", hosted by Ada ({host.node.identity.fingerprint})'
        gone = f'"{sighting.advertisement.name}" is not at the address it advertises'
        assert caught.value.reason == f"{gone}; that address belongs to {there}"
    assert guest.told(TableJoined) == []
    assert len(host.told(LobbyChanged)) == 1  # only the host's own arrival: the guest never took a seat


@pytest.mark.parametrize("identifier", ["0" * 9, "f" * 64, "ab" * 16])
async def test_a_record_with_a_wrong_table_id_gives_no_seat(people: Company, identifier: str) -> None:
    host = await people.sit("host")
    await host.node.host(FRIDAY)
    forged = Sighting(replace(told(host).advertisement, id=identifier), ((HOST, host.node.port),), "x")
    assert await refused(await people.sit("guest"), (forged,)) == "not-found"


def tables_are(
    monkeypatch: pytest.MonkeyPatch, player: Player, *now: Sighting, once: tuple[Sighting, ...] = ()
) -> None:
    """Set the tables that a node sees by multicast.

    :param once: tables that the node saw earlier
    """
    heard = Discovery()
    monkeypatch.setattr(heard, "tables", lambda: now)
    monkeypatch.setattr(heard, "told", lambda: (*now, *once))

    async def found() -> Discovery:
        return heard

    monkeypatch.setattr(player.node._locator, "_working", found)


@pytest.mark.parametrize("enter", ["join", "watch"])
@pytest.mark.parametrize("keeps_id", [True, False])
async def test_a_table_name_whose_key_has_changed_is_reported_and_not_joined(
    people: Company, enter: str, keeps_id: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forger replaces the records of an open table. The guest must not join the host that answers first."""
    right, wrong = await two_hosts(people, has_one_id=keeps_id)
    guest = await people.sit("Ben", discovery=True)
    tables_are(monkeypatch, guest, told(wrong), once=(told(right),))
    with pytest.raises(NodeError) as caught:
        await getattr(guest.node, enter)("Friday")
    assert caught.value.code == "refused"
    assert caught.value.reason == 'two different players answer for the table "Friday"'
    assert set(caught.value.choices) == {
        (
            f"p2pdice {enter} {HOST}:{each.node.port}/{each.node.identity.fingerprint}",
            f'"Friday", hosted by {each.name}',
        )
        for each in (right, wrong)
    }
    for each in (right, wrong):
        assert len(each.told(LobbyChanged)) == 1
    await guest.node.join(str(caught.value.choices[0][0]).split()[2])


async def test_a_name_whose_addresses_lead_to_two_keys_is_not_joined(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One extra address in a table's record is enough to lead to a second host."""
    right, wrong = await two_hosts(people)
    guest = await people.sit("Ben", discovery=True)
    both = replace(told(right), addresses=tuple((HOST, each.node.port) for each in (wrong, right)))
    tables_are(monkeypatch, guest, both)
    assert await refused(guest, "Friday") == "refused"


async def test_a_forger_cannot_hide_a_table_behind_one_full_of_spectators(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protocol.limits.SPECTATORS_OF_A_LOBBY", 0)
    right, wrong = (
        await people.sit("Ada"),
        FakeHost(
            Welcome(TableAim(b"x" * 16, "")),
            Table("Friday", CLASSIC.options(), 3, (120, 15), ()),
        ),
    )
    await right.node.host(FRIDAY)
    line = await wrong.open()
    guest = await people.sit("Ben", discovery=True)
    taken_over = replace(told(right, table=b"x" * 16), addresses=line.addresses)
    tables_are(monkeypatch, guest, taken_over, once=(told(right),))
    assert await refused(guest, "Friday") == "refused"
    tables_are(monkeypatch, guest, told(right))
    await guest.node.join("Friday")  # the host refuses spectators but still admits guests
    wrong.close()


async def test_a_node_that_does_not_answer_may_still_be_the_host(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real host may be the one that did not answer, so the guest must not join the one that did."""
    wrong, silent = await people.sit("Eve"), FakeHost()
    await wrong.node.host(FRIDAY)
    line = await silent.open()
    guest = await people.sit("Ben", discovery=True, bounds=SHORT)
    tables_are(monkeypatch, guest, told(wrong), replace(told(wrong), addresses=line.addresses))
    try:
        with pytest.raises(NodeError, match="two different players answer") as caught:
            await guest.node.join("Friday")
    finally:
        silent.close()
    assert {str(typed).partition("/")[2] for typed, _ in caught.value.choices} == {
        wrong.node.identity.fingerprint,
        line.fingerprint,
    }


async def test_a_table_is_joined_although_a_dead_address_is_advertised_too(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the old record of a host stays visible for minutes beside the record of its new table."""
    host, guest = await people.sit("Ada"), await people.sit("Ben", discovery=True)
    await host.node.host(FRIDAY)
    dead = replace(told(host, table=bytes(16)), addresses=((HOST, 1),), instance="y")
    tables_are(monkeypatch, guest, dead, told(host))
    await guest.node.join("Friday")
    assert (await guest.until(TableJoined)).host.name == "Ada"


@pytest.mark.parametrize("is_one_table", [True, False])
async def test_no_table_is_dialled_if_too_many_addresses_share_its_name(
    people: Company, is_one_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit counts addresses, because many false records of one table cost as many dials as many tables."""
    host, guest = await people.sit("Ada"), await people.sit("Ben", discovery=True)
    await host.node.host(FRIDAY)
    shared, true = (HOST, 1), told(host)
    false = [
        replace(true if is_one_table else told(host, table=bytes([number] * 16)), addresses=(shared, (HOST, number)))
        for number in range(2, ADDRESSES_PER_NAME + 1)
    ]
    tables_are(monkeypatch, guest, true, *false)
    with pytest.raises(NodeError, match="at more addresses than can be asked") as caught:
        await guest.node.join("Friday")
    assert "join line" in caught.value.hint
    tables_are(monkeypatch, guest, true, *false[1:])
    await guest.node.join("Friday")


@pytest.mark.parametrize("enter", ["join", "watch"])
@pytest.mark.parametrize("sorts_first", ["Ada", "Eve"])
async def test_a_forged_record_does_not_crowd_out_the_hosts_addresses(
    people: Company, enter: str, sorts_first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forged record lists as many addresses as allowed, including a container address that both records share."""
    right, wrong = await two_hosts(people)
    container = (HOST, 1)
    others = tuple((HOST, number) for number in range(2, ADDRESSES_PER_PEER))
    honest = replace(told(right), addresses=(container, (HOST, right.node.port)))
    forged = replace(told(wrong), addresses=((HOST, wrong.node.port), container, *others), instance="y")
    guest = await people.sit("Ben", discovery=True)
    tables_are(monkeypatch, guest, *((honest, forged) if sorts_first == "Ada" else (forged, honest)))
    with pytest.raises(NodeError, match="two different players answer"):
        await getattr(guest.node, enter)("Friday")
    assert [len(each.told(LobbyChanged)) for each in (right, wrong)] == [1, 1]


async def test_a_lost_player_is_not_sought_at_the_addresses_of_linked_players(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every player of a match advertises it, so the addresses of linked players are not dialled for a lost player."""
    host, guest = await people.sit("Ada"), await people.sit("Ben", discovery=True)
    await host.node.host(FRIDAY)
    await guest.node.join(host.node.join_line)
    running = replace(told(host), advertisement=replace(told(host).advertisement, id="ab" * 32))
    elsewhere = replace(running, addresses=((HOST, 1), (HOST, 2)), instance="y")
    monkeypatch.setattr(guest.node._locator, "_sighted", lambda match: (running, elsewhere))
    runtime, match = guest.node._runtime, bytes.fromhex("ab" * 32)
    assert runtime.where(bytes(32), match, ()) == [(HOST, 1), (HOST, 2)]
    # The players are linked over loopback but advertise this machine's LAN address.
    monkeypatch.setattr(Mesh, "addresses", property(lambda mesh: (("192.0.2.9", mesh.port),)))
    by_cable = replace(running, addresses=(("192.0.2.9", host.node.port),))
    monkeypatch.setattr(guest.node._locator, "_sighted", lambda match: (by_cable, elsewhere))
    assert runtime.where(bytes(32), match, ()) == [(HOST, 1), (HOST, 2)]
    (linked,) = runtime.mesh.linked()
    assert ("192.0.2.9", host.node.port) in runtime.where(linked, match, ())


async def test_a_player_can_join_another_table_after_a_crash_before_its_match_was_marked_formed(
    people: Company,
) -> None:
    """The player may resume the match later, but joins another table first."""
    players, _ = await people.table(2)
    await in_mid_match(players[0])
    match = views.playing(players[1]).match.id
    home = await players[1].kill()
    with contextlib.closing(sqlite3.connect(home / STORE_FILE)) as database, database:
        database.execute("UPDATE matches SET formed = 0, name = ''")
    returned = await people.sit("B", home=home)
    host = await people.sit("C")
    opened = await host.node.host(TableSettings("Saturday", CLASSIC, 2))
    await returned.node.join(opened.join_line)
    await agree(host, returned)
    assert [each.match for each in returned.node.unfinished()] == [match]


async def test_a_match_in_progress_cannot_be_joined(people: Company) -> None:
    running = Advertisement("ab" * 32, "Friday", "classic", 2, 2, "playing", 1)
    assert await refused(await people.sit("guest"), (Sighting(running, ((HOST, 9),), "x"),)) == "refused"


@MULTICAST
async def test_a_forger_of_a_tables_records_gets_none_of_its_guests(people: Company) -> None:
    """The forger registers the same service name by real multicast, with the cache-flush bit."""
    await multicast()
    name = f"Friday {secrets.token_hex(4)}"
    right, wrong = await people.sit("Ada", discovery=True), await people.sit("Eve")
    for each in (right, wrong):
        await each.node.host(TableSettings(name, CLASSIC, 3))
    guest = await people.sit("Ben", discovery=True)
    (seen,) = [each for each in await guest.node.tables(1.0) if each.advertisement.name == name]
    assert wrong.node._active.hosting is not None
    eve = AsyncServiceInfo(
        SERVICE_TYPE,
        f"{seen.instance}.{SERVICE_TYPE}",
        port=wrong.node.port,
        properties=replace(seen.advertisement, id=views.hosting(wrong).table.id.hex()).to_txt(),
        server="eve.local.",
        parsed_addresses=[HOST],
    )
    hostile = AsyncZeroconf(interfaces=[HOST])
    try:
        await (await hostile.async_register_service(eve, cooperating_responders=True, strict=False))
        assert await refused(guest, name) == "refused"
        assert len(right.told(LobbyChanged)) == 1
        late = await people.sit("Cleo", discovery=True)  # sees both records, or only the real table's
        with contextlib.suppress(NodeError):
            await late.node.join(name)
    finally:
        await hostile.async_close()
    assert len(wrong.told(LobbyChanged)) == 1
