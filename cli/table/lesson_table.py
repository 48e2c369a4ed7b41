"""The lesson: a scripted first round against Coach, 60 seconds long, with three dice each. It needs no network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.table.board import Told
from cli.table.table import Face, Table
from p2pdice.engine import apply, new_match
from p2pdice.moves import Bid, Hand, Hands, Input, Liar, Move, Play, Rolled
from p2pdice.rulesets import PRESETS
from p2pdice.views import view
from protocol.events import DiceRolled, Happened, MatchStarted, NodeEvent, PlayerInfo, Said, YourTurn

if TYPE_CHECKING:
    from cli.table.scene import Dialog, Talk
    from cli.table.terminal import Showing

_ME: Final = 0
_COACH: Final = 1
COACH: Final = "Coach"
HANDS: Final[tuple[Hand, Hand]] = ((1, 4, 6), (2, 3, 6))
"""The learner's dice, then Coach's."""


class Lesson(NamedTuple):
    """One step: Coach's words, and the only move that leads to the next step."""

    words: str
    """``{raise}``, ``{call}`` and ``{on}`` stand for what to press or type."""
    move: Move | None = None
    """None if an empty line leads to the next step."""
    nudge: str = ""
    """The answer to any other move."""


LESSONS: Final = (
    Lesson(
        "These three dice are yours. Only you can see them. I have three, too. I bid on both cups together: two fours."
    ),
    Lesson(
        "I say both cups hold at least two fours. You have a 4 and a wild 1: two already. So it is true."
        " Raise it: {raise}.",
        Bid(3, 4),
        "The rules may allow that. For this round, bid three fours: {raise}.",
    ),
    Lesson(
        "I raise to four fours. You see two. I would need two more among my three dice: a 26% chance."
        " Don't believe me: {call}.",
        Liar(),
        "The rules may allow that. For this round, call me a liar: {call}.",
    ),
    Lesson(
        "You got me. Four fours were needed, and both cups together had two. Had there been four, you would have lost"
        " a die instead of me. {on}."
    ),
    Lesson(
        "That's the game: bluff, doubt, and keep the last die. p2pdice host opens a table, and p2pdice host --bots 3"
        " plays against us."
    ),
)
_KEYS: Final = {"raise": "press ↑ for three fours, then Enter", "call": "press ! twice", "on": "Space goes on"}
_WORDS: Final = {"raise": "type 3x4", "call": "type liar", "on": "Enter goes on"}


def spoken(words: str, *, has_keys: bool) -> str:
    """Return a step's words with instructions for a full screen with keys, or for typed lines.

    >>> spoken("Raise it: {raise}.", has_keys=False)
    'Raise it: type 3x4.'
    """
    return words.format_map(_KEYS if has_keys else _WORDS)


class LessonTable(Table):
    """A table that plays :data:`LESSONS` with the dice of :data:`HANDS`.

    :param name: the learner's nickname.
    :param face: the face of the lobby, if the lesson interrupts one.
    :param lobby: the table that continues in the background. Its dialogs still appear.
    """

    kind = "l"
    has_lobby = False
    key_lines: Mapping[str, str] = {"escape": "quit", " ": ""}

    def __init__(self, showing: Showing, name: str, face: Face | None = None, lobby: Table | None = None) -> None:
        super().__init__(showing, face)
        self.step = 0
        """The number of the current step, from 1; 0 before the first."""
        self._lobby = lobby
        self._explained = 0
        """The number of steps whose words have been produced, though some may not be shown yet."""
        self._players = (PlayerInfo(name, "", is_me=True), PlayerInfo(COACH, ""))
        self._state = new_match(PRESETS["classic"].with_options({"dice": "3"}), 2, first=_COACH)
        self._lines: asyncio.Queue[Move | None] = asyncio.Queue()

    async def follow(self) -> None:
        """Go through the steps. Each waits for the learner's move or line from :meth:`obey`."""
        async for event in self.pace.follow(self._events(), self.board):
            self.take(event)
        self._has_left = True

    async def _events(self) -> AsyncIterator[NodeEvent]:
        ruleset = self._state.ruleset
        yield MatchStarted("", ruleset, self._players, _ME, self._state)
        for event in self._played(Rolled()):
            yield event
        yield DiceRolled(HANDS[_ME])
        yield self._next_step()
        await self._lines.get()
        for quantity in (2, 4):
            for event in self._played(Play(_COACH, Bid(quantity, 4))):
                yield event
            yield YourTurn(view(self._state, _ME, HANDS[_ME]), self._explained)
            yield self._next_step()
            move = await self._lines.get()
            assert move is not None
            for event in self._played(Play(_ME, move)):
                yield event
        for event in self._played(Hands(HANDS)):
            yield event
        for _ in range(2):
            yield self._next_step()
            await self._lines.get()

    def _played(self, item: Input) -> list[Happened]:
        self._state, events = apply(self._state, item)
        return [Happened(event, self._state, is_last=event is events[-1]) for event in events]

    def _next_step(self) -> Said:
        self._explained += 1
        return Said(self._players[_COACH], spoken(LESSONS[self._explained - 1].words, has_keys=self.face.shows_board))

    def _before_telling(self, event: Told) -> None:
        if isinstance(event, MatchStarted):
            self.board.name, self.board.rules_name = "Your first round", "classic"
        if isinstance(event, Said):
            self.step, self.coach = self.step + 1, event.text
            self.lesson = f"step {self.step} of {len(LESSONS)}   Esc skips"

    def _talk_of(self, event: Told, told: Sequence[str]) -> Iterable[Talk]:
        """Return nothing: the screen shows Coach's words in a place of their own."""
        return ()

    @property
    def has_left(self) -> bool:
        """Whether the learner has skipped or finished the lesson."""
        return self._has_left

    @property
    def asked(self) -> Sequence[PlayerInfo]:
        return self._lobby.asked if self._lobby is not None else ()

    def dialog(self) -> Dialog | None:
        return self._lobby.dialog() if self._lobby is not None else None

    def close_dialog(self) -> None:
        if self._lobby is not None:
            self._lobby.close_dialog()

    # Typed lines

    def key_bar(self) -> Sequence[tuple[str, str]]:
        skip = ("Esc", "skip the lesson")
        if self.board.turn is None:
            return [
                ("Space", {len(LESSONS) - 1: "last step", len(LESSONS): "ends the lesson"}.get(self.step, "goes on")),
                skip,
            ]
        if isinstance(LESSONS[self.step - 1].move, Bid):
            return [("↑↓", "number"), ("←→", "face"), ("Enter", "bid"), ("!", "call liar"), skip]
        return [("!", "call liar"), ("←→↑↓", "choose"), skip]

    def obey(self, line: str) -> None:
        if self.is_behind and not line.strip():
            self.pace.skip()
        elif not line.strip() and self.step and LESSONS[self.step - 1].move is None:
            self._lines.put_nowait(None)
        else:
            super().obey(line)

    def _play(self, move: Move, turn: YourTurn) -> None:
        lesson = LESSONS[self.step - 1]
        if move != lesson.move:
            self._say(spoken(lesson.nudge, has_keys=self.face.shows_board))
        else:
            self.board.turn = None
            self._lines.put_nowait(move)

    def _no_turn(self) -> str:
        return "Not yet: Coach is talking. Enter goes on."

    def _keys_told(self) -> Mapping[str, str]:
        return {}

    def _help(self) -> Iterable[str]:
        yield "Coach tells you what to type. You can also type:"
