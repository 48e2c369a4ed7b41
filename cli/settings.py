"""Settings common to all commands: where the state is kept, and whether colour is wanted."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cli.output import COLOR_VARIABLE, complain
from cli.render import shown

HOME_VARIABLE: Final = "P2PDICE_HOME"
UNLOCK_VARIABLE: Final = "P2PDICE_PASSPHRASE"
LOCK_VARIABLE: Final = "P2PDICE_NEW_PASSPHRASE"
given_passphrases: Final[dict[str, str]] = {}
"""What the environment gave this process, by variable."""


@dataclass(slots=True)
class Settings:
    """The options that may stand before or after the command."""

    home_option: Path | None = None
    is_color_forbidden: bool = field(default=False, init=False)
    """By an option of this command."""
    _is_home_closed: bool = field(default=False, init=False)

    @property
    def home(self) -> Path:
        """The folder of identity, store, transcripts and log: ``--home``, else ``P2PDICE_HOME``, else the system's.

        :raises NoHomeError: if none is named, and the system has none for this account.
        """
        if self.home_option is not None:
            return self.home_option
        if variable := os.environ.get(HOME_VARIABLE):
            return Path(variable)
        from protocol.storage.home import default_home

        return default_home()

    @property
    def home_if_any(self) -> Path | None:
        """The same; None if there is none. For what needs no home."""
        from protocol.storage.home import NoHomeError

        try:
            return self.home
        except NoHomeError:
            return None

    def private_home(self) -> Path:
        """Return the home, closed to other accounts of this machine; if it was open to them, say so once."""
        from protocol.storage.home import close_to_others

        home = self.home
        if self._is_home_closed:
            return home
        self._is_home_closed = True
        if said := close_to_others(home):
            complain(f"{shown(said)}.")
        return home

    def private_home_if_any(self) -> Path | None:
        """The same; None if there is none."""
        return None if self.home_if_any is None else self.private_home()

    def forbid_color(self) -> None:
        """Switch colour off here and in all child processes."""
        self.is_color_forbidden = True
        os.environ[COLOR_VARIABLE] = "1"


def home_words(home: Path | None) -> tuple[str, ...]:
    """Return the words after a command that make it use a home: none if it would use that one anyway, or has none."""
    usual = Settings().home_if_any
    if home is None or (usual is not None and home.absolute() == usual.absolute()):
        return ()
    return "--home", str(home)


def take_passphrases() -> None:
    """Take passphrases out of the environment: bots are processes of other people's programs, and inherit it."""
    given_passphrases.clear()
    for variable in (UNLOCK_VARIABLE, LOCK_VARIABLE):
        if variable in os.environ:
            given_passphrases[variable] = os.environ.pop(variable)
