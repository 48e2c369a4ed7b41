"""The rules of Motes of Mischief: the phases of a turn, windows, the six powers, and the end."""

import pytest

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import IllegalMove, UnexpectedInput
from p2pdice.events import (
    AccusationVoid,
    DieGained,
    DieLost,
    MatchOver,
    PhaseBegun,
    PlayerOut,
    PrizeDrawn,
    RoundVoid,
    TicketsEarned,
    TwinSoulJoined,
)
from p2pdice.motes import MOTES, Group
from p2pdice.moves import Play, Pledges, Roll, Rolled, Stakes, parse_move
from p2pdice.powers import Block
from p2pdice.state import Expect, Mischief, State
from p2pdice.views import state_json

from .scripted import dealt, die, listed, play, reach, rules, show, table

MOTES_ONLY = rules("motes", stakes="no")


def on(state: State) -> Mischief:
    assert state.motes is not None
    return state.motes


def graveyard(state: State) -> list[str]:
    return [str(buried.die) for buried in on(state).graveyard]


def cup(state: State, seat: int) -> list[str]:
    return [str(die) for die in on(state).cups[seat]]


# Before the first turn


def test_a_match_begins_with_pledges_stakes_prize_and_first_roll() -> None:
    state = new_match(rules("motes"), 3)
    assert (state.phase, state.expects) == ("pledges", (Expect.PLEDGES, (0, 1, 2)))
    state, _ = apply(state, Pledges(("redeemed", "cursed", "cursed")))
    assert (state.phase, state.expects) == ("stakes", (Expect.STAKES, (0, 1, 2)))
    state, _ = apply(state, Stakes(((1, 1000, 0, 0), (2, 1000, 0, 0), (3, 1000, 0, 0))))
    assert (state.phase, state.expects) == ("prize", (Expect.ROLL, (0, 1, 2)))
    state = new_match(MOTES_ONLY, 3)
    state, _ = apply(state, Pledges(("redeemed", "cursed", "cursed")))
    assert (state.phase, state.expects) == ("prize", (Expect.ROLL, (0, 1, 2)))
    state, events = apply(state, Roll(4))
    assert events == (PrizeDrawn("blue"),)
    assert (state.phase, state.expects) == ("night", (Expect.ROLLED, (0, 1, 2)))


@pytest.mark.parametrize(("face", "prize"), list(enumerate(MOTES, 1)))
def test_each_player_has_one_die_of_every_mote_except_the_prize(face: int, prize: str) -> None:
    state = dealt(MOTES_ONLY, 2, prize=face)
    assert on(state).prize == prize
    assert cup(state, 1) == [f"{mote}@1" for mote in MOTES if mote != prize]
    assert state.dice == (5, 5)


@pytest.mark.parametrize("pledges", [("redeemed",), ("redeemed", "light"), ("redeemed", "cursed", "cursed")])
def test_malformed_pledges_are_refused(pledges: tuple[str, ...]) -> None:
    with pytest.raises(UnexpectedInput, match="redeemed or cursed"):
        apply(new_match(MOTES_ONLY, 2), Pledges(pledges))


@pytest.mark.parametrize("face", [0, 7, True, 1.0, "1"])
def test_a_public_die_shows_1_to_6(face: object) -> None:
    state, _ = apply(new_match(MOTES_ONLY, 2), Pledges(("redeemed", "cursed")))
    with pytest.raises(UnexpectedInput, match="not a face"):
        apply(state, Roll(face))  # type: ignore[arg-type]


# The course of a turn


def test_a_turn_without_dice_to_play_has_no_windows() -> None:
    state, _ = apply(dealt(MOTES_ONLY, 3), Rolled())
    assert (state.phase, state.turn) == ("bidding", 0)
    state = play(state, "9x2", "liar")
    state, _ = show(state, "33333", "44444", "55555")
    assert (state.phase, state.turn) == ("discard", 0)
    state, events = apply(state, Play(0, parse_move("lose red@0")))
    assert events == (DieLost(0, 4, die("red@0")),)
    assert (state.phase, state.awaits, state.round, state.leader) == ("night", Expect.ROLLED, 2, 0)
    assert graveyard(state) == ["red@0"]
    state, events = apply(state, Rolled())
    assert (state.phase, state.turn) == ("night", 0)
    assert events[-1] == PhaseBegun("night", 0)


def test_the_loser_chooses_a_die_from_their_cup() -> None:
    state = reach(table(2), "discard")
    assert listed(state) == [f"lose {mote}@0" for mote in MOTES if mote != "dark"]
    with pytest.raises(IllegalMove, match="not in your cup"):
        play(state, "lose light@1")


def test_the_last_die_is_lost_without_a_move() -> None:
    start = table(2, "grey@0", "neutral@0", "blue@0", "red@0")
    state = play(reach(start, "bidding"), "9x2", "liar")
    state, events = show(state, "3", "44444")
    assert DieLost(0, 0, die("light@0")) in events


def test_each_phase_is_for_dice_of_one_group() -> None:
    start = table(2, "light@0", "grey@0", "neutral@0", "red@0", prize=6)
    assert {move.split()[1] for move in listed(reach(start, "night")) if move != "pass"} == {"red@0"}
    redeemed = {"light@0", "grey@0", "neutral@0"}
    for phase in ("sunset", "sunrise"):
        sole = table(2, "light@0", "grey@0", "neutral@0", "red@0", first=1)
        state = reach(sole, phase, loses="blue@1")
        assert state.turn == 0
        assert {move.split()[1] for move in listed(state) if move != "pass"} == redeemed


def test_a_player_with_nothing_to_play_is_skipped() -> None:
    state = reach(table(4, "red@1", "red@3", prize=6), "night")
    assert (state.turn, play(state, "pass").turn) == (1, 3)
    assert play(state, "pass", "pass").phase == "bidding"


def test_the_window_starts_with_the_leader_and_goes_clockwise() -> None:
    state = reach(table(3, "red@0", "red@1", "red@2", first=1), "night")
    assert state.turn == 1
    assert [play(state, *["pass"] * n).turn for n in (1, 2)] == [2, 0]
    assert play(state, "pass", "pass", "pass").phase == "bidding"


def test_an_action_restarts_the_window_which_a_full_round_of_passes_closes() -> None:
    start = table(3, "dark@0", "dark@1", "light@1", "light@2", "dark@2", "red@0", prize=2)
    state = play(reach(start, "night"), "pass")
    assert state.turn == 1
    state = play(state, "play dark@1 destroy light@2")
    assert [state.turn, play(state, "pass").turn] == [2, 0]
    assert play(state, "pass", "pass").phase == "bidding"  # seat 1 has nothing left to play
    state = play(reach(start, "night"), "play red@0 on 1")
    state, _ = apply(state, Roll(2))
    assert [state.turn, play(state, "pass").turn, play(state, "pass", "pass").turn] == [1, 2, 0]
    assert play(state, "pass", "pass", "pass").phase == "bidding"


def test_a_player_may_play_cursed_dice_before_bidding() -> None:
    state = play(reach(table(3, "dark@1", "light@2", "red@1", prize=2), "night"), "pass", "1x3")
    assert state.turn == 1
    destroyed = ["play dark@1 destroy light@2", "play dark@1 destroy red@1"]
    assert listed(state) == [*destroyed, "play red@1 on 0", "play red@1 on 2"]
    state = play(state, "play dark@1 destroy light@2")
    assert (state.phase, state.turn, graveyard(state)) == ("bidding", 1, ["red@1"])
    state, _ = apply(play(state, "play red@1 on 0"), Roll(1))
    assert (state.phase, state.turn) == ("bidding", 1)
    assert play(state, "liar").expects.kind is Expect.HANDS


def test_a_player_may_play_only_dice_that_they_sent_to_the_graveyard() -> None:
    state = reach(table(3, "red@0 1", "light@0"), "night")
    assert state.turn == 1
    with pytest.raises(IllegalMove, match="sent to the graveyard by another player"):
        play(play(reach(table(3, "red@0 1", "red@2"), "night"), "pass"), "play red@0 on 1")
    with pytest.raises(IllegalMove, match="not in the graveyard"):
        play(state, "play red@1 on 0")
    with pytest.raises(IllegalMove, match="not played in this phase"):
        play(reach(table(3, "red@0", "light@0", "grey@1"), "night"), "play light@0 take grey@1")


def test_the_lead_passes_after_sunrise() -> None:
    state = play(reach(table(3, "grey@2"), "bidding"), "1x6", "liar")
    state, _ = show(state, "66666", "66666", "6666")
    state = play(state, "lose red@1")
    assert (state.phase, state.turn, state.leader, state.round) == ("sunrise", 2, 0, 1)
    state = play(state, "pass")
    assert (state.phase, state.leader, state.round) == ("sunset", 1, 2)


# Light


def test_light_takes_any_other_die_of_the_graveyard_into_the_cup() -> None:
    state = reach(table(2, "light@0", "red@1", "grey@1", first=1), "sunrise", loses="blue@1")
    assert state.turn == 1
    state = play(state, "pass")
    assert listed(state)[:3] == [f"play light@0 take {other}" for other in ("red@1", "grey@1", "blue@1")]
    state, events = apply(state, Play(0, parse_move("play light@0 take red@1")))
    assert events[1] == DieGained(0, 5, die("red@1"))
    assert cup(state, 0) == ["grey@0", "neutral@0", "blue@0", "red@0", "red@1"]
    assert on(state).removed == (die("light@0"),)
    assert state.dice[0] == 5


def test_light_alone_in_the_graveyard_has_no_target() -> None:
    start = table(2, "light@0")
    state = reach(start, "bidding")
    assert state.round == 1
    state = play(state, "1x6", "liar")
    state, _ = show(state, "6666", "33333")
    assert state.turn == 1
    assert play(state, "lose grey@1").turn == 0  # now there is one


def test_light_saves_a_player_without_dice_at_sunrise() -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = play(reach(table(2, *buried), "bidding"), "9x2", "liar")
    state, events = show(state, "3", "44444")
    assert not any(isinstance(event, PlayerOut) for event in events)
    assert (state.phase, state.turn, state.dice) == ("sunrise", 0, (0, 5))
    saved = play(state, "play light@0 take red@0")
    assert (saved.live, saved.dice, saved.leader) == ((0, 1), (1, 5), 0)
    lost = play(state, "pass")
    assert (lost.phase, lost.live, lost.turn) == ("crown", (1,), 1)


def test_a_player_without_dice_after_sunrise_is_out_but_their_buried_dice_stay() -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = play(reach(table(3, *buried, "dark@1", prize=5), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "4444", "55555")
    assert listed(state)[0] == "play light@0 take grey@0"
    state, events = apply(state, Play(0, parse_move("pass")))
    assert PlayerOut(0, "lost") in events
    assert (state.live, state.out, state.leader) == ((1, 2), (0,), 1)
    assert len(graveyard(state)) == 6
    state = reach(state, "night")
    assert (state.turn, listed(state)[0]) == (1, "play dark@1 destroy light@0")


# Grey


def immune_bidder(bid: str = "1x6") -> State:
    """Return a state in which seat 0 is immune and has bid, and seat 1 is on turn."""
    state = reach(table(3, "grey@0"), "sunset", loses="red@0")
    assert state.turn == 0
    state = play(state, "play grey@0")
    return play(reach(state, "bidding"), bid)


def test_grey_makes_the_next_accusation_void_and_the_accuser_must_raise() -> None:
    state = immune_bidder()
    assert on(state).immune == (0,)
    state, events = apply(state, Play(1, parse_move("liar")))
    assert events[-1] == AccusationVoid(1, 0)
    assert (state.phase, state.turn, on(state).immune, on(state).must_raise) == ("bidding", 1, (), True)
    assert state_json(state)["must_raise"]
    assert "liar" not in map(str, legal_moves(state))
    with pytest.raises(IllegalMove, match="raise the bid instead"):
        play(state, "liar")
    state = play(state, "2x6")
    assert not on(state).must_raise
    assert play(state, "liar").expects.kind is Expect.HANDS


def test_after_a_void_accusation_the_lowest_raise_is_listed_even_above_the_dice_in_play() -> None:
    state = play(immune_bidder("13x6"), "liar")
    assert sum(state.dice) == 13
    assert list(map(str, legal_moves(state))) == ["14x6"]


def test_an_accusation_counts_if_no_raise_is_possible_and_immunity_stays() -> None:
    state = play(immune_bidder("999x6"), "liar")
    assert (state.expects.kind, on(state).immune) == (Expect.HANDS, (0,))


def test_an_accusation_against_another_player_counts_and_immunity_stays() -> None:
    state = play(immune_bidder(), "2x6", "liar")
    assert (state.expects.kind, on(state).immune) == (Expect.HANDS, (0,))


def test_an_immune_player_cannot_play_grey_and_immunity_lasts_until_used() -> None:
    state = reach(table(3, "grey@0", "grey@1 0", "neutral@0"), "sunset", loses="red@0")
    state = play(state, "play grey@0")
    assert not [move for move in listed(state) if "grey@1" in move]
    with pytest.raises(IllegalMove, match="already immune"):
        play(state, "play grey@1")
    state = play(reach(state, "bidding"), "1x2", "2x2", "9x2", "liar")
    state, _ = show(state, "22", "2222", "22222")
    state = reach(play(state, "lose blue@0"), "bidding")
    assert on(state).immune == (0,)


# Neutral


def test_neutral_is_swapped_with_a_die_of_the_cup() -> None:
    state = reach(table(2, "neutral@0"), "sunrise", loses="red@0")
    assert listed(state) == [f"play neutral@0 swap {mote}@0" for mote in ("light", "grey", "blue")] + ["pass"]
    swapped = play(state, "play neutral@0 swap grey@0")
    assert cup(swapped, 0) == ["light@0", "neutral@0", "blue@0"]
    assert graveyard(swapped) == ["red@0", "grey@0"]
    assert on(swapped).removed == ()
    assert swapped.turn == 0  # the player who swapped may play the die
    assert listed(swapped) == ["play grey@0", "pass"]


def test_neutral_needs_another_mote_in_the_cup() -> None:
    four = ("light@0", "grey@0", "blue@0", "red@0")
    state = play(reach(table(2, *four, "neutral@1 0", "grey@1"), "bidding"), "1x6", "liar")
    state, _ = show(state, "6", "333")
    state = play(state, "lose red@1")
    assert state.turn == 0
    assert not [move for move in listed(state) if move.startswith("play neutral@1")]


# Dark, Red, Blue


def test_dark_removes_another_buried_die_from_the_game() -> None:
    state = reach(table(2, "dark@0", "light@1", "grey@0", prize=5), "night")
    assert listed(state) == ["play dark@0 destroy light@1", "play dark@0 destroy grey@0", "pass"]
    state = play(state, "play dark@0 destroy light@1")
    assert (graveyard(state), on(state).removed) == (["grey@0"], (die("dark@0"), die("light@1")))


@pytest.mark.parametrize(
    ("face", "group"),
    [(1, "cursed"), (3, "cursed"), (5, "cursed"), (2, "redeemed"), (4, "redeemed"), (6, "redeemed")],
)
def test_red_blocks_a_group_by_the_parity_of_a_roll(face: int, group: Group) -> None:
    state = play(reach(table(3, "red@0"), "night"), "play red@0 on 2")
    assert state.expects == (Expect.ROLL, (0, 1, 2))
    state, _ = apply(state, Roll(face))
    assert on(state).lasting == (Block(2, 0, group),)
    assert state_json(state)["blocked"] == [{"seat": 2, "group": group, "by": 0}]


def test_a_blocked_player_is_skipped_and_refused() -> None:
    state = play(reach(table(3, "red@0", "dark@1", "light@0", prize=2), "night"), "play red@0 on 1")
    state, _ = apply(state, Roll(1))
    assert state.phase == "bidding"
    with pytest.raises(IllegalMove, match="forbids you"):
        play(state, "1x2", "play dark@1 destroy light@0")


def test_a_block_ends_when_the_player_of_the_red_leads_again() -> None:
    state = play(reach(table(3, "red@1", "grey@0"), "night"), "play red@1 on 0")
    state, _ = apply(state, Roll(2))
    state = reach(state, "discard")
    state = play(state, "lose light@0")
    assert state.phase == "night"  # seat 0 leads again, and has neither sunrise nor sunset
    assert on(state).lasting
    state = play(reach(state, "bidding"), "1x6", "liar")
    state, _ = show(state, "666", "6666", "66666")
    state = play(state, "lose blue@1")
    assert (state.phase, state.leader, state.turn) == ("sunset", 1, 0)
    assert on(state).lasting == ()


def test_blocks_by_several_reds_are_independent() -> None:
    state = play(reach(table(3, "red@0", "red@1"), "night"), "play red@0 on 2")
    state, _ = apply(state, Roll(1))
    state, _ = apply(play(state, "play red@1 on 2"), Roll(2))
    assert on(state).lasting == (Block(2, 0, "cursed"), Block(2, 1, "redeemed"))


# The end


def test_the_winner_chooses_the_winning_die_which_merges_with_the_prize() -> None:
    buried = [f"{mote}@0" for mote in ("neutral", "blue", "red", "dark")]
    state = play(reach(table(2, *buried, prize=1), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "44444")
    state = play(state, "pass")
    assert (state.phase, state.turn, state.winners) == ("crown", 1, ())
    assert listed(state) == [f"crown {mote}@1" for mote in MOTES[1:]]
    with pytest.raises(IllegalMove, match="not in your cup"):
        play(state, "crown grey@0")
    state, events = apply(state, Play(1, parse_move("crown dark@1")))
    assert events == (
        TwinSoulJoined(1, die("dark@1"), "light", "Eclipse"),
        TicketsEarned("cursed", (1,)),
        MatchOver(((1,), (0,)), (1,)),
    )
    data = state_json(state)
    assert data["twin_soul"] == {"name": "Eclipse", "motes": ["light", "dark"]}
    assert data["ticket_delta"] == [0, 1]


def test_a_single_die_is_the_winning_die_without_a_move() -> None:
    buried = [f"{mote}@{seat}" for seat in (0, 1) for mote in ("neutral", "blue", "red", "dark")]
    state = play(reach(table(2, *buried, prize=1), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "4")
    state = play(state, "pass", "pass")
    assert (state.awaits, on(state).crown, state.winners) == (Expect.OVER, die("grey@1"), (1,))


def test_players_pledged_to_the_winning_group_get_a_ticket_even_if_out() -> None:
    state = play(reach(table(4), "bidding"), "evict 0", "evict 1", "evict 3", "crown grey@2")
    assert state_json(state)["ticket_delta"] == [1, 0, 1, 0]


@pytest.mark.parametrize(("called", "winner"), [((), 0), (("liar",), 1)], ids=["immune", "bound to raise"])
def test_no_lasting_effect_outlives_the_match(called: tuple[str, ...], winner: int) -> None:
    state = play(immune_bidder(), *called)
    assert on(state).immune == ((0,) if winner == 0 else ())
    assert on(state).must_raise is (winner == 1)
    state = play(state, *(f"evict {seat}" for seat in range(3) if seat != winner))
    assert (state.phase, on(state).lasting, on(state).must_raise) == ("crown", (), False)
    state = play(state, f"crown blue@{winner}")
    assert (state.awaits, on(state).lasting, on(state).must_raise) == (Expect.OVER, (), False)


# Cups that stay shut


def test_after_a_void_round_sunrise_follows_and_the_leader_stays() -> None:
    state = play(reach(table(3, "grey@1"), "bidding"), "10x2", "liar", "evict 2")
    state, events = show(state, "22222", "2222", "?")
    assert any(isinstance(event, RoundVoid) for event in events)
    assert (state.phase, state.turn, state.dice) == ("sunrise", 1, (5, 4, 0))
    assert play(state, "pass").leader == 0


def test_a_block_ends_when_its_target_or_originator_has_no_dice_left() -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = table(3, *buried, prize=5)
    by_seat_0, on_seat_0, others = Block(1, 0, "cursed"), Block(0, 2, "redeemed"), Block(1, 2, "redeemed")
    state = state._replace(motes=on(state)._replace(lasting=(by_seat_0, on_seat_0, others)))
    state = play(reach(state, "bidding"), "9x2", "liar")
    assert on(state).lasting == (by_seat_0, on_seat_0, others)
    state, events = show(state, "3", "44444", "55555")
    assert PlayerOut(0, "lost") in events
    assert on(state).lasting == (others,)


def test_neutral_puts_the_swapped_die_at_the_end_of_the_graveyard() -> None:
    state = reach(table(2, "neutral@0", "grey@1"), "sunrise", loses="red@0")
    assert graveyard(state) == ["neutral@0", "grey@1", "red@0"]
    assert graveyard(play(state, "play neutral@0 swap blue@0")) == ["grey@1", "red@0", "blue@0"]
