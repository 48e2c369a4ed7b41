"""Pictures before and after a match: the lobby, with the players and how to join; the end card, with the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.render import command_line, counted, escape, initial, listing, numbered, qr_code, sentence, shown_path
from cli.rulesets import described
from cli.table.answers import FIRST_GAME
from cli.table.canvas import Area, broken, cut, width
from cli.text.explain import SHORT, summary
from cli.text.narrate import confirmation
from cli.text.narrate_game import ticket_change
from cli.text.seating import display_names
from p2pdice.plurals import number, plural
from p2pdice.stakes import settlement
from protocol.wire.names import is_marked_as_bot

if TYPE_CHECKING:
    from cli.table.board import Board
    from cli.table.canvas import Canvas
    from cli.table.scene import Scene
    from p2pdice.state import State
    from protocol.events import MatchResult, PlayerInfo

_SIDE: Final = 110
"""Minimum columns to draw the rules beside the seats."""
_PANEL: Final = 36
"""Columns of the rules beside the seats."""
_WIDEST: Final = 150
_BROAD: Final = 72
"""Minimum columns for whole sentences on the felt."""
_NARROW: Final = 60
"""Minimum columns to give the rows of an end card titles."""
_LOW: Final = 11
"""Maximum rows of an area in which the felt has no edges."""
_TALK: Final = 2
"""Rows reserved for the talk, if the window is high enough."""
_BADGE: Final = 21
"""The column where a badge begins, which shows how well the reader knows a player."""
_PODIUM: Final = 4
"""Players on the podium."""
_Line = tuple[str, int | None, str, str]
_LEFT: Final = {"conceded": "conceded", "evicted": "ran out of time"}
"""Descriptions of early exits, by reason. Players with other reasons played to the end."""
_TIMES: Final = {1: "once", 2: "twice"}


# Before the match


def lobby(canvas: Canvas, board: Board, scene: Scene, area: Area) -> Area:
    """Draw how to join, the seats, and a summary of the rules; return the area left for the talk."""
    if area.width > _WIDEST:
        area = area._replace(x=area.x + (area.width - _WIDEST) // 2, width=_WIDEST)
    x, y, columns, rows = area
    seats = max(board.seats, len(board.players))
    warned = [_warning(board, player) for player in board.players]
    top, code = _invitation(canvas, board, columns, rows - seats - 1 - _TALK * (rows > _LOW))
    height = len(top) + 2 * (rows > _LOW)
    if rows >= height + 2 * seats + 5:
        height += 2 * (not code or rows >= 30)
    inner = Area(x, y, columns, height)
    _paragraph(canvas, canvas.felt(inner) if rows > _LOW else inner, top, board.code if code else "")
    rest = Area(x, y + height, columns, rows - height)
    if columns >= _SIDE and rows >= 24:
        return _beside(canvas, board, scene, rest, warned)
    pitch = 2 if rest.height >= 2 * seats + 1 + _TALK else 1
    used = _seats(canvas, board, scene, rest._replace(height=min(rest.height, pitch * seats)), warned)
    left = rest._replace(y=rest.y + used, height=rest.height - used)
    strangers = [name for name, text in zip(display_names(board.players), warned, strict=True) if "compare" in text]
    alarm = f"Compare keys with {strangers[0]} before you play." if strangers else ""
    if left.height and ((alarm and pitch == 1) or left.height > _TALK):
        said, role = (alarm, "warn") if alarm and pitch == 1 else (_rules(board, columns - 2, top), "quiet")
        canvas.put(x + 1, left.y, cut(said, columns - 2), role)
        left = left._replace(y=left.y + 1, height=left.height - 1)
    return left


def _invitation(canvas: Canvas, board: Board, columns: int, room: int) -> tuple[list[str], bool]:
    """Return the rows of text on the felt, and whether to draw the code in large letters over the empty rows."""
    free = board.seats - len(board.players)
    if not board.join_line or board.claimed is not None:
        told = _waiting(board, free)
        if columns < _BROAD or board.claimed is not None:
            told = [
                part.strip()
                for text in told[: 3 if board.claimed is not None else 1]
                for part in broken(text, columns - 2)
            ]
        return [row for row in told if row], False
    command = command_line("join")
    if not board.code:
        line = f"{command} {board.join_line}"
        told = ["Tell your friends. They type this line:", line]
        # A broken line could not be copied.
        return (told if width(line) <= columns else ["link  shows the line for your friends."]), False
    hint = "Not found?  link  shows a long line that always works,  qr  a picture"
    if columns < _BROAD:
        hint = "Not found?  link  shows a long line."
    typed = f"Tell your friends to type:  {command} {board.code}" if columns >= 60 else f"{command} {board.code}"
    is_drawn = room >= 8 and canvas.letters_width(board.code) <= columns - 4
    return [typed, *([""] * 4 if is_drawn else ()), hint], is_drawn


def _waiting(board: Board, free: int) -> list[str]:
    if board.claimed is not None:
        names = listing(display_names(board.claimed.away, board.claimed.players))
        return [
            "You left the match: claimed, not confirmed.",
            f"Go on with it: {board.take_back_line}" if board.take_back_line else "",
            f"Nobody else has signed it: it counts as claimed, never as won, and no coins move. {names} can still"
            " come back and play on, if you return to it. This table is free for another match: type again.",
        ]
    if board.is_asked_about and not board.players:
        return ["The host is being asked whether you may sit down.", ""]
    if board.absent:
        who = listing(display_names(board.absent, board.players))
        return [f"The match waits for {who}."]
    if board.match:
        return ["Everybody signs in. Then the seats are drawn."]
    if not board.players or board.players[0].is_me:
        return ["Your bots take all other seats." if free else "Everybody is here."]
    host = display_names(board.players)[0]
    here = "You are in" if any(player.is_me for player in board.players) else "You are watching"
    more = f"one more player, or for {host} to start" if free == 1 else f"more players, or for {host} to start"
    first = f"{here}. Waiting for {more if free else f'{host} to start'}."
    return [first, _short(board)]


def _paragraph(canvas: Canvas, area: Area, rows: Sequence[str], code: str) -> None:
    x, y, columns, height = area
    y += (height - len(rows)) // 2
    for row, text in enumerate(rows):
        last = row == len(rows) - 1 and row
        canvas.centre(x, y + row, columns, text, "quiet" if last else "text", bold=not last and not code)
    if code:
        large = canvas.letters_width(code)
        canvas.letters(x + (columns - large) // 2, y + 2, code, "counts")


def _short(board: Board) -> str:
    """Return a short summary of the rules: their name, whether ones are wild, and how to win; empty if unknown."""
    if board.ruleset is None:
        return ""
    options = dict(board.ruleset.options())
    wild = SHORT["wild"][str(options["wild"])].replace("ones wild", "ones are wild").replace("nothing", "nothing is")
    name = initial(described(board.ruleset, board.rules_name))
    return f"{name} rules: {wild}, {SHORT['goal'][str(options['goal'])]}."


def _rules(board: Board, columns: int, felt: Sequence[str]) -> str:
    """Return the row below the seats: a summary of the rules and where to read them, or a word for beginners.

    :param felt: the rows on the felt, which may have the summary already.
    """
    if board.ruleset is None:
        return ""
    if board.is_new_home and board.claimed is None:
        return FIRST_GAME if width(FIRST_GAME) <= columns else "First game? Type learn to play a round."
    told, more = _short(board), "rules  shows the page"
    if told in felt:
        return more
    return f"{told}   {more}" if width(told) + 3 + width(more) <= columns else told


def _beside(canvas: Canvas, board: Board, scene: Scene, area: Area, warned: Sequence[str]) -> Area:
    """Draw the seats, with the rules or the QR code beside them; return the area left for the talk."""
    x, y, columns, rows = area
    left = columns - _PANEL
    seats = max(board.seats, len(board.players))
    code = qr_code(board.join_line, board.qr) if board.qr and board.join_line else []
    if code and not canvas.theme.is_ascii and len(code) < rows and columns - width(code[0]) >= 60:
        left = columns - width(code[0]) - 2
        for row, line in enumerate(code):
            canvas.put(x + left + 1, y + row, line)
        below = Area(x + left + 1, y + len(code), columns - left - 1, rows - len(code))
    else:
        for row in range(rows):
            canvas.put(x + left, y + row, "│", "faint")
        lines = [] if board.ruleset is None else summary(board.ruleset).split("; ")
        at = y
        if board.ruleset is not None:
            canvas.put(x + left + 2, at, cut(described(board.ruleset, board.rules_name), _PANEL - 3), bold=True)
        for line in lines:
            for number, part in enumerate(broken(line, _PANEL - 5)):
                at += 1
                if at < y + rows - 6:
                    canvas.put(x + left + 2, at, ("  " if number else "· ") + part, "quiet")
        at = min(at + 2, y + rows - 5)
        canvas.put(canvas.put(x + left + 2, at, "rules", underline=True), at, " reads them here", "quiet")
        if board.is_new_home:
            plays = " plays a 60-second round"
            canvas.put(canvas.put(x + left + 2, at + 1, "learn", underline=True), at + 1, plays, "quiet")
        below = Area(x + left + 1, at + 2, _PANEL - 1, y + rows - at - 2)
    pitch = 2 if rows >= 2 * seats + 1 else 1
    _seats(
        canvas, board, scene, Area(x + 1, y + (rows > pitch * seats), left - 2, min(rows - 1, pitch * seats)), warned
    )
    return below


def _seats(canvas: Canvas, board: Board, scene: Scene, area: Area, warned: Sequence[str]) -> int:
    """Draw the players and the free seats, in one or two rows each; return the number of rows used."""
    x, y, columns, rows = area
    names = display_names(board.players)
    seats = max(board.seats, len(names))
    pitch = 2 if rows >= 2 * seats else 1
    hidden = max(seats - rows + 1, 0) if seats > rows else 0
    for place in range(seats - hidden):
        top = y + place * pitch
        if place < len(names):
            _player(canvas, board, place, names[place], Area(x, top, columns, pitch), warned[place])
            if place == scene.picked:
                canvas.put(x, top, "▸", bold=True)
        else:
            canvas.put(x + 2, top, "┄" * (columns - 4), "faint")
            canvas.put(x + 3, top, " free seat ", "quiet")
    if hidden:
        canvas.put(x + 3, y + rows - 1, f"and {counted(hidden, 'more seat')}", "quiet")
    return min(seats * pitch, rows)


def _player(canvas: Canvas, board: Board, place: int, name: str, area: Area, warning: str) -> None:
    x, y, columns, rows = area
    player = board.players[place]
    canvas.fill(x + 2, y, columns - 3, 1, "plate")
    under = badge = min(_BADGE, columns // 2 - 1)
    you = " (you)" * player.is_me
    mark = canvas.theme.mark(place)
    text, role = _badge(board, player, name)
    # A long name moves the badge to the right, as far as a person's fingerprint still fits.
    beside = width(text) if is_marked_as_bot(player.name) else max(width(text), 24) + 6
    badge = max(badge, min(width(name) + 6 + len(you), columns - 4 - beside))
    canvas.put(x + 3, y, f"{mark} {cut(name, badge - 6 - len(you))}{you}", f"seat{place}", bold=True)
    end = x + columns - 2
    groups = player.fingerprint.split("-")
    for shown in (player.fingerprint, "-".join(groups[:2]), groups[0]):
        if x + badge + max(width(text), 24) + 2 + width(shown) <= end and (
            columns >= 82 or shown != player.fingerprint
        ):
            end = canvas.right(end, y, shown, "quiet") - 1
            break
    canvas.put(x + badge, y, cut(text, end - x - badge), role, bold=role in ("good", "bad"))
    note = warning or (_holdings(board) if player.is_me else "")
    if rows > 1:
        canvas.put(x + under, y + 1, cut(note, columns - under - 1), "quiet")


def _badge(board: Board, player: PlayerInfo, name: str) -> tuple[str, str]:
    """Return a badge that shows how well the reader knows a player, and its role."""
    key = player.fingerprint
    if player.is_me:
        return "this laptop", "quiet"
    if key in board.away:
        return "! not answering", "warn"
    if (strange := board.unfamiliar.get(key)) is not None and strange.namesakes:
        return f"! not the {escape(player.name)} you {'trust' if strange.trusted else 'know'}", "bad"
    if is_marked_as_bot(player.name):
        return "bot", "quiet"
    known = board.recognised.get(key)
    if known is None:
        return "", "quiet"
    if known.is_trusted:
        return "✓ trusted", "good"
    if known.matches:
        return f"○ met {_TIMES.get(known.matches, f'{number(known.matches)} times')}", "quiet"
    return "· new to you", "quiet"


def _warning(board: Board, player: PlayerInfo) -> str:
    """Return a warning if a player's key and name conflict with earlier meetings; otherwise an empty text."""
    strange = board.unfamiliar.get(player.fingerprint)
    if strange is None or player.is_me:
        return ""
    if strange.namesakes:
        other = escape(strange.namesakes[0].name)
        how = "you trust" if strange.trusted else "you have met"
        return f"{how} another {other}: compare keys before you play"
    return f"used to be called {listing([escape(name) for name in strange.known_as])} (same key)"


def _holdings(board: Board) -> str:
    """Return the reader's pledge and purse, if the rules use them."""
    ruleset = board.ruleset
    if ruleset is None:
        return ""
    pledge = f"pledged to {board.pledge.capitalize()}" if ruleset.motes and board.pledge else ""
    return ", ".join(filter(None, (pledge, board.purse if ruleset.stakes else "")))


# After the match


def end_card(canvas: Canvas, board: Board, scene: Scene, area: Area) -> Area:
    """Draw the winner, the podium, the recap and the transcript's path; return the area left for the talk."""
    over = board.over
    assert over is not None
    x, y, columns, rows = area
    names = board.final_names
    winners = over.places[0]
    called = listing([names[seat] for seat in winners])
    title = f"{called} {'win' if len(winners) > 1 else 'wins'}"
    placed = [(place, seat) for place, seats in numbered(over.places) for seat in seats]
    has_podium = rows >= 17 and columns >= 60
    has_letters = rows >= 14 and _is_drawn(title) and canvas.letters_width(title) <= columns - 4
    head = 3 if has_letters else 1
    height = head + 2 + 5 * has_podium if rows > _LOW else head
    inner = canvas.felt(Area(x, y, columns, height)) if rows > _LOW else Area(x, y, columns, head)
    if has_letters:
        canvas.letters(x + (columns - canvas.letters_width(title)) // 2, inner.y, title, "counts")
    else:
        canvas.centre(x, inner.y, columns, title, "counts", bold=True)
    if has_podium:
        _podium(canvas, board, inner._replace(y=inner.y + inner.height - 4, height=4), placed[:_PODIUM], names)
    at = y + height + (rows >= 18)
    lines, first = _story(board, scene, placed[_PODIUM if has_podium else len(winners) :], names, columns - 2)
    room = y + rows - at
    kept = _proof(board, over.transcript, columns - 2)
    if first + len(kept) > room:  # the full path is printed when the table closes
        kept = _proof(board, Path(over.transcript.name), columns - 2)
    if len(lines) + 1 + len(kept) + 2 * bool(scene.talk) <= room:
        kept.insert(0, ("", None, "", ""))
    is_short = columns < _NARROW  # the recap comes last, so that only its rows are cut
    above = max(room - len(kept), 0)
    shown = [*lines[: min(first, above)], *kept, *lines[first:]] if is_short else [*lines[:above], *kept]
    for title, seat, who, text in shown[:room]:
        start = x + 1
        if title and columns >= _NARROW:
            canvas.put(start, at, title, bold=True)
            start += 15
        if seat is not None:
            start = canvas.put(start, at, f"{canvas.theme.mark(seat)} {who} ", f"seat{seat}", bold=True)
        canvas.put(start, at, cut(text, x + columns - start), "text" if title else "quiet")
        at += 1
    return Area(x, at, columns, max(y + rows - at, 0))


def _is_drawn(text: str) -> bool:
    return all(letter.isascii() and (letter.isalnum() or letter in " -") for letter in text)


def _podium(canvas: Canvas, board: Board, area: Area, placed: Sequence[tuple[int, int]], names: Sequence[str]) -> None:
    """Draw the first players on steps, which are higher for better places."""
    assert board.over is not None
    x, y, columns, rows = area
    told = [f"{names[seat]}{_you(board.over, seat)}" for _, seat in placed]
    across = min(max(18, *(width(each) + 5 for each in told)), (columns - 2) // max(len(placed), 1))
    left = x + (columns - across * len(placed)) // 2
    for step, (place, seat) in enumerate(placed):
        high = max(rows - place, 1)
        start, top = left + step * across + 1, y + rows - high
        you = _you(board.over, seat)
        name = f"{canvas.theme.mark(seat)} {cut(names[seat], across - 3 - len(you))}{you}"
        ground = f"seat{seat}" if place == 1 else f"dim-seat{seat}"
        canvas.fill(start, top, across - 3, high, ground)
        canvas.centre(start - 1, top - 1, across - 1, name, f"seat{seat}", bold=True)
        canvas.centre(start, y + rows - 1, across - 3, str(place), bold=True)


def _you(over: MatchResult, seat: int) -> str:
    """Return a suffix for the name at a seat: `` (you)`` if it is the reader, otherwise empty."""
    return " (you)" * over.players[seat].is_me


def _story(
    board: Board, scene: Scene, rest: Sequence[tuple[int, int]], names: Sequence[str], columns: int
) -> tuple[list[_Line], int]:
    """Return the rows below the podium as (title, seat, name, text), and the index of the recap's first row."""
    over = board.over
    assert over is not None
    beside = 15 if columns + 2 >= _NARROW else 0  # a narrow card has no titles

    def titled(title: str, text: str) -> Iterator[_Line]:
        for row, part in enumerate(broken(text, columns - beside) if text else ()):
            yield " " if row else title, None, "", part.strip()

    played = [counted(board.rounds[-1].number, "round")] if board.rounds else []
    played += [counted(scene.minutes, "minute")] if scene.minutes else []
    evening = [f"{scene.score}."] if scene.score else []
    evening += [sentence(", ".join(played))] if played else []
    early = [f"{names[seat]} {why}" for seat, why in _exits(board)]
    gains = _gains(board.state) if board.state is not None else []
    lines = [
        *titled("Then", ", ".join(f"{place}. {names[seat]}{_you(over, seat)}" for place, seat in rest)),
        *titled("The evening" if scene.score else "The match", "  ".join(evening)),
        *titled("Out early", f"{listing(early)}." if early else ""),
        *titled("Coins", "  ".join(f"{names[seat]} {gain}" for seat, gain in enumerate(gains) if gain)),
    ]
    if board.state is not None and board.state.motes is not None and board.state.motes.soul is not None:
        lines.append(("Twin Soul", None, "", f"{board.state.motes.soul.name}."))
    first = len(lines)
    for row in board.recap:
        text, *more = broken(row.text, max(columns - beside - 2 - width(row.who), columns // 2))
        lines += [(row.title, row.seat, row.who, text), *((" ", None, "", part.strip()) for part in more)]
    return lines, first


def _proof(board: Board, transcript: Path, columns: int) -> list[_Line]:
    """Return the rows on who signed the result, and on the transcript that proves it."""
    over = board.over
    assert over is not None
    signed, path = confirmation(over, has_leavers=board.has_leavers), shown_path(transcript)
    copy = f"Your copy proves it: {path}" if over.match_id else f"Nobody signed this game: {path} proves nothing."
    told = [signed, copy]
    told = [" ".join(told)] if width(" ".join(told)) <= columns else told
    return [("", None, "", part) for line in told for part in broken(line, columns)]


def _exits(board: Board) -> list[tuple[int, str]]:
    """Return the players who left early, with the reasons."""
    left = [(seat, gone.reason) for gone in board.state.exits for seat in gone.seats] if board.state else []
    return [
        (seat, "broke the rules" if board.players[seat].fingerprint in board.cheats else _LEFT[reason])
        for seat, reason in left
        if reason in _LEFT
    ]


def _gains(state: State) -> list[str]:
    """Return what each player has won or lost in coins and run tickets; an empty list if nobody has."""
    if not state.places:
        return []
    paid = settlement(state)
    coins = [f"{delta:+,d} {plural(delta, 'coin')}" if state.ruleset.stakes else "" for delta in paid.delta]
    tickets = map(ticket_change, paid.ticket_delta)
    gains = [" ".join(filter(None, each)) for each in zip(coins, tickets, strict=True)]
    return gains if any(gains) else []
