"""The English BIP-39 words, for short codes and for fingerprints that are read aloud.

The list has 2048 words that are easy to tell apart, in writing and in speech. Nine words encode the 95 bits of a
fingerprint and four bits of its check character.
"""

from __future__ import annotations

from base64 import b32decode
from difflib import get_close_matches
from functools import cache
from typing import Final

from protocol.crypto.keys import FINGERPRINT_ALPHABET, FINGERPRINT_CHARACTERS, parse_fingerprint

WORD_BITS: Final = 11
"""Bits encoded by each word."""


@cache
def word_list() -> tuple[str, ...]:
    """Return the words in alphabetical order."""
    from mnemonic import Mnemonic

    return tuple(Mnemonic("english").wordlist)


def spelling_hint(word: str) -> str:
    """Return the end of a sentence that suggests words for one that is not in the list, or an empty string.

    >>> spelling_hint("tigger")
    ': did you mean trigger or tiger?'
    """
    near = get_close_matches(word, word_list(), n=2)
    return f": did you mean {' or '.join(near)}?" if near else ""


COUNT: Final = 9
_CHECKED_BITS: Final = 5
_CHECK_BITS: Final = 4
"""How many of the five bits of the check character are encoded."""
_TELLING: Final = 4
"""All words of the list differ in their first four letters."""


def fingerprint_words(fingerprint: str) -> str:
    """Return the words for a fingerprint.

    >>> fingerprint_words("T4Z5-WFHY-2XDW-PX45-WP3P")
    'palace paddle share vast fragile recycle lazy reopen wave'
    """
    padded = fingerprint.replace("-", "") + "AAAA"  # padded to 120 bits, which are whole bytes
    number = int.from_bytes(b32decode(padded)) >> 20
    number = number >> _CHECKED_BITS << _CHECK_BITS | number & (1 << _CHECK_BITS) - 1
    places = range((COUNT - 1) * WORD_BITS, -1, -WORD_BITS)
    return " ".join(word_list()[number >> place & (1 << WORD_BITS) - 1] for place in places)


def parse_words(text: str) -> str:
    """Return the fingerprint for typed words. Case, dashes and letters after the fourth of a word are ignored.

    :raises ValueError: if there are not nine words, one is not in the list, or they do not encode a fingerprint.
    """
    words = text.lower().replace("-", " ").split()
    if len(words) != COUNT:
        raise ValueError(f"a fingerprint in words has {COUNT} of them")
    places = {word[:_TELLING]: place for place, word in enumerate(word_list())}
    number = 0
    for word in words:
        place = places.get(word[:_TELLING])
        if place is None:
            raise ValueError(f"no fingerprint has the word {word}{spelling_hint(word)}")
        number = number << WORD_BITS | place
    check, number = number & (1 << _CHECK_BITS) - 1, number >> _CHECK_BITS
    data = "".join(FINGERPRINT_ALPHABET[number >> place & 31] for place in range(90, -1, -5))
    for high in (0, 1 << _CHECK_BITS):
        try:
            return parse_fingerprint(data + FINGERPRINT_ALPHABET[check | high])
        except ValueError:
            continue
    raise ValueError("these are not the words of a fingerprint: one is wrong, or two have changed places")


def parse_typed_fingerprint(text: str) -> str:
    """Return a fingerprint typed as letters or as words.

    :raises ValueError: if it is invalid; the message names the fault.
    """
    parts = text.replace("-", " ").split()
    if len(parts) == COUNT:
        return parse_words(text)
    if sum(each.isalnum() for each in text) != FINGERPRINT_CHARACTERS:
        raise ValueError(f"a fingerprint has {FINGERPRINT_CHARACTERS} letters and digits 2-7, or nine words")
    return parse_fingerprint(text)
