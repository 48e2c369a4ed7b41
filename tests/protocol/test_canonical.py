"""One encoding per value, and nothing else is decoded."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.canonical import NotCanonicalError, Value, decode, encode
from protocol.limits import DEPTH

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
def test_whatever_is_decoded_is_spelled_exactly_so(data: bytes) -> None:
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


def test_the_msgpack_test_suite_has_one_acceptable_encoding_per_value(third_party: Callable[[str], Any]) -> None:
    accepted = refused = 0
    for group, cases in third_party("msgpack-test-suite.json").items():
        for case in cases:
            known = [name for name in ("number", "bignum", "string", "binary", "array") if name in case]
            good = []
            for text in case["msgpack"]:
                data = bytes.fromhex(text.replace("-", ""))
                try:
                    value = decode(data)
                except NotCanonicalError:
                    refused += 1
                else:
                    good.append(data)
                    accepted += 1
                    assert msgpack.packb(value) == data
            assert len(good) <= 1, (group, case)
            if not known:
                assert not good, (group, case)
    assert accepted > 60
    assert refused > accepted
