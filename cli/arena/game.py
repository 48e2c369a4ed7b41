"""One game of an arena, and its record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, get_args

from cli.bots.bot import Bot, check_move, default_move
from cli.bots.local_match import Line, SharedDice, rehearse
from cli.bots.program_bot import FaultKind, ProgramBot
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import Move
from p2pdice.rulesets import Ruleset
from p2pdice.views import View

_FAULTS: Final = get_args(FaultKind)
_MOST: Final = 1_000_000_000
"""Faults of a kind, and milliseconds of a move: more than any game has."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game that was played."""

    number: int
    """Of its fixture."""
    rules: str
    """How its ruleset was named."""
    leader: int
    """The seat that led the first round."""
    places: tuple[tuple[int, ...], ...]
    """Seats by place, the best first."""
    faults: tuple[dict[str, int], ...]
    """By seat: how often each kind of fault was made."""
    ms: tuple[tuple[float, ...], ...]
    """By seat: milliseconds that each move took."""
    lines: tuple[Line, ...]
    """The whole game as ``p2pdice referee`` reads it."""

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that share the first place."""
        return self.places[0]

    def to_json(self) -> dict[str, Any]:
        """Return the game as JSON-able data."""
        # Not asdict, which copies every part of every line: that took longer than half of the game itself.
        return {"type": "game", **{field.name: getattr(self, field.name) for field in fields(self)}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Game:
        """Return the game that :meth:`to_json` gave, as JSON returns it.

        :raises ValueError: for anything else.
        """
        try:
            game = cls(
                int(data["number"]),
                str(data["rules"]),
                int(data["leader"]),
                tuple(tuple(map(int, place)) for place in data["places"]),
                tuple(dict(faults.items()) for faults in data["faults"]),
                tuple(tuple(map(float, ms)) for ms in data["ms"]),
                tuple(dict(line) for line in data["lines"]),
            )
        except (AttributeError, KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"this is not a game of an arena: {error}") from None
        seats = list(range(len(game.faults)))
        if not all(game.places) or sorted(seat for place in game.places for seat in place) != seats:
            raise ValueError("this is not a game of an arena: its places are not those of its seats")
        # The kinds are printed as they are; sums of numbers without bounds could be too large to be printed.
        if any(
            kind not in _FAULTS or type(count) is not int or not 0 < count <= _MOST
            for faults in game.faults
            for kind, count in faults.items()
        ):
            raise ValueError("this is not a game of an arena: its faults are none that a bot can make")
        if len(game.ms) != len(seats) or not all(0 <= each <= _MOST for ms in game.ms for each in ms):
            raise ValueError("this is not a game of an arena: its times are not those of its seats")
        return game


class Seat:
    """A seat of one game. It times the bot's moves. An error in the bot's code costs a move, and does not end the game.

    :param bot: is not closed, as it may play on in the next game.
    """

    def __init__(self, bot: Bot) -> None:
        self.name = bot.name
        self.ms: list[float] = []
        self._bot = bot
        self._faults: Counter[str] = Counter()
        """Those that were noticed here."""
        self._counted: Counter[str] = Counter(_counted(bot))
        """Those that a program had made before this game."""

    # A try in each method, and no context manager for all: this took a third of the time of a game.

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        try:
            await self._bot.started(ruleset, seat, names)
        except BaseException as error:  # noqa: BLE001 - the bot's code may raise anything
            self._blame(error)

    async def choose(self, view: View) -> Move:
        begun = time.perf_counter()
        move = None
        try:
            move = await self._bot.choose(view)
        except BaseException as error:  # noqa: BLE001
            self._blame(error)
        self.ms.append(round(1000 * (time.perf_counter() - begun), 3))
        if move is not None:
            try:
                check_move(move, view)
            except BaseException as error:  # noqa: BLE001
                self._blame(error)
            else:
                return move
        return default_move(view)

    def happened(self, event: Event) -> None:
        try:
            self._bot.happened(event)
        except BaseException as error:  # noqa: BLE001
            self._blame(error)

    def over(self, places: Sequence[Sequence[int]]) -> None:
        try:
            self._bot.over(places)
        except BaseException as error:  # noqa: BLE001
            self._blame(error)

    async def close(self) -> None:
        """Leave the bot to the next game."""

    @property
    def faults(self) -> dict[str, int]:
        """The faults of this game, by kind."""
        made = Counter(_counted(self._bot)) - self._counted + self._faults
        return dict(sorted(made.items()))

    def _blame(self, error: BaseException) -> None:
        """Count what the bot's code raised as a fault: even sys.exit() there must not end the arena."""
        self._faults["illegal" if isinstance(error, RulesError) else "crashed"] += 1


def _counted(bot: Bot) -> dict[str, int]:
    return {str(kind): count for kind, count in bot.faults.items()} if isinstance(bot, ProgramBot) else {}


async def play(number: int, rules: str, ruleset: Ruleset, bots: Sequence[Bot], dice: SharedDice) -> Game:
    """Play a game between bots that sit by seat. The first two arguments only name it."""
    seats = [Seat(bot) for bot in bots]
    lines: list[Line] = []
    note: Callable[[Line], None] = lines.append
    state = await rehearse(ruleset, seats, dice, note)
    return Game(
        number,
        rules,
        dice.leader(len(bots)),
        state.places,
        tuple(seat.faults for seat in seats),
        tuple(tuple(seat.ms) for seat in seats),
        tuple(lines),
    )
