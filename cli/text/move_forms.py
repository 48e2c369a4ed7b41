"""All texts for a move: with its verb or without, with seats or with names, cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from cli.text.choices import choices, is_stake
from p2pdice import Bid, Move, Power, Side, View
from p2pdice.powers import ALIASES, POWERS

_DIE: Final = re.compile("([a-z]+)@([0-9])")
_SEAT: Final = re.compile("@[0-9]")
VERBS: Final = frozenset({"play", "lose", "crown"})
NO_APOSTROPHES: Final = str.maketrans("", "", "'’")


def offers(view: View, names: Sequence[str]) -> list[str]:
    """Return the listed moves as a person types them: each in the shortest form that can mean nothing else now.

    :param names: by seat.
    """
    return choices(view) if is_stake(view) else list(short_forms(view, names).values())


def begun_moves(plain: str, view: View, names: Sequence[str]) -> Iterator[Move]:
    """Yield the legal moves whose words begin like these, with or without the verb. A number alone is not a bid."""
    for alias, mote in ALIASES.items():
        plain = plain.replace(alias, mote)
    words = plain.split()
    for move in view.legal:
        forms = () if isinstance(move, Bid) else _forms(move, view, names)
        if words and any(_begins(form.split(), words) for form in forms):
            yield move


def _begins(form: Sequence[str], words: Sequence[str]) -> bool:
    return len(words) <= len(form) and all(whole.startswith(part) for whole, part in zip(form, words, strict=False))


def short_forms(view: View, names: Sequence[str]) -> dict[Move | str, str]:
    """Return the shortest clear text for each legal move: seats that only one move can mean are left out."""
    forms = {move: [form.split() for form in _forms(move, view, names)] for move in view.legal if type(move) is not Bid}
    found: dict[Move | str, str] = {move: str(move) for move in view.legal}
    for move in forms:
        for text in _shortened(str(move)):
            words = text.split()
            if [other for other in forms if any(_begins(whole, words) for whole in forms[other])] == [move]:
                found[move] = text
                break
    return found


def _shortened(text: str) -> Iterator[str]:
    """Yield a text without the seats of all its dice, then without that of each one alone."""
    seats = [match.span() for match in _SEAT.finditer(text)]
    if len(seats) > 1:
        yield _SEAT.sub("", text)
    for start, end in seats:
        yield text[:start] + text[end:]


def _forms(move: Move, view: View, names: Sequence[str]) -> Iterator[str]:
    text = str(move)
    verb, _, _ = text.partition(" ")
    aims = f" {POWERS[move.die.mote].verb} " if isinstance(move, Power) else " "
    played, between, target = text.partition(aims)
    wholes = (text, _owned(text, view, names), f"{played}{between}{_owned(target, view, names)}")
    for whole in dict.fromkeys(wholes):
        yield whole
        if verb in VERBS:
            yield whole.removeprefix(verb).lstrip()
    if isinstance(move, Power) and isinstance(move.target, int):
        named = f"{move.die}{aims}{names[move.target].lower()}"
        yield from (named, f"play {named}")
    challenge, bid = view.state.challenge, view.state.bid
    if isinstance(move, Side) and challenge is not None and bid is not None:
        yield names[challenge.seat if move.side == "accuser" else bid.seat].lower()


def _owned(text: str, view: View, names: Sequence[str]) -> str:
    """Return a move with its dice as people name them: ``my light``, ``adas dark``."""

    def named(die: re.Match[str]) -> str:
        seat = int(die[2])
        return f"my {die[1]}" if seat == view.seat else f"{names[seat].lower().translate(NO_APOSTROPHES)}s {die[1]}"

    return _DIE.sub(named, text)
