"""The arrow keys lead only to legal moves, and can reach every legal bid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.table.line_editor import Step, walk
from cli.text.move_forms import offers
from cli.text.speech import is_possible
from p2pdice.engine import apply, new_match
from p2pdice.moves import Bid, Pledges, Rolled, parse_move
from p2pdice.rulesets import PRESETS
from p2pdice.views import View, view
from tests.p2pdice.scripted import play

NAMES = ("Ada", "Ben", "Cleo")
STEPS: tuple[Step, ...] = ("up", "down", "left", "right")


def asked(rules: str, *moves: str) -> View:
    state, _ = apply(new_match(PRESETS[rules], 3), Rolled())
    state = play(state, *moves)
    return view(state, state.turn, (1, 2, 3, 3, 6))


@given(
    st.sampled_from(["classic", "perudo", "joker", "plain", "wildcard"]),
    st.sampled_from([(), ("1x2",), ("2x3",), ("3x6",), ("3x3", "5x3"), ("14x6",)]),
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=12),
)
def test_arrow_keys_always_lead_to_a_legal_bid(rules: str, moves: tuple[str, ...], steps: list[Step]) -> None:
    turn = asked(rules, *moves)
    at = ""
    for step in steps:
        at = walk(turn, NAMES, at, step)
        assert is_possible(parse_move(at), turn)


@pytest.mark.parametrize(
    ("standing", "steps", "bid"),
    [
        ((), ["up"], "1x1"),
        (("2x3",), ["up"], "3x3"),
        (("2x3",), ["up", "up"], "4x3"),
        (("2x3",), ["up", "up", "down"], "3x3"),
        (("2x3",), ["down"], "2x4"),
        (("2x3",), ["right"], "2x4"),
        (("2x3",), ["right", "right"], "2x5"),
        (("2x3",), ["left"], "2x6"),
        (("3x5",), ["right", "up"], "4x5"),
    ],
)
def test_up_and_down_change_the_number_left_and_right_the_face(
    standing: tuple[str, ...], steps: list[Step], bid: str
) -> None:
    turn = asked("classic", *standing)
    at = ""
    for step in steps:
        at = walk(turn, NAMES, at, step)
    assert at == bid


def test_arrow_keys_reach_every_legal_bid() -> None:
    turn = asked("classic", "2x3")
    reached: set[str] = set()
    todo = [""]
    while todo:
        at = todo.pop()
        for step in STEPS:
            there = walk(turn, NAMES, at, step)
            if there not in reached:
                reached.add(there)
                todo.append(there)
    assert reached == {str(move) for move in turn.legal if isinstance(move, Bid)}


def test_arrow_keys_keep_a_stake_between_0_and_all_coins() -> None:
    state, _ = apply(new_match(PRESETS["motes"], 3), Pledges(("redeemed", "redeemed", "redeemed")))
    turn = view(state, 0, ())
    assert walk(turn, NAMES, "", "up") == "stake 50"
    assert walk(turn, NAMES, "stake 50", "right") == "stake 60"
    assert walk(turn, NAMES, "stake 20", "down") == "stake 0"
    assert walk(turn, NAMES, "stake 990", "up") == "stake 1000"


def test_arrow_keys_cycle_through_the_moves_if_there_is_no_bid() -> None:
    turn = asked("joker", "1x2", "liar")
    moves = offers(turn, NAMES)
    at, seen = "", []
    for _ in moves:
        at = walk(turn, NAMES, at, "down")
        seen.append(at)
    assert seen == moves
    assert walk(turn, NAMES, moves[0], "up") == moves[-1]
