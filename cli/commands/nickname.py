"""The nickname of the player at this machine."""

from __future__ import annotations

import getpass
from typing import Annotated, Final

import typer

from cli.settings import Settings

FALLBACK: Final = "Player"

NameOption = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        show_default=False,
        help="Your nickname (default: from your settings, else your login name).",
    ),
]
"""The option as every command that seats a player has it."""


def nickname(wanted: str | None) -> str:
    """Return the nickname to play under: as asked for, else as settled, else the login name if it can be one.

    :raises typer.BadParameter: if the wanted name breaks the rules for nicknames, with the reason.
    :raises Failure: if it is not told, and the settings cannot be read.
    """
    from cli.preferences import preferences
    from protocol.wire.names import NicknameError, check_nickname

    if wanted is not None:
        try:
            return check_nickname(wanted)
        except NicknameError as error:
            raise typer.BadParameter(f"{error}.", param_hint="--name") from None
    if (settled := preferences(Settings()).name) is not None:
        return settled
    return login_name()


def login_name() -> str:
    """Return the name of this user of this machine, if it can be a nickname; else one that fits anybody."""
    from protocol.wire.names import NicknameError, check_nickname

    try:
        return check_nickname(getpass.getuser())
    except (NicknameError, OSError, KeyError, ImportError):
        # Containers have users without names, and login names may break the rules.
        return FALLBACK
