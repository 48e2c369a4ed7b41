"""A home: the folder that holds everything one player keeps on one machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from protocol.keys import IDENTITY_FILE

STORE_FILE: Final = "store.sqlite3"
MATCHES_FOLDER: Final = "matches"
PROOFS_FOLDER: Final = "proofs"
BOTS_FOLDER: Final = "bots"
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
    def log(self) -> Path:
        """Where unexpected errors are written."""
        return self.path / LOG_FILE

    @property
    def bots(self) -> Path:
        """Where the bots that this player has seated live while their match is unfinished."""
        return self.path / BOTS_FOLDER

    def transcript(self, match: bytes) -> Path:
        """Return where the transcript of a finished match goes: a name made of our hash, never of a peer's text."""
        return self.path / MATCHES_FOLDER / f"{match.hex()}{TRANSCRIPT_SUFFIX}"

    def proof(self, match: bytes, culprit: bytes) -> Path:
        """Return where the proof of a player's misconduct in a match goes; ``culprit`` is their identity key."""
        return self.path / PROOFS_FOLDER / f"{match.hex()[:16]}-{culprit.hex()[:16]}{TRANSCRIPT_SUFFIX}"

    def files(self, match: bytes) -> tuple[Path, ...]:
        """Return what is written of a match outside the store: its transcript, and proofs of misconduct in it."""
        folder = self.path / PROOFS_FOLDER
        proofs = sorted(folder.glob(f"{match.hex()[:16]}-*{TRANSCRIPT_SUFFIX}")) if folder.is_dir() else []
        return tuple(path for path in (self.transcript(match), *proofs) if path.exists())


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    :raises OSError: if it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(data)
    draft.replace(path)


def private_opener(path: str, flags: int) -> int:
    """Open a file for :func:`open`; if that creates it, nobody but its owner can read it, whatever the umask."""
    return os.open(path, flags, 0o600)


def default_home() -> Path:
    """Return the folder that the platform intends for this user's data."""
    from platformdirs import user_data_path

    return user_data_path("p2pdice", appauthor=False)
