"""An arena is fair and reproducible, survives any bot, and states its uncertainty."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.arena.bounds import ConfidenceSequence, interval
from cli.arena.fixtures import (
    NAME_COLUMNS,
    ArenaTable,
    Fixture,
    fixture_at,
    fixtures,
    gauntlet,
    name_key,
    named,
    one_deal,
    round_robin,
    seated,
    unique_names,
)
from cli.arena.game import (
    GIVEN_UP,
    Plan,
    close_all_programs,
    close_programs,
    play,
    play_games,
)
from cli.arena.game_file import Game, GameFileError, SeatFault
from cli.arena.pool import WorkersDied, _pass_on, cluster, local, play_all
from cli.arena.ratings import POINTS
from cli.arena.standings import Decision, Summary, summary_text
from cli.arena.tournament import FaultList, Journal, filed, kept, run
from cli.bots.bot import PlayerBot, SharedDice
from cli.bots.program_bot import STARTS
from cli.bots.referee import Referee
from cli.exits import ExitCode, Failure
from cli.render import columns, counted
from p2pdice.moves import Move
from p2pdice.players import LEVELS
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.views import View
from tests.cli import arena_players
from tests.cli.conftest import Run
from tests.programs import descendants
from tests.tiers import thoroughly


def plan(*bots: str, games: int = 12, rules: str = "classic", size: int = 2, move_ms: int = 20_000) -> Plan:
    tables = round_robin(len(bots), (rules,), (size,))
    return Plan(named(bots), tables, (PRESETS[rules],) * len(tables), games, "1", move_ms)


def played(plan: Plan) -> list[Game]:
    """Play all games of an arena in this process."""
    try:
        return play_games(plan, tuple(fixtures(plan.tables, plan.games)))
    finally:
        close_programs()


def kept_games(plan: Plan) -> list[Game]:
    """Play an arena; return its games as its file stores them."""
    return [filed(plan, *each) for each in zip(fixtures(plan.tables, plan.games), played(plan), strict=True)]


def in_processes(plan: Plan, jobs: int) -> list[Game]:
    """Play an arena in other processes."""
    batches = play_all(local(jobs), jobs, plan, fixtures(plan.tables, plan.games))
    return sorted((game for batch in batches for game in batch), key=lambda game: game.number)


def first_of_two(plan: Plan, games: list[Game]) -> list[tuple[bool, dict[str, int]]]:
    """Return for each game whether the first entrant has won, and its faults. The other one must have none."""
    seats = [seated(plan.tables[0], game.number % 2).index(0) for game in games]
    assert not any(game.faults[1 - seat] for seat, game in zip(seats, games, strict=True))
    return [(seat in game.winners, game.faults[seat]) for seat, game in zip(seats, games, strict=True)]


def without_times(games: list[Game]) -> list[Game]:
    return sorted((replace(game, ms=()) for game in games), key=lambda game: game.number)


def text(plan: Plan, number: int) -> Fixture:
    return next(islice(fixtures(plan.tables, plan.games), number, None))


def program(folder: Path, body: str) -> str:
    """Write a bot program; return its command."""
    path = folder / "bot.py"
    path.write_text(
        "import json, os, sys, time\n"
        "def say(**message): print(json.dumps(message), flush=True)\n"
        "def hello(): say(type='hello', version=1)\n"
        "def move(turn, do=None): say(type='move', id=turn['id'], do=do or turn['legal'][-1])\n"
        f"for message in map(json.loads, sys.stdin):\n    kind = message['type']\n{body}",
        encoding="utf-8",
    )
    return f"'{sys.executable}' '{path}'" if os.name == "posix" else f'"{sys.executable}" "{path}"'


GOOD = "    if kind == 'hello': hello()\n    if kind == 'turn': move(message)\n"


class ThreadPool(ThreadPoolExecutor):
    """Plays games in threads of this process."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.submit(close_programs).result()  # in the thread that played
        super().shutdown(wait, cancel_futures=cancel_futures)


@pytest.fixture
def here(here: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands in this process. Arenas play in threads."""
    monkeypatch.setattr("cli.commands.arena.local", lambda jobs, _: lambda: ThreadPool(jobs))
    return here


class Breaks(Executor):
    """An executor that runs work at once. Work whose number (from 1) satisfies ``breaks`` fails instead."""

    def __init__(self, breaks: Callable[[int], bool]) -> None:
        self._count = 0
        self._breaks = breaks

    def submit(self, work: Callable[..., Any], /, *args: Any, **_options: Any) -> Future[Any]:
        self._count += 1
        future: Future[Any] = Future()
        if self._breaks(self._count):
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(work(*args))
        return future


class TestFixtures:
    """The pairings, seats and dice of games."""

    @given(
        entrants=st.integers(2, 6), sizes=st.lists(st.integers(2, 6), min_size=1, max_size=2, unique=True),
        games=st.integers(1, 30),
    )  # fmt: skip
    def test_all_entrants_sit_in_each_seat_equally_often(self, entrants: int, sizes: list[int], games: int) -> None:
        tables = round_robin(entrants, ("classic",), sizes)
        seats: Counter[tuple[int, int]] = Counter()
        for fixture in fixtures(tables, games):
            table = tables[fixture.table]
            for seat, entrant in enumerate(seated(table, fixture.rotation)):
                seats[fixture.table, entrant * 10 + seat] += 1
        for index, table in enumerate(tables):
            for entrant in table.seats:
                assert len({seats[index, entrant * 10 + seat] for seat in range(len(table.seats))}) == 1

    def test_in_a_round_robin_every_pair_meets(self) -> None:
        assert {table.seats for table in round_robin(4, ("classic",), (2,))} == {
            (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
        }  # fmt: skip

    def test_in_a_gauntlet_the_first_entrant_sits_alone(self) -> None:
        assert [table.seats for table in gauntlet(3, ("classic",), (4,))] == [(0, 1, 1, 1), (0, 2, 2, 2)]

    def test_games_of_one_deal_have_the_same_dice_for_a_seat(self) -> None:
        games = played(plan("odds", "odds", games=2))
        first_deals = [next(line["deal"] for line in game.lines if "deal" in line) for game in games]
        assert first_deals[0] == first_deals[1]
        assert games[0].leader == games[1].leader

    def test_different_deals_have_different_dice(self) -> None:
        deals = {str(game.lines[0]) for game in played(plan("odds", "odds", games=20))}
        assert len(deals) == 10


class TestGames:
    """The records of games."""

    @pytest.mark.parametrize("rules", PRESETS)
    def test_the_referee_agrees_with_every_game(self, rules: str) -> None:
        for game in played(plan("odds", "odds", games=6, rules=rules, size=3)):
            referee = Referee(PRESETS[rules], 3, game.leader)
            for line in game.lines:
                answer = json.loads(referee.answer(json.dumps(line).encode()))
                assert answer["ok"], answer
            assert answer["state"]["places"] == [list(place) for place in game.places]

    @pytest.mark.parametrize(("bot", "rules"), [("odds", "motes"), ("tests.cli.arena_players:Rare", "classic")])
    def test_a_game_survives_json(self, bot: str, rules: str) -> None:
        for game in kept_games(plan(bot, "odds", games=2, rules=rules)):
            assert bot == "odds" or game.described
            back = Game.from_json(json.loads(json.dumps(game.to_json())))
            assert json.dumps(back.to_json()) == json.dumps(game.to_json())

    def test_a_stored_game_can_be_read_without_the_heading(self, tmp_path: Path) -> None:
        tables = round_robin(3, ("classic", "perudo"), (2,))
        rulesets = tuple(PRESETS[table.rules] for table in tables)
        arena = plan("odds", "press", "odds", games=2)._replace(tables=tables, rulesets=rulesets)
        with Journal(tmp_path / "games", arena, is_resumed=False) as journal:
            journal.add(played(arena))
        _, *lines = map(json.loads, (tmp_path / "games").read_text().splitlines())
        assert len(lines) == 12
        for line in lines:
            assert line["options"] == dict(PRESETS[line["rules"]].options())
            referee = Referee(Ruleset.from_options(line["options"].items()), len(line["bots"]), line["leader"])
            dice = SharedDice(line["seed"])
            assert line["lines"][0] == {"deal": [list(hand) for hand in dice.hands(referee.state)]}
            answers = [json.loads(referee.answer(json.dumps(each).encode())) for each in line["lines"]]
            assert answers[-1]["state"]["places"] == line["places"]
        seats = Counter((tuple(line["bots"]), line["rules"]) for line in lines)
        assert seats[("odds", "press"), "classic"] == seats[("press", "odds"), "perudo"] == 2

    def test_a_game_does_not_depend_on_earlier_games(self) -> None:
        whole = plan("odds", "odds", games=8)
        last = play_games(whole, (text(whole, 7),))
        assert without_times(last) == without_times(played(whole))[7:]


class TestPrograms:
    """A program plays many games, and cannot stall an arena."""

    def test_many_games_take_one_process_per_program(self, tmp_path: Path) -> None:
        count = f"    if kind == 'hello': open({str(tmp_path / 'ids')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        games = played(plan(program(tmp_path, count + GOOD), "odds", games=40))
        ids = (tmp_path / "ids").read_text().split()
        assert (len(games), len(ids), len(set(ids))) == (40, 40, 1)
        assert not any(faults for game in games for faults in game.faults)

    @pytest.mark.parametrize(
        ("body", "fault"),
        [
            (GOOD.replace("move(message)", "sys.exit(1)"), "crashed"),
            (GOOD.replace("hello()", "sys.exit(1)"), "crashed"),
            (GOOD.replace("move(message)", "print('{]' * 9, flush=True)"), "malformed"),
            (GOOD.replace("move(message)", "move(message, '999x9')"), "illegal"),
            (GOOD.replace("move(message)", "print('x' * 200_000, flush=True)"), "malformed"),
            (GOOD.replace("move(message)", "say(type='move', id=message['id'] - 1, do='liar')"), "late"),
            (GOOD.replace("move(message)", "time.sleep(60)"), "late"),
        ],
        ids=["exits on its turn", "exits at hello", "garbage", "illegal", "flood", "an old turn", "hangs"],
    )  # fmt: skip
    def test_the_faults_of_a_bad_program_are_counted(self, tmp_path: Path, body: str, fault: str) -> None:
        arena = plan(program(tmp_path, body), "odds", games=10, move_ms=300)
        games = played(arena)
        assert len(games) == 10
        standings = Summary(arena, list(zip(fixtures(arena.tables, 10), games, strict=True))).standings
        bad = next(each for each in standings if each.entrant == 0)
        assert bad.faults[fault] > 0
        assert not next(each for each in standings if each.entrant == 1).faults

    def test_a_program_that_crashed_in_one_game_plays_the_next(self, tmp_path: Path) -> None:
        seldom = (
            f"    if kind == 'turn' and not os.path.exists({str(tmp_path / 'once')!r}):\n"
            f"        open({str(tmp_path / 'once')!r}, 'w').close(); sys.exit(1)\n"
        )
        games = played(plan(program(tmp_path, seldom + GOOD), "odds", games=10))
        assert sum(sum(faults.values()) for game in games for faults in game.faults) == 1

    def test_a_class_that_raises_does_not_stop_the_arena(self) -> None:
        arena = plan("tests.cli.arena_players:Raises", "tests.cli.arena_players:Cheats", "odds", games=4)
        games = played(arena)
        faults = Summary(arena, list(zip(fixtures(arena.tables, 4), games, strict=True))).standings
        assert {each.entrant: set(each.faults) for each in faults} == {0: {"crashed"}, 1: {"illegal"}, 2: set()}

    @pytest.mark.parametrize(
        ("name", "fault"),
        [
            ("Leaves", "crashed"), ("Forgets", "illegal"), ("Spells", "illegal"), ("Halves", "illegal"),
            ("Exceeds", "crashed"), ("Interrupts", "crashed"), ("Cancels", "crashed"),
        ],
    )  # fmt: skip
    def test_any_result_or_exception_of_a_class_is_its_fault(self, name: str, fault: str) -> None:
        games = played(plan(f"tests.cli.arena_players:{name}", "odds", games=2))
        assert [set(games[0].faults[0]), games[0].faults[1]] == [{fault}, {}]
        assert games[0].faults[0][fault] == len(games[0].ms[0])

    @pytest.mark.parametrize("presses", [1, 2])
    def test_ctrl_c_ends_a_game_without_a_fault(self, presses: int) -> None:
        asked: list[PlayerBot] = []

        class Thinks(PlayerBot):
            async def choose(self, view: View) -> Move:
                asked.append(self)
                for _ in range(presses):
                    signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(0)
                return await super().choose(view)

        bots = [Thinks("bot", LEVELS["odds"](Random(seat))) for seat in range(2)]
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a pytest worker may ignore the signal
        try:
            with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
                runner.run(play(0, "classic", PRESETS["classic"], bots, SharedDice("1")))
        finally:
            signal.signal(signal.SIGINT, before)
        assert len(asked) == 1

    def test_a_class_that_can_no_longer_be_constructed_loses_its_games(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(arena_players.Tires, "made", 0)
        games = played(plan("tests.cli.arena_players:Tires", "odds", games=8))
        assert [game.faults[game.number % 2] for game in games] == [{}] * 3 + [{"crashed": 1}] * 5

    def test_a_program_that_ends_after_a_game_is_restarted_without_a_fault(self, tmp_path: Path) -> None:
        games = played(plan(program(tmp_path, f"{GOOD}    if kind == 'bye': sys.exit()\n"), "odds", games=6))
        assert not any(faults for game in games for faults in game.faults)

    def test_entrants_get_different_names(self) -> None:
        bots = [
            "odds",
            "odds",
            "odds 2",
            "odds",
            "'odds 2'",
            "x:" + "Long" * 9,
            "y:" + "Long" * 9,
            "z:五五五五五五五五",
        ]
        names = [entrant.name for entrant in named(bots)]
        assert len(set(names)) == len(bots)
        assert max(map(columns, names)) <= NAME_COLUMNS

    def test_a_program_that_keeps_failing_is_given_up(self, tmp_path: Path) -> None:
        count = f"    open({str(tmp_path / 'starts')!r}, 'a').write('x'); sys.exit(1)\n"
        games = played(plan(program(tmp_path, count), "odds", games=12))
        assert len((tmp_path / "starts").read_text()) == GIVEN_UP * STARTS
        assert [game.faults[game.number % 2] for game in games[GIVEN_UP:]] == [{"crashed": 1}] * (12 - GIVEN_UP)

    def test_copies_of_a_house_bot_have_different_randomness(self) -> None:
        openings = [game.lines[1]["do"] for game in played(plan("random", "random", games=20))]
        assert any(first != second for first, second in zip(openings[::2], openings[1::2], strict=True))


class TestFaults:
    """The list of faults, from which an author can find a mistake."""

    def listed(self, arena: Plan) -> tuple[list[dict[str, Any]], str]:
        """Return the faults in all games of an arena, as JSON and as text."""
        faults = FaultList()
        for game in played(arena):
            fixture = text(arena, game.number)
            faults.add(game, seated(arena.tables[fixture.table], fixture.rotation))
        return faults.to_json(arena), faults.text(arena, Path("games.ndjson"))

    def test_each_kind_of_fault_is_shown_once_with_its_traceback(self) -> None:
        found, shown = self.listed(plan("tests.cli.arena_players:Rare", "odds", games=20))
        assert {each["kind"] for each in found} == {"crashed", "illegal"}
        assert "made no legal move: 1x1 " in shown
        assert "raised KeyError: 'round 2\\x5cx1b[2J', and " in shown
        lines = [line.strip() for line in shown.splitlines()]
        begin = lines.index("Traceback (most recent call last):")
        assert [line.rpartition(", in ")[2] for line in lines[begin:] if line.startswith("File ")] == [
            "choose",
            "look_up",
        ]
        assert shown.isascii()
        assert "\x1b" not in shown

    def test_a_fault_is_shown_with_a_game_that_contains_it(self) -> None:
        arena = plan("tests.cli.arena_players:Rare", "odds", games=20)
        found, shown = self.listed(arena)
        games = played(arena)
        described = {game.number: {each.likeness for each in game.described} for game in games}
        for each in found:
            assert f"p2pdice replay games.ndjson --game {each['game']}\n" in f"{shown}\n"
            fault = SeatFault(*(each[name] for name in SeatFault._fields))
            assert fault.likeness in described[each["game"]]
            assert each["games"] == sum(fault.likeness in faults for faults in described.values())
        assert sum(each["times"] for each in found) == sum(
            sum(faults.values()) for game in games for faults in game.faults
        )
        assert (
            f" ({counted(found[0]['times'], 'time')} in {counted(found[0]['games'], 'game')}; first in game " in shown
        )

    def test_a_program_that_ended_is_shown_with_its_last_output(self, tmp_path: Path) -> None:
        fails = GOOD.replace("move(message)", "raise KeyError('its turn')")
        (found, *_), shown = self.listed(plan(program(tmp_path, fails), "odds", games=2))
        assert found["reason"] == "has ended (exit code 1), and wrote: KeyError: 'its turn'"
        assert f'File "{tmp_path / "bot.py"}", line 8, in <module>' in found["trace"]
        assert "bot has ended (exit code 1)" in shown

    @pytest.mark.parametrize("name", ["Unspeakable", "Exceeds", "Leaves", "Forgets"])
    def test_a_fault_that_cannot_be_described_is_still_shown(self, name: str) -> None:
        found, shown = self.listed(plan(f"tests.cli.arena_players:{name}", "odds", games=2))
        assert len(found) == 1
        assert f"\n{name} " in f"\n{shown}"

    def test_a_bot_that_was_given_up_has_a_reason(self, tmp_path: Path) -> None:
        found, _ = self.listed(plan(program(tmp_path, "    sys.exit(1)\n"), "odds", games=12))
        assert f"failed in {GIVEN_UP} games in a row, and is not started any more" in {each["reason"] for each in found}

    def test_the_number_of_described_faults_is_limited(self) -> None:
        """A bot with ever new errors fills neither the file nor the memory."""
        arena = plan("tests.cli.arena_players:Inventive", "odds", games=40)
        assert max(len(game.described) for game in played(arena)) == 8
        found, shown = self.listed(arena)
        assert len(found) == 20
        assert shown.count("first in game") == 5
        assert "made 15 other kinds of faults" in shown

    def test_a_single_fault_is_singular(self) -> None:
        arena = plan("odds", "press", games=2)
        described = [SeatFault(0, 0, "late", f"did {what}", "", "") for what in "abcdef"]
        game = replace(played(arena)[0], faults=({"late": 1}, {}), described=tuple(described))
        faults = FaultList()
        faults.add(game, (0, 1))
        assert "odds made one other kind of fault, which" in faults.text(arena, Path("games.ndjson"))
        assert "odds made one fault: 1 late." in summary_text(Summary(arena, [(text(arena, 0), game)]))


class TestStandings:
    """The standings agree with the games."""

    def summary(self, size: int, *places: tuple[tuple[int, ...], ...], ms: tuple[float, ...] = (1.0,)) -> Summary:
        table = ArenaTable("classic", (0, *(1,) * (size - 1)))
        arena = Plan(named(["odds", "press"]), (table,), (PRESETS["classic"],), len(places), "1", 1)
        games = [Game(i, "classic", 0, each, ({},) * size, (ms,) * size, ()) for i, each in enumerate(places)]
        return Summary(arena, list(zip(fixtures(arena.tables, len(places)), games, strict=True)))

    def test_a_fair_share_is_the_share_of_seats(self) -> None:
        shares = self.summary(4, *[((0,), (1,), (2,), (3,))] * 4).shares
        assert {share.entrant: (share.fair, share.won) for share in shares} == {0: (0.25, 0.25), 1: (0.75, 0.75)}

    def test_a_shared_victory_counts_partly(self) -> None:
        summary = self.summary(3, ((0, 1), (2,)), ((1,), (2,), (0,)), ((0, 1, 2),))
        assert [share.won for share in summary.shares] == pytest.approx([5 / 18, 13 / 18])
        points = {each.entrant: each.rating.points for each in summary.standings}
        assert points == {0: POINTS * 5 // 6, 1: POINTS * 13 // 6}  # exact, and so independent of the order of games

    @pytest.mark.parametrize(
        ("wins", "words"), [(40, ["better", "worse"]), (0, ["worse", "better"]), (20, ["open", "open"])]
    )
    def test_a_certain_winner_is_called_better(self, wins: int, words: list[str]) -> None:
        places = [((seat,), (1 - seat,)) for deal in range(40) for seat in ((0, 1) if deal < wins else (1, 0))]
        summary = self.summary(2, *places)
        assert [share.verdict for share in summary.shares] == words
        *_, heading, _, _, _, row = summary_text(summary).splitlines()
        assert heading == "classic, two players: 80 games in each row, fair share 50.0 %, 99 % bounds"
        bot, other, won, bounds, _, result = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert (bot, other, result) == ("odds", "press", words[0])
        low, high = map(float, bounds.split("–"))
        assert low <= float(won) <= high
        assert low < high

    def test_an_arena_is_undecided_while_one_entrant_is(self) -> None:
        table = ArenaTable("classic", (0, 1, 2))
        decision = Decision((table,), 0.5)
        for deal in range(300):  # the second wins one game of three, a fair share; the first wins the others
            for rotation in range(3):
                seats = seated(table, rotation)
                winner = seats.index(1 if rotation == 0 else 0)
                rest = tuple(seat for seat in range(3) if seat != winner)
                game = Game(0, "classic", 0, ((winner,), rest), ({},) * 3, ((),) * 3, ())
                decision.add(Fixture(0, 0, deal, rotation), game)
        is_open = [low < 1 / 3 < high for low, high in (decision.bounds(0, entrant) for entrant in range(3))]
        assert (is_open, decision.is_made) == ([False, True, False], False)

    def test_winners_are_rated_higher(self) -> None:
        standings = self.summary(2, ((0,), (1,)), ((1,), (0,))).standings  # in the second game the seats are swapped
        assert [each.entrant for each in standings] == [0, 1]
        assert standings[0].rating.over_mean.elo > 0 > standings[1].rating.over_mean.elo
        assert [each.rating.points for each in standings] == [2 * POINTS, 0]

    def test_the_shown_time_is_the_99th_percentile(self) -> None:
        standings = self.summary(2, ((0,), (1,)), ((1,), (0,)), ms=tuple(map(float, range(1, 101)))).standings
        assert {each.slow_ms for each in standings} == {100.0}

    def test_the_probability_of_error_is_divided_among_all_decisions(self) -> None:
        def deals(tables: int) -> int:
            decision = Decision((ArenaTable("classic", (0, 1)),) * tables, 0.01)
            for deal in range(1_000):
                for table in range(tables):
                    for rotation in (0, 1):
                        game = Game(0, "classic", 0, ((rotation,), (1 - rotation,)), ({}, {}), ((), ()), ())
                        decision.add(Fixture(0, table, deal, rotation), game)
                if decision.is_made:
                    return deal
            raise AssertionError

        assert deals(1) < deals(50)

    @pytest.mark.parametrize("seats", [(0, 1), (0, 1, 1), (0, 1, 2)])
    @pytest.mark.parametrize("deals", [2, 40])
    def test_the_table_says_what_was_decided(self, seats: tuple[int, ...], deals: int) -> None:
        table, size = ArenaTable("classic", seats), len(seats)
        arena = Plan(named(["odds", "press", "random"][: max(seats) + 1]), (table,), (), deals * size, "1", 1)
        decision, results = Decision((table,), 0.3), []
        for fixture in fixtures(arena.tables, arena.games):
            first = seated(table, fixture.rotation).index(0)  # entrant 0 always wins, so the decision comes soon
            places = ((first,), *((seat,) for seat in range(size) if seat != first))
            results.append((fixture, Game(fixture.number, "classic", 0, places, ({},) * size, ((1.0,),) * size, ())))
            decision.add(*results[-1])
        summary = Summary(arena, results, decision)
        judged = [share.verdict in {"better", "worse"} for share in summary.shares]
        assert all(judged) == decision.is_made == (deals == 40)
        assert summary.confidence == 0.7
        assert "70 % bounds" in summary_text(summary)
        assert summary.shares[0].bounds != Summary(arena, results).shares[0].bounds


class TestRun:
    """An arena stops once everything is decided, and writes each game to the disk."""

    def test_an_arena_stops_once_everything_is_decided(self, tmp_path: Path) -> None:
        arena = plan("odds", "tests.cli.arena_players:Raises", games=4_000)
        with Journal(tmp_path / "games", arena, is_resumed=False) as journal:
            decision = Decision(arena.tables, 0.01)
            counted = run(arena, journal, lambda: ThreadPool(1), 1, decision=decision, told=lambda now: None)
        assert 2 < len(counted) < 400
        assert decision.is_made

    def test_a_game_is_on_the_disk_when_it_is_added(self, tmp_path: Path) -> None:
        arena = plan("odds", "odds", games=2)
        with Journal(tmp_path / "games", arena, is_resumed=False) as journal:
            journal.add(played(arena)[:1])
            assert (tmp_path / "games").read_bytes().count(b"\n") == 2


class TestCommand:
    """``p2pdice arena``: impossible arguments are refused, and options take effect."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["odds"] * 40 + ["--players", "10"], "games at all tables are too many"),
            (["odds", "press", "--games", "1000000", "--players", "2", "--players", "3"], "too many"),
            (["odds", "press", "--games", "1000000", "--players", "3"], "1,000,002 games at all tables are too many"),
            (["odds", "press", "--error", "nan"], "it must be a probability"),
            (["odds", "press", "--error", "0.1"], "it needs --until-decided"),
            (["odds", "press", "--margin", "nan"], "it must be a percentage"),
            (["odds", "press", "--jobs", "1", "--cluster", "local"], "each worker of a cluster has its own processes"),
            (["odds", "press", "--seed", "\udcff"], "it is not text"),
            (["odds", "press", "--out", "nowhere/games"], "nowhere is not a folder"),
            (["odds", "press", "--resume", "--out", os.devnull], "is not a regular file"),
            (["odds", "tests.cli.ends:Nothing"], "cannot be made"),
            (["odds", "tests.cli.arena_players:Quits"], "SystemExit"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_absurd_arguments_are_refused(self, here: Run, arguments: list[str], said: str) -> None:
        done = here("arena", *arguments)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())

    def test_in_a_gauntlet_other_entrants_do_not_meet(self, here: Run) -> None:
        done = here("arena", "odds", "press", "cautious", "--gauntlet", "--games", "2", "--jobs", "1", "--json")
        assert {tuple(table["seats"]) for table in json.loads(done.stdout)["tables"]} == {
            ("odds", "press"), ("odds", "cautious")
        }  # fmt: skip

    def test_options_of_the_rules_can_be_changed(self, here: Run, tmp_path: Path) -> None:
        done = here(
            "arena", "odds", "press", "--set", "dice=1", "--games", "2", "--jobs", "1", "--out", str(tmp_path / "games")
        )
        assert done.returncode == 0
        with open(tmp_path / "games", encoding="utf-8") as games:
            assert json.loads(games.readline())["tables"][0]["options"]["dice"] == 1

    def test_repeating_a_command_keeps_the_earlier_games(self, here: Run) -> None:
        def play(*options: str) -> Path:
            done = here("arena", "odds", "press", "--games", "2", "--jobs", "1", "--json", *options)
            return Path(json.loads(done.stdout)["file"])

        first = play()
        games = first.read_bytes()
        second = play()
        assert play("--resume") == second != first
        assert first.read_bytes() == games


class TestJournal:
    """An interrupted arena is continued from its file."""

    @pytest.mark.parametrize("name", ["bot.py", "beside.py"])
    def test_games_of_another_version_of_a_bot_are_not_continued(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Run, name: str
    ) -> None:
        command = program(tmp_path, "    import beside\n" + GOOD)
        (tmp_path / "beside.py").write_text("old = True\n")

        def arena(*options: str) -> subprocess.CompletedProcess[str]:
            return here("arena", command, "odds", "--games", "2", "--jobs", "1", "--json", *options)

        done = arena()
        assert done.returncode == 0, done.stderr
        assert arena("--resume").returncode == 0
        with open(tmp_path / name, "a", encoding="utf-8") as file:
            file.write("# a new version\n")
        done = arena("--resume")
        assert done.returncode == 1
        assert "Error: bot has changed since the games in " in " ".join(done.stderr.split())
        assert "Begin a new arena, without --resume." in done.stderr

    @pytest.mark.parametrize("change", [{"number": -1}, {"rules": "perudo"}])
    def test_a_game_of_another_arena_is_refused(self, tmp_path: Path, change: dict[str, Any]) -> None:
        arena = plan("odds", "odds", games=2)
        path = tmp_path / "games.ndjson"
        with Journal(path, arena, is_resumed=False):
            pass
        line = json.dumps(filed(arena, text(arena, 0), played(arena)[0]).to_json() | change)
        with path.open("a") as file:
            file.write(f"{line}\n")
        before = path.read_bytes()
        with pytest.raises(GameFileError):
            Journal(path, arena, is_resumed=True)
        assert path.read_bytes() == before

    def test_fixtures_are_computed_once(self, tmp_path: Path) -> None:
        class Counted(tuple[ArenaTable, ...]):
            reads = 0

            def __iter__(self) -> Iterator[ArenaTable]:
                Counted.reads += 1
                return super().__iter__()

        arena, path = plan("odds", "odds", games=20), tmp_path / "games.ndjson"
        games = played(arena)
        arena = arena._replace(tables=Counted(arena.tables))
        with Journal(path, arena, is_resumed=False) as journal:
            opened, Counted.reads = Counted.reads, 0
            journal.add(games)
            assert Counted.reads == 0
        Journal(path, arena, is_resumed=True).__exit__(None, None, None)
        assert Counted.reads == opened

    def test_a_new_arena_does_not_overwrite_a_file(self, tmp_path: Path) -> None:
        arena, path = plan("odds", "odds"), tmp_path / "games.ndjson"
        path.write_text("anything")
        with pytest.raises(FileExistsError):
            Journal(path, arena, is_resumed=False)
        assert path.read_text() == "anything"

    def test_each_arena_gets_a_file_of_its_own(self, tmp_path: Path) -> None:
        arena = plan("odds", "odds")
        for run_ in (1, 2, 10, 11):
            path = kept(tmp_path, arena, is_resumed=False)
            assert path.stem.endswith(f"-{run_}")
            path.touch()
            assert kept(tmp_path, arena, is_resumed=True) == path
            if run_ == 2:
                path.with_stem(path.stem[:-1] + "9").touch()

    def test_arenas_of_programs_depend_on_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own, house = plan("odds", "./bot.py"), plan("odds", "press")
        before = kept(tmp_path, own, is_resumed=False), kept(tmp_path, house, is_resumed=False)
        monkeypatch.chdir(tmp_path)
        after = kept(tmp_path, own, is_resumed=False), kept(tmp_path, house, is_resumed=False)
        assert (before[0] == after[0], before[1] == after[1]) == (False, True)

    def test_games_of_another_version_of_p2pdice_are_not_continued(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Journal(tmp_path / "games", plan("odds", "odds"), is_resumed=False):
            pass
        monkeypatch.setattr("cli.arena.tournament.PROGRAM", "99")
        with pytest.raises(Failure, match=r"is not the file of this arena\.$"):
            Journal(tmp_path / "games", plan("odds", "odds"), is_resumed=True)

    @pytest.mark.parametrize("is_resumed", [False, True])
    def test_two_arenas_do_not_write_to_one_file(self, tmp_path: Path, is_resumed: bool) -> None:
        arena, path = plan("odds", "odds"), tmp_path / "games.ndjson"
        with Journal(path, arena, is_resumed=False):
            before = path.read_bytes()
            with pytest.raises(Failure, match="in use by another arena"):
                Journal(path, arena, is_resumed=is_resumed)
            assert path.read_bytes() == before
        with Journal(path, arena, is_resumed=True):
            pass

    @pytest.mark.skipif(os.name == "nt", reason="on Windows, creating links needs a special right")
    def test_two_arenas_do_not_write_to_one_file_by_two_names(self, tmp_path: Path) -> None:
        arena, path, link = plan("odds", "odds"), tmp_path / "games.ndjson", tmp_path / "link"
        link.symlink_to(path)
        with Journal(path, arena, is_resumed=False), pytest.raises(Failure, match="in use by another arena"):
            Journal(link, arena, is_resumed=True)

    def test_an_arena_can_be_prolonged(self) -> None:
        tables = round_robin(3, ("classic",), (2, 3))
        few, many = list(fixtures(tables, 8)), list(fixtures(tables, 30))
        assert set(few) <= set(many)
        assert len({fixture.number for fixture in many}) == len(many)
        assert all(fixture_at(one_deal(tables), fixture.number) == fixture for fixture in many)

    def test_a_killed_arena_resumes_from_any_byte_of_its_file(self, tmp_path: Path) -> None:
        arena = plan("odds", "odds", games=4)
        games = played(arena)
        path = tmp_path / "games.ndjson"
        with Journal(path, arena, is_resumed=False) as journal:
            journal.add(games)
        data = path.read_bytes()
        for size in {0, 1, len(data) - 1, len(data), *(len(data) * part // 23 for part in range(24))}:
            path.write_bytes(data[:size])
            with Journal(path, arena, is_resumed=True) as journal:
                kept = len(journal.games)
                journal.add(games[kept:])
            assert path.read_bytes() == data
            assert kept == max(0, data[:size].count(b"\n") - 1)

    def test_the_file_of_another_arena_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "games.ndjson"
        Journal(path, plan("odds", "odds"), is_resumed=False).__exit__(None, None, None)
        before = path.read_bytes()
        with pytest.raises(Failure, match=r"is not the file of this arena\.$"):
            Journal(path, plan("odds", "odds", rules="perudo"), is_resumed=True)
        assert path.read_bytes() == before


class TestConfidence:
    """Bounds and decisions are correct."""

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from([0.1, 0.25, 0.5]))
    def test_the_bounds_contain_the_mean_at_every_deal(self, seed: int, mean: float) -> None:
        rng, bounds = Random(seed), ConfidenceSequence(1e-6, [mean])
        for _ in range(300):
            bounds.add(float(rng.random() < mean))
            assert not bounds.known.excludes(mean)
        assert not bounds.interval.excludes(mean)

    def test_the_bounds_of_ten_won_deals_equal_the_theorems(self) -> None:
        bounds = ConfidenceSequence(0.1, [])
        for _ in range(10):
            bounds.add(1.0)
        low, high = bounds.interval  # each bet multiplies all eighths of the capital
        capital = sum((1 + 0.99 / 2**halving * (1 / low - 1)) ** 10 for halving in range(8)) / 8
        assert (capital, high) == (pytest.approx(2 / 0.1), 1.0)

    def test_bounds_of_scores_and_of_their_opposites_are_opposite(self) -> None:
        rng, bounds, opposite = Random(1), ConfidenceSequence(0.1, [0.3]), ConfidenceSequence(0.1, [0.7])
        for _ in range(100):
            score = rng.choice([0.0, 0.25, 0.5, 1.0])
            bounds.add(score)
            opposite.add(1 - score)
        assert bounds.interval == pytest.approx((1 - opposite.interval.high, 1 - opposite.interval.low))
        assert bounds.interval.low > bounds.known.low > 0.3

    def test_bounds_never_widen(self) -> None:
        bounds = ConfidenceSequence(0.1, [0.5])
        for score in [1.0] * 20 + [0.0] * 100:
            bounds.add(score)
        assert bounds.interval.low > 0.5

    def test_a_clear_difference_is_decided(self) -> None:
        rng, bounds = Random(1), ConfidenceSequence(0.01, [0.5])
        for _ in range(300):
            bounds.add(float(rng.random() < 0.7))
        assert bounds.known.low > 0.5

    def test_a_few_equal_deals_prove_nothing(self) -> None:
        assert not interval([0.25, 0.25], 0.99).excludes(0.75)
        assert not interval([0.0, 0.0], 0.99).excludes(0.25)
        assert interval([0.0] * 40, 0.99).excludes(0.25)

    def test_equal_bots_are_not_decided(self) -> None:
        arena = plan("odds", "odds", games=40)
        decision = Decision(arena.tables, 0.01)
        for fixture, game in zip(fixtures(arena.tables, 40), played(arena), strict=True):
            decision.add(fixture, game)
        assert not decision.is_made


class TestWorkers:
    """One process, several processes, and a cluster play the same games."""

    def test_games_of_a_killed_process_are_played_again(self) -> None:
        arena = plan("odds", "odds", games=60)
        games: list[Game] = []
        for batch in play_all(local(2), 2, arena, fixtures(arena.tables, 60)):
            if not games:
                descendants("spawn_main")[0].kill()
            games += batch
        assert without_times(games) == without_times(played(arena))

    def test_work_that_ends_its_process_breaks_only_its_own_future(self) -> None:
        with local(1)() as executor:
            process = executor.submit(os.getpid).result()
            ends, next_ = executor.submit(os._exit, 1), executor.submit(os.getpid)
            assert isinstance(ends.exception(), BrokenExecutor)
            assert next_.result() != process

    def test_a_class_that_kills_its_process_has_lost(self) -> None:
        arena, honest = (
            plan(f"tests.cli.arena_players:{name}", "random", games=2)._replace(seed="5")
            for name in ("Overturns", "Honest")
        )
        assert first_of_two(honest, played(honest)) == [(True, {}), (False, {})]
        assert first_of_two(arena, in_processes(arena, 2)) == [(True, {}), (False, {"crashed": 1})]

    @pytest.mark.thorough
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
    def test_a_program_that_kills_its_parent_has_lost(self, tmp_path: Path) -> None:
        arena = plan(program(tmp_path, GOOD), "odds", games=2)
        won = [is_won for is_won, _ in first_of_two(arena, played(arena))]
        kills = (
            "    if kind == 'hello': seat = message['seat']\n"
            "    if kind == 'bye' and seat not in message['places'][0]: os.kill(os.getppid(), 9)\n"
        )
        program(tmp_path, GOOD + kills)
        assert [is_won for is_won, _ in first_of_two(arena, in_processes(arena, 1))] == won == [False, False]

    def test_replayed_games_start_new_programs(self, tmp_path: Path) -> None:
        arena = plan(program(tmp_path, GOOD), "odds", games=4)
        games: list[Game] = []
        for batch in play_all(lambda: Breaks(lambda count: count == 1), 1, arena, fixtures(arena.tables, 4)):
            games += batch
        assert not descendants("bot.py")
        assert without_times(games) == without_times(played(arena))

    def test_if_any_bot_may_have_ended_the_process_the_game_is_shared(self) -> None:
        arena = plan("a:B", "c:D", games=4)
        games = [
            game for batch in play_all(lambda: Breaks(bool), 1, arena, fixtures(arena.tables, 4)) for game in batch
        ]
        assert [(game.places, game.faults) for game in games] == [(((0, 1),), ({"crashed": 1},) * 2)] * 4

    def test_processes_that_die_under_house_bots_end_the_arena(self) -> None:
        arena = plan("odds", "press", games=4)
        with pytest.raises(WorkersDied):
            next(play_all(lambda: Breaks(bool), 1, arena, fixtures(arena.tables, 4)))

    def test_closing_an_arena_does_not_wait_for_running_games(self, tmp_path: Path) -> None:
        hangs = GOOD.replace("move(message)", "move(message) if message['id'] < 9 else time.sleep(600)")
        arena = plan(program(tmp_path, hangs), "odds", games=400, move_ms=120_000)
        batches = play_all(local(1), 1, arena, fixtures(arena.tables, 400))
        next(batches)
        programs = descendants("bot.py")
        begun = time.monotonic()
        batches.close()
        assert time.monotonic() - begun < 60
        assert len(programs) == 1
        assert not psutil.wait_procs(programs, timeout=30)[1]

    def test_ended_programs_are_restarted_for_further_games(self, tmp_path: Path) -> None:
        arena = plan(program(tmp_path, GOOD), "odds", games=4)
        both = tuple(fixtures(arena.tables, 4))
        with ThreadPool(1) as thread:
            games = thread.submit(play_games, arena, both[:2]).result()
            assert len(descendants("bot.py")) == 1

            async def end() -> None:  # Dask calls it in an event loop
                close_all_programs()

            asyncio.run(end())
            assert not descendants("bot.py")
            games += thread.submit(play_games, arena, both[2:]).result()
        assert not any(faults for game in games for faults in game.faults)

    def test_a_playing_program_is_ended_after_its_game(self, tmp_path: Path) -> None:
        plays = GOOD.replace(
            "if kind == 'turn':",
            f"if kind == 'turn':\n        while not os.path.exists({str(tmp_path / 'go')!r}): pass\n       ",
        )
        arena = plan(program(tmp_path, plays), "odds", games=2)
        with ThreadPoolExecutor(1) as thread:
            playing = thread.submit(play_games, arena, tuple(fixtures(arena.tables, 2)))
            while not descendants("bot.py"):
                time.sleep(0.02)
            close_all_programs()
            (tmp_path / "go").touch()
            assert not any(faults for game in playing.result() for faults in game.faults)
            assert not descendants("bot.py")
            thread.submit(close_programs).result()

    @pytest.mark.thorough
    def test_a_lost_scheduler_is_reported_in_sentences(self) -> None:
        from distributed.client import FutureCancelledError

        lost = FutureCancelledError("key", "scheduler-connection-lost")
        with pytest.raises(Failure, match="is gone") as caught, cluster("local"):
            raise lost
        assert caught.value.code == ExitCode.UNREACHABLE

    @pytest.mark.thorough
    def test_a_cluster_with_a_killed_worker_plays_the_same_games(self) -> None:
        arena = plan("odds", "odds", games=60)
        with cluster("local") as (executors, workers):
            games: list[Game] = []
            for batch in play_all(executors, workers, arena, fixtures(arena.tables, 60)):
                if not games:
                    descendants("spawn_main")[0].kill()
                games += batch
        assert without_times(games) == without_times(played(arena))


@pytest.mark.thorough
class TestCluster:
    def test_work_that_kills_every_worker_breaks_its_future(self) -> None:
        """Only then does the arena count the game that ended the process as lost."""
        from distributed import KilledWorker  # takes half a second to import

        class Killed:
            def result(self) -> None:
                raise KilledWorker("task", SimpleNamespace(address="tcp://192.0.2.1:9"), 3)

        future: Future[None] = Future()
        _pass_on(Killed(), future)
        assert isinstance(future.exception(), BrokenExecutor)


class TestNames:
    """Names of bots: a class has its own name, a program that of its file, and namesakes get numbers."""

    @pytest.mark.parametrize(
        ("bots", "names"),
        [
            (("./karl.py --bold", "odds"), ["karl", "odds"]),
            (("./karl.py --bold", "./karl.py --shy"), ["karl", "karl 2"]),
            (("./odds.py", "press"), ["odds 2", "press"]),
            (("odds", "odds"), ["odds", "odds 2"]),
            (("my_bots:Careful", "'./a\x1bb'"), ["Careful", "a\\x1bb"]),
            (("a:CarefulBidderOne", "a:CarefulBidderTwo"), ["CarefulBidder…", "CarefulBidd… 2"]),
        ],
    )
    def test_names_are_short_and_unambiguous(self, bots: tuple[str, ...], names: list[str]) -> None:
        assert unique_names(bots) == names

    def test_shared_names_are_explained(self) -> None:
        bots = ["./karl.py --bold", "./karl.py --shy\x1b", "odds", "my_bots:Careful", "./odds"]
        assert list(name_key(bots, unique_names(bots))) == [
            "karl is ./karl.py --bold.", "karl 2 is ./karl.py --shy\\x1b.", "odds 2 is ./odds."
        ]  # fmt: skip

    def test_all_outputs_of_an_arena_use_the_same_names(self, here: Run, tmp_path: Path) -> None:
        rare, games, logs = "tests.cli.arena_players:Rare", tmp_path / "games.ndjson", tmp_path / "logs"
        options = ["--games", "2", "--jobs", "1", "--log", str(logs)]
        shown = here("arena", rare, rare, *options, "--out", str(games)).stdout
        assert set(re.findall(r"^\| (Rare(?: \d)?) ", shown, re.MULTILINE)) == {"Rare", "Rare 2"}
        assert "\nRare 2 raised KeyError" in shown
        assert f"\nRare 2 is {rare}.\n" in shown
        data = json.loads(here("arena", rare, rare, *options, "--resume", "--out", str(games), "--json").stdout)
        assert {each["bot"]: each["typed"] for each in data["bots"]} == dict.fromkeys(("Rare", "Rare 2"), rare)
        assert {each["bot"] for each in data["faults"]} == {"Rare", "Rare 2"}
        kept = [json.loads(line) for line in games.read_text().splitlines()[1:]]
        assert sorted(tuple(game["names"]) for game in kept) == [("Rare", "Rare 2"), ("Rare 2", "Rare")]
        assert {path.name for path in logs.iterdir()} == {"Rare.1.log", "Rare-2.1.log"}
        assert {f["log"].partition(":")[0] for f in data["faults"]} == {"Rare.1.log", "Rare-2.1.log"}
        assert "Rare 2 bids " in here("replay", str(games), "--game", "1").stdout
        listed = here("arena", "list", str(games)).stdout
        assert f"\n{rare} " not in listed
        assert re.search(r"^\| Rare +\|", listed, re.MULTILINE)


class TestWidth:
    """The output of an arena fits into 80 columns."""

    @pytest.mark.parametrize("size", [2, 10])
    @pytest.mark.parametrize("wins", [0, 1, 6, 11, 12])
    @pytest.mark.parametrize("margin", [0.0, 0.3])
    def test_tables_are_no_wider_than_a_terminal(self, size: int, wins: int, margin: float) -> None:
        bots = [f"{module}:{'Wide' * 9}" for module in "abc"]
        tables = gauntlet(3, ("spot-on",), (size,))
        arena = Plan(named(bots), tables, (), 12 * size, "1", 1)
        results = []
        for fixture in fixtures(tables, arena.games):
            seats = seated(tables[fixture.table], fixture.rotation)
            order = sorted(range(size), key=lambda seat: (seats[seat] != 0) == (fixture.deal < wins))
            places = tuple((seat,) for seat in order)
            results.append((fixture, Game(fixture.number, "spot-on", 0, places, ({},) * size, ((1234.5,),) * size, ())))
        shown = summary_text(Summary(arena, results, margin=margin)).splitlines()
        assert len([line for line in shown if line.startswith("| ")]) == 1 + 1 + 3 + 1 + 1 + 2
        assert max(map(columns, shown)) <= 80
        assert len(shown) < 24


class TestTerminal:
    """Only an arena's own messages are printed on its standard error."""

    @staticmethod
    def begin(folder: Path, *bots: str, games: int = 4) -> subprocess.Popen[str]:
        home = ["--home", str(folder / "home"), "--jobs", "1", "--games", str(games), "--move-ms", "20000"]
        command = [sys.executable, "-m", "p2pdice", "arena", *bots, *home]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def test_output_of_bots_goes_to_the_log_or_to_standard_error(self, tmp_path: Path) -> None:
        talks = "    print('thinking aloud', file=sys.stderr, flush=True)\n"
        begun = self.begin(tmp_path, program(tmp_path, talks + GOOD), "tests.cli.arena_players:Talks", "--json")
        standings, said = begun.communicate()
        assert begun.returncode == 0
        assert json.loads(standings)["bots"]
        assert "I think" in said
        assert "thinking" not in said
        assert "thinking aloud" in (tmp_path / "home" / "p2pdice.log").read_text(encoding="utf-8")

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no signal masks")
    def test_a_thread_that_starts_a_process_blocks_signals(self) -> None:
        """Regression test: starting multiprocessing's resource tracker in the same thread had unblocked signals."""
        script = """if True:
            import signal
            from concurrent.futures import ThreadPoolExecutor
            from cli.arena.pool import _undisturbed, local
            def mask():
                processes._process()
                return signal.pthread_sigmask(signal.SIG_BLOCK, [])
            with local(1)() as processes:
                with _undisturbed():
                    future = ThreadPoolExecutor.submit(processes, mask)
                print(*sorted(each.name for each in future.result()))
        """
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
        assert done.stdout == "SIGHUP SIGINT SIGTERM\n"

    @pytest.mark.skipif(os.name == "nt", reason="on Windows, Ctrl-C reaches a process as soon as it starts")
    @pytest.mark.parametrize("ending", ["SIGINT", *thoroughly(["SIGTERM", "SIGHUP"])])
    def test_a_signal_during_the_start_is_answered_with_a_sentence(self, tmp_path: Path, ending: str) -> None:
        begun = self.begin(tmp_path, "odds", "press", games=100_000)  # too many games to end before the signal
        while not descendants("spawn_main", of=begun.pid):
            assert begun.poll() is None
            time.sleep(0.02)
        if ending == "SIGHUP":  # the whole group would not survive it
            begun.send_signal(signal.SIGHUP)
        else:
            os.killpg(begun.pid, signal.Signals[ending])  # as a terminal does
        _, said = begun.communicate()
        assert begun.returncode == 130
        assert said.startswith("The games so far are in ")
        assert said.count("\n") == 1


@pytest.mark.thorough
class TestInterrupted:
    """An interrupted arena leaves no process behind and can be resumed."""

    @pytest.mark.parametrize("ending", ["SIGINT", "SIGKILL"])
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
    def test_an_interrupted_arena_is_resumed_by_the_same_command(self, tmp_path: Path, ending: str) -> None:
        bots = ["odds", program(tmp_path, GOOD)]

        def command(out: str, *options: str) -> list[str]:
            home = ["--home", str(tmp_path / "home"), "--json", "--move-ms", "20000", "--jobs", "2", "--games", "40"]
            return [sys.executable, "-m", "p2pdice", "arena", *bots, *home, "--out", str(tmp_path / out), *options]

        whole = subprocess.run(command("whole"), capture_output=True, check=True, text=True)
        begun = subprocess.Popen(command("part"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (tmp_path / "part").exists() or (tmp_path / "part").read_bytes().count(b"\n") < 3:
            assert begun.poll() is None
            time.sleep(0.01)
        family = psutil.Process(begun.pid).children(recursive=True)
        begun.send_signal(signal.Signals[ending])
        _, said = begun.communicate()
        assert begun.returncode == (130 if ending == "SIGINT" else -signal.SIGKILL)
        assert ("--resume" in said) == (ending == "SIGINT")
        assert not psutil.wait_procs(family, timeout=30)[1]
        resumed = subprocess.run(command("part", "--resume"), capture_output=True, check=True, text=True)
        assert without_clock(resumed.stdout) == without_clock(whole.stdout)


def without_clock(standings: str) -> Any:
    """Return the standings without times and paths."""
    data = json.loads(standings)
    return data["tables"], [{key: bot[key] for key in bot if not key.startswith("move_ms")} for bot in data["bots"]]
