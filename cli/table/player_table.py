"""A player's table: moves, and the typed words that only players have."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, partialmethod
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, Final

from cli.exits import Failure
from cli.render import command_line, faces, listing, qr_code, sentence, stated
from cli.settings import home_words
from cli.table import answers
from cli.table.board import HOST, Told
from cli.table.canvas import broken, width
from cli.table.lesson_table import LessonTable
from cli.table.live_table import LiveTable
from cli.table.scene import MARGIN, REPLY_ROWS
from cli.table.terminal import Showing, is_ascii
from cli.text.explain import typed_moves
from cli.text.move_forms import has_nothing_to_stake, is_stake, offers
from cli.text.narrate import invitation
from cli.text.narrate_game import staked
from cli.text.seating import display_names
from cli.text.speech import doubt, is_no_raise, refusal, rule_of_raises
from p2pdice.errors import RulesError
from p2pdice.events import PlayerOut
from p2pdice.moves import Bid, Concede, Move, Stake
from p2pdice.plurals import coins
from p2pdice.state import Expect
from protocol.crypto.keys import fingerprint
from protocol.errors import ErrorCode, NodeError
from protocol.events import (
    AwaitingHost,
    Claimed,
    ConcedeAccepted,
    Continued,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    NamesakeError,
    PeerBack,
    PeerLost,
    PlayerInfo,
    SeatAsked,
    Suspended,
    TableClosed,
    TableJoined,
    TableMoved,
    TableOpened,
    YourTurn,
)
from protocol.storage.archive import read_store
from protocol.storage.database import StoreError
from protocol.wire.genesis import PLEDGES, MalformedGenesisError, players_of

if TYPE_CHECKING:
    from cli.table.live_table import SpectatorTable
    from cli.table.scene import Dialog
    from cli.table.table import Face
    from protocol.node.node import Node
    from protocol.storage.home import Home
    from protocol.storage.store import StoredMatch

_YES: Final = "yes"
"""Typed after *concede* to confirm it."""
_NOW: Final = "now"
"""Typed by the dialog after *quit*, to leave without another question."""
_SILENCE: Final = 15
"""Seconds of a player's absence before a dialog asks what to do."""
_LONGER: Final = 120
"""Seconds that *wait* adds to the time limit."""
PAUSE: Final = 6 * 3600
"""Maximum seconds between the starts of consecutive matches of one evening."""
_DECIDED: Final = {
    "seat": "{} can sit down.",
    "watch": "{} gets no seat, but can watch.",
    "refuse": "{} can neither sit down nor watch.",
    "remove": "{} has been sent away from this table.",
}
_OUT: Final = "You're out. Watch the rest, talk, or leave."
_WITHOUT_HOST: Final = f"Type again {HOST} to open a table, or quit and join one with {command_line('join')}."
"""What to type if the host of the last match is gone."""


class PlayerTable(LiveTable):
    """A player's table. Most parameters are those of :class:`~cli.table.live_table.LiveTable`.

    :param watched: the table where this person was a spectator; they sit down for its next match.
    """

    kind = "p"

    def __init__(
        self,
        node: Node,
        showing: Showing = Showing(),  # noqa: B008 - it is immutable
        face: Face | None = None,
        *,
        bots: frozenset[str] = frozenset(),
        again: Callable[[str], Awaitable[None]] | None = None,
        watched: SpectatorTable | None = None,
    ) -> None:
        super().__init__(node, showing, face, bots=bots, again=again)
        if showing.qr:
            self.board.qr = self._background()
        self._is_late = watched is not None
        self._returning: asyncio.Task[None] | None = None
        """The task that returns to the table; None before the first."""
        self._doubted: Move | None = None
        """A move that counts only if it is typed again in this turn."""
        self._may_enter = False
        """Whether that move was the last typed line, so that Enter alone confirms it."""
        self._knows_raises = False
        """Whether the player has been told this evening which bids are raises."""
        self._is_leaving = False
        """Whether the dialog about leaving is open."""
        self._is_conceding = False
        """Whether that dialog was opened by *concede*."""
        self._closed: dict[tuple[str, str], float] = {}
        """Until when the dialog about each player stays closed: monotonic times, by :func:`_key`."""
        self._strangers: list[SeatAsked] = []
        """For a guest: players with a trusted name but another key, until the reader decides about them."""
        self._lesson: LessonTable | None = None
        self._teaching: asyncio.Task[None] | None = None
        self._knows_pledge = False
        """Whether the player has been asked for a pledge, or told how to change it."""
        self._knows_help = False
        """Whether the player has been told about *help*."""
        self._is_giving_up = False
        """Whether the player has conceded but is not out yet."""
        if watched is not None:
            self.board, self.won, self._had_match = watched.board, watched.won, True

    def close(self) -> None:
        for task in (self._returning, self._teaching):
            if task is not None:
                task.cancel()

    def begin(self) -> None:
        folder = self._node.home.matches
        self.board.is_new_home = not (folder.is_dir() and any(folder.iterdir()))
        if self._is_late:
            self._returning = asyncio.create_task(self._return(""))
        else:
            super().begin()

    def way_back(self) -> str:
        identifier = self.board.match or self._beginning()
        if not identifier or self._looks_on or (match := self._node.match) is None:
            return "You left the table."
        words = ["resume", identifier[:8], *home_words(self._node.home.path)]
        if not match.is_formed:
            return f"You left. If the match is played after all, come back with:\n    {command_line(*words)}"
        if self._is_out:
            return f"You left, and were out of this match. To see how it ends:\n    {command_line(*words)}"
        mine = {player.fingerprint for player in match.info} & self.bots
        left = f"You left, and your {'bot' if len(mine) == 1 else 'bots'} with you." if mine else "You left."
        if self._goes_on():
            left += " If you are away for long, the others can go on without you."
        else:
            left += " The match waits for you."
        if self._is_giving_up:
            left += " You concede as soon as you are back: the others have not heard of it yet."
        way = f"{left} Come back with:\n    {command_line(*words)}"
        if self.board.absent:
            save = command_line("matches", "save", *words[1:])
            way += f"\nIf it never goes on, save its transcript so far:\n    {save}"
        return way

    def _beginning(self) -> str:
        """Return the id of a match that begins, or may begin, before the board shows it; empty if there is none."""
        match = self._node.match if self.board.is_lobby else None
        if match is None or not (match.is_formed or (match.is_bound and not self.board.hosts)):
            return ""  # a match that is not formed does not begin without its host
        return match.id.hex()

    @property
    def _is_out(self) -> bool:
        state = self.board.state
        return state is not None and self.board.me is not None and self.board.me not in state.live

    @property
    def _looks_on(self) -> bool:
        return bool(self.board.seating.names) and self.board.me is None

    # Events of the node

    def _before_telling(self, event: Told) -> None:
        super()._before_telling(event)
        match event:
            case LobbyChanged():
                balance = self._node.coins
                self.board.pledge = self._node.pledge
                self.board.purse = "" if balance is None else coins(balance)
            case TableOpened() if event.seats == len(self.bots) + 1:
                self.board.join_line = ""
            case Claimed():
                words = ["resume", event.match_id[:8], *home_words(self._node.home.path)]
                self.board.take_back_line = command_line(*words)
            case ConcedeAccepted():
                self._is_giving_up = bool(event.awaited)
            case Happened(event=PlayerOut(seat=seat)) if seat == self.board.me:
                self._is_giving_up = False
            case SeatAsked():
                self.face.ring("seat")
                if not event.came_by:
                    self._strangers.append(event)
            case MatchFormed() | MatchStarted() | TableClosed():
                self._strangers.clear()
                self._closed.clear()
                self._is_leaving = False
                self._stop_lesson()
            case YourTurn():
                self.withdraw()
                self.face.ring()
            case PeerBack():
                self._closed.pop(_key(event.player), None)
            case Continued():
                self._closed.clear()
            case AwaitingHost(host_is="silent") if self._returning and self.board.departed_host:
                self._returning.cancel()

        if isinstance(event, MatchStarted) and event.my_seat is not None and not self._had_match:
            self.won = earlier_winners(self._node.home, event.match_id)

    def told(self, event: Told) -> Iterable[str]:
        if (host := self._host_who_left(event)) is not None:
            return (f"{self.board.seating.named([host])}, the host, left. {_WITHOUT_HOST}",)
        told = super().told(event)
        if (
            isinstance(event, TableOpened | TableMoved)
            and self.board.qr
            and self.board.join_line
            and not self.face.shows_board
        ):
            return (*told, "\n".join(self._qr_code()))
        if isinstance(event, PeerBack) and self.board.claimed is not None:
            return (*told, f"To go on with the match, quit and type:\n    {self.board.take_back_line}")
        if isinstance(event, Claimed):
            return (*told, f"Go on with it, once they are back, with:\n    {self.board.take_back_line}")
        return told

    def _host_who_left(self, event: Told) -> PlayerInfo | None:
        """Return the host if an event says that they left after a match, or answers *again* after that."""
        host = self.board.departed_host if self.board.over is not None else None
        is_answer = isinstance(event, AwaitingHost) and event.host_is == "silent"
        # A player who already waits for the host is told when the wait ends.
        is_news = isinstance(event, PeerLost) and event.player == host and not self.is_waiting
        return host if is_answer or is_news else None

    def _after_telling(self, event: Told) -> None:
        if self._is_giving_up and self.board.absent and isinstance(event, Suspended | ConcedeAccepted):
            words = ["matches", "forget", self.board.match[:8], *home_words(self._node.home.path)]
            self._say(f"You don't have to wait. To drop this match, quit and type:\n    {command_line(*words)}")
        super()._after_telling(event)

        if isinstance(event, TableOpened | TableJoined) and event.ruleset.motes and not self._knows_pledge:
            self._knows_pledge = True
            if self._had_match:  # for the first table, the command has already asked
                pledge = self._node.pledge
                other = next(each for each in PLEDGES if each != pledge)
                self._say(
                    f"You are pledged to {pledge.capitalize()}. If you prefer {other.capitalize()}, quit now and come"
                    f" back with --pledge {other}."
                )
        is_at_prompt = self.face.is_interactive and not self.face.shows_board
        if isinstance(event, TableOpened | TableJoined) and self.board.is_new_home and is_at_prompt:
            self._say(answers.FIRST_GAME)
        if isinstance(event, YourTurn) and has_nothing_to_stake(event.view):
            self._play(Stake(0), event)
        elif isinstance(event, YourTurn) and not self._knows_help:
            self._knows_help = True
            if is_at_prompt:  # the screen has a key bar
                self._say("Type help to see what you can type.")

    def _close_match(self, event: MatchResult) -> None:
        self._is_giving_up = self._is_leaving = False
        super()._close_match(event)

    # Dialogs of the screen

    @property
    def asked(self) -> Sequence[PlayerInfo]:
        return [question.player for question in self._node.asked]

    def dialog(self) -> Dialog | None:
        if self._is_leaving and self.board.is_lobby:
            return answers.closing_box(self._guests())
        if not self.board.match:
            return self._about_newcomers()
        if self._is_out:
            return None
        if self._is_leaving:
            return answers.leaving_box(
                self.board, self.clock(), is_conceding=self._is_conceding, goes_on=self._goes_on()
            )
        if (lost := self._silent()) is None:
            return None
        # A dialog must not offer a word that would only be refused.
        can_wait, can_claim = self.is_offered("wait"), self._node.can_claim
        seconds = self.away()[lost.fingerprint]
        return answers.absence_box(self.board, self.clock(), lost, seconds, can_wait=can_wait, can_claim=can_claim)

    def _silent(self) -> PlayerInfo | None:
        """Return the first awaited player who has been missing for :data:`_SILENCE` and whose dialog is not closed."""
        away, clock = self.away(), self.clock()
        for player in (*self.board.absent, *(clock.awaited if clock is not None else ())):
            if away.get(player.fingerprint, 0) >= _SILENCE and not self._is_closed(player):
                return player
        return None

    def _about_newcomers(self) -> Dialog | None:
        """Return a dialog about a player who asks for a seat, or who sits here with a trusted name but another key."""
        here = [question for question in self._strangers if question.player in self.board.players]
        for question in (*self._node.asked, *here):
            player = question.player
            if not self._is_closed(player):
                name = display_names([player], self.board.players)[0]
                return answers.newcomer_box(name, player, question.came_by, namesake=question.namesake)
        return None

    def close_dialog(self) -> None:
        if self._is_leaving:
            self._is_leaving = self._is_conceding = False
        elif self.board.match:
            if (lost := self._silent()) is not None:
                self._closed[_key(lost)] = math.inf
        elif asked := [each.player for each in (*self._node.asked, *self._strangers)]:
            self._closed |= {_key(player): math.inf for player in asked}
        else:
            self.board.heeded |= {_key(player) for player in self.board.false_friends}

    def _is_closed(self, player: PlayerInfo) -> bool:
        """Return whether the reader has closed the dialog about a player, so that it must not open yet."""
        return time.monotonic() < self._closed.get(_key(player), 0.0)

    def _goes_on(self) -> bool:
        """Return whether the others can go on without this player and their bots."""
        match = self._node.match
        if match is None:
            return False
        mine = {player.fingerprint for player in match.info if player.is_me or player.fingerprint in self.bots}
        return match.goes_on_without(mine)

    def _do_quit(self, rest: str) -> None:
        plays = self.board.match and self.board.state is not None and not self._looks_on and not self._is_out
        closes = self.board.hosts and self.board.is_lobby and bool(self._guests())
        if (plays or closes) and self.face.shows_board and rest != _NOW:
            self._is_leaving = True
        else:
            super()._do_quit("")

    def _guests(self) -> list[str]:
        """Return the names of the other people at the table, safe to print."""
        people = zip(self.board.players, display_names(self.board.players), strict=True)
        return [name for player, name in people if not (player.is_me or player.fingerprint in self.bots)]

    async def _end_of_input(self) -> None:
        self._do_quit(_NOW)

    # Typed lines

    def prompt(self) -> str:
        turn = self.board.turn
        state = turn.view.state if turn is not None else None
        if state is None or state.bid is None or state.phase != "bidding" or state.challenge is not None:
            return super().prompt()
        if self.face.shows_board:  # the picture shows the bid
            return super().prompt()
        return f"your turn, {self.board.seating.who(state.bid.seat)} bid {faces(state.bid.quantity, state.bid.face)}> "

    @property
    def is_waiting(self) -> bool:
        return self._returning is not None and not self._returning.done()

    @property
    def untouched(self) -> str:
        turn = self.board.turn
        return "stake 0" if turn is not None and is_stake(turn.view) and not self._may_enter else ""

    def withdraw(self) -> None:
        self._doubted, self._may_enter = None, False

    def obey(self, line: str) -> None:
        word = line.strip().partition(" ")[0].lower()
        if (lesson := self._lesson) is not None and (word in lesson.words or not self.is_offered(word)):
            lesson.obey(line)
            if lesson.has_left:
                self._stop_lesson()
            return
        turn, doubted, self._may_enter = self.board.turn, self._doubted if self._may_enter else None, False
        if not line.strip() and turn is not None and doubted is not None:
            self._play(doubted, turn)
        else:
            super().obey(line)

    def is_offered(self, word: str) -> bool:
        board = self.board
        if not super().is_offered(word):
            return False
        if word in ("wait", "claim"):
            is_held_up = bool(board.match and (board.absent or self._since))
            return is_held_up and (word == "wait" or self._node.can_claim)
        return board.is_lobby or not self.words[word].in_lobby

    def _play(self, move: Move, turn: YourTurn) -> None:
        if isinstance(move, Concede):
            self._do_concede("")
            return
        if move != self._doubted and (answer := doubt(move, turn.view)):
            self._doubted, self._may_enter = move, True
            self._say(answer)
            return
        self._doubted = None
        try:
            self._node.play(move, turn.token)
        except RulesError as error:
            self._refuse(move, turn, error)
        except NodeError as error:
            self._say(sentence(str(error)))
        else:
            self.board.turn = None
            if isinstance(move, Stake):
                self.board.staked = staked(move)

    def _refuse(self, move: Move, turn: YourTurn, error: RulesError) -> None:
        state = turn.view.state
        answer = refusal(move, turn.view, self.board.seating.names, error)
        if isinstance(move, Bid) and is_no_raise(move, state) and not self._knows_raises:
            with_rule, room = f"{answer} {rule_of_raises(state)}", self.face.page_size
            if room is None or len(broken(with_rule, room[0])) <= REPLY_ROWS:  # otherwise it would cover the table
                self._knows_raises = True
                answer = with_rule
        self._say(answer)

    def _no_turn(self) -> str:
        if self.board.over is not None:
            return f"The match is over. {self._what_else()}"
        if self.board.staked and self.board.state is not None and self.board.state.awaits is Expect.STAKES:
            return sentence(answers.whose_turn(self.board))
        if self._is_out:
            return _OUT
        state = self.board.state
        if state is not None and not self.board.absent and 0 <= state.turn == self.board.me:
            # It is this player's turn, but they have just come back or just moved, so the node accepts no move yet.
            unheard = self._node.match.unheard if self._node.match is not None else ()
            are = "is" if len(unheard) == 1 else "are"
            return f"One moment: {self.board.seating.named(unheard) if unheard else 'the others'} {are} signing."
        waiting = answers.whose_turn(self.board)
        return f"Not yet: {waiting}." if waiting else "Not yet: the dice are being rolled."

    # Words

    def _help(self) -> Iterable[str]:
        if self.board.turn is not None:
            legal = offers(self.board.turn.view, self.board.seating.names)
            yield "It is your turn. Type a move, such as:"
            yield f"    {', '.join(legal[:6] + (['…', *legal[-2:]] if len(legal) > 8 else legal[6:]))}"
        elif self.board.state is not None:
            yield f"On your turn type {typed_moves(self.board.state.ruleset)}."
        has_stakes = self.board.ruleset is not None and self.board.ruleset.stakes
        in_full = [word for word in self.offered() if self.words[word].in_full]
        yield (
            "You can type three fives or 3 5 for 3x5. The beginning of a word is enough, except for what cannot be"
            f" undone: {listing(in_full)}. A bid on more dice than there are takes another Enter"
            f"{', and so does a stake of all your coins' if has_stakes else ''}."
        )
        yield "At any time:"

    def _decide(self, rest: str, word: str) -> None:
        """Obey a word that decides who may sit at the table."""
        node = self._node
        asked = [question.player for question in node.asked]
        if not (rest or asked or word == "remove"):  # the newcomer may have given up
            self._say(f"Nobody is asking for a seat now. Type {word} and a name.")
            return
        strangers = [question.player for question in self._strangers]
        everybody = list(dict.fromkeys([*asked, *strangers, *node.kept_out, *self.board.players]))
        # Without a name, a word concerns a newcomer, so it cannot remove a seated player by mistake.
        among = everybody if rest else None if word == "remove" else asked
        if (found := self._other(word, rest, among)) is None:
            return
        player, name = found
        self._strangers = [each for each in self._strangers if each.player != player]
        acts = {"seat": node.seat, "watch": node.let_watch, "refuse": node.refuse, "remove": node.remove}
        if self._ask_node(partial(acts[word], player)):
            said = f"You play with {name}." if word == "seat" and not self.board.hosts else _DECIDED[word]
            self._say(said.format(name))

    _do_seat = partialmethod(_decide, word="seat")
    _do_watch = partialmethod(_decide, word="watch")
    _do_refuse = partialmethod(_decide, word="refuse")
    _do_remove = partialmethod(_decide, word="remove")

    def _do_learn(self, _rest: str) -> None:
        if not self.face.is_interactive:
            self._say("A lesson needs a terminal. The rules in words: rules")
        elif not self.is_offered("learn"):
            self._say(f"Learn before a match begins, or later with:\n    {command_line('learn')}")
        elif self._lesson is None:
            self._lesson = LessonTable(self.showing, self._node.name, self.face, self)
            self._teaching = asyncio.create_task(self._teach(self._lesson))
            self.face.show(self._lesson)

    async def _teach(self, lesson: LessonTable) -> None:
        await lesson.follow()
        if self._lesson is lesson:
            self._stop_lesson()

    def _stop_lesson(self) -> None:
        if self._lesson is None:
            return
        self._lesson = None
        if self._teaching is not None and self._teaching is not asyncio.current_task():
            self._teaching.cancel()
        self.face.show(self)

    def _do_wait(self, _rest: str) -> None:
        if self._ask_node(partial(self._node.wait_longer, _LONGER)):
            again = time.monotonic() + _LONGER
            self._closed |= {_key(player): again for player in self.board.players if player.fingerprint in self.away()}
            self._say("You wait two minutes longer. Others may not.")

    def _do_claim(self, _rest: str) -> None:
        self._ask_node(self._node.claim)

    def _do_again(self, rest: str) -> None:
        if self._again is not None and not self.is_waiting and self._keep_wish(rest):
            return
        if self.is_waiting and not rest:
            self._say("You are already waiting for the next match.")
        elif self._again is None or not self._had_match or (self.board.match and not self.is_waiting):
            self._say("You can play again when the match is over.")
        else:
            self._returning = asyncio.create_task(self._return(rest, self._returning))

    async def _return(self, rest: str, instead_of: asyncio.Task[None] | None = None) -> None:
        """Go back to the table.

        :param instead_of: an earlier attempt to return, which is cancelled first.
        """
        assert self._again is not None
        if instead_of is not None:
            instead_of.cancel()
            await asyncio.wait([instead_of])
        try:
            await self._again(rest)
        except NamesakeError as error:
            self._strangers = [SeatAsked(each, namesake=True) for each in error.players]
            self._complain(error)
            names = display_names(error.players, [*error.players, *self.board.players])
            words = listing([f"seat {name}" for name in names])
            self._say(f"Compare keys. To play with them anyway, type {words}, then again.")
        except NodeError as error:
            if error.code is ErrorCode.UNREACHABLE:
                self._say(f"{stated(error.parts)} {_WITHOUT_HOST}")
            else:
                self._complain(error)
        except (Failure, RulesError) as error:
            self._say(sentence(str(error)))

    def _do_start(self, _rest: str) -> None:
        if self.board.match:
            self._say("The match has already begun.")
        else:
            self._ask_node(self._node.start_match)

    def _do_code(self, _rest: str) -> None:
        self._ask_node(self._node.renew_code)

    def _do_link(self, _rest: str) -> None:
        if not self.board.join_line:
            self._say("Only the host of an open table has a long line.")
            return
        line, room = command_line("join", self.board.join_line), self.face.page_size
        self._say(invitation(self.board.join_line, self.board.code))
        if room is not None and room[0] < width(line):
            self._say(f"To copy the long line in one piece, make the window {width(line) + MARGIN} columns wide.")

    def _background(self) -> str:
        """Return the background for a QR code: ``ascii``, ``light`` or ``dark``."""
        if is_ascii(sys.stdout):
            return "ascii"
        return "light" if self.showing.color == "light" else "dark"

    def _qr_code(self) -> list[str]:
        """Return the rows of the QR code, indented so that they are not wrapped."""
        return [f"    {row}" for row in qr_code(self.board.join_line, self._background())]

    def _do_qr(self, _rest: str) -> None:
        if not self.board.join_line:
            self._say("There is no long line to draw: only the host of an open table has one.")
            return
        code, room = self._qr_code(), self.face.page_size
        if room is not None and (len(code[0]) > room[0] or len(code) > room[1]):
            self._say(
                f"The QR code has {len(code)} lines of {len(code[0])} columns, but there is room for only"
                f" {max(room[1], 0)} lines of {room[0]}. Make the window larger, or give your friend the long line"
                " instead."
            )
        else:
            self._say("\n".join(code))

    def _do_concede(self, rest: str) -> None:
        if not self.board.match:
            self._say("There is nothing to concede: no match is running.")
        elif self._looks_on:
            self._say("You only watch this match.")
        elif self.board.state is not None and self.board.me not in self.board.state.live:
            self._say(_OUT)
        elif rest.lower() == _YES or not self.face.is_interactive:
            self._node.concede()
        elif self.face.shows_board:
            self._is_leaving = self._is_conceding = True
        else:
            self._say(f"Concede: {answers.conceding(self.board)}. If you are sure, type concede {_YES}.")


def _key(player: PlayerInfo) -> tuple[str, str]:
    """Return what identifies the dialog about a player. The same player under another name gets a new dialog."""
    return player.fingerprint, player.name


def earlier_winners(home: Home, match: str) -> dict[str, tuple[str, ...]]:
    """Return the winners' fingerprints of the evening's earlier matches, by match id.

    :param match: a stored match of the evening: its id, 64 hexadecimal digits.
    :returns: an empty dict if the store cannot be read.
    """
    if home.store.exists():
        with suppress(StoreError, MalformedGenesisError), read_store(home) as store:
            return find_winners(store.matches(), bytes.fromhex(match))
    return {}


def find_winners(matches: Iterable[StoredMatch], match: bytes) -> dict[str, tuple[str, ...]]:
    """Do the work of :func:`earlier_winners` on all matches of the home.

    A match and the next one belong to the same evening if they began at most :data:`PAUSE` seconds apart and the owner
    met at least one player in both.

    :raises MalformedGenesisError: if the players of a match cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    formed = sorted((each for each in matches if each.formed), key=lambda each: -each.number)
    for later, each in pairwise(dropwhile(lambda each: each.match != match, formed)):
        players = [player.identity for player in players_of(each.genesis)]
        seen_again = {player.identity for player in players_of(later.genesis)}.intersection(players)
        if later.created - each.created > PAUSE or len(seen_again) < 2:  # the owner is one of them
            break
        if each.winners:
            found[each.match.hex()] = tuple(fingerprint(players[at]) for at in each.winners if at < len(players))
    return found
