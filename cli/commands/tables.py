"""``p2pdice tables``: what is advertised on the network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.boundary import complain
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.play import InterfaceOption, run
from cli.render import command_line, escape, sentence
from cli.waiting import waiting

if TYPE_CHECKING:
    from protocol.discovery import Discovery, Sighting

LISTEN: Final = 2.0
"""Seconds; tables on a LAN answer within a fraction of one."""
EPILOG: Final = """\b
Examples:
  p2pdice tables
  p2pdice tables --watch          what opens, fills and closes, until Ctrl-C
  p2pdice tables --json

\b
A table on the other side of a router, or on a network that blocks multicast,
is not seen here; join it by the line that its host was shown.
"""

app = application()


@app.command(epilog=EPILOG)
def tables(
    watch: Annotated[bool, typer.Option("--watch", help="Go on listening, and report every change.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object; with --watch one line for each change.")
    ] = False,
    interface: InterfaceOption = None,
) -> None:
    """List the tables on this network.

    What is listed is what others claim: who a host really is shows when you join.
    """
    run(_watch(interface, as_json) if watch else _list(interface, as_json))


async def _list(interface: str | None, as_json: bool) -> None:
    found = await sightings(interface)
    if as_json:
        print(json.dumps({"tables": [data(each) for each in found]}))
        return
    for each in found:
        print(describe(each))
    if not found:
        complain(f"No table was found. Open one with: {command_line('host')}")


async def _watch(interface: str | None, as_json: bool) -> None:
    known: dict[str, Sighting] = {}
    async with listening(interface) as discovery:
        while True:
            now = {each.instance: each for each in discovery.tables()}
            reports = [("closed", each) for instance, each in known.items() if instance not in now]
            for instance, each in now.items():
                if instance not in known:
                    reports.append(("open", each))
                elif known[instance].advertisement != each.advertisement:
                    reports.append(("changed", each))
            for change, each in reports:
                line = json.dumps({"change": change, "table": data(each)}) if as_json else f"{change}: {describe(each)}"
                print(line, flush=True)
            known = now
            await discovery.changed()


async def sightings(interface: str | None) -> tuple[Sighting, ...]:
    """Return the tables that answer within :data:`LISTEN` seconds.

    :raises Failure: if this machine cannot listen for them.
    """
    async with listening(interface) as discovery, waiting("Looking around on this network."):
        await asyncio.sleep(LISTEN)
        return discovery.tables()


@asynccontextmanager
async def listening(interface: str | None) -> AsyncIterator[Discovery]:
    """Listen for tables, without a node of one's own.

    :raises Failure: if this machine cannot.
    """
    from protocol.discovery import Discovery, DiscoveryUnavailable

    discovery = Discovery()
    try:
        await discovery.start(interface)
        yield discovery
    except DiscoveryUnavailable as error:
        hint = f"Ask the host for the join line, and type: {command_line('join', 'JOIN-LINE')}"
        raise Failure(sentence(str(error)), hint=hint, code=ExitCode.UNREACHABLE) from None
    finally:
        await discovery.close()


def describe(sighting: Sighting) -> str:
    """Return a table in one line."""
    table = sighting.advertisement
    state = "playing" if table.status == "playing" else f"{table.seats_taken} of {table.seats} seats taken"
    return f"{escape(table.name)}: {escape(table.rules)}, {state}, at {escape(_address(sighting))}"


def data(sighting: Sighting) -> dict[str, Any]:
    """Return a table as JSON-able data."""
    from protocol.addresses import format_address

    table = sighting.advertisement
    return {
        "name": table.name,
        "id": table.id,
        "rules": table.rules,
        "seats_taken": table.seats_taken,
        "seats": table.seats,
        "status": table.status,
        "version": table.version,
        "addresses": [format_address(address) for address in sighting.addresses],
    }


def _address(sighting: Sighting) -> str:
    from protocol.addresses import format_address

    return format_address(sighting.addresses[0])
