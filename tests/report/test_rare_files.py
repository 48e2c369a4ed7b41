"""Both verifiers agree on files that random changes hardly ever produce. Each file tests one rule."""

from __future__ import annotations

import random
from functools import cache

from p2pdice.rulesets import PRESETS
from protocol import limits
from protocol.consensus.transcript import TRANSCRIPT_TAG
from protocol.consensus.verifier import Judgement
from protocol.wire.canonical import encode
from protocol.wire.messages import Kind
from tests.protocol.mutations import FairMatch, play, stakes_above_funds, wrong_counts
from tests.report.corpus import Sample
from tests.report.structures import file_before
from tests.report.test_agreement import check


@cache
def staked() -> FairMatch:
    """Return a short match with stakes."""
    return play(PRESETS["classic"].with_options({"dice": "1", "stakes": "yes"}), 2, 3)


def test_stakes_above_the_funds_and_wrong_numbers_of_commitments_are_misconduct() -> None:
    played, rng = staked(), random.Random(1)
    chosen = [
        Sample(f"{offence.__name__} {place}", file_before(played, place) + rest)
        for offence in (stakes_above_funds, wrong_counts)
        for place in range(len(played.messages))
        for rest, _ in offence(played, place, rng)
    ]
    assert {each.label.split()[0] for each in chosen} == {"stakes_above_funds", "wrong_counts"}
    assert check(chosen) == {Judgement.MISCONDUCT: len(chosen)}


def test_a_file_holds_a_limited_number_of_proofs() -> None:
    played = staked()
    first = next(signed.message for signed in played.messages if signed.message.kind is Kind.LOCK)
    proofs = [played.sign(first, body=number.to_bytes(32, "big")) for number in range(limits.EVIDENCE + 1)]
    most, more = (
        Sample(f"{size} proofs", played.data + b"".join(proofs[:size])) for size in (limits.EVIDENCE, len(proofs))
    )
    assert check([most]) == {Judgement.MISCONDUCT: 1}
    assert check([more]) == {Judgement.ALTERED: 1}


def test_the_header_of_another_version_has_a_bounded_length() -> None:
    tag = TRANSCRIPT_TAG.replace("/3/", "/2/")
    longest, longer = (Sample(str(size), encode((tag, bytes(size)))) for size in (limits.GENESIS, limits.GENESIS + 1))
    assert check([longest]) == {Judgement.OTHER_VERSION: 1}
    assert check([longer]) == {Judgement.ALTERED: 1}
