"""A match, a round at a time: in one line each, or with all sentences gathered into paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cli.render import faces, number
from cli.text.event_json import NAMES
from p2pdice import events as game
from p2pdice.events import LeadPassed
from p2pdice.motes import twin_soul
from protocol.events import Happened, TakenBack

if TYPE_CHECKING:
    from cli.text.seating import Seating

Change = game.DieLost | game.DieGained | game.PlayerOut


class Paragraphs:
    """Joins sentences as they come; of a text with several lines, such as cups, all but the last stand alone.

    >>> gathered = Paragraphs()
    >>> [*gathered.take("Ada calls liar."), *gathered.take("Ada: 5. One counts.\\nOne five, one short.")]
    ['Ada calls liar.', '    Ada: 5. One counts.']
    >>> [*gathered.take("A lie: Ada was right."), *gathered.end()]
    ['One five, one short. A lie: Ada was right.']
    """

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def take(self, text: str) -> Iterator[str]:
        """Add a text; yield the lines that are finished by it."""
        *alone, last = text.split("\n")
        if alone:
            yield from self.end()
            yield from (f"    {line}" for line in alone)
        self._sentences.append(last)

    def begin(self, headline: str) -> Iterator[str]:
        """Yield the paragraph under way, then an empty line and the headline of a round."""
        yield from (*self.end(), "", headline)

    def end(self) -> Iterator[str]:
        """Yield the paragraph under way, if there is one."""
        if self._sentences:
            yield " ".join(self._sentences)
            self._sentences.clear()


class RoundSummary:
    """Takes the events of :mod:`cli.text.event_json`, one at a time."""

    def __init__(self) -> None:
        self.rounds = 0
        self.ending = ""
        """The result of the match, as a sentence; empty before the end."""
        self.events: list[dict[str, Any]] = []
        """The events of the game, as the engine writes them. After ``taken-back`` the last of them are void: the
        match goes on from an earlier point."""
        self.latest = ""
        """The last event, as a sentence."""
        self._paragraphs = Paragraphs()

    def take(self, data: dict[str, Any]) -> list[str]:
        """Note an event; return the lines that are finished with it."""
        told: str = data["sentence"]
        if data["type"] == NAMES[TakenBack]:
            self.events.append({"type": "taken-back"})
            return [*self._paragraphs.end(), told]
        if data["type"] != NAMES[Happened]:
            return []
        event = data["event"]
        self.events.append(event)
        if event["type"] == LeadPassed.type:  # the next round says who starts it
            return []
        self.latest = told.rpartition("\n")[2]
        match event["type"]:
            case "round":
                self.rounds = event["round"]
                return list(self._paragraphs.begin(told))
            case "over":
                self.ending = told
                return list(self._paragraphs.end())
        return list(self._paragraphs.take(told))

    def outcome(self) -> dict[str, Any]:
        """Return the pledges, stakes and results of the match, under the names that the referee gives them."""
        found: dict[str, Any] = {}
        for event in self.events:
            match event["type"]:
                case "pledges" | "stakes":
                    found[event["type"]] = event[event["type"]]
                case "prize":
                    found["prize"] = event["mote"]
                case "twin-soul":
                    soul = twin_soul(event["die"].partition("@")[0], event["prize"])
                    found["twin_soul"] = {"name": soul.name, "motes": list(soul.motes)}
                case "tickets":
                    found["ticket_delta"] = [int(seat in event["seats"]) for seat in range(len(found["pledges"]))]
                case "paid":
                    found |= {key: event[key] for key in ("payout", "delta", "ticket_delta")}
                case "over":
                    found["places"] = event["places"]
        return found


class Rounds:
    """Says each finished round in one line, for the talk at a table and the story of a match.

    It takes the events of the game, in their order.

    :param keeps_wrong: by the rules it is the players who are right that put a die away.
    """

    def __init__(self, seating: Seating, *, keeps_wrong: bool = False) -> None:
        self._seating = seating
        self._keeps_wrong = keeps_wrong
        self._number = 0
        self._call: game.ChallengeCalled | None = None
        self._shown: game.HandsShown | None = None
        self._changes: list[Change] = []

    def take(self, event: game.Event) -> str:
        """Note an event; return the line on the round that it ends, if it ends one."""
        match event:
            case game.RoundStarted():
                line = self._line()
                self._number, self._call, self._shown, self._changes = event.round, None, None, []
                return line
            case game.MatchOver():
                return self._line()
            case game.ChallengeCalled():
                self._call = event
            case game.HandsShown():
                self._shown = event
            case game.DieLost() | game.DieGained() | game.PlayerOut():
                self._changes.append(event)
        return ""

    def _line(self) -> str:
        if not self._number:
            return ""
        return round_in_one_line(
            self._number, self._call, self._shown, self._changes, self._seating, keeps_wrong=self._keeps_wrong
        )


def round_in_one_line(
    round_: int,
    call: game.ChallengeCalled | None,
    shown: game.HandsShown | None,
    changes: Sequence[Change],
    seating: Seating,
    *,
    keeps_wrong: bool = False,
) -> str:
    """Return a finished round: ``Round 3: Cleo called Ben's six fours, there were seven; Cleo lost a die.``

    :param call: None if somebody left instead.
    :param shown: None if the call did not count, or players left before the cups went up.
    :param changes: of dice and players, in their order.
    :param keeps_wrong: by the rules it is the players who are right that put a die away.
    """
    told = []
    if call is not None:
        exact = " exact on" if call.call == "exact" else ""
        what = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
        called = f"{seating.who(call.seat)} called{exact} {what}"
        told.append(f"{called}, {_there(shown, seating)}" if shown is not None else called)
    told += _changed(changes, seating, keeps_wrong=keeps_wrong)
    if call is not None and not any(isinstance(change, game.DieLost | game.DieGained) for change in changes):
        told.append("nobody lost a die")
    return f"Round {round_}: {'; '.join(told) or 'it did not end'}."


def _there(shown: game.HandsShown, seating: Seating) -> str:
    if shown.unopened:
        unopened = [seating.whose(seat) for seat, cup in enumerate(shown.hands) if cup is None]
        return f"{' and '.join(unopened)} {'cup' if len(unopened) == 1 else 'cups'} stayed down"
    return f"there {'was' if shown.count == 1 else 'were'} {number(shown.count) if shown.count else 'none'}"


def _changed(changes: Sequence[Change], seating: Seating, *, keeps_wrong: bool) -> Iterator[str]:
    out = {change.seat: change.reason for change in changes if isinstance(change, game.PlayerOut)}
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
