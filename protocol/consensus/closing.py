"""A step while it closes. The rule of its kind looks at it, and changes the game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from p2pdice.engine import apply
from p2pdice.events import Event
from p2pdice.inputs import Evict, Play
from p2pdice.inputs import Input as GameInput
from p2pdice.moves import Concede
from p2pdice.state import Expect, State
from protocol.consensus.position import ROLLS, Position, Transition
from protocol.crypto.hashing import Context
from protocol.wire.canonical import Value
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed

Body = TypeVar("Body", bound=Value)


class Closing(Generic[Body]):
    """A step while it closes.

    The game, the dice and the members begin as they were before the step; rules change them.

    :param entries: the messages that close the step, by author.
    :param transition: the game after the move among them; None if it was not judged just now.
    """

    def __init__(
        self,
        genesis: Genesis,
        match: bytes,
        position: Position,
        entries: Mapping[int, Signed],
        transition: Transition | None,
    ) -> None:
        self.genesis = genesis
        self.position = position
        self.match = match
        self.transition = transition
        kind, owed = position.kind, position.owed
        given: Any = {author: signed.message.body for author, signed in entries.items() if signed.message.kind == kind}
        self.bodies: dict[int, Body] = given
        """The bodies of the kind that the step takes, by author."""
        self.is_spoilt = False
        """The roll under way is undone: an author left who may have known its outcome."""

        self.state = position.state
        self.happened: list[tuple[Event, State]] = []
        """The events so far, each with the state after its input."""
        self.seats = position.seats
        self.standing = position.standing
        self.riding = position.riding
        self.deal = position.deal
        self.base = position.base
        self.players = position.players
        self.signers = position.signers
        self.carried = position.carried
        self.locks = position.locks
        self.left = position.left
        self.resigned = position.resigned
        if kind is not Kind.LOCK and len(self.bodies) < len(owed):
            self._lose(tuple(author for author in owed if author not in self.bodies), entries)

    def _lose(self, leavers: tuple[int, ...], entries: Mapping[int, Signed]) -> None:
        """Note the authors who owed a message of the kind and gave none: they leave the match."""
        position = self.position
        self.left = tuple(sorted((*self.left, *leavers)))
        self.players = tuple(author for author in self.players if author not in leavers)
        self.resigned = tuple(sorted((*self.resigned, *(author for author in leavers if author in entries))))
        self.take_out(leavers)
        # Witnesses roll nothing, so their leaving spoils no roll.
        is_rolling = position.purpose in ROLLS and position.standing is not None
        self.is_spoilt = is_rolling and any(author not in position.witnesses for author in leavers)

    @property
    def context(self) -> Context:
        """Where the commitments are made that come with this step."""
        return Context(self.match, self.position.step, self.position.tip)

    def feed(self, item: GameInput) -> None:
        """Give the engine an input."""
        assert self.state is not None
        self.follow(apply(self.state, item))

    def follow(self, transition: Transition) -> None:
        """Go on with the game after an input."""
        self.state, events = transition
        self.happened += [(event, self.state) for event in events]

    def take_out(self, leavers: tuple[int, ...]) -> None:
        """Let authors who resigned or were voted absent leave the game, in the order of seats, until it ends."""
        for seat, author in enumerate(self.seats):
            if author not in leavers or self.state is None or self.state.expects.kind is Expect.OVER:
                continue
            if seat in self.state.live:  # witnesses are out already
                self.feed(Play(seat, Concede()) if author in self.resigned else Evict(seat))
