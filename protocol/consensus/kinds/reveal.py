"""REVEAL: opens the commitment to a share; all shares together are the dice."""

from __future__ import annotations

from p2pdice.inputs import Roll, Rolled
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, short
from protocol.consensus.kinds.witness import are_carried, judge_carried, note_carried
from protocol.consensus.position import ROLLS, Deal, Position, Purpose, Stage
from protocol.crypto.hashing import HASH_BYTES, beacon, public_die, seating, share_commitment
from protocol.wire.messages import Kind, Signed


class Reveal(Rule[bytes]):
    """The share that was committed to, and signatures of witnesses."""

    kind = Kind.REVEAL
    shape = "byte string of 32 bytes, and 65 for each signature, ascending by roster index"
    purposes = ROLLS
    stage = Stage.OPEN
    task = "reveal a share of the dice"

    def fits(self, body: object) -> bool:
        return type(body) is bytes and len(body) >= HASH_BYTES and are_carried(body[HASH_BYTES:])

    def statement(self, body: bytes) -> str:
        return f"revealed the share {short(body[:HASH_BYTES])}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: bytes) -> None:
        standing, author = position.standing, signed.message.author
        assert standing is not None
        due, commitment = (
            standing.commitments[author][-1],
            share_commitment(standing.context, author, body[:HASH_BYTES]),
        )
        if commitment != due:
            opened = f"committed to {short(due)}, opened {short(commitment)}"
            raise MisconductError.of(signed, f"revealed another share than the one committed to: {opened}")
        judge_carried(history, position, signed, body[HASH_BYTES:])

    def fold(self, closing: Closing[bytes]) -> None:
        for body in closing.bodies.values():
            note_carried(closing, body[HASH_BYTES:])
        if closing.is_spoilt:
            return
        standing, purpose = closing.standing, closing.position.purpose
        assert standing is not None
        joint = beacon(standing.context, {author: body[:HASH_BYTES] for author, body in closing.bodies.items()})
        if purpose is Purpose.SEATING:
            closing.seats = seating(joint, len(closing.genesis.roster))
        elif purpose is Purpose.PUBLIC_DIE:
            closing.feed(Roll(public_die(joint)))
        else:
            hand_keys = {author: standing.commitments[author][0] for author in closing.bodies}
            closing.deal = Deal(standing.context, joint, hand_keys)
            closing.feed(Rolled())

    def produce(self, position: Position, secrets: Secrets) -> bytes:
        assert position.standing is not None
        return secrets.secret(position.standing.context, "share") + secrets.countersignatures()
