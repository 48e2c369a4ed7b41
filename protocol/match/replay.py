"""The replay: the match in a transcript, shown again like a live match. Sans-I/O.

A file is first judged as a whole (:mod:`protocol.consensus.verifier`). The events are then derived from the judged
history by the same :class:`~protocol.match.event_feed.MatchEvents` as in a live node. Dropped states are recomputed on
the way, so a replay takes little more memory than the verification.

A hand's key is revealed only at the showdown, but a replay shows the hand from the roll on. Dice under a cup that was
never opened stay unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from p2pdice.moves import Hand
from protocol.consensus.kinds import RULES
from protocol.consensus.position import Position, Purpose
from protocol.consensus.verifier import Examined, Verdict
from protocol.crypto.keys import fingerprint
from protocol.errors import PeerError
from protocol.events import CupsSeen, MatchResult, MatchStarted, Misbehaved, NodeEvent, Notice, PlayerInfo
from protocol.match.event_feed import MatchEvents
from protocol.wire.messages import Signed


class NoMatchError(PeerError, ValueError):
    """The file contains no match to replay: it was altered, or it is a proof of two messages."""


class Moment(NamedTuple):
    """An event, with the step that caused it."""

    step: int
    """The step of the history that caused the event."""
    event: NodeEvent


class SignedMessage(NamedTuple):
    """A signed message of a closed step."""

    player: PlayerInfo
    kind: str
    id: bytes
    """The hash of the signed bytes."""
    signature: bytes


class ClosedStep(NamedTuple):
    """A step of the history, with the messages and votes that closed it."""

    step: int
    purpose: str
    tip: bytes
    """The hash of the history before the step."""
    messages: tuple[SignedMessage, ...]
    """In roster order."""
    votes: tuple[SignedMessage, ...]
    """The votes that closed the step; empty if no message is missing."""


class Replay:
    """A judged match that can be replayed from any step on, with all dice visible or as one player saw it.

    :param path: the location of the transcript, for :class:`~protocol.events.MatchResult`.
    :param rules_name: the local name of its house rules, which a transcript does not contain.
    :raises NoMatchError: if the file contains no match.
    """

    def __init__(self, examined: Examined, path: Path, rules_name: str = "") -> None:
        if examined.history is None:
            raise NoMatchError(examined.verdict.reason)
        self._history = examined.history
        self._proven = examined.proven
        self.path = path
        self._rules_name = rules_name
        self.verdict: Verdict = examined.verdict
        self.rules = examined.verdict.rules or ""
        """The name of the ruleset; for house rules, the start of their hash."""
        chain = self._history.chain
        roster = [entry.join for entry in self._history.genesis.roster]
        self._info = tuple(PlayerInfo(join.nickname, fingerprint(join.identity)) for join in roster)
        self._seats = chain[-1].seats or tuple(range(len(roster)))
        self.players = tuple(self._info[author] for author in self._seats)
        """The players by seat; in roster order if no seats were drawn."""
        self.rounds = tuple(
            before.step for before, after in pairwise(chain) if after.deal is not None and after.deal is not before.deal
        )
        """The steps in which the dice of rounds 1, 2, … were rolled."""
        self.last_step = max(chain[-1].step - 1, 0)
        """The last closed step, counted from 0."""
        end = chain[-1].state or chain[-2].state if len(chain) > 1 else chain[-1].state
        self.last_dice: tuple[int, ...] = () if end is None else tuple(end.dice)
        """The number of dice left at the end, by seat; empty if no seats were drawn."""
        self._keys = self._opened()

    def _opened(self) -> dict[int, dict[int, bytes]]:
        """Return the revealed hand keys by author, for each deal, identified by the step of its commitments."""
        chain = self._history.chain
        keys: dict[int, dict[int, bytes]] = {}
        for index, position in enumerate(chain):
            if position.deal is None:
                continue
            given = chain[index + 1].entries if index + 1 < len(chain) else self._history.held
            for author, signed in given.items():
                if key := RULES[signed.message.kind].hand_key(signed.message.body):
                    keys.setdefault(position.deal.context.step, {})[author] = key
        return keys

    def _hand(self, position: Position, author: int) -> Hand | None:
        """Return the player's dice at a position: empty if they have none, None if their cup was never opened."""
        if position.deal is None or position.state is None:
            return ()
        if not position.state.dice[position.seats.index(author)]:
            return ()
        key = self._keys.get(position.deal.context.step, {}).get(author)
        return None if key is None else position.hand(author, key)

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        """Yield the events of the step ``since`` and of all later steps.

        :param seat: the player whose dice are shown; None to show everybody's dice.
        """
        history = self._history
        me = None if seat is None else self._seats[seat]
        info = tuple(replace(player, is_me=author == me) for author, player in enumerate(self._info))
        story = MatchEvents(history, info, me, self._proven, lambda at: () if me is None else self._hand(at, me) or ())
        errors = sorted(self._proven.values(), key=lambda error: (error.step, error.author))
        errors = [error for error in errors if error.step >= since]
        positions = history.walk(since)
        before = next(positions)
        decided = before.step  # will be the step that ends the game: the LOCK after it has no events
        for after in positions:
            while errors and errors[0].step <= before.step:
                error = errors.pop(0)
                yield Moment(error.step, Misbehaved(info[error.author], error.step, str(error)))
            for event in story.between(before, after):
                decided = before.step
                if isinstance(event, MatchStarted):
                    event = replace(event, rules_name=self._rules_name)
                yield Moment(before.step, event)
            if after.deal is not None and after.deal is not before.deal:
                yield from (Moment(before.step, event) for event in self._look_into_cups(after, me))
            before = after
        if before.purpose is Purpose.END:
            assert before.state is not None
            by_seat = tuple(info[author] for author in before.seats)
            over = MatchResult(history.match.hex(), before.state.places, by_seat, self.path, confirmed=None)
            yield Moment(decided, over)
        for error in errors:
            yield Moment(error.step, Misbehaved(info[error.author], error.step, str(error)))

    def steps(self) -> Iterator[ClosedStep]:
        """Yield every closed step with the messages that closed it."""
        for before, after in pairwise(self._history.chain):
            messages = tuple(self._signed(signed) for _, signed in sorted(after.entries.items()))
            votes = tuple(map(self._signed, after.certificate))
            yield ClosedStep(before.step, before.purpose, before.tip, messages, votes)

    def _signed(self, signed: Signed) -> SignedMessage:
        message = signed.message
        return SignedMessage(self._info[message.author], RULES[message.kind].name, signed.id, signed.signature)

    def _look_into_cups(self, position: Position, me: int | None) -> Iterator[NodeEvent]:
        """Yield the rolled dice that a live node does not report."""
        assert position.state is not None
        if me is None:
            yield CupsSeen(tuple(self._hand(position, author) for author in position.seats), position.state)
        elif self._hand(position, me) is None:
            yield Notice("your cup was never opened, so the transcript does not hold what was in it")
