"""Short codes between real nodes lead guests to the right table, and withstand attacks.

Each attack is also run against a deliberately weakened exchange or host. There it must succeed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from spake2.spake2 import SPAKE2_A, SPAKE2_B

from protocol import limits
from protocol.crypto.keys import Identity
from protocol.crypto.short_code import CodeExchange, ShortCode, parse_short_code
from protocol.crypto.tls import credentials
from protocol.crypto.words import word_list
from protocol.errors import LOOK_ON, NodeError, RefuseCode
from protocol.events import CodeMade, CodeTried, LobbyChanged, MatchResult, Said, SeatAsked, TableJoined, TableOpened
from protocol.limits import Limits
from protocol.match.lobby import TableSettings
from protocol.match.words import sign_word
from protocol.net.addresses import Address, parse_join_line
from protocol.net.dialer import Dialer
from protocol.net.discovery import LOBBY, PLAYING, PRIVATE, Advertisement, Sighting
from protocol.net.link import Link
from protocol.net.mdns import Discovery
from protocol.node import door
from protocol.node.inquiry import Inquiry
from protocol.version import PROTOCOL_VERSION
from protocol.wire.frames import (
    CodeElement,
    CodeProof,
    Customs,
    Frame,
    Hello,
    JoinTable,
    Leave,
    MatchAim,
    Refuse,
    Say,
    TableAim,
    Welcome,
    decode_frame,
)
from tests.network import views
from tests.network.code_attackers import HOST, FalseHost, Guesser, Relay, call, overhear, try_all
from tests.network.company import CLASSIC, IMPATIENT, Company, Player, agree, in_mid_match, sockets_closed
from tests.programs import PATIENCE
from tests.protocol.test_node import multicast
from tests.waiting import until

MULTICAST = pytest.mark.multicast
CODE = ShortCode(417, "tiger", "olive")
OTHERS = [CODE._replace(second=word) for word in ("able", "violin", "silver", "dice", "rabbit")]
CANDIDATES = [CODE._replace(second=word) for word in word_list()[1220:1226:2]] + [CODE]
"""The codes that the attackers try; the right one is among them. Real attackers have time for all four million."""


async def seat(
    people: Company, name: str = "Ada", seats: int = 3, bounds: Limits | None = None, **settings: Any
) -> tuple[Player, TableOpened]:
    """Open a table with the code ``CODE`` on a node without multicast."""
    host = await people.sit(name, bounds=bounds)
    opened = await host.node.host(TableSettings("Friday", CLASSIC, seats, **settings))
    desk(host).renew(CODE)
    return host, opened


def desk(host: Player) -> door.CodeDesk:
    assert host.node._active.hosting is not None
    return views.hosting(host).code_desk


def wrong_tries(host: Player) -> int:
    return limits.CODE_TRIES - desk(host).tries_left


Hearing = AsyncGenerator[tuple[Sighting, ...], None]


def sightings(*addresses: Address) -> tuple[Sighting, ...]:
    said = Advertisement("00c0ffee", "Friday", "classic", 1, 3, LOBBY, PROTOCOL_VERSION, CODE.number)
    return tuple(Sighting(said, (each,), str(each)) for each in addresses)


async def heard(*addresses: Address) -> Hearing:
    """Yield one sighting list: all these addresses answer for the number at once."""
    yield sightings(*addresses)


async def guest_who_hears_of(people: Company, name: str, *addresses: Address) -> Player:
    """Open a node that finds these addresses, in this order, for any number."""
    guest = await people.sit(name)
    guest.node._locator.numbered = lambda *_: heard(*addresses)  # type: ignore[method-assign]
    return guest


async def refused(guest: Player, code: ShortCode | str = CODE) -> NodeError:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NodeError) as caught:
            await guest.node.join(str(code))
    return caught.value


# Guests who know the code


@pytest.mark.parametrize("private", [False, True])
async def test_a_short_code_works_like_the_join_line(people: Company, private: bool) -> None:
    host, opened = await seat(people, seats=2, private=private)
    guest = await guest_who_hears_of(people, "Ben", host.address)
    await guest.node.join(" 417 Tiger olive")
    assert (await guest.until(TableJoined)).host.fingerprint == parse_join_line(opened.join_line).fingerprint
    assert wrong_tries(host) == 0
    await agree(host, guest)


@MULTICAST
@pytest.mark.parametrize("private", [False, True])
async def test_a_table_is_found_by_its_number_and_a_private_one_reveals_no_more(people: Company, private: bool) -> None:
    await multicast()
    host, guest = await people.sit("Ada", discovery=True), await people.sit("Ben", discovery=True)
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3, private=private))
    code = parse_short_code(opened.code)
    assert code is not None
    await guest.node.join(opened.code)
    assert (await guest.until(TableJoined)).host.fingerprint == host.node.identity.fingerprint
    host.node.renew_code()
    made = parse_short_code((await host.until(CodeMade)).code)
    assert made is not None
    assert made.number != code.number
    watcher = await people.sit("Cleo", discovery=True)
    (told,) = await anext(watcher.node._locator.numbered(made.number))
    is_listed = told in await watcher.node.tables(0.1)
    assert is_listed is not private
    if private:
        assert told.advertisement == Advertisement("00000000", "-", "-", 0, 2, PRIVATE, PROTOCOL_VERSION, made.number)
    entries = " ".join(told.advertisement.to_txt().values()).split()
    assert not {made.first, made.second, code.first, code.second} & set(entries)


@MULTICAST
@pytest.mark.parametrize("private", [False, True])
async def test_a_code_still_leads_to_its_host_during_the_match(people: Company, private: bool) -> None:
    await multicast()
    host, guest, late = [await people.sit(name, discovery=True) for name in ("Ada", "Ben", "Cleo")]
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 2, private=private))
    code = parse_short_code(opened.code)
    assert code is not None
    await guest.node.join(opened.code)
    await in_mid_match(host)
    async with aclosing(late.node._locator.numbered(code.number)) as hearing:
        while not (playing := [each for each in await anext(hearing) if each.advertisement.status == PLAYING]):
            pass
    (told,) = playing
    assert told.advertisement.name == ("Friday" if not private else f"match {told.advertisement.id[:8]}")
    for typed in (code, code._replace(second="dice")):  # the host answers without checking the words
        error = await refused(late, typed)
        assert (error.code, error.reason) == ("refused", "the match at this table has begun")
        assert error.choices == LOOK_ON
    host.go_on()
    await agree(host, guest)
    assert wrong_tries(host) == 0
    error = await refused(late, code)
    assert (error.code, error.reason) == ("refused", door.OVER)
    reopened = await host.node.host(TableSettings("Friday", CLASSIC, 2, private=private))
    assert reopened.code != opened.code


async def test_a_misspelt_code_word_is_corrected_and_uses_up_no_try(people: Company) -> None:
    host, _ = await seat(people)
    guest = await guest_who_hears_of(people, "Ben", host.address)
    error = await refused(guest, "417-tigger-olive")
    assert error.reason == "no short code has the word tigger: did you mean trigger or tiger?"
    assert wrong_tries(host) == 0


async def test_a_number_without_a_table_uses_up_no_try(people: Company) -> None:
    host, _ = await seat(people)
    guest = await guest_who_hears_of(people, "Ben", host.address)
    assert (await refused(guest, CODE._replace(number=4))).reason == door.OTHER_NUMBER
    assert wrong_tries(host) == 0


async def test_three_wrong_tries_close_the_code_until_it_is_renewed(people: Company) -> None:
    host, opened = await seat(people)
    guest = await guest_who_hears_of(people, "Ben", host.address)
    for wrong in OTHERS[:3]:
        assert "left" not in (await refused(guest, wrong)).reason
    await host.until(CodeTried, lambda event: event.tries_left == 0)
    assert [event.tries_left for event in host.told(CodeTried)] == [2, 1, 0]
    assert (await refused(guest)).reason == door.CODE_CLOSED
    host.node.renew_code()
    made = await host.until(CodeMade)
    await guest.node.join(made.code)
    other = await people.sit("Cleo")  # the join line still works
    await other.node.join(opened.join_line)


@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_guest_with_a_renewed_code_is_told_so_and_uses_up_no_try(people: Company, has_begun: bool) -> None:
    host, _ = await seat(people)
    guesser = Guesser(CODE)
    if has_begun:
        assert isinstance(await guesser.begin(host.address, host.node.identity.public), CodeElement)
        host.node.renew_code()
        guesser.show()
        answer = await guesser.talk.hear()
    else:
        talk = await call(host.address, CODE.number)
        welcome = await talk.hear_a(Welcome)
        host.node.renew_code()
        assert isinstance(welcome.aim, TableAim)
        talk.say(CodeElement(CodeExchange(CODE, b"g", b"h", welcome.aim.table, is_host=False).element))
        answer = await talk.hear()
        talk.close()
    assert answer == Refuse(RefuseCode.REFUSED, door.CODE_RENEWED)
    assert wrong_tries(host) == 0


async def test_no_log_contains_the_code(people: Company, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    host, _ = await seat(people)
    guest = await guest_who_hears_of(people, "Ben", host.address)
    await refused(guest, OTHERS[0])
    await guest.node.join(str(CODE))
    await host.leave()
    assert caplog.text
    assert not any(word in caplog.text for word in ("tiger", "olive"))


# Eavesdroppers


class HashOnly(CodeExchange):
    """A weak exchange: its proof is a hash of the code."""

    def take(self, element: bytes) -> None:
        super().take(element)
        self._key = sha256(self._side.pw).digest()


class Poor(CodeExchange):
    """A weak exchange: its random scalar is known."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, randomness=bytes)


@pytest.mark.parametrize(("kind", "found"), [(CodeExchange, None), (HashOnly, CODE), (Poor, CODE)])
def test_an_eavesdropper_who_sees_every_byte_cannot_check_a_guess(
    kind: type[CodeExchange], found: ShortCode | None
) -> None:
    """Not even one who can decrypt TLS, as real eavesdroppers cannot."""
    guest, host, table = b"g" * 32, b"h" * 32, b"\0" * 16
    first = kind(CODE, guest, host, table, is_host=False)
    second = CodeExchange(CODE, guest, host, table, is_host=True)
    first.take(second.element)
    elements = first.element, second.element
    assert overhear(guest, host, table, elements, first.proof, CANDIDATES) == found


@pytest.mark.parametrize("is_host", [False, True])
def test_an_exchange_contains_no_word_of_its_code(is_host: bool) -> None:
    exchange = CodeExchange(CODE, b"g", b"h", b"t", is_host=is_host)
    other = CodeExchange(CODE, b"g", b"h", b"t", is_host=not is_host)
    exchange.take(other.element)
    said = exchange.element + exchange.proof
    assert not any(word.encode() in said for word in CODE[1:])
    again = CodeExchange(CODE, b"g", b"h", b"t", is_host=is_host)
    assert again.element != exchange.element


# Men in the middle


def without_keys(code: ShortCode, guest: bytes, host: bytes, table: bytes, *, is_host: bool) -> CodeExchange:
    """Begin a weak exchange, which does not bind the identities of guest and host."""
    return CodeExchange(code, b"", b"", table, is_host=is_host)


def weaken(monkeypatch: pytest.MonkeyPatch, exchange: Callable[..., CodeExchange]) -> None:
    monkeypatch.setattr("protocol.node.door.CodeExchange", exchange)
    monkeypatch.setattr("protocol.node.inquiry.CodeExchange", exchange)


@pytest.mark.parametrize("is_weak", [False, True])
async def test_a_man_in_the_middle_who_relays_everything_gets_neither_token_nor_guest(
    people: Company, monkeypatch: pytest.MonkeyPatch, is_weak: bool
) -> None:
    if is_weak:
        weaken(monkeypatch, without_keys)
    host, _ = await seat(people, private=True)
    eve = Relay(host.address, CODE.number)
    guest = await guest_who_hears_of(people, "Ben", (await eve.open()).addresses[0])
    if is_weak:
        found = await guest.node._inquiry.find_by_code(CODE, guest.node._locator.numbered(CODE.number))
        assert found.fingerprint == eve.identity.fingerprint
    else:
        await refused(guest)
    tokens = [frame.token for frame in eve.passed if isinstance(frame, CodeProof) and frame.token]
    assert len(tokens) == is_weak
    assert wrong_tries(host) == (not is_weak)  # the attempt uses up one try
    eve.close()


@MULTICAST
async def test_a_man_in_the_middle_with_forged_multicast_loses_the_guest_to_the_host(people: Company) -> None:
    """Eve advertises her own address for the number of Ada's table, by real multicast, and relays every frame."""
    await multicast()
    host = await people.sit("Ada", discovery=True)
    opened = await host.node.host(TableSettings("Friday", CLASSIC, 3, private=True))
    code = parse_short_code(opened.code)
    assert code is not None
    eve, forged = Relay(host.address, code.number), Discovery()
    _, port = (await eve.open()).addresses[0]
    await forged.start(HOST)
    try:
        await forged.advertise(Advertisement("00000000", "-", "-", 0, 2, PRIVATE, PROTOCOL_VERSION, code.number), port)
        guest = await people.sit("Ben", discovery=True)
        await guest.node.join(opened.code)
    finally:
        await forged.close()
        eve.close()
    assert (await guest.until(TableJoined)).host.fingerprint == host.node.identity.fingerprint
    assert not [frame for frame in eve.passed if isinstance(frame, CodeProof) and frame.token]


@pytest.mark.parametrize("is_weak", [False, True])
async def test_a_false_host_can_check_only_one_guess_per_typed_code(
    people: Company, monkeypatch: pytest.MonkeyPatch, is_weak: bool
) -> None:
    """What it received does not let it check more guesses later. The weak exchange uses the code only in its key."""
    if is_weak:
        for side in (SPAKE2_A, SPAKE2_B):
            for part in ("my_blinding", "my_unblinding"):
                monkeypatch.setattr(side, part, lambda self: self.params.group.Zero)
    eve = FalseHost(OTHERS[0])
    guest = await guest_who_hears_of(people, "Ben", (await eve.open()).addresses[0])
    await refused(guest)
    assert len(eve.proofs) == 1
    assert try_all(eve, guest.node.identity.public, CANDIDATES) == (CODE if is_weak else None)
    eve.guess = CODE  # the right guess
    await refused(guest)
    assert try_all(eve, guest.node.identity.public, CANDIDATES) == CODE
    eve.close()


@pytest.mark.parametrize("tries", [limits.CODE_TRIES, 99])
async def test_a_guest_lets_only_a_few_false_hosts_guess(
    people: Company, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    monkeypatch.setattr(limits, "CODE_TRIES", tries)
    crowd = [FalseHost(guess) for guess in OTHERS]
    guest = await guest_who_hears_of(people, "Ben", *[(await each.open()).addresses[0] for each in crowd])
    error = await refused(guest)
    assert sum(len(each.proofs) for each in crowd) == min(tries, len(crowd))
    assert error.code == "refused"
    for each in crowd:
        each.close()


class Taker(FalseHost):
    """A false host that receives the proof and hangs up."""

    def frame_received(self, link: Link, data: bytes) -> None:
        frame = decode_frame(data)
        if isinstance(frame, CodeProof):
            self.proofs.append(frame.proof)
            link.close()
        else:
            super().frame_received(link, data)


async def test_a_false_host_that_hangs_up_after_the_proof_has_used_its_guess(people: Company) -> None:
    """The proof alone tells the host whether its guess was right. So the host counts towards the guest's limit."""
    crowd = [Taker(guess) for guess in OTHERS]
    guest = await guest_who_hears_of(people, "Ben", *[(await each.open()).addresses[0] for each in crowd])
    error = await refused(guest)
    for each in crowd:
        each.close()
    assert sum(len(each.proofs) for each in crowd) == limits.CODE_TRIES < len(crowd)
    assert error.reason == f"{limits.CODE_TRIES} tables have number {CODE.number}, and none accepts these words"


def inquiry(handshake: float) -> Inquiry:
    own = credentials(Identity.generate().private_key)
    return Inquiry(Dialer(own, replace(Limits(), handshake=handshake)))


def silent_at(stage: type[Frame] | None) -> type[FalseHost]:
    """Return a class of false hosts that do not answer frames of this kind.

    :param stage: the kind of frame; None for hosts that answer all frames.
    """

    class Silent(FalseHost):
        def frame_received(self, link: Link, data: bytes) -> None:
            if stage is None or not isinstance(decode_frame(data), stage):
                super().frame_received(link, data)

    return Silent


@pytest.mark.parametrize("stage", [None, Hello, CodeElement, CodeProof])
async def test_a_forger_who_is_heard_first_does_not_cost_the_guest_a_seat(
    people: Company, monkeypatch: pytest.MonkeyPatch, stage: type[Frame] | None
) -> None:
    """While a forger answers or is silent, other hosts are tried. A silent link is closed only after a minute."""
    monkeypatch.setattr("protocol.node.locator.NEXT_HOST", 0.01)
    monkeypatch.setattr("protocol.node.locator.SETTLING", PATIENCE)
    host, _ = await seat(people)
    false = [silent_at(stage)(guess) for guess in OTHERS[:2]]
    first = [(await each.open()).addresses[0] for each in false]

    async def one_after_the_other() -> Hearing:
        yield sightings(first[0])
        await false[0].reached.wait()
        yield sightings(*first)
        yield sightings(*first, host.address)
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE):
        found = await inquiry(handshake=PATIENCE).find_by_code(CODE, one_after_the_other())
    assert found.fingerprint == host.node.identity.fingerprint
    for each in false:
        each.close()


async def test_a_guest_with_wrong_words_gives_up_if_no_other_host_appears(
    people: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It listens for other hosts only briefly: most guests who are refused have mistyped the words."""
    monkeypatch.setattr("protocol.node.locator.SETTLING", 0.01)
    host, _ = await seat(people)

    async def listening() -> Hearing:
        yield sightings(host.address)
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NodeError, match="the words are wrong"):
            await inquiry(handshake=PATIENCE).find_by_code(OTHERS[0], listening())


async def test_all_silent_hosts_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a forger with many keys could delay the guest indefinitely."""
    monkeypatch.setattr(limits, "CODE_SEARCH", 0.1)
    crowd = [silent_at(Hello)(guess) for guess in OTHERS[:3]]
    at = [(await each.open()).addresses[0] for each in crowd]
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NodeError):
            await inquiry(handshake=PATIENCE).find_by_code(CODE, heard(*at))
    for each in crowd:
        each.close()
    await sockets_closed()


async def test_only_the_first_addresses_heard_for_a_number_are_tried(people: Company) -> None:
    """Otherwise a forger could make the guest dial indefinitely."""
    host, _ = await seat(people)
    others = [(HOST, port) for port in range(1, limits.ADDRESSES_PER_NAME + 1)]
    found = await inquiry(handshake=5).find_by_code(CODE, heard(host.address, *others))
    assert found.fingerprint == host.node.identity.fingerprint
    with pytest.raises(NodeError, match="more addresses than can be tried"):
        await inquiry(handshake=5).find_by_code(CODE, heard(*others, host.address))
    assert wrong_tries(host) == 0


# Guessers


async def guess(host: Player, guesses: list[ShortCode]) -> bool:
    """Try guesses one after the other, each with a new key; return whether the host admitted one."""
    for each in guesses:
        guesser = Guesser(each)
        answer = await guesser.begin(host.address, host.node.identity.public)
        if isinstance(answer, CodeElement):
            guesser.show()
            if await guesser.is_let_in():
                return True
        else:
            guesser.talk.close()
    return False


async def guess_at_once(host: Player, guesses: list[ShortCode]) -> bool:
    """Try guesses like :func:`guess`, but begin all exchanges before sending the first proof."""
    guessers = [Guesser(each) for each in guesses]
    for guesser in guessers:
        assert isinstance(await guesser.begin(host.address, host.node.identity.public), CodeElement)
    for guesser in guessers:
        guesser.show()
    return any(await asyncio.gather(*(each.is_let_in() for each in guessers)))


@pytest.mark.parametrize("attack", [guess, guess_at_once])
@pytest.mark.parametrize("tries", [limits.CODE_TRIES, 99])
async def test_a_guesser_gets_three_tries_in_total(
    people: Company,
    monkeypatch: pytest.MonkeyPatch,
    attack: Callable[[Player, list[ShortCode]], Any],
    tries: int,
) -> None:
    """The fourth guess is right. It succeeds only with a larger limit."""
    monkeypatch.setattr(limits, "CODE_TRIES", tries)
    host, _ = await seat(people, private=True)
    assert await attack(host, [*OTHERS[:3], CODE]) is (tries > 3)
    assert wrong_tries(host) == 3


async def test_a_link_welcomed_before_the_code_closed_allows_no_guess(people: Company) -> None:
    host, _ = await seat(people)
    talk = await call(host.address, CODE.number)
    welcome = await talk.hear_a(Welcome)
    assert isinstance(welcome.aim, TableAim)
    await guess(host, OTHERS[:3])
    talk.say(CodeElement(CodeExchange(CODE, b"g", b"h", welcome.aim.table, is_host=False).element))
    assert await talk.hear() == Refuse(RefuseCode.REFUSED, door.CODE_CLOSED)
    talk.close()


async def test_a_guesser_who_breaks_off_learns_nothing_and_uses_up_no_try(people: Company) -> None:
    """Before the guesser has sent a proof, the host sends nothing that could confirm a guess."""
    host, _ = await seat(people)
    for wrong in OTHERS[:2]:
        guesser = Guesser(wrong)
        answer = await guesser.begin(host.address, host.node.identity.public)
        assert isinstance(answer, CodeElement)
        own = guesser.exchange.proof
        elements = guesser.exchange.element, answer.element
        context = guesser.identity.public, host.node.identity.public, guesser.table
        assert overhear(*context, elements, own, [each for each in CANDIDATES if each != wrong]) is None
        guesser.talk.close()
    assert wrong_tries(host) == 0


async def test_one_link_allows_one_guess(people: Company) -> None:
    host, _ = await seat(people)
    guesser = Guesser(OTHERS[0])
    await guesser.begin(host.address, host.node.identity.public)
    guesser.talk.say(CodeElement(guesser.exchange.element))  # must not begin a second exchange
    guesser.show()
    guesser.show()
    assert isinstance(await guesser.talk.hear(), Refuse)
    assert await guesser.talk.hear() is None
    assert wrong_tries(host) == 1


@pytest.mark.parametrize("element", [bytes(32), b"\1" + bytes(31), b"\xff" * 32, b"\5" * 32])
async def test_an_invalid_group_element_is_refused(people: Company, element: bytes) -> None:
    host, _ = await seat(people)
    talk = await call(host.address, CODE.number)
    await talk.hear_a(Welcome)
    talk.say(CodeElement(element))
    await talk.hear_a(Refuse)
    talk.close()


async def test_a_link_for_a_code_exchange_cannot_be_used_to_ask_for_a_seat(people: Company) -> None:
    """A private table needs the code or the token. An uninvited stranger on this link has neither."""
    host, _ = await seat(people, private=True)
    stranger = await people.sit("Eve")
    await stranger.node._active.listen(0)
    talk = await call(host.address, CODE.number, stranger.node.identity)
    welcome = await talk.hear_a(Welcome)
    record = views.proposals(stranger).sign_on(welcome.aim[0])  # type: ignore[arg-type]
    talk.say(JoinTable(record.wire))
    talk.say(CodeElement(b"\5" * 32))  # frames are answered in order: a seat would precede this refusal
    await talk.hear_a(Refuse)
    talk.close()
    assert all(not event.joined for event in host.told(LobbyChanged))


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("name", ["Eve", "Mallory"])  # the host's owner would be asked about the new name
async def test_a_link_for_a_match_cannot_be_used_to_join_the_next_table(
    people: Company, is_new: bool, name: str
) -> None:
    """Knowing the table's id is not enough: anybody can learn a private table's id with its code's number."""
    (host, eve), _ = await people.table(2, ["Ada", "Eve"], IMPATIENT, CLASSIC.with_options({"dice": "1"}))
    await asyncio.gather(host.until(MatchResult), eve.until(MatchResult))
    match = views.playing(host).match.id
    await host.node.host(TableSettings("Secret", CLASSIC, 2, private=True, asks="always"))
    table, key = views.hosting(host).table.id, host.node.identity.public
    for each in (host, eve):  # so that a closed link is not dialled again
        each.node._mesh.stop_dialling_all()
    if is_new:
        eve.node._mesh.disconnect(key)
        await until(lambda: not eve.node._mesh.is_linked(key))
        await eve.node._mesh.connect([host.address], MatchAim(match))
    before, eve.node.name = len(host.events), name
    views.send(eve, key, JoinTable(views.proposals(eve).sign_on(table).wire), Leave("taken in order"))
    await until(lambda: not host.node._mesh.is_linked(eve.node.identity.public))
    assert not host.told(SeatAsked)
    assert not [each.joined for each in host.events[before:] if isinstance(each, LobbyChanged) and each.joined]


async def test_a_link_for_a_code_exchange_cannot_be_used_to_chat(people: Company) -> None:
    host, _ = await seat(people, private=True, customs=Customs(talk=1))
    ben = await guest_who_hears_of(people, "Ben", host.address)
    await ben.node.join(str(CODE))
    stranger = Identity.generate()
    talk = await call(host.address, CODE.number, stranger)
    welcome = await talk.hear_a(Welcome)
    assert isinstance(welcome.aim, TableAim)
    word = sign_word(welcome.aim.table, stranger, 1, "I am not invited")
    talk.say(Say(word.data, word.signature))
    talk.say(CodeElement(b"\5" * 32))  # frames are answered in order
    await talk.hear_a(Refuse)
    talk.close()
    assert host.told(Said) == []


async def test_a_code_exchange_that_waits_too_long_is_refused(people: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CODE_RATE", 0.001)  # no later exchange gets its turn, however slow this machine is
    host, _ = await seat(people, bounds=Limits(handshake=1))
    guessers = [Guesser(OTHERS[0]) for _ in range(limits.CODE_BURST + 1)]
    answers = [await each.begin(host.address, host.node.identity.public) for each in guessers]
    assert [each.reason for each in answers if isinstance(each, Refuse)] == [door.CODE_BUSY]
    for each in guessers:
        each.talk.close()
    assert wrong_tries(host) == 0
