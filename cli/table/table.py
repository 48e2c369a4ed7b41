"""The table of a person: it puts events on the board and tells them, and obeys typed lines.

A face shows it, in plain lines or as a full screen. The keys of the screen type lines, so a table knows only lines, and
keys can do nothing that words cannot. There are three kinds: :class:`~cli.table.player_table.PlayerTable`,
:class:`~cli.table.live_table.SpectatorTable` and :class:`~cli.table.replay_table.ReplayTable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from cli.render import listing
from cli.rulesets import described
from cli.table import answers, moment
from cli.table.board import Board, Told
from cli.table.pace import Pace
from cli.table.telling import tell
from cli.text.explain import explain
from cli.text.speech import NotUnderstoodError, hear, hear_word, is_like_a_move, nearest_word, quoted
from p2pdice.powers import MOTES
from protocol.events import Claimed, MatchResult, Misbehaved

if TYPE_CHECKING:
    from cli.settings import Settings
    from cli.table.face import Face
    from cli.table.scene import Dialog, ReplayStrip, Talk, WatchStrip
    from cli.table.showing import Showing
    from p2pdice.moves import Move
    from p2pdice.views import View
    from protocol.events import PlayerInfo
    from protocol.match.progress import Clock, Progress

HIDDEN: Final = "Odds are hidden at this table."
Word = tuple[str, Callable[[str], None]]
"""A word that can be typed: its text in the help, and the method that obeys, given the rest of the line."""
IN_FULL: Final = ("start", "refuse", "remove", "claim", "concede", "quit")
"""Words whose beginnings are not enough, because the next line cannot undo them."""
_AFTERWARDS: Final = ("again", "quit", "say", "help")
"""Words to suggest when a match is over."""


class Table(ABC):
    """What the tables of players, spectators and replays have in common.

    A full screen shows :meth:`progress`, :meth:`clock` and the :meth:`dialog` besides the board, and binds the
    :attr:`keys`.

    :param showing: how it is shown.
    :param face: shows it, and reads lines.
    """

    keys: Mapping[str, str] = {}
    """The lines that keys of a full screen type while the line is empty, by prompt_toolkit's names for keys."""
    verdict = ""
    """Of the judgement on the file of a replay, such as ``fair``; empty elsewhere."""
    latest = ""
    """What a replay has told last."""
    coach = ""
    """Coach's words, in a lesson."""
    lesson = ""
    """How far a lesson is."""
    face: Face
    """The person's end of the table. :func:`cli.table.play.show` opens one that suits this process."""

    def __init__(self, settings: Settings, showing: Showing, face: Face | None = None) -> None:
        self.board = Board()
        """The state of the table, as far as it is shown."""
        self.pace = Pace(showing.pace, showing.motion)
        """Holds events back until a person can follow."""
        self.wins: dict[str, int] = {}
        """Matches won in this evening, by fingerprint."""
        self.last_words: list[str] = []
        """Texts that are needed after the table: where transcripts and proofs are, and how to return."""
        self.words: dict[str, Word] = {}
        """The words that can be typed at any time, in the order of the help."""
        self._settings = settings
        self.showing = showing
        if face is not None:
            self.face = face
        self._has_left = False

    @abstractmethod
    async def run(self) -> None:
        """Show the table until the person leaves.

        :raises InterruptedByUserError: on Ctrl-C at the prompt.
        """

    def _say(self, text: str) -> None:
        self.face.say(text)

    # Events

    def take(self, event: Told) -> None:
        """Put an event on the board, and tell it."""
        self.board.take(event)
        self._before_telling(event)
        texts = [*self.told(event)]
        if self.face.shows_board:
            for said in self._talk_of(event, texts):
                self.face.tell(said.text, said)
        for text in texts:
            if not self.face.shows_board:
                self.face.tell(text)
            if isinstance(event, MatchResult | Misbehaved | Claimed):
                self.last_words.append(text)
        self._after_telling(event)
        self.face.refresh()

    def _talk_of(self, event: Told, told: Sequence[str]) -> Iterable[Talk]:
        """Return what a screen, which shows the game itself, tells of an event."""
        return moment.talk(event, self.board, told)

    def _before_telling(self, event: Told) -> None:  # noqa: B027 - most kinds have nothing to note
        """Note an event that the board has just taken."""

    def told(self, event: Told) -> Iterable[str]:
        """Return the sentences for an event that the board has just taken."""
        return tell(event, self.board)

    def _after_telling(self, event: Told) -> None:  # noqa: B027 - or to add
        """Add to the sentences on an event."""

    # For the face

    def clock(self) -> Clock | None:
        """Return the awaited players and the time that they have left; None if no clock runs."""
        return None

    def progress(self) -> Progress | None:
        """Return how far the open step of a match is; None if there is none."""
        return None

    def prompt(self) -> str:
        """Return the text before the line being typed."""
        return "> "

    @property
    def is_behind(self) -> bool:
        """Whether the table lags behind the match. A key shows the rest at once."""
        return self.pace.is_holding

    @property
    def moves_by_itself(self) -> bool:
        """Whether the table goes on until a key is pressed."""
        return False

    @property
    def gives_odds(self) -> bool:
        """Whether a full screen shows chances until its reader wants something else."""
        return True

    @property
    def asked(self) -> Sequence[PlayerInfo]:
        """Newcomers who wait for the reader to say whether they may sit down."""
        return ()

    def away(self) -> dict[str, int]:
        """Return the fingerprints of players who do not answer, and for how many seconds."""
        return {}

    def dialog(self) -> Dialog | None:
        """Return a question that a full screen asks in a box; its answers are lines."""
        return None

    def close_dialog(self) -> None:  # noqa: B027 - most kinds ask nothing
        """Take the question as answered."""

    def strip(self) -> ReplayStrip | WatchStrip | None:
        """Return what stands in place of the reader's own dice; None for a player."""
        return None

    def key_bar(self) -> Sequence[tuple[str, str]]:
        """Return the keys that matter, if it has :attr:`keys` of its own."""
        return ()

    def completions(self) -> Iterable[str]:
        """Return the moves and words that can be typed now."""
        return self._offered

    # Typed lines

    async def _listen(self) -> None:
        while not self._has_left:
            line = await self.face.read()
            if line is None:
                await self._end_of_input()
            else:
                self._answer_line(line)
                self.face.refresh()

    async def _end_of_input(self) -> None:
        self._quit("")

    def _answer_line(self, line: str) -> None:
        self.obey(line)
        self._show_status()

    def _show_status(self) -> None:
        if not self._has_left and (status := self._status()):
            self.face.remind(status)

    def _status(self) -> str:
        return answers.status(self.board, self.clock())

    def obey(self, line: str) -> None:
        """Do what a line says. No line, however wrong, can end the match."""
        word, _, rest = line.strip().partition(" ")
        word, rest = "help" if word == "?" else word.lower(), rest.strip()
        if word in self.words:
            self.words[word][1](rest)
        elif word:
            self._hear(line)
        elif self.is_behind:
            self.pace.skip()
        elif self.face.is_interactive and not self.face.shows_board:
            self.words["table"][1]("")

    def _heard(self, line: str, view: View) -> Move | None:
        """Return the move that a line of the player on turn means; None if it was something else, and is answered."""
        try:
            heard = hear(line, view, self.board.seating.names, self._short_words, self._long_words)
        except NotUnderstoodError as error:
            self._say(str(error))
            return None
        if isinstance(heard, str):
            self.words[heard][1]("")
            return None
        return heard

    def _hear(self, line: str) -> None:
        """Do what a line means that does not begin with a whole word."""
        if word := hear_word(line, self._short_words):
            self.words[word][1]("")
        elif is_like_a_move(line):
            self._say(self._no_turn())
        else:
            meant = nearest_word(line, self._offered)
            instead = f"Did you mean {meant}?" if meant else self._what_else()
            self._say(f"I don't know {quoted(line)}. {instead}")

    @property
    def _offered(self) -> list[str]:
        """The words that are of use now. The others only explain why they are not."""
        return list(self.words)

    @property
    def _short_words(self) -> list[str]:
        return [word for word in self._offered if word not in IN_FULL]

    @property
    def _long_words(self) -> list[str]:
        return [word for word in self._offered if word in IN_FULL]

    @abstractmethod
    def _no_turn(self) -> str:
        """Return the answer to a move that cannot be made now."""

    def _what_else(self) -> str:
        if self.board.over is None:
            return "? shows what you can type."
        return f"Type {listing([word for word in _AFTERWARDS if word in self._offered], 'or')}."

    # Words

    @abstractmethod
    def _help(self, _rest: str) -> None:
        """Say what can be typed."""

    def _list_words(self) -> None:
        width = max(map(len, self._offered))
        for word in self._offered:
            self._say(f"    {word:{width}}  {self.words[word][0]}")
        if self.board.state is not None and self.board.state.motes is not None:
            letters = listing([f"{mote[0].upper()} is {mote}" for mote in MOTES])
            self._say(f"On the screen a die in a cup is the first letter of its mote: {letters}.")

    def _rules(self, _rest: str) -> None:
        if (ruleset := self.board.ruleset) is None:
            self._say("Nobody has said yet which rules this table plays by.")
        else:  # the face breaks the lines
            self._say(explain(ruleset, described(ruleset, self.board.rules_name), None))

    def _answer(self, ask: Callable[[Board], Iterable[str]]) -> Callable[[str], None]:
        """Return a method for a word that only asks about the board."""
        return lambda _rest: self._say("\n".join(ask(self.board)))

    def _odds(self, rest: str) -> None:
        self._say(HIDDEN if not self.board.odds else answers.odds(self.board, rest))

    def _quit(self, _rest: str) -> None:
        self._has_left = True
