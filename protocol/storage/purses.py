"""The purses in a store: the owner's own, and what those showed with whom this node was bound to a match."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final, NamedTuple

from protocol.storage.database import Database
from protocol.wire.canonical import NotCanonicalError, Value, decode, encode
from protocol.wire.purses import MATCH_BYTES, MalformedPurseError, Purse, Staked, is_amount, parse_purse

SCHEMA: Final = (
    "CREATE TABLE purses ("
    " identity BLOB PRIMARY KEY, ledger BLOB NOT NULL, evidence BLOB NOT NULL,"
    " busy BLOB NOT NULL, bet INTEGER, tickets INTEGER)",
    "CREATE TABLE purses_met ("
    " match BLOB NOT NULL, identity BLOB NOT NULL, era INTEGER NOT NULL, height INTEGER NOT NULL,"
    " shown BLOB NOT NULL, stake BLOB NOT NULL DEFAULT x'', outcome BLOB NOT NULL DEFAULT x'',"
    " PRIMARY KEY (match, identity))",
    "CREATE INDEX purses_met_by_identity ON purses_met (identity)",
    "CREATE TABLE purse_ends (match BLOB PRIMARY KEY, evidence BLOB NOT NULL)",
)
"""The present tables. In ``purses_met`` there is a row for each player of each match that this node was bound to."""


class OwnPurse(NamedTuple):
    purse: Purse
    evidence: Value = ()
    """Of the last match that ended with enough RESULTs; empty for none."""
    busy: bytes = b""
    """Id of the match that the purse is busy with; empty while it is idle."""
    stake: tuple[int, int] | None = None
    """Coins and run tickets in the STAKE for that match; None as long as it is not signed."""

    @property
    def staked(self) -> Staked | None:
        return None if self.stake is None else (self.busy[:MATCH_BYTES], *self.stake)


class Met(NamedTuple):
    """What a player brought to a match that this node was bound to."""

    match: bytes
    era: int
    """Of the head in the genesis."""
    height: int
    shown: bytes
    """The fields of the frame LEDGER that was shown for the match, encoded; empty once a later match has formed."""
    stake: bytes = b""
    """Their STAKE: its data and its signature, encoded; empty if it was not seen."""
    outcome: bytes = b""
    """Changes of coins and run tickets and the number of a Twin Soul, encoded; empty as long as the end is not
    known."""


class Purses:
    def __init__(self, database: Database) -> None:
        self.database = database

    def own(self, identity: bytes) -> OwnPurse | None:
        """Return the purse of an identity of this home; None if it has none yet.

        :raises StoreError: if the store cannot be read.
        :raises MalformedPurseError: if what it holds is damaged.
        """
        query = "SELECT ledger, evidence, busy, COALESCE(bet, -1), COALESCE(tickets, -1) FROM purses WHERE identity = ?"
        for ledger, evidence, busy, bet, tickets in self.database.read(
            query, (identity,), (bytes, bytes, bytes, int, int)
        ):
            try:
                purse, shown = parse_purse(identity, decode(ledger)), decode(evidence)
            except NotCanonicalError as error:
                raise MalformedPurseError(str(error)) from None
            return OwnPurse(purse, shown, busy, (bet, tickets) if is_amount(bet) and is_amount(tickets) else None)
        return None

    def owners(self) -> tuple[bytes, ...]:
        return tuple(
            each for (each,) in self.database.read("SELECT identity FROM purses ORDER BY rowid DESC", (), (bytes,))
        )

    def matches(self) -> set[bytes]:
        """Return the matches to which a purse was brought from here."""
        return {match for (match,) in self.database.read("SELECT DISTINCT match FROM purses_met", (), (bytes,))}

    def is_staked(self, match: bytes) -> bool:
        """Tell whether a purse has a stake open in a match."""
        query = "SELECT 1 FROM purses WHERE busy = ? AND bet IS NOT NULL"
        return bool(self.database.read(query, (match,), (int,)))

    def keep(self, own: OwnPurse) -> None:
        """Keep one's own purse in the place of what was kept of it."""
        with self.database.transaction() as database:
            _insert(database, own)

    def bind(self, own: OwnPurse, match: bytes, players: Iterable[tuple[bytes, int, int, bytes]]) -> None:
        """Keep that this node is bound to a match, and one's own purse.

        :param players: identity, era and height of the head, and what was shown, for each.
        """
        with self.database.transaction() as database:
            _insert(database, own)
            rows = [(match, *each) for each in players]
            database.executemany(
                "INSERT OR REPLACE INTO purses_met (match, identity, era, height, shown) VALUES (?, ?, ?, ?, ?)", rows
            )

    def unbind(self, own: OwnPurse, match: bytes) -> None:
        """Forget what was shown for a match that does not form, and keep one's own purse."""
        with self.database.transaction() as database:
            _insert(database, own)
            database.execute("DELETE FROM purses_met WHERE match = ?", (match,))

    def mark_formed(self, match: bytes) -> None:
        """Let what was shown for a match replace what the same players showed before."""
        there = "(SELECT identity FROM purses_met WHERE match = ?1)"
        with self.database.transaction() as database:
            database.execute(
                f"UPDATE purses_met SET shown = x'' WHERE match != ?1 AND identity IN {there}",  # noqa: S608 - no value in it
                (match,),
            )

    def note_stakes(self, match: bytes, stakes: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep STAKEs of a match, each with the identity of its player."""
        with self.database.transaction() as database:
            rows = [(stake, match, identity) for identity, stake in stakes]
            database.executemany("UPDATE purses_met SET stake = ? WHERE match = ? AND identity = ?", rows)

    def note_end(self, match: bytes, outcomes: Iterable[tuple[bytes, bytes]], evidence: Value, own: OwnPurse) -> None:
        """Keep how a match has ended for its players, the evidence, unless it is empty, and one's own purse."""
        with self.database.transaction() as database:
            rows = [(outcome, match, identity) for identity, outcome in outcomes]
            database.executemany("UPDATE purses_met SET outcome = ? WHERE match = ? AND identity = ?", rows)
            if evidence != ():
                database.execute("INSERT OR REPLACE INTO purse_ends VALUES (?, ?)", (match, encode(evidence)))
            _insert(database, own)

    def met(self, identity: bytes) -> tuple[Met, ...]:
        """Return what a player brought to matches with this node, the oldest first."""
        query = "SELECT match, era, height, shown, stake, outcome FROM purses_met WHERE identity = ? ORDER BY rowid"
        return tuple(
            Met(*row) for row in self.database.read(query, (identity,), (bytes, int, int, bytes, bytes, bytes))
        )

    def evidence(self, match: bytes) -> Value:
        """Return the evidence that a match has ended; empty if there is none."""
        rows = self.database.read("SELECT evidence FROM purse_ends WHERE match = ?", (match,), (bytes,))
        return decode(rows[0][0]) if rows else ()

    def open_ends(self) -> tuple[bytes, ...]:
        """Return the matches without a noted end."""
        rows = self.database.read("SELECT DISTINCT match FROM purses_met WHERE outcome = x''", (), (bytes,))
        return tuple(match for (match,) in rows)

    def everybody(self) -> tuple[bytes, ...]:
        """Return the players whose purses were in matches that this node was bound to."""
        return tuple(each for (each,) in self.database.read("SELECT DISTINCT identity FROM purses_met", (), (bytes,)))

    def forget(self, identity: bytes) -> bool:
        """Forget what somebody brought to matches; tell whether there was anything."""
        with self.database.transaction() as database:
            return database.execute("DELETE FROM purses_met WHERE identity = ?", (identity,)).rowcount > 0


def _insert(database: sqlite3.Connection, own: OwnPurse) -> None:
    row = own.purse.owner, encode(own.purse.wire), encode(own.evidence), own.busy, *(own.stake or (None, None))
    database.execute("INSERT OR REPLACE INTO purses VALUES (?, ?, ?, ?, ?, ?)", row)
