"""Draws the pictures of the README: the real program, in a real pseudo-terminal, as SVG. POSIX only.

    python docs/pictures/draw.py

It hosts a table against house bots and plays at it with keys, until what a picture is to show is on the screen. What
the program painted is replayed by pyte, a terminal in memory, and its cells become text of an SVG file. Dice are rolled
anew each time, so each run draws other matches; addresses and paths of this machine are on no picture.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.cli.screen import Terminal  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent
COLUMNS, LINES = 80, 24
CELL: Final = (8.4, 17)
"""Width and height of a character, in pixels."""
COLORS: Final = {
    "default": "#1f2328",
    "red": "#b3261e",
    "magenta": "#8b2a8b",
    "brightblue": "#2b5fd9",
}
PAPER: Final = "#fbfaf7"
KEYS: Final = {"right": "\x1b[C", "enter": "\r"}


def svg(terminal: Terminal) -> str:
    """Return what is on a terminal now as a picture."""
    width, height = COLUMNS * CELL[0] + 24, LINES * CELL[1] + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
    ]
    for number, cells in enumerate(terminal.cells()):
        y = 12 + number * CELL[1]
        for style, group in groupby(enumerate(cells), lambda each: (each[1].fg, each[1].bold, each[1].reverse)):
            run = list(group)
            parts.append(_text(run[0][0], y, "".join(cell.data for _, cell in run), *style))
    return "\n".join([*filter(None, parts), "</svg>", ""])


def _text(column: int, y: float, text: str, color: str, is_bold: bool, is_reverse: bool) -> str:
    ink, back = COLORS.get(color, COLORS["default"]), ""
    x = 12 + column * CELL[0]
    if is_reverse:
        box = f'width="{len(text) * CELL[0]:.1f}" height="{CELL[1]}"'
        back = f'<rect x="{x:.1f}" y="{y:.1f}" {box} fill="{ink}"/>'
        ink = PAPER
    text = text.rstrip()
    if not text:
        return back
    weight = ' font-weight="bold"' if is_bold else ""
    place = f'x="{x:.1f}" y="{y + 13:.1f}" textLength="{len(text) * CELL[0]:.1f}"'
    return f'{back}<text {place} fill="{ink}"{weight} xml:space="preserve">{escape(text)}</text>'


def play(terminal: Terminal, is_there: Callable[[str], bool]) -> None:
    """Play with keys, raising and sometimes calling, until something is on the screen."""
    turns = 0
    while True:
        terminal.wait_for(lambda: _is_asked(terminal) or is_there(_shown(terminal)) or _is_over(terminal), "a turn")
        if is_there(_shown(terminal)):
            return
        if _is_over(terminal):
            raise LookupError("the match ended before that")
        turns += 1
        if "! liar" in _shown(terminal) and turns % 3 == 0:
            terminal.type("!!")
        else:
            terminal.type(KEYS["right"])
            terminal.wait_for(lambda: len(terminal.last_line()) > len("your turn> "), "a move")
            if is_there(_shown(terminal)):
                return
            terminal.type(KEYS["enter"])
        terminal.wait_for(lambda: not _is_asked(terminal), "an answer")


def _shown(terminal: Terminal) -> str:
    return "\n".join(terminal.display())


def _is_asked(terminal: Terminal) -> bool:
    return terminal.display()[-1] == "your turn>"


def _is_over(terminal: Terminal) -> bool:
    return "The match is over." in terminal.display()


def _chosen(shown: str) -> bool:
    return "Enter bids it." in shown and shown.count("x") > 4 and "before: " in shown


def _counted(shown: str) -> bool:
    return "The bid is " in shown.partition("── log")[0] and "loses a die" in shown.partition("── log")[0]


def _buried(shown: str) -> bool:
    return "Graveyard: you" in shown and "your turn>" in shown and "┃" in shown


PICTURES: Final[dict[str, tuple[list[str], Callable[[str], bool]]]] = {
    "turn": (["--bots", "3"], _chosen),
    "showdown": (["--bots", "3"], _counted),
    "motes": (["--rules", "motes", "--pledge", "redeemed", "--bots", "2"], _buried),
}


def main() -> None:
    """Draw all of them."""
    os.environ.pop("NO_COLOR", None)
    for name, (options, is_there) in PICTURES.items():
        for _ in range(20):
            with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
                table = ["host", "Friday", "--name", "Ada", *options, "--private", "--ui", "screen", "--pace", "0.2"]
                terminal = stack.enter_context(Terminal(Path(home), *table, size=(COLUMNS, LINES)))
                try:
                    play(terminal, is_there)
                except LookupError:
                    continue
                (FOLDER / f"{name}.svg").write_text(svg(terminal), encoding="utf-8")
                print(f"{name}.svg")
                break


if __name__ == "__main__":
    main()
