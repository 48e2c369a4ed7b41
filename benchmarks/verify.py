"""How much of the verifier's time is signature checking.

    python -m benchmarks.verify [FILE…] [--players 4] [--repeat 5]

Without files a match is played in memory first. "share" is signatures a second of
:func:`protocol.consensus.verifier.verify` as a share of what bare ``cryptography`` checks in the same run, over the
very same signatures: those of the messages, and those of witnesses that LOCKs carry. Python's garbage collector is told
to leave alone what was there before.
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
"""A key, a signature, and what was signed."""


def checked(data: bytes) -> list[Check]:
    """Return what the verifier checks of a transcript."""
    checks: list[Check] = []

    def note(key: PublicKey, signature: bytes, message: bytes) -> bool:
        checks.append((Ed25519PublicKey.from_public_bytes(key.raw), signature, message))
        return True

    with patch.object(PublicKey, "verifies", note):
        verify(data)
    return checks


def bare(checks: list[Check]) -> float:
    """Return the seconds that it takes to check signatures and nothing else."""
    begun = time.process_time()
    for key, signature, message in checks:
        key.verify(signature, message)
    return time.process_time() - begun


def judged(data: bytes) -> float:
    """Return the seconds that the verifier takes."""
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
