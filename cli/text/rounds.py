"""The rounds of a match, folded from its events, and each finished one in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from cli.render import faces, number
from p2pdice import events as game
from p2pdice.counting import at_least
from p2pdice.state import Expect
from protocol.events import Happened, MatchStarted, TakenBack

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from p2pdice.state import State
    from protocol.events import NodeEvent

Change = game.DieLost | game.DieGained | game.PlayerOut


class Round(NamedTuple):
    """One round, as far as it has come."""

    number: int
    bids: tuple[game.BidMade, ...] = ()
    call: game.ChallengeCalled | None = None
    shown: game.HandsShown | None = None
    """None until the cups are open."""
    verdict: game.Judged | None = None
    """None as well if the call did not count."""
    changes: tuple[Change, ...] = ()
    """Of dice and players, in their order."""

    @property
    def dice(self) -> int:
        """Dice under all cups, also those that stayed down."""
        assert self.shown is not None
        return sum(map(len, filter(None, self.shown.hands))) + self.shown.unopened

    def chance(self, seat: int, quantity: int, face: int) -> Fraction | None:
        """Return how likely a bid was by the dice of one player; None if their cup stayed down."""
        if self.shown is None or (hand := self.shown.hands[seat]) is None:
            return None
        return at_least(quantity, face, hand, self.dice - len(hand), self.shown.ones_wild)

    def line(self, seating: Seating, *, keeps_wrong: bool) -> str:
        """Return a finished round: ``Round 3: Cleo called Ben's six fours, there were seven; Cleo lost a die.``

        :param keeps_wrong: by the rules it is the players who are right that put a die away.
        """
        told, call = [], self.call
        if call is not None:
            exact = " exact on" if call.call == "exact" else ""
            what = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
            called = f"{seating.who(call.seat)} called{exact} {what}"
            told.append(f"{called}, {_there(self.shown, seating)}" if self.shown is not None else called)
        told += _changed(self.changes, seating, keeps_wrong=keeps_wrong)
        if call is not None and not any(isinstance(change, game.DieLost | game.DieGained) for change in self.changes):
            told.append("nobody lost a die")
        return f"Round {self.number}: {'; '.join(told) or 'it did not end'}."


def fold(rounds: tuple[Round, ...], event: NodeEvent) -> tuple[Round, ...]:
    """Return the rounds of a match after one more event of it."""
    match event:
        case MatchStarted():
            return _under_way(event.state)
        case TakenBack():
            return (*(each for each in rounds if each.number < event.state.round), *_under_way(event.state))
        case Happened(event=game.RoundStarted(round=number_)):
            return (*rounds, Round(number_))
        case Happened(event=happened) if rounds:
            return (*rounds[:-1], _grown(rounds[-1], happened))
    return rounds


def _under_way(state: State) -> tuple[Round, ...]:
    """Return the round that a state is in; nothing between two rounds."""
    if state.awaits not in (Expect.MOVE, Expect.HANDS):
        return ()
    bids = tuple(game.BidMade(each.seat, each.quantity, each.face) for each in state.bids)
    call = None
    if state.challenge is not None and bids:
        call = game.ChallengeCalled(
            state.challenge.seat, state.challenge.call, bids[-1].seat, bids[-1].quantity, bids[-1].face
        )
    return (Round(state.round, bids, call),)


def _grown(played: Round, event: game.Event) -> Round:
    match event:
        case game.BidMade():
            return played._replace(bids=(*played.bids, event))
        case game.ChallengeCalled():
            return played._replace(call=event)
        case game.HandsShown():
            return played._replace(shown=event)
        case game.Judged():
            return played._replace(verdict=event)
        case game.DieLost() | game.DieGained() | game.PlayerOut():
            return played._replace(changes=(*played.changes, event))
    return played


def rounds_of(told: Iterable[NodeEvent]) -> tuple[Round, ...]:
    """Return the rounds of a match from all its events, such as those of a replay."""
    rounds: tuple[Round, ...] = ()
    for event in told:
        rounds = fold(rounds, event)
    return rounds


def _there(shown: game.HandsShown, seating: Seating) -> str:
    if shown.unopened:
        unopened = [seating.whose(seat) for seat, cup in enumerate(shown.hands) if cup is None]
        return f"{' and '.join(unopened)} {'cup' if len(unopened) == 1 else 'cups'} stayed down"
    return f"there {'was' if shown.count == 1 else 'were'} {number(shown.count) if shown.count else 'none'}"


def _changed(changes: Iterable[Change], seating: Seating, *, keeps_wrong: bool) -> Iterator[str]:
    out = {change.seat for change in changes if isinstance(change, game.PlayerOut)}
    verb = "put away" if keeps_wrong else "lost"
    for change in changes:
        who = seating.who(change.seat)
        match change:
            case game.DieLost():
                what = "a die" if change.die is None else seating.die(change.die, change.seat)
                are = "are" if change.seat == seating.me else "is"
                leaves = f" and {are} out" if not change.left and change.seat in out else ""
                yield f"{who} {verb} {what}{leaves}"
            case game.DieGained():
                took = "gained a die" if change.die is None else f"took back {seating.die(change.die, change.seat)}"
                yield f"{who} {took}"
            case game.PlayerOut(reason="conceded"):
                yield f"{who} conceded"
            case game.PlayerOut(reason="evicted"):
                yield f"{who} ran out of time"
