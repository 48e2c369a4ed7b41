"""How purses record the end of a match: the end, its evidence, and a purse as its owner shows it to others.

Players sign their own bets, so nobody can bet another player's coins. The winner is proven by the RESULTs of more than
half of the players who did not resign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, pairwise
from typing import Any, NamedTuple, cast

from protocol.consensus.history import History
from protocol.consensus.kinds import parse_signed, state_hash
from protocol.consensus.position import FORMED, Purpose
from protocol.consensus.steps import Account, account_of, parse_account, result_hash
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import SIGNATURE_BYTES, PublicKey
from protocol.wire.canonical import Value
from protocol.wire.genesis import (
    Genesis,
    JoinRecord,
    MalformedGenesisError,
    match_id,
    parse_genesis,
    parse_join_record,
)
from protocol.wire.messages import Kind, MalformedMessageError, Message, Signed
from protocol.wire.purses import (
    MATCH_BYTES,
    MalformedPurseError,
    Purse,
    Record,
    Staked,
    is_amount,
    is_array,
    is_id,
    is_number,
    parse_purse,
    parts,
)


class End(NamedTuple):
    """The end of a match with purses."""

    genesis: Genesis
    match: bytes
    account: Account | None
    """None for a void match."""
    stakes: Mapping[int, tuple[int, int]]
    """The coins and run tickets in all known STAKEs, by author."""

    def author(self, identity: bytes) -> int | None:
        """Return the roster index of the player with this identity key; None for anybody else."""
        roster = enumerate(self.genesis.roster)
        return next((author for author, each in roster if each.join.identity == identity), None)

    def record(self, author: int, stake: tuple[int, int]) -> Record:
        """Return the record that this match leaves in the purse of a player who opened this stake."""
        if self.account is None:
            return Record(self.match[:MATCH_BYTES], *stake, 0, 0, 0)
        return self.account.record(self.genesis, self.match, author, stake)


def stakes_of(history: History) -> dict[int, Signed]:
    """Return the STAKEs opened in a match so far, including the open step, by author."""
    closed = (after.entries for before, after in pairwise(history.chain) if before.purpose is Purpose.STAKES)
    opened = chain.from_iterable(messages.items() for messages in (*closed, history.held))
    return {author: signed for author, signed in opened if signed.message.kind == Kind.STAKE}


def stake_in(signed: Signed) -> tuple[int, int]:
    """Return the coins and run tickets in a STAKE."""
    return cast("tuple[int, int, bytes]", signed.message.body)[:2]


def end_of(history: History) -> End:
    """Return the end of a match with purses that, by its history, is over."""
    position = history.position
    assert position.state is not None
    stakes = {author: stake_in(signed) for author, signed in stakes_of(history).items()}
    return End(history.genesis, history.match, account_of(position.seats, position.state), stakes)


# Evidence: [genesis, stakes, end, results, resignations]


def gather(history: History) -> Value | None:
    """Return the evidence of a match's end; None if the match is not over or has no purses, or if too few players
    signed its end."""
    position, results = history.position, history.results
    if position.kind is not None or position.state is None or not history.genesis.has_purses:
        return None
    resigned = {
        signed.message.author: signed
        for each in history.chain
        for signed in each.entries.values()
        if signed.message.kind == Kind.RESIGN and signed.message.author not in results
    }
    if 2 * len(results) <= history.roster_size - len(resigned):
        return None
    account = account_of(position.seats, position.state)
    # A stake opened in a step that never closed does not count.
    opened = sorted(each for each in stakes_of(history).items() if stake_in(each[1]) == account.bets[each[0]])
    stakes: Value = ()
    if opened:
        place = opened[0][1].message
        bodies = ((author, *cast("Any", signed.message.body), signed.signature) for author, signed in opened)
        stakes = (place.step, place.tip, tuple(bodies))
    return (
        history.genesis_data,
        stakes,
        (position.step, position.tip, state_hash(position.state), account.encoded()),
        tuple((author, results[author].signature) for author in sorted(results)),
        tuple(
            (author, signed.message.step, signed.message.tip, signed.signature)
            for author, signed in sorted(resigned.items())
        ),
    )


def void_message(match: bytes, author: int) -> Message:
    """Return the RESULT with which a player declares a match void."""
    return Message(match, 0, match, author, Kind.RESULT, tagged_hash("void", match))


def void_evidence(genesis: bytes, signatures: Mapping[int, bytes]) -> Value:
    """Return the evidence that a match is void.

    :param genesis: the encoded genesis.
    :param signatures: the signatures under the RESULTs of all players, by roster index.
    """
    return genesis, (), (), tuple(sorted(signatures.items())), ()


def read_evidence(value: Value) -> End:
    """Return the end of the match to which this evidence belongs.

    :raises MalformedPurseError: if the value is not valid evidence; the message gives the reason.
    """
    data, stakes, end, results, resignations = parts(value, "evidence of an end", _is_byte_string, *(is_array,) * 4)
    try:
        genesis = parse_genesis(data)
    except MalformedGenesisError as error:
        raise MalformedPurseError(f"the end of a match with an invalid genesis: {error}") from None
    if not genesis.has_purses:
        raise MalformedPurseError("the end of a match without purses")
    match, players = match_id(data), len(genesis.roster)
    keys = [PublicKey(record.join.match_key) for record in genesis.roster]

    def check(said: Message, signature: bytes) -> None:
        _read_signed(said.encoded(), signature, keys[said.author])

    bets = _read_stakes(genesis, match, stakes, check)
    signed = _by_author(results, players, (bytes,))
    if not end:
        if len(signed) < players:
            raise MalformedPurseError("a match is void only if all its players have signed that")
        for author, (signature,) in signed.items():
            check(void_message(match, author), signature)
        return End(genesis, match, None, bets)
    step, tip, state, account_data = parts(end, "the end of a match", is_number, is_id, is_id, _is_byte_string)
    account = parse_account(account_data, players)
    for author, bet in enumerate(account.bets):
        if bets.get(author, (0, 0)) != bet:
            raise MalformedPurseError("the end of a match with a bet that its player has not signed")
    gone = _by_author(resignations, players, (int, bytes, bytes))
    for author, (left, place, signature) in gone.items():
        if left < FORMED:
            raise MalformedPurseError("the end of a match with a resignation before it was formed")
        check(Message(match, left, place, author, Kind.RESIGN, ()), signature)
    for author, (signature,) in signed.items():
        check(Message(match, step, tip, author, Kind.RESULT, result_hash(state, account_data)), signature)
    staying = set(range(players)) - gone.keys()
    if 2 * len(staying & signed.keys()) <= len(staying):
        raise MalformedPurseError("the end of a match that too few of its players have signed")
    return End(genesis, match, account, bets)


def _read_stakes(
    genesis: Genesis, match: bytes, value: tuple[Value, ...], check: Callable[[Message, bytes], None]
) -> dict[int, tuple[int, int]]:
    """Return the coins and run tickets of the STAKEs by author, after checking signatures and funds."""
    if not value:
        return {}
    step, tip, each = parts(value, "the stakes of a match", is_number, is_id, is_array)
    stakes = _by_author(each, len(genesis.roster), (int, int, bytes, bytes))
    for author, (bet, tickets, salt, signature) in stakes.items():
        held = genesis.funds(author)
        if bet > held[0] or tickets > held[1]:
            raise MalformedPurseError("the end of a match with a stake above funds")
        check(Message(match, step, tip, author, Kind.STAKE, (bet, tickets, salt)), signature)
    return {author: (bet, tickets) for author, (bet, tickets, *_) in stakes.items()}


def _read_signed(data: bytes, signature: bytes, key: PublicKey) -> Signed:
    """Return a message that this key has signed, after checking its form as in a match.

    :raises MalformedPurseError: if it has another form or signature.
    """
    try:
        signed = parse_signed(data, signature)
    except MalformedMessageError as error:
        raise MalformedPurseError(f"a message that cannot be read: {error}") from None
    if not key.verifies(signature, data):
        raise MalformedPurseError("a message with a signature that is wrong")
    return signed


def _is_byte_string(value: object) -> bool:
    return type(value) is bytes


def _by_author(value: tuple[Value, ...], players: int, types: tuple[type, ...]) -> dict[int, tuple[Any, ...]]:
    """Return the fields listed for each author; the last field is a signature.

    :raises MalformedPurseError: if the authors are not in ascending order, or a field has the wrong type or length.
    """
    found: dict[int, tuple[Any, ...]] = {}
    for each in value:
        if type(each) is not tuple or tuple(map(type, each)) != (int, *types):
            raise MalformedPurseError("the evidence of an end has the wrong form")
        author, *rest = cast("tuple[Any, ...]", each)
        if not max(found, default=-1) < author < players or len(rest[-1]) != SIGNATURE_BYTES:
            raise MalformedPurseError("the players in the evidence of an end are out of order")
        found[author] = tuple(rest)
    return found


# LEDGER: [join record, ledger, evidence, stake]


class Shown(NamedTuple):
    """A purse as its owner shows it to others. The owner has signed all of it, so anybody may pass it on."""

    record: JoinRecord
    """The owner's join record, which names the head of the ledger."""
    purse: Purse
    evidence: Value = ()
    """The evidence of the owner's last match that ended with enough RESULTs; empty if there is none. When a purse is
    handed back, the evidence of the match in which the STAKE was signed."""
    end: End | None = None
    """The end that the evidence proves."""
    stake: Signed | None = None
    """A STAKE that the owner signed in a match missing from the ledger."""

    @property
    def owner(self) -> bytes:
        """The owner's identity key."""
        return self.purse.owner

    @property
    def staked(self) -> Staked | None:
        return None if self.stake is None else (self.stake.message.match[:MATCH_BYTES], *stake_in(self.stake))

    @property
    def wire(self) -> tuple[Value, Value, Value, Value]:
        """The fields of the LEDGER frame."""
        return self.record.wire, self.purse.wire, self.evidence, () if self.stake is None else self.stake.wire


def read_shown(record: Value, ledger: Value, evidence: Value, stake: Value) -> Shown:
    """Return what the fields of a LEDGER frame show, after checking that the owner signed it and that the purse is
    consistent.

    :raises MalformedPurseError: if a check fails; the message gives the reason.
    """
    try:
        joining = parse_join_record(record)
    except MalformedGenesisError as error:
        raise MalformedPurseError(str(error)) from None
    purse = parse_purse(joining.join.identity, ledger)
    if joining.join.head != purse.head:
        raise MalformedPurseError("the purse does not end as its owner has signed")
    end = None if evidence == () else read_evidence(evidence)
    _check_gains(purse, end)
    return Shown(joining, purse, evidence, end, None if stake == () else _read_stake(joining, purse, stake))


def _check_gains(purse: Purse, end: End | None) -> None:
    """Check that the evidence confirms each gain. Gains older than the evidence were checked in earlier matches.

    :raises MalformedPurseError: if it does not.
    """
    checked = purse.states[0].height
    if end is not None:
        author = end.author(purse.owner)
        head = None if author is None else end.genesis.roster[author].join.head
        if author is None or head is None or head.era != purse.era:
            raise MalformedPurseError("the evidence is of a match that was not played with this purse")
        if head.height >= checked:
            state = purse.at(head.height)
            if state is None or state[:4] != head[1:]:
                raise MalformedPurseError("the evidence is of a match that another purse was brought to")
            record = purse.record_after(head.height)
            if record is not None and not record.is_loss:
                stake = record.bet, record.tickets
                if end.stakes.get(author, stake) != stake or end.record(author, stake) != record:
                    raise MalformedPurseError("the purse records another end of a match than the evidence")
            checked = head.height + (record is not None)
    for height, record in enumerate(purse.records, purse.states[0].height):
        if height >= checked and not record.is_loss:
            raise MalformedPurseError("the purse has grown in a match without evidence of its end")


def _read_stake(joining: JoinRecord, purse: Purse, value: Value) -> Signed:
    data, signature = parts(value, "a stake", _is_byte_string, _is_byte_string)
    signed = _read_signed(data, signature, PublicKey(joining.join.match_key))
    is_stake = signed.message.kind == Kind.STAKE and all(map(is_amount, stake_in(signed)))
    is_next = all(record.match != signed.message.match[:MATCH_BYTES] for record in purse.records)
    if is_stake and is_next:
        return signed
    raise MalformedPurseError("not a STAKE, or one in a match that the purse already records")
