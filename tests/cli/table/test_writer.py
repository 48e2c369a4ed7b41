"""Output that never blocks the caller. Lost output is reported."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from cli.table.writer import Writer, drained, overheard


class Pipe:
    """A pipe with a text stream at its writing end."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        self.stream = open(writer, "w", encoding="utf-8")  # noqa: SIM115

    def stop_reading(self) -> None:
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    opened = Pipe()
    yield opened
    opened.stop_reading()
    opened.stream.close()


def read(end: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := os.read(end, 65536)):
        data += piece
    return data


async def test_everything_is_written_in_order(pipe: Pipe) -> None:
    writer = Writer(pipe.stream)
    for number in range(1000):
        writer.write(f"{number} ⚂\n")
    assert await writer.drain(10)
    assert not writer.is_busy
    expected = "".join(f"{number} ⚂\n" for number in range(1000)).encode()
    assert read(pipe.reader, len(expected)) == expected


async def test_slow_reader_blocks_nothing_and_loses_nothing(pipe: Pipe) -> None:
    writer = Writer(pipe.stream, limit=None)
    text = "x" * 1_000_000  # more than the pipe's buffer
    writer.write(text)
    assert not await writer.drain(0.05)
    assert writer.is_busy
    woken = asyncio.create_task(asyncio.to_thread(read, pipe.reader, len(text)))
    assert await writer.drain(10)
    assert (await woken).decode() == text


async def test_output_beyond_the_limit_is_dropped_and_reported(pipe: Pipe) -> None:
    writer = Writer(pipe.stream, limit=200_000)
    for _ in range(100):
        writer.write("x" * 10_000)
    reading = asyncio.create_task(asyncio.to_thread(read, pipe.reader, 200_080))
    assert await writer.drain(10)
    pipe.stream.close()
    told = (await reading).decode()
    assert told.startswith("x" * 200_000 + "\r\n(Some lines were lost")


async def test_writing_fails_once_the_reader_is_gone(pipe: Pipe) -> None:
    pipe.stop_reading()
    writer = Writer(pipe.stream)
    writer.write("anybody there?")
    assert not await writer.drain(10)
    assert isinstance(writer.error, BrokenPipeError)
    with pytest.raises(BrokenPipeError):
        writer.write("hello?")
    with pytest.raises(BrokenPipeError):
        async with drained(writer, None):
            pass


async def test_when_idle_runs_its_callback_once(pipe: Pipe) -> None:
    done: list[str] = []

    def do() -> None:
        done.append("done")

    writer = Writer(pipe.stream)
    writer.write("x" * 1_000_000)
    writer.when_idle(do)
    writer.when_idle(do)
    reading = asyncio.create_task(asyncio.to_thread(read, pipe.reader, 1_000_000))
    assert await writer.drain(10)
    await reading
    await asyncio.sleep(0)
    assert done == ["done"]


async def test_overheard_reports_lines_of_all_threads_and_an_unfinished_last_line() -> None:
    told = list[str]()
    with overheard(told.append, "utf-8"):
        await asyncio.gather(*(asyncio.to_thread(print, "from a thread", number) for number in range(20)))
        print("half a line", end="")
        await asyncio.sleep(0)
        assert sorted(told) == sorted(f"from a thread {number}" for number in range(20))
    await asyncio.sleep(0)
    assert told[20:] == ["half a line"]
