"""Texts of moves: they are read as a move with one canonical spelling, or refused with a printable error."""

from __future__ import annotations

from p2pdice.errors import MalformedMove
from p2pdice.moves import Move, parse_move
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        move = parse_move(text)
    except MalformedMove as error:
        assert len(str(error)) < 1000
        assert str(error).isprintable()
        return
    spelling = str(move)
    assert isinstance(move, Move)
    assert spelling.isascii()
    assert spelling.isprintable()
    assert parse_move(spelling) == move
    assert str(parse_move(spelling)) == spelling


def examples() -> tuple[bytes, ...]:
    spellings = (
        *("3x5", " 1 12 X 6 ", "0x5", "999 × 1", "liar", "DUDO", "spot on", "accused", "pass", "concede"),
        *("lose red@1", "crown gray @ 9", "play light@1 take dark@2", "play neutral@0 swap blue@0", "play red@1 on 2"),
        *("play dark@0 destroy yellow@1", "stake 50 tickets 1", "stake 1000000000000", "İx1", "3х5", "٣x5"),
    )
    return tuple(spelling.encode() for spelling in spellings)


TARGETS = (Target("move", check, examples),)
