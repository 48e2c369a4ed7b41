"""The settings that all commands share: the home folder, colour, and passphrases from the environment."""

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
"""The passphrases taken out of the environment, by variable."""


@dataclass(slots=True)
class Settings:
    """The options accepted both before and after a command's name."""

    home_option: Path | None = None
    is_color_forbidden: bool = field(default=False, init=False)
    """Whether an option of this command forbids colours."""
    _is_home_closed: bool = field(default=False, init=False)

    @property
    def home(self) -> Path:
        """The folder of identity, store, transcripts and log: ``--home``, else ``P2PDICE_HOME``, else the default.

        :raises NoHomeError: if no home is named, and the account has no default one.
        """
        if self.home_option is not None:
            return self.home_option
        if variable := os.environ.get(HOME_VARIABLE):
            return Path(variable)
        from protocol.storage.home import default_home

        return default_home()

    @property
    def home_if_any(self) -> Path | None:
        """:attr:`home`, or None if there is no home."""
        from protocol.storage.home import NoHomeError

        try:
            return self.home
        except NoHomeError:
            return None

    def private_home(self) -> Path:
        """Return the home after closing it to other accounts of this machine; if it was open to them, print a warning.

        Only the first call closes the home and warns.
        """
        from protocol.storage.home import close_to_others

        home = self.home
        if self._is_home_closed:
            return home
        self._is_home_closed = True
        if said := close_to_others(home):
            complain(f"{shown(said)}.")
        return home

    def private_home_if_any(self) -> Path | None:
        """Return :meth:`private_home`, or None if there is no home."""
        return None if self.home_if_any is None else self.private_home()

    def forbid_color(self) -> None:
        """Switch colour off here and in all child processes."""
        self.is_color_forbidden = True
        os.environ[COLOR_VARIABLE] = "1"


def home_words(home: Path | None) -> tuple[str, ...]:
    """Return the arguments that make a command use ``home``; none if it would use it anyway, or ``home`` is None."""
    usual = Settings().home_if_any
    if home is None or (usual is not None and home.absolute() == usual.absolute()):
        return ()
    return "--home", str(home)


def take_passphrases() -> None:
    """Move passphrases out of the environment, because bots inherit it, and may be written by other people."""
    given_passphrases.clear()
    for variable in (UNLOCK_VARIABLE, LOCK_VARIABLE):
        if variable in os.environ:
            given_passphrases[variable] = os.environ.pop(variable)
