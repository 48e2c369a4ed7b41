"""The absence rule in every state of small worlds, and on long walks through larger ones.

Mistakes in the rule are planted as well: what never catches any proves nothing. Closing a step after having voted in
it, and signing behind a step that one has voted against, do no harm alone in these worlds, as each is kept from it by
the other tie of the rule; so they are planted together.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

from protocol.consensus import electorate
from protocol.consensus.absence import Absence
from protocol.consensus.ballot import Ballot
from protocol.consensus.electorate import Entries, Place, elect
from protocol.consensus.tally import HistoryView
from protocol.consensus.votes import Vote
from tests.simulation import courses, small_worlds
from tests.simulation.replacing import replaced
from tests.simulation.small_worlds import FIRST, Explorer, Message, State, Table, ViolationError

CLAIMS = ("one history", "nobody evicted in time", "nothing stuck")


@pytest.mark.thorough
def test_three_honest_players_and_any_may_fall_silent() -> None:
    states, _ = Explorer(Table(3, rounds=1)).explore(CLAIMS)
    assert states > 40_000


@pytest.mark.thorough
def test_two_connected_players_and_a_third() -> None:
    states, _ = Explorer(Table(3, rounds=1), (0, 1)).explore(CLAIMS)
    assert states > 10_000


@pytest.mark.parametrize(("lies", "least"), [(1, 100), pytest.param(2, 1_000, marks=pytest.mark.thorough)])
def test_a_liar_among_connected_players(lies: int, least: int) -> None:
    table = Table(3, rounds=2, liar=2)
    states, _ = Explorer(table, table.honest, lies=lies).explore(CLAIMS)
    assert states > least


@pytest.mark.slow
@pytest.mark.parametrize("steps", [(), [(0,)], [(2,)]])
def test_a_liar_who_lies_as_often_as_they_like(steps: Sequence[Sequence[int]]) -> None:
    table = Table(3, rounds=1, liar=2, steps=steps)
    states, _ = Explorer(table, table.honest).explore(CLAIMS, limit=700_000)
    assert states > 7_000


def walk_often(
    explorer: Explorer, chance: random.Random, walks: int, claims: Collection[str] = CLAIMS[:2], length: int = 80
) -> int:
    """Return how many of the walks came to two histories."""
    return sum(explorer.walk(chance, length, claims) for _ in range(walks))


WALKS = [
    (3, 2, (0, 1), [(2,)]),
    (4, None, (), ()),
    (4, 3, (0, 1), ()),
    pytest.param(5, 4, (0, 1, 2), (), marks=pytest.mark.thorough),
    pytest.param(5, 4, (0, 1, 2, 3), [(4,)], marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("players", "liar", "connected", "steps"), WALKS)
def test_long_walks(players: int, liar: int | None, connected: tuple[int, ...], steps: Sequence[Sequence[int]]) -> None:
    """With a liar, one more player may be silent towards those who hear each other."""
    explorer, chance = Explorer(Table(players, rounds=3, liar=liar, steps=steps), connected), random.Random(players)
    for _ in range(60):
        explorer.walk(chance, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("players", "liar", "connected", "steps"), WALKS)
def test_thousands_of_long_walks(
    players: int, liar: int | None, connected: tuple[int, ...], steps: Sequence[Sequence[int]]
) -> None:
    explorer, chance = Explorer(Table(players, rounds=3, liar=liar, steps=steps), connected), random.Random(players)
    for _ in range(3000):
        explorer.walk(chance, 100)


@pytest.mark.parametrize(("seed", "walks"), [(8, 300), pytest.param(7, 1_500, marks=pytest.mark.thorough)])
def test_a_fork_of_two_sides_that_each_put_somebody_out_shows_in_all_the_votes_of_both(seed: int, walks: int) -> None:
    explorer, chance = Explorer(Table(3, rounds=2, liar=2)), random.Random(seed)
    assert walk_often(explorer, chance, walks, ("forks are proven",)) > 0


Heard = Message | Vote | tuple[str, bytes]
"""A message, a vote, or what a node does by itself."""


def after(explorer: Explorer, *courses: Sequence[Heard]) -> State:
    """Return the state after each node, from the first on, has taken the events of its course."""
    state = explorer.start
    for index, events in enumerate(courses):
        for event in events:
            what = explorer.table.number(event) if isinstance(event, Message | Vote) else event
            state = explorer.after(state, index, explorer.move(state[index], what))
    return state


def test_a_fork_need_not_show_in_the_closes_alone() -> None:
    """Two sides that decided in different rounds: this is why the ABSENTs behind a decision are worth keeping."""
    table = Table(3, rounds=3, liar=2)
    explorer = Explorer(table)
    one: Entries = (b"0", b"", b"x")
    other: Entries = (b"", b"1", b"x")
    said_to_one: list[Heard] = [
        Message(FIRST, 2, b"x"),
        ("expire", FIRST),
        Vote(FIRST, 2, False, 0, one),
        ("close", FIRST),
        Vote(FIRST, 2, True, 0, one),
        Message(table.after(FIRST, one), 2, b"l"),
    ]
    said_to_other: list[Heard] = [
        Message(FIRST, 2, b"x"),
        ("expire", FIRST),
        Vote(FIRST, 2, False, 0, other),
        ("expire", FIRST),
        Vote(FIRST, 2, False, 1, other, 0),
        ("close", FIRST),
        Vote(FIRST, 2, True, 1, other),
        Message(table.after(FIRST, other), 2, b"l"),
    ]
    state = after(explorer, said_to_one, said_to_other)
    assert explorer.violates("one history", state)
    assert not explorer.violates("forks are proven", state)
    assert explorer.violates("forks are proven by CLOSEs", state)


def test_a_fork_need_not_show_if_only_one_side_put_somebody_out() -> None:
    """The one side votes in the step, the other only behind it: docs/threat-model.md says what that means."""
    table = Table(3, rounds=1, liar=2)
    explorer = Explorer(table)
    everybody: Entries = (b"0", b"1", b"x")
    without: Entries = (b"", b"1", b"x")
    lock, empty = table.after(FIRST, everybody), (b"0", b"", b"l")
    goes_on: list[Heard] = [
        Message(FIRST, 2, b"x"),
        Message(FIRST, 1, b"1"),
        Message(lock, 2, b"l"),
        ("expire", lock),
        Vote(lock, 2, False, 0, empty),
        ("close", lock),
        Vote(lock, 2, True, 0, empty),
    ]
    puts_out: list[Heard] = [
        Message(FIRST, 2, b"x"),
        ("expire", FIRST),
        Vote(FIRST, 2, False, 0, without),
        ("close", FIRST),
        Vote(FIRST, 2, True, 0, without),
        Message(table.after(FIRST, without), 2, b"l"),
    ]
    state = after(explorer, goes_on, puts_out)
    assert explorer.violates("one history", state)
    assert not explorer.violates("forks are proven", state)
    assert explorer.violates("all forks are proven", state)


OUT_OF_THE_GAME: list[dict[str, Any]] = [
    {"players": 4, "steps": [(0,)], "out": (2, 3)},
    {"players": 5, "steps": [(1,)], "out": (2, 3, 4)},
    {"players": 5, "steps": [(1,)], "out": (3, 4), "falls": (2,)},
    {"players": 4, "steps": [(1,)], "out": (3,), "falls": (2,)},
    {"players": 5, "out": (3, 4), "falls": (2,)},
    {"players": 5, "out": (4,), "falls": (2, 3), "resigning": {0: 0}},
    {"players": 5, "steps": [(1,)], "out": (4,), "falls": (2,), "resigning": {0: 1}},
    {"players": 4, "out": (3,), "resigning": {0: 0}},
]
"""Worlds in which some are out of the game, go out of it, or resign."""


def many(name: str, few: int, walks: int) -> list[ParameterSet]:
    """Return how many walks the ordinary run takes, and how many the long one."""
    return [pytest.param(few, id=f"{name} few"), pytest.param(walks, id=f"{name} many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("walks", many("honest", 8, 1_500))
def test_witnesses_and_resignations_leave_one_history(walks: int) -> None:
    for world in OUT_OF_THE_GAME:
        explorer, chance = Explorer(Table(**world, rounds=2)), random.Random(1)
        for _ in range(walks):
            explorer.walk(chance, 80)


@pytest.mark.parametrize("walks", many("liar", 8, 1_000))
def test_a_liar_beside_witnesses_forks_nothing_among_connected_players(walks: int) -> None:
    for liar in range(4):
        worlds: tuple[dict[str, Any], ...] = (
            {"players": 5, "steps": [(1,)], "out": (3, 4), "falls": (2,)},
            {"players": 4, "out": (3,), "falls": (2,)},
            {"players": 5, "out": (3, 4), "resigning": {(liar + 1) % 3: 0}},
        )
        for world in worlds:
            table = Table(**world, rounds=2, liar=liar)
            explorer, chance = Explorer(table, table.honest), random.Random(1)
            for _ in range(walks):
                explorer.walk(chance, 80)


@pytest.mark.parametrize(("lies", "least"), [(1, 1_000), pytest.param(2, 15_000, marks=pytest.mark.thorough)])
def test_two_turns_and_a_lock_with_a_liar_who_votes_against_closed_steps(lies: int, least: int) -> None:
    table = Table(3, rounds=1, steps=[(0,), (1,)], liar=2, is_denying=True)
    states, _ = Explorer(table, table.honest, lies=lies).explore(CLAIMS)
    assert states > least


@pytest.mark.thorough
def test_all_states_of_a_turn_by_which_somebody_goes_out_of_the_game() -> None:
    states, _ = Explorer(Table(3, rounds=1, steps=[(1,)], falls=(2,))).explore(CLAIMS)
    assert states > 25_000


def more_than_half(
    place: Place, entries: Entries, voters: Iterable[int], backers: Iterable[int] = (), culprits: Iterable[int] = ()
) -> tuple[int, ...]:
    """Count as if it did not matter who is in the game."""
    chosen = sorted(set(voters).intersection(place.staying))[: place.majority]
    is_left = len(set(place.staying) - place.leavers(entries)) >= place.majority
    return tuple(chosen) if len(chosen) == place.majority and is_left else ()


def half_of_the_game(
    place: Place, entries: Entries, voters: Iterable[int], backers: Iterable[int] = (), culprits: Iterable[int] = ()
) -> tuple[int, ...]:
    """Take one of two who stay in the game for enough, whoever it is."""
    return elect(place, entries, voters, backers, place.live)


class FallenOweNothing(Table):
    """A LOCK waits for nobody who went out of the game behind the one before."""

    def _open(self, place: Place, before: tuple[Entries, ...]) -> None:
        super()._open(place._replace(owed=place.live) if len(before) == len(self.steps) else place, before)


def find(table: Table, connected: Collection[int] = (), seed: int = 1) -> str:
    explorer, chance = Explorer(table, connected), random.Random(seed)
    with pytest.raises(ViolationError) as found:
        walk_often(explorer, chance, 3_000)
    return found.value.claim


def test_three_witnesses_put_out_one_of_two_players_who_go_on() -> None:
    with replaced(electorate, elect, more_than_half), replaced(small_worlds, elect, more_than_half):
        assert find(Table(5, steps=[(1,)], out=(2, 3, 4), rounds=1), seed=11) == "one history"


def test_a_new_witness_and_others_put_out_a_player_who_goes_on() -> None:
    with replaced(electorate, elect, half_of_the_game):
        assert find(FallenOweNothing(5, steps=[(1,)], out=(3, 4), falls=(2,), rounds=1), seed=19) == "one history"


@pytest.mark.thorough
def test_a_liar_and_two_witnesses_decide_against_a_lock_of_the_liar() -> None:
    table = Table(5, out=(3, 4), rounds=2, liar=2, resigning={0: 0})
    with replaced(electorate, elect, half_of_the_game):
        assert find(table, table.honest, seed=413) == "one history"


class VotesBindNothing(Absence):
    """A node that has voted closes the step as if it had not, and signs on."""

    def has_voted(self, tip: bytes) -> bool:
        return False

    def is_reopened(self, history: HistoryView) -> bool:
        return False


class MajoritiesBindNobody(Absence):
    """The next round is voted for what one holds, whatever a majority said before."""

    def due(self, history: HistoryView, expired: Collection[bytes], settling: Collection[bytes]) -> list[Vote]:
        places = {place.tip: place for place in history.tail()}
        votes = []
        for vote in super().due(history, expired, settling):
            if not vote.is_close:
                ballot = self.ballots.get(vote.tip) or Ballot(places[vote.tip])
                vote = vote._replace(entries=self._own_entries(ballot, history), newest=-1)
            votes.append(vote)
        return votes


class ClosesOlderRounds(Absence):
    """A majority is closed on that was found when its round was over."""

    def _closes_due(self, me: int, history: HistoryView) -> list[Vote]:
        votes = super()._closes_due(me, history)
        place = self.current(history)
        ballot = None if place is None else self.ballots.get(place.tip)
        if votes or place is None or ballot is None or ballot.own_close(me) is not None:
            return votes
        older = [number for number in ballot.majorities if number < self.round]
        return [Vote(place.tip, me, True, number, ballot.majorities[number][0].entries) for number in older[:1]]


class CulpritsStandIn(Absence):
    """A proven cheat's vote may make the majority that is closed on."""

    def _closes_due(self, me: int, history: HistoryView) -> list[Vote]:
        return super()._closes_due(me, Trusting(history))


class Trusting:
    """A history in which nobody is known to cheat."""

    def __init__(self, history: HistoryView) -> None:
        self.tail, self.closed, self.held, self.elsewhere = (
            history.tail,
            history.closed,
            history.held,
            history.elsewhere,
        )

    def culprits(self) -> Set[int]:
        return frozenset()


class NobodyIsWaitedFor(Absence):
    """Rounds end although a majority has not reached them, and nobody joins another's."""

    def target(self, history: HistoryView, number: int, majority: int) -> tuple[int, bool]:
        return -1, True


class ClosedIsClosed(Absence):
    """A node that closed a step with a cheat's message stands by it, whatever others say."""

    def _own_entries(self, ballot: Ballot, history: HistoryView) -> Entries:
        return history.closed(ballot.place.step) or super()._own_entries(ballot, history)


class Planted(NamedTuple):
    """A mistake, and a world in which it does harm."""

    players: int
    liar: int | None
    connected: tuple[int, ...]
    steps: Sequence[Sequence[int]]
    claim: str
    """The one that must turn out to be false."""
    rule: type[Absence] = Absence
    is_base_fixed: bool = True
    is_hasty: bool = False
    seed: int = 1
    length: int = 80


PLANTED = {
    "votes bind nothing": Planted(3, None, (), [(0,)], "one history", VotesBindNothing),
    "majorities bind nobody": Planted(3, None, (), [(0,)], "nobody honest is blamed", MajoritiesBindNobody),
    "closes older rounds": Planted(3, 2, (0, 1), [(2,)], "nobody honest is blamed", ClosesOlderRounds),
    "culprits stand in": Planted(3, 2, (0, 1), [(2,)], "one history", CulpritsStandIn, seed=3),
    "nobody is waited for": Planted(3, None, (), [(0,)], "nothing stuck", NobodyIsWaitedFor),
    "closed is closed": Planted(3, 2, (0, 1), [(2,)], "nothing stuck", ClosedIsClosed, seed=2),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_found(mistake: str) -> None:
    world = PLANTED[mistake]
    table = Table(
        world.players,
        steps=world.steps,
        liar=world.liar,
        rounds=3,
        rule=world.rule,
        is_base_fixed=world.is_base_fixed,
        is_hasty=world.is_hasty,
    )
    explorer, chance = Explorer(table, world.connected), random.Random(world.seed)
    with pytest.raises(ViolationError) as found:
        walk_often(explorer, chance, 1000, length=world.length)
    assert found.value.claim == world.claim


def follow(explorer: Explorer, course: str) -> State:
    """Return the state of a world after all that a course tells."""
    state = explorer.start
    for line in course.strip().splitlines():
        player, told = line.split(maxsplit=1)
        state = explorer.take(state, int(player), told)
    return state


def test_closing_at_once_lets_a_liar_make_two_histories() -> None:
    table = Table(3, steps=[(2,)], liar=2, rounds=3)
    hasty = Explorer(table, (0, 1), has_relay=False)
    assert hasty.violates("one history", follow(hasty, courses.CLOSES_AT_ONCE)).startswith("two histories")
    with pytest.raises(LookupError, match="close k"):
        follow(Explorer(table, (0, 1)), courses.CLOSES_AT_ONCE)


@pytest.mark.parametrize(
    ("course", "liar"),
    [(courses.NOBODY_TO_PULL_BACK, 0), (courses.SECOND_MAJORITY, 1)],
    ids=["nobody to pull back", "second majority"],
)
def test_two_connected_players_go_on_despite_the_votes_of_a_proven_liar(course: str, liar: int) -> None:
    table = Table(3, steps=[(0,), (1,)], liar=liar, rounds=3, is_denying=True)
    explorer = Explorer(table, table.honest)
    assert explorer.ending(follow(explorer, course), (0, 1)) == "completed"


def test_going_on_without_a_majority_is_found() -> None:
    def always(place: Place, entries: Entries) -> bool:
        return True

    with replaced(electorate, electorate.leaves_majority, always):
        explorer = Explorer(Table(3, rounds=1, liar=2))
        with pytest.raises(ViolationError, match=r"one history: .* no majority"):
            explorer.explore(("one history",), limit=100_000)
