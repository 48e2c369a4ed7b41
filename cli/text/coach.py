"""Texts for newcomers: Coach's words in a first round of five steps, and the facts of a demo."""

from __future__ import annotations

from typing import Final, NamedTuple

from cli.render import initial, number
from p2pdice.moves import Bid, Hand, Liar, Move

COACH: Final = "Coach"
HANDS: Final[tuple[Hand, Hand]] = ((1, 4, 6), (2, 3, 6))
"""The learner's dice, then Coach's."""


class Lesson(NamedTuple):
    """One step: Coach's words, and the only move that leads to the next step."""

    words: str
    """In full. ``{raise}``, ``{call}`` and ``{on}`` stand for what to press or type."""
    move: Move | None = None
    """None if an empty line goes on."""
    nudge: str = ""
    """The answer to any other move, which has no effect."""


LESSONS: Final = (
    Lesson(
        "These three dice are yours. Only you can see them. I have three, too. I bid on both cups together: two fours."
    ),
    Lesson(
        "I say both cups hold at least two fours. You have a 4 and a wild 1: two already. So it is true."
        " Raise it: {raise}.",
        Bid(3, 4),
        "The rules may allow that. For this round, bid three fours: {raise}.",
    ),
    Lesson(
        "I raise to four fours. You see two. I would need two more among my three dice: a 26% chance."
        " Don't believe me: {call}.",
        Liar(),
        "The rules may allow that. For this round, call me a liar: {call}.",
    ),
    Lesson(
        "You got me. Four fours were needed, and both cups together had two. Had there been four, you would have lost"
        " a die instead of me. {on}."
    ),
    Lesson(
        "That's the game: bluff, doubt, and keep the last die. p2pdice host opens a table, and p2pdice host --bots 3"
        " plays against us."
    ),
)
_KEYS: Final = {"raise": "press ↑ for three fours, then Enter", "call": "press ! twice", "on": "Space goes on"}
_WORDS: Final = {"raise": "type 3x4", "call": "type liar", "on": "Enter goes on"}


def spoken(words: str, *, has_keys: bool) -> str:
    """Return a step's words for a reader who has the keys of a full screen, or for one who types every move.

    >>> spoken("Raise it: {raise}.", has_keys=False)
    'Raise it: type 3x4.'
    """
    return words.format_map(_KEYS if has_keys else _WORDS)


def facts(players: int) -> tuple[str, ...]:
    """Return the facts of a demo, one for each of its first rounds."""
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
