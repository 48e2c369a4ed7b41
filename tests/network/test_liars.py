"""Whatever a seated player sends to real nodes, nobody waits longer, stores more or loses a seat.

The liar is a complete node that has stopped playing. A test signs messages with its keys and sends them to others.
docs/threat-model.md lists the test of each attack.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from p2pdice.state import State
from protocol import limits
from protocol.consensus.kinds import read_vote
from protocol.consensus.position import Position
from protocol.events import MatchResult, Misbehaved, Overdue
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Page
from protocol.wire.genesis import Patience
from protocol.wire.messages import VOTES, Kind, Message, Signed, sign
from tests.network import views
from tests.network.company import CLASSIC, IMPATIENT, WAITING, Company, Player, bend
from tests.network.views import match_of
from tests.owners import Creeper
from tests.tiers import thoroughly
from tests.waiting import until


def place_of(player: Player) -> Position:
    return match_of(player).history.position


def signed(player: Player, place: Position, kind: Kind, body: Value) -> Signed:
    """Sign a message for a step, or a vote on its root, with a player's keys."""
    match = match_of(player)
    assert match.me is not None
    step, tip = (place.root_step, place.root_tip) if kind in VOTES else (place.step, place.tip)
    return sign(Message(match.history.match, step, tip, match.me, kind, body), match.signer.key)


def throw(liar: Player, messages: Iterable[Signed], *receivers: Player) -> None:
    """Send messages from one player's node to others, in addition to what that node sends by itself."""
    frames = [Carried(*each.wire) for each in messages]
    for receiver in receivers:
        views.send(liar, receiver.node.identity.public, *frames)


def hold_when(player: Player, condition: Callable[[State], bool]) -> None:
    """Let a player answer turns until the state meets the condition."""
    player.bot = Creeper(random.Random(1))
    answer = player._answer

    def answer_or_hold() -> None:
        if player._turn is not None and condition(player._turn.view.state):
            player.hold()
        answer()

    player._answer = answer_or_hold  # type: ignore[method-assign]


async def stopped(people: Company, seats: int, condition: Callable[[State], bool], **options: Any) -> list[Player]:
    """Return the players of a match that is stopped at one turn. The last one returned has the turn."""
    ruleset = CLASSIC.with_options(options.pop("ruleset", {}))
    players, _ = await people.table(seats, patience=options.pop("patience", IMPATIENT), ruleset=ruleset)
    for player in players:
        hold_when(player, condition)
    await until(lambda: any(is_held(player) for player in players))
    await until(lambda: len({place_of(player).tip for player in players}) == 1)
    return sorted(players, key=is_held)


def is_held(player: Player) -> bool:
    return player._turn is not None and player._most == 0


def go_on(*players: Player) -> None:
    for player in players:
        del player._answer
        player.go_on()


def after_bids(count: int) -> Callable[[State], bool]:
    return lambda state: len(state.bids) >= count


def steps(player: Player) -> list[Position]:
    """Return the steps from the root to the open step."""
    return list(match_of(player).history.chain[place_of(player).root_step :])


def vote(liar: Player, place: Position, number: int, kind: Kind = Kind.ABSENT) -> Signed:
    """Return a vote that no message has arrived for a step."""
    value = (place.step, place.tip, (b"",) * len(place.owed))
    return signed(liar, place, kind, (number, value, -1) if kind is Kind.ABSENT else (number, value))


def decided(player: Player, since: int) -> list[int]:
    """Return the voting rounds in which steps from ``since`` on were decided by votes."""
    chain = match_of(player).history.chain[since:]
    return [read_vote(place.certificate[-1]).round for place in chain if place.certificate]


def are_out(player: Player) -> set[str]:
    """Return the names of the players who are out of the match, as this player sees it."""
    return {match_of(player).info[author].name for author in place_of(player).left}


async def test_a_player_who_votes_on_a_new_step_each_round_is_soon_voted_out(people: Company) -> None:
    *honest, liar = await stopped(people, 4, after_bids(6))
    place = place_of(liar)
    throw(liar, (vote(liar, each, number) for number, each in enumerate(steps(liar))), *honest)
    for player in honest:
        await until(lambda player=player: are_out(player) == {liar.name})  # type: ignore[misc]
        assert decided(player, place.step) in ([0], [1])
        assert match_of(player).history.goes_through(place)


async def test_a_minute_of_votes_at_the_full_rate_takes_little_storage(people: Company) -> None:
    """No votes contradict each other. With a proof of misconduct, the others would just continue without the liar."""
    *honest, liar = await stopped(people, 4, after_bids(6), patience=Patience(3600, 3600))
    besieged = match_of(honest[0]).replica

    def size() -> int:
        return sum(len(each.data) for each in honest[0].node._store.messages(besieged.history.match))

    before, places, votes = size(), steps(liar), list[Signed]()
    for number in range(60 * int(limits.RATE) // 2):
        votes += [vote(liar, places[number % len(places)], number)]
        votes += [signed(liar, place_of(liar), Kind.CLOSE, (number, ()))]
        if len(votes) >= 100:
            throw(liar, votes, honest[0])
            await is_heard(liar, votes[-1], honest[0])
            votes.clear()
    assert besieged.history.position.tip == place_of(liar).tip
    assert besieged.proven == {}
    assert size() - before <= 64 * limits.KIB


async def is_heard(liar: Player, vote: Signed, player: Player) -> None:
    """Wait until a vote has arrived, and with it all earlier messages from its author.

    The vote is sent repeatedly, because unsent frames are lost when a link is replaced.
    """
    ballot = match_of(player).replica.ballot

    def is_here() -> bool:
        assert match_of(player).replica.ballot is ballot, "the match went past the step that the vote is about"
        return any(each.id == vote.id for each in ballot.by(vote.message.author))

    while not is_here():
        throw(liar, [vote], player)
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await until(is_here)


async def test_a_reveal_contradicted_after_six_bids_does_not_undo_the_round(people: Company) -> None:
    """Such a round was once undone, which saved a bluffing accomplice. Now the cheat is out from the open step on."""
    *honest, liar = await stopped(people, 4, after_bids(6), patience=WAITING)
    place, me = place_of(liar), match_of(liar).me
    chain = match_of(liar).history.chain
    before, after = next(
        pair for pair in reversed(list(pairwise(chain))) if pair[0].kind is Kind.REVEAL and me in pair[1].entries
    )
    throw(liar, [signed(liar, before, Kind.REVEAL, bytes(32))], honest[0])
    for player in honest:
        assert (await player.until(Misbehaved)).player.name == liar.name
        await until(lambda player=player: are_out(player) == {liar.name})  # type: ignore[misc]
        history = match_of(player).history
        assert history.goes_through(place)
        assert history.chain[after.step].entries == after.entries
        assert decided(player, before.step) in ([0], [1])
    go_on(*honest)
    for player in honest:
        await player.until(MatchResult)


@pytest.mark.parametrize("seats", [4, *thoroughly([10])])
async def test_two_finalists_need_not_wait_for_eliminated_players(people: Company, seats: int) -> None:
    """Finalists once waited forever, because the absent players were more than half of the voters."""
    *others, last = await stopped(
        people, seats, lambda state: len(state.live) == 2, patience=WAITING, ruleset={"dice": "1"}
    )
    place = place_of(last)
    names = {match_of(last).info[author].name for author in place.live}
    finalists = [player for player in (*others, last) if player.name in names]
    for player in others:
        if player not in finalists:
            await player.kill()
    overdue = [len(player.told(Overdue)) for player in finalists]
    go_on(*finalists)
    for player, before in zip(finalists, overdue, strict=True):
        await player.until(MatchResult)
        assert len(player.told(Overdue)) == before
        assert decided(player, place.step) == []


@pytest.mark.thorough
async def test_a_restarted_player_signs_again_despite_two_liars_of_six(people: Company) -> None:
    *honest, one, other = await stopped(people, 6, after_bids(8), patience=IMPATIENT)
    for liar in (one, other):
        bend(liar, lambda _, frame: not isinstance(frame, Page))
        votes = [vote(liar, each, number) for number, each in enumerate(steps(liar))]
        throw(liar, votes, *honest)
    back = honest[0]
    home = await back.kill()
    back = honest[0] = await people.sit(back.name, home=home)
    await back.node.resume()
    await until(lambda: back.node._mesh.is_linked(one.node.identity.public))
    throw(one, [vote(one, each, number) for number, each in enumerate(steps(one), 100)], back)
    await until(lambda: other.name in are_out(back))  # this needs the votes of all four honest players


async def test_relaying_is_free_up_to_a_budget_per_author_in_the_match(
    people: Company,
) -> None:
    """Each invented author once had a budget of its own, and their number was unlimited."""
    receiver, other, sender = await stopped(people, 3, after_bids(2), patience=WAITING)
    excused = 0

    def excuse(identity: bytes) -> None:
        nonlocal excused
        excused += identity == sender.node.identity.public  # the other player may still pass on a message of the match

    receiver.node._mesh.excuse = excuse  # type: ignore[method-assign]
    place, author = place_of(sender), match_of(other).me
    assert author is not None
    genuine = signed(other, place, Kind.RESIGN, ())._replace(signature=bytes(64))

    def by(author: int, number: int) -> Signed:
        message = genuine.message._replace(author=author, step=place.step + number)
        return genuine._replace(data=message.encoded())

    last = match_of(receiver).history.roster_size
    throw(sender, [by(number % 50 + last, number) for number in range(300)], receiver)
    throw(sender, [by(author, number) for number in range(300)], receiver)
    await until(lambda: excused >= limits.PASSED_ON_BURST)
    await asyncio.sleep(0.5)
    assert limits.PASSED_ON_BURST <= excused < limits.PASSED_ON_BURST + 2 * limits.PASSED_ON_RATE
