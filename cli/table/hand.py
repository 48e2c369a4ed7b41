"""The reader's own dice and, beside them, their choices or the verdict. A spectator gets a strip instead of dice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from cli.render import FACE_SIGNS, counted, percent
from cli.table import showdown
from cli.table.answers import chance
from cli.table.canvas import DIE_HEIGHT, DIE_WIDTH, Area, cut, width
from cli.table.scene import STILL, ReplayStrip, WatchStrip
from cli.table.seats import count_of_dice, counts_for, plate, tag
from cli.table.theme import heat
from cli.text.narrate_game import WINDOWS, choosing, purpose
from p2pdice.moves import Bid, Crown, Lose, Pass, Power, Side
from p2pdice.powers import POWERS
from p2pdice.state import Expect
from protocol.events import DiceRolled

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.canvas import Canvas, DieLook, Size
    from cli.table.scene import Scene
    from p2pdice.state import State

LADDER: Final = 36
"""Columns of the ladder of bids."""
_SEEN: Final = "You see what the table sees: the bids, and the dice when the cups go up."
_CHECKED: Final = "This program checks every signature and every roll as it happens."
_START: Final = "before the first roll"
"""Shown in a replay instead of the step, until a round begins."""
_LABEL: Final = 7
"""Columns of the label at the start of each row of a replay's strip."""


def bid_of_interest(board: Board, scene: Scene) -> tuple[int, int] | None:
    """Return the bid whose dice are gold: the typed bid, or else the standing one; None if there is neither."""
    if isinstance(scene.typed, Bid):
        return scene.typed.quantity, scene.typed.face
    bid = board.state.bid if board.state is not None else None
    return None if bid is None else (bid.quantity, bid.face)


def draw_hand(
    canvas: Canvas, board: Board, scene: Scene, area: Area, kinds: Sequence[DieLook] = (), note: str = ""
) -> None:
    """Draw the reader's dice in the largest size that fits. Dice that count for a bid are gold.

    :param area: five or more rows also have room for a plate.
    :param kinds: how to draw each of the dice in a showdown.
    :param note: the text at the right end of the plate.
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
            left = x + place * (DIE_WIDTH["L"] + 1)
            canvas.die(left, y, 1, "closed")
            canvas.centre(left, y + 3, DIE_WIDTH["L"], die.mote.capitalize(), "text" if rows > 3 else "quiet")
        return
    if not own:
        text = "You're out." if me not in state.live else "Your dice wait for the roll." if state.dice[me] else ""
        canvas.put(x + 1, y + (rows - 1) // 2, text, "quiet")
        return
    bid = bid_of_interest(board, scene) if board.showdown is None else None
    kinds = kinds or ["counts" if bid and counts_for(board, face, bid[1]) else "die" for face in own]
    size: Size = "XL" if rows >= 8 and len(own) * 15 <= columns + 1 else "L"
    if rows < 3 or len(own) * (DIE_WIDTH[size] + 1) > columns + 1:
        letters = letters if len(letters) == len(own) else ""
        _tiles(canvas, own, kinds, Area(x, y, columns, rows), "" if area.height >= 5 else "You", letters)
        return
    aim = bid[1] if bid else board.showdown.shown.face if board.showdown is not None else 0
    for place, (face, kind) in enumerate(zip(own, kinds, strict=True)):
        left = x + place * (DIE_WIDTH[size] + 1)
        canvas.die(left, y, face, kind, size)
        if rows > DIE_HEIGHT[size]:
            mote = motes[place].mote.capitalize() if len(motes) == len(own) else ""
            label = _label(canvas, face, kind, aim, mote)
            role = "counts" if kind == "counts" else "bad" if kind == "gone" else "text"
            canvas.put(left + (DIE_WIDTH[size] - len(label)) // 2, y + DIE_HEIGHT[size], label, role, bold=True)


def _own(board: Board, scene: Scene) -> Sequence[int]:
    """Return the faces to draw: the reader's dice or, during the roll animation, other faces."""
    assert board.me is not None
    if board.showdown is not None:
        # With powers, the turn continues after the verdict, but the dice of the showdown no longer exist.
        return board.showdown.shown.hands[board.me] or () if showdown.is_on(board) else ()
    if not board.hand and board.state is not None and board.state.awaits is not Expect.ROLLED:
        return ()
    stage = scene.motion.stage(DiceRolled)
    if stage >= STILL:
        return board.hand
    return [(face + (stage + place) % 5) % 6 + 1 for place, face in enumerate(board.hand)]


def _label(canvas: Canvas, face: int, kind: DieLook, aim: int, mote: str) -> str:
    """Return the label of a die. If the die counts, the label has brackets, which show it even without colours."""
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


def _tiles(
    canvas: Canvas, own: Sequence[int], kinds: Sequence[DieLook], area: Area, who: str, letters: str = ""
) -> None:
    """Draw dice as tiles in the available rows, or as digits if the tiles do not fit.

    :param letters: the letter of each die's mote, drawn after its tile if there is room.
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
            end = canvas.tile(x + pitch * column, y + row, face, kind, min(pitch, 3))
            canvas.put(end, y + row, letters[place : place + 1] if pitch == 4 else "", "quiet")


# Choosing


def draw_chooser(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """Draw the bids or other moves that the reader can choose from. On another player's turn, draw the next turns."""
    state = board.begun
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
    """Draw a row for each number of dice, and a column for each face. As with the arrow keys, up means more dice.

    The rows scroll only as far as the typed bid requires.
    """
    state = board.begun
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
        sign = " " if canvas.theme.is_ascii else FACE_SIGNS[face - 1]
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
    """Draw the typed bid, or else the lowest legal one, and two alternatives below it."""
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
    """Return up to two alternatives: the lowest legal bid, and the given bid with one more die."""
    more = Bid(here.quantity + 1, here.face)
    return [bid for bid in bids if bid not in (here, more)][:1] + [more] * (more in bids)


def _moves(canvas: Canvas, board: Board, scene: Scene, area: Area) -> None:
    """List the moves, which digits and arrow keys select. If not all fit, scroll to the selected one."""
    x, y, columns, rows = area
    picked = scene.picked if scene.picked is not None else -1
    told = [*_offered(board, scene)]
    if any(width(text) > columns - 8 for text, _ in told):
        told = [*_offered(board, scene, in_short=True)]
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


def _offered(board: Board, scene: Scene, *, in_short: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each move in words, and the chance that it is right; empty for most moves.

    :param in_short: name powers as they are typed, without their purpose.
    """
    assert board.turn is not None
    view, seating = board.turn.view, board.seating
    challenge, bid = view.state.challenge, view.state.bid
    for typed, move in zip(scene.moves, view.legal, strict=False):
        match move:
            case Side() if challenge is not None and bid is not None:
                odds = chance(board, bid.quantity, bid.face)  # rules with sides have no call of exact
                seat, verb, odds = (
                    (challenge.seat, "called", 1 - odds) if move.side == "accuser" else (bid.seat, "bid", odds)
                )
                yield f"{seating.who(seat)}, who {verb}", percent(odds) if scene.with_odds else ""
            case Power() if not in_short:
                stack = view.state.motes.stack if view.state.motes is not None else ()
                target = stack[-1].die if POWERS[move.die.mote].is_answer and stack else move.target
                yield f"{seating.die(move.die, view.seat)}{purpose(move.die, view.seat, target, seating)}", ""
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
    """Draw who is choosing, who is next, and when it will be the reader's turn."""
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
            is_me = seat == board.me
            yield seat, ("are choosing" if is_me else "is choosing", "next" if is_me else "is next")[place]
        else:
            yield seat, f"after {names[place - 1]}"


# The verdict


def draw_verdict(canvas: Canvas, board: Board, area: Area) -> None:
    """Draw the verdict in large letters. Before there is one, say in which order the cups open.

    :param area: at least one row.
    """
    x, y, columns, rows = area
    said = showdown.words(board)
    call = board.call
    if said is None:
        if board.showdown is None and call is not None and rows > 1:
            last = "yours" if call.bidder == board.me else board.seating.whose(call.bidder)
            told = ("The cups go up one by one,", f"{last} last.")
            for row, text in enumerate(told[:rows]):
                canvas.put(x + 2, y + (rows > 2) + row, cut(text, columns - 2), "quiet")
        return
    if rows >= 7:  # leave a margin
        y, rows = y + 1, rows - 2
    canvas.fill(x, y, columns, rows, said.tone)
    large = canvas.letters_width(said.title)
    pad = 3 if columns >= 30 else 1
    beside = columns - large - 2 * pad - 3
    if rows >= 3 and beside >= max(width(said.first), width(said.second)):
        top = y + (rows - 3) // 2
        end = canvas.letters(x + pad, top, said.title)
        canvas.put(end + 3, top, said.first, bold=True)
        canvas.put(end + 3, top + 1, said.second)
    elif rows >= 4 and large <= columns:
        top = y + max((rows - 5) // 2, 0)
        canvas.letters(x + (columns - large) // 2, top, said.title)
        both = f"{said.first} {said.second}"
        if width(both) <= columns:
            canvas.centre(x, top + min(rows - 1, 4), columns, both, bold=True)
        elif rows >= 5:
            canvas.centre(x, top + 3, columns, said.first, bold=True)
            canvas.centre(x, top + 4, columns, said.second)
        else:
            canvas.centre(x, top + 3, columns, said.first.rstrip(",:"), bold=True)
    else:
        lines = [said.title, said.first, said.second] if rows >= 3 else [f"{said.title}: {said.first} {said.second}"]
        for row, text in enumerate(lines):
            canvas.put(x + 1, y + row, cut(text, columns - 2), bold=not row)


# Watching


def draw_strip(canvas: Canvas, shown: ReplayStrip | WatchStrip, area: Area) -> None:
    """Draw the strip of a replay or of a spectator in the available rows."""
    if isinstance(shown, ReplayStrip):
        _replay(canvas, shown, area)
    else:
        _watch(canvas, shown, area)


def _watch(canvas: Canvas, shown: WatchStrip, area: Area) -> None:
    x, y, columns, rows = area
    signed = f", {shown.signatures:,} signatures" if shown.signatures else ""
    said = f"{counted(shown.steps, 'step').replace('no ', '0 ')}{signed}, nothing wrong so far"
    facts = (shown.fact,) if shown.fact else (_SEEN, _CHECKED)
    told = [row for fact in facts for row in wrap(fact, columns - 2)]
    if len(told) + 2 > rows:
        told = told[: max(rows - 1, 0)] if columns >= 72 or shown.fact else []
    top = y + (rows > len(told) + 2)
    for row, line in enumerate(told):
        canvas.put(x + 1, top + row, line, "quiet")
    last = min(top + len(told) + (len(told) + 2 < rows), y + rows - 1)
    end = canvas.put(x + 1, last, "✓ ", "good", bold=True)
    short = f"{shown.steps} steps checked here"
    canvas.put(end, last, cut(said if width(said) <= columns - 3 else short, columns - 3))


def _replay(canvas: Canvas, shown: ReplayStrip, area: Area) -> None:
    x, y, columns, rows = area
    total = len(shown.lost)
    step = f"{shown.step} of {shown.steps}" if shown.steps else f"{shown.step}"
    if rows < 3 or not total:
        where = f"round {shown.round} of {total}, step {step}" if shown.round else _START
        canvas.put(x, y, cut(where, columns), bold=True)
        return
    top = y + (rows >= 5)
    pitch = 4 if _LABEL + 4 * total <= columns else 3
    across = columns - _LABEL
    across = max((across if pitch * total <= across else across - 1) // pitch, 1)
    first = min(max(shown.round - 1 - across // 2, 0), max(total - across, 0))
    canvas.put(x + 1, top, "round", "quiet")
    canvas.put(x + 1, top + 1, "lost", "quiet")
    canvas.put(x + _LABEL - 1, top, "…" if first else "", "quiet")
    canvas.put(x + _LABEL + across * pitch, top, "…" if first + across < total else "", "quiet")
    for place, number in enumerate(range(first + 1, min(first + across, total) + 1)):
        at = x + _LABEL + place * pitch
        is_here = number == shown.round
        label = f"{number:^{pitch}}"[:pitch]
        canvas.put(
            at,
            top,
            label,
            "text" if number < shown.round or is_here else "quiet",
            "sel" if is_here else None,
            bold=is_here,
        )
        if is_here and (canvas.theme.is_ascii or canvas.theme.is_mono):
            canvas.put(at, top, f"[{number}]", bold=True)
        if (seat := shown.lost[number - 1]) is not None:
            canvas.put(at + pitch // 2 - 1 + pitch % 2, top + 1, canvas.theme.mark(seat), f"seat{seat}", bold=True)
    canvas.put(x + 1, top + 2, "step", "quiet")
    if not shown.round:  # its steps are of no round, so their number would seem to be that of round 1
        canvas.put(x + _LABEL, top + 2, cut(_START, columns - _LABEL), "quiet")
        return
    wide = min(columns - _LABEL - len(step) - 3, 48)
    share = min(shown.step / shown.steps, 1.0) if shown.steps else 0.0
    if wide >= 8:
        canvas.gauge(x + _LABEL, top + 2, wide, share)
        canvas.put(x + _LABEL + wide + 2, top + 2, step, "quiet")
    else:
        canvas.put(x + _LABEL, top + 2, cut(step, columns - _LABEL))
