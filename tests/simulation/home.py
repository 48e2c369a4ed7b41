"""The home of somebody who plays match after match: a real purse in a real store. Processes die around its writes."""

from __future__ import annotations

from typing import Final

from protocol.crypto.keys import Identity
from protocol.node.purse import PurseKeeper
from protocol.wire.purses import Purse
from tests.simulation.disk import Disk

PURSE_POINTS: Final = ("before purse", "before commit of purse", "after purse")
"""Where a process can be made to die, beside the points of every match."""


class PurseHome:
    """See the module."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.disk = Disk()
        self.told: list[str] = []
        """What the owner was told."""
        self.open()

    def open(self) -> None:
        """Start a process between two matches. It has only what is stored, and no trouble."""
        self.disk.begin(lambda name: None, lambda: None)
        self.store = self.disk.open()
        self.keeper = PurseKeeper(self.store, self.identity.public, self.told.append)

    @property
    def purse(self) -> Purse:
        """The purse as it is."""
        return self.keeper.own.purse
