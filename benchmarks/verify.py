"""Measure how much of the verifier's time is signature checking, and what a second core saves.

    python -m benchmarks.verify [FILE…] [--players 4 10] [--repeat 15]

Without files, matches are first played in memory. A "share" is the number of signatures per second that
:func:`protocol.consensus.verifier.verify` checks, divided by the number that libsodium (``nacl``) or OpenSSL
(``cryptography``) alone checks in the same run. All check the same signatures: on messages, and on witnesses inside
LOCKs. The verifier uses libsodium. The last columns compare threads on all cores, as in ``p2pdice verify``, with one
thread: by the clock, and in CPU time. Figures are medians of alternating measurements. Garbage collection skips objects
that existed before.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from nacl.bindings import crypto_sign_open

from cli.commands.judging import cores, on_all_cores
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import verify
from protocol.crypto.keys import PublicKey
from tests.simulation.world import played

Check = tuple[bytes, bytes, bytes]
"""A public key, a signature, and the signed bytes."""


class Cost(NamedTuple):
    cpu: float
    wall: float


def cost(work: Callable[[], object]) -> Cost:
    """Return the CPU and elapsed seconds of ``work``."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def checked(data: bytes) -> list[Check]:
    """Return all signatures that the verifier checks in a transcript."""
    checks: list[Check] = []

    def note(key: PublicKey, signature: bytes, message: bytes) -> bool:
        checks.append((key.raw, signature, message))
        return True

    with patch.object(PublicKey, "verifies", note):
        verify(data)
    return checks


def measured(data: bytes, repeat: int) -> str:
    """Measure one transcript; return the cells of its row in the table."""
    checks = checked(data)
    opened = [(Ed25519PublicKey.from_public_bytes(raw), signature, message) for raw, signature, message in checks]
    joined = [(signature + message, raw) for raw, signature, message in checks]
    gc.collect()
    gc.freeze()
    with on_all_cores(lambda _, mapped: verify(data, mapped), []) as on_cores:
        works: dict[str, Callable[[], object]] = {
            "OpenSSL": lambda: [key.verify(signature, message) for key, signature, message in opened],
            "libsodium": lambda: [crypto_sign_open(both, raw) for both, raw in joined],
            "one core": lambda: verify(data),
            "all cores": lambda: on_cores(Path()),
        }
        costs = [{name: cost(work) for name, work in works.items()} for _ in range(repeat)]
    if (verdict := verify(data)).verdict != "fair":
        raise SystemExit(f"not a fair transcript: {verdict.reason}")
    cpu = {name: median(each[name].cpu for each in costs) for name in works}
    faster = median(each["one core"].wall / each["all cores"].wall for each in costs)
    dearer = median(each["all cores"].cpu / each["one core"].cpu for each in costs)
    shares = (f"{cpu[name] / cpu['one core']:.0%}" for name in ("libsodium", "OpenSSL"))
    speeds = (f"{len(checks) / cpu[name]:,.0f}" for name in ("libsodium", "OpenSSL", "one core"))
    figures = (f"{len(checks):,}", f"{len(data):,}", *speeds, *shares, f"{faster:.2f}", f"{dearer:.2f}")
    return " | ".join(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--players", type=int, nargs="+", default=[4, 10])
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    transcripts = {path.name: path.read_bytes() for path in options.files} or {
        f"{players} players": played(PRESETS["classic"], players) for players in options.players
    }
    columns = (
        "transcript",
        "signatures",
        "bytes",
        "libsodium/s",
        "OpenSSL/s",
        "verify/s",
        "share of libsodium",
        "share of OpenSSL",
        f"{cores()} cores: times faster",
        "times the CPU",
    )
    print("| " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * (len(columns) - 1))
    for name, data in transcripts.items():
        print(f"| {name} | {measured(data, options.repeat)} |", flush=True)


if __name__ == "__main__":
    main()
