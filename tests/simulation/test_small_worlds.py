"""The absence rule in every state of small worlds, and on long walks through larger ones."""

from __future__ import annotations

import random

import pytest

from tests.simulation.small_worlds import Explorer, Table

CLAIMS = ("one history", "nothing stuck")


def test_three_honest_players_of_whom_any_may_fall_silent() -> None:
    states, _ = Explorer(Table(3, rounds=1)).explore(CLAIMS)
    assert states > 40_000


def test_a_liar_among_players_who_hear_each_other() -> None:
    table = Table(3, rounds=2, liar=2)
    states, _ = Explorer(table, table.honest, lies=2).explore(CLAIMS)
    assert states > 1_000


@pytest.mark.slow
def test_a_liar_with_three_lies() -> None:
    table = Table(3, rounds=2, liar=2)
    states, _ = Explorer(table, table.honest, lies=3).explore(CLAIMS)
    assert states > 100_000


@pytest.mark.parametrize(("players", "liar", "connected"), [(4, None, ()), (5, 4, (0, 1, 2))])
def test_long_walks(players: int, liar: int | None, connected: tuple[int, ...]) -> None:
    """With a liar, one more player is silent towards those who hear each other."""
    explorer = Explorer(Table(players, rounds=3, liar=liar), connected)
    chance = random.Random(players)
    for _ in range(60):
        explorer.walk(chance, 100)
