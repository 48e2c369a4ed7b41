"""The replay: the match in a transcript, told again like a live match. Sans-I/O.

A file is judged as a whole first (:mod:`protocol.consensus.verifier`). The events then come from the judged history,
by the same :class:`~protocol.match.event_feed.MatchEvents` as in a live node. Positions are computed again on the way,
so a replay takes little more memory than the judgement.

The key of a hand is opened at the showdown; a replay shows the hand from the roll on. A cup that was never opened stays
unknown.
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
    """The file holds no match that can be told: it was altered, or it is a proof of two messages."""


class Moment(NamedTuple):
    """One thing that happened."""

    step: int
    """The step of the history that made it happen."""
    event: NodeEvent


class SignedMessage(NamedTuple):
    """One signed message of a closed step."""

    player: PlayerInfo
    kind: str
    id: bytes
    """The hash of the signed bytes."""
    signature: bytes


class ClosedStep(NamedTuple):
    """One step of the history, and what closed it."""

    step: int
    purpose: str
    tip: bytes
    """The hash of the history before the step."""
    messages: tuple[SignedMessage, ...]
    """In the order of the roster."""
    votes: tuple[SignedMessage, ...]
    """The votes that closed the step; empty if all who owe it have signed."""


class Replay:
    """A judged match that can be told from any round on, all-seeing or with one player's eyes.

    :param path: where the transcript lies, for :class:`~protocol.events.MatchResult`.
    :param rules_name: what people here call its house rules; no transcript tells it.
    :raises NoMatchError: if the file holds no match.
    """

    def __init__(self, examined: Examined, path: Path, rules_name: str = "") -> None:
        if examined.history is None:
            raise NoMatchError(examined.verdict.reason)
        self._history = examined.history
        self._proven = examined.proven
        self.path = path
        self._rules_name = rules_name
        self.verdict: Verdict = examined.verdict
        chain = self._history.chain
        roster = [entry.join for entry in self._history.genesis.roster]
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
        end = chain[-1].state or chain[-2].state if len(chain) > 1 else chain[-1].state
        self.last_dice: tuple[int, ...] = () if end is None else tuple(end.dice)
        """Dice left at the end, by seat; empty if no seats were drawn."""
        self._keys = self._opened()

    def _opened(self) -> dict[int, dict[int, bytes]]:
        """Return the hand keys by author, of each deal by the step that carried its commitments."""
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
        """Return the dice that a player has at a position; None if their cup was never opened."""
        if position.deal is None or position.state is None:
            return ()
        if not position.state.dice[position.seats.index(author)]:
            return ()
        key = self._keys.get(position.deal.context.step, {}).get(author)
        return None if key is None else position.hand(author, key)

    def tell(self, seat: int | None = None, since: int = 0) -> Iterator[Moment]:
        """Yield the events of a step and all steps after it.

        :param seat: the player whose view is told: of the dice, only that player's. None for all dice.
        """
        history = self._history
        me = None if seat is None else self._seats[seat]
        info = tuple(replace(player, is_me=author == me) for author, player in enumerate(self._info))
        story = MatchEvents(history, info, me, self._proven, lambda at: () if me is None else self._hand(at, me) or ())
        errors = sorted(self._proven.values(), key=lambda error: (error.step, error.author))
        errors = [error for error in errors if error.step >= since]
        positions = history.walk(since)
        before = next(positions)
        decided = before.step  # becomes the step that ends the game: the LOCK of the ending behind it tells nothing
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
        """Yield the rolled dice that a live node does not tell."""
        assert position.state is not None
        if me is None:
            yield CupsSeen(tuple(self._hand(position, author) for author in position.seats), position.state)
        elif self._hand(position, me) is None:
            yield Notice("your cup was never opened, so the transcript does not hold what was in it")
