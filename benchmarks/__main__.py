"""Make the tables of docs/benchmarks.md.

    python -m benchmarks [WORD…]

Each benchmark is a module of this package. They run one after another, each in its own process. If words are given,
only the modules with these names run. Each heading shows the load of the machine, which affects all figures except CPU
times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Final, NamedTuple


class Table(NamedTuple):
    title: str
    module: str
    arguments: tuple[str, ...] = ()


TABLES: Final = (
    Table("Whole matches", "match"),
    Table("A match with eight spectators", "match", ("--players", "4", "--spectators", "8")),
    Table("Sitting down by a short code", "join"),
    Table("The verifier", "verify"),
    Table("Start-up", "startup"),
    Table("The engine", "engine"),
    Table("Matches side by side", "vector"),
    Table("Steps of programs that learn", "environment"),
    Table("The screen", "screen"),
    Table("A report", "report", ("--repeat", "3")),
    Table("Homes", "homes", ("--sizes", "10", "1000", "10000")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    words = parser.parse_args().words
    failed = []
    for table in TABLES:
        if words and table.module not in words:
            continue
        command = ("-m", f"benchmarks.{table.module}", *table.arguments)
        load = f"load {os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else "load unknown"
        print(f"## {table.title}\n\n    python {' '.join(command)}    ({load} on {os.cpu_count()} cores)\n", flush=True)
        if subprocess.run([sys.executable, *command], check=False).returncode:
            failed.append(table.module)
        print(flush=True)
    if failed:
        raise SystemExit(f"These could not be measured here: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
