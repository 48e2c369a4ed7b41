"""Questions that a table asks besides moves, and the facts of a demo.

A question is a title, lines, and choices; a choice is its key, its text, and what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cli.render import counted, initial, listing, number
from cli.text.narrate import time_left


class Option(NamedTuple):
    """One choice of a question."""

    key: str
    text: str
    note: str = ""


class Question(NamedTuple):
    """A question in a box on the table. Names in it are safe to print."""

    title: str
    lines: Sequence[str]
    options: Sequence[Option]


def wants_to_sit(name: str) -> Question:
    """Return the question to a host whether somebody may sit down."""
    options = (Option("a", "Let them sit"), Option("r", "Refuse"), Option("w", "Let them watch"))
    return Question(f"{name} wants to sit down", (), options)


def no_answer(name: str, silent: int, left: int, others: Sequence[str]) -> Question:
    """Return the question to a player who waits for another one.

    :param silent: seconds without a word.
    :param left: seconds after which the others can go on.
    :param others: players whose votes that needs, besides the reader's.
    """
    needs = f" (needs {listing(others)} too)" if others else ""
    can = f"{listing([*others, 'you'])} can" if others else "You can"
    return Question(
        f"{name} isn't answering",
        (
            f"No word from {name}'s laptop for {counted(silent, 'second')}.",
            f"{can} go on without {name} in {time_left(left)}.",
        ),
        (
            Option("w", "Wait two more minutes"),
            Option("g", f"Go on without {name} in {time_left(left)}{needs}"),
            Option("q", "Leave, and come back to this match later"),
        ),
    )


def too_few(name: str) -> Question:
    """Return the question to a player who waits for another one without whom the others are too few to go on."""
    return Question(
        f"{name} is away",
        (f"There are too few of you to go on without {name}, so the match waits.",),
        (
            Option("w", f"Wait for {name}"),
            Option("l", "Leave; resume another day"),
            Option(
                "c",
                "Leave it as claimed",
                "Only your own history notes it: claimed, not confirmed. Nobody wins, no coins move, and you and"
                f" {name} can both still resume.",
            ),
        ),
    )


def leaving(others: Sequence[str]) -> Question:
    """Return the question to a player who wants to leave a running match.

    :param others: the names of those who would play on.
    """
    means = f"you are out for good; {listing(others)} play on" if len(others) > 1 else "you lose this match"
    return Question(
        "Leave the table?",
        (),
        (
            Option("s", "Stay"),
            Option("l", "Come back later", "your dice are kept; return with p2pdice resume"),
            Option("c", "Concede", means),
        ),
    )


def facts(players: int) -> tuple[str, ...]:
    """Return what is going on in a demo, a fact for each of its first rounds."""
    many = number(players)
    together = "both" if players == 2 else f"all {many}"
    return (
        f"{initial(many)} programs found each other on your network. No server deals the dice: each roll is made by"
        f" {together} together, and every step is signed by all.",
        "Nobody can see a die early, and nobody can change one: each cup was sealed before anyone rolled.",
        "Pull the plug on one of them and the match waits; it comes back with the same dice.",
        "At the end every program holds the same transcript, to the last byte. p2pdice verify checks it without any"
        " network.",
    )
