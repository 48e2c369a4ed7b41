"""Pictures of a running match as text: some in full, and properties of all.

``python -m tests.cli.table.test_picture`` rewrites the full ones in ``pictures/`` for review.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from colorsys import rgb_to_hsv
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from cli.render import escape, faces
from cli.table import moment
from cli.table.board import Board
from cli.table.canvas import Canvas, cut
from cli.table.picture import picture
from cli.table.scene import Band, Motion, Scene, Talk
from cli.table.theme import MARKS, Colors, Ground, Theme, luminance
from cli.text.move_forms import offers
from p2pdice.engine import apply, new_match
from p2pdice.events import BidMade
from p2pdice.moves import Bid, Evict, Hand, Play, Rolled, parse_move
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol.events import DiceRolled, MatchStarted, Misbehaved, PeerLost, Suspended, YourTurn
from tests.cli.table.boards import match_of, people, told

PICTURES: Final = Path(__file__).parent / "pictures"
DARK = Theme()
ASCII = Theme("none", is_ascii=True)
MONO = Theme("none")
THEMES: Final = tuple(
    Theme(depth, ground, is_ascii)
    for depth in ("24", "256", "16", "none")
    for ground in ("dark", "light", "unknown")
    for is_ascii in (False, True)
)
SIZES = [(80, 24), (60, 18), (40, 12), (110, 34), (150, 46), (20, 6)]
HAND: Hand = (1, 3, 5, 5, 6)
FOUR = ("Ada", "Ben", "Cleo", "Dan")
TEN = (*FOUR, "Eve", "Finn", "Gus", "Hana", "Ines", "Maximilian")


def table(
    *moves: str,
    rules: str = "classic",
    names: tuple[str, ...] = FOUR,
    dice: tuple[int, ...] = (5, 5, 4, 3),
    first: int = 1,
    hand: Hand = HAND,
    me: int | None = 0,
    palifico: bool = False,
) -> Board:
    """Return a board in round four, after these moves. If it is the reader's turn, they are asked for a move."""
    board, players = Board(), people(names, me)
    state = new_match(PRESETS[rules], len(names))
    board.take(MatchStarted("ab" * 32, state.ruleset, players, me, state, table="Friday"))
    laid = state._replace(dice=dice, round=4, leader=first, palifico=palifico, turn=first)
    state, events = apply(laid, Rolled())
    for event in told(events, state):
        board.take(event)
    if me is not None:
        board.take(DiceRolled(hand))
    for move in moves:
        state, events = apply(state, Play(state.turn, parse_move(move)))
        for event in told(events, state):
            board.take(event)
    if state.turn == me and me is not None:
        board.take(YourTurn(view(state, me, hand), 1))
    return board


def my_turn(*watchers: str) -> Board:
    board = table("3x5", "5x5", "7x5")
    board.watchers = watchers
    return board


def others_turn() -> Board:
    return table("3x5")


def ten() -> Board:
    dice = (5, 5, 4, 5, 5, 3, 5, 5, 4, 5)
    return table("2x3", "3x4", "4x4", "6x4", "8x5", rules="perudo", names=TEN, dice=dice)


def siding() -> Board:
    return table("7x5", "liar", rules="joker", dice=(5, 5, 5, 5), first=2)


WORDS: Final = ("help", "rules", "players", "say", "learn", "quit")


def scene_of(board: Board, typed: str = "", moves: Sequence[str] = ()) -> Scene:
    """Return the scene that the screen would make for a board, with its band and keys.

    :param typed: the move that keys have put in the line, if any.
    """
    return Scene(
        typed=parse_move(typed) if typed and not moves else None,
        steps=42,
        seconds=102,
        talk=(Talk(None, "", "Eve is watching."), Talk(2, "Cleo", "Dan, you always do this with three dice.")),
        band=moment.band(board, typed, with_odds=True, is_behind=False),
        keys=moment.useful_keys(board, typed, moves, WORDS, with_odds=True, is_behind=False),
        moves=moves,
    )


MY_TURN: Final = scene_of(my_turn(), "8x5")
WAITING: Final = scene_of(others_turn())


def listed(board: Board, scene: Scene = MY_TURN, picked: int | None = 0) -> Scene:
    """Return a scene with a list of all legal moves, as for a question that no bid can answer."""
    assert board.turn is not None
    moves = tuple(offers(board.turn.view, board.seating.names))
    return replace(scene, typed=board.turn.view.legal[picked or 0], moves=moves, picked=picked)


def _sided() -> Canvas:
    board = siding()
    assert board.turn is not None
    moves = tuple(offers(board.turn.view, board.seating.names))
    scene = scene_of(board, moves[0], moves)
    return picture(board, replace(scene, typed=board.turn.view.legal[0], picked=0), 80, 24, DARK)


WHOLE: Final[dict[str, Callable[[], Canvas]]] = {
    "my_turn_80x24": lambda: picture(my_turn(), MY_TURN, 80, 24, DARK),
    "my_turn_80x24_ascii": lambda: picture(my_turn(), MY_TURN, 80, 24, ASCII),
    "my_turn_80x24_mono": lambda: picture(my_turn(), MY_TURN, 80, 24, MONO),
    "my_turn_60x18": lambda: picture(my_turn(), MY_TURN, 60, 18, DARK),
    "my_turn_40x12": lambda: picture(my_turn(), MY_TURN, 40, 12, DARK),
    "my_turn_120x40": lambda: picture(my_turn("Eve", "Fay"), MY_TURN, 120, 40, DARK),
    "my_turn_150x46": lambda: picture(my_turn(), MY_TURN, 150, 46, DARK),
    "my_turn_without_odds_80x24": lambda: picture(my_turn(), replace(MY_TURN, with_odds=False), 80, 24, DARK),
    "others_turn_80x24": lambda: picture(others_turn(), WAITING, 80, 24, DARK),
    "ten_80x24": lambda: picture(ten(), scene_of(ten()), 80, 24, DARK),
    "ten_40x12": lambda: picture(ten(), scene_of(ten()), 40, 12, ASCII),
    "siding_80x24": _sided,
}


@pytest.mark.parametrize("name", WHOLE)
def test_picture_equals_the_reviewed_file(name: str) -> None:
    assert f"{WHOLE[name]().text()}\n" == (PICTURES / f"{name}.txt").read_text(encoding="utf-8")


def drawn(board: Board, scene: Scene = MY_TURN, size: tuple[int, int] = (80, 24), theme: Theme = DARK) -> str:
    return picture(board, scene, *size, theme).text()


# Properties of all pictures


def assert_decides(board: Board, shown: str, scene: Scene, theme: Theme) -> None:
    """Check that a picture shows the standing bid, the reader's dice, how many dice the others have, and the band."""
    state = board.state
    assert state is not None
    if board.over is not None or board.showdown is not None or state.challenge is not None or state.motes is not None:
        return
    if state.bid is not None:
        quantity, face, _ = state.bid
        assert theme.sign(f"{quantity}×{face}") in shown or faces(quantity, face) in shown
    if board.me in state.live and board.hand:
        assert re.search(r"[^\d\n]*".join(map(str, board.hand)), shown)
    counts = re.findall(r"(\d+) (?:dice|die)", shown)
    for seat in state.live:
        if seat != board.me:
            count = str(state.dice[seat])
            beside = re.search(rf"{re.escape(theme.mark(seat))}[^\n]*?(?<!\d){count}(?!\d)", shown)
            assert beside or count in counts, (seat, count)
    assert scene.band.text[:4] in shown


NAMES = st.text(st.characters(exclude_categories=()), min_size=1, max_size=20) | st.sampled_from(
    ["\x1b[2J\x1b[1;1H", "\u202eadA", "שלום", "五" * 20, "e" + "\u0301" * 19, "\u1100\u1161" * 9, "Ann [K7QF]"]
)


@settings(max_examples=25, deadline=None)
@given(
    rules=st.sampled_from(sorted(PRESETS)),
    names=st.lists(NAMES, min_size=2, max_size=10),
    seed=st.integers(0, 10**6),
    is_watching=st.booleans(),
    said=st.lists(NAMES, max_size=4),
    size=st.tuples(st.integers(20, 200), st.integers(6, 60)) | st.sampled_from(SIZES),
    theme=st.sampled_from(THEMES),
    with_odds=st.booleans(),
)
def test_every_picture_fits_its_window(
    rules: str,
    names: list[str],
    seed: int,
    is_watching: bool,
    said: list[str],
    size: tuple[int, int],
    theme: Theme,
    with_odds: bool,
) -> None:
    """Names are hostile and arrive unescaped. Chat is escaped before it reaches a scene."""
    rng = Random(seed)
    names = names[: 6 if rules == "motes" else 10]
    me = None if is_watching else rng.randrange(len(names))
    talk = [Talk(0, escape(names[0]), escape(text)) for text in said]
    # If dice can be gained, a match of random moves may never end.
    for step, board in enumerate(islice(match_of(PRESETS[rules], names, me, rng), 1000)):
        if step % 29 and board.over is None:
            continue
        scene = Scene(talk=talk, with_odds=with_odds, seconds=9, band=Band("Band of the table", "seat1"))
        if board.turn is not None:
            scene = listed(board, scene)
        shown = drawn(board, scene, size, theme)
        rows = shown.split("\n")
        assert len(rows) == size[1]
        assert max(map(get_cwidth, rows)) <= size[0]
        assert all(row.isprintable() for row in rows)
        assert shown.isascii() or not theme.is_ascii
        assert_decides(board, shown, scene, theme)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", [DARK, ASCII], ids=["dark", "ascii"])
@pytest.mark.parametrize("board", [my_turn, others_turn, ten], ids=["my turn", "others' turn", "ten"])
def test_every_size_shows_what_a_move_needs(board: Callable[[], Board], size: tuple[int, int], theme: Theme) -> None:
    scene = MY_TURN if board is my_turn else WAITING
    assert_decides(board(), drawn(board(), scene, size, theme), replace(scene, band=Band()), theme)


# Colours


def test_monochrome_styles_only_reverse() -> None:
    for theme in THEMES:
        if theme.is_mono:
            assert {word for _, style in theme.style().style_rules for word in style.split()} == {"reverse"}


@pytest.mark.parametrize(("ground", "paper", "ink"), [("dark", "15181d", "d7dbe0"), ("light", "ffffff", "22272e")])
@pytest.mark.parametrize("depth", ["24", "256"])
def test_text_has_enough_contrast(depth: Colors, ground: Ground, paper: str, ink: str) -> None:
    """Only decorative lines and dots may be faint."""
    theme = Theme(depth, ground)
    style = theme.style()
    alarmed = replace(MY_TURN, seconds=5, is_pressing=True, reply=())
    gone = others_turn()
    gone.take(PeerLost(gone.players[2]))
    canvases = [
        picture(my_turn(), alarmed, 80, 24, theme),
        picture(my_turn(), MY_TURN, 120, 40, theme),
        picture(others_turn(), WAITING, 60, 18, theme),
        picture(ten(), replace(WAITING, band=Band("x", "seat5")), 80, 24, theme),
        picture(gone, replace(WAITING, band=Band("x", "waiting")), 80, 24, theme),
        picture(siding(), listed(siding()), 80, 24, theme),
    ]
    pairs = set()
    for canvas in canvases:
        for classes, text, *_ in canvas.fragments():
            if text.strip(" \n▄▀█·─│") and "faint" not in classes:
                attrs = style.get_attrs_for_style_str(classes)
                pairs.add((attrs.color or ink, attrs.bgcolor or paper, classes))
    assert len(pairs) > 20
    for text, below, classes in pairs:
        light, dark = sorted((luminance(text), luminance(below)), reverse=True)
        assert round((light + 0.05) / (dark + 0.05), 1) >= 4.3, classes


@pytest.mark.parametrize("depth", ["24", "256"])
def test_seat_colours_on_an_unknown_background_suit_black_and_white(depth: Colors) -> None:
    style = Theme(depth, "unknown").style()
    for seat in range(10):
        bare = style.get_attrs_for_style_str(f"class:seat{seat}").color or ""
        filled = style.get_attrs_for_style_str(f"class:on-seat{seat}").bgcolor or ""
        assert re.fullmatch(r"[0-9a-f]{6}", bare), (seat, bare)
        assert 0.1 <= luminance(bare) <= 0.3  # at least 3:1 contrast on both
        hues = [rgb_to_hsv(*(int(each[at : at + 2], 16) / 255 for at in (0, 2, 4))) for each in (bare, filled)]
        (hue, grey, _), (other, other_grey, _) = hues
        assert min(abs(hue - other), 1 - abs(hue - other)) < 0.1 or max(grey, other_grey) < 0.3, (seat, bare, filled)


def test_seats_have_different_marks() -> None:
    for theme in (DARK, ASCII):
        assert len({theme.mark(seat) for seat in range(10)}) == len(MARKS) == 10


# The reader's dice


@pytest.mark.parametrize(
    ("bid", "palifico", "labels"),
    [
        ("8x5", False, "<1 wild>    3      <5>     <5>      6"),
        ("8x1", False, "   <1>      3       5       5       6"),
        ("8x3", False, "<1 wild>   <3>      5       5       6"),
        ("8x5", True, "    1       3      <5>     <5>      6"),
    ],
)
def test_dice_that_count_for_the_typed_bid_are_marked(bid: str, palifico: bool, labels: str) -> None:
    board = table("3x5", "4x5", "5x5", dice=(5, 5, 4, 1) if palifico else (5, 5, 4, 3), palifico=palifico)
    typed = parse_move(bid)
    assert isinstance(typed, Bid)
    shown = drawn(board, replace(MY_TURN, typed=typed), theme=MONO)
    assert shown.split("\n")[16][:41].rstrip() == labels
    gold = [
        text for classes, text, *_ in picture(board, replace(MY_TURN, typed=typed), 80, 24, DARK).fragments()
        if "on-counts" in classes
    ]  # fmt: skip
    assert len(gold) == 3 * labels.count("<")


def test_standing_bid_marks_the_dice_if_none_is_typed() -> None:
    assert "<1 wild>    3      <5>     <5>      6" in drawn(my_turn(), replace(MY_TURN, typed=None), theme=MONO)


def test_roll_animation_ends_with_the_rolled_dice() -> None:
    board = table()
    rolled = DiceRolled(HAND)
    faces_seen = []
    for age in (0, 100, 200, 300, 400, 10_000):
        scene = replace(WAITING, motion=Motion({DiceRolled: (rolled, float(age))}))
        faces_seen.append(tuple(map(int, re.findall(r"\d", drawn(board, scene, theme=MONO).split("\n")[16][:40]))))
    assert faces_seen[-1] == HAND
    assert all(one != true for seen in faces_seen[:-1] for one, true in zip(seen, HAND, strict=True))


def test_bid_animation_counts_up() -> None:
    board = my_turn()
    bid = board.begun.bids[-1]
    (made,) = told([BidMade(bid.seat, bid.quantity, bid.face)], board.begun)
    numbers = []
    for age in (0, 70, 200):
        scene = replace(MY_TURN, motion=Motion({type(made.event): (made, float(age))}))
        numbers.append(drawn(board, scene, theme=ASCII).split("\n")[6:9])
    assert len({tuple(row[28:36] for row in number) for number in numbers}) == 3


def test_resumed_match_shows_the_call_before_the_showdown() -> None:
    called = table("3x5", "9x5", "liar", first=2, dice=(5, 5, 5, 5))
    board = Board()
    board.take(MatchStarted("ab" * 32, called.begun.ruleset, called.players, 0, called.begun, resumed=True))
    assert "Ada" in drawn(board, WAITING)
    assert "You call LIAR" in drawn(board, WAITING)
    assert "nine fives" in drawn(board, WAITING)


def test_dice_of_a_player_who_is_out_count_until_the_round_ends() -> None:
    """Bids have counted on these dice. Their cup may stay down, so the picture says whose they are."""
    board = table(dice=(5, 5, 5, 5))
    state, events = apply(board.begun, Evict(3))
    for event in told(events, state):
        board.take(event)
    assert sum(state.dice) == 20
    for size in [(80, 24), (120, 40)]:
        assert "20 dice on the table" in drawn(board, WAITING, size)
    state, events = apply(state, Play(state.turn, Bid(3, 5)))
    for event in told(events, state):
        board.take(event)
    for size in [(80, 24), (120, 40)]:
        shown = drawn(board, WAITING, size)
        assert "Dan left five dice, which may stay unseen" in shown
        assert len(re.findall("5 dice", shown)) == 4
        assert "out" in shown


# The chooser


def test_ladder_shows_legal_bids_and_their_chances() -> None:
    rows = [row[42:].strip() for row in drawn(my_turn(), theme=ASCII).split("\n")[12:17]]
    assert rows == [
        "Raise   1    2    3    4    5    6",
        "10 x   .    .    .    .   7%    .",
        "9 x   .    .    .    .   18%   .",
        "8 x   .    .    .    .  [37%]  .",
        "7 x   .    .    .    .    *   37%",
    ]


def test_ladder_scrolls_to_the_typed_bid() -> None:
    """Higher numbers are further up, as the arrow keys suggest."""
    assert re.search(r"15 ×.*\n.*14 ×", drawn(my_turn(), replace(MY_TURN, typed=Bid(14, 5))))
    at = {}
    for quantity in (7, 8, 9, 14):
        canvas = picture(my_turn(), replace(MY_TURN, typed=Bid(quantity, 5 + (quantity == 7))), 80, 24, MONO)
        ladder = canvas.text().split("\n")[13:17]
        at[quantity] = next(row for row, text in enumerate(ladder) if f"{quantity} ×" in text)
    assert at == {7: 3, 8: 2, 9: 1, 14: 1}


def test_stepper_offers_different_bids() -> None:
    """In Perudo, ones need half as many dice, so the two lowest raises may have the same face."""
    board = table("2x3", "3x4", "4x4", "8x5", rules="perudo", names=TEN[:5], dice=(5,) * 5)
    for typed in (None, Bid(8, 5), Bid(5, 1), Bid(9, 5)):
        (others,) = re.findall(r"or (.*) …", drawn(board, replace(MY_TURN, typed=typed), (60, 20)))
        assert len(set(others.split(", "))) == 2, others


def test_small_window_with_spare_rows_has_a_stepper() -> None:
    assert re.search(r"▲  8  ×  5  37%\n ▼ or 7×6, 9×5", drawn(my_turn(), MY_TURN, (60, 16)))


def test_reader_who_conceded_has_no_dice() -> None:
    for rules in ("classic", "motes"):
        board = (
            table(dice=(5, 5, 5, 5))
            if rules == "classic"
            else next(
                each
                for each in match_of(PRESETS["motes"], FOUR, 0, Random(5))
                if each.turn is not None and each.hand and each.state is not None and each.state.phase == "bidding"
            )
        )
        dice = (0, *board.begun.dice[1:])
        board.state, board.turn = board.begun._replace(dice=dice, live=(1, 2, 3), turn=1), None
        shown = drawn(board, WAITING)
        assert "You're out." in shown
        assert not re.search(r"\b0 dice", shown)


def test_cups_and_dice_have_edges_without_colours() -> None:
    shown = drawn(my_turn(), theme=MONO)
    assert len(re.findall("╭─+╮", shown)) == 3 + 1  # three cups and the felt
    assert len(re.findall("╰─+ \\d dice ─+╯", shown)) == 3
    canvas = Canvas(7, 3, MONO)
    for kind, row in (("miss", "│  ●  │"), ("gone", "│  ✕  │"), ("die", "   ●")):
        canvas.die(0, 0, 5, kind)  # type: ignore[arg-type]
        assert canvas.text().split("\n")[1] == row


def test_bids_of_a_round_are_aligned() -> None:
    names = ("Ada", "Maximilian", "Cleo", "Dan")
    shown = drawn(table("3x5", "5x5", "7x5", names=names), MY_TURN, (120, 40)).split("\n")
    start = next(place for place, row in enumerate(shown) if "Round 4 so far" in row)
    columns = [
        row.rindex(f"{word} fives") for row, word in zip(shown[start + 1 :], ("three", "five", "seven"), strict=False)
    ]
    assert len({*columns}) == 1


def test_no_chance_is_shown_without_odds() -> None:
    for size in SIZES:
        assert "% likely" not in drawn(my_turn(), replace(MY_TURN, with_odds=False), size)
        assert not re.search(r"\d%", drawn(my_turn(), replace(MY_TURN, with_odds=False), size))


@pytest.mark.parametrize(("custom", "offers_odds"), [(0, False), (1, False), (2, True)])
def test_key_for_odds_is_shown_only_if_each_player_may_choose(custom: int, offers_odds: bool) -> None:
    board = my_turn()
    board.odds = custom
    assert ("% shows the odds" in drawn(board, replace(MY_TURN, with_odds=False))) is offers_odds


def test_sides_have_no_chances_without_odds() -> None:
    assert not re.search(r"\d%", drawn(siding(), replace(listed(siding()), with_odds=False)))


@pytest.mark.parametrize("picked", range(2))
def test_list_marks_the_selected_move(picked: int) -> None:
    shown = drawn(siding(), listed(siding(), picked=picked), theme=ASCII)
    assert re.findall(r"> (\d)  ", shown) == [str(picked + 1)]
    assert "Dan, who called            21%" in shown
    assert "Cleo, who bid              79%" in shown


# The band, the keys and the talk


def test_clock_is_highlighted_only_if_the_others_can_go_on() -> None:
    def is_alarm(seconds: int, is_pressing: bool) -> bool:
        scene = replace(MY_TURN, seconds=seconds, is_pressing=is_pressing)
        shown = picture(my_turn(), scene, 80, 24, DARK).fragments()
        return any("band-wrong" in classes and ":" in text for classes, text, *_ in shown)

    assert is_alarm(10, is_pressing=True)
    assert not is_alarm(11, is_pressing=True)
    assert not is_alarm(10, is_pressing=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Your turn: raise Dan's two fives.", "Your turn: raise Dan's two fives."),
        ("Your turn: raise Dan's seven fives, or call it.", "Raise Dan's seven fives, or call it."),
        ("Your turn: raise Maximilian's ten fives, or call it.", "Raise Maximilian's ten fives."),
    ],
)
def test_narrow_band_is_shortened(text: str, shown: str) -> None:
    assert drawn(my_turn(), replace(MY_TURN, band=Band(text, "seat0")), (40, 12)).split("\n")[8] == f" {shown}"


def test_reply_replaces_the_keys() -> None:
    rows = drawn(my_turn(), replace(MY_TURN, reply=("Not a raise: bid more", "or call."))).split("\n")
    assert [row.strip() for row in rows[21:23]] == ["Not a raise: bid more", "or call."]


def test_long_chat_message_is_cut_after_three_rows() -> None:
    scene = replace(WAITING, talk=(Talk(1, "Ben", "word " * 200),))
    shown = drawn(others_turn(), scene, (80, 30))
    assert len(re.findall(r"word word", shown)) > 3
    assert len([row for row in shown.split("\n") if row.count("word") > 2]) == 3
    assert re.search(r"word …$", shown, re.MULTILINE)


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 2), ((60, 18), 1), ((40, 12), 1)])
def test_news_that_does_not_fit_is_cut_at_its_end(size: tuple[int, int], rows: int) -> None:
    scene = replace(WAITING, talk=(Talk(None, "", f"First {'word ' * 99}"),))
    shown = [row for row in drawn(others_turn(), scene, size).split("\n") if "word" in row]
    assert len(shown) == rows
    assert re.match(r" *· First word", shown[0])
    assert shown[-1].rstrip().endswith("…")


# Names


def test_plate_marks_a_bot_once() -> None:
    board = table("3x5", names=("Ada", "Ben (bot)", "Cleo", "Dan"))
    assert re.findall(r"▲ Ben +bot ", drawn(board, WAITING).split("\n")[1])
    assert "▲ Ben 5" in drawn(board, WAITING, (40, 12))


def test_cut_names_keep_the_suffix_that_distinguishes_namesakes() -> None:
    names = ("Ada", "Maximilian", "maximilian", "Ben")
    shown = drawn(table("3x5", names=names, dice=(5, 5, 5, 5)), WAITING, (60, 18))
    plates = shown.split("\n")[1]
    assert re.findall(r"(\w+…) \[(\d)ZYM\] +5", plates) == [("Maxim…", "1"), ("maxi…", "2")]


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (40, 12)])
@pytest.mark.parametrize(
    "names", [("Ada", "Ben (Ada's bot)", "Ben", "Ben (Eve's bot)"), ("Ada", "Theodor (bot)", "Theodor", "Cleo")]
)
def test_bot_and_person_with_the_same_name_look_different(names: tuple[str, ...], size: tuple[int, int]) -> None:
    plates = drawn(table("3x5", names=names), WAITING, size).split("\n")[1]
    shown = re.findall(r"[▲■◆] (\S.*?)(?:  | \d|$)", plates)
    assert len(shown) == len({*shown}) == 3, plates


@given(
    st.text("五 ab\u0301[]שK", max_size=30) | st.builds("{} [{}]".format, st.text("五a"), st.text("五a", max_size=6)),
    st.integers(0, 20),
)
def test_cut_text_fits_its_columns(text: str, columns: int) -> None:
    shown = cut(text, columns)
    assert get_cwidth(shown) <= columns
    assert shown == text or get_cwidth(text) > columns


@given(st.lists(st.tuples(st.integers(-5, 12), st.integers(-1, 3), st.text("五a\u0301 ", max_size=9)), max_size=9))
def test_writing_outside_a_canvas_does_not_enlarge_it(puts: list[tuple[int, int, str]]) -> None:
    canvas = Canvas(10, 2, DARK)
    for x, y, text in puts:
        canvas.put(x, y, text)
    rows = "".join(text for _, text, *_ in canvas.fragments()).split("\n")
    assert len(rows) == 2
    assert max(map(get_cwidth, rows)) <= 10
    assert [row.rstrip() for row in rows] == canvas.text().split("\n")


def test_overwriting_half_a_wide_sign_removes_the_other_half() -> None:
    canvas = Canvas(6, 3, DARK)
    for row, x in enumerate((0, 1, 5)):
        canvas.put(0, row, "五五五")
        canvas.put(x, row, "a")
    assert canvas.text() == "a 五五\n a五五\n五五 a"


def test_table_name_is_escaped() -> None:
    board = my_turn()
    board.name = "\x1b[2JFriday\u202e"
    assert "\\x1b[2JFriday\\u202e" in drawn(board)


def away(names: tuple[str, ...], *, on_purpose: bool = False) -> str:
    board = table("3x5", names=names, dice=(5,) * len(names))
    lost = board.players[1]
    board.take(PeerLost(lost, on_purpose))
    return picture(board, replace(WAITING, away={lost.fingerprint: 42}), 80, 24, DARK).text()


@pytest.mark.parametrize(
    ("names", "note"),
    [(FOUR, "! not answering 0:42"), (TEN[:6], "! away 0:42"), (TEN[:2], "! not answering 0:42")],
    ids=lambda given: str(len(given)),
)
def test_card_shows_how_long_a_player_has_not_answered(names: tuple[str, ...], note: str) -> None:
    assert note in away(names)
    assert "! away 0:42" in away(names, on_purpose=True)


@pytest.mark.parametrize(("names", "note"), [(FOUR, "! no answer yet 0:42"), (TEN[:6], "! late 0:42")])
def test_card_says_that_an_awaited_player_has_not_answered(names: tuple[str, ...], note: str) -> None:
    board = table("3x5", names=names, dice=(5,) * len(names))
    board.take(Suspended((board.players[1],)))
    shown = drawn(board, replace(WAITING, away={board.players[1].fingerprint: 42}))
    assert note in shown
    assert "not answering" not in shown


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 18), (110, 34)])
def test_card_shows_proven_misconduct_even_of_a_player_who_is_out(columns: int, rows: int) -> None:
    board = table("3x5")
    assert "broke the rules" not in picture(board, WAITING, columns, rows, DARK).text()
    board.take(Misbehaved(board.players[2], 7, "two bids in one turn"))
    out, _ = apply(board.begun, Play(2, parse_move("concede")))
    for state in (board.begun, out):
        board.state = state
        assert "broke the rules" in picture(board, WAITING, columns, rows, DARK).text()


def test_title_counts_the_spectators() -> None:
    for size in ((80, 24), (120, 40)):
        assert "1 watching" in drawn(my_turn("Eve"), size=size).split("\n")[0]


@pytest.mark.parametrize("theme", [DARK, ASCII])
@pytest.mark.parametrize("columns", [40, 60, 80])
def test_key_bar_ends_with_help_at_every_width(columns: int, theme: Theme) -> None:
    for board in (my_turn(), others_turn()):
        bar = picture(board, scene_of(board, "8x5" if board.turn else ""), columns, 24, theme).text().split("\n")[-3]
        assert bar.removesuffix("help").rstrip(" ]").endswith("?"), bar


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, draw in WHOLE.items():
        (PICTURES / f"{name}.txt").write_text(f"{draw().text()}\n", encoding="utf-8")
