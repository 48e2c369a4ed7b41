"""The scores of deals: who has won how much in all games of a table that have the same dice.

A victory is worth :data:`POINTS`, which players who win together share. The games of a deal are not independent, so
together they are one observation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import lcm
from typing import Final, NamedTuple

from cli.arena.game import Game

POINTS: Final = lcm(*range(1, 11))
"""Points for a victory. Up to ten players share them exactly, so sums do not depend on the order of the games."""


class Score(NamedTuple):
    """What an entrant has won in one deal."""

    entrant: int
    seats: int
    """Its seats in each game."""
    points: int
    """Its points in all games of the deal."""


Deal = tuple[Score, ...]
"""The result of a deal, by entrant. It has as many games as the table has seats."""


def share(deal: Deal, entrant: int) -> float:
    """Return the share of the games of a deal that an entrant at its table has won, from 0 to 1."""
    points = next(score.points for score in deal if score.entrant == entrant)
    return points / (POINTS * sum(score.seats for score in deal))


class Deals:
    """Puts the games of each deal together. They may come in any order, but each only once."""

    def __init__(self) -> None:
        self._begun: dict[Hashable, list[tuple[int, ...]]] = {}
        """The points by entrant of each game, by deal, of deals that are not complete."""

    @property
    def left(self) -> int:
        """The number of games in deals that are not complete."""
        return sum(map(len, self._begun.values()))

    def add(self, deal: Hashable, seats: Sequence[int], game: Game) -> Deal | None:
        """Add a game; return the result of its deal if this was the last game of the deal.

        :param deal: equal for the games of a deal, and different for those of others.
        :param seats: the entrants by seat: the same ones in each game of a deal.
        """
        entrants = sorted(set(seats))
        each = POINTS // len(game.winners)
        won = [seats[seat] for seat in game.winners]
        games = self._begun.setdefault(deal, [])
        games.append(tuple(each * won.count(entrant) for entrant in entrants))
        if len(games) < len(seats):
            return None
        del self._begun[deal]
        points = map(sum, zip(*games, strict=True))
        return tuple(Score(entrant, seats.count(entrant), own) for entrant, own in zip(entrants, points, strict=True))
