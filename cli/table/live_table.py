"""Tables of a running node, for players and for spectators. After a match, another one can follow.

Events and typed lines are handled concurrently, also on another player's turn.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from cli.exits import Failure, closing_code
from cli.render import command_line, escape, listing, sentence, stated
from cli.settings import home_words
from cli.table import answers
from cli.table.board import Told
from cli.table.scene import Talk, WatchStrip
from cli.table.table import Face, Table
from cli.text.narrate import event_line, narrate
from cli.text.rounds import Round, fold
from cli.text.seating import Seating, UnknownPlayerError, display_names, find_seat
from protocol.crypto.words import fingerprint_words
from protocol.errors import NodeError
from protocol.events import (
    Claimed,
    Continued,
    Happened,
    LobbyChanged,
    MatchResult,
    MatchStarted,
    Overdue,
    PeerBack,
    PeerLost,
    Said,
    Stopped,
    Suspended,
    TableClosed,
)
from protocol.wire.names import is_marked_as_bot

if TYPE_CHECKING:
    from cli.table.terminal import Showing
    from protocol.events import PlayerInfo
    from protocol.match.waiting import Clock, Progress
    from protocol.node.node import Node

_LAG: Final = 0.25
"""How far the table may lag behind the match, as a fraction of the time limit for a move."""


class LiveTable(Table):
    """The base class of tables that follow a node.

    :param showing: how to show the table.
    :param face: as for :class:`~cli.table.table.Table`.
    :param bots: fingerprints of the bots that this person seated, which leave and return together with the person.
    :param again: returns to the table after a match. Its argument is what was typed after *again*. Without this
        function, the table closes after one match.
    """

    def __init__(
        self,
        node: Node,
        showing: Showing,
        face: Face | None = None,
        *,
        bots: frozenset[str] = frozenset(),
        again: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(showing, face)
        self.bots = bots
        self.muted: set[str] = set()
        """Fingerprints of players whose chat is hidden."""
        self._node = node
        self._again = again
        self._had_match = False
        """Whether a match has ended at this table."""
        self._began: float | None = None
        """The start of the match on the monotonic clock; None if it was resumed."""
        self._since: dict[str, float] = {}
        """When each player was lost, or began to hold up the match: monotonic times, by fingerprint."""
        self._wish: str | None = None
        """What was typed after *again* before the end of the match was shown; None if *again* was not typed."""

    def begin(self) -> None:
        if (match := self._node.match) is not None:
            self.board.odds = self._node.customs.odds
            if match.is_formed:
                self.board.match, self.board.players = match.history.match.hex(), match.info

    @abstractmethod
    def way_back(self) -> str:
        """Return what it means to leave now, and the command to return."""

    def interrupt(self) -> None:
        self._say(self.way_back())
        self.last_words.append(self.way_back())

    # Events of the node

    async def follow(self) -> None:
        async for event in self.pace.follow(self._node.events(), self.board):
            self.take(event)
            match event:
                case MatchResult():
                    if (
                        self._has_left
                        or not self.face.is_interactive
                        or (self._again is None and not self.face.shows_board)
                    ):
                        return
                case Claimed() if not self.face.is_interactive:
                    return
                case TableClosed() if self._had_match and self.face.is_interactive:
                    self._say(narrate(event, self.board.seating))
                case TableClosed():
                    hint = f"See which tables there are: {command_line('tables')}"
                    raise Failure(narrate(event, self.board.seating), hint=hint, code=closing_code(event))
                case Stopped():
                    raise Failure(narrate(event, self.board.seating), hint=self.way_back())

    def take(self, event: Told) -> None:
        if not (isinstance(event, Said) and event.player.fingerprint in self.muted):
            super().take(event)

    def _before_telling(self, event: Told) -> None:
        match event:
            case MatchStarted():
                self._began = None if event.resumed else time.monotonic()
                if not event.resumed:  # all players are present, so any absence dates from an earlier match
                    self._since.clear()
                self.pace.longest = self.longest_lag()
                if event.resumed:
                    self.board.rounds = self._rounds_before(event)
            case MatchResult() if self._began is not None:
                self.minutes = max(round((time.monotonic() - self._began) / 60), 1)
            case PeerLost():
                self._since.setdefault(event.player.fingerprint, time.monotonic())
            case PeerBack():
                self._since.pop(event.player.fingerprint, None)
            case Suspended():
                now = time.monotonic()
                self._since = {player.fingerprint: now for player in event.awaited} | self._since
            case Continued():
                self._since = {lost: since for lost, since in self._since.items() if lost in self.board.away}
            case Said() if self._names_me(event):
                self.face.ring("name")

    def _rounds_before(self, started: MatchStarted) -> tuple[Round, ...]:
        """Return the rounds up to the state in which this program entered the match."""
        rounds: tuple[Round, ...] = ()
        for position in self._node.match.history.walk(0) if self._node.match is not None else ():
            for event, state in position.happened:
                rounds = fold(rounds, Happened(event, state))
            if position.state == started.state:
                return rounds
        return self.board.rounds  # the history has been replaced, which the next event reports

    def _names_me(self, event: Said) -> bool:
        mine = next((player.name.casefold() for player in self.board.players if player.is_me), "")
        is_other = not event.player.is_me and not self._is_bot(event.player)
        return bool(mine) and is_other and mine in event.text.casefold()

    def told(self, event: Told) -> Iterable[str]:
        # follow() reports TableClosed and Stopped, which end the table. Bots leave after every match, which is no news.
        if isinstance(event, TableClosed | Stopped) or self._is_bot_leaving(event):
            return ()
        if (
            isinstance(event, LobbyChanged)
            and self.face.shows_board
            and self.bots.issuperset(player.fingerprint for player in (*event.joined, *event.left))
        ):
            return ()
        if isinstance(event, Overdue) and not self._knows_time():
            if any(player.is_me for player in event.awaited):
                return ("The others can soon go on without you.",)
            return (f"Waiting for {self.board.seating.named(event.awaited)}.",)
        return super().told(event)

    def _talk_of(self, event: Told, told: Sequence[str]) -> Iterable[Talk]:
        if isinstance(event, MatchStarted) and self._had_match and not event.resumed:
            return (Talk(None, "", "Another match begins."),)
        return super()._talk_of(event, told)

    def _is_bot_leaving(self, event: Told) -> bool:
        if not isinstance(event, PeerLost) or self.board.over is None:
            return False
        is_guest = not self.board.join_line
        return event.player.fingerprint in self.bots or (is_guest and is_marked_as_bot(event.player.name))

    def _after_telling(self, event: Told) -> None:
        if isinstance(event, MatchResult):
            self._close_match(event)
        elif isinstance(event, Claimed):
            self._had_match = True

    def _close_match(self, event: MatchResult) -> None:
        """Count the victory, and offer another match."""
        self._had_match = True
        self.won[event.match_id] = tuple(event.players[seat].fingerprint for seat in event.places[0])
        if self._again is None or not self.face.is_interactive:
            return
        if (score := answers.score(self.won, event.players)) and not self.face.shows_board:
            self._say(f"This evening's score: {score}.")
        if self._wish is not None:
            wish, self._wish = self._wish, None
            self._do_again(wish)
        elif not self.is_waiting and not self.face.shows_board:
            self._say("Again? Type again to play another match, or quit.")

    def longest_lag(self) -> float:
        """Return the maximum delay of an event in seconds; infinite if all other players are this person's bots."""
        match = self._node.match
        if match is None or all(player.is_me or player.fingerprint in self.bots for player in match.info):
            return math.inf
        return match.history.genesis.patience.human * _LAG

    def clock(self) -> Clock | None:
        """Return the awaited players and the time left to them.

        None if no clock is running, no time is left, or the table lags behind the match. Also None on the reader's
        turn after a restart, because this program does not know how long the others have been waiting.
        """
        clock = self._node.clock() if self.board.match and not self.pace.is_holding else None
        return clock if clock is not None and clock.seconds and self._knows_time() else None

    def _knows_time(self) -> bool:
        """Return whether the node's clock is right. On the reader's turn, it is right only if it never stopped in this
        step."""
        match, clock = self._node.match, self._node.clock()
        if match is None or clock is None or not any(player.is_me for player in clock.awaited):
            return clock is not None
        passed = asyncio.get_running_loop().time() - match.waiting.timeouts.opened
        return abs(clock.allowed - passed - clock.seconds) < 1

    def progress(self) -> Progress | None:
        match = self._node.match
        return match.progress if match is not None and self.board.match else None

    # Typed lines

    def _status(self) -> str:
        return answers.status(self.board, self.clock(), is_waiting=self.is_waiting)

    @property
    def gives_odds(self) -> bool:
        others = [player for player in self.board.players if not player.is_me]
        return self.board.odds == 1 or (self.board.odds == 2 and all(map(self._is_bot, others)))

    def away(self) -> dict[str, int]:
        now = time.monotonic()
        return {lost: int(now - since) for lost, since in self._since.items()} if self.board.match else {}

    def strip(self) -> WatchStrip | None:
        if self.board.me is not None or not self.board.match:
            return None
        progress = self.progress()
        return WatchStrip(0 if progress is None else progress.step, 0)

    def is_offered(self, word: str) -> bool:
        is_over = self._again is not None and not self.board.match and self._had_match
        return word in self.words and (word != "again" or is_over)

    # Words

    @abstractmethod
    def _do_again(self, rest: str) -> None:
        """Play another match at this table, if the one on the board is over."""

    def _keep_wish(self, wish: str) -> bool:
        """If the match is over but its end is not shown yet, keep the wish for another; return whether it was kept."""
        match = self._node.match if self.board.match else None
        is_over = match is not None and (match.is_ended or match.id.hex() != self.board.match)
        if is_over:
            self._wish = wish
            self.pace.skip()
            self._say("The match is over. You join the next one once its end has been shown.")
        return is_over

    def _do_skip(self, _rest: str) -> None:
        self.pace.hurry()
        self._say("No more pauses.")

    def _other(self, word: str, rest: str, among: Sequence[PlayerInfo] | None = None) -> tuple[PlayerInfo, str] | None:
        """Find the player named after a typed word. If there is no such player, say so.

        :param among: the candidates, by default the players at the table. If there is only one, no name is needed.
        :returns: the player and the name to show, or None.
        """
        players = [player for player in (self.board.players if among is None else among) if not player.is_me]
        names = display_names(players, self.board.players)
        if not players:
            self._say("Nobody else is here.")
            return None
        if among is not None and len(players) == 1 and not rest:
            return players[0], names[0]
        try:
            seat = find_seat(players, rest)
        except UnknownPlayerError:
            self._say(f"Type {word} and a name: {listing(names, 'or')}.")
            return None
        return players[seat], names[seat]

    def _is_bot(self, player: PlayerInfo) -> bool:
        """Return whether a player is this person's bot, or has a name with a bot's mark."""
        return player.fingerprint in self.bots or is_marked_as_bot(player.name)

    def _do_say(self, rest: str) -> None:
        if not rest:
            self._say("Type what you want to say after it: say good luck.")
        else:
            self._ask_node(partial(self._node.say, rest))

    def _do_mute(self, rest: str) -> None:
        if (found := self._other("mute", rest)) is None:
            return
        player, name = found
        self.muted ^= {player.fingerprint}
        if player.fingerprint in self.muted:
            self._say(f"Messages from {name} are hidden from now on. Type the same again to see them.")
        else:
            self._say(f"Messages from {name} are shown again.")

    def _do_trust(self, rest: str) -> None:
        if (found := self._other("trust", rest)) is None:
            return
        player, name = found
        if self._is_bot(player):
            self._say(f"{name} is a bot: it has another key every evening, so there is nothing to trust.")
            return
        if not self._ask_node(partial(self._node.trust, player)):
            return
        words = fingerprint_words(player.fingerprint)
        undo = command_line("people", "untrust", player.fingerprint, *home_words(self._node.home.path))
        self._say(
            f"You trust {name}'s key. {name}'s laptop must show the same words: {words}\n"
            f"There p2pdice identity shows them, and the fingerprint: {player.fingerprint}\n"
            f"To take it back, leave the table and type:\n    {undo}"
        )

    def _ask_node(self, do: Callable[[], object]) -> bool:
        """Call a method of the node; return whether it succeeded, and print the reason if not."""
        try:
            do()
        except NodeError as error:
            self._complain(error)
            return False
        return True

    def _complain(self, error: NodeError) -> None:
        self._say(" ".join(filter(None, (stated(error.parts), sentence(escape(error.hint))))))

    def _do_quit(self, rest: str) -> None:
        super()._do_quit(rest)
        self.interrupt()


class SpectatorTable(LiveTable):
    """A spectator's table. Typed lines cannot affect the match, but chat may reach the players.

    :param target: the argument of ``watch`` that led to this table.
    """

    kind = "s"

    def __init__(self, node: Node, showing: Showing, target: str) -> None:
        super().__init__(node, showing, again=_sit_elsewhere)
        self.wants_seat = False
        """Whether the reader wants to play the next match."""
        self.board.may_speak = False  # until the table lets spectators chat, which it can say only while it is open
        self._target = target

    @property
    def is_waiting(self) -> bool:
        return self._wish is not None

    def way_back(self) -> str:
        """Return the command to watch again."""
        words = ["watch", self.board.match[:8] if self.board.match else self._target, *home_words(self._node.home.path)]
        return f"You left. Watch again with:\n    {command_line(*words)}"

    def _do_again(self, rest: str) -> None:
        if self._keep_wish(rest):
            return
        if not self.board.match and self._had_match:
            self.wants_seat = self._has_left = True
        elif self.is_offered("again"):
            self._wish = rest
            self._say("You sit down for the next match as soon as this one is over.")
        else:
            self._say("You can play again when the match is over.")

    def is_offered(self, word: str) -> bool:
        is_early = word == "again" and bool(self.board.match) and self.face.is_interactive
        return is_early or super().is_offered(word)

    async def _end_of_input(self) -> None:
        if self.face.is_interactive:
            await super()._end_of_input()
        else:
            await asyncio.Event().wait()  # the input has ended, but the match continues

    def _no_turn(self) -> str:
        return "You only watch here. ? shows what you can type."

    def _help(self) -> Iterable[str]:
        yield "You are only watching. You can type:"


async def report(node: Node) -> None:
    """Print events as NDJSON until the match is over.

    :raises Failure: if the table is closed or the node stops.
    """
    seating = Seating()
    async for event in node.events():
        if isinstance(event, MatchStarted):
            seating = Seating.of(event.players, me=None)
        print(event_line(event, seating), flush=True)
        match event:
            case MatchResult():
                return
            case TableClosed():
                raise Failure(narrate(event, seating), code=closing_code(event))
            case Stopped():
                raise Failure(narrate(event, seating))


async def _sit_elsewhere(_wish: str) -> None:
    """Do nothing: for the next match, the command opens a player's table for the same node."""
