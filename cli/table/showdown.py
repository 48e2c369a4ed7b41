"""The showdown: cups go up one after the other, dice that count fill the slots of the bid, and a verdict comes.

The caller's cup is the first, then they go clockwise; the bidder's is the last. The picture is a function of the board,
which knows the opened cups, and of the motion under the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cli.render import capital, faces, listing, number
from cli.table import dice
from cli.table.board import CupOpened
from cli.table.canvas import cut, width
from cli.table.dice import Kind
from cli.table.scene import LIFT, OWN
from cli.text.narrate_game import verdict_in_letters, what_counts
from p2pdice import events as game
from p2pdice.showdown import verdict as judge

if TYPE_CHECKING:
    from cli.table.board import Board, Showdown
    from cli.table.canvas import Area, Canvas
    from cli.table.scene import Motion, Scene

_AFTERWARDS: Final = ("sunset", "night", "sunrise", "crown")
"""Phases in which the felt shows dice with powers again."""
_LARGE: Final = 12
"""Rows of a felt from which on its number is XL."""
STILL: Final = 1000
"""A stage in which nothing moves any more."""


class Cup(NamedTuple):
    """One cup of a showdown."""

    is_open: bool
    is_half: bool = False
    """It is being lifted: its dice are not seen yet."""
    dice: tuple[tuple[int, Kind], ...] = ()
    """Faces and kinds, as far as they are seen."""
    note: str = ""
    """Below it; empty if it has nothing of its own to say."""
    role: str = "quiet"


class Words(NamedTuple):
    """A verdict in words."""

    title: str
    """In capital letters: ``A LIE``."""
    first: str
    """``six fives,``"""
    second: str
    """``not seven``"""
    tone: str
    """The ground, from the reader's side."""


def is_on(board: Board) -> bool:
    """Whether a call waits for its verdict, or the last verdict is still in sight."""
    state = board.state
    if board.showdown is not None:
        return state is not None and state.phase not in _AFTERWARDS
    return state is not None and state.challenge is not None and board.call is not None


def is_siding(board: Board) -> bool:
    """Whether the others still say who is right."""
    return board.showdown is None and board.state is not None and board.state.phase == "siding"


# Cups


def cups(board: Board, motion: Motion) -> dict[int, Cup]:
    """Return the cups by seat, as far as they are up; in the phase of siding, who says what."""
    shown = board.showdown
    if shown is None:
        return _sides(board) if is_siding(board) else {}
    found = {seat: _cup(board, shown, seat, motion) for seat in shown.opened}
    for seat, hand in enumerate(shown.shown.hands):
        if hand is None and shown.is_counted:
            found[seat] = Cup(is_open=False, note="stayed down", role="warn")
    return {seat: _with_loss(shown, seat, cup) for seat, cup in found.items()}


def _sides(board: Board) -> dict[int, Cup]:
    assert board.state is not None
    challenge, bid, seating = board.state.challenge, board.state.bid, board.seating
    if challenge is None or bid is None:
        return {}
    aims = {"accuser": seating.who(challenge.seat), "accused": seating.who(bid.seat)}
    notes = {seat: f"sides with {aims[side]}" for seat, side in challenge.sides}
    notes |= {challenge.seat: f"calls {challenge.call}", bid.seat: f"bid {faces(bid.quantity, bid.face)}"}
    return {seat: Cup(is_open=False, note=note, role=f"seat{seat}") for seat, note in notes.items()}


def _cup(board: Board, shown: Showdown, seat: int, motion: Motion) -> Cup:
    hand = shown.shown.hands[seat]
    if hand is None:
        return Cup(is_open=False, note="stayed down", role="warn")
    wanted = [place for place, face in enumerate(hand) if shown.counts(face)]
    stage = motion.stage(CupOpened) if seat == shown.opened[-1] and not shown.is_counted else STILL
    if seat != board.me and not stage:
        return Cup(is_open=False, is_half=True, note="…")
    gold = wanted[: max(stage - len(OWN if seat == board.me else LIFT), 0)]
    rest: Kind = "miss" if gold or stage >= STILL else "die"  # the others fade as soon as some count
    kinds: list[Kind] = [
        "counts" if place in gold else "die" if place in wanted else rest for place in range(len(hand))
    ]
    note = (
        f"{number(len(gold))} {'counts' if len(gold) == 1 else 'count'}" if gold else "none" if stage >= STILL else ""
    )
    return Cup(True, dice=(*zip(hand, kinds, strict=True),), note=note, role="counts" if gold else "quiet")


def _with_loss(shown: Showdown, seat: int, cup: Cup) -> Cup:
    """Return the cup with the dice that its player has just lost."""
    hand = shown.shown.hands[seat]
    verdict = shown.played.verdict
    for event in shown.played.changes:
        if event.seat != seat or verdict is None:
            continue
        match event:
            case game.DieLost():
                lost = len(hand or ()) - event.left
                what = "a die" if lost <= 1 else f"{number(lost)} dice"
                is_right = seat in verdict.right
                note = f"puts {what} away" if is_right else f"loses {what}"
                cup = cup._replace(dice=_without(cup.dice, lost), note=note, role="good" if is_right else "bad")
            case game.DieGained():
                cup = cup._replace(note="gains a die", role="good")
            case game.PlayerOut(reason="lost"):
                cup = cup._replace(note="is out", role="bad")
            case game.PlayerOut(reason="finished"):
                cup = cup._replace(note="has no dice left", role="good")
    return cup


def _without(seen: tuple[tuple[int, Kind], ...], lost: int) -> tuple[tuple[int, Kind], ...]:
    """Return dice after some are gone: from the right, those that did not count first."""
    order = sorted(range(len(seen)), key=lambda place: (seen[place][1] == "counts", -place))
    return tuple((face, "gone" if place in order[:lost] else kind) for place, (face, kind) in enumerate(seen))


def counted(board: Board, motion: Motion) -> list[tuple[int, int]]:
    """Return the dice that have been counted so far, in this order: seat and face."""
    if (shown := board.showdown) is None:
        return []
    found = [(seat, _cup(board, shown, seat, motion)) for seat in shown.opened]
    return [(seat, face) for seat, cup in found for face, kind in cup.dice if kind == "counts"]


# The felt


def felt(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the call, the count and its slots on a felt, or the two sides.

    :param area: the felt within its edges, at least two rows.
    """
    if is_siding(board):
        _siding(canvas, board, area)
        return
    call, state = board.call, board.state
    assert call is not None
    assert state is not None
    hits = counted(board, scene.motion)
    x, y, columns, rows = area
    seating = board.seating
    calls = f" {'call' if call.seat == board.me else 'calls'} {call.call.upper()}"
    who = f"{capital(seating.who(call.seat))}{calls}"
    on, whose, what = "on ", _marked(canvas, call.bidder, seating.whose(call.bidder)), faces(call.quantity, call.face)
    if rows < 3:
        end = canvas.right(x + columns, y, f"{len(hits)} of {call.quantity}", "counts", bold=True)
        name, room = capital(seating.who(call.seat)), end - x - 1
        says = f"{calls}: {what}" if width(name + calls + what) + 2 <= room else f"{calls}: {call.quantity}×{call.face}"
        canvas.put(x, y, cut(name, room - width(says)) + says, bold=True)
        if rows > 1:
            _slots(canvas, x, y + 1, columns, hits, call.quantity, has_marks=False)
        return
    if rows >= _LARGE:
        top = y + (rows - 14) // 2
        start = x + max((columns - width(f"{who} {on}{whose}")) // 2, 1)
        end = canvas.put(start, top, f"{who} {on}", bold=True)
        canvas.put(end, top, cut(whose, x + columns - end), f"seat{call.bidder}", bold=True)
        canvas.centre(x, top + 1, columns, what, bold=True)
        of = f"of {call.quantity}"
        start = x + (columns - dice.number_width(len(hits), canvas.theme, "XL") - 2 * (len(of) + 2)) // 2 + len(of) + 2
        end = dice.number(canvas, start, top + 3, len(hits), "counts", size="XL")
        canvas.put(end + 2, top + 6, of, bold=True)
        _slots(canvas, x + 2, top + 11, columns - 4, hits, call.quantity, is_centred=True)
        canvas.centre(x, top + 13, columns, what_counts(call.face, ones_wild=state.ones_wild), "quiet")
        return
    left = 3 if columns >= 72 else 2
    middle = x + (26 if columns >= 72 else 19)
    room = middle - x - left - 1
    canvas.put(x + left, y, cut(capital(seating.who(call.seat)), room - len(calls)) + calls, bold=True)
    canvas.put(x + left, y + 1, on)
    canvas.put(x + left + len(on), y + 1, cut(whose, room - len(on)), f"seat{call.bidder}", bold=True)
    canvas.put(x + left, y + 2, cut(what, room), bold=True)
    end = dice.number(canvas, middle, y, len(hits), "counts")
    end = canvas.put(end + 2, y + 1, f"of {call.quantity}", bold=True)
    right = x + columns - left
    start = max(min(x + columns - 34, right - 4 * max(len(hits), call.quantity)), end + 2)
    which = what_counts(call.face, ones_wild=state.ones_wild)
    canvas.put(start, y, cut(which, right - start), "quiet")
    _slots(canvas, start, y + (2 if rows >= 5 else 1), right - start, hits, call.quantity)


def _marked(canvas: Canvas, seat: int, name: str) -> str:
    return f"{canvas.theme.mark(seat)} {name}"


def _slots(
    canvas: Canvas,
    x: int,
    y: int,
    columns: int,
    hits: list[tuple[int, int]],
    wanted: int,
    *,
    has_marks: bool = True,
    is_centred: bool = False,
) -> None:
    """Draw a slot for each die that the bid needs, filled with those that count and their owners' marks; those past the
    bid stand behind a bar. Where there is no room for slots, they are a bar."""
    total = max(wanted, len(hits))
    cell = next((each for each in (4, 3, 2) if each * total + (len(hits) > wanted) <= columns + each - 3), 0)
    if not cell:
        canvas.gauge(x, y, columns, min(len(hits) / wanted, 1))
        return
    if is_centred:
        x += (columns - cell * total - (len(hits) > wanted) + 1) // 2
    for place in range(total):
        if place == wanted:
            canvas.put(x - (cell == 4), y, "│")
            x += cell < 4
        if place < len(hits):
            seat, face = hits[place]
            dice.tile(canvas, x, y, face, "counts", min(cell, 3))
            if has_marks:
                canvas.put(x + (cell > 2), y + 1, canvas.theme.mark(seat), f"seat{seat}", bold=True)
        else:
            dice.tile(canvas, x, y, 0, "slot", min(cell, 3))
        x += cell


# The verdict


def words(board: Board) -> Words | None:
    """Return the verdict, if it is told already; that of a round that does not count, too."""
    showdown, call = board.showdown, board.call
    if showdown is None or call is None or not showdown.is_counted:
        return None
    shown, verdict = showdown.shown, showdown.played.verdict
    count, bid = shown.count, shown.quantity
    if verdict is None:
        if judge(call.call, bid, count, shown.unopened)[1] is not None:
            return None
        down = [board.seating.whose(seat) for seat, hand in enumerate(shown.hands) if hand is None]
        cups = "cup" if len(down) == 1 else "cups"
        return Words("VOID", f"{listing(down)} {cups} stayed down:", "nobody loses a die", "band-waiting")
    there = ("at least " if shown.unopened else "") + faces(count, shown.face)
    tone = "band-wrong" if board.me in verdict.wrong else "band-right"
    title = verdict_in_letters(verdict)
    if call.call == "exact" and verdict.call_right:
        return Words(title, there, "on the nose", tone)
    if call.call == "exact" or not verdict.bid_true:
        return Words(title, f"{there},", f"not {number(bid)}", tone)
    return Words(title, f"{there},", "just enough" if count == bid else f"{number(count - bid)} to spare", tone)


def verdict(canvas: Canvas, board: Board, area: Area) -> None:
    """Draw the verdict in large letters; before it, what is going to happen.

    :param area: at least one row.
    """
    x, y, columns, rows = area
    said = words(board)
    call = board.call
    if said is None:
        if board.showdown is None and call is not None and rows > 1:
            last = "yours" if call.bidder == board.me else board.seating.whose(call.bidder)
            told = ("The cups go up one by one,", f"{last} last.")
            for row, text in enumerate(told[:rows]):
                canvas.put(x + 2, y + (rows > 2) + row, cut(text, columns - 2), "quiet")
        return
    if rows >= 7:  # with room around it
        y, rows = y + 1, rows - 2
    canvas.fill(x, y, columns, rows, said.tone)
    large = dice.letters_width(said.title, canvas.theme)
    pad = 3 if columns >= 30 else 1
    beside = columns - large - 2 * pad - 3
    if rows >= 3 and beside >= max(width(said.first), width(said.second)):
        top = y + (rows - 3) // 2
        end = dice.letters(canvas, x + pad, top, said.title)
        canvas.put(end + 3, top, said.first, bold=True)
        canvas.put(end + 3, top + 1, said.second)
    elif rows >= 4 and large <= columns:
        top = y + max((rows - 5) // 2, 0)
        dice.letters(canvas, x + (columns - large) // 2, top, said.title)
        both = f"{said.first} {said.second}"
        canvas.centre(
            x, top + min(rows - 1, 4), columns, both if width(both) <= columns else said.first.strip(","), bold=True
        )
    else:
        lines = [said.title, said.first, said.second] if rows >= 3 else [f"{said.title}: {said.first} {said.second}"]
        for row, text in enumerate(lines):
            canvas.put(x + 1, y + row, cut(text, columns - 2), bold=not row)


# Siding


def _siding(canvas: Canvas, board: Board, area: Area) -> None:
    assert board.state is not None
    challenge, bid = board.state.challenge, board.state.bid
    if challenge is None or bid is None:
        return
    x, y, columns, rows = area
    exact = challenge.call == "exact"
    for side, first, title in (
        ("accuser", challenge.seat, "IT'S EXACT" if exact else "IT'S A LIE"),
        ("accused", bid.seat, "IT'S NOT" if exact else "IT'S TRUE"),
    ):
        seats = [first, *(seat for seat, other in challenge.sides if other == side)]
        wide = columns * 3 // 8 if rows < _LARGE else columns // 2
        left = x if side == "accuser" else x + columns - wide
        top = y if rows < _LARGE else y + 7
        verb = "called" if side == "accuser" else "bid"
        if rows < 3:
            canvas.centre(left, top, wide, f"{title[5:]}  {' '.join(map(canvas.theme.mark, seats))}", bold=True)
            continue
        canvas.centre(left, top, wide, title, bold=True)
        _names(canvas, board, seats, left, top + 1 + (rows >= 5), wide)
        canvas.centre(left, top + 2 + (rows >= 5), wide, board.seating.does(first, verb, verb), "quiet")
    what = faces(bid.quantity, bid.face)
    if rows < 3:
        canvas.centre(x, y + 1, columns, what, bold=True)
        return
    top = y if rows < _LARGE else y + 2
    large = dice.number_width(bid.quantity, canvas.theme)
    start = x + (columns - large - 5 - dice.WIDTH["L"]) // 2
    end = dice.number(canvas, start, top, bid.quantity)
    canvas.put(end + 1, top + 1, "×", bold=True)
    dice.die(canvas, end + 4, top, bid.face)
    if rows >= 5:
        canvas.centre(x, top + 4, columns, what, bold=True)


def _names(canvas: Canvas, board: Board, seats: list[int], x: int, y: int, columns: int) -> None:
    """Draw the players of one side in one row; marks alone if that is too long."""
    parts = [_marked(canvas, seat, board.seating.who(seat)) for seat in seats]
    if sum(map(width, parts)) + 3 * len(parts) - 3 > columns - 2:
        parts = [canvas.theme.mark(seat) for seat in seats]
    at = x + (columns - sum(map(width, parts)) - 3 * len(parts) + 3) // 2
    for seat, part in zip(seats, parts, strict=True):
        at = canvas.put(at, y, part, f"seat{seat}", bold=True) + 3
