"""A node's events as NDJSON, one JSON object per line, and the names of all events."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from cli.text.narrate import narrate
from cli.text.seating import Seating
from p2pdice.rulesets import Ruleset
from protocol.events import Eviction, Happened, MatchResult, NodeEvent, PlayerInfo

BOT_FAILED: Final = "BotFailed"
BOT_FAULT: Final = "BotFault"
BOT_DONE: Final = "BotDone"
OF_BOTS: Final = (BOT_FAILED, BOT_FAULT, BOT_DONE)
"""Events about a program that plays, not about the match."""
STANDINGS: Final = "Standings"
NIGHT_OVER: Final = "NightOver"
"""Events of a league night: the first after each match, the second at the end."""
VERDICT: Final = "Verdict"
"""The event with the verdict on a file. It comes before the events in the file."""
_LEFT_OUT: Final = {"state", "view", "is_last"}
"""Omitted fields: states and views, which follow from the events and would be most of the output, and ``is_last``."""


def event_name(event: type[NodeEvent]) -> str:
    """Return the ``type`` of an event: the name of its class. Other programs rely on these names."""
    return "MatchOver" if event is MatchResult else event.__name__


def event_line(event: NodeEvent, seating: Seating, **beside: Any) -> str:
    """Return an event as one line of JSON: its name as ``type``, its ``sentence``, and its fields.

    An event of the game is an object under ``event``, in the form that the engine writes.

    :param beside: additional keys.
    """
    data: dict[str, Any] = {"type": event_name(type(event)), "sentence": narrate(event, seating)}
    for field in fields(event):
        if field.name not in _LEFT_OUT:
            data[field.name] = _data(getattr(event, field.name))
    if isinstance(event, Happened):
        data["event"] = event.event.to_json()
    return json.dumps(data | beside)


def _data(value: object) -> Any:
    match value:
        case PlayerInfo():
            return {"name": value.name, "fingerprint": value.fingerprint, "is_me": value.is_me}
        case Ruleset():
            return dict(value.options())
        case Eviction():
            return {field.name: _data(getattr(value, field.name)) for field in fields(value)}
        case Path():
            return str(value)
        case tuple():
            return [_data(item) for item in value]
    return value
