"""What people say at a table of Liar's Dice, understood: three fives, liar!, the beginning of a word.

This is the front door only. What is signed, and what referee and bots speak, is the strict text of a move
(:mod:`p2pdice.moves`), which is understood here as well, aliases included. Where a line can mean more than one thing
that is possible, none of them is chosen: the player is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from cli.render import NUMBERS, columns, escape, listing
from cli.text.choices import choices, is_stake
from p2pdice import (
    MOTES,
    NEWCOMER_COINS,
    NEWCOMER_TICKETS,
    Bid,
    Exact,
    Liar,
    MalformedMove,
    Move,
    Play,
    Power,
    RulesError,
    Side,
    Stake,
    View,
    apply,
    parse_move,
)
from p2pdice.moves import EXACT, FACE_NAMES, LIAR, MAX_QUANTITY
from p2pdice.powers import ALIASES, POWERS

WIDTH: Final = 79
"""Columns of a complaint: one line of the narrowest usual terminal."""
_QUOTED: Final = 16
"""Columns of a typed line that an answer repeats."""
_LONGEST: Final = 60
"""Characters of a line beyond which it is not listened to; no move is as long."""

_LIAR: Final = frozenset({"liar", "lie", "a lie", "bs", "bullshit", "bluff", "dudo", "doubt", "doubt it", "challenge"})
_EXACT: Final = frozenset({"exact", "exactly", "spot on", "spot-on", "spoton", "calza"})
_CALL: Final = frozenset({"call", "call it"})
"""What calls the bid, and does not say as what."""
_FILLERS: Final = frozenset({"i", "bid", "call", "say", "raise", "to", "there", "are", "is", "its", "at", "least"})
"""Words that may stand before what is meant."""
_APOSTROPHES: Final = re.compile("['’]")
_DIE: Final = re.compile("([a-z]+)@([0-9])")
_SEAT: Final = re.compile("@[0-9]")
_VERBS: Final = frozenset({"play", "lose", "crown"})

_TEENS: Final = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final = {name: number for number, name in enumerate((*NUMBERS, *_TEENS)) if number}
_TENFOLD: Final = {name: 10 * number for number, name in enumerate(_TENS, 2)}
_FACES: Final = (*enumerate(FACE_NAMES, 1), (1, "aces"))
_TOKENS: Final = re.compile(r"[0-9]+|[a-z]+")
_BIDDING: Final = re.compile(r"[0-9a-z](?:[0-9a-z ]|[×*,:/-](?! ?[×*,:/-]))*")
_HALF_A_BID: Final = re.compile(r"1[ ,:/-]+[1-6]")
_VOCABULARY: Final = tuple(
    sorted({*_NUMBERS, *_TENFOLD, *FACE_NAMES, *_LIAR, *_EXACT, *_CALL, "accuser", "accused", "pass"})
)

_SAID_IN_MOVES: Final = frozenset({*_VOCABULARY, *_VERBS, *MOTES, "stake"})


class NotUnderstoodError(ValueError):
    """A line says nothing, or several things. The text is the answer to the player."""


def hear(
    line: str, view: View, names: Sequence[str], words: Collection[str], in_full: Collection[str] = ()
) -> Move | str:
    """Return what a line of the player on turn means: a move, which may be an illegal one, or one of ``words``.

    :param names: by seat, for moves that concern a player.
    :param words: what can be typed besides moves; a beginning will do.
    :param in_full: words that are only suggested, as they have to be typed in full.

    :raises NotUnderstoodError: if it means nothing, or more than one thing.
    """
    plain = _plain(line)
    if _HALF_A_BID.fullmatch(plain) and not is_stake(view):
        bid = Bid(1, int(plain[-1]))
        raise NotUnderstoodError(f"{quoted(line)} can be {bid}, or begin a bid as in 1 3x5: type {bid} for one die.")
    meant: list[Move | str] = list(dict.fromkeys(_moves(plain, view, names)))
    if len(meant) > 1:
        meant = [move for move in meant if isinstance(move, Move) and is_possible(move, view)] or meant
    meant += _begin(plain, words)
    if len(meant) == 1:
        return meant[0]
    if meant:
        short = _short_forms(view, names)
        asked = _fitted(
            f"{quoted(line)} can be ", [short.get(each, str(each)) for each in meant], ": type one of them."
        )
        raise NotUnderstoodError(asked or f"{quoted(line)} can be several moves: type more of the one you mean.")
    guess = _nearest(plain, view, names, (*words, *in_full))
    told = f"{quoted(line)} is no move" + (f"; did you mean {guess}?" if guess else ".")
    raise NotUnderstoodError(_fitted(f"{told} Legal: ", _examples(view, names), ".") or told)


def offers(view: View, names: Sequence[str]) -> list[str]:
    """Return the listed moves as a person types them: each in the shortest form that can mean nothing else now.

    :param names: by seat.
    """
    if is_stake(view):
        return choices(view)
    short = _short_forms(view, names)
    return [short.get(move, str(move)) for move in view.legal]


def hear_word(line: str, words: Collection[str]) -> str:
    """Return the only one of ``words`` that begins like a line, or nothing."""
    meant = _begin(_plain(line), words)
    return meant[0] if len(meant) == 1 else ""


def hear_bid(line: str) -> Bid | None:
    """Return the one bid that a line names, whether anybody could make it or not; None if it names none, or several."""
    bids = set(_bids(_plain(line)))
    return bids.pop() if len(bids) == 1 else None


def is_like_a_move(line: str) -> bool:
    """Tell whether somebody who types this wants to move, whatever the rules and whosever turn it is."""
    plain = _plain(line)
    return any(char.isdigit() or char == "@" for char in plain) or not _SAID_IN_MOVES.isdisjoint(plain.split())


def nearest_word(line: str, words: Collection[str]) -> str:
    """Return which of ``words`` was probably meant, or nothing."""
    plain = _plain(line)
    return next(iter(_begin(plain, words) or get_close_matches(plain, words, 1, 0.7)), "")


def is_possible(move: Move, view: View) -> bool:
    """Tell whether the player on turn may make this move."""
    if is_stake(view):
        return isinstance(move, Stake) and move.bet <= NEWCOMER_COINS and move.tickets <= NEWCOMER_TICKETS
    try:
        apply(view.state, Play(view.seat, move))
    except RulesError:
        return False
    return True


def exceeds_the_dice(move: Move, view: View) -> bool:
    """Tell whether a move is a legal bid on more dice than there are, although the player could do with less."""
    return isinstance(move, Bid) and move not in view.legal and is_possible(move, view)


def _plain(line: str) -> str:
    plain = " ".join(line.lower().replace("'", "").replace("’", "").split())
    # What is shown beside a move, as in 3x5 (three fives), may be typed or copied with it.
    plain = re.sub(r" ?\(.*\)$", "", plain).rstrip("!. ")
    return plain if len(plain) <= _LONGEST else ""


def _begin(plain: str, words: Collection[str]) -> list[str]:
    return [word for word in words if plain and word.startswith(plain)]


def _moves(plain: str, view: View, names: Sequence[str]) -> Iterator[Move]:
    """Yield what a line can mean to the player on turn."""
    if is_stake(view):
        yield from _stakes(plain)
        return
    calls = [move for move in view.legal if isinstance(move, Liar | Exact)] or [LIAR]
    said = list(_said(plain, calls))
    yield from said or list(_begun(plain, view, names)) or _calls(plain)


def _calls(plain: str) -> Iterator[Move]:
    """Yield the call that a line begins. It is illegal here: the engine says why, as to the whole word."""
    yield from (call for call in (LIAR, EXACT) if plain and str(call).startswith(plain))


def _stakes(plain: str) -> Iterator[Stake]:
    words = plain.removeprefix("stake ").removesuffix(" coins").removesuffix(" coin")
    if words in ("nothing", "none"):
        yield Stake(0)
    elif words in ("all", "everything"):
        yield Stake(NEWCOMER_COINS, NEWCOMER_TICKETS)
    else:
        try:
            stake = parse_move("stake " + re.sub(r"(?<=[0-9]),(?=[0-9]{3}\b)", "", words))
        except MalformedMove:
            return
        assert isinstance(stake, Stake)
        yield stake


def _said(plain: str, calls: Sequence[Move]) -> Iterator[Move]:
    """Yield what a whole line says, with words before it that only introduce it."""
    while plain:
        try:
            yield parse_move(plain)
            return
        except MalformedMove:
            pass
        if plain in _LIAR or plain in _EXACT:
            yield LIAR if plain in _LIAR else EXACT
            return
        if found := [*calls] if plain in _CALL else list(_bids(plain)):
            yield from found
            return
        filler, _, plain = plain.partition(" ")
        if filler not in _FILLERS:
            return


def _bids(plain: str) -> Iterator[Bid]:
    """Yield the bids that a line can spell: three fives, 3 5s, 3 f."""
    if not _BIDDING.fullmatch(plain):
        return
    tokens = _TOKENS.findall(plain)
    if len(tokens) > 2 and tokens[-1] == "s" and tokens[-2].isdigit():
        del tokens[-1]  # of 5s
    first, *between, last = tokens if len(tokens) > 1 else ("", "")
    number = [first, *(token for token in between if token not in ("x", "of", "times"))]
    if len(number) > 1 and first == "1" and plain.startswith(f"1 {number[1]}") and number[1][0] != "0":
        del number[0]  # it announces a bid, as in the strict text; in 1,005 or 1 005 it is a part of the number
    quantity = _quantity(number)
    if 1 <= quantity <= MAX_QUANTITY:
        yield from (Bid(quantity, face) for face in _faces(last))


def _quantity(tokens: Sequence[str]) -> int:
    match tokens:
        case [digits] if digits.isdigit():
            return int(digits) if len(digits) <= len(str(MAX_QUANTITY)) else 0
        case [word]:
            return _NUMBERS.get(word, 0) or _TENFOLD.get(word, 0)
        case [tens, units] if tens in _TENFOLD and 0 < _NUMBERS.get(units, 0) < 10:
            return _TENFOLD[tens] + _NUMBERS[units]
    return 0


def _faces(token: str) -> list[int]:
    """Return the faces that a digit, a word or its beginning can be."""
    if token.isdigit():
        return [int(token)] if token in ("1", "2", "3", "4", "5", "6") else []
    return sorted({face for face, name in _FACES if name.startswith(token)})


def _begun(plain: str, view: View, names: Sequence[str]) -> Iterator[Move]:
    """Yield the legal moves whose words begin like these, with or without the verb. No bid: a number alone is none."""
    plain = _APOSTROPHES.sub("", plain)
    for alias, mote in ALIASES.items():
        plain = plain.replace(alias, mote)
    words = plain.split()
    for move in view.legal:
        forms = () if isinstance(move, Bid) else _forms(move, view, names)
        if words and any(_begins(form.split(), words) for form in forms):
            yield move


def _begins(form: Sequence[str], words: Sequence[str]) -> bool:
    return len(words) <= len(form) and all(whole.startswith(part) for whole, part in zip(form, words, strict=False))


def _short_forms(view: View, names: Sequence[str]) -> dict[Move | str, str]:
    """Return, for each legal move that is clear with fewer seats, the shortest text that is."""
    forms = {move: [form.split() for form in _forms(move, view, names)] for move in view.legal if type(move) is not Bid}
    found: dict[Move | str, str] = {}
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
        if verb in _VERBS:
            yield whole.removeprefix(verb).lstrip()
    if isinstance(move, Power) and isinstance(move.target, int):
        named = f"{move.die} on {names[move.target].lower()}"
        yield from (named, f"play {named}")
    challenge, bid = view.state.challenge, view.state.bid
    if isinstance(move, Side) and challenge is not None and bid is not None:
        yield names[challenge.seat if move.side == "accuser" else bid.seat].lower()


def _owned(text: str, view: View, names: Sequence[str]) -> str:
    """Return a move with its dice as people name them: ``my light``, ``adas dark``."""

    def named(die: re.Match[str]) -> str:
        seat = int(die[2])
        return f"my {die[1]}" if seat == view.seat else f"{_APOSTROPHES.sub('', names[seat].lower())}s {die[1]}"

    return _DIE.sub(named, text)


# What to answer


def _nearest(plain: str, view: View, names: Sequence[str], words: Collection[str]) -> str:
    """Return what was probably meant and can be typed now, or nothing."""
    for respelled in _respelled(plain, is_stake(view)):
        meant = list(dict.fromkeys(_moves(respelled, view, names)))
        if len(meant) == 1 and is_possible(meant[0], view):
            return _short_forms(view, names).get(meant[0], str(meant[0]))
    half = [move for move in view.legal if isinstance(move, Bid) and _is_half(plain, move)]
    return str(half[0]) if half else nearest_word(plain, (*offers(view, names), *words))


def _is_half(plain: str, bid: Bid) -> bool:
    """Tell whether a line names the quantity of a bid, or its face in words, and nothing else."""
    return plain == str(bid.quantity) if plain.isdecimal() else len(plain) > 1 and _faces(plain) == [bid.face]


def _respelled(plain: str, is_stake: bool) -> Iterator[str]:
    numbers = re.findall("[0-9]+", plain)
    if is_stake:
        yield from numbers[:1]
    elif len(numbers) == 2:
        yield "x".join(numbers)
    elif len(numbers) == 1 and len(numbers[0]) > 1:
        yield f"{numbers[0][:-1]}x{numbers[0][-1]}"
    tokens = _TOKENS.findall(plain)
    yield " ".join(next(iter(get_close_matches(token, _VOCABULARY, 1, 0.7)), token) for token in tokens)


def _examples(view: View, names: Sequence[str]) -> list[str]:
    """Return some of what can be played: the lowest bids, and all that is no bid."""
    if is_stake(view):
        return ["stake 0", "stake 50", f"stake {NEWCOMER_COINS}"]
    bids = [str(move) for move in view.legal if isinstance(move, Bid)]
    short = _short_forms(view, names)
    others = [short.get(move, str(move)) for move in view.legal if not isinstance(move, Bid)] or bids[-1:]
    return [*bids[:3], *(["…"] if len(bids) > 3 else []), *others]


def _fitted(before: str, moves: Sequence[str], after: str) -> str:
    """Return as many moves as fit into one line between two texts: the first ones, and the last, often to pass.

    Nothing, if there is no room for these two.
    """
    shown = list(moves)
    while columns(text := f"{before}{_alternatives(shown)}{after}") > WIDTH:
        if "…" not in shown and len(shown) > 2:
            shown[-2] = "…"
        elif len(shown) > 3:
            gap = shown.index("…")
            del shown[gap - 1 if gap > 1 else gap + 1]
        else:
            return ""
    return text


def _alternatives(moves: Sequence[str]) -> str:
    """Return moves in a row; what was left out stands for itself: ``3x4, 3x5 … or liar``."""
    return listing(moves, "or").replace(", …", " …").replace("…, ", "… ")


def quoted(line: str) -> str:
    """Return the beginning of a typed line as an answer repeats it."""
    shown = escape(line.strip()[: _QUOTED + 1])
    if columns(shown) > _QUOTED:
        while columns(shown) >= _QUOTED:
            shown = shown[:-1]
        shown += "…"
    return f"'{shown}'"
