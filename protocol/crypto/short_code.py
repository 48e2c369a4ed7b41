"""Short codes: a number and two words, which a host says aloud and a guest types.

The number finds the table and is not secret. The two words are the secret: 22 bits. That is too little against a
program that may guess freely, so :mod:`protocol.crypto.code_exchange` allows one guess in each exchange, and the host
three in all.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from typing import Final, NamedTuple

from protocol.crypto.word_list import spelling_hint, word_list
from protocol.errors import LocalError

NUMBERS: Final = range(1, 1000)
"""Enough that two tables of one evening hardly ever draw the same, and easy to say."""
_FORM: Final = re.compile(r"([1-9][0-9]{0,2})[-\s]+([a-z]+)[-\s]+([a-z]+)")
_PART: Final = re.compile(r"[1-9][0-9]{0,2}[-\s]*(?:[a-z]+[-\s]*[a-z]*)?")
"""The beginning of a code, or one with a dash left out."""


class UnknownWordError(LocalError, ValueError):
    """A typed code has a word that is in no code. The text says which, and which one may be meant."""


class ShortCode(NamedTuple):
    """A short code."""

    number: int
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.number}-{self.first}-{self.second}"


def new_short_code(taken: Collection[int] = ()) -> ShortCode:
    """Return a fresh code.

    :param taken: numbers to avoid, unless no others are left.
    """
    free = [each for each in NUMBERS if each not in taken] or NUMBERS
    return ShortCode(secrets.choice(free), secrets.choice(word_list()), secrets.choice(word_list()))


def parse_short_code(text: str) -> ShortCode | None:
    """Return a code that was typed, or None if the text does not look like one. Spaces count like dashes.

    >>> str(parse_short_code("417 Tiger olive")), parse_short_code("Friday")
    ('417-tiger-olive', None)

    :raises UnknownWordError: if a word is not in the list.
    """
    typed = _FORM.fullmatch(text.strip().lower())
    if typed is None:
        return None
    for word in typed.groups()[1:]:
        if word not in word_list():
            raise UnknownWordError(f"no short code has the word {word}{spelling_hint(word)}")
    return ShortCode(int(typed[1]), typed[2], typed[3])


def looks_like_a_code(text: str) -> bool:
    """Tell whether a text has the form of a code, whatever its words are."""
    return _FORM.fullmatch(text.strip().lower()) is not None


def looks_like_a_part_of_a_code(text: str) -> bool:
    """Tell whether a text can be a code with something left out.

    >>> [looks_like_a_part_of_a_code(each) for each in ("792", "792-tiger", "792tiger-olive", "Friday")]
    [True, True, True, False]
    """
    return _PART.fullmatch(text.strip().lower()) is not None
