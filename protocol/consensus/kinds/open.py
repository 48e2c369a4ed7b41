"""OPEN: shows a player's hand at a showdown, and commits to the next deal."""

from __future__ import annotations

from p2pdice.inputs import Hands
from p2pdice.state import Expect
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.commit import COMMITMENTS, dice_commitments
from protocol.consensus.kinds.rule import Countersigned, Rule, Secrets, are_hashes, listed, short
from protocol.consensus.kinds.witness import are_carried, judge_carried, note_carried
from protocol.consensus.position import Position, Purpose, Stage, Standing
from protocol.crypto.hashing import hand_commitment
from protocol.wire.messages import Kind, Signed


class Open(Rule[tuple[bytes, ...]]):
    """(hand key, commitments to the next deal…, signatures of witnesses)."""

    kind = Kind.OPEN
    shape = "array of 3 byte strings of 32 bytes, and one with 65 for each signature, ascending by roster index"
    purposes = (Purpose.SHOWDOWN,)
    stage = Stage.OPEN
    task = "open the dice"

    def fits(self, body: object) -> bool:
        if type(body) is not tuple or len(body) != 2 + COMMITMENTS[Purpose.DEAL]:
            return False
        return are_hashes(body[:-1], (1 + COMMITMENTS[Purpose.DEAL],)) and are_carried(body[-1])

    def statement(self, body: tuple[bytes, ...]) -> str:
        return f"opened the hand key {short(body[0])} and committed to {listed(body[1:-1])}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: tuple[bytes, ...]) -> None:
        deal, author = position.deal, signed.message.author
        assert deal is not None
        due, commitment = deal.commitments[author], hand_commitment(deal.context, author, body[0])
        if commitment != due:
            opened = f"committed to {short(due)}, opened {short(commitment)}"
            raise MisconductError.of(signed, f"opened another hand key than the one committed to: {opened}")
        judge_carried(history, position, signed, body[-1])

    def fold(self, closing: Closing[tuple[bytes, ...]]) -> None:
        position, state, bodies = closing.position, closing.state, closing.bodies
        for body in bodies.values():
            note_carried(closing, body[-1])
        if state is not None and state.expects.kind is Expect.HANDS:
            hands = tuple(
                position.hand(author, bodies[author][0]) if author in bodies else (None if state.dice[seat] else ())
                for seat, author in enumerate(closing.seats)
            )
            closing.feed(Hands(hands))
        closing.riding = Standing(closing.context, {author: body[1:-1] for author, body in bodies.items()})
        closing.deal = None

    def produce(self, position: Position, secrets: Secrets) -> tuple[bytes, ...]:
        assert position.deal is not None
        hand_key = secrets.secret(position.deal.context, "hand")
        commitments = dice_commitments(position, secrets, COMMITMENTS[Purpose.DEAL])
        return hand_key, *commitments, secrets.countersignatures()

    def hand_key(self, body: tuple[bytes, ...]) -> bytes:
        return body[0]
