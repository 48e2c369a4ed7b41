"""COMMIT: the first message of a joint roll, a deal or a stake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, are_hashes, listed
from protocol.consensus.position import Position, Purpose, Stage, Standing
from protocol.crypto.hashing import hand_commitment, share_commitment, stake_commitment
from protocol.wire.messages import Kind, Signed

COMMITMENTS: Final[Mapping[Purpose, int]] = {
    Purpose.SEATING: 1,
    Purpose.DEAL: 2,
    Purpose.PUBLIC_DIE: 1,
    Purpose.STAKES: 1,
}
"""How many commitments a COMMIT of this purpose carries: (share), (hand key, share) or (stake)."""


def dice_commitments(position: Position, secrets: Secrets, count: int) -> tuple[bytes, ...]:
    """Return commitments to a node's secrets for the next dice: (share) or (hand key, share)."""
    context, author = secrets.context(position), secrets.author
    share = share_commitment(context, author, secrets.secret(context, "share"))
    if count == 1:
        return (share,)
    return hand_commitment(context, author, secrets.secret(context, "hand")), share


class Commit(Rule[tuple[bytes, ...]]):
    """(commitment…): to the share of a joint roll, to the hand key and share of a deal, or to a stake."""

    kind = Kind.COMMIT
    shape = "array of 1 or 2 byte strings of 32 bytes"
    purposes = tuple(COMMITMENTS)
    stage = Stage.COMMIT
    choices = (Purpose.STAKES,)
    task = "commit"

    def fits(self, body: object) -> bool:
        return are_hashes(body, (1, 2))

    def statement(self, body: tuple[bytes, ...]) -> str:
        return f"committed to {listed(body)}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: tuple[bytes, ...]) -> None:
        if len(body) != COMMITMENTS[position.purpose]:
            raise MisconductError.of(signed, "sent a COMMIT with a wrong number of commitments")

    def fold(self, closing: Closing[tuple[bytes, ...]]) -> None:
        closing.standing = Standing(closing.context, closing.bodies)

    def produce(self, position: Position, secrets: Secrets) -> tuple[bytes, ...] | None:
        if position.purpose is not Purpose.STAKES:
            return dice_commitments(position, secrets, COMMITMENTS[position.purpose])
        stake = secrets.stake(position)
        if stake is None:
            return None
        context = secrets.context(position)
        salt = secrets.secret(context, "stake")
        return (stake_commitment(context, secrets.author, stake.bet, stake.tickets, salt),)
