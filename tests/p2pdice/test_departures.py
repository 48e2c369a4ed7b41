"""Evictions and concessions in every state, one after another, with cups that stay shut."""

import pytest

from p2pdice.engine import apply, legal_moves, new_match
from p2pdice.errors import UnexpectedInput
from p2pdice.events import DieLost, Judged, LeadPassed, PlayerOut, RoundVoid
from p2pdice.moves import Evict, Pledges, Roll, Stakes
from p2pdice.powers import Block, Immunity
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.state import Expect
from p2pdice.views import state_json

from .scripted import play, reach, rolled, rules, show, table

CLASSIC = PRESETS["classic"]


@pytest.mark.parametrize(
    ("preset", "dice", "inputs", "seats"),
    [
        ("classic", "555", "evict 0", (1,)),  # the leader, before opening
        ("classic", "5555", "1x2, evict 1", (2,)),
        ("classic", "5555", "1x2, evict 1, evict 2", (3,)),
        ("classic", "555", "1x2, evict 2", (1,)),  # another player left
        ("joker", "5555", "1x2, liar, evict 1", (2,)),  # the challenge continues without its accuser
        ("joker", "5555", "1x2, liar, evict 2", (3,)),  # no side is awaited from a departed player
        ("joker", "5555", "1x2, liar, evict 2, evict 3", (0, 1)),  # all have taken sides: the hands are shown
    ],
)
def test_the_turn_of_a_departed_player_passes_to_the_next_live_player(
    preset: str, dice: str, inputs: str, seats: tuple[int, ...]
) -> None:
    state = play(rolled(PRESETS[preset], tuple(map(int, dice))), *inputs.split(", "))
    assert state.expects.seats == seats


def test_a_player_can_concede_at_any_time() -> None:
    left = play(rolled(CLASSIC, (5, 5, 5)), "1x2", "concede 2")
    evicted = play(rolled(CLASSIC, (5, 5, 5)), "1x2", "evict 2")
    assert left.live == evicted.live == (0, 1)
    assert [exit_.reason for exit_ in (*left.exits, *evicted.exits)] == ["conceded", "evicted"]
    assert play(new_match(CLASSIC, 3), "concede 2").live == (0, 1)


def test_dice_of_a_player_who_leaves_before_the_roll_are_removed_at_once() -> None:
    state = play(new_match(CLASSIC, 3), "evict 2")
    assert (state.dice, state.expects.kind, state.expects.seats) == ((5, 5, 0), Expect.ROLLED, (0, 1))


def test_the_lead_of_a_departed_player_passes_to_the_next_live_player() -> None:
    state, events = apply(new_match(CLASSIC, 4, first=2), Evict(2))
    assert state.leader == 3
    assert LeadPassed(3, 2) in events
    assert play(state, "evict 3").leader == 0
    assert play(rolled(CLASSIC, (5, 5, 5)), "evict 0").leader == 1  # before opening


def test_a_departed_bidder_can_be_challenged_and_loses_no_more_dice() -> None:
    state = play(rolled(CLASSIC, (5, 5, 5)), "9x2", "evict 0", "liar")
    state, events = show(state, "?", "33333", "44444")
    assert any(isinstance(event, Judged) and event.call_right for event in events)
    assert not any(isinstance(event, DieLost) for event in events)
    assert (state.dice, state.leader, state.round) == ((0, 5, 5), 1, 2)


def test_all_others_lose_a_die_although_the_caller_of_a_right_exact_has_left() -> None:
    state = play(rolled(rules(exact="others-lose"), (1, 1, 1)), "1x2", "exact", "evict 1")
    state, _ = show(state, "2", "3", "4")
    assert (state.awaits, state.places, state.winners) == (Expect.OVER, ((2, 0), (1,)), (2, 0))


def test_the_match_ends_when_one_player_remains() -> None:
    state, events = apply(play(rolled(CLASSIC, (5, 5, 5)), "1x2", "evict 0"), Evict(2))
    assert (state.awaits, state.winners, state.places) == (Expect.OVER, (1,), ((1,), (2,), (0,)))
    assert events[0] == PlayerOut(2, "evicted")
    assert state.dice == (0, 5, 0)


@pytest.mark.parametrize("goal", ["last-standing", "first-out"])
def test_a_leaver_takes_the_lowest_open_place_under_every_goal(goal: str) -> None:
    state = play(rolled(rules(goal=goal), (5, 5, 5, 5)), "evict 3", "concede 0", "evict 1")
    assert state.places == ((2,), (1,), (0,), (3,))


def test_first_out_fills_the_places_from_both_ends() -> None:
    ruleset = rules(goal="first-out")
    state = play(rolled(ruleset, (1, 5, 5, 5)), "9x2", "liar", "evict 3")
    state, _ = show(state, "3", "33333", "33333", "?")
    assert play(state, "evict 1").places == ((0,), (2,), (1,), (3,))


def test_a_player_cannot_leave_twice_or_after_the_end() -> None:
    with pytest.raises(UnexpectedInput, match="not in the match any more"):
        play(rolled(CLASSIC, (5, 5, 5)), "evict 1", "evict 1")
    with pytest.raises(UnexpectedInput, match="match is over"):
        play(rolled(CLASSIC, (5, 5)), "evict 1", "concede 0")


# Cups that stay shut


SHUT = "12 23 ?"


@pytest.mark.parametrize(
    ("options", "dice", "inputs", "hands", "left", "leader", "void"),
    [
        # Dice of a departed player stay in play until the round is settled. The player neither loses nor gains dice.
        ("", "555", "1x2, evict 2, liar", "22222 33333 ?", "540", 1, ()),
        ("exact=gain", "222", "1x2, exact, evict 1", "23 33 44", "202", 0, ()),
        ("exact=gain", "222", "1x2, exact, evict 1", "33 33 44", "202", 2, ()),
        ("joker", "5555", "1x2, liar, evict 1, accuser, accused", "33333 44444 55555 66666", "5045", 0, ()),
        # Two twos and a wild one are enough whatever the third cup hides; three and at most two more are not six.
        ("", "222", "3x2, liar, evict 2", SHUT, "210", 1, ()),
        ("", "222", "6x2, liar, evict 2", SHUT, "120", 0, ()),
        # The shut cup decides: the round is void.
        ("", "222", "4x2, liar, evict 2", SHUT, "220", 0, (2,)),
        ("", "222", "5x2, liar, evict 2", SHUT, "220", 0, (2,)),
        ("", "222", "5x2, liar, evict 0", "? 12 22", "022", 1, (0,)),
        # Three are already there, or at most five can be there: exact is wrong.
        ("exact=gain", "222", "2x2, exact, evict 2", SHUT, "210", 1, ()),
        ("exact=gain", "222", "6x2, exact, evict 2", SHUT, "210", 1, ()),
        ("exact=gain", "222", "3x2, exact, evict 2", SHUT, "220", 0, (2,)),
        ("exact=gain", "222", "4x2, exact, evict 2", SHUT, "220", 0, (2,)),
    ],
)
def test_dice_and_leader_after_a_showdown_with_a_departed_player(
    options: str, dice: str, inputs: str, hands: str, left: str, leader: int, void: tuple[int, ...]
) -> None:
    """A verdict must hold for every possible hand in the shut cup. Otherwise the round is void."""
    ruleset = PRESETS[options] if options in PRESETS else rules(**dict([options.split("=")] if options else []))
    state = play(rolled(ruleset, tuple(map(int, dice))), *inputs.split(", "))
    assert "".join(map(str, state.dice)) == dice
    state, events = show(state, *hands.split())
    assert ("".join(map(str, state.dice)), state.leader) == (left, leader)
    assert (state.round, state.expects.kind) == (2, Expect.ROLLED)
    assert [event for event in events if isinstance(event, RoundVoid)] == [RoundVoid(1, void)] * bool(void)


def test_a_void_palifico_is_repeated() -> None:
    state = rolled(rules("perudo"), (1, 4, 4), palifico=True, dropped=(0,))
    state, _ = show(play(state, "4x3", "liar", "evict 2"), "3", "3444", "?")
    assert (state.palifico, state.leader, state.round) == (True, 0, 2)


@pytest.mark.parametrize("ruleset", PRESETS.values(), ids=PRESETS)
def test_a_referee_may_open_the_cup_of_a_departed_player(ruleset: Ruleset) -> None:
    state = play(rolled(ruleset, (2, 2, 2)), "4x2", "liar", "evict 2")
    _, events = show(state, "22", "22", "33")
    assert not any(isinstance(event, RoundVoid) for event in events)


def test_no_moves_are_listed_while_none_is_awaited() -> None:
    assert list(legal_moves(new_match(CLASSIC, 2))) == []


# With motes, in every phase of a turn; test_stack.py has departures with effects on the stack


def test_motes_a_player_who_leaves_before_the_prize_gets_no_dice() -> None:
    state = play(new_match(rules("motes"), 3), "evict 1")
    state, _ = apply(state, Pledges(("redeemed",) * 3))
    state, _ = apply(state, Stakes(((1, 1000, 0, 0), None, (5, 1000, 0, 0))))
    state, _ = apply(state, Roll(1))
    assert state.motes is not None
    assert tuple(map(len, state.motes.cups)) == state.dice == (5, 0, 5)


@pytest.mark.parametrize("stage", range(3))
def test_motes_a_player_who_is_alone_before_the_prize_wins_without_a_winning_die(stage: int) -> None:
    state = new_match(rules("motes"), 2)
    inputs = (Pledges(("redeemed",) * 2), Stakes(((10, 1000, 0, 0),) * 2))
    for item in inputs[:stage]:
        state, _ = apply(state, item)
    state = play(state, "evict 0")
    assert (state.awaits, state.winners) == (Expect.OVER, (1,))
    assert state_json(state)["twin_soul"] is None


def test_motes_the_dice_of_a_departed_player_stay_in_play_until_the_verdict() -> None:
    state = play(reach(table(3), "bidding"), "9x2", "evict 2")
    assert state.dice == (5, 5, 5)
    state, _ = show(play(state, "liar"), "22222", "33333", "22222")
    assert state.motes is not None
    assert (state.phase, state.turn, state.dice) == ("discard", 1, (5, 5, 0))
    assert [str(die) for die in state.motes.removed] == ["light@2", "grey@2", "neutral@2", "blue@2", "red@2"]


def test_motes_a_departed_player_does_not_lose_the_die_that_was_owed() -> None:
    state = play(reach(table(3, "grey@1"), "discard"), "evict 0")
    assert state.motes is not None
    assert (state.phase, state.turn, state.leader, state.dice) == ("sunrise", 1, 1, (0, 4, 5))
    assert len(state.motes.graveyard) == 1


def test_motes_no_die_is_owed_when_the_match_is_decided() -> None:
    state = play(reach(table(2), "discard"), "evict 1")
    assert (state.phase, state.turn, state.dice) == ("crown", 0, (5, 0))


def test_motes_a_window_does_not_wait_for_a_departed_player() -> None:
    state = reach(table(4, "red@0", "red@1", "red@2", "red@3"), "night")
    assert play(state, "evict 0").turn == 1
    assert play(state, "pass", "evict 2").turn == 1
    assert play(state, "pass", "evict 2", "pass").turn == 3
    assert play(state, "pass", "pass", "evict 3", "pass").phase == "bidding"
    state = reach(table(3, "grey@0", "grey@1"), "sunrise", loses="red@0")
    assert (play(state, "evict 0").turn, play(state, "evict 0").dice) == (1, (0, 4, 5))


def test_motes_immunity_and_blocks_end_when_their_players_leave() -> None:
    state = reach(table(3, "grey@0", "red@2"), "sunset", loses="neutral@0")
    state = play(state, "play grey@0", "pass")
    state = reach(state, "night")
    blocked, _ = apply(play(state, "play red@2 on 1"), Roll(1))
    assert blocked.motes is not None
    assert blocked.motes.lasting == (Immunity(0, 0), Block(1, 2, "cursed"))
    for who, immune, blocks in ((0, (), 1), (1, (0,), 0), (2, (0,), 0)):
        motes = play(blocked, f"evict {who}").motes
        assert motes is not None
        assert (motes.immune, len(motes.lasting) - len(immune)) == (immune, blocks)


def test_motes_nobody_has_to_raise_after_the_accuser_of_a_void_call_left() -> None:
    state = reach(table(4, "grey@0"), "sunset", loses="blue@0")
    state = play(reach(play(state, "play grey@0"), "bidding"), "1x2", "liar", "evict 1")
    assert state.motes is not None
    assert (state.turn, state.motes.must_raise) == (2, False)
    assert "liar" in map(str, legal_moves(state))


def test_motes_nobody_has_to_raise_even_if_that_accuser_had_an_effect_on_the_stack() -> None:
    state = reach(table(3, "grey@0", "red@1", "dark@2", "blue@0"), "sunset", loses="neutral@0")
    state = play(reach(play(state, "play grey@0", "pass"), "night"), "pass", "pass")
    state = play(reach(state, "bidding"), "1x2", "liar", "play red@1 on 2")
    assert (state.turn, state.phase) == (0, "bidding")
    state = play(state, "evict 1")
    assert state.motes is not None
    assert (state.turn, state.phase, state.motes.must_raise) == (2, "bidding", False)
    assert "liar" in map(str, legal_moves(state))


def test_motes_a_winner_who_leaves_before_the_choice_wins_without_a_winning_die() -> None:
    for leaving in ("evict 0", "concede 0"):
        state = play(reach(table(2), "bidding"), "evict 1")
        assert (state.phase, state.expects.seats) == ("crown", (0,))
        state = play(state, leaving)
        assert (state.winners, state.places) == ((0,), ((0,), (1,)))
        assert state_json(state)["twin_soul"] is None
        assert state_json(state)["ticket_delta"] == [0, 0]


def test_motes_a_player_without_dice_who_is_left_alone_wins_without_a_winning_die() -> None:
    buried = [f"{mote}@0" for mote in ("light", "grey", "neutral", "blue")]
    state = play(reach(table(2, *buried), "bidding"), "9x2", "liar")
    state, _ = show(state, "3", "44444")
    state = play(state, "evict 1")
    assert (state.awaits, state.winners, state_json(state)["twin_soul"]) == (Expect.OVER, (0,), None)


def test_motes_if_the_next_leader_leaves_at_sunrise_the_next_seat_leads() -> None:
    state = play(reach(table(4, "grey@0"), "bidding"), "1x2", "liar")
    state, _ = show(state, "2222", "22222", "22222", "22222")
    state = play(state, "lose red@1")
    assert (state.phase, state.turn) == ("sunrise", 0)
    assert play(state, "evict 1", "pass").leader == 2
