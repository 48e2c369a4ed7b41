"""A running account of a match, one compact line a round, from the NDJSON of a node that plays in it."""

from __future__ import annotations

from typing import Any

from cli.render import escape, faces, listing


class Account:
    """Takes what happens, one event of :mod:`cli.stream` at a time."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        """By seat, safe to print."""
        self.rounds = 0
        self.ending = ""
        """Who won, once the match is over."""
        self._head = ""
        self._moves: list[str] = []
        self._outcome: list[str] = []

    def take(self, data: dict[str, Any]) -> str:
        """Note an event; return the line of the round that is over with it, or nothing."""
        if data["type"] == "MatchStarted":
            self.names = tuple(escape(player["name"]) for player in data["players"])
        if data["type"] != "Happened":
            return ""
        event = data["event"]
        finished = ""
        if event["type"] in ("round", "over"):
            finished = self.line()
            self._head, self._moves, self._outcome = "", [], []
        self._note(event)
        return finished

    def line(self) -> str:
        """Return the round under way as far as it went; empty before the first."""
        outcome = f": {', '.join(self._outcome)}" if self._outcome else ""
        return f"{self._head} {', '.join(self._moves)}{outcome}" if self._head else ""

    def _note(self, event: dict[str, Any]) -> None:
        name = self.names[event["seat"]] if "seat" in event else ""
        match event["type"]:
            case "round":
                self.rounds = event["round"]
                dice = ", ".join(f"{self.names[seat]} {count}" for seat, count in enumerate(event["dice"]) if count)
                self._head = f"Round {event['round']} ({dice})."
            case "bid":
                self._moves.append(f"{name} {event['quantity']}x{event['face']}")
            case "challenge":
                self._moves.append(f"{name} {event['call']}")
            case "side":
                self._moves.append(f"{name} {event['side']}")
            case "power":
                # At sunrise, and at the sunset that follows it, the round has its outcome already.
                (self._outcome or self._moves).append(f"{name} plays {event['die']}")
            case "hands":
                self._outcome.append(faces(event["count"], event["face"]))
            case "die-lost":
                self._outcome.append(f"{name} loses a die")
            case "die-gained":
                self._outcome.append(f"{name} gains a die")
            case "out":
                self._outcome.append(f"{name} is out")
            case "void":
                self._outcome.append("the round is void")
            case "over":
                places = [listing([self.names[seat] for seat in seats]) for seats in event["places"]]
                behind = f"; then {', '.join(places[1:])}" if places[1:] else ""
                self.ending = f"{places[0]} won{behind}"
