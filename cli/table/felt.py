"""The felt, the middle of the table. It shows the standing bid, a showdown, the powers, or the stakes.

A die with a power is named after the player it was dealt to: "Dan's Blue". Seat numbers are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.render import capital, dice_count, faces, likely, percent
from cli.table import showdown
from cli.table.answers import chance
from cli.table.canvas import DIE_HEIGHT, DIE_WIDTH, Area, broken, cut, width
from cli.table.seats import count_of_dice
from cli.table.theme import heat
from cli.text.narrate_game import WINDOWS, power_played, window
from p2pdice import events as game
from p2pdice.counting import at_least
from p2pdice.moves import Bid, Power, Stake, Wager
from p2pdice.plurals import number, plural
from p2pdice.powers import POWERS
from p2pdice.stakes import bonus
from p2pdice.state import Expect

if TYPE_CHECKING:
    from fractions import Fraction

    from cli.table.board import Board
    from cli.table.canvas import Canvas, Size
    from cli.table.scene import Scene
    from p2pdice.state import Mischief, PlacedBid, State

EACH: Final = 2
"""The value of :attr:`~cli.table.board.Board.odds` if each person may choose whether to see the odds."""
LARGE: Final = 13
"""Minimum rows within the felt for an XL bid."""
_TALL: Final = 12
"""Minimum rows for the spacious layouts, such as an XL count in a showdown."""
_HALF: Final = 72
"""Minimum columns to draw the graveyard beside the stack."""


def draw_felt(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the contents of the felt.

    :param area: the felt without its edges, or one or two rows.
    """
    state = board.state
    if showdown.is_siding(board):
        _siding(canvas, board, area)
    elif showdown.is_on(board):
        _count(canvas, board, scene, area)
    elif is_staking(board):
        _stake(canvas, board, scene, area)
    elif state is not None and state.motes is not None and state.motes.prize is not None:
        _powers(canvas, board, scene, area)
    else:
        _bid(canvas, board, scene, area)


def is_staking(board: Board) -> bool:
    """Return whether stakes are due. There are no dice yet, so the felt can also use the rows of the hand."""
    return board.state is not None and board.state.awaits is Expect.STAKES


# The bid


def weighed(board: Board, bid: PlacedBid) -> tuple[Fraction, str]:
    """Return the probability that a bid is true given the visible dice, and a note on these dice.

    The visible dice are the reader's. For a spectator of a replay, they are the bidder's, if shown.
    """
    state = board.begun
    hand = board.hand if board.me is not None else board.hands.get(bid.seat, ())
    odds = at_least(bid.quantity, bid.face, hand, sum(state.dice) - len(hand), state.counting)
    if board.me is None:
        return odds, f"with {board.seating.whose(bid.seat)} dice" if hand else "all dice hidden"
    mine, wanted = state.counting.count((hand,), bid.face), bid.quantity
    held = f"you hold {mine} of {wanted}"
    if mine > wanted:
        held = f"you hold {mine}, {wanted} {'is' if wanted == 1 else 'are'} bid"
    return odds, held if hand else ""


def truth(board: Board, bid: PlacedBid) -> str:
    """Return whether a bid is true, for a spectator who sees all dice; for all others, which dice are wild."""
    state = board.begun
    if board.me is not None or any(dice and not board.hands.get(seat) for seat, dice in enumerate(state.dice)):
        return wild(state)
    there = state.counting.count(board.hands.values(), bid.face)
    are = "is" if there == 1 else "are"
    return f"{'true' if there >= bid.quantity else 'false'}: there {are} {number(there) if there else 'none'}"


def wild(state: State) -> str:
    """Return a note on which dice are wild in this round, and whether it is a palifico round."""
    return f"{'special round: ' * state.palifico}{state.counting.note}"


def on_the_table(state: State) -> str:
    """Return the number of dice in this round: ``15 dice on the table``."""
    return f"{count_of_dice(sum(state.dice))} on the table"


def left_behind(board: Board) -> list[str]:
    """Return notes on players who are out. Their dice still count until the round ends."""
    state = board.begun
    gone = [seat for seat, left in enumerate(state.dice) if left and seat not in state.live]
    return [f"{board.seating.who(seat)} left {dice_count(state.dice[seat])}, which may stay unseen" for seat in gone]


def _bid(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the standing bid: its bidder, its chance, and the bids before it.

    :param area: the felt without its edges, or one or two rows.
    """
    state = board.begun
    if state.bid is None:
        _no_bid(canvas, board, state, area)
    elif area.height < 3:
        _short(canvas, board, scene, state.bid, area)
    elif area.height >= LARGE and area.width >= 36:
        _large(canvas, board, scene, state.bid, area)
    else:
        _medium(canvas, board, scene, state.bid, area)


def _no_bid(canvas: Canvas, board: Board, state: State, area: Area) -> None:
    x, y, columns, rows = area
    told = []
    if state.awaits is Expect.ROLLED:
        told = [("Everybody rolls.", "text")]
    elif state.awaits is Expect.MOVE and state.phase == "bidding":
        told = [(f"{board.seating.does(state.turn, 'makes', 'make')} the first bid.", "text")]
    elif state.awaits is Expect.OVER:
        told = [("The match is over.", "text")]
    if state.awaits is not Expect.OVER:
        told.append((f"{wild(state)} · {on_the_table(state)}", "quiet"))
        told += [(text, "quiet") for text in left_behind(board)]
    top = y + max((rows - len(told)) // 2, 0)
    for row, (text, role) in enumerate(told[:rows]):
        canvas.centre(x, top + row, columns, text, role, bold=not row)


def _short(canvas: Canvas, board: Board, scene: Scene, bid: PlacedBid, area: Area) -> None:
    """Draw the bid in one row. A second row, if any, has the earlier bids and the chance of the typed bid."""
    x, y, columns, rows = area
    right = x + columns
    if scene.with_odds:
        odds, _ = weighed(board, bid)
        right = canvas.right(right, y, percent(odds), heat(odds), bold=True) - 1
    chip = f"{bid.quantity}×{bid.face}"
    says = board.seating.does(bid.seat, "bids", "bid")
    says = cut(says, max(right - x - len(chip) - 1, 0))
    end = canvas.put(x, y, f"{says} " if says else "", f"seat{bid.seat}", bold=True)
    words = f" {faces(bid.quantity, bid.face)}"
    canvas.put(end, y, chip + (words if end + len(chip + words) <= right else ""), bold=True)
    if rows < 2:
        return
    right = x + columns
    if scene.with_odds and isinstance(scene.typed, Bid):
        odds = chance(board, scene.typed.quantity, scene.typed.face)
        right = canvas.right(right, y + 1, f"{scene.typed.quantity}×{scene.typed.face} {percent(odds)}", heat(odds)) - 1
    before = [f"{each.quantity}×{each.face}" for each in board.begun.bids[:-1]]
    for first in range(len(before)):
        said = f"before: {'… ' * bool(first)}{', '.join(before[first:])}"
        if width(said) <= right - x:
            canvas.put(x, y + 1, said, "quiet")
            break


def _quantity(scene: Scene, bid: PlacedBid) -> int:
    """Return the quantity to draw, which an animation counts up to the quantity of the bid."""
    return max(bid.quantity - max(2 - scene.motion.stage(game.BidMade), 0), 1)


def _medium(canvas: Canvas, board: Board, scene: Scene, bid: PlacedBid, area: Area) -> None:
    x, y, columns, rows = area
    quantity = _quantity(scene, bid)
    wide = canvas.number_width(bid.quantity) + 5 + DIE_WIDTH["L"]
    is_narrow = columns < 72
    start = x + 19 if is_narrow else x + (columns - wide) // 2
    top = y + (rows - 5) // 2 if rows > 5 else y
    _times(canvas, start, top, quantity, bid.face)
    left = x + (2 if is_narrow else 3)
    room = start - left - 1
    _says(canvas, board, bid, left, top, room)
    canvas.put(left, top + 1, cut(faces(bid.quantity, bid.face), room), bold=True)
    said = truth(board, bid)
    if width(said) > room:
        said = cut(said.removeprefix("special round: ").replace(" there is", "").replace(" there are", ""), room)
    canvas.put(left, top + 2, said, "quiet")
    side = x + columns - (18 if is_narrow else 24)
    _weigh(canvas, board, scene, bid, Area(side, top, 15 if is_narrow else 18, 3))
    if rows >= 5:
        canvas.centre(x, y + rows - 2, columns, " · ".join(left_behind(board)), "quiet")
        ribbon(canvas, board, scene, x + 2, y + rows - 1, columns - 4)


def _times(canvas: Canvas, x: int, y: int, quantity: int, face: int, size: Size = "L", gap: int = 2) -> None:
    """Draw a quantity, a multiplication sign, and a die."""
    end = canvas.number(x, y, quantity, size=size)
    canvas.put(end + gap, y + DIE_HEIGHT[size] // 2, "×", bold=True)
    canvas.die(end + gap + 3, y, face, size=size)


def _says(canvas: Canvas, board: Board, bid: PlacedBid, x: int, y: int, room: int) -> None:
    mark = canvas.theme.mark(bid.seat)
    verb = " bid" if bid.seat == board.me else " bids"
    who = cut(capital(board.seating.who(bid.seat)), room - 2 - len(verb))
    canvas.put(x, y, f"{mark} {who}{verb}", f"seat{bid.seat}", bold=True)


def _weigh(canvas: Canvas, board: Board, scene: Scene, bid: PlacedBid, area: Area) -> None:
    """Draw the note from :func:`weighed` and, if odds are shown, the chance of the standing bid."""
    x, y, columns, _ = area
    odds, note = weighed(board, bid)
    canvas.put(x, y + 2, note if width(note) <= canvas.width - x - 2 else note.partition(",")[0], "quiet")
    if not scene.with_odds:
        if board.odds == EACH:
            canvas.put(x, y + 1, "% shows the odds", "quiet")
        return
    canvas.put(x, y, likely(odds), bold=True)
    canvas.gauge(x, y + 1, columns, odds)


def _large(canvas: Canvas, board: Board, scene: Scene, bid: PlacedBid, area: Area) -> None:
    x, y, columns, rows = area
    state = board.begun
    theme = canvas.theme
    size: Size = "XL" if canvas.number_width(bid.quantity, "XL") + 20 <= columns else "L"
    height = DIE_HEIGHT[size]
    gaps = min(rows - height - 6, 2)
    top = y + (rows - height - 6 - gaps) // 2
    mark = theme.mark(bid.seat)
    said = f"{board.seating.does(bid.seat, 'bids', 'bid')}"
    canvas.centre(x, top, columns, f"{mark} {said}", f"seat{bid.seat}", bold=True)
    wide = canvas.number_width(bid.quantity, size) + 5 + DIE_WIDTH[size]
    start = x + (columns - wide) // 2
    row = top + 1 + (gaps > 0)
    _times(canvas, start, row, _quantity(scene, bid), bid.face, size)
    below = row + height + (gaps > 1)
    canvas.centre(x, below, columns, faces(bid.quantity, bid.face), bold=True)
    on = on_the_table(state)
    canvas.centre(x, below + 1, columns, f"{truth(board, bid)} · {on}", "quiet")
    odds, held = weighed(board, bid)
    canvas.centre(x, below + 2, columns, " · ".join(left_behind(board)), "quiet")
    if scene.with_odds:
        words = likely(odds)
        start = x + (columns - len(words) - 20) // 2
        canvas.gauge(canvas.put(start, below + 3, words, bold=True) + 2, below + 3, 18, odds)
    canvas.centre(x, below + 4 if scene.with_odds else below + 3, columns, held, "quiet")


def ribbon(canvas: Canvas, board: Board, scene: Scene, x: int, y: int, columns: int) -> None:
    """Draw as many of the latest bids of the round as fit in one row."""
    state = board.begun
    bids = state.bids if scene.motion.stage(game.BidMade) > 1 else state.bids[:-1]
    chips = [
        f"{canvas.theme.mark(bid.seat)} {capital(board.seating.who(bid.seat))} {bid.quantity}×{bid.face}"
        for bid in bids
    ]
    first = 0
    while first < len(chips) and sum(width(chip) + 3 for chip in chips[first:]) - 3 + 2 * bool(first) > columns:
        first += 1
    if first == len(chips):
        return
    wide = sum(width(chip) + 3 for chip in chips[first:]) - 3 + 2 * bool(first)
    at = x + (columns - wide) // 2
    at = canvas.put(at, y, "… " if first else "", "quiet")
    for place in range(first, len(chips)):
        is_last = place == len(state.bids) - 1
        at = canvas.put(at, y, chips[place], f"seat{bids[place].seat}", bold=is_last)
        if place < len(chips) - 1:
            at = canvas.put(at, y, " › ", "quiet")


def bids_so_far(canvas: Canvas, board: Board, scene: Scene, area: Area) -> int:
    """List as many of the latest bids as fit, one per row, then the call; return the row below them."""
    state = board.begun
    # Once a call is judged, the state no longer holds the bids, but the round does.
    made = [bid for each in board.rounds[-1:] for bid in each.bids] if board.call is not None else state.bids
    bids = made if scene.motion.stage(game.BidMade) > 1 else made[:-1]
    said = [(bid.seat, faces(bid.quantity, bid.face), bid is bids[-1]) for bid in bids[-area.height :]]
    if board.call is not None and len(said) < area.height:
        said.append((board.call.seat, board.call.call.upper(), True))
    if not said:
        return area.y
    names = max(12, *(width(_marked(canvas, board, seat)) + 2 for seat, _, _ in said))
    names = min(names, area.width - max(width(words) for _, words, _ in said))
    for y, (seat, words, is_bold) in enumerate(said, area.y):
        canvas.put(area.x, y, cut(_marked(canvas, board, seat), names - 2), f"seat{seat}", bold=True)
        canvas.put(area.x + names, y, words, bold=is_bold)
    return area.y + len(said)


def _marked(canvas: Canvas, board: Board, seat: int) -> str:
    return f"{canvas.theme.mark(seat)} {capital(board.seating.who(seat))}"


# The showdown


def _count(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the call, the count, and a slot for each die that the bid needs.

    :param area: the felt without its edges, or one or two rows.
    """
    call, state = board.call, board.begun
    assert call is not None
    hits = showdown.counted(board, scene.motion)
    x, y, columns, rows = area
    seating = board.seating
    calls = f" {'call' if call.seat == board.me else 'calls'} {call.call.upper()}"
    who = f"{capital(seating.who(call.seat))}{calls}"
    on, whose, what = (
        "on ",
        f"{canvas.theme.mark(call.bidder)} {seating.whose(call.bidder)}",
        faces(call.quantity, call.face),
    )
    if rows < 3:
        end = canvas.right(x + columns, y, f"{len(hits)} of {call.quantity}", "counts", bold=True)
        name, room = capital(seating.who(call.seat)), end - x - 1
        says = f"{calls}: {what}" if width(name + calls + what) + 2 <= room else f"{calls}: {call.quantity}×{call.face}"
        canvas.put(x, y, cut(name, room - width(says)) + says, bold=True)
        if rows > 1:
            _slots(canvas, x, y + 1, columns, hits, call.quantity, has_marks=False)
        return
    if rows >= _TALL:
        top = y + (rows - 14) // 2
        start = x + max((columns - width(f"{who} {on}{whose}")) // 2, 1)
        end = canvas.put(start, top, f"{who} {on}", bold=True)
        canvas.put(end, top, cut(whose, x + columns - end), f"seat{call.bidder}", bold=True)
        canvas.centre(x, top + 1, columns, what, bold=True)
        of = f"of {call.quantity}"
        start = x + (columns - canvas.number_width(len(hits), "XL") - 2 * (len(of) + 2)) // 2 + len(of) + 2
        end = canvas.number(start, top + 3, len(hits), "counts", size="XL")
        canvas.put(end + 2, top + 6, of, bold=True)
        _slots(canvas, x + 2, top + 11, columns - 4, hits, call.quantity, is_centred=True)
        canvas.centre(x, top + 13, columns, state.counting.what_counts(call.face), "quiet")
        return
    left = 3 if columns >= 72 else 2
    middle = x + (26 if columns >= 72 else 19)
    room = middle - x - left - 1
    canvas.put(x + left, y, cut(capital(seating.who(call.seat)), room - len(calls)) + calls, bold=True)
    canvas.put(x + left, y + 1, on)
    canvas.put(x + left + len(on), y + 1, cut(whose, room - len(on)), f"seat{call.bidder}", bold=True)
    canvas.put(x + left, y + 2, cut(what, room), bold=True)
    end = canvas.number(middle, y, len(hits), "counts")
    end = canvas.put(end + 2, y + 1, f"of {call.quantity}", bold=True)
    right = x + columns - left
    start = max(min(x + columns - 34, right - 4 * max(len(hits), call.quantity)), end + 2)
    which = state.counting.what_counts(call.face)
    canvas.put(start, y, cut(which, right - start), "quiet")
    _slots(canvas, start, y + (2 if rows >= 5 else 1), right - start, hits, call.quantity)


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
    """Draw a slot for each die that the bid needs. Counted dice fill the slots, with their owners' marks below.

    A bar separates dice beyond the bid. If the slots do not fit, draw a gauge instead.
    """
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
            canvas.tile(x, y, face, "counts", min(cell, 3))
            if has_marks:
                canvas.put(x + (cell > 2), y + 1, canvas.theme.mark(seat), f"seat{seat}", bold=True)
        else:
            canvas.tile(x, y, 0, "slot", min(cell, 3))
        x += cell


def _siding(canvas: Canvas, board: Board, area: Area) -> None:
    challenge, bid = board.begun.challenge, board.begun.bid
    if challenge is None or bid is None:
        return
    x, y, columns, rows = area
    for side, first, title in (("accuser", challenge.seat, "IT'S A LIE"), ("accused", bid.seat, "IT'S TRUE")):
        seats = [first, *(seat for seat, other in challenge.sides if other == side)]
        wide = columns * 3 // 8 if rows < _TALL else columns // 2
        left = x if side == "accuser" else x + columns - wide
        top = y if rows < _TALL else y + 7
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
    top = y if rows < _TALL else y + 2
    large = canvas.number_width(bid.quantity)
    start = x + (columns - large - 5 - DIE_WIDTH["L"]) // 2
    _times(canvas, start, top, bid.quantity, bid.face, gap=1)
    if rows >= 5:
        canvas.centre(x, top + 4, columns, what, bold=True)


def _names(canvas: Canvas, board: Board, seats: list[int], x: int, y: int, columns: int) -> None:
    """Draw the players on one side of a call in one row; only their marks if the names do not fit."""
    parts = [f"{canvas.theme.mark(seat)} {board.seating.who(seat)}" for seat in seats]
    if sum(map(width, parts)) + 3 * len(parts) - 3 > columns - 2:
        parts = [canvas.theme.mark(seat) for seat in seats]
    at = x + (columns - sum(map(width, parts)) - 3 * len(parts) + 3) // 2
    for seat, part in zip(seats, parts, strict=True):
        at = canvas.put(at, y, part, f"seat{seat}", bold=True) + 3


# Powers


class _Buried(NamedTuple):
    """The dice that one player sent to the graveyard."""

    seat: int
    names: str
    letters: str
    is_offered: bool
    """Whether the reader may play one of them now."""


def _powers(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the windows of the turn. Below them, draw the standing bid during bidding, otherwise stack and graveyard.

    :param area: the felt without its edges.
    """
    state = board.begun
    motes = state.motes
    assert motes is not None
    x, y, columns, rows = area
    buried = _buried(board, motes)
    now = window(state)
    is_bidding = (now or "bidding") == "bidding" and not motes.stack and state.phase != "crown"
    if rows < 4:
        if is_bidding:
            _bid(canvas, board, scene, area)
        else:
            _in_words(canvas, board, motes, area, buried)
        return
    _phases(canvas, now, x, y, columns)
    if is_bidding:
        _bid(canvas, board, scene, Area(x, y + 1, columns, rows - 1 - (rows < _TALL)))
        canvas.fill(x + 1, y + rows - 1, columns - 2, 1, "felt")
        at = canvas.put(x + 3, y + rows - 1, "graveyard  ", "quiet")
        _flowing(canvas, board, buried, Area(at, y + rows - 1, x + columns - 1 - at, 1))
    elif state.phase == "crown":
        _crown(canvas, board, motes, area)
    else:
        _windows(canvas, board, motes, Area(x, y + 1, columns, rows - 1), buried)


def _phases(canvas: Canvas, now: str, x: int, y: int, columns: int) -> None:
    """Draw the windows of a turn, and mark the current one."""
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


def _buried(board: Board, motes: Mischief) -> list[_Buried]:
    """Return the dice in the graveyard, grouped by the player who sent them there."""
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
    """Draw the graveyard as flowing text. If it is too long, omit the players' names, then shorten motes to letters."""
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
    """Draw the stack, whose first row is the next die to take effect, and the graveyard, grouped by player."""
    x, y, columns, rows = area
    left, right = x + 3, x + (44 if columns >= _HALF else 3)
    stack = [(effect.by, power_played(*effect, board.seating)) for effect in reversed(motes.stack)]
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
    canvas.put(canvas.put(right, top, "GRAVEYARD", "quiet", bold=True), top, "  who lost which dice", "quiet")
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
        canvas.centre(x, end - 1, columns, "Players may play the dice that they lost.", "quiet")


def _in_words(canvas: Canvas, board: Board, motes: Mischief, area: Area, buried: Sequence[_Buried]) -> None:
    """Draw the current window, the top of the stack and the graveyard in up to three rows of text."""
    x, y, columns, rows = area
    now = (window(board.begun) or board.begun.phase).capitalize()
    said = f"{now}: {power_played(*motes.stack[-1], board.seating)}" if motes.stack else f"{now}."
    lines = broken(said, columns - 2)[:rows]
    for row, line in enumerate(lines):
        canvas.put(x + (columns >= 60), y + row, line, bold=True)
    if len(lines) < rows:
        at = canvas.put(x + (columns >= 60), y + len(lines), "graveyard ", "quiet")
        _flowing(canvas, board, buried, Area(at, y + len(lines), x + columns - at, 1))


def _crown(canvas: Canvas, board: Board, motes: Mischief, area: Area) -> None:
    state = board.begun
    x, y, columns, rows = area
    who = "You win. Which die do you crown?" if state.turn == board.me else "The winner crowns a die."
    if state.turn >= 0 and state.turn != board.me:
        who = f"{board.seating.who(state.turn)} wins, and crowns a die."
    whose = "your" if state.turn == board.me else "the winner's"
    prize = f"With the prize, {(motes.prize or '').capitalize()}, it is a Twin Soul, kept in {whose} purse."
    canvas.centre(x, y + (rows - 1) // 2, columns, who, "counts", bold=True)
    for row, line in enumerate(broken(prize, columns - 2), y + (rows - 1) // 2 + 2):
        canvas.centre(x, row, columns, line, "quiet")


# Stakes


def _stake(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the typed stake, the coins available, and what it can win or lose; or the stake already made."""
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
    large = canvas.number_width(bet)
    start = x + (columns - large - 2 - len(coins)) // 2
    end = canvas.number(start, top + 2, bet, "counts")
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
