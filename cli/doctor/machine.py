"""The machine: Python, the home with its key and its store, the disk, the clock, the terminal."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.doctor.finding import Finding, State
from cli.render import counted, number
from p2pdice.plurals import plural
from p2pdice.version import VERSION

if TYPE_CHECKING:
    from protocol.errors import Parts

SPACE: Final = 64 * 2**20
"""Bytes: a long match of ten players with its transcript takes less than a tenth of it."""
_SLOW_DISK: Final = 0.25
"""Seconds for a small file to be safe on the disk: each move waits for that."""
_FIRST: Final = 1_735_689_600
_LAST: Final = 2_366_841_600
"""The starts of the years 2025 and 2045: a clock outside them is wrong."""
_DAY: Final = 86_400
_ROOM: Final = "Make room on this disk, or choose a folder on another one with --home DIR"
_MIB: Final = 2**20
_RESUME: Final = "Resume that match: its other players hand back what they have"


def machine(home: Path | None) -> Iterator[Finding]:
    """Yield the findings, one at a time: some take a moment."""
    from protocol.storage.home import NoHomeError
    from protocol.version import PROTOCOL_VERSION

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("program", State.OK, f"p2pdice {VERSION} for protocol {PROTOCOL_VERSION}, on Python {python}")
    if home is None:
        yield Finding("home", State.PROBLEM, "this account has no home folder", _capitalized(NoHomeError.hint))
    else:
        yield from _folder(home)
        yield _key(home)
        yield _store(home)
    yield _clock(home)
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
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            yield Finding("disk", State.PROBLEM, f"nothing is free at {place}", _ROOM)
        else:
            reason = f"{place} cannot be written: {error.strerror or error}"
            remedy = "Give your account the right to write there, or choose another folder with --home DIR"
            yield Finding("home", State.PROBLEM, reason, remedy)
        return
    yield _modes(home)
    if free < SPACE:
        says = f"{free / _MIB:.1f} of the {SPACE // _MIB} MiB that play may need are free at {place}"
        yield Finding("disk", State.PROBLEM, says, _ROOM)
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
    from protocol.files import probe_openness

    if not home.exists():
        return Finding("home", State.OK, (home, " will be made when you first play"))
    if sys.platform != "win32" and home.stat().st_mode & 0o077:
        if probe_openness(home):
            says: Parts = (home, " is on a disk that keeps no file from other accounts")
            remedy = "If others use this machine, choose a folder on another disk with --home DIR"
            return Finding("home", State.WARNING, says, remedy)
        says = (home, " is open to other accounts of this machine")
        return Finding("home", State.WARNING, says, ("Close it: chmod 700 ", home))
    return Finding("home", State.OK, (home, " is yours alone"))


def _key(home: Path) -> Finding:
    from protocol.crypto.keys import Identity, KeyFileError, WrongPassphraseError
    from protocol.storage.home import Home

    if not os.path.lexists(Home(home).identity):
        return Finding("key", State.OK, "there is none yet; it will be made when you first play")
    try:
        me, _ = Identity.load_or_create(home)
    except WrongPassphraseError:
        return Finding("key", State.OK, "it is protected by a passphrase")
    except KeyFileError as error:
        remedy = "Nobody can play without a usable key: do that, or choose another home with --home DIR"
        return Finding("key", State.PROBLEM, error.parts, remedy)
    return Finding("key", State.OK, f"nobody else can read it; its fingerprint is {me.fingerprint}")


def _store(home: Path) -> Finding:
    from protocol.storage import archive
    from protocol.storage.home import Home
    from protocol.storage.store import DamagedStoreError, StoreError

    path = Home(home).store
    # To open an empty file as a store would fill it.
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return Finding("store", State.OK, "there is none yet; it will be made when you first play")
    try:
        with archive.read_store(Home(home)) as store:
            matches = store.matches()
            loss = store.loss
    except StoreError as error:
        remedy = _capitalized(error.hint)
        if isinstance(error, DamagedStoreError):
            remedy = "Restore it from a backup, or move it away to begin with an empty one"
        return Finding("store", State.PROBLEM, error.parts, remedy)
    if loss is not None:
        return Finding("store", State.WARNING, archive.describe(loss), _RESUME)
    running = len(archive.unfinished(matches))
    unfinished = f"{number(running) if running else 'none'} unfinished"
    says = f"it can be read; {counted(len(matches), 'match', 'matches')}, {unfinished}"
    return Finding("store", State.OK, says)


def _clock(home: Path | None) -> Finding:
    """See whether the clock shows a time that can be, and none before the files of this home were written."""
    now = time.time()
    says = f"it shows {_minute(now)}"
    remedy = "Set it: a match does not depend on it, but the names of your transcripts do"
    if not _FIRST <= now < _LAST:
        return Finding("clock", State.WARNING, says, remedy)
    try:
        written = max((each.stat().st_mtime for each in home.iterdir()) if home else (), default=0.0)
    except OSError:
        written = 0.0
    if written > now + _DAY:
        return Finding("clock", State.WARNING, f"{says}, but you played at {_minute(written)}", remedy)
    return Finding("clock", State.OK, says)


def _capitalized(hint: str) -> str:
    return f"{hint[:1].upper()}{hint[1:]}"


def _minute(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):  # a disk can hold any number
        return "a moment beyond all calendars"


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding("terminal", State.OK, "none: the output goes to a file or a program")
    columns, lines = shutil.get_terminal_size()
    encoding = sys.stdout.encoding or "none"
    says = f"{columns} {plural(columns, 'column')}, {lines} {plural(lines, 'line')}, {encoding}"
    if columns < 40 or lines < 12:
        return Finding("terminal", State.WARNING, says, "Make it larger, or play with --ui line")
    return Finding("terminal", State.OK, says)
