"""The picture of a table: a pure function of a board, a scene and a size that returns a canvas.

From the top: the title; the seats; the felt; the reader's hand, with the choices beside it; the talk; the band, which
says whose move is awaited; the key bar; a second row for replies; an empty row for the input line. There are five size
classes. Spare rows go to the talk first, then to the felt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from cli.render import escape
from cli.rulesets import called
from cli.table import lobby, showdown
from cli.table.canvas import Area, Canvas, broken, cut, width
from cli.table.felt import bids_so_far, draw_felt, is_staking
from cli.table.hand import LADDER, draw_chooser, draw_hand, draw_strip, draw_verdict
from cli.table.scene import MARGIN, Talk
from cli.table.seats import CARD, count_of_dice, others, seats
from cli.text.narrate import time_left
from cli.text.narrate_game import window
from protocol.events import YourTurn

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.scene import Choice, Dialog, Scene, TextPage
    from cli.table.showdown import Cup
    from cli.table.theme import Theme

_Row = tuple[str, "Choice | None"]
"""A row of a dialog, and the choice on it, if any."""

_WIDEST: Final = 64
"""Maximum columns of a dialog, so that a line can be read at a glance."""
FOOT: Final = 4
"""Rows at the bottom: the band, the key bar, the second row of a reply, and the input line."""
CLASSES: Final = {"XL": (150, 46), "L": (110, 34), "M": (80, 24), "S": (60, 18), "XS": (40, 12)}
"""Minimum columns and rows of each size class."""
_MOST_TALK: Final = 8
"""Rows that the talk below the table gets before the felt becomes higher."""
_MOST_FELT: Final = 16
HURRY: Final = 10
"""Seconds left to the reader at which the clock is highlighted and the bell may ring."""
_LEAST, _LEAST_SMALL = 5, 13
"""Minimum rows of the smallest layout, and of the layout with seats of two rows."""
_SAYS: Final = 3
"""Maximum rows of one chat message."""
_KEY_NAMES: Final = {"←→↑↓": "arrows", "←→": "left/right", "↑↓": "up/down", "←": "left", "→": "right"}
"""Names of keys in ASCII."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """The layout of a table. The area of a part that does not fit is None."""

    size: str
    seats: Mapping[int, Area]
    felt: Area
    has_edges: bool
    hand: Area
    chooser: Area | None
    talk: Area | None
    is_aside: bool = False
    """Whether the talk has a column of its own."""
    bubble: Area | None = None
    """The area for Coach's words in a lesson."""


def picture(board: Board, scene: Scene, columns: int, rows: int, theme: Theme) -> Canvas:
    """Return the picture of a table.

    :param rows: all rows of the terminal, including the one where the line is typed.
    """
    canvas = Canvas(columns, rows, theme)
    size = size_of(columns, rows)
    is_tiny = size == "tiny"
    band = rows - (2 if is_tiny else FOOT)
    body = Area(0, min(1, band), columns, max(band - 1, 0))
    if scene.page is not None:
        draw_page(canvas, scene.page)
    else:
        _title(canvas, board, scene, size)
        _body(canvas, board, scene, size, body)
        if scene.dialog is not None:
            draw_dialog(canvas, scene.dialog, body)
    _band(canvas, scene, band, has_clock=size != "XS")
    if not is_tiny:
        _keys(canvas, scene, band + 1, size)
    return canvas


def size_of(columns: int, rows: int) -> str:
    """Return the largest size class that fits; ``tiny`` if none does."""
    return next((name for name, (wide, high) in CLASSES.items() if columns >= wide and rows >= high), "tiny")


def _body(canvas: Canvas, board: Board, scene: Scene, size: str, area: Area) -> None:
    if board.over is not None or board.state is None or not board.seating.names:
        left = (lobby.end_card if board.over is not None else lobby.lobby)(canvas, board, scene, area)
        ruled = 2 if board.over is None else 3  # on a full end card, the last summary needs the row of the rule
        if left.height >= ruled and scene.talk:
            _ruled(canvas, scene, left)
        elif left.height and scene.talk and size != "tiny":
            talk(canvas, scene, Area(1, left.y, left.width - 2, left.height))
        elif size != "tiny":
            _newest(canvas, scene)
    elif size == "tiny":
        _tiny(canvas, board, scene, area)
    else:
        grid = _grid(board, size, area)
        _match(canvas, board, scene, _taught(scene, grid, board, area) if scene.coach else grid)


def _match(canvas: Canvas, board: Board, scene: Scene, grid: _Grid) -> None:
    cups = showdown.cups(board, scene.motion) if showdown.is_on(board) else {}
    seats(canvas, board, scene, grid.seats, cups)
    felt = grid.felt
    staking = is_staking(board)
    if staking and not grid.is_aside:  # there are no dice to draw yet
        felt = felt._replace(height=grid.hand.y + grid.hand.height - felt.y)
    if grid.has_edges:
        canvas.felt(felt)
        felt = felt._replace(y=felt.y + 1, height=felt.height - 2)
    draw_felt(canvas, board, scene, felt)
    if not staking:
        _own(canvas, board, scene, grid, cups)
    if grid.bubble is not None:
        _bubble(canvas, scene, grid.bubble)
    if grid.talk is not None:
        if grid.is_aside:
            _aside(canvas, board, scene, grid.talk)
        else:  # the talk: under a horizontal rule or, beside the reader's dice, without one
            (talk if grid.talk.x else _ruled)(canvas, scene, grid.talk)
    else:
        _newest(canvas, scene)


def _own(canvas: Canvas, board: Board, scene: Scene, grid: _Grid, cups: Mapping[int, Cup]) -> None:
    """Draw the reader's dice or a strip in their place, and beside them the choices or the verdict."""
    mine = cups.get(board.me) if board.me is not None else None
    kinds = [kind for _, kind in mine.dice] if mine is not None and mine.is_open else []
    strip, chooser = scene.strip, grid.chooser
    if board.me is not None:
        draw_hand(canvas, board, scene, grid.hand, kinds, mine.note if mine is not None else "")
    elif strip is not None:
        has_verdict = showdown.words(board) is not None
        wide = grid.hand.width if has_verdict or chooser is None else chooser.x + chooser.width - grid.hand.x
        draw_strip(canvas, strip, grid.hand._replace(width=wide))
        chooser = chooser if has_verdict else None
    if chooser is None:
        return
    if strip is not None and not showdown.is_on(board):
        draw_strip(canvas, strip, chooser)
    elif showdown.is_on(board) and not showdown.is_siding(board) and not (board.turn is not None and scene.moves):
        draw_verdict(canvas, board, chooser)
    else:
        draw_chooser(canvas, board, scene, chooser)


# The grid


def _grid(board: Board, size: str, area: Area) -> _Grid:
    if size in ("L", "XL"):
        return _wide_grid(board, size, area)
    if size == "M":
        return _middle_grid(board, area)
    return _small_grid(board, area) if size == "S" else _smallest_grid(board, area)


def _taught(scene: Scene, grid: _Grid, board: Board, area: Area) -> _Grid:
    """Return the layout of a lesson, in which all of Coach's words fit beside Coach's card or above the table."""
    (seat, card), *_ = grid.seats.items()
    if card.height >= CARD:
        x, wide = area.x + 1, 25
        right = min(x + 78, area.x + area.width)
        places = {seat: card._replace(x=x, width=wide)}
        return replace(
            grid, seats=places, talk=None, bubble=Area(x + wide + 5, card.y, right - x - wide - 6, card.height)
        )
    need = len(_words(scene, area.width))
    bubble = area._replace(height=need)
    left = area._replace(y=area.y + need, height=area.height - need)
    if left.height >= _LEAST_SMALL and grid.size == "S":
        grid = _small_grid(board, left)
    elif left.height >= _LEAST:
        grid = _smallest_grid(board, left)
    else:  # the window is too low for anything else; the band still asks for the move
        hand = Area(left.x + 1, left.y + left.height - 1, left.width - 2, 1)
        felt = hand._replace(y=left.y, height=min(max(left.height - 1, 0), 2))
        grid = _Grid("XS", {}, felt, False, hand, None, None)
    return replace(grid, talk=None, bubble=bubble)


def _words(scene: Scene, columns: int) -> list[str]:
    """Return Coach's words, wrapped to fit to the right of a vertical bar."""
    return wrap(scene.coach, columns - 3)


def _bubble(canvas: Canvas, scene: Scene, area: Area) -> None:
    canvas.fill(area.x, area.y, area.width, area.height, "plate")
    for row in range(area.height):
        canvas.put(area.x, area.y + row, "▎", "seat1", "plate")
    for row, text in enumerate(_words(scene, area.width)[: area.height]):
        canvas.put(area.x + 2, area.y + row, text, "text", "plate")


def _wide_grid(board: Board, size: str, area: Area) -> _Grid:
    """Return a layout with cards around the felt, and the talk beside the table."""
    table, card, own = (116, 26, 9) if size == "XL" else (82, 18, 5)
    panel = min(46 if size == "XL" else 34, area.width - table - 4)
    x = max((area.width - table - panel - 3) // 2, 1) if size == "XL" else 1
    panel = min(panel, area.width - x - table - 3) if size == "XL" else area.width - x - table - 3
    top = area.y + (area.height > 34)
    below = max(own, 7) + (area.height > 32)
    felt = Area(x + card + 1, top + 6, table - 2 * card - 2, area.y + area.height - below - top - 6)
    y = felt.y + felt.height + (area.height > 32)
    chooser = Area(x + table - 37, y - (own == 5 and area.height > 32), LADDER, 7)
    return _Grid(
        size,
        dict(_around(others(board), Area(x, top, table, felt.height + 6), card, size)),
        felt,
        True,
        Area(x, y + (own == 5), table - 42, own),
        chooser,
        Area(x + table + 3, area.y + 1, panel, area.height - 1),
        is_aside=True,
    )


def _around(seated: Sequence[int], area: Area, card: int, size: str) -> Iterator[tuple[int, Area]]:
    """Yield an area for each seat: in the order of play, up the left side, along the top, and down the right."""
    side = 0 if len(seated) < 2 else 1 if len(seated) < 6 else 2
    left, top, right = seated[:side], seated[side : len(seated) - side], seated[len(seated) - side :]
    step = min(6, (area.height - 8) // 2)
    for place, seat in enumerate(reversed(left)):
        yield seat, Area(area.x, area.y + 8 + place * step, card, 5)
    for place, seat in enumerate(right):
        yield seat, Area(area.x + area.width - card, area.y + 8 + place * step, card, 5)
    if top:
        wide = min(card + 4 if size == "L" else 25, area.width // len(top) - 1)
        x = area.x + (area.width - len(top) * (wide + 1) + 1) // 2
        for place, seat in enumerate(top):
            yield seat, Area(x + place * (wide + 1), area.y, wide, 5)


def _middle_grid(board: Board, area: Area) -> _Grid:
    """Return a layout with cards in a row above the felt. Many players get two rows each, without cups."""
    seated = others(board)
    is_crowd = len(seated) > 5
    spare = area.height - 19
    talk = min(spare, _MOST_TALK)
    felt = (6 if is_crowd else 7) + min(spare - talk, _MOST_FELT - 7)
    if is_crowd:
        places = _in_rows(seated, area, 2, 3)
        y = area.y + 6
    else:
        places = _in_rows(seated, area, CARD, CARD)
        y = area.y + CARD
    hand = Area(area.x + 1, y + felt, 39, 5)
    end = area.y + area.height
    chooser = Area(area.x + 42, hand.y, min(area.width - 43, 37), 5)
    if not is_crowd:
        return _Grid("M", places, Area(area.x, y, area.width, felt), True, hand, chooser, _under(area, hand.y + 5, end))
    if board.turn is None and board.showdown is None and not showdown.is_on(board):
        beside = Area(area.x + 42, hand.y, area.width - 43, end - hand.y)
        return _Grid("M", places, Area(area.x, y, area.width, felt), True, hand, None, beside)
    return _Grid("M", places, Area(area.x, y, area.width, felt), True, hand, chooser, _under(area, hand.y + 5, end))


def _under(area: Area, y: int, end: int) -> Area | None:
    """Return the area for a horizontal rule and the talk below it; None if it does not fit."""
    return Area(area.x, y, area.width, end - y) if end - y >= 2 else None


def _in_rows(seated: Sequence[int], area: Area, height: int, pitch: int) -> dict[int, Area]:
    """Return the area of each seat, with at most five seats in a row."""
    across = min(len(seated), 5)
    if not across:
        return {}
    gap = 2 if across < 4 and area.width >= 80 else 1
    wide = min(
        (area.width - 1 - gap * (across - 1)) // across, 30 if (across < 4 and area.width > 80) or across == 1 else 25
    )
    x = area.x + (area.width - across * (wide + gap) + gap + 1) // 2
    return {
        seat: Area(x + place % across * (wide + gap), area.y + place // across * pitch, wide, height)
        for place, seat in enumerate(seated)
    }


def _small_grid(board: Board, area: Area) -> _Grid:
    """Return a layout with plates above the felt, and each player's last bid below their plate."""
    seated = others(board)
    spare = area.height - 13
    places = _in_rows(seated, area, 2, 2)
    y = area.y + (4 if len(seated) > 5 else 2)
    spare -= y - area.y - 2
    felt = Area(area.x, y, area.width, 5 + max(min(spare - _MOST_TALK, 4), 0))
    hand = Area(area.x + 1, y + felt.height, 39, 4)
    chooser = Area(area.x + 42, hand.y, area.width - 43, 4)
    return _Grid("S", places, felt, True, hand, chooser, _under(area, hand.y + 4, area.y + area.height))


def _smallest_grid(board: Board, area: Area) -> _Grid:
    """Return a layout that has words for everything except the reader's dice, which are tiles."""
    seated = others(board)
    across = max(min(len(seated), area.width // 13), 1)
    lines = -(-len(seated) // across)
    wide = min((area.width - 1) // across, 16)
    places = {
        seat: Area(area.x + 1 + place % across * wide, area.y + place // across, wide - 1, 1)
        for place, seat in enumerate(seated)
    }
    spare = area.height - lines - 4
    y, end = area.y + lines + (spare > 0), area.y + area.height
    felt = Area(area.x + 1, y, area.width - 2, 2)
    hand = Area(area.x + 1, y + 2 + (spare > 1), area.width - 2, 1)
    high = 3 if board.turn is not None and end - hand.y > 4 else 1
    chooser = Area(area.x + 1, min(hand.y + 1, end - 1), area.width - 2, high)
    return _Grid("XS", places, felt, False, hand, chooser, _under(area, chooser.y + high, end))


def _tiny(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the bid, the reader's dice and how many dice the others have in words, then Coach's words or the talk."""
    state = board.begun
    y, end = 0, area.y + area.height
    felt = Area(0, y, canvas.width, 1 if end < 6 else 2)
    draw_felt(canvas, board, scene, felt)
    if showdown.words(board) is not None:
        draw_verdict(canvas, board, Area(0, y + felt.height - 1, canvas.width, 1))
    y += felt.height
    draw_hand(canvas, board, scene, Area(0, y, canvas.width, 1))
    x = 0
    for seat in others(board):
        mark = f"{canvas.theme.mark(seat)}{state.dice[seat]}"
        x = canvas.put(x, y + 1, mark, f"seat{seat}", bold=seat == state.turn)
        x += canvas.width >= 3 * len(board.seating.names)
    if scene.coach:
        _bubble(canvas, scene, Area(0, y + 1, canvas.width, max(end - y - 1, 0)))
    elif end - y > 3:
        _ruled(canvas, scene, Area(0, y + 2, canvas.width, end - y - 2))


# The parts


def _title(canvas: Canvas, board: Board, scene: Scene, size: str) -> None:
    if size == "tiny":
        return
    state = board.state
    gap = "  " if size in ("S", "XS") else "   "
    parts = []
    if board.ruleset is not None and size != "XS":
        parts.append(escape(board.ruleset.name or board.rules_name or called(board.ruleset)))
    is_match = state is not None and bool(board.seating.names) and board.over is None
    right = []
    if scene.lesson:
        right.append(scene.lesson if size != "XS" else scene.lesson.removeprefix("step ").replace("   ", "  "))
    elif is_match and state is not None:
        parts.append(f"round {board.round}")
        if state.motes is not None and state.motes.prize is not None and size == "XS":
            parts.append(window(state) or state.phase)
        elif state.motes is not None and state.motes.prize is not None and size != "S":
            parts.append(f"prize {state.motes.prize.capitalize()}")
        if size not in ("S", "XS"):
            right.append(count_of_dice(sum(state.dice)))
    elif board.over is not None:
        parts.append("match over")
    elif board.claimed is not None:
        parts.append("claimed")
    else:
        parts.append("lobby")
        if board.seats:
            right.append(f"{len(board.players)} of {board.seats} seats taken")
    if scene.steps and size != "XS":
        right.append(f"✓ {scene.steps}" + " steps signed" * (size != "S"))
    if scene.verdict:
        fair = "✓ fair" if size in ("S", "XS") else "✓ fair: every roll and signature holds"
        right = [fair if scene.verdict == "fair" else f"! {scene.verdict}"]
    if board.watchers and size not in ("S", "XS"):
        right.append(f"{len(board.watchers)} watching")
    if scene.score and size in ("L", "XL"):
        right.append(scene.score)
    if size == "XS" and scene.seconds is not None:
        right = [time_left(scene.seconds)]
    canvas.fill(0, 0, canvas.width, 1, "bar")
    x = 1 if canvas.theme.is_ascii else canvas.put(1, 0, "⚄ ", "counts", bold=True)
    after = "".join(gap + part for part in parts)
    while right and x + 12 + width(after) + len(gap.join(right)) + 2 > canvas.width:
        right.pop()
    start = canvas.right(canvas.width - 1, 0, gap.join(right)) if right else canvas.width
    name = cut(escape(board.name) or "p2pdice", max(start - x - width(after) - 1, 8))
    x = canvas.put(x, 0, name, bold=True)
    canvas.put(x, 0, cut(after, start - x - 1))


def _ruled(canvas: Canvas, scene: Scene, area: Area) -> None:
    """Draw a horizontal rule, and the talk below it."""
    x, y, columns, height = area
    if height < 2:
        return
    label = "── talk " if scene.talk else ""
    canvas.put(x, y, cut(label + "─" * columns, columns).replace("…", "─"), "faint")
    canvas.put(x + 3, y, label[3:-1], "quiet")
    talk(canvas, scene, Area(x + 1, y + 1, columns - 2, height - 1))


def _aside(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the bids of the round, then the talk, in a column beside the table."""
    x, y, columns, height = area
    for row in range(1, y + height):
        canvas.put(x - 2, row, "│", "faint")
    state = board.begun
    is_showdown = showdown.is_on(board)
    if state.bids or is_showdown:
        number = board.round
        canvas.put(x, y, f"Round {number}{' so far' * (not is_showdown)}", bold=True)
        y = bids_so_far(canvas, board, scene, Area(x, y + 1, columns, min(height // 2, 12))) + 1
    canvas.put(x, y, f"── talk {'─' * columns}"[:columns], "faint")
    canvas.put(x + 3, y, "talk", "quiet")
    talk(canvas, scene, Area(x, y + 1, columns, area.y + height - y - 1))


def talk(canvas: Canvas, scene: Scene, area: Area) -> None:
    """Draw as much of the latest talk as fits."""
    told: list[tuple[Talk, str, str]] = []
    for said in reversed(scene.talk):
        told[:0] = _said(said, area.width, area.height)
        if len(told) >= area.height:
            break
    for row, (said, head, text) in enumerate(told[max(len(told) - area.height, 0) :]):
        role = "text" if said.name else "quiet"
        end = canvas.put(area.x, area.y + row, head, said.role, bold=bool(said.name))
        canvas.put(end, area.y + row, text, role)


def _newest(canvas: Canvas, scene: Scene) -> None:
    """Draw the newest entry of the talk in the second row of replies, for windows without room for more talk."""
    if not scene.talk or len(scene.reply) > 1:
        return
    ((said, head, text),) = _said(scene.talk[-1], canvas.width - 2, 1)
    end = canvas.put(1, canvas.height - 2, head, said.role, bold=bool(said.name))
    canvas.put(end, canvas.height - 2, text, "quiet")


def _said(said: Talk, columns: int, most: int) -> list[tuple[Talk, str, str]]:
    """Return at most ``most`` rows for one entry of the talk, as (entry, prefix, text)."""
    head = f"{cut(said.name, max(columns // 2, 1))}: " if said.name else "· "
    indent = width(head)
    told = [row for line in said.text.split("\n") for row in broken(line, max(columns - indent, 8))]
    most = min(most, _SAYS) if said.name else most
    if len(told) > most:
        told = [*told[: most - 1], cut(told[most - 1] + " …", columns - indent)]
    return [(said, " " * indent if row else head, text) for row, text in enumerate(told)]


def _band(canvas: Canvas, scene: Scene, y: int, *, has_clock: bool) -> None:
    band = scene.band
    ground = band.tone if band.tone.startswith("seat") else f"band-{band.tone}"
    ground = "plate" if band.tone == "quiet" else ground
    is_alarm = scene.is_pressing and scene.seconds is not None and scene.seconds <= HURRY
    ink = "text"
    if band.tone.startswith("seat") and scene.motion.stage(YourTurn) == 0:
        ground, ink = "plate", ground
    canvas.fill(0, y, canvas.width, 1, ground)
    time = time_left(scene.seconds) if scene.seconds is not None and has_clock else ""
    end = canvas.width - 1
    if time:
        on = "band-wrong" if is_alarm else None
        end = canvas.right(end, y, f" {time} " if is_alarm else time, ink, on, bold=True) - 2
    if band.right and width(band.right) + width(band.text) + 4 <= end:
        end = canvas.right(end, y, band.right, ink, bold=True) - 1
    said = band.text
    if width(said) > end - 1:
        _, _, said = said.partition("Your turn: ") if said.startswith("Your turn: ") else ("", "", said)
        said = said[:1].upper() + (said[1:] if width(said) < end else said[1:].replace(", or call it", ""))
    canvas.put(1, y, _whole(said, end - 1), ink, bold=True)


def _whole(said: str, columns: int) -> str:
    """Return as many whole sentences as fit; if not even the first fits, cut it."""
    start = said if width(said) <= columns else said[: len(cut(said, columns - 1))].rpartition(". ")[0]
    return said if start == said else f"{start}. …" if start else cut(said, columns)


def _keys(canvas: Canvas, scene: Scene, y: int, size: str) -> None:
    if scene.reply:
        for row, text in enumerate(scene.reply[:2]):
            canvas.put(1, y + row, cut(text, canvas.width - 2))
        return
    is_plain = canvas.theme.is_ascii or size == "XS"
    names = [_KEY_NAMES.get(key, key) if canvas.theme.is_ascii else key for key, _ in scene.keys]
    form = "[{}]" if canvas.theme.is_ascii else "{}" if is_plain else " {} "
    bar = [(form.format(name), f" {text}" if text else "") for name, (_, text) in zip(names, scene.keys, strict=True)]
    x, way = 1, 2 + width(bar[-1][0]) if scene.keys and scene.keys[-1][0] == "?" else 0
    for place, (name, text) in enumerate(bar):
        is_last = place == len(bar) - 1
        if is_last and way and x + width(name + text) > canvas.width:
            text = ""  # help lists all other keys, so its own key must always fit
        if x + width(name + text) + (0 if is_last else way) <= canvas.width:
            x = canvas.put(canvas.put(x, y, name, on="" if is_plain else "key", bold=True), y, text) + 2


# Dialogs and pages


def draw_dialog(canvas: Canvas, dialog: Dialog, area: Area) -> None:
    """Draw a dialog in the middle of an area. If there are too few rows, omit the notes of choices, then lines."""
    x, y, columns, height = area
    inner = min(_WIDEST, columns - 2) - 4
    shown = _dialog_rows(dialog, inner, height - 2)
    left, top = x + (columns - inner - 4) // 2, y + max((height - len(shown) - 2) // 2, 0)
    canvas.fill(left, top, inner + 4, len(shown) + 2, "plate")
    canvas.frame(left, top, inner + 4, len(shown) + 2, dialog.tone, "plate")
    canvas.put(left + 2, top, f" {cut(dialog.title, inner - 2)} ", dialog.tone, "plate", bold=True)
    for place, (text, choice) in enumerate(shown, top + 1):
        if choice is None:
            canvas.put(left + 2, place, cut(text, inner), "quiet", "plate")
            continue
        is_picked = choice is dialog.choices[dialog.picked % len(dialog.choices)]
        ground = "sel" if is_picked else "plate"
        canvas.fill(left + 1, place, inner + 2, 1, ground)
        after = canvas.put(left + 2, place, "▸ " if is_picked else "  ", "text", ground, bold=True)
        after = canvas.put(after, place, choice.key, "text", ground, bold=True, underline=True)
        canvas.put(after, place, cut(f"  {choice.text}", inner - 3), "text", ground, bold=True)


def _dialog_rows(dialog: Dialog, inner: int, height: int) -> list[_Row]:
    told: list[_Row] = [(row, None) for text in dialog.lines for row in broken(text, inner)]
    choices: list[_Row] = [(each.text, each) for each in dialog.choices]
    noted: list[_Row] = []
    for each in dialog.choices:
        noted.append((each.text, each))
        noted += [(f"     {row}", None) for row in broken(each.note, inner - 5) if row]
    gap: list[_Row] = [("", None)]
    spaced = [*told, *gap] if told else []
    for found in ([*gap, *spaced, *noted, *gap], [*spaced, *noted], [*told, *noted], [*told, *choices]):
        if len(found) <= height:
            return found
    return [*told[: max(height - len(choices), 0)], *choices][:height]


def page_size(columns: int, lines: int) -> tuple[int, int]:
    """Return the columns and lines of a page's text, on a terminal of this size."""
    return columns - MARGIN, max(lines - 5, 1)


def page_rows(page: TextPage, columns: int) -> list[str]:
    """Return the lines of a page, wrapped for a screen of this width."""
    return [row for text in page.lines for row in broken(text, columns - MARGIN)]


def draw_page(canvas: Canvas, page: TextPage) -> None:
    """Draw a page over the whole canvas except the last four rows (see :data:`FOOT`)."""
    _, room = page_size(canvas.width, canvas.height)
    told = page_rows(page, canvas.width)
    canvas.fill(0, 0, canvas.width, canvas.height - FOOT, "")
    canvas.fill(0, 0, canvas.width, 1, "bar")
    first = min(max(page.at, 0), max(len(told) - room, 0))
    pages = -(-len(told) // room)
    where = f"page {min(-(-first // room) + 1, pages)} of {pages} " if pages > 1 else ""
    canvas.put(1, 0, cut(page.title, canvas.width - width(where) - 3), "text", "bar", bold=True)
    canvas.right(canvas.width, 0, where, "text", "bar")
    for place, row in enumerate(told[first : first + room], 1):
        canvas.put(1, place, row)
