"""STAKE: opens the commitment to a player's stake, and freezes it in the player's purse."""

from __future__ import annotations

from p2pdice import Expect, RulesError, Stakes, Wager, check_wager
from p2pdice.plurals import plural
from protocol.consensus.closing import Closing
from protocol.consensus.errors import MisconductError
from protocol.consensus.kinds.rule import Countersigned, LostStakeError, Rule, Secrets, is_hash, short
from protocol.consensus.position import Position, Purpose, Stage
from protocol.crypto.joint_randomness import stake_commitment
from protocol.crypto.keys import SIGNATURE_BYTES
from protocol.wire.genesis import Genesis
from protocol.wire.messages import Kind, Signed
from protocol.wire.purses import Freeze, following, verified

Body = tuple[int, int, bytes] | tuple[int, int, bytes, bytes]


class Stake(Rule[Body]):
    """(bet in coins, run tickets, salt), and in a match with purses the purse's signature that freezes them."""

    kind = Kind.STAKE
    shape = "array of two integers from 0 to 2^63-1, a byte string of 32 bytes, and perhaps one of 64 bytes"
    purposes = (Purpose.STAKES,)
    stage = Stage.OPEN
    task = "open a stake"

    def fits(self, body: object) -> bool:
        return (
            type(body) is tuple
            and len(body) in (3, 4)
            and all(type(amount) is int and 0 <= amount < 2**63 for amount in body[:2])
            and is_hash(body[2])
            and all(type(signature) is bytes and len(signature) == SIGNATURE_BYTES for signature in body[3:])
        )

    def statement(self, body: Body) -> str:
        return f"staked {body[0]} {plural(body[0], 'coin')} and {body[1]} {plural(body[1], 'ticket')}"

    def judge(self, history: Countersigned, position: Position, signed: Signed, body: Body) -> None:
        standing, author = position.standing, signed.message.author
        assert standing is not None
        due, commitment = standing.commitments[author][0], stake_commitment(standing.context, author, *body[:3])
        if commitment != due:
            opened = f"committed to {short(due)}, opened {short(commitment)}"
            raise MisconductError.of(signed, f"opened another stake than the one committed to: {opened}")
        try:
            check_wager(_wager(history.genesis, author, body))
        except RulesError as error:
            raise MisconductError.of(signed, f"illegal stake: {error}") from None
        purse = history.genesis.roster[author].join.purse
        if (purse is None) != (len(body) == 3):
            raise MisconductError.of(signed, "opened a stake in the form of a match with other purses")
        if purse is not None and verified(following(purse, _freeze(history.match, body)), body[-1]) is None:
            raise MisconductError.of(signed, "opened a stake that the purse has not frozen: its signature is wrong")

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
        opened, signature = (stake.bet, stake.tickets, secrets.secret(context, "stake")), secrets.freeze(stake)
        return (*opened, *signature) if signature else opened

    def frozen(self, body: Body) -> tuple[int, int, bytes] | None:
        return (*body[:2], body[3]) if len(body) == 4 else None


def _wager(genesis: Genesis, author: int, body: Body) -> Wager:
    """Return a player's stake with the holdings that it comes from, unchecked."""
    funds, owned = genesis.holdings(author)
    return Wager(body[0], funds, body[1], owned)


def _freeze(match: bytes, body: Body) -> Freeze:
    return Freeze(match, body[0], body[1])
