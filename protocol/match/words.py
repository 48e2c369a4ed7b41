"""Chat: signed messages between the people at a table, beside the game. Sans-I/O.

A chat message is called a *word*. Its author signs it with the identity key for one table or one match, with an ever-
increasing number. So nobody can alter, forge or repeat a word, or carry it to another table. Words are not part of the
history: they are never stored, appear in no transcript, and prove nothing about the game.

A text is checked in two parts, as nicknames are (:mod:`protocol.wire.names`). Its form depends only on code points and
is the same in every version of Unicode; a text of any other form violates the protocol. The second part depends on the
Unicode version of each Python, so a text that fails it is ignored, and nobody is blamed.
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
"""The numbers of words are below this limit."""


class MalformedWordError(PeerError, ValueError):
    """The bytes are not a valid word. The link to their sender is closed."""


class WordError(LocalError, ValueError):
    """The text cannot be sent. The message gives the reason as the rest of a sentence, and ``hint`` a remedy."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


class UnheardWordError(PeerError, ValueError):
    """A peer's word must not be shown. The message gives the reason as the rest of a sentence."""


class SignedWord(NamedTuple):
    """A text signed by its author."""

    context: bytes
    """The id of the table or of the match."""
    author: bytes
    """The author's identity key."""
    number: int
    """Greater than in every earlier word by this author. A word sent to two places has one number, so it is shown
    once."""
    text: str
    data: bytes
    """The signed bytes."""
    signature: bytes


def speakable(text: str) -> str:
    """Return typed text in the form in which it is sent: composed (NFC), with single spaces, and without the invisible
    variation selectors that come with many emoji.

    >>> speakable("  well\\tplayed! ")
    'well played!'

    :raises WordError: if nothing remains, the text is too long, or it contains forbidden characters.
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
    """Return ``text``, which must come from :func:`speakable`, signed by ``identity``."""
    data = encode((SAY_TAG, context, identity.public, number, text))
    return SignedWord(context, identity.public, number, text, data, identity.private_key.sign(data))


def parse_word(data: bytes, signature: bytes) -> SignedWord:
    """Return the word encoded in ``data``, after checking its form but not its signature.

    :raises MalformedWordError: if the bytes are not a valid word.
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
    """Filters the words that arrive at one node: it accepts each once, in order, and at a limited rate.

    Words that come too fast are dropped. Dropped words do not count against the limit.
    """

    def __init__(self) -> None:
        self._authors: OrderedDict[bytes, tuple[int, Bucket]] = OrderedDict()
        """By author: the number of the last word, and the author's rate limit. The latest speaker comes last."""
        self._floors: Buckets[bytes] = Buckets(limits.FLOOR_RATE, limits.FLOOR_BURST, limits.FLOORS)
        """By table or match: the rate limit for the words of all its authors together."""

    def take(self, word: SignedWord, now: float) -> None:
        """Accept a word.

        :param now: monotonic time in seconds.
        :raises UnheardWordError: if the word came before, comes too fast, has an invalid signature, or is unfit for
            display.
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
