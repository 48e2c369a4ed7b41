"""The tagged hash is injective in tag and parts; one honest share makes a roll random; a commitment fits one place."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from protocol.crypto.hashing import (
    Context,
    beacon,
    hand,
    hand_commitment,
    hash_stream,
    public_die,
    seating,
    share_commitment,
    tagged_hash,
    uniform,
)

parts = st.lists(st.one_of(st.binary(max_size=12), st.integers(0, 2**64 - 1)), max_size=5)


def test_the_tagged_hash_is_built_as_specified() -> None:
    written_out = b"\x11p2pdice/3/example" + b"\x02" + b"\x00\x00\x00\x01a" + b"\x00\x00\x00\x08" + bytes(7) + b"\x01"
    assert tagged_hash("example", b"a", 1) == sha256(written_out).digest()


@given(parts, parts)
def test_different_parts_have_different_hashes(one: list[bytes | int], other: list[bytes | int]) -> None:
    def raw(items: list[bytes | int]) -> list[bytes]:
        return [item.to_bytes(8, "big") if isinstance(item, int) else item for item in items]

    assert (tagged_hash("t", *one) == tagged_hash("t", *other)) == (raw(one) == raw(other))


def test_different_tags_give_different_hashes() -> None:
    assert tagged_hash("share-commitment", b"x") != tagged_hash("hand-commitment", b"x")


def test_a_die_rejects_bytes_from_252_on() -> None:
    assert [uniform(iter([255, 254, 253, 252, 251]), 6)] == [5]
    assert [uniform(iter([byte]), 6) for byte in range(252)] == [byte % 6 for byte in range(252)]


def test_the_accepted_bytes_map_evenly_to_the_values_below_every_bound() -> None:
    for bound in range(1, 257):
        accepted = Counter(byte % bound for byte in range(256 - 256 % bound))
        assert len(accepted) == bound
        assert len(set(accepted.values())) == 1


def test_a_stream_is_a_sequence_of_hashes_with_a_counter() -> None:
    first_two = tagged_hash("s", b"x", 0) + tagged_hash("s", b"x", 1)
    assert bytes(islice(hash_stream("s", b"x"), 64)) == first_two


CONTEXT = Context(bytes(32), 4, b"\1" * 32)
SECRETS = st.binary(min_size=32, max_size=32)


@given(st.lists(SECRETS, min_size=2, max_size=10), st.data())
def test_changing_any_single_share_changes_the_whole_roll(shares: list[bytes], data: st.DataObject) -> None:
    honest = data.draw(st.integers(0, len(shares) - 1))
    other = data.draw(SECRETS.filter(lambda share: share != shares[honest]))
    given_shares = dict(enumerate(shares))
    assert beacon(CONTEXT, given_shares) != beacon(CONTEXT, given_shares | {honest: other})


def test_one_honest_share_makes_every_face_every_seat_and_the_public_die_equally_likely() -> None:
    """The other shares are constant. A frequency that is off by a tenth would fail."""
    rolls = 6000
    faces: Counter[int] = Counter()
    first: Counter[int] = Counter()
    public: Counter[int] = Counter()
    for number in range(rolls):
        joint = beacon(CONTEXT, {0: bytes(32), 1: bytes(32), 2: number.to_bytes(32, "big")})
        faces.update(hand(CONTEXT, 0, bytes(32), joint, 5))
        first[seating(joint, 3)[0]] += 1
        public[public_die(joint)] += 1
    for counts, outcomes in ((faces, 6), (first, 3), (public, 6)):
        expected = counts.total() / outcomes
        assert len(counts) == outcomes
        # Pearson's statistic: with five degrees of freedom it exceeds 30 once in 67,000 times. The inputs are fixed.
        assert sum((count - expected) ** 2 / expected for count in counts.values()) < 30


@given(SECRETS, st.integers(0, 9))
def test_a_commitment_fits_one_author_in_one_step_of_one_history(secret: bytes, author: int) -> None:
    elsewhere = (
        CONTEXT._replace(match=b"\2" * 32),
        CONTEXT._replace(step=5),
        CONTEXT._replace(tip=b"\2" * 32),
    )
    for commitment in (share_commitment, hand_commitment):
        made = commitment(CONTEXT, author, secret)
        assert made != commitment(CONTEXT, author + 1, secret)
        assert made not in {commitment(context, author, secret) for context in elsewhere}
    assert share_commitment(CONTEXT, author, secret) != hand_commitment(CONTEXT, author, secret)
