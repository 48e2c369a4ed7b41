"""The purses in a store: the owner's own, and purses that other players showed for matches that bound this node."""

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
"""The present tables. ``purses_met`` has a row for each player of each match that bound this node."""


class OwnPurse(NamedTuple):
    purse: Purse
    evidence: Value = ()
    """The evidence of the last match that ended with enough RESULTs; empty if there is none."""
    busy: bytes = b""
    """The id of the match that the purse is busy with; empty while it is idle."""
    stake: tuple[int, int] | None = None
    """The coins and run tickets in the STAKE for that match; None until it is signed."""

    @property
    def staked(self) -> Staked | None:
        return None if self.stake is None else (self.busy[:MATCH_BYTES], *self.stake)


class Met(NamedTuple):
    """The purse that a player brought to a match that bound this node."""

    match: bytes
    era: int
    """The era of the head in the genesis. The height is also that head's."""
    height: int
    shown: bytes
    """The encoded fields of the LEDGER frame shown for the match; empty after a later match with the same player."""
    stake: bytes = b""
    """The player's STAKE: its data and signature, encoded; empty if it was not seen."""
    outcome: bytes = b""
    """The changes in coins and run tickets and the number of a Twin Soul, encoded; empty until the end is known."""


class Purses:
    def __init__(self, database: Database) -> None:
        self.database = database

    def own(self, identity: bytes) -> OwnPurse | None:
        """Return the purse of an identity of this home; None if there is none yet.

        :raises StoreError: if the store cannot be read.
        :raises MalformedPurseError: if the stored purse is damaged.
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
        """Return the ids of the matches to which a purse was brought from here."""
        return {match for (match,) in self.database.read("SELECT DISTINCT match FROM purses_met", (), (bytes,))}

    def is_staked(self, match: bytes) -> bool:
        """Return whether a purse is busy with a match in which it has a signed stake."""
        query = "SELECT 1 FROM purses WHERE busy = ? AND bet IS NOT NULL"
        return bool(self.database.read(query, (match,), (int,)))

    def keep(self, own: OwnPurse) -> None:
        """Store the owner's purse in place of its previous state."""
        with self.database.transaction() as database:
            _insert(database, own)

    def bind(self, own: OwnPurse, match: bytes, players: Iterable[tuple[bytes, int, int, bytes]]) -> None:
        """Store the players' purses for a match that binds this node, and the owner's own purse.

        :param players: for each player the identity, the era and height of the head, and the shown purse.
        """
        with self.database.transaction() as database:
            _insert(database, own)
            rows = [(match, *each) for each in players]
            database.executemany(
                "INSERT OR REPLACE INTO purses_met (match, identity, era, height, shown) VALUES (?, ?, ?, ?, ?)", rows
            )

    def unbind(self, match: bytes) -> None:
        """Delete the purses shown for a match that was not formed."""
        with self.database.transaction() as database:
            database.execute("DELETE FROM purses_met WHERE match = ?", (match,))

    def note_stakes(self, match: bytes, stakes: Iterable[tuple[bytes, bytes]]) -> None:
        """Store STAKEs of a match, each with the identity of its player."""
        with self.database.transaction() as database:
            rows = [(stake, match, identity) for identity, stake in stakes]
            database.executemany("UPDATE purses_met SET stake = ? WHERE match = ? AND identity = ?", rows)

    def note_end(self, match: bytes, outcomes: Iterable[tuple[bytes, bytes]], evidence: Value) -> None:
        """Store the outcome of a match for each player, and the evidence unless it is empty. Delete what the players
        showed for earlier matches."""
        with self.database.transaction() as database:
            rows = [(outcome, match, identity) for identity, outcome in outcomes]
            database.executemany("UPDATE purses_met SET outcome = ? WHERE match = ? AND identity = ?", rows)
            database.execute(
                "UPDATE purses_met SET shown = x'' WHERE EXISTS (SELECT 1 FROM purses_met AS ended WHERE"
                " ended.match = ? AND ended.identity = purses_met.identity AND ended.rowid > purses_met.rowid)",
                (match,),
            )
            if evidence != ():
                database.execute("INSERT OR REPLACE INTO purse_ends VALUES (?, ?)", (match, encode(evidence)))

    def met(self, identity: bytes) -> tuple[Met, ...]:
        """Return the purses that a player brought to matches with this node, oldest first."""
        query = "SELECT match, era, height, shown, stake, outcome FROM purses_met WHERE identity = ? ORDER BY rowid"
        return tuple(
            Met(*row) for row in self.database.read(query, (identity,), (bytes, int, int, bytes, bytes, bytes))
        )

    def evidence(self, match: bytes) -> Value:
        """Return the evidence of a match's end; empty if there is none."""
        rows = self.database.read("SELECT evidence FROM purse_ends WHERE match = ?", (match,), (bytes,))
        return decode(rows[0][0]) if rows else ()

    def open_ends(self) -> tuple[bytes, ...]:
        """Return the matches whose end is unknown for at least one player."""
        rows = self.database.read("SELECT DISTINCT match FROM purses_met WHERE outcome = x''", (), (bytes,))
        return tuple(match for (match,) in rows)

    def everybody(self) -> tuple[bytes, ...]:
        """Return the identities of all players whose purses were in matches that bound this node."""
        return tuple(each for (each,) in self.database.read("SELECT DISTINCT identity FROM purses_met", (), (bytes,)))

    def forget(self, identity: bytes) -> bool:
        """Delete all purses that a player brought to matches, and return whether there were any."""
        with self.database.transaction() as database:
            return database.execute("DELETE FROM purses_met WHERE identity = ?", (identity,)).rowcount > 0


def _insert(database: sqlite3.Connection, own: OwnPurse) -> None:
    row = own.purse.owner, encode(own.purse.wire), encode(own.evidence), own.busy, *(own.stake or (None, None))
    database.execute("INSERT OR REPLACE INTO purses VALUES (?, ?, ?, ?, ?, ?)", row)
