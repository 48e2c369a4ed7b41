"""Each value has one encoding, and every other encoding is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.limits import DEPTH
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from tests.third_party import third_party

scalars = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.binary(max_size=300), st.text(st.characters(codec="utf-8"), max_size=80)
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=20).map(tuple), max_leaves=30)


def depth(value: Value) -> int:
    return 1 + max(map(depth, value), default=0) if isinstance(value, tuple) else 0


@given(values.filter(lambda value: depth(value) <= DEPTH))
def test_every_value_survives_the_round_trip(value: Value) -> None:
    assert decode(encode(value)) == value


@given(st.binary(max_size=200))
def test_only_the_canonical_spelling_is_decoded(data: bytes) -> None:
    try:
        value = decode(data)
    except NotCanonicalError:
        return
    assert encode(value) == data


@given(values, st.binary(min_size=1, max_size=5))
def test_nothing_may_follow_a_value(value: Value, rest: bytes) -> None:
    try:
        data = encode(value)
    except NotCanonicalError:
        return
    with pytest.raises(NotCanonicalError):
        decode(data + rest)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("c0", "nil"),
        ("c2", "false"),
        ("c3", "true, which Python would call equal to 1"),
        ("cc01", "an integer longer than needed"),
        ("d000", "a signed zero byte"),
        ("cd00ff", "a 16-bit form of an 8-bit integer"),
        ("ca3f800000", "a float"),
        ("80", "a map"),
        ("81c0c0", "a map with a nil key"),
        ("d40000", "an extension type"),
        ("d6ff00000000", "a timestamp"),
        ("c5000101", "a byte string with a long length"),
        ("d90161", "a text with a long length"),
        ("dc000101", "an array with a long length"),
        ("a1ff", "text that is not UTF-8"),
        ("a3eda080", "text with a lone surrogate"),
        ("dd7fffffff", "an array that announces two thousand million items"),
        ("c6ffffffff", "a byte string that announces four gigabytes"),
        ("", "nothing"),
        ("c1", "the byte that means nothing"),
    ],
)
def test_every_other_spelling_or_type_is_refused(data: str, what: str) -> None:
    with pytest.raises(NotCanonicalError):
        decode(bytes.fromhex(data))


@pytest.mark.parametrize("nesting", [DEPTH + 1, 100, 900, 60_000])
def test_nesting_is_bounded(nesting: int) -> None:
    with pytest.raises(NotCanonicalError):
        decode(b"\x91" * nesting + b"\x00")


@pytest.mark.parametrize("value", [True, None, 1.0, {}, [], "\ud800", 2**64, -(2**63) - 1])
def test_values_without_a_canonical_form_are_not_encoded(value: Any) -> None:
    with pytest.raises(NotCanonicalError):
        encode((value,))


def expected(case: dict[str, Any]) -> Any:
    """Return the value of a case of the test suite, or None if it has no canonical form."""
    if "binary" in case:
        return bytes.fromhex(case["binary"].replace("-", ""))
    if "bignum" in case:
        return int(case["bignum"])
    number = case.get("number")
    if number is not None:
        return number if type(number) is int else None
    return case.get("string", as_tuples(case.get("array")))


def as_tuples(value: Any) -> Any:
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def test_only_the_canonical_encoding_in_the_msgpack_test_suite_is_accepted() -> None:
    with_form = refused = 0
    for cases in third_party("msgpack-test-suite.json").values():
        for case in cases:
            spellings = [bytes.fromhex(text.replace("-", "")) for text in case["msgpack"]]
            taken = []
            for data in spellings:
                try:
                    taken.append((decode(data), data))
                except NotCanonicalError:
                    refused += 1
            try:
                value = expected(case)
                canonical = [(value, encode(value))]
            except NotCanonicalError:
                canonical = []
            assert taken == [pair for pair in canonical if pair[1] in spellings], case
            with_form += bool(taken)
    assert with_form == 48
    assert refused > 100
