"""The nickname of the player at this machine."""

from __future__ import annotations

import getpass
import os
from typing import Annotated, Final

import typer

NAME_VARIABLE: Final = "P2PDICE_NAME"
FALLBACK: Final = "Player"

NameOption = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", show_default=False, help="Your nickname (also: P2PDICE_NAME). Default: your login name."
    ),
]
"""The option as every command that seats a player has it."""


def nickname(wanted: str | None) -> str:
    """Return the nickname to play under: as asked for, else of the environment, else as good as the login name gives.

    :raises typer.BadParameter: if the wanted name breaks the rules for nicknames, with the reason.
    """
    from protocol.genesis import MalformedGenesisError, check_nickname

    asked = wanted if wanted is not None else os.environ.get(NAME_VARIABLE)
    if asked:
        try:
            return check_nickname(asked)
        except MalformedGenesisError as error:
            raise typer.BadParameter(f"{error}.", param_hint="--name") from None
    if wanted is not None:
        raise typer.BadParameter("a nickname has at least one character.", param_hint="--name")
    try:
        return check_nickname(getpass.getuser())
    except (MalformedGenesisError, OSError, KeyError, ImportError):
        # Containers have users without names, and login names may break the rules.
        return FALLBACK
