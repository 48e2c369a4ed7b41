"""The input of ``p2pdice referee``: every line gets an answer, and a refused line does not change the game."""

from __future__ import annotations

import json

from cli.bots.referee import Referee
from cli.foreign_text import LineBuffer, OverlongLineError
from p2pdice.rulesets import PRESETS
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    """Treat the first byte as the choice of a ruleset, and the rest as lines."""
    rulesets = tuple(PRESETS.values())
    referee = Referee(rulesets[data[0] % len(rulesets)] if data else rulesets[0], 2)
    for line in lines(data[1:]):
        before = referee.state
        answer = referee.answer(line)
        assert answer.endswith(b"\n")
        assert answer[:-1].isascii()
        assert answer[:-1].decode().isprintable()
        if not json.loads(answer)["ok"]:
            assert referee.state is before


def lines(data: bytes) -> list[bytes]:
    """Return the lines, without overlong ones."""
    buffer = LineBuffer()
    buffer.feed(data)
    found: list[bytes] = []
    while True:
        try:
            line = buffer.take()
            if line is None:
                line = buffer.rest()
                if line is None:
                    return found
            found.append(line)
        except OverlongLineError:
            continue


def examples() -> tuple[bytes, ...]:
    names = list(PRESETS)
    classic, motes, joker, perudo = (bytes((names.index(name),)) for name in ("classic", "motes", "joker", "perudo"))
    deal = b'{"deal": [[5,4,3,2,1],[2,2,3,6,6]]}\n'
    return (
        classic + b"{}\n" + deal + b'{"seat": 0, "do": "3x5"}\n{"seat": 1, "do": "liar"}\n{"deal": null}\n{"evict": 0}',
        motes
        + b'{"pledges": ["redeemed", "cursed"]}\n{"stakes": [[100, 1000, 0, 0], [50, 1000, 1, 2]]}\n{"roll": 6}\n'
        + deal
        + b'{"seat": 0, "do": "6x2"}\n{"seat": 1, "do": "liar"}\n{"seat": 0, "do": "lose grey@0"}\n{"evict": 1}\n',
        joker + b'{"deal": null}\n{"seat": 0, "do": "9x2"}\n{"seat": 1, "do": "liar"}\n{"hands": [[1,1,1,1,1],null]}',
        joker + deal + b'{"seat": 0, "do": "play dark@0 destroy red@1"}\n{"seat": 0, "do": "lose red@0"}\n',
        perudo + deal + b'{"seat": 0, "do": "2x2"}\n{"seat": 1, "do": "exact"}\n',
    )


TARGETS = (Target("referee", check, examples, mutate_bytes),)
