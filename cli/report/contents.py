"""The contents of a report: what the page shows of one match, as plain values. Nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from cli.history.account import empty_account
from cli.render import FACES, percent
from cli.table.board import Board
from cli.table.telling import tell
from cli.text.chance import chi_square, p_value
from cli.text.hindsight import Weighed, weigh
from cli.text.recap import Round as Past
from cli.text.recap import Row, fold, recap
from cli.text.round_summary import Rounds
from cli.text.seating import Seating
from p2pdice.events import RoundStarted, StakesPaid
from protocol.events import CupsSeen, Happened, MatchResult, MatchStarted

if TYPE_CHECKING:
    from cli.table.board import Told
    from p2pdice.inputs import Hand
    from protocol.events import PlayerInfo
    from protocol.match.replay import ClosedStep, Replay


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of a round."""

    text: str
    percent: str = ""
    """How likely a bid was to be true, or a call to be right, for its player; empty for anything else."""
    share: float = 0.0
    """The same, from 0 to 1."""
    outcome: str = ""
    """``true``, ``false``, ``right``, ``wrong``, or ``unknown``; empty for anything else."""


@dataclass(slots=True)
class Round:
    """A part of the match under one heading."""

    title: str
    heading: str
    """The sentence with which it begins, or the title."""
    hands: list[tuple[str, str]] = field(default_factory=list)
    """Name and dice of each player."""
    lines: list[Line] = field(default_factory=list)
    dice: tuple[int, ...] = ()
    """Dice in play at its start, by seat; empty before the first round."""
    ending: str = ""
    """The call, the count and what it cost, in a clause; empty if the round did not end."""


@dataclass(frozen=True, slots=True)
class Payment:
    """The coins of one player."""

    name: str
    payout: int
    delta: int


@dataclass(slots=True)
class Contents:
    """All that a page shows."""

    seating: Seating = field(default_factory=Seating)
    places: tuple[tuple[int, ...], ...] = ()
    """Seats by place; empty for an unfinished match."""
    rounds: list[Round] = field(default_factory=list)
    dealt: list[list[int]] = field(default_factory=list)
    """By seat: how often each face was dealt, ones first."""
    payments: list[Payment] = field(default_factory=list)
    steps: list[ClosedStep] = field(default_factory=list)
    recap: tuple[Row, ...] = ()
    """The best bluff, the worst call, the luckiest roll; those that there were."""

    @property
    def winners(self) -> list[str]:
        """Names of those who share the first place; empty for an unfinished match."""
        return [self.seating.names[seat] for seat in self.places[0]] if self.places else []

    @property
    def standings(self) -> list[int]:
        """All seats, those of the winners first."""
        return [*chain(*self.places)] or [*range(len(self.seating.names))]

    def place(self, seat: int) -> int | None:
        """Return the place of a player, from 1."""
        return next((place for place, seats in enumerate(self.places, 1) if seat in seats), None)

    def name(self, player: PlayerInfo) -> str:
        """Return what a player is called on the page, which no other is."""
        return self.seating.names[self.seating.players.index(player)]

    def evenness(self, seat: int) -> float:
        """Return how likely fair dice are to be at least as uneven as a player's."""
        return p_value(chi_square(self.dealt[seat]))


def contents(replayed: Replay) -> Contents:
    """Return the contents of the report on a match."""
    found = Contents(Seating.of(replayed.players, None), steps=[*replayed.steps()])
    counted = empty_account(replayed)
    board = Board()
    part = Round(*2 * ("Before the first round",))
    found.rounds.append(part)
    past: tuple[Past, ...] = ()
    rounds = Rounds(found.seating)
    for _, event in replayed.tell():
        past = fold(past, event)
        if isinstance(event, Happened) and (ended := rounds.take(event.event)):
            part.ending = ended.removeprefix(f"{part.title}: ")
        board.take(event)
        counted.take(event, board)
        match event:
            case Happened(event=RoundStarted() as started):
                part = Round(f"Round {started.round}", "", dice=started.dice)
                found.rounds.append(part)
                (part.heading,) = tell(event, board)
                continue
            case CupsSeen():
                cups = zip(found.seating.names, event.hands, strict=True)
                part.hands = [(name, _cup(cup)) for name, cup in cups if cup != ()]
                continue
            case Happened(event=StakesPaid() as paid):
                each = zip(found.seating.names, paid.payout, paid.delta, strict=True)
                found.payments = [Payment(*values) for values in each]
            case MatchStarted():
                rounds = Rounds(found.seating, keeps_wrong=event.ruleset.verdict == "right-side-discards")
                continue
        part.lines.extend(_lines(event, board))
    found.recap = recap(past, found.seating)
    found.places, found.dealt = counted.places, counted.dice
    found.rounds = [each for each in found.rounds if each.lines or each.hands]
    return found


def _cup(cup: Hand | None) -> str:
    return "stayed down" if cup is None else "  ".join(f"{FACES[face - 1]} {face}" for face in cup)


def _lines(event: Told, board: Board) -> Iterator[Line]:
    if isinstance(event, MatchResult):
        return
    sentences = [*tell(event, board)]
    if not sentences:
        return
    *before, last = sentences
    yield from map(Line, before)
    weighed = weigh(event.event, event.state, board.hands, None) if isinstance(event, Happened) else None
    yield Line(last) if weighed is None else _weighed(last, weighed)


def _weighed(text: str, weighed: Weighed) -> Line:
    right, wrong = ("right", "wrong") if weighed.is_call else ("true", "false")
    outcome = "unknown" if weighed.is_right is None else right if weighed.is_right else wrong
    return Line(text, percent(weighed.chance), float(weighed.chance), outcome)
