"""Frames survive encoding and decoding in any chunks; malformed ones are refused with one error type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.limits import PLAYERS, RULES_NAME_CHARACTERS, TEXT_CHARACTERS
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.frames import (
    Carried,
    CodeAim,
    CodeElement,
    CodeProof,
    Customs,
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
    Seat,
    ShowLedger,
    Table,
    TableAim,
    Unknown,
    WatchAim,
    Welcome,
    decode_frame,
    encode_frame,
    frame_header,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=TEXT_CHARACTERS)
HASH = st.binary(min_size=32, max_size=32)
STEP = st.integers(0, 2**32 - 1)
TABLE_ID = st.just(b"") | st.binary(min_size=16, max_size=16)
AIM = (
    st.builds(TableAim, TABLE_ID, TEXT)
    | st.builds(MatchAim, HASH)
    | st.builds(WatchAim, TABLE_ID | HASH, TEXT)
    | st.builds(CodeAim, st.integers(1, 999))
)
PAIRS = st.lists(st.tuples(st.binary(max_size=80), st.binary(max_size=64)), max_size=5).map(tuple)
SMALL = st.lists(st.integers(0, 9), max_size=3).map(tuple)
FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(Hello, st.integers(0, 65535), AIM),
    st.builds(Welcome, AIM),
    st.builds(Refuse, TEXT, TEXT),
    st.builds(JoinTable, SMALL),
    st.builds(
        Table,
        TEXT,
        SMALL,
        st.integers(2, PLAYERS),
        SMALL,
        st.lists(st.tuples(TEXT, HASH), max_size=PLAYERS).map(tuple),
        st.text(st.characters(codec="utf-8"), max_size=RULES_NAME_CHARACTERS),
        st.builds(Customs, st.integers(0, 2), st.integers(0, 1)),
    ),
    st.builds(Seat, st.integers(0, 1)),
    st.builds(Propose, st.binary(max_size=99), st.just(()) | st.tuples(st.binary(max_size=99), st.binary(max_size=64))),
    st.builds(Carried, st.binary(max_size=300), st.binary(min_size=60, max_size=66)),
    st.builds(Need, HASH, STEP, HASH, STEP),
    st.builds(Page, HASH, STEP, PAIRS),
    st.builds(Leave, TEXT),
    st.builds(Say, st.binary(max_size=99), st.binary(max_size=64)),
    st.builds(Have, HASH, STEP, HASH, st.just(b"") | HASH, st.just(b"") | HASH),
    st.builds(ShowLedger, SMALL, SMALL, SMALL, SMALL),
    st.builds(CodeElement, HASH),
    st.builds(CodeProof, HASH, TEXT),
    st.builds(Unknown, st.just(0) | st.integers(18, 2**64 - 1), SMALL),
)


@given(FRAMES)
def test_a_frame_survives_encoding_and_decoding(frame: Frame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(st.binary(max_size=300), st.integers(0, 70), st.data())
def test_decoding_a_message_frame_without_msgpack_gives_the_same_result_as_with_it(
    content: bytes, length: int, data: st.DataObject
) -> None:
    """Altered and truncated frames are included."""
    frame = bytearray(encode_frame(Carried(content, bytes(length))))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(0, 255))
    received = bytes(frame[: data.draw(st.just(len(frame)) | st.integers(1, len(frame)))])
    try:
        value = decode(received)
    except NotCanonicalError:
        with pytest.raises(MalformedFrameError):
            decode_frame(received)
    else:
        assert encode(value) == received
        if isinstance(value, tuple) and value[:1] == (7,) and len(value) == 3 and {*map(type, value[1:])} == {bytes}:
            assert tuple(decode_frame(received)) == value[1:]


PARTS: st.SearchStrategy[Value] = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.binary(max_size=40),
    st.text(st.characters(codec="utf-8"), max_size=TEXT_CHARACTERS + 5),
    st.lists(st.integers() | st.binary(max_size=33), max_size=PLAYERS + 2).map(tuple),
    st.lists(st.tuples(st.text(max_size=3), st.binary(min_size=31, max_size=33)), max_size=PLAYERS + 2).map(tuple),
)


@given(FRAMES, st.data())
def test_a_frame_with_a_changed_field_is_accepted_only_if_it_is_a_valid_frame(
    frame: Frame, data: st.DataObject
) -> None:
    value = decode(encode_frame(frame))
    assert isinstance(value, tuple)
    changed = list(value)
    index = data.draw(st.integers(0, len(changed) - 1))
    changed[index] = data.draw(PARTS)
    try:
        raw = encode(tuple(changed))
    except NotCanonicalError:
        return
    try:
        parsed = decode_frame(raw)
    except MalformedFrameError:
        return
    assert encode_frame(parsed) == raw


ZEROS = bytes(32)


@pytest.mark.parametrize(
    "value",
    [
        (),
        7,
        "HELLO",
        (11, "x"),
        ("1", "x"),
        (1, (), 7000, (b"", "")),
        (1, (1,) * 17, 7000, (b"", "")),
        (1, ("1",), 7000, (b"", "")),
        (1, (1,), 65536, (b"", "")),
        (1, (1,), -1, (b"", "")),
        (1, (1,), 7000, (b"x", "")),
        (1, (1,), 7000, (b"", "t" * 201)),
        (1, (1,), 7000, (ZEROS, 0, ZEROS)),
        (1, (1,), 7000, (bytes(31),)),
        (2, "1", (b"", "")),
        (3, "full", 7),
        (4, b"record"),
        (5, "table", (), 1, (), (), ""),
        (5, "table", (), 11, (), (), ""),
        (5, "table", (), 2, (), (("ann", b"short"),), ""),
        (5, "table", (), 2, (), (("ann", ZEROS),) * 11, ""),
        (5, "table", (), 2, (), ()),
        (5, "table", (), 2, (), (), b""),
        (5, "table", (), 2, (), (), "x" * 32),
        (6, "genesis"),
        (7, b"data"),
        (7, b"data", "signature"),
        (8, ZEROS, 2**32, ZEROS, 0),
        (8, ZEROS, 0, b"", 0),
        (8, ZEROS, 0, ZEROS, 2**32),
        (8, ZEROS, 0, ZEROS, ()),
        (9, ZEROS, -1, ()),
        (9, ZEROS, 1, (b"data",)),
        (9, ZEROS, 1, ((b"data", b"signature", b"more"),)),
        (10, "x" * 201),
        (10, "bye", "bye"),
        (12, "word", b"signature"),
        (12, b"word"),
        (13, ZEROS, 0, ZEROS, b"digest", ZEROS),
        (13, ZEROS, 0, ZEROS, ZEROS),
        (12, b"word", b"signature", 0),
        (15, bytes(31)),
        (15, ZEROS, ""),
        (16, ZEROS),
        (16, ZEROS, b""),
        (16, bytes(33), ""),
        (1, 7000, ("code", 0)),
        (1, 7000, ("code", 1000)),
        (1, 7000, ("code", 7, "")),
    ],
)
def test_a_value_of_the_wrong_shape_is_no_frame(value: Value) -> None:
    with pytest.raises(MalformedFrameError):
        decode_frame(encode(value))


@given(st.binary(max_size=100))
def test_random_bytes_are_a_frame_or_raise_malformed_frame_error(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except MalformedFrameError:
        return
    assert encode_frame(frame) == data


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
def test_random_input_gives_messages_within_the_limit_or_malformed_frame_error(
    stream: bytes, data: st.DataObject
) -> None:
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
def test_an_excessive_length_is_refused_before_the_content_arrives(announced: int) -> None:
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
