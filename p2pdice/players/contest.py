"""A match in memory, between players in this process or with moves supplied from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from p2pdice.engine import apply, new_match
from p2pdice.events import Event
from p2pdice.motes import GROUPS
from p2pdice.moves import FACES, Hand, Hands, Input, Move, Play, Pledges, Roll, Rolled, Stake, Stakes, Wager
from p2pdice.players.house import Player
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, State
from p2pdice.views import View

OnInput = Callable[[Input, tuple[Hand, ...]], None]
"""Called with each input of a match and the hands by seat."""


def _no_note(item: Input, hands: tuple[Hand, ...]) -> None:
    """Ignore the input."""


class Dice(Protocol):
    """The source of a match's dice."""

    def leader(self, players: int) -> int:
        """Return the seat that leads the first round."""

    def hands(self, state: State) -> tuple[Hand, ...]:
        """Return the hands of a new round by seat."""

    def roll(self) -> int:
        """Return the face of the next public die."""

    def pledges(self, players: int) -> tuple[str, ...]:
        """Return the group of motes to which each player pledges."""


class DrawnDice:
    """Dice drawn from a random generator."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def leader(self, players: int) -> int:
        return self._rng.randrange(players)

    def hands(self, state: State) -> tuple[Hand, ...]:
        return tuple(tuple(sorted(self._rng.choices(FACES, k=number))) for number in state.dice)

    def roll(self) -> int:
        return self._rng.choice(FACES)

    def pledges(self, players: int) -> tuple[str, ...]:
        return tuple(self._rng.choices(GROUPS, k=players))


def contest(ruleset: Ruleset, players: Sequence[Player], dice: Random, note: OnInput = _no_note) -> State:
    """Play a match to its end and return the final state.

    :param players: the players by seat.
    :param dice: draws the first leader, the dice and the pledges, reproducibly.
    :param note: called with each input of the match and the hands by seat.
    """
    for seat, player in enumerate(players):
        player.started(ruleset, seat, len(players))

    def tell(event: Event) -> None:
        for player in players:
            player.happened(event)

    course = Course(ruleset, len(players), DrawnDice(dice), tell, note)
    while (view := course.asked) is not None:
        course.go_on(answer(players[view.seat], view))
    for player in players:
        player.over(course.state.places)
    return course.state


class Course:
    """A match whose caller supplies every move and stake. All players have a newcomer's holdings.

    :param tell: called with each event.
    :param note: called with each input and the hands by seat.
    """

    def __init__(
        self, ruleset: Ruleset, players: int, dice: Dice, tell: Callable[[Event], None], note: OnInput = _no_note
    ) -> None:
        self.state = new_match(ruleset, players, dice.leader(players))
        self.asked: View | None = None
        """The view of the player whose answer is awaited; None once the match is over."""
        self._dice, self._tell, self._note = dice, tell, note
        self._hands: tuple[Hand, ...] = ((),) * players
        self._wagers: list[Wager] = []
        self._ask()

    def go_on(self, answer: Move) -> None:
        """Apply the answer of the player who was asked.

        :raises IllegalMove: if the answer is illegal; the same player is then asked again.
        """
        assert self.asked is not None
        if self.state.awaits is Expect.MOVE:
            self._take(Play(self.asked.seat, answer))
        else:
            assert isinstance(answer, Stake)
            self._wagers.append(self.asked.wager(answer))
            if len(self._wagers) == self.state.players:
                self._take(Stakes(tuple(self._wagers)))
        self._ask()

    def _ask(self) -> None:
        while (item := self._own()) is not None:
            self._take(item)
        if self.state.awaits is Expect.OVER:
            self.asked = None
        elif self.state.awaits is Expect.MOVE:
            self.asked = View(self.state, self.state.turn, self._hands[self.state.turn])
        else:
            self.asked = View(self.state, len(self._wagers), ())

    def _own(self) -> Input | None:
        """Return the next input if it does not depend on a player's answer, otherwise None."""
        match self.state.awaits:
            case Expect.ROLLED:
                self._hands = self._dice.hands(self.state)
                return Rolled()
            case Expect.HANDS:
                hands, self._hands = self._hands, ((),) * self.state.players
                return Hands(hands)
            case Expect.ROLL:
                return Roll(self._dice.roll())
            case Expect.PLEDGES:
                return Pledges(self._dice.pledges(self.state.players))
        return None

    def _take(self, item: Input) -> None:
        self.state, events = apply(self.state, item)
        self._note(item, self._hands)
        for event in events:
            self._tell(event)


def answer(player: Player, view: View) -> Move:
    """Return a player's answer to a view of a :class:`Course`: a stake or a move."""
    if view.state.awaits is Expect.STAKES:
        return player.stake(view.funds, view.tickets)
    return player.choose(view)
