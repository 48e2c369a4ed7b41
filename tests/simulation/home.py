"""The home of somebody who plays match after match: a real purse in a real store. Processes die around its writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

from protocol.consensus.ends import Shown
from protocol.crypto.keys import Identity
from protocol.node.purse import PurseKeeper
from protocol.storage.database import Database
from protocol.storage.store import Store
from protocol.wire.purses import Purse
from tests.simulation.disk import Disk

PURSE_POINTS: Final = ("before purse", "before commit of purse", "after purse")
"""Where a process can be made to die, beside the points of every match."""


class PurseHome:
    """See the module.

    :param path: of the store.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._path = path
        self.identity = identity
        self.told: list[str] = []
        """What the owner was told."""
        self.table: dict[bytes, Shown] = {}
        """What others have shown at the present table: a process that dies there asks for it again."""
        self._process: tuple[Store, PurseKeeper] | None = None

    @property
    def keeper(self) -> PurseKeeper:
        """The purse, and those of others, as a process that runs knows them."""
        return self._open()[1]

    @property
    def store(self) -> Store:
        """What the keeper writes to."""
        return self._open()[0]

    @property
    def purse(self) -> Purse:
        """The purse as it is."""
        return self.keeper.own.purse

    def _open(self) -> tuple[Store, PurseKeeper]:
        """Start a process, unless one runs."""
        if self._process is None:
            store = Store(self._path)
            keeper = PurseKeeper(store, self.identity.public, self.told.append)
            keeper.shown.update(self.table)
            self._process = store, keeper
        return self._process

    def play_on(self, disk: Disk) -> None:
        """Let the points and the troubles of a match's disk be those of this store, too, as long as the process
        lives."""
        purses = self.store.purses
        if not isinstance(purses.database, _Guarded):
            purses.database = cast("Database", _Guarded(disk, purses.database))

    def close(self) -> None:
        """End the process: whatever was in memory only is gone."""
        if self._process is not None:
            self._process[0].close()
        self._process = None


class _Guarded:
    """A database whose transactions have the points and troubles of a disk."""

    def __init__(self, disk: Disk, database: Database) -> None:
        self._disk = disk
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._disk.guarding("purse"), self._database.transaction() as database:
            yield database
            self._disk.point("before commit of purse")
