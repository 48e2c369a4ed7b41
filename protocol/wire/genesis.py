"""The genesis of a match: its players, rules and patience. Its hash is the match id, T_0.

Each player makes a *join record*: identity, fresh match key, nickname, addresses, fresh nonce, pledge and, in a match
with purses, the head of the player's purse. It has two signatures: the identity key certifies the match key, and the
match key proves that the player holds it. The host assembles the records, sorted by identity. Players sign a genesis
only if it contains their own record unaltered.

The id of a private table contains the hash of the secret in its join line. So every player can check a token, even
during a match and after a restart, without storing it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final, NamedTuple, cast

from p2pdice.errors import RulesError
from p2pdice.rulesets import Ruleset
from p2pdice.stakes import NEWCOMER_COINS, NEWCOMER_TICKETS
from protocol.crypto.hashing import HASH_BYTES, tagged_hash
from protocol.crypto.keys import KEY_BYTES, SIGNATURE_BYTES, Identity, MatchKey, PublicKey
from protocol.errors import PeerError
from protocol.limits import GENESIS, JOIN_ADDRESSES, PATIENCE_AUTOMATIC, PATIENCE_BOUNDS, PATIENCE_HUMAN, PLAYERS
from protocol.version import PROTOCOL_VERSION, tag
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.names import check_written
from protocol.wire.purses import Head, is_bytes, parse_head

GENESIS_TAG: Final = tag("genesis")
JOIN_TAG: Final = tag("join")
_BEGINNING: Final = re.compile(rb"\x95[\xa0-\xbf]p2pdice/([1-9][0-9]{0,3})/genesis")
"""The start of an array of five elements, the first of them a short text."""
NONCE_BYTES: Final = 32
PLEDGES: Final = ("redeemed", "cursed")


class MalformedGenesisError(PeerError, ValueError):
    """The bytes are not a join record or genesis, or break one of its rules. The message names the fault."""


class UnknownRulesError(MalformedGenesisError):
    """This version does not support these rules."""


class Patience(NamedTuple):
    """How long a node waits before it counts a player as silent, in seconds. The genesis fixes it for all players."""

    human: int = PATIENCE_HUMAN
    """For a choice by a person."""
    automatic: int = PATIENCE_AUTOMATIC
    """For a message that a program sends by itself."""


class Join(NamedTuple):
    """The statement that a player signs when joining a table."""

    table: bytes
    """Id of the table (16 bytes), so that the record cannot be used at another."""
    identity: bytes
    match_key: bytes
    nickname: str
    addresses: tuple[tuple[str, int], ...]
    """(host, port) pairs on which this player's node listens."""
    nonce: bytes
    pledge: str
    head: Head | None = None
    """The head of the purse brought to the match; None if the match has no purses."""

    def encoded(self) -> bytes:
        """Return the bytes that both keys sign."""
        return encode((JOIN_TAG, *self[:7], *(() if self.head is None else (tuple(self.head),))))


class JoinRecord(NamedTuple):
    """A join with its two signatures."""

    data: bytes
    identity_signature: bytes
    match_signature: bytes
    join: Join

    @property
    def wire(self) -> tuple[bytes, bytes, bytes]:
        """The three byte strings as sent and stored."""
        return self.data, self.identity_signature, self.match_signature


class Genesis(NamedTuple):
    """The start of a match, which every player signs first."""

    table: bytes
    ruleset: Ruleset
    patience: Patience
    roster: tuple[JoinRecord, ...]

    @property
    def has_purses(self) -> bool:
        """Whether the stakes come from purses, which are kept from match to match."""
        return self.roster[0].join.head is not None

    def funds(self, author: int) -> tuple[int, int]:
        """Return the coins that a player can bet, and the run tickets that the player can stake.

        :param author: roster index.
        """
        head = self.roster[author].join.head
        return (NEWCOMER_COINS, NEWCOMER_TICKETS) if head is None else (head.balance, head.tickets)

    def encoded(self) -> bytes:
        """Return the canonical encoding, whose hash is the match id."""
        roster = tuple(record.wire for record in self.roster)
        return encode((GENESIS_TAG, self.table, self.ruleset.options(), tuple(self.patience), roster))


def match_id(genesis_data: bytes) -> bytes:
    """Return T_0 of the match with this genesis, hashed by the genesis's own version of the protocol."""
    return tagged_hash("genesis", genesis_data, version=version_of(genesis_data))


def version_of(genesis_data: bytes) -> int:
    """Return the protocol version of a genesis, unverified; this program's version if the bytes are no genesis."""
    found = _BEGINNING.match(genesis_data)
    return int(found[1]) if found is not None else PROTOCOL_VERSION


class PlayerEntry(NamedTuple):
    """A player's entry in a genesis of any protocol version."""

    identity: bytes
    match_key: bytes
    nickname: str


def players_of(genesis_data: bytes) -> tuple[PlayerEntry, ...]:
    """Return the players in a stored genesis of any protocol version. Signatures are not verified again.

    :raises MalformedGenesisError: if the players cannot be read, or a nickname is not valid.
    """
    try:
        _, _, _, _, roster = cast("tuple[Value, ...]", decode(genesis_data))
        joins = [cast("tuple[Value, ...]", decode(cast("bytes", data))) for data, _, _ in cast("Any", roster)]
        players = tuple(PlayerEntry(*cast("Any", join)[2:5]) for join in joins)
    except (NotCanonicalError, TypeError, ValueError):
        raise MalformedGenesisError("the players cannot be read") from None
    for player in players:
        if not is_bytes(player.identity, KEY_BYTES) or type(player.nickname) is not str:
            raise MalformedGenesisError("a player's entry has the wrong form")
        try:
            check_written(player.nickname)
        except ValueError as error:
            raise MalformedGenesisError(str(error)) from None
    return players


def make_join_record(join: Join, identity: Identity, key: MatchKey) -> JoinRecord:
    """Return ``join`` signed by the identity and by the match key in it."""
    data = join.encoded()
    return JoinRecord(data, identity.private_key.sign(data), key.sign(data), join)


def parse_join_record(value: Value) -> JoinRecord:
    """Return a peer's join record after checking its form, keys and signatures.

    The nickname need only pass :func:`~protocol.wire.names.check_written`. Players at a table apply stricter rules.

    :raises MalformedGenesisError: if a check fails.
    """
    record = _unchecked_record(value)
    _check_signatures(record)
    return record


def _check_signatures(record: JoinRecord) -> None:
    """Check the keys of a join record and both signatures.

    :raises MalformedGenesisError: if one is not valid.
    """
    join = record.join
    try:
        certified = PublicKey(join.identity).verifies(record.identity_signature, record.data)
        possessed = PublicKey(join.match_key).verifies(record.match_signature, record.data)
    except ValueError as error:
        raise MalformedGenesisError(str(error)) from None
    if not (certified and possessed):
        raise MalformedGenesisError("a signature of a player's entry is wrong")


def _unchecked_record(value: Value) -> JoinRecord:
    """Return a join record of valid form. Its signatures, and whether its keys are strict, are not checked.

    :raises MalformedGenesisError: if the form is not valid, or both keys are equal.
    """
    if type(value) is not tuple or len(value) != 3 or not all(type(part) is bytes for part in value):
        raise MalformedGenesisError("a player's entry is not three byte strings")
    data, identity_signature, match_signature = cast("tuple[bytes, bytes, bytes]", value)
    if len(identity_signature) != SIGNATURE_BYTES or len(match_signature) != SIGNATURE_BYTES:
        raise MalformedGenesisError(f"a signature has {SIGNATURE_BYTES} bytes")
    try:
        fields = decode(data)
    except NotCanonicalError as error:
        raise MalformedGenesisError(f"a player's entry cannot be read: {error}") from None
    if type(fields) is not tuple or len(fields) not in (8, 9) or fields[0] != JOIN_TAG:
        raise MalformedGenesisError("a player's entry is not one of this version of the protocol")
    _, table, identity, match_key, nickname, addresses, nonce, pledge, *brought = fields
    if not (
        type(table) is bytes
        and is_bytes(identity, KEY_BYTES)
        and is_bytes(match_key, KEY_BYTES)
        and is_bytes(nonce, NONCE_BYTES)
        and type(nickname) is str
        and pledge in PLEDGES
    ):
        raise MalformedGenesisError("a part of a player's entry has the wrong form")
    try:
        check_written(nickname)
        check_table_id(table)
        head = parse_head(brought[0]) if brought else None
    except ValueError as error:
        raise MalformedGenesisError(str(error)) from None
    join = Join(table, identity, match_key, nickname, _parse_addresses(addresses), nonce, pledge, head)
    check_keys((join,))
    return JoinRecord(data, identity_signature, match_signature, join)


def _parse_addresses(value: Value) -> tuple[tuple[str, int], ...]:
    if type(value) is not tuple or len(value) > JOIN_ADDRESSES:
        raise MalformedGenesisError(f"a player's entry has at most {JOIN_ADDRESSES} addresses")
    addresses = []
    for pair in value:
        if type(pair) is not tuple or len(pair) != 2:
            raise MalformedGenesisError("an address is a host and a port")
        host, port = pair
        # No host names, so that nobody can trigger DNS queries, and no zones, which mean nothing on other machines.
        if type(host) is not str or not _is_numeric(host):
            raise MalformedGenesisError("an address is a numeric IPv4 or IPv6 address")
        if type(port) is not int or not 0 < port < 65536:
            raise MalformedGenesisError("a port is 1 to 65535")
        addresses.append((host, port))
    return tuple(addresses)


def _is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return "%" not in host


def parse_genesis(data: bytes) -> Genesis:
    """Return the genesis in ``data`` after checking every join record in it.

    :raises MalformedGenesisError: if a record, the ruleset, the patience or the order of the roster is not valid, two
        keys are equal, only some players bring purses, or a match without stakes has purses.
    """
    genesis = unchecked_genesis(data)
    for record in genesis.roster:
        _check_signatures(record)
    return genesis


def unchecked_genesis(data: bytes) -> Genesis:
    """Return the genesis in ``data`` without verifying its signatures, which would take most of the time.

    Its content may be forged. Use it for lists, and for data that are verified later.

    :raises MalformedGenesisError: as in :func:`parse_genesis`, except for signatures and keys that are not strict.
    """
    if len(data) > GENESIS:
        raise MalformedGenesisError(f"the beginning of a match has at most {GENESIS} bytes")
    try:
        fields = decode(data)
    except NotCanonicalError as error:
        raise MalformedGenesisError(f"the beginning of the match cannot be read: {error}") from None
    if type(fields) is not tuple or len(fields) != 5 or fields[0] != GENESIS_TAG:
        raise MalformedGenesisError("the match is not one of this version of the protocol")
    _, table, options, patience, roster = fields
    if type(roster) is not tuple or not 2 <= len(roster) <= PLAYERS:
        raise MalformedGenesisError(f"a match has 2 to {PLAYERS} players")
    records = tuple(_unchecked_record(record) for record in roster)
    if any(record.join.table != table for record in records):
        raise MalformedGenesisError("a player's entry is for another table")
    identities = [record.join.identity for record in records]
    if identities != sorted(set(identities)):
        raise MalformedGenesisError("the players are out of order, or one of them appears twice")
    check_keys([record.join for record in records])
    genesis = Genesis(cast("bytes", table), parse_ruleset(options), parse_patience(patience), records)
    if len({record.join.head is None for record in records}) > 1 or (genesis.has_purses and not genesis.ruleset.stakes):
        raise MalformedGenesisError("a match has purses only if it has stakes and all players bring one")
    return genesis


def check_keys(joins: Sequence[Join]) -> None:
    """Check that the identity keys and match keys of players are all different.

    :raises MalformedGenesisError: if two are equal.
    """
    keys = [key for join in joins for key in (join.identity, join.match_key)]
    if len({*keys}) < len(keys):
        raise MalformedGenesisError("one key is used for two purposes, or by two players")


def parse_ruleset(value: Value) -> Ruleset:
    """Return the ruleset with these options.

    :raises UnknownRulesError: if an option, a value or their combination is not supported by this version.
    """
    if type(value) is not tuple:
        raise UnknownRulesError("a ruleset is an array of options")
    pairs: list[tuple[str, str | int]] = []
    for pair in value:
        if type(pair) is not tuple or len(pair) != 2:
            raise UnknownRulesError("an option is a name and a value")
        name, setting = pair
        if type(name) is not str or not isinstance(setting, str | int):
            raise UnknownRulesError("an option is a name and a value")
        pairs.append((name, setting))
    if pairs != sorted(pairs, key=lambda option: option[0]):
        raise UnknownRulesError("the options of a ruleset are sorted by name")
    try:
        return Ruleset.from_options(pairs)
    except RulesError as error:
        raise UnknownRulesError(f"these rules cannot be played here: {error}") from None


def parse_patience(value: Value) -> Patience:
    """Return the patience that a peer proposes.

    :raises MalformedGenesisError: if it is not two integers within :data:`~protocol.limits.PATIENCE_BOUNDS`.
    """
    if type(value) is not tuple or len(value) != len(Patience._fields) or not all(type(part) is int for part in value):
        raise MalformedGenesisError("patience is two numbers of seconds")
    low, high = PATIENCE_BOUNDS
    seconds = cast("tuple[int, int]", value)
    if not all(low <= part <= high for part in seconds):
        raise MalformedGenesisError(f"patience lies between {low} and {high} seconds")
    return Patience(*seconds)


assert HASH_BYTES == NONCE_BYTES == KEY_BYTES  # all random and hashed values have the same size


TABLE_ID_BYTES: Final = 16
_OPEN: Final = b"\0"
"""The first byte of an open table's id."""
_PRIVATE: Final = b"\1"
"""The first byte of a private table's id. There is no third kind."""


def check_table_id(table: bytes) -> bytes:
    """Return ``table`` if it is a table id.

    :raises ValueError: if it is not.
    """
    if len(table) != TABLE_ID_BYTES or table[:1] not in (_OPEN, _PRIVATE):
        raise ValueError(f"a table id has {TABLE_ID_BYTES} bytes, and the first is 0 or 1")
    return table


def open_table_id() -> bytes:
    """Return a random id for a table that admits everybody."""
    return _OPEN + secrets.token_bytes(TABLE_ID_BYTES - 1)


def private_table_id(token: str) -> bytes:
    """Return the id of the table that admits holders of this token.

    >>> admits(private_table_id("SECRET"), "SECRET"), admits(private_table_id("SECRET"), "")
    (True, False)
    """
    return _PRIVATE + tagged_hash("table-token", token.encode())[: TABLE_ID_BYTES - 1]


def is_private(table: bytes) -> bool:
    return table[:1] == _PRIVATE


def admits(table: bytes, token: str) -> bool:
    """Return whether the table with this id admits a node with this token. Open tables admit everybody."""
    return not is_private(table) or table == private_table_id(token)
