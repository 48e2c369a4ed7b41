"""The interpretation of lines that people type at a table, and the answers to lines that are not legal moves.

Signatures, the referee and bots use the strict text of a move instead (:mod:`p2pdice.moves`), which this module also
accepts, with its aliases. If a line can mean several possible moves, none is chosen: the player is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from cli.render import columns, escape, listing, sentence, shortened
from cli.text.explain import RAISES
from cli.text.move_forms import VERBS, begun_moves, example_stake, in_words, is_stake, offers, plain, short_forms
from p2pdice.bidding import faces, order, raises
from p2pdice.engine import apply
from p2pdice.errors import MalformedMove, RulesError
from p2pdice.motes import MOTES
from p2pdice.moves import (
    EXACT,
    FACE_NAMES,
    LIAR,
    MAX_QUANTITY,
    Bid,
    Crown,
    Exact,
    Liar,
    Lose,
    Move,
    Play,
    Stake,
    parse_move,
)
from p2pdice.plurals import NUMBERS
from p2pdice.state import State
from p2pdice.views import View

WIDTH: Final = 79
"""Maximum columns of a complaint: one line on the narrowest usual terminal."""
_QUOTED: Final = 16
"""Maximum columns of a typed line that an answer quotes."""
_LONGEST: Final = 300
"""Maximum characters of a line that is read as a move. No move is that long."""

_TEENS: Final = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS_SAID: Final = {name: number for number, name in enumerate((*NUMBERS, *_TEENS)) if number}
_TENFOLD: Final = {name: 10 * number for number, name in enumerate(_TENS, 2)}
_FACES_SAID: Final = (*enumerate(FACE_NAMES, 1), (1, "aces"))
_TOKENS: Final = re.compile(r"[0-9]+|[a-z]+")
_BIDDING: Final = re.compile(r"[0-9a-z](?:[0-9a-z ]|[×*,:/-](?! ?[×*,:/-]))*")
NUMBER_WORDS: Final = (*_NUMBERS_SAID, *_TENFOLD)
_LIAR: Final = frozenset({"liar", "lie", "a lie", "bs", "bullshit", "bluff", "dudo", "doubt", "doubt it", "challenge"})
_EXACT: Final = frozenset({"exact", "exactly", "spot on", "spot-on", "spoton", "calza"})
_CALL: Final = frozenset({"call", "call it"})
"""Words that call the bid without a choice between liar and exact."""
_FILLERS: Final = frozenset({"i", "bid", "call", "say", "raise", "to", "there", "are", "is", "its", "at", "least"})
"""Words that may precede a move."""
_HALF_A_BID: Final = re.compile(r"1[ ,:/-]+[1-6]")
_VOCABULARY: Final = tuple(sorted({*NUMBER_WORDS, *FACE_NAMES, *_LIAR, *_EXACT, *_CALL, "accuser", "accused", "pass"}))
_SAID_IN_MOVES: Final = frozenset({*_VOCABULARY, *VERBS, *MOTES, "stake"})


class NotUnderstoodError(ValueError):
    """A line has no meaning, or several. The message is the answer to the player."""


def hear(
    line: str, view: View, names: Sequence[str], words: Collection[str], suggested: Collection[str] = ()
) -> Move | str:
    """Return the meaning of a line on the player's turn: a move, legal or not, or one of ``words``.

    :param names: by seat, for moves that name a player.
    :param words: words that can be typed besides moves; a beginning is enough.
    :param suggested: further words that the error may suggest if the line is similar.

    :raises NotUnderstoodError: if the line means nothing, or more than one thing.
    """
    bare = _plain(line)
    if _HALF_A_BID.fullmatch(bare) and not is_stake(view):
        bid = Bid(1, int(bare[-1]))
        raise NotUnderstoodError(f"{quoted(line)} can be {bid}, or begin a bid as in 1 3x5: type {bid} for one die.")
    meant: list[Move | str] = list(dict.fromkeys(_moves(bare, view, names, plain(line)[:_LONGEST])))
    if len(meant) > 1:
        meant = [move for move in meant if isinstance(move, Move) and is_possible(move, view)] or meant
    meant += _begin(bare, words)
    if len(meant) == 1:
        return meant[0]
    if meant:
        short = short_forms(view, names)
        asked = _fitted(
            f"{quoted(line)} can be ", [short.get(each, str(each)) for each in meant], ": type one of them."
        )
        raise NotUnderstoodError(asked or f"{quoted(line)} can be several moves: type more of the one you mean.")
    guess = _nearest(bare, view, names, (*words, *suggested))
    told = f"{quoted(line)} is not a move" + (f"; did you mean {guess}?" if guess else ".")
    raise NotUnderstoodError(_fitted(f"{told} Legal: ", _examples(view, names), ".") or told)


def hear_word(line: str, words: Collection[str]) -> str:
    """Return the only one of ``words`` that a line abbreviates; empty if there is none, or more than one."""
    meant = _begin(_plain(line), words)
    return meant[0] if len(meant) == 1 else ""


def hear_bid(line: str) -> Bid | None:
    """Return the bid that a line names, legal or not; None if it names none or several."""
    bids = set(spelled_bids(_plain(line)))
    return bids.pop() if len(bids) == 1 else None


def is_like_a_move(line: str) -> bool:
    """Return whether a line looks like a move, under any rules and no matter whose turn it is."""
    bare = _plain(line)
    is_said = any(char.isdigit() or char == "@" for char in bare) or not _SAID_IN_MOVES.isdisjoint(bare.split())
    return is_said or any(_calls(bare))


def nearest_word(line: str, words: Collection[str]) -> str:
    """Return the most likely meaning of a line among ``words``; empty if none is close."""
    bare = _plain(line)
    return next(iter(_begin(bare, words) or get_close_matches(bare, words, 1, 0.7)), "")


def is_possible(move: Move, view: View) -> bool:
    """Return whether the player may make this move on their turn."""
    if is_stake(view):
        return isinstance(move, Stake) and move.bet <= view.funds and move.tickets <= view.tickets
    try:
        apply(view.state, Play(view.seat, move))
    except RulesError:
        return False
    return True


def doubt(move: Move, view: View) -> str:
    """Return a warning about a move that is played only after a second Enter; empty for all other moves.

    Such a move is a stake of all coins, or a bid on more dice than there are if the player is not forced to make one.
    """
    if isinstance(move, Stake) and move.bet == view.funds > 0 and is_possible(move, view):
        return f"Those are all your coins: {view.funds:,}. Press Enter again to stake them."
    dice = sum(view.state.dice)
    if isinstance(move, Bid) and move.quantity > dice and move not in view.legal and is_possible(move, view):
        return f"There are only {dice} dice. Press Enter again to bid it anyway."
    return ""


def _plain(line: str) -> str:
    """Return a line without a remark in brackets, exclamation marks and full stops; empty if too long for a move."""
    bare = re.sub(r" ?\(.*\)$", "", plain(line)).rstrip("!. ")
    return bare if len(bare) <= _LONGEST else ""


def _begin(bare: str, words: Collection[str]) -> list[str]:
    return [word for word in words if bare and word.startswith(bare)]


def _moves(bare: str, view: View, names: Sequence[str], whole: str = "") -> Iterator[Move]:
    """Yield the moves that a line can mean on the player's turn.

    :param whole: the line with all its punctuation, which a player's name may contain.
    """
    if is_stake(view):
        yield from _stakes(bare, view)
        return
    said = list(_said(bare, view))
    yield from said or begun_moves(whole, view, names) or begun_moves(bare, view, names) or _calls(bare)


def _calls(bare: str) -> Iterator[Move]:
    """Yield the calls that a line abbreviates. They are illegal here; the engine will explain why."""
    yield from (call for call in (LIAR, EXACT) if bare and str(call).startswith(bare))


def _stakes(bare: str, view: View) -> Iterator[Stake]:
    words = bare.removeprefix("stake ").removesuffix(" coins").removesuffix(" coin")
    if words in ("nothing", "none"):
        yield Stake(0)
    elif words in ("all", "everything"):
        yield Stake(view.funds, view.tickets)
    else:
        try:
            stake = parse_move("stake " + re.sub(r"(?<=[0-9]),(?=[0-9]{3}\b)", "", words))
        except MalformedMove:
            return
        assert isinstance(stake, Stake)
        yield stake


def _said(bare: str, view: View) -> Iterator[Move]:
    """Yield the moves that a line spells in full, possibly after introductory words."""
    while bare:
        try:
            yield parse_move(bare)
            return
        except MalformedMove:
            pass
        if bare in _LIAR or bare in _EXACT:
            yield LIAR if bare in _LIAR else EXACT
            return
        if bare in _CALL:
            yield from [move for move in view.legal if isinstance(move, Liar | Exact)] or [LIAR]
            return
        if found := list(spelled_bids(bare)):
            yield from found
            return
        filler, _, bare = bare.partition(" ")
        if filler not in _FILLERS:
            return


# Answers


def _nearest(bare: str, view: View, names: Sequence[str], words: Collection[str]) -> str:
    """Return the most likely move or word that can be typed now; empty if none is close."""
    for respelled in _respelled(bare, is_stake(view)):
        meant = list(dict.fromkeys(_moves(respelled, view, names)))
        if len(meant) == 1 and is_possible(meant[0], view):
            return short_forms(view, names).get(meant[0], str(meant[0]))
    half = [move for move in view.legal if isinstance(move, Bid) and _is_half(bare, move)]
    return str(half[0]) if half else nearest_word(bare, (*offers(view, names), *words))


def _is_half(bare: str, bid: Bid) -> bool:
    """Return whether a line is only the quantity of a bid, or only its face in words."""
    return bare == str(bid.quantity) if bare.isdecimal() else len(bare) > 1 and named_faces(bare) == [bid.face]


def _respelled(bare: str, is_stake: bool) -> Iterator[str]:
    numbers = re.findall("[0-9]+", bare)
    if is_stake:
        yield from numbers[:1]
    elif len(numbers) == 2:
        yield "x".join(numbers)
    elif len(numbers) == 1 and len(numbers[0]) > 1:
        yield f"{numbers[0][:-1]}x{numbers[0][-1]}"
    tokens = re.findall("[0-9]+|[a-z]+", bare)
    yield " ".join(next(iter(get_close_matches(token, _VOCABULARY, 1, 0.7)), token) for token in tokens)


def _examples(view: View, names: Sequence[str]) -> list[str]:
    """Return some legal moves: the lowest bids, then all other moves or, if there are none, the highest bid."""
    if is_stake(view):
        return list(dict.fromkeys(("stake 0", str(example_stake(view)), f"stake {view.funds}")))
    bids = [str(move) for move in view.legal if isinstance(move, Bid)]
    others = [text for move, text in short_forms(view, names).items() if not isinstance(move, Bid)] or bids[-1:]
    return [*bids[:3], *(["…"] if len(bids) > 3 else []), *others]


def _fitted(before: str, moves: Sequence[str], after: str) -> str:
    """Return one line: as many moves as fit between two texts. The last move, which is often to pass, is always there.

    If not even two moves fit, return an empty text.
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
    """Return a list of moves, with … for omitted ones: ``3x4, 3x5 … or liar``."""
    return listing(moves, "or").replace(", …", " …").replace("…, ", "… ")


def quoted(line: str) -> str:
    """Return the beginning of a typed line in quotes, for use in an answer."""
    return f"'{shortened(escape(line.strip()[: _QUOTED + 1]), _QUOTED)}'"


# Bids in words


def spelled_bids(plain: str) -> Iterator[Bid]:
    """Yield the bids that a line can spell: ``three fives``, ``3 5s``, ``3 f``."""
    if not _BIDDING.fullmatch(plain):
        return
    tokens = _TOKENS.findall(plain)
    if len(tokens) > 2 and tokens[-1] == "s" and tokens[-2].isdigit():
        del tokens[-1]  # the plural in 5s
    first, *between, last = tokens if len(tokens) > 1 else ("", "")
    number = [first, *(token for token in between if token not in ("x", "of", "times"))]
    if len(number) > 1 and first == "1" and plain.startswith(f"1 {number[1]}") and number[1][0] != "0":
        del number[0]  # this 1 announces a bid, as in the strict text; in 1,005 or 1 005 it belongs to the number
    quantity = _quantity(number)
    if 1 <= quantity <= MAX_QUANTITY:
        yield from (Bid(quantity, face) for face in named_faces(last))


def _quantity(tokens: Sequence[str]) -> int:
    match tokens:
        case [digits] if digits.isdigit():
            return int(digits) if len(digits) <= len(str(MAX_QUANTITY)) else 0
        case [word]:
            return _NUMBERS_SAID.get(word, 0) or _TENFOLD.get(word, 0)
        case [tens, units] if tens in _TENFOLD and 0 < _NUMBERS_SAID.get(units, 0) < 10:
            return _TENFOLD[tens] + _NUMBERS_SAID[units]
    return 0


def named_faces(token: str) -> list[int]:
    """Return the faces that a digit, a word or the beginning of a word can mean."""
    if token.isdigit():
        return [int(token)] if token in ("1", "2", "3", "4", "5", "6") else []
    return sorted({face for face, name in _FACES_SAID if name.startswith(token)})


# Refusals


def refusal(move: Move, view: View, names: Sequence[str], error: RulesError) -> str:
    """Return the answer to a move that the engine has refused.

    :param names: by seat.
    :param error: the engine's own reason.
    """
    if view.legal and isinstance(asked := view.legal[0], Lose | Crown) and not isinstance(move, type(asked)):
        which = "you lose" if isinstance(asked, Lose) else "you crown"
        return f"Name the die that {which}: {listing(offers(view, names), 'or')}."
    return sentence(in_words(str(error), view, names))


def is_no_raise(move: Bid, state: State) -> bool:
    """Return whether a bid is refused because it is not above the standing one."""
    if state.bid is None or move.face not in faces(state):
        return False
    allowed = raises(order(state), state.bid.quantity, state.bid.face)
    return move.quantity not in allowed[move.face - 1]


def rule_of_raises(state: State) -> str:
    """Return the current rule for raises, with an example."""
    return RAISES[order(state)]
