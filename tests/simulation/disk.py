"""The disk of one machine. It holds the database of a real store in memory, and its writes can fail.

The disk survives when a process dies. A power cut also undoes writes that were not synchronized yet.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

from protocol.storage import store as store_module
from protocol.storage.database import Database, Note, Noted, StoreError
from protocol.storage.store import Store
from protocol.wire.messages import VOTES, Signed
from tests.simulation.replacing import replaced_value

_FULL: Final = 2
"""With this value of SQLite's ``synchronous``, or a higher one, a commit returns after the disk is synchronized."""
P = ParamSpec("P")
Tables = Callable[[sqlite3.Connection], None]
Point = Callable[[str], None]
"""Called, with its name, at every point where a process can die. It raises an exception if the process dies there."""


class Trouble(Enum):
    """How the next write fails."""

    NONE = "none"
    REFUSED = "refused"
    """Nothing is written."""
    UNCONFIRMED = "unconfirmed"
    """The data is written, but the system reports an error."""


class Disk:
    """The disk of one machine. Every write is a transaction: a crash leaves all of it or nothing."""

    def __init__(self) -> None:
        self.begin(lambda name: None, lambda: None)
        self.own: set[bytes] = set()
        """The ids of the messages that the current process knows to be on this disk."""
        self.sizes: defaultdict[bytes, dict[bytes, int]] = defaultdict(dict)
        """The messages on this disk: their sizes in bytes, by match and id."""
        self.votes: defaultdict[bytes, dict[bytes, int]] = defaultdict(dict)
        """The votes among these messages, in the same form."""
        self.noted: Noted | None = None
        """The content of the note file beside the database."""
        self.memory = sqlite3.connect(":memory:", isolation_level=None)
        self.memory.execute("PRAGMA page_size=512")  # keeps backups small
        self._synchronized: bytes | None = None
        """The database at its last synchronization; None if nothing was written since."""

    def begin(self, point: Point, written: Callable[[], None], *, keeps_backups: bool = False) -> None:
        """Prepare for a match, without trouble at first.

        :param written: called whenever messages have been stored.
        :param keeps_backups: back up after every transaction, because a fault may restore a backup.
        """
        self.point, self.written = point, written
        self.trouble, self.is_full = Trouble.NONE, False
        self._backups: list[bytes] | None = [] if keeps_backups else None

    def open(self, matches: Iterable[bytes] = ()) -> Store:
        """Return the store as a new process opens it.

        :param matches: the ids of the matches that the process may continue.
        """
        with replaced_value(store_module, Database, partial(_Guarded, self)):
            store = _GuardedStore(Path("memory"))
        self.own = set()
        for match in matches:
            if store.match(match) is not None:
                self.count(match, store.messages(match), replaces=True)
        return store

    def count(self, match: bytes, messages: Sequence[Signed], *, replaces: bool = False) -> None:
        """Count messages of a match as stored.

        :param replaces: whether they replace all stored messages of the match.
        """
        sizes = {signed.id: len(signed.data) + len(signed.signature) for signed in messages}
        votes = {signed.id: sizes[signed.id] for signed in messages if signed.message.kind in VOTES}
        self.own |= sizes.keys()
        self.sizes[match] = sizes if replaces else self.sizes[match] | sizes
        self.votes[match] = votes if replaces else self.votes[match] | votes

    @contextmanager
    def guarding(self, name: str) -> Iterator[None]:
        """Run a write, with the trouble that is due. :raises StoreError: if the write failed or may have failed."""
        if self._synchronized is None and self.memory.execute("PRAGMA synchronous").fetchone()[0] < _FULL:
            self._synchronized = self.memory.serialize()
        self.point(f"before {name}")
        trouble, self.trouble = self.trouble, Trouble.NONE
        if self.is_full or trouble is Trouble.REFUSED:
            raise StoreError("disk full")
        yield
        if name != ROW:
            self.back_up()
        if trouble is Trouble.UNCONFIRMED:
            raise StoreError("input/output error")
        self.point(f"after {name}")

    def back_up(self) -> None:
        if self._backups is not None:
            self._backups.append(self.memory.serialize())

    def lose(self, share: float) -> None:
        """Restore a backup without the last transaction and the newest share (0 to 1) of all others."""
        if not self._backups:
            return  # no backup contains the match
        del self._backups[max(1, len(self._backups) - 1 - int(share * len(self._backups))) :]
        self.memory.deserialize(self._backups[-1])
        self.noted = None
        self.open(self.sizes)  # update the counts at once: the owner may restart the process much later

    def lose_power(self) -> None:
        """Lose all unsynchronized writes, after the process has died."""
        if self._synchronized is not None:
            # The note is kept: it may reach the disk before the commits that it counts, because nothing orders the two.
            self.memory.deserialize(self._synchronized)
            self._synchronized = None

    def copy(self) -> Disk:
        """Return the disk of a machine with a copied home."""
        other = Disk()
        other.memory.deserialize(self.memory.serialize())
        return other


ROW = "row"
"""The name of all writes without a name of their own. No planned crash strikes there."""


class _Held(Note):
    """The note file beside the database, on a simulated disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def read(self) -> Noted | None:
        return self._disk.noted

    def write(self, noted: Noted) -> None:
        self._disk.noted = noted

    def remove(self) -> None:
        self._disk.noted = None


class _Guarded(Database):
    """The real database on a simulated disk: a process can die around its writes, and they can fail."""

    def __init__(self, disk: Disk, path: Path, make: Tables, finish: Tables, *, is_reader: bool = False) -> None:
        self.disk = disk
        self.name = ROW
        """What is being written. The names of points contain it, as in ``before commit of store``."""
        self.path, self.note, self.connection = path, _Held(disk), disk.memory
        self._make, self._finish = make, finish
        self._convert()

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """Give all writes inside a ``with`` block a name."""
        before, self.name = self.name, name
        try:
            yield
        finally:
            self.name = before

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self.disk.guarding(self.name), super().transaction() as connection:
            yield connection
            self.disk.point(f"before commit of {self.name}")

    def write(self, statement: str, values: tuple[object, ...]) -> None:
        with self.disk.guarding(self.name):
            self.disk.point(f"before commit of {self.name}")
            super().write(statement, values)


def _named(
    name: str, write: Callable[Concatenate[_GuardedStore, P], None]
) -> Callable[Concatenate[_GuardedStore, P], None]:
    def named(store: _GuardedStore, /, *arguments: P.args, **options: P.kwargs) -> None:
        with store.database.writing(name):
            write(store, *arguments, **options)

    return named


class _GuardedStore(Store):
    """The real store on a simulated disk."""

    database: _Guarded  # type: ignore[misc]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.purses.database = copy(self.database)
        self.purses.database.name = "purse"

    add_choice = _named("choice", Store.add_choice)
    mark_formed = _named("formed", Store.mark_formed)
    mark_over = _named("over", Store.mark_over)

    def add_match(self, *arguments: Any) -> None:
        super().add_match(*arguments)
        self.database.disk.back_up()  # the oldest backup contains the match, but no messages

    def write(self, match: bytes, messages: Iterable[Signed]) -> None:
        self._store(super().write, match, tuple(messages), replaces=False)

    def replace(self, match: bytes, messages: Iterable[Signed]) -> None:
        self._store(super().replace, match, tuple(messages), replaces=True)

    def _store(
        self,
        write: Callable[[bytes, Iterable[Signed]], None],
        match: bytes,
        messages: Sequence[Signed],
        *,
        replaces: bool,
    ) -> None:
        with self.database.writing("store"):
            write(match, messages)
        self.database.disk.count(match, messages, replaces=replaces)
        self.database.disk.written()
