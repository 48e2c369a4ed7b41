"""Every limit on what a peer can make a node do has its documented value and a reason beside it."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.branches import Outcome
from protocol.consensus.replica import Replica
from protocol.crypto.keys import Identity
from protocol.crypto.tls import credentials
from protocol.limits import Limits
from protocol.match.catch_up import ANEW, COMPARE, CatchUp
from protocol.match.effects import Effect, FrameReceived, Send
from protocol.match.match import Match
from protocol.net.addresses import Address, parse_join_line
from protocol.net.dialer import Dialer, DialError
from protocol.wire.frames import Need, Page, TableAim, encode_frame
from tests.protocol.links import Nobody, Peer
from tests.simulation.world import World

HOST = "127.0.0.1"
FINGERPRINT = Identity.generate().fingerprint


def test_every_limit_has_its_documented_value() -> None:
    bounds = Limits()
    assert (bounds.frame_before_welcome, bounds.frame) == (4 * 1024, 64 * 1024)
    assert (bounds.handshake, bounds.started_frame) == (5, 10)
    assert (limits.HANDSHAKE_HELLO, limits.HANDSHAKE_PIECES) == (2 * 1024, 32)
    assert (limits.HANDSHAKE_FROM_DIALLER, limits.HANDSHAKE_FROM_LISTENER) == (1024, 1280)
    assert (limits.HANDSHAKE_COST, limits.TLS_WASTE) == (0.005, 32 * 1024)
    assert (bounds.links_outside_roster, bounds.links_per_address) == (16, 3)
    assert (bounds.rate, bounds.burst, bounds.own_machine_rate) == (50, 200, None)
    assert bounds.outgoing_queue == 1024 * 1024
    assert limits.NICKNAME_CHARACTERS == 20
    assert (limits.WORD_CHARACTERS, limits.WORD_BURST, limits.WORD_RATE) == (200, 5, 1)
    assert (limits.FLOOR_BURST, limits.FLOOR_RATE) == (20, 4)
    assert (limits.JOIN_BURST, limits.JOIN_RATE) == (20, 2)
    assert (limits.LOBBY_BURST, limits.LOBBY_RATE) == (100, 6)
    assert (limits.UNSIGNED, limits.LINK_LOST, limits.FAILURES) == (15, 2, 3)
    assert (limits.ASK_OTHERS, limits.BOUND, limits.PROPOSALS) == (2, 30, 32)
    assert (limits.RECORDS, limits.LEDGER, limits.SHOWN_LEDGER) == (1024, 45_056, 61_440)
    assert (limits.LEDGER_BURST, limits.LEDGER_RATE) == (20, 2)
    assert (limits.REFUSED_BURST, limits.REFUSED_RATE) == (5, 0.1)
    assert (limits.CODE_TRIES, limits.CODE_BURST, limits.CODE_RATE) == (3, 10, 8)
    assert (limits.CODE_BURST_PER_PLACE, limits.CODE_RATE_PER_PLACE, limits.CODE_SEARCH) == (5, 0.1, 20)
    assert (limits.DIALS, limits.DIAL_BURST, limits.DIAL_RATE) == (48, 100, 20)
    assert (limits.DIAL_BURST_PER_ADDRESS, limits.DIAL_RATE_PER_ADDRESS) == (32, 4)
    assert limits.FIRST_FRAMES == 4
    assert limits.REPLACEMENT == 2
    assert limits.NEED_RATE == limits.NEED_BURST == 8
    assert (limits.PATIENCE_HUMAN, limits.PATIENCE_AUTOMATIC) == (120, 15)


def test_every_limit_has_its_reason_beside_it() -> None:
    body = ast.parse(Path(limits.__file__).read_text(encoding="utf-8")).body
    named = [(place, node) for place, node in enumerate(body) if isinstance(node, ast.AnnAssign)]
    assert len(named) > 40
    for place, node in named:
        assert isinstance(node.target, ast.Name)
        if node.target.id != "KIB":
            following = body[place + 1]
            reason = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            assert reason, f"{node.target.id} has no reason"


def finished() -> Match:
    world = World(PRESETS["classic"], 4, seed=2)
    world.run()
    return world.machines[0].match


def answers(match: Match, step: int, now: float, sender: int = 1, cursor: int = 0) -> list[Page]:
    need = Need(match.history.match, step, match.history.chain[step].tip, cursor)
    effects: list[Effect] = match.handle(FrameReceived(sender, need), now)
    frames = [effect.frame for effect in effects if isinstance(effect, Send)]
    return [frame for frame in frames if isinstance(frame, Page)]


def test_a_peer_gets_at_most_eight_answers_a_second() -> None:
    match = finished()
    assert sum(len(answers(match, step % 3, now=100.0)) for step in range(20)) == 8
    assert answers(match, 4, now=100.1) == []
    assert len(answers(match, 3, now=100.1, sender=2)) == 1
    assert sum(len(answers(match, 3, now=101.1)) for _ in range(20)) == 8


def test_useless_answers_still_count_after_the_peer_reconnects() -> None:
    match = finished()
    asking = CatchUp(match.replica)
    useless = Page(match.history.match, 0, ())
    asking.linked(1, now=0)
    asking.ask(1, now=0)
    assert [author for author, _ in asking.questions(0)] == [1]
    asking.go_on(1, useless, waste=limits.WASTE_BURST + limits.WASTE_RATE)
    asking.lost(1)
    asking.linked(1, now=0)
    asking.ask(1, now=0)
    assert list(asking.questions(0.5)) == []
    assert [author for author, _ in asking.questions(2)] == [1]


def test_a_node_that_learned_from_a_peer_but_still_differs_asks_it_once_more() -> None:
    """A page may carry the third message of a slot before the message that supports it."""
    match = finished()
    replica = Replica(match.history.genesis_data, None)
    asking, theirs = CatchUp(replica), match.catch_up.have()
    asking.linked(1, now=0)
    for second, news in ((1, True), (5, False), (9, None)):
        asking.take(1, theirs, second)
        asked = [author for author, _ in asking.questions(second + 1)]
        assert asked == ([] if news is None else [1])
        if news:
            replica.take(next(iter(match.history.chain[1].entries.values())))
        if asked:
            asking.go_on(1, Page(match.history.match, 0, ()), waste=1)


def test_a_report_soon_after_an_answer_is_compared_as_soon_as_the_peer_may_be_asked_again() -> None:
    match = finished()
    replica = Replica(match.history.genesis_data, None)
    asking, theirs = CatchUp(replica), match.catch_up.have()
    asking.linked(1, now=0)
    asking.take(1, theirs, now=0)
    assert len([*asking.questions(0)]) == 1
    asking.go_on(1, Page(match.history.match, 0, ()), waste=1)
    asking.take(1, theirs._replace(tip=bytes(32)), now=0)
    assert [*asking.questions(COMPARE)] == []
    assert asking.due(COMPARE) == ANEW
    assert len([*asking.questions(ANEW)]) == 1


def test_a_node_that_may_sign_takes_answers_only_from_peers_that_have_reported_more() -> None:
    match = finished()
    asking = CatchUp(Replica(match.history.genesis_data, None))
    for author in (1, 2):
        asking.linked(author, now=0)
    asking.ask(1, now=0)
    asking.take(2, match.catch_up.have(), now=0)
    assert [author for author, _ in asking.questions(0)] == [1, 2]
    asking.ask_nobody()
    assert [asking.accept(author) is not None for author in (1, 2)] == [False, True]


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_only_the_last_messages_for_later_steps_are_kept_and_the_others_requested_again(order: int) -> None:
    match = finished()
    replica = Replica(match.history.genesis_data, None)
    said = [signed for position in match.history.chain[1:] for signed in position.entries.values()]
    ahead = [signed for signed in said if signed.message.author == 0 and signed.message.step > 0]
    for signed in ahead[: limits.FUTURE_PER_AUTHOR + 4][::order]:
        assert replica.take(signed) is Outcome.FUTURE
    kept = [*replica.ballot.branches.own(0)]
    assert kept == ahead[: limits.FUTURE_PER_AUTHOR + 4][::order][-limits.FUTURE_PER_AUTHOR :]
    for signed in said:
        if signed.message.author != 0 or signed in ahead[:4] or signed.message.step == 0:
            replica.take(signed)
            replica.settle()
    assert replica.history.position.step == ahead[limits.FUTURE_PER_AUTHOR + 2 + 2 * order].message.step


def test_each_page_fits_into_a_frame_and_starts_where_the_last_one_ended() -> None:
    match = finished()
    shown: list[tuple[bytes, bytes]] = []
    cursor, now = 0, 100.0
    while not shown or cursor:
        (page,) = answers(match, 0, now=now, cursor=cursor)
        shown += page.messages
        assert page.cursor in (0, len(shown))
        assert len(encode_frame(page)) <= limits.FRAME
        assert not page.cursor or len(encode_frame(page)) > limits.PAGE - 1024
        cursor, now = page.cursor, now + 1
    history = [signed.wire for position in match.history.chain for signed in position.entries.values()]
    assert len(history) > limits.PAGE // limits.KIB
    assert shown[: len(history)] == history
    witnessed = {signed.wire for known in match.history.countersigned.values() for signed in known.values()}
    assert set(shown[len(history) :]) == witnessed | {signed.wire for signed in match.history.results.values()}


async def test_only_the_first_addresses_of_a_long_list_are_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[Address] = []

    async def note(_: Dialer, address: Address, *options: object) -> None:
        dialled.append(address)
        raise DialError("nobody is there")

    monkeypatch.setattr(Dialer, "_dial_host", note)
    addresses = [(f"192.0.2.{number}", 7000) for number in range(100)]
    with pytest.raises(DialError):
        await Dialer(credentials(Identity.generate().private_key)).dial(addresses, Nobody())
    assert dialled == addresses[: limits.ADDRESSES_PER_PEER]


def test_a_join_line_lists_only_as_many_addresses_as_are_dialled() -> None:
    hosts = [f"192.0.2.{number}:7000" for number in range(limits.ADDRESSES_PER_PEER + 1)]
    assert len(parse_join_line(f"{','.join(hosts[1:])}/{FINGERPRINT}").addresses) == limits.ADDRESSES_PER_PEER
    with pytest.raises(ValueError, match="at most 16 addresses"):
        parse_join_line(f"{','.join(hosts)}/{FINGERPRINT}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Advance the event loop's clock by the seconds that a test puts into the list."""
    ahead = [0.0]
    loop = asyncio.BaseEventLoop
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda self: real(self) + ahead[0])
    return ahead  # type: ignore[return-value]


async def test_an_identity_can_replace_its_link_at_most_once_in_two_seconds(clock: list[float]) -> None:
    """Two machines share one key, and both dial as often as they can."""
    identity = Identity.generate()
    table = Peer()
    await table.mesh.listen(0, [HOST])
    guests: list[Peer] = []

    async def comes() -> bool:
        guests.append(Peer(identity))
        try:
            await guests[-1].mesh.connect([(HOST, table.mesh.port)], TableAim(b"", ""), lambda _: True)
        except DialError:
            return False
        return True

    assert [await comes() for _ in range(5)] == [True, True, False, False, False]
    clock[0] += limits.REPLACEMENT
    assert [await comes() for _ in range(3)] == [True, False, False]
    assert table.ups == [identity.public] * 3
    assert table.told == []
    await asyncio.gather(*(each.mesh.close() for each in (table, *guests)))
    await asyncio.sleep(0.05)
