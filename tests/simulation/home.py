"""The home of a person who plays match after match, with a real purse in a real store on a simulated disk."""

from __future__ import annotations

from typing import Final

from protocol.crypto.keys import Identity
from protocol.node.purse import PurseKeeper
from protocol.wire.purses import Purse
from tests.simulation.disk import Disk

PURSE_POINTS: Final = ("before purse", "before commit of purse", "after purse")
"""Further points at which a fault can kill a process."""


class PurseHome:
    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.disk = Disk()
        self.open()

    def open(self) -> None:
        """Open the store again between two matches. The disk has no trouble until the next match."""
        self.disk.begin(lambda name: None, lambda: None)
        self.store = self.disk.open()
        self.keeper = PurseKeeper(self.store, self.identity.public, lambda sentence: None)

    @property
    def purse(self) -> Purse:
        return self.keeper.own.purse
