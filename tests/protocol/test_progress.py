"""The progress and clock that a screen shows agree with the match: who has sent, who is awaited, and for how long."""

from __future__ import annotations

import asyncio
import random

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.kinds import stage_of
from protocol.consensus.position import Purpose, Stage
from protocol.events import Continued, MatchStarted, NodeEvent, Overdue, PlayerInfo, Suspended, YourTurn
from protocol.limits import OVERSLEPT
from protocol.match.effects import MatchInput, Ticked
from protocol.match.match import Match
from protocol.match.waiting import AWAITED_AFTER, Clock, Party
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.network.company import CLASSIC, Company, agree, in_mid_match
from tests.simulation.world import World
from tests.tiers import thoroughly
from tests.waiting import until

PATIENCE = Patience(20, 5)
STAGES: dict[int | None, Stage] = {
    Kind.COMMIT: Stage.COMMIT,
    Kind.LOCK: Stage.LOCK,
    Kind.REVEAL: Stage.OPEN,
    Kind.OPEN: Stage.OPEN,
    Kind.STAKE: Stage.OPEN,
    Kind.MOVE: Stage.CHOOSE,
    None: Stage.CONFIRM,
}


class Observed(World):
    """A world that checks a node's clock and progress around every input."""

    silent: int | None = None
    """The player who does not move."""
    votes = 0
    """How many times a node cast its first vote on an open step."""

    def feed(self, me: int, item: MatchInput) -> None:
        match = self.machines[me].match
        before, tip = match.clock(self.now), match.history.position.tip
        had_voted, may_sign = match.replica.ballot.has_voted, not match.unheard
        super().feed(me, item)
        if self.silent is not None:
            self.machines[self.silent].turn = None
        self.look(match)
        if match.history.position.tip != tip or not may_sign:
            return
        if match.replica.ballot.has_voted and not had_voted:
            self.votes += 1
            assert before is None or before.seconds == 0, f"voted with {before.seconds} s left"
        elif before is not None and before.seconds == 0 and before.goes_on and isinstance(item, Ticked):
            assert match.replica.ballot.has_voted, "the time is up, but the node has not voted"

    def look(self, match: Match) -> None:
        position, progress = match.history.position, match.progress
        assert progress.step == position.step == len(match.history.chain) - 1
        assert progress.purpose is position.purpose
        by_seat = [match.info[author] for author in position.seats or range(match.history.roster_size)]
        told = (*progress.given, *progress.awaited)
        assert len(set(told)) == len(told)
        for players in (progress.given, progress.awaited):
            assert list(players) == [player for player in by_seat if player in players]
        if position.purpose is not Purpose.END:
            assert set(told) == {match.info[author] for author in position.owed}
            assert set(progress.given) == {match.info[author] for author in match.history.held}
        assert progress.stage is (Stage.CHOOSE if stage_of(position) is Stage.CHOOSE else STAGES[position.kind])
        clock = match.clock(self.now)
        if clock is not None:
            assert clock.awaited == progress.awaited
            assert 0 <= clock.seconds <= clock.allowed <= PATIENCE.human


@pytest.mark.parametrize("rules", ["classic", "motes"])
def test_progress_names_who_has_sent_their_message_and_reading_it_has_no_effect(rules: str) -> None:
    """The ``motes`` rules have every purpose and stage, because stakes are chosen, committed to and opened."""
    worlds = [kind(PRESETS[rules], 3, seed=1, patience=PATIENCE) for kind in (World, Observed)]
    for world in worlds:
        world.run()
    assert worlds[0].machines[0].transcript == worlds[1].machines[0].transcript != b""
    confirmed = worlds[1].machines[0].match.progress
    owed = len(worlds[1].machines[0].match.history.position.players)  # the players of the last round
    assert (confirmed.stage, len(confirmed.given), confirmed.awaited) == (Stage.CONFIRM, owed, ())


@pytest.mark.parametrize("seed", [0, 1, *thoroughly(range(2, 6))])
def test_a_node_votes_exactly_when_its_clock_has_run_down(seed: int) -> None:
    """One player never moves. Links break and return, which gives players more time."""
    world, trouble = Observed(CLASSIC, 4, seed, patience=PATIENCE), random.Random(seed)
    world.silent = trouble.randrange(4)
    for _ in range(40):
        for _ in range(trouble.randrange(40)):
            world.step()
        one, other = trouble.sample(range(4), 2)
        world.cut(one, other)
        for _ in range(trouble.randrange(20)):
            world.step()
        world.link(one, other)
    world.run()
    assert world.votes >= 2


def on_turn(world: World) -> int:
    """Run the world until a player's turn, which they leave unanswered; return this player."""
    while not any(machine.turn for machine in world.machines):
        assert world.step()
    me = next(me for me, machine in enumerate(world.machines) if machine.turn)
    world.machines[me].turn = None
    while any(world.links.values()):
        world.step()
    return me


def wait_until(world: World, when: float) -> None:
    """Let the time pass until ``when``, and wake each node whenever it has asked for it."""
    while (due := min(machine.wake or when for machine in world.machines)) < when:
        world.now = max(world.now, due)
        for me, machine in enumerate(world.machines):
            if machine.wake is not None and machine.wake <= world.now:
                machine.wake = None
                world.feed(me, Ticked())
        while any(world.links.values()):
            world.step()
    world.now = when


def clocks(world: World) -> list[Clock]:
    found = [machine.match.clock(world.now) for machine in world.machines]
    return [clock for clock in found if clock is not None]


def test_at_a_table_of_two_the_clock_runs_down_and_the_match_waits() -> None:
    world = World(CLASSIC, 2, seed=1, patience=PATIENCE)
    slow, began = on_turn(world), world.now
    who = [machine.match.info[slow] for machine in world.machines]
    assert [clock.awaited for clock in clocks(world)] == [(player,) for player in who]
    assert all(19 < clock.seconds <= clock.allowed == 20 for clock in clocks(world))
    wait_until(world, began + 15)
    assert all(4 < clock.seconds <= 5 for clock in clocks(world))
    wait_until(world, began + 21)
    assert [(clock.seconds, clock.goes_on) for clock in clocks(world)] == [(0, False)] * 2
    assert not any(isinstance(event, Overdue) for machine in world.machines for event in machine.shown)
    assert all(machine.match.history.position.kind is Kind.MOVE for machine in world.machines)


def test_a_silent_linked_player_suspends_a_match_that_needs_them() -> None:
    world = World(CLASSIC, 2, seed=1, patience=PATIENCE)
    slow, began = on_turn(world), world.now
    machine = world.machines[1 - slow]

    def told() -> list[NodeEvent]:
        return [event for event in machine.shown if isinstance(event, Suspended | Continued)]

    wait_until(world, began + 15)
    assert told() == []
    wait_until(world, began + 60)
    assert told() == [Suspended((machine.match.info[slow],))]
    asked = world.told(slow, YourTurn)
    world.machines[slow].turn = asked[-1]
    world.move(slow)
    while len(told()) == 1:
        assert world.step()
    assert told()[1:] == [Continued()]
    assert not any(isinstance(event, Suspended) for event in world.machines[slow].shown)


def told(world: World, me: int) -> list[NodeEvent]:
    return [event for event in world.machines[me].shown if isinstance(event, Suspended | Continued | Overdue)]


def staking(players: int, *, in_time: bool = True, waits: float = PATIENCE.human + 1) -> World:
    """Return a world in which only player 0 has chosen a stake in time, or, if not ``in_time``, no player.

    :param waits: the seconds that have passed since.
    """
    world = World(PRESETS["motes"], players, seed=1, patience=PATIENCE)
    while not all(world.told(me, YourTurn) for me in range(players)):
        assert world.step()
        for machine in world.machines:
            machine.turn = None
    if in_time:
        stake(world, 0)
    wait_until(world, world.now + waits)
    return world


def stake(world: World, me: int) -> None:
    world.machines[me].turn = world.told(me, YourTurn)[-1]
    world.move(me)
    while any(world.links.values()):
        world.step()


def test_a_suspended_match_names_the_slow_players_that_it_still_waits_for() -> None:
    world = staking(5)
    info = world.machines[0].match.info
    assert told(world, 0) == [Suspended(info[1:])]
    stake(world, 3)
    assert told(world, 0)[1:] == [Suspended((info[1], info[2], info[4]))]
    stake(world, 2)  # three of five are a majority and may go on
    assert told(world, 0)[2:3] == [Continued()]


def test_a_player_linked_to_too_few_sees_at_once_whose_message_has_arrived() -> None:
    """A message that neither closes the step nor comes after a timer still changes what the owner is shown."""
    world = staking(5, waits=0)
    info = world.machines[0].match.info
    for other in (2, 3, 4):
        world.cut(0, other)  # player 1 passes on their messages
    wait_until(world, world.now + AWAITED_AFTER + 1)
    assert told(world, 0) == [Suspended(info[2:])]
    stake(world, 3)
    assert told(world, 0)[1:] == [Suspended((info[2], info[4]))]


def test_a_match_that_waits_only_for_its_owner_is_not_suspended() -> None:
    """Both players were late. The screen used to name the other player even after that player had staked."""
    world = staking(2, in_time=False)
    info = world.machines[1].match.info
    assert told(world, 1) == [Suspended((info[0],))]
    stake(world, 0)
    assert told(world, 1)[1:] == [Continued()]


def test_a_suspended_match_continues_once_only_one_lost_player_of_three_is_awaited() -> None:
    world = staking(3)
    info = world.machines[0].match.info
    for me in (0, 1):  # a player who reconnects gets a little more time even if their patience is used up
        world.cut(me, 2)
        world.link(me, 2)
    world.crash(2)
    world.machines[2].wake = None
    stake(world, 1)
    wait_until(world, world.now + 2)
    assert told(world, 0) == [Suspended(info[1:]), Continued(), Overdue((info[2],), 4)]


def test_no_player_is_overdue_when_one_of_three_is_out_and_another_is_slow() -> None:
    """One player is not a majority of the two who are left, so the match waits."""
    world = World(CLASSIC, 3, seed=1, patience=PATIENCE)
    gone = on_turn(world)
    world.crash(gone)
    world.machines[gone].wake = None
    left = [machine for machine in world.machines if machine.is_up]
    while len(left[0].match.history.position.base) > 2:
        assert world.step()
    on_turn(world)
    told = [len(machine.shown) for machine in left]
    wait_until(world, world.now + 60)
    waiting = [machine.match.clock(world.now) for machine in left]
    assert [clock is not None and clock.goes_on for clock in waiting] == [False] * 2
    shown = [event for machine, old in zip(left, told, strict=True) for event in machine.shown[old:]]
    assert not any(isinstance(event, Overdue) for event in shown)


def test_two_of_three_players_can_go_on_without_the_third() -> None:
    world = World(CLASSIC, 3, seed=1, patience=PATIENCE)
    on_turn(world)
    assert [clock.goes_on for clock in clocks(world)] == [True] * 3


def test_the_clock_stops_without_a_majority_and_restarts_with_one() -> None:
    world = World(CLASSIC, 3, seed=1, patience=PATIENCE)
    slow = on_turn(world)
    others = [me for me in range(3) if me != slow]
    for me in others:
        world.cut(slow, me)
    world.cut(*others)
    world.now += 10
    assert clocks(world) == []
    world.link(*others)
    assert [clock.seconds for clock in clocks(world)] == [20, 20]


def test_time_without_a_majority_is_charged_to_nobody() -> None:
    world = World(CLASSIC, 5, seed=1, patience=PATIENCE)
    match = world.machines[0].match
    while not match.is_formed or match.progress.stage is Stage.CHOOSE or match.history.missing() != (1,):
        assert world.step()
    for other in range(1, 5):
        world.cut(0, other)
    for _ in range(60):
        world.now += 1
        world.feed(0, Ticked())
    for other in (1, 2):
        world.link(0, other)
    clock = match.clock(world.now)
    assert clock is not None
    assert clock.seconds == clock.allowed == PATIENCE.automatic


def test_after_a_sleep_the_clock_shows_the_full_patience_at_once() -> None:
    world = World(CLASSIC, 3, seed=1, patience=PATIENCE)
    on_turn(world)
    world.now += 500 + OVERSLEPT
    asleep = [machine.match.clock(world.now) for machine in world.machines]
    for me in range(3):
        world.feed(me, Ticked())
    assert [machine.match.clock(world.now) for machine in world.machines] == asleep
    assert {clock.seconds for clock in asleep if clock is not None} == {20}
    assert not any(machine.match.replica.ballot.has_voted for machine in world.machines)


def test_a_person_among_their_own_bots_has_no_clock_and_the_bots_have_one() -> None:
    world = World(CLASSIC, 3, seed=1, patience=PATIENCE)
    identities = [record.join.identity for record in world.genesis.roster]
    party = Party(identities[0], frozenset(identities[1:]))
    for me, machine in enumerate(world.machines):
        machine.match = Match(world.data, me, world.seeds[me], party=party)
    world.links.clear()
    for me in range(3):
        world.feed(me, Ticked())
        for other in range(me):
            world.link(me, other)
    told = set()
    for _ in range(60):
        slow = on_turn(world)
        told.add((slow == 0, bool(clocks(world))))
        if len(told) == 2:
            break
        machine = world.machines[slow]
        machine.turn = next(event for event in reversed(machine.shown) if hasattr(event, "token"))  # type: ignore[assignment]
        world.move(slow)
    assert told == {(True, False), (False, True)}


async def test_players_and_spectators_of_a_live_match_see_the_same_step_and_clock(people: Company) -> None:
    players, opened = await people.table(2)
    await in_mid_match(players[0])
    watching = await people.sit("W")
    await watching.node.watch(opened.join_line)
    await watching.until(MatchStarted)
    matches = [each.node.match for each in (*players, watching)]
    assert all(match is not None for match in matches)
    known = [match for match in matches if match is not None]
    await until(lambda: len({match.progress.step for match in known}) == 1)
    now = asyncio.get_running_loop().time()
    for match in known:
        clock = match.clock(now)
        assert clock is not None
        assert [player.name for player in clock.awaited] == [players[0].name]
        assert 100 < clock.seconds <= clock.allowed == 120
        assert match.progress.stage is Stage.CHOOSE
        assert match.progress.awaited == clock.awaited
    assert known[0].progress.awaited == (PlayerInfo("A", players[0].node.identity.fingerprint, is_me=True),)
    players[0].go_on()
    await agree(*players, watching)
