"""Probabilities, compared with a count of all cases."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.counting import NOTHING_WILD, ONES_WILD, Counting, at_least, exactly, in_row, rows
from tests.p2pdice.countings import Against, Doubled


@pytest.mark.parametrize("face", [1, 4])
@pytest.mark.parametrize("counting", [ONES_WILD, NOTHING_WILD, Against(), Doubled()])
@pytest.mark.parametrize("hand", [(), (1, 4), (4, 4, 6)])
def test_odds_are_the_share_of_all_cases(face: int, counting: Counting, hand: tuple[int, ...]) -> None:
    cases = [sum(counting.weight(die, face) for die in (*hand, *unknown)) for unknown in product(range(1, 7), repeat=4)]
    for quantity in range(1, 9):
        enough = sum(count >= quantity for count in cases)
        right = sum(count == quantity for count in cases)
        assert at_least(quantity, face, hand, 4, counting) == Fraction(enough, len(cases))
        assert exactly(quantity, face, hand, 4, counting) == Fraction(right, len(cases))


@given(
    quantity=st.integers(1, 999),
    face=st.integers(1, 6),
    unknown=st.integers(0, 990),
    counting=st.sampled_from([ONES_WILD, NOTHING_WILD]),
)
def test_odds_fall_with_the_quantity_and_exact_is_the_difference(
    quantity: int, face: int, unknown: int, counting: Counting
) -> None:
    here, above = (at_least(n, face, (2, 3), unknown, counting) for n in (quantity, quantity + 1))
    assert 0 <= above <= here <= 1
    assert exactly(quantity, face, (2, 3), unknown, counting) == here - above
    assert (here == 0) == (quantity > unknown + (face in (2, 3)))


def test_probabilities_of_exact_sum_to_1_at_the_largest_table() -> None:
    assert sum(exactly(n, 6, (), 990, ONES_WILD) for n in range(991)) == 1


@given(
    hand=st.lists(st.integers(1, 6), max_size=6).map(sorted).map(tuple),
    unknown=st.integers(0, 60),
    counting=st.sampled_from([ONES_WILD, NOTHING_WILD, Against(), Doubled()]),
    quantity=st.integers(0, 80),
    face=st.integers(1, 6),
)
def test_rows_have_the_floats_nearest_to_the_fractions(
    hand: tuple[int, ...], unknown: int, counting: Counting, quantity: int, face: int
) -> None:
    assert in_row(rows(hand, unknown, counting)[face], quantity) == float(
        at_least(quantity, face, hand, unknown, counting)
    )
