"""The stakes of a home while no node runs there: its purse, other players' purses, and making a match void.

To make a match void, each player sends the others a line of text: ``VOID-`` and, in base32, the match id and the
signature under the RESULT that declares the match void. The line is no secret: it permits nothing that its player has
not agreed to.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from collections.abc import Iterable
from typing import Final

from protocol.consensus.ends import gather, void_evidence, void_message
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import SIGNATURE_BYTES, MatchKey, PublicKey, fingerprint
from protocol.errors import ErrorCode, NodeError
from protocol.storage.archive import own_fingerprint, replica, roster_index
from protocol.storage.home import Home
from protocol.storage.match_names import meant, short_id
from protocol.storage.store import Store, StoredMatch
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind

_PREFIX: Final = "VOID-"
_LETTERS: Final = -(-(HASH_BYTES + SIGNATURE_BYTES) * 8 // 5)


def purse_owner(home: Home, store: Store) -> bytes:
    """Return the identity key of the home's owner; empty if they have no purse here."""
    own = own_fingerprint(home, store.matches)
    return next((each for each in store.purses.owners() if not own or fingerprint(each) == own), b"")


def with_stakes(store: Store, name: str) -> bytes | None:
    """Return the match with stakes that a person names; None if there is none.

    :raises NodeError: if several matches have that name, or it is empty.
    """
    bound = store.purses.matches()
    return meant(name, [(each.match, store.name(each.match)) for each in store.matches() if each.match in bound])


def met(store: Store, owner: str) -> bytes | None:
    """Return the identity of another player who brought a purse to matches, by fingerprint; None if there is none."""
    others = set(store.purses.everybody()) - set(store.purses.owners())
    return next((each for each in others if fingerprint(each) == owner), None)


def has_signed_end(store: Store, stored: StoredMatch) -> bool:
    """Return whether the owner has signed RESIGN or RESULT in a match, even in a history that was since abandoned."""
    me = roster_index(stored)
    mine = (signed.message.kind for signed in store.messages(stored.match) if signed.message.author == me)
    return not {Kind.RESIGN, Kind.RESULT}.isdisjoint(mine)


def void_lines(words: Iterable[str]) -> list[str]:
    """Return the VOID lines in typed or pasted text. A line that was wrapped on its way arrives as several words.

    >>> void_lines(["VOID-AA", "B B", "void-CC"])
    ['VOID-AABB', 'VOID-CC']
    >>> void_lines(["hello"])
    ['HELLO']
    """
    first, *others = "".join("".join(words).split()).upper().split(_PREFIX)
    return [*filter(None, (first,)), *(_PREFIX + each for each in others)]


def _parse(line: str) -> tuple[bytes, bytes]:
    """Return the match id and the signature in a line, both unchecked.

    :raises ValueError: if the line is malformed; the message says how.
    """
    letters = line.removeprefix(_PREFIX)
    if letters == line:
        raise ValueError(f"such a line begins with {_PREFIX}")
    if len(letters) != _LETTERS:
        raise ValueError(f"such a line has {_LETTERS} letters and digits after {_PREFIX}, and this one {len(letters)}")
    try:
        data = b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raise ValueError("such a line has only the letters A to Z and the digits 2 to 7") from None
    return data[:HASH_BYTES], data[HASH_BYTES:]


class Voiding:
    """A match that its players are making void.

    :raises NodeError: if the match is not stored here or is over, or if its owner has signed RESIGN or RESULT in it.
    :raises StoreError: if the stored match is damaged.
    """

    def __init__(self, store: Store, match: bytes) -> None:
        stored = store.match(match)
        if stored is None:
            reason = "that match is not kept here, so you cannot sign that it is void: it may be over"
            raise NodeError(ErrorCode.NO_MATCH, reason)
        history = replica(store, stored).history
        if gather(history) is not None:
            back = ((f"p2pdice resume {short_id(match)}", "Return to it: then it is settled"),)
            raise NodeError(ErrorCode.FAILED, "that match is over", choices=() if stored.over else back)
        if has_signed_end(store, stored):
            hint = "the others can settle the match by that, so you cannot sign any more that it is void"
            raise NodeError(ErrorCode.FAILED, "you have signed the end of that match, or resigned from it", hint)
        self.has_signed = stored.void
        """Whether the owner has already signed that the match is void."""
        self._signatures: dict[int, bytes] = {}
        """The signatures under the RESULTs that declare the match void, by roster index."""
        self.players = tuple(record.join.nickname for record in history.genesis.roster)
        self._keys = [PublicKey(record.join.match_key) for record in history.genesis.roster]
        self._store = store
        self._stored = stored
        self._me = roster_index(stored)

    def take(self, line: str) -> None:
        """Accept the line of a player.

        :raises ValueError: if the line is invalid; the message says why.
        """
        match, signature = _parse(line)
        if match != self._stored.match:
            raise ValueError("that line is for another match, or was copied wrongly")
        for author, key in enumerate(self._keys):
            if key.verifies(signature, void_message(match, author).encoded()):
                self._signatures[author] = signature
                return
        raise ValueError("that line is from none of the players, or was copied wrongly")

    def sign(self) -> str:
        """Sign that the match is void, and return the line for the others. After that the match cannot be resumed."""
        match = self._stored.match
        self._store.mark_void(match)
        signature = MatchKey(self._stored.seed).sign(void_message(match, self._me).encoded())
        self._signatures[self._me] = signature
        return _PREFIX + b32encode(match + signature).decode("ascii").rstrip("=")

    @property
    def missing(self) -> tuple[str, ...]:
        """The nicknames of the players whose lines are missing."""
        return tuple(name for author, name in enumerate(self.players) if author not in self._signatures)

    @property
    def evidence(self) -> Value:
        """The evidence that the match is void. Valid only once no line is missing."""
        return void_evidence(self._stored.genesis, self._signatures)
