"""The one place that decides between one and many: ``1 coin``, ``+1 run ticket``, ``2 dice``."""

from __future__ import annotations


def plural(count: float, noun: str, many: str = "") -> str:
    """Return the form of a noun that follows a number, or a change such as +1.

    :param many: the form for several; if it is empty, the noun with an s.

    >>> plural(1, "coin"), plural(-1, "coin"), plural(0, "coin"), plural(2, "die", "dice")
    ('coin', 'coin', 'coins', 'dice')
    """
    return noun if abs(count) == 1 else many or f"{noun}s"
