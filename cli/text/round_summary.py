"""A match with the sentences of each round gathered into paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cli.text.event_json import NAMES
from p2pdice.events import LeadPassed
from p2pdice.motes import twin_soul
from protocol.events import Happened, TakenBack


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
