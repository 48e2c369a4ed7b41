"""The line mode: a table in plain sentences, played by typing lines.

Two things run side by side: what the node tells is narrated as it comes, and what the player types is obeyed, whoever's
turn it is. Works alike at a terminal and through pipes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from cli.choices import choices
from cli.exits import Failure, closing_code
from cli.explain import summary, typed_moves
from cli.lines import InterruptedByUserError, Lines, open_lines
from cli.narrate import awaited, dice_by_player, narrate
from cli.narrate_motes import graveyard
from cli.play import first_of
from cli.render import bid, command_line, dice_count, hand, listing, percent, sentence
from cli.rulesets import rules_command
from cli.seating import Seating, display_names
from cli.speech import NotUnderstoodError, exceeds_the_dice, hear, hear_bid, hear_word, nearest_word
from p2pdice import Concede, Move, RulesError, Ruleset, State, events
from protocol.events import (
    ConcedeAccepted,
    Continued,
    DiceRolled,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchOver,
    MatchStarted,
    NodeEvent,
    PeerBack,
    PeerLost,
    PlayerInfo,
    Stopped,
    Suspended,
    TableClosed,
    TableJoined,
    TableWatched,
    TakenBack,
    YourTurn,
)

if TYPE_CHECKING:
    from cli.settings import Settings
    from protocol.node import Node


_IN_FULL: Final = ("start", "concede", "quit")
"""Words whose beginnings are not enough: what they do is not undone by the next line."""


class LineTable:
    """One player's table.

    :param bots: fingerprints of the players whom this one has seated: they leave and return together.
    """

    def __init__(
        self, node: Node, settings: Settings, lines: Lines | None = None, *, bots: frozenset[str] = frozenset()
    ) -> None:
        self._node = node
        self._settings = settings
        self._bots = bots
        self._lines = lines
        self._seating = Seating()
        self._players: tuple[PlayerInfo, ...] = ()
        self._away: set[str] = set()
        """Fingerprints."""
        self._match = ""
        """Id of the running match, empty before and after it."""
        self._absent: tuple[PlayerInfo, ...] = ()
        """Without whom the match cannot go on."""
        self._ruleset: Ruleset | None = None
        self._state: State | None = None
        self._hand: tuple[int, ...] = ()
        self._turn: YourTurn | None = None
        self._doubted: Move | None = None
        """The last move of this turn, if it is to be typed again before it counts."""
        self._is_confirming = False
        self._is_giving_up = False
        """The wish to concede has not taken effect yet."""
        self._has_left = False
        self._words: dict[str, tuple[str, Callable[[str], None]]] = {
            "help": ("this list", self._help),
            "dice": ("your dice, and how many everybody has", self._dice),
            "odds": ("the chance that the bid is true; odds 3x5 for another bid", self._odds),
            "players": ("who plays, and the fingerprints of their keys", self._who),
            "rules": ("what is played by here, and where to read it", self._rules),
            "start": ("begin with the players who are here (the host)", self._start),
            "concede": ("give up this match", self._concede),
            "quit": ("leave; you can return to a running match", self._quit),
        }

    async def run(self) -> None:
        """Play until the match is over or the player leaves.

        :raises Failure: if the table is closed or the node stops.
        :raises InterruptedByUserError: on Ctrl-C at the prompt.
        """
        if (match := self._node.match) is not None and match.is_formed:
            self._match, self._players = match.record.match.hex(), match.info
        with open_lines(self.prompt, self.completions) as lines:
            self._lines = lines
            try:
                await first_of(self._follow(), self._listen())
            except (InterruptedByUserError, asyncio.CancelledError):  # Ctrl-C at the prompt, or as a signal
                self._say(self.way_back())
                raise

    def way_back(self) -> str:
        """Return what becomes of the match if the player leaves now, and how to return to it."""
        if not self._match:
            return "You have left the table."
        match = self._node.match
        assert match is not None
        words = ["resume", self._match[:8], *self._home_words()]
        mine = {player.fingerprint for player in match.info} & self._bots
        left = f"You have left, and your {'bot' if len(mine) == 1 else 'bots'} with you" if mine else "You have left"
        if match.goes_on_without({*mine, *(player.fingerprint for player in match.info if player.is_me)}):
            left += ". If you are away for long, the others can go on without you."
        else:
            left += "; the match waits until you are back."
        return f"{left} Return with:\n    {command_line(*words)}"

    def _home_words(self) -> list[str]:
        home = self._settings.home_option
        return [] if home is None else ["--home", str(home)]

    # What the node tells

    async def _follow(self) -> None:
        async for event in self._node.events():
            self.take(event)
            match event:
                case MatchOver():
                    self._match = ""
                    return
                case TableClosed():
                    hint = f"See which tables there are: {command_line('tables')}"
                    raise Failure(narrate(event, self._seating), hint=hint, code=closing_code(event))
                case Stopped():
                    raise Failure(narrate(event, self._seating), hint=self.way_back())

    def take(self, event: NodeEvent) -> None:
        """Remember what an event changes, and tell it."""
        match event:
            case TableJoined() | TableWatched():
                self._ruleset = event.ruleset
            case LobbyChanged():
                self._players = event.players
            case MatchFormed():
                self._match = event.match_id
            case ConcedeAccepted():
                self._is_giving_up = bool(event.awaited)
            case Suspended():
                self._absent = event.awaited
            case Continued():
                self._absent = ()
            case MatchStarted():
                self._match = event.match_id
                self._players = event.players
                self._state = event.state
                self._ruleset = event.ruleset
                self._seating = Seating.of(event.players, event.my_seat)
            case DiceRolled():
                self._hand = event.hand
            case Happened():
                self._state = event.state
                self._turn = None
                if isinstance(event.event, events.HandsShown):
                    self._hand = ()
            case TakenBack():
                self._state = event.state
                self._turn = None
            case YourTurn():
                self._absent = ()
                self._turn = event
                self._doubted = None
                self._hand = event.view.hand
            case PeerLost():
                self._away.add(event.player.fingerprint)
            case PeerBack():
                self._away.discard(event.player.fingerprint)
        if not isinstance(event, TableClosed | Stopped):  # these end the table, as its last word
            self._say(narrate(event, self._seating))
        if self._is_giving_up and self._absent and isinstance(event, Suspended | ConcedeAccepted):
            words = ["matches", "forget", self._match[:8], *self._home_words()]
            self._say(f"You need not wait. To be done with this match, quit and type:\n    {command_line(*words)}")
        self.lines.refresh()

    # What the player types

    @property
    def lines(self) -> Lines:
        """Where lines come from and go to."""
        assert self._lines is not None
        return self._lines

    def _say(self, text: str) -> None:
        self.lines.say(text)

    def prompt(self) -> str:
        """Return the text before the line being typed."""
        if self._is_confirming:
            return "give up this match? yes or no> "
        return "your turn> " if self._turn else "> "

    def completions(self) -> Iterable[str]:
        """Return what can be typed now."""
        if self._is_confirming:
            return ("yes", "no")
        moves = choices(self._turn.view) if self._turn else []
        return (*moves, *self._offered)

    async def _listen(self) -> None:
        while not self._has_left:
            line = await self.lines.read()
            if line is None:
                await self._end_of_input()
            else:
                self.obey(line)
                self.lines.refresh()

    async def _end_of_input(self) -> None:
        self._quit("")

    def obey(self, line: str) -> None:
        """Do what a line says; whatever it is, nothing is lost by it."""
        word, _, rest = line.strip().lower().partition(" ")
        if self._is_confirming:
            self._is_confirming = False
            if word in ("y", "yes"):
                self._node.concede()
            else:
                self._say("You play on.")
        elif word in self._words:
            self._words[word][1](rest)
        elif word:
            self._move(line)

    def _move(self, line: str) -> None:
        if self._turn is None:
            self._out_of_turn(line)
            return
        try:
            heard = hear(line, self._turn.view, self._seating.names, self._short_words, self._long_words)
        except NotUnderstoodError as error:
            self._say(str(error))
            return
        if isinstance(heard, str):
            self._words[heard][1]("")
        elif isinstance(heard, Concede):
            self._concede("")
        else:
            self._play(heard, self._turn)

    @property
    def _short_words(self) -> list[str]:
        return [word for word in self._offered if word not in _IN_FULL]

    @property
    def _long_words(self) -> list[str]:
        return [word for word in self._offered if word in _IN_FULL]

    @property
    def _offered(self) -> list[str]:
        """The words that can do something now; whoever types another one is told why it cannot."""
        return [word for word in self._words if word != "start" or not self._match]

    def _out_of_turn(self, line: str) -> None:
        if word := hear_word(line, self._short_words):
            self._words[word][1]("")
        else:
            meant = nearest_word(line, self._offered)
            self._say(self._no_turn() + (f" Did you mean {meant}?" if meant else ""))

    def _no_turn(self) -> str:
        return f"It is not your turn{self._whose_turn()}."

    def _play(self, move: Move, turn: YourTurn) -> None:
        from protocol.node import NodeError

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
            self._turn = None

    def _whose_turn(self) -> str:
        if self._absent:
            return f": the match waits for {self._seating.named(self._absent)}"
        if self._state is None:
            return ": the match has not begun"
        if self._state.turn >= 0 and self._state.turn == self._seating.me:
            # After a return, or behind a move of one's own.
            unheard = self._node.match.unheard if self._node.match is not None else ()
            return f" yet: {self._seating.named(unheard) if unheard else 'the others'} must answer first"
        waiting = awaited(self._state, self._seating)
        return f": {waiting} to move" if waiting else ""

    # Words

    def _help(self, _rest: str) -> None:
        if self._turn is not None:
            legal = choices(self._turn.view)
            self._say("It is your turn. Type a move, such as:")
            self._say(f"    {' '.join(legal[:6] + (['…', *legal[-2:]] if len(legal) > 8 else legal[6:]))}")
        elif self._state is not None:
            self._say(f"On your turn type {typed_moves(self._state.ruleset)}.")
        self._say(
            "Three fives or 3 5 is as good as 3x5, and the beginning of a word is enough, except for what cannot be"
            f" undone: {listing(self._long_words)}. A bid on more dice than"
            " there are has to be typed twice."
        )
        self._say("At any time:")
        self._list_words()

    def _list_words(self) -> None:
        width = max(map(len, self._offered))
        for word in self._offered:
            self._say(f"    {word:{width}}  {self._words[word][0]}")
        self._say(self._where_the_rules_are())

    def _rules(self, _rest: str) -> None:
        if self._ruleset is not None:
            self._say(sentence(summary(self._ruleset)))
        self._say(self._where_the_rules_are())

    def _where_the_rules_are(self) -> str:
        command = command_line("rules") if self._ruleset is None else rules_command(self._ruleset)
        return f"To read the rules, type in another terminal:\n    {command}"

    def _dice(self, _rest: str) -> None:
        if self._state is None:
            self._say("There are no dice yet: the match has not begun.")
        else:
            self._say(self._my_dice(self._state) + dice_by_player(self._state.dice, self._seating))
            if motes := graveyard(self._state, self._seating):
                self._say(motes)

    def _my_dice(self, state: State) -> str:
        if self._hand:
            return f"You have {hand(self._hand)}. "
        has_dice = self._seating.me is not None and state.dice[self._seating.me]
        return "Your dice wait for the next roll. " if has_dice else "You have no dice left. "

    def _odds(self, rest: str) -> None:
        if self._state is None:
            self._say("There are no odds yet: the match has not begun.")
            return
        quantity, face = (self._state.bid.quantity, self._state.bid.face) if self._state.bid else (0, 0)
        if rest:
            asked = hear_bid(rest)
            if asked is None:
                self._say("Odds are of bids: type odds 3x5.")
                return
            quantity, face = asked.quantity, asked.face
        if not quantity:
            self._say("There is no bid yet; type odds 3x5 to weigh one.")
            return
        self._say(self._chances(self._state, quantity, face))

    def _chances(self, state: State, quantity: int, face: int) -> str:
        from p2pdice.odds import at_least, exactly

        unknown = sum(state.dice) - len(self._hand)
        true = percent(at_least(quantity, face, self._hand, unknown, state.ones_wild))
        to_the_die = percent(exactly(quantity, face, self._hand, unknown, state.ones_wild))
        known = f"as far as your own dice tell, with {dice_count(unknown)} hidden from you"
        if not self._hand:
            known = f"with {dice_count(unknown)} hidden"
        return f"{bid(quantity, face)} is true with {true}, true to the die with {to_the_die}: {known}."

    def _who(self, _rest: str) -> None:
        if not self._players:
            self._say("Nobody is here yet.")
        state = self._state
        for seat, (player, name) in enumerate(zip(self._players, display_names(self._players), strict=True)):
            marks = ["you"] if player.is_me else []
            if state is not None:
                marks.append("out" if seat not in state.live else dice_count(state.dice[seat]))
                if self._state is not None and seat in self._to_move(state):
                    marks.append("to move")
            if player.fingerprint in self._away:
                marks.append("cannot be reached")
            self._say(f"    {name}: {', '.join((*marks, player.fingerprint))}")

    @staticmethod
    def _to_move(state: State) -> tuple[int, ...]:
        return (state.turn,) if state.turn >= 0 else ()

    def _start(self, _rest: str) -> None:
        from protocol.node import NodeError

        if self._match:
            self._say("The match has begun already.")
            return
        try:
            self._node.start_match()
        except NodeError as error:
            self._say(" ".join(sentence(part) for part in (error.reason, error.hint) if part))

    def _concede(self, _rest: str) -> None:
        if not self._match:
            self._say("There is nothing to concede: no match is running.")
        elif self._state is not None and self._seating.me not in self._state.live:
            self._say("You are out already. You can see how it goes on, or quit.")
        elif self.lines.is_interactive:
            self._is_confirming = True
        else:
            self._node.concede()

    def _quit(self, _rest: str) -> None:
        self._has_left = True
        self._say(self.way_back())
