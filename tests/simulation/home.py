"""The home of somebody who plays match after match: a real purse in a real store. Processes die around its writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from protocol.crypto.keys import Identity
from protocol.node.purse_keeper import PurseKeeper
from protocol.storage.purses import Purses
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
        self._store: Store | None = None
        self._keeper: PurseKeeper | None = None

    @property
    def keeper(self) -> PurseKeeper:
        """The purse, and those of others, as a process that runs knows them."""
        self.open()
        assert self._keeper is not None
        return self._keeper

    @property
    def store(self) -> Store:
        """What the keeper writes to."""
        self.open()
        assert self._store is not None
        return self._store

    @property
    def purse(self) -> Purse:
        """The purse at its head."""
        return self.keeper.own.purse

    def open(self, disk: Disk | None = None) -> None:
        """Start a process, unless one runs.

        :param disk: that of the match that it plays: its points and its troubles are also those of this store.
        """
        if self._store is not None:
            return
        self._store = Store(self._path)
        self._keeper = PurseKeeper(self._store, self.identity.public, self.told.append)
        if disk is not None:
            purses = self._store.purses
            purses._transaction = _guarded(disk, purses)

    def close(self) -> None:
        """End the process: whatever was in memory only is gone."""
        if self._store is not None:
            self._store.close()
        self._store = self._keeper = None


class _guarded:  # noqa: N801 - it takes the place of a method
    """Transactions with the points and troubles of a disk."""

    def __init__(self, disk: Disk, purses: Purses) -> None:
        self._disk = disk
        self._begin = purses._transaction

    def __call__(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._disk.guarding("purse"), self._begin() as database:
            yield database
            self._disk.point("before commit of purse")
