"""Runs a level or a class as a program that speaks the protocol of bots.

A class can therefore play wherever a program can: in a process of its own, with the same limits, faults and logs. The
parent process adds to each message the Python object that the message was made from, for the player's methods.
"""

from __future__ import annotations

import json
import pickle
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from random import Random
from typing import Any, Final

import cli
from cli.bots.faults import trace_before, trace_of
from cli.bots.player_class import EntrantError, kind_of, make_player
from p2pdice.players import Player
from p2pdice.players.contest import answer

VALUE: Final = "pickle"
"""The key of the added object. Only this child process unpickles it, and only from its parent."""


def command_for(text: str) -> list[str]:
    """Return the command that runs a level or a class as a program."""
    root = str(Path(str(cli.__file__)).parents[1])
    # With -m, the bot's folder would be the first entry of sys.path, before this package.
    script = f"import sys; sys.path.insert(0, {root!r}); from cli.bots.player_program import main; main(sys.argv[1])"
    return [sys.executable, "-P", "-c", script, text]


def with_value(message: dict[str, object], value: object) -> dict[str, object]:
    """Return a message with the object that it was made from."""
    return {**message, VALUE: b64encode(pickle.dumps(value)).decode()}


def main(text: str) -> None:
    """Play for a level or a class until standard input ends. Everything that a class prints goes to standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    player: Player | None = None
    try:
        for line in sys.stdin:
            message = json.loads(line)
            value = pickle.loads(b64decode(message[VALUE])) if VALUE in message else None  # noqa: S301 - it is our own
            if player is None or message["type"] == "hello":
                player = make_player(text, Random())  # noqa: S311 - whims, no secrets
            if (reply := _reply(player, text, message, value)) is not None:
                print(json.dumps(reply), file=out, flush=True)
    except EntrantError as error:
        cause = trace_before(error.__cause__) if error.__cause__ else ""
        sys.exit(f"{cause}{error}")
    except Exception as error:  # noqa: BLE001 - the author's code may raise anything
        sys.exit(trace_of(error) or f"{type(error).__name__}: {error}")


def _reply(player: Player, text: str, message: dict[str, Any], value: Any) -> dict[str, object] | None:
    match message["type"]:
        case "hello":
            player.started(value, message["seat"], len(message["players"]))
            name = text.rpartition(":")[2] if kind_of(text) == "class" else text
            return {"type": "hello", "version": 1, "name": name}
        case "turn":
            return {"type": "move", "id": message["id"], "do": str(answer(player, value))}
        case "event":
            player.happened(value)
        case "bye":
            player.over(tuple(map(tuple, message["places"])))
    return None
