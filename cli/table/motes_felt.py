"""The felt of dice with powers: the part of the turn, what is on the stack and in the graveyard, and the stakes.

A die is named after the player it was dealt to: "Dan's Blue". Seats have no numbers here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.table import bidding, dice
from cli.table.canvas import Area, cut, width
from cli.table.dialogs import rows as broken
from cli.text.narrate_game import WINDOWS, window
from p2pdice.moves import Power, Stake, Wager
from p2pdice.plurals import plural
from p2pdice.powers import POWERS
from p2pdice.stakes import bonus
from p2pdice.state import Expect

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.canvas import Canvas
    from cli.table.scene import Scene
    from p2pdice.state import Effect, Mischief

_TALL: Final = 12
"""Rows from which on each player's dice in the graveyard have a row of their own."""
_HALF: Final = 72
"""Columns from which on the graveyard is beside the stack."""


class _Buried(NamedTuple):
    """The dice in the graveyard that one player sent there."""

    seat: int
    names: str
    letters: str
    is_offered: bool
    """The reader may play one of them now."""


def is_staking(board: Board) -> bool:
    """Whether the stakes are asked for: there are no dice yet, so the felt can have their rows, too."""
    return board.state is not None and board.state.awaits is Expect.STAKES


def is_on(board: Board) -> bool:
    """Whether this felt is to be drawn, and not that of a plain bid."""
    state = board.state
    return is_staking(board) or (state is not None and state.motes is not None and state.motes.prize is not None)


def felt(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the felt.

    :param area: it without its edges.
    """
    state = board.state
    assert state is not None
    if is_staking(board):
        _stake(canvas, board, scene, area)
        return
    motes = state.motes
    assert motes is not None
    x, y, columns, rows = area
    buried = _buried(board, motes)
    now = window(state)
    is_bidding = (now or "bidding") == "bidding" and not motes.stack and state.phase != "crown"
    if rows < 4:
        if is_bidding:
            bidding.felt(canvas, board, scene, area)
        else:
            _short(canvas, board, motes, area, buried)
        return
    _phases(canvas, now, x, y, columns)
    if is_bidding:
        bidding.felt(canvas, board, scene, Area(x, y + 1, columns, rows - 1 - (rows < _TALL)))
        canvas.fill(x + 1, y + rows - 1, columns - 2, 1, "felt")
        at = canvas.put(x + 3, y + rows - 1, "graveyard  ", "quiet")
        _flowing(canvas, board, buried, Area(at, y + rows - 1, x + columns - 1 - at, 1))
    elif state.phase == "crown":
        _crown(canvas, board, motes, area)
    else:
        _windows(canvas, board, motes, Area(x, y + 1, columns, rows - 1), buried)


def _phases(canvas: Canvas, now: str, x: int, y: int, columns: int) -> None:
    """Draw the parts of a turn, and which one it is."""
    is_mono = canvas.theme.is_mono or canvas.theme.is_ascii
    here, other = ("[{}]", "{}") if is_mono else ("● {}", "○ {}")
    parts = [(here if each == now else other).format(each) for each in WINDOWS]
    gap = " ─ " if sum(map(len, parts)) + 9 <= columns - 2 and columns > 50 else "  "
    if sum(map(len, parts)) + 3 * len(gap) > columns - 2:
        parts = [part for part, each in zip(parts, WINDOWS, strict=True) if each == now]
    at = x + (columns - sum(map(len, parts)) - len(gap) * (len(parts) - 1)) // 2
    for place, part in enumerate(parts):
        is_now = now and now in part
        at = canvas.put(at, y, gap if place else "", "quiet")
        at = canvas.put(at, y, part, "counts" if is_now else "quiet", bold=bool(is_now))


def _effect(board: Board, effect: Effect) -> str:
    """Return who plays what: ``Cleo plays Dark to destroy your Light``."""
    die, by, target = effect
    aim = board.seating.who(target) if isinstance(target, int) else board.seating.die(target, by)
    played = board.seating.does(by, "plays", "play")
    return f"{played} {board.seating.die(die, by)}{POWERS[die.mote].purpose.format(target=aim)}"


def _buried(board: Board, motes: Mischief) -> list[_Buried]:
    """Return the graveyard by the players who sent dice there."""
    legal = board.turn.view.legal if board.turn is not None else ()
    offered = {move.die for move in legal if isinstance(move, Power)}
    found = []
    for seat in range(len(board.seating.names)):
        if sent := [die for die, by in motes.graveyard if by == seat]:
            names = ", ".join(board.seating.die(die, seat) for die in sent)
            letters = "".join(POWERS[die.mote].letter for die in sent)
            found.append(_Buried(seat, names, letters, seat == board.me and not offered.isdisjoint(sent)))
    return found


def _flowing(canvas: Canvas, board: Board, buried: Sequence[_Buried], area: Area) -> None:
    """Draw the graveyard in a few rows; without names, or with the first letters of the motes, if it is too long."""
    x, y, columns, rows = area
    if not buried:
        canvas.put(x, y, "empty", "quiet")
    named = [f"{each.names}{' (yours to play)' * each.is_offered}" for each in buried]
    forms = (
        [f"{board.seating.who(each.seat)} {names}" for each, names in zip(buried, named, strict=True)],
        named,
        [each.names for each in buried],
        [each.letters for each in buried],
    )
    for form in forms[rows == 1 :]:
        places, row, at = [], 0, 0
        for text in form:
            wide = width(text) + 2
            if at and at + wide > columns:
                row, at = row + 1, 0
            places.append((row, at))
            at += wide + 3
        if form is forms[-1] or (row < rows and all(width(text) + 2 <= columns for text in form)):
            break
    for each, text, (row, at) in zip(buried, form, places, strict=True):
        if row < rows:
            end = canvas.put(x + at, y + row, f"{canvas.theme.mark(each.seat)} ", f"seat{each.seat}")
            canvas.put(end, y + row, cut(text, columns - at - 2), bold=True)


def _windows(canvas: Canvas, board: Board, motes: Mischief, area: Area, buried: Sequence[_Buried]) -> None:
    """Draw the stack, whose last die takes effect first, and the graveyard, a row for each player."""
    x, y, columns, rows = area
    left, right = x + 3, x + (44 if columns >= _HALF else 3)
    stack = [(effect.by, _effect(board, effect)) for effect in reversed(motes.stack)]
    is_beside = columns >= _HALF
    top = y + (rows >= 4) + 2 * (rows >= _TALL)
    end = y + rows
    if stack:
        canvas.put(left, top, "ON THE STACK", "quiet", bold=True)
        room = (right - 2 if is_beside else x + columns - 1) - left
        at = top + 1
        for seat, text in stack:
            for part in broken(f"{canvas.theme.mark(seat)} {text}", room):
                if at < end - (0 if is_beside else len(buried) + 1):
                    canvas.put(left, at, part, f"seat{seat}" if at == top + 1 else "text", bold=at == top + 1)
                    at += 1
        top = top if is_beside else at + (rows >= _TALL)
    elif is_beside:
        right = x + 24
    canvas.put(right, top, "GRAVEYARD", "quiet", bold=True)
    room = x + columns - 1 - right
    if not buried:
        canvas.put(right, top + 1, "is empty", "quiet")
    wide = max((width(board.seating.who(each.seat)) for each in buried), default=0)
    wide = min(wide, max(room // 3, 5))
    rows_of = [broken(f"{each.names}{' (yours to play)' * each.is_offered}", room - wide - 4) for each in buried]
    used = sum(map(len, rows_of))
    if top + used >= end:
        _flowing(canvas, board, buried, Area(right, min(top + 1, end - 1), room, max(end - top - 1, 1)))
        return
    gap = int(top + used + len(buried) < end - 1)
    at = top + 1
    for each, lines in zip(buried, rows_of, strict=True):
        who = f"{canvas.theme.mark(each.seat)} {cut(board.seating.who(each.seat), wide)}"
        canvas.put(right, at, who, f"seat{each.seat}")
        for line in lines:
            canvas.put(right + wide + 3, at, line, bold=True)
            at += 1
        at += gap
    if buried and gap and rows >= _TALL:
        canvas.centre(x, end - 1, columns, "whoever sent a die here may play it", "quiet")


def _short(canvas: Canvas, board: Board, motes: Mischief, area: Area, buried: Sequence[_Buried]) -> None:
    """Draw the window in two or three rows."""
    x, y, columns, rows = area
    assert board.state is not None
    now = (window(board.state) or board.state.phase).capitalize()
    said = f"{now}: {_effect(board, motes.stack[-1])}" if motes.stack else f"{now}."
    lines = broken(said, columns - 2)[:rows]
    for row, line in enumerate(lines):
        canvas.put(x + (columns >= 60), y + row, line, bold=True)
    if len(lines) < rows:
        at = canvas.put(x + (columns >= 60), y + len(lines), "graveyard ", "quiet")
        _flowing(canvas, board, buried, Area(at, y + len(lines), x + columns - at, 1))


def _crown(canvas: Canvas, board: Board, motes: Mischief, area: Area) -> None:
    state = board.state
    assert state is not None
    x, y, columns, rows = area
    who = "You win. Which die do you crown?" if state.turn == board.me else "The winner crowns a die."
    if state.turn >= 0 and state.turn != board.me:
        who = f"{board.seating.who(state.turn)} wins, and crowns a die."
    prize = "" if motes.prize is None else f"It makes a Twin Soul with the prize, {motes.prize.capitalize()}."
    canvas.centre(x, y + (rows - 1) // 2, columns, who, "counts", bold=True)
    canvas.centre(x, y + (rows - 1) // 2 + 2, columns, prize, "quiet")


# Stakes


def _stake(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the stake in the line, out of the coins that there are, and what it wins and loses."""
    x, y, columns, rows = area
    turn = board.turn
    if turn is None:
        said = board.staked and f"You {board.staked}. Nobody sees it before all stakes are in."
        told = broken(said or "Everybody stakes coins on their own victory.", columns - 4)
        for row, line in enumerate(told[:rows]):
            canvas.centre(x, y + (rows - len(told)) // 2 + row, columns, line, bold=True)
        return
    view = turn.view
    stake = scene.typed if isinstance(scene.typed, Stake) else Stake(0)
    bet = min(stake.bet, view.funds)
    wins = bonus(Wager(bet, view.funds, 0, 0))
    win = "Win: everybody's stakes" + (f", and a bonus of {wins:,}." if wins else ".")
    if len(win) > columns - 2:
        win = "Win: all stakes" + (f", and {wins:,} more." if wins else ".")
    lose = f"Lose: these {bet:,}." if bet else "Lose: nothing."
    title = "What do you stake on your own victory?"
    if rows < 9:
        of = f"Stake {bet:,} of {view.funds:,} {plural(view.funds, 'coin')}."
        for row, line in enumerate(([title] * (rows > 4) + [of, win, lose])[:rows]):
            canvas.centre(x, y + row, columns, line, "counts" if line is of else "text", bold=line is of)
        return
    top = y + (rows - 9) // 2
    canvas.centre(x, top, columns, title, bold=True)
    coins = plural(bet, "coin")
    large = dice.number_width(bet, canvas.theme)
    start = x + (columns - large - 2 - len(coins)) // 2
    end = dice.number(canvas, start, top + 2, bet, "counts")
    canvas.put(end + 2, top + 3, coins, bold=True)
    least, most = "0 ", f" {view.funds:,}"
    wide = min(50, columns - 4 - len(least + most))
    start = x + (columns - wide - len(least + most)) // 2
    at = canvas.put(start, top + 6, least, "quiet")
    canvas.gauge(at, top + 6, wide, bet / view.funds if view.funds else 0)
    canvas.put(at + wide, top + 6, most, "quiet")
    both = f"{win}   {lose}"
    for row, line in enumerate([both] if len(both) <= columns - 2 else [win, lose]):
        canvas.centre(x, top + 8 + row, columns, line)
    if rows >= 13:
        canvas.centre(x, y + rows - 1, columns, "Nobody sees your stake before all are in.", "quiet")
