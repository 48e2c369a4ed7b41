"""Players with mistakes, for tests of the arena."""

from __future__ import annotations

import asyncio
import os
import sys
from fractions import Fraction
from random import Random

from p2pdice.moves import Bid, Move
from p2pdice.players import Player
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


class Raises(Player):
    """Raises an error in every turn."""

    def __init__(self, rng: Random) -> None:
        """Ignore the generator."""

    def choose(self, view: View) -> Move:
        raise ZeroDivisionError


class Cheats(Raises):
    """Makes illegal bids."""

    def choose(self, view: View) -> Move:
        return Bid(0, 7)


class Leaves(Raises):
    """Ends its process as a script does."""

    def choose(self, view: View) -> Move:
        sys.exit(0)


class Interrupts(Raises):
    """Raises the exception of Ctrl-C."""

    def choose(self, view: View) -> Move:
        raise KeyboardInterrupt


class Cancels(Raises):
    """Raises the exception of a cancelled task."""

    def choose(self, view: View) -> Move:
        raise asyncio.CancelledError


class Forgets(Raises):
    """Returns no move."""

    def choose(self, view: View) -> Move:
        return None  # type: ignore[return-value]


class Spells(Raises):
    """Makes bids that consist of texts."""

    def choose(self, view: View) -> Move:
        return Bid("many", "3")  # type: ignore[arg-type]


class Halves(Raises):
    """Bids a fraction."""

    def choose(self, view: View) -> Move:
        return Bid(Fraction(7, 2), 3)  # type: ignore[arg-type]


class Exceeds(Raises):
    """Bids a number with more digits than Python prints."""

    def choose(self, view: View) -> Move:
        return Bid(10**5000, 3)


class Tires(Player):
    """Can be constructed three times in a process."""

    made = 0

    def __init__(self, rng: Random) -> None:
        Tires.made += 1
        if Tires.made > 3:
            sys.exit("no more")

    def choose(self, view: View) -> Move:
        return view.legal[0]


class Quits(Raises):
    """Ends the process in its constructor."""

    def __init__(self, rng: Random) -> None:
        sys.exit(0)


class Unmade(Raises):
    """Has a mistake in its constructor."""

    def __init__(self, rng: Random) -> None:
        rng.seed(1 // 0)


class Rare(Raises):
    """Raises an error in the second round, and bids too low in the fourth."""

    def choose(self, view: View) -> Move:
        if view.state.round == 4 and view.state.bids:
            return Bid(1, 1)
        return self.look_up(view) if view.state.round == 2 else view.legal[0]

    def look_up(self, view: View) -> Move:
        raise KeyError(f"round {view.state.round}\x1b[2J")


class Inventive(Raises):
    """Raises a different error in every turn."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def choose(self, view: View) -> Move:
        raise KeyError("".join(self._rng.choices("abc", k=20)))


class Unspeakable(Raises):
    """Raises an error that cannot be described."""

    def choose(self, view: View) -> Move:
        class Silent(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        raise Silent


class Talks(Raises):
    """Prints to standard output."""

    def choose(self, view: View) -> Move:
        print("I think")
        return view.legal[0]


class Honest(Player):
    """Plays at random."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:
        self._seat = seat

    def choose(self, view: View) -> Move:
        return self._rng.choice(view.legal)

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:
        if self._seat not in places[0]:
            self.lose()

    def lose(self) -> None:
        """Do nothing."""


class Overturns(Honest):
    """Kills its process when it has lost."""

    def lose(self) -> None:
        os._exit(1)
