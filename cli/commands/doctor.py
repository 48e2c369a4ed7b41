"""``p2pdice doctor``: finds what keeps this machine from playing on this network."""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from cli.commands.network import InterfaceOption, place_in
from cli.doctor import PEER, Finding, Severity, firewall, machine, network
from cli.exits import ExitCode, Failure
from cli.front import JsonOption, application
from cli.output import complain, say
from cli.settings import Settings
from cli.table.play import run
from p2pdice.plurals import plural
from protocol.net.survey import addresses_in

EPILOG: Final = """\b
Examples:
  p2pdice doctor
  p2pdice doctor --wait 60             on both laptops at the same time
  p2pdice doctor 192.168.1.7:40312     can that table be reached?
  p2pdice doctor --json

\b
Each line begins with ok, with "note" (play is possible, but read on), or
with FIX (nobody can play from here until that is fixed).
Exit code 3: play is impossible, or the table that you named is unreachable.
"""

app = application()


@app.command(epilog=EPILOG)
def doctor(
    ctx: typer.Context,
    peer: Annotated[
        str | None, typer.Argument(metavar="[HOST:PORT|JOIN-LINE]", help="Check whether this table can be reached.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0.5, max=600, help="How long to listen for others.")
    ] = 3,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="P", help="Check whether you can host on this port.")
    ] = 0,
    interface: InterfaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out what keeps you from playing on this network, and what to do about it.

    It checks the program, your key and files, disk, clock, network, multicast, port and firewall. It changes nothing.
    """
    home = ctx.ensure_object(Settings).home_if_any
    peers = () if peer is None else _addresses(place_in(peer))
    findings: list[Finding] = []

    def note(finding: Finding) -> None:
        findings.append(finding)
        if not as_json:
            say(finding.line())

    async def examine() -> None:
        for finding in machine(home):
            note(finding)
        note(firewall(str(port or "PORT")))
        if not as_json:
            complain(f"Listening to the network for {wait:g} {plural(wait, 'second')}…")
        async for finding in network(interface, port, wait, peers):
            note(finding)

    run(examine())
    problems = [each for each in findings if each.state is Severity.PROBLEM]
    is_far = any(each.check == PEER and each.state is not Severity.OK for each in findings)
    if as_json:
        print(json.dumps({"playable": not problems, "findings": [each.data() for each in findings]}))
    elif problems:
        say(f"You cannot play from here until this is fixed: {', '.join(each.check for each in problems)}.")
    else:
        say("You can play from here, but not at that table." if is_far else "You can play from here.")
    if problems or is_far:
        raise typer.Exit(ExitCode.UNREACHABLE)


def _addresses(text: str) -> tuple[tuple[str, int], ...]:
    try:
        return addresses_in(text)
    except ValueError as error:
        raise Failure(f"{text!r} is not an address.", f"{error}.", code=ExitCode.USAGE) from None
