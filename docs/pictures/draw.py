"""Draws the pictures of the documentation: the real program, in a real pseudo-terminal, as SVG. POSIX only.

    python docs/pictures/draw.py

Ada hosts a table, three friends join it from terminals of their own, and they play a match; then she plays motes
against bots. What the program paints for her is replayed by pyte, a terminal in memory, and its cells become shapes of
an SVG file. ``showdown`` moves: while the cups go up, each new picture is kept with its time. Where nothing may move,
it is the verdict.

Dice are rolled anew each time, so each run draws other matches. No address and no path of this machine is drawn.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.cli.screen import Terminal  # noqa: E402
from tests.cli.seat import bold  # noqa: E402

FOLDER: Final = Path(__file__).resolve().parent
COLUMNS, LINES = 80, 24
WIDE, HIGH = 9, 18
"""A cell, in pixels."""
EDGE: Final = 12
INK, PAPER = "d7dbe0", "15181d"
LARGEST: Final = 400_000
"""Bytes of a picture."""
SETTLED: Final = 0.012
"""Seconds without a change, after which a picture is whole."""
KEYS: Final = {"right": "\x1b[C", "up": "\x1b[A", "enter": "\r", "escape": "\x1b"}
FRIENDS: Final = ("Ben", "Cleo", "Dan")
STORY: Final = ("4x4", "6x4", "8x4", "9x4", "10x4", "11x4")
"""The bids of the first round. From the third on Ada calls."""

BLOCKS: Final = {"█": (0, 0, 1, 1), "▀": (0, 0, 1, 0.5), "▄": (0, 0.5, 1, 0.5), "▏": (0, 0, 0.125, 1)} | {
    "▌": (0, 0, 0.5, 1),
    "▐": (0.5, 0, 0.5, 1),
    "─": (0, 0.47, 1, 0.06),
    "━": (0, 0.44, 1, 0.12),
    "│": (0.45, 0, 0.1, 1),
    "▎": (0, 0, 0.25, 1),
}
"""Signs that are rectangles: left, top, width and height as shares of a cell."""
CORNERS: Final = {"╭": "M4.5 18v-4q0-5 4.5-5", "╮": "M0 9q4.5 0 4.5 5v4", "╰": "M4.5 0v4q0 5 4.5 5"} | {
    "╯": "M0 9q4.5 0 4.5-5v-4"
}

Cells = Sequence[Any]
Row = tuple[tuple[str, str, str, bool], ...]
"""The signs of a row, each with ink, ground, and whether it is bold."""


def rows(cells: Sequence[Cells]) -> list[Row]:
    """Return what is on a terminal, in the colours of a dark one."""
    return [tuple(_cell(cell) for cell in line) for line in cells]


def _cell(cell: Any) -> tuple[str, str, str, bool]:
    ink, ground = (INK if cell.fg == "default" else cell.fg, PAPER if cell.bg == "default" else cell.bg)
    if cell.reverse:
        ink, ground = ground, ink
    return cell.data, INK if cell.data == " " else ink, ground, cell.bold and cell.data != " "


def svg(frames: Sequence[tuple[float, list[Row]]], hold: float = 0) -> str:
    """Return a picture of some moments, one after the other, again and again.

    A row that stands still is drawn once, whatever moves in the others.

    :param frames: each with its time in seconds.
    :param hold: seconds for which the last one stands.
    """
    width, height = COLUMNS * WIDE + 2 * EDGE, LINES * HIGH + 2 * EDGE
    begin, whole = frames[0][0], frames[-1][0] - frames[0][0] + hold
    starts = [*((at - begin) / whole if whole else 0.0 for at, _ in frames), 1.0]
    styles, drawn = [], []
    for y in range(LINES):
        variants: dict[Row, list[tuple[float, float]]] = {}
        for row, group in groupby(enumerate(frame[y] for _, frame in frames), lambda each: each[1]):
            numbers = [number for number, _ in group]
            variants.setdefault(row, []).append((starts[numbers[0]], starts[numbers[-1] + 1]))
        for number, (row, spans) in enumerate(variants.items()):
            shapes = "".join(_shapes(row, EDGE + y * HIGH))
            if len(variants) == 1:
                drawn.append(f"<g>{shapes}</g>")
                continue
            name = f"r{y}-{number}"
            steps = dict.fromkeys((0.0, 1.0), "hidden")
            for start, end in spans:
                steps |= {start: "visible", end: "hidden"} if end < 1 else {start: "visible", 1.0: "visible"}
            moves = "".join(f"{100 * at:.2f}%{{visibility:{what}}}" for at, what in sorted(steps.items()))
            styles.append(f"@keyframes {name}{{{moves}}}.{name}{{animation:{name} {whole:.2f}s step-end infinite}}")
            still = "" if spans[-1][1] == 1 else ' visibility="hidden"'
            drawn.append(f'<g class="{name}"{still}>{shapes}</g>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="15"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">',
        "<style>text{white-space:pre}rect{shape-rendering:crispEdges}"
        + (f"@media (prefers-reduced-motion:no-preference){{{''.join(styles)}}}" if styles else "")
        + "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#{PAPER}"/>',
        *drawn,
        "</svg>",
        "",
    ])  # fmt: skip


def _shapes(row: Row, y: int) -> Iterator[str]:
    """Yield the grounds of a row, then its signs."""
    for ground, group in groupby(enumerate(row), lambda each: each[1][2]):
        cells = list(group)
        if ground != PAPER:
            yield _rectangle(EDGE + cells[0][0] * WIDE, y, len(cells) * WIDE, HIGH, ground)
    for (sign, ink, is_bold), group in groupby(enumerate(row), lambda each: (_kind(each[1][0]), *each[1][1::2])):
        cells = list(group)
        x, count = EDGE + cells[0][0] * WIDE, len(cells)
        if sign in BLOCKS:
            left, top, width, height = BLOCKS[sign]
            if width == 1:
                yield _rectangle(x, y + top * HIGH, count * WIDE, height * HIGH, ink)
                continue
            for at in range(x, x + count * WIDE, WIDE):
                yield _rectangle(at + left * WIDE, y + top * HIGH, width * WIDE, height * HIGH, ink)
        elif sign == "●":
            for at in range(x, x + count * WIDE, WIDE):
                yield f'<circle cx="{at + WIDE / 2}" cy="{y + HIGH / 2}" r="4.2" fill="#{ink}"/>'
        elif sign in CORNERS:
            yield f'<path d="{CORNERS[sign]}" transform="translate({x} {y})" stroke="#{ink}" fill="none"/>'
        elif sign != " ":
            yield from _texts(cells, y, ink, is_bold)


def _kind(sign: str) -> str:
    """Return what is drawn alike side by side: a sign with a shape of its own, or any text."""
    return sign if sign in BLOCKS or sign in CORNERS or sign in "● " else "text"


def _texts(cells: Sequence[tuple[int, tuple[str, str, str, bool]]], y: int, ink: str, is_bold: bool) -> Iterator[str]:
    """Yield words, and each sign for which a font may have another width in the middle of its cell."""
    weight = ' font-weight="bold"' if is_bold else ""
    for is_plain, group in groupby(cells, lambda each: each[1][0].isascii()):
        run = list(group)
        x, text = EDGE + run[0][0] * WIDE, "".join(sign for _, (sign, *_) in run)
        if is_plain:
            place = f'textLength="{len(text) * WIDE}"' if len(text) > 1 else ""
            yield f'<text x="{x}" y="{y + 14}" {place} fill="#{ink}"{weight}>{escape(text)}</text>'
            continue
        for number, sign in enumerate(text):
            middle = f'x="{x + number * WIDE + WIDE / 2}" y="{y + 14}" text-anchor="middle"'
            yield f'<text {middle} fill="#{ink}"{weight}>{escape(sign)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, ink: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="#{ink}"/>'


class Player:
    """Ada at her terminal, whose screen is watched."""

    def __init__(self, folder: Path, *options: str) -> None:
        settings = folder / "settings.toml"
        settings.write_text('ui = "screen"\ncolor = "dark"\n', encoding="utf-8")
        variables = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "P2PDICE_CONFIG": str(settings)}
        home = folder / ".local" / "share" / "p2pdice"
        home.parent.mkdir(parents=True)
        table = ("host", "Friday", "--name", "Ada", *options)
        self.terminal = Terminal(home, *table, size=(COLUMNS, LINES), HOME=str(folder), **variables)

    def shown(self) -> str:
        """Return what is on the screen."""
        return "\n".join(self.terminal.display())

    def frames(self, is_there: Callable[[str], bool]) -> Iterator[tuple[float, list[Row]]]:
        """Yield each whole picture with its time, until one has something in it."""
        deadline = time.monotonic() + 60
        kept: list[Row] = []
        seen: list[Row] = []
        changed = 0.0
        while time.monotonic() < deadline:
            time.sleep(SETTLED / 3)
            now = rows(self.terminal.cells())
            if now != seen:
                seen, changed = now, time.monotonic()
            elif seen != kept and time.monotonic() - changed > SETTLED:
                kept = seen
                yield changed, seen
                if is_there(self.shown()):
                    return
        raise LookupError("it took too long")

    def picture(self) -> str:
        """Return what stands on the screen when nothing moves any more."""
        time.sleep(1.5)
        return svg([(0, rows(self.terminal.cells()))])

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.terminal.type(KEYS.get(key, key))
            time.sleep(0.15)

    def is_asked(self) -> bool:
        """Tell whether a move is to be made, and the line is empty."""
        return self.terminal.display()[-1] == "your turn>"

    def is_over(self) -> bool:
        """Tell whether the match has ended."""
        return "Best bluff" in self.shown() or "Again?" in self.shown()

    def play(self, is_there: Callable[[str], bool]) -> None:
        """Raise, and call what cannot be raised, until something is on the screen."""
        while not is_there(self.shown()):
            if self.is_over():
                raise LookupError("the match is over")
            if self.is_asked():
                self.press("right", "enter")
            time.sleep(0.1)


def evening() -> Iterator[tuple[str, str]]:
    """Yield the pictures of a match among friends: lobby, a turn, a showdown that moves, and the end."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        player = Player(folder, "--seats", "4", "--odds", "on", "--private", "--pace", "0.8")
        stack.enter_context(player.terminal)
        player.terminal.until_display("free seat")
        line = player.terminal.join_line()
        player.press("escape")
        friends: list[Terminal] = []
        for friend in FRIENDS:
            if friend == FRIENDS[-1]:
                friends[0].type("say I have been practising\r")
                player.terminal.until_display("practising")
                yield "lobby", player.picture()
            guest = Terminal(folder / friend, "join", line, "--name", friend)
            friends.append(stack.enter_context(guest))
            player.terminal.wait_for(lambda name=friend: f" {name}" in player.shown(), friend)
        story = iter(STORY)
        bid = ""
        while not (bid in STORY[2:] and player.is_asked()):
            for friend in friends:
                if friend.is_on_turn():
                    bid = next(story)
                    friend.answer(bid)
            if player.is_asked() and bid not in STORY[2:]:
                time.sleep(1)
                bid = next(story)
                player.press(bid, "enter")
            time.sleep(0.1)
        friends[1].type("say you would not dare\r")
        player.terminal.until_display("would not dare")
        player.press("right", "up")
        yield "turn", player.picture()
        player.press("escape")
        time.sleep(1)
        kept = [(time.monotonic() - 1.5, rows(player.terminal.cells()))]
        player.terminal.type("!!")
        kept += player.frames(lambda shown: "loses a die" in shown)
        if "You caught" not in player.shown():
            raise LookupError("the bid was true")
        yield "showdown", svg(kept, hold=5)
        player.press(" ", "skip", "enter")
        while not player.is_over():
            for friend in friends:
                if friend.is_on_turn():
                    friend.answer(bold(friend.asked()))
            if player.is_asked():
                player.press(*(("!", "!") if "or call it" in player.shown() else ("1x2", "enter")))
            time.sleep(0.1)
        yield "end", player.picture()


def motes() -> Iterator[tuple[str, str]]:
    """Yield a picture of motes: dice lie in the graveyard, and Ada is on turn."""
    options = ("--rules", "motes", "--pledge", "redeemed", "--bots", "2", "--private", "--pace", "0.1")
    with tempfile.TemporaryDirectory() as name:
        player = Player(Path(name), *options)
        with player.terminal:
            player.play(lambda shown: "● night" in shown and player.is_asked() and "graveyard  empty" not in shown)
            yield "motes", player.picture()


def main() -> None:
    """Draw all of them."""
    for table in (evening, motes):
        for _ in range(20):
            try:
                pictures = dict(table())
            except LookupError as missing:
                print(f"once more: {missing}")
                continue
            for name, picture in pictures.items():
                size = len(picture.encode())
                if size > LARGEST:
                    raise SystemExit(f"{name} has {size} bytes")
                (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
                print(f"{name}.svg: {size} bytes")
            break
        else:
            raise SystemExit("20 matches did not show it")


if __name__ == "__main__":
    main()
