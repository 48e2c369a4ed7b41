"""The authors who may vote on a step, and the votes that are a majority."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

Entries = tuple[bytes, ...]
"""What a step is closed with: for each author who owes a message, in ascending order, its id; empty if it is absent."""


def majority(base: Collection[int]) -> int:
    """Return the smallest number that is more than half of a base."""
    return len(base) // 2 + 1


class Place(NamedTuple):
    """The place of one step in a history: who owes it a message, and who may vote on it."""

    step: int
    tip: bytes
    owed: tuple[int, ...]
    base: tuple[int, ...]
    staying: tuple[int, ...]
    """The members of the base who had not left before this step: only they vote on it."""
    live: tuple[int, ...]
    """The authors who are in the game."""
    players: tuple[int, ...]
    """The authors who were in the game when the base was made and have not left: all of them owe the next LOCK."""
    resignations: Entries = ()
    """The id of a RESIGN of each author who owes a message."""

    @property
    def majority(self) -> int:
        """The smallest number that is more than half of the base."""
        return majority(self.base)

    def leavers(self, entries: Entries) -> set[int]:
        """Return the authors who leave when the step is closed with ``entries``: those who are absent there or
        resign."""
        leaving = (b"", *self.resignations)
        # After leaving a history, a node no longer knows who owed a message in its steps.
        return {author for author, entry in zip(self.owed, entries, strict=False) if entry in leaving}

    def goes_on_without(self, leaving: Collection[int]) -> bool:
        """Tell whether the others can go on if these authors leave: more than half of the base must remain, and one of
        them must be in the game."""
        remaining = set(self.staying).difference(leaving)
        return len(remaining) >= self.majority and not remaining.isdisjoint(self.live)


def leaves_majority(place: Place, entries: Entries) -> bool:
    """Tell whether a step may be closed with ``entries``."""
    return place.goes_on_without(place.leavers(entries))


def elect(
    place: Place, entries: Entries, voters: Iterable[int], backers: Iterable[int] = (), culprits: Iterable[int] = ()
) -> tuple[int, ...]:
    """Return the authors of a majority for ``entries``, no more than needed; empty if there is none.

    A majority is more than half of the base. At least half of the players in the game who stay must have voted for
    these entries once: otherwise many players who are out of the game could vote anybody out. Nodes and readers of a
    transcript count all votes here, ABSENTs and CLOSEs.

    :param voters: the authors who have voted for these entries in one round.
    :param backers: the authors of ABSENTs for these entries in any round.
    :param culprits: the authors who are proven to have broken the rules. If two or more players in the game stay, two
        of them must have voted so, or all who are not culprits. Otherwise a liar could, with players who are out of the
        game, decide against a LOCK that it has signed.
    :return: the backers needed in addition to the voters, then the voters, each in ascending order.
    """
    stay = set(place.live) - place.leavers(entries)
    counted = sorted(set(voters).intersection(place.staying), key=lambda voter: (voter not in stay, voter))
    chosen = sorted(counted[: place.majority])
    lacking = max(-(-len(stay) // 2), min(2, len(stay))) - len(stay.intersection(chosen))
    added = sorted(stay.intersection(backers).difference(chosen))[: max(lacking, 0)]
    voices = stay.intersection(chosen + added)
    is_backed = len(added) >= lacking or (2 * len(voices) >= len(stay) and voices >= stay.difference(culprits))
    is_majority = len(chosen) == place.majority and leaves_majority(place, entries)
    return (*added, *chosen) if is_majority and is_backed else ()
