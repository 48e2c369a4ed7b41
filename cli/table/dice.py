"""Dice and numbers three lines high."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from cli.table.fragments import Line
from cli.table.palette import Glyphs

HEIGHT = 3
WIDTH = 7
"""Columns of a die."""

_PIPS = {
    1: ("     ", "  o  ", "     "),
    2: ("o    ", "     ", "    o"),
    3: ("o    ", "  o  ", "    o"),
    4: ("o   o", "     ", "o   o"),
    5: ("o   o", "  o  ", "o   o"),
    6: ("o   o", "o   o", "o   o"),
}
_SEGMENTS = {
    "0": (" _ ", "| |", "|_|"),
    "1": ("   ", "  |", "  |"),
    "2": (" _ ", " _|", "|_ "),
    "3": (" _ ", " _|", " _|"),
    "4": ("   ", "|_|", "  |"),
    "5": (" _ ", "|_ ", " _|"),
    "6": (" _ ", "|_ ", "|_|"),
    "7": (" _ ", "  |", "  |"),
    "8": (" _ ", "|_|", "|_|"),
    "9": (" _ ", "|_|", " _|"),
}


def large_die(face: int, glyphs: Glyphs) -> list[str]:
    """Return the three rows of a die, each :data:`WIDTH` columns wide."""
    return [f"{glyphs.side}{row.replace('o', glyphs.pip)}{glyphs.side}" for row in _PIPS[face]]


def large_number(number: int) -> list[str]:
    """Return the three rows of a number."""
    return ["".join(rows) for rows in zip(*(_SEGMENTS[digit] for digit in str(number)), strict=True)]


def large_hand(hand: Sequence[int], glyphs: Glyphs, style: str = "") -> list[Line]:
    """Return dice side by side, and below each its number."""
    pictures = [[*large_die(face, glyphs), f"{face:^{WIDTH}}"] for face in hand]
    return [[(style, " ".join(row))] for row in zip_longest(*pictures, fillvalue="")]


def is_room_for(dice: int, columns: int) -> bool:
    """Tell whether this many large dice fit side by side."""
    return dice * (WIDTH + 1) - 1 <= columns
