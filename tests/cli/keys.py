"""A player at the full screen who has nothing but keys, and what the screen must show at any size. POSIX only."""

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
"""The row that says what now, from below; the keys stand in the next one."""
_WIDE = 110
"""Columns from which on the talk stands beside the table."""
_COMMAND = re.compile(rb"\x1b\][^\x07]*\x07")
"""Sets the title of the window, or asks for its background; the end of it is no bell."""
_FACE = re.compile(r"^(?:[‹<]?([1-6])(?: (?:wild|[A-Z][a-z]+))?[›>]?|Light|Grey|Neutral|Blue|Red|Dark)$")
"""What stands below a large die."""
_IN_SHORT = re.compile(r"^ ?You((?: *[\[‹<]?[1-6][\]›>]?(?: ?[LGNBRD](?![a-z]))?)+) *$", re.MULTILINE)
"""Dice with powers have the letter of their mote after them."""


class KeyPlayer(Terminal):
    """Ada before the full screen, which rings at each of her turns."""

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
        """The beginning of a picture: what has come after the last whole one."""
        super().__init__(home, *arguments, *own, size=size, **variables)
        self.is_ascii = "P2PDICE_ASCII" in variables
        self.pip = "o" if self.is_ascii else "●"

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
        return "Again?" in self.status()

    def _rung(self) -> int:
        return _COMMAND.sub(b"", self.raw).count(BELL)

    def last_line(self) -> str:
        """Return the line that is typed, without the hint beside it."""
        return re.split(" {3,}", super().last_line())[0]

    def hint(self) -> str:
        """Return what stands beside the line."""
        return super().last_line().removeprefix(self.last_line()).strip()

    def title(self) -> str:
        """Return the title of the window."""
        with self._changed:
            return self._screen.title

    def status(self) -> str:
        """Return the row that says what now."""
        return self.display()[BAND]

    def key_bar(self) -> str:
        """Return the row of the keys."""
        return self.display()[BAND + 1]

    def said(self) -> str:
        """Return what is on the screen with its lines joined: those of the table, then those of a talk beside it."""
        rows = self.display()
        edge = self._edge()
        aside = [row[edge + 1 :] for row in rows[:BAND]] if edge < self._columns else []
        return " ".join(" ".join([*self.left(), *aside]).split())

    def until_said(self, *texts: str) -> None:
        """Watch until all the texts are on the screen at the same time, broken into lines or not."""
        self.wait_for(lambda: all(text in self.said() for text in texts), " and ".join(map(repr, texts)))

    def choose(self, start: str | tuple[str, ...]) -> str:
        """Go through the moves until one begins like this, or like one of these; make it, and return it."""
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
        """Make the first move that begins like one of these, and return it; else pass, and return nothing."""
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
        self.until_said("There are only ")
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
        """Pull the window to another size."""
        self.resize(columns, lines)
        self.check_frame()

    # What must be seen

    def _edge(self) -> int:
        """Return the column between the table and a talk beside it; beyond the screen if there is none."""
        bars = "|" if self.is_ascii else "│"
        found = {row.rfind(bars) for row in self.display()[1:BAND]} if self._columns >= _WIDE else {-1}
        return found.pop() if len(found) == 1 and found != {-1} else self._columns

    def left(self) -> list[str]:
        """Return the rows of the table, without a talk that stands beside it."""
        edge = self._edge()
        rows = self.display()
        return [*(row[:edge] for row in rows[:BAND]), *rows[BAND:]]

    def theirs(self, name: str) -> str:
        """Return the row with the name of another player."""
        return next((row for row in self.left()[1:] if re.search(rf"{name}\b", row)), "")

    def hand(self) -> list[int]:
        """Return one's own dice as they are drawn, large or in a line."""
        rows = self.left()
        if found := _IN_SHORT.search("\n".join(rows)):
            return [int(face) for face in re.findall(r"[1-6]", found[1])]
        for number, row in enumerate(rows[:BAND]):
            # Below each die stands its face or its name, and the dice are seven columns wide.
            above = rows[max(number - 3, 0) : number]
            pips = [sum(each[at : at + 7].count(self.pip) for each in above) for at in range(1, 41, 8)]
            below = [_FACE.search(row[at - 1 : at + 8].strip()) for at in range(1, 41, 8)]
            hand = [count for count, found in zip(pips, below, strict=True) if found is not None]
            if hand and all(found[1] in (None, str(count)) for count, found in zip(pips, below, strict=True) if found):
                return hand
        return []

    def bid(self) -> str:
        """Return the standing bid in words, as the band and the table have it; empty if there is none."""
        named = re.search(r"'s (\w+ \w+?s?)(?:, or|\.)", self.status())
        return named[1] if named is not None and named[1] in " ".join(self.left()[1:BAND]) else ""

    def check_frame(self) -> None:
        """Wait until the whole screen is filled at its size: from the title to the line that is typed."""

        def is_whole() -> bool:
            rows = self.display()
            is_filled = len(rows) == self._lines and bool(rows[BAND].strip()) and bool(rows[BAND + 1].strip())
            return is_filled and "Ada's" in rows[0] and rows[-1].startswith(PROMPT)

        self.wait_for(is_whole, f"a screen of {self._columns} x {self._lines}")

    def check_bidding(self) -> None:
        """Wait until all is there that a bidder needs: the question, the dice in hand, the bid that stands."""
        self.check_frame()

        def is_all_there() -> bool:
            asked = self.status().strip().removeprefix("Your turn: ").lower()
            first = asked.startswith("make the first bid")
            names_no_bid = first or asked.startswith("you must raise")  # a shield stands over the bid: it names that
            return bool(self.hand()) and (names_no_bid or (bool(self.bid()) and asked.startswith(("raise ", "call "))))

        self.wait_for(is_all_there, "a bidder's table")
