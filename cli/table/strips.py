"""The strip in place of one's own dice: the place in a replay, or what a spectator's program checks."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from cli.render import counted
from cli.table.canvas import cut, width
from cli.table.scene import ReplayStrip, WatchStrip

if TYPE_CHECKING:
    from cli.table.canvas import Area, Canvas

_SEEN: Final = "You see what the table sees: the bids, and the dice when the cups go up."
_CHECKED: Final = "This program checks every signature and every roll as it happens."
_LABEL: Final = 7
"""Columns of a word before its row."""


def strip(canvas: Canvas, shown: ReplayStrip | WatchStrip, area: Area) -> None:
    """Draw the strip of a replay or of a spectator in as many rows as there are."""
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
        canvas.put(x, y, cut(f"round {shown.round} of {total}, step {step}", columns), bold=True)
        return
    top = y + (rows >= 5)
    pitch = 4 if _LABEL + 4 * total <= columns else 3
    across = max((columns - _LABEL) // pitch, 1)
    first = min(max(shown.round - 1 - across // 2, 0), max(total - across, 0))
    canvas.put(x + 1, top, "round", "quiet")
    canvas.put(x + 1, top + 1, "lost", "quiet")
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
    wide = min(columns - _LABEL - len(step) - 3, 48)
    share = min(shown.step / shown.steps, 1.0) if shown.steps else 0.0
    if wide >= 8:
        canvas.gauge(x + _LABEL, top + 2, wide, share)
        canvas.put(x + _LABEL + wide + 2, top + 2, step, "quiet")
    else:
        canvas.put(x + _LABEL, top + 2, cut(step, columns - _LABEL))
