"""Finds players by a seat or the beginning of a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.render import escape, listing
from cli.text.seating import display_names

if TYPE_CHECKING:
    from protocol.events import PlayerInfo


class UnknownPlayerError(ValueError):
    """A text names nobody, or more than one player. The message can be printed as it is."""


def find_seat(players: Sequence[PlayerInfo], wanted: str) -> int:
    """Return the seat that a text means: a number, a fingerprint, a name, or the beginning of one name only.

    :raises UnknownPlayerError: if it means no seat, or more than one.

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
