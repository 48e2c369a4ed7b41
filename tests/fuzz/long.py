"""``python -m tests.fuzz.long TARGET --seconds N``: fuzz a target with atheris, which is guided by coverage.

It stops at the first finding, saves the input, and prints how to run it again. Without TARGET it lists all targets.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.targets import TARGETS

LONGEST = 65_536
"""The maximal size of an input in bytes. A frame fits, and so does any short transcript."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.long", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", nargs="?", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="0 for a random one")
    parser.add_argument("--findings", type=Path, default=Path(), metavar="DIR", help="the folder for findings")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="run the target on this input only; needs no atheris"
    )
    options = parser.parse_args()
    if options.target is None:
        print("\n".join(TARGETS))
        return 0
    if options.replay is not None:
        TARGETS[options.target].check(options.replay.read_bytes())
        print("accepted, or refused as documented")
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed. Install it with: pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    return _guided(options.target, options.seconds, options.seed, options.findings)


def _guided(target: str, seconds: int, seed: int, findings: Path) -> int:
    findings.mkdir(parents=True, exist_ok=True)
    earlier = set(findings.glob(f"{target}-*"))
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(TARGETS[target].examples()):
            (Path(corpus) / f"example-{number}").write_bytes(data)
        # In a separate process, because libFuzzer ends its process.
        command = [sys.executable, "-m", "tests.fuzz.guided", target, corpus]
        flags = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", "-timeout=30"]
        artifacts = [f"-artifact_prefix={findings / target}-", "-print_final_stats=1"]
        code = subprocess.run([*command, *flags, *artifacts], check=False).returncode
    for finding in sorted(set(findings.glob(f"{target}-*")) - earlier):
        print(f"A finding. Run it again with: python -m tests.fuzz.long {target} --replay {finding}")
    return code


if __name__ == "__main__":
    sys.exit(main())
