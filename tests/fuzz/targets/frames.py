"""Frames: a stream is split the same whatever the size of its pieces, and an accepted frame has only one encoding."""

from __future__ import annotations

from protocol.limits import FRAME_BEFORE_WELCOME
from protocol.wire.frames import (
    Carried,
    Cut,
    Frame,
    FrameSplitter,
    FrameTooLong,
    Have,
    Hello,
    JoinTable,
    Leave,
    MalformedFrameError,
    MatchAim,
    Need,
    Page,
    Propose,
    Refuse,
    Say,
    Table,
    TableAim,
    Unknown,
    Welcome,
    decode_frame,
    encode_frame,
    frame_header,
)
from tests.fuzz.mutation import mutate, mutate_bytes
from tests.fuzz.samples import SHORT, messages_of, world
from tests.fuzz.target import Target


def frames() -> tuple[Frame, ...]:
    """Return a frame of every type, as two nodes of a match exchange them."""
    played = world(SHORT[0])
    messages = messages_of(SHORT[0])
    match = messages[0].message.match
    roster = played.genesis.roster
    players = tuple((record.join.nickname, record.join.identity) for record in roster)
    return (
        Hello(7000, TableAim(bytes(16), "TOKEN")),
        Hello(7000, MatchAim(match)),
        Welcome(TableAim(b"", "")),
        Refuse("full", "all seats are taken"),
        JoinTable(roster[1].wire),
        Table("Friday", played.genesis.ruleset.options(), 4, tuple(played.genesis.patience), players, "friday"),
        Propose(played.data),
        Carried(*messages[0].wire),
        Need(match, 1, messages[3].message.tip, 0),
        Page(match, 0, tuple(signed.wire for signed in messages[:6])),
        Leave("bye"),
        Cut(match, (1,)),
        Say(b"word", bytes(64)),
        Have(match, 7, bytes(32), bytes(32), b""),
        Unknown(99, (b"head",)),
    )


def split(stream: bytes, piece: int) -> list[bytes | None]:
    """Return the frames of a stream that arrives in pieces of ``piece`` bytes, up to None for one that is too long."""
    splitter = FrameSplitter(FRAME_BEFORE_WELCOME)
    found: list[bytes | None] = []
    for start in range(0, len(stream), piece):
        splitter.feed(stream[start : start + piece])
        try:
            while (frame := splitter.next_frame()) is not None:
                found.append(frame)
        except FrameTooLong:
            return [*found, None]
    return found


def check(data: bytes) -> None:
    """Treat ``data`` as a stream."""
    found = split(data, len(data) or 1)
    for piece in (1, 7):
        assert split(data, piece) == found
    for frame in found:
        if frame is not None:
            assert len(frame) <= FRAME_BEFORE_WELCOME
            check_frame(frame)


def check_frame(data: bytes) -> Frame | None:
    """Treat ``data`` as one frame. Return the frame; None if it was refused."""
    try:
        frame = decode_frame(data)
    except MalformedFrameError as error:
        assert str(error)
        return None
    assert encode_frame(frame) == data
    return frame


def stream_examples() -> tuple[bytes, ...]:
    return tuple(frame_header(data) + data + frame_header(b"") for data in frame_examples())


def frame_examples() -> tuple[bytes, ...]:
    return tuple(map(encode_frame, frames()))


TARGETS = (
    Target("stream", check, stream_examples, mutate_bytes),
    Target("frame", lambda data: check_frame(data) and None, frame_examples, mutate),
)
