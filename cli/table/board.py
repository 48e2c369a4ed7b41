"""The board: the state of a table at one moment, folded from the events of its node. No I/O, no clock, no sentences.

Every table has one, whether its match is played, watched or replayed. Faces draw the board, and typed lines are
parsed against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from cli.render import escape
from cli.text.rounds import RecapRow, Round, fold, recap
from cli.text.seating import Seating, display_names
from p2pdice import events as game
from p2pdice.moves import Hand
from p2pdice.state import NOBODY, Expect
from p2pdice.turns import after
from protocol.events import (
    AwaitingHost,
    AwaitingPlayers,
    Claimed,
    CodeMade,
    CodeTried,
    Continued,
    CupsSeen,
    DiceRolled,
    Happened,
    LobbyChanged,
    MatchFormed,
    MatchResult,
    MatchStarted,
    Misbehaved,
    NodeEvent,
    PeerBack,
    PeerLost,
    PlayerInfo,
    Recognised,
    SeatPending,
    Suspended,
    TableClosed,
    TableJoined,
    TableMoved,
    TableOpened,
    TableWatched,
    TakenBack,
    Unfamiliar,
    Watching,
    YourTurn,
)
from protocol.wire.names import is_marked_as_bot

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State


@dataclass(frozen=True, slots=True)
class CupOpened:
    """One cup opens on the screen. :func:`cli.table.pace.beats` makes these events; nodes do not emit them."""

    seat: int
    shown: game.HandsShown
    is_own: bool = False
    """Whether the cup is the reader's, whose dice they could see all along."""
    is_last: bool = False
    is_decided: bool = False
    """Whether neither this cup nor a later one can change the verdict."""

    @property
    def hits(self) -> int:
        """The number of dice in the cup that count for the bid."""
        shown = self.shown
        return sum(shown.counting.counts(face, shown.face) for face in shown.hands[self.seat] or ())


Told = NodeEvent | CupOpened
"""An event that a board can take: one of a node's events, or the opening of one cup."""
HOST: Final = "host"
"""Typed after *again* to open a table in place of its host."""


class Showdown(NamedTuple):
    """The end of a round, as far as it is shown: cups, count, verdict, and lost dice."""

    shown: game.HandsShown
    played: Round
    """The round with its call and, once all cups are open, its verdict and the consequences."""
    opened: tuple[int, ...] = ()
    """Seats whose cups are open on the screen, in the order of opening."""

    @property
    def is_counted(self) -> bool:
        """Whether all cups are open, and the count is shown."""
        return self.played.shown is not None

    def count_in(self, seats: Iterable[int]) -> int:
        """Return how many dice in the cups of these seats count for the bid."""
        return self.shown.counting.count((self.shown.hands[seat] or () for seat in seats), self.shown.face)

    def counts(self, face: int) -> bool:
        """Return whether a die with this face counts for the bid."""
        return self.shown.counting.counts(face, self.shown.face)


class Board:
    """The state of a table. :meth:`take` changes it, and faces only read it.

    A table also sets :attr:`match`, :attr:`players` and :attr:`odds` when it opens in the middle of a match. It clears
    :attr:`turn` as soon as a move is made, before the node reports the move.
    """

    def __init__(self) -> None:
        self.name = ""
        """The table's name as a peer wrote it, so not safe to print; empty if unknown."""
        self.join_line = ""
        """The long argument of ``p2pdice join``; empty unless the reader hosts a table with seats for other people."""
        self.code = ""
        """The short argument of ``p2pdice join``; empty if there is none, or too many wrong tries have disabled it."""
        self.qr = ""
        """The background for which the join line is drawn as a QR code (see :mod:`cli.render`); empty for no code."""
        self.seats = 0
        """The number of seats at the open table, taken or free."""
        self.hosts = False
        """Whether the reader's program opened the table."""
        self.host: PlayerInfo | None = None
        """The host of the table at which the reader is a guest; None if the reader hosts, or does not know."""
        self.odds = 2
        """Whether chances may be shown at this table: 0 no, 1 yes, 2 as each person prefers."""
        self.may_speak = True
        """Whether the reader can chat. The table decides whether spectators can."""
        self.ruleset: Ruleset | None = None
        self.rules_name = ""
        """The name of the house rules, not safe to print; empty if unknown."""
        self.players: tuple[PlayerInfo, ...] = ()
        """In the order of the lobby; by seat once the seats are drawn."""
        self.seating = Seating()
        """Empty before the seats are drawn."""
        self.state: State | None = None
        """The state of the match as far as it is shown. It stays after the end of the match."""
        self.match = ""
        """The id of the running match; empty before and after it."""
        self.over: MatchResult | None = None
        """The result of the last match, until the next one begins."""
        self.hand: Hand = ()
        """The reader's own dice, while they are in the cup."""
        self.hands: dict[int, Hand] = {}
        """Dice in closed cups that the reader can see, by seat. A replay can show those of all players."""
        self.is_decided = False
        """Whether the match ends with the current showdown, so that no round follows."""
        self.is_back = False
        """Whether nothing has happened in the match since the reader returned to it."""
        self.turn: YourTurn | None = None
        """The request for the reader's move; None if there is none."""
        self.away: set[str] = set()
        """Fingerprints of players who cannot be reached."""
        self.gone: set[str] = set()
        """Fingerprints of players in :attr:`away` who left on purpose."""
        self.staked = ""
        """The reader's sealed stake in words: ``stake 50 coins``."""
        self.absent: tuple[PlayerInfo, ...] = ()
        """Players without whom the match cannot go on."""
        self.showdown: Showdown | None = None
        """The showdown of the last round, until the next round begins."""
        self.watchers: tuple[str, ...] = ()
        """Names of spectators, safe to print."""
        self.recognised: dict[str, Recognised] = {}
        """How well the reader knows other players, by fingerprint."""
        self.unfamiliar: dict[str, Unfamiliar] = {}
        """Players whose name or key conflicts with earlier meetings, by fingerprint."""
        self.heeded: frozenset[tuple[str, str]] = frozenset()
        """The (fingerprint, name) of each player in :attr:`unfamiliar` whose warning the reader has dismissed."""
        self.is_asked_about = False
        """Whether the host is being asked to let the reader sit down."""
        self.cheats: frozenset[str] = frozenset()
        """Fingerprints of players whose own signatures prove that they broke the rules."""
        self.foul: Misbehaved | None = None
        """The latest proof that a player broke the rules, until the next round begins."""
        self.claimed: Claimed | None = None
        """The claim with which the reader left the last match. The board then has no other data on that match."""
        self.take_back_line = ""
        """The command that returns to the claimed match; empty if there is none."""
        self.is_new_home = False
        """Whether the reader has not played a match yet."""
        self.pledge = ""
        """The reader's pledge for the next match, ``redeemed`` or ``cursed``; empty if unknown."""
        self.purse = ""
        """The reader's coins in words, ``1,000 coins``; empty if unknown."""
        self.rounds: tuple[Round, ...] = ()
        """The rounds of this match, as far as this board has seen them."""
        self._recap: tuple[tuple[Round, ...], Seating, tuple[RecapRow, ...]] = ((), Seating(), ())
        """The cached recap: the rounds and the seating that it was made from, then its rows."""

    @property
    def begun(self) -> State:
        """The state of a match, which must have begun."""
        assert self.state is not None
        return self.state

    @property
    def call(self) -> game.ChallengeCalled | None:
        """The call of this round; None if there is none yet."""
        return self.rounds[-1].call if self.rounds else None

    @property
    def round(self) -> int:
        """The number of the current round, or of the one whose showdown is shown; 0 before the match."""
        return self.showdown.played.number if self.showdown is not None else self.state.round if self.state else 0

    @property
    def has_leavers(self) -> bool:
        """Whether a player left early: they conceded, or the others voted to go on without them."""
        return self.state is not None and any(each.reason in ("conceded", "evicted") for each in self.state.exits)

    @property
    def recap(self) -> tuple[RecapRow, ...]:
        """The recap of the match so far. It is slow to compute, so it is cached until the rounds change."""
        rounds, seating, rows = self._recap
        if rounds is not self.rounds or seating is not self.seating:
            rows = recap(self.rounds, self.seating) if self.seating.names else ()
            self._recap = self.rounds, self.seating, rows
        return rows

    @property
    def final_names(self) -> tuple[str, ...]:
        """The names on the end card, by seat. They say whose bot a player is, because the card has no plates."""
        assert self.over is not None
        full = display_names(self.over.players)
        first = self.seating.names or full
        return tuple(
            told if is_marked_as_bot(told) and "'s " in told.rpartition(" (")[2] else short
            for told, short in zip(full, first, strict=True)
        )

    def copy(self) -> Board:
        """Return an independent copy."""
        twin = copy(self)
        twin.hands, twin.away, twin.gone = dict(self.hands), set(self.away), set(self.gone)
        return twin

    @property
    def false_friends(self) -> tuple[PlayerInfo, ...]:
        """Players with a known name but another key, unless the reader has trusted it or dismissed the warning."""
        return tuple(
            player
            for player in self.players
            if (strange := self.unfamiliar.get(player.fingerprint)) is not None
            and strange.namesakes
            and (player.fingerprint, player.name) not in self.heeded
            and not ((known := self.recognised.get(player.fingerprint)) is not None and known.is_trusted)
        )

    @property
    def is_lobby(self) -> bool:
        """Whether the table is neither in a match nor at the end of one."""
        return not (self.match or self.over is not None or self.claimed is not None)

    @property
    def may_start(self) -> bool:
        """Whether the reader, as the host, can begin the match without waiting for more guests."""
        return self.hosts and self.is_lobby and len(self.players) > 1

    @property
    def departed_host(self) -> PlayerInfo | None:
        """The host, if they left on purpose, so that nobody will open their table again; otherwise None."""
        return self.host if self.host is not None and self.host.fingerprint in self.gone else None

    @property
    def again(self) -> str:
        """What to type to play another match."""
        return f"again {HOST}" if self.me is not None and self.departed_host is not None else "again"

    @property
    def me(self) -> int | None:
        """The reader's seat; None for a spectator, and before the seats are drawn."""
        return self.seating.me

    @property
    def unreachable(self) -> tuple[PlayerInfo, ...]:
        """Live players who must send a message before the match can go on, but cannot be reached."""
        if self.state is None or not self.seating.names:
            return ()
        owing = [self.seating.players[seat] for seat in self.state.expects.seats if seat in self.state.live]
        return tuple(player for player in owing if player.fingerprint in self.away)

    @property
    def plays(self) -> bool:
        """Whether the reader has a seat and, if the match has begun, is still in it."""
        return self.me is not None and (self.state is None or self.me in self.state.live)

    def take(self, event: Told) -> None:
        """Fold an event into the board."""
        if not isinstance(event, CupOpened):
            self.rounds = fold(self.rounds, event)
        match event:
            case Recognised():
                self.recognised[event.player.fingerprint] = event
            case Unfamiliar():
                self.unfamiliar[event.player.fingerprint] = event
            case TableOpened():
                self._clear()
                self.name, self.join_line, self.seats = event.name, event.join_line, event.seats
                self.ruleset, self.rules_name = event.ruleset, event.rules_name
                self.hosts, self.host, self.odds, self.may_speak = True, None, event.odds, True
                self.code = event.code if event.is_reachable else ""
            case CodeMade():
                self.code = event.code
            case CodeTried() if not event.tries_left:
                self.code = ""
            case TableMoved():
                self.join_line = event.join_line
            case TableJoined() | TableWatched():
                self._clear()
                self.hosts, self.host, self.odds = False, event.host, event.odds
                self.may_speak = bool(event.talk) or isinstance(event, TableJoined)
                self.name, self.seats = event.name, event.seats
                self.ruleset, self.rules_name = event.ruleset, event.rules_name
            case SeatPending():
                self.is_asked_about = True
            case AwaitingHost():
                self.host = event.host
            case TableClosed():
                self.is_asked_about = False
            case Watching():
                self.watchers = tuple(escape(name) for name in event.names)
            case LobbyChanged():
                self._sit(event)
            case AwaitingPlayers():
                self.match, self.name, self.players = event.match_id, event.table, event.players
                self.seats, self.absent = len(event.players), event.awaited
            case MatchFormed():
                self.match, self.absent = event.match_id, ()
            case MatchStarted():
                self._start(event)
            case Suspended():
                self.absent = event.awaited
            case Continued():
                self.absent = ()
            case PeerLost():
                self.away.add(event.player.fingerprint)
                if event.left_on_purpose:
                    self.gone.add(event.player.fingerprint)
            case PeerBack():
                self.away.discard(event.player.fingerprint)
                self.gone.discard(event.player.fingerprint)
            case Claimed():
                self._clear()
                self.claimed, self.absent = event, ()
            case Misbehaved():
                self.cheats, self.foul = self.cheats | {event.player.fingerprint}, event
            case MatchResult():
                self.match, self.over, self.turn, self.absent = "", event, None, ()
            case _:
                self._play(event)

    def _clear(self) -> None:
        """Clear the previous match before another one begins."""
        self.match = ""
        self.over = self.state = self.showdown = self.turn = None
        self.seating = Seating()
        self.hand, self.rounds = (), ()
        self.claimed = self.foul = None
        self.is_asked_about = False
        self.hands.clear()

    def _sit(self, event: LobbyChanged) -> None:
        self.players, self.seats = event.players, event.seats
        if not self.match:
            self.seating = Seating()
            here = {player.fingerprint for player in event.players}
            self.away -= here  # their links to the last match are gone, but they have come to this table
            self.gone -= here

    def _start(self, event: MatchStarted) -> None:
        self.match, self.over = event.match_id, None
        self.name = event.table or self.name
        self.players = event.players
        self.state = event.state
        self.ruleset, self.rules_name = event.ruleset, event.rules_name
        self.seating = Seating.of(event.players, event.my_seat).by_first_names()
        self.claimed = self.foul = None
        self.hand, self.turn, self.showdown, self.absent, self.staked = (), None, None, (), ""
        self.is_back, self.is_new_home, self.is_decided = event.resumed, False, False
        self.hands.clear()
        if not event.resumed:  # all players have just signed this match, so all are here
            self.away.clear()
            self.gone.clear()

    def _play(self, event: Told) -> None:
        match event:
            case DiceRolled():
                self.hand = event.hand
                if self.me is not None:
                    self.hands[self.me] = event.hand
            case CupsSeen():
                self.hands = {seat: hand for seat, hand in enumerate(event.hands) if hand}
            case YourTurn():
                self.turn, self.absent = event, ()
                self.hand = event.view.hand
            case TakenBack():
                self.state, self.turn, self.showdown = event.state, None, None
            case CupOpened():
                before = self.showdown.opened if self.showdown is not None else ()
                self.showdown = Showdown(event.shown, self.rounds[-1], (*before, event.seat))
            case Happened():
                assert self.state is not None
                self.is_back, self.is_decided = False, event.state.awaits is Expect.OVER
                self.state = event.state if event.is_last else _unasked(after(self.state, event.event))
                self.turn = None
                self._happen(event.event)

    def _happen(self, event: game.Event) -> None:
        match event:
            case game.RoundStarted():
                self.showdown = self.foul = None
            case game.HandsShown():
                self.showdown = Showdown(event, self.rounds[-1], tuple(cups_in_order(event, self.call)))
                self.hand = ()
                self.hands.clear()
            case _ if self.showdown is not None:
                self.showdown = self.showdown._replace(played=self.rounds[-1])


def cups_in_order(shown: game.HandsShown, call: game.ChallengeCalled | None) -> list[int]:
    """Return the seats in the order in which their cups open: the caller first, then clockwise, the bidder last."""
    first, last = (0, -1) if call is None else (call.seat, call.bidder)
    places = [(first + step) % len(shown.hands) for step in range(len(shown.hands))]
    return [seat for seat in sorted(places, key=lambda seat: seat == last) if shown.hands[seat] != ()]


def _unasked(state: State) -> State:
    """Return a state in which it is nobody's turn, for use between two events of one move."""
    return state._replace(turn=NOBODY, awaits=Expect.HANDS)
