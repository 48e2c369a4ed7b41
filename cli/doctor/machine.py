"""The machine: Python, the home with its key and its store, the disk, the clock, the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cli.doctor.finding import Finding, State
from cli.render import counted
from p2pdice.version import VERSION

SPACE: Final = 64 * 2**20
"""Bytes: a long match of ten players with its transcript takes less than a tenth of it."""
_SLOW_DISK: Final = 0.25
"""Seconds for a small file to be safe on the disk: each move waits for that."""
_EPOCH: Final = 1_735_689_600
"""The start of the year 2025: no correct clock shows an earlier time."""
_MIB: Final = 2**20


def machine(home: Path) -> Iterator[Finding]:
    """Yield the findings, one at a time: some take a moment."""
    from protocol import PROTOCOL_VERSION

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("program", State.OK, f"p2pdice {VERSION} for protocol {PROTOCOL_VERSION}, on Python {python}")
    yield from _folder(home)
    yield _key(home)
    yield _store(home)
    yield _clock()
    yield _terminal()


def _folder(home: Path) -> Iterator[Finding]:
    """Write a small file where the home is, or would be made."""
    place = next((each for each in (home, *home.parents) if each.exists()), home)
    try:
        began = time.perf_counter()
        with tempfile.NamedTemporaryFile(dir=place, prefix="p2pdice-doctor-") as file:
            file.write(b"p2pdice")
            file.flush()
            os.fsync(file.fileno())
        took = time.perf_counter() - began
        free = shutil.disk_usage(place).free
    except OSError as error:
        reason = f"{place} cannot be written: {error.strerror or error}"
        yield Finding("home", State.PROBLEM, reason, "Choose another folder with --home DIR, or mend its permissions")
        return
    yield _modes(home)
    if free < SPACE:
        yield Finding("disk", State.PROBLEM, f"only {free // _MIB} MiB are free at {place}", "Make room on this disk")
    elif took > _SLOW_DISK:
        yield Finding(
            "disk",
            State.WARNING,
            f"a small file takes {took * 1000:.0f} ms to be safe on the disk",
            "Each move waits for that: put the home on a local disk with --home DIR",
        )
    else:
        yield Finding("disk", State.OK, f"writes are safe in {took * 1000:.0f} ms, {free // _MIB:,} MiB are free")


def _modes(home: Path) -> Finding:
    if not home.exists():
        return Finding("home", State.OK, (home, " will be made when you first play"))
    if sys.platform != "win32" and home.stat().st_mode & 0o077:
        remedy = ("Close it: chmod 700 ", home)
        return Finding("home", State.WARNING, (home, " is open to other accounts of this machine"), remedy)
    return Finding("home", State.OK, (home, " is yours alone"))


def _key(home: Path) -> Finding:
    from protocol import Home, Identity, KeyFileError

    if not os.path.lexists(Home(home).identity):
        return Finding("key", State.OK, "there is none yet; it will be made when you first play")
    try:
        me, _ = Identity.load_or_create(home)
    except KeyFileError as error:
        if "protected by a passphrase" in str(error):
            return Finding("key", State.OK, "it is protected by a passphrase")
        return Finding("key", State.PROBLEM, error.parts, "Nobody can play here without a usable key")
    return Finding("key", State.OK, f"nobody else can read it; its fingerprint is {me.fingerprint}")


def _store(home: Path) -> Finding:
    from protocol import Home, StoreError
    from protocol.storage import archive

    if not Home(home).store.exists():
        return Finding("store", State.OK, "there is none yet; it will be made when you first play")
    try:
        with archive.read_store(Home(home)) as store:
            matches = store.matches()
            loss = store.loss
    except StoreError as error:
        remedy = "Restore it from a backup, or move it away to begin with an empty one"
        return Finding("store", State.PROBLEM, error.parts, remedy)
    if loss is not None:
        return Finding("store", State.WARNING, archive.describe(loss), "Other players hand back what they have")
    running = len(archive.unfinished(matches))
    says = f"it can be read; {counted(len(matches), 'match', 'matches')}, {running} unfinished"
    return Finding("store", State.OK, says)


def _clock() -> Finding:
    now = time.time()
    says = time.strftime("it shows %Y-%m-%d %H:%M", time.localtime(now))
    if now < _EPOCH:
        remedy = "Set it: a match does not depend on it, but the names of your transcripts do"
        return Finding("clock", State.WARNING, says, remedy)
    return Finding("clock", State.OK, says)


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", State.OK, "none: the output goes to a file or a program")
    columns, lines = shutil.get_terminal_size()
    encoding = sys.stdout.encoding or "none"
    says = f"{columns} columns, {lines} lines, {encoding}"
    if columns < 40 or lines < 12:
        return Finding("terminal", State.WARNING, says, "Make it larger, or play with --ui line")
    return Finding("terminal", State.OK, says)
