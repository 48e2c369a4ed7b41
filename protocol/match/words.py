"""Words at the table: the chat of the players, beside the game. Sans-I/O.

An author signs a word with the identity key, for one table or one match, with a number that only grows. So nobody can
change it, forge it, repeat it, or carry it to another table. It is no part of the history: it is never stored, is in no
transcript and proves nothing about the game.

A text is checked in two parts, as nicknames are (:mod:`protocol.wire.names`). The form depends on code points only
and is the same in every version of Unicode: any other form breaks the protocol. The rest depends on the Unicode version
of a Python, so a text that fails it is ignored, and nobody is blamed.
"""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from typing import Final, NamedTuple

from protocol import limits
from protocol.crypto.hashing import HASH_BYTES
from protocol.crypto.keys import KEY_BYTES, SIGNATURE_BYTES, Identity, PublicKey
from protocol.errors import LocalError, PeerError
from protocol.rate_limit import Bucket, Buckets
from protocol.version import tag
from protocol.wire.canonical import NotCanonicalError, decode, encode
from protocol.wire.genesis import TABLE_ID_BYTES
from protocol.wire.names import flaw, is_unseen

SAY_TAG: Final = tag("say")
NUMBERS: Final = 2**63
"""Numbers of words are below this."""


class MalformedWordError(PeerError, ValueError):
    """The bytes are not a word of this protocol; their sender's link is ended."""


class WordError(LocalError, ValueError):
    """The text cannot be said. The error says why, as the rest of a sentence, and ``hint`` what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


class UnheardWordError(PeerError, ValueError):
    """A peer's word must not be shown. The error says why, as the rest of a sentence."""


class SignedWord(NamedTuple):
    """A text, signed by its author."""

    context: bytes
    """Id of the table, or of the match."""
    author: bytes
    """Identity key."""
    number: int
    """Greater than that of every earlier word of the author. A word for two places has one number,
    so it is heard once."""
    text: str
    data: bytes
    """The signed bytes."""
    signature: bytes


def speakable(text: str) -> str:
    """Return typed text as it is said: composed (NFC), with single plain spaces, without the invisible variation
    selectors that come with many emoji.

    >>> speakable("  well\\tplayed! ")
    'well played!'

    :raises WordError: if nothing is left of it, it is too long, or has characters that cannot be said.
    """
    seen = "".join(character for character in text if not 0xFE00 <= ord(character) <= 0xFE0F)
    spoken = unicodedata.normalize("NFC", " ".join(seen.split()))
    if not spoken:
        raise WordError("is empty", "type something after say")
    if len(spoken) > limits.WORD_CHARACTERS:
        reason = f"has {len(spoken)} characters, and at most {limits.WORD_CHARACTERS} can be said at once"
        raise WordError(reason, "shorten it")
    if problem := flaw(spoken):
        raise WordError(problem, "leave these characters out")
    return spoken


def sign_word(context: bytes, identity: Identity, number: int, text: str) -> SignedWord:
    """Return ``text``, which :func:`speakable` has returned, as said by ``identity``."""
    data = encode((SAY_TAG, context, identity.public, number, text))
    return SignedWord(context, identity.public, number, text, data, identity.private_key.sign(data))


def parse_word(data: bytes, signature: bytes) -> SignedWord:
    """Return the word that ``data`` spells, its form checked, its signature not.

    :raises MalformedWordError: for anything else.
    """
    if len(data) > limits.WORD or len(signature) != SIGNATURE_BYTES:
        raise MalformedWordError("a word or its signature has a wrong length")
    try:
        fields = decode(data)
    except NotCanonicalError as error:
        raise MalformedWordError(f"a word cannot be read: {error}") from None
    match fields:
        case (str() as tag, bytes() as context, bytes() as author, int() as number, str() as text) if tag == SAY_TAG:
            if len(context) not in (TABLE_ID_BYTES, HASH_BYTES) or len(author) != KEY_BYTES:
                raise MalformedWordError("a word has no valid author or place")
            if not 0 <= number < NUMBERS or not _has_form(text):
                raise MalformedWordError("a word has an invalid number or forbidden characters")
            return SignedWord(context, author, number, text, data, signature)
    raise MalformedWordError("a word has another form")


def _has_form(text: str) -> bool:
    is_spaced = text.startswith(" ") or text.endswith(" ") or "  " in text
    return 0 < len(text) <= limits.WORD_CHARACTERS and not is_spaced and not any(map(is_unseen, text))


class Hearing:
    """The words that one node has heard: it hears each once, in order, and not too many.

    Words that come too fast are lost. They use up nothing, so the next one that comes in time is heard.
    """

    def __init__(self) -> None:
        self._authors: OrderedDict[bytes, tuple[int, Bucket]] = OrderedDict()
        """By author: the number of the last word, and how many more may come now. The latest speaker comes last."""
        self._floors: Buckets[bytes] = Buckets(limits.FLOOR_RATE, limits.FLOOR_BURST, limits.FLOORS)
        """By table or match: how many more words of all may come now."""

    def take(self, word: SignedWord, now: float) -> None:
        """Hear a word.

        :param now: monotonic time in seconds.
        :raises UnheardWordError: if it was heard before, comes too fast, has a wrong signature, or is not fit to be
            shown.
        """
        last, bucket = self._authors.get(word.author) or (
            -1,
            Bucket(limits.WORD_RATE, limits.WORD_BURST_HEARD, now),
        )
        if word.number <= last:
            raise UnheardWordError("was said before")
        if bucket.wait(now) > 0:
            raise UnheardWordError("came too fast after others")
        floor = self._floors.bucket(word.context, now)
        if floor.wait(now) > 0:
            raise UnheardWordError("came while others were talking too much")
        try:
            is_signed = PublicKey(word.author).verifies(word.signature, word.data)
        except ValueError:
            is_signed = False
        if not is_signed:
            raise UnheardWordError("has a wrong signature")
        if problem := flaw(word.text):
            raise UnheardWordError(problem)
        bucket.take()
        self._authors[word.author] = word.number, bucket
        self._authors.move_to_end(word.author)
        if len(self._authors) > limits.SPEAKERS:
            self._authors.popitem(last=False)
        floor.take()
