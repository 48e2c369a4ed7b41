"""The rounds of a match, folded from its events: a summary of each, a recap, and the odds of bids in hindsight.

The recap only uses rounds whose cups were opened, because other dice are unknown.

Best bluff
    Of the false bids that were raised, the least likely one given the bidder's own dice, if it was below one half.
Worst call
    Of the wrong calls of liar, the one on the bid that was likeliest given the caller's own dice.
Luckiest roll
    The hand with the rarest number of one face, including wild ones, if at most one roll in six has as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any, NamedTuple

from cli.render import columns, dice_count, faces, likely, listing, percent
from cli.text.seating import Seating
from p2pdice import events as game
from p2pdice.counting import NOTHING_WILD, ONES_WILD, Counting, at_least, exactly
from p2pdice.events import Event
from p2pdice.moves import FACES, Hand
from p2pdice.plurals import number
from p2pdice.showdown import verdict
from p2pdice.state import Call, Expect, State
from protocol.events import Happened, MatchStarted, NodeEvent, TakenBack

Change = game.DieLost | game.DieGained | game.PlayerOut


class Round(NamedTuple):
    """One round, as far as it has been played."""

    number: int
    bids: tuple[game.BidMade, ...] = ()
    call: game.ChallengeCalled | None = None
    shown: game.HandsShown | None = None
    """None until the cups are open."""
    verdict: game.Judged | None = None
    """None before the verdict, and if the call did not count."""
    changes: tuple[Change, ...] = ()
    """Changes to dice and players, in order."""
    shielded: tuple[int, ...] = ()
    """The indices in :attr:`bids` of bids that were called while their bidder had a shield."""

    @property
    def dice(self) -> int:
        """The number of dice under all cups, including those that stayed down."""
        assert self.shown is not None
        return sum(map(len, filter(None, self.shown.hands))) + self.shown.unopened

    def chance(self, seat: int, quantity: int, face: int, *, is_exact: bool = False) -> Fraction | None:
        """Return how likely a bid was to be true, or exact, given one player's dice; None if those were not shown."""
        if self.shown is None or (hand := self.shown.hands[seat]) is None:
            return None
        weigh_bid = exactly if is_exact else at_least
        return weigh_bid(quantity, face, hand, self.dice - len(hand), self.shown.counting)

    def line(self, seating: Seating, *, keeps_wrong: bool) -> str:
        """Return a summary: ``Round 3: Cleo called Ben's six fours, there were seven; Cleo lost a die.``

        :param keeps_wrong: whether the rules make players who are right put a die away.
        """
        told, call = [], self.call
        if call is not None:
            exact = " exact on" if call.call == "exact" else ""
            what = f"{seating.whose(call.bidder)} {faces(call.quantity, call.face)}"
            called = f"{seating.who(call.seat)} called{exact} {what}"
            told.append(f"{called}, {_there(self.shown, seating)}" if self.shown is not None else called)
        told += _changed(self.changes, seating, keeps_wrong=keeps_wrong)
        if call is not None and not any(isinstance(change, game.DieLost | game.DieGained) for change in self.changes):
            told.append("nobody lost a die")
        return f"Round {self.number}: {'; '.join(told) or 'it did not end'}."


def fold(rounds: tuple[Round, ...], event: NodeEvent) -> tuple[Round, ...]:
    """Return the rounds of a match after one more event."""
    match event:
        case MatchStarted():
            return _under_way(event.state)
        case TakenBack():
            return (*(each for each in rounds if each.number < event.state.round), *_under_way(event.state))
        case Happened(event=game.RoundStarted(round=number_)):
            return (*rounds, Round(number_))
        case Happened(event=happened) if rounds:
            return (*rounds[:-1], _grown(rounds[-1], happened))
    return rounds


def _under_way(state: State) -> tuple[Round, ...]:
    """Return the current round of a state; an empty tuple between two rounds."""
    if state.awaits not in (Expect.MOVE, Expect.HANDS):
        return ()
    bids = tuple(game.BidMade(each.seat, each.quantity, each.face) for each in state.bids)
    call = None
    if state.challenge is not None and bids:
        call = game.ChallengeCalled(
            state.challenge.seat, state.challenge.call, bids[-1].seat, bids[-1].quantity, bids[-1].face
        )
    return (Round(state.round, bids, call),)


def _grown(played: Round, event: game.Event) -> Round:
    match event:
        case game.BidMade():
            return played._replace(bids=(*played.bids, event))
        case game.ChallengeCalled():
            return played._replace(call=event)
        case game.AccusationVoid():
            return played._replace(shielded=(*played.shielded, len(played.bids) - 1))
        case game.HandsShown():
            return played._replace(shown=event)
        case game.Judged():
            return played._replace(verdict=event)
        case game.DieLost() | game.DieGained() | game.PlayerOut():
            return played._replace(changes=(*played.changes, event))
    return played


def _there(shown: game.HandsShown, seating: Seating) -> str:
    there = f"there {'was' if shown.count == 1 else 'were'} {number(shown.count) if shown.count else 'none'}"
    if shown.unopened:
        unopened = [seating.whose(seat) for seat, cup in enumerate(shown.hands) if cup is None]
        there += f" without {listing(unopened)} {'cup' if len(unopened) == 1 else 'cups'}"
    return there


def _changed(changes: Iterable[Change], seating: Seating, *, keeps_wrong: bool) -> Iterator[str]:
    out = {change.seat for change in changes if isinstance(change, game.PlayerOut)}
    verb = "put away" if keeps_wrong else "lost"
    for change in changes:
        who = seating.who(change.seat)
        match change:
            case game.DieLost():
                what = "a die" if change.die is None else seating.die(change.die, change.seat)
                are = "are" if change.seat == seating.me else "is"
                leaves = f" and {are} out" if not change.left and change.seat in out else ""
                yield f"{who} {verb} {what}{leaves}"
            case game.DieGained():
                took = "gained a die" if change.die is None else f"took back {seating.die(change.die, change.seat)}"
                yield f"{who} {took}"
            case game.PlayerOut(reason="conceded"):
                yield f"{who} conceded"
            case game.PlayerOut(reason="evicted"):
                yield f"{who} ran out of time"


class RecapRow(NamedTuple):
    """One row of a recap. Its texts are safe to print."""

    title: str
    """Two words: ``Best bluff``."""
    seat: int
    who: str
    """The player's name, or ``You``."""
    text: str
    """The rest of the sentence."""


def recap(rounds: Iterable[Round], seating: Seating) -> tuple[RecapRow, ...]:
    """Return the rows of a recap. A row without a candidate is omitted; among equals, the first is chosen."""
    opened = [(each, each.shown) for each in rounds if each.shown is not None]
    found = (
        [row for each, shown in opened for row in find(each, shown, seating)] for find in (_bluffs, _calls, _rolls)
    )
    return tuple(min(rows, key=lambda each: each[0])[1] for rows in found if rows)


def _bluffs(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, RecapRow]]:
    hands = [*filter(None, shown.hands)]
    for place, bid in enumerate(played.bids[:-1]):  # the last bid was not raised
        chance = played.chance(bid.seat, bid.quantity, bid.face)
        if (
            chance is None
            or chance >= Fraction(1, 2)
            or shown.counting.bounds(hands, shown.unopened, bid.face)[1] >= bid.quantity
        ):
            continue
        held = number(shown.counting.count((shown.hands[bid.seat] or (),), bid.face)).replace("no", "none")
        end = "a shield voided the call" if place in played.shielded else "nobody called"
        text = f"bid {faces(bid.quantity, bid.face)} holding {held}: {likely(chance)}, and {end}."
        yield chance, _row("Best bluff", bid.seat, text, seating)


def _calls(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, RecapRow]]:
    verdict = played.verdict
    if verdict is None or verdict.call_right or verdict.call != "liar":
        return
    if (chance := played.chance(verdict.caller, shown.quantity, shown.face)) is not None:
        least = "at least " * bool(shown.unopened)
        there = f"{'was' if shown.count == 1 and not least else 'were'} {least}{number(shown.count)}"
        what = f"{seating.whose(verdict.bidder)} {faces(shown.quantity, shown.face)}"
        text = f"called {what}: {likely(chance)}, and there {there}."
        yield 1 - chance, _row("Worst call", verdict.caller, text, seating)


def _rolls(played: Round, shown: game.HandsShown, seating: Seating) -> Iterator[tuple[Fraction, RecapRow]]:
    for seat, hand in enumerate(shown.hands):
        if not hand:
            continue
        # A hand of nothing but ones counts as ones. In other hands, wild ones count as another face.
        counting = NOTHING_WILD if set(hand) == {1} else shown.counting
        most, face = max((counting.count((hand,), face), face) for face in FACES)
        chance = roll_chance(most, len(hand), shown.counting)
        if chance <= Fraction(1, 6):
            text = f"rolled {' '.join(map(str, hand))} in round {played.number}: {faces(most, face)}, one roll in "
            yield chance, _row("Luckiest roll", seat, f"{text}{round(1 / chance):,}.", seating)


def _row(title: str, seat: int, text: str, seating: Seating) -> RecapRow:
    return RecapRow(title, seat, seating.does(seat, "", "").strip(), text)


@lru_cache(maxsize=256)
def roll_chance(most: int, dice: int, counting: Counting) -> Fraction:
    """Return the chance that a roll has at least ``most`` dice of some face. Wild ones count for all other faces, too.

    >>> roll_chance(5, 5, ONES_WILD), roll_chance(2, 2, NOTHING_WILD)
    (Fraction(13, 648), Fraction(1, 6))
    """
    if counting not in (ONES_WILD, NOTHING_WILD):
        return _share(most, dice, counting)
    if counting is NOTHING_WILD:
        return 1 - Fraction(_ways(dice, 6, most - 1), 6**dice)
    fewer = sum(comb(dice, ones) * _ways(dice - ones, 5, most - 1 - ones) for ones in range(min(most, dice + 1)))
    return 1 - Fraction(fewer, 6**dice)


def _share(most: int, dice: int, counting: Counting) -> Fraction:
    """Return :func:`roll_chance` for any counting, from all hands, which is slow for more than ten dice."""
    hands = combinations_with_replacement(FACES, dice)
    likely = (hand for hand in hands if max(counting.count((hand,), face) for face in FACES) >= most)
    rolls = (factorial(dice) // prod(factorial(hand.count(face)) for face in FACES) for hand in likely)
    return Fraction(sum(rolls), 6**dice)


def _ways(dice: int, faces: int, most: int) -> int:
    """Return the number of ways in which dice can show some faces, each of them at most ``most`` times."""
    ways = [1] + [0] * dice
    for _ in range(faces):
        ways = [sum(comb(n, k) * ways[n - k] for k in range(min(n, most) + 1)) for n in range(dice + 1)]
    return ways[dice]


@dataclass(frozen=True, slots=True)
class Weighed:
    """The odds of a bid, or of a call on one."""

    is_call: bool
    face: int
    by: int | None
    """The seat of the player whose dice were in view; None if there were none."""
    chance: Fraction
    """The chance that the bid is true, or the call right, given only those dice."""
    count: int | None = None
    """The number of known dice that count for the bid; None if the reader must not know it."""
    unknown: int | None = None
    """The number of dice in cups that were never opened; None if the reader must not know it."""
    is_right: bool | None = None
    """Whether the bid is true, or the call right; None if unknown."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that ``replay --json`` prints."""
        return {
            "seen_by": self.by,
            "fraction": str(self.chance),
            "percent": round(float(100 * self.chance), 3),
            "count": self.count,
            "unknown": self.unknown,
            "right": self.is_right,
        }


def weigh(event: Event, state: State, hands: Mapping[int, Hand], eyes: int | None) -> Weighed | None:
    """Return the odds of a bid or a call; None for any other event.

    :param state: the state after the event.
    :param hands: the known dice, by seat.
    :param eyes: the seat whose dice alone the reader sees; None if the reader sees all.
    """
    if not isinstance(event, game.BidMade | game.ChallengeCalled):
        return None
    call = event.call if isinstance(event, game.ChallengeCalled) else None
    by = event.seat if eyes is None else eyes
    hand = hands.get(by, ())
    quantity, face, counting = event.quantity, event.face, state.counting
    hidden = sum(state.dice) - len(hand)
    true = at_least(quantity, face, hand, hidden, counting)
    chance = 1 - true if call == "liar" else true
    if call == "exact":
        chance = exactly(quantity, face, hand, hidden, counting)
    seen_by = by if hand else None
    if eyes is not None:
        return Weighed(call is not None, face, seen_by, chance)
    there = counting.count(hands.values(), face)
    unknown = sum(dice for seat, dice in enumerate(state.dice) if seat not in hands)
    return Weighed(
        call is not None,
        face,
        seen_by,
        chance,
        there,
        unknown,
        _is_right(call, quantity, *counting.bounds(hands.values(), unknown, face)),
    )


def _is_right(call: Call | None, quantity: int, least: int, most: int) -> bool | None:
    """Return whether a bid is true, or a call on it right, if ``least`` to ``most`` dice count; None if undecided."""
    if call is not None:
        return verdict(call, quantity, least, most)[1]
    is_lie = verdict("liar", quantity, least, most)[1]
    return None if is_lie is None else not is_lie


def hindsight(weighed: Weighed, seating: Seating) -> str:
    """Return a sentence on the odds of a bid or call.

    >>> from cli.text.seating import Seating
    >>> hindsight(Weighed(False, 5, 0, Fraction(1, 3), 2, 0, False), Seating(("Ada", "Ben")))
    "Ada's own dice make it 33% likely; with two fives in all it is false."
    """
    it = "the call" if weighed.is_call else "it"
    right, wrong = ("right", "wrong") if weighed.is_call else ("true", "false")
    if weighed.chance in (0, 1):
        likely = f"sure to be {right if weighed.chance else wrong}"
    else:
        likely = f"{percent(weighed.chance)} likely" + (" to be right" if weighed.is_call else "")
    if weighed.by is None:
        told = f"Without any dice in view {it} is {likely}"
    else:
        whose = seating.whose(weighed.by)
        told = f"{whose[:1].upper()}{whose[1:]} own dice make {it} {likely}"
    if weighed.count is None or weighed.unknown is None:
        return f"{told}."
    known = _known(weighed.count, weighed.face, weighed.unknown)
    if weighed.is_right is None:
        return f"{told}; {known} nobody can tell."
    return f"{told}; {known} {it} is {right if weighed.is_right else wrong}."


def chances(quantity: int, face: int, state: State, hands: Mapping[int, Hand], seating: Seating) -> Iterator[str]:
    """Yield whether a bid is true, then how likely it is for each player whose dice are known."""
    there = state.counting.count(hands.values(), face)
    unknown = sum(dice for seat, dice in enumerate(state.dice) if seat not in hands)
    is_true = _is_right(None, quantity, *state.counting.bounds(hands.values(), unknown, face))
    known = _known(there, face, unknown)
    said = "nobody can tell" if is_true is None else f"it is {'true' if is_true else 'false'}"
    yield f"{faces(quantity, face).capitalize()}: {known} {said}. How likely it is, by each player's own dice:"
    width = max((columns(seating.who(seat)) for seat in hands), default=0)
    for seat, hand in sorted(hands.items()):
        chance = at_least(quantity, face, hand, sum(state.dice) - len(hand), state.counting)
        name = seating.who(seat)
        yield f"    {name}{' ' * (width - columns(name))}  {percent(chance)}"


def _known(there: int, face: int, unknown: int) -> str:
    return f"with {faces(there, face)} " + (f"and {dice_count(unknown)} unknown" if unknown else "in all")
