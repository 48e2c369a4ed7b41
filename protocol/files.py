"""The two ways in which a file is opened: as one of the owner's own, or as one from outside.

A file of a home can lead elsewhere if the home was ever open to others: it may be a link, another name of a file that
lies somewhere else, or belong to somebody who reads along. So it is looked at before anything is read or written.
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
from typing import Final

from protocol.errors import LocalError

OTHERS: Final = 0o077
"""The mode bits of all accounts but the owner's."""

# Windows has none of the first two, and only Windows has the third.
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_AS_IT_IS: Final = _WITHOUT_WAITING | getattr(os, "O_NOFOLLOW", 0)

_LITTLE: Final = 1 << 20
"""Bytes: a disk with less room is full. SQLite does not always report a full disk as SQLITE_FULL."""
_REMEDY: Final = "move it away, or choose another folder with --home DIR"
_READ_ONLY_REMEDY: Final = (
    "its disk is read-only, so copy the folder to another disk, close the copy with chmod -R go-rwx, and name it with"
    " --home DIR"
)
_DUPLICATE_REMEDY: Final = f"if a program that removes duplicate files did it, put a copy in its place; else {_REMEDY}"


class NotOwnError(LocalError, PermissionError):
    """A file of a home is not its owner's own. The text says why, and what to do.

    :param is_open: the only fault is that other accounts can read it, and chmod can mend that.
    """

    def __init__(self, path: Path, problem: str, remedy: str = _REMEDY, *, is_open: bool = False) -> None:
        reason = f"it {problem}; {remedy}"
        PermissionError.__init__(self, errno.EPERM, reason, str(path))
        self.parts = (path, f": I{reason[1:]}")
        self.is_open = is_open


def check_own(path: Path, *, is_secret: bool = False) -> bool:
    """Check that a file of a home is the owner's own, if it is there; return whether it is.

    :param is_secret: other accounts must not be able to read it either.
    :raises NotOwnError: if it is a link or no regular file, belongs to another account, or has another name.
    :raises OSError: if it cannot be looked at.
    """
    try:
        _check(path, path.lstat(), is_secret=is_secret)
    except FileNotFoundError:
        return False
    return True


def check_own_folder(path: Path) -> None:
    """Check that a folder of a home is the owner's own, if it is there.

    :raises NotOwnError: if it is a link or no folder, or belongs to another account.
    :raises OSError: if it cannot be looked at.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise NotOwnError(path, "is a link, which is not followed" if stat.S_ISLNK(found.st_mode) else "is no folder")
    check_owner(path, found)


def check_owner(path: Path, found: os.stat_result) -> None:
    """Check that a file or folder belongs to this account, as far as its disk keeps owners.

    :raises NotOwnError: if it belongs to another one.
    """
    # Windows keeps a user's profile private by access lists; owner and mode bits say nothing there.
    if sys.platform == "win32" or found.st_uid == os.geteuid():
        return
    made = probe_modes(path if stat.S_ISDIR(found.st_mode) else path.parent)
    if made is None or made.st_uid != found.st_uid:
        raise NotOwnError(path, "belongs to another account", _READ_ONLY_REMEDY if _is_read_only(path) else _REMEDY)


def own_opener(path: str, flags: int) -> int:
    """Open a file of a home for :func:`open`. Only its owner can read a file that this creates, under any umask.

    :raises NotOwnError: if it is not the owner's own, as :func:`check_own` says. It stays as it is.
    :raises OSError: if it cannot be opened.
    """
    return _open_own(Path(path), flags)


def read_own(path: Path, limit: int, *, is_secret: bool = False) -> bytes:
    """Return the first bytes of a file of a home.

    :raises NotOwnError: as :func:`check_own` does.
    :raises OSError: if it cannot be read.
    """
    with open(_open_own(path, os.O_RDONLY, is_secret=is_secret), "rb") as file:
        return file.read(limit)


def read_outside(path: Path, limit: int) -> bytes:
    """Return the first bytes of a file from outside, which may be anybody's, or a link to one.

    :raises OSError: if it cannot be read, or is a folder, a pipe or a device: to read one of these may never end, and
        to open one may wait.
    """
    _require_file(path, path.stat().st_mode)
    with open(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb") as file:
        _require_file(path, os.fstat(file.fileno()).st_mode)  # another may have taken its place
        return file.read(limit)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, for its owner to read. A file or link that is there before is replaced.

    :raises OSError: if it cannot be written; it names this file. Then the one that was there is in its place.
    """
    with naming(path):
        _write_whole(path, data)


def write_own(path: Path, data: bytes) -> None:
    """Write a file of a home as :func:`write_whole` does, into a folder that is the owner's own.

    :raises NotOwnError: if the folder is a link or belongs to another account, as where others can write to the home.
    :raises OSError: as :func:`write_whole` does.
    """
    with naming(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_own_folder(path.parent)
    write_whole(path, data)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file into the errors that the system raises in the block.

    By itself the system names none if a disk is full, and names a draft if none can be made.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A name of its own: the owner may keep a file under any name that could be guessed here.
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
    """Tell whether the disk of a folder has too little room for a file to get longer.

    :raises OSError: if the folder cannot be looked at.
    """
    return shutil.disk_usage(folder).free < _LITTLE


def probe_openness(folder: Path) -> bool:
    """Make a file in a folder, as :func:`probe_modes` does, and tell whether it is open to other accounts even so."""
    made = probe_modes(folder) if sys.platform != "win32" else None
    return made is not None and bool(made.st_mode & OTHERS)


def probe_modes(folder: Path) -> os.stat_result | None:
    """Make a file in a folder, and return its owner and mode as the disk keeps them; None if none can be made there.

    Some disks keep neither: exFAT, those of Windows below Linux, some of other machines. All files look alike there.
    The file is gone at once.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            return os.fstat(file.fileno())
    except OSError:
        return None


def _open_own(path: Path, flags: int, *, is_secret: bool = False) -> int:
    # Looked at before it is opened, since Windows has no way to open a link itself; and again afterwards, since it may
    # be another file by now. It is emptied only after that.
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
    """Tell whether the disk of a file is read-only, so that nothing can be found out about its modes, nor mended."""
    return sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _require_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"this is {_kind(mode)}, not a file", str(path))


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
