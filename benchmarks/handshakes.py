"""Measure the cost of a hostile handshake to the side that answers it, or to the side that dials.

    python -m benchmarks.handshakes [--times 20]

TLS runs over a socket pair. A hostile peer presents a chain of certificates until the victim aborts or the handshake is
complete. Figures are the victim's median computing time per handshake in milliseconds: first with OpenSSL alone
(measured once if it takes long), then with p2pdice. From these times follows the share of a core that strangers can
keep busy: handshakes have a rate limit, and an expensive handshake counts as several. None of this work is done in the
event loop, where the match runs.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import ssl
import threading
import time
from contextlib import suppress
from statistics import median

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from protocol.crypto.tls import client_context, credentials, server_context
from protocol.limits import ACCEPT_RATE, HANDSHAKE_COST, HANDSHAKE_RATE
from protocol.net.channel import shake_hands
from tests.protocol.chains import CHAINS, show

PATIENCE = 60.0
"""Seconds that the hostile peer waits for the victim to end the handshake."""
SIZES = {"small keys": (1, 4, 16, 379), "compressed points": (1, 4, 16, 379), "curves of their own": (1, 2, 4, 32)}
LONG = 0.5
"""A handshake that takes OpenSSL more seconds than this is measured only once."""


def alone(hostile: ssl.SSLContext, victim: ssl.SSLContext, *, victim_dials: bool) -> float:
    """Return the seconds of computing time for a victim that uses OpenSSL alone."""
    to_victim, to_peer = ssl.MemoryBIO(), ssl.MemoryBIO()
    peer = hostile.wrap_bio(to_peer, to_victim, server_side=victim_dials)
    us = victim.wrap_bio(to_victim, to_peer, server_side=not victim_dials)
    spent = 0.0
    while True:
        with suppress(ssl.SSLWantReadError):
            peer.do_handshake()
        began = time.thread_time()
        try:
            us.do_handshake()
        except ssl.SSLWantReadError:
            spent += time.thread_time() - began
        except ssl.SSLError:
            return spent + time.thread_time() - began
        else:
            return spent + time.thread_time() - began


def here(hostile: ssl.SSLContext, victim: ssl.SSLContext, *, victim_dials: bool) -> tuple[float, bool]:
    """Return the seconds of computing time for p2pdice, and whether the handshake was completed."""
    ours, theirs = socket.socketpair()

    def attack() -> None:
        theirs.settimeout(PATIENCE)
        with suppress(OSError), hostile.wrap_socket(theirs, server_side=victim_dials) as stranger:
            stranger.recv(1)

    async def defend() -> tuple[float, bool]:
        costs: list[float] = []
        try:
            await shake_hands(ours, victim, costs.append, is_server=not victim_dials)
        except OSError:
            is_done = False
        else:
            is_done = True
        await asyncio.sleep(0)  # let the last cost be recorded
        return sum(costs), is_done

    ours.setblocking(False)
    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        return asyncio.run(defend())
    finally:
        ours.close()
        attacker.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    key = Ed25519PrivateKey.generate()
    ours = credentials(Ed25519PrivateKey.generate())
    print(
        "| the peer shows besides a node's certificate | who is shown it | OpenSSL alone, ms | here, ms | it ends |",
        end="",
    )
    print(" % of a core, one address | all addresses |")
    print("| --- | --- | ---: | ---: | --- | ---: | ---: |")
    for kind, length in (("", 0), *((kind, length) for kind, lengths in SIZES.items() for length in lengths)):
        chain = CHAINS[kind](length) if kind else []
        for dials in (False, True):
            hostile = show(server_context(key) if dials else client_context(key), key, chain)
            victim = ours.client if dials else ours.server
            before = [alone(hostile, victim, victim_dials=dials)]
            while before[0] < LONG and len(before) < times:
                before.append(alone(hostile, victim, victim_dials=dials))
            now = [here(hostile, victim, victim_dials=dials) for _ in range(times)]
            cost = median(each[0] for each in now)
            shares = [rate * cost / max(1.0, cost / HANDSHAKE_COST) * 100 for rate in (HANDSHAKE_RATE, ACCEPT_RATE)]
            cells = (
                f"{length} certificates, {kind}" if kind else "nothing: an honest node",
                "who dials" if dials else "who answers",
                f"{median(before) * 1000:,.1f}",
                f"{cost * 1000:.1f}",
                "as a link" if now[0][1] else "refused",
                *("–" if dials else f"{share:.1f}" for share in shares),
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
