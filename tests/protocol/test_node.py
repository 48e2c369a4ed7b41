"""Nodes over real sockets: how players find a table, what becomes of it when somebody leaves, fails or comes back."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from protocol.addresses import format_address
from protocol.certificates import credentials
from protocol.discovery import Advertisement, Discovery, DiscoveryUnavailable, Sighting
from protocol.events import (
    LobbyChanged,
    MatchOver,
    MatchStarted,
    TableJoined,
)
from protocol.joinline import JoinLine, parse_join_line
from protocol.keys import Identity
from protocol.limits import Limits
from protocol.link import Link
from protocol.node import NodeError, TableSettings
from protocol.transport import listen
from protocol.wire import (
    PROTOCOL_VERSION,
    Carried,
    Frame,
    Hello,
    MatchAim,
    Propose,
    Refuse,
    Table,
    TableAim,
    Welcome,
    decode_frame,
    encode_frame,
)
from tests.network.company import CLASSIC, HOST, PATIENCE, Company, Player, agree, company

SHORT = Limits(handshake=0.5)
MULTICAST = pytest.mark.xdist_group("multicast")


@pytest_asyncio.fixture(loop_scope="function")
async def people(tmp_path: Path) -> AsyncIterator[Company]:
    async with company(tmp_path) as gathered:
        yield gathered


async def refused(player: Player, target: str | Sighting) -> str:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NodeError) as caught:
            await player.node.join(target)
    assert caught.value.reason
    return caught.value.code


# Sitting down


@pytest.mark.parametrize("seats", [2, 3, 5])
async def test_who_joins_by_the_join_line_plays_a_whole_match(people: Company, seats: int) -> None:
    players, _ = await people.table(seats)
    await agree(*players)
    for player in players:
        assert player.told(MatchOver)[0].confirmed
        assert [event.is_me for event in player.told(MatchStarted)[0].players].count(True) == 1


async def test_who_joins_by_address_is_told_whose_table_it_is(people: Company) -> None:
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
async def test_a_table_is_found_by_its_name_and_by_looking_around(people: Company) -> None:
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
    await looking.node.join(sighting)
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
    monkeypatch.setattr("protocol.whereabouts.FINDING", 0.2)
    assert await refused(await people.sit("guest", discovery=True), "Saturday") == "not-found"


@MULTICAST
async def test_of_two_tables_with_one_name_none_is_joined_by_it(people: Company) -> None:
    """Anybody can advertise a table by the name of another: who sits at which is told by the fingerprint."""
    await multicast()
    name = f"Friday {secrets.token_hex(4)}"
    right, wrong = await people.sit("right", discovery=True), await people.sit("wrong", discovery=True)
    opened = await right.node.host(TableSettings(name, CLASSIC, 2))
    await wrong.node.host(TableSettings(name, CLASSIC, 2))
    guest = await people.sit("guest", discovery=True)
    with pytest.raises(NodeError, match="2 tables are called") as caught:
        await guest.node.join(name)
    assert "join line" in caught.value.hint
    await guest.node.join(opened.join_line)
    await agree(right, guest)


async def test_without_discovery_a_name_leads_nowhere_and_says_what_does(people: Company) -> None:
    guest = await people.sit("guest")
    with pytest.raises(NodeError, match="switched off") as caught:
        await guest.node.join("Friday")
    assert caught.value.code == "unreachable"
    assert "join line" in caught.value.hint


async def test_who_comes_when_all_seats_are_taken_is_told_so(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    first, second = await people.sit("first"), await people.sit("second")
    host.hold()
    first.hold()
    await first.node.join(opened.join_line)
    assert await refused(second, opened.join_line) in ("full", "refused")  # full, or begun already
    host.go_on()
    first.go_on()
    await agree(host, first)


async def test_a_full_table_says_that_it_is_full(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    deaf = await people.sit("deaf")
    silence_towards(deaf, Carried, Table, Propose)  # takes the seat, but the match does not form
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await deaf.node.join(opened.join_line)
    assert await refused(await people.sit("late"), opened.join_line) == "full"


def silence_towards(player: Player, *kinds: type[Frame]) -> None:
    """Let a node lose what it is sent."""
    hear = player.node.peer_frame

    def hear_some(identity: bytes, frame: Frame) -> None:
        if not isinstance(frame, kinds):
            hear(identity, frame)

    player.node.peer_frame = hear_some  # type: ignore[method-assign]


async def test_a_private_table_admits_who_has_the_whole_join_line_only(people: Company) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2, private=True))
    assert not opened.advertised
    line = parse_join_line(opened.join_line)
    guest = await people.sit("guest")
    for attempt in (opened.addresses[0], str(line._replace(token="")), str(line._replace(token="WRONG"))):
        assert await refused(guest, attempt) == "refused"
    await guest.node.join(opened.join_line)
    await agree(host, guest)


class FakeHost:
    """Somebody who proves an identity and then answers HELLO with whatever the test wants."""

    def __init__(self, *answers: Frame) -> None:
        self.identity = Identity.generate()
        self.answers = answers
        self.heard: list[bytes] = []
        self.links: list[Link] = []

    async def open(self) -> JoinLine:
        self.listener = await listen((HOST,), 0, credentials(self.identity.private_key), self, Limits())
        return JoinLine(((HOST, self.listener.port),), self.identity.fingerprint)

    def close(self) -> None:
        self.listener.close()
        for link in self.links:
            link.close()

    def link_up(self, link: Link) -> None:
        self.links.append(link)

    def frame_received(self, link: Link, frame: bytes) -> None:
        self.heard.append(frame)
        if isinstance(decode_frame(frame), Hello):
            for answer in self.answers:
                link.send(encode_frame(answer))
            link.widen()

    def link_down(self, link: Link, reason: str) -> None:
        self.links.remove(link)


async def test_the_token_is_never_told_to_somebody_else_at_that_address(people: Company) -> None:
    impostor = FakeHost(Welcome(PROTOCOL_VERSION, "fake", TableAim(bytes(16), "")))
    line = (await impostor.open())._replace(fingerprint=Identity.generate().fingerprint, token="SECRET")
    guest = await people.sit("guest")
    assert await refused(guest, str(line)) == "unreachable"
    assert impostor.heard == []
    impostor.close()


@pytest.mark.parametrize("enter", ["join", "watch"])
async def test_a_join_line_leads_past_whoever_else_answers_at_one_of_its_addresses(people: Company, enter: str) -> None:
    """Another laptop may have got an address that the host had before; whoever it is hears nothing."""
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
async def test_who_else_answers_is_named_if_nobody_right_does(people: Company, enter: str) -> None:
    one, other = FakeHost(), FakeHost()
    lines = [await one.open(), await other.open()]
    addresses = tuple(address for line in lines for address in line.addresses)
    wanted = JoinLine(((HOST, 1), *addresses), Identity.generate().fingerprint)
    with pytest.raises(NodeError) as caught:
        await getattr((await people.sit("guest")).node, enter)(str(wanted))
    assert caught.value.code == "unreachable"
    assert f"nobody listens at {HOST}:1" in caught.value.reason
    for line in lines:
        assert f"{format_address(line.addresses[0])} another player answers, {line.fingerprint}" in caught.value.reason
    assert one.heard == other.heard == []
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((Refuse("version", "we speak 2 here"),), "version"),
        ((Welcome(2, "later", TableAim(bytes(16), "")),), "version"),
        ((Refuse("rules", "other rules"),), "rules"),
        ((Refuse("something new", "because"),), "refused"),
        ((Welcome(PROTOCOL_VERSION, "fake", MatchAim(bytes(32), 0, bytes(32))),), "unreachable"),
        ((Welcome(PROTOCOL_VERSION, "fake", TableAim(bytes(16), "")), Refuse("full", "too late")), "full"),
        ((Welcome(PROTOCOL_VERSION, "fake", TableAim(bytes(16), "")),), "unreachable"),
        ((), "unreachable"),
    ],
)
async def test_whatever_a_host_answers_the_guest_is_told_what_kind_of_no_it_was(
    people: Company, answers: tuple[Frame, ...], code: str
) -> None:
    host = FakeHost(*answers)
    line = await host.open()
    assert await refused(await people.sit("guest", bounds=SHORT), str(line)) == code
    host.close()


async def test_nobody_at_the_address_is_unreachable_and_no_address_is_not_found(people: Company) -> None:
    guest = await people.sit("guest")
    assert await refused(guest, "127.0.0.1:1") == "unreachable"
    assert await refused(guest, "127.0.0.1:1/TYPO") == "not-found"


async def test_a_node_of_another_version_is_told_so(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await people.sit("host")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2))
    guest = await people.sit("guest")

    def as_version_9(frame: Frame) -> bytes:
        return encode_frame(frame._replace(versions=(9,)) if isinstance(frame, Hello) else frame)

    monkeypatch.setattr("protocol.mesh.encode_frame", as_version_9)
    assert await refused(guest, opened.join_line) == "version"


@pytest.mark.parametrize("identifier", ["0" * 9, "f" * 64])
async def test_a_record_with_an_id_that_is_none_still_says_where_to_dial(people: Company, identifier: str) -> None:
    host = await people.sit("host")
    await host.node.host(TableSettings("Friday", CLASSIC, 3))
    forged = Advertisement(identifier, "Friday", "classic", 1, 3, "lobby", 1)
    await (await people.sit("guest")).node.join(Sighting(forged, ((HOST, host.node.port),), "x"))


async def test_a_record_with_another_tables_id_leads_to_no_seat(people: Company) -> None:
    host = await people.sit("host")
    await host.node.host(TableSettings("Friday", CLASSIC, 3))
    forged = Advertisement("ab" * 16, "Friday", "classic", 1, 3, "lobby", 1)
    assert await refused(await people.sit("guest"), Sighting(forged, ((HOST, host.node.port),), "x")) == "refused"


async def test_a_match_that_has_begun_is_not_joined(people: Company) -> None:
    running = Advertisement("ab" * 32, "Friday", "classic", 2, 2, "playing", 1)
    assert await refused(await people.sit("guest"), Sighting(running, ((HOST, 9),), "x")) == "refused"
