"""A player in a process of its own, in line mode: tests type through a pipe and read the output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.programs import MODULE, Program, side_by_side

TURN = "Your turn: "
QUESTIONS = (
    TURN,
    "Who's right: ",
    "What do you stake",
    "Play a die from the graveyard",
    "Stop ",
    "You lose a die. Which one?",
    "You win. Which die",
)
"""How each question to a player begins."""
OVER = "The transcript is"
"""Part of the line that is printed when a match ends."""


def bold(question: str) -> str:
    """Return the answer to a turn: open with one two, and call any bid."""
    return "1x2" if "make the first bid" in question else "liar"


class SeatedPlayer(Program):
    """A ``p2pdice`` process whose output is collected while it runs."""

    is_merged = True

    def __init__(self, home: Path, *arguments: str) -> None:
        super().__init__(*MODULE, *arguments, home=home)
        self._read_so_far = 0
        self._unanswered = ""
        """The question that has not been answered yet; empty if there is none."""

    @property
    def seen(self) -> list[str]:
        """Return the lines that ``until`` has read so far."""
        return self.output[: self._read_so_far]

    def type(self, line: str) -> None:
        """Type a line."""
        self._unanswered = ""
        super().type(line)

    def until(self, *texts: str) -> str:
        """Read until a line contains one of the texts, and return that line."""

        def found() -> str:
            while self._read_so_far < len(self.output):
                line = self.output[self._read_so_far]
                self._read_so_far += 1
                if line.startswith(QUESTIONS):
                    self._unanswered = line
                if any(text in line for text in texts):
                    return line
            return ""

        return self.wait_for(found, " or ".join(map(repr, texts)))

    def play_to_the_end(self, answer: Callable[[str], str] = bold) -> None:
        """Answer each turn until the match is over."""
        while OVER not in (line := self._unanswered or self.until(*QUESTIONS, OVER)):
            self.type(answer(line))

    def finish(self) -> tuple[int, str]:
        """Wait until the process ends; return the exit code and all output."""
        code = self.end()
        self._read_so_far = len(self.output)
        return code, self.shown()


def seated(home: Path, *arguments: str) -> SeatedPlayer:
    """Start a player. At the end of a ``with`` block, the process is killed."""
    return SeatedPlayer(home, *arguments)


def play_together(*players: SeatedPlayer) -> None:
    """Let players play their match to its end, each in a thread of its own."""
    side_by_side(*((player, player.play_to_the_end) for player in players))
