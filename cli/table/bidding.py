"""A round as it is bid: the standing bid on the felt, one's own dice, and the bids or moves to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from cli.render import capital, faces, number, percent
from cli.table import dice, showdown
from cli.table.answers import chance
from cli.table.canvas import Area, cut, width
from cli.table.seats import count_of_dice, counts_for, plate, tag
from cli.table.theme import FACES
from cli.text.narrate_game import WINDOWS, choosing
from p2pdice import events as game
from p2pdice.counting import count
from p2pdice.moves import Bid, Crown, Lose, Pass, Power, Side
from p2pdice.powers import POWERS
from p2pdice.state import Expect
from protocol.events import DiceRolled

if TYPE_CHECKING:
    from fractions import Fraction

    from cli.table.board import Board
    from cli.table.canvas import Canvas
    from cli.table.dice import Kind, Size
    from cli.table.scene import Scene
    from p2pdice.state import StandingBid, State

EACH: Final = 2
"""The custom by which everybody may look at the odds."""
LADDER: Final = 36
"""Columns of a ladder."""
LARGE: Final = 13
"""Rows within the felt from which on its bid is XL."""
_SIDE: Final = 22
"""Columns beside the bid for who bid it; as many for its chance."""
_STANDS: Final = 1000
"""A stage in which nothing moves."""


def weighed(board: Board, bid: StandingBid) -> tuple[Fraction, str]:
    """Return how likely a bid is, and a note on the dice in view: the reader's, or in a replay the bidder's."""
    from p2pdice.counting import at_least

    state = board.state
    assert state is not None
    if board.me is not None:
        mine, wanted = count((board.hand,), bid.face, state.ones_wild), bid.quantity
        held = f"you hold {mine} of {wanted}"
        if mine > wanted:
            held = f"you hold {mine}, {wanted} {'is' if wanted == 1 else 'are'} bid"
        return chance(board, bid.quantity, bid.face), held if board.hand else ""
    hand = board.hands.get(bid.seat, ())
    odds = at_least(bid.quantity, bid.face, hand, sum(state.dice) - len(hand), state.ones_wild)
    return odds, f"with {board.seating.whose(bid.seat)} dice" if hand else "all dice hidden"


def truth(board: Board, bid: StandingBid) -> str:
    """Return whether a bid is true, where the reader sees all dice; else which dice are wild."""
    state = board.state
    assert state is not None
    if board.me is not None or any(dice and not board.hands.get(seat) for seat, dice in enumerate(state.dice)):
        return wild(state)
    there = count(board.hands.values(), bid.face, state.ones_wild)
    are = "is" if there == 1 else "are"
    return f"{'true' if there >= bid.quantity else 'false'}: there {are} {number(there) if there else 'none'}"


def likely(chance: Fraction) -> str:
    """Return a chance as a word or two: ``61% likely``, ``certain``, ``impossible``."""
    return {0: "impossible", 1: "certain"}.get(int(chance) if chance in (0, 1) else 2, f"{percent(chance)} likely")


def heat(chance: Fraction) -> str:
    """Return the role of a chance. It always stands beside its number."""
    return "good" if 100 * chance >= 66 else "warn" if 100 * chance >= 33 else "bad"


def wild(state: State) -> str:
    """Return which dice are wild in this round."""
    if state.palifico:
        return "special round: ones aren't wild"
    return "ones are wild" if state.ones_wild else "ones aren't wild"


def bid_of_interest(board: Board, scene: Scene) -> tuple[int, int] | None:
    """Return the bid whose dice are gold: the one in the line, or else the standing one."""
    if isinstance(scene.typed, Bid):
        return scene.typed.quantity, scene.typed.face
    bid = board.state.bid if board.state is not None else None
    return None if bid is None else (bid.quantity, bid.face)


# The felt


def on_the_table(state: State) -> str:
    """Return how many dice count in this round: ``15 dice on the table``."""
    return f"{count_of_dice(sum(state.dice))} on the table"


def left_behind(board: Board) -> list[str]:
    """Return whose dice still count although they are out: they have been bid on, so they stay until the round ends."""
    state = board.state
    assert state is not None
    gone = [seat for seat, left in enumerate(state.dice) if left and seat not in state.live]
    return [f"{number(state.dice[seat])} under {board.seating.whose(seat)} cup, which may stay down" for seat in gone]


def felt(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the standing bid: who bid it, how likely it is, and the bids before it.

    :param area: the felt within its edges, or one or two rows.
    """
    state = board.state
    assert state is not None
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
    elif state.awaits is Expect.STAKES:
        told = [("Everybody stakes coins on their own victory.", "text")]
    elif state.awaits is Expect.OVER:
        told = [("The match is over.", "text")]
    if state.awaits not in (Expect.STAKES, Expect.OVER):
        told.append((f"{wild(state)} · {on_the_table(state)}", "quiet"))
        told += [(text, "quiet") for text in left_behind(board)]
    top = y + max((rows - len(told)) // 2, 0)
    for row, (text, role) in enumerate(told[:rows]):
        canvas.centre(x, top + row, columns, text, role, bold=not row)


def _short(canvas: Canvas, board: Board, scene: Scene, bid: StandingBid, area: Area) -> None:
    """Draw the bid in words; in a second row, the bids before it and the chance of the one in the line."""
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
    assert board.state is not None
    before = [f"{each.quantity}×{each.face}" for each in board.state.bids[:-1]]
    for first in range(len(before)):
        said = f"before: {'… ' * bool(first)}{', '.join(before[first:])}"
        if width(said) <= right - x:
            canvas.put(x, y + 1, said, "quiet")
            break


def _quantity(scene: Scene, bid: StandingBid) -> int:
    """Return the number that is drawn: it runs up to the bid."""
    return max(bid.quantity - max(2 - scene.motion.stage(game.BidMade), 0), 1)


def _medium(canvas: Canvas, board: Board, scene: Scene, bid: StandingBid, area: Area) -> None:
    x, y, columns, rows = area
    state = board.state
    assert state is not None
    quantity = _quantity(scene, bid)
    wide = dice.number_width(bid.quantity, canvas.theme) + 5 + dice.WIDTH["L"]
    is_narrow = columns < 72
    start = x + 19 if is_narrow else x + (columns - wide) // 2
    top = y + (rows - 5) // 2 if rows > 5 else y
    end = dice.number(canvas, start, top, quantity)
    canvas.put(end + 2, top + 1, "×", bold=True)
    dice.die(canvas, end + 5, top, bid.face)
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


def _says(canvas: Canvas, board: Board, bid: StandingBid, x: int, y: int, room: int) -> None:
    mark = canvas.theme.mark(bid.seat)
    verb = " bid" if bid.seat == board.me else " bids"
    who = cut(capital(board.seating.who(bid.seat)), room - 2 - len(verb))
    canvas.put(x, y, f"{mark} {who}{verb}", f"seat{bid.seat}", bold=True)


def _weigh(canvas: Canvas, board: Board, scene: Scene, bid: StandingBid, area: Area) -> None:
    """Draw the chance of the standing bid, and how many of its dice the reader holds."""
    x, y, columns, _ = area
    odds, note = weighed(board, bid)
    canvas.put(x, y + 2, note if width(note) <= canvas.width - x - 2 else note.partition(",")[0], "quiet")
    if not scene.with_odds:
        if board.odds == EACH:
            canvas.put(x, y + 1, "% shows the odds", "quiet")
        return
    canvas.put(x, y, likely(odds), bold=True)
    canvas.gauge(x, y + 1, columns, odds)


def _large(canvas: Canvas, board: Board, scene: Scene, bid: StandingBid, area: Area) -> None:
    x, y, columns, rows = area
    state = board.state
    assert state is not None
    theme = canvas.theme
    size: Size = "XL" if dice.number_width(bid.quantity, theme, "XL") + 20 <= columns else "L"
    height = dice.HEIGHT[size]
    gaps = min(rows - height - 6, 2)
    top = y + (rows - height - 6 - gaps) // 2
    mark = theme.mark(bid.seat)
    said = f"{board.seating.does(bid.seat, 'bids', 'bid')}"
    canvas.centre(x, top, columns, f"{mark} {said}", f"seat{bid.seat}", bold=True)
    wide = dice.number_width(bid.quantity, theme, size) + 5 + dice.WIDTH[size]
    start = x + (columns - wide) // 2
    row = top + 1 + (gaps > 0)
    middle = row + height // 2
    end = dice.number(canvas, start, row, _quantity(scene, bid), size=size)
    canvas.put(end + 2, middle, "×", bold=True)
    dice.die(canvas, end + 5, row, bid.face, size=size)
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
    """Draw the bids of the round in a row, the latest that fit."""
    state = board.state
    assert state is not None
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


def _marked(canvas: Canvas, board: Board, seat: int) -> str:
    return f"{canvas.theme.mark(seat)} {capital(board.seating.who(seat))}"


def bids_so_far(canvas: Canvas, board: Board, scene: Scene, area: Area) -> int:
    """Draw the bids of the round as a list, the latest that fit, and return the row behind it."""
    state = board.state
    assert state is not None
    # Once a call is judged, the state has no bids any more.
    made = [bid for each in board.rounds[-1:] for bid in each.bids] if board.call is not None else state.bids
    bids = made if scene.motion.stage(game.BidMade) > 1 else made[:-1]
    y = area.y
    for bid in bids[-area.height :]:
        words = faces(bid.quantity, bid.face)
        room = area.width - width(words) - 2
        who = cut(_marked(canvas, board, bid.seat), room)
        canvas.put(area.x, y, who, f"seat{bid.seat}", bold=True)
        canvas.put(area.x + min(max(12, width(who) + 2), area.width - width(words)), y, words, bold=bid is bids[-1])
        y += 1
    if board.call is not None and y < area.y + area.height:
        canvas.put(area.x, y, cut(_marked(canvas, board, board.call.seat), 11), f"seat{board.call.seat}", bold=True)
        canvas.put(area.x + 12, y, board.call.call.upper(), bold=True)
        y += 1
    return y


# The reader's dice


def hand(canvas: Canvas, board: Board, scene: Scene, area: Area, kinds: Sequence[Kind] = (), note: str = "") -> None:
    """Draw the reader's dice as large as there is room: those that count for a bid are gold.

    :param area: from five rows on it has a plate, too.
    :param kinds: how each of the dice is drawn, in a showdown.
    :param note: at the right end of the plate.
    """
    state, me = board.state, board.me
    if me is None or state is None:
        return
    x, y, columns, rows = area
    is_gone = me not in state.live and not state.dice[me] and not showdown.is_on(board)
    if rows >= 5:
        has = "out" if is_gone else count_of_dice(state.dice[me])
        right = "  ".join(filter(None, (tag(board, me), note or has)))
        plate(canvas, board, me, Area(x, y, columns, 1), right)
        y, rows = y + 1, rows - 1
    motes = state.motes.cups[me] if state.motes is not None and state.motes.cups else ()
    own = () if is_gone else _own(board, scene)
    letters = "".join(POWERS[die.mote].letter for die in motes)
    if not own and motes and not is_gone and rows < 3:
        canvas.put(canvas.put(x, y, "You  ", bold=True), y, " ".join(letters), bold=True)
        return
    if not own and motes and not is_gone:
        for place, die in enumerate(motes):
            left = x + place * (dice.WIDTH["L"] + 1)
            dice.die(canvas, left, y, 1, "closed")
            canvas.centre(left, y + 3, dice.WIDTH["L"], die.mote.capitalize(), "text" if rows > 3 else "quiet")
        return
    if not own:
        text = "You're out." if me not in state.live else "Your dice wait for the roll." if state.dice[me] else ""
        canvas.put(x + 1, y + (rows - 1) // 2, text, "quiet")
        return
    bid = bid_of_interest(board, scene) if board.showdown is None else None
    kinds = kinds or ["counts" if bid and counts_for(board, face, bid[1]) else "die" for face in own]
    size: Size = "XL" if rows >= 8 and len(own) * 15 <= columns + 1 else "L"
    if rows < 3 or len(own) * (dice.WIDTH[size] + 1) > columns + 1:
        letters = letters if len(letters) == len(own) else ""
        _tiles(canvas, own, kinds, Area(x, y, columns, rows), "" if area.height >= 5 else "You", letters)
        return
    aim = bid[1] if bid else board.showdown.shown.face if board.showdown is not None else 0
    for place, (face, kind) in enumerate(zip(own, kinds, strict=True)):
        left = x + place * (dice.WIDTH[size] + 1)
        dice.die(canvas, left, y, face, kind, size)
        if rows > dice.HEIGHT[size]:
            mote = motes[place].mote.capitalize() if len(motes) == len(own) else ""
            label = _label(canvas, face, kind, aim, mote)
            role = "counts" if kind == "counts" else "bad" if kind == "gone" else "text"
            canvas.put(left + (dice.WIDTH[size] - len(label)) // 2, y + dice.HEIGHT[size], label, role, bold=True)


def _own(board: Board, scene: Scene) -> Sequence[int]:
    """Return the reader's dice; while they roll, other faces."""
    assert board.me is not None
    if board.showdown is not None:
        # With powers, the turn goes on after the verdict, and these dice are no more.
        return board.showdown.shown.hands[board.me] or () if showdown.is_on(board) else ()
    if not board.hand and board.state is not None and board.state.awaits is not Expect.ROLLED:
        return ()
    stage = scene.motion.stage(DiceRolled)
    if stage >= _STANDS:
        return board.hand
    return [(face + (stage + place) % 5) % 6 + 1 for place, face in enumerate(board.hand)]


def _label(canvas: Canvas, face: int, kind: Kind, aim: int, mote: str) -> str:
    """Return what is below a die. Signs around it tell without colours that it counts."""
    if kind == "gone":
        return "✕"
    said = f"{face} wild" if kind == "counts" and face != aim else str(face)
    if mote:
        return f"{face} {mote}" if len(mote) < 6 else mote
    if kind != "counts":
        return said
    if canvas.theme.is_mono or canvas.theme.is_ascii:
        return f"<{said}>"
    return said if face != aim else f"‹{said}›"


def _tiles(canvas: Canvas, own: Sequence[int], kinds: Sequence[Kind], area: Area, who: str, letters: str = "") -> None:
    """Draw dice as tiles, in as many rows as there are; without room for tiles, as digits.

    :param letters: of their motes, which stand behind them if there is room.
    """
    x, y, columns, rows = area
    if who and columns >= 5 + 3 * len(own):
        x, columns = canvas.put(x, y, f"{who}  ", bold=True), columns - 5
    pitch = next((each for each in (4, 3, 2) if len(own) <= (columns + 1) // each * rows), 0)
    if not pitch:
        canvas.put(x, y, cut("".join(map(str, own)), columns), bold=True)
        return
    across = (columns + 1) // pitch
    for place, (face, kind) in enumerate(zip(own, kinds, strict=True)):
        row, column = divmod(place, across)
        if pitch == 2:
            canvas.put(x + 2 * column, y + row, str(face), on=kind, bold=kind == "counts", underline=kind == "counts")
        else:
            end = dice.tile(canvas, x + pitch * column, y + row, face, kind, min(pitch, 3))
            canvas.put(end, y + row, letters[place : place + 1] if pitch == 4 else "", "quiet")


# Choosing


def chooser(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the bids, or the other moves, that the reader can choose from; else the next turns."""
    state = board.state
    assert state is not None
    if board.turn is None:
        _next_turns(canvas, board, state, area)
        return
    bids = [move for move in board.turn.view.legal if isinstance(move, Bid)]
    if not bids:
        _moves(canvas, board, scene, area)
    elif area.height >= 4 and area.width >= LADDER:
        _ladder(canvas, board, scene, bids, area)
    elif area.height >= 3:
        _stepper(canvas, board, scene, bids, area)


def _ladder(canvas: Canvas, board: Board, scene: Scene, bids: Sequence[Bid], area: Area) -> None:
    """Draw a row for each number of dice and a column for each face. Higher numbers are further up, where the arrow for
    more leads; the rows move along only as far as the bid in the line needs it."""
    state = board.state
    assert state is not None
    x, y, _, rows = area
    here = scene.typed if isinstance(scene.typed, Bid) else None
    legal = {(bid.quantity, bid.face) for bid in bids}
    stands = state.bid
    lowest = min(quantity for quantity, _ in legal)
    if stands is not None:
        lowest = max(lowest, stands.quantity - 1)
    if here is not None and (here.quantity, here.face) in legal:
        lowest = min(max(lowest, here.quantity - rows + 3), here.quantity)
    canvas.put(x, y, "Raise" if stands else "Bid", bold=True)
    for face in range(1, 7):
        is_here = here is not None and here.face == face
        sign = " " if canvas.theme.is_ascii else FACES[face - 1]
        canvas.put(x + 2 + face * 5, y, f"{sign}{face}", "text" if is_here else "quiet", bold=True)
    for row, quantity in enumerate(reversed(range(lowest, lowest + rows - 1)), 1):
        is_here = here is not None and here.quantity == quantity
        canvas.right(x + 5, y + row, f"{quantity} ×", "text" if is_here else "quiet", bold=is_here)
        for face in range(1, 7):
            at = x + 1 + face * 5
            if stands is not None and (quantity, face) == stands[:2]:
                canvas.put(at, y + row, f"{canvas.theme.mark(stands.seat):^5}", f"seat{stands.seat}", bold=True)
            elif (quantity, face) not in legal:
                canvas.put(at, y + row, "  ·  ", "faint")
            else:
                _rung(canvas, board, scene, at, y + row, quantity, face)


def _rung(canvas: Canvas, board: Board, scene: Scene, x: int, y: int, quantity: int, face: int) -> None:
    odds = chance(board, quantity, face) if scene.with_odds else None
    text = "○" if odds is None else percent(odds).replace("under ", "<").replace("over ", ">")
    if isinstance(scene.typed, Bid) and scene.typed == Bid(quantity, face):
        canvas.put(x, y, f"[{text:^3}]" if canvas.theme.is_ascii else f"{text:^5}", on="sel", bold=True)
    else:
        canvas.put(x, y, f"{text:^5}", "text" if odds is None else heat(odds))


def _stepper(canvas: Canvas, board: Board, scene: Scene, bids: Sequence[Bid], area: Area) -> None:
    """Draw the bid in the line, or else the lowest one, and others beside it."""
    x, y, columns, _ = area
    here = scene.typed if isinstance(scene.typed, Bid) else bids[0]
    canvas.put(x, y, "Raise to" if board.state is not None and board.state.bid else "Bid", "quiet")
    canvas.put(x, y + 1, "▲", "quiet")
    end = canvas.put(x + 2, y + 1, f" {here.quantity} ", on="sel", bold=True)
    end = canvas.put(end, y + 1, " × ", on="", bold=True)
    end = canvas.put(end, y + 1, f" {here.face} ", on="sel", bold=True)
    if scene.with_odds:
        odds = chance(board, here.quantity, here.face)
        canvas.put(end + 1, y + 1, percent(odds), heat(odds), bold=True)
    canvas.put(x, y + 2, "▼", "quiet")
    others = [f"{bid.quantity}×{bid.face}" for bid in _nearby(bids, here)]
    canvas.put(x + 2, y + 2, cut(f"or {', '.join(others)} …" if others else "", columns - 2), "quiet")


def _nearby(bids: Sequence[Bid], here: Bid) -> list[Bid]:
    """Return the lowest bid on each of two other faces or numbers."""
    more = Bid(here.quantity + 1, here.face)
    return [bid for bid in bids if bid not in (here, more)][:1] + [more] * (more in bids)


def _moves(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the moves as a list, from which a digit or the arrows pick: those around the picked one, if not all fit."""
    x, y, columns, rows = area
    picked = scene.picked if scene.picked is not None else -1
    told = [*_offered(board, scene)]
    if rows > 1:
        canvas.put(x, y, cut(_asked(board), columns), bold=True)
        y, rows = y + 1, rows - 1
    first = min(max(picked - rows + 1 + (rows > 1), 0), max(len(told) - rows, 0))
    for place, (text, note) in enumerate(told[first : first + rows], first):
        row, is_here = y + place - first, place == picked
        if is_here:
            canvas.fill(x, row, columns, 1, "sel")
        more = len(told) - place - 1 if place == first + rows - 1 else 0
        end = canvas.right(x + columns - 1, row, f"{more} more ↓" if more else note, "text" if is_here else "quiet")
        text = text if width(text) <= end - x - 7 else text.partition(", who")[0]
        text = cut(f"{place + 1}  {text}", end - x - 4)
        canvas.put(x + 1, row, f"{'▸' if is_here else ' '} {text}", bold=is_here)


def _offered(board: Board, scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield the moves in words, each with its chance if there is one."""
    assert board.turn is not None
    view, seating = board.turn.view, board.seating
    challenge, bid = view.state.challenge, view.state.bid
    for typed, move in zip(scene.moves, view.legal, strict=False):
        match move:
            case Side() if challenge is not None and bid is not None:
                odds = chance(board, bid.quantity, bid.face)  # only a call of liar has sides
                seat, verb, odds = (
                    (challenge.seat, "called", 1 - odds) if move.side == "accuser" else (bid.seat, "bid", odds)
                )
                yield f"{seating.who(seat)}, who {verb}", percent(odds) if scene.with_odds else ""
            case Power():
                stack = view.state.motes.stack if view.state.motes is not None else ()
                target = stack[-1].die if POWERS[move.die.mote].is_answer and stack else move.target
                aim = seating.who(target) if isinstance(target, int) else target and seating.die(target, view.seat)
                yield f"{seating.die(move.die, view.seat)}{POWERS[move.die.mote].purpose.format(target=aim)}", ""
            case Pass():
                yield "let it be" if view.state.motes is not None and view.state.motes.stack else "pass", ""
            case Lose() | Crown():
                yield seating.die(move.die, view.seat), ""
            case _:
                yield typed, ""


def _asked(board: Board) -> str:
    """Return the question above a list of moves."""
    assert board.turn is not None
    state = board.turn.view.state
    if state.challenge is not None:
        return "Who's right?"
    if state.phase in ("discard", "crown"):
        return "Which die?"
    if state.motes is not None and state.motes.stack:
        effect = state.motes.stack[-1]
        return f"Answer {board.seating.whose(effect.by)} {effect.die.mote.capitalize()}?"
    if state.phase == "bidding":
        return "Call it?"
    return "Play a die from the graveyard?" if state.phase in WINDOWS else "Your move"


def _next_turns(canvas: Canvas, board: Board, state: State, area: Area) -> None:
    """Draw who is choosing, who is next, and when it is the reader's turn."""
    if board.me is None or not choosing(state, board.seating) or area.height < 3 or state.phase != "bidding":
        return
    x, y, columns, rows = area
    is_narrow = columns < 26
    x += 0 if is_narrow else 2
    live = [seat for step in range(state.players) if (seat := (state.turn + step) % state.players) in state.live]
    canvas.put(x, y, "The next turns", "quiet", bold=True)
    shown = list(_turns(board, live, rows - 1))
    wide = columns if is_narrow else min(max(width(board.seating.who(seat)) for seat, _ in shown) + 2, columns - 16)
    for row, (seat, when) in enumerate(shown, 1):
        who = cut(board.seating.who(seat), wide - 2)
        canvas.put(x, y + row, f"{canvas.theme.mark(seat)} {who}", f"seat{seat}", bold=True)
        if not is_narrow:
            canvas.put(x + 2 + wide, y + row, cut(when, area.x + columns - x - 2 - wide))


def _turns(board: Board, live: Sequence[int], rows: int) -> Iterator[tuple[int, str]]:
    names = [board.seating.who(seat) for seat in live]
    for place, seat in enumerate(live[:rows]):
        if place == rows - 1 and board.me in live[rows:]:
            assert board.me is not None
            yield board.me, f"after {names[live.index(board.me) - 1]}"
        elif place < 2:
            yield seat, ("is choosing", "next" if seat == board.me else "is next")[place]
        else:
            yield seat, f"after {names[place - 1]}"
