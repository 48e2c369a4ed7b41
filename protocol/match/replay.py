"""The replay: the match in a transcript, told again as the nodes of its players told it. Sans-I/O.

Nothing is told of a file before all of it was judged (:mod:`protocol.consensus.verifier`). The story then comes from
the history that was judged, by the same :class:`~protocol.match.event_feed.MatchEvents` that a live node tells it with;
positions are worked out again while it is told, so a replay takes little more memory than the judgement did.

A hand is known as soon as its key was opened, and a key is opened at the showdown; whoever looks back knows it from
the roll on. A cup that was never opened stays unknown for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, cast

from p2pdice import Hand
from protocol.consensus.position import Position, Purpose
from protocol.consensus.verifier import Examined, Verdict
from protocol.crypto.keys import fingerprint
from protocol.errors import PeerError
from protocol.events import CupsSeen, MatchOver, Misbehaved, NodeEvent, Notice, PlayerInfo
from protocol.match.event_feed import MatchEvents
from protocol.wire.messages import Kind, Signed


class NoMatchError(PeerError, ValueError):
    """The file holds no match that can be told: it was altered, or it is a proof of two messages."""


class Moment(NamedTuple):
    """One thing that happened."""

    step: int
    """The step of the history that made it happen."""
    event: NodeEvent


class Replay:
    """A judged match that can be told from any round on, all-seeing or with one player's eyes.

    :param path: where the transcript lies, for :class:`~protocol.events.MatchOver`.
    :raises NoMatchError: if the file holds no match.
    """

    def __init__(self, examined: Examined, path: Path) -> None:
        if examined.record is None:
            raise NoMatchError(examined.verdict.reason)
        self._record = examined.record
        self._proven = examined.proven
        self.path = path
        self.verdict: Verdict = examined.verdict
        chain = self._record.chain
        roster = [entry.join for entry in self._record.genesis.roster]
        self._info = tuple(PlayerInfo(join.nickname, fingerprint(join.identity)) for join in roster)
        self._seats = chain[-1].seats or tuple(range(len(roster)))
        self.players = tuple(self._info[author] for author in self._seats)
        """By seat; in the order of the roster if no seats were drawn."""
        self.rounds = tuple(
            before.step for before, after in pairwise(chain) if after.deal is not None and after.deal is not before.deal
        )
        """The steps in which the dice of rounds 1, 2, … were rolled."""
        self.last_step = max(chain[-1].step - 1, 0)
        """The last step that was closed, counted from 0."""
        self._keys = self._opened()

    def _opened(self) -> dict[int, dict[int, bytes]]:
        """Return the hand keys by author, of each deal by the step that carried its commitments."""
        chain = self._record.chain
        keys: dict[int, dict[int, bytes]] = {}
        for place, position in enumerate(chain):
            if position.kind is Kind.OPEN and position.deal is not None:
                given = chain[place + 1].entries if place + 1 < len(chain) else self._record.held
                opened = keys.setdefault(position.deal.context.step, {})
                opened.update((author, _key(signed)) for author, signed in given.items() if _is_opening(signed))
        return keys

    def _hand(self, position: Position, author: int) -> Hand | None:
        """Return the dice that a player has at a position; None if their cup was never opened."""
        if position.deal is None or position.state is None:
            return ()
        if not position.state.dice[position.seats.index(author)]:
            return ()
        key = self._keys.get(position.deal.context.step, {}).get(author)
        return None if key is None else position.hand(author, key)

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        """Yield what happened in a step and all steps after it.

        :param seat: with whose eyes it is seen: that player's dice are told when they are rolled, and no others. None
            for everybody's.
        """
        record = self._record
        me = None if seat is None else self._seats[seat]
        info = tuple(replace(player, is_me=author == me) for author, player in enumerate(self._info))
        story = MatchEvents(record, info, me, self._proven, lambda at: () if me is None else self._hand(at, me) or ())
        errors = sorted(self._proven.values(), key=lambda error: (error.step, error.author))
        errors = [error for error in errors if error.step >= since]
        positions = record.walk(since)
        before = next(positions)
        for after in positions:
            while errors and errors[0].step <= before.step:
                error = errors.pop(0)
                yield Moment(error.step, Misbehaved(info[error.author], error.step, str(error)))
            for event in story.between(before, after):
                yield Moment(before.step, event)
            if after.deal is not None and after.deal is not before.deal:
                yield from (Moment(before.step, event) for event in self._look_into_cups(after, me))
            before = after
        if before.purpose is Purpose.END:
            assert before.state is not None
            by_seat = tuple(info[author] for author in before.seats)
            over = MatchOver(record.match.hex(), before.state.places, by_seat, self.path, confirmed=None)
            yield Moment(self.last_step, over)
        for error in errors:
            yield Moment(error.step, Misbehaved(info[error.author], error.step, str(error)))

    def _look_into_cups(self, position: Position, me: int | None) -> Iterator[NodeEvent]:
        """Yield what was rolled, beside what a live node tells."""
        assert position.state is not None
        if me is None:
            yield CupsSeen(tuple(self._hand(position, author) for author in position.seats), position.state)
        elif self._hand(position, me) is None:
            yield Notice("your cup was never opened, so the transcript does not hold what was in it")


def _is_opening(signed: Signed) -> bool:
    return signed.message.kind is Kind.OPEN


def _key(signed: Signed) -> bytes:
    return cast("tuple[bytes, ...]", signed.message.body)[0]
