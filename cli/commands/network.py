"""The options, typed targets, waits and questions shared by the commands that play over the network."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

import typer

from cli.exits import ExitCode, Failure
from cli.output import ask, complain, say
from cli.render import command_line, escape, listing
from p2pdice.motes import GROUP_OF, MOTES
from protocol.events import NamesakeError

if TYPE_CHECKING:
    from protocol.errors import NodeError
    from protocol.node.node import Node

NETWORK: Final = "Network"
"""The panel of the help for network options."""

PortOption = Annotated[
    int,
    typer.Option(
        "--port", min=0, max=65535, metavar="P", rich_help_panel=NETWORK, help="Listen on this port (0: any free one)."
    ),
]
InterfaceOption = Annotated[
    str | None,
    typer.Option(
        "--interface",
        metavar="IF",
        show_default=False,
        rich_help_panel=NETWORK,
        help="Use this network interface (name or address).",
    ),
]


Pledge = Literal["redeemed", "cursed"]
"""The group of motes to which a player is pledged."""
_PLEDGES: Final[tuple[Pledge, ...]] = get_args(Pledge)
PledgeOption = Annotated[
    Pledge | None,
    typer.Option(
        "--pledge",
        show_default=False,
        help="With motes: you earn a run ticket if the winning die is of this group (default: you are asked, or"
        " redeemed without a terminal).",
    ),
]

MOMENT: Final = 0.8
"""Seconds. A shorter wait prints nothing."""


@asynccontextmanager
async def waiting(text: str) -> AsyncIterator[None]:
    """Print ``text`` if the block takes longer than :data:`MOMENT` and standard error is a terminal.

    The text is a separate line on standard error: screen readers read it, and it does not mix with data.
    """
    if not sys.stderr.isatty():
        yield
        return
    word = asyncio.get_running_loop().call_later(MOMENT, _say, text)
    try:
        yield
    finally:
        word.cancel()


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal is gone, which the block will notice itself
        complain(text)


def place_in(typed: str) -> str:
    """Return the target in typed text, which may be a complete join or watch command pasted between quotes.

    :raises Failure: if the target is an address without a port.

    >>> place_in("p2pdice join 192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P"), place_in("Friday night")
    ('192.0.2.7:7000/T4Z5-WFHY-2XDW-PX45-WP3P', 'Friday night')
    """
    program, _, rest = typed.strip().partition(" ")
    command, _, place = rest.strip().partition(" ")
    is_command = program == "p2pdice" and command in ("join", "watch")
    target = place.strip(" '\"") or typed if is_command else typed
    with suppress(ValueError):
        address = ip_address(target.strip("[] "))
        example = f"{address}:40312" if address.version == 4 else f"[{address}]:40312"
        raise Failure(
            f"{address} is an address without a port.",
            hint=f"Add the port that the host sees: {example}",
            code=ExitCode.USAGE,
        )
    return target


def shown(target: str) -> str:
    """Return a typed target for display, without the secret part of a join line."""
    return escape(target.partition("/")[0])


MEANING: Final = (
    "These rules have motes. At the end the winner crowns one of their dice. You earn a run ticket if it is of the"
    " group that you are pledged to, no matter who wins. Everybody sees your pledge, and it holds for the whole match."
)


def ask_for_pledge() -> Pledge:
    """Explain pledges, and return the one that the person at the terminal chooses.

    :raises Failure: if the input ends.
    """
    say(MEANING)
    for number, each in enumerate(_PLEDGES, 1):
        say(f"{number}  {each:8}  {listing([mote.capitalize() for mote in MOTES if GROUP_OF[mote] == each])}")
    while True:
        try:
            answer = ask("Your pledge? (1 or 2; Enter: 1) ").strip().lower()
        except EOFError:
            print()
            raise Failure(
                "No pledge was chosen.", hint="Choose one with --pledge redeemed or --pledge cursed."
            ) from None
        for number, each in enumerate(_PLEDGES, 1):
            if answer == str(number) or each.startswith(answer):  # an empty answer is a prefix of the first
                return each
        say(f"Type 1 for {_PLEDGES[0]}, 2 for {_PLEDGES[1]}.")


def refused(node: Node, target: str, error: NodeError) -> NodeError:
    """Return the error to raise after joining or watching has failed.

    If the target could mean the player's own unfinished match, the error suggests returning to that match.
    """
    match = node.unfinished_at(target)
    if match is None or isinstance(error, NamesakeError):
        return error
    resume = command_line("resume", match.name or match.match.hex()[:8])
    way_back = resume, "Perhaps you mean your own unfinished match. Return to it"
    return type(error)(error.code, error.parts, error.hint, (way_back, *error.choices))
