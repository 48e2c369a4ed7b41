"""The record of each player over many matches: wins, bluffs, calls and dice, with intervals and a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cli.history.account import Account, Claim
from cli.render import columns, counted, escape, listing
from cli.text.chance import chi_square, holm, p_value, wilson

CONFIDENCE: Final = 0.95
"""Of all intervals."""
WIDTH: Final = 18
"""Columns for a name."""
UNUSUAL: Final = 0.05
"""Corrected p-values below this are marked: of homes with only fair dice, one in twenty sees a mark."""
WARNING: Final = (
    "Nobody can choose dice here: they are derived from secrets that all players commit to before any is opened, and "
    "verify checks each of them. So this test only looks for a fault of the program. Of twenty homes with fair dice, "
    "one is expected to be marked."
)


@dataclass(slots=True)
class Share:
    """A number of hits out of a number of trials."""

    hits: float = 0
    trials: int = 0

    def count(self, is_hit: float) -> None:
        """Note one more."""
        self.hits += is_hit
        self.trials += 1

    @property
    def percent(self) -> str:
        """The share and its interval; a dash without trials.

        >>> Share(5, 10).percent, Share().percent
        ('50% (24-76)', '-')
        """
        if not self.trials:
            return "-"
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return f"{self.hits / self.trials:.0%} ({100 * low:.0f}-{100 * high:.0f})"

    def to_json(self) -> dict[str, Any]:
        """Return the share as JSON-able data."""
        low, high = wilson(self.hits, self.trials, CONFIDENCE)
        return {"hits": self.hits, "trials": self.trials, "low": round(low, 4), "high": round(high, 4)}


@dataclass(slots=True)
class Record:
    """One player's matches."""

    fingerprint: str
    names: dict[str, None] = field(default_factory=dict)
    """In the order of their first use."""
    won: Share = field(default_factory=Share)
    """Out of finished matches; a win that several share counts as a part."""
    fair: float = 0
    """The wins that chance alone would give: an equal part of each finished match."""
    bluffs: Share = field(default_factory=Share)
    """Bids that the bidder's own dice made less than half likely, out of all bids."""
    true: Share = field(default_factory=Share)
    """Bids that were true, out of those that anybody can judge."""
    calls: Share = field(default_factory=Share)
    """Calls that were right, out of those that anybody can judge."""
    dice: list[int] = field(default_factory=lambda: [0] * 6)
    """How often each face was dealt, ones first."""

    @property
    def dice_p(self) -> float:
        """The p-value of the dice: how likely fair dice are to be at least as uneven."""
        return p_value(chi_square(self.dice))


def records(accounts: Iterable[Account]) -> tuple[Record, ...]:
    """Return the records of all players, the one with most matches first.

    :param accounts: the oldest first.
    """
    found: dict[str, Record] = {}
    for each in accounts:
        by_seat = [found.setdefault(player.fingerprint, Record(player.fingerprint)) for player in each.players]
        winners = each.places[0] if each.places else ()
        for seat, (player, record) in enumerate(zip(each.players, by_seat, strict=True)):
            record.names.setdefault(player.name)
            record.dice = [had + got for had, got in zip(record.dice, each.dice[seat], strict=True)]
            if winners:
                record.won.count((seat in winners) / len(winners))
                record.fair += 1 / len(each.players)
        for claim in each.claims:
            _count(by_seat[claim.seat], claim)
    return tuple(sorted(found.values(), key=lambda record: (-record.won.trials, record.fingerprint)))


def _count(record: Record, claim: Claim) -> None:
    if not claim.weighed.is_call:
        record.bluffs.count(claim.is_bluff)
    if claim.weighed.is_right is not None:
        (record.calls if claim.weighed.is_call else record.true).count(claim.weighed.is_right)


def table(found: Sequence[Record]) -> Iterator[str]:
    """Yield the records as lines for a terminal of 80 columns."""
    names = [_shown(record, found) for record in found]
    width = max(map(columns, names), default=0)
    head = ("matches", "wins", "of fair", "bluffs", "calls right")
    yield f"{'':{width}}  {head[0]:>7} {head[1]:>13}  {head[2]:>7} {head[3]:>13} {head[4]:>13}"
    for name, each in zip(names, found, strict=True):
        share = f"{each.won.hits / each.fair:.2f}" if each.fair else "-"
        cells = f"{each.won.percent:>13}  {share:>7} {each.bluffs.percent:>13} {each.calls.percent:>13}"
        yield f"{_padded(name, width)}  {each.won.trials:>7} {cells}"


def _shown(record: Record, found: Sequence[Record]) -> str:
    """Return the name used last, and the beginning of the key if others use it, too, in at most :data:`WIDTH` columns.

    What is cut off is the end of the name: the key is what tells namesakes apart.
    """
    name = next(reversed(record.names))
    others = [each for each in found if each is not record and name in each.names]
    key = f" ({record.fingerprint[:4]})" if others else ""
    shown = escape(name)
    if columns(shown + key) > WIDTH:
        while columns(shown + key) >= WIDTH:
            shown = shown[:-1]
        shown += "…"
    return shown + key


def _padded(name: str, width: int) -> str:
    return name + " " * (width - columns(name))


def dice_lines(found: Sequence[Record]) -> Iterator[str]:
    """Yield how often each player was dealt each face, and the corrected p-value."""
    corrected = holm([record.dice_p for record in found])
    for record, p in zip(found, corrected, strict=True):
        mark = "   UNUSUAL" if p < UNUSUAL else ""
        counts = " ".join(f"{count:>5}" for count in record.dice)
        yield f"{_padded(_shown(record, found), WIDTH)}  {counts}   p {p:.3f}{mark}"


def data(found: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the records as JSON-able data."""
    corrected = holm([record.dice_p for record in found])
    return [
        {
            "fingerprint": each.fingerprint,
            "names": list(each.names),
            "matches": each.won.trials,
            "won": each.won.to_json(),
            "fair_wins": round(each.fair, 4),
            "bluffs": each.bluffs.to_json(),
            "true_bids": each.true.to_json(),
            "calls_right": each.calls.to_json(),
            "dice": each.dice,
            "dice_p": round(each.dice_p, 6),
            "dice_p_holm": round(p, 6),
        }
        for each, p in zip(found, corrected, strict=True)
    ]


def heading(matches: int, found: Sequence[Record], left_out: Sequence[str]) -> str:
    """Return a sentence on the matches and players that were counted."""
    said = f"{counted(matches, 'match', 'matches').capitalize()}, {counted(len(found), 'player')}."
    return said + (
        f" Left out, because they cannot be read, are unfinished or not fair: {listing(left_out)}." if left_out else ""
    )
