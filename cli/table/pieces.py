"""The pieces of the picture of a table: players, the bid, cups, dice and motes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from prompt_toolkit.utils import get_cwidth

from cli.render import faces, percent
from cli.table import palette
from cli.table.dice import HEIGHT, is_room_for, large_die, large_hand, large_number
from cli.table.fragments import Line, bar, cut, filled, flowing, rows, text, width
from cli.text.narrate_game import narrate_game
from cli.text.narrate_motes import WINDOWS, window
from p2pdice.events import BidMade, DieGained
from p2pdice.motes import Die
from p2pdice.powers import POWERS

if TYPE_CHECKING:
    from cli.table.board import Board, Showdown
    from cli.table.palette import Glyphs
    from cli.text.seating import Seating
    from p2pdice import StandingBid, State

_YOU: Final = " (you)"
_TO_MOVE: Final = "to move"
_BID: Final = 6
"""Columns of a bid in the row of a player."""
_NARROW: Final = 30
"""Columns below which the row of a player has no room for the last bid."""
_WORDS: Final = 18
"""Columns below which a bid is in digits: nothing else shows them there."""
_FEW: Final = 6
"""Dice up to which they are drawn one by one in the row of a player."""
_WHEN: Final = {"redeemed": "sunset, sunrise", "cursed": "night"}


# Players


def players(board: Board, columns: int, glyphs: Glyphs) -> list[Line]:
    """Return a row for each player, clockwise: dice left, the last bid of this round, and marks such as "out"."""
    state = board.state
    assert state is not None
    names = board.seating.names
    pictures = [_dice_left(board, state, seat, glyphs) for seat in range(len(names))]
    piled = max(map(width, pictures))
    is_narrow = columns < _NARROW
    has_bids = bool(state.bids) and board.showdown is None and not is_narrow
    # A name is cut before a mark is left out.
    marks = [[mark for _, mark in _marks(board, state, seat) if mark != _TO_MOVE] for seat in range(len(names))]
    held = max(sum(1 + len(mark) for mark in each) for each in marks)
    room = max(columns - 20, 8) if not (held or is_narrow) else max(columns - 3 - piled - _BID * has_bids - held, 9)
    named = min(max(get_cwidth(name) + len(_YOU) * (seat == board.me) for seat, name in enumerate(names)), room)
    shown = []
    for seat, name in enumerate(names):
        is_turn = seat == state.turn and not board.over
        row: Line = [(palette.TURN, f"{glyphs.turn} " if is_turn else "  ")]
        row += filled([_name(seat, name, board, named)], named)
        row += [("", " "), *filled(pictures[seat], piled)]
        if has_bids:
            last = next((each for each in reversed(state.bids) if each.seat == seat), None)
            style = palette.BID if last is not None and last is state.bids[-1] else palette.QUIET
            row.append((style, f" {'' if last is None else f'{last.quantity}x{last.face}':5}"))
        for mark in _marks(board, state, seat):
            if width(row) + 1 + get_cwidth(mark[1]) <= columns:
                row += [("", " "), mark]
        shown.append(row)
    return shown


def in_sight(board: Board, room: int) -> list[int]:
    """Return the seats whose rows are shown where there is room for so many: first of all the player on turn, the
    reader, and the last bidder."""
    state = board.state
    assert state is not None
    bidder = state.bid.seat if state.bid is not None else None
    seats = range(len(board.seating.names))
    first = [seat for seat in (state.turn, board.me, bidder) if seat in seats]
    return sorted([*dict.fromkeys((*first, *seats))][:room])


def _name(seat: int, name: str, board: Board, columns: int) -> tuple[str, str]:
    if seat != board.me:
        assert board.state is not None
        is_out = seat not in board.state.live
        return (palette.QUIET if is_out else "", cut(name, columns))
    return (palette.YOU, f"{cut(name, columns - len(_YOU))}{_YOU}")


def _dice_left(board: Board, state: State, seat: int, glyphs: Glyphs) -> Line:
    count = state.dice[seat]
    if seat in board.hands and seat != board.me:
        return text(" ".join(map(str, board.hands[seat])))
    if state.motes is not None and state.motes.cups:
        return _spaced([(_mote(die), _letter(die, seat)) for die in state.motes.cups[seat]])
    if max((*state.dice, state.ruleset.dice)) > _FEW:
        return text(f"{count:2} dice" if count != 1 else " 1 die ")
    return text(glyphs.die * count + glyphs.gone * max(state.ruleset.dice - count, 0))


def _mote(die: Die) -> str:
    return f"class:{die.mote}"


def _letter(die: Die, seat: int) -> str:
    """Return a die in the cup of a seat as a letter; with its seat if it was dealt to another one."""
    letter = POWERS[die.mote].letter
    return letter if die.seat == seat else f"{letter}{die.seat}"


def _spaced(parts: Sequence[tuple[str, str]]) -> Line:
    return [piece for number, part in enumerate(parts) for piece in ([("", " ")] if number else []) + [part]]


def _marks(board: Board, state: State, seat: int) -> list[tuple[str, str]]:
    player = board.players[seat]
    marks: list[tuple[str, str]] = []
    if seat not in state.live:
        marks.append((palette.QUIET, "out"))
    elif player.fingerprint in {each.fingerprint for each in board.absent}:
        marks.append((palette.ALARM, "waited for"))
    elif player.fingerprint in board.away:
        marks.append((palette.ALARM, "away"))
    if state.challenge is not None:
        if seat == state.challenge.seat:
            marks.append((palette.BID, f"{state.challenge.call}!"))
        marks += [("", side) for other, side in state.challenge.sides if other == seat]
    if state.motes is not None:
        lasting = [effect for effect in state.motes.lasting if effect.seat == seat]
        marks += [(palette.YOU if effect.is_good else palette.LOST, effect.mark) for effect in lasting]
    if seat == state.turn and not board.over:
        marks.append((palette.TURN, _TO_MOVE))
    if not marks and not state.bids and board.showdown is None and seat == state.leader:
        marks.append((palette.QUIET, "leads"))
    return marks


# The bid


def chance(board: Board, quantity: int, face: int) -> str:
    """Return the chance that a bid is true, as far as the reader's dice tell."""
    from p2pdice.odds import at_least

    state = board.state
    assert state is not None
    return percent(at_least(quantity, face, board.hand, sum(state.dice) - len(board.hand), state.ones_wild))


def _odds(board: Board, state: State) -> str:
    """Return how likely the standing bid is to the reader; if the reader sees all dice, how likely to the bidder."""
    assert state.bid is not None
    quantity, face, seat = state.bid
    if board.me is None and board.hands:
        from cli.text.hindsight import in_short, weigh

        weighed = weigh(BidMade(seat, quantity, face), state, board.hands, None)
        assert weighed is not None
        return in_short(weighed, board.seating)
    return f"{chance(board, quantity, face)} likely"


def standing(board: Board, columns: int, height: int, glyphs: Glyphs, *, with_odds: bool) -> list[Line]:
    """Return the standing bid, large where there is room, and the bids of this round."""
    state = board.state
    assert state is not None
    if state.bid is None:
        return _no_bid(board, state, columns)
    last = state.bid
    says = _says(board, last, columns)
    odds = _odds(board, state) if with_odds else ""
    bids = [text(f"{board.seating.who(each.seat)} {each.quantity}x{each.face}") for each in state.bids[:-1]]
    if height >= HEIGHT + 2:
        number = large_number(last.quantity)
        die = large_die(last.face, glyphs)
        beside = ["", "", f"  {odds}"]
        large: list[Line] = [
            [(palette.BID, f"  {number[row]} {glyphs.times if row == 1 else ' '} {die[row]}"), ("", beside[row])]
            for row in range(HEIGHT)
        ]
        below: list[Line] = []
        if odds and max(map(width, large)) > columns:
            large = [line[:1] for line in large]
            below = [text(row) for row in rows(odds, columns)]
        if 1 + HEIGHT + len(below) <= height:
            return [text(says, palette.BID), *large, *below, *_earlier(bids, columns, height - HEIGHT - 1 - len(below))]
    lines = [text(says, palette.BID), *(text(row) for row in rows(odds, columns) if row)]
    return [*lines, *_earlier(bids, columns, height - len(lines))]


def _says(board: Board, last: StandingBid, columns: int) -> str:
    """Return the bidder and the bid, in as many words as there is room for."""
    who, what = board.seating.who(last.seat), faces(last.quantity, last.face)
    for said in (f"{board.seating.does(last.seat, 'bids', 'bid')} {what}", f"{who}: {what}"):
        if get_cwidth(said) <= columns and columns >= _WORDS:
            return said
    return f"{cut(who, columns - 6)}: {last.quantity}x{last.face}"


def _earlier(bids: Sequence[Line], columns: int, height: int) -> list[Line]:
    """Return the bids of the round below the standing one, as many as there is room for; the latest ones."""
    for first in range(len(bids)):
        head = "before: " if not first else "before: … "
        lines = flowing([[("", head), *bids[first]], *bids[first + 1 :]], columns, ", ")
        if len(lines) <= height:
            return lines
    return []


def _no_bid(board: Board, state: State, columns: int) -> list[Line]:
    if state.awaits.value == "deal":
        said = "The dice are rolled."
    elif state.phase == "bidding":
        opens = "opens" if state.leader != board.me else "open"
        said = f"No bid yet: {board.seating.who(state.leader)} {opens} the round."
    elif state.phase == "stakes":
        said = "Everybody stakes coins on their own victory."
    else:
        said = ""
    shown = [text(row, palette.QUIET) for row in rows(said, columns)] if said else []
    if state.palifico:
        shown += [text(row) for row in rows("A special round: ones are not wild.", columns)]
    return shown


# The showdown


def cups(showdown: Showdown, seats: int, columns: int) -> list[Line]:
    """Return a row for each seat: its dice, once its cup is open. Dice that count stand in brackets."""
    most = max((len(hand) for hand in showdown.shown.hands if hand), default=0)
    cell = 3 if 3 * most + 5 <= columns else 2
    return [_cup(showdown, seat, cell) for seat in range(seats)]


def _cup(showdown: Showdown, seat: int, cell: int) -> Line:
    hand = showdown.shown.hands[seat]
    if hand == ():
        return []
    if seat not in showdown.opened:
        return text("never opened" if hand is None and showdown.is_counted else "closed", palette.QUIET)
    if hand is None:
        return text("never opened", palette.LOST)
    row: Line = []
    for face in hand:
        if showdown.counts(face):
            row.append((palette.COUNTED, f"[{face}]" if cell == 3 else f"{face}*"))
        else:
            row.append(("", f" {face} " if cell == 3 else f"{face} "))
    number = sum(map(showdown.counts, hand))
    return [*row, (palette.COUNTED if number else palette.QUIET, f"  {number}")]


def judgement(board: Board, columns: int, height: int, glyphs: Glyphs) -> list[Line]:
    """Return the call, the count so far, the verdict, and the dice lost."""
    showdown, state = board.showdown, board.state
    assert showdown is not None
    assert state is not None
    seating = board.seating
    lines: list[Line] = []
    if showdown.call is not None:
        call = showdown.call
        what = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
        called = f"{seating.does(call.seat, 'calls', 'call')} {call.call} on {what}."
        lines += [text(row, palette.BID) for row in rows(called, columns)]
    lines.append(_count(showdown, columns, glyphs))
    said = [
        *([(palette.TITLE, narrate_game(showdown.verdict, state, seating))] if showdown.verdict is not None else []),
        *(
            (palette.GAINED if isinstance(event, DieGained) else palette.LOST, narrate_game(event, state, seating))
            for event in showdown.consequences
        ),
    ]
    told = [text(row, style) for style, each in said for row in rows(each, columns)]
    if len(lines) + len(told) > height and told:
        told = [text(row, palette.TITLE) for row in rows(" ".join(each for _, each in said), columns)]
        lines = lines[max(len(lines) + len(told) - height, 0) :]
    return [*lines, *told][:height] if told else lines[-height:]


def _count(showdown: Showdown, columns: int, glyphs: Glyphs) -> Line:
    shown = showdown.shown
    so_far, wanted = showdown.count_so_far, shown.quantity
    gauge = bar(so_far, wanted, glyphs)
    more = f"+{glyphs.full * min(so_far - wanted, wanted)}" if so_far > wanted else ""
    words = f"{so_far}; the bid was {faces(wanted, shown.face)}"
    line: Line = [("", "Counted: "), (palette.COUNTED, f"{gauge}{more} "), (palette.TITLE, words)]
    wild: Line = text("; ones are wild") if shown.ones_wild and shown.face != 1 else []
    if width([*line, *wild]) <= columns:
        return [*line, *wild]
    return line if width(line) <= columns else [line[0], line[2]]


# The reader's dice


def own_dice(board: Board, columns: int, height: int, glyphs: Glyphs) -> list[Line]:
    """Return the reader's dice: drawn large where there is room, else as numbers."""
    state = board.state
    if board.me is None or state is None:
        return []
    if board.me not in state.live:
        return [text("You are out.", palette.QUIET)]
    if not board.hand:
        if not state.dice[board.me]:
            return [text("You have no dice left.", palette.QUIET)]
        return [text("Your dice wait for the roll.", palette.QUIET)]
    if height >= HEIGHT + 1 and is_room_for(len(board.hand), columns):
        return large_hand(board.hand, glyphs, palette.YOU)
    dice = [[(palette.YOU, f"[{face}]")] for face in board.hand]
    head: Line = text("Your dice: ")
    lines = flowing([[*head, *dice[0]], *dice[1:]], columns, " ")
    return lines if len(lines) <= height else [[*head, (palette.YOU, "".join(map(str, board.hand)))]]


# Motes


def motes(board: Board, columns: int, height: int) -> list[Line]:
    """Return the lines for dice with powers: windows, stack, graveyard, and what each die can do now."""
    state = board.state
    assert state is not None
    mischief = state.motes
    if mischief is None or mischief.prize is None:
        return []
    windows: Line = []
    now = window(state)
    for each in WINDOWS:
        windows.append(("", " - " if windows else ""))
        windows.append((palette.TURN, f"[{each}]") if each == now else (palette.QUIET, each))
    lines = flowing([windows, [("", "prize "), (f"class:{mischief.prize}", mischief.prize)]], columns, "   ")
    stack = [f"{die} by {board.seating.who(by)}{_aim(board, target)}" for die, by, target in reversed(mischief.stack)]
    if stack:
        effects = [text(f"{each};") for each in stack[:-1]] + [text(stack[-1])]
        lines += flowing([[(palette.TURN, "Stack, top first: "), *effects[0]], *effects[1:]], columns, " ")
    lines += _powers(board, state)
    buried = [
        [("", f"{board.seating.who(seat)} "), *_listed([die for die, by in mischief.graveyard if by == seat])]
        for seat in range(state.players)
        if any(by == seat for _, by in mischief.graveyard)
    ]
    if buried:
        lines += flowing([[("", "Graveyard: "), *buried[0]], *buried[1:]], columns, "; ")
    else:
        lines.append(text("The graveyard is empty.", palette.QUIET))
    letters = [text(f"{power.letter} {power.mote}", palette.QUIET) for power in POWERS.values()]
    key = flowing([[("", "In the cups: "), *letters[0]], *letters[1:]], columns, ", ")
    # One's own dice, drawn large, are worth more.
    return [*lines, *key] if len(lines) + len(key) + HEIGHT <= height else lines[:height]


def motes_in_short(board: Board) -> str:
    """Return the window, the prize, and what is on top of the stack or how many dice are in the graveyard.

    It fits into the narrowest terminal. Empty if dice have no powers.
    """
    assert board.state is not None
    mischief = board.state.motes
    if mischief is None or mischief.prize is None:
        return ""
    last = f"stack {mischief.stack[-1].die}" if mischief.stack else f"graveyard {len(mischief.graveyard)}"
    return ", ".join(filter(None, (window(board.state), f"prize {mischief.prize}", last)))


def _aim(board: Board, target: Die | int) -> str:
    return f" on {board.seating.who(target)}" if isinstance(target, int) else f" on {target}"


def _listed(dice: Sequence[Die]) -> Line:
    return _spaced([(_mote(die), str(die)) for die in dice])


def purpose(typed: str, seating: Seating) -> str:
    """Return the effect of a move with a mote, and its target, in words; empty if the typed line names none."""
    verb, _, rest = typed.partition(" ")
    named = rest.partition(" ")[0].partition("@")[0]
    power = POWERS.get(named)
    if power is None:
        return ""
    if verb == "lose":
        return f"{_WHEN[power.group].capitalize()}: {power.brief}."
    if verb == "crown":
        return f"It makes a Twin Soul, and its group, {power.group.capitalize()}, earns run tickets."
    target = rest.partition(f" {power.verb} ")[2] if power.target is int else ""
    on = f" ({seating.who(int(target))})" if target in map(str, range(len(seating.names))) else ""
    return f"{power.brief.capitalize()}{on}."


def _powers(board: Board, state: State) -> list[Line]:
    """Return a row for each die that the reader can play now or later, with its effect in words."""
    from p2pdice.moves import Power

    if board.me not in state.live or state.motes is None:
        return []
    legal = board.turn.view.legal if board.turn is not None else ()
    now = {move.die for move in legal if isinstance(move, Power)}
    mine = sorted((die for die, by in state.motes.graveyard if by == board.me), key=lambda die: die not in now)
    shown: list[Line] = []
    for die in mine:
        power = POWERS[die.mote]
        when = "now" if die in now else _WHEN[power.group]
        style = palette.TURN if die in now else palette.QUIET
        shown.append([(style, f"{'play' if die in now else '    '} {die} "), ("", f"({when}): {power.brief}")])
    return shown
