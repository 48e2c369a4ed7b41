"""The score of an evening, as far as this program was not there to count it: from the matches in the store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import dropwhile, pairwise
from typing import TYPE_CHECKING, Final

from protocol.crypto.keys import fingerprint
from protocol.storage.archive import read_store
from protocol.storage.database import StoreError
from protocol.wire.genesis import MalformedGenesisError, players_of

if TYPE_CHECKING:
    from protocol.storage.home import Home
    from protocol.storage.store import StoredMatch

PAUSE: Final = 6 * 3600
"""The most seconds between the beginnings of two matches of one evening."""


def earlier_winners(home: Home, match: str) -> dict[str, tuple[str, ...]]:
    """Return who won earlier in the evening of a stored match: the fingerprints of the winners by match id.

    :param match: the match id, 64 hexadecimal digits.
    :returns: an empty dict if the store cannot be read.
    """
    if home.store.exists():
        with suppress(StoreError, MalformedGenesisError), read_store(home) as store:
            return find_winners(store.matches(), bytes.fromhex(match))
    return {}


def find_winners(matches: Iterable[StoredMatch], match: bytes) -> dict[str, tuple[str, ...]]:
    """Return what :func:`earlier_winners` returns, given all matches of the home.

    A match and the next one belong to one evening if their beginnings are at most :data:`PAUSE` apart, and the owner
    meets somebody again.

    :raises MalformedGenesisError: if the players of a match cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    formed = sorted((each for each in matches if each.formed), key=lambda each: -each.number)
    for later, each in pairwise(dropwhile(lambda each: each.match != match, formed)):
        players = [player.identity for player in players_of(each.genesis)]
        seen_again = {player.identity for player in players_of(later.genesis)}.intersection(players)
        if later.created - each.created > PAUSE or len(seen_again) < 2:  # the owner is one of them
            break
        if each.winners:
            found[each.match.hex()] = tuple(fingerprint(players[at]) for at in each.winners if at < len(players))
    return found
