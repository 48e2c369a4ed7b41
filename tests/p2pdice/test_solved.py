"""The solved rounds are those of the engine, and nobody wins more against the policy than is said of it."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.counting import NOTHING_WILD
from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.events import DieLost
from p2pdice.moves import LIAR, Bid, Hand, Hands, Move, Play, Rolled
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.solved import SolvedPlayer, __main__, exploitability, solve, solved_move
from p2pdice.solved.exploitability import BestResponse, bounds
from p2pdice.solved.policy import Policy, beginning, hands, pack, policy, sequences
from p2pdice.state import State
from p2pdice.views import View

TABLES = list(product((1, 2, 3), repeat=2))
SMALL = {(1, 1): 17 / 36, (1, 2): 13 / 27, (2, 1): 17 / 27}
"""How often the opener wins if both play their best: solved exactly, as linear programs in sequence form."""


def at(state: State, bids: tuple[Bid, ...]) -> State:
    for bid in bids:
        state, _ = apply(state, Play(state.turn, bid))
    return state


def loser(state: State, hands: tuple[Hand, ...]) -> int:
    """Return who loses the die if the player on turn calls."""
    called, _ = apply(state, Play(state.turn, LIAR))
    _, events = apply(called, Hands(hands))
    return next(event.seat for event in events if isinstance(event, DieLost))


def solved(opener: int, responder: int, iterations: int) -> Policy:
    solver = solve.Solver(beginning(opener, responder))
    for _ in range(iterations):
        solver.iterate()
    return Policy(opener, responder, pack(opener, responder, solver.policy()))


@pytest.mark.parametrize(("opener", "responder"), TABLES)
def test_a_round_begins_where_a_match_of_classic_has_come_to(opener: int, responder: int) -> None:
    state = beginning(opener, responder)
    assert state.dice == (opener, responder)
    assert (state.turn, state.leader, state.bids) == (0, 0, ())
    assert state.ruleset.with_options({"dice": "5"}) == PRESETS["classic"]


def test_the_largest_round_has_35454_sequences_of_bids() -> None:
    assert sum(1 for _ in sequences(beginning(3, 3))) == 35_454


@pytest.mark.parametrize(
    ("opener", "responder"), [(1, 1), *(pytest.param(*table, marks=pytest.mark.thorough) for table in TABLES[1:])]
)
def test_the_sequences_that_are_solved_are_those_that_the_engine_lists(opener: int, responder: int) -> None:
    state = beginning(opener, responder)
    levels = solve.levels_of(state)
    assert sorted(map(str, sequences(state))) == sorted(str(bids) for level in levels[1:] for bids in level.sequences)
    for level, longer in zip(levels, [*levels[1:], solve.SequenceLevel([])], strict=True):
        following: dict[tuple[Bid, ...], list[Move]] = {bids: [] for bids in level.sequences}
        for bids in longer.sequences:
            following[bids[:-1]].append(bids[-1])
        for bids, moves in following.items():
            assert [*moves, *([LIAR] if bids else [])] == list(legal_moves(at(state, bids)))


@pytest.mark.parametrize(
    ("opener", "responder"), [(1, 1), *(pytest.param(*table, marks=pytest.mark.thorough) for table in ((1, 2), (2, 1)))]
)
def test_the_showdowns_that_are_solved_are_the_engines_with_all_dice(opener: int, responder: int) -> None:
    state = beginning(opener, responder)
    solver = solve.Solver(state)
    cups = list(product(enumerate(hands(opener)), enumerate(hands(responder))))
    for bids in sequences(state):
        standing = at(state, bids)
        caller, true = standing.turn, solver.truth[bids[-1]]
        for (row, mine), (column, theirs) in cups:
            assert (loser(standing, (mine, theirs)) == caller) == (true[row, column] > 0)


@pytest.mark.parametrize("table", SMALL)
def test_small_rounds_are_solved_to_their_exact_value(table: tuple[int, int]) -> None:
    low, high = bounds(beginning(*table), solved(*table, 60).weights)
    assert low <= SMALL[table] + 1e-9
    assert high >= SMALL[table] - 1e-9
    assert high - low < 0.012


MISTAKES = {
    "ones are not wild": ("ONES_WILD", NOTHING_WILD),
    "one die too many is asked for": ("verdict", lambda call, quantity, least, most: (least > quantity, None)),
    "hands are equally likely": ("hands", lambda number: dict.fromkeys(hands(number), 1)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_solver_is_found_by_the_best_response(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, *MISTAKES[mistake])
    low, high = bounds(beginning(1, 2), solved(1, 2, 60).weights)
    assert high - low > 0.02


def test_the_best_response_is_what_one_works_out_by_hand() -> None:
    """One die each. Nobody bids one's own die in vain against a player who always calls; and an opener who always bids
    two ones is called: that is wrong with two ones only.
    """
    state = beginning(1, 1)

    def simple(bids: tuple[Bid, ...], hand: Hand) -> exploitability.Likelihoods:
        return {LIAR: 1} if bids else {Bid(2, 1): 1}

    assert BestResponse(state, 0, simple).chance() == pytest.approx(1.0)
    assert BestResponse(state, 1, simple).chance() == pytest.approx(35 / 36)


@pytest.mark.parametrize(
    "table", [*SMALL, *(pytest.param(table, marks=pytest.mark.thorough) for table in TABLES if table not in SMALL)]
)
def test_nobody_wins_much_against_the_policy_of_the_package(table: tuple[int, int]) -> None:
    low, high = bounds(beginning(*table), policy(*table).weights)
    assert 0 <= high - low < 0.005
    assert low - 1e-9 <= SMALL.get(table, low) <= high + 1e-9


def dealt(state: State, rng: Random) -> tuple[Hand, ...]:
    return tuple(tuple(sorted(rng.choices(range(1, 7), k=dice))) for dice in state.dice)


def play_out(state: State, rng: Random) -> int:
    """Let the policy make every other move or so of a round, and return how many it has made."""
    cups, made = dealt(state, rng), 0
    while not state.challenge:
        move: Move = rng.choice(legal_moves(state))
        if rng.random() < 0.5:
            made += 1
            own = solved_move(View(state, state.turn, cups[state.turn]), rng)
            assert own in legal_moves(state)
            assert own is not None
            move = own
        state, _ = apply(state, Play(state.turn, move))
    return made


@given(st.sampled_from(TABLES), st.integers(0, 10**9))
def test_the_policy_makes_legal_moves_whatever_has_been_bid(table: tuple[int, int], seed: int) -> None:
    play_out(beginning(*table), Random(seed))


def test_the_policy_calls_a_bid_above_the_dice_in_play() -> None:
    state = at(beginning(1, 1), (Bid(7, 3),))
    assert solved_move(View(state, 1, (3,)), Random(1)) == LIAR


def test_the_last_two_of_a_larger_match_are_at_a_solved_table() -> None:
    state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": "1"}), 3, 1), Rolled())
    state, _ = apply(at(state, (Bid(1, 6),)), Play(2, LIAR))
    state, _ = apply(state, Hands(((2,), (2,), (2,))))
    assert state.live == (0, 2)
    state, _ = apply(state, Rolled())
    assert sum(play_out(state, Random(seed)) for seed in range(20))


@pytest.mark.parametrize(
    ("ruleset", "players"),
    [
        (PRESETS["classic"], 2),  # too many dice
        (PRESETS["classic"].with_options({"dice": "2"}), 3),
        *(
            (rules.with_options({"dice": "1", "dice-cap": "none"}), 2)
            for name, rules in PRESETS.items()
            if name not in ("classic", "motes")
        ),
    ],
)
def test_other_rounds_have_no_policy(ruleset: Ruleset, players: int) -> None:
    state, _ = apply(new_match(ruleset, players), Rolled())
    assert solved_move(View(state, 0, dealt(state, Random(1))[0]), Random(1)) is None


def test_a_player_plays_by_the_tables_where_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[View] = []

    def answer(view: View, _: Random) -> Bid | None:
        asked.append(view)
        return Bid(9, 6) if max(view.state.dice) < 4 else None

    monkeypatch.setattr("p2pdice.solved.policy.solved_move", answer)
    for dice, move in (("3", Bid(9, 6)), ("4", None)):
        state, _ = apply(new_match(PRESETS["classic"].with_options({"dice": dice}), 2), Rolled())
        chosen = SolvedPlayer(Random(1)).choose(View(state, state.turn, (2,) * int(dice)))
        assert (chosen == Bid(9, 6)) is (move is not None)
    assert len(asked) == 2


def test_a_check_fails_if_a_policy_gives_too_much_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["solved", "--check", "--tables", "1-1"])
    __main__.main()
    monkeypatch.setattr(__main__, "WORST", 0.0005)  # it gives away 0.057 %
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code
    assert capsys.readouterr().out.count("| 1 | 1 |") == 2
