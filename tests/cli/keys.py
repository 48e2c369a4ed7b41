"""A player who uses only keys on the full screen, and checks of what a screen of any size shows. POSIX only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.cli.screen import COLUMNS, LINES, Terminal
from tests.programs import PATIENCE

ENTER, ESCAPE, UP, DOWN, RIGHT = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
COLOR = re.compile(rb"\x1b\[[0-9;]*[349][0-9](?:;[0-9;]*)?m")
BELL, SHOW_CURSOR = b"\x07", b"\x1b[?25h"
PROMPT = "your turn>"
BAND = -4
"""The row that says what to do now, counted from the bottom. The key bar is the row below it."""
_WIDE = 110
"""The least number of columns at which the talk is drawn beside the table."""
_COMMAND = re.compile(rb"\x1b\][^\x07]*\x07")
"""A control sequence that sets the window title or asks for the background colour. It ends with BEL, which is not a
bell here."""
_FACE = re.compile(r"^(?:[‹<]?([1-6])(?: (?:wild|[A-Z][a-z]+))?[›>]?|Light|Grey|Neutral|Blue|Red|Dark)$")
"""The text below a large die."""
_IN_SHORT = re.compile(r"^ ?You((?: *[\[‹<]?[1-6][\]›>]?(?: ?[LGNBRD](?![a-z]))?)+) *$", re.MULTILINE)
"""One's own dice in a single line. After each die with a power stands the letter of its mote."""


class KeyPlayer(Terminal):
    """Ada on the full screen. The bell rings at each of her turns."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        size: tuple[int, int] = (COLUMNS, LINES),
        pace: str = "0",
        own: Sequence[str] | None = None,
        **variables: str,
    ) -> None:
        own = ("--ui", "screen", "--pace", pace, "--bell", "--name", "Ada") if own is None else own
        self._unpainted = b""
        """The first part of an unfinished frame: all output since the last complete one."""
        super().__init__(home, *arguments, *own, size=size, **variables)
        self.is_ascii = "P2PDICE_ASCII" in variables
        self.pip = "o" if self.is_ascii else "●"

    def _painted(self, data: bytes) -> None:
        """Feed only complete frames to the screen, so that a bell is counted together with its frame."""
        whole, end, self._unpainted = (self._unpainted + data).rpartition(SHOW_CURSOR)
        super()._painted(whole + end)

    def end(self, patience: float = PATIENCE) -> int:
        code = super().end(patience)
        super()._painted(self._unpainted)  # what follows the last complete frame
        return code

    def is_asked(self) -> bool:
        """Return whether the table waits for this player's move."""
        return self._rung() > self._answered and self.display()[-1].startswith(PROMPT)

    def is_over(self) -> bool:
        """Return whether the screen shows the end of a match."""
        return "Again?" in self.status()

    def _rung(self) -> int:
        return _COMMAND.sub(b"", self.raw).count(BELL)

    def last_line(self) -> str:
        """Return the input line, without the hint beside it."""
        return re.split(" {3,}", super().last_line())[0]

    def hint(self) -> str:
        """Return the hint beside the input line."""
        return super().last_line().removeprefix(self.last_line()).strip()

    def title(self) -> str:
        """Return the title of the terminal window."""
        with self._changed:
            return self._screen.title

    def status(self) -> str:
        """Return the row that says what to do now."""
        return self.display()[BAND]

    def key_bar(self) -> str:
        """Return the row that names the keys."""
        return self.display()[BAND + 1]

    def said(self) -> str:
        """Return the text on the screen as one line: first the table, then a talk that is drawn beside it."""
        rows = self.display()
        edge = self._edge()
        aside = [row[edge + 1 :] for row in rows[:BAND]] if edge < self._columns else []
        return " ".join(" ".join([*self.left(), *aside]).split())

    def until_said(self, *texts: str) -> None:
        """Wait until the screen shows all the texts at the same time. They may be wrapped."""
        self.wait_for(lambda: all(text in self.said() for text in texts), " and ".join(map(repr, texts)))

    def choose(self, start: str | tuple[str, ...]) -> str:
        """Step through the listed moves to one that begins with a given text. Make that move, and return it."""
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

    def choose_if(self, starts: Sequence[str]) -> str:
        """Make the first move that begins with one of the texts, and return it. If none does, pass; return ``""``."""
        listed = ""
        while not listed.startswith("pass"):
            before = self.last_line()
            self.type(DOWN)
            self.wait_for(lambda before=before: self.last_line() != before, "another move")  # type: ignore[misc]
            listed = self.last_line().removeprefix(PROMPT).strip()
            if listed.startswith(tuple(starts)):
                break
        self.enter()
        return "" if listed.startswith("pass") else listed

    def enter(self) -> None:
        """Make the move in the input line."""
        self._answered = self._rung()
        self.type(ENTER)

    def make_first(self) -> str:
        """Make the move that the right arrow selects first, and return it. If bids are legal, it is the lowest one."""
        self.type(RIGHT)
        self.wait_for(lambda: len(self.last_line()) > len(PROMPT), "a move in the line")
        move = self.last_line().removeprefix(PROMPT).strip()
        self.enter()
        return move

    def bid_beyond_the_dice(self, bid: str) -> None:
        """Make a bid on more dice than there are, which must be typed twice."""
        self.type(f"{bid}{ENTER}")
        self.until_said("There are only ")
        self.type(bid)
        self.until_last_line(f"{PROMPT} {bid}")
        self.enter()

    def play_with_keys(self, look: Callable[[], None] = lambda: None) -> None:
        """Play until the match is over: call each bid, and otherwise make the move that the right arrow selects first.

        :param look: called before each question is answered.
        """
        self.wait_for(lambda: not self.is_over(), "a match")
        while True:
            self.wait_for(lambda: self.is_asked() or self.is_over(), "a turn or the end")
            if self.is_over():
                return
            look()
            if "call liar" in self.key_bar():
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
        """Resize the window, and wait until the frame is complete."""
        self.resize(columns, lines)
        self.check_frame()

    # What the screen shows

    def _edge(self) -> int:
        """Return the column between the table and a talk beside it; without a talk there, the number of columns."""
        bars = "|" if self.is_ascii else "│"
        found = {row.rfind(bars) for row in self.display()[1:BAND]} if self._columns >= _WIDE else {-1}
        return found.pop() if len(found) == 1 and found != {-1} else self._columns

    def left(self) -> list[str]:
        """Return the rows of the screen, without a talk beside the table."""
        edge = self._edge()
        rows = self.display()
        return [*(row[:edge] for row in rows[:BAND]), *rows[BAND:]]

    def hand(self) -> list[int]:
        """Return the player's own dice, which are drawn large or in a single line."""
        rows = self.left()
        if found := _IN_SHORT.search("\n".join(rows)):
            return [int(face) for face in re.findall(r"[1-6]", found[1])]
        for number, row in enumerate(rows[:BAND]):
            # A die is seven columns wide, and its face or name stands below it.
            above = rows[max(number - 3, 0) : number]
            pips = [sum(each[at : at + 7].count(self.pip) for each in above) for at in range(1, 41, 8)]
            below = [_FACE.search(row[at - 1 : at + 8].strip()) for at in range(1, 41, 8)]
            hand = [count for count, found in zip(pips, below, strict=True) if found is not None]
            if hand and all(found[1] in (None, str(count)) for count, found in zip(pips, below, strict=True) if found):
                return hand
        return []

    def bid(self) -> str:
        """Return the standing bid in words, if the status row and the table agree on it; otherwise ``""``."""
        named = re.search(r"'s (\w+ \w+?s?)(?:, or|\.)", self.status())
        return named[1] if named is not None and named[1] in " ".join(self.left()[1:BAND]) else ""

    def check_frame(self) -> None:
        """Wait until the screen is filled, from the title to the input line."""

        def is_whole() -> bool:
            rows = self.display()
            is_filled = len(rows) == self._lines and bool(rows[BAND].strip()) and bool(rows[BAND + 1].strip())
            return is_filled and "Ada's" in rows[0] and rows[-1].startswith(PROMPT)

        self.wait_for(is_whole, f"a screen of {self._columns} x {self._lines}")

    def check_bidding(self) -> None:
        """Wait until the screen shows what a bidder needs: the question, their dice, and the standing bid."""
        self.check_frame()

        def is_all_there() -> bool:
            asked = self.status().strip().removeprefix("Your turn: ").lower()
            first = asked.startswith("make the first bid")
            names_no_bid = first or asked.startswith("you must raise")  # then the status row does not name the bid
            return bool(self.hand()) and (names_no_bid or (bool(self.bid()) and asked.startswith(("raise ", "call "))))

        self.wait_for(is_all_there, "a bidder's table")
