"""The players around the felt. Each has a card, two rows, or a few words, depending on the space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from cli.table.canvas import Area, cut, width
from cli.table.showdown import Cup
from cli.text.narrate import time_left
from p2pdice.counting import NOTHING_WILD
from p2pdice.powers import POWERS
from p2pdice.state import Expect
from protocol.wire.names import is_marked_as_bot

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.canvas import Canvas, DieLook
    from cli.table.scene import Scene

CARD: Final = 4
"""Minimum rows of a card: a plate, a cup of two rows, and a note."""
_BOT: Final = "bot"
_TILES: Final = ((3, 1), (2, 1), (2, 0), (1, 0))
"""Columns of a die in a cup, and of the gap after it, in order of preference."""


def others(board: Board) -> tuple[int, ...]:
    """Return the seats around the felt in the order of play, beginning after the reader. A spectator sees all seats."""
    seats = len(board.seating.names)
    if board.me is None:
        return tuple(range(seats))
    return tuple((board.me + step) % seats for step in range(1, seats))


def counts_for(board: Board, face: int, quantity_face: int) -> bool:
    """Return whether a die with face ``face`` counts for a bid on ``quantity_face`` in this round."""
    counting = NOTHING_WILD if board.state is None else board.state.counting
    return counting.counts(face, quantity_face)


def seats(canvas: Canvas, board: Board, scene: Scene, places: Mapping[int, Area], cups: Mapping[int, Cup]) -> None:
    """Draw the players at their places.

    :param cups: the cups of a showdown, by seat.
    """
    for seat, area in places.items():
        cup = cups.get(seat) or _seen(board, seat)
        if area.height >= CARD:
            _card(canvas, board, scene, seat, area, cup)
        elif area.height > 1:
            _rows(canvas, board, scene, seat, area, cup)
        else:
            _words(canvas, board, scene, seat, area)


def plate(canvas: Canvas, board: Board, seat: int, area: Area, right: str = "") -> None:
    """Draw a player's mark and name in one row, filled with their colour on their turn.

    :param right: the text at the right end, such as a tag.
    """
    state = board.begun
    role, x, y = f"seat{seat}", area.x, area.y
    is_turn = seat == state.turn and board.over is None
    you = " (you)" if seat == board.me else ""
    room = area.width - 4 - is_turn - (width(right) + 1 if right else 0) - len(you)
    name = f"{canvas.theme.mark(seat)} {cut(board.seating.names[seat], room)}{you}"
    if is_turn:
        canvas.fill(x, y, area.width, 1, role)
        canvas.put(x, y, f"▶ {name}", bold=True)
        canvas.right(x + area.width - 1, y, right)
    else:
        canvas.fill(x, y, area.width, 1, "plate")
        canvas.put(x + 1, y, name, "quiet" if seat not in state.live else role, bold=True)
        canvas.right(x + area.width - 1, y, right, "quiet")


def tag(board: Board, seat: int, *, is_short: bool = False) -> str:
    """Return a player's tag: ``bot`` unless the name says so, pledge, and stake. The reader's tag also has the lasting
    effects of powers, which other players have in their notes."""
    state = board.begun
    is_bot = seat < len(board.players) and is_marked_as_bot(board.players[seat].name)
    parts = [_BOT] if is_bot and not is_marked_as_bot(board.seating.names[seat]) else []
    if state.motes is not None and seat == board.me:
        lasting = [each.mark for each in state.motes.lasting if each.seat == seat]
        parts, is_short = parts + lasting, is_short or bool(lasting)
    if state.motes is not None and state.motes.pledges:
        pledge = state.motes.pledges[seat].capitalize()
        parts.append(pledge[0] if is_short else pledge)
    if state.wagers:
        parts.append(f"{state.wagers[seat].bet:,}c")
    return (" " if is_short else "  ").join(parts)


def count_of_dice(number: int) -> str:
    """Return a number of dice in digits: ``5 dice``, ``1 die``."""
    return f"{number} {'die' if number == 1 else 'dice'}"


def _card(canvas: Canvas, board: Board, scene: Scene, seat: int, area: Area, cup: Cup) -> None:
    state = board.begun
    x, y, columns, height = area
    short = tag(board, seat, is_short=True)
    tags = (tag(board, seat), short, short.removeprefix(f"{_BOT} "))
    # Ten columns of the name matter more than the tags.
    room = columns - 5 - min(width(board.seating.names[seat]), 10)
    plate(canvas, board, seat, area, next((each for each in tags if width(each) <= room), tags[-1]))
    bottom = y + height - 2
    if seat not in state.live and not cup.dice and not state.dice[seat]:
        text, role, is_bold = _note(board, scene, seat, columns)
        canvas.centre(x, bottom, columns, text, role, bold=is_bold)
        return
    most = max(state.ruleset.dice, state.dice[seat], len(cup.dice))
    letters = state.motes.cups[seat] if state.motes is not None and state.motes.cups else ()
    across = next((size for size in _TILES if most * sum(size) - size[1] <= columns), _TILES[-1])
    wide = min(max(most * sum(across) - across[1], 12) + 4 * bool(letters), columns)
    _sides(canvas, seat, Area(x + (columns - wide) // 2, y + 1, wide, height - 2), cup)
    if cup.is_open and cup.dice:
        _dice(canvas, Area(x, bottom, columns, 1), cup.dice)
    elif letters and not cup.is_open:
        _letters(canvas, board, seat, Area(x, bottom, columns, 1))
    elif not cup.is_half and state.awaits is not Expect.STAKES:
        left = count_of_dice(state.dice[seat])
        canvas.centre(x, bottom, columns, f" {left} " if canvas.theme.is_framed else left, bold=True)
    text, role, is_bold = (cup.note, cup.role, True) if cup.note else _note(board, scene, seat, columns)
    canvas.centre(x, y + height - 1, columns, text, role, bold=is_bold)


def _sides(canvas: Canvas, seat: int, area: Area, cup: Cup) -> None:
    """Draw a cup: filled, or only its edges if the terminal cannot show fills."""
    x, y, columns, height = area
    if canvas.theme.is_framed:
        if not cup.is_open:
            canvas.put(x, y, f"╭{'─' * (columns - 2)}╮", f"seat{seat}")
        for row in range(y + 1, y + height - (2 if cup.is_open else 1)):
            canvas.put(x, row, f"│{' ' * (columns - 2)}│", f"seat{seat}")
        if not cup.is_open and not cup.is_half:
            canvas.put(x, y + height - 1, f"╰{'─' * (columns - 2)}╯", f"seat{seat}")
        return
    ground = f"dim-seat{seat}"
    if cup.is_open:
        canvas.put(x + 1, y + height - 2, "▀" * (columns - 2), ground)
    elif cup.is_half:
        canvas.fill(x + 1, y, columns - 2, 1, ground)
        canvas.fill(x, y + 1, columns, height - 2, ground)
        canvas.put(x, y + height - 1, "▀" * columns, ground)
    else:
        canvas.put(x + 1, y, "▄" * (columns - 2), ground)
        canvas.fill(x, y + 1, columns, height - 1, ground)


def _dice(canvas: Canvas, area: Area, dice: Sequence[tuple[int, DieLook]]) -> int:
    """Draw the dice of an open cup, centred in a row, and return the column after them."""
    across, gap = next((size for size in _TILES if len(dice) * sum(size) - size[1] <= area.width), _TILES[-1])
    x = area.x + max((area.width - len(dice) * (across + gap) + gap) // 2, 0)
    for face, kind in dice[: area.width // (across + gap) + 1]:
        if x + across > area.x + area.width:
            canvas.put(area.x + area.width - 1, area.y, "…")
            break
        if across > 1:
            canvas.tile(x, area.y, face, kind, across)
        else:
            canvas.put(x, area.y, str(face), on=kind, bold=kind == "counts", underline=kind == "counts")
        x += across + gap
    return x


def _letters(canvas: Canvas, board: Board, seat: int, area: Area) -> None:
    """Draw each die in a cup as the letter of its mote. A die dealt to another player also has that player's mark."""
    state = board.begun
    assert state.motes is not None
    dice = state.motes.cups[seat]
    is_wide = len(dice) * 4 - 1 <= area.width
    pitch = 4 if is_wide else 2
    x = area.x + max((area.width - len(dice) * pitch + 1) // 2, 0)
    for die in dice:
        letter = POWERS[die.mote].letter
        owner = canvas.theme.mark(die.seat) if die.seat != seat else ""
        if not is_wide:
            canvas.put(x, area.y, letter, on=die.mote, bold=True)
        elif canvas.theme.ground_of(die.mote):
            canvas.put(x, area.y, f" {letter}{owner or ' '}", on=die.mote, bold=True)
        else:
            canvas.put(x, area.y, f"[{letter}]" if not owner else f"[{letter}{owner}", bold=True)
        x += pitch


def _rows(canvas: Canvas, board: Board, scene: Scene, seat: int, area: Area, cup: Cup) -> None:
    """Draw a player in two rows: the plate with the number of dice, then the last bid or the dice."""
    state = board.begun
    x, y, columns, _ = area
    dice = state.dice[seat]
    is_long = columns < 18 or width(board.seating.names[seat]) > columns - 11
    plate(canvas, board, seat, area, str(dice) if is_long else count_of_dice(dice))
    text, role, is_bold = (cup.note, cup.role, True) if cup.note else _note(board, scene, seat, columns)
    if cup.is_open and cup.dice:
        _dice(canvas, Area(x, y + 1, columns, 1), cup.dice)
    elif state.motes is not None and state.motes.cups and not cup.is_open:
        _letters(canvas, board, seat, Area(x, y + 1, len(state.motes.cups[seat]) * 2, 1))
        canvas.right(x + columns, y + 1, cut(text, columns - 11), role, bold=is_bold)
    elif columns >= 18 or dice > _FEW or not state.live or seat not in state.live:
        canvas.centre(x, y + 1, columns, text, role, bold=is_bold)
    else:
        is_narrow = columns < 15
        end = canvas.put(x + (not is_narrow), y + 1, "■" * dice, f"seat{seat}")
        end = canvas.put(end, y + 1, "·" * (state.ruleset.dice - dice), "faint")
        end += 1 if is_narrow else 2
        text = text if text != "thinking" else "…" if is_narrow else "thinks"
        text = text.removesuffix(" ◀") if width(text) > x + columns - end else text
        canvas.put(end, y + 1, cut(text, x + columns - end), role, bold=is_bold)


_FEW: Final = 5
"""Maximum dice to draw one by one in a row."""


def _words(canvas: Canvas, board: Board, scene: Scene, seat: int, area: Area) -> None:
    """Draw a player's mark, name and number of dice in one row."""
    state = board.begun
    x, y, columns, _ = area
    is_turn = seat == state.turn and board.over is None
    left = str(state.dice[seat])
    dice = left if seat in state.live else f"{left} out" if state.dice[seat] and columns >= 12 else "out"
    told = board.seating.names[seat]
    name = cut(told, max(columns - len(dice) - 4, 0))
    mark = canvas.theme.mark(seat)
    if columns < 8:
        name = cut(told, max(columns - len(dice) - 2, 0)) if columns > 4 else ""
        canvas.put(canvas.put(x, y, mark + name, f"seat{seat}", bold=True), y, dice, bold=is_turn)
        return
    end = canvas.put(x, y, f"{mark} {name} ", f"seat{seat}", bold=True, underline=is_turn)
    end = canvas.put(end, y, dice, bold=True)
    _, role, _ = _note(board, scene, seat, columns)
    if role in ("warn", "bad") and seat in state.live:
        canvas.put(end, y, " !", role, bold=True)


def _seen(board: Board, seat: int) -> Cup:
    """Return the cup of a seat before the showdown. It is open if a spectator sees its dice."""
    if seat == board.me or not (hand := board.hands.get(seat)) or board.state is None:
        return Cup(is_open=False)
    bid = board.state.bid
    return Cup(
        True, dice=tuple((face, "counts" if bid and counts_for(board, face, bid.face) else "die") for face in hand)
    )


def _note(board: Board, scene: Scene, seat: int, columns: int) -> tuple[str, str, bool]:
    """Return the note below a cup in the longest form that fits, its role, and whether it is bold."""

    def fit(*forms: str) -> str:
        return next((form for form in forms if width(form) <= columns), forms[-1])

    state = board.begun
    fingerprint = board.players[seat].fingerprint if seat < len(board.players) else ""
    if fingerprint in board.cheats:
        return fit("broke the rules, proven", "broke the rules"), "bad", True
    if seat not in state.live:
        return "out", "quiet", False
    since = f" {time_left(scene.away[fingerprint])}" if fingerprint in scene.away else ""
    if fingerprint in board.away:
        is_gone = fingerprint in board.gone
        return fit(*([] if is_gone else [f"! not answering{since}"]), f"! away{since}"), "warn", True
    if any(each.fingerprint == fingerprint for each in board.absent):  # connected but too slow, or not back yet
        return fit(f"! no answer yet{since}", f"! late{since}"), "warn", True
    if state.awaits is Expect.STAKES:
        return ("sealed ✓", "good", True) if fingerprint in scene.given else ("thinking", "quiet", False)
    if state.motes is not None and (lasting := [each for each in state.motes.lasting if each.seat == seat]):
        return ", ".join(each.mark for each in lasting), "good" if lasting[0].is_good else "bad", True
    bid = next((each for each in reversed(state.bids) if each.seat == seat), None)
    if bid is not None:
        stands = bid is state.bids[-1]
        return f"{bid.quantity}×{bid.face}{' ◀' if stands else ''}", f"seat{seat}" if stands else "quiet", stands
    return ("thinking", "quiet", False) if seat == state.turn else ("", "quiet", False)
