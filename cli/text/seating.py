"""The seats of a match: the names of their players in sentences, and the seat that a typed text names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cli.render import escape, listing
from p2pdice.motes import Die
from protocol.events import PlayerInfo
from protocol.wire.names import is_marked_as_bot, outline, which_are_alike


def display_names(players: Sequence[PlayerInfo], among: Sequence[PlayerInfo] = ()) -> tuple[str, ...]:
    """Return one name for each player, safe to print. Names that look alike get the beginning of the fingerprint.

    So do the name *you*, which sentences use for the reader, and names that end in ``]``, which could imitate that.

    :param among: all players at the table, if ``players`` is only a part of them.

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
    """The players of a match by seat, from the perspective of one of them or of a spectator."""

    names: tuple[str, ...] = ()
    """Names by seat, safe to print."""
    me: int | None = None
    """The seat of the reader, who is called *you*; None for a spectator."""
    players: tuple[PlayerInfo, ...] = ()

    @classmethod
    def of(cls, players: Sequence[PlayerInfo], me: int | None) -> Seating:
        """Return the seating of players in the order of their seats."""
        return cls(display_names(players), me, tuple(players))

    def by_first_names(self) -> Seating:
        """Return the same seating without the marks of bots, for a table that shows these marks beside the names.

        A bot keeps its mark if another player's name would look the same without it.

        >>> from protocol.events import PlayerInfo
        >>> bots = [PlayerInfo("Ben (bot)", "K7QF-2M3A"), PlayerInfo("Ada (bot)", "ZZ22-2M3A")]
        >>> Seating.of([*bots, PlayerInfo("Ada", "AAAA-BBBB")], None).by_first_names().names
        ('Ben', 'Ada (bot)', 'Ada')
        """
        short = [name.rpartition(" (")[0] if is_marked_as_bot(name) else name for name in self.names]
        alike = which_are_alike(short)
        safe = [not is_alike and outline(name) not in ("", "you") for name, is_alike in zip(short, alike, strict=True)]
        return self._replace(
            names=tuple(
                first if is_safe and not first.endswith("]") else full
                for first, full, is_safe in zip(short, self.names, safe, strict=True)
            )
        )

    def named(self, players: Sequence[PlayerInfo]) -> str:
        """Return the names of some players, to be used inside a sentence."""
        known = dict(zip((each.fingerprint for each in self.players), self.names, strict=False))
        shown = display_names(players, self.players)
        return listing([known.get(each.fingerprint, name) for each, name in zip(players, shown, strict=True)])

    def who(self, seat: int) -> str:
        """Return a player's name, to be used inside a sentence: ``you`` or ``Ada``."""
        return "you" if seat == self.me else self.names[seat]

    def whose(self, seat: int) -> str:
        """Return a possessive, to be used inside a sentence: ``your`` or ``Ada's``."""
        return "your" if seat == self.me else f"{self.names[seat]}'s"

    def does(self, seat: int, verb: str, mine: str) -> str:
        """Return the start of a sentence: ``Ada bids`` from ``bids``, or ``You bid`` from ``bid``."""
        return f"You {mine}" if seat == self.me else f"{self.names[seat]} {verb}"

    def die(self, die: Die, holder: int) -> str:
        """Return a die by the player it was dealt to, to be used inside a sentence: ``Ben's Dark``, ``your Light``.

        :param holder: the subject of the sentence, whose own dice are just ``Dark``.
        """
        mote = die.mote.capitalize()
        return mote if die.seat == holder else f"{self.whose(die.seat)} {mote}"

    def everyone(self, seats: Sequence[int]) -> str:
        """Return several names, to be used inside a sentence: ``Ada, Ben and you``."""
        return listing([self.who(seat) for seat in seats])


class UnknownPlayerError(ValueError):
    """A text matches no player, or more than one. The message can be printed as it is."""


def find_seat(players: Sequence[PlayerInfo], wanted: str) -> int:
    """Return the seat that a text names: by seat number, fingerprint, name, or the beginning of only one name.

    :raises UnknownPlayerError: if it matches no seat, or more than one.

    >>> from protocol.events import PlayerInfo
    >>> ann, anna = PlayerInfo("Ann", "K7QF-2M3A"), PlayerInfo("Anna", "ZZ22-2M3A")
    >>> find_seat([ann, anna], "ann"), find_seat([ann, anna], "Anna"), find_seat([ann, anna], "1")
    (0, 1, 1)
    """
    if wanted in (keys := [player.fingerprint for player in players]):
        return keys.index(wanted)
    names = display_names(players)
    word = wanted.strip().casefold()
    begun = [seat for seat, name in enumerate(names) if word and name.casefold().startswith(word)]
    exact = [seat for seat in begun if word in (names[seat].casefold(), players[seat].name.casefold())]
    if not exact and word.isascii() and word.isdigit() and len(word) < 3 and int(word) < len(names):
        return int(word)
    if len(found := exact or begun) == 1:
        return found[0]
    seats = listing([f"{name} (seat {seat})" for seat, name in enumerate(names)])
    meant = "The names of several players begin" if found else "No player's name begins"
    raise UnknownPlayerError(f"{meant} with {escape(wanted.strip())!r}. There are {seats}.")
