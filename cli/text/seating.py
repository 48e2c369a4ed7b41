"""The seats of a match, and the names of their players in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cli.render import escape, listing
from protocol import outline, which_are_alike

if TYPE_CHECKING:
    from p2pdice import Die
    from protocol.events import PlayerInfo


def display_names(players: Sequence[PlayerInfo], among: Sequence[PlayerInfo] = ()) -> tuple[str, ...]:
    """Return one name for each player, safe to print. Names that look alike get the start of the fingerprint.

    So does the name *you*, which sentences use for the reader, and a name that seems to end with the start of a
    fingerprint.

    :param among: everybody at the table, if ``players`` are only some of them.

    >>> from protocol.events import PlayerInfo
    >>> display_names([PlayerInfo("Ann", "K7QF-2M3A"), PlayerInfo("ANN", "ZZ22-2M3A"), PlayerInfo("Ben", "AAAA-BBBB")])
    ('Ann [K7QF]', 'ANN [ZZ22]', 'Ben')
    >>> display_names([PlayerInfo("Ann [K7QF]", "ZZ22-2M3A")])
    ('Ann [K7QF] [ZZ22]',)
    """
    shown = {player.fingerprint for player in players}
    others = [player for player in among if player.fingerprint not in shown]
    return tuple(
        f"{escape(player.name)} [{player.fingerprint.partition('-')[0]}]"
        if is_alike or outline(player.name) == "you" or player.name.endswith("]")
        else escape(player.name)
        for player, is_alike in zip(players, which_are_alike([each.name for each in (*players, *others)]), strict=False)
    )


class Seating(NamedTuple):
    """The players of a match by seat, seen by one of them or by nobody in particular."""

    names: tuple[str, ...] = ()
    """Safe to print."""
    me: int | None = None
    """The seat of the reader, who is called *you*."""
    players: tuple[PlayerInfo, ...] = ()

    @classmethod
    def of(cls, players: Sequence[PlayerInfo], me: int | None) -> Seating:
        """Return the seating of players in the order of their seats."""
        return cls(display_names(players), me, tuple(players))

    def named(self, players: Sequence[PlayerInfo]) -> str:
        """Return the names of some of the players as they stand inside a sentence."""
        return listing(display_names(players, self.players))

    def who(self, seat: int) -> str:
        """Return the name as it stands inside a sentence: ``you`` or ``Ada``."""
        return "you" if seat == self.me else self.names[seat]

    def whose(self, seat: int) -> str:
        """Return the possessive inside a sentence: ``your`` or ``Ada's``."""
        return "your" if seat == self.me else f"{self.names[seat]}'s"

    def does(self, seat: int, verb: str, mine: str) -> str:
        """Return the start of a sentence: ``Ada bids`` from ``bids``, or ``You bid`` from ``bid``."""
        return f"You {mine}" if seat == self.me else f"{self.names[seat]} {verb}"

    def die(self, die: Die, holder: int) -> str:
        """Return a die by the player it was dealt to, inside a sentence: ``Ben's Dark``, ``your Light``.

        :param holder: the subject of the sentence; their own dice are just ``Dark``.
        """
        mote = die.mote.capitalize()
        return mote if die.seat == holder else f"{self.whose(die.seat)} {mote}"

    def everyone(self, seats: Sequence[int]) -> str:
        """Return several names inside a sentence: ``Ada, Ben and you``."""
        return listing([self.who(seat) for seat in seats])
