"""Draws the picture of docs/verifying.md: a real report of a real match, in a real browser.

    python docs/pictures/report.py

It plays a demo, makes the report of it, opens that in headless Chromium, and waits until the page has verified its
transcript. Dice are rolled anew each time, so each run draws another match.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--virtual-time-budget=30000",
    "--window-size=900,1000",
)


def main() -> None:
    """Draw the picture."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("Chromium is not here.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        p2pdice = (sys.executable, "-m", "p2pdice")
        subprocess.run([*p2pdice, "demo", "--out", folder / "demo", "--json"], check=True, stdout=subprocess.DEVNULL)
        (transcript,) = (folder / "demo" / "ada" / "matches").iterdir()
        page = folder / "match.html"
        subprocess.run([*p2pdice, "report", transcript, "-o", page], check=True, stdout=subprocess.DEVNULL)
        picture = f"--screenshot={FOLDER / 'report.png'}"
        subprocess.run([browser, *OPTIONS, f"--user-data-dir={folder / 'browser'}", picture, page.as_uri()], check=True)


if __name__ == "__main__":
    main()
