"""The pictures before and after a match: the players and the way to join them; the places of the match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

from cli.render import command_line, shown_path
from cli.rulesets import described
from cli.table import palette
from cli.table.fragments import Line, cut, filled, rows, text, with_more
from cli.text.explain import summary
from cli.text.narrate import confirmation
from cli.text.narrate_motes import ticket_change
from cli.text.qr_code import qr_code
from cli.text.seating import display_names
from p2pdice.plurals import plural
from p2pdice.stakes import settlement

if TYPE_CHECKING:
    from cli.table.board import Board
    from p2pdice import State


def lobby(board: Board, columns: int, height: int, *, can_start: bool) -> list[Line]:
    """Return the players, the free seats, the rules in short, and the command that another laptop types to join."""
    head: list[Line] = []
    if board.ruleset is not None:
        name = described(board.ruleset, board.rules_name)
        head += [text(row) for row in rows(f"Rules: {name}: {summary(board.ruleset)}.", columns)]
    head.append([])
    names = display_names(board.players)
    seats = [_seat(board, place, names, columns) for place in range(max(board.seats, len(names)))]
    lines: list[Line] = []
    if board.join_line:
        lines += [[], text("On another laptop, type:")]
        if board.code:
            lines += [text(command_line("join", board.code), palette.KEY), text("or, if that does not find it:")]
        lines += [text(row, palette.KEY) for row in _command(board, columns)]
    free = board.seats - len(names)
    begin = "It begins when all seats are taken, or when {} start."
    if can_start and board.join_line and free:
        lines += [[], *(text(row) for row in rows(begin.format("you type"), columns))]
    elif not (board.join_line or board.match) and board.players and not board.players[0].is_me:
        told = rows(begin.format("the host types"), columns)
        lines += [[], *(text(row, palette.QUIET) for row in told)]
    if board.qr and board.join_line:
        lines += _qr_code(board, columns, height - len(head) - len(seats) - len(lines))
    return _fitted(head, seats, lines, columns, height)


def _fitted(head: list[Line], people: list[Line], tail: list[Line], columns: int, height: int) -> list[Line]:
    """Return lines that fit. First empty lines give way, then players, who are counted, then the end."""
    if len(head) + len(people) + len(tail) <= height:
        return [*head, *people, *tail]
    head, tail = ([line for line in lines if line] for lines in (head, tail))
    shown = people[: max(height - len(head) - len(tail), 1)]
    if shown:
        shown[-1] = with_more(shown[-1], len(people) - len(shown), columns)
    return [*head, *shown, *tail][:height]


def _qr_code(board: Board, columns: int, height: int) -> list[Line]:
    """Return the join line as a QR code, or how to see it if there is no room for it."""
    code = qr_code(board.join_line, board.qr)
    if len(code[0]) >= columns or len(code) >= height:
        return [[], text("To see the QR code, type qr.", palette.QUIET)]
    return [[], *(text(row) for row in code)]


def _seat(board: Board, place: int, names: Sequence[str], columns: int) -> Line:
    if place >= len(names):
        return text(f"  {place + 1}  free", palette.QUIET)
    player = board.players[place]
    you = " (you)" if player.is_me else ""
    room = max(columns - len(player.fingerprint) - 8, 8)
    name = f"{cut(names[place], room - len(you))}{you}"
    row: Line = [("", f"  {place + 1}  "), *filled([(palette.YOU if you else "", name)], min(room, 27))]
    row.append(("", f" {player.fingerprint}"))
    if player.fingerprint in board.away:
        row.append((palette.ALARM, " away"))
    return row


def _command(board: Board, columns: int) -> list[str]:
    """Return the command to join, in one line if it fits; else broken as a shell lets it be."""
    command = command_line("join", board.join_line)
    if get_cwidth(command) < columns:
        return [command]
    lines = [command_line("join") + " \\"]
    rest = command_line("join", board.join_line).removeprefix(command_line("join") + " ")
    while get_cwidth(rest) >= columns:
        lines.append(rest[: columns - 2] + "\\")
        rest = rest[columns - 2 :]
    return [*lines, rest]


def places(board: Board, columns: int, height: int, score: str, hint: str) -> list[Line]:
    """Return the places of the match, the path of its transcript, and the words for the rest of the evening."""
    over = board.over
    assert over is not None
    names = board.seating.names or display_names(over.players)
    head: list[Line] = [text("The match is over.", palette.TITLE), []]
    people: list[Line] = []
    gains = _gains(board.state) if board.state is not None else [""] * len(names)
    first = 1
    for seats in over.places:
        for seat in seats:
            you = " (you)" if over.players[seat].is_me else ""
            row: Line = [("", f"  {first}. "), (palette.YOU if you else "", f"{names[seat]}{you}")]
            row += [(palette.BID, "  wins")] if seats is over.places[0] else []
            people.append([*row, ("", gains[seat])])
        first += len(seats)
    lines: list[Line] = []
    if board.state is not None and board.state.motes is not None and board.state.motes.soul is not None:
        lines.append(text(f"The Twin Soul is {board.state.motes.soul.name}."))
    if score:
        lines += [[], text(f"This evening: {score}.")]
    lines += [[], *(text(row) for row in rows(confirmation(over, has_leavers=board.has_leavers), columns) if row)]
    lines += [text(row) for row in rows(f"The transcript is {shown_path(over.transcript)}", columns)]
    if hint:
        lines += [[], text(hint, palette.KEY)]
    return _fitted(head, people, lines, columns, height)


def _gains(state: State) -> list[str]:
    """Return the coins and run tickets that each player has won or lost; empty for no change."""
    if not state.places:
        return [""] * state.players
    paid = settlement(state)
    coins = [f"{delta:+,d} {plural(delta, 'coin')}" if state.ruleset.stakes else "" for delta in paid.delta]
    tickets = map(ticket_change, paid.ticket_delta)
    return ["".join(f"  {part}" for part in each if part) for each in zip(coins, tickets, strict=True)]
