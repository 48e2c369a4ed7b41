"""The English list of BIP-39: 2048 words that are easy to tell apart, written or spoken."""

from __future__ import annotations

from functools import cache
from typing import Final

WORD_BITS: Final = 11
"""Bits that each word stands for."""


@cache
def word_list() -> tuple[str, ...]:
    """Return the words in their order, which is that of the alphabet."""
    from mnemonic import Mnemonic

    return tuple(Mnemonic("english").wordlist)
