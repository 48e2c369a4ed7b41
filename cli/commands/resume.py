"""``p2pdice resume``: return to a match."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.bots.crew import Crew, Recruit, at_home, hired, recalled
from cli.commands import matches
from cli.commands.network import InterfaceOption, PortOption
from cli.exits import Failure
from cli.front import application
from cli.preferences import nickname
from cli.render import command_line
from cli.settings import Settings, home_words
from cli.table.play import Company, open_again, play, rejoin
from cli.table.terminal import BellOption, PaceOption, UiOption, showing
from cli.text.match_list import listed, show
from protocol.crypto.keys import Identity
from protocol.errors import BEGIN, ErrorCode, NodeError
from protocol.storage import archive
from protocol.storage.home import Home

if TYPE_CHECKING:
    from protocol.node.node import Node
    from protocol.storage.store import StoredMatch

EPILOG: Final = """\b
Examples:
  p2pdice resume                      the newest unfinished match
  p2pdice resume 2026-11-22-friday    the match with this name
  p2pdice resume 3f2a9c               the match whose id begins like this
  p2pdice resume --list               all of them (see also p2pdice matches)
"""

app = application()


@app.command(epilog=EPILOG)
def resume(
    ctx: typer.Context,
    match: Annotated[
        str | None, typer.Argument(metavar="[MATCH]", help="By default, the newest unfinished one.", show_default=False)
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the unfinished and claimed matches instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --list: one JSON object.")] = False,
    port: PortOption = 0,
    interface: InterfaceOption = None,
    ui: UiOption = None,
    pace: PaceOption = None,
    bell: BellOption = None,
) -> None:
    """Return to a match after a crash, a nap or a quit.

    The players find each other again in any order, and without the host. The bots that you seated come back with you.
    If the others have gone on without you, you are out, and see the rest of the match.
    """
    settings = ctx.ensure_object(Settings)
    if list_only:
        _list(settings, as_json)
        return
    if as_json:
        raise typer.BadParameter("it only works with --list.", param_hint="--json")

    _check(settings, match)
    crew = Crew()
    stored: StoredMatch

    async def enter(node: Node) -> None:
        nonlocal crew, stored
        stored = node.find(match)
        crew = at_home(node.home, stored)
        node.party = crew.party(node.identity.public)
        await node.resume(stored.match.hex())
        if stored.over and node.match is not None and node.match.is_confirmed:
            raise _over(node.home, stored)

    def company(node: Node) -> AbstractAsyncContextManager[Crew]:
        return recalled(node, crew)

    async def again(node: Node, wish: str) -> Company:
        if archive.roster_index(stored) != stored.host:
            return await rejoin(node, wish)

        table = node.table_again(stored.table_name)
        assert table is not None
        await open_again(node, table, wish)
        keys = [Identity.load_or_create(bot.home)[0] for bot in crew.bots]  # before their homes are removed
        recruits = [Recruit(bot.name, key, bot.command, bot.level) for bot, key in zip(crew.bots, keys, strict=True)]
        return lambda node: hired(node, recruits)

    how = showing(settings, ui, pace, bell)
    play(
        settings,
        nickname(None),
        enter,
        how,
        first="Returning to the match.",
        port=port,
        interface=interface,
        company=company,
        again=again,
    )


def _check(settings: Settings, match: str | None) -> None:
    """Check that the match exists, before a key is created or a passphrase is asked for.

    :raises NodeError: if there is no such match.
    """
    home = Home(settings.private_home())
    if not home.has_store:
        raise NodeError(ErrorCode.NO_MATCH, "there is no unfinished match here", choices=BEGIN)
    with archive.read_store(home) as store:
        archive.to_resume(store, match)


def _over(home: Home, stored: StoredMatch) -> Failure:
    """Return the failure for a match that is already over, with its winner and the commands to look back at it."""
    match = listed(home, [stored], [stored])[0]
    words = (match.name, *home_words(home.path))
    choices = [(command_line("replay", *words), "See it again"), (command_line("verify", *words), "Verify it")]
    return Failure(f"{match.name} is over{match.won}.", choices=choices)


def _list(settings: Settings, as_json: bool) -> None:
    home = Home(settings.private_home())
    kept: tuple[StoredMatch, ...] = ()
    if home.has_store:
        with matches.read(home) as (_, kept):
            pass
    claimed = [each for each in kept if each.claim is not None and not (each.over or archive.is_old(each))]
    stored = [*archive.unfinished(kept), *claimed]
    show(listed(home, stored, kept), home, as_json)
    if not (stored or as_json):
        print("There is no unfinished match here.")
