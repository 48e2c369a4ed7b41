"""The text of moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.errors import MalformedMove, RulesError
from p2pdice.motes import MOTES, Die, Mote
from p2pdice.moves import Bid, Concede, Crown, Exact, Liar, Lose, Move, Pass, Power, Side, Stake, parse_move

dice = st.builds(Die, st.sampled_from(MOTES), st.integers(0, 9))


def dice_of(*motes: Mote) -> st.SearchStrategy[Die]:
    return st.builds(Die, st.sampled_from(motes), st.integers(0, 9))


moves = st.one_of(
    st.builds(Power, dice_of("light", "neutral", "dark"), dice),
    st.builds(Power, dice_of("grey", "blue")),
    st.builds(Power, dice_of("red"), st.integers(0, 9)),
    st.builds(Lose, dice),
    st.builds(Crown, dice),
    st.builds(Stake, st.integers(0, 10**12), st.integers(0, 10**12)),
    st.just(Pass()),
    st.builds(Bid, st.integers(1, 999), st.integers(1, 6)),
    st.sampled_from([Liar(), Exact(), Concede(), Side("accuser"), Side("accused")]),
)


@given(moves)
def test_every_move_is_parsed_from_its_own_text(move: Move) -> None:
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
        ("play yellow@0 swap blue@0", "play neutral@0 swap blue@0"),
        ("lose Yellow@3", "lose neutral@3"),
        ("play gray@1", "play grey@1"),
        ("Play  Light @ 1 take Dark@2", "play light@1 take dark@2"),
        ("stake 050", "stake 50"),
        ("stake 50 tickets 0", "stake 50"),
    ],
)
def test_aliases(text: str, canonical: str) -> None:
    assert str(parse_move(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "3", "3x", "x5", "0x5", "3x0", "3x7", "1000x2", "-3x5", "3x5x1", "lia", "٣x٥"),
        *("play", "play light@1", "play light@1 on 2", "play grey@1 on 2", "play blue@1 take red@1", "play red@1"),
        *("play red@1 on blue@1", "play dark@0 take light@1", "play light@10 take dark@1", "play pink@1"),
        *("lose", "lose 1", "lose light", "crown light@x", "stake", "stake -1", "stake 1.5", "stake 1 tickets"),
        *(f"stake {10**12 + 1}", "stake ١"),
    ],
)
def test_text_that_is_not_a_move_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMove):
        parse_move(text)


@given(st.text(max_size=200))
def test_any_text_is_a_move_or_is_quoted_in_printable_ascii(text: str) -> None:
    refusal = None
    try:
        move = parse_move(text)
    except MalformedMove as error:
        refusal = str(error)
    assert parse_move(str(move)) == move if refusal is None else refusal.isascii() and refusal.isprintable()


@pytest.mark.parametrize(
    ("die", "target"),
    [("light", None), ("light", 1), ("grey", 1), ("blue", Die("red", 1)), ("red", None), ("red", Die("red", 1))],
)
def test_a_power_with_a_target_of_a_wrong_type_is_malformed(die: Mote, target: Die | int | None) -> None:
    with pytest.raises(MalformedMove, match="is played as in play"):
        Power(Die(die, 0), target)


def test_errors_are_value_errors() -> None:
    assert issubclass(MalformedMove, RulesError)
    assert issubclass(RulesError, ValueError)


@given(moves)
def test_repr_is_a_constructor_call(move: Move) -> None:
    assert eval(repr(move)) == move
