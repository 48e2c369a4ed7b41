"""All messages that a test's players have signed, from records of what they sent and from their stores."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from protocol.consensus.history import History
from protocol.consensus.kinds import contradiction, parse_signed, read_vote
from protocol.consensus.reading import Reading
from protocol.consensus.transcript import open_transcript
from protocol.node.node import Node
from protocol.storage.home import STORE_FILE
from protocol.wire.frames import Carried, Page, decode_frame
from protocol.wire.messages import VOTES, Kind, Signed

SUFFIX = ".journal"


def write_down(node: Node, path: Path) -> None:
    """Write each frame that a node sends to players to a file before it is sent. Each process has its own file."""
    known: set[bytes] = set()
    file = os.open(path.with_suffix(f".{os.getpid()}{SUFFIX}"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    send = node._mesh.send

    def note_and_send(identity: bytes, frame: bytes) -> None:
        if frame not in known:
            known.add(frame)
            os.write(file, len(frame).to_bytes(4, "big") + frame)
        send(identity, frame)

    node._mesh.send = note_and_send  # type: ignore[method-assign]


def _sent(path: Path) -> Iterator[Signed]:
    data = path.read_bytes()
    while data:
        size = int.from_bytes(data[:4], "big")
        frame_data, data = data[4 : 4 + size], data[4 + size :]
        if len(frame_data) < size:
            return  # the process was killed while it wrote this line, and so before it sent the message
        frame = decode_frame(frame_data)
        if isinstance(frame, Carried):
            yield parse_signed(frame.data, frame.signature)
        elif isinstance(frame, Page):
            yield from (parse_signed(*each) for each in frame.messages)


def stored(store: Path) -> tuple[Signed, ...]:
    """Return all messages in a store. No process may have it open."""
    with contextlib.closing(sqlite3.connect(store)) as database:
        rows = database.execute("SELECT data, signature FROM messages ORDER BY place").fetchall()
    return tuple(parse_signed(data, signature) for data, signature in rows)


def everything_signed(folder: Path) -> tuple[Signed, ...]:
    """Return all distinct messages in the journals and stores below a folder."""
    found = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        found.update({signed.id: signed for signed in _sent(path)})
    for path in sorted(folder.rglob(STORE_FILE)):
        found.update({signed.id: signed for signed in stored(path)})
    return tuple(found.values())


def contradictions(messages: Iterable[Signed]) -> list[tuple[Signed, Signed]]:
    """Return all pairs of contradicting messages. No honest player signs both messages of a pair."""
    by_place: dict[tuple[bytes, int, bytes, int], list[Signed]] = defaultdict(list)
    for signed in messages:
        message = signed.message
        by_place[message.match, message.step, message.tip, message.author].append(signed)
    return [pair for each in by_place.values() for pair in combinations(each, 2) if contradiction(*pair)]


def history(transcript: bytes) -> tuple[bytes, ...]:
    """Return the ids of all messages in a transcript except LOCKs and votes.

    LOCKs have no entries, and transcripts may contain votes from different quorums.
    """
    messages = open_transcript(transcript).messages
    return tuple(signed.id for signed in messages if signed.message.kind not in (*VOTES, Kind.LOCK))


def blamed(messages: Iterable[Signed], transcript: bytes) -> set[tuple[str, str]]:
    """Return (voter, absentee) as names for each vote of absence in the transcript's match."""
    opened = open_transcript(transcript)
    history = History(opened.genesis)
    reading = Reading(history)
    for signed in opened.messages:
        reading.add(signed)
    names = [entry.join.nickname for entry in history.genesis.roster]
    found: set[tuple[str, str]] = set()
    for vote in (read_vote(signed) for signed in messages if signed.message.kind in VOTES):
        if vote.value is None or isinstance(vote.value.entries, bytes):
            continue  # votes on a LOCK name no absentee
        place = history.chain[vote.value.step]
        assert vote.value.tip == place.tip
        absent = [author for author, entry in zip(place.owed, vote.value.entries, strict=True) if not entry]
        found.update((names[vote.author], names[author]) for author in absent)
    return found
