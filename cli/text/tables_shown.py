"""The list of tables and matches. Each of them is listed once, however many nodes advertise it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from cli.render import counted, escape
from p2pdice.rulesets import PRESETS
from protocol.net.addresses import Address, format_address
from protocol.net.discovery import PLAYING, Advertisement, Sighting
from protocol.version import PROTOCOL_VERSION
from protocol.wire.names import ruleset_label


class ListedTable(NamedTuple):
    """An open table, or a running match with all sightings that agree on it."""

    advertisement: Advertisement
    """Without the number of a short code, which only the host reveals."""
    sightings: tuple[Sighting, ...]

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses to dial: the first one of each node, then the second of each, and so on."""
        rows = [each.addresses for each in self.sightings]
        longest = max(map(len, rows))
        return tuple(dict.fromkeys(row[place] for place in range(longest) for row in rows if place < len(row)))


def listed(found: Iterable[Sighting]) -> tuple[ListedTable, ...]:
    """Return the tables and matches that were found, with a running match listed once.

    All players of a match advertise it. An advertisement that differs is listed separately, so that nobody can hide a
    match behind a false one. An open table has only one host, so two sightings of it are listed separately, too.
    """

    rows: dict[tuple[Advertisement, str], list[Sighting]] = {}
    for each in found:
        is_match = each.advertisement.status == PLAYING
        advertisement = replace(each.advertisement, number=0)
        rows.setdefault((advertisement, "" if is_match else each.instance), []).append(each)
    return tuple(ListedTable(advertisement, tuple(sightings)) for (advertisement, _), sightings in rows.items())


def changes(before: Sequence[ListedTable], now: Sequence[ListedTable]) -> list[tuple[str, ListedTable]]:
    """Return which tables ``closed``, ``changed`` or became ``open``. Another node for a known one is no change."""
    gone = list(before)
    new = []
    for row in now:
        same = next((each for each in gone if each.advertisement == row.advertisement), None)
        if same is None:
            new.append(row)
        else:
            gone.remove(same)
    reports: list[tuple[str, ListedTable]] = []
    for row in new:
        former = next((each for each in gone if _have_a_node_in_common(each, row)), None)
        if former is not None:
            gone.remove(former)
        reports.append(("open" if former is None else "changed", row))
    return [*(("closed", row) for row in gone), *reports]


def _have_a_node_in_common(one: ListedTable, other: ListedTable) -> bool:
    return not {each.instance for each in one.sightings}.isdisjoint(each.instance for each in other.sightings)


def describe(row: ListedTable) -> str:
    """Return a description of a table in one line."""

    table = row.advertisement
    version = "" if table.version == PROTOCOL_VERSION else f"version {table.version} of the protocol, "
    state = "playing" if table.status == PLAYING else f"{table.seats_taken} of {table.seats} seats taken"
    others = len(row.sightings) - 1
    more = f" and {counted(others, 'other address', 'other addresses')}" if others else ""
    where = f"{escape(format_address(row.addresses[0]))}{more}"
    return f"{escape(table.name)}: {escape(rules_shown(table.rules))}, {state}, {version}at {where}"


def rules_shown(label: str) -> str:
    """Return the name of rules, given the label in a table's advertisement: ``classic with stakes``."""
    return _with_stakes().get(label, label)


@cache
def _with_stakes() -> dict[str, str]:
    """Return names for the presets with stakes, by their labels, which only say that they are house rules."""

    added = {name: each.with_options({"stakes": "yes"}) for name, each in PRESETS.items() if not each.stakes}
    return {ruleset_label(ruleset): f"{name} with stakes" for name, ruleset in added.items()}


def data(row: ListedTable) -> dict[str, Any]:
    """Return a table as data for JSON."""

    table = row.advertisement
    return {
        "name": table.name,
        "id": table.id,
        "rules": table.rules,
        "seats_taken": table.seats_taken,
        "seats": table.seats,
        "status": table.status,
        "version": table.version,
        "addresses": [format_address(address) for address in row.addresses],
    }
