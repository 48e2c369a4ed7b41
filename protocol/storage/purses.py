"""The purses in a store: the owner's own, entry by entry, and the newest that was seen of each other one.

The state of a purse is kept beside its entries, and proofs begin late. So bringing a purse to a table takes no longer
for a long chain.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, cast

from protocol.consensus.purse_proofs import End, Shown, begins_at, encode_proof, genesis_of, needs_evidence, read_proof
from protocol.crypto.keys import fingerprint
from protocol.wire.canonical import decode, encode
from protocol.wire.purses import (
    EntryKind,
    Forfeit,
    Freeze,
    MalformedPurseError,
    Opening,
    Purse,
    Settled,
    SignedEntry,
    Void,
    parse_entry,
    parse_purse,
)

SCHEMA: Final = (
    "CREATE TABLE purses ("
    " number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, seed BLOB NOT NULL, identity BLOB NOT NULL,"
    " state BLOB NOT NULL, ended INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE purse_entries ("
    " purse INTEGER NOT NULL, height INTEGER NOT NULL, kind INTEGER NOT NULL, match BLOB NOT NULL,"
    " change INTEGER NOT NULL, begins INTEGER, data BLOB NOT NULL, signature BLOB NOT NULL,"
    " PRIMARY KEY (purse, height)) WITHOUT ROWID",
    "CREATE INDEX purse_entries_by_beginning ON purse_entries (purse, begins)",
    "CREATE INDEX purse_entries_by_match ON purse_entries (match)",
    "CREATE TABLE purse_evidence (purse INTEGER NOT NULL, height INTEGER NOT NULL, evidence BLOB NOT NULL)",
    "CREATE UNIQUE INDEX purse_evidence_by_height ON purse_evidence (purse, height)",
    "CREATE TABLE purse_partners ("
    " purse INTEGER NOT NULL, fingerprint TEXT NOT NULL, height INTEGER NOT NULL, name TEXT NOT NULL,"
    " change INTEGER NOT NULL, PRIMARY KEY (purse, fingerprint, height)) WITHOUT ROWID",
    "CREATE TABLE purses_met ("
    " key BLOB PRIMARY KEY, identity BLOB NOT NULL, is_kept INTEGER NOT NULL, fork BLOB NOT NULL, proof BLOB NOT NULL)"
    " WITHOUT ROWID",
    "CREATE INDEX purses_met_by_identity ON purses_met (identity)",
)
"""The present tables. In ``purses_met`` a purse is kept if it was in a match that bound this node. The others are held
for a match that this node has signed."""


class PurseLine(NamedTuple):
    """An entry of one's own purse, as its owner looks at it."""

    height: int
    kind: EntryKind
    match: bytes
    """Empty for the first entry."""
    change: int
    """Coins by which the balance changed; of a FREEZE the bet."""
    name: str
    """Of the match; empty if it has none, or is not kept here."""


class PursePartner(NamedTuple):
    """Somebody with whom matches were settled."""

    fingerprint: str
    name: str
    """The last one."""
    matches: int
    change: int
    """Coins that the purse won in these matches, less those that it lost; others may have been in them."""


class PurseOrigin(NamedTuple):
    """Where the coins of a purse came from. The sum is its balance."""

    grant: int
    """With them it was opened."""
    matches: int
    """Won in matches that are settled, less those lost."""
    forfeits: int
    """Given up: not above 0."""
    lost_entries: int
    """Changed by entries that are not kept here, as they were lost with an old backup."""


class Met(NamedTuple):
    """What is known of another's purse."""

    shown: Shown | None
    """The newest proof; None if it cannot be read any more."""
    proof: bytes
    fork: bytes = b""
    """Two entries that have ended the purse; empty if none are known."""
    is_kept: bool = False
    """It is kept for good, as its owner has brought it to a match that binds this node."""


class Purses:
    """The purses of one store.

    :param read: returns the rows of a query with values of these types.
    :param transaction: commits what is written in it at its end, all of it or nothing.
    """

    def __init__(
        self,
        read: Callable[[str, tuple[object, ...], tuple[type, ...]], list[tuple[Any, ...]]],
        transaction: Callable[[], AbstractContextManager[sqlite3.Connection]],
    ) -> None:
        self._read = read
        self._transaction = transaction

    # One's own

    def own(self, identity: bytes) -> tuple[bytes, Shown] | None:
        """Return the seed of an identity's purse that has not ended, and the purse from the last entry on at which a
        proof can begin; None if there is none.

        :raises StoreError: if the store cannot be read.
        :raises MalformedPurseError: if what it holds is damaged.
        """
        query = "SELECT number, seed, state FROM purses WHERE identity = ? AND NOT ended ORDER BY number DESC LIMIT 1"
        for number, seed, state in self._read(query, (identity,), (int, bytes, bytes)):
            purse = _purse(state)
            since, entries, evidence = self._provable(number, purse.height)
            is_whole = len(entries) == purse.height - since and len(evidence) == sum(map(needs_evidence, entries))
            if not is_whole or not entries or entries[-1].id != purse.head:
                raise MalformedPurseError("the entries of the purse in the store are not all there")
            return seed, Shown(identity, purse, entries, evidence)
        return None

    def _provable(self, number: int, last: int) -> tuple[int, tuple[SignedEntry, ...], tuple[bytes, ...]]:
        """Return the latest proof that ends at this height: the height before it, its entries and its evidence."""
        ((since,),) = self._read(
            "SELECT COALESCE(MAX(begins), -1) FROM purse_entries WHERE purse = ? AND height <= ?",
            (number, last),
            (int,),
        )
        proofs = self._read(
            "SELECT evidence FROM purse_evidence WHERE purse = ? AND height > ? AND height <= ? ORDER BY height",
            (number, since, last),
            (bytes,),
        )
        return since, self._entries(number, since, last), tuple(proof for (proof,) in proofs)

    def _entries(self, number: int, after: int, last: int) -> tuple[SignedEntry, ...]:
        rows = self._read(
            "SELECT data, signature FROM purse_entries WHERE purse = ? AND height > ? AND height <= ? ORDER BY height",
            (number, after, last),
            (bytes, bytes),
        )
        return tuple(parse_entry(data, signature) for data, signature in rows)

    def entry(self, key: bytes, height: int) -> SignedEntry | None:
        """Return an entry of a purse of one's own; None if it is not there, as after a backup was put back."""
        return next(iter(self._entries(self._number(key), height - 1, height)), None)

    def continued(
        self, key: bytes, height: int, most: int
    ) -> tuple[tuple[SignedEntry, ...], bytes, SignedEntry] | None:
        """Return how a purse of one's own goes on after this height: the entries that come before a proof, the proof,
        and its last entry. It goes as far as it can with so many entries before it; None if they are not all there.

        :param most: entries, more than one proof can hold.
        """
        number = self._number(key)
        ((last,),) = self._read(
            "SELECT COALESCE(MIN(height) - 1, (SELECT MAX(height) FROM purse_entries WHERE purse = ?1))"
            " FROM purse_entries WHERE purse = ?1 AND begins > ?2",
            (number, height + most),
            (int,),
        )
        _, entries, evidence = self._provable(number, last)
        first = entries[0].entry.height if entries else height
        between = self._entries(number, height, first - 1)
        if not entries or len(between) != max(first - 1 - height, 0) or len(entries) != last - first + 1:
            return None
        return between, encode_proof(entries, evidence), entries[-1]

    def _number(self, key: bytes) -> int:
        rows = self._read("SELECT number FROM purses WHERE key = ?", (key,), (int,))
        return int(rows[0][0]) if rows else 0

    def owners(self) -> tuple[bytes, ...]:
        """Return the identities that have a purse here that has not ended, the one of the newest purse first."""
        query = "SELECT identity FROM purses WHERE NOT ended GROUP BY identity ORDER BY MAX(number) DESC"
        return tuple(identity for (identity,) in self._read(query, (), (bytes,)))

    def state(self, identity: bytes) -> Purse | None:
        """Return an identity's purse that has not ended; None if there is none.

        :raises MalformedPurseError: if it is damaged.
        """
        query = "SELECT state FROM purses WHERE identity = ? AND NOT ended ORDER BY number DESC LIMIT 1"
        return next((_purse(state) for (state,) in self._read(query, (identity,), (bytes,))), None)

    def were_used(self) -> bool:
        """Tell whether a purse of one's own has an entry after its first, or somebody else's was in a match."""
        query = "SELECT 1 FROM purse_entries WHERE height > 0 UNION SELECT 1 FROM purses_met WHERE is_kept"
        return bool(self._read(query, (), (int,)))

    def had_one(self, identity: bytes) -> bool:
        """Tell whether an identity had a purse here, ended or not: the next one begins without a grant."""
        return bool(self._read("SELECT number FROM purses WHERE identity = ? LIMIT 1", (identity,), (int,)))

    def add(self, seed: bytes, signed: SignedEntry, purse: Purse) -> None:
        """Keep a new purse of one's own, with its first entry. The one before of its identity has ended by that."""
        body = cast("Opening", signed.entry.body)
        row = purse.key, seed, body.identity, encode(purse.wire)
        with self._transaction() as database:
            database.execute("UPDATE purses SET ended = 1 WHERE identity = ?", (body.identity,))
            database.execute("INSERT INTO purses (key, seed, identity, state) VALUES (?, ?, ?, ?)", row)
            _insert(database, signed, b"", purse)

    def keep(self, entries: Sequence[tuple[SignedEntry, bytes]], purse: Purse) -> None:
        """Keep further entries of one's own purse, all of them or none.

        :param entries: each with its evidence if it is a SETTLEMENT or VOID.
        :param purse: as it is after them.
        """
        with self._transaction() as database:
            for signed, evidence in entries:
                _insert(database, signed, evidence, purse)

    def ends(self, matches: Sequence[bytes], key: bytes) -> tuple[End, ...]:
        """Return how purses of one's own have settled these matches, or taken back what was frozen for them.

        :param key: of somebody else's purse, for which the ends are. Whether it was in these matches is not checked.
        """
        query = (
            "SELECT kind, match, evidence FROM purse_entries CROSS JOIN purse_evidence USING (purse, height)"  # noqa: S608 - no value in it
            f" WHERE match IN ({', '.join('?' * len(matches))}) ORDER BY purse, height"
        )
        rows = self._read(query, tuple(matches), (int, bytes, bytes))
        return tuple(End(key, EntryKind(kind), match, evidence) for kind, match, evidence in rows)

    def last_of(self, identity: bytes, match: bytes) -> EntryKind | None:
        """Return what an identity's purses did last for a match; FORFEIT also if a purse has ended that had something
        frozen for it."""
        query = (
            "SELECT kind, ended FROM purse_entries JOIN purses ON purse = number WHERE match = ? AND identity = ?"
            " ORDER BY number DESC, height DESC LIMIT 1"
        )
        for kind, is_ended in self._read(query, (match, identity), (int, int)):
            is_lost = is_ended and kind == EntryKind.FREEZE
            return EntryKind.FORFEIT if is_lost else EntryKind(kind)
        return None

    def lines(self, key: bytes, last: int) -> tuple[PurseLine, ...]:
        """Return the last entries of a purse of one's own, the newest first; all of them for -1."""
        query = (
            "SELECT height, kind, match, change, COALESCE(name, '') FROM purse_entries LEFT JOIN matches USING (match)"
            " WHERE purse = (SELECT number FROM purses WHERE key = ?) ORDER BY height DESC LIMIT ?"
        )
        rows = self._read(query, (key, last), (int, int, bytes, int, str))
        return tuple(PurseLine(height, EntryKind(kind), *rest) for height, kind, *rest in rows)

    def origin(self, purse: Purse) -> PurseOrigin:
        """Return where the coins of a purse of one's own came from."""
        query = (
            "SELECT kind, SUM(change) FROM purse_entries WHERE purse = (SELECT number FROM purses WHERE key = ?)"
            " GROUP BY kind"
        )
        sums = dict(self._read(query, (purse.key,), (int, int)))
        kinds = EntryKind.OPENING, EntryKind.SETTLEMENT, EntryKind.FORFEIT
        grant, matches, forfeits = (int(sums.get(kind, 0)) for kind in kinds)
        return PurseOrigin(grant, matches, forfeits, purse.balance - grant - matches - forfeits)

    def partners(self, key: bytes) -> tuple[PursePartner, ...]:
        """Return those with whom matches of a purse of one's own were settled, who brought it the most coins first."""
        query = (
            "SELECT fingerprint, name, COUNT(*), SUM(change), MAX(height) FROM purse_partners"
            " WHERE purse = (SELECT number FROM purses WHERE key = ?)"
            " GROUP BY fingerprint ORDER BY SUM(change) DESC, fingerprint"
        )
        rows = self._read(query, (key,), (str, str, int, int, int))
        return tuple(PursePartner(*row[:4]) for row in rows)

    # Those of others

    def met(self, key: bytes) -> Met | None:
        """Return what is known of a purse that somebody else has brought to a match; None for an unknown one."""
        query = "SELECT fork, proof, is_kept FROM purses_met WHERE key = ?"
        for fork, proof, is_kept in self._read(query, (key,), (bytes, bytes, int)):
            try:
                return Met(read_proof(proof), proof, fork, is_kept=bool(is_kept))
            except MalformedPurseError:
                return Met(None, proof, fork, is_kept=bool(is_kept))
        return None

    def hold(self, shown: Sequence[Shown], but: Sequence[bytes]) -> None:
        """Keep what is known of purses in a match that was signed, also for a process that is started anew.

        :param but: keys of all purses that are held from now on. What was kept so of others is forgotten.
        """
        with self._transaction() as database:
            marks = ", ".join("?" * len(but))
            database.execute(f"DELETE FROM purses_met WHERE NOT is_kept AND key NOT IN ({marks})", tuple(but))  # noqa: S608 - no value in it
            database.executemany(
                "INSERT INTO purses_met VALUES (?, ?, 0, x'', ?) ON CONFLICT (key) DO UPDATE SET"
                " proof = excluded.proof WHERE NOT is_kept",
                [(each.purse.key, each.identity, each.encoded()) for each in shown],
            )

    def remember(self, shown: Shown) -> None:
        """Keep the newest that was seen of a purse that its identity has brought to a match.

        Before that it may be anybody's: everybody can write an OPENING that names somebody else.
        """
        with self._transaction() as database:
            database.execute(
                "INSERT INTO purses_met VALUES (?, ?, 1, x'', ?) ON CONFLICT (key) DO UPDATE SET"
                " proof = excluded.proof, is_kept = 1",
                (shown.purse.key, shown.identity, shown.encoded()),
            )

    def keep_fork(self, key: bytes, fork: bytes) -> None:
        """Note that another's purse that is kept has ended, by two entries that contradict each other."""
        with self._transaction() as database:
            database.execute("UPDATE purses_met SET fork = ? WHERE key = ?", (fork, key))

    def has_brought_another(self, identity: bytes, but: bytes) -> bool:
        """Tell whether an identity has brought another purse to a match: it has had its grant, as a purse without one
        comes after one with it."""
        query = "SELECT key FROM purses_met WHERE identity = ? AND key != ? AND is_kept LIMIT 1"
        return bool(self._read(query, (identity, but), (bytes,)))


def _purse(state: bytes) -> Purse:
    try:
        return parse_purse(decode(state))
    except ValueError:
        raise MalformedPurseError("the purse in the store is damaged") from None


def _insert(database: sqlite3.Connection, signed: SignedEntry, evidence: bytes, purse: Purse) -> None:
    entry = signed.entry
    ((number,),) = database.execute("SELECT number FROM purses WHERE key = ?", (entry.purse,)).fetchall()
    database.execute("UPDATE purses SET state = ? WHERE number = ?", (encode(purse.wire), number))
    match entry.body:
        case Freeze() as body:
            match_id, change = body.match, body.bet
        case Settled() as body:
            match_id, change = body.match, body.change
        case Void() | Forfeit() as body:
            frozen = database.execute(
                "SELECT change FROM purse_entries WHERE purse = ? AND match = ? AND kind = ?"
                " ORDER BY height DESC LIMIT 1",
                (number, body.match, EntryKind.FREEZE),
            ).fetchall()
            lost = -frozen[0][0] if frozen and isinstance(body, Forfeit) else 0
            match_id, change = body.match, lost
        case body:
            match_id, change = b"", body.grant
    genesis = genesis_of(evidence) if isinstance(entry.body, Settled) else None
    begins = begins_at(entry.purse, genesis) if genesis is not None else None
    row = number, entry.height, int(entry.kind), match_id, change, begins, *signed.wire
    database.execute("INSERT INTO purse_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    if needs_evidence(signed):
        database.execute("INSERT INTO purse_evidence VALUES (?, ?, ?)", (number, entry.height, evidence))
    if genesis is not None:
        others = [record.join for record in genesis.roster]
        rows = [
            (number, fingerprint(join.identity), entry.height, join.nickname, change)
            for join in others
            if join.purse is not None and join.purse.key != entry.purse
        ]
        database.executemany("INSERT INTO purse_partners VALUES (?, ?, ?, ?, ?)", rows)
