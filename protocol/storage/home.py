"""A home: the folder that holds everything one player keeps on one machine."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from protocol.crypto.keys import IDENTITY_FILE
from protocol.errors import Parts

STORE_FILE: Final = "store.sqlite3"
MATCHES_FOLDER: Final = "matches"
PROOFS_FOLDER: Final = "proofs"
BOTS_FOLDER: Final = "bots"
ARENAS_FOLDER: Final = "arenas"
SETTINGS_FILE: Final = "config.toml"
"""The player's settings. They lie in the home if the platform has one folder for data and settings."""
LOG_FILE: Final = "p2pdice.log"
TRANSCRIPT_SUFFIX: Final = ".p2pdice"


class Home:
    """The paths below one home folder. Nothing is created by asking for them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def identity(self) -> Path:
        """The identity key."""
        return self.path / IDENTITY_FILE

    @property
    def store(self) -> Path:
        """The database of running and past matches."""
        return self.path / STORE_FILE

    @property
    def store_note(self) -> Path:
        """What the store held last: see :mod:`protocol.storage.newest`."""
        return note_of(self.store)

    @property
    def has_store(self) -> bool:
        """Whether there is a store, or was one that is missing now."""
        return self.store.exists() or self.store_note.exists()

    @property
    def log(self) -> Path:
        """The log of unexpected errors."""
        return self.path / LOG_FILE

    @property
    def bots(self) -> Path:
        """The homes of the bots that this player has seated, while their match is unfinished."""
        return self.path / BOTS_FOLDER

    @property
    def arenas(self) -> Path:
        """The folder of the games that bots have played against each other in memory."""
        return self.path / ARENAS_FOLDER

    @property
    def matches(self) -> Path:
        """The folder of transcripts: see :mod:`protocol.storage.transcript_files`."""
        return self.path / MATCHES_FOLDER

    def proof(self, match: bytes, culprit: bytes) -> Path:
        """Return where the proof of a player's misconduct in a match goes; ``culprit`` is their identity key."""
        return self.path / PROOFS_FOLDER / f"{match.hex()[:16]}-{culprit.hex()[:16]}{TRANSCRIPT_SUFFIX}"

    def proofs(self, match: bytes) -> tuple[Path, ...]:
        """Return the proofs of misconduct in a match that were written."""
        folder = self.path / PROOFS_FOLDER
        return tuple(sorted(folder.glob(f"{match.hex()[:16]}-*{TRANSCRIPT_SUFFIX}")) if folder.is_dir() else ())


def note_of(store: Path) -> Path:
    """Return where the newest commit of a store is noted: see :mod:`protocol.storage.newest`."""
    return store.with_name(f"{store.name}-newest")


def close_to_others(folder: Path) -> Parts:
    """Take away the access that other accounts of this machine have to a home: as a rule they could read it.

    Only a home is closed, never a folder that holds other things as well or belongs to another account. What a
    link in it leads to stays as it is.

    :return: a message about it, as a sentence without its full stop; empty if nothing was open.
    :raises OSError: if the folder cannot be looked at.
    """
    if sys.platform == "win32" or not folder.is_dir():
        return ()  # Windows keeps a user's profile private by access lists; mode bits say nothing there
    found = folder.stat()
    is_open = bool(stat.S_IMODE(found.st_mode) & _OTHERS)
    names = sorted(os.listdir(folder))
    foreign = [name for name in names if name not in (*_FOLDERS, *_LITTER) and not name.startswith(_FILES)]
    if is_open and (found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX or foreign):
        why = f"it holds {foreign[0]}, which is not p2pdice's" if foreign else "it is not yours alone"
        return (
            folder,
            f" is open to other accounts of this machine, and was left so, as {why}; to close it: chmod 700 ",
            folder,
        )
    if is_open:
        folder.chmod(0o700)
    own = [folder / name for name in names if name not in foreign and name != IDENTITY_FILE]
    folders = [folder / name for name in _FOLDERS if not (folder / name).is_symlink()]
    for path in (*own, *(each for inner in folders for each in inner.glob("*"))):
        _close_file(path, os.geteuid())
    return (folder, " was open to other accounts of this machine; it is yours alone now") if is_open and names else ()


_OTHERS: Final = 0o077
_FOLDERS: Final = (MATCHES_FOLDER, PROOFS_FOLDER, BOTS_FOLDER, ARENAS_FOLDER)
_FILES: Final = (IDENTITY_FILE, STORE_FILE, LOG_FILE, SETTINGS_FILE)
"""Beginnings of file names in a home. An identity key that was open is not closed but refused: others may know it."""
_LITTER: Final = (".DS_Store", ".directory", ".localized")
"""Files that file browsers leave in every folder that they show."""


def _close_file(path: Path, owner: int) -> None:
    with suppress(FileNotFoundError):  # another process that uses the home may remove it meanwhile
        found = path.lstat()
        mode = stat.S_IMODE(found.st_mode)
        if mode & _OTHERS and found.st_uid == owner and not stat.S_ISLNK(found.st_mode):
            path.chmod(mode & ~_OTHERS)


def home_of(path: Path) -> Path | None:
    """Return the folder of the home that keeps a transcript or proof; None for a file somewhere else."""
    return path.parent.parent if path.parent.name in (MATCHES_FOLDER, PROOFS_FOLDER) else None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, for its owner to read.

    :raises OSError: if it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A name of its own: the owner may keep a file under any name that could be guessed here.
    descriptor, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    draft = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def private_opener(path: str, flags: int) -> int:
    """Open a file for :func:`open`. Only its owner can read a file that this creates, under any umask."""
    return os.open(path, flags, 0o600)


def open_without_waiting(path: str, flags: int) -> int:
    """Open a file for :func:`open`, without waiting at a pipe that nobody writes to."""
    # Windows has no O_NONBLOCK, and no pipes among its files either.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def default_home() -> Path:
    """Return the folder that the platform intends for this user's data."""
    from platformdirs import user_data_path

    return user_data_path("p2pdice", appauthor=False)
