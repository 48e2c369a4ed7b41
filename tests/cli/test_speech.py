"""Typed moves are understood in many spellings. An ambiguous line is answered with a question, and not played."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.text.move_forms import choices, offers
from cli.text.speech import WIDTH, NotUnderstoodError, doubt, hear, hear_bid, is_possible
from p2pdice.engine import apply, new_match
from p2pdice.errors import RulesError
from p2pdice.moves import Bid, Liar, Move, Play, Stake, parse_move
from p2pdice.rulesets import Ruleset
from p2pdice.state import Expect
from p2pdice.views import View, view
from tests.p2pdice.rulesets import rulesets
from tests.p2pdice.scripted import dealt, play, random_play, reach, rolled, rules, table

NAMES = ("Ada", "Ben", "Cleo")
WORDS = ("help", "dice", "odds", "players")
PARTS = ["3", "1", "40", "x", "fives", "f", "liar", "exact", "call", "play", "lose red@1", "stake", "½"]
SLIPS = st.text(st.characters(exclude_categories=()), max_size=40) | st.lists(st.sampled_from(PARTS), max_size=5).map(
    " ".join
)


def turn(preset: str, *moves: str, players: int = 2, **options: str) -> View:
    """Return the view of the player on turn, after these moves of the first round."""
    state = play(rolled(rules(preset, **options), (5,) * players), *moves)
    return view(state, state.turn)


def said(line: str, seen: View) -> str:
    return str(hear(line, seen, NAMES, WORDS, ("concede", "quit")))


def answer(line: str, seen: View) -> str:
    """Return the answer to a line that is not understood."""
    with pytest.raises(NotUnderstoodError) as refused:
        hear(line, seen, NAMES, WORDS, ("concede", "quit"))
    return str(refused.value)


@pytest.mark.parametrize("line", ["3 5", "3*5", "3,5", "3-5", "3 fives", "three fives", "Three 5's", " THREE  5S "])
def test_a_bid_is_understood_in_many_spellings(line: str) -> None:
    seen = turn("classic", "2x3")
    for before in ("", "bid ", "I say ", "raise to ", "there are at least ", "1 "):
        for more in ("", "!", " (three fives)"):
            assert said(before + line.strip() + more, seen) == "3x5"


@pytest.mark.parametrize(
    ("line", "bid"),
    [
        *[("5 6", "5x6"), ("five sixes", "5x6"), ("one ace", "1x1"), ("20 sixes", "20x6"), ("1 five", "1x5")],
        *[("2 5", "2x5"), ("twenty-one twos", "21x2"), ("ninety nine fours", "99x4"), ("3 fi", "3x5"), ("9 4s", "9x4")],
    ],
)
def test_the_first_number_is_the_quantity(line: str, bid: str) -> None:
    assert said(line, turn("joker")) == bid


@pytest.mark.parametrize(
    "line", ["liar!", "l", "L", "li", "LIAR", "bs", "bluff", "dudo", "call", "call it", "I call", "I call BS!", "0"]
)
def test_a_call_is_understood_in_many_spellings(line: str) -> None:
    assert said(line, turn("classic", "2x3")) == "liar"


@pytest.mark.parametrize("line", ["exact", "e", "Exactly!", "spot on", "spot-on", "I call exact", "calza", "2"])
def test_exact_is_understood_in_many_spellings(line: str) -> None:
    assert said(line, turn("spot-on", "2x3")) == "exact"


@pytest.mark.parametrize(
    ("line", "seen", "meanings"),
    [
        ("1 3", turn("classic"), "'1 3' can be 1x3, or begin a bid as in 1 3x5: type 1x3 for one die."),
        ("1 3", turn("spot-on", "2x3"), "'1 3' can be 1x3, or begin a bid as in 1 3x5: type 1x3 for one die."),
        ("3 f", turn("classic", "2x3"), "'3 f' can be 3x4 or 3x5: type one of them."),
        ("call", turn("spot-on", "2x3"), "'call' can be liar or exact: type one of them."),
        ("a", turn("joker", "2x3", "liar", players=3), "'a' can be side with Ben or side with Ada: type one of them."),
        ("lose", view(s := reach(table(2), "discard"), s.turn), "type one of them."),
        ("p", view(s := reach(table(2, "red@0"), "night"), s.turn), "'p' can be block Ben, pass or players"),
    ],
)
def test_an_ambiguous_line_is_answered_with_a_question(line: str, seen: View, meanings: str) -> None:
    assert meanings in answer(line, seen)


@pytest.mark.parametrize("line", ["1,005 fives", "1 005 5", "1,5 fives", "1-3 fives", "1 x 3 fives", "1, 3 5"])
def test_a_number_that_begins_with_one_is_read_as_a_whole(line: str) -> None:
    """Regression test: 1,005 fives was played as five fives, because of bids such as 1 3x5."""
    assert f"{line!r} is not a move" in answer(line, turn("classic", "2x3"))
    assert hear_bid(line) is None


def test_the_answer_quotes_a_line_that_is_not_understood() -> None:
    seen = turn("classic", "2x3")
    assert answer("drei fünfer", seen).startswith("'drei fünfer' is not a move")
    assert answer("三個五", seen).startswith("'三個五' is not a move")
    assert answer("a\x1b[2J\u202eb", seen).startswith("'a\\x1b[2J\\u202eb' is not a move")
    assert answer("nineteen thousand fives", seen).startswith("'nineteen thousa…' is not a move")
    assert answer("三" * 20, seen).startswith(f"'{'三' * 7}…' is not a move")


def test_an_abbreviation_means_the_only_legal_completion() -> None:
    assert said("3 t", turn("classic", "2x3")) == "3x3"  # 3x2 is not a raise
    assert said("accuser", turn("joker", "2x3", "liar", players=3)) == "accuser"
    assert said("d", turn("classic", "2x3")) == "dice"
    assert answer("conced", turn("classic")).startswith("'conced' is not a move; did you mean concede?")


def test_powers_need_no_verb_and_players_have_names() -> None:
    night = reach(table(3, "red@0"), "night")
    assert said("red on ben", view(night, 0)) == "play red@0 on 1"
    assert said("play red@0 on C", view(night, 0)) == "play red@0 on 2"
    assert said("play red@0 on 2 (Cleo (bot))", view(night, 0)) == "play red@0 on 2"  # as the table prints it
    assert said("pas", view(night, 0)) == "pass"
    losing = reach(table(3), "discard")
    assert said("yellow", view(losing, losing.turn)) == f"lose neutral@{losing.turn}"
    siding = turn("joker", "2x3", "liar", players=3)
    assert [said(name, siding) for name in ("Ben", "ada")] == ["accuser", "accused"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("play dark destroy ben's blue", "play dark@0 destroy blue@1"),
        ("dark destroy bens bl", "play dark@0 destroy blue@1"),
        ("my dark destroy my light", "play dark@0 destroy light@0"),
        ("dark destroy blue@1", "play dark@0 destroy blue@1"),
    ],
)
def test_a_die_can_be_named_by_its_owner(line: str, meant: str) -> None:
    night = reach(table(3, "dark@0", "light@0", "blue@1"), "night")
    assert said(line, view(night, 0)) == meant


def test_the_target_of_a_power_can_be_named_by_its_owner() -> None:
    sunset = view(reach(table(3, "neutral@0", "light@0", "blue@1"), "sunset"), 0)
    assert said("play light take bens blue", sunset) == "play light@0 take blue@1"
    assert said("play neutral@0 swap my red", sunset) == "play neutral@0 swap red@0"


def test_a_die_is_offered_with_its_owner_only_if_ambiguous() -> None:
    losing = reach(table(2), "discard")
    assert offers(view(losing, losing.turn), NAMES)[:2] == ["lose Light", "lose Grey"]
    night = view(reach(table(3, "dark@0", "light@0", "blue@1", "blue@0"), "night"), 0)
    offered = offers(night, NAMES)
    assert {"destroy my Light", "destroy my Blue", "destroy Ben's Blue"} < set(offered)
    assert [hear(text, night, NAMES, WORDS) for text in offered] == list(night.legal)


def test_a_player_named_like_a_seat_makes_no_offer_ambiguous() -> None:
    names = ("Ada", "2", "1")
    night = view(reach(table(3, "red@0"), "night"), 0)
    assert [hear(text, night, names, WORDS) for text in offers(night, names)] == list(night.legal)


@pytest.mark.parametrize(
    ("line", "stake"),
    [("50", 50), ("stake 50 coins", 50), ("0", 0), ("2", 2), ("nothing", 0), ("all", 1000), ("1,000", 1000)],
)
def test_a_stake_can_be_a_number_alone(line: str, stake: int) -> None:
    asked = view(new_match(rules("classic", stakes="yes"), 2), 0)
    assert hear(line, asked, NAMES, WORDS) == Stake(stake)
    assert answer("liar", asked) == "'liar' is not a move. Legal: stake 0, stake 50 or stake 1000."


@pytest.mark.parametrize("line", ["-50", "\u221250", "stake -50", "- 50"])
def test_a_negative_stake_is_refused(line: str) -> None:
    asked = view(new_match(rules("classic", stakes="yes"), 2), 0)
    assert answer(line, asked).startswith(f"'{line}' is not a move; did you mean stake 50?")


def test_only_a_stake_of_all_coins_needs_confirmation() -> None:
    asked = view(new_match(rules("classic", stakes="yes"), 2), 0)
    said = "Those are all your coins: 1,000. Press Enter again to stake them."
    assert doubt(Stake(1000), asked) == said
    assert [doubt(Stake(bet), asked) for bet in (0, 999, 1001)] == ["", "", ""]
    assert doubt(Stake(0), asked._replace(funds=0)) == ""


@pytest.mark.parametrize(
    ("line", "guess"),
    [
        ("lair", "liar"),
        ("thre sixs", "3x6"),
        ("3c6", "3x6"),
        ("36", "3x6"),
        ("sixes", "2x6"),
        ("4", "4x1"),
        ("hlep", "help"),
    ],
)
def test_a_typing_error_is_answered_with_a_guess(line: str, guess: str) -> None:
    assert f"; did you mean {guess}?" in answer(line, turn("classic", "2x3", raise_="standard"))


@given(SLIPS, st.sampled_from(["classic", "plain", "joker", "perudo", "spot-on", "wildcard"]))
@settings(max_examples=60)
def test_the_answer_to_any_line_is_short_and_fits_the_rules(line: str, preset: str) -> None:
    seen = turn(preset, "2x3")
    try:
        heard = hear(line, seen, NAMES, WORDS)
    except NotUnderstoodError as error:
        told = str(error)
        assert len(told) <= WIDTH
        assert told.isprintable()
        named = told.rpartition("' ")[2]
        assert not [word for word in ("mote", "play ", "lose", "crown", "stake", "pass", "accuse") if word in named]
        assert "exact" not in named or seen.state.ruleset.exact != "none"
    else:
        assert isinstance(heard, Move) or heard in WORDS


@given(SLIPS)
@settings(max_examples=60)
def test_the_canonical_text_of_a_move_means_that_move(line: str) -> None:
    seen = turn("spot-on", "2x3")
    try:
        strict = parse_move(line)
    except ValueError:
        return
    assert hear(line, seen, NAMES, WORDS) == strict
    assert hear_bid(line) == (strict if isinstance(strict, Bid) else None)


@given(rulesets(), st.integers(2, 3), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_an_abbreviated_move_is_completed_or_questioned(ruleset: Ruleset, players: int, seed: int) -> None:
    rng = Random(seed)
    states = [state for state, *_ in random_play(ruleset, players, rng) if state.awaits is Expect.MOVE]
    for state in rng.sample(states, min(3, len(states))):
        seen = view(state, state.turn)
        moves = [move for move in seen.legal if not isinstance(move, Bid)]
        texts = list(map(str, moves))
        for move in [*rng.sample(moves, min(4, len(moves))), *rng.sample(list(seen.legal), 1)]:
            assert hear(str(move), seen, NAMES, WORDS) == move
            start = str(move)[: rng.randint(1, len(str(move)))]
            try:
                heard = hear(start, seen, NAMES, WORDS)
            except NotUnderstoodError:
                continue
            alike = [text for text in texts if text.startswith(start)]
            assert str(heard) in alike or (not alike and isinstance(heard, Move | str))
            assert len(alike) < 2


def test_only_an_unnecessarily_high_bid_needs_confirmation() -> None:
    opening = turn("classic", players=4)
    assert doubt(Bid(40, 6), opening)
    assert not doubt(Bid(20, 6), opening)
    assert not doubt(Bid(1000, 6), opening)  # not a legal bid
    assert not doubt(Liar(), turn("classic", "2x3"))
    # After a voided call, the player must raise.
    state = play(rolled(rules("motes", stakes="no"), (5, 5)), "10x6")
    assert state.motes is not None
    forced = view(state._replace(motes=state.motes._replace(must_raise=True)), state.turn)
    assert not doubt(Bid(11, 6), forced)
    assert doubt(Bid(12, 6), forced)
    assert "liar" not in choices(forced)


def test_a_move_is_possible_if_the_engine_accepts_it() -> None:
    assert is_possible(Bid(3, 3), turn("classic", "2x3"))
    assert not is_possible(Bid(1, 3), turn("classic", "2x3"))
    asked = view(dealt(rules("classic", stakes="no"), 2), 0)
    assert not is_possible(Stake(5), asked)


def test_an_abbreviated_call_before_any_bid_is_a_call() -> None:
    assert said("l", turn("classic")) == said("liar", turn("classic")) == "liar"
    assert said("ex", turn("classic", "2x3")) == "exact"
    with pytest.raises(RulesError, match="nothing to call yet"):
        apply(turn("classic").state, Play(0, Liar()))


def test_a_shortened_list_of_moves_does_not_begin_with_an_ellipsis() -> None:
    """Regression test: the list of legal moves began with an ellipsis."""
    losing = reach(table(2), "discard")
    for slip in ("lose green@1", "lose nothing@all", "x" * 40):
        told = answer(slip, view(losing, losing.turn))
        assert "Legal: …" not in told
        assert len(told) <= WIDTH


def test_if_only_one_face_can_be_bid_it_is_named() -> None:
    state = play(rolled(rules("classic"), (5, 5)), "4x6")
    with pytest.raises(RulesError, match=r"4x6 is not a raise: bid more sixes \(lowest 5x6\)"):
        apply(state, Play(state.turn, Bid(4, 6)))


def test_at_the_largest_quantity_only_a_higher_face_is_suggested() -> None:
    state = play(rolled(rules("classic"), (5, 5)), "999x5")
    with pytest.raises(RulesError, match=r"or 999 of a higher face \(lowest 999x6\)"):
        apply(state, Play(state.turn, Bid(4, 6)))
