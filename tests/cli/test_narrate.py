"""Every event is told in sentences that address the reader, and text from a peer cannot add lines."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.table.board import Board
from cli.table.moment import tell
from cli.text.narrate import OF_BOTS, VERDICT, event_line, event_name, narrate
from cli.text.seating import Seating, display_names
from p2pdice import events
from p2pdice.powers import POWERS
from p2pdice.rulesets import PRESETS
from protocol import events as node
from tests.cli.samples import FINGERPRINT, GAME, bidding, node_events

ME = Seating(("Ada", "Ben", "Cleo"), 0)
OTHER = Seating(("Ada", "Ben", "Cleo"), 1)
NOBODY = Seating(("Ada", "Ben", "Cleo"))


def told(event: events.Event, seating: Seating) -> str:
    return narrate(node.Happened(event, bidding()), seating)


def test_the_samples_contain_every_type_of_event() -> None:
    assert {type(event) for event in node_events()} == set(get_args(node.NodeEvent))
    of_powers = {type(event) for power in POWERS.values() for event in power.events}
    assert {type(event) for event in GAME} == {*get_args(events.Event), *of_powers} - {events.PowerEvent}


@pytest.mark.parametrize("seating", [ME, OTHER, NOBODY])
def test_every_event_is_told_in_whole_sentences(seating: Seating) -> None:
    for event in node_events():
        text = narrate(event, seating)
        first = text.split("\n")[0]
        assert first[0].isupper()
        may_go_on = isinstance(event, node.Said) or "transcript" in first or "The proof is" in first
        assert may_go_on or first.rstrip()[-1] in ".:?"
        assert "you is" not in text.lower()
        assert not re.search(r"\bNone\b", text)


@given(
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=30),
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=60),
)
def test_a_peers_text_stays_inside_its_sentence(name: str, reason: str) -> None:
    plain = [narrate(event, ME).count("\n") for event in node_events()]
    for event, lines in zip(node_events(name, reason), plain, strict=True):
        seating = Seating.of(event.players, 0) if isinstance(event, node.MatchStarted) else ME
        text = narrate(event, seating)
        assert text.count("\n") == lines
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("event", "mine", "theirs"),
    [
        (GAME[1], "You bid two threes.", "Ada bids two threes."),
        (GAME[2], "Ben calls liar on your two threes.", "You call liar on Ada's two threes."),
        (
            GAME[6],
            "True: you were right; Ben and Cleo were wrong.",
            "True: Ada was right; you and Cleo were wrong.",
        ),
        # An exact call is judged for the caller alone: the bidder is not called wrong.
        (
            events.Judged(1, "exact", 0, bid_true=True, call_right=True, right=(1,), wrong=(0,)),
            "Exact: Ben was right.",
            "Exact: you were right.",
        ),
        (
            events.Judged(1, "exact", 0, bid_true=False, call_right=False, right=(0,), wrong=(1,)),
            "Not exact: Ben was wrong.",
            "Not exact: you were wrong.",
        ),
        (GAME[9], "Ben loses a die: three left.", "You lose a die: three left."),
        (GAME[11], "Ben is out.", "You are out."),
        (
            GAME[17],
            "Ben wins. Then you and Cleo.",
            "You win. Then Ada and Cleo.",
        ),
        (
            GAME[18],
            "You and Cleo win. Then Ben.",
            "Ada and Cleo win. Then you.",
        ),
    ],
    ids=lambda value: value.type if not isinstance(value, str) else "",
)
def test_sentences_speak_to_the_reader(event: events.Event, mine: str, theirs: str) -> None:
    assert (told(event, ME), told(event, OTHER)) == (mine, theirs)


@pytest.mark.parametrize(
    ("eviction", "mine", "theirs"),
    [
        (
            node.Eviction(41, True, (0, 2)),
            "Ben ran out of time and is out (signed by you and Cleo).",
            "You ran out of time and are out (signed by Ada and Cleo).",
        ),
        (
            node.Eviction(41, False, (2,)),
            "Ben ran out of time and is out (signed by Cleo).",
            "You ran out of time and are out (signed by Cleo).",
        ),
        (
            node.Eviction(38, True, (0, 2), "signed two messages for one slot"),
            "Ben is out for breaking the rules: signed two messages for one slot.",
            "You are out for breaking the rules: signed two messages for one slot.",
        ),
    ],
)
def test_a_player_who_is_put_out_is_told_why(eviction: node.Eviction, mine: str, theirs: str) -> None:
    out = node.Happened(events.PlayerOut(1, "evicted"), bidding(), eviction)
    assert (narrate(out, ME), narrate(out, OTHER)) == (mine, theirs)


def test_a_shared_place_is_called_so() -> None:
    assert told(events.MatchOver(((1,), (0, 2)), (1,)), ME) == "Ben wins. You and Cleo share second place."
    assert told(events.MatchOver(((0,), (1,)), (0,)), ME) == "You win. Then Ben."
    five = Seating(("Ada", "Ben", "Cleo", "Dan", "Eve"))
    mixed = events.MatchOver(((4,), (0,), (1, 2), (3,)), (4,))
    assert told(mixed, five) == "Eve wins. Then Ada. Ben and Cleo share third place. Then Dan."


WHERE = ("Friday", f"192.0.2.1:7000/{FINGERPRINT}", ("192.0.2.1:7000",))


@pytest.mark.parametrize(
    ("event", "opening", "ending"),
    [
        (
            node.TableOpened(*WHERE, True, seats=2, ruleset=PRESETS["classic"]),
            "Tell your friends. They type:\n",
            "\nOn most networks p2pdice join alone finds it too.",
        ),
        (
            node.TableOpened(*WHERE, False, "the table is private", seats=2, ruleset=PRESETS["classic"]),
            "Tell your friends. They type:\n",
            "\np2pdice join alone does not find it: the table is private.",
        ),
        (
            node.TableOpened(*WHERE, True, is_reachable=False, seats=2, ruleset=PRESETS["classic"]),
            'The table "Friday" is open to this laptop only: it has no address on a network. '
            "In another terminal, with another folder DIR as its home, type:\n",
            " --home DIR",
        ),
    ],
    ids=["advertised", "private", "no network"],
)
def test_an_open_table_shows_its_join_line_in_every_case(event: node.TableOpened, opening: str, ending: str) -> None:
    """The host cannot know whether others receive the advertisement, so the join line is always shown."""
    assert narrate(event, ME) == f"{opening}    p2pdice join {event.join_line}{ending}"


def test_the_short_code_is_shown_before_the_long_line() -> None:
    event = node.TableOpened(*WHERE, True, code="417-tiger-olive", seats=2, ruleset=PRESETS["classic"])
    lines = narrate(event, ME).splitlines()
    assert [line for line in lines if line.startswith("    ")] == [
        "    p2pdice join 417-tiger-olive",
        f"    p2pdice join {event.join_line}",
    ]


@pytest.mark.parametrize(
    ("left", "said"), [(2, "Two more wrong tries close it."), (1, "One more wrong try closes it.")]
)
def test_the_host_is_told_how_many_tries_a_code_has_left(left: int, said: str) -> None:
    assert said in narrate(node.CodeTried(left), ME)


def test_the_message_about_a_closed_code_says_how_to_get_a_new_one() -> None:
    board = Board()
    board.take(node.TableOpened(*WHERE, True, code="417-tiger-olive", seats=2, ruleset=PRESETS["classic"]))
    board.take(closed := node.CodeTried(0))
    (text,) = tell(closed, board)
    assert "Type code for a new one." in text
    assert text.endswith(f"\n    p2pdice join {WHERE[1]}")
    assert board.code == ""
    board.take(node.CodeMade("4-dice-lucky"))
    assert board.code == "4-dice-lucky"


def test_a_showdown_has_a_line_for_each_cup() -> None:
    assert told(GAME[5], ME).splitlines() == [
        "You: 1, 3, 3. Three count.",
        "Ben's cup stayed down.",
        "Three threes, and four dice unseen.",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ada", "ADA"), ("Ada", "Аda"), ("Bill", "Bi11"), ("Ора", "Opa"), ("Ben", "B e n"), ("Zoë", "Zoe")],
)
def test_names_that_look_alike_are_told_apart_by_the_key(one: str, other: str) -> None:
    names = display_names([node.PlayerInfo(one, "AAAA-BBBB"), node.PlayerInfo(other, "CCCC-DDDD")])
    assert names == (f"{one} [AAAA]", f"{other} [CCCC]")


def test_different_names_have_no_key_unless_the_name_is_you() -> None:
    names = [node.PlayerInfo(name, FINGERPRINT) for name in ("Ada", "Ben", "You")]
    assert display_names(names) == ("Ada", "Ben", "You [QZYM]")


def test_without_a_board_the_result_is_signed_by_those_who_stayed() -> None:
    """Regression test: after a concession, the sentence said that everybody had signed."""
    over = next(each for each in node_events() if isinstance(each, node.MatchResult))
    assert narrate(replace(over, confirmed=True), ME).startswith("Everybody who stayed signed the result.")


def test_the_message_about_a_claim_says_how_to_return() -> None:
    me, peer = node.PlayerInfo("Ada", FINGERPRINT, is_me=True), node.PlayerInfo("Ben", FINGERPRINT)
    claimed = node.Claimed("ab" * 32, (me, peer), (peer,), 90, Path("claimed.p2pdice"))
    assert "\n    p2pdice resume abababab\n" in narrate(claimed, ME)


def test_events_keep_the_names_that_programs_rely_on() -> None:
    assert " ".join(event_name(event) for event in get_args(node.NodeEvent)) == (
        "TableOpened CodeMade CodeTried TableMoved TableJoined TableWatched LobbyChanged SeatAsked SeatPending"
        " Watching TableClosed AwaitingHost"
        " SeatWanted Recognised Unfamiliar AwaitingPlayers MatchFormed MatchStarted DiceRolled CupsSeen Happened"
        " YourTurn"
        " ConcedeAccepted PeerLost PeerBack Suspended Overdue TakenBack Continued Misbehaved MatchOver Claimed Said"
        " Stopped Diverged Notice"
    )
    assert (*OF_BOTS, VERDICT) == ("BotFailed", "BotFault", "BotDone", "Verdict")


A_PLAYER = {"name", "fingerprint", "is_me"}
FIELDS = {
    "TableOpened": "addresses advertised code is_reachable join_line name odds problem rules_name ruleset seats talk",
    "CodeMade": "code",
    "CodeTried": "tries_left",
    "TableMoved": "join_line name",
    "TableJoined": "host:player name odds rules_name ruleset seats talk",
    "TableWatched": "host:player name odds rules_name ruleset seats talk",
    "LobbyChanged": "joined:player left:player players:player seats",
    "SeatAsked": "came_by namesake player:player",
    "SeatPending": "",
    "Watching": "names",
    "TableClosed": "code reason",
    "AwaitingHost": "host:player host_is seconds",
    "SeatWanted": "player:player watched",
    "Recognised": "is_trusted matches player:player",
    "Unfamiliar": "known_as namesakes:player player:player trusted",
    "AwaitingPlayers": "awaited:player match_id players:player table",
    "MatchFormed": "match_id",
    "MatchStarted": "match_id my_seat players:player resumed rules_name ruleset table",
    "DiceRolled": "hand",
    "CupsSeen": "hands",
    "Happened": "event eviction.misconduct eviction.step eviction.voters eviction.was_on_turn",
    "YourTurn": "token",
    "ConcedeAccepted": "awaited:player next_round",
    "PeerLost": "left_on_purpose player:player",
    "PeerBack": "player:player",
    "Suspended": "awaited:player",
    "Continued": "",
    "Overdue": "awaited:player seconds",
    "TakenBack": "",
    "Misbehaved": "player:player proof reason step",
    "MatchOver": "confirmed match_id places players:player transcript",
    "Claimed": "away:player match_id players:player since_seconds transcript",
    "Said": "player:player text",
    "Stopped": "reason",
    "Diverged": "step",
    "Notice": "text",
}
"""The fields of each event besides type and sentence. Programs rely on them."""


def paths(value: object, above: str) -> set[str]:
    """Return the paths of all values in a field, but not those inside events of the game and rules."""
    if value is None:  # another sample has a value
        return set()
    if isinstance(value, list):
        return set().union(*(paths(each, above) for each in value))
    if not isinstance(value, dict) or above in ("event", "ruleset"):
        return {above}
    if value.keys() == A_PLAYER:
        return {f"{above}:player"}
    return set().union(*(paths(each, f"{above}.{key}") for key, each in value.items()))


@pytest.mark.parametrize("name", FIELDS)
def test_events_keep_the_fields_that_programs_rely_on(name: str) -> None:
    samples = [json.loads(event_line(event, NOBODY)) for event in node_events() if event_name(type(event)) == name]
    found = {path for sample in samples for key, value in sample.items() for path in paths(value, key)}
    assert " ".join(sorted(found - {"type", "sentence"})) == FIELDS[name]


def test_a_stream_has_one_ascii_line_per_event() -> None:
    for event in node_events("Ben\u202e", "\x1b[2J"):
        line = event_line(event, NOBODY)
        assert line.isascii()
        assert line.isprintable()
        data = json.loads(line)
        assert (data["type"], data["sentence"]) == (event_name(type(event)), narrate(event, NOBODY))
        assert not {"state", "view"} & set(data)
