"""A past match that can be shown again: one from a signed transcript, or a game of an arena, which nobody signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from protocol.consensus.verifier import Verdict
    from protocol.events import PlayerInfo
    from protocol.match.replay import ClosedStep, Moment

UNSIGNED: Final = "unsigned"
"""In place of a verdict on a game that nobody signed."""


class Retelling(Protocol):
    """What tables, pages and figures need of a past match. :class:`protocol.match.replay.Replay` has it, too."""

    @property
    def path(self) -> Path:
        """The file of the match."""

    @property
    def rules(self) -> str:
        """The name of its rules."""

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the file; None if there are no signatures that could be verified."""

    @property
    def players(self) -> Sequence[PlayerInfo]:
        """The players by seat."""

    @property
    def rounds(self) -> Sequence[int]:
        """The steps in which the dice of rounds 1, 2, … were rolled."""

    @property
    def last_step(self) -> int:
        """The last step."""

    @property
    def last_dice(self) -> tuple[int, ...]:
        """The number of dice left at the end, by seat."""

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        """Yield the events of the step ``since`` and of all later steps.

        :param seat: the player whose dice are shown; None to show everybody's dice.
        """

    def steps(self) -> Iterator[ClosedStep]:
        """Yield every step with the messages that closed it; nothing if nobody signed any."""
