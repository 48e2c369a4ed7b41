"""The splitter gives the same messages whatever pieces a stream arrives in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.wire.frames import FrameSplitter, FrameTooLong, frame_header

LIMIT = 300


def split(splitter: FrameSplitter, pieces: list[bytes]) -> list[bytes]:
    messages = []
    for piece in pieces:
        splitter.feed(piece)
        while (message := splitter.next_frame()) is not None:
            messages.append(message)
    return messages


@given(st.lists(st.binary(max_size=LIMIT), max_size=20), st.binary(max_size=3), st.data())
def test_any_chunking_gives_the_same_messages(messages: list[bytes], rest: bytes, data: st.DataObject) -> None:
    stream = b"".join(frame_header(each) + each for each in messages) + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=40)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    splitter = FrameSplitter(LIMIT)
    assert split(splitter, pieces) == messages
    assert splitter.is_mid_frame == bool(rest)


@given(st.binary(max_size=2000), st.data())
def test_garbage_gives_messages_within_the_limit_or_the_one_error(stream: bytes, data: st.DataObject) -> None:
    def outcome(pieces: list[bytes]) -> tuple[list[bytes], bool]:
        splitter, messages = FrameSplitter(LIMIT), []
        try:
            for piece in pieces:
                splitter.feed(piece)
                while (message := splitter.next_frame()) is not None:
                    messages.append(message)
        except FrameTooLong:
            return messages, True
        return messages, False

    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    messages, failed = outcome(pieces)
    assert (messages, failed) == outcome([stream])
    assert all(len(message) <= LIMIT for message in messages)


@pytest.mark.parametrize("announced", [LIMIT + 1, 2**31, 2**32 - 1])
def test_a_length_is_judged_before_anything_of_the_frame_has_come(announced: int) -> None:
    splitter = FrameSplitter(LIMIT)
    splitter.feed(announced.to_bytes(4, "big"))
    with pytest.raises(FrameTooLong):
        splitter.next_frame()


def test_the_limit_can_be_raised_between_two_frames() -> None:
    splitter, long = FrameSplitter(LIMIT), bytes(LIMIT + 1)
    splitter.feed(frame_header(b"WELCOME") + b"WELCOME" + frame_header(long) + long)
    assert splitter.next_frame() == b"WELCOME"
    splitter.limit = LIMIT + 1
    assert splitter.next_frame() == long
