"""All players, including the one put out, are told why a player was put out: the votes, or the broken rule."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from p2pdice.events import PlayerOut
from p2pdice.rulesets import PRESETS
from protocol.consensus.ballot import elect
from protocol.consensus.position import Position, Purpose, departure
from protocol.events import Eviction, Happened
from protocol.match.effects import Conceded
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.simulation.world import World

HURRIED = Patience(20, 10)
CLASSIC = PRESETS["classic"].with_options({"dice": "2"})


def at(step: int, owed: tuple[int, ...], *, base: tuple[int, ...], live: tuple[int, ...]) -> Position:
    return Position(step, b"", Purpose.DEAL, 0, Kind.COMMIT, owed=owed, base=base, players=live)


def evictions(world: World, me: int) -> list[tuple[int, Eviction | None]]:
    """Return the (seat, reason) of each player put out, as player ``me`` was told."""
    told = world.told(me, Happened)
    return [
        (each.event.seat, each.eviction)
        for each in told
        if isinstance(each.event, PlayerOut) and each.event.reason == "evicted"
    ]


@pytest.mark.parametrize("has_move_to_make", [True, False])
def test_an_eviction_for_absence_is_reported_with_its_step_and_voters(has_move_to_make: bool) -> None:
    world = World(CLASSIC, 4, seed=3, patience=HURRIED)
    mover = world.first_turn()
    silent = mover if has_move_to_make else (mover + 1) % 4
    world.crash(silent)
    others = [me for me in range(4) if me != silent]
    while not evictions(world, others[0]):
        assert world.step()
    world.restart(silent)
    world.run()
    for me in range(4):  # including the evicted player
        ((seat, why),) = evictions(world, me)
        assert why is not None
        assert world.seats[seat] == silent
        assert len(why.voters) > 4 // 2
        assert set(why.voters) <= {world.seats.index(other) for other in others}
        assert why.misconduct == ""
        assert why.was_on_turn == (world.machines[0].match.history.chain[why.step].kind is Kind.MOVE)
        assert why.was_on_turn or not has_move_to_make


def test_an_eviction_for_misconduct_is_reported_with_the_broken_rule() -> None:
    world = World(CLASSIC, 3, seed=7)
    cheat = world.first_turn()
    forged = world.call_nothing(cheat)
    world.run()
    for other in range(3):
        if other != cheat:
            ((_, why),) = evictions(world, other)
            assert why is not None
            assert (why.step, why.misconduct.split(":")[0]) == (forged.message.step, "illegal move")


def test_resigning_during_the_seat_draw_counts_as_conceding() -> None:
    world = World(CLASSIC, 3, seed=1)
    while not world.machines[1].match.is_bound:
        assert world.step()
    world.feed(1, Conceded())
    world.run()
    for me in range(3):
        assert evictions(world, me) == []
        state = world.machines[me].match.history.position.state
        assert state is not None
        assert state.exits[0] == ((world.seats.index(1),), "conceded")


def test_an_absent_player_is_not_listed_among_the_voters_for_their_absence() -> None:
    """A player who returns in time may vote for their own absence. The vote counts, but is not listed."""
    world = World(CLASSIC, 4, seed=3, patience=HURRIED)
    silent = world.first_turn()
    world.crash(silent)
    world.run()
    steps = list(world.machines[(silent + 1) % 4].match.history.chain)
    left = departure(steps, silent)
    assert left is not None
    after = steps[left.step + 1]
    own = after.certificate[0]._replace(message=after.certificate[0].message._replace(author=silent))
    steps[left.step + 1] = after._replace(certificate=(own, *after.certificate[1:]))
    again = departure(steps, silent)
    assert again is not None
    assert again.voters == left.voters[1:]
    assert departure(steps, (silent + 1) % 4) is None


def test_no_player_leaves_an_undisturbed_match() -> None:
    world = World(CLASSIC, 3, seed=0)
    world.run()
    assert [departure(world.machines[0].match.history.chain, author) for author in range(3)] == [None] * 3


def test_a_match_goes_on_without_players_exactly_if_the_others_can_vote_them_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Players out of the game vote too: with four of them, one of three players in the game can put out two."""
    match = World(CLASSIC, 7, seed=3).machines[0].match
    everybody = range(7)
    outcomes = set()
    for count in range(1, 8):
        live = tuple(range(count))
        place = at(2, live, base=tuple(everybody), live=live)
        monkeypatch.setattr(match.history, "position", place)
        for gone in chain.from_iterable(combinations(live, size) for size in range(1, count + 1)):
            can_vote = bool(elect(place, gone, set(everybody).difference(gone), ()))
            assert match.goes_on_without({match.info[author].fingerprint for author in gone}) is can_vote
            outcomes.add((count, len(gone), can_vote))
    assert {(3, 2, True), (3, 3, False), (7, 3, True), (7, 4, False)} <= outcomes


def test_a_match_goes_on_without_a_player_who_conceded() -> None:
    world = World(CLASSIC, 2, seed=3)
    first = world.first_turn()
    world.feed(1 - first, Conceded())
    world.run()
    for machine in world.machines:
        there, gone = (machine.match.info[each].fingerprint for each in (first, 1 - first))
        assert machine.match.goes_on_without({gone})
        assert not machine.match.goes_on_without({there})


@pytest.mark.parametrize(
    ("voters", "backers", "chosen"),
    [
        ((0, 1, 2, 3, 4, 5, 6, 7), (), (0, 1, 2, 5, 6, 7)),
        ((0, 1, 2, 3, 4, 5, 6), (), ()),
        ((0, 1, 2, 3, 4, 5, 6), (8,), (8, 0, 1, 2, 3, 5, 6)),
        ((0, 1, 2, 3, 4, 5, 6), (4, 8, 9), (8, 0, 1, 2, 3, 5, 6)),
        ((0, 1, 2, 3, 4, 5), (6,), ()),
        ((0, 1, 5, 6, 7), (8, 9), ()),
    ],
)
def test_voting_a_player_out_needs_half_the_players_who_stay_in_the_game(
    voters: tuple[int, ...], backers: tuple[int, ...], chosen: tuple[int, ...]
) -> None:
    """Authors 0 to 4 are out of the game, and 10 is absent."""
    everybody = tuple(range(11))
    place = at(7, (10,), base=everybody, live=everybody[5:])
    assert elect(place, {10}, voters, backers) == chosen
