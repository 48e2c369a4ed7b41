"""Being found: where multicast begins to work late, and what is no longer there."""

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

pytestmark = pytest.mark.multicast

NUMBER = 417

Opener = Callable[[], Awaitable[Locator]]


def test_tests_of_multicast_have_a_network_of_their_own_or_run_in_a_row(
    request: pytest.FixtureRequest, worker_id: str
) -> None:
    """Side by side they would see each other's tables; versions of pytest that pytest-xdist does not know let them."""
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


async def test_a_node_that_fell_silent_is_advertised_no_more(tmp_path: Path) -> None:
    await multicast()
    async with company(tmp_path) as people:
        host = await people.sit("A", discovery=True)
        name = secrets.token_hex(8)
        await host.node.host(TableSettings(name, CLASSIC, 2))
        looking = await people.sit("B", discovery=True)
        assert name in [each.advertisement.name for each in await looking.node.tables(1.0)]
        host.node._runtime.stop(OSError("disk full"))
        assert name not in [each.advertisement.name for each in await looking.node.tables(2.0)]


async def test_an_unlisted_table_and_its_match_are_advertised_by_nobody(tmp_path: Path) -> None:
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
        home = await host.kill()  # and after a return
        back = await people.sit("A", home=home, discovery=True)
        back.node.party = party
        await back.node.resume()
        await back.until(MatchStarted)
        assert name not in [each.advertisement.name for each in await looking.node.tables(1.0)]


def test_a_running_match_is_advertised_even_if_its_table_was_private_but_not_by_its_name() -> None:
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
    """Starts to look around, on loopback."""
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
    """A table with a name that nobody else on this machine has."""
    return Advertisement(secrets.token_hex(16), secrets.token_hex(8), "classic", 1, 2, LOBBY, PROTOCOL_VERSION)


@pytest.fixture
def match(table: Advertisement) -> Advertisement:
    """A match under that name."""
    return replace(table, id=secrets.token_hex(32), seats_taken=2, status=PLAYING)


async def test_a_table_is_found_by_name_and_by_id(opens: Opener, table: Advertisement) -> None:
    host, guest = await opens(), await opens()
    await host.advertise(table, 7001)
    (by_name,) = await guest.resolve(table.name)
    assert (by_name,) == await guest.resolve(table.id) == await guest.resolve(table.name.upper())
    assert by_name.id.hex() == table.id
    assert (HOST, 7001) in by_name.addresses


async def test_a_table_that_is_not_there_is_not_found(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    guest = await opens()
    for look in (guest.resolve, guest.resolve_to_watch):
        with pytest.raises(NodeError, match='called "A table of nobody" is advertised'):
            await look("A table of nobody")


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
def test_names_ignore_case_unless_that_tells_two_tables_apart(
    table: Advertisement, typed: str, names: tuple[str, ...]
) -> None:
    known = [
        Sighting(replace(table, name=name), ((HOST, 7000),), name) for name in ("Friday", "FRIDAY", "Straße", "Café")
    ]
    assert tuple(each.advertisement.name for each in tables_called(known, typed)) == names


@pytest.mark.parametrize(("typed", "hint"), [("Fridy", 'did you mean "Friday"?'), ("Zürich", "")])
async def test_a_name_that_is_not_there_is_answered_with_one_that_is_near(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement, typed: str, hint: str
) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    monkeypatch.setattr(Discovery, "tables", lambda _: (Sighting(replace(table, name="Friday"), ((HOST, 1),), "x"),))
    guest = await opens()
    for look in (guest.resolve, guest.resolve_to_watch):
        with pytest.raises(NodeError, match=f'no table called "{typed}"') as caught:
            await look(typed)
        assert (caught.value.code, caught.value.hint) == ("not-found", hint)
        assert caught.value.choices == (("p2pdice tables", "See the tables"),)


@pytest.mark.parametrize("typed", ["792", "792-", "792-tiger", "792 tiger", "792tiger-olive", "792-tigerolive"])
async def test_a_part_of_a_code_is_answered_with_what_a_code_is(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement, typed: str
) -> None:
    """Unless a table is called like that, or nearly; and codes are not for watching."""
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


async def test_an_unambiguous_beginning_of_a_name_is_enough(
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


async def test_who_waits_for_a_table_gets_no_other_whose_name_begins_so(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, table: Advertisement
) -> None:
    monkeypatch.setattr("protocol.node.locator.FINDING", 0.05)
    host, other, guest = await opens(), await opens(), await opens()
    told = list[NodeError]()
    waiting = asyncio.create_task(guest.resolve(table.name, told.append))
    async with asyncio.timeout(PATIENCE):
        while not told:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0.01)
    await other.advertise(replace(table, id=secrets.token_hex(16), name=f"{table.name} night"), 7002)
    async with asyncio.timeout(PATIENCE):
        while f"{table.name} night" not in {each.advertisement.name for each in await guest.tables(0.05)}:
            pass
    await asyncio.sleep(2 * SETTLING)
    assert not waiting.done()
    await host.advertise(replace(table, name=table.name.upper()), 7001)
    async with asyncio.timeout(PATIENCE):
        assert [each.name for each in await waiting] == [table.name.upper()]


async def test_earlier_records_of_a_name_that_was_taken_over_are_kept(opens: Opener, table: Advertisement) -> None:
    """The records of a table are replaced by others, with the bit that flushes caches, or withdrawn before."""
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


async def test_no_name_is_trusted_while_tables_change_without_end(
    opens: Opener, table: Advertisement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever floods the network must not make anybody forget who had a name first."""
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


async def test_tables_that_change_without_end_take_back_nobody_who_was_heard_by_a_number(
    opens: Opener, table: Advertisement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host proves by the words that it is meant, so those who were heard before can be tried."""
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


async def test_a_spectator_can_name_a_table_whose_match_has_begun(
    opens: Opener, table: Advertisement, match: Advertisement
) -> None:
    """Its players tell of the match before everybody has heard that the table waits for nobody any more."""
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


async def test_a_table_is_joined_by_name_though_others_play_under_that_name(
    opens: Opener, table: Advertisement, match: Advertisement
) -> None:
    """They cannot be joined any more, so it is no question which one is meant."""
    one, other, joining = await opens(), await opens(), await opens()
    for each in (one, other):
        await each.advertise(match, 7001)
    with pytest.raises(NodeError, match="has begun already"):
        await joining.resolve(table.name)
    await one.advertise(table, 7001)
    while LOBBY not in {each.advertisement.status for each in await joining.tables(0.1)}:
        pass
    assert [each.id.hex() for each in await joining.resolve(table.name)] == [table.id]
