"""A round as ``mind`` imagines it: the answers to a bid, and the outcome of a call. The engine gives both.

An action is a number: 8 times the quantity plus the face of a bid, or a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from p2pdice import bidding, showdown
from p2pdice.bids import raises
from p2pdice.mischief import Mischief
from p2pdice.rulesets import Ruleset
from p2pdice.state import NOBODY, Call, Expect, StandingBid, State, Table, next_live

LIAR: Final = 0
EXACT: Final = 1
"""Calls, as actions. Bids begin at 8."""

Action = int
Made = int
"""A set of bids, as the bits of a number."""
_CALLS: Final[tuple[Call, Call]] = ("liar", "exact")


class Turn(NamedTuple):
    """The possible answers to a standing bid."""

    quantity: int
    """Of the standing bid; 0 if there is none yet."""
    face: int
    options: tuple[tuple[int, int, int], ...]
    """For each face that may be bid: the face, and the lowest and the highest quantity."""
    may_call: bool
    may_exact: bool
    lowest: Made = 0
    """The lowest bids of all faces."""

    @property
    def bids(self) -> int:
        """How many bids there are."""
        return sum(high - low + 1 for _, low, high in self.options)

    def without(self, made: Made) -> Turn:
        """Return the turn with the lowest bid on each face raised over bids that may not be made again.

        Such bids above the lowest one stay listed, as a turn has one range for each face. ``lowest`` does not change.
        """
        options = []
        for option in self.options:
            face, low, high = option
            if made >> low * 8 + face & 1:
                low += 1
                while made >> low * 8 + face & 1:
                    low += 1
                option = face, low, high
            if low <= high:
                options.append(option)
        return Turn(self.quantity, self.face, tuple(options), self.may_call, self.may_exact, self.lowest)


class Round:
    """The moves that a round allows, and the outcome of a call in it."""

    def __init__(
        self, ruleset: Ruleset, dice: tuple[int, ...], live: tuple[int, ...], palifico: bool, number: int
    ) -> None:
        self.terms = (ruleset, dice, live, palifico, number)
        self.ruleset, self.dice, self.live = ruleset, dice, live
        self.total = sum(dice)
        motes = Mischief() if ruleset.motes else None
        table = Table(live[0], dice, live, number, palifico, (), (), None, (), ruleset, len(dice), motes)
        self._state = State(NOBODY, (), "bidding", Expect.MOVE, None, None, table)
        self.following = {seat: next_live(live, seat) for seat in live}
        self._turns: dict[tuple[int, Action, int, bool], Turn] = {}
        self._wild: dict[int, bool] = {}

    @cached_property
    def forbids_repeats(self) -> bool:
        """Whether no bid may be made twice."""
        return bidding.order(self._state) == "either"

    def opening(self, first_face: int) -> int:
        """Return the same number for opening faces after which the same moves are allowed, and the same dice count."""
        is_asked = self.ruleset.wild == "unless-opened" or self.ruleset.ones_bid == "opening-only"
        return int(is_asked and first_face == 1)

    def made(self, bids: Sequence[StandingBid]) -> Made:
        """Return the bids that may not be made again."""
        return sum(1 << bid.quantity * 8 + bid.face for bid in bids) if self.forbids_repeats else 0

    def ones_wild(self, first_face: int) -> bool:
        """Return whether ones are wild in a round that was opened on a face; 0 stands for not opened yet."""
        wild = self._wild.get(first_face)
        if wild is None:
            wild = self._wild[first_face] = self._at(NOBODY, 0, first_face).ones_wild
        return wild

    def turn(self, seat: int, standing: Action, first_face: int, made: Made = 0, may_call: bool = True) -> Turn:
        """Return a seat's possible answers to a bid in a round that was opened on a face.

        :param made: bids that may not be made again.
        """
        key = (self.dice[seat], standing, first_face, may_call)  # seats with as many dice have the same choice
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = self._turn(seat, standing, first_face, may_call)
        return turn.without(made) if made & turn.lowest else turn

    def _turn(self, seat: int, standing: Action, first_face: int, may_call: bool) -> Turn:
        state = self._at(seat, standing, first_face)
        if state.motes is not None:
            state = state.with_motes(state.motes._replace(must_raise=not may_call))
        quantity, face = divmod(standing, 8)
        allowed, limit = raises(bidding.order(state), quantity, face), bidding.highest_listed(state)
        options = tuple(
            (new, allowed[new - 1].start, min(allowed[new - 1].stop - 1, limit))
            for new in bidding.faces(state)
            if allowed[new - 1] and allowed[new - 1].start <= limit
        )
        may_call = may_call and standing > 0
        lowest = sum(1 << low * 8 + new for new, low, _ in options) if self.forbids_repeats else 0
        return Turn(quantity, face, options, may_call, may_call and not bidding.exact_refused(state), lowest)

    def _at(self, seat: int, standing: Action, first_face: int) -> State:
        """Return the state with the seat on turn. The engine asks for the first and the last bid of a round only."""
        bids = (StandingBid(0, first_face, NOBODY),) if first_face else ()
        if standing:
            bids = (*bids, StandingBid(*divmod(standing, 8), NOBODY))
        return self._state._replace(turn=seat, bids=bids)

    def is_right(self, call: Action, quantity: int, counted: int) -> bool:
        """Return whether a call on a bid of this quantity is right."""
        return bool(showdown.verdict(_CALLS[call], quantity, counted, 0)[1])

    def dice_after(self, call: Action, caller: int, bidder: int, is_right: bool, sided: Sequence[int]) -> list[int]:
        """Return the dice by seat after a call.

        :param sided: the seats that took the right side.
        """
        winner, loser = (caller, bidder) if is_right else (bidder, caller)
        change, changed = showdown.affected(self._state, _CALLS[call], caller, loser, (winner, *sided))
        dice = list(self.dice)
        for seat in changed:
            dice[seat] += change
        return dice
