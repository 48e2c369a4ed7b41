"""``p2pdice history``: the list of finished matches, and statistics that are recounted here in another way."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.exits import ExitCode
from cli.history import (
    UNUSUAL,
    MatchFigures,
    WeighedMove,
    chi_square,
    data,
    dice_lines,
    holm,
    p_value,
    records,
    table,
    wilson,
)
from cli.render import columns
from cli.text.rounds import Weighed
from p2pdice.rulesets import PRESETS
from protocol.consensus.transcript import write_transcript
from protocol.events import PlayerInfo
from tests.cli.conftest import Run
from tests.cli.test_replay import play
from tests.simulation.world import World

DAY = "%Y-%m-%d"
SMALL = PRESETS["classic"].with_options({"dice": "2"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of the commands, with two watched matches: one of classic and one of motes."""
    folder = tmp_path / "home" / "matches"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    for name in ("classic", "motes"):
        (folder / f"{name}.p2pdice").write_bytes(play(PRESETS[name]).machines[0].transcript)
    return tmp_path / "home"


def matches(here: Run, *options: str) -> list[dict[str, Any]]:
    done = here("history", "--json", *options)
    assert done.returncode == ExitCode.DONE, done.stderr
    return list(json.loads(done.stdout)["matches"])


def stats(here: Run, *options: str) -> dict[str, Any]:
    done = here("history", "stats", "--json", *options)
    assert done.returncode == ExitCode.DONE, done.stderr
    return dict(json.loads(done.stdout))


# The list


@pytest.mark.usefixtures("home")
def test_matches_are_filtered_by_player_rules_and_day(here: Run) -> None:
    today, tomorrow = (f"{datetime.now() + timedelta(days=days):{DAY}}" for days in (0, 1))
    assert {each["rules"] for each in matches(here)} == {"classic", "motes"}
    assert [each["rules"] for each in matches(here, "--rules", "Motes")] == ["motes"]
    assert len(matches(here, "--player", "ada")) == 2
    assert matches(here, "--player", "Ad") == []
    key = stats(here)["players"][0]["fingerprint"]
    assert len(matches(here, "--player", key[:9])) >= 1
    assert len(matches(here, "--since", today)) == len(matches(here, "--until", today)) == 2
    assert matches(here, "--since", tomorrow) == []


def test_own_matches_are_listed_with_their_winners(here: Run, demo: dict[str, Any], tmp_path: Path) -> None:
    mine = tmp_path / "copy"
    shutil.copytree(Path(demo["transcripts"][0]).parent.parent, mine)
    (found,) = matches(here, "--home", str(mine))
    assert found["state"] == "finished"
    assert found["winners"] == demo["winners"]
    won = "you won" if demo["winners"] == ["Ada"] else f"{demo['winners'][0]} won"
    for _ in range(2):
        told = here("history", "--home", str(mine)).stdout
        assert "Ada (you)" in told
        assert won in told
        for path in mine.glob("store.sqlite3*"):
            path.unlink()  # then only the transcript tells who won
    assert "Ada (you)" in here("history", "stats", "--home", str(mine)).stdout


@pytest.mark.usefixtures("home")
def test_winners_of_watched_matches_are_read_from_their_transcripts(here: Run) -> None:
    assert all(len(each["winners"]) == 1 for each in matches(here))
    assert "(you)" not in here("history").stdout


def test_a_transcript_without_the_end_of_its_match_is_listed_as_incomplete(here: Run, home: Path) -> None:
    world = World(SMALL, 2, 1)
    while not any(machine.turn for machine in world.machines):
        world.step()
    (home / "matches" / "motes.p2pdice").write_bytes(write_transcript(world.machines[0].match.history))
    assert {(each["state"], len(each["winners"]), each["incomplete"]) for each in matches(here)} == {
        ("transcript", 1, None),
        ("transcript", 0, True),
    }
    assert sum(line.endswith("; incomplete") for line in here("history").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--since", "yesterday"), "yesterday is not a day, such as 2026-11-22."),
        (("--rules", "clasic"), "clasic is not one of"),
        (("--player", "Ada", "stats"), "put the options after stats: history stats --player Ada"),
    ],
)
def test_mistakes_in_history_commands_are_explained(here: Run, arguments: tuple[str, ...], said: str) -> None:
    done = here("history", *arguments)
    assert done.returncode == ExitCode.USAGE
    assert said in done.stderr.replace("\n", " ")


@pytest.mark.usefixtures("home")
def test_the_first_and_last_day_of_the_calendar_are_accepted(here: Run) -> None:
    """In some time zones one of these days is out of range: the first east of London, the last west of it."""
    assert len(matches(here, "--since", "0001-01-01")) == len(matches(here, "--until", "9999-12-31")) == 2
    assert matches(here, "--until", "0001-01-01") == matches(here, "--since", "9999-12-31") == []


def test_a_truncated_copy_does_not_hide_the_complete_file(here: Run, home: Path) -> None:
    whole = home / "matches" / "classic.p2pdice"
    cut = home / "matches" / "zz.p2pdice"
    cut.write_bytes(whole.read_bytes()[:6000])
    later = whole.stat().st_mtime + 60
    os.utime(cut, (later, later))
    assert (stats(here)["matches"], stats(here)["left_out"]) == (2, [])


def test_a_player_is_called_by_the_name_used_last(here: Run, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "matches"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    for day, name in enumerate(("Old", "New"), 10):
        path = folder / f"{name}.p2pdice"
        path.write_bytes(play(SMALL, 2, names=(name, "Ben")).machines[0].transcript)
        os.utime(path, (86400 * day, 86400 * day))
    assert ["Old", "New"] in [each["names"] for each in stats(here)["players"]]
    told = here("history", "stats").stdout
    assert "New" in told
    assert "Old" not in told


def test_an_empty_home_has_no_history(here: Run) -> None:
    assert here("history").stdout == "No match has ended here yet. To play one:\n    p2pdice host\n"
    assert stats(here) == {"matches": 0, "left_out": [], "players": []}


def test_a_match_of_another_version_is_listed_and_not_hidden(here: Run, home: Path) -> None:
    """Its players are unknown, so a list of one player's matches says that it was left out."""
    path = home / "matches" / "motes.p2pdice"
    path.write_bytes(path.read_bytes().replace(b"p2pdice/3/", b"p2pdice/1/"))
    assert here("history").stdout.splitlines()[-1] == "Two matches."
    asked = here("history", "--player", "Ada").stdout
    assert "One match.\nLeft out," in asked
    assert "motes" in asked
    assert "motes" in stats(here, "--player", "Ada")["left_out"]


# The statistics


def test_the_statistics_equal_a_count_of_the_replayed_events(here: Run, home: Path) -> None:
    """The figures are recounted from the events of ``replay --json``."""
    found = {each["fingerprint"]: each for each in stats(here)["players"]}
    bids: Counter[str] = Counter()
    bluffs: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    right: Counter[str] = Counter()
    won: Counter[str] = Counter()
    dice: dict[str, Counter[int]] = {key: Counter() for key in found}
    for path in sorted((home / "matches").iterdir()):
        by_seat: list[str] = []
        for line in here("replay", str(path), "--json").stdout.splitlines():
            said = json.loads(line)
            if said["type"] == "MatchStarted":
                by_seat = [player["fingerprint"] for player in said["players"]]
            if said["type"] == "CupsSeen":
                for seat, hand in enumerate(said["hands"]):
                    dice[by_seat[seat]].update(hand or [])
            if said["type"] == "MatchOver":
                won.update(by_seat[seat] for seat in said["places"][0])
            if (odds := said.get("odds")) is None:
                continue
            key = by_seat[said["event"]["seat"]]
            if said["event"]["type"] == "bid":
                bids[key] += 1
                bluffs[key] += odds["percent"] < 50
            elif odds["right"] is not None:
                calls[key] += 1
                right[key] += odds["right"]
    for key, each in found.items():
        assert (each["bluffs"]["hits"], each["bluffs"]["trials"]) == (bluffs[key], bids[key])
        assert (each["calls_right"]["hits"], each["calls_right"]["trials"]) == (right[key], calls[key])
        assert each["dice"] == [dice[key][face] for face in range(1, 7)]
        assert (each["won"]["hits"], each["matches"]) == (won[key], 2)
    assert sum(bids.values()) > 20
    assert sum(bluffs.values()) > 0
    assert sum(right.values()) > 0


def test_a_match_with_proven_misconduct_is_named_and_left_out(here: Run, home: Path) -> None:
    vector = Path(__file__).resolve().parents[1] / "vectors" / "proof.p2pdice"
    (home / "matches" / "cheated.p2pdice").write_bytes(vector.read_bytes())
    found = stats(here)
    assert (found["matches"], found["left_out"]) == (2, ["cheated"])


def test_altered_and_unfinished_files_are_named_and_left_out(here: Run, home: Path) -> None:
    path = home / "matches" / "motes.p2pdice"
    fair = path.read_bytes()
    path.write_bytes(fair[:-1] + bytes([fair[-1] ^ 1]))
    unfinished = play(PRESETS["classic"].with_options({"dice": "2"}), leaves_after=40).machines[0].transcript
    (home / "matches" / "unfinished.p2pdice").write_bytes(unfinished[: len(unfinished) // 2])
    found = stats(here)
    assert found["matches"] == 1
    assert len(found["left_out"]) == 2
    assert "Left out" in here("history", "stats").stdout


@pytest.mark.usefixtures("home")
def test_the_tables_fit_a_terminal_and_explain_the_test_of_dice(here: Run) -> None:
    lines = here("history", "stats").stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith(("The range in brackets", "By luck")))
    assert any("x luck: 2.00 is twice the wins that luck alone gives." in line for line in lines)
    assert "multiplied by the number of players" in lines[-1]
    assert "only looks for a fault of the program" in lines[-1]


def test_the_statistics_escape_names_of_peers(here: Run, tmp_path: Path) -> None:
    hostile = MatchFigures("", (PlayerInfo("\x1b[2J", "K7QF-2M3A"),), ((0,),), [[1] * 6])
    assert "\x1b" not in "\n".join(dice_lines(records([hostile]), ()))


def test_wide_names_stay_in_their_column_and_namesakes_are_told_apart() -> None:
    players = [PlayerInfo(name, key) for name, key in (("五" * 20, "AAAA-1"), ("五" * 20, "BBBB-1"), ("Ada", "CCCC-1"))]
    found = records([MatchFigures("", tuple(players), ((0,), (1,), (2,)), [[1] * 6] * 3)])
    lines = [*table(found, ())]
    assert len({columns(line) for line in lines}) == 1
    assert all(columns(line) <= 80 for line in lines)
    assert all(key in "".join(lines) and key in "".join(dice_lines(found, ())) for key in ("(AAAA)", "(BBBB)"))


def test_the_reader_is_marked_even_among_namesakes() -> None:
    players = tuple(PlayerInfo(name, key) for name, key in (("Alexandria" * 2, "AAAA-1"), ("Alexandria" * 2, "BBBB-1")))
    found = records([MatchFigures("", players, ((0,), (1,)), [[1] * 6] * 2)])
    for lines in (table(found, {"BBBB-1"}), dice_lines(found, {"BBBB-1"})):
        _, first, second = lines
        assert "(AAAA)" in first
        assert "(you, BBBB)" in second
        assert columns(first) == columns(second) <= 80


def test_the_records_of_three_matches_equal_those_counted_by_hand() -> None:
    """The figures of three matches: one with shared victory, one unfinished, and one with a namesake."""
    ada, ben, cleo = PlayerInfo("Ada", "AAAA-1"), PlayerInfo("Ben", "BBBB-1"), PlayerInfo("Cleo", "CCCC-1")
    namesake = PlayerInfo("Ada", "DDDD-1")

    def bid(seat: int, chance: Fraction, is_true: bool | None) -> WeighedMove:
        return WeighedMove(seat, Weighed(False, 5, seat, chance, is_right=is_true))

    def called(seat: int, is_right: bool | None) -> WeighedMove:
        return WeighedMove(seat, Weighed(True, 5, seat, Fraction(1, 3), is_right=is_right))

    half, less = Fraction(1, 2), Fraction(499, 1000)
    shared = MatchFigures(
        "1", (ada, ben, cleo), ((0, 2), (1,)), [[1, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0], [0, 0, 3, 0, 0, 0]]
    )
    shared.moves = [bid(0, half, True), bid(0, less, False), bid(1, less, None), called(2, True), called(0, False)]
    unfinished = MatchFigures(
        "2", (ben, ada), (), [[0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 5, 0]], [called(0, True), called(0, None)]
    )
    last = MatchFigures("3", (PlayerInfo("Adele", "AAAA-1"), namesake), ((1,), (0,)), [[0] * 6, [0] * 6])
    found = records([shared, unfinished, last])
    assert [
        (each["fingerprint"], each["names"], each["matches"], each["won"]["hits"], each["fair_wins"])
        for each in data(found)
    ] == [
        ("AAAA-1", ["Ada", "Adele"], 2, 0.5, 0.8333),
        ("BBBB-1", ["Ben"], 1, 0, 0.3333),
        ("CCCC-1", ["Cleo"], 1, 0.5, 0.3333),
        ("DDDD-1", ["Ada"], 1, 1, 0.5),
    ]
    shares = [
        [(each[name]["hits"], each[name]["trials"]) for name in ("bluffs", "true_bids", "calls_right")]
        for each in data(found)
    ]
    assert shares == [
        [(1, 2), (1, 2), (0, 1)],
        [(1, 1), (0, 0), (1, 1)],
        [(0, 0), (0, 0), (1, 1)],
        [(0, 0), (0, 0), (0, 0)],
    ]
    assert [each["dice"] for each in data(found)[:2]] == [[1, 0, 0, 0, 5, 0], [0, 2, 0, 4, 0, 0]]
    _, first, *_, fourth = table(found, ())
    assert first.split()[:5] == ["Adele", "2", "25%", "(3-80)", "0.60"]
    assert fourth.split()[:3] == ["Ada", "(DDDD)", "1"]


# Chance


def test_fair_dice_are_seldom_marked_and_loaded_dice_nearly_always() -> None:
    """400 homes of four players with 600 dice each: Holm's method keeps the chance of any mark near the level."""
    chance = random.Random(1)

    def marked(weights: list[int]) -> bool:
        tests = []
        for player in range(4):
            dealt = Counter(chance.choices(range(6), weights if player == 0 else None, k=600))
            tests.append(p_value(chi_square([dealt[face] for face in range(6)])))
        return min(holm(tests)) < UNUSUAL

    fair = sum(marked([1] * 6) for _ in range(400))
    assert 8 <= fair <= 36
    assert sum(marked([2, 1, 1, 1, 1, 1]) for _ in range(20)) >= 18


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_corrects_upwards_and_keeps_the_order(chances: list[float]) -> None:
    corrected = holm(chances)
    for at, before in enumerate(chances):
        assert before <= corrected[at] <= 1
        assert all(corrected[at] <= corrected[other] for other, it in enumerate(chances) if before < it)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_the_interval_contains_the_observed_share(hits: int, trials: int) -> None:
    hits = min(hits, trials)
    low, high = wilson(hits, trials, 0.95)
    assert 0 <= low <= hits / trials + 1e-9
    assert hits / trials - 1e-9 <= high <= 1
    assert wilson(hits, trials, 0.99)[0] <= low + 1e-9
