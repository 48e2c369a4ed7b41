"""Asking for a pledge: with motes, everybody chooses a group of dice before the match."""

from __future__ import annotations

from typing import Final

from cli.exits import Failure
from cli.output import ask, say
from cli.render import listing
from cli.table.play import Pledge
from p2pdice.powers import GROUP_OF, MOTES

MEANING: Final = (
    "These rules have motes. At the end the winner crowns one of their dice. You earn a run ticket if it is of the"
    " group that you are pledged to, whoever wins. Everybody sees your pledge, and it holds for the whole match."
)


def ask_for_pledge() -> Pledge:
    """Return the pledge that the person at the terminal chooses, after a sentence on its meaning.

    :raises Failure: if the input ends.
    """
    say(MEANING)
    for number, each in enumerate(Pledge, 1):
        say(f"{number}  {each:8}  {listing([mote.capitalize() for mote in MOTES if GROUP_OF[mote] == each])}")
    while True:
        try:
            answer = ask("Your pledge? (1 or 2; Enter: 1) ").strip().lower()
        except EOFError:
            print()
            raise Failure(
                "No pledge was chosen.", hint="Choose one with --pledge redeemed or --pledge cursed."
            ) from None
        for number, each in enumerate(Pledge, 1):
            if answer == str(number) or each.startswith(answer):  # Enter alone is the beginning of both: the first
                return each
        say(f"Type 1 for {Pledge.REDEEMED}, 2 for {Pledge.CURSED}.")
