"""The store: matches with their messages, secrets and choices; addresses, names of rules, people and purses.

Each home has one SQLite file with all of these. Once :meth:`Store.write` returns, its messages are on the disk.
:mod:`protocol.storage.database` opens the file and defines the errors.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from protocol.consensus.kinds import parse_signed
from protocol.crypto.hashing import HASH_BYTES
from protocol.events import Asks
from protocol.limits import ADDRESSES_REMEMBERED, PLAYERS, RULES_NAMES_REMEMBERED
from protocol.storage import people, purses
from protocol.storage.database import (
    FAILURES,
    SCHEMA_VERSION,
    DamagedStoreError,
    Database,
    Noted,
    StoreError,
)
from protocol.storage.match_names import calendar, day, free_name, is_name, rules_word, slug
from protocol.storage.people import People
from protocol.storage.purses import Purses
from protocol.wire.frames import Customs
from protocol.wire.genesis import MalformedGenesisError, parse_genesis
from protocol.wire.messages import MalformedMessageError, Signed

_SCHEMA: Final = f"""
CREATE TABLE seeds (match_key BLOB PRIMARY KEY, seed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY, match BLOB NOT NULL UNIQUE, genesis BLOB NOT NULL,
    match_key BLOB NOT NULL REFERENCES seeds,
    created INTEGER NOT NULL, formed INTEGER NOT NULL DEFAULT 0, over INTEGER NOT NULL DEFAULT 0, port INTEGER NOT NULL,
    table_name TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '', winners TEXT NOT NULL DEFAULT '',
    host INTEGER NOT NULL DEFAULT 0, given_up INTEGER NOT NULL DEFAULT 0, void INTEGER NOT NULL DEFAULT 0,
    odds INTEGER NOT NULL DEFAULT 2, talk INTEGER NOT NULL DEFAULT 0, asks TEXT NOT NULL DEFAULT 'strangers'
);
CREATE TABLE messages (place INTEGER PRIMARY KEY, data BLOB NOT NULL, signature BLOB NOT NULL);
CREATE TABLE choices (
    match BLOB NOT NULL, step INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (match, step)
) WITHOUT ROWID;
CREATE TABLE addresses (
    identity BLOB NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, seen INTEGER NOT NULL,
    PRIMARY KEY (identity, host, port)
) WITHOUT ROWID;
CREATE TABLE rules_names (
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, own INTEGER NOT NULL
);
{";".join((*people.SCHEMA, *purses.SCHEMA))}
"""
"""The present tables. Changing them may require a new format number in :mod:`protocol.storage.database`.

``over`` counts matches in the order in which they ended. In old stores it may be 1 for all of them.

The place of a message consists of the number of its match and, in the lower 32 bits, the number of the message in that
match. Rows are only added at the end and need no other index, so a turn changes the fewest pages.
"""


_COLUMNS: Final = (bytes, bytes, bytes, int, int, int, int, str, str, str, int, int, int, int, int, str, int)
"""The types of the columns of a match, which SQLite does not enforce."""
_CLAIM: Final = -1
"""The step under which a claim is stored among the choices."""
_MATCHES: Final = (
    "SELECT matches.match, genesis, seed, formed, created, over, port, table_name, name, winners, host,"  # noqa: S608
    " given_up, void, odds, talk, asks, number, text FROM matches LEFT JOIN seeds USING (match_key)"
    f" LEFT JOIN choices ON choices.match = matches.match AND step = {_CLAIM}"
)
_CLAIMED: Final = re.compile("([0-9]{1,12}) ([0-9]{1,12})")
_WINNERS: Final = re.compile("([0-9](,[0-9])*)?")


class Claim(NamedTuple):
    """The owner's claim to a match that they left because the other player was away. It is never signed."""

    at: int
    """When the match was claimed, in seconds since 1970 by this machine's clock."""
    away: int
    """The seconds for which the other player had been away by then."""


class StoredMatch(NamedTuple):
    """A stored match, with everything needed to resume it."""

    match: bytes
    genesis: bytes
    seed: bytes
    formed: bool
    """Whether every player has locked the genesis, as far as this store knows."""
    created: int
    """When the match began, in seconds since 1970 by this machine's clock; for people to read, never signed."""
    over: bool
    port: int
    """The port at which this node listened, so that peers find it again at its old address."""
    table_name: str = ""
    """The name of the table, which may be any text chosen by its host; empty if it was not stored."""
    name: str = ""
    """A unique name for the owner to type; empty until the match is formed."""
    winners: tuple[int, ...] = ()
    """The roster indices of the winners; empty until the match is over, or if they were not stored."""
    host: int = 0
    """The roster index of the host."""
    given_up: bool = False
    """Whether the owner does not play the match, even if others have formed it."""
    void: bool = False
    """Whether the owner has signed that the match is void. From then on they sign nothing else in it."""
    claim: Claim | None = None
    """The owner's claim to the match, unless they have returned since."""
    number: int = 0
    """A counter: of two matches, the one with the higher number was stored later."""
    ended: int = 0
    """A counter: of two matches, the one with the higher count ended later. It is 0 until the match is over, and the
    same for all matches that ended before this was counted."""
    customs: Customs = Customs()
    """The customs of the table."""
    asks: Asks = "strangers"
    """Which newcomers needed the owner's consent, if the owner was the host."""

    def __repr__(self) -> str:
        return f"StoredMatch({self.match.hex()})"  # never the seed


class Loss(NamedTuple):
    """Data that the store had confirmed but no longer contains."""

    match: bytes
    """The match that was written last."""
    is_here: bool
    """Whether the store still has the match and lacks only messages."""


class Store:
    """The durable memory of one home; opened, with the same errors, as a :class:`~protocol.storage.database.Database`.

    :param is_reader: whether to open the store only for reading, even while another process writes or where nothing can
        be written.
    """

    def __init__(self, path: Path, *, is_reader: bool = False) -> None:
        self._ends: dict[bytes, tuple[int, int]] = {}
        """The number of each match and the place of its next message, by match id."""
        self.database: Final = Database(path, make_tables, _know_formed, is_reader=is_reader)
        self.people: Final = People(self.database)
        self.purses: Final = Purses(self.database)
        self.loss: Final = self._find_loss()
        """Data lost before the store was opened, as its log was damaged or removed, or an older file was put back."""

    def close(self) -> None:
        self.database.close()

    def _find_loss(self) -> Loss | None:
        noted = self.database.note.read()
        if noted is None:
            return None
        number_query = "SELECT number FROM matches JOIN seeds USING (match_key) WHERE matches.match = ?"
        count_query = "SELECT COUNT(*) FROM messages WHERE place BETWEEN ? AND ?"
        try:
            for (number,) in self.database.connection.execute(number_query, (noted.match,)).fetchall():
                ((messages,),) = self.database.connection.execute(count_query, _places(number)).fetchall()
                return None if messages >= noted.messages else Loss(noted.match, is_here=True)
        except (*FAILURES, StoreError):
            return None  # the next read of the store raises the same error
        return Loss(noted.match, is_here=False)

    def add_seed(self, match_key: bytes, seed: bytes) -> None:
        self.database.write("INSERT OR IGNORE INTO seeds VALUES (?, ?)", (match_key, seed))

    def add_match(
        self,
        match: bytes,
        genesis: bytes,
        match_key: bytes,
        created: int,
        port: int,
        table: str = "",
        host: int = 0,
        customs: Customs = Customs(),  # noqa: B008 - nobody can change it
        asks: Asks = "strangers",
    ) -> None:
        """Store a proposed match, before its owner signs COMMIT in it. Storing it again changes nothing.

        :param host: the roster index of the host.
        """
        self.database.write(
            "INSERT OR IGNORE INTO matches"
            " (match, genesis, match_key, created, port, table_name, host, odds, talk, asks)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (match, genesis, match_key, created, port, table, host, *customs, asks),
        )

    def mark_given_up(self, match: bytes) -> None:
        """Record that the owner does not play the match, even if others have formed it."""
        self.database.write("UPDATE matches SET given_up = 1 WHERE match = ?", (match,))

    def mark_formed(self, match: bytes) -> None:
        """Record that every player has locked the genesis. From now on the match has a name and can be resumed."""
        with self.database.transaction() as database:
            database.execute("UPDATE matches SET formed = 1 WHERE match = ?", (match,))
            _know_formed(database)

    def mark_over(self, match: bytes, winners: Sequence[int] = ()) -> None:
        """Record that the match has ended and its transcript is written.

        :param winners: the roster indices of the winners.
        """
        self.database.write(
            "UPDATE matches SET over = CASE WHEN over THEN over ELSE (SELECT MAX(over) + 1 FROM matches) END,"
            " winners = ? WHERE match = ?",
            (",".join(map(str, sorted(winners))), match),
        )

    def mark_void(self, match: bytes) -> None:
        """Record that the owner signs that the match is void, before anybody can see the signature."""
        self.database.write("UPDATE matches SET void = 1 WHERE match = ?", (match,))

    def forget(self, match: bytes) -> None:
        """Delete everything about a match, including the seed of its keys. Nobody can resume it after that.

        Damaged matches can be forgotten, too.

        :raises StoreError: if that fails; nothing changes.
        """
        number = self._number(match)
        with self.database.transaction() as database:
            keys = database.execute("SELECT match_key FROM matches WHERE number = ?", (number,)).fetchall()
            with contextlib.suppress(StoreError):  # with a damaged number, it has no messages
                database.execute("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            database.execute("DELETE FROM choices WHERE match = ?", (match,))
            database.execute("DELETE FROM meetings WHERE match = ?", (number,))
            database.execute("DELETE FROM matches WHERE number = ?", (number,))
            for key in keys:  # proposals of one table share a seed
                database.execute(
                    "DELETE FROM seeds WHERE match_key = ? AND match_key NOT IN (SELECT match_key FROM matches)", key
                )
        self._ends.pop(match, None)
        noted = self.database.note.read()
        if noted is not None and noted.match == match:
            self.database.note.remove()

    def add_choice(self, match: bytes, step: int, text: str) -> None:
        """Store a choice by the owner that others do not know yet, before anything that depends on it is sent."""
        self.database.write("INSERT OR REPLACE INTO choices VALUES (?, ?, ?)", (match, step, text))

    def claim(self, match: bytes, claim: Claim) -> None:
        """Record that the owner has left a match and claimed it."""
        self.add_choice(match, _CLAIM, f"{claim.at} {claim.away}")

    def take_claim_back(self, match: bytes) -> None:
        """Record that the owner has returned to a match."""
        self.database.write("DELETE FROM choices WHERE match = ? AND step = ?", (match, _CLAIM))

    def choices(self, match: bytes) -> dict[int, str]:
        """Return the owner's choices in a match that others may not know yet, by step."""
        query = "SELECT step, text FROM choices WHERE match = ? AND step >= 0 ORDER BY step"
        return dict(self.database.read(query, (match,), (int, str)))

    def remember_address(self, identity: bytes, host: str, port: int) -> None:
        """Store an address at which an identity was just reached; only the newest few for each identity are kept."""
        # Use a counter, not dates: if a clock was set back, the newest address would count as the oldest.
        self.database.write(
            "INSERT OR REPLACE INTO addresses "
            "SELECT ?1, ?2, ?3, coalesce(max(seen), 0) + 1 FROM addresses WHERE identity = ?1",
            (identity, host, port),
        )
        self.database.write(
            "DELETE FROM addresses WHERE identity = ? AND (host, port) NOT IN "
            "(SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port LIMIT ?)",
            (identity, identity, ADDRESSES_REMEMBERED),
        )

    def addresses(self, identity: bytes) -> tuple[tuple[str, int], ...]:
        """Return the (host, port) pairs at which ``identity`` was reached before, newest first."""
        query = "SELECT host, port FROM addresses WHERE identity = ? ORDER BY seen DESC, host, port"
        return tuple(self.database.read(query, (identity,), (str, int)))

    def name_rules(self, digest: bytes, name: str) -> None:
        """Store the owner's name for the house rules with this hash, in place of an earlier name."""
        self.database.write("INSERT OR REPLACE INTO rules_names (hash, name, own) VALUES (?, ?, 1)", (digest, name))

    def learn_rules_name(self, digest: bytes, name: str) -> None:
        """Store another person's name for the house rules with this hash, unless the owner has named them; only the
        newest such names are kept."""
        self.database.write(
            "INSERT INTO rules_names (hash, name, own) VALUES (?, ?, 0) "
            "ON CONFLICT (hash) DO UPDATE SET name = excluded.name WHERE NOT own",
            (digest, name),
        )
        self.database.write(
            "DELETE FROM rules_names WHERE NOT own AND number NOT IN "
            "(SELECT number FROM rules_names WHERE NOT own ORDER BY number DESC LIMIT ?)",
            (RULES_NAMES_REMEMBERED,),
        )

    def rules_names(self, *, own: bool = False) -> dict[bytes, str]:
        """Return the names of house rules, which may be any text, by the hash of the rules.

        :param own: whether to return only names given by the owner.
        """
        query = "SELECT hash, name FROM rules_names WHERE own >= ?"
        return dict(self.database.read(query, (int(own),), (bytes, str)))

    def write(self, match: bytes, messages: Iterable[Signed]) -> None:
        """Store messages in one transaction; when this returns they are on the disk.

        :raises StoreError: if they are not. Then nothing that depends on them may be sent.
        """
        self._write_messages(match, messages, *self._end(match))

    def replace(self, match: bytes, messages: Iterable[Signed]) -> None:
        """Replace all stored messages of a match by these, in one transaction.

        :raises StoreError: if that fails; nothing changes.
        """
        messages, (number, place) = tuple(messages), self._end(match)
        if len(messages) < place:  # a process that dies right after the commit has lost nothing
            self.database.note.write(Noted(match, len(messages)))
        self._write_messages(match, messages, number, 0)

    def _write_messages(self, match: bytes, messages: Iterable[Signed], number: int, place: int) -> None:
        rows = [(each, *signed.wire) for each, signed in enumerate(messages, _places(number)[0] + place)]
        with self.database.transaction() as database:
            if place == 0:
                database.execute("DELETE FROM messages WHERE place BETWEEN ? AND ?", _places(number))
            database.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
        self._ends[match] = number, place + len(rows)
        self.database.note.write(Noted(match, place + len(rows)))

    def messages(self, match: bytes) -> tuple[Signed, ...]:
        """Return the stored messages of a match in the order in which they were written."""
        query = "SELECT data, signature FROM messages WHERE place BETWEEN ? AND ? ORDER BY place"
        rows = self.database.read(query, _places(self._end(match)[0]), (bytes, bytes))
        try:
            return tuple(parse_signed(data, signature) for data, signature in rows)
        except MalformedMessageError as error:
            raise DamagedStoreError(f"the store is damaged: {error}") from None

    def _end(self, match: bytes) -> tuple[int, int]:
        """Return the number of a match and the place of its next message."""
        if match not in self._ends:
            number = self._number(match)
            first, last = _places(number)
            newest = "SELECT place FROM messages WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1"
            places = self.database.read(newest, (first, last), (int,)) or [(first - 1,)]
            if places[0][0] == last:
                raise DamagedStoreError("the store is damaged: a message number is out of range")
            self._ends[match] = number, places[0][0] + 1 - first
        return self._ends[match]

    def _number(self, match: bytes) -> int:
        rows = self.database.read("SELECT number FROM matches WHERE match = ?", (match,), (int,))
        if not rows:
            raise StoreError("the store does not know the match")
        return int(rows[0][0])

    def name(self, match: bytes) -> str:
        """Return the name of a match; empty if it has none or is not stored here."""
        return next(
            (name for (name,) in self.database.read("SELECT name FROM matches WHERE match = ?", (match,), (str,))), ""
        )

    def matches(self) -> tuple[StoredMatch, ...]:
        """Return the matches that were formed or proposed; formed ones first, and each kind newest first.

        A damaged match is returned without a genesis, as if it were over: it can only be forgotten.

        :raises StoreError: if the store cannot be read, or a match id is invalid.
        """
        return tuple(map(_stored, self.database.rows(f"{_MATCHES} ORDER BY formed DESC, number DESC", ())))

    @property
    def written_last(self) -> bytes:
        """The id of the match whose messages were written last; empty if there is no readable note."""
        noted = self.database.note.read()
        return b"" if noted is None else noted.match

    def match(self, match: bytes) -> StoredMatch | None:
        """Return a match by its id, in the form of :meth:`matches`; None if it is not stored here.

        :raises StoreError: if the store cannot be read.
        """
        return next(map(_stored, self.database.rows(f"{_MATCHES} WHERE matches.match = ?", (match,))), None)


def _stored(row: Sequence[Any]) -> StoredMatch:
    """Return the match in a row.

    :raises StoreError: if its id is invalid.
    """
    *row, claim = row
    match, genesis, seed, formed, created, over, port, table, name, winners, host, *marks, number = row
    given_up, void, odds, talk, asks = marks
    if type(match) is not bytes or len(match) != HASH_BYTES:
        raise DamagedStoreError("the store is damaged: the id of a match is invalid")
    if (
        tuple(map(type, row)) != _COLUMNS
        or not 0 <= port < 65536
        or not 0 <= host < PLAYERS
        or (name and not is_name(name))
        or not _WINNERS.fullmatch(winners)
        or odds not in (0, 1, 2)
        or talk not in (0, 1)
        or asks not in get_args(Asks)
    ):
        return StoredMatch(match, b"", b"", formed=bool(formed), created=0, over=True, port=0, number=number)
    authors = tuple(map(int, filter(None, winners.split(","))))
    times = bool(formed), calendar(created), bool(over)
    claimed = _CLAIMED.fullmatch(claim) if isinstance(claim, str) and not over else None
    left = bool(given_up), bool(void), Claim(*map(int, claimed.groups())) if claimed is not None else None
    kept = Customs(odds, talk), asks
    return StoredMatch(match, genesis, seed, *times, port, table, name, authors, host, *left, number, over, *kept)


def make_tables(database: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


def _know_formed(database: sqlite3.Connection) -> None:
    """Name all formed matches that have no name, oldest first, and record who plays in them.

    Names never change, so a name printed today works tomorrow.
    """
    query = "SELECT number, match, created, table_name, genesis FROM matches WHERE formed AND name = '' ORDER BY number"
    taken = {str(name) for (name,) in database.execute("SELECT name FROM matches").fetchall()}
    for number, match, created, table, genesis in database.execute(query).fetchall():
        people.meet(database, match)
        if (type(created), type(table), type(genesis)) != (int, str, bytes):
            continue  # reading the damaged match raises the error
        name = free_name(f"{day(calendar(created))}-{slug(table) or _rules(genesis)}", taken)
        taken.add(name)
        database.execute("UPDATE matches SET name = ? WHERE number = ?", (name, number))


def _places(number: int) -> tuple[int, int]:
    """Return the first and the last place for messages of a match.

    :raises StoreError: if the number is out of range, and so was altered.
    """
    if not 0 < number < 1 << 31:
        raise DamagedStoreError("the store is damaged: the number of a match is out of range")
    return number << 32, ((number + 1) << 32) - 1


def _rules(genesis: bytes) -> str:
    try:
        return rules_word(parse_genesis(genesis).ruleset)
    except MalformedGenesisError:
        return "match"
