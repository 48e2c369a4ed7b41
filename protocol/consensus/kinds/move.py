"""MOVE: a player's bid or call, on their turn."""

from __future__ import annotations

from p2pdice.engine import apply
from p2pdice.errors import RulesError
from p2pdice.inputs import Play
from p2pdice.moves import Bid, Concede, parse_move
from p2pdice.state import State
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets
from protocol.consensus.position import Position, Purpose, Stage, Transition
from protocol.limits import MOVE_CHARACTERS
from protocol.wire.messages import Kind, Signed


def play(position: Position, author: int, text: str) -> Transition:
    """Return the transition that a move causes in the game.

    :raises RulesError: if it is illegal or spelled otherwise than canonically.
    """
    assert position.state is not None
    move = parse_move(text)
    if str(move) != text:
        raise RulesError(f"{text!r} is not the canonical spelling {str(move)!r}")
    if isinstance(move, Concede):
        raise RulesError("conceding is a RESIGN, not a move")
    return apply(position.state, Play(position.seats.index(author), move))


class Move(Rule[str]):
    """The text of a move, in the one spelling that the engine prints."""

    kind = Kind.MOVE
    shape = f"text of 1 to {MOVE_CHARACTERS} characters"
    purposes = (Purpose.TURN,)
    stage = Stage.CHOOSE
    task = "move"

    def fits(self, body: object) -> bool:
        return type(body) is str and 0 < len(body) <= MOVE_CHARACTERS

    def statement(self, body: str) -> str:
        try:
            is_bid = isinstance(parse_move(body), Bid)
        except RulesError:
            is_bid = False
        return f"bid {body}" if is_bid else f'said "{body}"'

    def owed(self, state: State | None, seats: tuple[int, ...], players: tuple[int, ...]) -> tuple[int, ...]:
        """Return the player on turn."""
        assert state is not None
        return (seats[state.turn],)

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: str) -> Transition:
        try:
            return play(position, signed.message.author, body)
        except RulesError as error:
            raise MisconductError.of(signed, f"illegal move: {error}") from None

    def fold(self, closing: Closing[str]) -> None:
        for author, text in closing.bodies.items():
            closing.follow(closing.transition or play(closing.position, author, text))

    def produce(self, position: Position, secrets: Secrets) -> str | None:
        return secrets.move(position)
