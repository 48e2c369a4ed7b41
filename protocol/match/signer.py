"""The messages that one player signs, produced from secrets, the owner's choices and the open step. Sans-I/O.

All secrets are derived from the match seed, so a restarted node signs the same messages again. The owner chooses moves
and stakes; all other messages are owed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from p2pdice.engine import apply
from p2pdice.errors import IllegalMove, RulesError
from p2pdice.moves import Concede, Move, Play, Stake, parse_move
from p2pdice.views import View, view
from protocol.consensus.kinds import RULES
from protocol.consensus.position import FORMED, ROLLS, Position, Purpose, Stage
from protocol.consensus.replica import Replica
from protocol.consensus.rule import LostStakeError, RejectedMessageError
from protocol.crypto.hashing import Context, derive_secret
from protocol.crypto.keys import MatchKey
from protocol.errors import LocalError
from protocol.events import YourTurn
from protocol.match.effects import Effect, Show, StoreChoice
from protocol.wire.canonical import Value
from protocol.wire.messages import Kind, Message, Signed, sign

CONCESSION: Final = 0
"""The step under which the wish to concede is stored; no stake is committed in it."""


class StaleMoveError(LocalError):
    """The move answers a turn that is over, or no turn at all."""


class Statement(NamedTuple):
    """An unsigned message for the open step."""

    kind: int
    body: Value


class Signer:
    """Signs for the player in one seat.

    :param me: the player's roster index.
    :param seed: the match seed from which all secrets are derived.
    :param choices: the owner's stored choices, by step.
    :param is_host: whether this player hosts the table, and so signs last before the match is formed.
    :param emit: receives choices to store and events to show.
    :param stake: binds a stake (coins, run tickets) in the player's purse, and returns whether the purse allows it.
    :raises RejectedMessageError: if a stored choice is malformed.
    """

    def __init__(
        self,
        replica: Replica,
        me: int,
        seed: bytes,
        choices: Mapping[int, str],
        is_host: bool,
        emit: Callable[[Effect], None],
        stake: Callable[[int, int], bool] | None = None,
    ) -> None:
        self.key = MatchKey(seed)
        self.is_host = is_host
        self.is_conceding = False
        """Whether the owner wants to resign, or will not play the proposed match."""
        self._replica = replica
        self._history = replica.history
        self._me = me
        self._seed = seed
        self._emit = emit
        self._bind_stake = stake
        self._stakes: dict[int, Stake] = {}
        """The owner's stakes, by the step that commits to them."""
        for step, text in choices.items():
            choice = _stored_choice(text)
            if isinstance(choice, Stake):
                self._stakes[step] = choice
            else:
                self.is_conceding = True
        self._asked = b""
        """The tip of the step that the last YourTurn asked about."""
        self._turn = 0
        """The token of the last YourTurn."""
        self._move: Move | None = None
        """The owner's answer to the last YourTurn, until this node may sign it."""
        self._locked = b""
        """The tip of the last LOCK that this process has signed."""
        self._witnessed: frozenset[int] = frozenset()
        """The witnesses whose signatures under the previous LOCK are on the disk with the LOCK in ``_locked``."""

    # The owner's choices

    def play(self, move: Move, token: int) -> None:
        """Take the owner's answer to the YourTurn with this token.

        :raises StaleMoveError: if that turn is over.
        :raises RulesError: if the move is illegal.
        """
        position = self._history.position
        if token != self._turn or position.tip != self._asked or self._me in self._history.held or self._move:
            raise StaleMoveError("that turn is over")
        assert position.state is not None
        if position.purpose is Purpose.STAKES:
            if not isinstance(move, Stake):
                raise IllegalMove("every player stakes something before the match, if only stake 0")
            self._view(position).wager(move)
            self._seal(position, move)
            return
        # Check before signing: an illegal move must never carry our signature.
        apply(position.state, Play(position.seats.index(self._me), move))
        self._move = move

    def concede(self) -> None:
        """Resign as soon as this player may, and ask the owner for no more choices until then."""
        if not self.is_conceding:
            self.is_conceding = True
            self._emit(StoreChoice(CONCESSION, str(Concede())))

    def ask_again(self) -> None:
        """Have the owner asked again, because the step of the last YourTurn was rolled back."""
        self._asked = b""

    def _ask(self, position: Position) -> None:
        if self._asked != position.tip:
            self._asked = position.tip
            self._turn += 1
            self._move = None
            self._emit(Show(YourTurn(self._view(position), self._turn)))

    def _seal(self, position: Position, stake: Stake) -> None:
        self._stakes[position.step] = stake
        self._emit(StoreChoice(position.step, str(stake)))

    def _view(self, position: Position) -> View:
        assert position.state is not None
        holdings = self._history.genesis.funds(self._me)
        return view(position.state, position.seats.index(self._me), self.hand(position), holdings)

    # The next message

    def owes(self, may_commit: Callable[[], bool]) -> Statement | None:
        """Return what this player has to sign next for the open step; None if nothing, or if the owner has to choose
        first.

        :param may_commit: returns whether the COMMIT of the first roll may be signed.
        """
        history, position, me = self._history, self._history.position, self._me
        ballot = self._replica.ballot
        if position.kind is None:
            is_silent = me in position.resigned or ballot.has_resigned or me in history.results
            return None if is_silent else self._produce(Kind.RESULT, position)
        if me in position.left or self._replica.signed_at(position) is not None or ballot.has_resigned:
            return None
        if position.step < FORMED and self._holds_back(position, may_commit):
            return None
        if position.kind is Kind.LOCK and not ballot.may_lock:
            return None
        if me not in position.owed:
            return self._produce(Kind.WITNESS, position) if position.kind is Kind.LOCK else None
        if self.is_conceding and (
            position.step < FORMED
            or (ballot.may_resign and _is_cheap_to_resign(position) and not self._may_have_signed(position))
        ):
            return self._produce(Kind.RESIGN, position)
        try:
            return self._produce(position.kind, position)
        except LostStakeError:
            return self._produce(Kind.RESIGN, position) if ballot.may_resign else None

    def _holds_back(self, position: Position, may_commit: Callable[[], bool]) -> bool:
        """Return whether this player withholds, for now or for good, a message that would form the match."""
        if self.is_conceding:
            return not self.is_host or self._me in self._history.withdrawals
        # The host signs last: until then it can withdraw the proposal.
        awaits_others = self.is_host and len(self._history.held) != len(position.owed) - 1
        return awaits_others or (position.step + 1 == FORMED and not may_commit())

    def _may_have_signed(self, position: Position) -> bool:
        """Return whether an earlier process may have sent its message for the open step without storing it. It cannot
        have if this process signed the LOCK before that step."""
        assert position.kind is not None
        return not (RULES[position.kind].binds(position, position.out) or self._has_locked(position))

    def _has_locked(self, position: Position) -> bool:
        """Return whether this process has signed the last LOCK before a position."""
        return bool(position.locks) and position.locks[-1].tip == self._locked

    def _produce(self, kind: int, position: Position) -> Statement | None:
        body = RULES[kind].produce(position, self)
        return Statement(kind, body) if body is not None else None

    # Signatures and secrets

    def sign(self, position: Position, kind: int, body: Value) -> Signed:
        """Sign a message for the open step, or a vote on the root.

        :param position: the position before that step, or the root.
        """
        if kind == Kind.LOCK:
            before = position.locks[-1].tip if position.locks else b""
            self._locked, self._witnessed = position.tip, frozenset(self._history.countersigned.get(before, ()))
        return sign(Message(self._history.match, position.step, position.tip, self._me, kind, body), self.key)

    def binds(self, kind: int) -> bool:
        """Return whether a message of a kind for the open step must be on the disk before it is sent."""
        position = self._history.position
        if kind != Kind.WITNESS and not self._has_locked(position):
            return True  # votes may have closed that LOCK: after a crash, this node could sign it, and then resign
        return RULES[kind].binds(position, self._witnessed)

    def hand(self, position: Position) -> tuple[int, ...]:
        """Return the faces of this player's dice at a position, ascending; empty if there are none."""
        deal = position.deal
        if deal is None or self._me not in deal.commitments:
            return ()
        return position.hand(self._me, derive_secret(self._seed, deal.context, "hand"))

    # The interface from which rules produce bodies: see protocol.consensus.rule.Secrets

    @property
    def author(self) -> int:
        return self._me

    def context(self, position: Position) -> Context:
        return Context(self._history.match, position.step, position.tip)

    def secret(self, context: Context, purpose: str) -> bytes:
        return derive_secret(self._seed, context, purpose)

    # An owner who concedes makes no more choices. But a player who has voted may not resign yet, so this node plays on:
    # the first listed move, and no stake. If it sent nothing, others too few to vote would wait forever.

    def move(self, position: Position) -> str | None:
        if self.is_conceding:
            return str(self._view(position).legal[0])
        self._ask(position)
        return str(self._move) if self._move is not None else None

    def stake(self, position: Position) -> Stake | None:
        if position.step not in self._stakes:
            if self.is_conceding:
                self._seal(position, Stake(0))
            else:
                self._ask(position)
        return self._stakes.get(position.step)

    def sealed(self, context: Context) -> Stake | None:
        return self._stakes.get(context.step)

    def open_stake(self, stake: Stake) -> None:
        is_brought = self._history.genesis.has_purses
        if is_brought and (self._bind_stake is None or not self._bind_stake(stake.bet, stake.tickets)):
            raise LostStakeError

    def countersignatures(self) -> bytes:
        return self._history.countersignatures()


def _is_cheap_to_resign(position: Position) -> bool:
    # Whether a RESIGN lets the others continue at once. A LOCK cannot be left; and at a showdown or a sealed stake, a
    # player opens before resigning.
    assert position.kind is not None
    stage = RULES[position.kind].stage
    return stage is not Stage.LOCK and (stage is not Stage.OPEN or position.purpose in ROLLS)


def _stored_choice(text: str) -> Stake | Concede:
    try:
        choice = parse_move(text)
    except RulesError as error:
        raise RejectedMessageError(f"a stored choice cannot be read: {error}") from None
    if not isinstance(choice, Stake | Concede):
        raise RejectedMessageError("a stored choice is neither a stake nor the wish to concede")
    return choice
