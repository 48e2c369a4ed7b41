"""Each kind of signed message has exactly one valid form. Everything else raises the same error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.consensus.kinds import parse_signed
from protocol.crypto.keys import MatchKey
from protocol.limits import MOVE_CHARACTERS, PLAYERS
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.messages import Kind, MalformedMessageError, Message, message_id, sign

KEY = MatchKey(bytes(32))
HASH = b"h" * 32
BODIES: dict[int, list[Value]] = {
    Kind.COMMIT: [(HASH,), (HASH, HASH)],
    Kind.LOCK: [HASH],
    Kind.REVEAL: [HASH, HASH + b"\x01" + bytes(64) + b"\x03" + bytes(64)],
    Kind.MOVE: ["3x5", "m" * MOVE_CHARACTERS],
    Kind.OPEN: [(HASH, HASH, HASH, b""), (HASH, HASH, HASH, b"\x01" + bytes(64) + b"\x03" + bytes(64))],
    Kind.RESIGN: [()],
    Kind.RESULT: [HASH],
    Kind.STAKE: [(0, 0, HASH), (2**63 - 1, 3, HASH)],
    Kind.ABSENT: [(0, (2, HASH, (HASH,)), -1), (2**32 - 1, (2**32 - 1, HASH, (b"", HASH) * 5), 2**32 - 2)],
    Kind.CLOSE: [(0, (2, HASH, (b"",))), (7, (3, HASH, HASH)), (8, ())],
    Kind.WITNESS: [HASH],
}
EXAMPLES = [
    Message(HASH, step, HASH, author, kind, body)
    for kind, bodies in BODIES.items()
    for body in bodies
    for step, author in ((0, 0), (2**32 - 1, 255))
]


def test_every_kind_has_an_example() -> None:
    assert set(BODIES) == set(Kind)


@pytest.mark.parametrize("message", EXAMPLES)
def test_a_signed_message_survives_encoding(message: Message) -> None:
    signed = sign(message, KEY)
    parsed = parse_signed(*signed.wire)
    assert parsed.message == message
    assert parsed.id == signed.id == message_id(signed.data)
    assert not parsed.checked


def fields(message: Message) -> list[Value]:
    value = decode(message.encoded())
    assert isinstance(value, tuple)
    return list(value)


PARTS: st.SearchStrategy[Value] = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.binary(max_size=40),
    st.text(max_size=MOVE_CHARACTERS + 5),
    st.lists(st.binary(min_size=31, max_size=33), max_size=4).map(tuple),
    st.lists(st.lists(st.integers(), max_size=2).map(tuple), max_size=2).map(tuple),
)


@given(st.sampled_from(EXAMPLES), st.integers(0, 6), PARTS)
def test_a_message_with_a_changed_field_is_accepted_only_if_still_well_formed(
    message: Message, index: int, part: Value
) -> None:
    changed = fields(message)
    changed[index] = part
    try:
        data = encode(tuple(changed))
    except NotCanonicalError:
        return
    try:
        parsed = parse_signed(data, bytes(64))
    except MalformedMessageError:
        return
    assert parsed.message.encoded() == data
    assert parsed.message.body in BODIES[parsed.message.kind] or isinstance(part, bytes | str | tuple)


@pytest.mark.parametrize(
    "body",
    [
        7,
        b"",
        "",
        b"h" * 31,
        b"h" * 33,
        "m" * (MOVE_CHARACTERS + 1),
        (7,),
        ("x",),
        (b"h" * 31,),
        (HASH,) * 4,
        ((),),
        (-1, 0, HASH),
        (2**63, 0, HASH),
        (0, 0, b"h"),
    ],
)
def test_a_malformed_body_is_refused(body: Value) -> None:
    for kind in Kind:
        with pytest.raises(MalformedMessageError, match=kind.name):
            parse_signed(encode((*fields(EXAMPLES[0])[:5], int(kind), body)), bytes(64))


NO_VALUES: list[Value] = [
    (2, HASH, ()),
    (2, HASH, (HASH,) * (PLAYERS + 1)),
    (2, HASH, (HASH[1:],)),
    (2, HASH, HASH[1:]),
    (2, HASH[1:], (HASH,)),
    (-1, HASH, (HASH,)),
    (2**32, HASH, (HASH,)),
    (2, HASH),
    (HASH,),
]
FIRST, THIRD = b"\x01" + bytes(64), b"\x03" + bytes(64)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (Kind.LOCK, HASH + FIRST),
        (Kind.REVEAL, HASH + THIRD + THIRD),
        (Kind.REVEAL, HASH + THIRD + FIRST),
        (Kind.REVEAL, HASH + FIRST[:-1]),
        *((Kind.OPEN, (HASH, HASH, HASH, THIRD + carried)) for carried in (FIRST, THIRD)),
        (Kind.OPEN, (HASH, HASH, HASH)),
        *((Kind.CLOSE, (number, (2, HASH, (HASH,)))) for number in (-1, 2**32)),
        *((Kind.CLOSE, (0, value)) for value in (b"", "", 0, *NO_VALUES)),
        *((Kind.ABSENT, (number, (2, HASH, (HASH,)), -1)) for number in (-1, 2**32)),
        *((Kind.ABSENT, (0, value, -1)) for value in ((), *NO_VALUES)),
        *((Kind.ABSENT, (3, (2, HASH, (HASH,)), newest)) for newest in (-2, 3)),
    ],
)
def test_the_first_value_beyond_each_bound_of_a_lock_or_vote_is_refused(kind: Kind, body: Value) -> None:
    with pytest.raises(MalformedMessageError, match=kind.name):
        parse_signed(encode((*fields(EXAMPLES[0])[:5], int(kind), body)), bytes(64))


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, "p2pdice/1/message"),
        (1, b"h" * 31),
        (2, -1),
        (2, 2**32),
        (2, b""),
        (3, b"h" * 33),
        (4, -1),
        (4, 256),
        (4, "0"),
        (5, 0),
        (5, 9),
        (5, "LOCK"),
    ],
)
def test_a_malformed_field_is_refused(index: int, value: Value) -> None:
    changed = fields(EXAMPLES[0])
    changed[index] = value
    with pytest.raises(MalformedMessageError):
        parse_signed(encode(tuple(changed)), bytes(64))


@pytest.mark.parametrize("size", [0, 63, 65])
def test_a_signature_of_the_wrong_length_is_refused(size: int) -> None:
    with pytest.raises(MalformedMessageError):
        parse_signed(EXAMPLES[0].encoded(), bytes(size))


@given(st.sampled_from(EXAMPLES), st.integers(0, 7), st.booleans())
def test_a_missing_or_extra_field_is_refused(message: Message, index: int, more: bool) -> None:
    changed = fields(message)
    if more:
        changed.insert(index, 0)
    else:
        del changed[index % 7]
    with pytest.raises(MalformedMessageError):
        parse_signed(encode(tuple(changed)), bytes(64))


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_the_error_for_malformed_messages(data: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        parse_signed(data, bytes(64))


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_message_has_exactly_one_encoding(message: Message, data: st.DataObject) -> None:
    raw = message.encoded()
    cut = data.draw(st.integers(0, len(raw) - 1))
    for wrong in (raw[:cut], raw + b"\x00", raw[:cut] + b"\xc0" + raw[cut:]):
        try:
            parsed = parse_signed(wrong, bytes(64))
        except MalformedMessageError:
            continue
        assert parsed.message.encoded() == wrong
        assert parsed.id != message_id(raw)
