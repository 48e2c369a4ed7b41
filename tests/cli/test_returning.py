"""Tables of players who return to a match, and of spectators who come late: what they show of the earlier match.

The nodes are real. They run in a simulated room with a virtual clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from cli.table.live_table import LiveTable, SpectatorTable
from cli.table.player_table import PAUSE, find_winners
from cli.table.terminal import Showing
from p2pdice.moves import Bid
from p2pdice.players import OddsPlayer
from p2pdice.players.contest import answer
from p2pdice.rulesets import PRESETS
from protocol.crypto.keys import fingerprint
from protocol.errors import NodeError
from protocol.events import Happened, MatchResult, MatchStarted, Overdue, YourTurn
from protocol.match.lobby import TableSettings
from protocol.storage.store import StoredMatch
from protocol.wire.genesis import Genesis, Join, JoinRecord, Patience
from tests.cli.paper import Paper, on_paper
from tests.network.test_forming import in_room
from tests.network.test_waiting import AUTOMATIC, in_turn, seconds
from tests.owners import make
from tests.simulation.room import Person, Room, in_a_room
from tests.simulation.small_forming import line
from tests.waiting import until

SHORT = PRESETS["classic"].with_options({"dice": "2"})


async def play(people: Sequence[Person], is_enough: Callable[[], object]) -> None:
    """Let players answer their turns until ``is_enough`` returns true."""
    answered: set[tuple[str, int]] = set()
    bots = {person.name: OddsPlayer(Random(person.name)) for person in people}
    while not is_enough():
        for person in people:
            for turn in person.told(YourTurn)[-1:]:
                if (person.name, turn.token) not in answered and not is_enough():
                    answered.add((person.name, turn.token))
                    with suppress(NodeError):
                        make(person.node, answer(bots[person.name], turn.view), turn.token)
        await asyncio.sleep(0.05)


def round_of(person: Person) -> int:
    return person.told(Happened)[-1].state.round


def player_table(person: Person) -> LiveTable:
    """Return the table of a player after all their events."""
    table, _ = on_paper(person.node, home=person.node.home.path)
    for event in person.events:
        table.take(event)
    return table


def spectator_table(person: Person) -> tuple[LiveTable, list[str]]:
    """Return the table of a spectator after all their events, and its sentences."""
    paper = Paper(is_interactive=False)
    table = SpectatorTable(person.node, Showing(), "")
    table.face = paper
    for event in person.events:
        table.take(event)
    return table, paper.said


@in_room
async def test_a_returned_players_board_has_the_earlier_rounds(room: Room) -> None:
    ada, ben, cleo = await in_turn(room, 3, SHORT)
    await play((ada, ben, cleo), lambda: round_of(ada) == 3 and ada.told(Happened)[-1].state.bids)
    await ada.die()
    ada.events.clear()
    await ada.begin()
    await ada.node.resume()
    eve = await room.sit("Eve")
    await eve.node.watch(line(room, ben.key, ben.node.identity.fingerprint))
    await until(lambda: ada.told(MatchStarted) and eve.told(MatchStarted))
    assert [person.told(MatchStarted)[0].resumed for person in (ada, eve)] == [True, True]
    await play((ada, ben, cleo), lambda: all(person.told(MatchResult) for person in (ada, ben, cleo, eve)))
    boards = [player_table(person).board for person in (ben, ada)] + [spectator_table(eve)[0].board]
    assert len(boards[0].rounds) >= 3
    assert boards[1].rounds == boards[0].rounds
    assert boards[2].rounds == boards[0].rounds


# The score


@in_room
async def test_the_score_of_the_evening_survives_a_restart(room: Room) -> None:
    host, guest = await room.sit("Host"), await room.sit("Ada")
    won: list[str] = []
    for _ in range(3):
        await host.node.host(TableSettings("Friday", SHORT, 2))
        way = line(room, host.key, host.node.identity.fingerprint)
        await (guest.node.rejoin() if won else guest.node.join(way))
        if len(won) == 2:  # in the last match
            await until(lambda: host.told(YourTurn) or guest.told(YourTurn))
            await guest.die()
            guest.events.clear()
            await guest.begin()
            await guest.node.resume()
        await play((host, guest), lambda: host.told(MatchResult) and guest.told(MatchResult))
        (over,) = host.told(MatchResult)
        won += [over.players[seat].fingerprint for seat in over.places[0]]
        if len(won) < 3:
            host.events.clear()
            guest.events.clear()
    assert sorted(player_table(guest).won.values()) == sorted((each,) for each in won)


ME, ADA, BEN = range(3)
DAY = 24 * 3600


def match(number: int, begun: int, winner: int | None, *players: int) -> StoredMatch:
    """Return a stored match between players with these numbers."""
    joins = [Join(bytes(16), bytes([each]) * 32, bytes(32), "Somebody", (), bytes(32), "redeemed") for each in players]
    roster = tuple(JoinRecord(join.encoded(), b"", b"", join) for join in joins)
    data = Genesis(bytes(16), SHORT, Patience(), roster).encoded()
    winners = () if winner is None else (players.index(winner),)
    return StoredMatch(bytes([number]), data, b"", True, begun, bool(winners), 0, winners=winners, number=number)


@pytest.mark.parametrize(
    ("earlier", "winners"),
    [
        ([], []),
        ([match(1, 0, ME, ME, ADA), match(2, PAUSE, ADA, ME, ADA)], [ME, ADA]),
        ([match(1, 0, ME, ME, ADA), match(2, PAUSE, None, ME, ADA)], [ME]),
        ([match(1, 0, BEN, ME, ADA, BEN), match(2, PAUSE, ME, ME, ADA)], [BEN, ME]),
        ([match(1, 0, ME, ME, ADA), match(2, PAUSE, ME, ME, BEN)], []),
        ([match(1, -1, ME, ME, ADA), match(2, PAUSE, ME, ME, ADA)], [ME]),
        ([match(1, DAY, ME, ME, ADA), match(2, DAY, ME, ME, ADA)], [ME, ME]),
    ],
    ids=["none", "two", "one unfinished", "a player left", "other players", "the day before", "a clock set back"],
)
def test_the_score_covers_earlier_matches_with_the_same_players(earlier: list[StoredMatch], winners: list[int]) -> None:
    later = [match(3, 2 * PAUSE, None, ME, ADA), match(4, 2 * PAUSE, ME, ME, ADA)]
    found = find_winners([*later, *earlier], later[0].match)
    assert [*found.values()][::-1] == [(fingerprint(bytes([each]) * 32),) for each in winners]


# The clock


@in_room
async def test_a_player_who_returns_on_their_turn_sees_no_clock_for_that_turn(room: Room) -> None:
    ada, ben, cleo = await in_turn(room, 3)
    await asyncio.sleep(5)
    await ada.die()
    ada.events.clear()
    await ada.begin()
    await ada.node.resume()
    await until(lambda: ada.told(YourTurn))
    table = player_table(ada)
    for _ in range(2):
        assert table.clock() is None
        assert seconds(ben) > 20
        await asyncio.sleep(AUTOMATIC)
    ada.node.play(Bid(1, 2), ada.told(YourTurn)[-1].token)
    await until(lambda: ben.told(YourTurn) or cleo.told(YourTurn))
    clock = table.clock()
    assert clock is not None
    assert clock.seconds > 50


def test_a_player_who_lost_the_network_sees_no_clock_for_that_turn(tmp_path: Path) -> None:
    seen: set[str] = set()

    async def scene(room: Room) -> None:
        ada, *others = await in_turn(room, 3)
        seen.add(ada.name)
        table = player_table(ada)
        await asyncio.sleep(20)
        assert table.clock() is not None
        for other in others:
            room.cut(ada.key, other.key)
        await asyncio.sleep(3)
        assert table.clock() is None
        for other in others:
            room.mend(ada.key, other.key)
        await until(lambda: ada.node.clock() is not None)
        assert table.clock() is None

    for seed in range(3):
        in_a_room(tmp_path / str(seed), seed, scene)
    assert "Host" in seen, "the links of a host are older than the match"
    assert len(seen) > 1


@in_room
async def test_a_late_spectator_sees_no_clock_for_the_running_turn(room: Room) -> None:
    ada, ben, _ = await in_turn(room, 3)
    await asyncio.sleep(20)
    eve = await room.sit("Eve")
    await eve.node.watch(line(room, ben.key, ben.node.identity.fingerprint))
    await until(lambda: eve.told(MatchStarted))
    await ada.die()
    await until(lambda: eve.told(Overdue))
    table, told = spectator_table(eve)
    assert told[-1] == f"Waiting for {ada.name}."
    assert table.clock() is None


@in_room
async def test_a_player_who_was_cut_off_is_told_to_hurry_without_a_time(room: Room) -> None:
    ada, *others = await in_turn(room, 3)
    await asyncio.sleep(20)
    for cut in (room.cut, room.mend):
        for other in others:
            cut(ada.key, other.key)
        await asyncio.sleep(3)
    ada.events = [event for event in ada.events if not isinstance(event, Overdue)]
    await until(lambda: ada.told(Overdue))
    table, paper = on_paper(ada.node, home=ada.node.home.path)
    for event in ada.events:
        table.take(event)
    assert paper.said[-1] == "The others can soon go on without you."
