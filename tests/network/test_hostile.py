"""Hostile peers during a match: each costs no more than its own link, and the match ends fairly.

Strangers are plain sockets, or TLS connections with their own certificates. Hostile players are real nodes; tests send
additional frames over their links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from protocol.consensus.verifier import verify
from protocol.crypto.keys import SMALL_ORDER, Identity, MatchKey
from protocol.errors import NodeError, RefuseCode
from protocol.events import LobbyChanged, MatchResult, MatchStarted, Misbehaved, Notice, PeerLost
from protocol.limits import FRAME, FRAME_BEFORE_WELCOME, FUTURE_PER_AUTHOR, Limits
from protocol.match.lobby import TableSettings
from protocol.match.match import Match
from protocol.wire.canonical import encode
from protocol.wire.frames import (
    Carried,
    Frame,
    Hello,
    JoinTable,
    Leave,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    Table,
    TableAim,
    Unknown,
    encode_frame,
    frame_header,
)
from protocol.wire.genesis import Join, JoinRecord, make_join_record
from protocol.wire.messages import Kind, Message, Signed, sign
from tests.network import views
from tests.network.company import CLASSIC, Company, Player, agree, in_mid_match
from tests.network.strangers import Stranger, framed
from tests.programs import PATIENCE
from tests.waiting import until

SHORT = Limits(handshake=0.5, started_frame=0.5, shutdown=0.5)


def hello(aim: TableAim | MatchAim | None = None) -> bytes:
    return encode_frame(Hello(1, aim or TableAim(b"", "")))


# Strangers


ANOTHER_MATCH = MatchAim(bytes(32))
BAD_WORDS = {
    "nothing at all": b"",
    "a huge length": b"\xff\xff\xff\xff" + bytes(100),
    "a frame above the limit for strangers": frame_header(bytes(FRAME_BEFORE_WELCOME + 1)),
    "half a frame": frame_header(bytes(1000)) + bytes(10),
    "random bytes": framed(bytes(range(256))),
    "deep nesting": framed(b"\x91" * 4000),
    "arrays with huge lengths": framed(b"\xdd\xff\xff\xff\xff"),
    "a map": framed(b"\x81\x01\x02"),
    "no HELLO but NEED": framed(encode_frame(Need(bytes(32), 0, bytes(32), 0))),
    "no HELLO but JOIN": framed(encode_frame(JoinTable((b"", b"", b"")))),
    "a HELLO of another version": framed(encode((1, (1,), "stranger", 1, (b"", "")))),
    "a HELLO for a table where none is open": framed(hello()),
    "a HELLO for another match": framed(hello(aim=ANOTHER_MATCH)),
    "two HELLOs": framed(hello(), hello()),
    "a HELLO followed by a flood": framed(hello(), *[encode_frame(Leave("x" * 200))] * 1000),
}


async def test_strangers_are_cut_off_and_the_match_ends_fairly(people: Company) -> None:
    players, _ = await people.table(2, bounds=SHORT)
    await in_mid_match(players[0], 2)
    for what, words in BAD_WORDS.items():
        crowd = [await Stranger.comes(players[0].address), await Stranger.plain(players[1].address)]
        for stranger in crowd:
            with suppress(OSError):
                await stranger.send(words)
        for stranger in crowd:
            assert await stranger.is_cut_off(), what
    players[0].go_on()
    await agree(*players)
    for player in players:
        assert player.told(PeerLost) == [] or player.told(MatchResult)


async def test_a_stranger_who_knows_the_match_id_is_refused(people: Company) -> None:
    players, _ = await people.table(2, bounds=SHORT)
    await in_mid_match(players[0], 2)
    aim = MatchAim(views.match_of(players[0]).history.match)
    async with await Stranger.comes(players[0].address) as stranger:
        await stranger.say(Hello(1, aim), Need(aim.match, 0, aim.match, 0))
        answer = await stranger.hear()
        assert isinstance(answer, Refuse)
        assert answer.code == RefuseCode.NO_MATCH
        assert await stranger.hear() is None
    players[0].go_on()
    await agree(*players)


async def test_a_welcomed_guest_who_sends_no_join_is_cut_off(people: Company) -> None:
    (host,), opened = await people.table(2, ["host"], bounds=SHORT)
    idle = await Stranger.comes(host.address)
    await idle.send(framed(hello()))
    assert await idle.is_cut_off()
    assert host.told(LobbyChanged)[1:] == []
    (guest,) = await people.join(opened.join_line, "guest")
    await agree(host, guest)


def join_record(host: Player, identity: Identity, **changes: object) -> JoinRecord:
    assert host.node._active.hosting is not None
    key = MatchKey(bytes(32))
    join = Join(views.hosting(host).table.id, identity.public, key.public, "mallory", (), bytes(32), "redeemed")
    return make_join_record(join._replace(**changes), identity, key)  # type: ignore[arg-type]


BAD_RECORDS: dict[str, Callable[[Player, Identity], JoinRecord]] = {
    "another identity": lambda host, _: join_record(host, Identity.generate()),
    "another table": lambda host, own: join_record(host, own, table=bytes(16)),
    "a small-order match key": lambda host, own: join_record(host, own, match_key=min(SMALL_ORDER)),
    "a match key not possessed": lambda host, own: join_record(host, own, match_key=Identity.generate().public),
    "a name that turns text around": lambda host, own: join_record(host, own, nickname="\u202eyrollam"),
    "a host name for an address": lambda host, own: join_record(host, own, addresses=(("cafe.de", 7000),)),
}


async def test_a_bad_join_record_gets_no_seat(people: Company) -> None:
    (host,), opened = await people.table(2, ["host"], bounds=SHORT)
    for what, record in BAD_RECORDS.items():
        identity = Identity.generate()
        stranger = await Stranger.comes(host.address, identity=identity)
        await stranger.send(framed(hello(), encode_frame(JoinTable(record(host, identity).wire))))
        assert await stranger.is_cut_off(), what
        assert host.told(LobbyChanged)[1:] == [], what
    (guest,) = await people.join(opened.join_line, "guest")
    await agree(host, guest)


async def test_a_join_sent_to_a_node_without_a_table_is_ignored(people: Company) -> None:
    (host,), opened = await people.table(3, ["host"], bounds=SHORT)
    (guest,) = await people.join(opened.join_line, "guest")
    host.node._runtime.post(
        guest.node.identity.public, JoinTable(join_record(host, host.node.identity, nickname="host").wire)
    )
    await agree(host, guest, *await people.join(opened.join_line, "other"))


async def test_many_strangers_at_once_do_not_keep_players_out(people: Company) -> None:
    (host,), opened = await people.table(3, ["host"], bounds=SHORT)
    crowd = [await Stranger.comes(host.address) for _ in range(8)]
    crowd += [await Stranger.plain(host.address) for _ in range(8)]
    guests = await people.join(opened.join_line, "B", "C")
    await agree(host, *guests)
    for stranger in crowd:
        assert await stranger.is_cut_off()


# Players who misuse their links


def signed_by(player: Player, step: int, tip: bytes = bytes(32)) -> Signed:
    """Return a LOCK for any step, with this player's valid signature."""
    match = views.match_of(player)
    assert match.me is not None
    return sign(Message(match.history.match, step, tip, match.me, Kind.LOCK, bytes(32)), match.signer.key)


async def hostile_table(people: Company) -> tuple[list[Player], Player]:
    """Return two honest players and a hostile one, stopped in mid-match."""
    players, _ = await people.table(3, bounds=SHORT)
    await in_mid_match(players[0], 3)
    return players, players[2]


def throw(hostile: Player, frames: list[bytes]) -> None:
    mesh = hostile.node._mesh
    for identity in mesh.linked():
        for frame in frames:
            mesh.send(identity, frame)
            mesh.flush()


async def has_arrived(hostile: Player, honest: Player) -> None:
    """Wait until the honest player has read all frames: the link is down, or a later frame has been answered."""
    peer = hostile.node.identity.public
    own = honest.node.identity.public
    match = views.match_of(hostile)
    pages: list[Page] = []

    def listen(identity: bytes, frame: Frame) -> bool:
        if isinstance(frame, Page) and identity == own:
            pages.append(frame)
        return True

    views.hear_only(hostile, listen)
    async with asyncio.timeout(PATIENCE):
        while not pages and honest.node._mesh.is_linked(peer):
            views.send(hostile, own, Need(match.history.match, 0, bytes(32), 0))
            await asyncio.sleep(0.1)


def out_of_place(match: Match) -> list[Frame]:
    """Return well-formed frames that have no place in a match."""
    own, position = match.history.match, match.history.position
    stray = Message(bytes(32), 0, bytes(32), 0, Kind.LOCK, bytes(32))
    signed = sign(stray, MatchKey(bytes(32)))
    frames: list[Frame] = [
        Carried(*signed.wire),
        Need(bytes(32), 0, bytes(32), 0),
        Need(own, 2**31, position.tip, 0),
        Page(bytes(32), 0, ()),
        Page(own, 0, ()),
        Page(own, 7, (signed.wire,) * 100),
        Page(own, 0, ((b"", b""),) * 1000),
        JoinTable(match.history.genesis.roster[0].wire),
        Propose(b"\x90"),
        Table("other", CLASSIC.options(), 2, (120, 15), ()),
        Unknown(14, (b"reserved",)),
        Unknown(99, ((bytes(1000),) * 50,)),
    ]
    return 20 * frames


def requests_and_repetitions(match: Match) -> list[Frame]:
    needs = [Need(match.history.match, step, bytes(32), 0) for step in range(match.history.position.step)]
    return [*needs * 100, *[Carried(*wire) for wire in past(match)] * 20]


def unrequested_pages(match: Match) -> list[Frame]:
    page = Page(match.history.match, 0, tuple(past(match) * 9)[:200])
    assert len(encode_frame(page)) <= FRAME
    return [page] * 15


def forged_resignations(match: Match) -> list[Frame]:
    place = match.history.position
    messages = [
        Message(match.history.match, place.step, place.tip, author, Kind.RESIGN, ())
        for author in range(3)
        if author != match.me
    ]
    return [Carried(*sign(each, match.signer.key).wire) for each in messages]


def past(match: Match) -> list[tuple[bytes, bytes]]:
    return [signed.wire for position in match.history.chain[1:] for signed in position.entries.values()]


HARMLESS = [out_of_place, requests_and_repetitions, unrequested_pages, forged_resignations]


@pytest.mark.parametrize("frames", HARMLESS, ids=lambda frames: frames.__name__)
async def test_useless_and_forged_frames_change_nothing_and_blame_nobody(
    people: Company, frames: Callable[[Match], list[Frame]]
) -> None:
    players, hostile = await hostile_table(people)
    throw(hostile, [encode_frame(frame) for frame in frames(views.match_of(hostile))])
    await has_arrived(hostile, players[0])
    players[0].go_on()
    await agree(*players)
    assert players[0].told(MatchStarted)[1:] == []


async def test_a_bounded_number_of_future_messages_is_kept(people: Company) -> None:
    players, hostile = await hostile_table(people)
    position = views.match_of(hostile).history.position
    far = [signed_by(hostile, position.step + 1000 + number) for number in range(500)]
    throw(hostile, [encode_frame(Carried(*signed.wire)) for signed in far])
    await has_arrived(hostile, players[0])
    for honest in players[:2]:
        kept = views.match_of(honest).replica.ballot.branches.later
        assert sum(map(len, kept.values())) <= 3 * FUTURE_PER_AUTHOR
    players[0].go_on()
    await agree(*players)


async def test_many_refused_messages_cause_one_notice(people: Company) -> None:
    players, hostile = await hostile_table(people)
    step = views.match_of(hostile).history.position.step - 1
    forged = [
        Carried(signed_by(hostile, step, tip=number.to_bytes(32, "big")).data, bytes(64)) for number in range(1500)
    ]
    throw(hostile, [encode_frame(frame) for frame in forged])
    await has_arrived(hostile, players[0])
    assert len(players[0].told(Notice)) == 1
    players[0].go_on()
    await agree(*players)


UNREADABLE = {
    "an unreadable message": encode_frame(Carried(b"\x90", bytes(64))),
    "a short signature": encode_frame(Carried(b"\x90", bytes(63))),
    "a second HELLO": hello(),
    "a frame without a type": b"\x91\xa1x",
    "deep nesting": b"\x91" * FRAME,
}


async def test_nonsense_from_a_player_cuts_the_link_which_then_returns(people: Company) -> None:
    players, hostile = await hostile_table(people)
    key = hostile.node.identity.public
    for frame in UNREADABLE.values():
        cut = {honest: honest.node._mesh._peers[key] for honest in players[:2]}
        throw(hostile, [frame])
        for honest, link in cut.items():
            peers = honest.node._mesh._peers
            await until(lambda peers=peers, link=link: peers.get(key, link) is not link)  # type: ignore[misc]
        await until(lambda: len(hostile.node._mesh.linked()) == 2)
    players[0].go_on()
    await agree(*players)


async def test_a_contradiction_is_reported_and_honest_histories_stay_equal(people: Company) -> None:
    players, hostile = await hostile_table(people)
    match = views.match_of(hostile)
    first = next(place for place in match.history.chain[1:] if match.me in place.entries)
    said = first.entries[match.me].message  # type: ignore[index]
    other = sign(said._replace(kind=Kind.RESIGN, body=()), match.signer.key)
    throw(hostile, [encode_frame(Carried(*other.wire))])
    for honest in players[:2]:
        blamed = await honest.until(Misbehaved)
        assert blamed.player.name == hostile.name
    with suppress(NodeError):  # the turn may be over, if the roll has to be repeated without the cheat
        players[0].go_on()
    ends = [await player.until(MatchResult) for player in players]
    for end in ends[:2]:
        verdict = verify(end.transcript.read_bytes())
        assert (verdict.verdict, verdict.culprit) == ("misconduct", hostile.name)
        assert verdict.winners
    assert len({player.node.match.history.position.tip for player in players[:2] if player.node.match}) == 1


async def test_a_guests_late_connections_do_not_replace_its_link_to_the_host(
    people: Company,
) -> None:
    """A returning guest dials all of its host's addresses at once. Some handshakes may finish after the WELCOME."""
    (host, guest), _ = await people.table(2)
    for player in (host, guest):
        await player.until(MatchResult)
    await host.node.host(TableSettings("Friday", CLASSIC, 2))
    late: list[Stranger] = []

    async def come_late() -> None:
        for _ in range(4):
            late.append(await Stranger.comes(host.address, identity=guest.node.identity))
        await asyncio.sleep(0.2)

    views.hear_after(guest, Table, come_late)
    await guest.node.rejoin()
    await agree(host, guest)
    for each in late:
        await each.go()
