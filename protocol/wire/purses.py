"""Purses byte for byte: the entries of their chains, and a purse as its owner brings it to a table.

A purse holds the coins, run tickets and Twin Souls of one player. It is a chain of entries, each signed by the key of
the purse and naming the one before. :mod:`protocol.consensus.purse_proofs` says which chains are right.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, cast

from p2pdice import NEWCOMER_COINS
from p2pdice.moves import MAX_COINS
from protocol.crypto.hashing import HASH_BYTES, tagged_hash
from protocol.crypto.keys import KEY_BYTES, SIGNATURE_BYTES, PublicKey, PurseKey
from protocol.errors import PeerError
from protocol.limits import FROZEN, MESSAGE, SOUL_BYTES, SOULS
from protocol.version import tag
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode

ENTRY_TAG: Final = tag("purse")
HEIGHTS: Final = 2**32


class MalformedPurseError(PeerError, ValueError):
    """The bytes are not those of a purse, or break one of its rules. The text says which."""


def decode_shown(data: bytes, what: str) -> Value:
    """Return what somebody has encoded.

    :param what: names the bytes; the text of the error begins with it.
    :raises MalformedPurseError: if they are no encoding.
    """
    try:
        return decode(data)
    except NotCanonicalError as error:
        raise MalformedPurseError(f"{what} cannot be read: {error}") from None


def beginning(name: str, parts: int) -> bytes:
    """Return the first bytes of every encoded array of so many parts with this tag in front: its head, and the tag."""
    return encode((name, *(0,) * (parts - 1)))[: 1 + len(encode(name))]


class Frozen(NamedTuple):
    """A stake in a match that is not settled."""

    match: bytes
    bet: int
    tickets: int
    height: int
    """Of the FREEZE."""


class Purse(NamedTuple):
    """The state of a purse after one of its entries: what stands in a join record."""

    key: bytes
    height: int
    """Of the last entry; the first has height 0."""
    head: bytes
    """Id of the last entry."""
    balance: int
    """Coins, frozen ones included."""
    frozen: tuple[Frozen, ...] = ()
    """By match id, ascending."""
    tickets: int = 0
    """Run tickets, frozen ones included."""
    souls: tuple[tuple[str, int], ...] = ()
    """How many Twin Souls of each name, by name."""

    @property
    def funds(self) -> int:
        """The coins that can be bet."""
        return self.balance - sum(each.bet for each in self.frozen)

    @property
    def free_tickets(self) -> int:
        """The run tickets that can be staked."""
        return self.tickets - sum(each.tickets for each in self.frozen)

    @property
    def wire(self) -> tuple[Value, ...]:
        """The value that a join record shows."""
        return (*self[:4], tuple((*each,) for each in self.frozen), self.tickets, self.souls)

    def frozen_for(self, match: bytes) -> Frozen | None:
        """Return the stake in a match that is not settled."""
        return next((each for each in self.frozen if each.match == match), None)


def parse_purse(value: Value) -> Purse:
    """Return the purse that these parts show.

    :raises MalformedPurseError: if its form or its numbers are impossible.
    """
    if type(value) is not tuple or len(value) != len(Purse._fields):
        raise MalformedPurseError("a purse has seven parts")
    key, height, head, balance, frozen, tickets, souls = value
    if not (is_bytes(key, KEY_BYTES) and is_bytes(head, HASH_BYTES) and is_number(height, HEIGHTS - 1)):
        raise MalformedPurseError("the head of a purse has the wrong form")
    if not (is_number(balance) and is_number(tickets) and type(frozen) is tuple and type(souls) is tuple):
        raise MalformedPurseError("what a purse holds has the wrong form")
    purse = Purse(
        cast("bytes", key),
        cast("int", height),
        cast("bytes", head),
        cast("int", balance),
        tuple(_parse_frozen(each) for each in frozen),
        cast("int", tickets),
        tuple(_parse_soul(each) for each in souls),
    )
    matches, names = [each.match for each in purse.frozen], [name for name, _ in purse.souls]
    if len(matches) > FROZEN or matches != sorted(set(matches)):
        raise MalformedPurseError(f"a purse has at most {FROZEN} frozen stakes, in order")
    if len(names) > SOULS or names != sorted(set(names)):
        raise MalformedPurseError(f"a purse has at most {SOULS} kinds of Twin Souls, in order")
    if purse.funds < 0 or purse.free_tickets < 0:
        raise MalformedPurseError("more of a purse is frozen than it holds")
    return purse


def parse_brought(value: Value) -> Purse:
    """Return the purse that a join record shows, which can take another FREEZE.

    :raises MalformedPurseError: if its form or its numbers are impossible.
    """
    purse = parse_purse(value)
    if purse.height >= HEIGHTS - 1 or len(purse.frozen) >= FROZEN:
        raise MalformedPurseError("a purse in which nothing more can be frozen")
    return purse


def _parse_frozen(value: Value) -> Frozen:
    match value:
        case (bytes() as name, int() as bet, int() as tickets, int() as height) if (
            len(name) == HASH_BYTES and is_number(bet) and is_number(tickets) and is_number(height, HEIGHTS - 1)
        ):
            return Frozen(name, bet, tickets, height)
    raise MalformedPurseError("a frozen stake has the wrong form")


def _parse_soul(value: Value) -> tuple[str, int]:
    match value:
        case (str() as name, int() as number) if is_soul(name) and name and is_number(number) and number:
            return name, number
    raise MalformedPurseError("a Twin Soul has the wrong form")


def is_soul(name: str) -> bool:
    """Tell whether a text can be the name of a Twin Soul, or of none."""
    return len(name.encode()) <= SOUL_BYTES


def is_bytes(value: object, size: int) -> bool:
    """Tell whether a value is a byte string of this length."""
    return type(value) is bytes and len(value) == size


def is_number(value: object, most: int = MAX_COINS) -> bool:
    """Tell whether a value is a whole number from 0 to ``most``."""
    return type(value) is int and 0 <= value <= most


class EntryKind(IntEnum):
    """What an entry does. The numbers are those on the wire."""

    OPENING = 1
    FREEZE = 2
    SETTLEMENT = 3
    VOID = 4
    FORFEIT = 5


class Opening(NamedTuple):
    """The purse begins."""

    identity: bytes
    grant: int
    """The coins of a newcomer, or 0 after another purse of the same owner."""


class Freeze(NamedTuple):
    """A stake was opened in a match."""

    match: bytes
    bet: int
    tickets: int


class Settled(NamedTuple):
    """A match is over, and what it changed is added."""

    match: bytes
    result: bytes
    """The body of the RESULTs."""
    change: int
    ticket_change: int
    soul: str
    """Name of the Twin Soul that was won; empty for none."""
    balance: int
    """Coins after it."""
    tickets: int
    """Run tickets after it."""


class Void(NamedTuple):
    """A match is void, as all its players have signed: the stake comes back."""

    match: bytes


class Forfeit(NamedTuple):
    """The owner gives up the stake in a match."""

    match: bytes


Body = Opening | Freeze | Settled | Void | Forfeit
_KINDS: Final[dict[type[Body], EntryKind]] = {
    Opening: EntryKind.OPENING,
    Freeze: EntryKind.FREEZE,
    Settled: EntryKind.SETTLEMENT,
    Void: EntryKind.VOID,
    Forfeit: EntryKind.FORFEIT,
}


class Entry(NamedTuple):
    """A link of the chain."""

    purse: bytes
    height: int
    predecessor: bytes
    """Id of the entry before; empty at height 0."""
    body: Body

    @property
    def kind(self) -> EntryKind:
        """What it does."""
        return _KINDS[type(self.body)]

    def encoded(self) -> bytes:
        """Return the bytes that are signed."""
        return encode((ENTRY_TAG, self.purse, self.height, self.predecessor, int(self.kind), tuple(self.body)))


class SignedEntry(NamedTuple):
    """An entry with the signature of its purse."""

    data: bytes
    signature: bytes
    entry: Entry
    id: bytes

    @property
    def wire(self) -> tuple[bytes, bytes]:
        """The pair that proofs and the store hold."""
        return self.data, self.signature


def following(purse: Purse, body: Body) -> Entry:
    """Return the entry with this body that comes next."""
    return Entry(purse.key, purse.height + 1, purse.head, body)


def entry_id(data: bytes) -> bytes:
    """Return the id of the entry with these signed bytes."""
    return tagged_hash("purse-entry", data)


def sign_entry(entry: Entry, key: PurseKey) -> SignedEntry:
    """Return an entry signed by its purse."""
    data = entry.encoded()
    return SignedEntry(data, key.sign(data), entry, entry_id(data))


def verified(entry: Entry, signature: bytes) -> SignedEntry | None:
    """Return an entry that others know, with its signature; None if that is wrong."""
    data = entry.encoded()
    if not PublicKey(entry.purse).verifies(signature, data):
        return None
    return SignedEntry(data, signature, entry, entry_id(data))


def parse_entry(data: bytes, signature: bytes) -> SignedEntry:
    """Return the entry that these bytes spell, its form and its signature checked.

    :raises MalformedPurseError: if one of them is wrong.
    """
    if len(data) > MESSAGE:
        raise MalformedPurseError("no entry of a purse is so long")
    fields = decode_shown(data, "an entry of a purse")
    if type(fields) is not tuple or len(fields) != 6 or fields[0] != ENTRY_TAG:
        raise MalformedPurseError("not an entry of a purse")
    _, purse, height, predecessor, kind, values = fields
    if not is_bytes(purse, KEY_BYTES) or not is_number(height, HEIGHTS - 1):
        raise MalformedPurseError("an entry of a purse has the wrong form")
    if not is_bytes(predecessor, HASH_BYTES if height else 0):
        raise MalformedPurseError("an entry of a purse names no predecessor, or the first one does")
    entry = Entry(cast("bytes", purse), cast("int", height), cast("bytes", predecessor), parse_body(kind, values))
    if (entry.kind is EntryKind.OPENING) != (height == 0):
        raise MalformedPurseError("the first entry of a purse opens it, and no other does")
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedPurseError(f"a signature has {SIGNATURE_BYTES} bytes")
    try:
        key = PublicKey(entry.purse)
    except ValueError as error:
        raise MalformedPurseError(str(error)) from None
    if not key.verifies(signature, data):
        raise MalformedPurseError("the signature of an entry of a purse is wrong")
    return SignedEntry(data, signature, entry, entry_id(data))


def parse_body(kind: Value, values: Value) -> Body:
    """Return what an entry of this kind does.

    :raises MalformedPurseError: if there is no such kind, or the values are not its.
    """
    match kind, values:
        case EntryKind.OPENING, (bytes() as identity, int() as grant) if len(identity) == KEY_BYTES:
            if grant in (0, NEWCOMER_COINS):
                return Opening(identity, grant)
        case EntryKind.FREEZE, (bytes() as match, int() as bet, int() as tickets) if len(match) == HASH_BYTES:
            if is_number(bet) and is_number(tickets):
                return Freeze(match, bet, tickets)
        case EntryKind.SETTLEMENT, (
            bytes() as match,
            bytes() as result,
            int() as change,
            int() as ticket_change,
            str() as soul,
            int() as balance,
            int() as tickets,
        ) if len(match) == len(result) == HASH_BYTES and is_soul(soul):
            if all(map(is_number, (abs(change), abs(ticket_change), balance, tickets))):
                return Settled(match, result, change, ticket_change, soul, balance, tickets)
        case EntryKind.VOID, (bytes() as match,) if len(match) == HASH_BYTES:
            return Void(match)
        case EntryKind.FORFEIT, (bytes() as match,) if len(match) == HASH_BYTES:
            return Forfeit(match)
    raise MalformedPurseError("an entry of a purse has the wrong form")
