"""Purses and ends of matches from other players: they are read, or refused with the documented error."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, cast

from protocol.consensus.ends import read_evidence, read_shown
from protocol.wire.canonical import NotCanonicalError, decode, encode
from protocol.wire.purses import MalformedPurseError, parse_head
from tests.fuzz.target import Target
from tests.protocol.bettors import Bettor, Played, play


def check(data: bytes) -> None:
    try:
        value = decode(data)
    except NotCanonicalError:
        return
    for read in (read_evidence, parse_head):
        try:
            read(value)
        except MalformedPurseError as error:
            assert str(error).isprintable()
    if type(value) is not tuple or len(value) != 4:
        return
    try:
        shown = read_shown(*cast("Any", value))
    except MalformedPurseError as error:
        assert str(error).isprintable()
        return
    assert shown.wire == value
    assert shown.purse.head == shown.record.join.head
    assert shown.purse.end.balance >= 0


@cache
def examples() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        one, other = (Bettor(name, Path(folder)) for name in "ab")
        newcomer = one.sit()
        play(one, other)
        play(other, one)
        veteran = one.sit()
        open_one = Played(one, other)
        open_one.stake({one: 5, other: 5})
        known = other.judge(one.sit()).back
        assert known is not None
        for each in (one, other):
            each.store.close()
    shown = (newcomer, veteran, known)
    return (*(encode(each.wire) for each in shown), encode(veteran.evidence), encode(tuple(newcomer.purse.head)))


TARGETS = (Target("purse", check, examples),)
