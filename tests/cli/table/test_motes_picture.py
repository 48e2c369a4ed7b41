"""Pictures of dice with powers, of stakes, and of the strips of replays and spectators, as text."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.table import showdown
from cli.table.board import Board
from cli.table.canvas import Area, Canvas
from cli.table.felt import is_staking
from cli.table.hand import draw_chooser
from cli.table.picture import picture
from cli.table.scene import ReplayStrip, Scene, WatchStrip
from cli.table.theme import Theme
from cli.text.move_forms import is_stake, offers
from cli.text.narrate_game import window
from p2pdice.motes import Die
from p2pdice.moves import Bid, Stake
from p2pdice.powers import Block, Immunity
from p2pdice.rulesets import PRESETS
from p2pdice.state import Buried, StackedEffect
from p2pdice.views import view
from protocol.events import CupsSeen, YourTurn
from tests.cli.table.boards import Sample, match_of

PICTURES, ASCII = Theme(), Theme("none", "unknown", is_ascii=True)
SIZES = [(40, 12), (60, 18), (80, 24), (110, 34), (120, 40), (150, 46), (200, 50)]
NAMES = ("Ada", "Ben", "Cleo", "Dan")
LOST = ReplayStrip(4, (1, 3, 2, None, 1, 3, 3, 2, 1, 1, 2, 2), 6, 11, "all dice")


def drawn(board: Board, size: tuple[int, int] = (80, 24), theme: Theme = PICTURES, scene: Scene = Scene()) -> str:  # noqa: B008 - immutable
    return picture(board, scene, *size, theme).text()


def at_night() -> Board:
    """Return a table at night: Cleo plays Dark on the reader's Light, and the reader may answer."""
    for board in match_of(PRESETS["motes"], NAMES, 0, Random(5)):
        state = board.state
        if state is None or state.motes is None or state.phase != "bidding" or board.turn is None:
            continue
        light, blue = Die("light", 0), Die("blue", 0)
        motes = state.motes._replace(
            prize="neutral",
            graveyard=(Buried(light, 0), Buried(blue, 0), Buried(Die("dark", 1), 1), Buried(Die("red", 3), 2)),
            stack=(StackedEffect(Die("dark", 2), 2, light),),
            actor=2,
            lasting=(Immunity(2, 2), Block(1, 3, "cursed")),
        )
        board.state = state._replace(phase="night", turn=0, bids=(), motes=motes, live=(0, 1, 2, 3))
        board.turn = YourTurn(view(board.state, 0), 1)
        return board
    raise AssertionError("no bidding")


def test_smallest_window_can_scroll_to_every_move() -> None:
    """The list also shows how many moves follow below."""
    lists = set()
    for board in match_of(PRESETS["motes"], NAMES, 0, Random(7)):
        if board.turn is None or is_stake(board.turn.view) or Bid in map(type, board.turn.view.legal):
            continue
        moves = tuple(offers(board.turn.view, board.seating.names))
        for picked in range(len(moves)):
            shown = drawn(board, (40, 12), scene=Scene(moves=moves, picked=picked))
            assert f"▸ {picked + 1}  " in shown
            left = len(moves) - picked - 1
            assert (f"{left} more ↓" in shown) == (left > 0)
            assert board.begun.phase in shown.split("\n")[0] or board.begun.phase == "siding"
        lists.add(board.begun.phase)
    assert {"discard", "night"} <= lists


def test_night_at_80_columns() -> None:
    shown = drawn(at_night()).split("\n")
    assert shown[6].strip() == "○ sunset ─ ● night ─ ○ bidding ─ ○ sunrise"
    assert shown[8] == "   ON THE STACK                             GRAVEYARD  who lost which dice"
    assert shown[9].startswith("   ■ Cleo plays Dark to destroy your Light")
    graveyard = " ".join(row[44:] for row in shown[9:11])
    for needed in ("● you Light, Blue (yours to play)", "▲ Ben Dark", "■ Cleo Dan's Red"):
        assert needed in graveyard


def test_ascii_marks_the_current_window_with_brackets() -> None:
    assert "sunset - [night] - bidding - sunrise" in drawn(at_night(), theme=ASCII)


def test_dice_of_the_showdown_are_not_shown_at_sunrise() -> None:
    """The turn continues at sunrise, but the dice of the showdown no longer exist."""
    boards = match_of(PRESETS["motes"], NAMES, 0, Random(3))
    board = next(
        each
        for each in boards
        if each.state is not None
        and window(each.state) == "sunrise"
        and each.state.dice[0]
        and each.showdown is not None
    )
    assert board.begun.motes is not None
    rows = drawn(board).split("\n")
    assert rows[14].split()[: board.begun.dice[0]] == ["?"] * board.begun.dice[0]
    assert rows[16].split()[: board.begun.dice[0]] == [die.mote.capitalize() for die in board.begun.motes.cups[0]]


@pytest.mark.parametrize("size", [(80, 24), (110, 34), (120, 40), (150, 46)])
def test_pledge_and_stake_leave_room_for_the_names_of_bots(size: tuple[int, int]) -> None:
    names = ("Ada", "Ben (Ada's bot)", "Cleo (bot)", "Dan")
    board = next(each for each in match_of(PRESETS["motes"], names, 0, Random(1)) if each.state and each.state.wagers)
    shown = drawn(board, size)
    for needed in ("▲ Ben", "■ Cleo", "◆ Dan"):
        assert needed in shown
    assert re.search(r"■ Cleo.* [0-9,]+c", shown)


def test_wide_graveyard_has_a_row_for_each_player() -> None:
    shown = drawn(at_night(), (120, 40))
    for row in (r"● you  +Light, Blue \(yours to play\)", r"▲ Ben  +Dark", r"■ Cleo +Dan's Red"):
        assert re.search(row, shown)
    assert "Players may play the dice that they lost." in shown


@pytest.mark.parametrize("size", SIZES)
def test_stack_is_shown_at_every_size(size: tuple[int, int]) -> None:
    told = " ".join(drawn(at_night(), size).replace("│", " ").split())
    assert "Cleo plays Dark to destroy" in told
    assert "your Light" in told


def test_graveyard_is_below_the_bid_during_bidding() -> None:
    board = at_night()
    assert board.begun.motes is not None
    motes = board.begun.motes._replace(stack=())
    board.state = board.begun._replace(phase="bidding", motes=motes)
    board.turn = None
    shown = drawn(board)
    assert "○ night ─ ● bidding" in shown
    assert re.search(r"graveyard  ● Light, Blue   ▲ Dark   ■ Dan's Red", shown)


@pytest.mark.parametrize(
    ("bet", "told"),
    [(50, r"and a bonus of 2\."), (0, r"Lose: nothing\."), (1000, r"(a bonus of 1,000|and 1,000 more)\.")],
)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_felt_shows_what_the_typed_stake_wins_and_loses(bet: int, told: str, size: tuple[int, int]) -> None:
    board = next(each for each in match_of(PRESETS["motes"], NAMES, 0, Random(1)) if is_staking(each) and each.turn)
    shown = drawn(board, size, scene=Scene(typed=Stake(bet)))
    assert "What do you stake on your own victory?" in shown
    assert re.search(told, shown)
    assert "1,000" in shown
    assert f"Lose: these {bet:,}." in shown or not bet
    board.turn, board.staked = None, "stake 50 coins"
    assert "You stake 50 coins. Nobody sees it" in drawn(board, size).replace("\n", " ")


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), size=st.sampled_from(SIZES), names=st.permutations(NAMES))
def test_pictures_contain_no_seat_numbers(seed: int, size: tuple[int, int], names: list[str]) -> None:
    rng = Random(seed)
    for board in match_of(PRESETS["motes"], names, 0, rng):
        if rng.random() < 0.05:
            shown = drawn(board, size)
            assert not re.search("@[0-9]", shown)
            assert not re.search(r"\bseat [0-9]", shown)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_graveyard_names_each_die_after_the_player_it_was_dealt_to(seed: int) -> None:
    rng = Random(seed)
    for board in match_of(PRESETS["motes"], NAMES, None, rng):
        state = board.state
        if state is None or state.motes is None or window(state) not in ("sunset", "night", "sunrise"):
            continue
        if showdown.is_on(board) or board.over is not None or rng.random() < 0.7:
            continue
        shown = drawn(board, (200, 50))
        for die, by in state.motes.graveyard:
            assert die.mote.capitalize() in shown
            if die.seat != by:
                assert f"{NAMES[die.seat]}'s {die.mote.capitalize()}" in shown


# Strips


def watched(*, sees_all: bool) -> Board:
    sample = Sample(PRESETS["classic"], NAMES, me=None)
    sample.roll()
    sample.play("2x5", "3x5", "5x5", "7x5")
    if sees_all:
        cups = ((1, 3, 5, 5, 6), (2, 3, 4, 4, 5), (1, 3, 5, 6, 6), (2, 4, 6, 6, 6))
        sample.board.take(CupsSeen(cups, sample.state))
    return sample.board


def test_spectators_strip_says_what_was_verified() -> None:
    shown = drawn(watched(sees_all=False), scene=Scene(strip=WatchStrip(42, 168)))
    assert "✓ 42 steps, 168 signatures, nothing wrong so far" in shown
    assert "This program checks every signature and every roll as it happens." in shown
    assert "all dice hidden" in shown


def test_replay_shows_its_place_and_the_odds_of_the_bidder() -> None:
    shown = drawn(watched(sees_all=True), scene=Scene(strip=LOST)).split("\n")
    assert shown[13].split() == ["round", *map(str, range(1, 13))]
    assert shown[14].split() == ["lost", *"▲◆■▲◆◆■▲▲■■"]
    assert shown[14].index("■") - shown[13].index("3") == 0
    assert shown[15].endswith("6 of 11")
    assert shown[15].count("━") == round(48 * 6 / 11)
    felt = "\n".join(shown[5:12])
    for needed in ("false: there are six", "20% likely", "with Dan's dice"):
        assert needed in felt


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strip", [LOST, WatchStrip(42, 168)])
def test_strip_is_shown_at_every_size(size: tuple[int, int], strip: ReplayStrip | WatchStrip) -> None:
    shown = drawn(watched(sees_all=True), size, scene=Scene(strip=strip))
    assert ("6 of 11" if isinstance(strip, ReplayStrip) else "42 steps") in shown


def test_long_replay_shows_the_rounds_around_the_current_one() -> None:
    strip = ReplayStrip(50, (0,) * 90, 1, 5, "all dice")
    row = drawn(watched(sees_all=True), scene=Scene(strip=strip)).split("\n")[13]
    assert "50" in row
    assert "90" not in row
    assert row.count("…") == 2, "there are earlier and later rounds"


def test_verdict_is_shown_beside_the_strip() -> None:
    sample = Sample(PRESETS["classic"], NAMES, me=None)
    sample.roll()
    sample.play("7x5", "liar")
    sample.open((1, 3, 5, 5, 6), (2, 3, 4, 4, 5), (1, 3, 5, 6, 6), (2, 4, 6, 6, 6))
    shown = drawn(sample.board, theme=ASCII, scene=Scene(strip=LOST))
    assert "*** A LIE ***" in shown
    assert "6 of 11" in shown


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ("fair", "✓ fair: every roll and signature holds"),
        ("incomplete", "! incomplete"),
        ("misconduct", "! misconduct"),
        ("", "20 dice"),
    ],
)
def test_replay_title_shows_the_verdict_on_the_file(verdict: str, told: str) -> None:
    title = drawn(watched(sees_all=True), scene=Scene(strip=LOST, verdict=verdict)).split("\n")[0]
    assert title.endswith(f"  {told}")


def test_narrow_list_of_powers_shows_whole_targets() -> None:
    board = at_night()
    assert board.begun.motes is not None
    names = tuple(range(4))
    buried = (Buried(Die("light", 0), 0), *(Buried(Die("grey", seat), 3) for seat in names))
    board.state = board.begun._replace(motes=board.begun.motes._replace(graveyard=buried, stack=()), phase="sunset")
    board.turn = YourTurn(view(board.begun, 0), 1)
    moves = tuple(offers(board.turn.view, board.seating.names))
    canvas = Canvas(30, 8, PICTURES)
    draw_chooser(canvas, board, Scene(moves=moves), Area(0, 0, 30, 8))
    shown = canvas.text()
    assert "Cleo's Grey" in shown
    assert "…" not in shown
