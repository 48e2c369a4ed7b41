"""A listener keeps its caps: strangers get few links and few handshakes, and players can still connect."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import socket
import ssl
from contextlib import suppress

import pytest

from protocol.crypto.tls import client_context, credentials
from protocol.limits import Limits
from protocol.net import link as link_module
from protocol.net.channel import Channel
from protocol.net.dialer import DialError
from protocol.net.link import Link, LinkUse
from protocol.net.listener import listen
from protocol.rate_limit import Buckets
from tests.programs import PATIENCE
from tests.protocol.links import HOST, KNOCKING, SHORT, Opener, Recorder, dial, identity, is_cut_off, raw_tls

# Listening


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_arrives_while_the_listener_closes_is_cut_off(opens: Opener, turns: int) -> None:
    table = await opens(SHORT)
    await asyncio.sleep(0.05)
    with socket.create_connection((HOST, table.listener.port)) as visitor:
        for _ in range(turns):
            await asyncio.sleep(0)
        table.listener.close()
        await asyncio.sleep(0.05)
        gc.collect()  # a connection that was not closed warns here
        visitor.settimeout(0)
        with suppress(ConnectionResetError):
            assert visitor.recv(1) == b""


async def test_a_closed_listener_leaves_its_links_up(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.listener.close()
    link.send(b"still here")
    await table.recorder.until(lambda: bool(table.recorder.frames))
    with pytest.raises(DialError, match="nobody listens"):
        await table.dial(Recorder())


async def test_ipv4_and_ipv6_share_one_port() -> None:
    listener = await listen([HOST, "::1"], 0, credentials(identity()), Recorder(), SHORT)
    assert listener.addresses == ((HOST, listener.port), ("::1", listener.port))
    for host in (HOST, "::1"):
        link = await dial(host, listener.port, credentials(identity()), Recorder(), limits=SHORT)
        assert link.remote == (host, listener.port)
        link.drop("seen")
    listener.close()
    await asyncio.sleep(0.05)


async def test_a_port_in_use_is_reported() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} is taken"):
            await listen([HOST], port, credentials(identity()), Recorder())


# Caps and rates


async def test_links_of_strangers_are_capped_and_players_can_still_connect(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=2, handshake=2))
    player = identity()
    table.listener.allowances.roster = frozenset([player.public_key().public_bytes_raw()])
    strangers = [Recorder() for _ in range(3)]
    for each in strangers:
        await table.dial(each, limits=Limits())
    await strangers[2].until(lambda: bool(strangers[2].ends))
    guest = Recorder()
    link = await table.dial(guest, player, Limits())
    link.send(b"it is my turn")
    await table.recorder.until(lambda: table.recorder.frames == [b"it is my turn"])
    assert [bool(each.ends) for each in strangers] == [False, False, True]
    assert len(table.recorder.links) == 3


async def test_one_address_cannot_take_every_place(opens: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: False)
    table = await opens(Limits(handshake=2))
    strangers = [Recorder() for _ in range(4)]
    for each in strangers:
        await table.dial(each, limits=Limits())
    await strangers[3].until(lambda: bool(strangers[3].ends))
    assert len(table.recorder.links) == table.limits.links_per_address == 3


@pytest.mark.parametrize("is_own_machine", [True, False], ids=["all", "of one address"])
async def test_strangers_who_are_not_welcomed_make_room_for_newer_ones(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, is_own_machine: bool
) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: is_own_machine)
    table = await opens(Limits(links_outside_roster=3, links_per_address=3, handshake=5), widens=False)
    silent = [Recorder() for _ in range(6)]
    for each in silent:
        await table.dial(each, limits=Limits())
    for each in silent[:3]:
        await each.until(lambda each=each: bool(each.ends))  # type: ignore[misc]
    assert await table.is_alive()
    assert set(table.recorder.reasons) >= {"the place was needed for somebody else"}
    assert len(table.listener._links) <= 3


async def test_simultaneous_connections_stay_within_the_cap(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=3, handshake=5), widens=False)
    crowd = [Recorder() for _ in range(30)]
    await asyncio.gather(*(table.dial(each, limits=Limits()) for each in crowd), return_exceptions=True)
    links, ends = table.recorder.links, table.recorder.ends
    # The table may learn of a link later than its dialler, so for a moment it may count fewer than three.
    await table.recorder.until(lambda: len(links) > 3 and len(ends) == len(links) - 3)
    assert sum(link.is_up for link in links) == len(table.listener._links) == 3


@pytest.mark.parametrize(
    ("uses", "displaced"),
    [
        ((LinkUse.IDLE, LinkUse.IDLE, LinkUse.IDLE), 0),
        ((LinkUse.ENGAGED, LinkUse.TRYING, LinkUse.IDLE), 2),
        ((LinkUse.ENGAGED, LinkUse.TRYING, LinkUse.ENGAGED), 1),
    ],
    ids=["the oldest of equals", "one that has asked for nothing", "one that tries a code"],
)
async def test_the_least_useful_welcomed_stranger_makes_room(
    opens: Opener, uses: tuple[LinkUse, ...], displaced: int
) -> None:
    table = await opens(Limits(links_outside_roster=3, handshake=5))
    guests = [Recorder() for _ in uses]
    for number, (each, use) in enumerate(zip(guests, uses, strict=True), 1):
        await table.dial(each, limits=Limits())
        await table.recorder.until(lambda number=number: len(table.recorder.links) == number)  # type: ignore[misc]
        table.recorder.links[-1].use = use
    await table.dial(Recorder(), limits=Limits())
    await guests[displaced].until(lambda: bool(guests[displaced].ends))
    assert [bool(each.ends) for each in guests] == [number == displaced for number in range(3)]


async def test_repeat_visitors_from_one_address_do_not_displace_a_newcomer(opens: Opener) -> None:
    """This holds even if all the repeat visitors try a code and the newcomer has asked for nothing yet."""
    table = await opens(Limits(links_outside_roster=3, handshake=5))
    guests = [Recorder() for _ in range(3)]
    for number, each in enumerate(guests, 1):
        await table.dial(each, limits=Limits())
        await table.recorder.until(lambda number=number: len(table.recorder.links) == number)  # type: ignore[misc]
    newcomer, *others = table.recorder.links
    newcomer.use = LinkUse.IDLE
    for link in others:
        link.use, link.remote = LinkUse.TRYING, ("192.0.2.7", 7000)
    await table.dial(Recorder(), limits=Limits())
    await guests[1].until(lambda: bool(guests[1].ends))
    assert [bool(each.ends) for each in guests] == [False, True, False]


async def test_a_refused_stranger_frees_its_place_before_it_reads_the_refusal(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=1, handshake=5, shutdown=5))
    _, writer = await raw_tls(table, client_context(identity()))
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.recorder.links[0].close()
    assert await table.is_alive()
    writer.transport.abort()


async def test_engaged_links_of_strangers_are_not_displaced(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=3, handshake=5))
    welcomed = [Recorder() for _ in range(3)]
    for each in welcomed:
        await table.dial(each, limits=Limits())
    for _ in range(3):
        late = Recorder()
        await table.dial(late, limits=Limits())
        await late.until(lambda late=late: bool(late.ends))  # type: ignore[misc]
    assert [each.ends for each in welcomed] == [[], [], []]


async def test_many_nodes_on_one_machine_can_connect(opens: Opener) -> None:
    table = await opens()
    for _ in range(6):
        await table.dial(Recorder())
    await table.recorder.until(lambda: len(table.recorder.links) == 6)


async def test_a_closed_link_frees_its_place(opens: Opener) -> None:
    table = await opens(Limits(links_outside_roster=1, handshake=2))
    assert await table.is_alive()
    await table.recorder.until(lambda: len(table.recorder.ends) == 1)
    assert await table.is_alive()


async def test_a_players_newest_link_displaces_the_oldest(opens: Opener) -> None:
    table = await opens(Limits(links_per_member=2, handshake=2))
    player = identity()
    table.listener.allowances.roster = frozenset([player.public_key().public_bytes_raw()])
    guests = [Recorder() for _ in range(3)]
    for each in guests:
        await table.dial(each, player)
    await guests[0].until(lambda: bool(guests[0].ends))
    await table.recorder.until(lambda: len(table.recorder.links) == 3)
    assert [link for link, _ in table.recorder.ends] == [table.recorder.links[0]]
    assert table.recorder.reasons[0] == "the same player has come back over another connection"


async def test_the_link_that_serves_a_match_outlives_other_connections_of_its_player(opens: Opener) -> None:
    """A player who searches for another peer at this node's addresses opens short-lived connections."""
    table = await opens(Limits(links_per_member=2, handshake=2), widens=False)
    player = identity()
    table.listener.allowances.roster = frozenset([player.public_key().public_bytes_raw()])
    await table.dial(Recorder(), player)
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.recorder.links[0].use = LinkUse.ENGAGED
    for _ in range(3):
        await table.dial(Recorder(), player)
    await table.recorder.until(lambda: len(table.recorder.ends) == 2)
    assert [link for link, _ in table.recorder.ends] == table.recorder.links[1:3]


async def test_simultaneous_links_of_one_player_stay_within_the_limit(opens: Opener) -> None:
    patient = Limits(links_per_member=3, handshake=60)  # thirty handshakes are slow on a busy machine
    table = await opens(patient)
    player = identity()
    table.listener.allowances.roster = frozenset([player.public_key().public_bytes_raw()])
    crowd = [Recorder() for _ in range(30)]
    await asyncio.gather(*(table.dial(each, player, patient) for each in crowd), return_exceptions=True)
    await table.recorder.until(lambda: len(table.recorder.ends) >= len(table.recorder.links) - 3)
    assert sum(link.is_up for link in table.recorder.links) == 3


async def test_idle_connections_keep_no_peer_out(opens: Opener) -> None:
    table = await opens(Limits(handshakes=4, handshake=5))
    idle = [socket.create_connection((HOST, table.listener.port)) for _ in range(20)]
    assert await table.is_alive()
    idle[0].settimeout(PATIENCE)
    assert await asyncio.to_thread(idle[0].recv, 1) == b""  # the oldest had to make room
    for each in idle:
        each.close()


async def test_an_address_that_starts_too_many_handshakes_is_refused_and_another_is_not() -> None:
    limits = dataclasses.replace(KNOCKING, handshake_burst=3, handshake_rate=0.1)
    recorder = Recorder()
    listener = await listen([HOST, "::1"], 0, credentials(identity()), recorder, limits)
    guest = Recorder()
    for _ in range(3):
        await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    for _ in range(2):
        with pytest.raises(DialError, match="broke off the connection"):
            await dial(HOST, listener.port, credentials(identity()), guest, limits=limits)
    await dial("::1", listener.port, credentials(identity()), guest, limits=limits)
    await recorder.until(lambda: len(recorder.links) == 4)
    listener.close()
    for link in (*guest.links, *recorder.links):
        link.drop("the test is over")
    await asyncio.sleep(0.05)


async def test_all_handshakes_together_are_paced_and_none_is_lost(opens: Opener) -> None:
    table = await opens(dataclasses.replace(KNOCKING, accept_burst=2, accept_rate=4))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await asyncio.gather(*(table.dial(Recorder(), limits=Limits()) for _ in range(5)))
    await table.recorder.until(lambda: len(table.recorder.links) == 5)
    assert loop.time() - begun >= 0.5


def test_an_address_gets_no_new_allowance_however_many_others_connect() -> None:
    visits: Buckets[str] = Buckets(rate=5, burst=2, most=8)
    assert [visits.bucket("fe80::1", now=0).admits(0) for _ in range(3)] == [True, True, False]
    admitted = sum(visits.bucket(f"2001:db8::{number}", now=0).admits(0) for number in range(256))
    assert admitted == 7 + 2  # seven addresses have a bucket each; the rest share one with two tokens
    assert not visits.bucket("fe80::1", now=0).admits(0)
    assert len(visits) == 8
    assert [visits.bucket("fe80::2", now=1).admits(1) for _ in range(3)] == [True, True, False]
    assert len(visits) == 8


async def test_many_simultaneous_connections_do_not_block_the_event_loop(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await opens()
    received: list[socket.socket] = []
    receive = table.listener._receive

    def noted(connection: socket.socket) -> float:
        received.append(connection)
        return receive(connection)

    monkeypatch.setattr(table.listener, "_receive", noted)
    crowd = [socket.create_connection((HOST, table.listener.port)) for _ in range(30)]
    for turn in range(1, 20):
        await asyncio.sleep(0)
        assert len(received) <= turn
    for each in crowd:
        each.close()
    assert await table.is_alive()
    assert len(received) == 31


async def test_strangers_who_were_cut_off_leave_no_reference_cycles(opens: Opener) -> None:
    def remains() -> int:
        return sum(isinstance(each, Link | Channel | ssl.SSLObject) for each in gc.get_objects())

    table = await opens()
    gc.collect()
    gc.disable()
    try:
        before = remains()
        for data in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01") * 5:
            reader, writer = await asyncio.open_connection(HOST, table.listener.port)
            writer.write(data)
            writer.write_eof()
            assert await is_cut_off(reader)
            writer.close()
        await asyncio.sleep(0.1)
        assert remains() <= before + 2
    finally:
        gc.enable()


async def test_a_peer_with_this_nodes_own_key_gets_no_link(opens: Opener) -> None:
    """It is this node itself, or a copy of its home."""
    table = await opens()
    reader, writer = await raw_tls(table, table.credentials.client)
    assert await is_cut_off(reader)
    assert table.recorder.links == []
    writer.close()
