"""Links carry messages between nodes that prove their keys. A misbehaving peer loses its own link and harms no other.

Every test here uses real sockets and real TLS, and fails if anything reaches the event loop's exception handler.
"""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from protocol.crypto.tls import client_context
from protocol.limits import (
    BURST,
    FIRST_FRAMES,
    FRAME,
    FRAME_BEFORE_WELCOME,
    FRAMES_AT_ONCE,
    KIB,
    LOOSE_RECORDS,
    RATE,
    Limits,
)
from protocol.net import link as link_module
from protocol.net.link import BREACH, Allowance, Allowances, Link
from protocol.wire.frames import frame_header
from tests.protocol.links import HOST, SHORT, Opener, Recorder, identity, is_cut_off, raw_tls

# Honest nodes


async def test_two_nodes_exchange_messages_of_every_size(opens: Opener) -> None:
    table = await opens()
    guest, key = Recorder(), identity()
    link = await table.dial(guest, key)
    await table.recorder.until(lambda: bool(table.recorder.links))
    (host_link,) = table.recorder.links
    messages = [b"x" * size for size in (1, 250, 16 * KIB, FRAME - 1, FRAME)] + [b"%d" % n for n in range(500)]
    for message in messages:
        link.send(message)
        host_link.send(message[::-1])
    await table.recorder.until(lambda: len(table.recorder.frames) == len(messages))
    await guest.until(lambda: len(guest.frames) == len(messages))
    assert table.recorder.frames == messages
    assert guest.frames == [message[::-1] for message in messages]
    assert link.peer_key == table.credentials.public_key
    assert host_link.peer_key == key.public_key().public_bytes_raw()
    assert (link.outbound, host_link.outbound) == (True, False)
    assert link.remote == (HOST, table.listener.port)
    assert host_link.remote == link.local


async def test_messages_sent_before_closing_arrive_and_each_side_learns_of_the_end_once(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    link.send(b"the last word")
    link.close()
    link.close()
    link.send(b"nothing more")
    await table.recorder.until(lambda: bool(table.recorder.ends))
    await guest.until(lambda: bool(guest.ends))
    assert table.recorder.frames == [b"the last word"]
    assert guest.reasons == ["this program ended the connection"]
    assert not link.is_up


async def test_a_burst_sent_just_before_closing_arrives_complete(opens: Opener) -> None:
    table = await opens()
    link = await table.dial(Recorder())
    burst = [b"%d" % number for number in range(3 * FRAMES_AT_ONCE)]
    for message in burst:
        link.send(message)
    link.close()
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert table.recorder.frames == burst
    assert table.recorder.reasons == ["the other program ended the connection"]
    await table.recorder.links[0].wait_closed()


async def test_a_flood_above_the_rate_is_dropped_once_its_connection_closes(opens: Opener) -> None:
    """Otherwise the sender would occupy a place until the rate limit had let the whole flood through."""
    table = await opens(Limits(own_machine_rate=RATE))
    link = await table.dial(Recorder())
    for _ in range(5 * BURST):
        link.send(b"flood")
    link.close()
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert BURST <= len(table.recorder.frames) < 2 * BURST
    await table.recorder.links[0].wait_closed()


@pytest.mark.parametrize("way", ["drop", "close"])
async def test_a_link_that_is_still_delivering_can_be_ended(opens: Opener, way: str) -> None:
    """The peer has closed the connection already, and its last frames are still being delivered."""
    table = await opens()
    recorder, link = table.recorder, await table.dial(Recorder())
    taken = recorder.frame_received

    def end(link: Link, frame: bytes) -> None:
        taken(link, frame)
        if not link.is_connected:
            link.send(b"nobody reads this")
            getattr(link, way)("that is enough")

    recorder.frame_received = end  # type: ignore[method-assign]
    for _ in range(5 * FRAMES_AT_ONCE):
        link.send(b"last words")
    link.close()
    await recorder.until(lambda: bool(recorder.ends))
    await recorder.links[0].wait_closed()
    assert recorder.reasons == ["that is enough"]
    assert len(recorder.frames) < 5 * FRAMES_AT_ONCE


async def test_messages_sent_before_closing_arrive_even_if_much_from_the_peer_is_unread(opens: Opener) -> None:
    table = await opens(Limits(own_machine_rate=5, burst=5, handshake=2))
    talker = Recorder()
    link = await table.dial(talker)
    for _ in range(500):
        link.send(bytes(1000))
    await table.recorder.until(lambda: len(table.recorder.frames) == 5)
    table.recorder.links[0].send(b"enough")
    table.recorder.links[0].close()
    await talker.until(lambda: bool(talker.ends))
    assert talker.frames == [b"enough"]


async def test_idle_links_keep_each_other_alive(opens: Opener) -> None:
    table = await opens()
    guest = Recorder()
    link = await table.dial(guest)
    await asyncio.sleep(2 * SHORT.silence)
    assert link.is_up
    assert table.recorder.ends == []
    assert table.recorder.frames == guest.frames == []


@pytest.mark.parametrize("size", [0, FRAME + 1])
async def test_a_message_of_a_wrong_length_is_not_sent(opens: Opener, size: int) -> None:
    table = await opens()
    link = await table.dial(Recorder())
    with pytest.raises(ValueError, match="a message has"):
        link.send(bytes(size))


# Hostile bytes: each sender is cut off while an honest node is still served


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"",
        bytes(1000),
        b"\xff" * 70_000,
        b"GET / HTTP/1.1\r\nHost: table\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + bytes(400),
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01",
    ],
    ids=["nothing", "zeros", "a lot", "HTTP", "huge TLS record", "part of a ClientHello"],
)
async def test_a_peer_that_speaks_no_tls_is_cut_off(opens: Opener, bytes_sent: bytes) -> None:
    table = await opens()
    reader, writer = await asyncio.open_connection(HOST, table.listener.port)
    writer.write(bytes_sent)
    assert await table.is_alive()
    assert await is_cut_off(reader)
    writer.close()
    assert len(table.recorder.links) == 1  # the honest one


async def test_a_handshake_sent_byte_by_byte_is_cut_off(opens: Opener) -> None:
    table = await opens()
    reader, writer = await asyncio.open_connection(HOST, table.listener.port)
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        client_context(identity()).wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    ended = asyncio.create_task(is_cut_off(reader))
    for byte in outgoing.read():
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)
        if ended.done():
            break
    assert await ended
    assert table.recorder.links == []
    writer.close()


@pytest.mark.parametrize(
    ("bytes_sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "allowed"),
        (frame_header(bytes(FRAME_BEFORE_WELCOME + 1)), "allowed"),
        (frame_header(b"abc") + b"ab", "did not end it"),
        (b"\x00", "did not end it"),
        (b"", "nothing was heard"),
    ],
    ids=["4 GiB", "too long before WELCOME", "half a message", "half a length", "nothing"],
)
async def test_a_stranger_with_bad_frames_is_dropped(opens: Opener, bytes_sent: bytes, reason: str) -> None:
    limits = Limits(handshake=5, started_frame=0.3, silence=0.8, shutdown=0.2)
    table = await opens(limits, widens=False)
    reader, writer = await raw_tls(table, client_context(identity()))
    writer.write(bytes_sent)
    assert await table.is_alive()
    assert await is_cut_off(reader)
    assert any(reason in each for each in table.recorder.reasons)
    writer.close()


async def test_a_stranger_that_never_says_hello_is_dropped(opens: Opener) -> None:
    table = await opens(widens=False)
    guest = Recorder()
    await table.dial(guest)  # sends keepalives, so it is not silent
    await table.recorder.until(lambda: table.recorder.reasons == ["the other program said nothing in time"])
    await guest.until(lambda: bool(guest.ends))


async def test_frames_may_be_long_once_welcome_has_been_exchanged(opens: Opener) -> None:
    table = await opens(widens=False)
    welcomed = Recorder()
    link = await table.dial(welcomed)
    await table.recorder.until(lambda: bool(table.recorder.links))
    table.recorder.links[0].widen()
    link.send(bytes(FRAME_BEFORE_WELCOME + 1))
    await table.recorder.until(lambda: bool(table.recorder.frames))
    assert table.recorder.ends == []


async def test_a_header_above_the_frame_limit_is_refused_after_welcome_too(opens: Opener) -> None:
    table = await opens(Limits(handshake=2, shutdown=0.2))
    _, writer = await raw_tls(table, client_context(identity()))
    writer.write(frame_header(bytes(FRAME + 1)))  # the header only
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert table.recorder.reasons == [f"{BREACH}: it sent a frame of {FRAME + 1} bytes, where {FRAME} are allowed"]
    writer.close()


# Rates and queues


async def test_a_peer_that_stops_reading_loses_its_link_and_no_other_peer_does(opens: Opener) -> None:
    table = await opens(Limits(outgoing_queue=256 * KIB, handshake=2, shutdown=0.2))
    _, writer = await raw_tls(table, client_context(identity()))
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await table.recorder.until(lambda: bool(table.recorder.links))
    (deaf,) = table.recorder.links
    sent = 0
    while deaf.is_up:
        deaf.send(bytes(FRAME))
        sent += FRAME
        assert sent < 64 * KIB * KIB
        await asyncio.sleep(0)
    assert await table.is_alive()
    assert "the other program does not read fast enough" in table.recorder.reasons
    writer.transport.abort()


async def test_reading_pauses_above_the_rate_and_nothing_is_lost(opens: Opener) -> None:
    table = await opens(Limits(own_machine_rate=100, burst=10, silence=0.5, keepalive=0.1, handshake=2))
    link = await table.dial(Recorder())
    messages = [b"%d" % n for n in range(60)]
    for message in messages:
        link.send(message)
    await table.recorder.until(lambda: bool(table.recorder.frames))
    assert table.recorder.frames == messages[:10]
    await table.recorder.until(lambda: len(table.recorder.frames) == 60)
    assert table.recorder.frames == messages
    assert table.recorder.ends == []


async def test_a_peer_counts_as_silent_only_while_the_link_is_read(
    opens: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While reading pauses, the peer may be sending all along, for example when this machine wakes from sleep."""
    monkeypatch.setattr(link_module, "THROTTLE", 1.5)
    table = await opens(Limits(own_machine_rate=100, burst=10, silence=1.0, keepalive=0.2, handshake=2))
    link = await table.dial(Recorder())
    for number in range(20):
        link.send(b"%d" % number)
    await table.recorder.until(lambda: len(table.recorder.frames) == 20 or bool(table.recorder.ends))
    assert table.recorder.ends == []


@pytest.mark.parametrize("size", [1000, FRAME], ids=["messages", "pages"])
async def test_a_flood_overflows_the_outgoing_queue_of_the_flooder(opens: Opener, size: int) -> None:
    slow = Limits(own_machine_rate=5, burst=5, catch_up_rate=FRAME, catch_up_burst=5 * FRAME, silence=60, handshake=2)
    table = await opens(slow)
    flooder = Recorder()
    link = await table.dial(flooder, limits=Limits(outgoing_queue=512 * KIB, handshake=2))
    sent = 0
    while link.is_up:
        link.send(bytes(size))
        sent += size
        assert sent < 64 * KIB * KIB
        await asyncio.sleep(0)
    assert await table.is_alive()
    assert len(table.recorder.frames) < 20


async def test_catch_up_pages_have_a_byte_allowance_separate_from_messages(opens: Opener) -> None:
    slow = Limits(own_machine_rate=1, burst=10, catch_up_rate=FRAME, catch_up_burst=4 * FRAME, handshake=2)
    table = await opens(slow)
    link = await table.dial(Recorder())
    pages, messages = [bytes(FRAME)] * 3, [b"%d" % n for n in range(9)]
    for each in (*pages, *messages):
        link.send(each)
    # Pages do not use up the allowance for messages.
    await table.recorder.until(lambda: len(table.recorder.frames) == 12)
    for _ in range(3):
        link.send(bytes(FRAME))
    await table.recorder.until(lambda: len(table.recorder.frames) == 14)  # the last one overdraws the allowance
    await asyncio.sleep(0.3)
    assert len(table.recorder.frames) == 14
    await table.recorder.until(lambda: len(table.recorder.frames) == 15)
    assert table.recorder.ends == []


async def test_a_burst_from_one_peer_does_not_delay_another_peers_frames(opens: Opener) -> None:
    """Once the whole burst was handled before the first frame of the other link."""
    table = await opens(Limits(handshake=2))
    flooder, other = await table.dial(Recorder()), await table.dial(Recorder())
    for link in (flooder, other):
        link.send(b"here")
    await table.recorder.until(lambda: len(table.recorder.frames) == 2)
    for _ in range(10 * FRAMES_AT_ONCE):
        flooder.send(b"flood")
    other.send(b"mine")
    flooder.flush()
    other.flush()
    await table.recorder.until(lambda: len(table.recorder.frames) == 10 * FRAMES_AT_ONCE + 3)
    assert table.recorder.frames.index(b"mine") <= 2 * FRAMES_AT_ONCE


@pytest.mark.parametrize("is_own_machine", [True, False])
async def test_peers_on_other_machines_are_rate_limited_and_peers_on_this_machine_are_not(
    opens: Opener, monkeypatch: pytest.MonkeyPatch, is_own_machine: bool
) -> None:
    monkeypatch.setattr(link_module, "is_own_machine", lambda remote, local: is_own_machine)
    waits: list[float] = []
    throttle = link_module.Link._throttle

    def noted(link: link_module.Link, seconds: float) -> None:
        waits.append(seconds)
        throttle(link, seconds)

    monkeypatch.setattr(link_module.Link, "_throttle", noted)
    table = await opens(Limits(rate=20, burst=10, handshake=2))
    link = await table.dial(Recorder())
    for number in range(30):
        link.send(b"%d" % number)
    await table.recorder.until(lambda: len(table.recorder.frames) == 30)
    assert any(waits) is not is_own_machine


async def test_a_throttled_peer_that_ends_with_a_bad_frame_is_dropped_without_an_error_in_the_loop(
    opens: Opener,
) -> None:
    table = await opens(Limits(own_machine_rate=100, burst=20, handshake=2, shutdown=0.2))

    def send_and_break_off() -> ssl.SSLSocket:
        plain = socket.create_connection((HOST, table.listener.port))
        stranger = client_context(identity()).wrap_socket(plain)
        stranger.sendall((frame_header(b"tick") + b"tick") * 21)
        return stranger

    stranger = await asyncio.to_thread(send_and_break_off)
    await table.recorder.until(lambda: len(table.recorder.frames) == 20)
    # Reading has stopped, so this stays unread; then the stream ends without a TLS close_notify.
    stranger.sendall(b"\xff\xff\xff\xff")
    stranger.shutdown(socket.SHUT_WR)
    await table.recorder.until(lambda: bool(table.recorder.ends))
    assert table.recorder.frames == [b"tick"] * 21
    assert await table.is_alive()
    stranger.close()


ADA, BEN = b"Ada".ljust(32), b"Ben".ljust(32)


def link(allowances: Allowances, key: bytes, host: str) -> Allowance:
    allowance = allowances.of(key, host, is_own_machine=False)
    assert allowance is not None
    return allowance


def says(allowance: Allowance, frames: int, now: float = 0, frame: bytes = b"said") -> int:
    """Receive this number of frames over a link; return how many are read without a wait."""
    for number in range(frames):
        if allowance.must_wait(now):
            return number
        allowance.count(frame, now)
    return frames


def test_a_player_has_one_allowance_for_all_links_and_addresses() -> None:
    allowances = Allowances(Limits())
    allowances.roster = {ADA}
    assert says(link(allowances, ADA, "192.0.2.1"), 2 * BURST) == BURST
    for number in range(2, 9):
        assert says(link(allowances, ADA, f"192.0.2.{number}"), BURST) == FIRST_FRAMES
    assert says(link(allowances, ADA, "192.0.2.9"), BURST, now=2) == 2 * RATE - 7 * FIRST_FRAMES


@pytest.mark.parametrize(
    ("others", "is_the_same"),
    [("192.0.2.1", True), ("192.0.2.2", False), ("2001:db8::2", True), ("2001:db8:0:1::2", False)],
)
def test_strangers_at_one_address_share_one_allowance_whatever_their_keys(others: str, is_the_same: bool) -> None:
    allowances = Allowances(Limits())
    mine = "2001:db8::1" if ":" in others else "192.0.2.1"
    assert says(link(allowances, ADA, mine), 2 * BURST) == BURST
    assert says(link(allowances, BEN, others), BURST) == (FIRST_FRAMES if is_the_same else BURST)


def test_a_stranger_over_the_rate_delays_no_player_and_no_newcomer() -> None:
    """A newcomer from the same address can still say hello and ask for a seat; then it is a player."""
    allowances = Allowances(Limits())
    assert says(link(allowances, ADA, "192.0.2.1"), 2 * BURST) == BURST
    newcomer = link(allowances, BEN, "192.0.2.1")
    assert says(newcomer, 2) == 2
    allowances.roster = {BEN}
    assert says(newcomer, BURST) == BURST


def test_first_frames_never_wait_but_use_up_the_allowance() -> None:
    allowances = Allowances(Limits())
    for _ in range(BURST // FIRST_FRAMES):
        assert says(link(allowances, ADA, "192.0.2.1"), FIRST_FRAMES) == FIRST_FRAMES
    assert says(link(allowances, ADA, "192.0.2.1"), BURST) == FIRST_FRAMES


def test_too_many_nearly_empty_tls_records_make_even_first_frames_wait() -> None:
    allowances = Allowances(Limits())
    allowance = link(allowances, ADA, "192.0.2.1")
    allowance.loose_records = LOOSE_RECORDS + BURST
    allowance.count_loose_records(now=0)
    assert says(allowance, 1) == 0


def test_long_frames_are_counted_in_bytes_over_all_links() -> None:
    bounds = Limits()
    allowances = Allowances(bounds)
    page = bytes(bounds.frame)
    first = says(link(allowances, ADA, "192.0.2.1"), 1000, frame=page)
    assert first == bounds.catch_up_burst // len(page)
    assert says(link(allowances, ADA, "192.0.2.1"), 1000, frame=page) == FIRST_FRAMES


def test_programs_of_this_machine_are_not_counted() -> None:
    assert Allowances(Limits()).of(ADA, "127.0.0.1", is_own_machine=True) is None
