"""Dialogues and pages: questions in a box on the table, and texts that cover it."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from cli.render import counted, listing, wrapped
from cli.table.canvas import cut, width
from cli.table.scene import Choice, Dialog
from cli.text.narrate import time_left
from p2pdice.state import NOBODY, Expect

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.canvas import Area, Canvas
    from cli.table.scene import Page
    from p2pdice.state import State
    from protocol.events import PlayerInfo
    from protocol.match.progress import Clock

    _Row = tuple[str, Choice | None]
    """One row of a dialogue, and the choice that it names."""

_WIDEST: Final = 64
"""Columns of a dialogue: as long as a line can be read at a glance."""


def leaving(board: Board, clock: Clock | None, *, is_conceding: bool, goes_on: bool) -> Dialog:
    """Return the question before one leaves a match.

    :param goes_on: the others can go on without this player.
    """
    state = board.state
    assert state is not None
    others = [board.seating.names[seat] for seat in state.live if seat != board.me]
    now = f"Round {state.round}; it is {board.seating.whose(state.turn)} turn" if state.turn >= 0 else ""
    left = f", with {time_left(ceil(clock.seconds))} left" if now and clock is not None else ""
    late = "If you are away for long, they may go on without you." if goes_on else "The match waits for you."
    when = f"; it takes effect after {board.seating.whose(state.turn)} move" if _is_later(board, state) else ""
    means = f"you are out for good; {listing(others)} play on" if len(others) > 1 else "you lose this match"
    choices = (
        Choice("s", "Stay"),
        Choice("l", "Come back later", "your dice are kept; return with p2pdice resume", "quit now"),
        Choice("c", "Concede", f"{means}{when}", "concede yes"),
    )
    lines = [*([f"{now}{left}."] if now else []), late]
    return Dialog("Leave the table?", lines, choices, picked=2 if is_conceding else 0)


def _is_later(board: Board, state: State) -> bool:
    return state.expects.kind is Expect.MOVE and state.turn not in (board.me, NOBODY)


def waiting(
    board: Board, clock: Clock | None, lost: PlayerInfo, seconds: int, *, can_wait: bool, can_claim: bool
) -> Dialog:
    """Return the question what to do about a player who does not answer.

    :param seconds: since they were last heard of.
    :param can_wait: the reader's program can wait longer.
    :param can_claim: it is a match of two, which the reader can leave as claimed.
    """
    name = board.seating.named([lost])
    lines = [f"{name} left {since(seconds)} ago, and can still come back."] if lost.fingerprint in board.gone else []
    if clock is not None and clock.goes_on:
        voters = [each for each in board.seating.players if each not in clock.awaited and not each.is_me]
        others = [board.seating.named([each]) for each in voters]
        left = time_left(ceil(clock.seconds))
        needs = f" (needs {listing(others)} too)" if others else ""
        can = f"{listing([*others, 'you'])} can" if others else "You can"
        lines += [
            f"No word from {name}'s laptop for {counted(seconds, 'second')}.",
            f"{can} go on without {name} in {left}.",
        ]
        wait = [Choice("w", "Wait two more minutes", line="wait")] if can_wait else []
        choices = [
            *wait,
            Choice("g", f"Go on without {name} in {left}{needs}"),
            Choice("q", "Leave, and come back to this match later", line="quit now"),
        ]
        return Dialog(f"{name} isn't answering", lines, choices, tone="warn")
    lines.append(f"There are too few of you to go on without {name}, so the match waits.")
    claimed = (
        f"Only your own history notes it: claimed, not confirmed. Nobody wins, no coins move, and you and {name} can"
        " both still resume."
    )
    claim = [Choice("c", "Leave it as claimed", claimed, "claim")] if can_claim else []
    choices = [Choice("w", f"Wait for {name}"), Choice("l", "Leave; resume another day", line="quit now"), *claim]
    return Dialog(f"{name} is away", lines, choices, tone="warn")


def newcomer(name: str, player: PlayerInfo, came_by: str, *, namesake: bool) -> Dialog:
    """Return the question of a host about somebody who wants to sit down, or of a guest about somebody who sits there.

    :param name: safe to print.
    :param came_by: ``code``, ``line`` or ``network``; empty if the reader is a guest.
    :param namesake: the reader trusts another key under this name.
    """
    ways = {"code": "came with the code", "line": "came with the long line", "network": "found the table by itself"}
    lines = [f"{player.fingerprint}{', ' * bool(came_by)}{ways.get(came_by, '')}"]
    if namesake:
        lines.append(f"Not the {name} you trust: compare keys before you play.")
    key = player.fingerprint
    if came_by:
        choices = [
            Choice("a", "Let them sit", line=f"seat {key}"),
            Choice("r", "Refuse", line=f"refuse {key}"),
            Choice("w", "Let them watch", line=f"watch {key}"),
        ]
        return Dialog(f"{name} wants to sit down", lines, choices, tone="warn" if namesake else "text")
    choices = [Choice("p", "Play with them", line=f"seat {key}"), Choice("l", "Leave the table", line="quit")]
    return Dialog(f"{name} sits here", lines, choices, picked=1, tone="warn")


def since(seconds: int) -> str:
    """Return a time in words: ``42 seconds``, ``six minutes``."""
    return counted(seconds, "second") if seconds < 120 else counted(seconds // 60, "minute")


def draw_dialog(canvas: Canvas, dialog: Dialog, area: Area) -> None:
    """Draw a dialogue in the middle of an area. Where it is short, notes and then lines are left out."""
    x, y, columns, height = area
    inner = min(_WIDEST, columns - 2) - 4
    shown = _fitted(dialog, inner, height - 2)
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


def _fitted(dialog: Dialog, inner: int, height: int) -> list[_Row]:
    told: list[_Row] = [(row, None) for text in dialog.lines for row in rows(text, inner)]
    choices: list[_Row] = [(each.text, each) for each in dialog.choices]
    noted: list[_Row] = []
    for each in dialog.choices:
        noted.append((each.text, each))
        noted += [(f"     {row}", None) for row in rows(each.note, inner - 5) if row]
    gap: list[_Row] = [("", None)]
    spaced = [*told, *gap] if told else []
    for found in ([*gap, *spaced, *noted, *gap], [*spaced, *noted], [*told, *noted], [*told, *choices]):
        if len(found) <= height:
            return found
    return [*told[: max(height - len(choices), 0)], *choices][:height]


def page_size(columns: int, lines: int) -> tuple[int, int]:
    """Return the columns and lines of the text on a page, on a terminal of this size."""
    return columns - 2, max(lines - 5, 1)


def page_rows(page: Page, columns: int) -> list[str]:
    """Return the lines of a page as they are broken on a screen of so many columns."""
    return [row for text in page.lines for row in rows(text, columns - 2)]


def draw_page(canvas: Canvas, page: Page) -> None:
    """Draw a page on all of a canvas but its last four rows: the band, two for keys, and the line."""
    _, room = page_size(canvas.width, canvas.height)
    told = page_rows(page, canvas.width)
    canvas.fill(0, 0, canvas.width, canvas.height - 4, "")
    canvas.fill(0, 0, canvas.width, 1, "bar")
    first = min(max(page.at, 0), max(len(told) - room, 0))
    pages = -(-len(told) // room)
    where = f"page {min(-(-first // room) + 1, pages)} of {pages} " if pages > 1 else ""
    canvas.put(1, 0, cut(page.title, canvas.width - width(where) - 3), "text", "bar", bold=True)
    canvas.right(canvas.width, 0, where, "text", "bar")
    for place, row in enumerate(told[first : first + room], 1):
        canvas.put(1, place, row)


def rows(said: str, columns: int) -> list[str]:
    """Return a text in lines of at most ``columns`` columns, broken between words.

    A longer path or command is broken between its parts, and a longer part where it must be.

    >>> rows("one two\\n    p2pdice verify file\\n    ~/evenings/friday", 15)
    ['one two', '    p2pdice ', '    verify file', '    ~/evenings/', '    friday']
    """
    columns = max(columns, 2)  # a wide sign has room
    return [row for line in wrapped(said, columns + 1).split("\n") for row in _broken(line, columns)]


def _broken(line: str, columns: int) -> list[str]:
    if width(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())][: columns // 2]
    shown = []
    rest = line
    while width(rest) > columns:
        start = _first(rest, columns)
        if len(start) <= len(indent):  # nothing fits behind it
            indent, rest = "", rest.lstrip()
            start = _first(rest, columns) or rest[:1]
        part = max(map(start.rfind, " /\\")) + 1
        shown.append(start if part <= len(indent) else start[:part])
        rest = indent + rest[len(shown[-1]) :]
    return [*shown, rest]


def _first(text: str, columns: int) -> str:
    """Return the longest start that fits, with the marks that stand on its last character."""
    taken = 0
    for place, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            return text[:place]
    return text
