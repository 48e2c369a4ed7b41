"""Frames from a stranger at a table: join records, tables and proposals, also signed again after a change."""

from __future__ import annotations

import contextlib

from protocol.match.lobby import GuestTable, HostedTable, NotAdmittedError, TableSettings
from protocol.wire.canonical import NotCanonicalError, decode
from protocol.wire.frames import (
    Frame,
    Hello,
    JoinTable,
    MalformedFrameError,
    Propose,
    Table,
    TableAim,
    decode_frame,
    encode_frame,
)
from protocol.wire.genesis import MalformedGenesisError, parse_genesis, private_table_id
from tests.fuzz.samples import SHORT, sign_genesis, sign_join_record, world
from tests.fuzz.target import Target
from tests.fuzz.targets.frames import frames

PRIVATE = private_table_id("TOKEN")


def check(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except MalformedFrameError:
        return
    take(frame)
    if isinstance(frame, JoinTable):
        take(JoinTable(sign_join_record(frame.record)))
    elif isinstance(frame, Propose):
        take(Propose(sign_genesis(frame.genesis)))


def take(frame: Frame) -> None:
    """Let a host or a guest handle a frame."""
    played = world(SHORT[0])
    own, other = played.genesis.roster
    if isinstance(frame, Hello) and isinstance(frame.aim, TableAim):
        hosted = HostedTable(TableSettings("Friday", SHORT[0], 2, private=True), PRIVATE, own, "TOKEN")
        with contextlib.suppress(NotAdmittedError):
            hosted.check_aim(frame.aim)
            assert frame.aim.token == "TOKEN"
    elif isinstance(frame, JoinTable):
        hosted = HostedTable(TableSettings("Friday", SHORT[0], 2), own.join.table, own, "")
        identity = _identity(frame)
        if identity == own.join.identity:
            return  # a node drops links with its own key
        with contextlib.suppress(NotAdmittedError):
            hosted.admit(identity, frame.record)
            assert len(parse_genesis(hosted.genesis().encoded()).roster) == len(hosted.records)
    elif isinstance(frame, Table):
        seat = GuestTable(own.join.table, other.join.identity)
        seat.own = own
        with contextlib.suppress(MalformedGenesisError):
            seat.update(frame)
            assert seat.shown is frame
            assert encode_frame(frame)
    elif isinstance(frame, Propose):
        seat = GuestTable(own.join.table, other.join.identity)
        seat.own = own
        players = tuple((each.join.nickname, each.join.identity) for each in played.genesis.roster)
        seat.update(Table("Friday", SHORT[0].options(), 2, tuple(played.genesis.patience), players))
        with contextlib.suppress(MalformedGenesisError):
            proposed = seat.check_proposal(frame.genesis)
            assert proposed is None or proposed.encoded() == frame.genesis


def _identity(frame: JoinTable) -> bytes:
    """Return the identity in a join record. In reality the link proves it."""
    with contextlib.suppress(NotCanonicalError):
        match frame.record:
            case (bytes() as data, *_):
                match decode(data):
                    case (_, _, bytes() as identity, *_):
                        return identity
    return bytes(32)


def examples() -> tuple[bytes, ...]:
    return tuple(encode_frame(frame) for frame in frames() if isinstance(frame, Hello | JoinTable | Table | Propose))


TARGETS = (Target("lobby", check, examples),)
