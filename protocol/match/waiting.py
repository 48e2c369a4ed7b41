"""What one node waits for in a match, for how long, and what its owner sees meanwhile. Sans-I/O.

Theory of operation
-------------------
::

    waits for                        until                                then
    ───────────────────────────────  ───────────────────────────────────  ─────────────────────────────────────────
    messages of the open step        patience is over (Timeouts)          vote to continue, with a quorum linked
    a vote that the ballot proposes  its grounds have been sent (Voter)   sign the vote
    players who are away, or slow    a moment has passed; or patience     notify the owner (Suspended, Overdue)
                                     is about to end
    what others hold, after a        all have shown it; or a quorum has,  sign again
    restart                          and patience with programs is over
    RESULTs                          3 s have passed (RESULT_WAIT), or a  call the end unconfirmed
                                     voting round for linked players
                                     (Timeouts.round_seconds)

:meth:`Waiting.next_due` checks all of these and returns when to check again. Times are monotonic and local to this
machine; none is ever signed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from protocol import limits
from protocol.consensus.history import History
from protocol.consensus.kinds import Vote, stage_of
from protocol.consensus.position import FORMED, Purpose, Stage
from protocol.consensus.replica import Replica
from protocol.events import Continued, NodeEvent, Overdue, PlayerInfo, Suspended
from protocol.match.effects import Broadcast, Effect, Show, WakeAt
from protocol.wire.frames import Carried
from protocol.wire.genesis import JoinRecord, Patience

RESULT_WAIT: Final = 3.0
"""Seconds to wait for RESULTs of unlinked players before the end is called unconfirmed."""
CAUGHT_UP: Final = 3.0
"""Seconds after this node's return. A step that opens here within them may have been open elsewhere for long."""
AWAITED_AFTER: Final = 1.0
"""Seconds for which a player who owes a message may be unlinked before the owner is notified."""
RETURNING: Final = 3.0
"""The same limit on a restarted node: links take a moment to come up, and other nodes may be starting too."""
WARNING: Final = 30.0
"""Seconds before the end of patience at which the owner is warned of players who are linked but slow."""


class Party(NamedTuple):
    """A person and the programs that they have seated, by identity key; only these players' nodes know of it."""

    person: bytes
    programs: frozenset[bytes] = frozenset()

    def waited_for(self, roster: Sequence[JoinRecord]) -> frozenset[int]:
        """Return the authors who get unlimited patience: the person, if all other players are their programs."""
        identities = [record.join.identity for record in roster]
        if not {self.person, *self.programs}.issuperset(identities):
            return frozenset()
        return frozenset(author for author, identity in enumerate(identities) if identity == self.person)


# The state that screens draw. It changes with every message and with the clock, so no event reports it.


@dataclass(frozen=True, slots=True)
class Progress:
    """The open step of a match."""

    step: int
    """The number of the step, which equals the number of closed steps. This node has verified all of those."""
    purpose: Purpose
    """What the step is for: forming the match, drawing the seats, a deal, a turn, a showdown …"""
    stage: Stage
    given: tuple[PlayerInfo, ...]
    """The players whose message has arrived, in order of seats, or in roster order before seats are drawn."""
    awaited: tuple[PlayerInfo, ...]
    """The players whose message is missing, in the same order."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long this node will still wait for the players who hold up the open step, by its own clock.

    The clocks of different nodes differ by the transit times of messages. After a restart, a sleep or a lost network, a
    node does not know how long the others have been waiting. If its own player has to choose, it shows only the time
    that the others will wait at least; for other players, the time starts again. An owner may choose to wait longer
    than others, or indefinitely; a spectator does not know this, so its clock can be wrong.
    """

    awaited: tuple[PlayerInfo, ...]
    """The players whom the match waits for, perhaps including this node's, in the order of :class:`Progress`."""
    seconds: float
    """The remaining time; 0 when patience is over and the others may vote. It can grow, as patience starts again when a
    player comes back. It stands still during a vote on an earlier step."""
    allowed: float
    """The total time of the player with the most time remaining."""
    goes_on: bool
    """Whether the others can continue without the awaited players once time is up. If not, the match waits."""


def progress(history: History, info: tuple[PlayerInfo, ...]) -> Progress:
    """Return the state of the open step of a history.

    :param info: the players, by roster index.
    """
    position = history.position
    if position.kind is None:
        owed: set[int] = set(position.players)
        here = owed.intersection(history.results)
    else:
        owed, here = set(position.owed), set(history.held)
    given = _in_order(history, info, here)
    return Progress(position.step, position.purpose, stage_of(position), given, _in_order(history, info, owed - here))


def _in_order(history: History, info: tuple[PlayerInfo, ...], authors: set[int]) -> tuple[PlayerInfo, ...]:
    """Return these players in the order of seats, or in roster order before the seats are drawn."""
    order = history.position.seats or range(history.roster_size)
    return tuple(info[author] for author in order if author in authors)


class Timeouts:
    """The patience of one node with the players who owe messages to the open step, before it votes to continue.

    The genesis sets how long a person may take to choose and how long a program may take to answer. Programs answer in
    milliseconds: time beyond :data:`~protocol.limits.GRACE` is charged to an account of :data:`~protocol.limits.BANK`
    times the program's patience for the whole match. A player whose account is empty gets no more than the grace. So
    stalling a little in every step gains little.

    Patience starts again when the step changes, when a link comes back (a few times per step, so that reconnecting is
    no way to stall either), when enough players are linked again to continue, and when this machine has slept. It lasts
    only half a second with players who provably broke the rules, or had not signed a LOCK that votes have just closed.

    Patience is unlimited with a person who plays only against their own programs (:class:`Party`): nobody is kept
    waiting. The programs' nodes decide this for themselves; the genesis does not contain it. A node's owner may also
    wait longer in the open step (:meth:`extend`).

    :param patience: the patience set in the genesis.
    :param unhurried: the authors who get unlimited patience.
    """

    def __init__(self, patience: Patience, unhurried: Collection[int] = ()) -> None:
        self._patience = patience
        self.unhurried = unhurried
        self.opened = 0.0
        """The time at which the open step was opened."""
        self.earliest = limits.GRACE
        """The earliest time at which patience can end with a player who is not hurried. With hurried players it ends
        earlier; :attr:`Voter.wake` is that time."""
        self._tip = b""
        self._is_choice = False
        self._since: dict[int, float] = {}
        self._reprieves: dict[int, int] = {}
        self._bank = float(limits.BANK * patience.automatic)
        self._banks: dict[int, float] = {}
        """The seconds left in each account, by author; authors not listed have all of theirs."""
        self._is_charging = True
        self._extra = 0.0
        """The additional seconds that the owner grants in the open step."""
        self._hurried: frozenset[int] = frozenset()
        """The authors who get only half a second."""

    def open_step(self, tip: bytes, is_choice: bool, now: float, hurried: Collection[int] = ()) -> None:
        """Start to wait for the messages of a step, unless it is already the open one.

        :param is_choice: whether a person has to choose, so that patience is long.
        :param hurried: the authors who get only the half second that others need to pass their messages on.
        """
        for author in self._hurried.symmetric_difference(hurried):
            self._since[author] = now
        self._hurried = frozenset(hurried)
        if tip != self._tip:
            self._tip, self._is_choice, self.opened, self._is_charging = tip, is_choice, now, True
            self.earliest = now + limits.GRACE
            self._extra = 0.0
            self._since.clear()
            self._reprieves.clear()

    def charge(self, author: int, now: float) -> None:
        """Charge an author for the delay of their message for the open step, or of their link."""
        if self._is_charging and not self._is_choice:
            late = now - self._since.get(author, self.opened) - limits.GRACE
            if late > 0:
                self._banks[author] = max(0.0, self._banks.get(author, self._bank) - late)

    def came_back(self, author: int, now: float) -> None:
        """Restart patience with an author who is linked again; at most :data:`~protocol.limits.REPRIEVES` times a
        step."""
        if self._reprieves.get(author, 0) < limits.REPRIEVES:
            self._reprieves[author] = self._reprieves.get(author, 0) + 1
            self.charge(author, now)  # otherwise cutting one's own link again and again would pay
            begun = now
            if self._is_choice:  # do not grant the time to choose twice, only time for the answer to arrive
                rest = self._patience.human - self._patience.automatic
                begun = max(self._since.get(author, self.opened), now - rest)
            self._since[author] = begun

    def begin_anew(self, authors: Iterable[int], now: float) -> None:
        """Restart patience with these authors, as this machine slept or too few players were linked to continue."""
        self._is_charging = False
        for author in authors:
            self._since[author] = now

    def extend(self, seconds: float, missing: Collection[int], out: Collection[int], now: float) -> None:
        """Wait longer for all players missing in the open step: from the end of patience on, or from now if it is over.

        None of the open step's delay is then charged.
        """
        due = self.due(missing, out)
        self._extra += seconds + (max(0.0, now - due) if due < math.inf else 0.0)
        self._is_charging = False

    @property
    def round_seconds(self) -> float:
        """The length of a voting round in seconds."""
        return float(self._patience.automatic)

    def standing(self, number: int) -> float:
        """Return for how many seconds the ballot must have proposed this round's CLOSE without a value before this node
        signs it.

        The time grows with the round, as Tendermint's timeouts do. All votes of past rounds are kept, and a match can
        stand still for days if no decision is possible without a player who is away.
        """
        return self.round_seconds * (1 + number // limits.ROUNDS_OF_A_LENGTH)

    def due(self, missing: Collection[int], out: Collection[int]) -> float:
        """Return when patience with all missing players is over; infinity for never.

        :param out: players who are out of the game. They get only the grace: they lose nothing if the others go on.
        """
        return sum(self._longest(missing, out))

    def allowed(self, missing: Collection[int], out: Collection[int]) -> float:
        """Return the total seconds given to the missing player with whom patience ends last."""
        return self._longest(missing, out)[1]

    def _longest(self, missing: Collection[int], out: Collection[int]) -> tuple[float, float]:
        """Return the start and the length of the wait that ends last."""
        waits = ((self._since.get(author, self.opened), self._allowance(author, out)) for author in missing)
        return max(waits, key=sum)

    def _allowance(self, author: int, out: Collection[int]) -> float:
        if author in self._hurried:
            return limits.RELAY
        if author in self.unhurried:
            return math.inf
        if self._is_choice:
            return self._extra + self._patience.human
        if author in out:
            return self._extra + limits.GRACE
        bank = limits.GRACE + self._banks.get(author, self._bank)
        return self._extra + min(float(self._patience.automatic), bank)


class Voter:
    """Decides when a player signs the votes that the ballot proposes, and what is sent and stored beforehand.

    :param emit: receives the effects that send messages to others.
    """

    def __init__(self, replica: Replica, timeouts: Timeouts, emit: Callable[[Effect], None]) -> None:
        self._replica = replica
        self._timeouts = timeouts
        self._emit = emit
        self._close: tuple[Vote, float] | None = None
        """The CLOSE that must stay proposed for half a second, and when its grounds were sent."""
        self._nil: tuple[bytes, int, float] | None = None
        """The root and number of the voting round that may end without a decision, and when it began."""
        self.wake = math.inf
        """When to ask again, if nothing happens before."""

    def begin_anew(self, now: float) -> None:
        """Restart the time of the current voting round, because this machine slept or no majority was linked."""
        if self._nil is not None:
            self._nil = (*self._nil[:2], now)
        if self._close is not None:
            self._close = self._close[0], now

    def vote(self, now: float, has_quorum: Callable[[], bool]) -> Vote | None:
        """Return the vote that this player should sign now, if any, after sending and storing its grounds.

        :param has_quorum: returns whether more than half of the base are linked. Only then can patience be over, and a
            voting round end without a decision.
        """
        ballot = self._replica.ballot
        self.wake = math.inf
        if self._replica.is_calm and now < self._timeouts.earliest:
            return None
        over, is_quorate = set(), has_quorum()
        for author in ballot.missing if is_quorate else ():
            due = self._timeouts.due((author,), ballot.line[-1].out)
            if self._wait_until(due, now):
                over.add(author)
        vote = ballot.absent_vote(over)
        if vote is not None:
            self._show(vote)
            return vote
        return self._ripe_close(now) or (self._ripe_nil(now) if is_quorate else None)

    def _ripe_close(self, now: float) -> Vote | None:
        """Return the CLOSE once others have had time to see the majority, and to prove it if a player voted twice."""
        vote = self._replica.ballot.close_vote
        if vote is None:
            self._close = None
            return None
        if self._close is None or self._close[0] != vote:
            self._close = vote, now
            self._show(vote)
        return vote if self._wait_until(self._close[1] + limits.RELAY, now) else None

    def _ripe_nil(self, now: float) -> Vote | None:
        vote = self._replica.ballot.nil_vote
        if vote is None:
            return None
        if self._nil is None or self._nil[:2] != (vote.root_tip, vote.round):
            self._nil = vote.root_tip, vote.round, now
        return vote if self._wait_until(self._nil[2] + self._timeouts.standing(vote.round), now) else None

    def _wait_until(self, due: float, now: float) -> bool:
        """Return whether a time has come; if not, ask again then."""
        if now < due:
            self.wake = min(self.wake, due)
        return now >= due

    def _show(self, vote: Vote) -> None:
        grounds = self._replica.ballot.grounds(vote)
        for signed in grounds:
            self._emit(Broadcast(Carried(*signed.wire)))
        self._replica.store_votes(grounds)


class Waiting:
    """Everything that one node waits for in one match.

    :param me: this node's roster index; None for a spectator.
    :param party: a person and the programs that they have seated. If nobody else plays, patience with the person is
        unlimited.
    :param is_restarted: whether this node was in the match before. If so, it signs nothing until the others have shown
        what they hold, because messages that it sent and then lost come back from nodes that have them. A majority may
        not suffice: perhaps only one player received a lost message.
    :param emit: receives the effects.
    """

    def __init__(
        self,
        replica: Replica,
        info: tuple[PlayerInfo, ...],
        me: int | None,
        party: Party | None,
        is_restarted: bool,
        emit: Callable[[Effect], None],
    ) -> None:
        genesis = replica.history.genesis
        self.linked: set[int] = set()
        self.may_sign = not is_restarted
        """Whether the others have shown what they hold since the restart, or there was no restart."""
        self.is_over = False
        """Whether the match waits for nothing more."""
        self.timeouts = Timeouts(genesis.patience, party.waited_for(genesis.roster) if party is not None else ())
        self.voter = Voter(replica, self.timeouts, emit)
        self._replica = replica
        self._history = replica.history
        self._info = info
        self._me = me
        self._emit = emit
        self._alarm = math.inf
        """When this node has requested to be woken; infinity for never."""
        self._ended_at: float | None = None
        # State after a restart, a sleep or a lost network
        self._begun: float | None = None
        """When this node first asked what the others hold."""
        self._heard: set[int] = set()
        """The players who have shown what they hold since the restart."""
        self._was_with_others = is_restarted
        """Whether this node was ever linked with a quorum, so that the match may have continued without it."""
        self._returned = -math.inf
        """When this node was last back among the others."""
        self._away: dict[int, float] = {}
        """The time since which a player has had no link."""
        # What the owner has been shown
        self._missed_since: float | None = None
        """When the first missing player was noticed."""
        self._awaited: tuple[int, ...] = ()
        """The players in the last Suspended, while it holds."""
        self._awaited_at = b""
        """The tip of the step that was open when that Suspended was shown."""
        self._is_cut_off = False
        """Whether too few players were linked to continue, so that nobody's time ran."""
        self._warned_at = b""
        """The tip of the step that the last warning was about."""

    # Links and messages

    def has_quorum(self) -> bool:
        """Return whether more than half of the base are linked, this node included, so that a vote can succeed."""
        position = self._history.position
        return len({self._me, *self.linked}.intersection(position.base)) >= position.majority

    def link(self, author: int, now: float) -> None:
        """Record that the link to a player is up, and restart patience where that is due."""
        had_quorum = self.has_quorum()
        self.linked.add(author)
        self._away.pop(author, None)
        if had_quorum and author in self._history.missing():  # otherwise patience did not run
            self.timeouts.came_back(author, now)
        if not had_quorum and self.has_quorum():
            self.begin_patience_anew(now)  # messages from the others are in transit
        is_formed = self._history.position.step >= FORMED
        self._was_with_others = self._was_with_others or (is_formed and self.has_quorum())

    def unlink(self, author: int, now: float) -> None:
        """Record that the link to a player is down."""
        self.linked.discard(author)
        self._away.setdefault(author, now)

    def ticked(self, now: float) -> None:
        """Record a wake-up that this node requested. It may come slightly early, as clocks are inexact."""
        for author in {*range(self._history.roster_size)} - {self._me, *self.linked}:
            self._away.setdefault(author, now)
        self._alarm = math.inf

    def extend(self, seconds: float, now: float) -> None:
        """Wait longer for the missing players, as the owner wishes, and repeat the warning with the new time."""
        if missing := self._history.missing():
            self.timeouts.extend(seconds, missing, self._history.position.out, now)
            self._warned_at = b""

    # Sleep

    def has_slept(self, now: float) -> bool:
        """Return whether this machine has slept: nothing woke the match at the requested time."""
        return now > self._alarm + limits.OVERSLEPT

    def begin_patience_anew(self, now: float) -> None:
        """Restart all patience of this node. The others' patience with it may have run on."""
        if self._was_with_others:
            self._returned = now
        self.timeouts.begin_anew(range(self._history.roster_size), now)
        self.voter.begin_anew(now)

    def set_alarm(self, due: float, now: float) -> None:
        """Request that the match be woken at ``due``, unless it wakes before.

        Waking too early costs less than setting a new time in every step.
        """
        if due < self._alarm or self._alarm <= now:
            self._alarm = due
            if due < math.inf:
                self._emit(WakeAt(due))

    def is_calm(self, now: float) -> bool:
        """Return whether no timer has been due since the step opened, nobody counts as missing, and the replica is
        calm."""
        is_early = now < min(self._alarm, self.timeouts.earliest)
        return is_early and self._missed_since is None and self._replica.is_calm

    # The open step

    def clock(self, now: float) -> Clock | None:
        """Return the awaited players of a formed match and their remaining time; see
        :meth:`protocol.match.match.Match.clock`."""
        position, missing = self._history.position, self._history.missing()
        # A spectator is not linked with all players, but learns when the match waits.
        is_waiting = bool(self._awaited) if self._me is None else not self.has_quorum()
        if not missing or is_waiting:
            return None
        due = self.timeouts.due(missing, position.out)
        if due == math.inf:
            return None
        allowed = self.timeouts.allowed(missing, position.out)
        remaining = allowed if self.has_slept(now) else due - now
        goes_on = self._replica.ballot.goes_on_without(missing)
        # While this node was away, the others may have waited for its player's choice; it does not know how long. They
        # will wait at least for as long as a program's answer may take.
        is_choice = self._me in missing and stage_of(position) is Stage.CHOOSE
        if is_choice and goes_on and self.timeouts.opened <= self._returned + CAUGHT_UP:
            others = [author for author in missing if author != self._me]
            theirs = self.timeouts.due(others, position.out) if others else 0.0
            remaining = min(remaining, max(self._returned + self.timeouts.round_seconds, theirs) - now)
        awaited = _in_order(self._history, self._info, set(missing))
        return Clock(awaited, min(max(remaining, 0.0), allowed), allowed, goes_on)

    def absence(self, now: float) -> float:
        """Return for how many seconds the other player in a formed match of two has kept this node waiting; see
        :meth:`protocol.match.match.Match.absence`."""
        position, missing = self._history.position, self._history.missing()
        others = [author for author in range(self._history.roster_size) if author != self._me]
        if self._me not in position.live or len(others) != 1:
            return 0.0
        if (since := self._away.get(others[0])) is not None:
            return now - since if now - since >= self.timeouts.round_seconds else 0.0
        due = self.timeouts.due(others, position.out) if others[0] in missing else math.inf
        return self.timeouts.allowed(others, position.out) + now - due if due <= now else 0.0

    # After a restart

    def heard(self, author: int) -> None:
        """Record that a player has shown everything that they hold."""
        self._heard.add(author)

    def unheard(self) -> tuple[int, ...]:
        """Return the players of the base who must still show what they hold before this node signs."""
        if self.may_sign:
            return ()
        return tuple(author for author in self._history.position.base if author not in (self._me, *self._heard))

    def try_to_sign_again(self, now: float) -> bool:
        """Let a restarted node sign if the others have shown enough of what they hold, and return whether they have.

        Enough means all players of the base and all other linked players; or more than half of the base, once patience
        with programs is over.
        """
        self._begun = now if self._begun is None else self._begun
        unheard, position = self.unheard(), self._history.position
        is_majority = len(position.base) - len(unheard) >= position.majority
        is_patient = now < self._begun + self.timeouts.round_seconds
        self.may_sign = (not unheard and self.linked <= self._heard) or (is_majority and not is_patient)
        return self.may_sign

    # Time

    def next_due(self, now: float) -> float:
        """Notify the owner of whatever is due, and return when to check again; infinity for never."""
        due = [math.inf]
        position = self._history.position
        if position.kind is None:
            due.append(self._await_results(now))
        elif position.step >= FORMED:
            due += [self.timeouts.earliest, self.voter.wake, self._tell_of_the_missing(now)]
        if not self.may_sign and self._begun is not None:
            due.append(self._begun + self.timeouts.round_seconds)
        return min(time for time in due if time > now)

    def _await_results(self, now: float) -> float:
        if self.is_over:
            return math.inf
        if self._ended_at is None:
            self._ended_at = now
        unconfirmed = {*self._history.position.players} - {*self._history.results}
        is_linked = not unconfirmed.isdisjoint(self.linked)  # a RESULT may be on its way, after messages before it
        due = self._ended_at + (self.timeouts.round_seconds if is_linked else RESULT_WAIT)
        self.is_over = not unconfirmed or now >= due
        return math.inf if self.is_over else due

    def take_back_the_end(self) -> None:
        """Wait again: the history has changed, so the match may continue."""
        self._ended_at = None
        self.is_over = False

    # What the owner sees while the match stands still. If a player who owes a message is unlinked or a proven cheat,
    # the owner is shown when patience ends; or, if the others are too few to continue, that the match is suspended. The
    # match also counts as suspended while this node, restarted, signs nothing because too few players have shown what
    # they hold. If a linked player takes long to choose, the owner is warned shortly before patience ends; or, if the
    # others are too few to continue, once it has ended.

    def _tell_of_the_missing(self, now: float) -> float:
        """Notify the owner of missing or slow players; return when to check again, infinity for never."""
        position, missing, unheard = self._history.position, self._history.missing(), self.unheard()
        # No message by a proven cheat will be accepted, so the cheat counts as missing.
        cheats = self._replica.proven
        away = {*missing}.difference(self.linked).union(cheats).intersection(position.owed).difference((self._me,))
        gone = tuple(author for author in unheard if author not in self.linked) or tuple(sorted(away))
        if not gone:
            self._missed_since = None
            if self._is_cut_off or (self._awaited and self._awaited_at != position.tip):
                self._continue(missing, now)
            is_slow = bool(missing) and now >= self.timeouts.earliest and self.has_quorum()
            return self._warn_of_the_slow(missing, now) if is_slow else math.inf
        if self._missed_since is None:
            self._missed_since = now
        shown_at = self._missed_since + (RETURNING if unheard else AWAITED_AFTER)
        if now < shown_at:
            return shown_at
        if self.has_quorum() and (unheard or self._can_be_put_out(gone)):
            self._continue(missing, now)
            if not unheard:
                self._warn(gone, now)
        else:
            self._is_cut_off = True
            self._suspend(gone)
        return math.inf

    def _can_be_put_out(self, gone: Collection[int]) -> bool:
        due = self.timeouts.due(gone, self._history.position.out)
        return due < math.inf and self._replica.ballot.goes_on_without(gone)

    def _suspend(self, awaited: tuple[int, ...]) -> None:
        self._awaited_at = self._history.position.tip
        if awaited != self._awaited:
            self._awaited = awaited
            self._show(Suspended(tuple(self._info[author] for author in awaited)))

    def _continue(self, missing: tuple[int, ...], now: float) -> None:
        if self._awaited:
            self._awaited = ()
            self._show(Continued())
        if self._is_cut_off:
            self._is_cut_off = False
            self.timeouts.begin_anew(missing, now)

    def _warn_of_the_slow(self, missing: tuple[int, ...], now: float) -> float:
        due = self.timeouts.due(missing, self._history.position.out)
        if now < due - WARNING:
            return due - WARNING
        if self._replica.ballot.goes_on_without(missing):
            self._continue(missing, now)
            if stage_of(self._history.position) is Stage.CHOOSE:
                self._warn(missing, now)
            return math.inf
        if now < due:
            return due
        if slow := tuple(author for author in missing if author != self._me):
            self._suspend(slow)
        else:
            self._continue(missing, now)
        return math.inf

    def _warn(self, awaited: tuple[int, ...], now: float) -> None:
        tip = self._history.position.tip
        seconds = self.timeouts.due(awaited, self._history.position.out) - now
        if self._warned_at != tip and seconds > 0:
            self._warned_at = tip
            self._show(Overdue(tuple(self._info[author] for author in awaited), math.ceil(seconds)))

    def _show(self, event: NodeEvent) -> None:
        self._emit(Show(event))
