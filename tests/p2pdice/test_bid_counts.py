"""The number of bid sequences in a round, compared with a count that shares no code with the engine.

That count tries all sequences of different bids. Each raise order is written as in its sentence in the rules.
"""

from collections.abc import Callable
from itertools import pairwise, permutations

import pytest

from p2pdice.engine import apply, legal_moves
from p2pdice.moves import Bid, Play
from p2pdice.state import State

from .scripted import rolled, rules

Pair = tuple[int, int]


def weight(bid: Pair) -> tuple[int, int]:
    return (bid[0] * 2, 1) if bid[1] == 1 else bid


SENTENCES: dict[str, Callable[[Pair, Pair], bool]] = {
    # more dice of any face, or as many dice of a higher face
    "standard": lambda old, new: new[0] > old[0] or (new[0] == old[0] and new[1] > old[1]),
    # more dice of the same face, or as many of a higher face
    "strict": lambda old, new: (new[1] == old[1] and new[0] > old[0]) or (new[0] == old[0] and new[1] > old[1]),
    # more dice of the same face, or any number of a higher face
    "reset-quantity": lambda old, new: new[1] > old[1] or (new[1] == old[1] and new[0] > old[0]),
    # more dice, or a higher face
    "either": lambda old, new: new[0] > old[0] or new[1] > old[1],
    # half as many to change to ones; more than twice as many to change back
    "half-ones": lambda old, new: (
        new[0] > old[0]
        if old[1] == new[1]
        else 2 * new[0] >= old[0]
        if new[1] == 1
        else new[0] > 2 * old[0]
        if old[1] == 1
        else new[0] > old[0] or (new[0] == old[0] and new[1] > old[1])
    ),
    # ones weigh double
    "double-ones": lambda old, new: weight(new) > weight(old),
}


def counted_by_hand(raises: Callable[[Pair, Pair], bool], dice: int, length: int) -> int:
    """Count sequences of ``length`` bids up to ``dice`` in which each bid raises the previous one."""
    bids = [(quantity, face) for quantity in range(1, dice + 1) for face in range(1, 7)]
    return sum(all(raises(old, new) for old, new in pairwise(line)) for line in permutations(bids, length))


def counted_by_engine(state: State, length: int) -> int:
    if not length:
        return 1
    bids = [move for move in legal_moves(state) if isinstance(move, Bid)]
    return sum(counted_by_engine(apply(state, Play(state.turn, move))[0], length - 1) for move in bids)


@pytest.mark.parametrize("order", SENTENCES)
@pytest.mark.parametrize(("dice", "length"), [((1, 1), 3), ((2, 1), 3), ((2, 2), 2)])
def test_bid_sequences(order: str, dice: tuple[int, int], length: int) -> None:
    state = rolled(rules(raise_=order), dice)
    assert counted_by_engine(state, length) == counted_by_hand(SENTENCES[order], sum(dice), length)


def test_standard_raises_allow_every_ascending_set_of_bids() -> None:
    # In a total order of 12 bids, the rising sequences are the non-empty subsets.
    state = rolled(rules(raise_="standard"), (1, 1))
    assert sum(counted_by_engine(state, length) for length in range(1, 13)) == 2**12 - 1
