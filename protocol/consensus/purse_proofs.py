"""Chains of purses: the one fold over their entries, and the proofs in which others are shown them.

A proof begins where a purse was opened, or with the join record of a match whose players have signed its end: before
they signed the genesis, they had checked the purse in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple, cast

from p2pdice.moves import MAX_COINS
from protocol.consensus.settlements import Ended, read_evidence
from protocol.consensus.voids import check_void
from protocol.limits import FROZEN, PURSE, SOULS
from protocol.version import tag
from protocol.wire.canonical import Value, encode
from protocol.wire.genesis import Genesis, MalformedGenesisError, parse_genesis
from protocol.wire.purses import (
    Entry,
    EntryKind,
    Forfeit,
    Freeze,
    Frozen,
    MalformedPurseError,
    Opening,
    Purse,
    Settled,
    SignedEntry,
    Void,
    beginning,
    decode_shown,
    following,
    parse_entry,
)

PROOF_TAG: Final = tag("purse-proof")
FORK_TAG: Final = tag("purse-fork")
END_TAG: Final = tag("purse-end")


# The fold


def after(purse: Purse | None, signed: SignedEntry) -> Purse:
    """Return a purse after another entry; its evidence is not asked for.

    :param purse: as it was before; None before the first entry.
    :raises MalformedPurseError: if the entry does not follow, or is not allowed there.
    """
    entry = signed.entry
    body = entry.body
    if isinstance(body, Opening):
        if purse is not None:
            raise MalformedPurseError("a purse is opened twice")
        return Purse(entry.purse, 0, signed.id, body.grant)
    if purse is None or entry != following(purse, body):
        raise MalformedPurseError("an entry of a purse does not follow the one before")
    if isinstance(body, Freeze):
        return _advance(_freeze(purse, body, entry.height), signed)
    stake = purse.frozen_for(body.match)
    if stake is None:
        raise MalformedPurseError("an entry of a purse is for a match without a frozen stake")
    freed = purse._replace(frozen=tuple(each for each in purse.frozen if each is not stake))
    if isinstance(body, Forfeit):
        freed = freed._replace(balance=freed.balance - stake.bet, tickets=freed.tickets - stake.tickets)
    elif isinstance(body, Settled):
        freed = _settle(freed, body)
    return _advance(freed, signed)


def _advance(purse: Purse, signed: SignedEntry) -> Purse:
    return purse._replace(height=signed.entry.height, head=signed.id)


def _freeze(purse: Purse, body: Freeze, height: int) -> Purse:
    if purse.frozen_for(body.match) is not None:
        raise MalformedPurseError("a purse has frozen two stakes in one match")
    if body.bet > purse.funds or body.tickets > purse.free_tickets:
        raise MalformedPurseError("a purse has frozen more than its funds")
    if len(purse.frozen) >= FROZEN:
        raise MalformedPurseError(f"a purse has frozen more than {FROZEN} stakes")
    return purse._replace(frozen=tuple(sorted((*purse.frozen, Frozen(*body, height)))))


def _settle(purse: Purse, body: Settled) -> Purse:
    changed = purse._replace(
        balance=min(purse.balance + body.change, MAX_COINS), tickets=min(purse.tickets + body.ticket_change, MAX_COINS)
    )
    if (changed.balance, changed.tickets) != (body.balance, body.tickets):
        raise MalformedPurseError("the sums of a settlement are wrong")
    if not body.soul:
        return changed
    souls = dict(purse.souls)
    if body.soul in souls or len(souls) < SOULS:
        souls[body.soul] = min(souls.get(body.soul, 0) + 1, MAX_COINS)
    return changed._replace(souls=tuple(sorted(souls.items())))


def settlement(purse: Purse, ended: Ended) -> Entry:
    """Return the entry that settles a match in a purse.

    :raises MalformedPurseError: if nothing is frozen for it, or something else.
    """
    author, brought = _brought(purse.key, ended.genesis)
    stake = stake_in(purse, ended.match, brought)
    # A stake that came too late, so that its owner was voted absent, is frozen and not in the match: it comes back.
    if ended.has_staked[author] and (stake.bet, stake.tickets) != ended.account.bets[author]:
        raise MalformedPurseError("a match in which the purse has no such stake")
    change, ticket_change, soul = ended.account.changes(ended.genesis, author)
    balance, tickets = min(purse.balance + change, MAX_COINS), min(purse.tickets + ticket_change, MAX_COINS)
    return following(purse, Settled(ended.match, ended.result, change, ticket_change, soul, balance, tickets))


def stake_in(purse: Purse, match: bytes, brought: Purse) -> Frozen:
    """Return what is frozen in a purse for a match to which it was brought.

    There is one height at which that can be frozen: the next after the one that was brought. So what is frozen for a
    match once more, after it was settled or void, is never free again.

    :raises MalformedPurseError: if nothing is frozen, or not there.
    """
    stake = purse.frozen_for(match)
    if stake is None or stake.height != brought.height + 1:
        raise MalformedPurseError("a match in which the purse has no such stake")
    return stake


def _brought(key: bytes, genesis: Genesis) -> tuple[int, Purse]:
    for author, record in enumerate(genesis.roster):
        if record.join.purse is not None and record.join.purse.key == key:
            return author, record.join.purse
    raise MalformedPurseError("a settlement of a match without this purse")


# Proofs


class Shown(NamedTuple):
    """A purse as a proof shows it."""

    identity: bytes
    """Its owner."""
    purse: Purse
    """At its head."""
    entries: tuple[SignedEntry, ...]
    evidence: tuple[bytes, ...]
    """One for each SETTLEMENT and VOID among the entries."""
    links: tuple[bytes, ...] = ()
    """Ids of entries before the first, in their order up to it, if they came with the proof."""

    @property
    def grant(self) -> int | None:
        """The coins with which it was opened; None if the proof begins later."""
        body = self.entries[0].entry.body
        return body.grant if isinstance(body, Opening) else None

    @property
    def first(self) -> int:
        """Height of the first entry."""
        return self.entries[0].entry.height

    @property
    def reach(self) -> int:
        """Height of the earliest entry whose id is shown; −1 if the chain is shown from its beginning."""
        return self.first - max(len(self.links), 1)

    def encoded(self) -> bytes:
        """Return the proof."""
        return encode_proof(self.entries, self.evidence)


def encode_proof(entries: Iterable[SignedEntry], evidence: tuple[bytes, ...]) -> bytes:
    """Return the proof that has these parts."""
    return encode((PROOF_TAG, tuple(signed.wire for signed in entries), evidence))


def begins_at(key: bytes, genesis: Genesis) -> int:
    """Return the height of a purse in its join record: a proof can begin after it, if the match is settled."""
    _, brought = _brought(key, genesis)
    return brought.height


def genesis_of(evidence: bytes) -> Genesis:
    """Return the genesis of a match, from evidence of its end that was checked before: no signature is checked again.

    :raises MalformedPurseError: if it has been damaged since.
    """
    match decode_shown(evidence, "the evidence of a match"):
        case (bytes() as genesis_data, *_):
            with suppress(MalformedGenesisError):
                return parse_genesis(genesis_data)
    raise MalformedPurseError("no evidence of the end of a match")


def needs_evidence(signed: SignedEntry) -> bool:
    """Tell whether a proof has evidence for an entry."""
    return signed.entry.kind in (EntryKind.SETTLEMENT, EntryKind.VOID)


def read_proof(data: bytes) -> Shown:
    """Return the purse that a proof shows, all of it checked.

    :raises MalformedPurseError: if it is no proof, or what it shows is not right.
    """
    match _decoded(data):
        case (str() as name, tuple() as entries, tuple() as evidence) if name == PROOF_TAG and entries:
            if all(type(each) is bytes for each in evidence):
                return _follow(tuple(map(_entry, entries)), cast("tuple[bytes, ...]", evidence))
    raise MalformedPurseError("not the proof of a purse")


def _follow(entries: tuple[SignedEntry, ...], evidence: tuple[bytes, ...]) -> Shown:
    first = entries[0].entry
    needing = [signed.entry for signed in entries if isinstance(signed.entry.body, Settled | Void)]
    if len(needing) != len(evidence):
        raise MalformedPurseError("the proof of a purse lacks evidence, or has too much")
    ends = [
        read_evidence(each) if isinstance(entry.body, Settled) else None
        for entry, each in zip(needing, evidence, strict=True)
    ]
    purse: Purse | None = None
    if isinstance(first.body, Opening):
        identity = first.body.identity
    else:
        brought = [record.join for ended in ends if ended is not None for record in ended.genesis.roster]
        join = next((each for each in brought if _is_before(each.purse, first)), None)
        if join is None:
            raise MalformedPurseError("the proof of a purse begins after something that nobody has signed")
        purse, identity = join.purse, join.identity
    rest = iter(zip(evidence, ends, strict=True))
    for signed in entries:
        body = signed.entry.body
        if isinstance(body, Settled | Void):
            proof, ended = next(rest)
            if purse is None:
                raise MalformedPurseError("a purse begins with the end of a match")
            if ended is None:
                stake_in(purse, body.match, check_void(proof, body.match, first.purse))
            elif settlement(purse, ended) != signed.entry:
                raise MalformedPurseError("a settlement that differs from the account of its match")
        purse = after(purse, signed)
    assert purse is not None
    return Shown(identity, purse, entries, evidence)


def _is_before(purse: Purse | None, first: Entry) -> bool:
    return purse is not None and following(purse, first.body) == first


def _entry(value: Value) -> SignedEntry:
    match value:
        case (bytes() as data, bytes() as signature):
            return parse_entry(data, signature)
    raise MalformedPurseError("an entry of a purse is not a pair")


def _decoded(data: bytes) -> Value:
    if len(data) > PURSE:
        raise MalformedPurseError(f"a proof, fork or end has at most {PURSE} bytes")
    return decode_shown(data, "a proof, fork or end")


# Two proofs of one purse


class Relation(Enum):
    """How what is shown of a purse stands to what is known of it."""

    SAME = "same"
    NEWER = "newer"
    GAP = "gap"
    """It goes further, and does not show that it goes on from what is known."""
    OLDER = "older"
    FORK = "fork"


Fork = tuple[SignedEntry, SignedEntry]
"""Two entries of one purse that cannot be in one chain."""


def fork_of(known: Sequence[SignedEntry], shown: Sequence[SignedEntry]) -> Fork | None:
    """Return two entries that cannot be in one chain, if there are any."""
    at = {signed.entry.height: signed for signed in known}
    for signed in shown:
        for height in (signed.entry.height - 1, signed.entry.height, signed.entry.height + 1):
            other = at.get(height)
            if other is not None and _contradict(other, signed):
                return other, signed
    return None


def _contradict(one: SignedEntry, other: SignedEntry) -> bool:
    first, second = sorted((one, other), key=lambda signed: signed.entry.height)
    if first.entry.purse != second.entry.purse:
        return False
    if first.entry.height == second.entry.height:
        return first.id != second.id
    return first.entry.height + 1 == second.entry.height and second.entry.predecessor != first.id


def compare(known: Shown, shown: Shown) -> Relation:
    """Tell how two proofs of one purse stand to each other.

    :raises MalformedPurseError: if what is shown goes on from something else than what is known.
    """
    if fork_of(known.entries, shown.entries) is not None:
        return Relation.FORK
    height = known.purse.height
    if height >= shown.purse.height:
        return Relation.SAME if height == shown.purse.height else Relation.OLDER
    if height < shown.reach:
        return Relation.GAP
    if height < shown.first and shown.links and shown.links[height - shown.reach] != known.purse.head:
        raise MalformedPurseError("the purse does not go on from what is known of it here")
    return Relation.NEWER


def write_fork(fork: Fork) -> bytes:
    """Return two entries that end their purse, for others to see."""
    return encode((FORK_TAG, fork[0].wire, fork[1].wire))


def read_fork(data: bytes) -> Fork:
    """Return two entries that end their purse.

    :raises MalformedPurseError: if they do not.
    """
    match _decoded(data):
        case (str() as name, tuple() as one, tuple() as other) if name == FORK_TAG:
            fork = _entry(one), _entry(other)
            if _contradict(*fork):
                return fork
    raise MalformedPurseError("two entries that do not end a purse")


def is_fork(data: bytes) -> bool:
    """Tell whether these bytes claim to be a fork, not a proof."""
    return data.startswith(_FORK)


_FORK: Final = beginning(FORK_TAG, 3)


# The end of a match that an owner lacks


class End(NamedTuple):
    """The end of a match to which a purse was brought, for an owner who has lost it."""

    key: bytes
    """Of the purse."""
    kind: EntryKind
    """A SETTLEMENT, or a VOID."""
    match: bytes
    evidence: bytes
    """That of any of its players."""

    def encoded(self) -> bytes:
        """Return the bytes."""
        return encode((END_TAG, self.key, int(self.kind), self.match, self.evidence))


def read_end(data: bytes) -> End:
    """Return the end of a match for the owner of a purse, all of it checked.

    :raises MalformedPurseError: if it is none, or the purse was not brought to that match.
    """
    match _decoded(data):
        case (str() as name, bytes() as key, int() as kind, bytes() as played, bytes() as evidence) if name == END_TAG:
            if kind == EntryKind.VOID:
                check_void(evidence, played, key)
                return End(key, EntryKind.VOID, played, evidence)
            if kind == EntryKind.SETTLEMENT:
                ended = read_evidence(evidence)
                _brought(key, ended.genesis)
                if ended.match == played:
                    return End(key, EntryKind.SETTLEMENT, played, evidence)
    raise MalformedPurseError("not the end of a match for a purse")


def is_end(data: bytes) -> bool:
    """Tell whether these bytes claim to be the end of a match."""
    return data.startswith(_END)


_END: Final = beginning(END_TAG, 5)
