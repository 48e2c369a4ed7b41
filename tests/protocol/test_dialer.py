"""Dialling finds the wanted node among many addresses, and a failure is reported in a readable sentence."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from protocol.crypto.tls import credentials
from protocol.limits import (
    ADDRESSES_PER_PEER,
    DIAL_BURST_PER_ADDRESS,
    DIAL_RATE_PER_ADDRESS,
    DIALS,
    Limits,
)
from protocol.net.dialer import Dialer, DialError
from protocol.net.link import Link
from tests.network.strangers import Trap
from tests.programs import PATIENCE
from tests.protocol.links import HOST, SHORT, Opener, Recorder, dial, dial_any, identity


async def test_a_dial_fails_unless_the_expected_identity_answers(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    with pytest.raises(DialError, match="another player answers"):
        await dial(HOST, table.listener.port, credentials(identity()), guest, bytes(32).__eq__, SHORT)
    assert guest.links == []
    accept = table.credentials.public_key.__eq__
    link = await dial(HOST, table.listener.port, credentials(identity()), guest, accept, SHORT)
    assert link.is_up


async def test_dialling_a_host_name_skips_an_address_where_a_stranger_answers(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, right = await opens(), await opens()
    both = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (HOST, each.listener.port)) for each in (wrong, right)]

    async def resolve(*_: object, **__: object) -> list[object]:
        return list(both)

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    for _ in range(6):
        both.reverse()
        accept = right.credentials.public_key.__eq__
        link = await dial("two.example", 1, credentials(identity()), Recorder(), accept, SHORT)
        assert link.peer_key == right.credentials.public_key


async def test_a_node_does_not_link_to_itself(opens: Opener) -> None:
    table = await opens()
    with pytest.raises(DialError, match="this program itself"):
        await table.dial(Recorder(), table.identity)
    assert table.recorder.links == []


async def test_the_one_good_address_among_bad_ones_is_found_and_only_that_one_becomes_a_link(opens: Opener) -> None:
    table = await opens()
    mute = socket.create_server((HOST, 0))
    guest = Recorder()
    link = await dial_any(
        [(HOST, 1), mute.getsockname(), (HOST, table.listener.port), ("localhost", table.listener.port)],
        credentials(identity()),
        guest,
        limits=Limits(handshake=5),
    )
    assert link.is_up
    assert guest.links == [link]
    link.send(b"hello")
    await table.recorder.until(lambda: bool(table.recorder.frames))
    mute.close()


async def test_failures_to_dial_are_reported_in_sentences(opens: Opener) -> None:
    mute = socket.create_server((HOST, 0))

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    web = await asyncio.start_server(answer, HOST, 0)
    own = credentials(identity())

    async def problem(*addresses: tuple[str, int]) -> str:
        with pytest.raises(DialError) as caught:
            await dial_any(addresses, own, Recorder(), limits=SHORT)
        return str(caught.value)

    assert await problem() == "no address is known"
    assert await problem((HOST, 1)) == f"nobody listens at {HOST}:1"
    assert await problem(mute.getsockname()) == f"{HOST}:{mute.getsockname()[1]} did not answer within 0.4 seconds"
    assert "something other than p2pdice answers" in await problem(web.sockets[0].getsockname())
    assert await problem(("x" * 64, 1)) == f"no machine is known by the name {'x' * 64}"
    mute.close()
    web.close()
    await web.wait_closed()


async def test_a_dial_cancelled_at_any_moment_leaves_no_connection_behind(opens: Opener) -> None:
    table = await opens()
    guest, own = Recorder(), credentials(identity())
    for turns in range(40):
        dialling = asyncio.create_task(dial(HOST, table.listener.port, own, guest, limits=Limits()))
        for _ in range(turns):
            await asyncio.sleep(0)
        dialling.cancel()
        with suppress(asyncio.CancelledError):
            (await dialling).drop("too late to give up")
    assert await table.is_alive()
    await table.recorder.until(table.recorder.has_heard_all_ends)
    await guest.until(guest.has_heard_all_ends)


async def test_the_number_of_concurrent_dials_is_limited_and_a_cancelled_dial_frees_its_slot(
    elsewhere: Callable[[int], str],
) -> None:
    """The limit covers all dials of a node, as they share one dialer."""
    async with Trap.set_up() as trap:
        dialer = Dialer(credentials(identity()), Limits(handshake=PATIENCE))

        def dialling(*numbers: int) -> list[asyncio.Task[Link]]:
            return [asyncio.create_task(dialer.dial([(elsewhere(each), trap.port)], Recorder())) for each in numbers]

        attempts = dialling(*range(1, DIALS + 6))
        await trap.until_dialled(DIALS)
        await asyncio.sleep(0.2)
        assert trap.dialled == DIALS
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
        last = dialling(DIALS + 6)
        await trap.until_dialled(DIALS + 1)
        assert trap.most_at_once <= DIALS
        last[0].cancel()
        await asyncio.gather(*last, return_exceptions=True)


async def test_a_new_peer_is_dialled_before_the_remaining_addresses_of_other_peers(
    elsewhere: Callable[[int], str],
) -> None:
    """Proposals can name hundreds of addresses, yet a disconnected player of the match must be dialled soon."""
    peers = 16
    async with Trap.set_up(hangs_up=True) as crowd, Trap.set_up(hangs_up=True) as player:
        dialer = Dialer(credentials(identity()), Limits(handshake=PATIENCE))
        hosts = iter(map(elsewhere, count(1)))
        attempts = [
            asyncio.create_task(dialer.dial([(next(hosts), crowd.port) for _ in range(ADDRESSES_PER_PEER)], Recorder()))
            for _ in range(peers)
        ]
        await asyncio.sleep(0.05)
        before = crowd.dialled
        attempts.append(asyncio.create_task(dialer.dial([(next(hosts), player.port)], Recorder())))
        await player.until_dialled(1)
        assert crowd.dialled <= before + DIALS + 2 * peers < peers * ADDRESSES_PER_PEER
        for attempt in attempts:
            attempt.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)


async def test_only_an_address_that_was_dialled_too_often_is_skipped(
    elsewhere: Callable[[int], str],
) -> None:
    async with Trap.set_up(hangs_up=True) as trap:
        dialer = Dialer(credentials(identity()), SHORT)

        async def problem(number: int, prefix: str = "") -> str:
            with pytest.raises(DialError) as caught:
                await dialer.dial([(prefix + elsewhere(number), trap.port)], Recorder())
            return str(caught.value)

        loop = asyncio.get_running_loop()
        begun = loop.time()
        forms = ("", "::ffff:")  # IPv4, and the same address mapped into IPv6
        problems = await asyncio.gather(*(problem(1, form) for _ in range(DIAL_BURST_PER_ADDRESS) for form in forms))
        assert sum("broke off" in each for each in problems) <= DIAL_BURST_PER_ADDRESS + DIAL_RATE_PER_ADDRESS * (
            loop.time() - begun
        )
        assert any("dialled too often" in each for each in problems)
        assert "broke off" in await problem(2)
