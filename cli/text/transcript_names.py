"""Names of transcripts on the command line."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from cli.boundary import as_failure
from cli.settings import Settings, home_words


def words_for(path: Path, name: str) -> tuple[str | Path, ...]:
    """Return the words to type for a file: a name if a home holds it, else its path.

    :param name: of the file in its home.
    """
    from protocol.storage.home import home_of

    home = home_of(path)
    return (path,) if home is None else (name, *home_words(home))


def named_transcript(name: str, settings: Settings) -> Path:
    """Return the file that a word names: any file by its path, a file of the home also by its match.

    :func:`protocol.storage.archive.transcript_named` tells the names of matches. If the path exists, the home is not
    touched.

    :raises FileNotFoundError: if the word can only be a path, and there is no such file.
    :raises PermissionError: if the path leads through a folder that is closed to this account.
    :raises Failure: if nothing in the home has this name, or more than one match has.
    """
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):  # it may be a match
        try:
            os.lstat(name)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
        else:
            return Path(name)
    from protocol.errors import NodeError
    from protocol.storage.archive import transcript_named  # which takes long to import, and a file is judged without it
    from protocol.storage.database import StoreError
    from protocol.storage.home import Home

    try:
        return transcript_named(Home(settings.private_home()), name)
    except (NodeError, StoreError) as error:
        failure = as_failure(error)
        assert failure is not None
        raise failure from None
