"""Evidence of what a match changes in the purses of its players, which others than its players accept.

Each bet is frozen by its own purse, so nobody can invent the coins of others. The RESULTs of more than half of those
who did not resign tell the winner.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any, Final, NamedTuple, cast

from protocol.consensus.accounts import Account, account_of, parse_account, result_hash
from protocol.consensus.history import History
from protocol.consensus.kinds import RULES
from protocol.consensus.kinds.lock import state_hash
from protocol.consensus.position import Purpose
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import SIGNATURE_BYTES, PublicKey
from protocol.limits import PURSE, STEPS
from protocol.wire.canonical import Value, encode
from protocol.wire.genesis import Genesis, MalformedGenesisError, match_id, parse_genesis
from protocol.wire.messages import Kind, Message
from protocol.wire.purses import Freeze, MalformedPurseError, decode_shown, following, is_number, verified

_FIRST_RESIGN: Final = 2
"""Before this step a RESIGN declines the match, which then may never have been formed."""


class Evidence(NamedTuple):
    """Everything that shows the end of a match to others. A proof holds it as an encoded array."""

    genesis: bytes
    step: int
    """Of the RESULTs."""
    tip: bytes
    state: bytes
    """Hash of the last state."""
    account: bytes
    freezes: tuple[bytes, ...]
    """By roster index: the purse's signature in the STAKE, or nothing if the stake did not count."""
    results: tuple[tuple[int, bytes], ...]
    """Authors of RESULTs, and their signatures."""
    resignations: tuple[tuple[int, int, bytes, bytes], ...]
    """Authors of RESIGNs, step and tip, and their signatures."""

    def encoded(self) -> bytes:
        """Return the bytes."""
        return encode(tuple(self))


class Stake(NamedTuple):
    """A stake that was opened in a match with purses."""

    freeze: Freeze
    signature: bytes
    """Of the purse."""


def stakes_of(history: History) -> dict[int, Stake]:
    """Return the stakes that were opened in a match with purses, by author; those of the open step, too."""
    closed = (after.entries for before, after in pairwise(history.chain) if before.purpose is Purpose.STAKES)
    found = {}
    for author, signed in chain.from_iterable(messages.items() for messages in (*closed, history.held)):
        if (frozen := RULES[signed.message.kind].frozen(signed.message.body)) is not None:
            found[author] = Stake(Freeze(history.match, *frozen[:2]), frozen[2])
    return found


def gather(history: History) -> Evidence | None:
    """Return the evidence of a match that is over and has purses; None if too few have signed its end."""
    position, results = history.position, history.results
    if position.kind is not None or not history.genesis.has_purses:
        return None
    assert position.state is not None
    resigned = {
        signed.message.author: signed
        for each in history.chain[_FIRST_RESIGN + 1 :]
        for signed in each.entries.values()
        if signed.message.kind == Kind.RESIGN and signed.message.author not in results
    }
    if len(results) <= (history.roster_size - len(resigned)) // 2:
        return None
    account = account_of(position.seats, position.state)
    # A stake that was opened in a step that never closed is in no bet. It is frozen, and comes back.
    freezes = {
        author: stake.signature
        for author, stake in stakes_of(history).items()
        if (stake.freeze.bet, stake.freeze.tickets) == account.bets[author]
    }
    return Evidence(
        history.genesis_data,
        position.step,
        position.tip,
        state_hash(position.state),
        account.encoded(),
        tuple(freezes.get(author, b"") for author in range(history.roster_size)),
        tuple((author, results[author].signature) for author in sorted(results)),
        tuple(
            (author, signed.message.step, signed.message.tip, signed.signature)
            for author, signed in sorted(resigned.items())
        ),
    )


class Ended(NamedTuple):
    """The end of a match that evidence has shown."""

    genesis: Genesis
    match: bytes
    account: Account
    result: bytes
    """Body of the RESULTs."""
    has_staked: tuple[bool, ...]
    """By roster index: whether the purse has frozen a stake."""


def read_evidence(data: bytes) -> Ended:
    """Return the end of the match that this is evidence of.

    :raises MalformedPurseError: if it is none. The text says why.
    """
    if len(data) > PURSE:
        raise MalformedPurseError("the evidence of a settlement is too long")
    evidence = _parse(data)
    try:
        genesis = parse_genesis(evidence.genesis)
    except MalformedGenesisError as error:
        raise MalformedPurseError(f"a settlement of a match that cannot be: {error}") from None
    if not genesis.has_purses:
        raise MalformedPurseError("a settlement of a match without purses")
    match, players = match_id(evidence.genesis), len(genesis.roster)
    account = parse_account(evidence.account, players)
    if len(evidence.freezes) != players:
        raise MalformedPurseError("the stakes of a settlement are not those of its players")
    for author, signature in enumerate(evidence.freezes):
        _check_stake(genesis, match, author, account.bets[author], signature)
    result = result_hash(evidence.state, evidence.account)
    keys = [PublicKey(record.join.match_key) for record in genesis.roster]
    gone = [author for author, *_ in evidence.resignations]
    signed = [author for author, _ in evidence.results]
    for authors in (gone, signed):
        if authors != sorted(set(authors)) or not all(0 <= author < players for author in authors):
            raise MalformedPurseError("the players of a settlement are out of order")
    for author, step, tip, signature in evidence.resignations:
        said = Message(match, step, tip, author, Kind.RESIGN, ())
        if step < _FIRST_RESIGN or not keys[author].verifies(signature, said.encoded()):
            raise MalformedPurseError("a settlement with a resignation that was not signed")
    for author, signature in evidence.results:
        said = Message(match, evidence.step, evidence.tip, author, Kind.RESULT, result)
        if not keys[author].verifies(signature, said.encoded()):
            raise MalformedPurseError("a settlement with a result that was not signed")
    staying = set(range(players)) - set(gone)
    if len(staying & set(signed)) <= len(staying) // 2:
        raise MalformedPurseError("a settlement that too few players of its match have signed")
    return Ended(genesis, match, account, result, tuple(map(bool, evidence.freezes)))


def _check_stake(genesis: Genesis, match: bytes, author: int, stake: tuple[int, int], signature: bytes) -> None:
    purse = genesis.roster[author].join.purse
    assert purse is not None
    if not signature and stake == (0, 0):
        return
    if verified(following(purse, Freeze(match, *stake)), signature) is None:
        raise MalformedPurseError("a settlement with a stake that no purse has frozen")
    if any(part > held for part, held in zip(stake, genesis.holdings(author), strict=True)):
        raise MalformedPurseError("a settlement with a stake above funds")


def _parse(data: bytes) -> Evidence:
    match value := decode_shown(data, "the evidence of a settlement"):
        case (
            bytes(),
            int() as step,
            bytes() as tip,
            bytes() as state,
            bytes(),
            tuple() as freezes,
            tuple() as results,
            tuple() as resignations,
        ) if (
            is_number(step, STEPS - 1)
            and len(tip) == len(state) == HASH_BYTES
            and all(type(each) is bytes and len(each) in (0, SIGNATURE_BYTES) for each in freezes)
            and all(_fits(each, (int, bytes)) for each in results)
            and all(_fits(each, (int, int, bytes, bytes)) for each in resignations)
        ):
            evidence = Evidence(*cast("Any", value))
            if all(len(tip) == HASH_BYTES and is_number(step, STEPS - 1) for _, step, tip, _ in evidence.resignations):
                return evidence
    raise MalformedPurseError("the evidence of a settlement has the wrong form")


def _fits(value: Value, types: tuple[type, ...]) -> bool:
    return type(value) is tuple and tuple(map(type, value)) == types
