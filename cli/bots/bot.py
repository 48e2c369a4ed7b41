"""Bots: the interface between a bot and its seat, house players as bots, and the default move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cli.text.choices import is_stake
from p2pdice.engine import apply
from p2pdice.errors import IllegalMove
from p2pdice.events import Event
from p2pdice.inputs import Play
from p2pdice.moves import LIAR, PASS, SIDES, Lose, Move, Stake
from p2pdice.players import Player
from p2pdice.players.contest import answer
from p2pdice.rulesets import Ruleset
from p2pdice.views import View


class Bot(Protocol):
    """Decides for a seat. A table asks one thing at a time."""

    name: str
    """Safe to print."""

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        """Learn the rules, this bot's seat, and the names by seat."""

    async def choose(self, view: View) -> Move:
        """Return a legal move or, if stakes are awaited, a stake out of the funds."""

    def happened(self, event: Event) -> None:
        """Learn what happened."""

    def over(self, places: Sequence[Sequence[int]]) -> None:
        """Learn the seats by place, the best first."""

    async def close(self) -> None:
        """Free all resources."""


class PlayerBot:
    """A :class:`p2pdice.players.Player`, in this process."""

    def __init__(self, name: str, player: Player) -> None:
        self.name = name
        self._player = player

    async def started(self, ruleset: Ruleset, seat: int, names: Sequence[str]) -> None:
        self._player.started(ruleset, seat, len(names))

    async def choose(self, view: View) -> Move:
        return answer(self._player, view)

    def happened(self, event: Event) -> None:
        self._player.happened(event)

    def over(self, places: Sequence[Sequence[int]]) -> None:
        self._player.over(tuple(map(tuple, places)))

    async def close(self) -> None:
        """A player holds no resources."""


def default_move(view: View) -> Move:
    """Return the move that is played for a bot without an answer. It never prolongs a match.

    It is a challenge if possible, else the lowest raise; pass; accused; the last listed die to lose, the first to
    crown; and a stake of nothing.
    """
    if is_stake(view):
        return Stake(0)
    legal = view.legal
    for move in (LIAR, PASS, SIDES[1]):
        if move in legal:
            return move
    return legal[-1] if isinstance(legal[0], Lose) else legal[0]


def check_move(move: Move, view: View) -> None:
    """Refuse what the rules refuse, from a bot that was asked with this view.

    :raises RulesError: for an illegal move, or a stake that cannot be paid.
    """
    if not is_stake(view):
        apply(view.state, Play(view.seat, move))
    elif isinstance(move, Stake):
        view.wager(move)
    else:
        raise IllegalMove(f"{move} is not a stake, such as stake 50")
