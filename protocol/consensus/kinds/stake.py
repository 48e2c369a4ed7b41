"""STAKE: opens the commitment to a player's stake."""

from __future__ import annotations

from p2pdice.errors import RulesError
from p2pdice.inputs import Stakes, Wager
from p2pdice.plurals import plural
from p2pdice.stakes import check_wager
from p2pdice.state import Expect
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, LostStakeError, Rule, Secrets, is_hash, short
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.hashing import stake_commitment
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed

Body = tuple[int, int, bytes]


class Stake(Rule[Body]):
    """(bet in coins, run tickets, salt)."""

    kind = Kind.STAKE
    shape = "array of two integers from 0 to 2^63-1 and a byte string of 32 bytes"
    purposes = (Purpose.STAKES,)
    stage = Stage.OPEN
    task = "open a stake"

    def fits(self, body: object) -> bool:
        return (
            type(body) is tuple
            and len(body) == 3
            and all(type(amount) is int and 0 <= amount < 2**63 for amount in body[:2])
            and is_hash(body[2])
        )

    def statement(self, body: Body) -> str:
        return f"staked {body[0]} {plural(body[0], 'coin')} and {body[1]} {plural(body[1], 'ticket')}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: Body) -> None:
        standing, author = position.standing, signed.message.author
        assert standing is not None
        due, commitment = standing.commitments[author][0], stake_commitment(standing.context, author, *body)
        if commitment != due:
            opened = f"committed to {short(due)}, opened {short(commitment)}"
            raise MisconductError.of(signed, f"opened another stake than the one committed to: {opened}")
        try:
            check_wager(_wager(history.genesis, author, body))
        except RulesError as error:
            raise MisconductError.of(signed, f"illegal stake: {error}") from None

    def fold(self, closing: Closing[Body]) -> None:
        if closing.state is not None and closing.state.expects.kind is Expect.STAKES:
            given, genesis = closing.bodies, closing.genesis
            wagers = (_wager(genesis, each, given[each]) if each in given else None for each in closing.seats)
            closing.feed(Stakes(tuple(wagers)))

    def produce(self, position: Position, secrets: Secrets) -> Body:
        assert position.standing is not None
        context = position.standing.context
        stake = secrets.sealed(context)
        if stake is None:
            raise LostStakeError
        secrets.open_stake(stake)
        return stake.bet, stake.tickets, secrets.secret(context, "stake")


def _wager(genesis: Genesis, author: int, body: Body) -> Wager:
    """Return a player's stake with the holdings that it comes from, unchecked."""
    funds, owned = genesis.funds(author)
    return Wager(body[0], funds, body[1], owned)
