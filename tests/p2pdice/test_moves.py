"""The text of moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice import Bid, Concede, Exact, Liar, MalformedMove, Move, RulesError, Side, parse_move

moves = st.one_of(
    st.builds(Bid, st.integers(1, 999), st.integers(1, 6)),
    st.sampled_from([Liar(), Exact(), Concede(), Side("accuser"), Side("accused")]),
)


@given(moves)
def test_every_move_prints_as_the_text_that_parses_to_it(move: Move) -> None:
    assert parse_move(str(move)) == move


@given(moves, st.sampled_from([str.upper, str.title, "  {} ".format, "\t{}\n".format]))
def test_case_and_outer_space_do_not_matter(move: Move, change: object) -> None:
    assert callable(change)
    assert parse_move(change(str(move))) == move


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("bs", "liar"),
        ("dudo", "liar"),
        ("challenge", "liar"),
        ("0", "liar"),
        ("spot-on", "exact"),
        ("Spot On", "exact"),
        ("calza", "exact"),
        ("2", "exact"),
        ("1 3x5", "3x5"),
        ("3 x 5", "3x5"),
        ("3×5", "3x5"),
        ("03x5", "3x5"),
    ],
)
def test_aliases(text: str, canonical: str) -> None:
    assert str(parse_move(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "1", "3", "3x", "x5", "0x5", "3x0", "3x7", "1000x2", "-3x5", "3x5x1", "lia", "٣x٥"]
)
def test_what_is_no_move_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMove):
        parse_move(text)


@given(st.text(max_size=200))
def test_any_text_is_a_move_or_malformed_and_is_quoted_harmlessly(text: str) -> None:
    refusal = None
    try:
        move = parse_move(text)
    except MalformedMove as error:
        refusal = str(error)
    assert parse_move(str(move)) == move if refusal is None else refusal.isascii() and refusal.isprintable()


def test_errors_are_value_errors() -> None:
    assert issubclass(MalformedMove, RulesError)
    assert issubclass(RulesError, ValueError)


@given(moves)
def test_repr_is_a_constructor_call(move: Move) -> None:
    assert eval(repr(move)) == move
