"""The tagged hash is injective in tag and parts, and its streams are uniform."""

from collections import Counter
from hashlib import sha256
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from protocol.crypto.hashing import hash_stream, tagged_hash, uniform

parts = st.lists(st.one_of(st.binary(max_size=12), st.integers(0, 2**64 - 1)), max_size=5)


def test_the_construction_is_the_one_that_the_specification_gives() -> None:
    written_out = b"\x11p2pdice/3/example" + b"\x02" + b"\x00\x00\x00\x01a" + b"\x00\x00\x00\x08" + bytes(7) + b"\x01"
    assert tagged_hash("example", b"a", 1) == sha256(written_out).digest()


@given(parts, parts)
def test_different_parts_have_different_hashes(one: list[bytes | int], other: list[bytes | int]) -> None:
    def raw(items: list[bytes | int]) -> list[bytes]:
        return [item.to_bytes(8, "big") if isinstance(item, int) else item for item in items]

    assert (tagged_hash("t", *one) == tagged_hash("t", *other)) == (raw(one) == raw(other))


def test_a_tag_separates_uses() -> None:
    assert tagged_hash("share-commitment", b"x") != tagged_hash("hand-commitment", b"x")


def test_a_die_throws_the_bytes_from_252_on_away() -> None:
    assert [uniform(iter([255, 254, 253, 252, 251]), 6)] == [5]
    assert [uniform(iter([byte]), 6) for byte in range(252)] == [byte % 6 for byte in range(252)]


def test_every_bound_takes_its_values_equally_often_from_all_accepted_bytes() -> None:
    for bound in range(1, 257):
        accepted = Counter(byte % bound for byte in range(256 - 256 % bound))
        assert len(accepted) == bound
        assert len(set(accepted.values())) == 1


def test_a_stream_is_the_hashes_with_a_counter() -> None:
    first_two = tagged_hash("s", b"x", 0) + tagged_hash("s", b"x", 1)
    assert bytes(islice(hash_stream("s", b"x"), 64)) == first_two
