"""Real disks and accounts that misbehave: a small, a full and a read-only disk, and a uid without a name.

If the account that runs the tests may not create them, the tests that need them report that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from protocol.storage.database import StoreError

STRANGER: Final = 12_345
"""A uid without a name, such as containers use."""


def disk_is_full(*_: object) -> None:
    """Fail as a store does on a full disk; replaces an operation of a store.

    :raises StoreError: always.
    """
    raise StoreError("cannot write to the store: database or disk is full")


def _may_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None and _mounts()


def _mounts() -> bool:
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True, check=False)
    return done.returncode == 0


needs_mounts = pytest.mark.skipif(not _may_mount(), reason="only root on Linux can mount a disk")
needs_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can make files of another account"
)
needs_setpriv = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root on Linux, with setpriv, can be an account without a name",
)

AS_STRANGER: Final = (
    "setpriv",
    f"--reuid={STRANGER}",
    f"--regid={STRANGER}",
    "--clear-groups",
    # It may read everything, because the interpreter may be in a folder of root, but write nothing.
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
)
"""A command prefix that runs a command as :data:`STRANGER`."""


@contextmanager
def small_disk(place: Path, size: str = "4m") -> Iterator[Path]:
    """Mount an empty disk at a new folder for the duration of the block."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def make_read_only(place: Path) -> None:
    """Remount a disk read-only."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


def fill(place: Path) -> None:
    """Fill a disk completely."""
    with (place / "filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 9, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass
