"""The verifier: a verdict on whatever comes, and nobody is blamed but for what they signed."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random
from typing import cast

import msgpack

from protocol.canonical import decode, encode
from protocol.verifier import Judgement, Verdict, verify
from tests.fuzz.mutation import mutate_bytes, mutate_value
from tests.fuzz.samples import SHORT, sign_transcript, transcript
from tests.fuzz.target import Target


def check(data: bytes) -> None:
    verdict = judged(data)
    if data not in examples():
        # Nobody's key was at hand: no change of a fair file makes another fair one, or somebody guilty.
        assert verdict.verdict in (Judgement.ALTERED, Judgement.INCOMPLETE), verdict
    judged(sign_transcript(data))


def judged(data: bytes) -> Verdict:
    """Return the verdict, whose parts must fit each other."""
    verdict = verify(data)
    assert verdict.reason
    assert (verdict.culprit is None) is (verdict.verdict is not Judgement.MISCONDUCT)
    assert verdict.culprit is None or verdict.culprit in verdict.players
    assert bool(verdict.winners) is (verdict.verdict in (Judgement.FAIR, Judgement.UNPROVEN))
    assert set(verdict.winners) <= set(verdict.players)
    assert encode(tuple(verdict.players))
    return verdict


@cache
def examples() -> tuple[bytes, ...]:
    return tuple(map(transcript, SHORT[:2]))


def mutate(rng: Random, data: bytes) -> bytes:
    """Change one of the arrays that a transcript is made of, or their order; or some bytes."""
    parts = arrays(data)
    if not parts or not rng.randrange(5):
        return mutate_bytes(rng, data)
    place = rng.randrange(len(parts)) if rng.randrange(4) else 0
    other = rng.randrange(len(parts))
    match rng.randrange(8):
        case 0:
            del parts[place]
        case 1:
            parts.insert(place, parts[other])
        case 2:
            parts[place], parts[other] = parts[other], parts[place]
        case 3:
            parts = parts[: place + 1]
        case _:
            try:
                parts[place] = encode(mutate_value(rng, decode(parts[place])))
            except ValueError:  # what has no encoding, or is none
                parts[place] = mutate_bytes(rng, parts[place])
    return b"".join(parts)


def arrays(data: bytes) -> list[bytes]:
    """Return the encodings that stand one behind the other; what comes after them is one more."""
    unpacker = msgpack.Unpacker(max_buffer_size=max(1, len(data)))
    unpacker.feed(data)
    ends = [0]
    while ends[-1] < len(data):
        try:
            unpacker.skip()
        except (ValueError, msgpack.UnpackException):
            ends.append(len(data))
        else:
            ends.append(cast("int", unpacker.tell()))
    return [data[start:end] for start, end in pairwise(ends)]


TARGETS = (Target("verifier", check, examples, mutate),)
