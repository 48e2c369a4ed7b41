"""The output of a bot: whatever it is, the seat plays a legal move, and every fault can be reported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from unittest.mock import patch

from cli.bots import program_bot as bots
from cli.bots.faults import Fault, fault_sentence, trace_lines
from cli.bots.program_bot import ProgramBot, fault_summary
from cli.bots.programs import LastWords
from cli.foreign_text import LineBuffer
from cli.text.move_forms import is_stake
from p2pdice.engine import apply
from p2pdice.moves import Play, Stake
from p2pdice.rulesets import PRESETS
from p2pdice.state import Expect
from p2pdice.views import View, view
from tests.fuzz.mutation import mutate_bytes
from tests.fuzz.target import Target
from tests.p2pdice.scripted import dealt, play, rolled, rules


class Said:
    """A program whose whole output is given."""

    def __init__(self, data: bytes) -> None:
        self._lines = LineBuffer()
        self._lines.feed(data)
        self._text = data.decode(errors="replace")

    def write(self, _line: bytes) -> bool:
        return True

    async def read(self) -> bytes | None:
        return self._lines.take()

    async def last_words(self, _seconds: float) -> LastWords:
        return LastWords(None, self._text)

    async def close(self, grace: float = 0.0) -> None:
        """There is no process."""


def check(data: bytes) -> None:
    """Treat ``data`` as the output of a bot, and of the same bot when it is started again after a crash."""
    asyncio.run(_play(data))


async def _play(data: bytes) -> None:
    faults: list[Fault] = []

    async def start(_command: Sequence[str], _log: object) -> Said:
        return Said(data)

    with patch.object(bots, "start_program", start):
        bot = ProgramBot(["bot"], on_fault=faults.append)
        await bot.open()
        await bot.started(PRESETS["classic"], 0, ("Ann", "Ben"))
        for asked in questions():
            move = await bot.choose(asked)
            if is_stake(asked):
                assert isinstance(move, Stake)
                asked.wager(move)
            else:
                apply(asked.state, Play(asked.seat, move))
        await bot.close()
    assert bot.faults.total() == len(faults)
    assert bot.name.isprintable()
    for fault in faults:
        assert len(fault.reason) < 1000
        assert fault_sentence(bot.name, fault, 1).isprintable()
        assert all(line.isprintable() for line in trace_lines(fault.trace))
    assert fault_summary(bot.name, bot).isprintable()


@cache
def questions() -> tuple[View, ...]:
    """Return positions in which a bot is asked to open, to answer a bid, to take sides, and to stake."""
    states = (
        rolled(rules(), (5, 5)),
        play(rolled(rules("perudo"), (5, 5)), "3x5"),
        play(rolled(rules("joker"), (5, 5, 5)), "3x5", "liar"),
        dealt(rules("motes"), 2)._replace(awaits=Expect.STAKES),
    )
    return tuple(view(state, max(state.turn, 0)) for state in states)


def examples() -> tuple[bytes, ...]:
    hello = b'{"type": "hello", "version": 1, "name": "odd \\u001b[31m one"}\n'
    moves = [b'{"type": "move", "id": %d, "do": "%s"}\n' % pair for pair in enumerate((b"3x5", b"liar", b"accused"), 1)]
    return (
        hello + b"".join(moves) + b'{"type": "move", "id": 4, "do": "stake 5"}\n',
        hello + moves[1] + moves[0] + b"\xff\n" + b'{"type": "move", "id": 1, "do": "\\ud800", "do": 7}\n',
        hello + b'{"type": "move", "id": 1, "do": "play grey@0"}\n{"type": "move", "id": 2, "do": "crown red@1"}\n',
        hello + b'{"type": "move", "id": 1, "do": "\xc2\x9b[2J"}\n',
        b"[" * 100 + b"\n{}\nNaN\n" + b"x" * 200,
    )


TARGETS = (Target("bot", check, examples, mutate_bytes),)
