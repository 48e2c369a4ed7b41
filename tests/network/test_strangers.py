"""A peer that keeps reconnecting gets no more than one that stays: limits apply to peers, not to links.

The nodes are real. The attackers use other addresses, as if they were other machines. Tests compare what gets through
with what the limits allow in the time that the attack took.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from itertools import count

import pytest

from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.crypto.keys import Identity
from protocol.crypto.short_code import CodeExchange, ShortCode
from protocol.crypto.tls import credentials
from protocol.events import CodeTried, Notice
from protocol.match.lobby import TableSettings
from protocol.net.dialer import Dialer
from protocol.net.discovery import LOBBY, Advertisement, Sighting
from protocol.node.inquiry import Inquiry
from protocol.version import PROTOCOL_VERSION
from protocol.wire.frames import (
    Aim,
    CodeAim,
    CodeElement,
    Frame,
    Have,
    Hello,
    MatchAim,
    Need,
    Page,
    TableAim,
    WatchAim,
    Welcome,
)
from tests.network import views
from tests.network.company import CLASSIC, HOST, Company, Player, in_mid_match
from tests.network.strangers import Stranger, Trap
from tests.programs import PATIENCE
from tests.tiers import thoroughly
from tests.waiting import until

CODE = ShortCode(417, "tiger", "olive")
Elsewhere = Callable[[int], str]


@contextlib.asynccontextmanager
async def meanwhile(*attackers: Awaitable[None]) -> AsyncIterator[None]:
    """Run attackers during the block. The test fails if an attacker raises an error."""
    attacking = [asyncio.ensure_future(each) for each in attackers]
    try:
        yield
    finally:
        for each in attacking:
            each.cancel()
        for end in await asyncio.gather(*attacking, return_exceptions=True):
            assert isinstance(end, asyncio.CancelledError), end


# Rate limits


async def test_a_player_gets_no_higher_rate_by_new_links(people: Company, elsewhere: Elsewhere) -> None:
    players, _ = await people.table(3)
    victim, _, hostile = players
    await in_mid_match(victim)
    match = views.match_of(victim).history.match
    await hostile.kill()
    heard: list[Frame] = []

    def note(identity: bytes, frame: Frame) -> bool:
        if identity == hostile.node.identity.public:
            heard.append(frame)
        return True

    views.hear_only(victim, note)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    said = [Have(bytes(32), 0, bytes(32), b"", b"")] * (limits.BURST - 10)
    links = 0
    for number in range(12):
        with contextlib.suppress(OSError):
            async with await Stranger.comes(victim.address, elsewhere(1 + number), hostile.node.identity) as link:
                await link.say(Hello(0, MatchAim(match)))
                links += isinstance(await link.hear(), Welcome)
                await link.say(*said)
                await asyncio.sleep(0.1)
    await asyncio.sleep(0.3)
    assert links > 1
    assert len(heard) <= limits.BURST + limits.RATE * (loop.time() - begun)


async def test_a_spectator_gets_no_more_pages_by_new_links_and_keys(people: Company, elsewhere: Elsewhere) -> None:
    players, _ = await people.table(2, ruleset=PRESETS["classic"])
    await in_mid_match(players[0], 10)
    history = views.match_of(players[0]).history
    loop = asyncio.get_running_loop()
    begun = loop.time()
    pages = 0
    for _ in range(limits.SPECTATOR_PAGES // limits.NEED_BURST + 5):
        async with await Stranger.comes(players[0].address, elsewhere(1)) as link:
            await link.say(Hello(0, WatchAim(b"", "")))
            await link.say(*[Need(history.match, 0, history.match, 0)] * limits.NEED_BURST)
            got = 0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    while got < limits.NEED_BURST and (frame := await link.hear()) is not None:
                        got += isinstance(frame, Page)
            pages += got
    assert limits.NEED_BURST < pages <= limits.SPECTATOR_PAGES + limits.SPECTATOR_PAGE_RATE * (loop.time() - begun)


# Links for strangers


async def occupy(host: Player, source: str, aim: Aim, welcomed: list[Frame], *said: Frame) -> None:
    """Again and again: connect, send these frames, and wait until the node closes the link."""
    while True:
        with contextlib.suppress(OSError):
            async with await Stranger.comes(host.address, source) as link:
                await link.say(Hello(0, aim))
                while (frame := await link.hear()) is not None:
                    welcomed.append(frame)
                    if isinstance(frame, Welcome) and said:
                        await link.say(*said)
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("private", "tries"),
    [(False, False), pytest.param(True, False, marks=pytest.mark.thorough), (True, True)],
    ids=["an open table", "a private table", "a private table, guessing codes endlessly"],
)
async def test_strangers_with_many_links_do_not_keep_players_out(
    people: Company, elsewhere: Elsewhere, private: bool, tries: bool
) -> None:
    """Three links from each of seven addresses are more than the limit on strangers' links."""
    host = await people.sit("Ada")
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 7, private=private))
    assert host.node._active.hosting is not None
    views.hosting(host).code_desk.renew(CODE)
    aim = CodeAim(CODE.number) if private else TableAim(b"", "")
    welcomed: list[Frame] = []
    guess = CodeExchange(CODE, bytes(32), bytes(32), bytes(16), is_host=False)
    said = [CodeElement(guess.element)] if tries else []
    crowd = [occupy(host, elsewhere(number), aim, welcomed, *said) for number in range(1, 8) for _ in range(3)]
    async with meanwhile(*crowd):
        await until(lambda: len(welcomed) >= limits.LINKS_OUTSIDE_ROSTER)
        await people.join(opened.join_line, *"BCDEF")
    assert len(views.hosting(host).table.records) == 6


async def test_a_guest_waiting_for_a_seat_is_not_displaced_by_strangers(
    people: Company, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers from different addresses displace the oldest link. The guest's is oldest, but must stay."""
    monkeypatch.setattr(limits, "JOIN_BURST", 1)
    monkeypatch.setattr(limits, "JOIN_RATE", 0.4)
    (host, _), opened = await people.table(4, "AB")
    hosting = host.node._active.hosting
    assert hosting is not None
    late = await people.sit("C")
    joining = asyncio.create_task(late.node.join(opened.join_line))
    await until(lambda: late.node.identity.public in hosting._asking)
    welcomed: list[Frame] = []
    numbers = range(1, limits.LINKS_OUTSIDE_ROSTER + 4)
    async with meanwhile(*(occupy(host, elsewhere(number), TableAim(b"", ""), welcomed) for number in numbers)):
        await until(lambda: len(welcomed) >= len(numbers))
        await joining
    assert len(hosting.table.records) == 3


# Dialling


@pytest.mark.parametrize(
    ("machines", "hangs_up"),
    [(limits.JOIN_ADDRESSES, False), (limits.JOIN_ADDRESSES, True), (1, True)],
    ids=["many machines that are silent", "many machines that hang up", "one machine that hangs up"],
)
async def test_a_node_with_many_players_to_dial_respects_the_rate_limit(
    people: Company, elsewhere: Elsewhere, machines: int, hangs_up: bool
) -> None:
    (_, guest), _ = await people.table(3, "AB")
    numbers = count(1)
    async with Trap.set_up(hangs_up=hangs_up) as trap:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for each in range(48):
            where = [(elsewhere(next(numbers) if machines > 1 else 1), trap.port) for _ in range(machines)]
            guest.node._mesh.keep(bytes((each,)) * 32, partial(tuple, where), partial(MatchAim, bytes(32)), 0.0)
        await until(lambda: trap.dialled > 0)
        await asyncio.sleep(2)
        took = loop.time() - begun
    assert 0 < trap.dialled <= limits.DIAL_BURST + limits.DIAL_RATE * took
    if machines == 1:
        assert trap.dialled <= limits.DIAL_BURST_PER_ADDRESS + limits.DIAL_RATE_PER_ADDRESS * took
    assert trap.most_at_once <= limits.DIALS


# Short codes


@pytest.mark.parametrize("waits", [True, *thoroughly([False])], ids=["after the host's element", "at once"])
@pytest.mark.parametrize("attackers", ["other machines", *thoroughly(["the machine of the guests"])])
async def test_attackers_who_break_off_exchanges_do_not_keep_out_guests(
    people: Company, elsewhere: Elsewhere, attackers: str, waits: bool
) -> None:
    host = await people.sit("Ada")
    await host.node.host(TableSettings("Friday", CLASSIC, 10))
    assert host.node._active.hosting is not None
    desk = views.hosting(host).code_desk
    desk.renew(CODE)
    guess = CodeExchange(CODE, bytes(32), bytes(32), bytes(16), is_host=False)  # attackers never send a proof
    begun = 0

    async def begin_and_break_off(source: str) -> None:
        nonlocal begun
        identity = Identity.generate()
        while True:
            with contextlib.suppress(OSError):
                async with await Stranger.comes(host.address, source, identity) as link:
                    await link.say(Hello(0, CodeAim(CODE.number)))
                    if isinstance(await link.hear(), Welcome):
                        await link.say(CodeElement(guess.element))
                        begun += 1
                        if waits:
                            await link.hear()
            await asyncio.sleep(0.05)

    said = Advertisement("00c0ffee", "Friday", "classic", 1, 10, LOBBY, PROTOCOL_VERSION, CODE.number)

    async def heard() -> AsyncIterator[list[Sighting]]:
        yield [Sighting(said, (host.address,), "Friday")]

    sources = [elsewhere(number) for number in (1, 2, 3, 4)] if attackers == "other machines" else [HOST] * 4
    async with meanwhile(*(begin_and_break_off(source) for source in sources)):
        await until(lambda: begun > limits.CODE_BURST)
        for _ in range(4):
            guest = Inquiry(Dialer(credentials(Identity.generate().private_key)))
            async with asyncio.timeout(PATIENCE):
                found = await guest.find_by_code(CODE, heard())
            assert found.fingerprint == host.node.identity.fingerprint
        await host.until(Notice, lambda event: "short code" in event.text)
    assert host.told(CodeTried) == []
    assert desk.tries_left == limits.CODE_TRIES
