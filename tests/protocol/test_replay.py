"""A replay shows from the transcript alone what the players saw live. It shows nothing of an invalid file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from p2pdice.events import HandsShown, PlayerOut, RoundStarted
from p2pdice.rulesets import PRESETS, Ruleset
from protocol.consensus.rule import MisconductError
from protocol.consensus.transcript import write_proof, write_transcript
from protocol.consensus.verifier import Judgement, examine
from protocol.crypto.keys import MatchKey
from protocol.events import (
    CupsSeen,
    DiceRolled,
    Happened,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Misbehaved,
    NodeEvent,
    Notice,
)
from protocol.limits import STATES_APART
from protocol.match.effects import Conceded
from protocol.match.replay import NoMatchError, Replay
from protocol.wire.canonical import encode
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, sign
from tests.protocol.histories import until
from tests.simulation.world import World
from tests.tiers import slowly, thoroughly

PATH = Path("matches", "x.p2pdice")
HURRIED = Patience(20, 10)
SMALL = PRESETS["classic"].with_options({"dice": "2"})
TOLD = (MatchFormed, MatchStarted, Happened, DiceRolled)
"""The events that a transcript can reproduce. All others are about links or ask for a move."""


def replayed(data: bytes) -> Replay:
    return Replay(examine(data), PATH)


def told(replay: Replay, seat: int | None = None, since: int = 0) -> list[NodeEvent]:
    return [moment.event for moment in replay.tell(seat, since)]


def told_live(world: World, me: int) -> list[NodeEvent]:
    return [event for event in world.machines[me].shown if isinstance(event, TOLD)]


def of_type(events: list[NodeEvent], kind: Any) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@cache
def run(ruleset: Ruleset, players: int, seed: int) -> World:
    """Play a match to its end. The result is cached because several tests use the same match."""
    world = World(ruleset, players, seed, patience=HURRIED)
    world.run()
    return world


MATCHES = [
    *((name, 3, 2) for name in ("classic", "motes")),
    *thoroughly((name, 3, 2) for name in PRESETS if name not in ("classic", "motes")),
    *thoroughly((name, players, 3) for name in PRESETS for players in (2, 5)),
    *slowly((name, players, seed) for name in PRESETS for players in (2, 4, 5) for seed in (4, 5)),
]


@pytest.mark.parametrize("match", MATCHES, ids=str)
def test_a_replay_for_one_player_has_the_events_that_this_player_saw_live(match: tuple[str, int, int]) -> None:
    name, players, seed = match
    world = run(PRESETS[name], players, seed)
    replay = replayed(world.machines[0].transcript)
    by_seat = world.seats
    for seat, me in enumerate(by_seat):
        again = told(replay, seat)
        assert of_type(again, TOLD) == told_live(world, me)
        assert not of_type(again, CupsSeen)
        assert [player.is_me for player in again[-1].players] == [other == me for other in by_seat]  # type: ignore[union-attr]
    assert not of_type(told(replay), DiceRolled)
    assert of_type(told(replay), Happened) == of_type(told_live(world, 0), Happened)


@pytest.mark.parametrize("name", PRESETS)
def test_the_full_replay_shows_every_cup_right_after_the_roll(name: str) -> None:
    world = run(PRESETS[name], 3, 2)
    replay = replayed(world.machines[0].transcript)
    story = told(replay)
    rolled = of_type(story, CupsSeen)
    assert len(rolled) == len(replay.rounds)
    for seat, me in enumerate(world.seats):
        mine = [event.hand for event in told_live(world, me) if isinstance(event, DiceRolled)]
        assert [event.hands[seat] for event in rolled if event.hands[seat]] == mine
    shown = [event.event for event in of_type(story, Happened) if isinstance(event.event, HandsShown)]
    assert shown
    assert [cups.hands for cups in rolled[: len(shown)]] == [hands.hands for hands in shown]
    for before, event in pairwise(story):
        if isinstance(event, CupsSeen):
            assert isinstance(before, Happened)
            assert event.state == before.state


@pytest.mark.parametrize("name", ["classic", "motes", "joker"])
def test_a_replay_from_any_round_equals_the_end_of_the_whole_replay(name: str) -> None:
    replay = replayed(run(PRESETS[name], 3, 2).machines[0].transcript)
    assert replay.last_step > 2 * STATES_APART
    for seat in (None, 1):
        whole = list(replay.tell(seat))
        assert [moment.step for moment in whole] == sorted(moment.step for moment in whole)
        assert whole[-1].step == replay.last_step - 1  # the last step is the LOCK of the ending, which has no events
        for number, step in enumerate(replay.rounds, 1):
            rest = list(replay.tell(seat, step))
            assert rest == whole[-len(rest) :]
            first = rest[0].event
            assert isinstance(first, Happened)
            assert isinstance(first.event, RoundStarted)
            assert first.event.round == number


def test_walking_a_thinned_history_gives_the_positions_of_the_full_one() -> None:
    world = run(SMALL, 3, 4)
    live = world.machines[0].match.history
    history = examine(world.machines[0].transcript).history
    assert history is not None
    assert any(position.is_without_state for position in history.chain)
    for start in (0, 1, STATES_APART - 1, STATES_APART, STATES_APART + 1, len(live.chain) - 1):
        assert list(history.walk(start)) == live.chain[start:]


def test_an_unfinished_match_is_replayed_with_unopened_dice_unknown() -> None:
    world = run(SMALL, 3, 4)
    history = world.machines[0].match.history
    whole = told(replayed(world.machines[0].transcript))
    for step in range(0, len(history.chain) - 1, 3):
        beginning = until(history, step)
        if step > STATES_APART:
            first = min(history.chain[step + 1].entries)
            beginning.hold(history.chain[step + 1].entries[first])  # include the first message of an incomplete step
        replay = replayed(write_transcript(beginning))
        story = told(replay)
        assert replay.verdict.verdict == Judgement.INCOMPLETE
        assert not of_type(story, MatchResult)
        assert of_type(story, Happened) == of_type(whole, Happened)[: len(of_type(story, Happened))]
        cups = list(zip(of_type(story, CupsSeen), of_type(whole, CupsSeen), strict=False))
        assert all(seen == all_of_it for seen, all_of_it in cups[:-1])
        for seen, all_of_it in cups[-1:]:
            assert all(one in (other, None) for one, other in zip(seen.hands, all_of_it.hands, strict=True))


def test_hands_that_were_opened_before_the_match_stopped_are_known() -> None:
    world = run(SMALL, 3, 4)
    history = world.machines[0].match.history
    step = next(position.step for position in history.chain if position.kind is Kind.OPEN)
    beginning = until(history, step)
    author, opening = min(history.chain[step + 1].entries.items())
    beginning.hold(opening)
    replay = replayed(write_transcript(beginning))
    (seen,) = of_type(told(replay), CupsSeen)
    seat = history.position.seats.index(author)
    assert [cup is not None for cup in seen.hands] == [place == seat for place in range(3)]
    other = (seat + 1) % 3
    assert not of_type(told(replay, other), DiceRolled)
    (notice,) = of_type(told(replay, other), Notice)
    assert notice.text.startswith("your cup was never opened")
    assert [event.hand for event in of_type(told(replay, seat), DiceRolled)] == [seen.hands[seat]]


@pytest.mark.parametrize("has_given_up", [True, False])
def test_a_replay_gives_the_same_reason_for_an_exit_as_the_live_match(has_given_up: bool) -> None:
    world = World(SMALL, 4, seed=3, patience=HURRIED)
    leaver = world.first_turn()
    if has_given_up:
        world.machines[leaver].turn = None
        world.feed(leaver, Conceded())
    else:
        world.crash(leaver)
    world.run()
    other = (leaver + 1) % 4
    replay = replayed(world.machines[other].transcript)
    story = of_type(told(replay, world.seats.index(other)), TOLD)
    assert story == [event for event in told_live(world, other) if not never_opened(replay, event)]
    (out,) = [
        each
        for each in of_type(story, Happened)
        if isinstance(each.event, PlayerOut) and each.event.reason in ("evicted", "conceded")
    ]
    assert (out.eviction is None) is has_given_up
    assert replay.verdict.verdict == (Judgement.FAIR if has_given_up else Judgement.UNPROVEN)


def never_opened(replay: Replay, event: NodeEvent) -> bool:
    """Return whether this event shows a hand that no showdown opened."""
    return isinstance(event, DiceRolled) and event.hand not in {
        hand for seen in of_type(told(replay), CupsSeen) for hand in seen.hands
    }


@pytest.fixture(scope="module")
def cheated() -> tuple[World, int]:
    """A match of three and its cheat, who calls liar before any bid and is evicted."""
    world = World(SMALL, 3, seed=7, patience=Patience(5, 5))
    cheat = world.first_turn()
    world.call_nothing(cheat)
    world.run()
    return world, cheat


def test_a_replay_shows_misconduct_when_it_happened_and_goes_on_without_the_culprit(cheated: tuple[World, int]) -> None:
    world, cheat = cheated
    honest = (cheat + 1) % 3
    replay = replayed(world.machines[honest].transcript)
    assert replay.verdict.verdict == Judgement.MISCONDUCT
    story = told(replay, world.seats.index(honest))
    assert of_type(story, TOLD) == told_live(world, honest)
    (misbehaved,) = of_type(story, Misbehaved)
    assert misbehaved.player.name == replay.verdict.culprit
    assert misbehaved.step == replay.verdict.step
    out = next(event for event in of_type(story, Happened) if isinstance(event.event, PlayerOut))
    assert out.eviction.misconduct == misbehaved.reason
    assert story.index(misbehaved) < story.index(out)
    assert isinstance(story[-1], MatchResult)


def test_misconduct_at_the_end_of_a_file_is_the_last_event_of_the_replay() -> None:
    world = World(SMALL, 2, seed=7)
    cheat = world.first_turn()
    forged = world.call_nothing(cheat)
    replay = replayed(write_transcript(world.machines[cheat].match.history) + encode(forged.wire))
    assert replay.verdict.verdict == Judgement.MISCONDUCT
    story = told(replay)
    assert isinstance(story[-1], Misbehaved)
    assert of_type(story, Happened)
    assert not of_type(story, MatchResult)


def test_an_altered_file_and_a_bare_proof_cannot_be_replayed(cheated: tuple[World, int]) -> None:
    world, cheat = cheated
    data = bytearray(world.machines[cheat].transcript)
    data[-1] ^= 1
    with pytest.raises(NoMatchError, match="proves nothing"):
        replayed(bytes(data))
    (*_, known) = world.machines[0].match.history.chain[1].entries.values()
    second = sign(known.message._replace(kind=Kind.RESIGN, body=()), MatchKey(world.seeds[known.message.author]))
    error = MisconductError(known.message.author, 0, "signed two", (known, second))
    with pytest.raises(NoMatchError):
        replayed(write_proof(world.machines[0].match.history, error))


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b"", lambda _: b"\x92"])
def test_a_file_that_is_not_a_transcript_cannot_be_replayed(
    change: Callable[[bytes], bytes], cheated: tuple[World, int]
) -> None:
    with pytest.raises(NoMatchError):
        replayed(change(cheated[0].machines[0].transcript))


def test_a_replay_is_generated_lazily() -> None:
    """Reading the first events of a replay does not restore the states of the whole match."""
    replay = replayed(run(PRESETS["classic"], 3, 2).machines[0].transcript)
    assert len(list(islice(replay.tell(), 3))) == 3
    thin = [position.is_without_state for position in replay._history.chain]
    list(replay.tell())
    assert [position.is_without_state for position in replay._history.chain] == thin
