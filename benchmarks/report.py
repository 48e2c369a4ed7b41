"""Measure the time of ``p2pdice report``, the size of its page, and the page's verification time in real browsers.

``python -m benchmarks.report --repeat 3``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from statistics import median

from p2pdice.rulesets import PRESETS
from tests.report.browsers import Browser, Chromium, Firefox
from tests.simulation.world import played


def made(transcript: bytes, folder: Path) -> tuple[Path, float]:
    """Return the page of a match, and the command's CPU seconds including the start of Python."""
    source, target = folder / "match.p2pdice", folder / "match.html"
    source.write_bytes(transcript)
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "p2pdice", "report", str(source), "-o", str(target)]
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return target, after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print a row for each match."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="different matches of each kind")
    repeat = parser.parse_args().repeat
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        browsers: list[Browser] = []
        for kind in (Chromium, Firefox):
            if program := kind.program():
                browsers.append(stack.enter_context(kind(program)))
        names = [f"{type(each).__name__} s" for each in browsers]
        heads = ("rules", "players", "transcript KiB", "page KB", "`report` CPU s", *names)
        print("|", " | ".join(heads), "|")
        print("| --- |", " | ".join("---:" for _ in heads[1:]), "|")
        for players, rules in product((4, 10), ("classic", "perudo", "motes")):
            rows = []
            for seed in range(repeat):
                data = played(PRESETS[rules], players, seed)
                page, took = made(data, folder)
                judged = [browser.judged(page) for browser in browsers]
                assert all(verdict == "fair" for verdict, _ in judged)
                rows.append((len(data) / 1024, page.stat().st_size / 1000, took, *(seconds for _, seconds in judged)))
            size, written, *times = (median(column) for column in zip(*rows, strict=True))
            most = [max(column) for column in zip(*rows, strict=True)][2:]
            cells = [f"{each:.1f} ({worst:.1f})" for each, worst in zip(times, most, strict=True)]
            print("|", " | ".join((rules, str(players), f"{size:.0f}", f"{written:.0f}", *cells)), "|", flush=True)


if __name__ == "__main__":
    main()
