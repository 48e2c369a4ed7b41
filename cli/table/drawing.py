"""The picture of a table: a board and a person's view of it, as lines for a terminal of any size. No I/O.

From the top: a header; the players with the bid beside them, or with their open cups; one's own dice, or the verdict;
with motes, the graveyard; the log; the player on turn; a hint. The line being typed stands below and is not drawn here.
On a wide terminal the log has a column of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cli.render import capital, counted, escape
from cli.table import answers, lobby, palette, pieces
from cli.table.fragments import Line, as_ascii, bar, beside, cut, filled, fitted, rows, text, width, with_more
from cli.text.choices import example_stake
from cli.text.narrate import question
from p2pdice import Stake

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.palette import Glyphs

WIDE: Final = 110
"""Columns from which on the log stands beside the table."""
_SMALLEST: Final = (40, 10)
"""Columns and lines below which there is nothing but the log."""
_LOG: Final = 3
"""Lines that the log gets at least."""
_HURRY: Final = 10
"""Seconds left at which the clock begins to alarm, if the others can go on without a late player."""
_TITLE: Final = 8
"""Columns down to which the name of a table is cut, so that the id of the match is whole."""
_SIDE: Final = 15
"""Columns of the bid, or of the cups, at least."""
_ASIDE: Final = 96
"""The most columns of the table if the log stands beside it."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """The progress of a step: signatures given, and signatures needed."""

    label: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Sight:
    """A person's view of a table, besides the board."""

    log: Sequence[str] = ()
    """The sentences that were told, the last at the end."""
    back: int = 0
    """Lines that the log is scrolled back."""
    with_odds: bool = True
    hint: str = ""
    """What the line would do, or which keys are of use."""
    page: tuple[str, ...] | None = None
    """A text that covers the table until a key is pressed."""
    steps: int | None = None
    """Steps of the match that are verified."""
    gauge: Gauge | None = None
    seconds: int | None = None
    """Seconds left to the awaited player."""
    is_pressing: bool = True
    """When no time is left, the others go on without them."""
    score: str = ""
    """The score of the evening."""
    is_holding: bool = False
    """The table lags behind the match."""
    can_start: bool = True
    """The reader plays: they do not only watch."""
    after: str = ""
    """The words that are of use after a match."""


def picture(board: Board, sight: Sight, columns: int, lines: int, glyphs: Glyphs) -> list[Line]:
    """Return exactly ``lines`` lines, none of them wider than ``columns``."""
    shown = _table(board, sight, columns, lines, glyphs) if sight.page is None else _page(board, sight, columns, lines)
    whole = [fitted(line, columns) for line in (*shown, *[[]] * lines)][:lines]
    return [as_ascii(line) for line in whole] if glyphs.is_ascii else whole


def log_height(board: Board, columns: int, lines: int) -> int:
    """Return how many lines of the log are in sight at least: an answer longer than that needs a page of its own."""
    return max(lines - 4, _LOG) if _is_log_aside(board, columns) else _LOG + (lines >= 24) * 2


def _is_log_aside(board: Board, columns: int) -> bool:
    return columns >= WIDE and bool(board.match)


def page_size(columns: int, lines: int) -> tuple[int, int]:
    """Return the columns and lines of the text on a page, in a picture of this size."""
    return columns - 2, lines - 2


def _table(board: Board, sight: Sight, columns: int, lines: int, glyphs: Glyphs) -> list[Line]:
    foot = [_status(board, sight, columns, glyphs), text(sight.hint, palette.QUIET)]
    if columns < _SMALLEST[0] or lines < _SMALLEST[1]:
        return [*_log(sight, columns, lines - len(foot), glyphs, 0), *foot]
    head = [_header(board, sight, columns)]
    room = lines - len(head) - len(foot)
    if _is_log_aside(board, columns):
        left = min(columns * 3 // 5, _ASIDE)
        body = _body(board, sight, left, room, glyphs)
        aside = _log(sight, columns - left - 3, room, glyphs, 0)
        return [*head, *beside([*body, *[[]] * (room - len(body))], aside, left, f" {glyphs.bar} "), *foot]
    people = len(board.seating.names)
    height = max(room - _LOG - 1, min(people + 1, room - 2))  # the log gives way to the players and one's own dice
    body = _body(board, sight, columns, height, glyphs)
    is_short = _is_match(board) and not _mischief(board, columns, height)
    title = pieces.motes_in_short(board) if is_short else ""
    return [*head, *body, *_log(sight, columns, room - len(body), glyphs, 1, title), *foot]


def _header(board: Board, sight: Sight, columns: int) -> Line:
    parts = [board.name or "p2pdice"]
    if board.ruleset is not None:
        parts.append(board.ruleset.name or board.rules_name or "house rules")
    if board.state is not None and board.match:
        number = board.state.round if board.showdown is None else board.showdown.round
        parts.append(f"round {number}")
    if board.match:
        parts.append(f"match {board.match[:8]}")
    name, *rest = map(escape, parts)
    after = "".join(f"  {part}" for part in rest)
    right = f"{sight.steps} steps verified" if sight.steps else ""
    if width(text(name + after)) + len(right) + 4 > columns:
        right = right.replace("steps ", "")
    room = columns - len(right) - 3
    if (left := room - width(text(after)) - 1) >= _TITLE:
        name = cut(name, left)
    line = filled(text(f" {name}{after}", palette.HEADER), room, palette.HEADER)
    return [*line, (palette.HEADER, f"  {right} ")]


def _body(board: Board, sight: Sight, columns: int, height: int, glyphs: Glyphs) -> list[Line]:
    if board.over is not None:
        return lobby.places(board, columns, height, sight.score, sight.after)
    if not _is_match(board):
        return lobby.lobby(board, columns, height, can_start=sight.can_start)
    return _match(board, sight, columns, height, glyphs)


def _is_match(board: Board) -> bool:
    return board.over is None and board.state is not None and bool(board.seating.names)


def _mischief(board: Board, columns: int, height: int) -> list[Line]:
    """Return the lines for dice with powers; none if they do not fit below the players and one's own dice."""
    seats = len(board.seating.names)
    lines = pieces.motes(board, columns - 1, max(height - seats - 3, 2))
    return lines if seats + 1 + len(lines) <= height else []


def _match(board: Board, sight: Sight, columns: int, height: int, glyphs: Glyphs) -> list[Line]:
    assert board.state is not None
    seats = len(board.seating.names)
    mischief = _mischief(board, columns, height)
    spare = height - seats - len(mischief)
    top = max(seats, 5) if spare - max(5 - seats, 0) >= 1 else seats
    spare = height - top - len(mischief)
    own_height = 4 if spare >= 4 else max(spare, 1)
    left = max(columns * 11 // 20, min(36, columns - 3 - _SIDE))
    right = columns - left - 3
    shown = pieces.in_sight(board, min(height - own_height - len(mischief), seats))
    rows_of_all = pieces.players(board, left, glyphs)
    people = [rows_of_all[seat] for seat in shown]
    if board.showdown is not None:
        rows_of_all = pieces.cups(board.showdown, seats, right)
        side = [rows_of_all[seat] for seat in shown]
        own = pieces.judgement(board, columns - 1, own_height, glyphs)
    else:
        side = pieces.standing(board, right, top, glyphs, with_odds=sight.with_odds)[:top]
        own = pieces.own_dice(board, columns - 1, own_height, glyphs)
    block = beside([*people, *[[]] * (top - len(people))], side, left, f" {glyphs.bar} ")
    own += [[]] * (own_height - len(own))
    below = [[("", " "), *line] for line in (*own, *mischief)]
    below[0] = with_more(below[0], seats - len(shown), columns)
    return [*block[: height - len(below)], *below]


def _log(sight: Sight, columns: int, height: int, glyphs: Glyphs, ruled: int, title: str = "") -> list[Line]:
    """Return the end of the log, or an earlier part if it is scrolled back.

    :param title: of the rule above it, in place of "log", as long as it is not scrolled back.
    """
    room = height - ruled
    if room <= 0:
        return []
    told: list[str] = []
    for said in reversed(sight.log):
        told[:0] = rows(said, columns)
        if len(told) >= room + sight.back:
            break
    back = min(sight.back, max(len(told) - room, 0))
    shown = told[max(len(told) - room - back, 0) : len(told) - back]
    above = f"log (PageDown: {counted(back, 'newer line')})" if back else title or "log"
    label = f"{glyphs.rule * 2} {above} "
    rule = [text(label + glyphs.rule * (columns - len(label)), palette.QUIET)] if ruled else []
    return [*rule, *(text(line) for line in shown), *[[]] * (room - len(shown))]


def _status(board: Board, sight: Sight, columns: int, glyphs: Glyphs) -> Line:
    """Return the player on turn, the time left to them, and how much of the step is signed."""
    waiting = "" if board.over is not None else answers.whose_turn(board)
    if board.absent:
        line: Line = [(palette.ALARM, f" {capital(waiting)}: wait, or quit{' and resume another day' * board.plays}. ")]
    elif board.turn is not None:
        line = [(palette.TURN, f" {_ask(board)}")]
    elif sight.is_holding:
        line = [("", " ... more has happened: space shows it at once")]
    else:
        line = [("", f" {capital(waiting)}" + ("." if waiting else ""))]
    right: Line = []
    if sight.gauge is not None and sight.gauge.total:
        done, total = sight.gauge.done, sight.gauge.total
        right.append(("", f"{sight.gauge.label} {bar(done, total, glyphs)} {done}/{total} "))
    if sight.seconds is not None:
        seconds = sight.seconds
        style = palette.ALARM if sight.is_pressing and seconds <= _HURRY else palette.TURN
        right.append((style, f" {seconds // 60}:{seconds % 60:02} "))
    return [*filled(line, columns - width(right)), *right] if right else line


def _ask(board: Board) -> str:
    """Return the question to the reader, in a few words."""
    assert board.turn is not None
    state = board.turn.view.state
    if state.awaits.value == "stakes":
        stake = example_stake(board.turn.view)
        return (
            f"Stake on your own victory, for example {stake}."
            if stake != Stake(0)
            else "Type stake 0: you have nothing."
        )
    if state.phase in ("discard", "crown"):
        return question(board.turn.view, board.seating)
    if state.challenge is not None and state.bid is not None:
        seating = board.seating
        return f"Side with {seating.who(state.challenge.seat)} (accuser) or {seating.who(state.bid.seat)} (accused)?"
    if state.motes is not None and state.motes.stack:
        return "Answer what is on top of the stack, or pass."
    if state.phase != "bidding":
        return "Play a die out of the graveyard, or pass."
    if state.bid is None:
        return "Your turn: open the round with a bid."
    if state.motes is not None and state.motes.must_raise:
        return "Your turn: you have to raise."
    return "Your turn: raise the bid, or call it."


def _page(board: Board, sight: Sight, columns: int, lines: int) -> list[Line]:
    assert sight.page is not None
    width, room = page_size(columns, lines)
    told = [row for each in sight.page for row in rows(each, width)]
    first = min(max(sight.back, 0), max(len(told) - room, 0))
    shown = told[first : first + room]
    left = len(told) - first - len(shown)
    foot = f" PageDown: {counted(left, 'more line')}. " if left else " "
    return [
        _header(board, sight, columns),
        *([("", " "), ("", line)] for line in shown),
        *[[]] * (room - len(shown)),
        filled(text(f"{foot}Any other key closes this.", palette.HEADER), columns, palette.HEADER),
    ]
