"""The customs of a table in words: who sees the odds of bids, and who may talk."""

from __future__ import annotations

from typing import Final

_ODDS: Final = ("Nobody is shown odds here.", "Everybody is shown odds here.", "")
_TALK: Final = ("", "Spectators may talk.")


def customs(odds: int, talk: int) -> str:
    """Return the customs that are not the usual ones, as sentences; empty if there are none.

    :param odds: 0 off, 1 on, 2 each player decides.
    :param talk: 0 players only, 1 spectators as well.

    >>> customs(0, 1), customs(2, 0)
    ('Nobody is shown odds here. Spectators may talk.', '')
    """
    return " ".join(filter(None, (_ODDS[odds], _TALK[talk])))
