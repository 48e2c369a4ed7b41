"""The verifier: every file gets a verdict, and players are blamed only for what they have signed."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random
from typing import cast

import msgpack

from protocol.consensus.transcript import PROOF_TAG, TRANSCRIPT_TAG
from protocol.consensus.verifier import Judgement, Verdict, verify
from protocol.wire.canonical import decode, encode
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.fuzz.mutation import mutate_bytes, mutate_value
from tests.fuzz.samples import SHORT, messages_of, sign_message, sign_transcript, transcript, world
from tests.fuzz.target import Target
from tests.simulation.world import World


def check(data: bytes) -> None:
    verdict = judged(data)
    if data not in examples():
        # Without the players' keys, no change makes a file fair or blames a different player.
        assert verdict.verdict not in (Judgement.FAIR, Judgement.UNPROVEN), verdict
        assert verdict.culprit in (None, culprit()), verdict
    judged(sign_transcript(data))


def judged(data: bytes) -> Verdict:
    """Return the verdict, after checking that its fields are consistent."""
    verdict = verify(data)
    assert verdict.reason
    assert (verdict.culprit is None) is (verdict.verdict is not Judgement.MISCONDUCT)
    assert verdict.culprit is None or verdict.culprit in verdict.players
    if verdict.verdict in (Judgement.FAIR, Judgement.UNPROVEN):
        assert verdict.winners
    assert not verdict.winners or verdict.verdict not in (Judgement.ALTERED, Judgement.INCOMPLETE)
    assert set(verdict.winners) <= set(verdict.players)
    assert encode(tuple(verdict.players))
    return verdict


@cache
def examples() -> tuple[bytes, ...]:
    """Return fair matches, one in which a player was voted out, and proofs of both kinds."""
    fair = transcript(SHORT[0])
    messages = messages_of(SHORT[0])
    guilty = next(each.message for each in messages if each.message.author == 0 and each.message.kind is Kind.MOVE)
    history = world(SHORT[0]).machines[0].match.history
    wrong = sign_message(guilty._replace(body="play grey@1").encoded(), history)
    right = next(signed for signed in messages if signed.message == guilty)
    before = b"".join(encode(each.wire) for each in messages[: messages.index(right)])
    genesis = world(SHORT[0]).data
    return (
        fair,
        transcript(SHORT[1]),
        silenced(),
        encode((TRANSCRIPT_TAG, genesis)) + before + encode(wrong.wire),
        encode((PROOF_TAG, genesis)) + encode(right.wire) + encode(wrong.wire),
        fair + encode(wrong.wire),
    )


def culprit() -> str:
    """Return the player whom some of the examples prove guilty."""
    return world(SHORT[0]).genesis.roster[0].join.nickname


def silenced() -> bytes:
    """Return the transcript of a match in which one of three players fell silent."""
    played = World(SHORT[0], 3, 7, patience=Patience(30, 15))
    for _ in range(60):
        played.step()
    played.crash(2)
    played.run()
    assert verify(played.machines[0].transcript).verdict is Judgement.UNPROVEN
    return played.machines[0].transcript


def mutate(rng: Random, data: bytes) -> bytes:
    """Change one of the arrays of a transcript, or their order, or some bytes."""
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
            except ValueError:  # the part is not an encoding, or the changed value has none
                parts[place] = mutate_bytes(rng, parts[place])
    return b"".join(parts)


def arrays(data: bytes) -> list[bytes]:
    """Split a file into its consecutive encodings. Bytes that are not an encoding are the last element."""
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
