"""A match as one node lives it: the record, who I am, my secrets, and what is due now. Sans-I/O.

The owner feeds inputs to :meth:`Match.handle` and carries out the effects it returns, in their order: whatever is to be
persisted is on the disk before the first frame is sent. Clock, keys, randomness and storage come from outside, so the
same class runs under asyncio, in the simulator and, without a seat, as a spectator.

Everything a program decides by itself (commitments, locks, reveals, openings, receipts) is sent as soon as it is owed;
only moves wait for the owner. After a restart nothing is signed before all players of the base, and whoever else is
linked, have shown what they hold: a message that was sent before the crash and lost from the store comes back from
there and is adopted, never contradicted. (A majority would not do: the lost message may have reached one player only.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from p2pdice import IllegalMove, Move, Play, Stake, apply, check_wager, parse_move, view
from p2pdice import State as GameState
from protocol import limits
from protocol.canonical import Value
from protocol.effects import (
    Broadcast,
    Choose,
    Conceded,
    Effect,
    Ended,
    Formed,
    Left,
    Linked,
    MatchInput,
    Needed,
    Over,
    Paged,
    Persist,
    Played,
    Received,
    Send,
    Show,
    Ticked,
    WakeAt,
)
from protocol.events import (
    ConcedeAccepted,
    Continued,
    DiceRolled,
    Happened,
    MatchFormed,
    MatchStarted,
    Misbehaved,
    NodeEvent,
    Notice,
    PeerBack,
    PeerLost,
    PlayerInfo,
    Suspended,
    YourTurn,
)
from protocol.keys import MatchKey, fingerprint
from protocol.messages import Kind, MalformedMessageError, Message, Signed, parse_signed, sign
from protocol.randomness import Context, derive_secret, hand_commitment, share_commitment, stake_commitment
from protocol.record import (
    COMMITMENTS,
    MisconductError,
    Outcome,
    Position,
    Purpose,
    Record,
    RejectedMessageError,
    wager,
)
from protocol.wire import Carried, Need, Page

AWAITED_AFTER: Final = 1.0
"""Seconds that a player who is owed for may be unlinked before the match is shown as suspended."""
ASK_AGAIN: Final = 1.0
"""Seconds after which a node that knows it lacks messages asks its peers for them."""
DOUBT: Final = 3.0
"""Seconds after a link came or went during which missing messages are asked for: a player who was cut off or restarted
may have reached, or have been given back, what others still lack."""
RECEIPTS: Final = 3.0
"""Seconds that a finished node waits for the others' RESULT before it calls the end unconfirmed."""


class StaleMoveError(Exception):
    """The move answers a turn that is over, or none."""


@dataclass(slots=True)
class _Timers:
    """When what is awaited would be asked for or reported, by the owner's monotonic clock."""

    awaited_since: float | None = None
    """Since when somebody who is owed for has been unlinked."""
    lacking_since: float | None = None
    """Since when this node knows or suspects that it lacks messages that others hold."""
    doubt_until: float = 0.0
    """Until when it suspects so because links changed."""
    ended_at: float | None = None
    wished: float = 0.0
    """When the owner was last asked to wake the match."""


class Match:
    """One match on one node.

    :param genesis_data: the proposed or agreed genesis.
    :param me: this node's index in the roster, None for a spectator.
    :param seed: the match seed from which all secrets follow; unused without a seat.
    :param stored: the messages that the store holds, when the match is resumed.
    :param choices: the owner's sealed choices that the store holds, by step.
    :raises MalformedGenesisError: for a genesis that is none.
    """

    def __init__(
        self,
        genesis_data: bytes,
        me: int | None,
        seed: bytes,
        stored: Iterable[Signed] | None = None,
        choices: Mapping[int, str] | None = None,
    ) -> None:
        self.record = Record(genesis_data)
        self.me = me
        self.info = tuple(
            PlayerInfo(entry.join.nickname, fingerprint(entry.join.identity), is_me=author == me)
            for author, entry in enumerate(self.record.genesis.roster)
        )
        self._seed = seed
        self._key = MatchKey(seed)
        self._linked: set[int] = set()
        self._lost: set[int] = set()
        self._future: dict[int, dict[int, Signed]] = {}
        self._overflow = -1
        """Highest step of a message that there was no room to keep for later: it must be asked for again."""
        self._culprits: dict[int, MisconductError] = {}
        self._complained_of: set[int] = set()
        self._needed_of: set[int] = set()
        """Who owes an answer to NEED: a page that nobody asked for is not looked at."""
        self._answered: dict[tuple[int, int], float] = {}
        self._choices: dict[int, Stake] = {}
        """This node's stakes, by the step that commits to them."""
        for step, text in (choices or {}).items():
            choice = parse_move(text)
            assert isinstance(choice, Stake)
            self._choices[step] = choice
        self._timers = _Timers()
        self._effects: list[Effect] = []
        self._announced = 0
        """Index into the record's chain: what came before has been shown."""
        self._asked = -1
        """Step of the last YourTurn."""
        self._conceding = False
        self._suspended = False
        self._over = False
        self._heard: set[int] | None = None
        """Who has shown what they hold since the restart; None once that was everybody."""
        self._resumed = stored is not None
        if stored is not None:
            self._heard = set()
            for signed in stored:
                self.record.add(signed)
            self._announced = len(self.record.chain) - 1

    # What the owner may ask

    @property
    def is_formed(self) -> bool:
        """Everybody has locked the genesis."""
        return self.record.position.step > 0

    @property
    def is_ended(self) -> bool:
        """The game is decided."""
        return self.record.position.purpose is Purpose.END

    @property
    def hand(self) -> tuple[int, ...]:
        """This node's dice in the round that is played: faces, ascending."""
        return self._hand_at(self.record.position)

    def _hand_at(self, position: Position) -> tuple[int, ...]:
        deal = position.deal
        if deal is None or self.me is None or self.me not in deal.commitments:
            return ()
        return position.hand(self.me, derive_secret(self._seed, deal.context, "hand"))

    def by_seat(self) -> tuple[PlayerInfo, ...]:
        """Return the players in the order of seats, once these are drawn."""
        return tuple(self.info[author] for author in self.record.position.seats)

    # Inputs

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        """Take one input at monotonic time ``now`` (seconds) and return what is to be done about it.

        :raises StaleMoveError: if a move came too late; nothing has changed.
        :raises RulesError: if the owner's move is illegal; nothing has changed.
        """
        match item:
            case Received():
                self._take(item.sender, item.signed)
            case Played():
                self._play(item.move, item.token)
            case Needed():
                self._answer(item.sender, item.need, now)
            case Paged():
                self._take_page(item.sender, item.page)
            case Linked():
                self._timers.doubt_until = now + DOUBT
                self._link(item.author)
            case Left():
                self._timers.doubt_until = now + DOUBT
                self._unlink(item.author)
            case Conceded():
                self._conceding = True
                self._show(ConcedeAccepted())
            case Ticked():
                pass
        self._pump(now)
        effects, self._effects = self._effects, []
        return effects

    def _play(self, move: Move, token: int) -> None:
        position = self.record.position
        if token != self._asked or position.step != token or self.me in self.record.held:
            raise StaleMoveError("that turn is over")
        assert position.state is not None
        assert self.me is not None
        if position.purpose is Purpose.STAKES:
            self._stake(move, token)
            return
        # Judged before it is signed: an illegal move must never carry our signature.
        apply(position.state, Play(position.seats.index(self.me), move))
        self._sign(Kind.MOVE, str(move))

    def _stake(self, move: Move, step: int) -> None:
        if not isinstance(move, Stake):
            raise IllegalMove("every player stakes something before the match, if only stake 0")
        check_wager(wager(move.bet, move.tickets))
        self._choices[step] = move
        self._effects.append(Choose(step, str(move)))

    def _link(self, author: int) -> None:
        self._linked.add(author)
        # What was answered over the old link may have been lost with it.
        self._answered = {key: time for key, time in self._answered.items() if key[0] != author}
        if author in self._lost:
            self._lost.discard(author)
            self._show(PeerBack(self.info[author]))
        self._need(author, self.record.position.step)

    def _unlink(self, author: int) -> None:
        self._linked.discard(author)
        self._needed_of.discard(author)
        if self.is_formed and not self.is_ended:
            self._lost.add(author)
            self._show(PeerLost(self.info[author]))

    # Messages from others

    def _take(self, sender: int, signed: Signed) -> None:
        try:
            outcome = self.record.add(signed)
            if outcome is Outcome.FUTURE:
                self._keep_for_later(self.record.check_signature(signed))
                return
        except RejectedMessageError as error:
            self._complain(sender, f"a message from {self.info[sender].name} was refused: {error}")
            return
        except MisconductError as error:
            self._accuse(error)
            return
        if outcome is Outcome.ADDED:
            self._effects.append(Persist(signed))
        elif outcome is Outcome.FOREIGN and self._differs(signed.message):
            # The sender's history parts from ours at or before the step it names: ask further back until two messages
            # of one slot meet and name who wrote both.
            self._need(sender, max(0, min(signed.message.step, self.record.position.step) - 1))

    def _differs(self, message: Message) -> bool:
        return message.tip != self.record.chain[message.step].tip

    def _keep_for_later(self, signed: Signed) -> None:
        kept = self._future.setdefault(signed.message.author, {})
        if len(kept) < limits.FUTURE_PER_AUTHOR:
            kept.setdefault(signed.message.step, signed)
        elif signed.message.step not in kept:
            self._overflow = max(self._overflow, signed.message.step)

    def _complain(self, sender: int, text: str) -> None:
        # Once: who sends nonsense may send any amount of it.
        if sender not in self._complained_of:
            self._complained_of.add(sender)
            self._show(Notice(text))

    def _accuse(self, error: MisconductError) -> None:
        if error.author not in self._culprits:
            self._culprits[error.author] = error
            self._show(Misbehaved(self.info[error.author], error.step, str(error)))

    # Catching up

    def _need(self, author: int, step: int) -> None:
        position = self.record.chain[step]
        missing = self.record.missing() if step == self.record.position.step else ()
        self._needed_of.add(author)
        self._effects.append(Send(author, Need(self.record.match, step, position.tip, missing)))

    def _answer(self, sender: int, need: Need, now: float) -> None:
        chain = self.record.chain
        if now - self._answered.get((sender, need.step), -limits.NEED_ANSWER) < limits.NEED_ANSWER:
            return
        self._answered = {key: time for key, time in self._answered.items() if now - time < limits.NEED_ANSWER}
        self._answered[sender, need.step] = now
        messages: list[tuple[bytes, bytes]] = []
        size = 0
        last = True
        for signed in self._history(need.step):
            size += len(signed.data) + len(signed.signature) + 8
            if size > limits.PAGE:
                last = False
                break
            messages.append(signed.wire)
        place = chain[-1]
        self._effects.append(Send(sender, Page(self.record.match, place.step, place.tip, last, tuple(messages))))

    def _history(self, step: int) -> Iterable[Signed]:
        for position in self.record.chain[step + 1 :]:
            yield from position.entries.values()
        yield from (self.record.held[author] for author in sorted(self.record.held))
        yield from (self.record.results[author] for author in sorted(self.record.results))
        # What we could not fold yet may be all that is left of a message that its author lost.
        for author in sorted(self._future):
            yield from (self._future[author][later] for later in sorted(self._future[author]))

    def _take_page(self, sender: int, page: Page) -> None:
        if sender not in self._needed_of:
            return
        self._needed_of.discard(sender)
        before = self.record.position.step
        for data, signature in page.messages:
            try:
                signed = parse_signed(data, signature)
            except MalformedMessageError as error:
                self._complain(sender, f"an answer from {self.info[sender].name} was unreadable: {error}")
                return
            self._take(sender, signed)
            self._drain_future()
        if not page.last and self.record.position.step > before:
            self._need(sender, self.record.position.step)
        elif page.last and self._heard is not None:
            self._heard.add(sender)
            if {*self.record.position.base, *self._linked} <= {*self._heard, self.me}:
                self._heard = None

    # What is due

    def _pump(self, now: float) -> None:
        while True:
            self._drain_future()
            self._announce()
            if not self._do_what_is_owed():
                break
        self._mind_the_time(now)

    def _drain_future(self) -> None:
        progress = True
        while progress and self._future:
            progress = False
            step = self.record.position.step
            for author in sorted(self._future):
                kept = self._future[author]
                for old in [known for known in kept if known < step]:
                    del kept[old]
                signed = kept.pop(step, None)
                if not kept:
                    del self._future[author]
                if signed is not None:
                    self._take(author, signed)
                    progress = True
                    if self.record.position.step != step:
                        break

    def _do_what_is_owed(self) -> bool:
        """Sign the automatic message that this node owes; tell whether there was one."""
        record, position, me = self.record, self.record.position, self.me
        if me is None or self._heard is not None:
            return False
        if position.purpose is Purpose.END:
            if me in record.results:
                return False
            self._sign(Kind.RESULT, position.lock)
            return True
        if me not in position.owed or me in record.held:
            return False
        kind = position.kind
        assert kind is not None
        if self._conceding and self._may_resign(position):
            self._sign(Kind.RESIGN, ())
        elif kind is Kind.MOVE:
            self._ask(position, me)
            return False
        elif kind is Kind.COMMIT and position.purpose is Purpose.STAKES:
            if position.step not in self._choices:
                self._ask(position, me)
                return False
            self._sign(kind, (stake_commitment(*self._sealed_stake(position.step, position.tip)),))
        elif kind is Kind.COMMIT:
            self._sign(kind, self._commitments(COMMITMENTS[position.purpose]))
        elif kind is Kind.LOCK:
            self._sign(kind, position.lock)
        elif kind is Kind.REVEAL:
            assert position.standing is not None
            self._sign(kind, derive_secret(self._seed, position.standing.context, "share"))
        elif kind is Kind.STAKE:
            assert position.standing is not None
            context = position.standing.context
            if context.step in self._choices:
                self._sign(kind, self._sealed_stake(context.step, context.tip)[2:])
            else:
                self._sign(Kind.RESIGN, ())  # the store lost what was committed to: it cannot be opened any more
        else:
            assert position.deal is not None
            hand_key = derive_secret(self._seed, position.deal.context, "hand")
            self._sign(kind, (hand_key, *self._commitments(COMMITMENTS[Purpose.DEAL])))
        return True

    @staticmethod
    def _may_resign(position: Position) -> bool:
        # Where a resignation costs the others nothing: a roll under way is finished and a showdown opened first.
        if position.kind is Kind.LOCK:
            return position.purpose not in (Purpose.FORMING, Purpose.SHOWDOWN)
        return position.kind in (Kind.MOVE, Kind.COMMIT)

    def _sealed_stake(self, step: int, tip: bytes) -> tuple[Context, int, int, int, bytes]:
        """Return what a commitment to this node's stake of a step is made of."""
        assert self.me is not None
        context = Context(self.record.match, step, tip)
        choice = self._choices[step]
        return context, self.me, choice.bet, choice.tickets, derive_secret(self._seed, context, "stake")

    def _commitments(self, count: int) -> tuple[bytes, ...]:
        assert self.me is not None
        position = self.record.position
        context = Context(self.record.match, position.step, position.tip)
        share = share_commitment(context, self.me, derive_secret(self._seed, context, "share"))
        if count == 1:
            return (share,)
        return hand_commitment(context, self.me, derive_secret(self._seed, context, "hand")), share

    def _sign(self, kind: Kind, body: Value) -> None:
        assert self.me is not None
        position = self.record.position
        signed = sign(Message(self.record.match, position.step, position.tip, self.me, kind, body), self._key)
        outcome = self.record.add(signed)
        assert outcome is Outcome.ADDED, outcome
        self._effects.append(Persist(signed))
        self._effects.append(Broadcast(Carried(signed.data, signed.signature)))

    def _ask(self, position: Position, me: int) -> None:
        if self._asked != position.step:
            self._asked = position.step
            assert position.state is not None
            self._show(YourTurn(view(position.state, position.seats.index(me), self.hand), position.step))

    # What the owner is told

    def _show(self, event: NodeEvent) -> None:
        self._effects.append(Show(event))

    def _announce(self) -> None:
        chain = self.record.chain
        if self._resumed:
            self._resumed = False
            self._announce_resumption()
        while self._announced < len(chain) - 1:
            before = chain[self._announced]
            self._announced += 1
            position = chain[self._announced]
            if self._announced == 1:
                self._effects.append(Formed())
                self._show(MatchFormed(self.record.match.hex()))
            if before.state is None and position.state is not None:
                self._show_start(position.state, resumed=False)
            for event, state in position.happened:
                self._show(Happened(event, state))
            if position.deal is not before.deal and (hand := self._hand_at(position)):
                self._show(DiceRolled(hand))
            if position.purpose is Purpose.END:
                self._effects.append(Ended())

    def _announce_resumption(self) -> None:
        state = self.record.position.state
        if state is not None:
            self._show_start(state, resumed=True)
            if self.hand:
                self._show(DiceRolled(self.hand))
        if self.is_ended:
            self._effects.append(Ended())

    def _show_start(self, state: GameState, resumed: bool) -> None:
        seats = self.record.position.seats
        seat = seats.index(self.me) if self.me is not None else None
        ruleset = self.record.genesis.ruleset
        self._show(MatchStarted(self.record.match.hex(), ruleset, self.by_seat(), seat, state, resumed))

    # Time

    def _mind_the_time(self, now: float) -> None:
        timers = self._timers
        wake: list[float] = []
        if self.is_ended:
            self._mind_the_end(now, wake)
        elif self.is_formed:
            self._mind_the_awaited(now, wake)
        in_doubt = now < timers.doubt_until and bool(self.record.missing())
        overflowed = self._overflow >= self.record.position.step and not self._over
        if self._future or overflowed or self._heard is not None or in_doubt:
            if timers.lacking_since is None:
                timers.lacking_since = now
            elif now - timers.lacking_since >= ASK_AGAIN:
                timers.lacking_since = now
                for author in sorted(self._linked):
                    self._need(author, self.record.position.step)
            wake.append(timers.lacking_since + ASK_AGAIN)
        else:
            timers.lacking_since = None
        if wake:
            due = min(wake)
            if due != timers.wished or timers.wished <= now:  # else the owner knows already
                timers.wished = due
                self._effects.append(WakeAt(due))

    def _mind_the_awaited(self, now: float, wake: list[float]) -> None:
        timers = self._timers
        others = self.record.players - (self.me is not None)
        if len(self._linked) == others and not self._culprits and not self._suspended:
            timers.awaited_since = None
            return
        # Who proved to cheat cannot give an acceptable message any more than who is gone.
        awaited = tuple(
            author
            for author in self.record.missing()
            if author != self.me and (author not in self._linked or author in self._culprits)
        )
        if not awaited:
            timers.awaited_since = None
            if self._suspended:
                self._suspended = False
                self._show(Continued())
            return
        if timers.awaited_since is None:
            timers.awaited_since = now
        due = timers.awaited_since + AWAITED_AFTER
        if self._suspended:
            return
        if now >= due:
            self._suspended = True
            self._show(Suspended(tuple(self.info[author] for author in awaited)))
        else:
            wake.append(due)

    def _mind_the_end(self, now: float, wake: list[float]) -> None:
        if self._over:
            return
        if self._timers.ended_at is None:
            self._timers.ended_at = now
        position = self.record.position
        confirmed = {*position.base} <= {*self.record.results}
        due = self._timers.ended_at + RECEIPTS
        if confirmed or now >= due:
            self._over = True
            self._effects.append(Over(confirmed))
        else:
            wake.append(due)
