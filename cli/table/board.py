"""The board: the state of a table at one moment, folded from the events of its node. No I/O, no clock, no sentences.

A table that is played, watched or replayed has such a board. Screens draw it, and it tells what a typed line means.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cli.render import escape
from cli.text.rounds import RecapRow, Round, fold, recap
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.moves import Hand
from p2pdice.state import NOBODY, Expect
from p2pdice.turns import after
from protocol.events import (
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

if TYPE_CHECKING:
    from p2pdice.rulesets import Ruleset
    from p2pdice.state import State


@dataclass(frozen=True, slots=True)
class CupOpened:
    """One cup of a showdown is opened on the screen. It is made from ``HandsShown``, for the pace: no node tells it."""

    seat: int
    shown: game.HandsShown
    is_own: bool = False
    """It is the reader's: its dice have lain open to them all the time."""
    is_last: bool = False
    is_decided: bool = False
    """Neither this cup nor a later one can change the verdict."""

    @property
    def hits(self) -> int:
        """Dice in it that count for the bid."""
        return sum(_counts(self.shown, face) for face in self.shown.hands[self.seat] or ())


Told = NodeEvent | CupOpened
"""All that a board takes: the events of a node, and the opening of single cups."""


class Showdown(NamedTuple):
    """The end of a round on the screen: cups, count, verdict, and dice lost."""

    shown: game.HandsShown
    played: Round
    """With the call; once all cups are open, with the verdict and what came of it."""
    opened: tuple[int, ...] = ()
    """Seats whose cups are shown open, in the order of opening."""

    @property
    def is_counted(self) -> bool:
        """Whether all cups are open, and the count is told."""
        return self.played.shown is not None

    def count_in(self, seats: Iterable[int]) -> int:
        """Return how many dice in these cups count for the bid."""
        return sum(self.counts(face) for seat in seats for face in self.shown.hands[seat] or ())

    def counts(self, face: int) -> bool:
        """Tell whether a die of this face counts for the bid."""
        return _counts(self.shown, face)


class Board:
    """All that is known of a table. Faces only read it, and :meth:`take` changes it.

    A table also sets :attr:`match` and :attr:`players` when it opens in the middle of a match, and clears :attr:`turn`
    as soon as a move is made, before the node tells of it.
    """

    def __init__(self) -> None:
        self.name = ""
        """The table's name, as a peer wrote it; empty if it is not known."""
        self.join_line = ""
        """The argument of ``p2pdice join`` on another laptop; empty except for a host with seats for others."""
        self.code = ""
        """Its short code, the better argument; empty if there is none, or it is closed."""
        self.qr = ""
        """The background for which the join line is drawn as a QR code (see :mod:`cli.render`); empty if it is
        not drawn."""
        self.seats = 0
        """At the open table, taken or not."""
        self.hosts = False
        """The reader's program opened the table."""
        self.odds = 2
        """Whether chances may be shown at this table: 0 no, 1 yes, 2 each decides."""
        self.may_speak = True
        """Whether the reader's words are passed on: those of spectators only where the table lets them talk."""
        self.ruleset: Ruleset | None = None
        self.rules_name = ""
        """A name for house rules: any text. Empty if none is known."""
        self.players: tuple[PlayerInfo, ...] = ()
        """In the order of the lobby; by seat once seats are drawn."""
        self.seating = Seating()
        """Empty before seats are drawn."""
        self.state: State | None = None
        """The state of the match, as far as it is shown; the last one once it is over."""
        self.match = ""
        """Id of the running match; empty before and after it."""
        self.over: MatchResult | None = None
        """The match that has ended, until the next one begins."""
        self.hand: Hand = ()
        """The reader's own dice, while they are in the cup."""
        self.hands: dict[int, Hand] = {}
        """Dice that the reader knows by seat, before cups are opened: one's own, or all in an all-seeing replay."""
        self.is_back = False
        """The reader has just returned to the match: nothing has happened in it since."""
        self.turn: YourTurn | None = None
        """The question to the reader, until it is answered."""
        self.away: set[str] = set()
        """Fingerprints of players who cannot be reached."""
        self.gone: set[str] = set()
        """Those of them who have left on purpose."""
        self.staked = ""
        """The reader's sealed stake, in words: ``stake 50 coins``."""
        self.absent: tuple[PlayerInfo, ...] = ()
        """Players that the match waits for: it cannot go on without them."""
        self.showdown: Showdown | None = None
        """The showdown of the round just played, until the next one begins."""
        self.watchers: tuple[str, ...] = ()
        """Names of spectators, safe to print."""
        self.recognised: dict[str, Recognised] = {}
        """How well this home knows the others, by fingerprint."""
        self.unfamiliar: dict[str, Unfamiliar] = {}
        """What does not fit with whom this home has met, by fingerprint."""
        self.heeded: frozenset[tuple[str, str]] = frozenset()
        """Fingerprints and names of those among them about whom the reader has been warned, and need not be again."""
        self.is_asked_about = False
        """The host is being asked whether the reader may sit down."""
        self.cheats: frozenset[str] = frozenset()
        """Fingerprints of players whose own signatures prove that they broke the rules."""
        self.foul: Misbehaved | None = None
        """Such a breach in this round."""
        self.claimed: Claimed | None = None
        """How the reader left the last match, if without an end; nothing more is on the table then."""
        self.take_back_line = ""
        """The command that returns to the claimed match; empty if there is none."""
        self.is_new_home = False
        """The reader has played no match yet."""
        self.pledge = ""
        """The reader's pledge in the next match, ``redeemed`` or ``cursed``; empty if it is not known."""
        self.purse = ""
        """The reader's coins in words, ``1,000 coins``; empty if they are not known."""
        self.rounds: tuple[Round, ...] = ()
        """Of this match, or of the part that this board has seen."""
        self._recap: tuple[tuple[Round, ...], Seating, tuple[RecapRow, ...]] = ((), Seating(), ())
        """The last one, with what it was made of."""

    @property
    def begun(self) -> State:
        """The state of a match that has begun."""
        assert self.state is not None
        return self.state

    @property
    def call(self) -> game.ChallengeCalled | None:
        """The call of this round."""
        return self.rounds[-1].call if self.rounds else None

    @property
    def round(self) -> int:
        """The number of the round that is played, or just ends; 0 before the match."""
        return self.showdown.played.number if self.showdown is not None else self.state.round if self.state else 0

    @property
    def has_leavers(self) -> bool:
        """Whether players left before the end: they conceded, or the others went on without them."""
        return self.state is not None and any(each.reason in ("conceded", "evicted") for each in self.state.exits)

    @property
    def recap(self) -> tuple[RecapRow, ...]:
        """The recap of the match so far. To make one takes long, so it is kept until something happens."""
        rounds, seating, rows = self._recap
        if rounds is not self.rounds or seating is not self.seating:
            rows = recap(self.rounds, self.seating) if self.seating.names else ()
            self._recap = self.rounds, self.seating, rows
        return rows

    def copy(self) -> Board:
        """Return a copy. A change to one of the boards does not show on the other."""
        twin = copy(self)
        twin.hands, twin.away, twin.gone = dict(self.hands), set(self.away), set(self.gone)
        return twin

    @property
    def false_friends(self) -> tuple[PlayerInfo, ...]:
        """Players at the table with the name of somebody known, and another key, until the reader heeds the warning.

        Trust in that key settles it.
        """
        return tuple(
            player
            for player in self.players
            if (strange := self.unfamiliar.get(player.fingerprint)) is not None
            and strange.namesakes
            and (player.fingerprint, player.name) not in self.heeded
            and not ((known := self.recognised.get(player.fingerprint)) is not None and known.is_trusted)
        )

    @property
    def me(self) -> int | None:
        """The reader's seat."""
        return self.seating.me

    @property
    def unreachable(self) -> tuple[PlayerInfo, ...]:
        """Players who owe the match something and cannot be reached; nobody who is out of it."""
        if self.state is None or not self.seating.names:
            return ()
        owing = [self.seating.players[seat] for seat in self.state.expects.seats if seat in self.state.live]
        return tuple(player for player in owing if player.fingerprint in self.away)

    @property
    def plays(self) -> bool:
        """Whether the reader has a seat in the match, and is not out of it."""
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
                self.hosts, self.odds, self.may_speak = True, event.odds, True
                self.code = event.code if event.is_reachable else ""
            case CodeMade():
                self.code = event.code
            case CodeTried() if not event.tries_left:
                self.code = ""
            case TableMoved():
                self.join_line = event.join_line
            case TableJoined() | TableWatched():
                self._clear()
                self.hosts, self.odds = False, event.odds
                self.may_speak = bool(event.talk) or isinstance(event, TableJoined)
                self.name, self.seats = event.name, event.seats
                self.ruleset, self.rules_name = event.ruleset, event.rules_name
            case SeatPending():
                self.is_asked_about = True
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
        """Clear away the previous match: another one is about to begin."""
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

    def _start(self, event: MatchStarted) -> None:
        self.match, self.over = event.match_id, None
        self.name = event.table or self.name
        self.players = event.players
        self.state = event.state
        self.ruleset, self.rules_name = event.ruleset, event.rules_name
        self.seating = Seating.of(event.players, event.my_seat).by_first_names()
        self.claimed = self.foul = None
        self.hand, self.turn, self.showdown, self.absent, self.staked = (), None, None, (), ""
        self.is_back, self.is_new_home = event.resumed, False
        self.hands.clear()
        if not event.resumed:  # all of them have just signed that they play: they can only have left an earlier match
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
                self.is_back = False
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


def _counts(shown: game.HandsShown, face: int) -> bool:
    return shown.counting.weight(face, shown.face) != 0


def cups_in_order(shown: game.HandsShown, call: game.ChallengeCalled | None) -> list[int]:
    """Return the seats that have cups in the order in which these go up: the caller's first, the bidder's last."""
    first, last = (0, -1) if call is None else (call.seat, call.bidder)
    places = [(first + step) % len(shown.hands) for step in range(len(shown.hands))]
    return [seat for seat in sorted(places, key=lambda seat: seat == last) if shown.hands[seat] != ()]


def _unasked(state: State) -> State:
    """Return the state in the middle of a move's events: nobody is on turn before the last of them."""
    return state._replace(turn=NOBODY, awaits=Expect.HANDS)
