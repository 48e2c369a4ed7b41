"""Ratings, their intervals, and decisions of an arena, checked with simulated games of known strengths.

Each simulated deal draws one random number. With luck "alike", all games of the deal use that number, so they all have
the same winner. With luck "shared", the number is shifted in each rotation, so the entrants take turns at being lucky.
The probability of winning a single game is the same in both cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb, exp, log, sqrt
from random import Random
from typing import Literal

import pytest

from cli.arena.bounds import interval, quantile_of
from cli.arena.fixtures import ArenaTable, Fixture, seated
from cli.arena.game_file import Game
from cli.arena.ratings import ELO, POINTS, Deal, Deals, DealScore, Difference, rate, share
from cli.arena.standings import Decision, Verdict, verdict
from tests.tiers import thoroughly

Luck = Literal["alike", "shared"]


def simulated(rng: Random, seats: Sequence[int], logs: Sequence[float], luck: Luck) -> Deal:
    """Return the scores of a deal. ``logs`` are the logarithms of the entrants' strengths."""
    entrants = sorted(set(seats))
    strengths = [seats.count(entrant) * exp(logs[entrant]) for entrant in entrants]
    points: Counter[int] = Counter()
    number = rng.random()
    for rotation in range(len(seats)):
        at = sum(strengths) * (number if luck == "alike" else (number + rotation / len(seats)) % 1)
        for winner, strength in zip(entrants, strengths, strict=True):
            at -= strength
            if at < 0:
                points[winner] += POINTS
                break
    return tuple(DealScore(entrant, seats.count(entrant), points[entrant]) for entrant in entrants)


def won(entrant: int, other: int, share: float = 1) -> list[Deal]:
    """Return a deal of two games; ``entrant`` has won this share of them."""
    points = round(2 * POINTS * share)
    return [tuple(sorted((DealScore(entrant, 1, points), DealScore(other, 1, 2 * POINTS - points))))]


def rated(lucks: Iterable[Sequence[Deal]], entrants: int) -> list[Difference]:
    """Return each rating as a difference to the mean, with its standard error."""
    return [rating.over_mean for rating in rate(lucks, entrants, 1)]


def plausible(trials: int, chance: float) -> range:
    """Return the plausible numbers of successes. Fewer or more each have a probability below 1/1000."""
    chances = [comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits) for hits in range(trials + 1)]
    low = next(hits for hits in range(trials) if sum(chances[: hits + 1]) > 0.001)
    high = next(hits for hits in range(trials, 0, -1) if sum(chances[hits:]) > 0.001)
    return range(low, high + 1)


class TestRatings:
    """Ratings agree with the model and do not depend on the order of games."""

    def test_ratings_equal_the_published_example(self) -> None:
        """Agresti, Categorical Data Analysis (2002), table 10.11: baseball in 1987, compared with Baltimore."""
        teams = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
        victories = (
            (0, 7, 9, 7, 7, 9, 11), (6, 0, 7, 5, 11, 9, 9), (4, 6, 0, 7, 7, 8, 12), (6, 8, 6, 0, 6, 7, 10),
            (6, 2, 6, 7, 0, 7, 12), (4, 4, 5, 6, 6, 0, 6), (2, 4, 1, 3, 1, 7, 0),
        )  # fmt: skip
        many = 100  # so that the prior's hypothetical deals are negligible
        lucks = [
            won(one, other)
            for one, row in enumerate(victories)
            for other, count in enumerate(row)
            for _ in range(many * count)
        ]
        ratings = rated(lucks, len(teams))
        logs = {team: round((own.elo - ratings[-1].elo) / ELO, 2) for team, own in zip(teams, ratings, strict=True)}
        assert logs == {
            "Milwaukee": 1.58, "Detroit": 1.44, "Toronto": 1.29, "New York": 1.25, "Boston": 1.11, "Cleveland": 0.68,
            "Baltimore": 0,
        }  # fmt: skip

    def test_ratings_equal_those_of_hunters_algorithm(self) -> None:
        rng, logs = Random(1), (0.0, 1.0, -0.5, 0.3)
        tables = [(0, 1), (0, 1, 1, 1), (1, 2, 3), (0, 2, 0, 3), (3, 3, 0)]
        deals = [simulated(rng, seats, logs, "shared") for seats in tables for _ in range(6)]
        strengths = [1.0] * 4
        for _ in range(1_000):
            victories, expected = [2.0] * 4, [4 / (1 + own) for own in strengths]  # against the hypothetical entrant
            for deal in deals:
                games = sum(score.seats for score in deal)
                total = sum(score.seats * strengths[score.entrant] for score in deal)
                for score in deal:
                    victories[score.entrant] += score.points / POINTS
                    expected[score.entrant] += games * score.seats / total
            strengths = [own / each for own, each in zip(victories, expected, strict=True)]
        middle = sum(map(log, strengths)) / 4
        ratings = [own.elo for own in rated([[deal] for deal in deals], 4)]
        assert ratings == pytest.approx([ELO * (log(own) - middle) for own in strengths], abs=1e-3)

    def test_ratings_do_not_depend_on_the_order_of_games(self) -> None:
        rng = Random(1)
        tables = [ArenaTable("classic", seats) for seats in ((0, 1), (0, 1, 2), (1, 2, 2, 2))]
        games = []
        for table, (_, seats) in enumerate(tables):
            for deal in range(30):
                for rotation in range(len(seats)):
                    order = rng.sample(range(len(seats)), len(seats))
                    first = rng.randrange(1, 3)
                    places = (tuple(order[:first]), *((seat,) for seat in order[first:]))
                    game = Game(0, "classic", 0, places, ({},) * len(seats), ((),) * len(seats), ())
                    games.append(((table, deal), seats[rotation:] + seats[:rotation], game))

        def ratings() -> list[Difference]:
            deals = Deals()
            return rated([[deal] for each in games if (deal := deals.add(*each))], 3)

        before = ratings()
        rng.shuffle(games)
        assert ratings() == before
        assert len({own.elo for own in before}) == 3

    def test_a_shared_victory_is_divided(self) -> None:
        table = ArenaTable("classic", (0, 1, 2))
        deals = Deals()
        for rotation in range(3):
            seats = seated(table, rotation)
            shared = tuple(seat for seat in range(3) if seats[seat] < 2)
            places = (shared, (seats.index(2),))
            result = deals.add(0, seats, Game(0, "classic", 0, places, ({},) * 3, ((),) * 3, ()))
        assert result == tuple(DealScore(entrant, 1, points) for entrant, points in enumerate((3780, 3780, 0)))
        first, second, third = rated([[result]] * 9, 3)
        assert first == pytest.approx(second)
        assert first.elo > 0 > third.elo

    def test_an_entrant_who_never_wins_has_an_uncertain_rating(self) -> None:
        best, worst = rated([won(0, 1)] * 200, 2)
        assert best.elo - worst.elo > 700
        assert quantile_of(0.99) * best.uncertainty > best.elo / 4

    def test_a_third_entrant_makes_no_lead_uncertain(self) -> None:
        """An entrant who never wins makes differences to the mean uncertain, but not leads over another entrant."""
        rng = Random(1)
        pairs = [[simulated(rng, (0, 1), (0.5, 0), "shared")] for _ in range(200)]
        (alone, _), (lead, _, last) = (rate(lucks, n, 1) for n, lucks in ((2, pairs), (3, pairs + [won(0, 2)] * 200)))
        assert lead.lead is not None
        assert alone.lead is not None
        assert lead.lead == pytest.approx(alone.lead, rel=0.1)
        assert alone.lead == pytest.approx((2 * alone.over_mean.elo, 2 * alone.over_mean.uncertainty))
        assert lead.over_mean.uncertainty > 2 * lead.lead.uncertainty
        assert last.lead is None

    def test_entrants_who_never_met_are_not_compared(self) -> None:
        rng = Random(1)
        pairs = [[simulated(rng, seats, (0, 1, 0, 1), "shared")] for seats in ((0, 1), (2, 3)) for _ in range(500)]
        ratings = rated(pairs, 4)
        assert ratings[1].elo - ratings[0].elo == pytest.approx(ELO, rel=0.2)
        assert min(own.uncertainty for own in ratings) > 100

    def test_counting_games_twice_adds_no_certainty(self) -> None:
        rng = Random(1)
        deals = [simulated(rng, (0, 1), (0, 1), "shared") for _ in range(500)]
        once, twice, independent = (
            rated(lucks, 2)[0].uncertainty
            for lucks in ([[deal] for deal in deals], [[deal] * 2 for deal in deals], [[deal] for deal in deals * 2])
        )
        assert twice == pytest.approx(once, rel=0.05)
        assert independent == pytest.approx(once / sqrt(2), rel=0.05)


COVERAGE = 0.9
TRIALS = 200


def covered(tables: Sequence[tuple[int, ...]], logs: Sequence[float], luck: Luck, deals: int) -> Counter[int]:
    """Return for each entrant the number of trials in which its interval contains the true rating."""
    middle = sum(logs) / len(logs)
    hits: Counter[int] = Counter()
    for trial in range(TRIALS):
        rng = Random(trial)
        ratings = rated([[simulated(rng, seats, logs, luck)] for seats in tables for _ in range(deals)], len(logs))
        for entrant, own in enumerate(ratings):
            error = own.elo - ELO * (logs[entrant] - middle)
            hits[entrant] += abs(error) <= quantile_of(COVERAGE) * own.uncertainty
    return hits


class TestIntervals:
    """Intervals contain the true value as often as they claim."""

    @pytest.mark.parametrize(
        ("tables", "logs"),
        [
            ([(0, 1)], (0, 0.7)),
            ([(0, 1), (0, 2), (1, 2)], (0, 0.5, 1)),
            ([(0, 1, 1, 1), (0, 2, 2, 2)], (0.8, 0, 0.3)),
            ([(0, 1, 2)], (0, 0.4, 0.6)),
        ],
        ids=["two", "round robin", "gauntlet", "three"],
    )
    @pytest.mark.parametrize("luck", [*thoroughly(["alike"]), "shared"])
    def test_intervals_of_ratings_contain_the_true_rating(
        self, tables: Sequence[tuple[int, ...]], logs: Sequence[float], luck: Luck
    ) -> None:
        hits = covered(tables, logs, luck, 40)
        assert {entrant for entrant in hits if hits[entrant] not in plausible(TRIALS, COVERAGE)} == set()

    @pytest.mark.parametrize("luck", ["alike", "shared"])
    def test_intervals_of_shares_contain_the_true_share(self, luck: Luck) -> None:
        seats, logs, hits = (0, 1, 1, 1), (0.8, 0.0), 0
        expected = exp(logs[0]) / (exp(logs[0]) + 3)
        for trial in range(TRIALS):
            rng = Random(trial)
            won = [share(simulated(rng, seats, logs, luck), 0) for _ in range(60)]
            hits += not interval(won, COVERAGE).excludes(expected)
        assert hits in plausible(TRIALS, COVERAGE)

    def test_wrongly_assuming_independent_games_would_be_detected(self) -> None:
        logs, deals, hits = (0.0, 0.7), 40, 0
        chance = 1 / (1 + exp(logs[0] - logs[1]))
        for trial in range(TRIALS):
            rng = Random(trial)
            own = rated([[simulated(rng, (0, 1), logs, "alike")] for _ in range(deals)], 2)[1]
            independent = ELO / 2 / sqrt(2 * deals * chance * (1 - chance))
            hits += abs(own.elo - ELO * 0.35) <= quantile_of(COVERAGE) * independent
        assert hits not in plausible(TRIALS, COVERAGE)


ERROR = 0.2
PAIR = ArenaTable("classic", (0, 1))
WON_BY = [Game(0, "classic", 0, ((seat,), (1 - seat,)), ({}, {}), ((), ()), ()) for seat in (0, 1)]
"""Games of two players. The index is the winner."""


def scores(rng: Random, chance: float, deals: int) -> list[int]:
    """Return the number of games, 0 or 2, that an entrant wins in each deal."""
    return [2 * (rng.random() < chance) for _ in range(deals)]


def decision_on(victories: Sequence[int], margin: float) -> Decision:
    """Return the decision on two entrants. It can be made after any deal."""
    decision = Decision((PAIR,), ERROR, margin)
    for deal, wins in enumerate(victories):
        for rotation in (0, 1):
            winner = rotation if rotation < wins else 1 - rotation  # the rotation is the seat of the first entrant
            decision.add(Fixture(0, 0, deal, rotation), WON_BY[winner])
        if decision.is_made:
            break
    return decision


def decided(victories: Sequence[int], margin: float) -> Verdict:
    """Return the verdict of a decision about the first entrant."""
    return verdict(decision_on(victories, margin).bounds(0, 0), 0.5, margin)


def decided_by(victories: Sequence[int], margin: float) -> Verdict:
    """Decide incorrectly: look repeatedly at intervals that are only valid for a fixed number of deals."""
    for deals in range(10, len(victories) + 1, 10):
        bounds = interval([wins / 2 for wins in victories[:deals]], 1 - ERROR)
        if (answer := verdict(bounds, 0.5, margin)) != "open":
            return answer
    return "open"


class TestDecisions:
    """Decisions are made, and are wrong at most as often as they claim."""

    @pytest.mark.parametrize(
        ("chance", "margin", "wrong"),
        [
            (0.5, 0.0, {"better", "worse"}),
            pytest.param(0.5, 0.05, {"better", "worse"}, marks=pytest.mark.thorough),
            pytest.param(0.4, 0.1, {"better", "alike", "not worse"}, marks=pytest.mark.thorough),
        ],
        ids=["equals", "equals, with a margin", "worse by the margin"],
    )
    def test_decisions_are_seldom_wrong(self, chance: float, margin: float, wrong: set[Verdict]) -> None:
        rngs = [Random(trial) for trial in range(100)]
        errors = sum(decided(scores(rng, chance, 200), margin) in wrong for rng in rngs)
        assert errors < plausible(100, ERROR).stop

    def test_repeated_looks_at_fixed_intervals_would_be_detected(self) -> None:
        rngs = [Random(trial) for trial in range(100)]
        errors = sum(decided_by(scores(rng, 0.5, 200), 0.0) != "open" for rng in rngs)
        assert errors >= plausible(100, ERROR).stop

    @pytest.mark.parametrize(
        ("chance", "margin", "right"),
        [(0.7, 0.0, {"better"}), (0.3, 0.1, {"worse"}), (0.5, 0.2, {"alike", "not worse"})],
    )
    def test_clear_differences_are_decided(self, chance: float, margin: float, right: set[Verdict]) -> None:
        answers = [decided(scores(Random(trial), chance, 800), margin) for trial in range(20)]
        assert "open" not in answers
        assert sum(answer in right for answer in answers) in plausible(20, 1 - ERROR / 2)

    @pytest.mark.parametrize(("margin", "is_made"), [(0.0, False), (0.2, True)])
    def test_equal_entrants_are_decided_only_with_a_margin(self, margin: float, is_made: bool) -> None:
        assert decision_on([1] * 100, margin).is_made == is_made
