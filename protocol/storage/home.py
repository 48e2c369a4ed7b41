"""A home: the folder with everything that one player keeps on one machine."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from protocol.crypto.keys import IDENTITY_FILE
from protocol.errors import LocalError, Parts
from protocol.files import (
    OTHERS,
    NotOwnError,
    check_own,
    check_own_folder,
    check_owner,
    own_opener,
    probe_openness,
)

STORE_FILE: Final = "store.sqlite3"
MATCHES_FOLDER: Final = "matches"
PROOFS_FOLDER: Final = "proofs"
BOTS_FOLDER: Final = "bots"
ARENAS_FOLDER: Final = "arenas"
SETTINGS_FILE: Final = "config.toml"
"""The player's settings. The file is in the home if the platform uses one folder for both data and settings."""
LOG_FILE: Final = "p2pdice.log"
TRANSCRIPT_SUFFIX: Final = ".p2pdice"


class Home:
    """The paths in one home folder. Getting a path creates nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.identity = path / IDENTITY_FILE
        self.store = path / STORE_FILE
        """The database of running and past matches."""
        self.store_note = note_of(self.store)
        """The note about the store's newest commit: see :mod:`protocol.storage.database`."""
        self.log = path / LOG_FILE
        self.bots = path / BOTS_FOLDER
        """The homes of the bots that this player has seated, kept until their match is finished."""
        self.arenas = path / ARENAS_FOLDER
        """The folder of games that bots have played against each other in memory."""
        self.matches = path / MATCHES_FOLDER
        """The folder of transcripts: see :mod:`protocol.storage.archive`."""

    @property
    def has_store(self) -> bool:
        """Whether there is a store, or a note about one that is now missing."""
        return self.store.exists() or self.store_note.exists()

    def proof(self, match: bytes, culprit: bytes) -> Path:
        """Return the path for a proof of misconduct in a match by the player with the identity key ``culprit``."""
        return self.path / PROOFS_FOLDER / f"{match.hex()[:16]}-{culprit.hex()[:16]}{TRANSCRIPT_SUFFIX}"

    def proofs(self, match: bytes) -> tuple[Path, ...]:
        """Return the existing proofs of misconduct in a match."""
        folder = self.path / PROOFS_FOLDER
        return tuple(sorted(folder.glob(f"{match.hex()[:16]}-*{TRANSCRIPT_SUFFIX}")) if folder.is_dir() else ())


def note_of(store: Path) -> Path:
    """Return the path of the note about a store's newest commit: see :mod:`protocol.storage.database`."""
    return store.with_name(f"{store.name}-newest")


def close_to_others(folder: Path) -> Parts:
    """Make a home inaccessible to other accounts on this machine, which could read it by default.

    Only a home is closed, not a folder that also holds other things or belongs to another account. Once a home is
    closed, only its owner can put files into it. Files that others put there before are rejected and left unchanged.

    :return: a message about what was done, as a sentence without its full stop; empty if there is nothing to report.
    :raises NotOwnError: if the home is not a folder, a file in it is not the owner's own, or others can still write to
        it.
    :raises OSError: if the folder cannot be inspected.
    """
    if not folder.is_dir():
        if folder.exists():
            raise NotOwnError(folder, "is no folder", "choose another place with --home DIR")
        return ()
    if sys.platform == "win32":
        return ()  # Windows keeps profiles private by access lists; mode bits mean nothing there
    found = folder.stat()
    names = sorted(os.listdir(folder))
    foreign = [name for name in names if name not in (*_FOLDERS, *_LITTER) and not name.startswith(_FILES)]
    if found.st_uid != 0:  # the administrator can do anything anyway
        check_owner(folder, found)
    is_shared = found.st_uid != os.geteuid() or bool(found.st_mode & stat.S_ISVTX)
    if not (is_shared or foreign):
        _close(folder.resolve())  # the home may be a link, which its owner named
    left = folder.stat().st_mode
    is_open = bool(left & OTHERS)
    is_always_open = is_open and probe_openness(folder)
    if left & _WRITERS and not (left & stat.S_ISVTX or is_always_open) and os.access(folder, os.W_OK):
        remedy = "take that right away with chmod go-w, or choose another folder with --home DIR"
        raise NotOwnError(folder, "can be written to by other accounts of this machine", remedy)
    own = [name for name in names if name not in foreign]
    _look_over(folder, own)
    if is_always_open:
        return _left_open(folder)
    if is_open:
        why = f"it holds {foreign[0]}, which is not p2pdice's" if foreign else ""
        why = why or ("it is not yours alone" if is_shared else "its disk cannot be written")
        said = f" is open to other accounts of this machine, and was left so, as {why}; to close it: chmod 700 "
        return folder, said, folder
    _close_files(folder, own)
    was_open = found.st_mode & OTHERS
    return (folder, " was open to other accounts of this machine; it is yours alone now") if was_open and names else ()


_WRITERS: Final = 0o022
_FOLDERS: Final = (MATCHES_FOLDER, PROOFS_FOLDER, BOTS_FOLDER, ARENAS_FOLDER)
_OPEN_NOTE: Final = "open-to-others.txt"
"""The file whose presence shows that the owner was told that the disk does not keep files private."""
_FILES: Final = (IDENTITY_FILE, STORE_FILE, LOG_FILE, SETTINGS_FILE, _OPEN_NOTE)
"""The beginnings of file names in a home. An identity key that was readable by others is rejected, not closed: others
may know it. The settings may be a link to a file elsewhere."""
_LITTER: Final = (".DS_Store", ".directory", ".localized")
"""Files that file browsers leave in every folder they show."""


def _left_open(folder: Path) -> Parts:
    """Report that other accounts can read every file on a home's disk. A file in the home notes that this was reported,
    so it is reported only once."""
    said = (
        " is on a disk that keeps no file from other accounts of this machine: they can read your key, and play in your"
        " name; if others use this machine, choose a folder on another disk with --home DIR"
    )
    with suppress(OSError):  # where no note can be left, report it again
        try:
            with open(folder / _OPEN_NOTE, "x", encoding="utf-8", opener=own_opener) as file:
                file.write(f"This folder{said}.\n")
        except FileExistsError:
            return ()
    return folder, said


def _look_over(folder: Path, names: Iterable[str]) -> None:
    """Check the files and folders of a home.

    :raises NotOwnError: if one of them is not the owner's own.
    """
    for name in names:
        path = folder / name
        if name in _FOLDERS:
            check_own_folder(path)
        elif name == SETTINGS_FILE:
            check_owner(path, path.lstat())  # its owner may have made it a link
        elif name != IDENTITY_FILE:  # the key is checked when it is read
            check_own(path)


def _close_files(folder: Path, names: Iterable[str]) -> None:
    """Close the files of a home to others, except its key: if that was open, others may know it."""
    for name in names:
        if name != IDENTITY_FILE:
            _close(folder / name)
        if name in _FOLDERS:
            for path in (folder / name).glob("*"):
                _close(path)


def _close(path: Path) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # the file is gone, or the disk is read-only or keeps no modes
        found = path.lstat()
        if found.st_mode & OTHERS and found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode):
            path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def home_around(path: Path) -> Path | None:
    """Return the home folder that contains a transcript or proof; None for a file elsewhere."""
    return path.parent.parent if path.parent.name in (MATCHES_FOLDER, PROOFS_FOLDER) else None


class NoHomeError(LocalError):
    """This account has no home folder, as in many containers: HOME is not set, and the system has no entry either."""

    hint = "name a folder with --home DIR (or P2PDICE_HOME), and a file for settings with P2PDICE_CONFIG"


def default_home() -> Path:
    """Return the platform's folder for this user's data.

    :raises NoHomeError: if there is none.
    """
    from platformdirs import user_data_path

    return _of_this_account(user_data_path)


def default_settings() -> Path:
    """Return the path of this user's settings in the platform's folder for them.

    :raises NoHomeError: if there is none.
    """
    from platformdirs import user_config_path

    return _of_this_account(user_config_path) / SETTINGS_FILE


def _of_this_account(folder: Callable[..., Path]) -> Path:
    with suppress(RuntimeError):
        path = folder("p2pdice", appauthor=False)
        if path.is_absolute():  # some versions of platformdirs leave the ~ unexpanded
            return path
    raise NoHomeError("this account has no home folder")
