"""The fixtures of an arena: who sits where in which game, and with which dice.

Luck is shared. Each deal is played once for every rotation of its table, so every bot gets each cup, and the first
turn, as often as any other. Which dice a seat gets in which round depends on the deal alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple


class Table(NamedTuple):
    """A table whose games are counted together."""

    rules: str
    """How the ruleset was named."""
    seats: tuple[int, ...]
    """Entrants by seat, in the first rotation."""


class Fixture(NamedTuple):
    """One game."""

    number: int
    """From 0, in the order in which the results are read. It does not depend on how many games are to be played."""
    table: int
    deal: int
    """From 0. Games of one table and one deal have the same dice."""
    rotation: int
    """By how many seats the entrants have moved on."""


def round_robin(entrants: int, rules: Sequence[str], sizes: Sequence[int]) -> tuple[Table, ...]:
    """Return the tables at which everybody meets everybody equally often.

    Each entrant has at most one seat at a table. Where there are fewer entrants than seats, all sit down, and take the
    other seats in turn.
    """
    return tuple(
        Table(name, tuple(seats[seat % len(seats)] for seat in range(size)))
        for name in rules
        for size in sizes
        for seats in combinations(range(entrants), min(size, entrants))
    )


def gauntlet(entrants: int, rules: Sequence[str], sizes: Sequence[int]) -> tuple[Table, ...]:
    """Return the tables at which the first entrant sits alone among copies of each other one."""
    return tuple(
        Table(name, (0, *(other,) * (size - 1))) for name in rules for size in sizes for other in range(1, entrants)
    )


def fixtures(tables: Sequence[Table], games: int) -> Iterator[Fixture]:
    """Yield all games, deal by deal, so that no table is behind another at any time.

    :param games: at each table; rounded up to whole deals.
    """
    every_deal = [(index, rotation) for index, table in enumerate(tables) for rotation in range(len(table.seats))]
    deals = [-(-games // len(table.seats)) for table in tables]
    for deal in range(max(deals)):
        for offset, (index, rotation) in enumerate(every_deal):
            if deal < deals[index]:
                yield Fixture(deal * len(every_deal) + offset, index, deal, rotation)


def table_of(tables: Sequence[Table], number: int) -> Table:
    """Return the table at which the game with this number is played."""
    every_deal = [table for table in tables for _ in table.seats]
    return every_deal[number % len(every_deal)]


def seated(table: Table, rotation: int) -> tuple[int, ...]:
    """Return the entrants by seat in a game of the table."""
    return table.seats[rotation:] + table.seats[:rotation]
