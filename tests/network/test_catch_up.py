"""A node that falls behind catches up, however far behind it is."""

from __future__ import annotations

import pytest

from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import Purpose
from protocol.crypto.keys import MatchKey, PublicKey
from protocol.events import MatchResult
from protocol.limits import FUTURE_PER_AUTHOR
from protocol.match.effects import Announce, Effect, FrameReceived, Linked, Received, Send, Show, Ticked
from protocol.match.match import Match
from protocol.wire.frames import Carried, Frame, Have, Need, Page
from protocol.wire.genesis import Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.simulation.replacing import replaced
from tests.simulation.world import World

CLASSIC = PRESETS["classic"]
HURRIED = Patience(30, 5)


@pytest.mark.parametrize("behind", range(FUTURE_PER_AUTHOR - 2, FUTURE_PER_AUTHOR + 4))
def test_a_message_dropped_for_lack_of_room_is_requested_again(behind: int) -> None:
    """A spectator first gets all of one player's last messages: about as many as it can keep, then the receipt."""
    world = World(PRESETS["classic"], 2, seed=6)
    world.run()
    source = world.machines[0].match
    history = [signed for position in source.history.chain[1:] for signed in position.entries.values()]
    said = [[signed for signed in history if signed.message.author == author] for author in (0, 1)]
    early = said[1][-behind].message.step
    receipts = [source.history.results[author] for author in (0, 1)]

    onlooker = Match(world.data, None, b"")
    for author in (0, 1):
        onlooker.handle(Linked(author), 0.0)
    now = 100.0  # long after the links came up
    effects: list[Effect] = []
    have = source.catch_up.have()
    for signed in [signed for signed in history if signed.message.step < early]:
        onlooker.handle(Received(signed.message.author, signed), now)
    for author in (1, 0):
        for signed in [*(each for each in said[author] if each.message.step >= early), receipts[author]]:
            effects += onlooker.handle(Received(author, signed), now)
    effects += onlooker.handle(FrameReceived(0, have), now)
    while now < 110:
        now += 1
        effects += onlooker.handle(Ticked(), now)
        asked = [each.frame for each in effects if isinstance(each, Send) and isinstance(each.frame, Need)]
        effects = [each for each in effects if isinstance(each, Show) and isinstance(each.event, MatchResult)]
        for need in asked[-1:]:
            for answer in source.handle(FrameReceived(1, need), now):
                if isinstance(answer, Send) and isinstance(answer.frame, Page):
                    effects += onlooker.handle(FrameReceived(0, answer.frame), now)
    (over,) = [each.event for each in effects if isinstance(each, Show) and isinstance(each.event, MatchResult)]
    assert over.confirmed
    assert onlooker.history.position.tip == source.history.position.tip


def test_a_spectator_shown_a_contradicting_message_follows_the_players() -> None:
    """A spectator can neither close the contradicted step nor vote on it. A page from a player takes it further."""
    world = World(CLASSIC, 3, seed=4)
    in_a_round(world, 4)
    source = world.machines[0].match
    chain = source.history.chain
    step = max(position.step for position in chain if position.kind is Kind.REVEAL)
    said = chain[step + 1].entries
    liar = min(said)
    other = sign(said[liar].message._replace(body=bytes(32)), MatchKey(world.seeds[liar]))
    onlooker = Match(world.data, None, b"")
    effects = onlooker.handle(Linked(0), 0.0)
    (need,) = [each.frame for each in effects if isinstance(each, Send) and isinstance(each.frame, Need)]
    history = [signed for position in chain[1 : step + 1] for signed in position.entries.values()]
    for signed in [*history, said[liar], other, *said.values()]:
        onlooker.handle(Received(signed.message.author, signed), 100.0)
    assert onlooker.history.position.step == step
    while source.history.position.root_step <= step:
        assert world.step()
    for answer in source.handle(FrameReceived(1, need), world.now):
        if isinstance(answer, Send) and isinstance(answer.frame, Page):
            onlooker.handle(FrameReceived(0, answer.frame), 100.0)
    assert onlooker.history.position.root_tip == source.history.position.root_tip


# Messages that only other players hold


def deaf_now_and_then(world: World, share: float) -> None:
    """Drop this share of all messages. All links stay up."""
    send = world.send

    def lossy(me: int, other: int, frame: Frame) -> None:
        if not isinstance(frame, Carried) or world.random.random() >= share:
            send(me, other, frame)

    world.send = lossy  # type: ignore[method-assign]


@pytest.mark.parametrize(("players", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_every_message_that_one_linked_player_holds_reaches_all_others(players: int, seed: int) -> None:
    """Every third message is lost, even if only one player receives it. HAVE, NEED and PAGE recover all of them."""
    world = World(CLASSIC.with_options({"dice": "2"}), players, seed, patience=Patience(120, 60))
    deaf_now_and_then(world, 1 / 3)
    world.run()
    positions = [machine.match.history.position for machine in world.machines]
    assert {position.purpose for position in positions} == {Purpose.END}
    assert len({position.tip for position in positions}) == 1
    assert positions[0].state is not None
    assert {reason for _, reason in positions[0].state.exits} == {"lost"}
    assert len({machine.match.catch_up.have() for machine in world.machines}) == 1
    assert all(machine.match.is_confirmed for machine in world.machines)


def test_nothing_is_requested_from_a_peer_with_the_same_messages() -> None:
    world = World(CLASSIC, 3, seed=1)
    asked: list[Frame] = []
    send = world.send

    def watched(me: int, other: int, frame: Frame) -> None:
        if isinstance(frame, Need):
            asked.append(frame)
        send(me, other, frame)

    while not all(machine.match.is_formed for machine in world.machines):
        assert world.step()
    world.send = watched  # type: ignore[method-assign]
    world.run()
    world.cut(0, 1)
    world.link(0, 1)
    world.run()
    assert asked == []


# Liars


def in_a_round(world: World, steps: int) -> None:
    """Play until all players have seen at least ``steps`` steps after the root."""
    while True:
        assert world.step()
        positions = [machine.match.history.position for machine in world.machines]
        assert positions[0].purpose is not Purpose.END
        is_long = positions[0].step + 1 >= positions[0].root_step + steps
        if is_long and positions[0].purpose is Purpose.TURN and len({position.tip for position in positions}) == 1:
            return


def votes_of(world: World, liar: int, rounds: range) -> list[Signed]:
    """Return a liar's votes, in these voting rounds, that nothing has arrived for the steps after the root."""
    history = world.machines[liar].match.history
    root = history.root
    votes = []
    for place in history.chain[root.step :]:
        for number in rounds:
            for kind in VOTES:
                value = (place.step, place.tip, (b"",) * len(place.owed))
                body = (number, value, -1)[: 3 if kind is Kind.ABSENT else 2]
                message = Message(history.match, root.step, root.tip, liar, kind, body)
                votes.append(sign(message, MatchKey(world.seeds[liar])))
    return votes


def test_a_restarted_player_signs_in_time_despite_two_liars_of_six() -> None:
    world = World(CLASSIC, 6, seed=4, patience=HURRIED)
    in_a_round(world, 8)
    send = world.send

    def unhelpful(me: int, other: int, frame: Frame) -> None:
        if me not in (4, 5) or not isinstance(frame, Page):
            send(me, other, frame)

    world.send = unhelpful  # type: ignore[method-assign]
    flood = [vote for liar in (4, 5) for vote in votes_of(world, liar, range(12))]
    assert sum(len(vote.data) + len(vote.signature) for vote in flood) > limits.PAGE + 7 * limits.KIB
    for vote in flood:
        for me in range(4):
            world.feed(me, Received(vote.message.author, vote))
    position = world.machines[0].match.history.position
    me = next(me for me in range(4) if me not in position.owed)
    world.crash(me)
    world.restart(me)
    machine, began = world.machines[me], world.now
    late = [vote for liar in (4, 5) for vote in votes_of(world, liar, range(100, 110))]
    while machine.match.unheard or not machine.match.waiting.may_sign:
        if late:
            vote = late.pop()
            world.feed(me, Received(vote.message.author, vote))
        assert world.step()
        assert world.now <= began + HURRIED.automatic + 2
    assert machine.match.history.position.step >= position.step


def test_a_restarted_player_waits_for_all_linked_peers_before_it_signs() -> None:
    """Messages missing from its store may have reached only one other player."""
    world = World(CLASSIC, 4, seed=4, patience=Patience(5, 5))
    in_a_round(world, 2)
    left, restarted = 3, 0
    world.crash(left)
    while left in world.machines[restarted].match.history.position.base:
        assert world.step()
    world.restart(left)
    world.crash(restarted)
    send = world.send

    def silent(me: int, other: int, frame: Frame) -> None:
        if me != left or not isinstance(frame, Page):
            send(me, other, frame)

    world.send = silent  # type: ignore[method-assign]
    began = world.now
    world.restart(restarted)
    match = world.machines[restarted].match
    while match.unheard:
        assert world.step()
    assert world.now < began + 5
    while not match.waiting.may_sign:
        assert world.step()
    assert world.now >= began + 5, "while one peer is silent, it may sign only when patience is over"


def test_an_answer_starts_at_the_last_step_the_asker_has() -> None:
    """If the asker's tip is unknown, the answer starts at the root, or at step 0 if the asker is not past the root."""
    world = World(CLASSIC, 3, seed=4)
    in_a_round(world, 4)
    match = world.machines[0].match
    history, now = match.history, world.now + 100

    def first(step: int, tip: bytes) -> int:
        nonlocal now
        now += 1
        effects = match.handle(FrameReceived(1, Need(history.match, step, tip, 0)), now)
        (page,) = [each.frame for each in effects if isinstance(each, Send) and isinstance(each.frame, Page)]
        return parse_signed(*page.messages[0]).message.step

    earlier, root = sorted({place.root_step for place in history.chain})[-2:]
    assert earlier > 0
    for step in (earlier, root, history.position.step - 1):
        assert first(step, history.chain[step].tip) == step
    assert first(earlier, bytes(32)) == 0
    assert first(root, bytes(32)) == 0
    assert first(history.position.step, bytes(32)) == root
    assert first(history.position.step + 1, bytes(32)) == root


def test_all_pages_of_an_answer_come_from_one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of messages grows between pages. Taken from the grown list, a page would skip a message."""
    monkeypatch.setattr(limits, "PAGE", 2 * limits.KIB)
    world = World(CLASSIC, 3, seed=1)
    in_a_round(world, 4)
    match = world.machines[0].match
    history = match.history
    before = [signed.id for signed in match.replica.shown(0)]
    shown: list[bytes] = []
    cursor, now = 0, world.now + 100
    while not shown or cursor:
        (page,) = [
            effect.frame
            for effect in match.handle(FrameReceived(1, Need(history.match, 0, history.match, cursor)), now)
            if isinstance(effect, Send) and isinstance(effect.frame, Page)
        ]
        shown += [parse_signed(*wire).id for wire in page.messages]
        cursor, now = page.cursor, now + 1
        position = history.position
        while history.position.step == position.step:
            assert world.step()
    assert len(before) > 20
    assert shown == before
    assert [signed.id for signed in match.replica.shown(0)] != before


def test_pages_show_missing_messages_before_a_liars_votes() -> None:
    world = World(CLASSIC, 6, seed=4)
    in_a_round(world, 8)
    for liar in (4, 5):
        for vote in votes_of(world, liar, range(8)):
            world.feed(0, Received(liar, vote))
    match = world.machines[0].match
    history = match.history
    shown: list[Signed] = []
    cursor, now = 0, world.now + 100
    while not shown or cursor:
        need = Need(history.match, history.position.root_step, history.position.root_tip, cursor)
        (page,) = [
            effect.frame
            for effect in match.handle(FrameReceived(1, need), now)
            if isinstance(effect, Send) and isinstance(effect.frame, Page)
        ]
        assert page.cursor in (0, cursor + len(page.messages))
        shown += [parse_signed(*wire) for wire in page.messages]
        cursor, now = page.cursor, now + 1
    is_vote = [signed.message.kind in VOTES for signed in shown]
    assert is_vote == sorted(is_vote)
    missing = [signed for place in history.chain[history.position.root_step + 1 :] for signed in place.entries.values()]
    assert [signed.id for signed in shown[: len(missing)]] == [signed.id for signed in missing]
    assert len(shown) == len({signed.id for signed in shown})


@pytest.mark.parametrize(("is_ahead", "is_voting"), [(True, False), (False, False), (False, True)])
def test_forged_histories_and_floods_of_votes_cost_a_bounded_number_of_checks(is_ahead: bool, is_voting: bool) -> None:
    """The liar claims to have more messages, and each of its pages claims that another page follows."""
    world = World(CLASSIC, 4, seed=2)
    in_a_round(world, 4)
    match, key = world.machines[0].match, MatchKey(world.seeds[3])
    place = match.history.position
    number = 0

    def useless() -> tuple[bytes, bytes]:
        nonlocal number
        number += 1
        if is_voting:
            body = (number, (place.step, place.tip, (b"",) * len(place.owed)), -1)
            return sign(Message(match.history.match, place.root_step, place.root_tip, 3, Kind.ABSENT, body), key).wire
        tip = number.to_bytes(32, "big")
        return sign(Message(match.history.match, place.step, tip, 3, Kind.LOCK, bytes(32)), key).wire

    checks = 0

    def verifies(key: PublicKey, signature: bytes, data: bytes) -> bool:
        nonlocal checks
        checks += 1
        return True

    now = began = world.now + 10
    with replaced(PublicKey, PublicKey.verifies, verifies):
        while now < began + 60:
            now += 0.1
            have = Have(match.history.match, place.step + is_ahead, number.to_bytes(32, "big"), bytes(32), bytes(32))
            effects = match.handle(FrameReceived(3, have), now) + match.handle(Ticked(), now)
            while asked := [each.frame for each in effects if isinstance(each, Send) and isinstance(each.frame, Need)]:
                page = Page(match.history.match, asked[0].cursor + 100, tuple(useless() for _ in range(100)))
                effects = match.handle(FrameReceived(3, page), now)
    assert 0 < number <= limits.WASTE_BURST + 60 * limits.WASTE_RATE + 100
    assert checks <= number


def test_a_node_sends_have_after_a_change_and_periodically() -> None:
    world = World(CLASSIC, 2, seed=1)
    in_a_round(world, 3)
    match, now = world.machines[0].match, world.now + 100
    told: list[float] = []
    for tick in range(200):
        effects = match.handle(Ticked(), now + tick / 10)
        told += [tick / 10 for effect in effects if isinstance(effect, Announce)]
    assert told == [0.0, 5.0, 10.0, 15.0]
