"""A table that a person sits at: what happens is put on the board and told, and what is typed is obeyed.

Both run side by side, whoever's turn it is. A face shows it, in plain lines or as a full screen. The keys of the screen
type lines, so a table knows only lines, and keys can do nothing that words cannot.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from cli.exits import Failure, closing_code
from cli.render import capital, command_line, listing, sentence
from cli.rulesets import rules_command
from cli.settings import home_words
from cli.table import answers
from cli.table.board import Board, Told
from cli.table.face import HOST, InterruptedByUserError
from cli.table.faces import open_face
from cli.table.pace import Pace
from cli.table.showing import Showing
from cli.table.tasks import first_of
from cli.table.telling import tell
from cli.text.explain import summary, typed_moves
from cli.text.narrate import narrate
from cli.text.players import UnknownPlayerError, find_seat
from cli.text.seating import display_names
from cli.text.speech import (
    NotUnderstoodError,
    exceeds_the_dice,
    hear,
    hear_word,
    is_like_a_move,
    nearest_word,
    offers,
    quoted,
)
from p2pdice import MOTES, Concede, Expect, Move, PlayerOut, RulesError, Stake
from protocol.events import (
    AwaitingHost,
    ConcedeAccepted,
    Happened,
    MatchOver,
    MatchStarted,
    Misbehaved,
    PlayerInfo,
    Said,
    Stopped,
    Suspended,
    TableClosed,
    TableOpened,
    YourTurn,
)

if TYPE_CHECKING:
    from cli.settings import Settings
    from cli.table.face import Face
    from protocol import Clock, Node, NodeError, Progress


_LAG: Final = 0.25
"""Of the patience, for what is shown to lag behind what has happened."""
_AFTERWARDS: Final = ("again", "quit", "say", "help")
"""Words to suggest when a match is over."""
_YES: Final = ("y", "yes")
_NO: Final = ("n", "no")
_GIVING_UP: Final = (
    "If you give up, you are out of this match at once and cannot come back. The others play on if two are left."
)
_OUT: Final = "You are out of this match. You can watch the rest of it, say something, or quit."
_IN_FULL: Final = ("start", "concede", "quit")
"""Words whose beginnings are not enough: what they do is not undone by the next line."""


class Table:
    """One player's table.

    A full screen asks it what to show besides the board (:meth:`progress`, :meth:`clock`, :meth:`hint`), and binds its
    :attr:`keys`.

    :param showing: how it is shown.
    :param face: shows it, and says what is typed; one that suits this process is opened if none is given.
    :param bots: fingerprints of the bots that this player seated: they leave and return together.
    :param again: goes back to the table after a match; what was typed after the word is given to it. Without one, the
        evening ends with the match.
    :param watched: the table as it was watched until the match was over; its reader sits down for the next one first.
    """

    keys: Mapping[str, str] = {}
    """What keys of a full screen type while the line is empty, by prompt_toolkit's names for keys."""

    def __init__(
        self,
        node: Node,
        settings: Settings,
        showing: Showing = Showing(),  # noqa: B008 - it is immutable
        face: Face | None = None,
        *,
        bots: frozenset[str] = frozenset(),
        again: Callable[[str], Awaitable[None]] | None = None,
        watched: Table | None = None,
    ) -> None:
        self.board = Board()
        """What is on the table."""
        self.pace = Pace(showing.pace)
        """At which it is shown."""
        self.bots = bots
        self.wins: dict[str, int] = {}
        """Matches won in this evening, by fingerprint."""
        self.muted: set[str] = set()
        """Fingerprints of those whose words are not shown."""
        self.last_words: list[str] = []
        """What is still needed when the table is gone: where transcripts and proofs are, and how to return."""
        self._node = node
        self._settings = settings
        self._showing = showing
        self._face = face
        self._again = again
        self._is_late = watched is not None
        self._returning: asyncio.Task[None] | None = None
        """Goes back to the table."""
        self._doubted: Move | None = None
        """A bid on more dice than there are: it counts when it is typed again in this turn."""
        self._is_confirming = False
        self._is_giving_up = False
        """The wish to concede is kept, and has not taken effect yet."""
        self._has_left = False
        self._had_match = watched is not None
        """A match has been played to its end here: the evening goes on without it."""
        if watched is not None:
            self.board, self.wins = watched.board, watched.wins
        self.words: dict[str, tuple[str, Callable[[str], None]]] = {
            "help": ("this list", self._help),
            "table": ("what is on the table; Enter alone does the same", self._show_table),
            "bids": ("the bids of this round", self._bids),
            "dice": ("your dice, and how many everybody has", self._dice),
            "odds": ("how likely the bid is; odds 3x5 for another bid", self._odds),
            "players": ("who plays, and the fingerprints of their keys", self._who),
            "rules": ("the rules of this table, and where to read them", self._rules),
            "start": ("begin with the players who are here (host only)", self._start),
            "say": ("say something to all at the table: say good luck", self._talk),
            "mute": ("hide what a player says, or show it again: mute Ada", self._mute),
            "skip": ("show everything at once from now on", self._hurry),
            "concede": ("give up this match", self._concede),
            "again": ("play another match at this table", self._go_again),
            "quit": ("leave; you can return to a running match", self._quit),
        }
        """What can be typed at any time: by word, what help says of it, and what obeys it."""

    async def run(self) -> None:
        """Play until the evening is over or the player leaves.

        :raises Failure: if the table is closed or the node stops.
        :raises InterruptedByUserError: on Ctrl-C at the prompt.
        """
        if not self._is_late and (match := self._node.match) is not None and match.is_formed:
            self.board.match, self.board.players = match.record.match.hex(), match.info
        async with open_face(self, self._showing) as face:
            self._face = face
            try:
                if self._is_late:
                    self._returning = asyncio.create_task(self._return(""))
                await first_of(self._follow(), self._listen())
            except (InterruptedByUserError, asyncio.CancelledError):  # Ctrl-C at the prompt, or as a signal
                self._say_way_back()
                raise
            finally:
                if self._returning is not None:
                    self._returning.cancel()

    def way_back(self) -> str:
        """Return what becomes of the match if the player leaves now, and how to return to it."""
        if not self.board.match or self._looks_on or (match := self._node.match) is None:
            return "You have left the table."
        words = ["resume", self.board.match[:8], *home_words(self._settings.home)]
        mine = {player.fingerprint for player in match.info} & self.bots
        left = f"You have left, and your {'bot' if len(mine) == 1 else 'bots'} with you" if mine else "You have left"
        if match.goes_on_without({*mine, *(player.fingerprint for player in match.info if player.is_me)}):
            left += ". If you are away for long, the others can go on without you."
        else:
            left += "; the match waits until you are back."
        if self._is_giving_up:
            left += " You give up as soon as you are back: the others have not heard of it yet."
        way = f"{left} Return with:\n    {command_line(*words)}"
        if self.board.absent:
            save = command_line("matches", "save", *words[1:])
            way += f"\nIf it never goes on, save its transcript so far:\n    {save}"
        return way

    def _say_way_back(self) -> None:
        self._say(self.way_back())
        self.last_words.append(self.way_back())

    # What the node tells

    async def _follow(self) -> None:
        async for event in self.pace.follow(self._node.events()):
            self.take(event)
            match event:
                case MatchOver():
                    if not self.face.is_interactive or (self._again is None and not self.face.shows_board):
                        return
                case TableClosed() if self._had_match and self.face.is_interactive:
                    self._say(narrate(event, self.board.seating))
                case TableClosed():
                    hint = f"See which tables there are: {command_line('tables')}"
                    raise Failure(narrate(event, self.board.seating), hint=hint, code=closing_code(event))
                case Stopped():
                    raise Failure(narrate(event, self.board.seating), hint=self.way_back())

    def take(self, event: Told) -> None:
        """Put what happened on the board, and tell it."""
        if isinstance(event, Said) and event.player.fingerprint in self.muted:
            return
        self.board.take(event)
        match event:
            case TableOpened() if event.seats == len(self.bots) + 1:
                self.board.join_line = ""
            case ConcedeAccepted():
                self._is_giving_up = bool(event.awaited)
            case Happened(event=PlayerOut(seat=seat)) if seat == self.board.me:
                self._is_giving_up = False
            case AwaitingHost(host=PlayerInfo() as host, host_is="silent") if host.fingerprint in self.board.gone:
                self._wait_no_longer(host)
                return
            case MatchStarted():
                self.pace.longest = self.longest_lag()
            case YourTurn():
                self._doubted = None
                self.face.ring()
        if not isinstance(event, TableClosed | Stopped):  # these end the table, as its last word
            for text in self.told(event):
                self.face.tell(text)
                if isinstance(event, MatchOver | Misbehaved):
                    self.last_words.append(text)
        if self._is_giving_up and self.board.absent and isinstance(event, Suspended | ConcedeAccepted):
            words = ["matches", "forget", self.board.match[:8], *home_words(self._settings.home)]
            self._say(f"You need not wait. To be done with this match, quit and type:\n    {command_line(*words)}")
        if isinstance(event, MatchOver):
            self._close_match(event)
        self.face.refresh()

    def _wait_no_longer(self, host: PlayerInfo) -> None:
        """Say that a host who has left will not open the table again."""
        if self._returning is not None:
            self._returning.cancel()
        who = self.board.seating.named([host])
        self._say(
            f'{who}, the host, has left. Type "again {HOST}" to open the table yourself, or quit and join another:'
            f"\n    {command_line('join')}"
        )
        self.face.refresh()

    def longest_lag(self) -> float:
        """Return for how many seconds something may be held back: a part of the patience, which is the others' time."""
        match = self._node.match
        if match is None or all(player.is_me or player.fingerprint in self.bots for player in match.info):
            return math.inf
        return match.record.genesis.patience.human * _LAG

    def told(self, event: Told) -> Iterable[str]:
        """Return what is said of something that the board has just taken in."""
        return tell(event, self.board)

    def _close_match(self, event: MatchOver) -> None:
        """Keep the score of the evening, and say how it can go on."""
        self._is_confirming = self._is_giving_up = False
        self._had_match = True
        for seat in event.places[0]:
            winner = event.players[seat].fingerprint
            self.wins[winner] = self.wins.get(winner, 0) + 1
        if self._again is None or not self.face.is_interactive:
            return
        if sum(self.wins.values()) > 1:
            self._say(f"This evening's score: {answers.score(self.wins, event.players)}.")
        if not self.is_waiting:
            self._say('Type "again" to play another match at this table, or "quit" to leave.')

    def clock(self) -> Clock | None:
        """Return who is waited for and how long.

        None where nobody's time runs, or what is shown lags behind; and once time is up, if the others are too few to
        go on, so that the match just waits.
        """
        match = self._node.match
        if match is None or not self.board.match or self.pace.is_holding:
            return None
        clock = match.clock(asyncio.get_running_loop().time())
        return clock if clock is not None and (clock.seconds or clock.goes_on) else None

    def progress(self) -> Progress | None:
        """Return how far the open step of the match is."""
        match = self._node.match
        return match.progress if match is not None and self.board.match else None

    # What the player types

    @property
    def face(self) -> Face:
        """Where lines come from and go to."""
        assert self._face is not None
        return self._face

    def _say(self, text: str) -> None:
        self.face.say(text)

    def _show_status(self) -> None:
        if not self._has_left and (status := answers.status(self.board, self.clock(), is_waiting=self.is_waiting)):
            self.face.remind(status)

    def prompt(self) -> str:
        """Return the text before the line being typed."""
        if self._is_confirming:
            return "give up this match? yes or no> "
        return "your turn> " if self.board.turn else "> "

    @property
    def is_behind(self) -> bool:
        """Whether more has happened than is shown, which a key shows at once."""
        return self.pace.is_holding

    @property
    def is_waiting(self) -> bool:
        """Whether the player has typed *again*, and has no seat yet."""
        return self._returning is not None and not self._returning.done()

    @property
    def _looks_on(self) -> bool:
        """Whether others play."""
        return bool(self.board.seating.names) and self.board.me is None

    @property
    def moves_by_itself(self) -> bool:
        """Whether the table goes on until a key is pressed."""
        return False

    def hint(self) -> str:
        """Return what can be typed or pressed while nothing is asked of the reader."""
        if self.is_waiting:
            return 'You get a seat in the next match if one is free. Type "quit" to leave.'
        if self.board.over is not None:
            return 'Type "quit" to leave.' if self._again is None else 'Type "again" for another match, or "quit".'
        return "? helps, PageUp looks back in the log"

    def completions(self) -> Iterable[str]:
        """Return what can be typed now."""
        if self._is_confirming:
            return ("yes", "no")
        moves = offers(self.board.turn.view, self.board.seating.names) if self.board.turn else []
        return (*moves, *self._offered)

    async def _listen(self) -> None:
        while not self._has_left:
            line = await self.face.read()
            if line is None:
                await self._end_of_input()
            else:
                was_asked = self.board.turn is not None
                self.obey(line)
                has_moved = was_asked and self.board.turn is None  # which tells itself where it leads
                if not (has_moved or self._is_confirming):
                    self._show_status()
                self.face.refresh()

    async def _end_of_input(self) -> None:
        self._quit("")

    def obey(self, line: str) -> None:
        """Do what a line says; whatever it is, nothing is lost by it."""
        word, _, rest = line.strip().partition(" ")
        word, rest = word.lower(), rest.strip()
        if self._is_confirming:
            self._confirm(word)
        elif word in self.words:
            self.words[word][1](rest)
        elif word:
            self._move(line)
        elif self.is_behind:
            self.pace.skip()
        elif self.face.is_interactive and not self.face.shows_board:
            self._show_table("")

    def _confirm(self, answer: str) -> None:
        self._is_confirming = answer not in _YES + _NO
        if answer in _YES:
            self._node.concede()
        elif answer in _NO:
            self._say("You play on.")
        else:
            self._say(_GIVING_UP)

    def _move(self, line: str) -> None:
        if self.board.turn is None:
            self._out_of_turn(line)
            return
        try:
            heard = hear(line, self.board.turn.view, self.board.seating.names, self._short_words, self._long_words)
        except NotUnderstoodError as error:
            self._say(str(error))
            return
        if isinstance(heard, str):
            self.words[heard][1]("")
        elif isinstance(heard, Concede):
            self._concede("")
        else:
            self._play(heard, self.board.turn)

    @property
    def _short_words(self) -> list[str]:
        return [word for word in self._offered if word not in _IN_FULL]

    @property
    def _long_words(self) -> list[str]:
        return [word for word in self._offered if word in _IN_FULL]

    @property
    def _offered(self) -> list[str]:
        """The words that can do something now. For others the answer says why they cannot."""
        hidden = {"start"} if self.board.match or self.board.over is not None else set()
        if self._again is None or self.board.match or not self._had_match:
            hidden.add("again")
        return [word for word in self.words if word not in hidden]

    def _out_of_turn(self, line: str) -> None:
        if word := hear_word(line, self._short_words):
            self.words[word][1]("")
        elif is_like_a_move(line):
            self._say(self._no_turn())
        else:
            meant = nearest_word(line, self._offered)
            instead = f"Did you mean {meant}?" if meant else self._what_else()
            self._say(f"{quoted(line)} is no command. {instead}")

    def _what_else(self) -> str:
        if self.board.over is None:
            return "Type help for a list."
        return f"Type {listing([word for word in _AFTERWARDS if word in self._offered], 'or')}."

    def _no_turn(self) -> str:
        if self.board.over is not None:
            return f"The match is over. {self._what_else()}"
        if self.board.staked and self.board.state is not None and self.board.state.awaits is Expect.STAKES:
            return f"{capital(answers.whose_turn(self.board))}."
        if self.board.state is not None and self.board.me is not None and self.board.me not in self.board.state.live:
            return _OUT
        return f"It is not your turn{self._whose_turn()}."

    def _play(self, move: Move, turn: YourTurn) -> None:
        from protocol import NodeError

        if move != self._doubted and exceeds_the_dice(move, turn.view):
            self._doubted = move
            self._say(f"There are only {sum(turn.view.state.dice)} dice. Type it again to bid {move}.")
            return
        self._doubted = None
        try:
            self._node.play(move, turn.token)
        except (RulesError, NodeError) as error:
            self._say(sentence(str(error)))
        else:
            self.board.turn = None
            if isinstance(move, Stake):
                self.board.staked = str(move)

    def _whose_turn(self) -> str:
        state = self.board.state
        if state is not None and not self.board.absent and 0 <= state.turn == self.board.me:
            # After a return, or after a move of one's own.
            unheard = self._node.match.unheard if self._node.match is not None else ()
            return f" yet: {self.board.seating.named(unheard) if unheard else 'the others'} must answer first"
        waiting = answers.whose_turn(self.board)
        return f": {waiting}" if waiting else ""

    # Words

    def _help(self, _rest: str) -> None:
        if self.board.turn is not None:
            legal = offers(self.board.turn.view, self.board.seating.names)
            self._say("It is your turn. Type a move, such as:")
            self._say(f"    {' '.join(legal[:6] + (['…', *legal[-2:]] if len(legal) > 8 else legal[6:]))}")
        elif self.board.state is not None:
            self._say(f"On your turn type {typed_moves(self.board.state.ruleset)}.")
        self._say(
            "You can type three fives or 3 5 for 3x5. The beginning of a word is enough, except for what cannot be"
            f" undone: {listing(self._long_words)}. A bid on more dice than there are has to be typed twice."
        )
        self._say("At any time:")
        self._list_words()

    def _list_words(self) -> None:
        width = max(map(len, self._offered))
        for word in self._offered:
            self._say(f"    {word:{width}}  {self.words[word][0]}")
        if self.board.state is not None and self.board.state.motes is not None:
            letters = listing([f"{mote[0].upper()} is {mote}" for mote in MOTES])
            self._say(f"On the screen a die in a cup is the first letter of its mote: {letters}.")
        self._say(self._where_the_rules_are())

    def _hurry(self, _rest: str) -> None:
        self.pace.hurry()
        self._say("From now on everything is shown at once.")

    def _rules(self, _rest: str) -> None:
        if self.board.ruleset is not None:
            self._say(sentence(summary(self.board.ruleset)))
        self._say(self._where_the_rules_are())

    def _where_the_rules_are(self) -> str:
        command = command_line("rules") if self.board.ruleset is None else rules_command(self.board.ruleset)
        return f"To read the rules, type in another terminal:\n    {command}"

    def _show_table(self, _rest: str) -> None:
        for line in answers.table(self.board):
            self._say(line)

    def _bids(self, _rest: str) -> None:
        for line in answers.bids(self.board):
            self._say(line)

    def _dice(self, _rest: str) -> None:
        self._say(answers.dice(self.board))

    def _odds(self, rest: str) -> None:
        self._say(answers.odds(self.board, rest))

    def _who(self, _rest: str) -> None:
        for line in answers.players(self.board):
            self._say(line)

    def _talk(self, rest: str) -> None:
        from protocol import NodeError

        if not rest:
            self._say("Type what you want to say after it: say good luck.")
            return
        try:
            self._node.say(rest)
        except NodeError as error:
            self._complain(error)

    def _mute(self, rest: str) -> None:
        players = [player for player in self.board.players if not player.is_me]
        names = display_names(players, self.board.players)
        if not players:
            self._say("Nobody else is here.")
            return
        try:
            seat = find_seat(players, rest)
        except UnknownPlayerError:
            self._say(f"Type mute and a name: {listing(names, 'or')}.")
            return
        self.muted ^= {players[seat].fingerprint}
        if players[seat].fingerprint in self.muted:
            self._say(f"Messages from {names[seat]} are hidden from now on. Type the same again to see them.")
        else:
            self._say(f"Messages from {names[seat]} are shown again.")

    def _complain(self, error: NodeError) -> None:
        self._say(" ".join(sentence(part) for part in (error.reason, error.hint) if part))

    def _go_again(self, rest: str) -> None:
        if self.is_waiting and not rest:
            self._say("You are already waiting for the next match.")
        elif self._again is None or not self._had_match or (self.board.match and not self.is_waiting):
            self._say("You can play again when the match is over.")
        else:
            self._returning = asyncio.create_task(self._return(rest, self._returning))

    async def _return(self, rest: str, instead_of: asyncio.Task[None] | None = None) -> None:
        """Go back to the table.

        :param instead_of: waits for somebody, and is to wait no longer: something else is wished.
        """
        from protocol import NodeError

        assert self._again is not None
        if instead_of is not None:
            instead_of.cancel()
            await asyncio.wait([instead_of])
        try:
            await self._again(rest)
        except NodeError as error:
            self._complain(error)
        except (Failure, RulesError) as error:
            self._say(sentence(str(error)))

    def _start(self, _rest: str) -> None:
        from protocol import NodeError

        if self.board.match:
            self._say("The match has already begun.")
            return
        try:
            self._node.start_match()
        except NodeError as error:
            self._complain(error)

    def _concede(self, _rest: str) -> None:
        if not self.board.match:
            self._say("There is nothing to concede: no match is running.")
        elif self._looks_on:
            self._say("You only watch this match.")
        elif self.board.state is not None and self.board.me not in self.board.state.live:
            self._say(_OUT)
        elif self.face.is_interactive:
            self._is_confirming = True
            self._say(_GIVING_UP)
        else:
            self._node.concede()

    def _quit(self, _rest: str) -> None:
        self._has_left = True
        self._say_way_back()
