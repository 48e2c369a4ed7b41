"""What dice with powers and stakes add is told to the reader, and what can be typed is named."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.render import wrapped
from cli.text.narrate import narrate
from cli.text.narrate_motes import graveyard
from cli.text.seating import Seating
from cli.text.speech import hear
from p2pdice import Concede, Die, Event, Expect, Play, Rolled, Stakes, State, Wager, apply, new_match, view
from p2pdice import events as game
from p2pdice.powers.blue import PowerStopped
from p2pdice.powers.dark import DieDestroyed
from p2pdice.powers.grey import ImmunityGained
from p2pdice.powers.red import BlockEnded, PlayerBlocked
from protocol import events as node
from tests.cli.samples import MOTES, bidding
from tests.p2pdice.scripted import play, random_play, rolled, rules, show

ADA, BEN = Seating(("Ada", "Ben", "Cleo"), 0), Seating(("Ada", "Ben", "Cleo"), 1)
LIGHT, DARK = Die("light", 0), Die("dark", 1)


def told(event: Event, seating: Seating) -> str:
    return narrate(node.Happened(event, bidding()), seating)


@pytest.mark.parametrize(
    ("event", "mine", "theirs"),
    [
        (
            MOTES[0],
            "You and Cleo are pledged to Redeemed and Ben to Cursed.",
            "Ada and Cleo are pledged to Redeemed and you to Cursed.",
        ),
        (
            MOTES[1],
            "The stakes are open: you 100 of 1,000 coins; Ben 1 of 1,000 coins and one run ticket; Cleo 0 of no coins.",
            "The stakes are open: Ada 100 of 1,000 coins; you 1 of 1,000 coins and one run ticket; Cleo 0 of no coins.",
        ),
        (
            game.PowerPlayed(0, LIGHT, DARK),
            "You play light@0 to take dark@1 into the cup.",
            "Ada plays light@0 to take dark@1 into the cup.",
        ),
        (
            game.PowerPlayed(1, Die("neutral", 1), LIGHT),
            "Ben plays neutral@1 to swap it with light@0.",
            "You play neutral@1 to swap it with light@0.",
        ),
        (
            game.PowerPlayed(2, Die("blue", 2), DARK),
            "Cleo plays blue@2 against dark@1.",
            "Cleo plays blue@2 against dark@1.",
        ),
        (
            game.PowerPlayed(1, Die("red", 0), 0),
            "Ben plays red@0 on you.",
            "You play red@0 on Ada.",
        ),
        (
            ImmunityGained(0),
            "You are immune: the next accusation against you will be void.",
            "Ada is immune: the next accusation against them will be void.",
        ),
        (
            game.AccusationVoid(1, 0),
            "You were immune: the accusation is void, no cup is opened, and Ben has to raise.",
            "Ada was immune: the accusation is void, no cup is opened, and you have to raise.",
        ),
        (
            PowerStopped(2, DARK),
            "Cleo's Blue stops dark@1: it is spent and does nothing.",
            "Cleo's Blue stops dark@1: it is spent and does nothing.",
        ),
        (
            PlayerBlocked(0, 1, 3, "cursed"),
            "The die shows 3, odd: Ben may play no Cursed dice until you lead again.",
            "The die shows 3, odd: you may play no Cursed dice until Ada leads again.",
        ),
        (
            BlockEnded(0, 1, "cursed"),
            "Your Red no longer keeps Ben from playing Cursed dice.",
            "Ada's Red no longer keeps you from playing Cursed dice.",
        ),
        (
            DieDestroyed(1, LIGHT),
            "Ben's Dark removes light@0 from the game.",
            "Your Dark removes light@0 from the game.",
        ),
        (
            game.DieLost(1, 3, DARK),
            "Ben loses dark@1 to the graveyard: three dice left.",
            "You lose dark@1 to the graveyard: three dice left.",
        ),
        (game.DieGained(0, 1, DARK), "You gain dark@1: one die now.", "Ada gains dark@1: one die now."),
        (
            game.TwinSoulJoined(1, DARK, "light", "Eclipse"),
            "Ben's dark@1 joins the prize: the Twin Soul Eclipse, of Dark and Light.",
            "Your dark@1 joins the prize: the Twin Soul Eclipse, of Dark and Light.",
        ),
        (
            game.TicketsEarned("cursed", (1,)),
            "Pledged to Cursed, Ben earns a run ticket.",
            "Pledged to Cursed, you earn a run ticket.",
        ),
        (
            MOTES[-1],
            "Coins won and lost: you +60 (paid 160, +2 run tickets), Ben -50 (-1 run ticket), Cleo +0.",
            "Coins won and lost: Ada +60 (paid 160, +2 run tickets), you -50 (-1 run ticket), Cleo +0.",
        ),
    ],
    ids=lambda value: value.type if not isinstance(value, str) else "",
)
def test_sentences_speak_to_the_reader(event: Event, mine: str, theirs: str) -> None:
    assert (told(event, ADA), told(event, BEN)) == (mine, theirs)


MOTE_RULES = rules("motes", stakes="no")


def asked(state: State, hand: tuple[int, ...] = ()) -> str:
    return narrate(node.YourTurn(view(state, state.turn, hand), 1), Seating(("Ada", "Ben"), state.turn))


def after_a_round() -> State:
    """Return the state in which Ada, who has all five dice, is to lose one of them."""
    return show(play(rolled(MOTE_RULES, (5, 5)), "9x2", "liar"), "23456", "23456")[0]


def test_the_loser_is_shown_what_can_be_lost() -> None:
    assert asked(after_a_round()) == (
        "Your turn: send a die to the graveyard. Type lose light, lose grey, lose neutral, lose blue or lose red."
    )


def test_a_window_says_what_can_be_played_in_it() -> None:
    assert asked(play(after_a_round(), "lose grey@0")) == (
        "Your turn: play a die out of the graveyard, or pass. Type play grey or pass."
    )


@pytest.mark.parametrize(
    ("coins", "tickets", "question"),
    [
        (1000, 0, "Your turn: stake on your own victory, out of 1,000 coins; type stake 50, or stake 0 for nothing."),
        (20, 1, "Your turn: stake on your own victory, out of 20 coins and one run ticket; type stake 20, or stake 0"),
        (0, 2, "Your turn: stake on your own victory, out of no coins and two run tickets; type stake 0 tickets 2, or"),
        (0, 0, "You have nothing to stake, so you stake nothing."),
    ],
)
def test_stakes_are_asked_for_with_the_funds_and_a_stake_that_can_be_made(
    coins: int, tickets: int, question: str
) -> None:
    asked = view(new_match(rules("classic", stakes="yes"), 2), 0)._replace(funds=coins, tickets=tickets)
    assert narrate(node.YourTurn(asked, 1), ADA).startswith(question)


def test_a_bonus_is_told_beside_what_was_paid() -> None:
    wagers = (Wager(50, 1000, 0, 0), Wager(1000, 1000, 0, 0))
    state, _ = apply(new_match(rules("classic", stakes="yes"), 2), Stakes(wagers))
    state, happened = apply(state, Play(1, Concede()))
    (paid,) = [event for event in happened if isinstance(event, game.StakesPaid)]
    said = "Coins won and lost: you +1,002 (paid 1,052, with a bonus of 2), Ben -1,000."
    assert narrate(node.Happened(paid, state), ADA) == said
    small = (Wager(5, 1000, 0, 0), Wager(0, 1000, 0, 0))
    state, _ = apply(new_match(rules("classic", stakes="yes"), 2), Stakes(small))
    state, happened = apply(state, Play(1, Concede()))
    (paid,) = [event for event in happened if isinstance(event, game.StakesPaid)]
    assert narrate(node.Happened(paid, state), ADA) == "Coins won and lost: you +0 (paid 5), Ben +0."


def test_a_match_that_ends_before_the_stakes_are_opened_pays_nothing() -> None:
    state, happened = apply(new_match(rules("classic", stakes="yes"), 2), Play(1, Concede()))
    (paid,) = [event for event in happened if isinstance(event, game.StakesPaid)]
    assert narrate(node.Happened(paid, state), ADA) == "Coins won and lost: you +0, Ben +0."


def test_a_power_that_can_be_played_at_night_is_offered_beside_the_bid() -> None:
    state = play(after_a_round(), "lose red@0")
    state, _ = apply(state, Rolled())
    assert asked(state).startswith(
        "Your turn: play a die out of the graveyard, or pass. Type play red on 1 (Ben) or pass."
    )
    opening = play(state, "pass")
    assert asked(opening).endswith(
        "open the round with a bid. Before that you may play a die. Type play red on 1 (Ben)."
    )


def test_an_effect_can_be_answered_and_an_accusation_be_in_vain() -> None:
    state = play(after_a_round(), "lose grey@0", "play grey@0")
    state = play(apply(state, Rolled())[0], "9x2", "liar")
    assert asked(state) == "Your turn: raise Ada's 9x2 (nine twos); it cannot be called."
    state, _ = show(play(state, "9x3", "liar"), "2345", "23456")
    state = play(state, "lose blue@1")
    state = play(apply(state, Rolled())[0], "9x2", "liar")
    state = show(state, "2345", "2345")[0]
    assert asked(state).endswith("Type lose light, lose grey, lose neutral or lose red.")


def test_the_graveyard_can_be_looked_up() -> None:
    state = play(after_a_round(), "lose grey@0", "play grey@0")
    assert graveyard(state, Seating(("Ada", "Ben"), 1)).splitlines() == [
        "    seat 0, Ada:  light@0, neutral@0, blue@0, red@0",
        "    seat 1, you:  light@1, grey@1, neutral@1, blue@1, red@1",
        "    immune: Ada",
    ]
    told = graveyard(state, Seating(("Ada", "Ben"), 1))
    assert {"neutral@0,", "neutral@1,"} < {*wrapped(told, 60).split()}
    assert max(map(len, wrapped(told, 40).split("\n"))) < 40  # no die is broken in two
    state = play(after_a_round(), "lose red@0")
    assert "    in the graveyard by Ada:  red@0" in graveyard(state, Seating(("Ada", "Ben"))).splitlines()


@given(st.integers(0, 2**32), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_in_any_match_all_is_told_in_whole_sentences_and_what_is_offered_can_be_typed(seed: int, players: int) -> None:
    names = ("Ada", "Ben (bot)", "Cleo", "Dan")[:players]
    for before, state, events in random_play(rules("motes"), players, Random(seed)):
        if before.awaits is Expect.MOVE:
            mine = Seating(names, before.turn)
            seen = view(before, before.turn)
            question = narrate(node.YourTurn(seen, 1), mine)
            assert re.fullmatch(r"Your turn: .*\.", question)
            offered = question.partition(" Type ")[2].rstrip(".")
            for text in filter(None, re.split(", | or ", offered)):
                if not text.endswith(" more"):
                    assert hear(text, seen, names, ("help", "players")) in seen.legal
        for event in events:
            for me in (0, 1, None):
                told = narrate(node.Happened(event, state), Seating(names, me))
                for line in told.split("\n"):
                    assert line.startswith("    ") or (line[0].isupper() and line[-1] in ".:")
                assert not re.search(r"None|\byou (is|was|has|loses|leads|plays|passes|wins)\b", told)
