"""``p2pdice replay``: a match as text, as JSON, and as one player saw it. Altered files are not replayed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from cli.commands.replay import app
from cli.exits import ExitCode
from cli.settings import Settings
from cli.text.rounds import Weighed, hindsight, weigh
from cli.text.seating import Seating, UnknownPlayerError, find_seat
from p2pdice.counting import at_least
from p2pdice.events import BidMade, ChallengeCalled, HandsShown, Judged
from p2pdice.moves import Hand
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import State
from protocol.consensus.transcript import write_transcript
from protocol.consensus.verifier import examine
from protocol.events import CupsSeen, Happened, PlayerInfo
from protocol.files import write_whole
from protocol.match.replay import Replay
from protocol.storage.archive import transcript_path
from protocol.storage.home import Home
from protocol.wire.canonical import encode
from protocol.wire.genesis import Patience
from tests.cli.conftest import Run
from tests.cli.test_verify import namesakes
from tests.protocol.histories import until
from tests.simulation.world import World, join_record

NAMES = ("Ada", "Ben", "Cleo")
SMALL = PRESETS["classic"].with_options({"dice": "2"})
DICE = r"[1-6](?:, [1-6])*\."


@cache
def play(
    ruleset: Ruleset,
    players: int = 3,
    seed: int = 2,
    *,
    leaves_after: int | None = None,
    names: tuple[str, ...] = NAMES,
) -> World:
    """Play a match between Ada, Ben and Cleo. With ``leaves_after``, the last player crashes after that many events."""
    with patch(
        "tests.simulation.world.join_record", lambda seed, number: join_record(seed, number, nickname=names[number])
    ):
        world = World(ruleset, players, seed, patience=Patience(20, 10))
    if leaves_after is not None:
        for _ in range(leaves_after):
            world.step()
        world.crash(players - 1)
    world.run()
    return world


@pytest.fixture(scope="module")
def classic() -> World:
    return play(PRESETS["classic"].with_options({"dice": "3"}))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], str]:
    """A function that writes a transcript and returns its path."""

    def write(data: bytes) -> str:
        path = tmp_path / "match.p2pdice"
        path.write_bytes(data)
        return str(path)

    return write


class Shown:
    """The output of one run of the command, in the process of the test."""

    def __init__(self, *arguments: str) -> None:
        done = CliRunner().invoke(app, [*arguments], obj=Settings())
        self.code, self.lines, self.errors = done.exit_code, done.stdout.splitlines(), done.stderr
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception


def rounds(lines: list[str]) -> list[list[str]]:
    """Return the lines of each round, its headline first."""
    starts = [place for place, line in enumerate(lines) if line.startswith("Round ") and " void" not in line]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


@pytest.mark.parametrize("name", PRESETS)
def test_a_replay_shows_all_dice_at_the_start_of_each_round(name: str, written: Callable[[bytes], str]) -> None:
    world = play(PRESETS[name])
    shown = Shown(written(world.machines[0].transcript))
    assert shown.code == ExitCode.DONE
    replay = Replay(examine(world.machines[0].transcript), Path("x"))
    rolled = [event for _, event in replay.tell() if isinstance(event, CupsSeen)]
    told = rounds(shown.lines)
    assert len(told) == len(rolled)
    for lines, seen in zip(told, rolled, strict=True):
        start = lines.index("All dice of this round:")
        bids = [place for place, line in enumerate(lines) if " bids " in line]
        assert start < min(bids, default=start + 1)
        cups = [cup for cup in seen.hands if cup != ()]
        for line, cup in zip(lines[start + 1 :], cups, strict=False):
            assert re.findall(r"[1-6]", line) == [str(face) for face in cup or ()], line
        motes = seen.state.motes
        if motes is not None:
            names = Seating.of(replay.players, None)
            shown_cups = [
                f"    {names.names[seat]}'s cup: {', '.join(names.die(die, seat) for die in cup)}"
                for seat, cup in enumerate(motes.cups)
                if cup
            ]
            assert set(shown_cups) <= set(lines)
    assert any(re.match(r"(Ada|Ben|Cleo)( and \w+)? wins?\.", line) for line in shown.lines)
    assert "".join(shown.lines).isprintable()


def test_every_bid_and_call_has_odds_by_its_players_dice(classic: World, written: Callable[[bytes], str]) -> None:
    shown = Shown(written(classic.machines[0].transcript))
    made = [line for line in shown.lines if re.match(r"(Ada|Ben|Cleo) (bids|calls)", line)]
    assert len(made) > 10
    for line in made:
        name = line.split()[0]
        assert re.search(rf"{name}'s own dice make (it|the call) (\S+%|under 1%|over 99%|sure)", line), line
        assert re.search(r"in all (it|the call) is (true|false|right|wrong)\.$", line), line


@pytest.mark.parametrize("name", ["classic", "spot-on", "perudo", "joker", "motes"])
def test_hindsight_agrees_with_the_bidders_odds_and_the_showdown(name: str) -> None:
    world = play(PRESETS[name])
    hands: tuple[Any, ...] = ()
    last: dict[type, Weighed] = {}
    judged = 0
    for _, event in Replay(examine(world.machines[0].transcript), Path("x")).tell():
        if isinstance(event, CupsSeen):
            hands = event.hands
        if not isinstance(event, Happened):
            continue
        known = {seat: hand for seat, hand in enumerate(hands) if hand}
        weighed = weigh(event.event, event.state, known, None)
        if weighed is not None:
            last[type(event.event)] = weighed
            with_own_eyes = weigh(
                event.event, event.state, {weighed.by: known[weighed.by]} if weighed.by is not None else {}, weighed.by
            )
            other = next((seat for seat in known if seat != weighed.by), None)
            if isinstance(event.event, BidMade) and other is not None:
                by_another = weigh(event.event, event.state, {other: known[other]}, other)
                assert by_another is not None
                assert by_another.by == other
                assert by_another.chance == true_to(event.event, event.state, known[other])
            assert with_own_eyes is not None
            assert with_own_eyes.chance == weighed.chance
            assert (with_own_eyes.count, with_own_eyes.unknown, with_own_eyes.is_right) == (None, None, None)
        match event.event:
            case BidMade(seat=seat):
                assert weighed is not None
                assert weighed.chance == true_to(event.event, event.state, hands[seat])
                assert weighed.by == seat
            case HandsShown(count=count):
                assert last[BidMade].count == last[ChallengeCalled].count == count
            case Judged(bid_true=bid_true, call_right=call_right):
                assert last[BidMade].is_right == bid_true
                assert last[ChallengeCalled].is_right == call_right
                judged += 1
    assert judged


def true_to(bid: BidMade, state: State, hand: Hand) -> Fraction:
    return at_least(bid.quantity, bid.face, hand, sum(state.dice) - len(hand), state.counting)


SEATING = Seating(("Ada", "Ben"))
THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("weighed", "told"),
    [
        (Weighed(False, 5, 0, THIRD), "Ada's own dice make it 33% likely."),
        (Weighed(False, 5, None, THIRD), "Without any dice in view it is 33% likely."),
        (Weighed(True, 5, 1, THIRD), "Ben's own dice make the call 33% likely to be right."),
        (
            Weighed(False, 5, 0, Fraction(1), 3, 0, True),
            "Ada's own dice make it sure to be true; with three fives in all it is true.",
        ),
        (
            Weighed(True, 5, 0, Fraction(0), 3, 0, False),
            "Ada's own dice make the call sure to be wrong; with three fives in all the call is wrong.",
        ),
        (
            Weighed(False, 6, 0, THIRD, 1, 4, None),
            "Ada's own dice make it 33% likely; with one six and four dice unknown nobody can tell.",
        ),
    ],
)
def test_hindsight_in_words(weighed: Weighed, told: str) -> None:
    assert hindsight(weighed, SEATING) == told


@pytest.mark.parametrize(("call", "right"), [("liar", (None, False, True)), ("exact", (None, None, False))])
def test_unopened_cups_leave_a_verdict_open(call: Any, right: tuple[bool | None, ...]) -> None:
    """Ada's three dice are known, Ben's two are not."""
    from p2pdice.engine import apply, new_match
    from p2pdice.moves import Bid, Play, Rolled

    state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": "3"}), 2), Rolled())
    state, _ = apply(state, Play(0, Bid(1, 3)))
    state = state._replace(dice=(3, 2))
    hands = {0: (3, 3, 5)}
    for quantity, is_right in zip((4, 2, 5), right, strict=True):
        weighed = weigh(ChallengeCalled(1, call, 0, quantity, 3), state, hands, None)
        assert weighed is not None
        assert (weighed.count, weighed.unknown, weighed.by) == (2, 2, None)
        assert weighed.is_right is is_right


def test_as_one_player_other_dice_are_hidden_until_the_showdown(
    classic: World, written: Callable[[bytes], str]
) -> None:
    path = written(classic.machines[0].transcript)
    for eyes in (["--as", "be"], ["--as", "Ben"]):
        shown = Shown(path, *eyes)
        assert shown.code == ExitCode.DONE
        for lines in rounds(shown.lines):
            hidden = lines[: next(at for at, line in enumerate(lines) if "The cups go up." in line)]
            assert not any(re.search(rf"^(Ada|Ben|Cleo): {DICE}", line) for line in hidden)
            assert len([line for line in hidden if line.startswith("You roll ")]) <= 1
            assert not any(" in all " in line for line in hidden)
    assert any(line.startswith("You roll ") for line in shown.lines)
    assert any("Your own dice make it" in line for line in shown.lines)


def test_the_option_as_accepts_a_seat_or_part_of_a_name(classic: World, written: Callable[[bytes], str]) -> None:
    path = written(classic.machines[0].transcript)
    by_seat = [player.name for player in Replay(examine(classic.machines[0].transcript), Path("x")).players]
    seat = by_seat.index("Cleo")
    assert Shown(path, "--as", str(seat)).lines == Shown(path, "--as", "cleo").lines
    nobody = Shown(path, "--as", "Dora")
    assert nobody.code == ExitCode.USAGE
    assert "No player's name begins with 'Dora'" in re.sub(r"\s+", " ", nobody.errors)


PLAYERS = (PlayerInfo("Ann", "K7QF-2M3A"), PlayerInfo("Annabel", "ZZ22-2M3A"), PlayerInfo("2", "QQQQ-2M3A"))


@pytest.mark.parametrize(("wanted", "seat"), [("ann", 0), ("ANNA", 1), ("0", 0), ("1", 1), ("2", 2), (" Annabel ", 1)])
def test_a_player_is_found_by_part_of_a_name_or_by_seat(wanted: str, seat: int) -> None:
    assert find_seat(PLAYERS, wanted) == seat


@pytest.mark.parametrize("wanted", ["an", "", "3", "²", "\x1b[2J", "-1", "0" * 5000])
def test_an_unknown_player_is_answered_with_all_names(wanted: str) -> None:
    with pytest.raises(UnknownPlayerError, match="There are Ann \\(seat 0\\), Annabel") as error:
        find_seat(PLAYERS, wanted)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("name", ["classic", "motes"])
def test_as_json_events_have_steps_and_bids_have_odds(name: str, written: Callable[[bytes], str]) -> None:
    world = play(PRESETS[name])
    shown = Shown(written(world.machines[0].transcript), "--json")
    verdict, *events = map(json.loads, shown.lines)
    assert (verdict["type"], verdict["verdict"]) == ("Verdict", "fair")
    replay = Replay(examine(world.machines[0].transcript), Path("x"))
    assert [event["step"] for event in events] == [step for step, _ in replay.tell()]
    hands = [event["hands"] for event in events if event["type"] == "CupsSeen"]
    assert hands == [[list(cup or ()) for cup in e.hands] for _, e in replay.tell() if isinstance(e, CupsSeen)]
    bids = [event for event in events if event["type"] == "Happened" and event["event"]["type"] in ("bid", "challenge")]
    assert bids
    for event in bids:
        assert set(event["odds"]) == {"seen_by", "fraction", "percent", "count", "unknown", "right"}
        assert event["odds"]["seen_by"] == event["event"]["seat"]
        assert float(Fraction(event["odds"]["fraction"])) == pytest.approx(event["odds"]["percent"] / 100, abs=1e-5)
    assert all("odds" not in event for event in events if event not in bids)
    assert (events[-1]["type"], events[-1]["confirmed"]) == ("MatchOver", None)  # a transcript does not record it


def test_as_json_one_player_sees_no_other_dice(classic: World, written: Callable[[bytes], str]) -> None:
    shown = Shown(written(classic.machines[0].transcript), "--as", "Ben", "--json")
    odds = [event["odds"] for event in map(json.loads, shown.lines) if "odds" in event]
    assert odds
    assert {(each["count"], each["unknown"], each["right"]) for each in odds} == {(None, None, None)}


def cut(world: World, step: int) -> bytes:
    return write_transcript(until(world.machines[0].match.history, step))


def test_an_unfinished_match_is_replayed_to_its_last_step(classic: World, written: Callable[[bytes], str]) -> None:
    chain = classic.machines[0].match.history.chain
    for step in (len(chain) // 2, 1, 0):
        shown = Shown(written(cut(classic, step)))
        assert shown.code == ExitCode.INCOMPLETE
        assert shown.lines[0].endswith(": INCOMPLETE.")
        assert shown.lines[-3:] == ["The transcript ends here.", *shown.lines[:2]]
        assert "waiting for " in shown.lines[-1]
    assert Shown(written(cut(classic, 1)), "--as", "Ada").code == ExitCode.INCOMPLETE


def test_a_match_with_an_eviction_is_replayed_to_its_end(written: Callable[[bytes], str]) -> None:
    world = play(SMALL, leaves_after=60)
    shown = Shown(written(world.machines[0].transcript))
    assert shown.code == ExitCode.DONE
    assert "claims that cannot be proven" in shown.lines[0]
    assert any(" ran out of time and is out (signed by " in line for line in shown.lines)


def test_misconduct_is_reported_at_the_start_in_its_place_and_at_the_end(
    classic: World, written: Callable[[bytes], str]
) -> None:
    from protocol.crypto.keys import MatchKey
    from protocol.wire.messages import Kind, sign

    history = classic.machines[0].match.history
    position = next(each for each in history.chain if each.kind is Kind.MOVE and each.step > 30)
    (move,) = history.chain[position.step + 1].entries.values()
    forged = sign(move.message._replace(body="99x7"), MatchKey(classic.seeds[move.message.author]))
    shown = Shown(written(cut(classic, position.step) + encode(forged.wire)))
    culprit = history.genesis.roster[move.message.author].join.nickname
    assert shown.code == ExitCode.MISCONDUCT
    assert f"MISCONDUCT by {culprit}" in shown.lines[0]
    assert shown.lines[-2:] == shown.lines[:2]
    proven = f"{culprit}'s program broke the rules, and its own signature proves it"
    assert any(line.startswith(proven) for line in shown.lines[2:-3])


def test_of_an_altered_file_only_the_verdict_is_shown(classic: World, written: Callable[[bytes], str]) -> None:
    data = bytearray(classic.machines[0].transcript)
    data[-70] ^= 1
    for arguments in ([], ["--as", "Ada"]):
        shown = Shown(written(bytes(data)), *arguments)
        assert (shown.code, shown.lines) == (ExitCode.ALTERED, [])
        assert "UNREADABLE OR ALTERED; this blames nobody." in shown.errors
    shown = Shown(written(bytes(data)), "--json")
    assert [json.loads(line)["verdict"] for line in shown.lines] == ["altered"]


@pytest.mark.parametrize("arguments", [[], ["--as", "0"], ["--json"]])
def test_a_replay_escapes_names(arguments: list[str], written: Callable[[bytes], str]) -> None:
    """A transcript may contain names that a table refuses today."""
    names = ("\\x1b[2J", "e" + "\u0301" * 12, "五六")
    shown = Shown(written(play(SMALL, names=names).machines[0].transcript), *arguments)
    assert shown.code == ExitCode.DONE
    assert all(line.isprintable() for line in shown.lines)
    assert not any("\u0301" * 3 in line for line in shown.lines)
    told = [json.loads(line).get("sentence", "") for line in shown.lines] if arguments == ["--json"] else shown.lines
    assert any(r"\x5cx1b[2J bids " in line or r"You bid " in line for line in told)


def test_a_proof_cannot_be_replayed(here: Run, written: Callable[[bytes], str]) -> None:
    done = here("replay", written(namesakes("Ada", "Ben").proof))
    assert (done.returncode, done.stdout) == (ExitCode.FAILURE, "")
    assert "is a proof of misconduct" in done.stderr
    assert "p2pdice verify" in done.stderr


@pytest.mark.parametrize("name", ["last", "id", "file"])
def test_a_match_of_the_home_is_replayed_by_its_name(classic: World, here: Run, tmp_path: Path, name: str) -> None:
    match = classic.machines[0].match.history.match
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    path = transcript_path(home, match, 0, "classic")
    write_whole(path, classic.machines[0].transcript)
    done = here("replay", {"last": "last", "id": match.hex()[:6], "file": path.name}[name])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{path.stem}: FAIR."


def test_replaying_a_missing_file_fails(here: Run, tmp_path: Path) -> None:
    done = here("replay", str(tmp_path / "no.p2pdice"))
    assert done.returncode == ExitCode.FAILURE
    assert "p2pdice matches" in done.stderr


def test_a_replay_through_a_real_pipe_is_the_same(
    classic: World, written: Callable[[bytes], str], p2pdice: Run
) -> None:
    path = written(classic.machines[0].transcript)
    done = p2pdice("replay", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == Shown(path).lines
