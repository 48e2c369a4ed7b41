"""The engine as a filter: one line of input, one line of output. The referee keeps the dice until the showdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from cli.foreign_text import read_object, short, write_object
from cli.render import dice_count
from p2pdice.engine import apply, new_match
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.moves import FACES, Evict, Hand, Hands, Input, Play, Pledges, Roll, Rolled, Stakes, parse_move
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect, State
from p2pdice.views import state_json


class RefusedLineError(ValueError):
    """A line is not an input that the referee understands."""


class Referee:
    """The referee of one match.

    :param first: the seat that leads the first round.
    :raises RulesError: if the engine refuses the number of players or the first seat.
    """

    def __init__(self, ruleset: Ruleset, players: int, first: int = 0) -> None:
        self.state = new_match(ruleset, players, first)
        self._dealt: tuple[Hand, ...] | None = None
        """The hands by seat; None before the first deal, and in rounds in which only the players know their dice."""

    def answer(self, line: bytes) -> bytes:
        """Return the answer to a line. A refused line does not change the state."""
        try:
            events = [event for event, _ in self.take(read_object(line))]
        except (RulesError, ValueError) as error:
            return refusal(str(error))
        shown = [event.to_json() for event in events]
        return write_object({"ok": True, "events": shown, "state": state_json(self.state)})

    def take(self, data: dict[str, Any]) -> list[tuple[Event, State]]:
        """Return the events that a line causes, each with the state after its input.

        :raises RulesError: if the rules refuse the input. The state is unchanged.
        :raises RefusedLineError: if the line is not an input.
        """
        keys = frozenset(data)
        if not keys:
            return []
        if keys not in _LINES:
            raise RefusedLineError(f"no line has the keys {short(', '.join(sorted(keys)))}: see p2pdice referee --help")
        item = _LINES[keys](self, data)
        state, events = apply(self.state, item)
        happened = [(event, state) for event in events]
        dealt = self._dealt
        if isinstance(item, Rolled):
            dealt = None if data["deal"] is None else self._deal(data["deal"])
        while state.awaits is Expect.HANDS and dealt is not None:
            # The referee also opens the dice of a player who left in this round.
            state, events = apply(state, Hands(dealt))
            happened += [(event, state) for event in events]
        self.state, self._dealt = state, dealt
        return happened

    def _deal(self, value: Any) -> tuple[Hand, ...]:
        hands = _hands(value)
        if len(hands) != self.state.players or None in hands:
            raise RefusedLineError(f"deal has {self.state.players} lists of faces, [] for a seat without dice")
        dealt = tuple(hand for hand in hands if hand is not None)
        for seat, (hand, dice) in enumerate(zip(dealt, self.state.dice, strict=True)):
            if len(hand) != dice:
                raise RefusedLineError(f"seat {seat} is dealt {dice_count(len(hand))} but has {dice_count(dice)}")
        return dealt

    def _seat(self, value: Any) -> int:
        if type(value) is not int or not 0 <= value < self.state.players:
            raise RefusedLineError(f"there is no seat {short(value)}: seats are 0 to {self.state.players - 1}")
        return value

    def _play(self, data: dict[str, Any]) -> Input:
        text = data["do"]
        if not isinstance(text, str):
            raise RefusedLineError(f'do is the text of a move, as in "3x5", not {short(text)}')
        return Play(self._seat(data["seat"]), parse_move(text))

    def _evict(self, data: dict[str, Any]) -> Input:
        return Evict(self._seat(data["evict"]))


def refusal(reason: str) -> bytes:
    """Return the answer to a refused line."""
    return write_object({"ok": False, "error": reason})


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise RefusedLineError(f"{what} must be a list, not {short(value)}")
    return value


def _hands(value: Any) -> tuple[Hand | None, ...]:
    return tuple(None if hand is None else _hand(hand) for hand in _list(value, "hands"))


def _hand(value: Any) -> Hand:
    return tuple(sorted(map(_face, _list(value, "a hand"))))


def _face(value: Any) -> int:
    if type(value) is not int or value not in FACES:
        raise RefusedLineError(f"{short(value)} is not a face of a die: it has 1 to 6")
    return value


def _stake(value: Any) -> tuple[int, int, int, int] | None:
    # The engine checks that there are four values, and each of them.
    if value is None:
        return None
    if not isinstance(value, list):
        raise RefusedLineError(f"a stake is [bet, funds, staked tickets, owned tickets] or null, not {short(value)}")
    stake: tuple[int, int, int, int] = tuple(value)
    return stake


_LINES: Final[Mapping[frozenset[str], Callable[[Referee, dict[str, Any]], Input]]] = {
    frozenset({"pledges"}): lambda _, data: Pledges(tuple(_list(data["pledges"], "pledges"))),
    frozenset({"stakes"}): lambda _, data: Stakes(tuple(map(_stake, _list(data["stakes"], "stakes")))),
    frozenset({"roll"}): lambda _, data: Roll(_face(data["roll"])),
    frozenset({"deal"}): lambda _, data: Rolled(),
    frozenset({"hands"}): lambda _, data: Hands(_hands(data["hands"])),
    frozenset({"seat", "do"}): Referee._play,
    frozenset({"evict"}): Referee._evict,
}
"""Functions that turn a line into an input, by the keys of the line."""
