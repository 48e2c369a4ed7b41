"""How long ``join CODE`` takes, from the code to the seat.

    python -m benchmarks.join [--repeat 20]

Host, guest and forger are processes on three laptops: network namespaces on one switch, which require root on Linux.
For each line, ``--repeat`` guests join one after another. Each guest is a new process with a new identity, whose
start-up is not counted. The forger advertises the host's number. It answers at once, although RFC 6762 requires a delay
of 20 to 120 ms. Then it shows a wrong proof, or accepts the greeting and stays silent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

from p2pdice.rulesets import PRESETS
from protocol.crypto.short_code import ShortCode
from protocol.crypto.tls import credentials
from protocol.errors import NodeError
from protocol.limits import Limits
from protocol.match.lobby import TableSettings
from protocol.net.discovery import PRIVATE, Advertisement
from protocol.net.listener import listen
from protocol.net.mdns import Discovery
from protocol.node.node import Node
from protocol.version import PROTOCOL_VERSION
from tests.network.namespaces import Lan, lan

FORGERS = ("none", "a wrong proof", "silence")
PAUSE = 1.0
"""Seconds between two guests, because handshakes from one address have a rate limit."""


async def host(home: Path) -> None:
    node = await Node.open(home, "host")
    opened = await node.host(TableSettings("Friday", PRESETS["classic"], 10))
    print(opened.code, flush=True)
    async for _ in node.events():
        pass


async def forge(kind: str, number: int) -> None:
    from tests.network.code_attackers import FalseHost  # imported here to keep its libraries out of guests

    false = FalseHost(ShortCode(number, "able", "able"))
    if kind == "silence":
        false.frame_received = lambda link, data: None  # type: ignore[method-assign]
    false.listener = await listen(("0.0.0.0",), 0, credentials(false.identity.private_key), false, Limits())
    discovery = Discovery()
    with patch("protocol.net.mdns.JITTER", (0.0, 0.0)), patch("protocol.net.mdns.ANSWER_INTERVAL", 0.0):
        await discovery.start()
        said = Advertisement("00000000", "-", "-", 0, 2, PRIVATE, PROTOCOL_VERSION, number)
        await discovery.advertise(said, false.listener.port)
        print("advertised", flush=True)
        await asyncio.Event().wait()


async def join(code: str, home: Path) -> float | None:
    """Return the seconds until a new guest has a seat; None if it gets no seat."""
    node = await Node.open(home, "guest")
    begun = time.perf_counter()
    try:
        await node.join(code)
    except NodeError as error:
        print(error, file=sys.stderr)
        return None
    else:
        return time.perf_counter() - begun
    finally:
        await node.close()


@contextmanager
def on(wire: Lan, laptop: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run this module with these arguments on a laptop, and kill it at the end of the block."""
    command = [*wire.on(laptop), sys.executable, "-m", "benchmarks.join", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def measure(forger: str, times: int) -> list[float | None]:
    """Let guests join a table, one after another, while a forger runs; return the results of :func:`join`."""
    with (
        tempfile.TemporaryDirectory(prefix="p2pdice-join-") as folder,
        lan(3) as wire,
        on(wire, 1, "--role", "host", "--folder", f"{folder}/host") as table,
    ):
        code = heard(table)
        with on(wire, 2, "--role", "forger", "--forger", forger, "--code", code) as false:
            if forger != "none":
                heard(false)
            taken = []
            for number in range(times):
                time.sleep(PAUSE)
                with on(wire, 3, "--role", "guest", "--code", code, "--folder", f"{folder}/{number}") as guest:
                    taken.append(json.loads(heard(guest)))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--role", choices=("host", "guest", "forger"), help=argparse.SUPPRESS)
    parser.add_argument("--forger", choices=FORGERS, help="measure only with this forger")
    parser.add_argument("--code", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "host":
        asyncio.run(host(options.folder))
    elif options.role == "forger":
        if options.forger != "none":
            asyncio.run(forge(options.forger, int(options.code.partition("-")[0])))
    elif options.role == "guest":
        print(json.dumps(asyncio.run(join(options.code, options.folder))), flush=True)
    else:
        print("| a forger answers first, with | seats | median ms | 90 % | longest ms |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for forger in [options.forger] if options.forger else FORGERS:
            taken = measure(forger, options.repeat)
            seated = sorted(each * 1000 for each in taken if each is not None)
            figures = (median(seated), seated[int(0.9 * len(seated))], seated[-1]) if seated else ()
            row = (forger, f"{len(seated)} of {len(taken)}", *(f"{each:.0f}" for each in figures))
            print("| " + " | ".join(row) + " |", flush=True)
        print(f"load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
