"""Pictures of lobbies and end cards as text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.render import escape, qr_code
from cli.table import moment
from cli.table.board import Board
from cli.table.picture import picture
from cli.table.scene import Scene, Talk
from cli.table.theme import Theme
from cli.text.rounds import RecapRow, Round, recap
from cli.text.seating import Seating
from p2pdice.rulesets import PRESETS
from p2pdice.state import Exit
from protocol.events import (
    AwaitingPlayers,
    Claimed,
    CodeTried,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    PeerLost,
    PlayerInfo,
    Recognised,
    TableJoined,
    TableOpened,
    TableWatched,
    Unfamiliar,
)
from tests.cli.table.boards import JOIN_LINE, Sample, match_of, people

PICTURES, ASCII = Theme(), Theme("none", "unknown", is_ascii=True)
CLASSIC = PRESETS["classic"]
SIZES = [(40, 12), (60, 18), (80, 24), (110, 34), (120, 40), (150, 46), (200, 50)]
ANOTHER = PlayerInfo("Ada", "9999-KVHF")


def hosted(names: tuple[str, ...] = ("Ada", "Ben", "Cleo"), seats: int = 4, rules: str = "classic") -> Board:
    board = Board()
    board.take(
        TableOpened("Friday", JOIN_LINE, (), True, seats=seats, ruleset=PRESETS[rules], code="372-volume-become")
    )
    board.take(LobbyChanged(people(names), seats))
    return board


def joined(me: int | None = 2) -> Board:
    board, players = Board(), people(("Ada", "Ben", "Cleo"), me)
    kind = TableWatched if me is None else TableJoined
    board.take(kind("Friday", players[0], CLASSIC, 4))
    board.take(LobbyChanged(players, 4))
    return board


def drawn(board: Board, size: tuple[int, int] = (80, 24), theme: Theme = PICTURES, scene: Scene = Scene()) -> str:  # noqa: B008 - immutable
    return picture(board, scene, *size, theme).text()


def row_of(name: str, shown: str) -> str:
    return next(line for line in shown.split("\n") if f" {name} " in line)


def test_lobby_of_a_host() -> None:
    board = hosted()
    board.take(Recognised(board.players[1], True, 0))
    board.take(Recognised(board.players[2], False, 0))
    assert (
        drawn(board, scene=Scene(picked=1, talk=[Talk(2, "Cleo", "found it, nice code")])).rstrip()
        == """\
 ⚄ Friday   classic   lobby                                  3 of 4 seats taken
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
           Tell your friends to type:  p2pdice join 372-volume-become

     ▀▀▄ ▀▀█ ▀▀▄    █ █ ▄▀▄ █   █ █ █▄ ▄█ █▀▀    █▀▄ █▀▀ ▄▀▀ ▄▀▄ █▄ ▄█ █▀▀
      ▀▄  █  ▄▀  ▀▀ █ █ █ █ █   █ █ █ ▀ █ █▀  ▀▀ █▀▄ █▀  █   █ █ █ ▀ █ █▀
     ▀▀   ▀  ▀▀▀     ▀   ▀  ▀▀▀ ▀▀▀ ▀   ▀ ▀▀▀    ▀▀  ▀▀▀  ▀▀  ▀  ▀   ▀ ▀▀▀
     Not found?  link  shows a long line that always works,  qr  a picture
▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
   ● Ada (you)       this laptop                                     0ZYM-KVHF

▸  ▲ Ben             ✓ trusted                                       1ZYM-KVHF

   ■ Cleo            · new to you                                    2ZYM-KVHF

  ┄ free seat ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄

 Classic rules: ones are wild, last with dice wins.   rules  shows the page
── talk ────────────────────────────────────────────────────────────────────────
 Cleo: found it, nice code"""
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", [PICTURES, ASCII])
def test_lobby_shows_the_code_at_every_size(size: tuple[int, int], theme: Theme) -> None:
    shown = drawn(hosted(), size, theme)
    drawn_large = "▄▀▄" in shown
    assert drawn_large or "372-volume-become" in shown or "3 7 2 - v o l u m e - b e c o m e" in shown
    assert "p2pdice join" in shown
    assert "free seat" in shown


def test_lobby_shows_the_long_line_once_the_code_is_closed() -> None:
    board = hosted()
    board.take(CodeTried(0))
    for size in SIZES:
        line = f"p2pdice join {JOIN_LINE}"
        rows = [row.strip() for row in drawn(board, size).split("\n")]
        assert (line if size[0] >= len(line) else "link  shows the line for your friends.") in rows, size


@pytest.mark.parametrize(
    ("told", "badge"),
    [
        (lambda ben: [], ""),
        (lambda ben: [Recognised(ben, False, 0)], "· new to you"),
        (lambda ben: [Recognised(ben, False, 1)], "○ met once"),
        (lambda ben: [Recognised(ben, False, 3)], "○ met three times"),
        (lambda ben: [Recognised(ben, False, 12)], "○ met 12 times"),
        (lambda ben: [Recognised(ben, True, 12)], "✓ trusted"),
        (lambda ben: [Recognised(ben, False, 0), Recognised(ben, True, 0)], "✓ trusted"),
        (lambda ben: [Recognised(ben, False, 0), Unfamiliar(ben, (), (ANOTHER,))], "! not the Ben you know"),
        (lambda ben: [Unfamiliar(ben, (), (ANOTHER,), ("9999-KVHF",))], "! not the Ben you trust"),
        (lambda ben: [Recognised(ben, True, 2), Unfamiliar(ben, ("Benny",), ())], "✓ trusted"),
        (lambda ben: [Recognised(ben, True, 2), PeerLost(ben)], "! not answering"),
    ],
)
def test_badge_shows_how_well_a_player_is_known(told, badge: str) -> None:  # type: ignore[no-untyped-def]
    board = hosted()
    for event in told(board.players[1]):
        board.take(event)
    assert row_of("Ben", drawn(board))[21:].rpartition("1ZYM")[0].strip() == badge


@pytest.mark.parametrize("size", SIZES)
def test_impostor_is_marked_with_advice_to_compare_keys(size: tuple[int, int]) -> None:
    board = joined()
    board.take(Recognised(board.players[0], False, 0))
    board.take(Unfamiliar(board.players[0], (), (ANOTHER,), (ANOTHER.fingerprint,)))
    shown = drawn(board, size)
    assert "! not the Ada" in shown
    assert "ompare keys" in shown


def test_known_key_with_a_new_name_is_explained() -> None:
    board = hosted()
    board.take(Unfamiliar(board.players[1], ("Benny\x1b[2J",), ()))
    assert "used to be called Benny\\x1b[2J (same key)" in drawn(board)


@pytest.mark.parametrize(
    ("me", "told"), [(2, "You are in. Waiting for one more"), (None, "You are watching. Waiting for one more")]
)
def test_lobby_says_what_a_guest_or_spectator_waits_for(me: int | None, told: str) -> None:
    for size in SIZES:
        shown = drawn(joined(me), size)
        assert told in shown
        assert "372" not in shown
        assert shown.count("ones are wild") <= 1
        assert "classic: ones" not in shown, "a sentence begins with a capital letter"


def test_lobby_names_the_absent_players_of_a_proposed_match() -> None:
    board, players = Board(), people(("Ada", "Ben", "Cleo"))
    board.take(AwaitingPlayers("ab" * 32, "Friday", players, players[1:]))
    assert "The match waits for Ben and Cleo." in drawn(board)


def test_lobby_shows_pledge_and_purse_only_if_the_rules_use_them() -> None:
    board = hosted(rules="motes")
    board.pledge, board.purse = "redeemed", "1,000 coins"
    assert "pledged to Redeemed, 1,000 coins" in drawn(board)
    board = hosted()
    board.pledge, board.purse = "redeemed", "1,000 coins"
    assert "Redeemed" not in drawn(board)
    assert "1,000" not in drawn(board)


def test_qr_code_is_drawn_if_it_fits() -> None:
    board = hosted()
    board.qr = "dark"
    code = qr_code(JOIN_LINE, "dark")
    rows = drawn(board, (120, 46)).split("\n")
    at = next(place for place, row in enumerate(rows) if code[0].rstrip() in row)
    x = rows[at].index(code[0])
    assert [row[x : x + len(code[0])].ljust(len(code[0])) for row in rows[at : at + len(code)]] == code
    assert code[1] not in drawn(board, (80, 24))


@settings(max_examples=40)
@given(
    names=st.lists(st.text("Ab 五é\x1b‮", min_size=1, max_size=20), min_size=2, max_size=10, unique=True),
    free=st.integers(0, 8),
    me=st.integers(0, 1),
    columns=st.integers(40, 200),
    rows=st.integers(12, 50),
    theme=st.sampled_from([PICTURES, ASCII]),
    rules=st.sampled_from(sorted(PRESETS)),
)
def test_every_lobby_fits_its_window(
    names: list[str], free: int, me: int, columns: int, rows: int, theme: Theme, rules: str
) -> None:
    board, players = Board(), people(names, me)
    seats = min(len(names) + free, 10)
    if me:
        board.take(TableJoined(names[0], players[0], PRESETS[rules], seats))
    else:
        board.take(TableOpened(names[0], JOIN_LINE, (), True, seats=seats, ruleset=PRESETS[rules], code="1-a-b"))
    board.take(LobbyChanged(players, seats))
    board.take(Unfamiliar(players[1 - me], (names[0],), players))
    shown = drawn(board, (columns, rows), theme, Scene(picked=0, talk=[Talk(1, escape(names[1]), "hello")]))
    assert all(get_cwidth(row) <= columns for row in shown.split("\n"))
    assert len(shown.split("\n")) == rows
    assert not {"\x1b", "‮"} & set(shown)


@pytest.mark.parametrize("columns", range(1, 12))
def test_lobby_fits_very_narrow_windows(columns: int) -> None:
    board = hosted()
    board.code = ""  # the long line is drawn in its place, in several rows
    assert all(get_cwidth(row) <= columns for row in drawn(board, (columns, 30)).split("\n"))


# After the match


def test_recap_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[tuple[RecapRow, ...]]()

    def make(rounds: tuple[Round, ...], seating: Seating) -> tuple[RecapRow, ...]:
        made.append(recap(rounds, seating))
        return made[-1]

    monkeypatch.setattr("cli.table.board.recap", make)
    board = finished()
    shown = {drawn(board) for _ in range(3)} | {drawn(board.copy())}
    assert len(shown) == len(made) == 1
    assert "Worst call" in shown.pop()
    board.seating = Seating()
    drawn(board)
    assert len(made) == 1  # without names there is no recap to make


def finished(rules: str = "classic", names: tuple[str, ...] = ("Ada", "Ben", "Cleo", "Dan"), seed: int = 1) -> Board:
    *_, board = match_of(PRESETS[rules], names, 0, Random(seed))
    return board


def test_end_card() -> None:
    sample = Sample(CLASSIC.with_options({"dice": "1"}), ("Ada", "Ben"))
    sample.roll()
    sample.play("1x3", "2x3", "liar")
    sample.open((3,), (5,))
    places, players = sample.state.places, sample.board.players
    sample.board.take(MatchResult("ab" * 32, places, players, Path("/tmp/friday.msgpack"), confirmed=True))
    shown = drawn(sample.board, scene=Scene(score="Ada 2, Ben 0")).rstrip().split("\n")
    assert shown[:11] == [
        " ⚄ Friday   house rules   match over",
        "▄" * 80,
        "                        ▄▀▄ █▀▄ ▄▀▄   █   █ ▀█▀ █▄ █ ▄▀▀",
        "                        █▀█ █ █ █▀█   █▄▀▄█  █  █ ▀█  ▀▄",
        "                        ▀ ▀ ▀▀  ▀ ▀   ▀   ▀ ▀▀▀ ▀  ▀ ▀▀",
        "",
        "                         ● Ada (you)",
        "                                              ▲ Ben",
        "",
        "                              1                 2",
        "▀" * 80,
    ]
    assert shown[12] == " The evening    Ada 2, Ben 0.  One round."
    assert shown[-1].endswith("/tmp/friday.msgpack")
    shown = drawn(sample.board).rstrip().split("\n")
    assert shown[12] == " The match      One round.", "an evening has more than one match"


@pytest.mark.parametrize("size", SIZES)
def test_end_card_shows_the_winner_and_the_transcript(size: tuple[int, int]) -> None:
    board = finished()
    shown = drawn(board, size, ASCII)
    assert board.over is not None
    assert f"{board.seating.names[board.over.places[0][0]]} wins" in shown
    assert "friday.msgpack" in shown
    if size[1] >= 18:
        for title in ("Best bluff", "Worst call", "Luckiest roll"):
            assert title in shown


def test_long_path_hides_neither_places_nor_score() -> None:
    board = finished()
    assert board.over is not None
    folder = Path("/home/somebody/.local/share/p2pdice/matches")
    board.over = replace(board.over, transcript=folder / "2026-11-27-house-rules-1345d8ef.p2pdice")
    shown = drawn(board, (40, 12), scene=Scene(score="Ada 2, Ben 1, Cleo 0 and Dan 0"))
    assert all(f"{place}. " in shown for place in (2, 3, 4))
    assert "Ada 2, Ben 1, Cleo 0 and Dan 0." in shown
    assert "2026-11-27-house-rules" in shown
    assert "/home/somebody" in drawn(board, (80, 24))


@pytest.mark.parametrize("guest", [False, True])
def test_player_who_sits_down_again_is_not_marked_as_away(guest: bool) -> None:
    """The links of a match go down after its end, when its players turn to the next table."""
    board = finished(names=("Ada", "Ben", "Cleo"))
    ada, ben, cleo = board.players
    for player in (ben, cleo):
        board.take(PeerLost(player, left_on_purpose=True))
    if guest:
        board.take(TableJoined("Friday", ben, CLASSIC, 3))
    else:
        board.take(TableOpened("Friday", JOIN_LINE, (), True, seats=3, ruleset=CLASSIC))
    board.take(LobbyChanged((ada, ben), 3))
    assert "not answering" not in drawn(board)
    assert board.away == board.gone == {cleo.fingerprint}


def test_end_card_says_whose_bot_won() -> None:
    """Without the mark, the bot's name could be taken for a friend's."""
    names = ("Ada", "Cleo (Ada's bot)", "Ben (bot)")
    board = finished(names=names)
    assert board.over is not None
    board.over = replace(board.over, places=((1,), (2,), (0,)))
    shown = drawn(board, (120, 40))
    assert "Cleo (Ada's bot) wins" in shown
    assert re.search(r"Ben +", shown)
    assert "Ben (bot)" not in shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_names_are_not_cut_if_there_is_room(size: tuple[int, int]) -> None:
    names = ("Ada", "Ben (Ada's bot)", "Cleo (Ada's bot)")
    shown = drawn(hosted(names), size)
    board = finished(names=names)
    for name in names:
        assert name in shown
        assert f" {name}" in drawn(board, size)
    assert "▲ Ben (Ada's bot)" in drawn(finished(names=(*names[:2], "Cleo", "Dan")), size)


@pytest.mark.parametrize("size", SIZES)
def test_end_card_marks_the_reader_even_in_last_place(size: tuple[int, int]) -> None:
    board = finished(names=("Ada", "Ben", "Cleo", "Dan", "Eve"))
    assert board.over is not None
    board.over = replace(board.over, places=((1,), (2,), (3,), (4,), (0,)))
    assert "5. Ada (you)" in " ".join(drawn(board, size).split())


def test_title_names_rules_with_stakes() -> None:
    staked = hosted()
    staked.ruleset = CLASSIC.with_options({"stakes": "yes"})
    assert "Friday   classic with stakes   lobby" in drawn(staked)
    staked.ruleset = CLASSIC.with_options({"stakes": "yes", "dice": "2"})
    assert "Friday   house rules   lobby" in drawn(staked)


def test_end_card_lists_all_ten_players() -> None:
    names = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ines", "Jo")
    shown = drawn(finished(names=names))
    for name in names:
        assert name in shown


def test_end_card_shows_coins_and_the_twin_soul() -> None:
    board = finished("motes")
    shown = drawn(board, (120, 40))
    assert board.begun.motes is not None
    assert board.begun.motes.soul is not None
    assert board.begun.motes.soul.name in shown
    assert "coins" in shown


def test_recap_of_long_names_fits_very_narrow_windows() -> None:
    board = finished(names=("Cleo", "\x1b" * 20, "\x1b五" * 10))
    for columns in (20, 24, 30):
        assert all(get_cwidth(row) <= columns for row in drawn(board, (columns, 30)).split("\n"))


@settings(max_examples=15)
@given(
    rules=st.sampled_from(sorted(PRESETS)),
    names=st.lists(st.text("Ab 五é", min_size=1, max_size=20), min_size=2, max_size=10, unique=True),
    seed=st.integers(0, 100),
    columns=st.integers(40, 200),
    rows=st.integers(12, 50),
)
def test_every_end_card_fits_its_window(rules: str, names: list[str], seed: int, columns: int, rows: int) -> None:
    shown = drawn(
        finished(rules, tuple(names), seed), (columns, rows), scene=Scene(score="A 1", talk=[Talk(0, "A", "x")])
    )
    assert all(get_cwidth(row) <= columns for row in shown.split("\n"))
    assert "friday.msgpack" in shown


FIRST = "First game? Type rules to read them, or learn to play a 60-second round."


@pytest.mark.parametrize("is_host", [True, False])
def test_lobby_offers_the_lesson_until_the_first_match(*, is_host: bool) -> None:
    board = hosted() if is_host else joined()
    assert "First game?" not in drawn(board)
    board.is_new_home = True
    assert FIRST in drawn(board)
    assert "learn plays a 60-second round" in drawn(board, (120, 40))
    sample = Sample(CLASSIC)
    sample.board.is_new_home = True
    sample.board.take(MatchStarted("ab" * 32, CLASSIC, sample.players, 0, sample.state))
    assert not sample.board.is_new_home


@pytest.mark.parametrize("size", SIZES)
def test_claimed_match_is_explained_at_every_size(size: tuple[int, int]) -> None:
    sample = Sample(CLASSIC, ("Ada", "Ben"))
    board, (_, ben) = sample.board, sample.players
    sample.roll()
    board.take(Claimed("ab" * 32, sample.players, (ben,), 372, Path("friday.p2pdice")))
    board.take_back_line = "p2pdice resume abababab"
    claim = board.claimed
    assert claim is not None
    shown = drawn(board, size, scene=Scene(talk=[*moment.talk(claim, board, [*moment.tell(claim, board)])]))
    assert "Transcript: friday.p2pdice" in shown
    assert "p2pdice resume abababab" in shown
    assert "claimed" in shown.split("\n")[0]
    assert "claimed, not confirmed" in " ".join(shown.split())
    assert "Tell your friends" not in shown, "that table is closed"
    assert board.state is None, "the table is free"


def test_end_card_shows_the_duration_and_why_players_left_early() -> None:
    board = finished()
    state, over = board.begun, board.over
    assert over is not None
    gone = [seat for seat in range(len(over.players)) if seat not in over.places[0]]
    board.state = state._replace(exits=(Exit((gone[0],), "conceded"), Exit((gone[1],), "evicted")))
    card = drawn(board, (120, 40), scene=Scene(minutes=12))
    names = board.seating.names
    assert f"Out early      {names[gone[0]]} conceded and {names[gone[1]]} ran out of time." in card
    assert "rounds, 12 minutes." in card
    board.cheats = frozenset({board.players[gone[1]].fingerprint})
    assert f"{names[gone[1]]} broke the rules." in drawn(board, (120, 40))
    assert "minute" not in drawn(board, (120, 40))


@pytest.mark.parametrize("size", SIZES[2:])
def test_talk_in_the_lobby_has_one_heading(size: tuple[int, int]) -> None:
    shown = drawn(hosted(), size, scene=Scene(talk=[Talk(2, "Cleo", "found it")]))
    assert shown.count("── talk") == 1
    assert "Cleo: found it" in shown


@pytest.mark.parametrize("size", [(40, 12), (60, 18), (80, 24), (120, 40)])
def test_end_card_shows_the_newest_talk(size: tuple[int, int]) -> None:
    said = [Talk(None, "", "Ada, the host, left. Type again host to open a table.")]
    assert "Ada, the host, left. Type" in " ".join(drawn(finished(), size, scene=Scene(talk=said)).split())


def test_end_card_shows_the_newest_talk_above_the_keys() -> None:
    text = "Round 17: you called Dan's one six, there was one; you lost a die and are out for good now."
    scene = Scene(talk=[Talk(None, "", text)], keys=[("again", "")], score="Ada 2, Ben 0, Cleo 0, Dan 0")
    shown = " ".join(drawn(finished(), scene=scene).split())
    assert text in shown
    assert shown.index(text) < shown.index("again")


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
def test_end_card_does_not_cut_a_long_score(size: tuple[int, int]) -> None:
    score = ", ".join(f"{name} (bot) 1" for name in ("Ada", "Ben", "Cleo", "Dan", "Eve"))
    shown = drawn(finished("classic", ("Ada", "Ben"), 1), size, scene=Scene(score=score, minutes=12))
    assert "Eve (bot) 1." in " ".join(shown.split())
    assert "12 minutes." in " ".join(shown.split())
