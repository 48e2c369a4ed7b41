"""Dialogues and pages as they are drawn: a box on the table, and a text that covers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cli.table.canvas import broken, cut, width

if TYPE_CHECKING:
    from cli.table.canvas import Area, Canvas
    from cli.table.scene import Choice, Dialog, Page

    _Row = tuple[str, Choice | None]
    """One row of a dialogue, and the choice that it names."""

_WIDEST: Final = 64
"""Columns of a dialogue: as long as a line can be read at a glance."""


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
    told: list[_Row] = [(row, None) for text in dialog.lines for row in broken(text, inner)]
    choices: list[_Row] = [(each.text, each) for each in dialog.choices]
    noted: list[_Row] = []
    for each in dialog.choices:
        noted.append((each.text, each))
        noted += [(f"     {row}", None) for row in broken(each.note, inner - 5) if row]
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
    return [row for text in page.lines for row in broken(text, columns - 2)]


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
