"""A match as one node lives it: the agreement, who I am, my secrets, and what is due now. Sans-I/O.

The owner feeds inputs to :meth:`Match.handle` and carries out the effects it returns, in their order: whatever is to be
persisted is on the disk before the first frame is sent. Clock, keys, randomness and storage come from outside, so the
same class runs under asyncio, in the simulator and, without a seat, as a spectator.

Everything a program decides by itself (commitments, locks, reveals, openings, receipts, votes) is sent as soon as it is
owed; only moves wait for the owner. After a restart nothing is signed before the others have shown what they hold: a
message that was sent before the crash and lost from the store comes back from there and is adopted, never contradicted.
All players of the base, and whoever else is linked, are asked. (A majority might not do: the lost message may have
reached one player only.) Only when patience with the others is over, more than half of the base are enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from p2pdice import plain
from protocol import limits
from protocol.consensus import replica as agreed
from protocol.consensus.absence import leaves_majority
from protocol.consensus.errors import MisconductError, RejectedMessageError
from protocol.consensus.history import Outcome
from protocol.consensus.kinds import parse_signed
from protocol.consensus.position import Position, Purpose
from protocol.consensus.replica import Replica
from protocol.consensus.steps import FORMED
from protocol.consensus.transcript import write_proof
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
    Left,
    Linked,
    MatchInput,
    Needed,
    Over,
    Overheard,
    Paged,
    Persist,
    Played,
    Received,
    Replace,
    Send,
    Severed,
    Show,
    Ticked,
    WakeAt,
    Withdrawn,
)
from protocol.match.event_feed import EventFeed, MatchEvents
from protocol.match.progress import Clock, Progress, in_order, progress
from protocol.match.signer import Signer, Statement
from protocol.match.stall_notices import StallNotices
from protocol.match.timeouts import Party, Timeouts
from protocol.match.voter import Voter
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Cut, Need, Page
from protocol.wire.messages import VOTES, Kind, MalformedMessageError, Signed

RECEIPTS: Final = 3.0
"""Seconds that a finished node waits for the RESULT of whoever is not linked before it calls the end unconfirmed."""
ROUNDS_AT_THE_END: Final = 3
"""Rounds that votes on the last step have at the end: enough to decide it twice, and a liar cannot go on for ever."""


@dataclass(slots=True)
class _Timers:
    """What this node's waiting is counted from, by the owner's monotonic clock; None where it does not wait."""

    ended_at: float | None = None
    resumed_at: float | None = None
    """When this node, restarted, began to ask what it had sent."""
    declined_at: float | None = None
    """When this node saw that somebody has resigned before the match is formed."""
    wished: float = math.inf
    """The time that the owner was last asked to wake the match at; infinity for none."""


class Match:
    """One match on one node.

    :param genesis_data: the proposed or agreed genesis.
    :param me: this node's index in the roster, None for a spectator.
    :param seed: the match seed from which all secrets follow; unused without a seat.
    :param stored: the messages that the store holds, when the match is resumed.
    :param choices: the owner's choices that the store holds, by step: sealed stakes, and the wish to concede.
    :param party: who is here together on this machine, if programs are: a person is in no hurry with nobody else.
    :param convenes: this node hosts the table, so that it signs last what forms the match.
    :raises MalformedGenesisError: for a genesis that is none.
    :raises RejectedMessageError: if what is stored does not belong to this match.
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
        convenes: bool = False,
    ) -> None:
        self.may_commit: Callable[[], bool] = lambda: True
        """Whether this node may sign COMMIT of the first roll: not while it is bound by another proposal of the
        table."""
        self.replica = Replica(genesis_data, me)
        self.record = self.replica.record
        self.me = me
        self.info = tuple(
            PlayerInfo(entry.join.nickname, fingerprint(entry.join.identity), is_me=author == me)
            for author, entry in enumerate(self.record.genesis.roster)
        )
        self._linked: set[int] = set()
        self._cut: dict[int, tuple[int, ...]] = {}
        """Whom a linked peer cannot reach, by peer."""
        self._told_cut: tuple[int, ...] = ()
        """Whom this node last said that it cannot reach."""
        genesis = self.record.genesis
        unhurried = party.waited_for(genesis.roster) if party is not None else ()
        self._timeouts = Timeouts(genesis.patience, unhurried)
        self._timers = _Timers()
        self._now = 0.0
        self._effects: list[Effect] = []
        self._catch_up = CatchUp(self.replica)
        self._signer = Signer(self.replica, me, seed, choices or {}, convenes, self._emit) if me is not None else None
        self._voter = Voter(self.replica, self._timeouts, self._emit)
        self._feed = EventFeed(MatchEvents(self.record, self.info, me, self.replica.proven, self._hand_at), self._emit)
        self._stall_notices = StallNotices(self.replica, self._timeouts, self.info, me, self._feed.show)
        self._is_deciding = False
        """Others cannot go on before a vote on an earlier step is over."""
        self._diverged = False
        self._over = False
        self._calm = b""
        """Tip of the open step, if this node has done all that it can do in it without more messages."""
        self._heard: set[int] | None = None
        """Who has shown what they hold since the restart; None once that is enough."""
        self._is_resuming = stored is not None
        """The owner was not told yet where the match stands after the restart."""
        if stored is not None:
            self._heard = set()
            self.replica.is_silent = True
            self.replica.take_stored(stored)
            self._feed.resume()

    # What the owner may ask

    def goes_on_without(self, fingerprints: Collection[str]) -> bool:
        """Tell whether the others are enough to put these players out if they stay away: more than half of the base,
        and half of those in the game.

        Nobody waits for players who are out by their own message or the others' votes.
        """
        place = self.record.position
        gone = {author for author, player in enumerate(self.info) if player.fingerprint in fingerprints}
        staying = set(place.base) - set(place.left)
        is_majority = len(staying - gone) >= place.majority and 2 * len(set(place.live) - gone) >= len(place.live)
        return gone.isdisjoint(place.live) or is_majority

    @property
    def is_formed(self) -> bool:
        """Everybody has signed the genesis, and COMMIT of the first roll."""
        return self.record.position.step >= FORMED

    @property
    def is_bound(self) -> bool:
        """This node has signed COMMIT of the first roll, so the match may be formed without its knowing."""
        sent = self.record.held.get(self.me) if self.me is not None else None
        return sent is not None and sent.message.kind is Kind.COMMIT and not self.replica.is_called_off

    @property
    def is_ended(self) -> bool:
        """The game is decided."""
        return self.record.position.purpose is Purpose.END

    @property
    def hand(self) -> tuple[int, ...]:
        """This node's dice in the round that is played: faces, ascending."""
        return self._hand_at(self.record.position)

    def _hand_at(self, position: Position) -> tuple[int, ...]:
        return self._signer.hand(position) if self._signer is not None else ()

    @property
    def signer(self) -> Signer:
        """What signs for this node's seat; a spectator has none."""
        assert self._signer is not None
        return self._signer

    def by_seat(self) -> tuple[PlayerInfo, ...]:
        """Return the players in the order of seats, once these are drawn."""
        return tuple(self.info[author] for author in self.record.position.seats)

    @property
    def progress(self) -> Progress:
        """The open step, and who has given what it takes. Cheap enough to be asked for with every picture."""
        return progress(self.record, self.info)

    def clock(self, now: float) -> Clock | None:
        """Return who is waited for and how long still. Cheap enough to be asked for with every picture.

        None where nobody is, where somebody is waited for without end (a person who plays against nobody but their own
        programs), and where nobody's time runs: before the match is formed, and while so few are linked that nobody
        could be put out. Patience begins anew when they are back.

        :param now: by the clock of :meth:`handle`; in a node the time of its event loop.
        """
        position, missing = self.record.position, self.record.missing()
        is_waiting = self.is_formed and not self.is_ended and not self._diverged and bool(missing)
        if not is_waiting or (self.me is not None and not self._has_quorum()):
            return None
        due = self._timeouts.due(missing, position.witnesses)
        if due == math.inf:
            return None
        allowed = self._timeouts.allowed(missing, position.witnesses)
        if position.tip in self.replica.tainted():
            left = 0.0  # nobody has patience with a proven cheat
        elif self._has_slept(now):
            left = allowed
        else:
            left = due - (self._now if self._is_deciding else now)
        place, held = self.record.place(position.step), self.record.held
        without = tuple(held[author].id if author in held else b"" for author in place.owed)
        awaited = in_order(self.record, self.info, set(missing))
        return Clock(awaited, min(max(left, 0.0), allowed), allowed, leaves_majority(place, without))

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    # Inputs

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        """Take one input at monotonic time ``now`` (seconds) and return what is to be done about it.

        :raises StaleMoveError: if a move came too late; nothing has changed.
        :raises RulesError: if the owner's move is illegal; nothing has changed.
        """
        if self._is_deciding:
            self._timeouts.stand_still(self._now, now)
        self._now = now
        if self._has_slept(now):
            self._restart_patience()
        match item:
            case Received():
                was_calm = self._is_calm()
                self._take(item.sender, item.signed)
                if was_calm and self._is_calm() and not self.record.is_complete:
                    self._fetch_news()
                    self._be_woken(self._catch_up.due(now))
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
                    self._be_woken(self._catch_up.due(now))
                    return self._fetch_effects()
            case Severed():
                self._cut[item.sender] = tuple(sorted(set(item.authors)))
            case Linked():
                self._link(item.author)
            case Left():
                self._unlink(item.author, item.on_purpose)
            case Withdrawn():
                self.signer.is_withdrawn = True
            case Conceded():
                self.signer.concede()
                told = len(self._effects)
            case Ticked():
                self._timers.wished = math.inf  # also if it was a little early, as clocks are
        self._pump()
        if isinstance(item, Conceded):
            # Before what comes of it, which is known only now.
            self._effects.insert(told, Show(ConcedeAccepted(self._awaited_to_concede())))
        elif self._is_resuming:
            self._is_resuming = False
            if self._signer is not None and self._signer.is_conceding and (awaited := self._awaited_to_concede()):
                self._feed.show(ConcedeAccepted(awaited))
        return self._fetch_effects()

    def _fetch_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def _is_calm(self) -> bool:
        """Tell whether one more message for the open step changes nothing, unless it is the last one.

        Then nothing is looked at that was looked at when the step was opened: no timer is due since, nobody is gone,
        proven to cheat or voted on, and nothing is here that belongs elsewhere.
        """
        return (
            self._calm == self.record.position.tip
            and self._now < min(self._timers.wished, self._timeouts.earliest)
            and self.replica.is_calm
            and not self._stall_notices.misses_somebody
        )

    def _awaited_to_concede(self) -> tuple[PlayerInfo, ...]:
        """Return who keeps this node from giving up: it can only do so where it owes a message itself."""
        assert self.me is not None
        sent = self.record.held.get(self.me)
        has_resigned = sent is not None and sent.message.kind is Kind.RESIGN
        position = self.record.position
        if has_resigned or self.me in (*position.left, *position.witnesses) or self.is_ended:
            return ()
        authors = self._unheard() or (author for author in self.record.missing() if author != self.me)
        return tuple(self.info[author] for author in authors)

    @property
    def unheard(self) -> tuple[PlayerInfo, ...]:
        """Who, after a restart, must still show what they hold before this node signs anything."""
        return tuple(self.info[author] for author in self._unheard())

    def _unheard(self) -> tuple[int, ...]:
        """Return who, after a restart, must still show what they hold before this node signs anything."""
        if self._heard is None:
            return ()
        known = {*self._heard, self.me}
        return tuple(author for author in self.record.position.base if author not in known)

    def _has_slept(self, now: float) -> bool:
        """Tell whether this machine did, as nothing woke the match when it had asked for that."""
        return now > self._timers.wished + OVERSLEPT

    def _restart_patience(self) -> None:
        """Blame nobody for the time until now."""
        self._timeouts.restart(range(self.record.players), self._now)
        self._timers.declined_at = None
        self._voter.restart(self._now)

    def _link(self, author: int) -> None:
        had_quorum, had_half = self._has_quorum(), self._reaches_half()
        self._linked.add(author)
        if not had_half:
            self._timers.declined_at = None  # those who are here now have heard of nothing yet
        self._timeouts.came_back(author, self._now)
        if not had_quorum and self._has_quorum():
            self._restart_patience()  # what the others said meanwhile is on its way
        self._feed.back(author)
        self._catch_up.linked(author, self._now)
        if self.me is not None:
            self._emit(Send(author, self._catch_up.have()))
        if self.me is None or self._heard is not None:  # whatever they hold may be news here
            self._catch_up.ask(author, self._now)
        self._tell_cut(author)

    def _unlink(self, author: int, on_purpose: bool) -> None:
        self._linked.discard(author)
        self._catch_up.lost(author)
        self._cut.pop(author, None)
        if self.is_formed and (on_purpose or not self.is_ended):  # who is gone after the end plays no other match
            self._feed.lost(author, on_purpose)
        self._tell_cut()

    def _tell_cut(self, newcomer: int | None = None) -> None:
        """Tell the linked whom this node cannot reach, if that has changed or somebody does not know yet."""
        if self.me is None or not self.is_formed:
            return
        cut = tuple(author for author in range(self.record.players) if author not in (self.me, *self._linked))
        if cut != self._told_cut:
            self._told_cut = cut
            self._emit(Broadcast(Cut(self.record.match, cut)))
        elif newcomer is not None and cut:
            self._emit(Send(newcomer, Cut(self.record.match, cut)))

    # Messages from others

    def _take(self, sender: int, signed: Signed) -> Outcome | None:
        """Take a message; return what became of it, None if it was refused."""
        position = self.record.position
        try:
            outcome = self.replica.take(signed)
        except RejectedMessageError as error:
            self._feed.complain(sender, f"a message from {self.info[sender].name} was refused: {error}")
            return None
        if outcome is Outcome.ADDED and signed.message.author in position.owed:
            self._timeouts.arrived(signed.message.author, self._now)
        return outcome

    def _fetch_news(self) -> None:
        news, self.replica.news = self.replica.news, []
        if news:
            self._catch_up.changed(self._now)
        for item in news:
            match item:
                case agreed.Kept():
                    self._emit(Persist(item.signed))
                    author = item.signed.message.author
                    if author != self.me and author in self.record.declined:
                        self._emit(Broadcast(Carried(*item.signed.wire)))  # who has resigned tells all, or nobody would
                    else:
                        self._pass_on(item.signed)
                case agreed.Heard():
                    self._emit(Overheard(item.signed))
                    self._pass_on(item.signed)
                case agreed.Settled():
                    self._emit(Replace(item.messages))
                case agreed.Proven():
                    self._accuse(item.misconduct, item.is_first)
                case agreed.Replaced():
                    self._emit(Replace(item.messages))
                    self._take_back(item.since)
                case agreed.TakenBack():
                    self._take_back(item.since)

    def _pass_on(self, signed: Signed) -> None:
        """Forward a new message to whoever cannot hear its author."""
        author = signed.message.author
        if author != self.me:
            for peer, cut in sorted(self._cut.items()):
                if author in cut and peer != author:
                    self._emit(Send(peer, Carried(signed.data, signed.signature)))

    def _take_back(self, since: int) -> None:
        if self._signer is not None:
            self._signer.ask_again()
        if self._feed.take_back(since):
            self._timers.ended_at = None
            self._over = False

    def _accuse(self, error: MisconductError, is_first: bool) -> None:
        if is_first:
            proof = write_proof(self.record, error)
            self._emit(Accuse(error.author, error.step, str(error), proof))
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
        waste, is_foreign = 1.0, False  # a page costs something by itself
        is_one_of_several = bool(need.cursor or page.cursor)
        for signed in messages:
            outcome = self._take(sender, signed)
            self.replica.settle()
            is_foreign = is_foreign or outcome is Outcome.FOREIGN
            if outcome is not Outcome.ADDED or signed.message.kind in VOTES:  # of votes there is no end
                is_cheap = outcome is Outcome.DUPLICATE and not is_one_of_several
                waste += limits.WASTE_KNOWN if is_cheap else 1
        if not need.cursor:  # all is shown anew, and may have been decided otherwise since
            self.replica.forget_shown(sender)
        if is_foreign or is_one_of_several or self.replica.is_astray:  # a later page may build on what is known here
            self.replica.follow(sender, messages)
        if self._catch_up.go_on(sender, page, waste) and self._heard is not None:
            self._heard.add(sender)

    def _compare_notes(self, wake: list[float]) -> None:
        """Tell the others what this node holds, and ask those who hold more."""
        if self._catch_up.due(self._now) <= self._now:
            have = self._catch_up.tell(self._now)
            if have is not None and self.me is not None:
                self._emit(Announce(have))
            for author, need in self._catch_up.questions(self._now):
                self._emit(Send(author, need))
        wake.append(self._catch_up.due(self._now))

    def _has_heard_enough(self) -> bool:
        """Tell whether the others have shown enough of what they hold for this node to sign again."""
        assert self._heard is not None
        base = self.record.position.base
        known = {*self._heard, self.me}
        if {*base, *self._linked} <= known:
            return True
        assert self._timers.resumed_at is not None
        is_patience_over = self._now >= self._timers.resumed_at + self._timeouts.round
        return is_patience_over and len(known.intersection(base)) >= self.record.position.majority

    # What is due

    def _mind_divergence(self) -> None:
        if self.is_formed and not self._diverged and self.replica.is_diverged:
            self._diverged = True
            position = self.record.position
            self._feed.show(Diverged(position.step, repr(None if position.state is None else plain(position.state))))

    def _pump(self) -> None:
        if self._heard is not None and self._timers.resumed_at is None:
            self._timers.resumed_at = self._now
        while True:
            self.replica.settle()
            if self._may_take_up() and self.replica.take_up():
                continue
            self._fetch_news()
            self._mind_divergence()
            if self._feed.bring_up_to_date():
                self._tell_cut()  # also whom this node never reached at all
            position = self.record.position
            self._timeouts.open_step(position.tip, position.is_choice, self._now)
            self._is_deciding = self.replica.is_deciding
            if self._heard is not None and self._has_heard_enough():
                self._heard = None
                self.replica.is_silent = False
                self._catch_up.ask_nobody()
                continue
            if not self._vote() and not self._do_what_is_owed():
                break
        self._mind_the_time()
        # At the end each RESULT may be the last one that is waited for.
        is_busy = not self.is_formed or self.is_ended or self._diverged or self._heard is not None
        self._calm = b"" if is_busy else self.record.position.tip

    def _vote(self) -> bool:
        """Sign the votes that this node owes; tell whether there were any."""
        if self._signer is None or self._heard is not None or not self.replica.may_vote or self._diverged:
            return False
        votes = self._voter.votes(self._now, self._has_quorum(), self._is_deciding)
        for vote in votes:
            self._voter.prepare(vote, self._now)
            self._send(self._signer.sign_vote(vote))
        return bool(votes)

    def _has_quorum(self) -> bool:
        """Tell whether more than half of the base are here, so that a vote can come to something."""
        position = self.record.position
        return len({self.me, *self._linked}.intersection(position.base)) >= position.majority

    def _do_what_is_owed(self) -> bool:
        """Sign the automatic message that this node owes; tell whether there was one."""
        if self._signer is None or self._heard is not None or self._diverged:
            return False
        if self.replica.absence.ballots and self.replica.absence.is_reopened(self.replica):
            return False
        owed = self._signer.owes(may_commit=self.is_formed or self.may_commit())
        if isinstance(owed, Statement):
            self._sign(*owed)
        elif owed is not None:
            self._send(owed)
        return owed is not None

    def _may_take_up(self) -> bool:
        """Tell whether this node may go on with a match that somebody has declined.

        In the step that forms the match it must be free to sign COMMIT: else it could be bound by two.
        """
        return self.record.position.step + 1 < FORMED or self.may_commit()

    def _sign(self, kind: Kind, body: Value) -> None:
        self._send(self.signer.sign(kind, body))

    def _send(self, signed: Signed) -> None:
        outcome = self.replica.take(signed)
        assert outcome is Outcome.ADDED, outcome
        self._fetch_news()  # stored before it is sent
        self._emit(Broadcast(Carried(signed.data, signed.signature)))

    # Time

    def _mind_the_time(self) -> None:
        now, timers = self._now, self._timers
        wake: list[float] = []
        if self.is_ended:
            self._mind_the_end(wake)
        elif not self.is_formed:
            self._mind_who_declines(wake)
        if self.replica.may_vote and not self.is_ended:
            has_quorum, is_deciding = self._has_quorum(), self._is_deciding
            if self._voter.is_early(now):
                wake.append(self._timeouts.earliest)
            elif self.me is not None:
                wake += [due for _, due in self._voter.rounds_due(now, has_quorum, is_deciding)]
            wake.append(self._stall_notices.look(now, self._linked, has_quorum, is_deciding, self._unheard()))
        wake += self._voter.times()
        if self._heard is not None and timers.resumed_at is not None:
            wake.append(timers.resumed_at + self._timeouts.round)
        self._compare_notes(wake)
        self._be_woken(min((time for time in wake if time > now), default=math.inf))

    def _be_woken(self, due: float) -> None:
        """Ask the owner for that. Too early costs little, and less than to be woken at another time in every step."""
        if due < self._timers.wished or self._timers.wished <= self._now:
            self._timers.wished = due
            if due < math.inf:
                self._emit(WakeAt(due))

    def _mind_who_declines(self, wake: list[float]) -> None:
        """Call the match off when somebody has resigned, after time for all to hear of it, and for whoever has gone on
        before to show that."""
        timers = self._timers
        if not self.record.declined:
            timers.declined_at = None
        elif not self.replica.is_called_off:
            if timers.declined_at is None:
                timers.declined_at = self._now
            due = timers.declined_at + (limits.WITHDRAWAL if self._reaches_half() else self._timeouts.round)
            if self._now >= due:
                self.replica.is_called_off = True
                self._emit(CalledOff(self.record.declined))
            else:
                wake.append(due)

    def _reaches_half(self) -> bool:
        """Tell whether this node, whoever it is linked with and whoever has resigned are half of the genesis or more.

        Then those who may not have heard that somebody has resigned are no majority.
        """
        reached = {*self._linked, *self.record.declined} | ({self.me} if self.me is not None else set())
        return 2 * len(reached) >= self.record.players

    def _mind_the_end(self, wake: list[float]) -> None:
        if self._over:
            return
        if self._timers.ended_at is None:
            self._timers.ended_at = self._now
        position = self.record.position
        unconfirmed = {*position.players} - {*self.record.results}
        confirmed = not unconfirmed
        # Who is there and does not confirm may be voting about it.
        due = self._timers.ended_at + (self._timeouts.round if unconfirmed & self._linked else RECEIPTS)
        if self._is_deciding and self._has_quorum():  # the last step may come to stand otherwise
            confirmed, due = False, self._timers.ended_at + ROUNDS_AT_THE_END * self._timeouts.round
        if confirmed or self._now >= due:
            self._over = True
            self._emit(Over(not unconfirmed))
        else:
            wake.append(due)
