"""Moves and the other inputs of the engine.

``str(move)`` returns the canonical spelling of a move; :func:`parse_move` accepts it and others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

from p2pdice.errors import MalformedMove
from p2pdice.motes import ALIASES, CROWN_EXAMPLE, LOSE_EXAMPLE, MOTES, NOTATION, Die, PowerTarget

MAX_QUANTITY: Final = 999
"""The highest quantity of a bid, limited by the wire format. Ten cups of 99 hold only 990 dice."""
MAX_COINS: Final = 10**12
"""The most coins, and the most run tickets. Sums over a table stay exact in JSON readers that use doubles."""
FACES: Final = (1, 2, 3, 4, 5, 6)
FACE_NAMES: Final = ("ones", "twos", "threes", "fours", "fives", "sixes")


@dataclass(frozen=True, slots=True)
class Bid:
    """Bid that at least ``quantity`` dice in all cups show ``face``, including wild ones.

    >>> str(Bid(3, 5))
    '3x5'
    """

    quantity: int
    """1 to 999."""
    face: int
    """1 to 6."""

    def __str__(self) -> str:
        return f"{self.quantity}x{self.face}"


@dataclass(frozen=True, slots=True)
class Liar:
    """Call the standing bid: claim that it is false."""

    def __str__(self) -> str:
        return "liar"


@dataclass(frozen=True, slots=True)
class Exact:
    """Call the standing bid: claim that exactly as many dice count as were bid."""

    def __str__(self) -> str:
        return "exact"


@dataclass(frozen=True, slots=True)
class Side:
    """Take the side of the accuser or of the accused after a challenge."""

    side: Literal["accuser", "accused"]

    def __str__(self) -> str:
        return self.side


@dataclass(frozen=True, slots=True)
class Power:
    """Play a die from the graveyard. :attr:`p2pdice.motes.Notation.example` shows a move for each mote.

    :raises MalformedMove: if the type of ``target`` does not suit the mote.
    """

    die: Die
    target: PowerTarget = None
    """The target of the power, of the type :attr:`p2pdice.motes.Notation.target`."""

    def __post_init__(self) -> None:
        notation = NOTATION[self.die.mote]
        if type(self.target) is not notation.target:
            raise MalformedMove(f"a die of {notation.mote} is played as in {notation.example}")

    def __str__(self) -> str:
        verb = NOTATION[self.die.mote].verb
        return f"play {self.die} {verb} {self.target}" if verb else f"play {self.die}"


@dataclass(frozen=True, slots=True)
class Pass:
    """Play no die in a window, or give no answer."""

    def __str__(self) -> str:
        return "pass"


@dataclass(frozen=True, slots=True)
class Lose:
    """Send this die from the cup to the graveyard."""

    die: Die

    def __str__(self) -> str:
        return f"lose {self.die}"


@dataclass(frozen=True, slots=True)
class Crown:
    """Choose this die from the winner's cup as the winning die."""

    die: Die

    def __str__(self) -> str:
        return f"crown {self.die}"


@dataclass(frozen=True, slots=True)
class Stake:
    """Bet on the player's own victory. The engine receives all stakes together, as ``Stakes``.

    >>> str(Stake(50)), str(Stake(50, 1))
    ('stake 50', 'stake 50 tickets 1')
    """

    bet: int
    """Coins, from 0 to the player's funds."""
    tickets: int = 0
    """Run tickets, from 0 to the number that the player owns."""

    def __str__(self) -> str:
        return f"stake {self.bet}" + (f" tickets {self.tickets}" if self.tickets else "")


@dataclass(frozen=True, slots=True)
class Concede:
    """Leave the match. Allowed at any time."""

    def __str__(self) -> str:
        return "concede"


Move = Bid | Liar | Exact | Side | Power | Pass | Lose | Crown | Stake | Concede

Hand = tuple[int, ...]
"""The faces of one cup, in ascending order."""


class Play(NamedTuple):
    """A player makes a move."""

    seat: int
    move: Move


@dataclass(frozen=True, slots=True)
class Rolled:
    """All cups have been shaken. The faces are not included, because the state is public."""


@dataclass(frozen=True, slots=True)
class Hands:
    """The cups have been opened."""

    hands: tuple[Hand | None, ...]
    """By seat: ``()`` for a seat without dice, None for a cup that was never opened."""


@dataclass(frozen=True, slots=True)
class Roll:
    """A die that all players can see has been rolled."""

    face: int


@dataclass(frozen=True, slots=True)
class Pledges:
    """All players have pledged to a group of motes."""

    pledges: tuple[str, ...]
    """``redeemed`` or ``cursed`` by seat, including seats that have left already."""


class Wager(NamedTuple):
    """A player's stake, and the player's holdings before it."""

    bet: int
    """Coins, at most ``funds``."""
    funds: int
    """Coins before the bet."""
    tickets: int
    """Run tickets staked, at most ``owned``."""
    owned: int
    """Run tickets before the stake."""


@dataclass(frozen=True, slots=True)
class Stakes:
    """All stakes are open."""

    stakes: tuple[tuple[int, int, int, int] | None, ...]
    """By seat, in the form of :class:`Wager`; None for a stake never opened or of a player who has left."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Remove a player who is gone, silent or caught cheating from the match."""

    seat: int


Input = Play | Rolled | Hands | Roll | Pledges | Stakes | Evict

LIAR: Final = Liar()
EXACT: Final = Exact()
PASS: Final = Pass()
SIDES: Final = (Side("accuser"), Side("accused"))

_WORDS: Final[dict[str, Move]] = {
    "liar": LIAR,
    "bs": LIAR,
    "dudo": LIAR,
    "challenge": LIAR,
    "0": LIAR,
    "exact": EXACT,
    "spot-on": EXACT,
    "spot on": EXACT,
    "calza": EXACT,
    "2": EXACT,
    "accuser": SIDES[0],
    "accused": SIDES[1],
    "pass": PASS,
    "concede": Concede(),
}
_EXAMPLES: Final = " or ".join(", ".join(each.example for each in NOTATION.values()).rsplit(", ", 1))


def _verbs(target: type) -> str:
    return "|".join(each.verb for each in NOTATION.values() if each.target is target)


_DIE: Final = rf"({'|'.join((*MOTES, *ALIASES))}) ?@ ?([0-9])"
_PLAY: Final = re.compile(rf"play {_DIE}(?: ({_verbs(Die)}) {_DIE}| ({_verbs(int)}) ([0-9]))?")
_CHOICE: Final = re.compile(rf"(lose|crown) {_DIE}")
_STAKE: Final = re.compile(r"stake 0{0,9}([0-9]{1,13})(?: tickets 0{0,9}([0-9]{1,13}))?")
_BID: Final = re.compile(r"(?:1 )?0{0,9}([1-9][0-9]{0,2}) ?[x×*] ?([1-6])")
_SPACE: Final = re.compile(r"\s+")


@cache
def bid(quantity: int, face: int) -> Bid:
    """Return a bid. There are at most 999 x 6, which menus and parsed moves share."""
    return Bid(quantity, face)


def parse_move(text: str) -> Move:
    """Return the move that ``text`` spells by name or alias, ignoring case and extra spaces.

    >>> parse_move(" 3 X 5 "), parse_move("1 3x5") == parse_move("3x5"), parse_move("BS")
    (Bid(quantity=3, face=5), True, Liar())

    :raises MalformedMove: if the text spells no move. The engine checks whether the move is legal.
    """
    plain = _SPACE.sub(" ", text.strip()).lower()
    if plain in _WORDS:
        return _WORDS[plain]
    move = _spelled(plain)
    if move is not None:
        return move
    shown = text if len(text) <= 40 else text[:40] + "…"
    raise MalformedMove(
        f"{shown!a} is not a move: bid as in 3x5 (three fives, quantity 1 to {MAX_QUANTITY}, face 1 to 6), or say"
        " liar, exact, accuser, accused or concede; with motes also pass,"
        f" {LOSE_EXAMPLE}, {CROWN_EXAMPLE}, {_EXAMPLES}; with stakes, stake 50 or stake 50 tickets 1"
    )


def _spelled(plain: str) -> Move | None:
    if match := _BID.fullmatch(plain):
        return bid(int(match[1]), int(match[2]))
    if match := _CHOICE.fullmatch(plain):
        return (Lose if match[1] == "lose" else Crown)(_die(match[2], match[3]))
    if match := _STAKE.fullmatch(plain):
        stake = Stake(int(match[1]), int(match[2] or 0))
        return stake if max(stake.bet, stake.tickets) <= MAX_COINS else None
    match = _PLAY.fullmatch(plain)
    if match is None:
        return None
    die = _die(match[1], match[2])
    if (match[3] or match[6] or "") != NOTATION[die.mote].verb:
        return None
    target = _die(match[4], match[5]) if match[3] else int(match[7]) if match[6] else None
    return Power(die, target)


def _die(mote: str, seat: str) -> Die:
    return Die(ALIASES.get(mote, mote), int(seat))
