"""The nickname of the player at this machine."""

from __future__ import annotations

import getpass
from typing import Annotated, Final

import typer

FALLBACK: Final = "Player"

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", show_default=False, help="Your nickname (default: your login name)."),
]
"""The option as every command that seats a player has it."""


def nickname(wanted: str | None) -> str:
    """Return the nickname to play under: as asked for, else the login name if it can be one.

    :raises typer.BadParameter: if the wanted name breaks the rules for nicknames, with the reason.
    """
    from protocol.nicknames import NicknameError, check_nickname

    if wanted is not None:
        try:
            return check_nickname(wanted)
        except NicknameError as error:
            raise typer.BadParameter(f"{error}.", param_hint="--name") from None
    try:
        return check_nickname(getpass.getuser())
    except (NicknameError, OSError, KeyError, ImportError):
        # Containers have users without names, and login names may break the rules.
        return FALLBACK
