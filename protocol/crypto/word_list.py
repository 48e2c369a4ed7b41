"""The English list of BIP-39: 2048 words that are easy to tell apart, written or spoken."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Final

WORD_BITS: Final = 11
"""Bits that each word stands for."""


@cache
def word_list() -> tuple[str, ...]:
    """Return the words in their order, which is that of the alphabet."""
    from mnemonic import Mnemonic

    return tuple(Mnemonic("english").wordlist)


def spelling_hint(word: str) -> str:
    """Return the end of a sentence on a word that is not in the list: which ones may be meant, or nothing.

    >>> spelling_hint("tigger")
    ': did you mean trigger or tiger?'
    """
    near = get_close_matches(word, word_list(), n=2)
    return f": did you mean {' or '.join(near)}?" if near else ""
