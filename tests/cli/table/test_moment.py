"""The band, the talk, the keys and the title at each moment of a match."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.table.board import Board
from cli.table.felt import truth
from cli.table.moment import MOST_KEYS, band, round_line, talk, tell, title, useful_keys, with_awaited
from cli.table.pace import beats
from cli.table.picture import picture
from cli.table.scene import Band, Scene, Talk
from cli.table.theme import Theme
from cli.text.narrate import narrate
from p2pdice.engine import apply
from p2pdice.events import Event, StakesPaid, TicketsEarned
from p2pdice.moves import Evict, Hand, Hands, Play, Pledges, Rolled, parse_move
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect, State
from protocol.events import (
    Claimed,
    ConcedeAccepted,
    CupsSeen,
    Happened,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    Misbehaved,
    Overdue,
    PeerLost,
    PlayerInfo,
    Recognised,
    Said,
    SeatWanted,
    Suspended,
    TableJoined,
    TableOpened,
    TableWatched,
    Unfamiliar,
)
from tests.cli.table.boards import Sample, people, told
from tests.p2pdice.scripted import play, reach, table

if TYPE_CHECKING:
    pass


def shown(state: State, events: tuple[Event, ...], after: State) -> list[tuple[str, str]]:
    """Return the type of each beat, and the picture after it. A beat is an event, or the opening of one cup."""
    board = Board()
    board.take(MatchStarted("ab" * 32, state.ruleset, people(["Ada", "Ben", "Cleo"], None), None, state))
    pictures = []
    for event in told(events, after):
        for beat in beats(event, board):
            board.take(beat)
            what = type(event.event if beat is event else beat).__name__
            now = band(board, "", with_odds=False, is_behind=False)
            pictures.append((what, picture(board, Scene(band=now), 80, 24, Theme("none")).text()))
    return pictures


def test_turn_to_discard_appears_only_with_the_verdict() -> None:
    called = play(reach(table(3), "bidding"), "9x2", "liar")
    after, events = apply(called, Hands(((3,) * 5,) * 3))
    assert (after.phase, after.turn) == ("discard", 0)
    pictures = shown(called, events, after)
    assert [(what, "▶ ● Ada" in text) for what, text in pictures] == [
        *[("CupOpened", False)] * 3,
        ("HandsShown", False),
        ("Judged", True),
    ]


def test_window_opens_only_with_its_event() -> None:
    losing = reach(table(3, "grey@1"), "discard")
    lost = parse_move(f"lose red@{losing.turn}")
    after, events = apply(losing, Play(losing.turn, lost))
    assert [type(event).__name__ for event in events] == ["DieLost", "PhaseBegun"]
    (_, first), (_, second) = shown(losing, events, after)
    for text, window in ((first, "sunset ─ night ─ bidding ─ sunrise"), (second, "[sunrise]")):
        assert window in text
        assert "Red" in text.lower().partition("graveyard")[2].title()
    assert "▶" not in first
    assert "▶ ▲ Ben" in second


# The words of a moment


def sample(*moves: str, names: Sequence[str] = ("Ada", "Ben", "Cleo"), rules: str = "classic") -> Sample:
    made = Sample(PRESETS[rules], names)
    made.roll()
    made.play(*moves)
    return made


def says(made: Sample, typed: str = "", *, with_odds: bool = False) -> Band:
    made.board.hosts = True
    return band(made.board, typed, with_odds=with_odds, is_behind=False)


@pytest.mark.parametrize(
    ("moves", "typed", "text", "tone"),
    [
        ([], "", "Your turn: make the first bid.", "seat0"),
        (["1x2", "2x2", "2x3"], "", "Your turn: raise Cleo's two threes, or call it.", "seat0"),
        (["1x2", "2x2", "2x3"], "liar", "Call liar? ! or Enter calls it, Esc takes it back.", "seat0"),
        (["1x2", "2x2", "2x3"], "3x3", "Your turn: raise Cleo's two threes, or call it.", "seat0"),
    ],
)
def test_band_asks_for_a_move(moves: list[str], typed: str, text: str, tone: str) -> None:
    assert says(sample(*moves), typed) == Band(text, tone)


def test_band_has_the_colour_of_the_player_on_turn() -> None:
    assert says(sample("1x2")).tone == "seat1"
    assert says(sample("1x2", "2x2")).tone == "seat2"


def test_band_says_that_the_readers_time_is_up() -> None:
    made = sample("1x2", "2x2", "2x3")
    told = band(made.board, "", with_odds=False, is_behind=False, is_late=True)
    assert told == Band("Your time is up: the others can go on without you.", "waiting")
    asks = band(made.board, "liar", with_odds=False, is_behind=False, is_late=True)
    assert asks.text.startswith("Call liar?")


@pytest.mark.parametrize(
    ("bid", "hands", "text"),
    [
        ("3x3", ((3, 6, 6, 6, 6), (2, 2, 2, 2, 3), (4,) * 5), "Two so far. It's down to Cleo."),
        ("3x3", ((3, 3, 6, 6, 6), (2, 2, 2, 2, 3), (4,) * 5), "Three so far. Cleo lifts the cup …"),
        ("9x3", ((3, 6, 6, 6, 6), (2, 2, 2, 2, 3), (4,) * 5), "Two so far. Cleo lifts the cup …"),
        ("9x3", ((3, 6, 6, 6, 6), (2, 2, 2, 2, 3), None), "Two so far. Cleo's cup stays down."),
    ],
)
def test_band_says_whether_the_last_cup_decides(bid: str, hands: tuple[Hand | None, ...], text: str) -> None:
    made = sample("1x3", "2x3", bid, "liar")
    made.open(*hands, beats_shown=3)
    assert says(made).text == text


@pytest.mark.parametrize(
    ("hands", "text", "tone", "odds"),
    [
        (((3, 3), (2, 2), (4, 4)), "You caught Cleo. Cleo loses a die", "right", "call"),
        (((3, 3), (2, 3), (4, 4)), "Cleo was right; you were wrong. You lose a die", "wrong", "call"),
    ],
)
def test_band_shows_the_verdict_and_the_loss(hands: tuple[Hand, ...], text: str, tone: str, odds: str) -> None:
    made = sample("1x3", "2x3", "3x3", "liar")
    made.open(*(hand + (6,) * 3 for hand in hands))
    told = says(made, with_odds=True)
    assert told.text.startswith(text)
    assert (told.tone, told.right.rpartition(" ")[2]) == (tone, odds)
    assert says(made).right == ""


def test_right_call_of_exact_is_not_worded_as_catching_the_bidder() -> None:
    made = sample("1x3", "2x3", "3x3", "exact", rules="spot-on")
    made.open((3,) + (6,) * 4, (2,) * 4 + (3,), (3,) + (4,) * 4)
    assert says(made).text.startswith("You were right. ")


@pytest.mark.parametrize(
    ("winners", "result", "heading", "tone"),
    [
        ((0,), "You win", "Ada wins", "right"),
        ((1,), "Ben wins", "Ben wins", "quiet"),
        ((1, 2), "Ben and Cleo win", "Ben and Cleo win", "quiet"),
        ((0, 1), "Ada and Ben win", "Ada and Ben win", "quiet"),
    ],
)
def test_band_and_title_name_all_winners(winners: tuple[int, ...], result: str, heading: str, tone: str) -> None:
    made = sample("1x2")
    rest = tuple((seat,) for seat in range(3) if seat not in winners)
    made.board.take(MatchResult("ab" * 32, (winners, *rest), made.players, Path("x"), confirmed=True))
    assert says(made) == Band(f"{result}. Again?", tone)
    assert title(made.board) == f"{heading} - Friday"


@pytest.mark.parametrize(("bid", "truth_"), [("5x4", "false: there are none"), ("1x2", "true: there is one")])
def test_spectator_who_sees_all_dice_reads_whether_a_bid_is_true(bid: str, truth_: str) -> None:
    made = Sample(PRESETS["classic"], me=None)
    made.roll()
    made.play(bid)
    made.board.take(CupsSeen(((3,) * 5, (2,) + (3,) * 4, (6,) * 5), made.state))
    assert made.board.begun.bid is not None
    assert truth(made.board, made.board.begun.bid) == truth_


@pytest.mark.parametrize(
    ("moves", "hands", "line"),
    [
        (
            ["1x3", "2x3", "3x3", "liar"],
            ((3, 3, 6, 6, 6), (2,) * 5, (4,) * 5),
            "Round 1: you called Cleo's three threes, there were two; Cleo lost a die.",
        ),
        (
            ["1x2", "2x2", "liar"],
            ((3, 3, 6, 6, 6), (2, 4, 4, 4, 4), (4,) * 5),
            "Round 1: Cleo called Ben's two twos, there was one; Ben lost a die.",
        ),
        (
            ["1x2", "liar"],
            ((1, 3, 6, 6, 6), (2,) * 5, (4,) * 5),
            "Round 1: Ben called your one two, there were six; Ben lost a die.",
        ),
        (
            ["9x2", "liar"],
            ((3,) * 5, (3,) * 5, (4,) * 5),
            "Round 1: Ben called your nine twos, there were none; you lost a die.",
        ),
        (
            ["1x2", "2x2", "liar"],
            ((2, 2, 6, 6, 6), (2, 4, 4, 4, 4), None),
            "Round 1: Cleo called Ben's two twos, there were three without Cleo's cup; Cleo lost a die.",
        ),
    ],
)
def test_finished_round_is_summarized_in_one_line(moves: list[str], hands: tuple[Hand | None, ...], line: str) -> None:
    made = sample(*moves)
    made.open(*hands)
    assert round_line(made.board.rounds[-1], made.board) == line


def test_talk_has_only_a_summary_of_each_finished_round() -> None:
    """The summary appears when the next round begins. Everything else is on the table."""
    made = sample("1x3", "2x3", "3x3", "liar")
    state, events = apply(made.state, Hands(((3,) * 5, (2,) * 5, (4,) * 5)))
    said = []
    for event in told(events, state):
        made.board.take(event)
        said += [*talk(event, made.board, ["a sentence"])]
    assert said == []
    made.state = state
    state, events = apply(state, Rolled())
    for event in told(events, state):
        made.board.take(event)
        said += [*talk(event, made.board, ["a sentence"])]
    assert [each.text[:8] for each in said] == ["Round 1:"]


def test_player_without_a_vote_reads_that_the_others_can_go_on() -> None:
    made = sample("1x2")
    overdue = Overdue((made.players[1],), 27)
    assert [*tell(overdue, made.board)] == ["Waiting for Ben. You can go on without Ben in 0:27."]
    made.state, events = apply(made.state, Evict(0))
    for event in told(events, made.state):
        made.board.take(event)
    assert [*tell(overdue, made.board)] == ["Waiting for Ben. The others can go on without Ben in 0:27."]


@pytest.mark.parametrize(("seats", "more"), [(3, ": type again 4."), (10, ".")])
def test_host_is_told_how_to_seat_a_spectator(seats: int, more: str) -> None:
    made = sample("1x2")
    made.board.take(MatchResult("ab" * 32, ((0,), (1,), (2,)), made.players, Path("friday.p2pdice")))
    made.board.seats = seats
    asked = SeatWanted(PlayerInfo("a spectator", "K7QF-2M3A"), watched=True)
    assert [*tell(asked, made.board)] == [f"A spectator wants a seat{more}"]


def test_talk_does_not_repeat_the_coins_of_the_end_card() -> None:
    made = Sample(PRESETS["classic"].with_options({"stakes": "yes"}), ("Ada", "Ben"))
    for event in (StakesPaid((0, 100), (-50, 50), (0, 0)), TicketsEarned("cursed", (1,))):
        assert [*talk(Happened(event, made.state), made.board, ["a sentence"])] == []


def test_band_shows_only_the_odds_of_the_readers_own_call() -> None:
    """The reader has a wild one and two threes, so eight threes need five more among ten dice, at 1/3 each."""
    mine = sample("1x3", "2x3", "8x3", "liar")
    mine.open((1, 3, 3, 6, 6), (2,) * 5, (4,) * 5)
    false = sum(comb(10, hits) * 2 ** (10 - hits) for hits in range(5)) / 3**10
    assert says(mine, with_odds=True).right == f"a {round(false * 100)}% call"
    others = sample("1x3", "2x3", "liar")
    others.open((3, 3, 6, 6, 6), (2,) * 5, (4,) * 5)
    assert others.board.call is not None
    assert others.board.call.seat == 2
    assert says(others, with_odds=True).right == ""


def test_talk_escapes_control_characters() -> None:
    made = sample()
    (said,) = talk(Said(made.players[1], "\x1b[2Jhi\u202e"), made.board, ())
    assert said == Talk(1, "Ben", "\\x1b[2Jhi\\u202e")
    assert "\x1b" not in picture(made.board, Scene(talk=[said]), 80, 24, Theme()).text()


def test_spectators_have_no_players_colour_in_the_talk() -> None:
    made = sample("1x2")
    heard = [Said(who, "hi") for who in (made.players[0], PlayerInfo("a spectator", "9999-KVHF"))]
    said = [entry for event in heard for entry in talk(event, made.board, ())]
    assert [(entry.name, entry.role) for entry in said] == [("You", "seat0"), ("A spectator", "text")]
    assert narrate(heard[1], made.board.seating) == "A spectator says: hi"


def test_joining_another_table_replaces_the_odds_setting() -> None:
    board = Board()
    for odds in (1, 0):
        board.take(TableJoined("Friday", people(["Ada"])[0], PRESETS["classic"], 4, odds=odds))
        assert board.odds == odds
    assert not board.hosts


@pytest.mark.parametrize("me", [0, None])
def test_band_no_longer_waits_for_a_player_who_was_voted_out(me: int | None) -> None:
    """Ben's connection is lost on his turn. After the vote, it is Cleo's turn."""
    made = Sample(PRESETS["classic"], me=me)
    made.roll()
    made.play("1x2")
    made.board.take(PeerLost(made.players[1]))
    assert says(made).text == "Waiting for Ben, who can come back any time."
    made.state, events = apply(made.state, Evict(1))
    for event in told(events, made.state):
        made.board.take(event)
    assert made.state.turn == 2
    assert says(made).text == "Cleo is choosing."


@pytest.mark.parametrize(
    ("before", "moves", "awaited", "when"),
    [
        ([], ["1x2"], [1], "Ben has moved"),
        ([1], ["1x2"], [1], "Ben is back"),
        ([], [], [1, 2], "Ben and Cleo have answered"),
        ([1, 2], [], [1, 2], "Ben and Cleo are back"),
    ],
)
def test_conceding_player_reads_what_must_happen_first(
    before: list[int], moves: list[str], awaited: list[int], when: str
) -> None:
    made = sample(*moves)
    for seat in before:
        made.board.take(PeerLost(made.players[seat]))
    event = ConcedeAccepted(tuple(made.players[seat] for seat in awaited))
    assert [*tell(event, made.board)] == [f"You concede. You'll be out as soon as {when}."]
    voted = "You concede. Your program has just voted about an absent player, so it stays in until the next round."
    assert [*tell(replace(event, next_round=True), made.board)] == [voted]


def test_spectator_is_not_told_to_resume() -> None:
    made = Sample(PRESETS["classic"], me=None)
    event = Suspended(made.players[1:2])
    made.board.take(event)
    said = "The match waits for Ben. Wait, or leave."
    assert ([*tell(event, made.board)], says(made).text) == ([said], said)


def test_reader_on_turn_is_addressed_as_you() -> None:
    made = sample()
    made.board.turn = None  # restarted while the others are away: the program does not ask yet
    shown = picture(made.board, Scene(), 150, 46, Theme()).text()
    (row,) = (row for row in shown.split("\n") if "choosing" in row)
    assert row.split()[-4:-1] == ["you", "are", "choosing"]


def test_claim_clears_the_match_from_the_board() -> None:
    made = sample("1x2", "2x2", "2x3")
    assert made.board.match
    assert made.board.turn is not None
    made.board.absent = made.players[1:2]
    made.board.take(Claimed("ab" * 32, made.players, made.players[1:], 700, Path("x")))
    left: tuple[object, ...] = made.board.match, made.board.turn, made.board.absent
    assert left == ("", None, ())


@pytest.mark.parametrize("rules", PRESETS)
def test_key_bar_has_at_most_eight_entries_and_ends_with_help(rules: str) -> None:
    made = sample(rules=rules) if not PRESETS[rules].motes else Sample(PRESETS[rules])
    every = ("say", "quit", "again", "rules", "players", "trust", "remove", "learn", "link", "code", "qr")
    for hosts, is_behind, typed in product((True, False), (True, False), ("", "1x2", "liar", "exact")):
        made.board.hosts = hosts
        shown = useful_keys(made.board, typed, (), every, with_odds=True, is_behind=is_behind)
        assert 0 < len(shown) <= MOST_KEYS
        assert shown[-1] == ("?", "help")
        assert len({key for key, _ in shown}) == len(shown)


def bar(made: Sample, typed: str = "", *, hosts: bool = True, words: Sequence[str] = ("say", "quit")) -> list[str]:
    made.board.hosts = hosts
    shown = useful_keys(made.board, typed, (), words, with_odds=False, is_behind=False)
    return [key for key, _ in shown]


def test_key_bar_of_a_bid_and_of_a_verdict() -> None:
    made = sample("1x2", "2x2", "2x3")
    assert bar(made, "3x3") == ["Enter", "!", "←→↑↓", "?"]
    asked = made.board.turn
    made.play("liar")
    made.open(*[(4,) * 5] * 3)
    made.board.turn = asked  # with powers, a turn continues after its verdict
    assert bar(made) == ["say", "?"]


@pytest.mark.parametrize(("dice", "follows"), [("1", "show the result"), ("2", "next round")])
def test_space_after_a_verdict_is_named_by_what_follows(dice: str, follows: str) -> None:
    made = Sample(PRESETS["classic"].with_options({"dice": dice}), ("Ada", "Ben"))
    made.roll()
    made.play("1x3", "2x3", "liar")
    made.open((3,) * int(dice), (5,) * int(dice), beats_shown=5)
    assert made.board.showdown is not None
    assert made.board.showdown.played.verdict is not None
    assert made.board.over is None
    keys = useful_keys(made.board, "", (), (), with_odds=False, is_behind=True)
    assert dict(keys)["Space"] == follows


def test_key_bar_of_the_lobby_depends_on_who_hosts() -> None:
    made = Sample(PRESETS["classic"])
    made.board.take(LobbyChanged(people(["Ada", "Ben"]), 4))
    made.board.state, made.board.match = None, ""
    words = ("start", "trust", "remove", "say", "rules", "learn", "quit")  # one more than fits
    assert bar(made, words=words)[:2] == ["Enter", "↑↓"]
    assert "remove" in bar(made, words=words)
    assert "remove" not in bar(made, hosts=False, words=words)
    assert "trust" in bar(made, hosts=False, words=words)
    made.board.match = "ab" * 32  # the match was proposed, and players are signing it
    assert "Enter" not in bar(made, words=words)


def test_key_bar_omits_words_that_the_table_does_not_have() -> None:
    shown = useful_keys(sample("1x2").board, "", (), ("quit",), with_odds=True, is_behind=False)
    assert [key for key, _ in shown] == ["%", "PgUp", "quit", "?"]


def test_window_title_says_whose_turn_it_is() -> None:
    assert title(sample().board) == "▶ Your turn - Friday"
    assert title(sample("1x2").board).endswith(" - Friday")
    assert title(sample("1x2").board).startswith("Ben is ")
    board = Board()
    assert title(board) == "p2pdice"
    board.take(TableOpened("Fri\x1bday", "x", (), True, seats=4, ruleset=PRESETS["classic"]))
    board.take(LobbyChanged(people(["Ada"]), 4))
    assert title(board) == "Fri\\x1bday: 1 of 4"


def test_sentences_omit_the_mark_of_a_bot_unless_its_name_is_ambiguous() -> None:
    two = sample("1x2", names=("Ada", "Ben (bot)"))
    assert says(two).text == "Ben is choosing."
    two.play("2x2")
    assert says(two).text == "Your turn: raise Ben's two twos, or call it."
    forged = sample("1x2", names=("Ada", "Ben (bot)", "Ben"))
    assert says(forged).text == "Ben (bot) is choosing."
    assert says(sample("1x2", names=("Ada", "You (bot)"))).text == "You (bot) is choosing.", "not the reader"


BEN_TOO = PlayerInfo("Ben", "9999-KVHF")


def test_band_warns_of_a_false_friend_until_dismissed_or_trusted() -> None:
    warning = Band("Not the Ben you know: compare keys before you play.", "waiting")
    for settles in ("nobody", "heeded", "trusted"):
        board = Board()
        players = people(("Ada", "Ben"))
        board.take(TableOpened("Friday", "x", (), True, seats=3, ruleset=PRESETS["classic"]))
        board.take(LobbyChanged(players, 3))
        board.take(Recognised(players[1], False, 0))
        board.take(Unfamiliar(players[1], (), (BEN_TOO,)))
        if settles == "heeded":
            board.heeded |= {(players[1].fingerprint, players[1].name)}
        if settles == "trusted":
            board.take(Recognised(players[1], True, 0))
        now = band(board, "", with_odds=False, is_behind=False)
        assert (now == warning) == (settles == "nobody")
        asks = band(board, "start", with_odds=False, is_behind=False)
        assert asks == warning if settles == "nobody" else asks.text.startswith("Start with two?")


def test_start_on_the_line_starts_nothing_once_the_match_is_dealt() -> None:
    made = sample("1x2")
    assert says(made, "start") == says(made)
    empty, asked = (
        useful_keys(made.board, typed, (), ("start", "quit", "say"), with_odds=True, is_behind=False)
        for typed in ("", "start")
    )
    assert asked == empty


def test_band_reports_proven_misconduct_but_never_hides_a_question() -> None:
    made = sample("1x2")
    made.board.take(Misbehaved(made.players[2], 7, "two bids in one turn"))
    assert says(made) == Band("Cleo's program broke the rules, and its own signature proves it.", "wrong")
    made.play("2x2", "3x2")
    assert says(made).text.startswith("Your turn: ")


@pytest.mark.parametrize(
    ("absent", "late", "text", "right"),
    [
        (0, (1,), "Ben calls liar on your one two.", "waiting for Ben"),
        (0, (1, 2), "Ben calls liar on your one two.", "waiting for Ben and Cleo"),
        (0, (0, 1, 2), "Ben calls liar on your one two.", "waiting for three players"),
        (0, (), "Ben calls liar on your one two.", ""),
        (1, (1,), "The match waits for Ben. Wait, or leave and resume another day.", ""),
    ],
)
def test_band_says_whose_programs_have_not_answered(absent: int, late: Sequence[int], text: str, right: str) -> None:
    made = sample("1x2", "liar")
    if absent:
        made.board.take(Suspended((made.players[absent],)))
    now = with_awaited(says(made), made.board, [made.players[seat] for seat in late])
    assert (now.text, now.right) == (text, right)


def test_empty_band_says_in_a_sentence_whose_programs_have_not_answered() -> None:
    board = Board()
    board.take(LobbyChanged(players := people(("Ada", "Ben")), 2))
    assert with_awaited(Band(), board, players[1:]).text == "Waiting for Ben."


def test_band_title_and_keys_after_a_claim() -> None:
    made = sample("1x2", names=("Ada", "Ben"))
    made.board.take(Claimed("ab" * 32, made.players, made.players[1:], 372, Path("friday.p2pdice")))
    assert says(made).text == "Claimed, not confirmed. This table is free again."
    assert title(made.board) == "Claimed - Friday"
    bar = useful_keys(made.board, "", (), ("again", "quit"), with_odds=False, is_behind=False)
    assert [key for key, _ in bar] == ["again", "quit", "?"]


def test_band_stops_asking_for_another_match_once_the_reader_waits() -> None:
    made = sample("1x2", names=("Ada", "Ben"))
    made.board.take(MatchResult("ab" * 32, ((1,), (0,)), made.players, Path("friday.p2pdice")))
    assert says(made).text == "Ben wins. Again?"
    waits = band(made.board, "", with_odds=False, is_behind=False, is_waiting=True)
    assert waits.text == "Ben wins. You wait for the next match."
    assert ("PgUp", "talk so far") in useful_keys(
        made.board, "", (), ("again", "quit"), with_odds=False, is_behind=False
    )


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_keys_after_a_match_include_again_and_quit_at_every_width(columns: int) -> None:
    made = sample("1x2", names=("Ada", "Ben"))
    made.board.take(MatchResult("ab" * 32, ((1,), (0,)), made.players, Path("friday.p2pdice")))
    words = ("say", "quit", "again", "rules", "players")
    keys = useful_keys(made.board, "", (), words, with_odds=False, is_behind=False)
    drawn = picture(made.board, Scene(keys=keys), columns, 24, Theme()).text()
    assert re.search(r"^ *again +quit ", drawn, re.MULTILINE), drawn


def test_card_of_a_player_shows_a_sealed_stake() -> None:
    made = Sample(PRESETS["motes"], ("Ada", "Ben", "Cleo"))
    made._apply(Pledges(("redeemed",) * 3))
    assert made.state.awaits is Expect.STAKES
    given = frozenset({made.players[1].fingerprint})
    rows = picture(made.board, Scene(given=given), 80, 24, Theme()).text().split("\n")
    assert sum("sealed ✓" in row for row in rows) == 1
    assert "thinking" in next(row for row in rows if "sealed ✓" in row)


@pytest.mark.parametrize("chat", [0, 1])
@pytest.mark.parametrize("moves", [("5x5",), ("5x5", "liar")])
def test_key_bar_offers_talk_to_spectators_only_if_the_table_allows_it(moves: tuple[str, ...], chat: int) -> None:
    made = Sample(PRESETS["classic"], me=None)
    watched = made.board
    players, state = watched.players, watched.begun
    watched.take(TableWatched("Friday", players[0], PRESETS["classic"], 3, talk=chat))
    watched.take(MatchStarted("ab" * 32, PRESETS["classic"], players, None, state))
    made.roll()
    made.play(*moves)
    if moves[1:]:
        made.open((1, 3, 5, 5, 6), (2, 3, 4, 4, 5), (1, 3, 5, 6, 6))
    words = ("say", "again", "quit", "players", "rules")
    bar = useful_keys(watched, "", (), words, with_odds=True, is_behind=False)
    assert (("say", "talk") in bar) == bool(chat)


def test_narrow_band_shows_the_first_sentence_whole() -> None:
    said = Band("The match waits for Ben. Wait, or leave and resume another day.")
    shown = picture(sample("1x2").board, Scene(band=said), 40, 12, Theme("none")).text()
    assert "The match waits for Ben. …" in shown.replace("...", "…")
