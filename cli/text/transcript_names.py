"""Transcripts as people name them on the command line."""

from __future__ import annotations

import os
from pathlib import Path

from cli.boundary import as_failure
from cli.settings import Settings, home_words


def words_for(path: Path, name: str) -> tuple[str, ...]:
    """Return what to type after a command to name a file that a home may hold: no path, where there is a name.

    :param name: what names the file in its home.
    """
    from protocol.storage.home import MATCHES_FOLDER, PROOFS_FOLDER

    if path.parent.name not in (MATCHES_FOLDER, PROOFS_FOLDER):
        return (str(path),)
    return (name, *home_words(path.parent.parent))


def named_transcript(name: str, settings: Settings) -> Path:
    """Return the file that somebody wants to have read: any by its path, one of their own also by its match.

    What names a match is told at :func:`protocol.storage.archive.transcript_named`. For a file that exists no home is
    touched.

    :raises FileNotFoundError: if it can be nothing but a file, and there is none.
    :raises Failure: if nothing here, or more than one thing, is called so.
    """
    if os.path.lexists(name):
        return Path(name)
    from protocol import Home, NodeError, StoreError
    from protocol.storage.archive import transcript_named  # which takes long to import, and a file is judged without it

    try:
        return transcript_named(Home(settings.private_home()), name)
    except (NodeError, StoreError) as error:
        failure = as_failure(error)
        assert failure is not None
        raise failure from None
