"""Numbers in words (``three``), and the choice between singular and plural: ``1 coin``, ``2 dice``."""

from __future__ import annotations

from typing import Final

NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number(count: int) -> str:
    """Return numbers up to ten in words, such as ``three``, and larger ones in digits, such as ``1,000``."""
    return NUMBERS[count] if 0 <= count < len(NUMBERS) else f"{count:,}"


def plural(count: float, noun: str, many: str = "") -> str:
    """Return the form of ``noun`` to write after ``count``, which may also be a change such as +1.

    :param many: the plural; by default ``noun`` with an s.

    >>> plural(1, "coin"), plural(-1, "coin"), plural(0, "coin"), plural(2, "die", "dice")
    ('coin', 'coin', 'coins', 'dice')
    """
    return noun if abs(count) == 1 else many or f"{noun}s"


def coins(count: int) -> str:
    """Return a number of coins.

    >>> coins(1000)
    '1,000 coins'
    """
    return f"{count:,} {plural(count, 'coin')}"
