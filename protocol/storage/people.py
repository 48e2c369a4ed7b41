"""People: the players met in formed matches, by key and name, and the keys that the owner trusts.

Anybody can make up a new name or a new key. Only meeting the same key under the same name again suggests that it is the
same person. Players whose names carry the mark of bots are left out, as a bot has a key for one evening only.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any, Final, NamedTuple

from protocol.crypto.keys import fingerprint, parse_fingerprint
from protocol.storage.database import DamagedStoreError, Database
from protocol.storage.match_names import calendar
from protocol.wire.genesis import MalformedGenesisError, players_of
from protocol.wire.names import is_marked_as_bot, outline, outlines

SCHEMA: Final = (
    "CREATE TABLE meetings ("
    " fingerprint TEXT NOT NULL, match INTEGER NOT NULL, name TEXT NOT NULL, outline TEXT NOT NULL,"
    " met INTEGER NOT NULL, PRIMARY KEY (fingerprint, match)) WITHOUT ROWID",
    "CREATE INDEX meetings_by_outline ON meetings (outline)",
    "CREATE INDEX meetings_by_match ON meetings (match)",
    "CREATE TABLE trusted ("
    " fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, outline TEXT NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID",
)
NAMESAKES: Final = 3
"""The number of namesakes reported: more would fill the screen."""


class UsedName(NamedTuple):
    """A name under which a person has played."""

    name: str
    matches: int
    met: int
    """When the latest of these matches began, in seconds since 1970."""


class Person(NamedTuple):
    """A person, identified by their key."""

    fingerprint: str
    names: tuple[UsedName, ...] = ()
    """The latest used name first; empty if the person was never met."""
    trusted_as: str | None = None
    """The name under which the owner trusts the key, perhaps empty; None if the key is not trusted."""

    @property
    def matches(self) -> int:
        return sum(each.matches for each in self.names)

    @property
    def met(self) -> int | None:
        """When the latest match with this person began, in seconds since 1970; None if there was none."""
        return max((each.met for each in self.names), default=None)

    @property
    def is_trusted(self) -> bool:
        return self.trusted_as is not None

    @property
    def name(self) -> str:
        """The name to show: the trusted one, otherwise the last used one; empty if there is none."""
        return self.trusted_as or (self.names[0].name if self.names else "")


class Mismatch(NamedTuple):
    """Suspicious facts, from this home's records, about a key that plays under a name."""

    known_as: tuple[str, ...] = ()
    """The names under which the key has played here before, if its present name is new."""
    namesakes: tuple[Person, ...] = ()
    """Other people who have used the same or a confusable name, trusted ones first. If the key has used the name
    before, only trusted people."""

    @property
    def trusted(self) -> tuple[str, ...]:
        """The fingerprints of the namesakes whom the owner trusts."""
        return tuple(each.fingerprint for each in self.namesakes if each.is_trusted)


class People:
    def __init__(self, database: Database) -> None:
        self._database = database

    def everybody(self) -> tuple[Person, ...]:
        """Return all people, the most recently met first; people never met come last.

        :raises StoreError: if the store cannot be read or is damaged.
        """
        query = "SELECT fingerprint, name, COUNT(*), MAX(met) FROM meetings GROUP BY fingerprint, name"
        names: dict[str, list[UsedName]] = {}
        for key, name, matches, met in self._database.read(query, (), (str, str, int, int)):
            names.setdefault(key, []).append(UsedName(name, matches, calendar(met)))
        trusted = dict(self._database.read("SELECT fingerprint, name FROM trusted", (), (str, str)))
        people = [
            Person(
                _checked(key),
                tuple(sorted(names.get(key, ()), key=lambda used: (-used.met, used.name))),
                trusted.get(key),
            )
            for key in names.keys() | trusted.keys()
        ]
        return tuple(sorted(people, key=lambda person: (-(person.met or 0), person.name, person.fingerprint)))

    def person(self, key: str, but: bytes = b"") -> Person:
        """Return the person with a key.

        :param key: the fingerprint of the key.
        :param but: the id of a match to ignore.
        """
        query = (
            "SELECT name, COUNT(*), MAX(met) FROM meetings WHERE fingerprint = ? AND match IS NOT"
            " (SELECT number FROM matches WHERE match = ?) GROUP BY name ORDER BY MAX(met) DESC, name"
        )
        rows = self._database.read(query, (key, but), (str, int, int))
        trusted = self._database.read("SELECT name FROM trusted WHERE fingerprint = ?", (key,), (str,))
        names = tuple(UsedName(name, matches, calendar(met)) for name, matches, met in rows)
        return Person(key, names, trusted[0][0] if trusted else None)

    def mismatch(self, key: str, name: str, but: bytes = b"") -> Mismatch:
        """Return suspicious facts about a key that plays under a name.

        There are none if both are new or have been met together. A name used by a trusted person is always reported,
        unless this key is trusted too and has used the name. Names with the mark of bots have no namesakes.

        :param key: the fingerprint of the key.
        :param but: the id of a match to ignore: the one being played or judged.
        """
        known, forms = self.person(key, but), outlines(name)
        names = (*([known.trusted_as] if known.trusted_as else []), *(used.name for used in known.names))
        is_used = not forms.isdisjoint(map(outline, names))
        alike = f"outline IN ({', '.join('?' * len(forms))})"
        query = (
            f"SELECT fingerprint FROM (SELECT fingerprint, 1 AS is_trusted, since AS met FROM trusted WHERE {alike}"  # noqa: S608
            f" UNION ALL SELECT fingerprint, 0, met FROM meetings WHERE {alike} AND match IS NOT"
            " (SELECT number FROM matches WHERE match = ?)) WHERE fingerprint != ?"
            " GROUP BY fingerprint HAVING MAX(is_trusted) >= ? ORDER BY MAX(is_trusted) DESC, MAX(met) DESC LIMIT ?"
        )
        # A name that both have used is no warning, unless the other is trusted and this key is not.
        wanted = int(is_used)
        is_nobody = is_marked_as_bot(name) or (is_used and known.is_trusted)
        others = [] if is_nobody else self._database.read(query, (*forms, *forms, but, key, wanted, NAMESAKES), (str,))
        namesakes = tuple(self.person(_checked(other), but) for (other,) in others)
        return Mismatch(() if is_used else tuple(dict.fromkeys(names)), namesakes)

    def trust(self, key: str, name: str, now: int) -> None:
        """Trust a key from now on.

        :param key: the fingerprint of the key.
        :param name: the name of its owner; empty if unknown.
        """
        self._database.write("INSERT OR REPLACE INTO trusted VALUES (?, ?, ?, ?)", (key, name, outline(name), now))

    def trusted(self) -> list[tuple[Any, ...]]:
        """Return the trusted keys: fingerprint, name, outline of the name, and since when, in seconds since 1970."""
        return self._database.read("SELECT fingerprint, name, outline, since FROM trusted", (), (str, str, str, int))

    def untrust(self, key: str) -> None:
        self._database.write("DELETE FROM trusted WHERE fingerprint = ?", (key,))


def _checked(key: str) -> str:
    """Return a stored fingerprint.

    :raises DamagedStoreError: if it is not a valid fingerprint.
    """
    with suppress(ValueError):
        if parse_fingerprint(key) == key:
            return key
    raise DamagedStoreError("the store is damaged: a fingerprint is invalid")


def meet(database: sqlite3.Connection, match: bytes) -> None:
    """Record the players of a formed match. Recording a match again changes nothing.

    :raises sqlite3.Error: if the store cannot be written.
    """
    query = "SELECT number, created, genesis, match_key FROM matches WHERE formed AND match = ?"
    for number, created, genesis, own in database.execute(query, (match,)).fetchall():
        if (type(created), type(genesis)) != (int, bytes):
            continue  # reading the damaged match raises the error
        with suppress(MalformedGenesisError):
            rows = [
                (fingerprint(player.identity), number, player.nickname, outline(player.nickname), created)
                for player in players_of(genesis)
                if player.match_key != own and not is_marked_as_bot(player.nickname)
            ]
            database.executemany("INSERT OR IGNORE INTO meetings VALUES (?, ?, ?, ?, ?)", rows)
