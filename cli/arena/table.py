"""The standings of an arena as text: two tables in Markdown, to be read as they are and pasted anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from cli.arena.entrants import Entrant
from cli.arena.standings import Share, Summary
from cli.bots.names import program_name
from cli.bots.programs import split_command
from cli.render import columns, escape, listing
from p2pdice.players import LEVELS


def summary_text(summary: Summary) -> str:
    """Return both tables and the faults."""
    names = short_names(summary.plan.entrants)
    standings = [
        [
            names[each.entrant],
            f"{each.rating:.1f} ± {each.uncertainty:.1f}",
            f"{each.games}",
            _percent(each.won / each.games) if each.games else "-",
            _percent(each.fair / each.games) if each.games else "-",
            f"{each.move_ms:.1f}",
            f"{each.slow_ms:.1f}",
        ]
        for each in summary.standings
    ]
    shares = [
        [
            summary.plan.tables[share.table].rules,
            names[share.entrant],
            _others(names, summary.plan.tables[share.table].seats, share.entrant),
            f"{share.games}",
            _percent(share.won),
            f"{100 * share.bounds.low:.1f} to {100 * share.bounds.high:.1f}",
            _percent(share.fair),
            _result(share),
        ]
        for share in summary.shares
    ]
    faults = [
        f"{names[each.entrant]} made {sum(each.faults.values())} faults: "
        + listing([f"{count} {kind}" for kind, count in each.faults.items()])
        + "."
        for each in summary.standings
        if each.faults
    ]
    return "\n".join(
        [
            *_markdown(("bot", "rating", "games", "won %", "fair %", "ms/move", "99th pct. ms"), standings, left=1),
            "",
            *_markdown(
                (
                    "rules",
                    "bot",
                    "against",
                    "games",
                    "won %",
                    f"{100 * summary.confidence:g} % bounds",
                    "fair %",
                    "result",
                ),
                shares,
                left=3,
            ),
            *(["", *faults] if faults else []),
        ]
    )


def short_names(entrants: Sequence[Entrant]) -> list[str]:
    """Return names that leave room for the figures: a program is named after its file, if no other has that name."""
    files = [
        escape(program_name(split_command(entrant.text))) if entrant.kind == "program" else entrant.name
        for entrant in entrants
    ]
    return [
        entrant.name if file in LEVELS or files.count(file) > 1 else file
        for entrant, file in zip(entrants, files, strict=True)
    ]


def _others(names: Sequence[str], seats: Sequence[int], entrant: int) -> str:
    """Return whom an entrant plays against at a table: ``3 odds``."""
    others = {each: count for each, count in Counter(seats).items() if each != entrant}
    return ", ".join(names[each] if count == 1 else f"{count} {names[each]}" for each, count in others.items())


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return the standings as JSON-able data."""
    names = [entrant.name for entrant in summary.plan.entrants]
    return {
        "bots": [
            {
                "bot": names[each.entrant],
                "rating": round(each.rating, 3),
                "uncertainty": round(each.uncertainty, 3),
                "games": each.games,
                "wins": round(each.won, 3),
                "fair_wins": round(each.fair, 3),
                "faults": each.faults,
                "move_ms": round(each.move_ms, 3),
                "move_ms_99": round(each.slow_ms, 3),
            }
            for each in summary.standings
        ],
        "tables": [
            {
                "rules": summary.plan.tables[share.table].rules,
                "seats": [names[entrant] for entrant in summary.plan.tables[share.table].seats],
                "bot": names[share.entrant],
                "games": share.games,
                "won": round(share.won, 5),
                "low": round(share.bounds.low, 5),
                "high": round(share.bounds.high, 5),
                "fair": round(share.fair, 5),
                "result": _result(share),
            }
            for share in summary.shares
        ],
        "confidence": summary.confidence,
    }


def _result(share: Share) -> str:
    return "better" if share.is_better else "worse" if share.is_worse else "open"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a table whose first ``left`` columns are aligned to the left, the others to the right."""
    widths = [max(3, columns(head), *(columns(row[index]) for row in rows)) for index, head in enumerate(heads)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell + " " * (width - columns(cell)) if index < left else " " * (width - columns(cell)) + cell
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(cell.replace('|', '/') for cell in padded)} |"

    rule = ["-" * width if index < left else "-" * (width - 1) + ":" for index, width in enumerate(widths)]
    return [line(heads), line(rule), *map(line, rows)]
