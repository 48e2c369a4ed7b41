"""One honest share is enough: whatever the others choose, it decides; and a commitment fits one place only."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from protocol.crypto.hashing import (
    Context,
    beacon,
    hand,
    hand_commitment,
    public_die,
    seating,
    share_commitment,
)

CONTEXT = Context(bytes(32), 4, b"\1" * 32)
SECRETS = st.binary(min_size=32, max_size=32)


@given(st.lists(SECRETS, min_size=2, max_size=10), st.data())
def test_every_single_share_decides_about_the_whole_roll(shares: list[bytes], data: st.DataObject) -> None:
    honest = data.draw(st.integers(0, len(shares) - 1))
    other = data.draw(SECRETS.filter(lambda share: share != shares[honest]))
    given_shares = dict(enumerate(shares))
    assert beacon(CONTEXT, given_shares) != beacon(CONTEXT, given_shares | {honest: other})


def test_one_honest_share_makes_every_face_every_seat_and_the_public_die_equally_likely() -> None:
    """All others always choose the same; a face, a seat or a roll that is off by a tenth would fail."""
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
        # Pearson's statistic; above 30 with five degrees of freedom once in 67,000 times, and this is no chance: fixed.
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
