"""``p2pdice resume``: return to a match."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.front import application
from cli.names import nickname
from cli.play import InterfaceOption, PortOption, play, run
from cli.render import command_line, escape, listing
from cli.settings import Settings

if TYPE_CHECKING:
    from protocol.node import Node
    from protocol.store import StoredMatch

EPILOG: Final = """\b
Examples:
  p2pdice resume              the newest unfinished match
  p2pdice resume 3f2a9c       the match whose id begins so
  p2pdice resume --list
"""

app = application()


@app.command(epilog=EPILOG)
def resume(
    ctx: typer.Context,
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", show_default=False)] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the unfinished matches instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --list: one JSON object.")] = False,
    port: PortOption = 0,
    interface: InterfaceOption = None,
) -> None:
    """Return to a match after a crash, a nap or a quit.

    The others find you again by themselves, whoever comes back first. Nobody needs the host for it. If they have gone
    on without you, you are out, and see how it goes on.
    """
    settings = ctx.ensure_object(Settings)
    if list_only:
        run(_list(settings, as_json))
        return
    if as_json:
        raise typer.BadParameter("it goes with --list only.", param_hint="--json")

    async def enter(node: Node) -> None:
        await node.resume(match)

    play(settings, nickname(None), enter, port=port, interface=interface)


async def _list(settings: Settings, as_json: bool) -> None:
    from protocol.node import Node

    node = await Node.open(settings.home, nickname(None), discovery=False)
    try:
        matches = [data(stored) for stored in node.unfinished()]
    finally:
        await node.close()
    if as_json:
        print(json.dumps({"matches": matches}))
        return
    for each in matches:
        players = listing([escape(player) for player in each["players"]])
        print(f"{each['match'][:8]}  begun {each['begun'].replace('T', ' ')}, rules {each['rules']}, between {players}")
    print(f"Return to one with: {command_line('resume', 'MATCH')}" if matches else "No match is unfinished here.")


def data(stored: StoredMatch) -> dict[str, Any]:
    """Return an unfinished match as JSON-able data; ``begun`` is local time."""
    from protocol.genesis import parse_genesis
    from protocol.rulesets import ruleset_label

    genesis = parse_genesis(stored.genesis)
    return {
        "match": stored.match.hex(),
        "begun": datetime.fromtimestamp(stored.created).isoformat(timespec="minutes"),
        "rules": ruleset_label(genesis.ruleset),
        "players": [record.join.nickname for record in genesis.roster],
    }
