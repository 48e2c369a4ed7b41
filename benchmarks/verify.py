"""How much of the verifier's time is signature checking.

    python -m benchmarks.verify [FILE…] [--players 4] [--repeat 5]

Without files a match is played in memory first. "share" is signatures a second of :func:`protocol.verifier.verify` as
a share of what bare ``cryptography`` checks in the same run, over the very same signatures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from benchmarks.matches import played
from protocol.record import Record
from protocol.transcript import open_transcript
from protocol.verifier import verify


def bare(data: bytes) -> tuple[int, float]:
    """Check every message signature of a transcript and nothing else; return how many and the seconds."""
    opened = open_transcript(data)
    keys = [Ed25519PublicKey.from_public_bytes(key.raw) for key in Record(opened.genesis).keys]
    checks = [(keys[signed.message.author], signed.signature, signed.data) for signed in opened.messages]
    begun = time.process_time()
    for key, signature, message in checks:
        key.verify(signature, message)
    return len(checks), time.process_time() - begun


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
    transcripts = [path.read_bytes() for path in options.files] or [played(options.players)]
    for data in transcripts:
        shares = []
        for _ in range(options.repeat):
            signatures, alone = bare(data)
            shares.append((alone / judged(data), signatures / alone))
        share, rate = median(share for share, _ in shares), median(rate for _, rate in shares)
        speeds = f"bare {rate:.0f}/s, verify {rate * share:.0f}/s, share {share:.0%}"
        print(f"{signatures} signatures, {len(data)} bytes: {speeds}")


if __name__ == "__main__":
    main()
