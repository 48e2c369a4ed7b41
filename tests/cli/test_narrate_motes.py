"""Sentences about dice with powers and about stakes. They name what can be typed."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.table import answers
from cli.table.board import Board
from cli.table.moment import tell
from cli.text.narrate import narrate
from cli.text.narrate_game import graveyard
from cli.text.seating import Seating
from cli.text.speech import hear, refusal
from p2pdice import events as game
from p2pdice.engine import apply, new_match
from p2pdice.errors import RulesError
from p2pdice.events import Event
from p2pdice.motes import Die
from p2pdice.moves import Bid, Concede, Play, Rolled, Stakes, Wager
from p2pdice.powers import BlockEnded, DieDestroyed, ImmunityGained, PlayerBlocked, PowerStopped
from p2pdice.state import Expect, State
from p2pdice.views import view
from protocol import events as node
from tests.cli.samples import MOTES
from tests.cli.test_narrate import told
from tests.p2pdice.scripted import MOTE_RULES, after_a_round, play, random_play, rules, show

ADA, BEN = Seating(("Ada", "Ben", "Cleo"), 0), Seating(("Ada", "Ben", "Cleo"), 1)
LIGHT, DARK = Die("light", 0), Die("dark", 1)


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
            "You play Light to take back Ben's Dark.",
            "Ada plays Light to take back your Dark.",
        ),
        (
            game.PowerPlayed(1, Die("neutral", 1), LIGHT),
            "Ben plays Neutral to swap it for your Light.",
            "You play Neutral to swap it for Ada's Light.",
        ),
        (
            game.PowerPlayed(2, Die("blue", 2), DARK),
            "Cleo plays Blue to stop Ben's Dark.",
            "Cleo plays Blue to stop your Dark.",
        ),
        (
            game.PowerPlayed(1, Die("red", 0), 0),
            "Ben plays your Red to block you.",
            "You play Ada's Red to block Ada.",
        ),
        (
            ImmunityGained(0),
            "You are shielded: the next call on you doesn't count.",
            "Ada is shielded: the next call on Ada doesn't count.",
        ),
        (
            game.AccusationVoid(1, 0),
            "Your shield holds: the call doesn't count. Ben must raise.",
            "Ada's shield holds: the call doesn't count. You must raise.",
        ),
        (
            PowerStopped(2, DARK),
            "Cleo stops Ben's Dark with a Blue. Both are spent.",
            "Cleo stops your Dark with a Blue. Both are spent.",
        ),
        (
            PlayerBlocked(0, 1, 3, "cursed"),
            "The die shows 3, odd: Ben may play no Cursed dice until you lead again.",
            "The die shows 3, odd: you may play no Cursed dice until Ada leads again.",
        ),
        (
            BlockEnded(0, 1, "cursed"),
            "You no longer keep Ben from playing Cursed dice.",
            "Ada no longer keeps you from playing Cursed dice.",
        ),
        (
            DieDestroyed(1, LIGHT),
            "Ben destroys your Light with a Dark.",
            "You destroy Ada's Light with a Dark.",
        ),
        (
            game.DieLost(1, 3, DARK),
            "Ben loses Dark to the graveyard: three left.",
            "You lose Dark to the graveyard: three left.",
        ),
        (game.DieGained(0, 1, DARK), "You take back Ben's Dark: one now.", "Ada takes back your Dark: one now."),
        (
            game.TwinSoulJoined(1, DARK, "light", "Eclipse"),
            "Ben crowns Dark. With the prize, Light, it is the Twin Soul Eclipse.",
            "You crown Dark. With the prize, Light, it is the Twin Soul Eclipse.",
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


def asked(state: State, hand: tuple[int, ...] = ()) -> str:
    return narrate(node.YourTurn(view(state, state.turn, hand), 1), Seating(("Ada", "Ben"), state.turn))


def test_the_loser_is_told_which_dice_can_be_lost() -> None:
    assert asked(after_a_round()) == (
        "You lose a die. Which one? Type lose Light, lose Grey, lose Neutral, lose Blue or lose Red."
    )


def test_the_question_names_the_powers_that_can_be_played() -> None:
    assert asked(play(after_a_round(), "lose grey@0")) == (
        "Play a die from the graveyard, or pass. Type shield or pass."
    )


STAKE = "What do you stake on your own victory? Nobody sees it yet."


@pytest.mark.parametrize(
    ("coins", "tickets", "question"),
    [
        (1000, 0, f"{STAKE} You have 1,000 coins. Type stake 50, or stake 0 for nothing."),
        (20, 1, f"{STAKE} You have 20 coins and one run ticket. Type stake 20, or stake 0 for nothing."),
        (0, 2, f"{STAKE} You have no coins and two run tickets. Type stake 0 tickets 2, or stake 0 for nothing."),
        (0, 0, "You have nothing to stake, so you stake nothing."),
    ],
)
def test_the_question_for_a_stake_names_the_funds_and_a_legal_stake(coins: int, tickets: int, question: str) -> None:
    asked = view(new_match(rules("classic", stakes="yes"), 2), 0)._replace(funds=coins, tickets=tickets)
    assert narrate(node.YourTurn(asked, 1), ADA) == question


def test_the_payout_names_the_bonus() -> None:
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


def test_an_end_before_the_stakes_are_opened_pays_nothing() -> None:
    state, happened = apply(new_match(rules("classic", stakes="yes"), 2), Play(1, Concede()))
    (paid,) = [event for event in happened if isinstance(event, game.StakesPaid)]
    assert narrate(node.Happened(paid, state), ADA) == "Coins won and lost: you +0, Ben +0."


def test_a_power_that_can_be_played_at_night_is_offered_with_the_bid() -> None:
    state = play(after_a_round(), "lose red@0")
    state, _ = apply(state, Rolled())
    assert asked(state).startswith("Play a die from the graveyard, or pass. Type block Ben or pass.")
    opening = play(state, "pass")
    assert asked(opening).endswith("Your turn: make the first bid, or play Red first. Type block Ben.")


def test_a_wrong_kind_of_move_is_answered_with_the_dice_to_name() -> None:
    state = after_a_round()
    seen = view(state, state.turn)
    with pytest.raises(RulesError) as caught:
        apply(state, Play(state.turn, Bid(3, 5)))
    assert refusal(Bid(3, 5), seen, ("Ada", "Ben"), caught.value) == (
        "Name the die that you lose: lose Light, lose Grey, lose Neutral, lose Blue or lose Red."
    )


def test_in_line_mode_motes_and_faces_are_named_together() -> None:
    state, players = after_a_round(), (node.PlayerInfo("Ada", "1111", is_me=True), node.PlayerInfo("Ben", "2222"))
    board = Board()
    board.take(node.MatchStarted("ab" * 32, MOTE_RULES, players, 0, state))
    board.take(node.YourTurn(view(state, 0, ()), 1))
    assert [*answers.table(board)][-1] == asked(state)
    assert "no bid" not in answers.status(board)
    state = play(state, "lose grey@0", "play grey@0")
    state = apply(state, Rolled())[0]
    board.take(node.MatchStarted("ab" * 32, MOTE_RULES, players, 0, state))
    board.take(rolled_dice := node.DiceRolled((2, 3, 3, 6)))
    assert [*tell(rolled_dice, board)] == ["You roll 2 Light, 3 Neutral, 3 Blue, 6 Red."]
    assert next(iter(answers.dice(board))).startswith("You have 2 Light, 3 Neutral, 3 Blue, 6 Red. Dice: ")


def test_a_shielded_bid_must_be_raised() -> None:
    state = play(after_a_round(), "lose grey@0", "play grey@0")
    state = play(apply(state, Rolled())[0], "9x2", "liar")
    assert asked(state) == "Your turn: you must raise; this bid can't be called. Ada bid nine twos."
    state, _ = show(play(state, "9x3", "liar"), "2345", "23456")
    state = play(state, "lose blue@1")
    state = play(apply(state, Rolled())[0], "9x2", "liar")
    state = show(state, "2345", "2345")[0]
    assert asked(state).endswith("Type lose Light, lose Grey, lose Neutral or lose Red.")


def test_the_graveyard_can_be_listed() -> None:
    state = play(after_a_round(), "lose grey@0", "play grey@0")
    assert graveyard(state, Seating(("Ada", "Ben"), 1)).splitlines() == [
        "    Ada's cup: Light, Neutral, Blue, Red",
        "    Your cup: Light, Grey, Neutral, Blue, Red",
        "    Shielded: Ada",
    ]
    state = play(after_a_round(), "lose red@0")
    buried = "    In the graveyard, for Ada to play: Red"
    assert buried in graveyard(state, Seating(("Ada", "Ben"))).splitlines()


@given(st.integers(0, 2**32), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_in_any_match_sentences_are_whole_and_offered_moves_are_legal(seed: int, players: int) -> None:
    names = ("Ada", "Ben (bot)", "D'Arcy", "Benjamin!")[:players]
    for before, state, events in random_play(rules("motes"), players, Random(seed)):
        if before.awaits is Expect.MOVE:
            mine = Seating(names, before.turn)
            seen = view(before, before.turn)
            question = narrate(node.YourTurn(seen, 1), mine)
            assert question[0].isupper()
            assert question[-1] == "."
            offered = question.partition(" Type ")[2].removesuffix(".")
            for text in filter(None, re.split(", | or ", offered)):
                if not text.endswith(" more"):
                    assert hear(text, seen, names, ("help", "players")) in seen.legal
        for event in events:
            for me in (0, 1, None):
                told = narrate(node.Happened(event, state), Seating(names, me))
                for line in told.split("\n"):
                    assert line[0].isupper() or line[0].isdigit()
                    assert line[-1] in ".:"
                assert not re.search(r"@\d|None|\byou (is|was|has|loses|leads|plays|passes|wins)\b", told)
