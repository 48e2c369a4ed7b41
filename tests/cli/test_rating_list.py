"""A rating list counts each deal in its files once, and refuses lines that are not games."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cli.arena import game_file, rating_list
from cli.arena.fixtures import name_key, unique_names
from cli.arena.game_file import GameFileError
from cli.arena.rating_list import ListedRating, RatingList
from cli.arena.ratings import POINTS
from tests.cli.conftest import Run

HEADING = {"type": "arena", "version": 1, "p2pdice": "1", "folder": "/bots"}


def deal(number: int, seats: Sequence[str], winners: Sequence[int], seed: str = "", **change: Any) -> list[Any]:
    """Return the games of a deal. ``winners`` are indices into ``seats``, one for each rotation."""
    games = []
    for rotation, winner in enumerate(winners):
        bots = [*seats[rotation:], *seats[:rotation]]
        seat = (winner - rotation) % len(seats)
        places = [[seat], [each for each in range(len(seats)) if each != seat]]
        empty: list[Any] = [{} for _ in seats]
        game = {
            "type": "game", "number": number + rotation, "bots": bots, "names": bots, "rules": "classic", "options": {},
            "seed": seed or f"1 0 {number}", "leader": 0, "lines": [], "places": places,
            "ms": [[] for _ in seats], "faults": empty, "described": [],
        }  # fmt: skip
        games.append(game | change)
    return games


def file(path: Path, *lines: Any, end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines) + end, encoding="utf-8")
    return path


def deals(bots: Sequence[str], count: int, *, seed: int = 1, **change: Any) -> list[Any]:
    """Return games; the first bot wins about two thirds of them."""
    rng = Random(seed)
    return [
        game
        for number in range(count)
        for game in deal(
            len(bots) * number,
            bots,
            [0 if rng.random() < 2 / 3 else 1 for _ in bots],
            f"{seed} 0 {number}",
            **change,
        )
    ]


def listed(*paths: Path, rules: Sequence[str] = (), sizes: Sequence[int] = ()) -> tuple[RatingList, list[ListedRating]]:
    ratings = RatingList(rules, sizes)
    for path in paths:
        ratings.read(path)
    return ratings, ratings.ratings()


def key(ratings: list[ListedRating]) -> set[str]:
    """Return the lines below a rating list that explain its names."""
    texts = [each.bot.text for each in ratings]
    return set(name_key(texts, unique_names(texts), [each.bot.origin for each in ratings]))


class TestRatings:
    """Bots of different files are compared."""

    def test_bots_that_never_met_are_compared_through_common_opponents(self, tmp_path: Path) -> None:
        first = file(tmp_path / "1", HEADING, *deals(["a:A", "b:B"], 60))
        second = file(tmp_path / "2", HEADING, *deals(["b:B", "c:C"], 60, seed=2))
        _, ratings = listed(first, second)
        assert [each.bot.text for each in ratings] == ["a:A", "b:B", "c:C"]
        assert ratings[0].rating.lead is not None
        assert ratings[0].rating.lead.elo == pytest.approx(120, abs=60)
        assert sum(each.rating.over_mean.elo for each in ratings) == pytest.approx(0, abs=1e-6)
        assert [each.rating.games for each in ratings] == [120, 240, 120]
        points = [(each.rating.points, each.rating.fair_points) for each in ratings]
        assert tuple(map(sum, zip(*points, strict=True))) == (240 * POINTS, 240 * POINTS)

    def test_the_order_of_files_and_games_does_not_matter(self, tmp_path: Path) -> None:
        games = deals(["a:A", "b:B", "c:C"], 20)
        paths = [
            file(tmp_path / "1", HEADING, *games),
            file(tmp_path / "2", HEADING, *deals(["c:C", "d:D"], 20, seed=2)),
        ]
        _, before = listed(*paths)
        Random(1).shuffle(games)
        file(paths[0], HEADING, *games)
        assert listed(*reversed(paths))[1] == before

    def test_giving_a_file_twice_does_not_add_certainty(self, tmp_path: Path) -> None:
        path = file(tmp_path / "1", HEADING, *deals(["a:A", "b:B"], 300))
        (_, once), (_, twice) = listed(path), listed(path, path)
        assert twice[0].rating.over_mean.uncertainty == pytest.approx(once[0].rating.over_mean.uncertainty, rel=0.05)
        other = file(tmp_path / "2", HEADING, *deals(["a:A", "b:B"], 300, seed=2))
        assert listed(path, other)[1][0].rating.over_mean.uncertainty < 0.8 * once[0].rating.over_mean.uncertainty

    def test_bots_with_different_code_are_rated_separately(self, tmp_path: Path) -> None:
        codes = ["0123456789abcdef", "0123456789abcdef", "f" * 64]
        headings = [HEADING | {"bots": ["./bot", "odds"], "versions": [code, ""]} for code in codes]
        bots = ["odds", "./bot"]
        _, ratings = listed(*(file(tmp_path / f"{n}", each, *deals(bots, 9)) for n, each in enumerate(headings)))
        told = sorted(key(ratings))
        assert [line.partition(" is ")[0] for line in told] == ["bot 2", "bot"]
        assert {line.partition(" is ")[2] for line in told} == {
            "./bot (/bots 0123456789ab).", "./bot (/bots ffffffffffff)."
        }  # fmt: skip

    @pytest.mark.parametrize("versions", [None, 1, {}, ["x"], [None, 1, 2], [[], {}]], ids=str)
    def test_any_heading_is_accepted(self, tmp_path: Path, versions: Any) -> None:
        heading = HEADING | {"bots": versions, "versions": versions, "folder": versions, "p2pdice": versions}
        assert len(listed(file(tmp_path / "1", heading, *deals(["odds", "./bot"], 2)))[1]) == 2

    def test_bots_of_different_versions_or_folders_are_rated_separately(self, tmp_path: Path) -> None:
        bots = ["odds", "./bot"]
        headings = [HEADING, HEADING | {"p2pdice": "2"}, HEADING | {"folder": "/\x1b"}]
        _, ratings = listed(*(file(tmp_path / f"{n}", each, *deals(bots, 9)) for n, each in enumerate(headings)))
        assert {line.partition(" is ")[2] for line in key(ratings)} == {
            "odds (1).", "odds (2).", "./bot (/bots).", "./bot (/\\x1b)."
        }  # fmt: skip

    def test_incomplete_deals_do_not_count(self, tmp_path: Path) -> None:
        path = file(tmp_path / "1", HEADING, *deals(["a:A", "b:B"], 9)[:-1])
        result, ratings = listed(path)
        assert (result.games, result.incomplete, [each.rating.games for each in ratings]) == (17, 1, [16, 16])
        with path.open("a") as added:
            added.write('{"type":"ga')  # the arena was killed while writing it
        assert listed(path)[1] == ratings

    def test_only_games_of_the_given_rules_and_sizes_count(self, tmp_path: Path) -> None:
        path = file(
            tmp_path / "1", HEADING, *deals(["a:A", "b:B"], 3), HEADING, *deals(["a:A", "b:B"], 4, rules="perudo"),
            HEADING, *deals(["a:A", "b:B", "c:C"], 5),
        )  # fmt: skip
        assert [each.rating.games for each in listed(path, rules=["perudo"])[1]] == [8, 8]
        assert [each.rating.games for each in listed(path, sizes=[3])[1]] == [15, 15, 15]
        assert listed(path, rules=["motes"])[1] == []


class TestHostileFiles:
    """A file with impossible games is refused in a sentence that names the line."""

    @pytest.mark.parametrize(
        ("games", "said"),
        [
            (deal(0, "ab", [0]) * 2, r"line 2 of .*: game 0 is there twice"),
            (
                deal(0, "ab", [0], "1") + deal(2, "ac", [0], "1"),
                r"line 2 of .*: game 2 has the seed of games at another",
            ),
            (deals("ab", 4), r"line 7 of .*: there are more than 6 games"),
            (deals("abc", 1) + deal(3, "de", [0]), r"line 4 of .*: there are more than 3 bots"),
        ],
        ids=["twice", "another table", "many games", "many bots"],
    )
    def test_files_of_impossible_games_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, games: list[Any], said: str
    ) -> None:
        monkeypatch.setattr(game_file, "MOST_GAMES", 6)
        monkeypatch.setattr(rating_list, "MOST_BOTS", 3)
        with pytest.raises(GameFileError, match=said):
            listed(file(tmp_path / "1", *games))


class TestCommand:
    """``p2pdice arena list`` rates the bots in files of arenas."""

    def test_it_rates_the_arenas_of_the_home(self, here: Run) -> None:
        for bots in (("random", "odds"), ("odds", "press")):
            assert here("arena", *bots, "--games", "4", "--jobs", "1", "--set", "dice=1").returncode == 0
        data = json.loads(here("arena", "list", "--json").stdout)
        assert ({each["bot"] for each in data["bots"]}, data["games"]) == ({"random", "odds", "press"}, 8)
        assert {each["bot"]: each["games"] for each in data["bots"]}["odds"] == 8

    def test_it_prints_a_table(self, here: Run, tmp_path: Path) -> None:
        path = file(tmp_path / "1", HEADING, *deals(["a:A|", "b:B"], 9))
        lines = here("arena", "list", str(path)).stdout.splitlines()
        assert lines[0].replace(" ", "") == "|bot|rating|lead|games|won%|fair|"
        assert lines[2].startswith("| a:A/ |")
        assert lines[-1] == "18 games in one file."

    @pytest.mark.parametrize(
        ("content", "said"), [(None, "cannot be read"), ("x\n", "Line 1 of"), ("", "There are no complete deals")]
    )
    def test_files_that_cannot_be_rated_are_explained_in_a_sentence(
        self, here: Run, tmp_path: Path, content: str | None, said: str
    ) -> None:
        path = tmp_path / "1"
        if content is not None:
            path.write_text(content)
        done = here("arena", "list", str(path))
        assert done.returncode == (0 if content == "" else 1)
        assert said in " ".join((done.stdout + done.stderr).split())

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such file")
    def test_a_device_is_not_read(self, here: Run) -> None:
        assert "cannot be read" in here("arena", "list", "/dev/zero").stderr
