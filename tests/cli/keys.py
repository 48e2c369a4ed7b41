"""A player at the full screen who has nothing but keys, and what the screen must show at any size. POSIX only."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from cli.table.palette import ASCII, PICTURES
from tests.cli.screen import COLUMNS, LINES, Terminal
from tests.programs import PATIENCE

ENTER, ESCAPE, UP, DOWN, RIGHT = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
COLOR = re.compile(rb"\x1b\[[0-9;]*[349][0-9](?:;[0-9;]*)?m")
BELL, SHOW_CURSOR = b"\x07", b"\x1b[?25h"
PROMPT = "your turn>"
WIDE = 110
"""Columns from which on the log stands beside the table."""
_FACES = re.compile(r" {4}(\d(?: {7}\d)*)(?: |$)")
"""The row below large dice."""
_IN_SHORT = re.compile(r"Your dice: ([\d\[\] ]+)")


class KeyPlayer(Terminal):
    """Ada before the full screen, which rings at each of her turns."""

    def __init__(self, home: Path, *arguments: str, size: tuple[int, int] = (COLUMNS, LINES), **variables: str) -> None:
        own = ("--ui", "screen", "--pace", "0", "--bell", "--name", "Ada")
        self._unpainted = b""
        """The beginning of a picture: what has come after the last whole one."""
        super().__init__(home, *arguments, *own, size=size, **variables)
        self.glyphs = ASCII if "P2PDICE_ASCII" in variables else PICTURES

    def _painted(self, data: bytes) -> None:
        """Look at whole pictures only, and hear a bell together with the picture that belongs to it."""
        whole, end, self._unpainted = (self._unpainted + data).rpartition(SHOW_CURSOR)
        super()._painted(whole + end)

    def end(self, patience: float = PATIENCE) -> int:
        code = super().end(patience)
        super()._painted(self._unpainted)  # what follows the last picture
        return code

    def is_asked(self) -> bool:
        """Tell whether this player is asked for a move, and has not made it yet."""
        return self._rung() > self._answered and self.display()[-1].startswith(PROMPT)

    def is_over(self) -> bool:
        """Tell whether the end of a match is on the screen."""
        return "The match is over." in "\n".join(self.display())

    def _rung(self) -> int:
        return self.raw.count(BELL)

    def status(self) -> str:
        """Return the line that says what is asked."""
        return self.display()[-3]

    def said(self) -> str:
        """Return what is on the screen with its lines joined: those of the table, then those of a log beside it."""
        rows = self.display()
        log = [row[self._columns * 3 // 5 + 3 :] for row in rows] if self._columns >= WIDE else []
        return " ".join(" ".join([*self.left(), *log]).split())

    def until_said(self, *texts: str) -> None:
        """Watch until all the texts are on the screen at the same time, broken into lines or not."""
        self.wait_for(lambda: all(text in self.said() for text in texts), " and ".join(map(repr, texts)))

    def until_told(self, text: str) -> None:
        """Watch until something is told; look back for it in the log if it went out of sight before the next turn."""
        self.wait_for(lambda: text in self.said() or self.is_asked(), repr(text))
        pages = 0
        while text not in self.said():
            before = self.display()
            self.type(PAGE_UP)
            self.wait_for(lambda before=before: self.display() != before, f"a page with {text!r}")  # type: ignore[misc]
            pages += 1
        for _ in range(pages):
            self.type(PAGE_DOWN)
        self.wait_for(lambda: "(PageDown: " not in self.said(), "the end of the log")

    def choose(self, start: str) -> str:
        """Go through the moves until one begins like this, make it, and return it."""
        seen: list[str] = []
        while True:
            before = self.last_line()
            self.type(DOWN)
            self.wait_for(lambda before=before: self.last_line() != before, "another move")  # type: ignore[misc]
            move = self.last_line().removeprefix(PROMPT).strip()
            assert move not in seen, f"no move begins with {start}: {seen}"
            seen.append(move)
            if move.startswith(start):
                self.enter()
                return move

    def enter(self) -> None:
        """Make the move that stands in the line."""
        self._answered = self._rung()
        self.type(ENTER)

    def make_first(self) -> str:
        """Make the first move that an arrow comes to, and return it: the lowest bid, if there is one."""
        self.type(RIGHT)
        self.wait_for(lambda: len(self.last_line()) > len(PROMPT), "a move in the line")
        move = self.last_line().removeprefix(PROMPT).strip()
        self.enter()
        return move

    def bid_beyond_the_dice(self, bid: str) -> None:
        """Make a bid on more dice than there are, which has to be typed twice."""
        self.type(f"{bid}{ENTER}")
        self.until_said(f"Type it again to bid {bid}.")
        self.type(bid)
        self.until_last_line(f"{PROMPT} {bid}")
        self.enter()

    def play_with_keys(self, look: Callable[[], None] = lambda: None) -> None:
        """Call whatever is bid, and else make the first move that an arrow comes to, until a match is over.

        :param look: called at each question, before it is answered.
        """
        self.wait_for(lambda: not self.is_over(), "a match")
        while True:
            self.wait_for(lambda: self.is_asked() or self.is_over(), "a turn or the end")
            if self.is_over():
                return
            look()
            if "! liar" in self.said():
                self.call()
            else:
                self.make_first()

    def call(self) -> None:
        """Call the bid a lie."""
        self.type("!")
        self.until_last_line(f"{PROMPT} liar")
        self._answered = self._rung()
        self.type("!")

    def pull(self, columns: int, lines: int) -> None:
        """Pull the window to another size."""
        self.resize(columns, lines)
        self.check_frame()

    # What must be seen

    def left(self) -> list[str]:
        """Return the rows of the table, without a log that stands beside it."""
        rows = self.display()
        return [row[: self._columns * 3 // 5] for row in rows] if self._columns >= WIDE else rows

    def mine(self) -> str:
        """Return the row of this player."""
        return next((row for row in self.left() if "Ada (you)" in row), "")

    def theirs(self, name: str) -> str:
        """Return the row of another player."""
        return next((row for row in self.left()[1:] if re.match(rf"[^\w]*{name}\b", row)), "")

    def hand(self) -> list[int]:
        """Return one's own dice as they are drawn, large or in a line."""
        rows = self.left()
        for number, row in enumerate(rows):
            if found := _IN_SHORT.search(row):
                return [int(face) for face in re.findall(r"\d", found[1])]
            if found := _FACES.match(row):
                faces = [int(face) for face in found[1].split()]
                pictures = "".join(above[1 : 8 * len(faces)] for above in rows[number - 3 : number])
                assert pictures.count(self.glyphs.pip) == sum(faces), "\n".join(rows)
                return faces
        return []

    def check_frame(self) -> None:
        """Wait until the whole screen is filled at its size: from the header to the line that is typed."""

        def is_whole() -> bool:
            rows = self.display()
            has_head = "verified" in rows[0] and rows[0].startswith(" Ada's t")
            rule = f"{self.glyphs.rule * 2} "
            rules = [row for row in rows if row.startswith(rule)]
            has_log = all(self.glyphs.bar in row for row in rows[1:-3]) if self._columns >= WIDE else len(rules) == 1
            is_filled = all(len(row) == self._columns for row in rules)
            return len(rows) == self._lines and has_head and has_log and is_filled and rows[-1].startswith(PROMPT)

        self.wait_for(is_whole, f"a screen of {self._columns} x {self._lines}")

    def check_bidding(self, bid: str, dice: int | None = None) -> None:
        """Wait until all is there that a bidder needs: whose turn it is, the dice in hand, the bid that stands.

        :param bid: that stands; empty if there is none.
        :param dice: of one's own; None for as many as are drawn beside the name.
        """
        self.check_frame()
        has_bid = rf"\b{bid}\b" if bid else "No bid yet: you"

        def is_all_there() -> bool:
            mine = self.mine()
            many = mine.count(self.glyphs.die) if dice is None else dice
            return (
                mine.startswith(f"{self.glyphs.turn} Ada (you)")
                and self.status().startswith(" Your turn: ")
                and 0 < many == len(self.hand())
                and re.search(has_bid, self.said()) is not None
            )

        self.wait_for(is_all_there, f"a turn at {bid or 'no bid'}")
