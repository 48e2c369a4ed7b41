"""The locator finds tables by multicast, survives network changes, and drops tables that are gone."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from protocol.errors import NodeError
from protocol.events import MatchStarted
from protocol.match.lobby import TableSettings
from protocol.match.match import Match
from protocol.match.waiting import Party
from protocol.net.discovery import LOBBY, PLAYING, SERVICE_TYPE, Advertisement, Sighting
from protocol.net.mdns import Discovery, DiscoveryUnavailable
from protocol.node.locator import A_CODE, SETTLING, Locator, running_match, tables_called
from protocol.version import PROTOCOL_VERSION
from protocol.wire.genesis import Genesis, JoinRecord, Patience, private_table_id
from tests.network.company import CLASSIC, HOST, company
from tests.network.namespaces import HAS_OWN_NETWORK
from tests.programs import PATIENCE
from tests.protocol.test_node import multicast
from tests.simulation.world import join_record
from tests.waiting import until

pytestmark = pytest.mark.multicast

NUMBER = 417

Opener = Callable[[], Awaitable[Locator]]


def test_multicast_tests_have_their_own_network_or_run_one_after_another(
    request: pytest.FixtureRequest, worker_id: str
) -> None:
    """In parallel they would see each other's tables, which happens if pytest-xdist ignores their group."""
    has_own = request.config.stash[HAS_OWN_NETWORK]
    assert has_own or worker_id == "master" or request.node.nodeid.endswith("@multicast")


async def test_multicast_is_tried_again_when_the_interfaces_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await multicast()

    async def fail(self: Discovery, interface: str | None = None) -> None:
        raise DiscoveryUnavailable("no interface takes multicast")

    locator = Locator(HOST, is_enabled=True)
    with monkeypatch.context() as patched:
        patched.setattr(Discovery, "start", fail)
        assert not await locator.start()
        assert not await locator.start()
        await locator.interfaces_changed()
        assert locator.problem == "no interface takes multicast"
    await locator.interfaces_changed()
    assert await locator.start()
    await locator.close()


async def test_a_stopped_node_is_no_longer_advertised(tmp_path: Path) -> None:
    await multicast()
    async with company(tmp_path) as people:
        host = await people.sit("A", discovery=True)
        name = secrets.token_hex(8)
        await host.node.host(TableSettings(name, CLASSIC, 2))
        looking = await people.sit("B", discovery=True)
        assert name in [each.advertisement.name for each in await looking.node.tables(1.0)]
        with host.node._runtime.stopping_at_disk_errors():
            raise OSError("disk full")
        assert name not in [each.advertisement.name for each in await looking.node.tables(2.0)]


async def test_no_node_advertises_an_unlisted_table_or_its_match(tmp_path: Path) -> None:
    await multicast()
    async with company(tmp_path) as people:
        looking = await people.sit("L", discovery=True)
        host, bot, control = [await people.sit(name, discovery=True) for name in "ABC"]
        host.hold()
        party = Party(host.node.identity.public, frozenset({bot.node.identity.public}))
        host.node.party = bot.node.party = party
        listed, name = secrets.token_hex(8), secrets.token_hex(8)
        await control.node.host(TableSettings(listed, CLASSIC, 2))
        opened = await host.node.host(TableSettings(name, CLASSIC, 2, unlisted=True))
        assert (opened.advertised, opened.problem, opened.code) == (False, "the table is unlisted", "")
        names = [each.advertisement.name for each in await looking.node.tables(1.0)]
        assert listed in names
        assert name not in names
        await bot.node.join(opened.join_line)
        await host.until(MatchStarted)
        await bot.until(MatchStarted)
        assert name not in [each.advertisement.name for each in await looking.node.tables(1.0)]
        home = await host.kill()  # the match stays unlisted after the host resumes it
        back = await people.sit("A", home=home, discovery=True)
        back.node.party = party
        await back.node.resume()
        await back.until(MatchStarted)
        assert name not in [each.advertisement.name for each in await looking.node.tables(1.0)]


def test_a_match_from_a_private_table_is_advertised_without_the_tables_name() -> None:
    table = private_table_id("SECRET")
    roster = sorted(
        (join_record(b"private", number, table=table) for number in range(2)), key=lambda each: each.join.identity
    )
    match = Match(Genesis(table, CLASSIC, Patience(), tuple(roster)).encoded(), None, bytes(32))
    told = running_match(match, "Friday")
    assert (told.name, told.id) == (f"match {match.history.match.hex()[:8]}", match.history.match.hex())
    said = " ".join(told.to_txt().values())
    assert not [secret for secret in ("Friday", "SECRET", "player", table.hex()) if secret in said]
    is_open = Match(Genesis(bytes(16), CLASSIC, Patience(), opened()).encoded(), None, bytes(32))
    assert running_match(is_open, "Friday").name == "Friday"


def opened() -> tuple[JoinRecord, ...]:
    roster = (join_record(b"open", number) for number in range(2))
    return tuple(sorted(roster, key=lambda each: each.join.identity))


# Names


@pytest_asyncio.fixture(loop_scope="function")
async def opens() -> AsyncIterator[Opener]:
    """Return a function that starts a locator on loopback."""
    await multicast()
    async with AsyncExitStack() as stack:

        async def start() -> Locator:
            locator = Locator(HOST, is_enabled=True)
            stack.push_async_callback(locator.close)
            assert await locator.start()
            return locator

        yield start


@pytest.fixture
def table() -> Advertisement:
    """A table with a random name, unique on this machine."""
    return Advertisement(secrets.token_hex(16), secrets.token_hex(8), "classic", 1, 2, LOBBY, PROTOCOL_VERSION)


@pytest.fixture
def match(table: Advertisement) -> Advertisement:
    """A match in progress with the same name as ``table``."""
    return replace(table, id=secrets.token_hex(32), seats_taken=2, status=PLAYING)


async def test_a_table_is_found_by_name_and_by_id(opens: Opener, table: Advertisement) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(table, 7001)
    (by_name,) = await guest.resolve(table.name)
    assert (by_name,) == await guest.resolve(table.id) == await guest.resolve(table.name.upper())
    assert by_name.id.hex() == table.id
    assert (HOST, 7001) in by_name.addresses


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("Friday", ("Friday",)),
        ("friday", ("Friday", "FRIDAY")),
        (" FRIDAY ", ("FRIDAY",)),
        ("STRASSE", ("Straße",)),
        ("cafe\u0301", ("Café",)),
        ("Fri", ()),
    ],
)
def test_a_name_ignores_case_unless_one_table_matches_it_exactly(
    table: Advertisement, typed: str, names: tuple[str, ...]
) -> None:
    known = [
        Sighting(replace(table, name=name), ((HOST, 7000),), name) for name in ("Friday", "FRIDAY", "Straße", "Café")
    ]
    assert tuple(each.advertisement.name for each in tables_called(known, typed)) == names


@pytest.mark.parametrize(("typed", "hint"), [("Fridy", 'did you mean "Friday"?'), ("Zürich", "")])
async def test_an_unknown_name_is_answered_with_a_similar_one(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement, typed: str, hint: str
) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    monkeypatch.setattr(Discovery, "tables", lambda _: (Sighting(replace(table, name="Friday"), ((HOST, 1),), "x"),))
    guest = await opens()
    for look in (guest.resolve, guest.resolve_to_watch):
        with pytest.raises(NodeError, match=f'no table called "{typed}" is advertised') as caught:
            await look(typed)
        assert (caught.value.code, caught.value.hint) == ("not-found", hint)
        assert caught.value.choices == (("p2pdice tables", "See the tables"),)


@pytest.mark.parametrize("typed", ["792", "792-", "792-tiger", "792 tiger", "792tiger-olive", "792-tigerolive"])
async def test_part_of_a_code_is_answered_with_an_explanation_of_codes(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement, typed: str
) -> None:
    """The hint explains codes unless a table has a similar name. Spectators get none, since they cannot use codes."""
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    monkeypatch.setattr(Discovery, "tables", lambda _: ())
    guest = await opens()
    for look, hint in ((guest.resolve, A_CODE), (guest.resolve_to_watch, "")):
        with pytest.raises(NodeError, match="no table called") as caught:
            await look(typed)
        assert caught.value.hint == hint
    near = tuple(Sighting(replace(table, name=f"{typed}{more}"), ((HOST, 1),), more) for more in "ab")
    monkeypatch.setattr(Discovery, "tables", lambda _: near)
    with pytest.raises(NodeError) as caught:
        await guest.resolve(typed)
    assert caught.value.hint == f'did you mean "{typed}a" or "{typed}b"?'


async def test_an_unambiguous_prefix_of_a_name_is_enough(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement
) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    names = ("Friday night", "Root's table", "Root's other table")
    told = tuple(Sighting(replace(table, name=name), ((HOST, port),), name) for port, name in enumerate(names, 1))
    monkeypatch.setattr(Discovery, "tables", lambda _: told)
    monkeypatch.setattr(Discovery, "told", lambda _: told)
    guest = await opens()
    for look in (guest.resolve, guest.resolve_to_watch):
        (place,) = await look("friday")
        assert (place.name, place.addresses) == ("Friday night", ((HOST, 1),))
        with pytest.raises(NodeError, match='no table called "root"') as caught:
            await look("root")
        assert caught.value.hint == 'did you mean "Root\'s table" or "Root\'s other table"?'


async def test_a_guest_who_waits_for_a_table_does_not_get_one_with_a_longer_name(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement
) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    host, other, guest = await opens(), await opens(), await opens()
    told = list[NodeError]()
    waiting = asyncio.create_task(guest.resolve(table.name, told.append))
    await until(lambda: told)
    await other.advertise(replace(table, id=secrets.token_hex(16), name=f"{table.name} night"), 7002)
    async with asyncio.timeout(PATIENCE):
        while f"{table.name} night" not in {each.advertisement.name for each in await guest.tables(0.05)}:
            pass
    await asyncio.sleep(2 * SETTLING)
    assert not waiting.done()
    await host.advertise(replace(table, name=table.name.upper()), 7001)
    async with asyncio.timeout(PATIENCE):
        assert [each.name for each in await waiting] == [table.name.upper()]


async def test_earlier_records_of_a_hijacked_name_are_kept(opens: Opener, table: Advertisement) -> None:
    """A forger replaces a table's records with the cache-flush bit; later the host withdraws the table."""
    host, guest = await opens(), await opens()
    await host.advertise(table, 7001)
    assert len(await guest.resolve(table.name)) == 1
    (seen,) = [each for each in await guest.tables(0) if each.advertisement.id == table.id]
    hostile = AsyncZeroconf(interfaces=[HOST])
    eve = AsyncServiceInfo(
        SERVICE_TYPE,
        f"{seen.instance}.{SERVICE_TYPE}",
        port=7002,
        properties=replace(table, id=secrets.token_hex(16)).to_txt(),
        server="eve.local.",
        parsed_addresses=[HOST],
    )
    await (await hostile.async_register_service(eve, cooperating_responders=True, strict=False))
    async with asyncio.timeout(PATIENCE):
        while len(places := await guest.resolve(table.name)) < 2:
            pass
    assert {(HOST, 7001), (HOST, 7002)} <= {address for place in places for address in place.addresses}
    await hostile.async_close()
    await host.withdraw()
    async with asyncio.timeout(PATIENCE):
        while tables_called(await guest.tables(0.1), table.name):
            pass
    assert guest._discovery is not None
    assert len({each.advertisement.id for each in tables_called(guest._discovery.told(), table.name)}) == 2


async def test_no_name_is_trusted_during_a_flood_of_changes(
    opens: Opener, table: Advertisement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an attacker could flood the network until nodes forget which host had a name first."""
    monkeypatch.setattr("protocol.net.discovery.FORMER_TABLES", 3)
    host, guest = await opens(), await opens()
    for port in range(7001, 7006):
        await host.advertise(table, port)
        async with asyncio.timeout(PATIENCE):
            while port not in {at for each in await guest.tables(0.02) for _, at in each.addresses}:
                pass
    with pytest.raises(NodeError, match="no name can be trusted") as caught:
        await guest.resolve(table.name)
    assert caught.value.code == "refused"
    assert "join line" in caught.value.hint


async def test_a_flood_of_changes_retracts_no_host_found_by_number(
    opens: Opener, table: Advertisement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts found before the flood can still be tried, because a host must prove that it knows the code's words."""
    monkeypatch.setattr("protocol.net.discovery.FORMER_TABLES", 3)
    host, guest = await opens(), await opens()
    hearing = guest.numbered(NUMBER)
    await host.advertise(replace(table, number=NUMBER), 7001)
    assert {at for each in await anext(hearing) for _, at in each.addresses} == {7001}
    hears = asyncio.ensure_future(anext(hearing, None))
    async with asyncio.timeout(PATIENCE):
        for port in range(7002, 7007):
            await host.advertise(replace(table, number=NUMBER), port)
            while port not in {at for each in await guest.tables(0.02) for _, at in each.addresses}:
                pass
        while await hears is not None:
            hears = asyncio.ensure_future(anext(hearing, None))
    with pytest.raises(NodeError, match="no name can be trusted"):
        await anext(guest.numbered(NUMBER))


async def test_a_spectator_finds_a_running_match_by_the_name_of_its_table(
    opens: Opener, table: Advertisement, match: Advertisement
) -> None:
    """A guest may advertise the match before the host's table record says that it has started."""
    host, guest, watching = await opens(), await opens(), await opens()
    await host.advertise(table, 7001)
    await guest.advertise(match, 7002)
    finding = asyncio.create_task(watching.resolve_to_watch(table.name))
    await asyncio.sleep(2 * SETTLING)
    assert not finding.done()
    await host.advertise(match, 7001)
    targets = await finding
    assert {target.id.hex() for target in targets} == {match.id}
    assert {port for target in targets for _, port in target.addresses} == {7001, 7002}


async def test_a_table_is_joined_by_name_although_running_matches_have_that_name(
    opens: Opener, table: Advertisement, match: Advertisement
) -> None:
    """Running matches cannot be joined, so only the open table can be meant."""
    one, other, joining = await opens(), await opens(), await opens()
    for each in (one, other):
        await each.advertise(match, 7001)
    with pytest.raises(NodeError, match="has begun already"):
        await joining.resolve(table.name)
    await one.advertise(table, 7001)
    while LOBBY not in {each.advertisement.status for each in await joining.tables(0.1)}:
        pass
    assert [each.id.hex() for each in await joining.resolve(table.name)] == [table.id]
