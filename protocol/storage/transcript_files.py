"""The transcript files of a home: their names, and the match of each.

A file is named by the day on which the match began, its rules, and the first digits of its id. None of these is text
that a peer wrote. The match of a file is read from its content, not from its name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from protocol.consensus.transcript import MalformedTranscriptError, open_transcript
from protocol.files import NotOwnError, read_own
from protocol.limits import GENESIS
from protocol.storage.home import TRANSCRIPT_SUFFIX, Home
from protocol.storage.match_names import SHORT_ID, day
from protocol.wire.genesis import match_id

log = logging.getLogger(__name__)

_HEADER: Final = GENESIS + 64
"""Bytes within which the header of every transcript ends."""


class TranscriptFile(NamedTuple):
    """A transcript that lies in a home."""

    match: bytes
    """The id of its match."""
    path: Path
    genesis: bytes
    """Unchecked, as it stands in the header."""


def _genesis_of(path: Path) -> bytes | None:
    """Return the genesis in the header of a transcript, unchecked; None if the file is no transcript or unreadable."""
    try:
        opened = open_transcript(read_own(path, _HEADER))
    except NotOwnError as error:
        log.warning("%s is passed over: %s", path, error.strerror)
        return None
    except (OSError, MalformedTranscriptError):
        return None
    return None if opened.is_proof else opened.genesis


def transcripts(home: Home, digits: str = "") -> Iterator[TranscriptFile]:
    """Yield the transcripts of a home. What is no transcript, or cannot be read, is passed over.

    :param digits: look only at files whose name holds these.
    """
    folder, start = home.matches, f"*{digits}" if digits else ""
    for path in sorted(folder.glob(f"{start}*{TRANSCRIPT_SUFFIX}")) if folder.is_dir() else ():
        if (genesis := _genesis_of(path)) is not None:
            yield TranscriptFile(match_id(genesis), path, genesis)


def transcript_of(home: Home, match: bytes) -> Path | None:
    """Return the transcript of a match, if it lies in a home; else None."""
    found = [each.path for each in transcripts(home, match.hex()[:SHORT_ID]) if each.match == match]
    return max(found, key=written, default=None)


def written(path: Path) -> tuple[float, str]:
    """Return a sort key: the time when a file was last written."""
    return path.stat().st_mtime, path.name


def transcript_path(home: Home, match: bytes, begun: int, rules: str) -> Path:
    """Return the path of a match's transcript, whether the file exists or not. No other file has this path.

    :param begun: when the match began, in seconds since 1970.
    :param rules: the word for its rules, from :func:`protocol.storage.match_names.rules_word`.
    """
    if (found := transcript_of(home, match)) is not None:
        return found
    digits, start = match.hex(), f"{day(begun)}-{rules}"
    for length in range(SHORT_ID, len(digits) + 1):
        path = home.matches / f"{start}-{digits[:length]}{TRANSCRIPT_SUFFIX}"
        if not os.path.lexists(path):
            break
    return path


def files_about(home: Home, match: bytes) -> tuple[Path, ...]:
    """Return the files of a match outside the store: transcripts, and proofs of misconduct in it."""
    own = (each.path for each in transcripts(home, match.hex()[:SHORT_ID]) if each.match == match)
    return (*own, *home.proofs(match))
