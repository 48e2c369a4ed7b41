"""The two ways to open a file: as one of the owner's own, or as one from outside.

If a home was ever open to other accounts, its files may lead elsewhere: a file may be a link, a hard link to a file in
another place, or belong to an account that reads it. So each file is checked before it is read or written.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from protocol.errors import LocalError

OTHERS: Final = 0o077
"""The mode bits for group and others."""

# Windows lacks O_NONBLOCK and O_NOFOLLOW, and only Windows has O_BINARY.
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_AS_IT_IS: Final = _WITHOUT_WAITING | getattr(os, "O_NOFOLLOW", 0)

_LITTLE: Final = 1 << 20
"""Free bytes below which a disk counts as full. SQLite does not always report a full disk as SQLITE_FULL."""
_REMEDY: Final = "move it away, or choose another folder with --home DIR"
_READ_ONLY_REMEDY: Final = (
    "its disk is read-only, so copy the folder to another disk, close the copy with chmod -R go-rwx, and name it with"
    " --home DIR"
)
_DUPLICATE_REMEDY: Final = f"if a program that removes duplicate files did it, put a copy in its place; else {_REMEDY}"


class NotOwnError(LocalError, PermissionError):
    """A file in a home is not its owner's own. The message states why and suggests a remedy.

    :param is_open: whether the only fault is that other accounts can read it, which chmod can fix.
    """

    def __init__(self, path: Path, problem: str, remedy: str = _REMEDY, *, is_open: bool = False) -> None:
        reason = f"it {problem}; {remedy}"
        PermissionError.__init__(self, errno.EPERM, reason, str(path))
        self.parts = (path, f": I{reason[1:]}")
        self.is_open = is_open


def check_own(path: Path, *, is_secret: bool = False) -> bool:
    """Check that a file in a home, if it exists, is the owner's own; return whether it exists.

    :param is_secret: whether other accounts must be unable to read the file.
    :raises NotOwnError: if it is a link or not a regular file, belongs to another account, has another hard link, or
        is readable by others in spite of ``is_secret``.
    :raises OSError: if it cannot be inspected.
    """
    try:
        _check(path, path.lstat(), is_secret=is_secret)
    except FileNotFoundError:
        return False
    return True


def check_own_folder(path: Path) -> None:
    """Check that a folder in a home, if it exists, is the owner's own.

    :raises NotOwnError: if it is a link or not a folder, or belongs to another account.
    :raises OSError: if it cannot be inspected.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise NotOwnError(path, "is a link, which is not followed" if stat.S_ISLNK(found.st_mode) else "is no folder")
    check_owner(path, found)


def check_owner(path: Path, found: os.stat_result) -> None:
    """Check that a file or folder belongs to this account, on disks that record owners.

    :raises NotOwnError: if it belongs to another account.
    """
    # Windows protects a user's profile by access lists. Owner and mode bits mean nothing there.
    if sys.platform == "win32" or found.st_uid == os.geteuid():
        return
    made = probe_modes(path if stat.S_ISDIR(found.st_mode) else path.parent)
    if made is None or made.st_uid != found.st_uid:
        raise NotOwnError(path, "belongs to another account", _READ_ONLY_REMEDY if _is_read_only(path) else _REMEDY)


def own_opener(path: str, flags: int) -> int:
    """Open a file of a home; for use as an opener. New files are readable by their owner only, whatever the umask.

    :raises NotOwnError: if the file fails :func:`check_own`; it is left unchanged.
    :raises OSError: if it cannot be opened.
    """
    return _open_own(Path(path), flags)


def read_own(path: Path, limit: int, *, is_secret: bool = False) -> bytes:
    """Return up to ``limit`` bytes from the start of a file in a home.

    :raises NotOwnError: if the file fails :func:`check_own`.
    :raises OSError: if it cannot be read.
    """
    with open(_open_own(path, os.O_RDONLY, is_secret=is_secret), "rb") as file:
        return file.read(limit)


def read_outside(path: Path, limit: int) -> bytes:
    """Return up to ``limit`` bytes from the start of a file from outside, which may belong to anybody or be a link.

    :raises OSError: if it cannot be read, or is a folder, a pipe or a device: opening one may block, and reading one
        may never end.
    """
    with open_outside(path) as file:
        return file.read(limit)


@contextmanager
def open_outside(path: Path) -> Iterator[BinaryIO]:
    """Open a file from outside for reading, inside the block.

    :raises OSError: as in :func:`read_outside`.
    """
    _require_file(path, path.stat().st_mode)
    with open(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb") as file:
        _require_file(path, os.fstat(file.fileno()).st_mode)  # the path may lead to another file by now
        yield file


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, readable by its owner only. It replaces an existing file or link.

    :raises OSError: if it cannot be written. The error names ``path``, and an existing file is left unchanged.
    """
    with naming(path):
        _write_whole(path, data)


def write_own(path: Path, data: bytes) -> None:
    """Write a file of a home like :func:`write_whole`, into a folder that is the owner's own.

    :raises NotOwnError: if the folder is a link or belongs to another account, as in a home that others can write to.
    :raises OSError: as in :func:`write_whole`.
    """
    with naming(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_own_folder(path.parent)
    write_whole(path, data)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of ``path`` into any OSError raised in the block.

    The system's own errors name no file if the disk is full, and name a temporary file if it cannot be created.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A random name, because the owner may keep a file under any predictable one.
    descriptor, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    draft = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def is_full(folder: Path) -> bool:
    """Return whether the disk of ``folder`` has too little space for a file to grow.

    :raises OSError: if the folder cannot be inspected.
    """
    return shutil.disk_usage(folder).free < _LITTLE


def probe_openness(folder: Path) -> bool:
    """Create a file in ``folder`` as :func:`probe_modes` does, and return whether it is open to other accounts."""
    made = probe_modes(folder) if sys.platform != "win32" else None
    return made is not None and bool(made.st_mode & OTHERS)


def probe_modes(folder: Path) -> os.stat_result | None:
    """Create a file in ``folder`` and return its owner and mode as the disk records them, or None if that fails.

    Some disks record neither: exFAT, Windows disks under WSL, some network shares. There all files have the same owner
    and mode. The file is deleted at once.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            return os.fstat(file.fileno())
    except OSError:
        return None


def _open_own(path: Path, flags: int, *, is_secret: bool = False) -> int:
    # The path is checked before it is opened, because Windows cannot open a link itself; and again afterwards, because
    # it may lead to another file by then. Truncation comes last.
    check_own(path, is_secret=is_secret)
    descriptor = os.open(path, flags & ~os.O_TRUNC | _AS_IT_IS, 0o600)
    try:
        _check(path, os.fstat(descriptor), is_secret=is_secret)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: Path, found: os.stat_result, *, is_secret: bool) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise NotOwnError(path, "is a link, which is not followed")
    if not stat.S_ISREG(found.st_mode):
        raise NotOwnError(path, f"is {_kind(found.st_mode)}, not a file")
    if found.st_nlink > 1:
        raise NotOwnError(path, "has another name somewhere else (a hard link)", _DUPLICATE_REMEDY)
    check_owner(path, found)
    is_open = sys.platform != "win32" and bool(found.st_mode & OTHERS)
    if is_secret and is_open and not probe_openness(path.parent):
        if _is_read_only(path):
            raise NotOwnError(path, "can be read by others", _READ_ONLY_REMEDY)
        raise NotOwnError(path, "can be read by others", "close it with chmod 600", is_open=True)


def _is_read_only(path: Path) -> bool:
    """Return whether a file's disk is read-only, so that its modes can be neither probed nor changed."""
    return sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _require_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"this is {_kind(mode)}, not a file", str(path))


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
