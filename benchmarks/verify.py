"""Measure how much of the verifier's time is signature checking.

    python -m benchmarks.verify [FILE…] [--players 4] [--repeat 5]

Without files, a match is first played in memory. "share" is the rate at which
:func:`protocol.consensus.verifier.verify` checks signatures, relative to bare ``cryptography`` on the same signatures
in the same run: those of messages, and those of witnesses in LOCKs. The garbage collector ignores all earlier objects.
"""

from __future__ import annotations

import argparse
import gc
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import verify
from protocol.crypto.keys import PublicKey
from tests.simulation.world import played

Check = tuple[Ed25519PublicKey, bytes, bytes]
"""A key, a signature, and the signed bytes."""


def checked(data: bytes) -> list[Check]:
    """Return all signature checks that the verifier makes for a transcript."""
    checks: list[Check] = []

    def note(key: PublicKey, signature: bytes, message: bytes) -> bool:
        checks.append((Ed25519PublicKey.from_public_bytes(key.raw), signature, message))
        return True

    with patch.object(PublicKey, "verifies", note):
        verify(data)
    return checks


def bare(checks: list[Check]) -> float:
    """Return the CPU seconds for checking the signatures and nothing else."""
    begun = time.process_time()
    for key, signature, message in checks:
        key.verify(signature, message)
    return time.process_time() - begun


def judged(data: bytes) -> float:
    """Return the CPU seconds that the verifier takes."""
    begun = time.process_time()
    verdict = verify(data)
    seconds = time.process_time() - begun
    if verdict.verdict != "fair":
        raise SystemExit(f"not a fair transcript: {verdict.reason}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    transcripts = [path.read_bytes() for path in options.files] or [played(PRESETS["classic"], options.players)]
    for data in transcripts:
        shares = []
        checks = checked(data)
        signatures = len(checks)
        gc.collect()
        gc.freeze()
        for _ in range(options.repeat):
            alone = bare(checks)
            shares.append((alone / judged(data), signatures / alone))
        share, rate = median(share for share, _ in shares), median(rate for _, rate in shares)
        speeds = f"bare {rate:.0f}/s, verify {rate * share:.0f}/s, share {share:.0%}"
        print(f"{signatures} signatures, {len(data)} bytes: {speeds}")


if __name__ == "__main__":
    main()
