"""Measure how long the command line takes to start, compared with a bare interpreter.

    python -m benchmarks.startup [--repeat 15]

Run it in the environment in which p2pdice is installed. Times are medians over whole processes, in milliseconds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from statistics import median

from p2pdice.rulesets import PRESETS
from tests.simulation.world import played


def milliseconds(command: list[str], repeat: int) -> float:
    """Return the median time of a process, which must succeed."""
    times = []
    for _ in range(repeat):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - begun) * 1000)
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    script = str(Path(sysconfig.get_path("scripts")) / ("p2pdice.exe" if sys.platform == "win32" else "p2pdice"))
    with tempfile.TemporaryDirectory(prefix="p2pdice-bench-") as folder:
        transcript = Path(folder, "match.p2pdice")
        transcript.write_bytes(played(PRESETS["classic"], 2))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "p2pdice --version": [script, "--version"],
            "p2pdice --help": [script, "--help"],
            "p2pdice verify (2 players)": [script, "verify", str(transcript)],
        }
        milliseconds(commands["p2pdice --help"], 2)  # create the byte code that is missing at a first start
        bare = 0.0
        print("| command | ms | × bare |\n| --- | ---: | ---: |")
        for name, command in commands.items():
            taken = milliseconds(command, options.repeat)
            bare = bare or taken
            print(f"| `{name}` | {taken:.0f} | {taken / bare:.1f} |")


if __name__ == "__main__":
    main()
