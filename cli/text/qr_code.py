"""A text as a QR code in a terminal, without colours."""

from __future__ import annotations

from io import StringIO
from typing import Final

_QUIET: Final = 2
"""Squares around the code. Cameras take half of what the standard wants."""
_INVERSE: Final = str.maketrans("█▀▄ ", " ▄▀█")


def qr_code(text: str, background: str) -> list[str]:
    """Return the rows of the QR code for a text.

    :param background: of the terminal: ``dark`` or ``light``, so that the light squares are light. ``ascii`` is for a
        dark one without blocks, and takes four times the room.
    """
    import segno

    code = segno.make(text, error="l", micro=False)
    if background == "ascii":
        return ["".join("  " if square else "##" for square in row) for row in code.matrix_iter(border=_QUIET)]
    rows = StringIO()
    code.terminal(rows, border=_QUIET, compact=True)
    drawn = rows.getvalue().splitlines()
    return [row.translate(_INVERSE) for row in drawn] if background == "light" else drawn
