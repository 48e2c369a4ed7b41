"""Properties of random matches: any ruleset, 2 to 10 players, and evictions at any time."""

import json
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import IllegalMove, MalformedMove, RulesError, UnexpectedInput
from p2pdice.events import DieGained, DieLost, HandsShown, RoundStarted
from p2pdice.motes import GROUP_OF, MOTES, Die
from p2pdice.moves import (
    Bid,
    Concede,
    Crown,
    Exact,
    Hands,
    Liar,
    Lose,
    Move,
    Pass,
    Play,
    Pledges,
    Power,
    Roll,
    Rolled,
    Side,
    Stake,
    Stakes,
    parse_move,
)
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.stakes import settlement
from p2pdice.state import Expect, State, plain
from p2pdice.views import state_json, view

from .rulesets import rulesets
from .scripted import play, random_play, roll, rolled, rules, show

matches = given(
    ruleset=rulesets(),
    players=st.integers(2, 10),
    seed=st.integers(0, 2**32),
    departures=st.sampled_from([0.0, 0.01, 0.1]),
)
few = settings(max_examples=25, deadline=None)


def listed_range(state: State, rng: Random) -> list[Move]:
    """Return all moves that any ruleset may list, but only a sample of the moves that name dice."""
    bids = [Bid(quantity, face) for quantity in range(1, sum(state.dice) + 1) for face in range(1, 7)]
    moves: list[Move] = [*bids, Liar(), Exact(), Side("accuser"), Side("accused"), Pass(), Stake(0)]
    dice = [Die(mote, seat) for mote in MOTES for seat in range(state.players)]
    moves += [*map(Lose, dice), *map(Crown, dice)]
    buried = [] if state.motes is None else [each.die for each in state.motes.graveyard]
    for die in [*dice, *buried]:
        for target in (None, rng.choice(dice), rng.randrange(state.players)):
            with suppress(MalformedMove):
                moves.append(Power(die, target))
    return moves


@matches
@few
def test_listed_moves_are_accepted_and_all_others_in_range_are_refused(
    ruleset: Ruleset, players: int, seed: int, departures: float
) -> None:
    rng = Random(seed)
    for state, _, _ in random_play(ruleset, players, rng, departures=departures):
        if rng.random() > 0.2:
            continue
        legal = legal_moves(state)
        assert (len(legal) > 0) == (state.awaits is Expect.MOVE)
        assert len(set(legal)) == len(legal)
        before = plain(state)
        for move in legal if len(legal) < 50 else rng.sample(legal, 50):
            apply(state, Play(state.turn, move))
        others = [move for move in listed_range(state, rng) if move not in legal]
        for move in others if len(others) < 50 else rng.sample(others, 50):
            with pytest.raises(RulesError) as refusal:
                apply(state, Play(state.turn, move))
            assert isinstance(refusal.value, IllegalMove if state.awaits is Expect.MOVE else UnexpectedInput)
        assert plain(state) == before


@matches
@few
def test_an_input_that_is_not_awaited_is_refused(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    for state, _, _ in random_play(ruleset, players, Random(seed), departures=departures):
        if state.awaits is not Expect.ROLLED:
            with pytest.raises(UnexpectedInput):
                apply(state, Rolled())
        if state.awaits is not Expect.HANDS:
            with pytest.raises(UnexpectedInput):
                apply(state, Hands(((),) * players))
        if state.awaits is not Expect.ROLL:
            with pytest.raises(UnexpectedInput):
                apply(state, Roll(1))
        if state.awaits is not Expect.PLEDGES:
            with pytest.raises(UnexpectedInput):
                apply(state, Pledges(("redeemed",) * players))
        if state.awaits is not Expect.STAKES:
            with pytest.raises(UnexpectedInput):
                apply(state, Stakes((None,) * players))
        for seat in set(range(players)) - {state.turn}:
            with pytest.raises(RulesError):
                apply(state, Play(seat, Liar()))


@matches
@few
def test_dice_are_conserved(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    discarded = gained = taken = 0
    for before, after, events in random_play(ruleset, players, Random(seed), departures=departures):
        lost = sum(isinstance(event, DieLost) for event in events)
        won = sum(isinstance(event, DieGained) for event in events)
        discarded, gained = discarded + lost, gained + won
        # Other dice are removed only with the cup of a departed player.
        taken += sum(before.dice) - sum(after.dice) - lost + won
        cups_left_behind = sum(n for seat, n in enumerate(before.dice) if seat not in after.live)
        assert 0 <= sum(before.dice) - sum(after.dice) - lost + won <= cups_left_behind
        assert sum(after.dice) + discarded + taken == players * ruleset.dice + gained
        assert all(0 <= n <= (ruleset.dice_cap or 99) for n in after.dice)
        assert all(after.dice[seat] for seat in after.live) or after.phase == "sunrise"


@matches
@few
def test_every_match_ends_with_every_seat_on_one_place(
    ruleset: Ruleset, players: int, seed: int, departures: float
) -> None:
    for _, state, _ in random_play(ruleset, players, Random(seed), departures=departures):
        assert bool(state.places) == bool(state.winners) == (state.awaits is Expect.OVER)
        assert len(state.out) == len(set(state.out)) == players - len(state.live)
    assert len(state.live) <= 1
    assert sorted(seat for place in state.places for seat in place) == list(range(players))
    assert state.winners == state.places[0]


def measure(state: State) -> tuple[int, int]:
    """Return (dice in cups and graveyard, dice in cups), which falls from round to round in lexicographic order."""
    buried = len(state.motes.graveyard) if state.motes is not None else 0
    return sum(state.dice) + buried, sum(state.dice)


@matches
@few
def test_dice_decrease_every_round_unless_exact_gains_one(
    ruleset: Ruleset, players: int, seed: int, departures: float
) -> None:
    start = None
    for before, after, events in random_play(ruleset, players, Random(seed), departures=departures):
        if before.awaits is Expect.ROLLED and (start is None or start.round != before.round):
            gained = ruleset.exact == "gain" and start is not None and sum(start.dice) <= sum(before.dice)
            assert start is None or measure(before) < measure(start) or gained
            start = before
        called_exact = before.challenge is not None and before.challenge.call == "exact"
        assert called_exact or ruleset.motes or not any(isinstance(event, DieGained) for event in events)
        rounds = after.round
    if ruleset.exact != "gain":
        assert rounds <= (6 * players - 1 if ruleset.motes else ruleset.dice * players - 1)


@given(players=st.integers(2, 10), seed=st.integers(0, 2**32), departures=st.sampled_from([0.0, 0.01, 0.1]))
@few
def test_every_die_with_a_mote_is_in_one_place(players: int, seed: int, departures: float) -> None:
    dealt: set[Die] = set()
    for _, state, _ in random_play(PRESETS["motes"], players, Random(seed), departures=departures):
        motes = state.motes
        assert motes is not None
        places = [die for cup in motes.cups for die in cup]
        places += [buried.die for buried in motes.graveyard]
        places += motes.removed
        if not dealt and motes.cups:
            dealt = set(places)
            assert len(dealt) == 5 * len(state.live)
        assert len(places) == len(set(places))
        assert set(places) == dealt
        assert not motes.cups or tuple(map(len, motes.cups)) == state.dice
        assert all(sum(die.mote != motes.prize for die in cup) == len(cup) for cup in motes.cups)


@matches
@few
def test_coins_and_tickets_are_conserved(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    *_, (_, state, _) = random_play(ruleset, players, Random(seed), departures=departures)
    paid = settlement(state)
    wagers = state.wagers or ((0, 0, 0, 0),) * players
    bonuses = {seat: bet * bet // funds for seat, (bet, funds, _, _) in enumerate(wagers) if funds}
    assert sum(paid.delta) == sum(bonuses.get(seat, 0) for seat in state.winners)
    assert all(owned + delta >= 0 for (_, owned, _, _), delta in zip(wagers, paid.delta, strict=True))
    assert all(not coins for seat, coins in enumerate(paid.payout) if seat not in state.winners)
    crown = state.motes and state.motes.crown
    earned = state.motes.pledges.count(GROUP_OF[crown.mote]) if state.motes and crown else 0
    assert sum(paid.ticket_delta) == earned


def test_a_match_of_right_calls_of_exact_ends_after_round_999() -> None:
    state = new_match(rules("wildcard"), 3)
    rng = Random(7)
    while state.awaits is not Expect.OVER:
        state, _ = apply(state, Rolled())
        hands = roll(state.dice, rng)
        twos = sum(face in (1, 2) for hand in hands for face in hand)
        state = play(state, f"{max(twos, 1)}x2", "exact" if state.round <= 999 and twos else "liar")
        state, _ = apply(state, Hands(hands))
    assert 999 < state.round <= 999 + 3 * 99


@matches
@few
def test_the_canonical_value_is_integers_and_text_and_has_no_face_before_the_showdown(
    ruleset: Ruleset, players: int, seed: int, departures: float
) -> None:
    def check(value: object) -> None:
        if type(value) is tuple:
            for item in value:
                check(item)
        else:
            assert type(value) in (int, str)

    seen: dict[object, State] = {}
    covered = False
    for before, state, events in random_play(ruleset, players, Random(seed), departures=departures):
        value = plain(state)
        check(value)
        assert len(value) == 16 + ruleset.motes + ruleset.stakes
        assert seen.setdefault(value, state) == state
        if covered or any(isinstance(event, RoundStarted) for event in events):
            covered = not any(isinstance(event, HandsShown) for event in events)
        if covered:
            assert state.hands == ()
            assert state.count is None
        if state.hands:
            assert before.awaits is Expect.HANDS or before.hands == state.hands
        assert hash(state) == hash(state._replace())


@matches
@few
def test_views_show_the_own_hand_only(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    rng = Random(seed)
    for _, state, _ in random_play(ruleset, players, rng, departures=departures):
        seat = rng.randrange(players)
        seen = [view(state, seat, roll(state.dice, rng)[seat]) for _ in range(2)]
        public = [{**given.to_json(), "hand": None} for given in seen]
        assert public[0] == public[1]
        assert seen[0].to_json()["hand"] == list(seen[0].hand)
        assert list(seen[0].legal) == (list(legal_moves(state)) if seat == state.turn else [])


@matches
@few
def test_json_is_serializable_and_has_the_legal_moves(
    ruleset: Ruleset, players: int, seed: int, departures: float
) -> None:
    for _, state, events in random_play(ruleset, players, Random(seed), departures=departures):
        data = state_json(state)
        assert json.loads(json.dumps(data)) == data
        assert data["to_act"] == (state.turn if state.awaits is Expect.MOVE else None)
        legal = data["legal"]
        assert isinstance(legal, list)
        assert [parse_move(text) for text in legal] == list(legal_moves(state))
        for event in events:
            told = event.to_json()
            assert json.loads(json.dumps(told)) == told
            assert next(iter(told)) == "type"


@matches
@few
def test_only_live_players_are_awaited(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    for _, state, _ in random_play(ruleset, players, Random(seed), departures=departures):
        kind, seats = state.expects
        assert set(seats) <= set(state.live)
        assert (kind is Expect.OVER) == (not seats)
        assert state.leader in state.live or len(state.live) <= 1
        assert kind is not Expect.MOVE or seats == (state.turn,)


@matches
@few
def test_any_live_player_can_concede_at_any_time(ruleset: Ruleset, players: int, seed: int, departures: float) -> None:
    for state, _, _ in random_play(ruleset, players, Random(seed), departures=departures):
        for seat in state.live:
            left, _ = apply(state, Play(seat, Concede()))
            assert seat not in left.live


@given(players=st.integers(-2, 14), first=st.integers(-2, 14))
def test_a_match_has_two_to_ten_players_and_one_of_them_leads(players: int, first: int) -> None:
    if 2 <= players <= 10 and 0 <= first < players:
        assert new_match(PRESETS["classic"], players, first).leader == first
    else:
        with pytest.raises(UnexpectedInput):
            new_match(PRESETS["classic"], players, first)


@pytest.mark.parametrize(
    "hands",
    [
        ((1, 2),),
        ((1, 2), (3, 4), ()),
        ((1,), (3, 4)),
        ((1, 2), (3, 4, 5)),
        ((2, 1), (3, 4)),
        ((0, 1), (3, 4)),
        ((1, 7), (3, 4)),
        ((True, 2), (3, 4)),
        ((1.0, 2), (3, 4)),
        ((1, 2), ()),
    ],
)
def test_malformed_hands_are_refused(hands: tuple[tuple[int, ...], ...]) -> None:
    state = play(rolled(PRESETS["classic"], (2, 2)), "1x2", "liar")
    with pytest.raises(UnexpectedInput):
        apply(state, Hands(hands))


def test_a_seat_without_dice_has_no_unknown_hand() -> None:
    state = play(rolled(PRESETS["classic"], (2, 2, 0), live=(0, 1)), "1x2", "liar")
    with pytest.raises(UnexpectedInput, match="seat 2 has no dice"):
        show(state, "12", "34", "?")
