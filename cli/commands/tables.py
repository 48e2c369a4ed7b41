"""``p2pdice tables``, which lists the tables advertised on the network, and the dialogue for picking one.

Each table is listed once, however many nodes advertise it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from cli.commands.network import InterfaceOption, waiting
from cli.exits import ExitCode, Failure, code_of
from cli.front import application
from cli.output import ask, complain, is_interactive, say
from cli.render import command_line, counted, escape, stated
from cli.rulesets import rules_shown
from cli.table.play import run
from protocol.net.addresses import Address, format_address
from protocol.net.discovery import PLAYING, Advertisement, Sighting
from protocol.version import PROTOCOL_VERSION

if TYPE_CHECKING:
    from protocol.net.mdns import Discovery

LISTEN: Final = 2.0
"""Seconds to listen for tables. On a LAN they answer within a fraction of a second."""
EPILOG: Final = """\b
Examples:
  p2pdice tables
  p2pdice tables --watch          what opens, fills and closes, until Ctrl-C
  p2pdice tables --json

\b
A table on the other side of a router, or on a network that blocks multicast,
is not listed here: join it with the line that its host sees.
"""

app = application()


@app.command(epilog=EPILOG)
def tables(
    watch: Annotated[bool, typer.Option("--watch", help="Keep listening, and report every change.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object; with --watch one line for each change.")
    ] = False,
    interface: InterfaceOption = None,
) -> None:
    """List the tables on this network.

    The list shows what others claim. When you join, you learn who a host really is.
    """
    run(_watch(interface, as_json) if watch else _list(interface, as_json))


async def _list(interface: str | None, as_json: bool) -> None:
    found = listed((await look_around(interface)).now)
    if as_json:
        print(json.dumps({"tables": [data(each) for each in found]}))
        return
    for each in found:
        say(describe(each))
    if not found:
        complain(f"No table was found. Open one with: {command_line('host')}")


async def _watch(interface: str | None, as_json: bool) -> None:
    known: tuple[ListedTable, ...] = ()
    async with listening(interface) as discovery:
        while True:
            now = listed(discovery.tables())
            for change, each in changes(known, now):
                line = json.dumps({"change": change, "table": data(each)}) if as_json else f"{change}: {describe(each)}"
                print(line, flush=True)
            known = now
            await discovery.changed()


class ListedTable(NamedTuple):
    """An open table, or a running match with all sightings that agree on it."""

    advertisement: Advertisement
    """The advertisement without the number of its short code, which only the host reveals."""
    sightings: tuple[Sighting, ...]

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The addresses to dial: the first one of each node, then the second of each, and so on."""
        rows = [each.addresses for each in self.sightings]
        longest = max(map(len, rows))
        return tuple(dict.fromkeys(row[place] for place in range(longest) for row in rows if place < len(row)))


def listed(found: Iterable[Sighting]) -> tuple[ListedTable, ...]:
    """Return the tables and matches that were found, with a running match listed once.

    All players of a match advertise it. An advertisement that differs is listed separately, so that a false one
    cannot hide a match. An open table has only one host, so two sightings of it are listed separately, too.
    """
    rows: dict[tuple[Advertisement, str], list[Sighting]] = {}
    for each in found:
        is_match = each.advertisement.status == PLAYING
        advertisement = replace(each.advertisement, number=0)
        rows.setdefault((advertisement, "" if is_match else each.instance), []).append(each)
    return tuple(ListedTable(advertisement, tuple(sightings)) for (advertisement, _), sightings in rows.items())


def changes(before: Sequence[ListedTable], now: Sequence[ListedTable]) -> list[tuple[str, ListedTable]]:
    """Return which tables ``closed``, ``changed`` or became ``open``. A further node is not a change."""
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


class Found(NamedTuple):
    """The tables found on the network."""

    now: tuple[Sighting, ...]
    """The tables advertised at the end of the search."""
    told: tuple[Sighting, ...]
    """All records received, including those changed or withdrawn since."""


async def look_around(interface: str | None) -> Found:
    """Return the tables that answer within :data:`LISTEN` seconds.

    :raises Failure: if this machine cannot listen for tables, or discovery fails meanwhile.
    """
    async with listening(interface) as discovery, waiting("Looking for tables on this network."):
        await asyncio.sleep(LISTEN)
        return Found(discovery.tables(), discovery.told())


@asynccontextmanager
async def listening(interface: str | None) -> AsyncIterator[Discovery]:
    """Listen for tables inside the block, without a node.

    :raises Failure: if this machine cannot listen for tables.
    """
    from protocol.net.mdns import Discovery, DiscoveryUnavailable

    discovery = Discovery()
    try:
        await discovery.start(interface)
        yield discovery
    except DiscoveryUnavailable as error:
        hint = f"Ask the host for the join line, and type: {command_line('join', 'JOIN-LINE')}"
        if interface is not None:
            hint = "Leave out --interface, or name another one."
        raise Failure(stated(error.parts), hint=hint, code=code_of(error)) from None
    finally:
        await discovery.close()


def pick_one(found: Sequence[ListedTable], question: str, command: str) -> ListedTable:
    """Let the player pick a table. If the player cannot be asked and there is only one table, return that one.

    :param found: the tables to choose from, at least one.
    :param command: the command that the error recommends for naming a table.
    :raises Failure: if there are several and the player cannot be asked, or the input ends.
    :raises typer.Exit: if the player picks none.
    """
    if not is_interactive():
        if len(found) == 1:
            return found[0]
        names = ", ".join(escape(each.advertisement.name) for each in found)
        raise Failure(
            f"There are {len(found)} to choose from: {names}.", hint=f"Name one of them: {command}", code=ExitCode.USAGE
        )
    for number, each in enumerate(found, start=1):
        print(f"{number}  {describe(each)}")
    while True:
        answer = _ask(f"{question} (number or name; Enter: {'none' if len(found) > 1 else '1'}) ")
        if not answer.strip() and len(found) > 1:
            print("You chose no table.")
            raise typer.Exit
        picked = pick(answer, found)
        if picked is not None:
            return picked
        print("Type the number in front of a table, or its name.")


def _ask(question: str) -> str:
    try:
        return ask(question)
    except EOFError:
        print()
        raise Failure("No table was chosen.") from None
    except KeyboardInterrupt:
        print()
        raise


def pick(answer: str, tables: Sequence[ListedTable]) -> ListedTable | None:
    """Return the table with this number, name, or unique start of a name; None if there is no such table.

    An empty answer picks the only table. Case is ignored, unless several names differ only in case.
    """
    text = answer.strip()
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(tables):
        return tables[int(text) - 1]
    names = [each.advertisement.name for each in tables]
    folded = text.casefold()
    for fitting in (
        [name == text for name in names],
        [name.casefold() == folded for name in names],
        [name.casefold().startswith(folded) for name in names],
    ):
        if any(fitting):
            return tables[fitting.index(True)] if fitting.count(True) == 1 else None
    return None
