"""The interface of a bot in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod

from p2pdice.events import Event
from p2pdice.moves import Move, Stake
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


class Player(ABC):
    """A bot. A subclass has to define :meth:`choose`; the rest is for bots that remember.

    A table calls :meth:`started` once, then :meth:`stake` if players bet, :meth:`choose` whenever this bot is to move,
    :meth:`happened` for everything that happens, and :meth:`over` at the end. After that it may call :meth:`started`
    again, for the next match. In a match that is resumed a new object plays on, and is not told the earlier events.

    A bot is given views: its own dice and public facts, and nothing else. It may take its time, but a table may play a
    default move instead of waiting. An illegal move, or an exception, is an error of the bot.
    """

    def started(self, ruleset: Ruleset, seat: int, players: int) -> None:  # noqa: B027 - optional
        """Learn the rules, the seat of this bot and the number of seats."""

    @abstractmethod
    def choose(self, view: View) -> Move:
        """Return a legal move. Asked only when it is this bot's turn, so ``view.legal`` is not empty.

        ``view.state`` is the public state, with the bids of the round; ``view.hand`` are this bot's own dice.
        """

    def stake(self, funds: int, tickets: int) -> Stake:
        """Return the stake on one's own victory, out of these coins and run tickets. By default, nothing."""
        return Stake(0)

    def happened(self, event: Event) -> None:  # noqa: B027 - optional
        """Learn one event of the match. The bot's own moves are events, too."""

    def over(self, places: tuple[tuple[int, ...], ...]) -> None:  # noqa: B027 - optional
        """Learn the seats by place, the best first."""
