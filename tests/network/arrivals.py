"""Records of when each player sent its own messages, and when other players received them.

Each process records its own times (:func:`write_down`), and a test compares the files (:func:`times`). All processes of
one machine share a monotonic clock, even across network namespaces.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import NamedTuple

from protocol.consensus.kinds import parse_signed
from protocol.net.link import Link
from protocol.node.node import Node
from protocol.wire.frames import Carried, Frame, Page, decode_frame

SENT, CAME, SHOWN = "sent", "came", "shown"


class Arrivals(NamedTuple):
    """One process's records, in order of time. Times are seconds of the monotonic clock."""

    identity: str
    sent: dict[str, float]
    """When each of the process's own messages was first queued for a link."""
    came: dict[str, float]
    """When each message first arrived, whether from its author, relayed by another player, or in an answer to NEED."""
    over_link: dict[str, list[str]]
    """Messages that arrived singly, not in a PAGE, grouped by the player whose link carried them."""


def write_down(node: Node, path: Path) -> None:
    """Make a node record each of its own messages before sending it, and each message that it receives."""
    mesh = node._mesh
    send, receive, hear = mesh.send, mesh.frame_received, mesh._owner.peer_frame
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    frames: set[bytes] = set()
    arrived = 0

    def note(event: str, moment: int, signature: bytes, identity: bytes) -> None:
        os.write(file, f"{event} {moment} {signature.hex()} {identity.hex()}\n".encode())

    def note_and_send(identity: bytes, frame: bytes) -> None:
        if frame not in frames:
            frames.add(frame)
            carried = decode_frame(frame)
            if isinstance(carried, Carried):
                author = parse_signed(carried.data, carried.signature).message.author
                if node.match is not None and author == node.match.me:
                    note(SENT, time.monotonic_ns(), carried.signature, node.identity.public)
        send(identity, frame)

    def receive_now(link: Link, data: bytes) -> None:
        nonlocal arrived
        arrived = time.monotonic_ns()
        receive(link, data)

    def note_and_hear(identity: bytes, frame: Frame) -> None:
        match frame:
            case Carried():
                note(CAME, arrived, frame.signature, identity)
            case Page():
                for _, signature in frame.messages:
                    note(SHOWN, arrived, signature, identity)
        hear(identity, frame)

    mesh.send = note_and_send  # type: ignore[method-assign]
    mesh.frame_received = receive_now  # type: ignore[method-assign]
    mesh._owner.peer_frame = note_and_hear  # type: ignore[method-assign]


def read(path: Path) -> Arrivals:
    """Return the records that a process has written so far."""
    found = Arrivals("", {}, {}, {})
    for line in path.read_text(encoding="ascii").splitlines():
        event, moment, message, identity = line.split()
        if event == SENT:
            found = found._replace(identity=identity)
        elif event == CAME:
            found.over_link.setdefault(identity, []).append(message)
        (found.sent if event == SENT else found.came).setdefault(message, int(moment) / 1e9)
    return found


def times(sender: Arrivals, receiver: Arrivals) -> list[tuple[float, float]]:
    """Return (time sent, time received) of each of the sender's messages; infinity if it was never received."""
    return [(sent, receiver.came.get(message, math.inf)) for message, sent in sender.sent.items()]


def is_in_order(sender: Arrivals, receiver: Arrivals) -> bool:
    """Return whether the sender's own messages arrived over the sender's link in the order in which they were sent."""
    came = [message for message in receiver.over_link.get(sender.identity, ()) if message in sender.sent]
    places = {message: place for place, message in enumerate(sender.sent)}
    firsts = list(dict.fromkeys(came))  # votes are sent repeatedly
    return firsts == sorted(firsts, key=places.__getitem__)
