"""Charts of a report: numbers in, coordinates of inline SVG out. The template writes the elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from cli.render import columns

WIDTH: Final = 640
SMALL: Final = 320
"""Width of a chart for a phone, which has no names in it."""
HEIGHT: Final = 220
LEFT, TOP, BOTTOM = 32, 12, 28
"""Room for the labels around a chart, in the units of its view box. How much the names at its right need, they say."""
COLUMN: Final = 6.5
"""Width of a letter, about."""
ROW: Final = 13
"""Height of a label."""


class Track(NamedTuple):
    """The line of one player, with a step at each round."""

    name: str
    number: int
    """Which of the ten styles of lines: colour and dashes."""
    points: str
    label_at: tuple[float, float]


class Tick(NamedTuple):
    """A mark on an axis."""

    text: str
    at: float


class Chart(NamedTuple):
    """Dice left over the rounds."""

    right: float
    """Where the lines end and the labels begin."""
    tracks: tuple[Track, ...]
    rounds: tuple[Tick, ...]
    dice: tuple[Tick, ...]


def dice_over_time(names: Sequence[str], rounds: Sequence[Sequence[int]], width: int = WIDTH) -> Chart:
    """Return the chart of dice left.

    :param rounds: dice by seat, at the start of each round and at the end of the match.
    """
    right = width - min(16 + COLUMN * max(map(columns, names), default=0), width / 2)
    most = max((count for each in rounds for count in each), default=1) or 1
    across = (right - LEFT) / max(len(rounds) - 1, 1)

    def x(number: int) -> float:
        return round(LEFT + number * across, 1)

    def y(count: float) -> float:
        return round(HEIGHT - BOTTOM - count * (HEIGHT - TOP - BOTTOM) / most, 1)

    tracks = []
    for seat, name in enumerate(names):
        # Lines of players with equally many dice lie beside each other, not on each other.
        aside = (seat - (len(names) - 1) / 2) * 2.5
        points = " ".join(f"{x(number)},{y(each[seat]) + aside}" for number, each in enumerate(rounds))
        tracks.append(Track(name, seat, points, (x(len(rounds) - 1) + 6, y(rounds[-1][seat]) + aside)))
    every = max(1, -(-len(rounds) * WIDTH // (12 * width)))
    ticks = tuple(Tick(str(number + 1), x(number)) for number in range(0, max(len(rounds) - 1, 1), every))
    dice = tuple(Tick(str(count), y(count)) for count in range(0, most + 1, -(-most // 6)))
    return Chart(round(right, 1), _apart(tracks), ticks, dice)


def _apart(tracks: list[Track]) -> tuple[Track, ...]:
    """Move labels up until none covers another: most lines end at the bottom."""
    placed: dict[int, float] = {}
    at = float(HEIGHT)
    for track in sorted(tracks, key=lambda each: (-each.label_at[1], -each.number)):
        at = min(track.label_at[1], at - ROW)
        placed[track.number] = at
    return tuple(each._replace(label_at=(each.label_at[0], round(placed[each.number], 1))) for each in tracks)


class Bar(NamedTuple):
    """How often one face was dealt to one player."""

    face: int
    x: float
    height: float


def bars(counts: Sequence[int]) -> tuple[tuple[Bar, ...], float]:
    """Return six bars in a box of 120 by 60, and the height of an even share."""
    even = sum(counts) / 6
    most = max(*counts, even, 1)
    found = (Bar(face, 4 + (face - 1) * 19, round(48 * count / most, 1)) for face, count in enumerate(counts, 1))
    return tuple(found), round(48 * even / most, 1)
