"""``p2pdice identity``: the key that others know a player by."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.nickname import NameOption, nickname
from cli.front import application
from cli.settings import Settings

if TYPE_CHECKING:
    from protocol import Home, Identity

EPILOG: Final = """\b
Examples:
  p2pdice identity show
  p2pdice identity show --json --home ~/second-player
"""

app = application()


@app.callback()
def identity() -> None:
    """Show the key that others know you by."""


@app.command(epilog=EPILOG)
def show(
    ctx: typer.Context,
    name: NameOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show your name, your key's fingerprint, and where the key is kept; create the key if there is none.

    Two people compare fingerprints, by eye or over the phone, to be sure that they play with each other.
    """
    from protocol import Home

    home = ctx.ensure_object(Settings).private_home()
    player = nickname(name)
    me, is_new = _unlocked(Home(home))
    path = Home(home).identity
    if as_json:
        print(json.dumps({"name": player, "fingerprint": me.fingerprint, "key": str(path), "created": is_new}))
        return
    if is_new:
        print("You had no identity here: a new one was made.")
    print(f"Name:         {player}")
    print(f"Fingerprint:  {me.fingerprint}")
    print(f"Key:          {path}")
    print("Anybody with a copy of the key file can play in your name.")


def _unlocked(home: Home) -> tuple[Identity, bool]:
    """Return the identity, and whether it was made now."""
    from protocol import Identity
    from protocol.storage import archive

    if home.identity.exists() or not home.store.exists():
        return Identity.load_or_create(home.path)
    store = archive.open_store(home)
    try:
        return archive.unlock(home, store)
    finally:
        store.close()
