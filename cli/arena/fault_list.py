"""The faults of an arena, for the authors of its bots: each different one once, with the first game that has it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.arena.game import Game, Plan, SeatFault
from cli.bots.faults import predicate, trace_lines
from cli.render import command_line, counted, escape

_MOST: Final = 20
"""Maximum number of different faults that are kept for each entrant."""
_SHOWN: Final = 5
"""Maximum number of them that are printed."""


@dataclass(slots=True)
class ListedFault:
    """Faults of one entrant that probably have the same cause."""

    first: SeatFault
    game: int
    """The number of the first game that has it, in the order in which games ended."""
    games: int = 0
    """How many games have it."""
    times: int = 0
    """How often it was made in them."""


class FaultList:
    """The different faults in some games."""

    def __init__(self) -> None:
        self._faults: defaultdict[int, dict[tuple[str, str, str], ListedFault]] = defaultdict(dict)
        """By entrant."""

    def add(self, game: Game, entrants: Sequence[int]) -> None:
        """Add the faults described in a game.

        :param entrants: by seat.
        """
        noted = set()
        for each in game.described:
            faults, likeness = self._faults[entrants[each.seat]], each.likeness
            if likeness not in faults and len(faults) == _MOST:
                continue
            listed = faults.setdefault(likeness, ListedFault(each, game.number))
            listed.times += each.times
            listed.games += (entrants[each.seat], likeness) not in noted  # an entrant can have several seats
            noted.add((entrants[each.seat], likeness))

    def text(self, plan: Plan, path: Path) -> str:
        """Return the faults in words, with the commands that show their games; empty if there are none.

        :param path: the file of the games.
        """
        return "\n".join(self._lines(plan, path))

    def _lines(self, plan: Plan, path: Path) -> Iterator[str]:
        for entrant, faults in sorted(self._faults.items()):
            name = plan.entrants[entrant].name
            shown = sorted(faults.values(), key=lambda each: -each.games)
            for each in shown[:_SHOWN]:
                times = f"{counted(each.times, 'time')} in {counted(each.games, 'game')}"
                where = f"first in game {each.game}{', ' * bool(each.first.log)}{each.first.log}"
                yield f"{name} {escape(predicate(each.first.reason, each.first.played, times, where))}."
                yield from trace_lines(each.first.trace)
                yield f"    {command_line('replay', path, '--game', str(each.game))}"
            if len(shown) > _SHOWN:
                others = counted(len(shown) - _SHOWN, "other kind of fault", "other kinds of faults")
                yield f"{name} made {others}, which the file describes."

    def to_json(self, plan: Plan) -> list[dict[str, Any]]:
        """Return the faults as data for JSON."""
        return [
            {
                "bot": plan.entrants[entrant].name,
                "game": each.game,
                "games": each.games,
                **each.first._asdict(),
                "times": each.times,
            }
            for entrant, faults in sorted(self._faults.items())
            for each in faults.values()
        ]
