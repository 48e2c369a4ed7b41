"""Moves and stakes as text: as the protocol spells them, and in words, with or without the verb, or abbreviated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, cast

from p2pdice.motes import ALIASES, NOTATION, Die, Mote
from p2pdice.moves import Bid, Crown, Lose, Move, Power, Side, Stake
from p2pdice.powers import POWERS
from p2pdice.state import Expect
from p2pdice.views import View


def is_stake(view: View) -> bool:
    """Return whether a sealed stake is due, rather than a move."""
    return view.state.awaits is Expect.STAKES


def choices(view: View) -> list[str]:
    """Return the legal moves in the order of the engine. Of all stakes, include only nothing and everything."""
    if is_stake(view):
        return [str(Stake(0)), str(Stake(view.funds, view.tickets))]
    return [str(move) for move in view.legal]


def has_nothing_to_stake(view: View) -> bool:
    """Return whether a stake is due, and only one is possible."""
    return is_stake(view) and not view.funds and not view.tickets


def example_stake(view: View) -> Stake:
    """Return an example of a possible stake: at most 50 coins or, without coins, all run tickets."""
    return Stake(min(50, view.funds)) if view.funds else Stake(0, view.tickets)


_DIE: Final = re.compile("([a-z]+)@([0-9])")
VERBS: Final = frozenset({"play", "lose", "crown"})
NO_APOSTROPHES: Final = str.maketrans("", "", "'’")


def offers(view: View, names: Sequence[str]) -> list[str]:
    """Return the legal moves as a person sees and can type them, each as short as possible without ambiguity.

    :param names: by seat.
    """
    return choices(view) if is_stake(view) else list(short_forms(view, names).values())


def begun_moves(typed: str, view: View, names: Sequence[str]) -> list[Move]:
    """Return the legal moves that begin with the typed words, with or without the verb. Bids are never included.

    If the typed words are the whole of one move, longer ones are excluded: ``block ben`` does not mean Benny.
    """
    respelled = typed
    for alias, mote in ALIASES.items():
        respelled = respelled.replace(alias, mote)
    forms = _all_forms(view, names)
    return _meant(typed, forms) or _meant(respelled, forms)


def _all_forms(view: View, names: Sequence[str]) -> dict[Move, list[list[str]]]:
    moves = (move for move in view.legal if not isinstance(move, Bid))
    return {move: [form.split() for form in _forms(move, view, names)] for move in moves}


def _meant(typed: str, forms: dict[Move, list[list[str]]]) -> list[Move]:
    words = typed.split()
    whole = [move for move, texts in forms.items() if words in texts]
    return whole or [move for move, texts in forms.items() if words and any(_begins(text, words) for text in texts)]


def _begins(form: Sequence[str], words: Sequence[str]) -> bool:
    return len(words) <= len(form) and all(whole.startswith(part) for whole, part in zip(form, words, strict=False))


def short_forms(view: View, names: Sequence[str]) -> dict[Move | str, str]:
    """Return each legal move as people see it: a bid as ``3x5``, others in the shortest unambiguous words."""
    forms = _all_forms(view, names)
    found: dict[Move | str, str] = {move: str(move) for move in view.legal}
    for move in forms:
        clear = (text for text in _shown(move, view, names) if _meant(plain(text), forms) == [move])
        found[move] = next(clear, str(move))
    return found


def _shown(move: Move, view: View, names: Sequence[str]) -> Iterator[str]:
    """Yield texts for a move in words, from the shortest to one that can mean no other move."""
    match move:
        case Lose() | Crown():
            verb = "lose" if isinstance(move, Lose) else "crown"
            yield f"{verb} {move.die.mote.capitalize()}"
            yield f"{verb} {_die(move.die, view, names)}"
        case Power():
            deed = POWERS[move.die.mote].deed
            aim = ""
            if isinstance(move.target, int):
                aim = f" {names[move.target]}"
            elif move.target is not None:
                aim = f" {_die(move.target, view, names)}"
            yield f"{deed}{aim}"
            yield f"{deed}{aim} with {_die(move.die, view, names)}"
        case Side():
            yield f"side with {_party(move, view, names)}"
        case _:
            yield str(move)


def _die(die: Die, view: View, names: Sequence[str]) -> str:
    whose = "my" if die.seat == view.seat else f"{names[die.seat]}'s"
    return f"{whose} {die.mote.capitalize()}"


def _party(side: Side, view: View, names: Sequence[str]) -> str:
    challenge, bid = view.state.challenge, view.state.bid
    assert challenge is not None
    assert bid is not None
    return names[challenge.seat if side.side == "accuser" else bid.seat]


def plain(text: str) -> str:
    """Return a text in the form used for comparison: lowercase, without apostrophes, with single spaces."""
    return " ".join(text.lower().translate(NO_APOSTROPHES).split())


def _forms(move: Move, view: View, names: Sequence[str]) -> Iterator[str]:
    """Yield all texts that mean a move, as :func:`plain` returns them. Any unambiguous beginning of one is enough."""
    text = str(move)
    verb, _, _ = text.partition(" ")
    aims = f" {NOTATION[move.die.mote].verb} " if isinstance(move, Power) else " "
    played, between, target = text.partition(aims)
    wholes = (text, _owned(text, view, names), f"{played}{between}{_owned(target, view, names)}")
    for whole in dict.fromkeys(wholes):
        yield whole
        if verb in VERBS:
            yield whole.removeprefix(verb).lstrip()
    for shown in _shown(move, view, names):
        yield plain(shown)
        yield plain(shown).replace(" my ", " your ")
    if isinstance(move, Power):
        if isinstance(move.target, int):
            named = f"{move.die}{aims}{plain(names[move.target])}"
            yield from (named, f"play {named}")
        elif move.target is not None:  # the mote without its owner
            yield f"{POWERS[move.die.mote].deed} {move.target.mote}"
    if isinstance(move, Side):
        yield plain(_party(move, view, names))


def _owned(text: str, view: View, names: Sequence[str]) -> str:
    """Return a move with its dice as people type them: ``my light``, ``adas dark``."""

    def named(die: re.Match[str]) -> str:
        seat = int(die[2])
        return f"my {die[1]}" if seat == view.seat else plain(f"{names[seat]}'s {die[1]}")

    return _DIE.sub(named, text)


def in_words(text: str, view: View, names: Sequence[str]) -> str:
    """Return a text of the engine with its dice as people call them: ``my Light``, ``Ada's Dark``."""

    def named(die: re.Match[str]) -> str:
        return _die(Die(cast("Mote", die[1]), int(die[2])), view, names) if int(die[2]) < len(names) else die[0]

    return _DIE.sub(named, text)
