"""What one node waits for in a match, for how long, and what its owner is told meanwhile. Sans-I/O.

Theory of operation
-------------------
::

    waits for                        until                                then
    ───────────────────────────────  ───────────────────────────────────  ─────────────────────────────────────────
    messages of the open step        patience (Timeouts)                  it votes to go on, with a quorum linked
    a vote that the ballot gives     its grounds are shown (Voter)        it signs the vote
    players who are away, or slow    a moment; shortly before patience    its owner is told (Suspended, Overdue)
                                     ends
    what others hold, after a        all have shown it; or a quorum has,  it signs again
    restart                          and patience with programs is over
    RESULTs                          unlinked players: 3 s (RESULT_WAIT); the end is called unconfirmed
                                     linked ones: as long as a round of
                                     votes lasts (Timeouts.round_seconds)

:meth:`Waiting.next_due` looks at all of that, and returns when to look again. Time is this machine's own and monotonic;
nothing here is ever signed.
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
from protocol.match.effects import Broadcast, Effect, Show
from protocol.wire.frames import Carried
from protocol.wire.genesis import JoinRecord, Patience

RESULT_WAIT: Final = 3.0
"""Seconds to wait for RESULTs of unlinked players before the end is called unconfirmed."""
CAUGHT_UP: Final = 3.0
"""Seconds after a return within which a step that opens here may have been open for long at the others."""
AWAITED_AFTER: Final = 1.0
"""Seconds that a player who owes a message may be unlinked before that is shown."""
RETURNING: Final = 3.0
"""The same where this node was restarted: links take a moment to come up, and others may be starting too."""
WARNING: Final = 30.0
"""Seconds before the end of patience at which linked but slow players are shown."""


class Party(NamedTuple):
    """A person and the programs that they have seated, by identity keys: known to their nodes and to nobody else."""

    person: bytes
    programs: frozenset[bytes] = frozenset()

    def waited_for(self, roster: Sequence[JoinRecord]) -> frozenset[int]:
        """Return the authors with endless patience: the person, if all others are their programs."""
        identities = [record.join.identity for record in roster]
        if not {self.person, *self.programs}.issuperset(identities):
            return frozenset()
        return frozenset(author for author, identity in enumerate(identities) if identity == self.person)


# What screens draw. No event tells it, as it changes with every message and with the clock.


@dataclass(frozen=True, slots=True)
class Progress:
    """The open step of a match."""

    step: int
    """Its number, which is also the number of closed steps, all verified by this node."""
    purpose: Purpose
    """Forming the match, drawing the seats, a deal, a turn, a showdown …"""
    stage: Stage
    given: tuple[PlayerInfo, ...]
    """Players whose message is here, in the order of seats; before seats are drawn, of the roster."""
    awaited: tuple[PlayerInfo, ...]
    """Players whose message is missing, in the same order."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How long this node will still wait for the players who hold up the open step, by its own clock.

    Clocks of different nodes differ by as long as messages take. A player's node that is back after a restart, a sleep
    or a cut does not know how long the others have waited: if it is the one to choose, it shows only the time that they
    still wait at least; with others the time starts anew. An owner may wait longer than others, or without end; a
    spectator does not know that, and its clock then means nothing.
    """

    awaited: tuple[PlayerInfo, ...]
    """The players that the match waits for, oneself included, in the order of :class:`Progress`."""
    seconds: float
    """The remaining time; 0 when patience is over and the others may vote. It can grow: patience starts again when a
    player comes back, and stands still during a vote on an earlier step."""
    allowed: float
    """The whole time of the player with the most remaining."""
    goes_on: bool
    """At 0 the others are enough to go on without them. Otherwise, as at a table of two, the match waits."""


def progress(history: History, info: tuple[PlayerInfo, ...]) -> Progress:
    """Return where a history stands.

    :param info: the players by roster index.
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
    """Return some players in the order of seats, or of the roster as long as these are not drawn."""
    order = history.position.seats or range(history.roster_size)
    return tuple(info[author] for author in order if author in authors)


class Timeouts:
    """The patience of one node with the players who owe it messages of the open step, before it votes to go on.

    The genesis says how long a person may take to choose and how long a program may take to answer. Programs answer in
    milliseconds: time beyond :data:`~protocol.limits.GRACE` is charged to an account of :data:`~protocol.limits.BANK`
    patiences for the match. A player whose account is empty gets no more than the grace. So stalling a little in every
    step buys little.

    Patience begins anew when the step changes, when a link comes back (a few times in a step: reconnecting is no way to
    stall either), when enough are linked again to go on, and when this machine has slept. With those who are proven to
    have broken the rules, or for whom the others have just not waited, it lasts half a second.

    Patience has no end with a person who plays only against their own programs (:class:`Party`): nobody is kept
    waiting. The waiting nodes decide this for themselves; the genesis does not say it. And a node's owner may wait
    longer in the open step (:meth:`extend`).

    :param patience: of the genesis.
    :param unhurried: authors with endless patience.
    """

    def __init__(self, patience: Patience, unhurried: Collection[int] = ()) -> None:
        self._patience = patience
        self.unhurried = unhurried
        self.opened = 0.0
        """When the open step was opened."""
        self._tip = b""
        self._is_choice = False
        self._since: dict[int, float] = {}
        self._reprieves: dict[int, int] = {}
        self._bank = float(limits.BANK * patience.automatic)
        self._banks: dict[int, float] = {}
        """The rest of each account, by author."""
        self._is_charging = True
        self._extra = 0.0
        """Seconds that the owner waits longer in the open step."""
        self._hurried: frozenset[int] = frozenset()
        """Authors who get no patience."""

    def open_step(self, tip: bytes, is_choice: bool, now: float, hurried: Collection[int] = ()) -> None:
        """Start to wait for the messages of a step, unless this is already the open one.

        :param is_choice: a person has to choose, so patience is long.
        :param hurried: authors with whom it lasts only as long as others need to show their messages.
        """
        for author in self._hurried.symmetric_difference(hurried):
            self._since[author] = now
        self._hurried = frozenset(hurried)
        if tip != self._tip:
            self._tip, self._is_choice, self.opened, self._is_charging = tip, is_choice, now, True
            self._extra = 0.0
            self._since.clear()
            self._reprieves.clear()

    def charge(self, author: int, now: float) -> None:
        """Charge the delay of an author, whose message of the open step, or link, is here now."""
        if self._is_charging and not self._is_choice:
            late = now - self._since.get(author, self.opened) - limits.GRACE
            if late > 0:
                self._banks[author] = max(0.0, self._banks.get(author, self._bank) - late)

    def came_back(self, author: int, now: float) -> None:
        """The link to an author is up again."""
        if self._reprieves.get(author, 0) < limits.REPRIEVES:
            self._reprieves[author] = self._reprieves.get(author, 0) + 1
            self.charge(author, now)  # else it would pay to cut one's own link again and again
            begun = now
            if self._is_choice:  # time to choose is not given twice, only time for the answer to arrive
                rest = self._patience.human - self._patience.automatic
                begun = max(self._since.get(author, self.opened), now - rest)
            self._since[author] = begun

    def begin_anew(self, authors: Iterable[int], now: float) -> None:
        """Wait for all anew: this machine slept, or no majority was there to go on with."""
        self._is_charging = False
        for author in authors:
            self._since[author] = now

    def extend(self, seconds: float, missing: Collection[int], witnesses: Collection[int], now: float) -> None:
        """Wait longer for all who are missing in the open step: from the end of patience on, or from now if it is over.

        Nothing of that is charged.
        """
        due = self.due(missing, witnesses)
        self._extra += seconds + (max(0.0, now - due) if due < math.inf else 0.0)
        self._is_charging = False

    @property
    def earliest(self) -> float:
        """When patience with anybody can be over at the earliest."""
        return self.opened + (limits.RELAY if self._hurried else limits.GRACE)

    @property
    def round_seconds(self) -> float:
        """Seconds that a round of votes lasts."""
        return float(self._patience.automatic)

    def due(self, missing: Collection[int], witnesses: Collection[int]) -> float:
        """Return when the patience with all missing players is over; infinity if it never is.

        :param witnesses: players who owe only a signature, and lose nothing if nobody waits for them.
        """
        return sum(self._longest(missing, witnesses))

    def allowed(self, missing: Collection[int], witnesses: Collection[int]) -> float:
        """Return how many seconds in all were given to the missing player with whom patience ends last."""
        return self._longest(missing, witnesses)[1]

    def _longest(self, missing: Collection[int], witnesses: Collection[int]) -> tuple[float, float]:
        """Return the start and the length of the longest wait: the one that ends last."""
        waits = ((self._since.get(author, self.opened), self._allowance(author, witnesses)) for author in missing)
        return max(waits, key=sum)

    def _allowance(self, author: int, witnesses: Collection[int]) -> float:
        if author in self._hurried:
            return limits.RELAY
        if author in self.unhurried:
            return math.inf
        if self._is_choice:
            return self._extra + self._patience.human
        if author in witnesses:
            return self._extra + limits.GRACE
        bank = limits.GRACE + self._banks.get(author, self._bank)
        return self._extra + min(float(self._patience.automatic), bank)


class Voter:
    """When one player votes, and what is shown and stored before. The ballot gives the votes.

    :param emit: takes the messages to show to others.
    """

    def __init__(self, replica: Replica, timeouts: Timeouts, emit: Callable[[Effect], None]) -> None:
        self._replica = replica
        self._timeouts = timeouts
        self._emit = emit
        self._close: tuple[Vote, float] | None = None
        """The CLOSE that waits for its half second, and when its grounds were shown."""
        self._nil: tuple[bytes, int, float] | None = None
        """Root and number of the round that may end without a decision, and since when it lasts."""
        self.wake = math.inf
        """When to ask again, if nothing comes before."""

    def begin_anew(self, now: float) -> None:
        """Begin anew the time of the current round: this machine slept, or no majority was there."""
        if self._nil is not None:
            self._nil = (*self._nil[:2], now)
        if self._close is not None:
            self._close = self._close[0], now

    def vote(self, now: float, has_quorum: bool) -> Vote | None:
        """Return the vote that this player is to sign now, after what it rests on has been shown and stored.

        :param has_quorum: more than half of the base are linked: patience is over only then.
        """
        ballot = self._replica.ballot
        self.wake = math.inf
        if self._replica.is_calm and now < self._timeouts.earliest:
            return None
        over = set()
        for author in ballot.missing if has_quorum else ():
            due = self._timeouts.due((author,), ballot.line[-1].witnesses)
            if self._is_over(due, now):
                over.add(author)
        vote = ballot.absent(over)
        if vote is not None:
            self._show(vote)
            return vote
        return self._ripe_close(now) or self._ripe_nil(now)

    def _ripe_close(self, now: float) -> Vote | None:
        """Return the CLOSE for which all had time to see the majority, and to prove that somebody voted twice."""
        vote = self._replica.ballot.close
        if vote is None:
            self._close = None
            return None
        if self._close is None or self._close[0] != vote:
            self._close = vote, now
            self._show(vote)
        return vote if self._is_over(self._close[1] + limits.RELAY, now) else None

    def _ripe_nil(self, now: float) -> Vote | None:
        vote = self._replica.ballot.nil
        if vote is None:
            return None
        if self._nil is None or self._nil[:2] != (vote.root, vote.round):
            self._nil = vote.root, vote.round, now
        return vote if self._is_over(self._nil[2] + self._timeouts.round_seconds, now) else None

    def _is_over(self, due: float, now: float) -> bool:
        if now < due:
            self.wake = min(self.wake, due)
        return now >= due

    def _show(self, vote: Vote) -> None:
        grounds = self._replica.ballot.grounds(vote)
        for signed in grounds:
            self._emit(Broadcast(Carried(*signed.wire)))
        self._replica.store_votes(grounds)


class Waiting:
    """All that one node waits for in one match.

    :param me: this node's index in the roster, None for a spectator.
    :param party: a person and the programs they have seated, if any: a person against nobody else is in no hurry.
    :param is_restarted: this node was in the match before. It signs nothing until the others have shown what they hold:
        a message that it sent and then lost comes back from those who have it. A majority might not do, as the lost
        message may have reached one player only.
    :param emit: takes the effects.
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
        """The players who are linked."""
        self.may_sign = not is_restarted
        """The others have shown what they hold since the restart; or there was none."""
        self.is_over = False
        """The match waits for nothing more."""
        self.timeouts = Timeouts(genesis.patience, party.waited_for(genesis.roster) if party is not None else ())
        self.voter = Voter(replica, self.timeouts, emit)
        self._replica = replica
        self._history = replica.history
        self._info = info
        self._me = me
        self._emit = emit
        self._alarm = math.inf
        """When this node has asked to be woken; infinity for never."""
        self._ended_at: float | None = None
        # After a restart, a sleep or a cut
        self._begun: float | None = None
        """When this node first asked what the others hold."""
        self._heard: set[int] = set()
        """Players who have shown what they hold since the restart."""
        self._was_with_others = is_restarted
        """This node has been linked with a quorum, so the match may have gone on while it was not."""
        self._returned = -math.inf
        """When this node was last back among the others."""
        self._away: dict[int, float] = {}
        """Since when a player has had no link."""
        # What the owner was told
        self._missed_since: float | None = None
        """When the first missing player was noticed."""
        self._awaited: tuple[int, ...] = ()
        """Players of the last Suspended that still holds."""
        self._awaited_at = b""
        """Tip of the step that was open when that was shown."""
        self._is_cut_off = False
        """Too few were linked to go on, so nobody's time ran."""
        self._warned_at = b""
        """Tip of the step that the last warning was about."""

    # Links and messages

    def has_quorum(self) -> bool:
        """Tell whether more than half of the base are here, so that a vote can come to something."""
        position = self._history.position
        return len({self._me, *self.linked}.intersection(position.base)) >= position.majority

    def link(self, author: int, now: float) -> None:
        """The link to a player is up."""
        had_quorum = self.has_quorum()
        self.linked.add(author)
        self._away.pop(author, None)
        if had_quorum and author in self._history.missing():  # else nobody waited for what comes with this link
            self.timeouts.came_back(author, now)
        if not had_quorum and self.has_quorum():
            self._begin_patience_anew(now)  # messages of the others are on their way
        is_formed = self._history.position.step >= FORMED
        self._was_with_others = self._was_with_others or (is_formed and self.has_quorum())

    def unlink(self, author: int, now: float) -> None:
        """The link to a player is down."""
        self.linked.discard(author)
        self._away.setdefault(author, now)

    def ticked(self, now: float) -> None:
        """The time has come for which this node had asked; perhaps a little early, as clocks are."""
        for author in {*range(self._history.roster_size)} - {self._me, *self.linked}:
            self._away.setdefault(author, now)
        self._alarm = math.inf

    def extend(self, seconds: float, now: float) -> None:
        """The owner waits longer: who can be put out is told again with the new time. The match still waits."""
        if missing := self._history.missing():
            self.timeouts.extend(seconds, missing, self._history.position.witnesses, now)
            self._warned_at = b""

    # Sleep

    def has_slept(self, now: float) -> bool:
        """Tell whether this machine has slept: nothing woke the match at the time it had asked for."""
        return now > self._alarm + limits.OVERSLEPT

    def notice_sleep(self, now: float) -> None:
        """Start all patience again if this machine has slept; the others' with this node may have gone on."""
        if self.has_slept(now):
            self._begin_patience_anew(now)

    def _begin_patience_anew(self, now: float) -> None:
        if self._was_with_others:
            self._returned = now
        self.timeouts.begin_anew(range(self._history.roster_size), now)
        self.voter.begin_anew(now)

    def set_alarm(self, due: float, now: float) -> bool:
        """Set when the match is to be woken, unless it will be woken before; tell whether its owner has to be asked.

        Waking too early costs less than a new time in every step.
        """
        if due < self._alarm or self._alarm <= now:
            self._alarm = due
            return due < math.inf
        return False

    def nothing_was_due(self, now: float) -> bool:
        """Tell whether no timer was due since the open step was opened, and nobody is missed."""
        return now < min(self._alarm, self.timeouts.earliest) and self._missed_since is None

    # The open step

    def open_step(self, now: float) -> None:
        """Wait for the messages of the open step."""
        position = self._history.position
        is_choice = stage_of(position) is Stage.CHOOSE
        self.timeouts.open_step(position.tip, is_choice, now, self._replica.hurried)

    def clock(self, now: float) -> Clock | None:
        """Return the awaited players of a formed match and their remaining time; see
        :meth:`protocol.match.match.Match.clock`."""
        position, missing = self._history.position, self._history.missing()
        # A spectator is not linked with all, but learns that the match waits.
        is_waiting = bool(self._awaited) if self._me is None else not self.has_quorum()
        if not missing or is_waiting:
            return None
        due = self.timeouts.due(missing, position.witnesses)
        if due == math.inf:
            return None
        allowed = self.timeouts.allowed(missing, position.witnesses)
        remaining = allowed if self.has_slept(now) else due - now
        goes_on = self._replica.ballot.goes_on_without(missing)
        # The others may have waited for this node's choice while it was away: how long, it does not know. They still
        # wait for as long as a program's answer may take.
        is_choice = self._me in missing and stage_of(position) is Stage.CHOOSE
        if is_choice and goes_on and self.timeouts.opened <= self._returned + CAUGHT_UP:
            others = [author for author in missing if author != self._me]
            theirs = self.timeouts.due(others, position.witnesses) if others else 0.0
            remaining = min(remaining, max(self._returned + self.timeouts.round_seconds, theirs) - now)
        awaited = _in_order(self._history, self._info, set(missing))
        return Clock(awaited, min(max(remaining, 0.0), allowed), allowed, goes_on)

    def absence(self, now: float) -> float:
        """Return for how many seconds the other player of a formed match of two has kept this node waiting; see
        :meth:`protocol.match.match.Match.absence`."""
        position, missing = self._history.position, self._history.missing()
        others = [author for author in range(self._history.roster_size) if author != self._me]
        if self._me not in position.live or len(others) != 1:
            return 0.0
        if (since := self._away.get(others[0])) is not None:
            return now - since if now - since >= self.timeouts.round_seconds else 0.0
        due = self.timeouts.due(others, position.witnesses) if others[0] in missing else math.inf
        return self.timeouts.allowed(others, position.witnesses) + now - due if due <= now else 0.0

    # After a restart

    def heard(self, author: int) -> None:
        """A player has shown everything."""
        self._heard.add(author)

    def unheard(self) -> tuple[int, ...]:
        """Return the players of the base who must still show what they hold before this node signs."""
        if self.may_sign:
            return ()
        return tuple(author for author in self._history.position.base if author not in (self._me, *self._heard))

    def try_to_sign_again(self, now: float) -> bool:
        """Let this node sign again once the others have shown enough of what they hold; tell, once, that they have.

        Enough are all players of the base and all others who are linked; or more than half of the base, when patience
        with programs is over.
        """
        self._begun = now if self._begun is None else self._begun
        if self.may_sign:
            return False
        unheard, position = self.unheard(), self._history.position
        is_majority = len(position.base) - len(unheard) >= position.majority
        is_patient = now < self._begun + self.timeouts.round_seconds
        self.may_sign = (not unheard and self.linked <= self._heard) or (is_majority and not is_patient)
        return self.may_sign

    # Time

    def next_due(self, now: float) -> float:
        """Tell the owner what is to be told by now, and return when to look again; infinity for never."""
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
        is_linked = not unconfirmed.isdisjoint(self.linked)  # it may be on its way, behind what leads to it
        due = self._ended_at + (self.timeouts.round_seconds if is_linked else RESULT_WAIT)
        self.is_over = not unconfirmed or now >= due
        return math.inf if self.is_over else due

    def take_back_the_end(self) -> None:
        """The history goes on otherwise: the match may go on."""
        self._ended_at = None
        self.is_over = False

    # What the owner is told while the match stands still. If a player who owes a message is not linked, or is a proven
    # cheat, the owner is told when patience ends; or, if the others are too few to go on, that the match is suspended.
    # It is also suspended while this node, restarted, signs nothing because too few players have shown what they hold.
    # If a linked player takes long to choose, the owner is told shortly before patience ends, or, if the others are too
    # few to go on, when it has ended.

    def _tell_of_the_missing(self, now: float) -> float:
        """Tell the owner about missing or slow players; return when to look again."""
        position, missing, unheard = self._history.position, self._history.missing(), self.unheard()
        # A proven cheat cannot give an acceptable message any more than a missing player.
        cheats = self._replica.proven
        away = {*missing}.difference(self.linked).union(cheats).intersection(position.owed).difference((self._me,))
        gone = tuple(author for author in unheard if author not in self.linked) or tuple(sorted(away))
        has_quorum = self.has_quorum()
        if not gone:
            self._missed_since = None
            if self._is_cut_off or self._awaited_at != position.tip:
                self._continue(missing, now)
            return self._warn_of_the_slow(missing, now) if has_quorum else math.inf
        if self._missed_since is None:
            self._missed_since = now
        shown_at = self._missed_since + (RETURNING if unheard else AWAITED_AFTER)
        if now < shown_at:
            return shown_at
        if has_quorum and (unheard or self._can_be_put_out(gone)):
            self._continue(missing, now)
            if not unheard:
                self._warn(gone, now)
        else:
            self._is_cut_off = True
            self._suspend(gone)
        return math.inf

    def _can_be_put_out(self, gone: Collection[int]) -> bool:
        due = self.timeouts.due(gone, self._history.position.witnesses)
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
        if not missing or now < self.timeouts.earliest:
            return math.inf
        due = self.timeouts.due(missing, self._history.position.witnesses)
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
        seconds = self.timeouts.due(awaited, self._history.position.witnesses) - now
        if self._warned_at != tip and seconds > 0:
            self._warned_at = tip
            self._show(Overdue(tuple(self._info[author] for author in awaited), math.ceil(seconds)))

    def _show(self, event: NodeEvent) -> None:
        self._emit(Show(event))
