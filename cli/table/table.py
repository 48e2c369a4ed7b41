"""The base class of tables: it puts events on the board, reports them, and obeys typed lines.

A face shows the table, in plain lines or on the full screen. The keys of the screen type lines, so everything that keys
can do, words can do, too. There are four kinds: :class:`~cli.table.player_table.PlayerTable`,
:class:`~cli.table.live_table.SpectatorTable`, :class:`~cli.table.replay_table.ReplayTable` and
:class:`~cli.table.lesson_table.LessonTable`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from cli.render import listing
from cli.rulesets import described
from cli.table import answers, moment
from cli.table.board import Board, Told
from cli.table.moment import tell
from cli.table.pace import Pace
from cli.text.explain import explain
from cli.text.move_forms import offers
from cli.text.speech import NotUnderstoodError, hear, hear_word, is_like_a_move, nearest_word, quoted
from p2pdice.motes import MOTES
from protocol.events import Claimed, MatchResult, Misbehaved

if TYPE_CHECKING:
    from cli.table.scene import Dialog, ReplayStrip, Talk, WatchStrip
    from cli.table.terminal import Showing
    from p2pdice.moves import Move
    from protocol.events import PlayerInfo, YourTurn
    from protocol.match.waiting import Clock, Progress

HIDDEN: Final = "Odds are hidden at this table."


class TypedWord(NamedTuple):
    """A word that can be typed. The method ``_do_<name>`` obeys it, or a function in :data:`_QUESTIONS` answers it."""

    name: str
    tables: str
    """The kinds of tables that know it, by :attr:`Table.kind`: a player's (``p``), a spectator's (``s``), a replay
    (``r``), a lesson (``l``)."""
    help: str
    in_full: bool = False
    """Whether it must be typed in full, because it cannot be undone."""
    in_lobby: bool = False
    """Whether it is offered only until a match begins."""


WORDS: Final = (
    TypedWord("next", "r", 'next step, like Enter; "next round" skips the rest of the round'),
    TypedWord("back", "r", 'previous step; "back round" goes to the start of a round'),
    TypedWord("play", "r", "play without keys; Enter stops"),
    TypedWord("round", "r", "go to a round: round 3, or just 3"),
    TypedWord("start", "r", "go to the start"),
    TypedWord("end", "r", "go to the end"),
    TypedWord("as", "r", "see it with a player's eyes: as Ada; all dice: as all; none: as spectator"),
    TypedWord("help", "psrl", "this list"),
    TypedWord("table", "psl", "what is on the table; Enter alone does the same"),
    TypedWord("table", "r", "what is on the table"),
    TypedWord("bids", "psr", "the bids of this round"),
    TypedWord("dice", "pl", "your dice, and how many each player has"),
    TypedWord("dice", "sr", "how many dice each player has"),
    TypedWord("odds", "psl", "how likely the bid is; odds 3x5 for another bid"),
    TypedWord("odds", "r", "how likely the bid was, for each player; odds 3x5 for another"),
    TypedWord("players", "psr", "who plays, and the fingerprints of their keys"),
    TypedWord("rules", "psrl", "the rules of this table, with a round played out"),
    TypedWord("learn", "p", "play a 60-second round against Coach while you wait", in_lobby=True),
    TypedWord("start", "p", "begin with the players who are here (host only)", in_full=True, in_lobby=True),
    TypedWord("link", "p", "show the long line that always works (host only)", in_lobby=True),
    TypedWord("code", "p", "make a new short code for this table (host only)", in_lobby=True),
    TypedWord("qr", "p", "show the long line as a QR code, for a camera (host only)", in_lobby=True),
    TypedWord("seat", "p", "let a player sit down, or accept one who sits here: seat Ada", in_lobby=True),
    TypedWord("watch", "p", "let a player watch without a seat (host only): watch Ada", in_lobby=True),
    TypedWord(
        "refuse", "p", "do not let a player sit down or watch (host only): refuse Ada", in_full=True, in_lobby=True
    ),
    TypedWord("remove", "p", "send a guest away from this table (host only): remove Ada", in_full=True, in_lobby=True),
    TypedWord("wait", "p", "wait two minutes longer for players who do not answer"),
    TypedWord("claim", "p", "leave a match of two whose other player stays away", in_full=True),
    TypedWord("say", "p", "say something to all at the table: say good luck"),
    TypedWord("say", "s", "say something, if the table lets spectators talk: say good luck"),
    TypedWord("mute", "ps", "hide what a player says, or show it again: mute Ada"),
    TypedWord("trust", "ps", "trust a player's key, if you have compared fingerprints: trust Ada"),
    TypedWord("skip", "ps", "show everything at once from now on"),
    TypedWord("concede", "p", "give up this match for good", in_full=True),
    TypedWord("again", "p", "play another match at this table; again host if its host has left"),
    TypedWord("again", "s", "sit down for the next match at this table"),
    TypedWord("quit", "p", "leave; you can return to a running match", in_full=True),
    TypedWord("quit", "s", "stop watching", in_full=True),
    TypedWord("quit", "r", "stop looking back", in_full=True),
    TypedWord("quit", "l", "skip the lesson", in_full=True),
)
"""All words of all tables, in the order of the help."""
KEY_HELP: Final = {
    "arrows": "choose a bid: up and down change the number, left and right the face; without a bid, go through the"
    " moves; Enter plays it",
    "1 to 9": "pick from a list",
    "!": "call liar; ! again or Enter does it, Escape does not",
    "=": "call exact in the same way, if the rules have it",
    "Tab": "complete what you type, or see what can be typed",
    "Escape": "empty the line",
    "Space": "show all delayed events at once; in a showdown any key does so",
    "%": "show the odds, or hide them",
    "PageUp": "show the whole talk; PageUp and PageDown turn its pages",
    "?": "this page; F1 as well",
    "Ctrl-L": "draw the screen again",
    "Ctrl-Z": "suspend to the shell; type fg to come back; the others wait meanwhile",
    "Ctrl-D": "leave the table; Ctrl-C twice leaves at once",
}
"""The keys of the full screen, for its help."""
_QUESTIONS: Final = {
    "table": answers.table,
    "bids": answers.bids,
    "dice": answers.dice,
    "players": answers.players,
}
"""Words that only ask about the board, with the functions that answer them."""
_AFTERWARDS: Final = ("again", "quit", "say", "help")
"""Words that are suggested after a match."""


class Face(Protocol):
    """The user interface of a table, in line mode or on the full screen: it shows the table, and reads lines."""

    is_interactive: bool
    """Whether the person can answer questions."""
    shows_board: bool
    """Whether the board is always visible, and disappears when the face is closed."""

    @property
    def page_size(self) -> tuple[int, int] | None:
        """The columns and lines available to a long answer; None if it may be of any length."""

    async def read(self) -> str | None:
        """Return the next line; None at the end of the input.

        :raises InterruptedByUserError: on Ctrl-C at a terminal.
        """

    def tell(self, text: str, talk: Talk | None = None) -> None:
        """Print a report of an event. It must not disturb the line being typed.

        :param talk: the same report as an entry of the talk.
        """

    def say(self, text: str) -> None:
        """Print an answer to the last typed line."""

    def remind(self, status: str) -> None:
        """Print a status line before the next prompt, unless the board is always visible."""

    def refresh(self) -> None:
        """Update the prompt or the board after a change."""

    def ring(self, why: str = "turn") -> None:
        """Ring for the person's turn. Ring for other reasons only if their settings say so."""

    def show(self, table: Table) -> None:
        """Show ``table`` from now on. Typed lines still go to the table that opened this face."""


class Table(ABC):
    """The base class of all tables.

    Besides the board, a full screen shows :meth:`progress`, :meth:`clock` and :meth:`dialog`.

    :param showing: how to show the table.
    :param face: shows the table, and reads lines.
    """

    kind: ClassVar[str]
    """The letter of this kind of table in :attr:`TypedWord.tables`."""
    has_lobby: ClassVar[bool] = True
    """Whether the screen shows the players at the table while no match is running."""
    key_lines: Mapping[str, str] = {}
    """The line that each key types if the input line is empty. Keys have prompt_toolkit's names."""
    verdict = ""
    """The verdict on a replay's file, such as ``fair``; empty elsewhere."""
    latest = ""
    """The last sentence that a replay has shown."""
    notes: Sequence[Talk] = ()
    """Entries that a replay adds to the talk at the current scene."""
    coach = ""
    """Coach's words in a lesson."""
    lesson = ""
    """The progress of a lesson."""
    face: Face
    """Opened by :func:`cli.table.play.show`, to suit this process."""

    def __init__(self, showing: Showing, face: Face | None = None) -> None:
        self.board = Board()
        """The state of the table as far as it is shown."""
        self.showing = showing
        self.pace = Pace(showing.pace, showing.motion)
        """Delays events so that the person can follow."""
        self.minutes = 0
        """Duration of the last match in minutes; 0 before its end, or if this program did not see it begin."""
        self.won: dict[str, tuple[str, ...]] = {}
        """The fingerprints of the winners of this evening's matches, by match id."""
        self.last_words: list[str] = []
        """Texts to print after the table is closed, such as where the transcript is, and how to return."""
        self.words = {word.name: word for word in WORDS if self.kind in word.tables}
        self._has_left = False
        if face is not None:
            self.face = face

    def begin(self) -> None:  # noqa: B027 - most kinds have nothing to prepare
        """Show the initial state, before the first event."""

    @abstractmethod
    async def follow(self) -> None:
        """Show events until the table is over, or its person leaves."""

    def interrupt(self) -> None:  # noqa: B027
        """Say how to return, on Ctrl-C."""

    def close(self) -> None:  # noqa: B027
        """Cancel the background tasks of the table."""

    def _say(self, text: str) -> None:
        self.face.say(text)

    # Events

    def take(self, event: Told) -> None:
        """Put an event on the board, and report it."""
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
        """Return the entries for an event in the talk of the full screen, whose picture shows the game itself."""
        return moment.talk(event, self.board, told)

    def _before_telling(self, event: Told) -> None:  # noqa: B027 - most kinds have nothing to do
        """Act on an event that the board has just taken, before it is reported."""

    def told(self, event: Told) -> Iterable[str]:
        """Return the sentences for an event that the board has just taken."""
        return tell(event, self.board)

    def _after_telling(self, event: Told) -> None:  # noqa: B027 - most kinds have nothing to do
        """Act on an event after it has been reported."""

    # For the face

    def clock(self) -> Clock | None:
        """Return the awaited players and the time left to them; None if no clock is running."""
        return None

    def progress(self) -> Progress | None:
        """Return the progress of the open step of a match; None if there is none."""
        return None

    def prompt(self) -> str:
        """Return the text before the line being typed."""
        return "your turn> " if self.board.turn is not None else "> "

    @property
    def untouched(self) -> str:
        """The line that Enter submits if the input line is empty."""
        return ""

    def withdraw(self) -> None:  # noqa: B027 - most kinds play no moves
        """Forget a typed move that waits for a second Enter."""

    @property
    def is_behind(self) -> bool:
        """Whether the table lags behind the match. A key press shows the missing events at once."""
        return self.pace.is_holding

    @property
    def is_waiting(self) -> bool:
        """Whether the player has typed *again* but has no seat yet."""
        return False

    @property
    def moves_by_itself(self) -> bool:
        """Whether the table advances by itself until a key is pressed."""
        return False

    @property
    def gives_odds(self) -> bool:
        """Whether the full screen shows chances by default."""
        return True

    @property
    def asked(self) -> Sequence[PlayerInfo]:
        """Newcomers who ask the reader for a seat."""
        return ()

    def away(self) -> dict[str, int]:
        """Return the seconds since each missing player was lost or began to hold up the match, by fingerprint."""
        return {}

    def dialog(self) -> Dialog | None:
        """Return the dialog of the full screen, if there is one. Its choices type lines."""
        return None

    def close_dialog(self) -> None:  # noqa: B027 - most kinds ask nothing
        """Close the dialog."""

    def strip(self) -> ReplayStrip | WatchStrip | None:
        """Return the strip that a spectator or a replay has in place of the reader's dice; None for a player."""
        return None

    def key_bar(self) -> Sequence[tuple[str, str]]:
        """Return the entries of the key bar; if empty, :func:`cli.table.moment.useful_keys` supplies them."""
        return ()

    # Typed lines

    async def listen(self) -> None:
        while not self._has_left:
            if (line := await self.face.read()) is None:
                await self._end_of_input()
                continue
            was_asked = self.board.turn is not None
            self.obey(line)
            has_moved = was_asked and self.board.turn is None  # the next events will show the new state
            if not (has_moved or self._has_left) and (status := self._status()):
                self.face.remind(status)
            self.face.refresh()

    async def _end_of_input(self) -> None:
        self._do_quit("")

    def _status(self) -> str:
        return answers.status(self.board, self.clock())

    def obey(self, line: str) -> None:
        """Obey a typed line. A line that makes no sense only gets an answer."""
        word, _, rest = line.strip().partition(" ")
        word = "help" if word == "?" else word.lower()
        if word in self.words:
            self._do(word, rest.strip())
        elif word:
            self._hear(line)
        elif self.is_behind:
            self.pace.skip()
        elif self.face.is_interactive and not self.face.shows_board:
            self._do("table")

    def _do(self, word: str, rest: str = "") -> None:
        if ask := _QUESTIONS.get(word):
            self._say("\n".join(ask(self.board)))
        else:
            getattr(self, f"_do_{word}")(rest)

    def _hear(self, line: str) -> None:
        """Obey a line whose first word is not one of :data:`WORDS` in full."""
        offered = self.offered()
        short = [word for word in offered if not self.words[word].in_full]
        if (turn := self.board.turn) is not None:
            try:
                meant = hear(line, turn.view, self.board.seating.names, short, offered)
            except NotUnderstoodError as error:
                self._say(str(error))
            else:
                if isinstance(meant, str):
                    self._do(meant)
                else:
                    self._play(meant, turn)
        elif word := hear_word(line, short):
            self._do(word)
        elif is_like_a_move(line):
            self._say(self._no_turn())
        else:
            guess = nearest_word(line, offered)
            instead = f"Did you mean {guess}?" if guess else self._what_else()
            self._say(f"I don't know {quoted(line)}. {instead}")

    def _play(self, move: Move, turn: YourTurn) -> None:
        """Make the reader's move."""
        raise NotImplementedError("a table without a player has no turn")

    @abstractmethod
    def _no_turn(self) -> str:
        """Return the answer to a move that is typed out of turn."""

    def _what_else(self) -> str:
        if self.board.over is None:
            return "? shows what you can type."
        words = [word for word in _AFTERWARDS if self.is_offered(word)]
        return f"Type {listing([self.board.again if word == 'again' else word for word in words], 'or')}."

    def is_offered(self, word: str) -> bool:
        """Return whether a word is useful now. Any other word only explains why it is not."""
        return word in self.words

    def offered(self) -> list[str]:
        return [word for word in self.words if self.is_offered(word)]

    def completions(self) -> Iterable[str]:
        """Return the moves and words that are useful now."""
        turn = self.board.turn
        return (*(offers(turn.view, self.board.seating.names) if turn is not None else ()), *self.offered())

    # Words

    def _do_help(self, _rest: str) -> None:
        if self.face.shows_board and (keys := self._keys_told()):
            self._say("Keys:")
            for key, does in keys.items():
                self._say(f"    {key:10}{does}")
            self._say("")
        for text in self._help():
            self._say(text)
        offered = self.offered()
        width = max(map(len, offered))
        for word in offered:
            self._say(f"    {word:{width}}  {self.words[word].help}")
        if self.board.state is not None and self.board.state.motes is not None:
            letters = listing([f"{mote[0].upper()} is {mote}" for mote in MOTES])
            self._say(f"On the screen a die in a cup is the first letter of its mote: {letters}.")

    def _keys_told(self) -> Mapping[str, str]:
        return KEY_HELP

    @abstractmethod
    def _help(self) -> Iterable[str]:
        """Yield the sentences of the help above its list of words."""

    def _do_rules(self, _rest: str) -> None:
        if (ruleset := self.board.ruleset) is None:
            self._say("Nobody has said yet which rules this table plays by.")
        else:  # the face wraps the lines
            self._say(explain(ruleset, described(ruleset, self.board.rules_name), None))

    def _do_odds(self, rest: str) -> None:
        self._say(HIDDEN if not self.board.odds else answers.odds(self.board, rest))

    def _do_quit(self, _rest: str) -> None:
        self._has_left = True
