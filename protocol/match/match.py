"""A match on one node: its replica, its seat, and what it owes, asks, tells and waits for. Sans-I/O.

The owner feeds inputs to :meth:`Match.handle` and carries out the effects it returns, in their order. Clock, keys,
randomness and storage come from outside, so the same class runs under asyncio, in the simulator and, without a seat, as
a spectator.

Messages that a program makes by itself (commitments, locks, reveals, openings, results, votes) are sent as soon as
they are owed; only moves and stakes wait for the owner. A restarted node signs nothing before the others have shown
what they hold (:mod:`protocol.match.restart`), so it never contradicts a message that it sent before and then lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from p2pdice.state import plain
from protocol import limits
from protocol.consensus.ballot import is_possible
from protocol.consensus.branches import Outcome
from protocol.consensus.kinds import parse_signed, stage_of
from protocol.consensus.position import FORMED, Position, Stage
from protocol.consensus.replica import Learned, Proven, Replace, Replica, Rewound
from protocol.consensus.rule import RejectedMessageError
from protocol.crypto.keys import fingerprint
from protocol.events import ConcedeAccepted, Diverged, PlayerInfo
from protocol.limits import OVERSLEPT
from protocol.match.catch_up import CatchUp
from protocol.match.effects import (
    Accuse,
    Announce,
    Announced,
    Broadcast,
    CalledOff,
    Conceded,
    Effect,
    Extended,
    Linked,
    MatchInput,
    Needed,
    Over,
    Paged,
    Played,
    Received,
    Send,
    Severed,
    Show,
    Ticked,
    Unlinked,
    WakeAt,
    Withdrawn,
)
from protocol.match.event_feed import EventFeed, MatchEvents
from protocol.match.links import Links
from protocol.match.progress import Clock, Progress, in_order, progress
from protocol.match.restart import Restart
from protocol.match.signer import Signer
from protocol.match.stall_notices import StallNotices
from protocol.match.timeouts import Party, Timeouts
from protocol.match.voter import Voter
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Cut, Need, Page
from protocol.wire.messages import VOTES, Kind, MalformedMessageError, Signed

RESULT_WAIT: Final = 3.0
"""Seconds to wait for RESULTs of unlinked players before the end is called unconfirmed."""


CAUGHT_UP: Final = 3.0
"""Seconds after a return within which a step that opens here may have been open for long at the others."""


@dataclass(slots=True)
class _Timers:
    """Starts of this node's waits, by the owner's monotonic clock; None where it does not wait."""

    ended_at: float | None = None
    wished: float = math.inf
    """The time of the last :class:`~protocol.match.effects.WakeAt`; infinity for none."""


class Match:
    """One match on one node.

    :param genesis_data: the proposed or agreed genesis.
    :param me: this node's index in the roster, None for a spectator.
    :param seed: the match seed from which all secrets follow; unused without a seat.
    :param stored: the messages that the store holds, when the match is resumed.
    :param choices: the owner's choices that the store holds, by step: sealed stakes, and the wish to concede.
    :param party: a person and the programs they have seated, if any: a person against nobody else is in no hurry.
    :param host: roster index of the host, who signs last what forms the match, and may withdraw it before; None if that
        is not known.
    :param stake: keeps what this node's purse stakes, coins and run tickets; tells whether it may. Without it
        this node resigns from a match with purses when its stake is due.
    :raises MalformedGenesisError: for a malformed genesis.
    :raises RejectedMessageError: if a stored message or choice does not belong to this match.
    """

    def __init__(
        self,
        genesis_data: bytes,
        me: int | None,
        seed: bytes,
        stored: Iterable[Signed] | None = None,
        choices: Mapping[int, str] | None = None,
        *,
        party: Party | None = None,
        host: int | None = None,
        stake: Callable[[int, int], bool] | None = None,
    ) -> None:
        self.may_commit: Callable[[], bool] = lambda: True
        """Whether this node may sign COMMIT of the first roll: not while it is bound by another proposal, or plays."""
        self.replica = Replica(genesis_data, me)
        self.history = self.replica.history
        self.me = me
        self.info = tuple(
            PlayerInfo(entry.join.nickname, fingerprint(entry.join.identity), is_me=author == me)
            for author, entry in enumerate(self.history.genesis.roster)
        )
        genesis = self.history.genesis
        unhurried = party.waited_for(genesis.roster) if party is not None else ()
        self.is_solo = bool(unhurried)
        """A person plays only against their own programs."""
        self._timeouts = Timeouts(genesis.patience, unhurried)
        self._timers = _Timers()
        self._now = 0.0
        self._effects: list[Effect] = []
        self._emit = self._effects.append
        self._links = Links(self.history, me, self._emit)
        self._catch_up = CatchUp(self.replica)
        self._signer = (
            Signer(self.replica, me, seed, choices or {}, host == me, self._emit, stake) if me is not None else None
        )
        self._host = host
        self._is_told_called_off = self.is_called_off
        """The owner was told, or knows from before."""
        self._voter = Voter(self.replica, self._timeouts, self._emit)
        self._feed = EventFeed(MatchEvents(self.history, self.info, me, self.replica.proven, self._hand_at), self._emit)
        self._stall_notices = StallNotices(self.replica, self._timeouts, self.info, me, self._feed.show)
        self._diverged = False
        self._over = False
        self._calm_tip = b""
        """Tip of the open step, if this node can do nothing in it without more messages."""
        self._restart = Restart(self.history, self._timeouts, me, is_over=stored is None)
        self._was_with_others = stored is not None
        """The match may have gone on when this node was not linked with more than half of the base."""
        self._returned = -math.inf
        """When this node was last back among the others, after a restart, a sleep or a cut."""
        self._away: dict[int, float] = {}
        """Since when a player has had no link."""
        self._is_resuming = stored is not None
        """The owner was not told the state of the match after the restart yet."""
        if stored is not None:
            self.replica.take_stored(stored)
            self._feed.resume()

    # Questions of the owner

    def goes_on_without(self, fingerprints: Collection[str]) -> bool:
        """Tell whether the others are enough to put these players out if they stay away.

        Nobody waits for players who are out by their own message or the others' votes.
        """
        gone = {author for author, player in enumerate(self.info) if player.fingerprint in fingerprints}
        return gone.isdisjoint(self.history.position.live) or is_possible(self.history.position, gone)

    @property
    def id(self) -> bytes:
        """The hash of the genesis."""
        return self.history.match

    @property
    def is_formed(self) -> bool:
        """Everybody has signed the genesis, and COMMIT of the first roll."""
        return self.history.position.step >= FORMED

    @property
    def is_bound(self) -> bool:
        """This node waits for the match to be formed: it has signed COMMIT of the first roll, and may not sign it
        elsewhere."""
        return self.has_committed and not (self.is_formed or self.is_called_off)

    @property
    def has_committed(self) -> bool:
        """This node has signed COMMIT of the first roll, so the match may be formed without its knowledge."""
        sent = self.history.held.get(self.me) if self.me is not None else None
        return self.is_formed or (sent is not None and sent.message.kind is Kind.COMMIT)

    @property
    def is_called_off(self) -> bool:
        """The match is not formed, and this node will not play it: the host or the owner has withdrawn.

        Should it be formed all the same, this node signs what the others need, and resigns.
        """
        return not self.is_formed and self._signer is not None and self._signer.is_conceding

    @property
    def is_ended(self) -> bool:
        """The game is decided."""
        return self.history.position.kind is None

    @property
    def is_confirmed(self) -> bool:
        """Every player still in the match at its last round has signed the same end."""
        return self.is_ended and {*self.history.position.players} <= {*self.history.results}

    def absence(self, now: float) -> float:
        """Return for how many seconds the other player of a match of two has kept this node waiting: without a link for
        as long as a program's answer may take, or until patience was over. 0 if that is not so, or for more players:
        they vote.
        """
        position, missing = self.history.position, self.history.missing()
        is_ours = self.me in position.live and self.is_formed and not self.is_ended
        others = [author for author in range(self.history.roster_size) if author != self.me]
        if not is_ours or len(others) != 1:
            return 0.0
        if (since := self._away.get(others[0])) is not None:
            return now - since if now - since >= self._timeouts.round_seconds else 0.0
        due = self._timeouts.due(others, position.witnesses) if others[0] in missing else math.inf
        return self._timeouts.allowed(others, position.witnesses) + now - due if due <= now else 0.0

    @property
    def hand(self) -> tuple[int, ...]:
        """This node's dice in the round that is played: faces, ascending."""
        return self._hand_at(self.history.position)

    def _hand_at(self, position: Position) -> tuple[int, ...]:
        return self._signer.hand(position) if self._signer is not None else ()

    @property
    def signer(self) -> Signer:
        """The signer for this node's seat; a spectator has none."""
        assert self._signer is not None
        return self._signer

    def by_seat(self) -> tuple[PlayerInfo, ...]:
        """Return the players in the order of seats, once these are drawn."""
        return tuple(self.info[author] for author in self.history.position.seats)

    @property
    def progress(self) -> Progress:
        """The open step, and its players. Cheap enough to be asked for with every picture."""
        return progress(self.history, self.info)

    def clock(self, now: float) -> Clock | None:
        """Return the awaited players and their remaining time. Cheap enough to be asked for with every picture.

        None if nobody is awaited, if patience has no end (a person plays only against their own programs), and while no
        time runs: before the match is formed, and while so few are linked that nobody could be put out. Patience begins
        again when they are back.

        :param now: by the clock of :meth:`handle`; in a node the time of its event loop.
        """
        position, missing = self.history.position, self.history.missing()
        is_waiting = self.is_formed and not self.is_ended and not self._diverged and bool(missing)
        if not is_waiting or (self.me is not None and not self._links.has_quorum()):
            return None
        due = self._timeouts.due(missing, position.witnesses)
        if due == math.inf:
            return None
        allowed = self._timeouts.allowed(missing, position.witnesses)
        remaining = allowed if self._has_slept(now) else due - now
        if self._may_be_late(missing):
            others = [author for author in missing if author != self.me]
            theirs = self._timeouts.due(others, position.witnesses) if others else 0.0
            remaining = min(remaining, max(self._returned + self._timeouts.round_seconds, theirs) - now)
        awaited = in_order(self.history, self.info, set(missing))
        return Clock(awaited, min(max(remaining, 0.0), allowed), allowed, self.replica.ballot.goes_on_without(missing))

    def _may_be_late(self, missing: Collection[int]) -> bool:
        """Tell whether the others may have waited for this node's choice while it was away: how long, it does not know.
        They still wait for as long as a program's answer may take."""
        is_choice = self.me in missing and stage_of(self.history.position) is Stage.CHOOSE
        was_open = self._timeouts.opened <= self._returned + CAUGHT_UP
        return is_choice and was_open and self.replica.ballot.goes_on_without(missing)

    # Inputs

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        """Take one input at monotonic time ``now`` (seconds) and return its effects.

        :raises StaleMoveError: if a move came too late; nothing has changed.
        :raises RulesError: if the owner's move is illegal; nothing has changed.
        """
        self._now = now
        if self._has_slept(now):
            self._restart_patience()
        match item:
            case Received():
                was_calm = self._is_calm()
                self._take(item.sender, item.signed)
                self.replica.settle()
                if was_calm and self.replica.is_calm and self.history.position.tip == self._calm_tip:
                    self._fetch_news()
                    self._wake_at(self._catch_up.due(now))
                    return self._fetch_effects()
            case Played():
                self.signer.play(item.move, item.token)
            case Needed():
                self._answer(item.sender, item.need)
            case Paged():
                self._take_page(item.sender, item.page)
            case Announced():
                self._catch_up.take(item.sender, item.have, now)
                if self._is_calm() and self._catch_up.due(now) > now:
                    self._wake_at(self._catch_up.due(now))
                    return self._fetch_effects()
            case Severed():
                self._links.severed(item.sender, item.authors)
            case Linked():
                self._link(item.author)
            case Unlinked():
                self._unlink(item.author, item.on_purpose)
            case Extended():
                position, missing = self.history.position, self.history.missing()
                if missing:
                    self._timeouts.extend(item.seconds, missing, position.witnesses, now)
                    self._stall_notices.extended()
            case Withdrawn():
                self.signer.concede()
            case Conceded():
                self.signer.concede()
                told = len(self._effects)
            case Ticked():
                for author in {*range(self.history.roster_size)} - {self.me, *self._links.linked}:
                    self._away.setdefault(author, now)
                self._timers.wished = math.inf  # also if it was a little early, as clocks are
        self._pump()
        if isinstance(item, Conceded):
            # The owner hears this first, but its content is known only after _pump.
            self._effects.insert(told, Show(ConcedeAccepted(self._awaited_to_concede())))
        elif self._is_resuming:
            self._is_resuming = False
            if self._signer is not None and self._signer.is_conceding and (awaited := self._awaited_to_concede()):
                self._feed.show(ConcedeAccepted(awaited))
        return self._fetch_effects()

    def _fetch_effects(self) -> list[Effect]:
        effects = self._effects.copy()
        self._effects.clear()
        return effects

    def _is_calm(self) -> bool:
        """Tell whether one more message for the open step changes nothing, unless it is the last one.

        That holds if no timer was due since the step was opened, nobody is missing or a proven cheat, nobody has voted
        on it, and no message is here that belongs elsewhere.
        """
        return (
            self._calm_tip == self.history.position.tip
            and self._now < min(self._timers.wished, self._timeouts.earliest)
            and self.replica.is_calm
            and not self._stall_notices.misses_somebody
        )

    def _awaited_to_concede(self) -> tuple[PlayerInfo, ...]:
        """Return the players whose messages must come before this node can resign: it does so where it owes one."""
        assert self.me is not None
        sent = self.history.held.get(self.me)
        has_resigned = sent is not None and sent.message.kind is Kind.RESIGN
        position = self.history.position
        if has_resigned or self.me in (*position.left, *position.witnesses) or self.is_ended:
            return ()
        authors = self._restart.unheard() or (author for author in self.history.missing() if author != self.me)
        return tuple(self.info[author] for author in authors)

    @property
    def cut(self) -> Cut | None:
        """The frame that tells whom this node cannot reach; None if it reaches everybody."""
        return self._links.cut

    @property
    def unheard(self) -> tuple[PlayerInfo, ...]:
        """After a restart, the players who must still show what they hold before this node signs anything."""
        return tuple(self.info[author] for author in self._restart.unheard())

    def _has_slept(self, now: float) -> bool:
        """Tell whether this machine has slept: nothing woke the match at the time it had asked for."""
        return now > self._timers.wished + OVERSLEPT

    def _restart_patience(self) -> None:
        """Start all patience again; the others' with this node may have gone on."""
        if self._was_with_others:
            self._returned = self._now
        self._timeouts.restart(range(self.history.roster_size), self._now)
        self._voter.restart(self._now)

    def _link(self, author: int) -> None:
        had_quorum = self._links.has_quorum()
        self._links.linked.add(author)
        self._away.pop(author, None)
        if had_quorum and author in self.history.missing():  # else nobody waited for what comes with this link
            self._timeouts.came_back(author, self._now)
        if not had_quorum and self._links.has_quorum():
            self._restart_patience()  # messages of the others are on their way
        self._was_with_others = self._was_with_others or (self.is_formed and self._links.has_quorum())
        self._feed.back(author)
        self._catch_up.linked(author, self._now)
        if self.me is not None:
            self._emit(Send(author, self._catch_up.have()))
        if self.me is None or not self._restart.is_over:  # they may hold anything that is new here
            self._catch_up.ask(author, self._now)
        self._links.tell_cut(author)

    def _unlink(self, author: int, on_purpose: bool) -> None:
        self._links.lost(author)
        self._away.setdefault(author, self._now)
        self._catch_up.lost(author)
        if self.is_formed and (on_purpose or not self.is_ended):  # a link lost after the end matters to nobody
            self._feed.lost(author, on_purpose, self._now)
        self._links.tell_cut()

    # Messages from others

    def _take(self, sender: int, signed: Signed) -> Outcome | None:
        """Take a message; return the outcome, None if it was refused."""
        position = self.history.position
        try:
            outcome = self.replica.take(signed)
        except RejectedMessageError as error:
            self._feed.complain(sender, f"a message from {self.info[sender].name} was refused: {error}")
            return None
        if outcome is Outcome.ADDED and signed.message.tip == position.tip and signed.message.author in position.owed:
            self._timeouts.arrived(signed.message.author, self._now)
        return outcome

    def _fetch_news(self) -> None:
        news, self.replica.news = self.replica.news, []
        if news:
            self._catch_up.changed(self._now)
        for item in news:
            match item:
                case Learned(signed):
                    self._emit(item)
                    self._links.pass_on(signed, self._now)
                case Replace():
                    self._emit(item)
                case Rewound():
                    self._take_back(item.since)
                case Proven():
                    self._accuse(item)

    def _take_back(self, since: int) -> None:
        if self._signer is not None:
            self._signer.ask_again()
        if self._feed.take_back(since):
            self._timers.ended_at = None
            self._over = False

    def _accuse(self, proven: Proven) -> None:
        error = proven.misconduct
        self._emit(Accuse(error.author, error.step, str(error), proven.proof))
        for signed in error.evidence:
            self._emit(Broadcast(Carried(signed.data, signed.signature)))

    # Catching up

    def _answer(self, sender: int, need: Need) -> None:
        page = self._catch_up.answer(sender, need, self._now)
        if page is not None:
            self._emit(Send(sender, page))

    def _take_page(self, sender: int, page: Page) -> None:
        need = self._catch_up.accept(sender)
        if need is None:
            return
        messages: list[Signed] = []
        for data, signature in page.messages:
            try:
                messages.append(parse_signed(data, signature))
            except MalformedMessageError as error:
                self._feed.complain(sender, f"an answer from {self.info[sender].name} was unreadable: {error}")
                self._catch_up.give_up(sender)
                return
        waste = 1.0  # a page costs something by itself
        is_one_of_several = bool(need.cursor or page.cursor)
        again = []
        for signed in messages:
            outcome = self._take(sender, signed)
            self.replica.settle()
            if outcome is Outcome.SURPLUS:
                again.append(signed)  # what shows that it is wanted may come behind it
            if outcome is not Outcome.ADDED or signed.message.kind in VOTES:  # there can be any number of votes
                is_cheap = outcome is Outcome.DUPLICATE and not is_one_of_several
                waste += limits.WASTE_KNOWN if is_cheap else 1
        for signed in again:
            self._take(sender, signed)
        if self._catch_up.go_on(sender, page, waste):
            self._restart.heard(sender)

    def _compare_notes(self, wake: list[float]) -> None:
        """Tell the others what this node holds, and ask peers that hold more."""
        due = self._catch_up.due(self._now)
        if due <= self._now:
            have = self._catch_up.tell(self._now)
            if have is not None and self.me is not None:
                self._emit(Announce(have))
            for author, need in self._catch_up.questions(self._now):
                self._emit(Send(author, need))
            due = self._catch_up.due(self._now)
        wake.append(due)

    # Owed messages

    def _check_withdrawal(self) -> None:
        """Give the match up if the host has withdrawn it; tell the owner that it is called off."""
        if self._signer is not None and not self.is_formed:
            if self._host in self.history.withdrawals:
                self._signer.concede()
            if self.is_called_off and not self._is_told_called_off:
                self._is_told_called_off = True
                self._emit(CalledOff())

    def _check_divergence(self) -> None:
        if self.is_formed and not self._diverged and self.replica.is_diverged:
            self._diverged = True
            position = self.history.position
            self._feed.show(Diverged(position.step, repr(None if position.state is None else plain(position.state))))

    def _pump(self) -> None:
        self._restart.begin(self._now)
        while True:
            self.replica.settle()
            self._fetch_news()
            self._check_withdrawal()
            self._check_divergence()
            if self._feed.bring_up_to_date():
                self._links.tell_cut()  # also players that this node never reached
            position = self.history.position
            is_choice = stage_of(position) is Stage.CHOOSE
            self._timeouts.open_step(position.tip, is_choice, self._now, self.replica.hurried)
            if not self._restart.is_over and self._restart.is_enough(self._links.linked, self._now):
                self._restart.is_over = True
                self._catch_up.ask_nobody()
                continue
            has_quorum = self._links.has_quorum()
            if self._vote(has_quorum):
                continue
            has_signed = self._do_what_is_owed()
            if not has_signed or (
                self.replica.is_calm and self.history.missing() and position is self.history.position
            ):
                break  # what this node has just signed leaves the step open, and nothing else can have changed
        self._check_timers(has_quorum)
        # At the end each RESULT may be the last missing one.
        is_busy = not self.is_formed or self.is_ended or self._diverged or not self._restart.is_over
        self._calm_tip = b"" if is_busy else self.history.position.tip

    def _vote(self, has_quorum: bool) -> bool:
        """Sign the vote that this node owes; tell whether there was one."""
        if self._signer is None or not self._restart.is_over or not self.is_formed or self._diverged:
            return False
        vote = self._voter.vote(self._now, has_quorum)
        if vote is not None:
            self._send(self._signer.sign_vote(vote))
        return vote is not None

    def _do_what_is_owed(self) -> bool:
        """Sign the automatic message that this node owes; tell whether there was one."""
        if self._signer is None or not self._restart.is_over or self._diverged:
            return False
        owed = self._signer.owes(may_commit=self.is_formed or self.may_commit())
        if owed is not None:
            if self._signer.is_host and not self.is_formed and owed.kind != Kind.RESIGN:  # all goes through the host
                for signed in self.history.held.values():
                    self._emit(Broadcast(Carried(*signed.wire)))
            self._sign(*owed)
        return owed is not None

    def _sign(self, kind: int, body: Value) -> None:
        self._send(self.signer.sign(kind, body))

    def _send(self, signed: Signed) -> None:
        outcome = self.replica.take(signed)
        assert outcome is Outcome.ADDED, outcome
        self.replica.settle()
        self._fetch_news()  # stored before it is sent
        self._emit(Broadcast(Carried(signed.data, signed.signature)))

    # Time

    def _check_timers(self, has_quorum: bool) -> None:
        now = self._now
        wake = [self._feed.tell_lost(now)]
        if self.is_ended:
            self._check_end(wake)
        elif self.is_formed:
            wake += [self._timeouts.earliest, self._voter.wake]
            linked = self._links.linked
            wake.append(self._stall_notices.look(now, linked, has_quorum, self._restart.unheard()))
        if not self._restart.is_over:
            wake.append(self._restart.due())
        self._compare_notes(wake)
        self._wake_at(min([time for time in wake if time > now], default=math.inf))

    def _wake_at(self, due: float) -> None:
        """Ask the owner to wake the match. Waking too early costs less than a new time in every step."""
        if due < self._timers.wished or self._timers.wished <= self._now:
            self._timers.wished = due
            if due < math.inf:
                self._emit(WakeAt(due))

    def _check_end(self, wake: list[float]) -> None:
        if self._over:
            return
        if self._timers.ended_at is None:
            self._timers.ended_at = self._now
        unconfirmed = {*self.history.position.players} - {*self.history.results}
        is_linked = not unconfirmed.isdisjoint(self._links.linked)  # it may be on its way, behind what leads to it
        due = self._timers.ended_at + (self._timeouts.round_seconds if is_linked else RESULT_WAIT)
        if not unconfirmed or self._now >= due:
            self._over = True
            self._emit(Over(not unconfirmed))
        else:
            wake.append(due)
