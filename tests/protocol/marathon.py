"""The longest matches that the rules allow: every round goes through all bids that there are, up to 999 sixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2pdice import PRESETS
from p2pdice.moves import FACES, MAX_QUANTITY
from protocol.canonical import Value, encode
from protocol.keys import MatchKey
from protocol.messages import Kind, Message, sign
from protocol.position import COMMITMENTS, Position, Purpose
from protocol.randomness import Context, derive_secret, hand_commitment, share_commitment
from protocol.record import Record
from protocol.transcript import TRANSCRIPT_TAG
from tests.simulation.world import genesis

MARATHON: Final = PRESETS["classic"].with_options({"raise": "standard", "dice": "10"})
HIGHEST: Final = (MAX_QUANTITY, FACES[-1])


def marathon(players: int, dice: int = 10) -> Iterator[bytes]:
    """Yield the transcript of such a match, piece by piece. With ten players it has more than 100 MiB."""
    table, seeds = genesis(MARATHON.with_options({"dice": str(dice)}), players, b"marathon")
    keys = [MatchKey(seed) for seed in seeds]
    record = Record(table.encoded())
    yield encode((TRANSCRIPT_TAG, record.genesis_data))
    while (kind := record.position.kind) is not None:
        position = record.position
        for author in position.owed:
            body = _body(record.match, position, author, seeds[author])
            message = Message(record.match, position.step, position.tip, author, kind, body)
            signed = sign(message, keys[author])
            record.add(signed)
            yield encode(signed.wire)
        record.forget()


def _body(match: bytes, position: Position, author: int, seed: bytes) -> Value:
    match position.kind:
        case Kind.LOCK:
            return position.lock
        case Kind.COMMIT:
            return _commitments(match, position, author, seed)[-COMMITMENTS[position.purpose] :]
        case Kind.REVEAL:
            assert position.standing is not None
            return derive_secret(seed, position.standing.context, "share")
        case Kind.OPEN:
            assert position.deal is not None
            return derive_secret(seed, position.deal.context, "hand"), *_commitments(match, position, author, seed)
    assert position.state is not None
    assert position.purpose is Purpose.TURN
    if position.state.bid is None:
        return "1x1"
    quantity, face, _ = position.state.bid
    if (quantity, face) == HIGHEST:
        return "liar"
    return f"{quantity}x{face + 1}" if face < FACES[-1] else f"{quantity + 1}x1"


def _commitments(match: bytes, position: Position, author: int, seed: bytes) -> tuple[bytes, bytes]:
    context = Context(match, position.step, position.tip)
    return (
        hand_commitment(context, author, derive_secret(seed, context, "hand")),
        share_commitment(context, author, derive_secret(seed, context, "share")),
    )
