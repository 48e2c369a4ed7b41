"""A player at the line mode through pipes: what is typed, and what comes back."""

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
"""The beginnings of all questions to a player."""
OVER = "The transcript is"
"""In the line that tells of the end of a match."""


def bold(question: str) -> str:
    """Answer a turn: open with one two, and call whatever is bid."""
    return "1x2" if "make the first bid" in question else "liar"


class SeatedPlayer(Program):
    """One ``p2pdice`` process, its output gathered as it comes."""

    is_merged = True

    def __init__(self, home: Path, *arguments: str) -> None:
        super().__init__(*MODULE, *arguments, home=home)
        self._read_so_far = 0
        self._unanswered = ""
        """The line that told of a turn in which nothing has been typed yet."""

    @property
    def seen(self) -> list[str]:
        """Return the lines that were read on to so far."""
        return self.output[: self._read_so_far]

    def type(self, line: str) -> None:
        """Type a line."""
        self._unanswered = ""
        super().type(line)

    def until(self, *texts: str) -> str:
        """Read on until a line holds one of the texts, and return that line."""

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
        """Answer all turns until the match is over."""
        while OVER not in (line := self._unanswered or self.until(*QUESTIONS, OVER)):
            self.type(answer(line))

    def finish(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and all output."""
        code = self.end()
        self._read_so_far = len(self.output)
        return code, self.shown()


def seated(home: Path, *arguments: str) -> SeatedPlayer:
    """Start a player; used in a with statement, it ends with the block."""
    return SeatedPlayer(home, *arguments)


def play_together(*players: SeatedPlayer) -> None:
    """Let players play their match to its end, side by side."""
    side_by_side(*((player, player.play_to_the_end) for player in players))
