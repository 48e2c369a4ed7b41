"""The stack: who may answer, and in which order effects resolve, compared with a model that shares no code."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from p2pdice.engine import apply, legal_moves
from p2pdice.errors import IllegalMove
from p2pdice.events import PowerFailed
from p2pdice.moves import Play, Roll, parse_move
from p2pdice.powers import Block, DieDestroyed, PowerStopped
from p2pdice.state import Expect, State

from .scripted import die, listed, play, reach, table

# One rule at a time


def stacked(state: State) -> list[tuple[str, int, str]]:
    assert state.motes is not None
    return [(str(effect.die), effect.by, str(effect.target)) for effect in state.motes.stack]


def buried(state: State) -> list[str]:
    assert state.motes is not None
    return [str(buried.die) for buried in state.motes.graveyard]


BLUES = ("dark@0", "light@0", "blue@0", "blue@1", "blue@2")


def night(*dice: str, players: int = 3) -> State:
    """Return a night with these dice in the graveyard, each sent there by its own seat. The prize is Neutral."""
    return reach(table(players, *dice, prize=3), "night")


def test_blue_needs_an_effect_on_the_stack() -> None:
    state = night("dark@0", "light@0", "blue@0", "blue@1")
    assert not [move for move in listed(state) if "blue" in move.split("destroy")[0]]
    with pytest.raises(IllegalMove, match="answers the power that another player put"):
        play(state, "play blue@0")


def test_a_power_waits_for_answers_clockwise_from_its_player() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0")
    assert stacked(state) == [("dark@0", 0, "light@0")]
    assert "light@0" in buried(state)
    assert (state.phase, state.turn, listed(state)) == ("night", 1, ["play blue@1", "pass"])
    state = play(state, "pass")
    assert (state.turn, listed(state)) == (2, ["play blue@2", "pass"])
    state, events = apply(state, Play(2, parse_move("pass")))
    assert DieDestroyed(0, die("light@0")) in events


def test_a_player_cannot_answer_their_own_power() -> None:
    state = play(night("dark@0", "light@0", "blue@0"), "play dark@0 destroy light@0")
    assert "light@0" not in buried(state)


def test_blue_stops_the_effect_and_the_die_is_still_spent() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0", "play blue@1")
    assert stacked(state) == [("dark@0", 0, "light@0"), ("blue@1", 1, "dark@0")]
    assert state.turn == 2
    state, _ = apply(state, Play(2, parse_move("pass")))
    state, events = apply(state, Play(0, parse_move("pass")))
    assert PowerStopped(1, die("dark@0")) in events
    assert buried(state) == ["light@0", "blue@0", "blue@2"]


def test_a_blue_can_stop_a_blue_so_that_the_first_effect_happens() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0", "play blue@1", "pass", "play blue@0")
    assert (state.turn, listed(state)) == (2, ["play blue@2", "pass"])
    state, events = apply(state, Play(2, parse_move("pass")))
    assert PowerStopped(0, die("blue@1")) in events
    # Players are asked again for answers to the new top of the stack.
    assert (stacked(state), state.turn) == ([("dark@0", 0, "light@0")], 2)
    state, events = apply(state, Play(2, parse_move("pass")))
    assert DieDestroyed(0, die("light@0")) in events


def test_three_blues_stop_the_first_effect() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0", "play blue@1", "pass", "play blue@0", "play blue@2")
    assert state.motes is not None
    assert state.motes.stack == ()
    assert "light@0" in buried(state)


def test_only_blue_answers() -> None:
    state = play(night("dark@0", "light@0", "dark@1", "blue@1"), "play dark@0 destroy light@0")
    assert listed(state) == ["play blue@1", "pass"]
    with pytest.raises(IllegalMove, match="is no answer"):
        play(state, "play dark@1 destroy light@0")
    with pytest.raises(IllegalMove, match="answer with a Blue"):
        play(state, "1x2")


def test_an_effect_whose_target_is_gone_does_nothing() -> None:
    # The player of the answered Dark leaves, so the Blue finds nothing to stop.
    state = play(night(*BLUES), "play dark@0 destroy light@0", "play blue@1", "evict 0")
    assert stacked(state) == [("blue@1", 1, "dark@0")]
    state, events = apply(state, Play(2, parse_move("pass")))
    assert PowerFailed(1, die("blue@1")) in events
    assert "light@0" in buried(state)


def test_red_rolls_when_it_resolves_and_not_if_it_is_stopped() -> None:
    state = play(night("red@0", "blue@1"), "play red@0 on 1")
    assert state.turn == 1
    assert play(state, "pass").expects == (Expect.ROLL, (0, 1, 2))
    assert play(state, "play blue@1").phase == "bidding"


def test_after_answers_in_the_bidding_the_same_turn_continues() -> None:
    state = play(night("dark@1", "light@0", "blue@2"), "pass", "1x2", "play dark@1 destroy light@0")
    assert (state.phase, state.turn, listed(state)) == ("bidding", 2, ["play blue@2", "pass"])
    with pytest.raises(IllegalMove, match="answer with a Blue"):
        play(state, "2x2")
    state = play(state, "play blue@2")
    assert (state.phase, state.turn) == ("bidding", 1)
    assert "2x2" in map(str, legal_moves(state))


# Departures


def test_the_effect_of_a_departed_player_is_removed_and_answers_are_asked_again() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0", "play blue@1", "evict 1")
    assert (stacked(state), state.turn) == ([("dark@0", 0, "light@0")], 2)


def test_if_a_departure_empties_the_stack_the_window_continues() -> None:
    state = play(night("dark@0", "light@1", "blue@1", "red@2"), "play dark@0 destroy light@1", "evict 0")
    assert (stacked(state), state.phase, state.turn) == ([], "night", 2)
    assert "light@1" in buried(state)


def test_if_a_departure_empties_the_stack_in_the_bidding_the_next_player_is_on_turn() -> None:
    state = play(night("dark@1", "light@0", "blue@0"), "pass", "1x2", "play dark@1 destroy light@0", "evict 1")
    assert (state.phase, state.turn, stacked(state)) == ("bidding", 2, [])


def test_no_answer_is_awaited_from_a_departed_player() -> None:
    state = play(night(*BLUES), "play dark@0 destroy light@0", "evict 1")
    assert state.turn == 2
    assert "light@0" not in buried(play(state, "pass"))


def test_red_is_not_rolled_when_its_target_or_its_player_leaves() -> None:
    state = play(night("red@0", "dark@2", "light@1"), "play red@0 on 1")
    assert state.expects.kind is Expect.ROLL
    by_target, by_player = play(state, "evict 1"), play(state, "evict 0")
    assert (by_target.phase, by_target.turn) == ("night", 2)
    assert (by_player.phase, by_player.turn) == ("night", 2)
    assert by_target.motes is not None
    assert by_target.motes.lasting == ()


def test_red_is_still_rolled_when_another_player_leaves() -> None:
    state = play(night("red@0"), "play red@0 on 1", "evict 2")
    assert state.expects == (Expect.ROLL, (0, 1))
    state, _ = apply(state, Roll(3))
    assert state.motes is not None
    assert state.motes.lasting == (Block(1, 0, "cursed"),)


# All possible nights with a few dice


class Night(NamedTuple):
    """A model of the same rules that shares no code with the engine. Dice and moves are texts."""

    yard: tuple[tuple[str, int], ...]
    """(die, sender)."""
    stack: tuple[tuple[str, int, str], ...]
    """(die, player, target)."""
    asked: tuple[int, ...]
    actor: int


def options(model: Night, seat: int) -> list[str]:
    own = [name for name, sender in model.yard if sender == seat]
    if model.stack:
        return [f"play {name}" for name in own if name.startswith("blue") and model.stack[-1][1] != seat]
    dark = [name for name in own if name.startswith("dark")]
    return [f"play {name} destroy {other}" for name in dark for other, _ in model.yard if other != name]


def after(seat: int) -> tuple[int, ...]:
    return ((seat + 1) % 3, (seat + 2) % 3, seat)


def lines(model: Night, line: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield (line of play, dice left in the graveyard) for every way in which three players can play a window."""
    queue = [seat for seat in model.asked if options(model, seat)]
    if queue:
        seat, rest = queue[0], model.asked[model.asked.index(queue[0]) + 1 :]
        yield from lines(model._replace(asked=rest), (*line, f"{seat} pass"))
        for text in options(model, seat):
            words = text.split()
            target = words[3] if len(words) > 2 else model.stack[-1][0]
            yard = tuple(entry for entry in model.yard if entry[0] != words[1])
            actor = model.actor if model.stack else seat
            played = Night(yard, (*model.stack, (words[1], seat, target)), after(seat)[:2], actor)
            yield from lines(played, (*line, f"{seat} {text}"))
    elif model.stack:
        *below, (name, _, target) = model.stack
        if name.startswith("blue"):
            below = [effect for effect in below if effect[0] != target]
        yard = tuple(entry for entry in model.yard if name.startswith("blue") or entry[0] != target)
        asked = after(below[-1][1])[:2] if below else after(model.actor)
        yield from lines(Night(yard, tuple(below), asked, model.actor), line)
    else:
        yield line, tuple(name for name, _ in model.yard)


def engine_lines(state: State, line: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if state.phase == "bidding":
        yield line, tuple(buried(state))
        return
    for move in legal_moves(state):
        yield from engine_lines(apply(state, Play(state.turn, move))[0], (*line, f"{state.turn} {move}"))


@pytest.mark.parametrize(
    "dice",
    [
        ("dark@0", "light@1"),
        ("dark@0", "light@1", "blue@1"),
        ("dark@0", "light@1", "blue@1", "blue@0"),
        ("dark@0", "blue@0", "blue@1", "blue@2"),
        ("dark@0", "dark@1", "light@2", "blue@2"),
        ("dark@1", "dark@2", "blue@0", "blue@2"),
    ],
)
def test_every_possible_night_with_a_few_dice(dice: tuple[str, ...]) -> None:
    state = night(*dice)
    model = Night(tuple((name, int(name[-1])) for name in dice), (), (0, 1, 2), -1)
    expected = sorted(lines(model))
    assert sorted(engine_lines(state)) == expected
    assert len(set(expected)) == len(expected) > 1
