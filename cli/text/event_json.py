"""A node's events as NDJSON: one JSON object a line, for the program that started a house bot."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.text.narrate import narrate
from p2pdice import Ruleset
from protocol.events import Eviction, Happened, NodeEvent, PlayerInfo

if TYPE_CHECKING:
    from cli.text.seating import Seating

_LEFT_OUT = {"state", "view", "is_last"}
"""Positions, which follow from the events and would be most of the bytes, and which event a position comes after."""


def event_line(event: NodeEvent, seating: Seating, **beside: Any) -> str:
    """Return an event as one line of JSON: ``type`` (the event's name), ``sentence``, and its fields.

    What happened in the game is an object of its own, ``event``, as the engine writes it.

    :param beside: further keys.
    """
    data: dict[str, Any] = {"type": type(event).__name__, "sentence": narrate(event, seating)}
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
