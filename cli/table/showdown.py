"""The showdown: the cups open one by one, dice that count fill the slots of the bid, and a verdict follows.

The caller's cup opens first, then the others clockwise, and the bidder's last. The board stores which cups are open;
only the last of them is animated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from cli.render import faces, listing
from cli.table.board import CupOpened
from cli.table.canvas import DieLook
from cli.table.scene import LIFT, OWN, STILL
from cli.text.narrate_game import verdict_in_letters
from p2pdice import events as game
from p2pdice.plurals import number
from p2pdice.showdown import verdict as judge

if TYPE_CHECKING:
    from cli.table.board import Board, Showdown
    from cli.table.scene import Motion

_AFTERWARDS: Final = ("sunset", "night", "sunrise", "crown")
"""Phases after a verdict in which the felt shows powers again."""


class Cup(NamedTuple):
    """One cup of a showdown."""

    is_open: bool
    is_half: bool = False
    """Whether it is being lifted, and its dice are not visible yet."""
    dice: tuple[tuple[int, DieLook], ...] = ()
    """The faces of the visible dice, and how each is drawn."""
    note: str = ""
    """The note below the cup; if empty, the player's usual note is shown."""
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
    """The role of the ground, which depends on the reader's side."""


def is_on(board: Board) -> bool:
    """Return whether the felt shows a showdown: a call has no verdict yet, or its verdict is still shown."""
    state = board.state
    if board.showdown is not None:
        return state is not None and state.phase not in _AFTERWARDS
    return state is not None and state.challenge is not None and board.call is not None


def is_siding(board: Board) -> bool:
    """Return whether the other players are still choosing sides."""
    return board.showdown is None and board.state is not None and board.state.phase == "siding"


# Cups


def cups(board: Board, motion: Motion) -> dict[int, Cup]:
    """Return the cups that were opened or stayed down, by seat.

    While players choose sides, return closed cups with notes on the sides.
    """
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
    rest: DieLook = "miss" if gold or stage >= STILL else "die"  # dice that do not count fade as soon as one counts
    kinds: list[DieLook] = [
        "counts" if place in gold else "die" if place in wanted else rest for place in range(len(hand))
    ]
    note = (
        f"{number(len(gold))} {'counts' if len(gold) == 1 else 'count'}" if gold else "none" if stage >= STILL else ""
    )
    return Cup(True, dice=(*zip(hand, kinds, strict=True),), note=note, role="counts" if gold else "quiet")


def _with_loss(shown: Showdown, seat: int, cup: Cup) -> Cup:
    """Return the cup with a note on the die that its player gained or lost."""
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


def _without(seen: tuple[tuple[int, DieLook], ...], lost: int) -> tuple[tuple[int, DieLook], ...]:
    """Return the dice with ``lost`` of them marked as gone: first dice that did not count, from the right."""
    order = sorted(range(len(seen)), key=lambda place: (seen[place][1] == "counts", -place))
    return tuple((face, "gone" if place in order[:lost] else kind) for place, (face, kind) in enumerate(seen))


def counted(board: Board, motion: Motion) -> list[tuple[int, int]]:
    """Return the seat and the face of each die counted so far, in the order of counting."""
    if (shown := board.showdown) is None:
        return []
    found = [(seat, _cup(board, shown, seat, motion)) for seat in shown.opened]
    return [(seat, face) for seat, cup in found for face, kind in cup.dice if kind == "counts"]


# The verdict


def words(board: Board) -> Words | None:
    """Return the words of the verdict or of a void round; None before it."""
    showdown, call = board.showdown, board.call
    if showdown is None or call is None or not showdown.is_counted:
        return None
    shown, verdict = showdown.shown, showdown.played.verdict
    count, bid = shown.count, shown.quantity
    if verdict is None:
        bounds = shown.counting.bounds(filter(None, shown.hands), shown.unopened, shown.face)
        if judge(call.call, bid, *bounds)[1] is not None:
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
