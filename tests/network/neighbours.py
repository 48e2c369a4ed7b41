"""Strangers with tables on the same network: ``python -m tests.network.neighbours --tables N``, until its input ends.

Each table is advertised as if by its own node. Once all are advertised, the program prints ``{"event": "begun"}``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys

from protocol.net.discovery import LOBBY, Advertisement
from protocol.net.mdns import Discovery


async def open_tables(count: int) -> None:
    discoveries = [Discovery() for _ in range(count)]
    for number, discovery in enumerate(discoveries):
        await discovery.start()
        table = Advertisement(secrets.token_hex(16), f"Friday {number}", "classic", 1, 4, LOBBY, 1)
        await discovery.advertise(table, 7000 + number)
    print(json.dumps({"event": "begun"}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for discovery in discoveries:
        await discovery.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, required=True)
    asyncio.run(open_tables(parser.parse_args().tables))
