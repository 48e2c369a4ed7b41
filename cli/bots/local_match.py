"""A match in memory between bots: programs may take their time, and the referee can play it again.

No secrets are at stake here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from cli.bots.bot import Bot
from p2pdice.events import Event
from p2pdice.inputs import Hand, Input, Play, Pledges, Roll, Rolled, Stakes
from p2pdice.motes import GROUPS
from p2pdice.moves import FACES
from p2pdice.players.contest import Course, Dice
from p2pdice.rulesets import Ruleset
from p2pdice.state import State


class SharedDice:
    """Dice out of a seed. Those of a round and seat depend on nothing else, so two matches can share their luck."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._rolls = 0

    def leader(self, players: int) -> int:
        """Return the seat that leads the first round."""
        return self._random("leader").randrange(players)

    def hands(self, state: State) -> tuple[Hand, ...]:
        """Return the hands of the round, by seat."""
        rng = self._random(f"round {state.round}")
        # Die by die for all seats: a hand keeps its first dice when another one is smaller.
        dice = [rng.choices(FACES, k=state.players) for _ in range(max(state.dice))]
        return tuple(tuple(sorted(faces[seat] for faces in dice[:count])) for seat, count in enumerate(state.dice))

    def roll(self) -> int:
        """Return the face of the next public die."""
        self._rolls += 1
        return self._random(f"roll {self._rolls}").choice(FACES)

    def pledges(self, players: int) -> tuple[str, ...]:
        """Return the groups of motes that the players pledge to."""
        return tuple(self._random("pledges").choices(GROUPS, k=players))

    def _random(self, purpose: str) -> Random:
        return Random(f"{self._seed} {purpose}")  # noqa: S311 - no secrets are at stake


Line = dict[str, Any]
"""A line that ``p2pdice referee`` reads."""


async def rehearse(
    ruleset: Ruleset, bots: Sequence[Bot], dice: Dice, note: Callable[[Line], None] = lambda line: None
) -> State:
    """Play a match to its end, and return the state then.

    :param bots: by seat. They are not closed.
    :param note: told each input of the match, as the line that has ``p2pdice referee`` do the same.
    """
    names = [bot.name for bot in bots]
    for seat, bot in enumerate(bots):
        await bot.started(ruleset, seat, names)

    def tell(event: Event) -> None:
        for bot in bots:
            bot.happened(event)

    course = Course(ruleset, len(bots), dice, tell, lambda item, hands: _note(item, hands, note))
    while (view := course.asked) is not None:
        course.go_on(await bots[view.seat].choose(view))
    for bot in bots:
        bot.over(course.state.places)
    return course.state


def _note(item: Input, hands: tuple[Hand, ...], note: Callable[[Line], None]) -> None:
    match item:
        case Play():
            note({"seat": item.seat, "do": str(item.move)})
        case Rolled():
            note({"deal": hands})
        case Roll():
            note({"roll": item.face})
        case Pledges():
            note({"pledges": item.pledges})
        case Stakes():
            note({"stakes": item.stakes})
        # The referee has kept the hands that are opened.
