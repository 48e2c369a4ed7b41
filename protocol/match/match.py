"""A match on one node: it takes inputs, distributes them to its parts, and returns effects. Sans-I/O.

The owner feeds inputs to :meth:`Match.handle` and carries out the effects it returns, in their order. The clock, keys,
randomness and storage come from outside. So the same class runs under asyncio, in the simulator and, without a seat, as
a spectator.

Messages that need no choice by a person (commitments, locks, reveals, openings, results, votes) are sent as soon as
they are owed; only moves and stakes wait for the owner. A restarted node signs nothing before the others have shown
what they hold (:mod:`protocol.match.waiting`), so it never contradicts a message that it sent before and then lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping

from p2pdice.state import plain
from protocol import limits
from protocol.consensus.ballot import is_possible
from protocol.consensus.branches import Outcome
from protocol.consensus.kinds import parse_signed, spell_vote, stage_of
from protocol.consensus.position import FORMED, Position, Stage
from protocol.consensus.replica import Learned, Proven, Replace, Replica, Rewound
from protocol.consensus.rule import RejectedMessageError
from protocol.crypto.keys import fingerprint
from protocol.events import ConcedeAccepted, Diverged, MatchResult, PlayerInfo
from protocol.match.catch_up import CatchUp, Relay
from protocol.match.effects import (
    Accuse,
    Announce,
    Broadcast,
    CalledOff,
    Conceded,
    Effect,
    Extended,
    FrameReceived,
    Linked,
    MatchInput,
    Played,
    Received,
    Send,
    Show,
    Ticked,
    Unlinked,
    Withdrawn,
)
from protocol.match.event_feed import EventFeed, MatchEvents
from protocol.match.signer import Signer
from protocol.match.waiting import Clock, Party, Progress, Waiting, progress
from protocol.wire.canonical import Value
from protocol.wire.frames import Carried, Cut, Have, Need, Page
from protocol.wire.messages import VOTES, Kind, MalformedMessageError, Signed


class Match:
    """One match on one node.

    :param genesis_data: the proposed or agreed genesis.
    :param me: this node's roster index; None for a spectator.
    :param seed: the match seed from which all secrets are derived; unused without a seat.
    :param stored: the stored messages, if the match is resumed.
    :param choices: the owner's stored choices, by step: sealed stakes, and the wish to concede.
    :param party: a person and the programs that they have seated. If nobody else plays, patience with the person is
        unlimited.
    :param host: the host's roster index; None if unknown. The host signs last before the match is formed, and may
        withdraw it until then.
    :param stake: binds a stake (coins, run tickets) in this node's purse, and returns whether the purse allows it.
        Without this function, the node resigns from a match with purses when its stake is due.
    :raises MalformedGenesisError: if the genesis is malformed.
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
        """Returns whether this node may sign the first COMMIT: not while another proposal or match binds it."""
        self.replica = Replica(genesis_data, me)
        self.history = self.replica.history
        self.me = me
        self.info = tuple(
            PlayerInfo(entry.join.nickname, fingerprint(entry.join.identity), is_me=author == me)
            for author, entry in enumerate(self.history.genesis.roster)
        )
        self._now = 0.0
        self._effects: list[Effect] = []
        self._emit = self._effects.append
        self.waiting = Waiting(self.replica, self.info, me, party, stored is not None, self._emit)
        self.relay = Relay(self.history, me, self.waiting.linked, self._emit)
        self.catch_up = CatchUp(self.replica)
        self.signer: Signer
        """The signer for this node's seat. Spectators have none."""
        if me is not None:
            self.signer = Signer(self.replica, me, seed, choices or {}, host == me, self._emit, stake)
        self._host = host
        self._is_told_called_off = False
        """Whether this process has emitted CalledOff. A process may die between storing the choice and acting on it."""
        self._feed = EventFeed(MatchEvents(self.history, self.info, me, self.replica.proven, self._hand_at), self._emit)
        self._diverged = False
        self._calm_tip = b""
        """The tip of the open step, if this node can do nothing in it without more messages."""
        self._is_resuming = stored is not None
        """Whether a concession stored before the restart still has to be reported to the owner."""
        if stored is not None:
            self.replica.take_stored(stored)
            self._feed.resume()

    # Queries by the owner

    @property
    def id(self) -> bytes:
        """The match id: the hash of the genesis."""
        return self.history.match

    @property
    def is_solo(self) -> bool:
        """Whether a person plays only against their own programs."""
        return bool(self.waiting.timeouts.unhurried)

    @property
    def is_formed(self) -> bool:
        """Whether every player has signed the genesis and the COMMIT of the first roll."""
        return self.history.position.step >= FORMED

    @property
    def is_bound(self) -> bool:
        """Whether this node waits for the match to be formed. It has signed the COMMIT of the first roll, and may not
        sign one for another match meanwhile."""
        return self.has_committed and not (self.is_formed or self.is_called_off)

    @property
    def has_committed(self) -> bool:
        """Whether this node has signed the first COMMIT, so that the match may be formed without its knowledge."""
        sent = self.history.held.get(self.me) if self.me is not None else None
        return self.is_formed or (sent is not None and sent.message.kind is Kind.COMMIT)

    @property
    def is_called_off(self) -> bool:
        """Whether the match is not formed and this node will not play it, because the host or the owner has withdrawn.

        If the others form the match nevertheless, this node signs the messages that they need, and resigns.
        """
        return not self.is_formed and self.me is not None and self.signer.is_conceding

    @property
    def is_withdrawn(self) -> bool:
        """Whether the host has withdrawn the match. After that, only a lying host forms it."""
        return self._host in self.history.withdrawals

    @property
    def is_ended(self) -> bool:
        """Whether the LOCK of the ending is closed."""
        return self.history.position.kind is None

    @property
    def is_confirmed(self) -> bool:
        """Whether every player still in the match at its last round has signed the same end."""
        return self.is_ended and {*self.history.position.players} <= {*self.history.results}

    @property
    def cut(self) -> Cut | None:
        """The frame that lists the players whom this node cannot reach; None if it reaches everybody."""
        return self.relay.cut

    @property
    def unheard(self) -> tuple[PlayerInfo, ...]:
        """The players who, after a restart, must still show what they hold before this node signs anything."""
        return tuple(self.info[author] for author in self.waiting.unheard())

    @property
    def hand(self) -> tuple[int, ...]:
        """The faces of this node's dice in the current round, ascending."""
        return self._hand_at(self.history.position)

    def _hand_at(self, position: Position) -> tuple[int, ...]:
        return self.signer.hand(position) if self.me is not None else ()

    def by_seat(self) -> tuple[PlayerInfo, ...]:
        """Return the players in the order of their seats; empty before the seats are drawn."""
        return tuple(self.info[author] for author in self.history.position.seats)

    def goes_on_without(self, fingerprints: Collection[str]) -> bool:
        """Return whether enough players would remain to vote these players absent if they stayed away.

        Also true if none of them is in the game any more: nobody waits for them.
        """
        gone = {author for author, player in enumerate(self.info) if player.fingerprint in fingerprints}
        return gone.isdisjoint(self.history.position.live) or is_possible(self.history.position, gone)

    def absence(self, now: float) -> float:
        """Return for how many seconds the other player in a match of two has kept this node waiting.

        The wait counts once the player has been without a link for as long as a program's answer may take, or once
        patience is over. Before that it is 0, and always in matches of more players: they vote.
        """
        return self.waiting.absence(now) if self.is_formed and not self.is_ended else 0.0

    @property
    def progress(self) -> Progress:
        """The open step and its players. Cheap enough to query for every screen refresh."""
        return progress(self.history, self.info)

    def clock(self, now: float) -> Clock | None:
        """Return the awaited players and their remaining time. Cheap enough to query for every screen refresh.

        Return None if nobody is awaited, if patience is unlimited (a person plays only against their own programs), or
        while no time runs: before the match is formed, and while too few are linked to evict anybody. Patience starts
        again when they are back.

        :param now: the same clock as for :meth:`handle`; in a node, the time of its event loop.
        """
        return self.waiting.clock(now) if self.is_formed and not self.is_ended and not self._diverged else None

    # Inputs

    def handle(self, item: MatchInput, now: float) -> list[Effect]:
        """Take one input at monotonic time ``now`` (seconds) and return its effects.

        :raises StaleMoveError: if a move came too late; nothing has changed.
        :raises RulesError: if the owner's move is illegal; nothing has changed.
        """
        self._now = now
        if self.waiting.has_slept(now):
            self.waiting.begin_patience_anew(now)
        is_done = False
        match item:
            case Received():
                was_calm = self._is_calm()
                self._take(item.sender, item.signed)
                self.replica.settle()
                if was_calm and self.replica.is_calm and self.history.position.tip == self._calm_tip:
                    self._fetch_news()
                    is_done = True
            case FrameReceived(sender, Have() as have):
                self.catch_up.take(sender, have, now)
                is_done = self._is_calm() and self.catch_up.due(now) > now
            case FrameReceived(sender, Need() as need):
                if (page := self.catch_up.answer(sender, need, now)) is not None:
                    self._emit(Send(sender, page))
            case FrameReceived(sender, Page() as page):
                self._take_page(sender, page)
            case FrameReceived(sender, Cut() as cut):
                self.relay.unreached[sender] = tuple(sorted(set(cut.authors)))
            case Played():
                self.signer.play(item.move, item.token)
            case Linked():
                self._link(item.author)
            case Unlinked():
                self._unlink(item.author, item.on_purpose)
            case Extended():
                self.waiting.extend(item.seconds, now)
            case Withdrawn():
                self.signer.concede()
            case Conceded():
                self.signer.concede()
                index = len(self._effects)
            case Ticked():
                self.waiting.ticked(now)
        if is_done:
            self.waiting.set_alarm(self.catch_up.due(now), now)
        else:
            self._pump()
            if isinstance(item, Conceded):
                # The owner must see this event first, but its content is known only after _pump.
                self._effects.insert(index, Show(self._concession()))
            elif self._is_resuming:
                self._is_resuming = False
                if self.me is not None and self.signer.is_conceding and (accepted := self._concession()).awaited:
                    self._feed.show(accepted)
        effects = self._effects.copy()
        self._effects.clear()
        return effects

    def _is_calm(self) -> bool:
        """Return whether another message for the open step only has to be kept, unless it is the last one.

        That is so if no timer has been due since the step opened, no player counts as missing or as a proven cheat,
        nobody has voted, and this node holds no message for another step or history.
        """
        return self._calm_tip == self.history.position.tip and self.waiting.is_calm(self._now)

    def _concession(self) -> ConcedeAccepted:
        """Return the event for the owner who has conceded."""
        assert self.me is not None
        sent = self.history.held.get(self.me)
        has_resigned = sent is not None and sent.message.kind is Kind.RESIGN
        position = self.history.position
        if has_resigned or self.me in (*position.left, *position.out) or self.is_ended:
            return ConcedeAccepted()
        authors = self.waiting.unheard() or (author for author in self.history.missing() if author != self.me)
        awaited = tuple(self.info[author] for author in authors)
        return ConcedeAccepted(awaited, next_round=not self.replica.ballot.may_resign)

    # Links

    def _link(self, author: int) -> None:
        self.waiting.link(author, self._now)
        self._feed.back(author)
        self.catch_up.linked(author, self._now)
        if self.me is not None:
            self._emit(Send(author, self.catch_up.have()))
        if self.me is None or not self.waiting.may_sign:  # they may hold messages that are new here
            self.catch_up.ask(author, self._now)
        self.relay.tell_cut(author)

    def _unlink(self, author: int, on_purpose: bool) -> None:
        self.waiting.unlink(author, self._now)
        self.relay.unreached.pop(author, None)
        self.catch_up.lost(author)
        if on_purpose or not self.is_ended:  # a link lost after the end is irrelevant
            self._feed.lost(author, on_purpose, self._now)
        self.relay.tell_cut()

    # Messages from others

    def _take(self, sender: int, signed: Signed) -> Outcome | None:
        """Take a message and return the outcome; None if it was rejected."""
        position = self.history.position
        try:
            outcome = self.replica.take(signed)
        except RejectedMessageError as error:
            self._feed.complain(sender, f"a message from {self.info[sender].name} was refused: {error}")
            return None
        if outcome is Outcome.ADDED and signed.message.tip == position.tip and signed.message.author in position.owed:
            self.waiting.timeouts.charge(signed.message.author, self._now)
        return outcome

    def _take_page(self, sender: int, page: Page) -> None:
        need = self.catch_up.accept(sender)
        if need is None:
            return
        messages: list[Signed] = []
        for data, signature in page.messages:
            try:
                messages.append(parse_signed(data, signature))
            except MalformedMessageError as error:
                self._feed.complain(sender, f"an answer from {self.info[sender].name} was unreadable: {error}")
                self.catch_up.give_up(sender)
                return
        waste = 1.0  # every page costs something
        is_one_of_several = bool(need.cursor or page.cursor)
        again = []
        for signed in messages:
            outcome = self._take(sender, signed)
            self.replica.settle()
            if outcome is Outcome.SURPLUS:
                again.append(signed)  # a later message may show that it is needed
            if outcome is not Outcome.ADDED or signed.message.kind in VOTES:  # there can be any number of votes
                is_cheap = outcome is Outcome.DUPLICATE and not is_one_of_several
                waste += limits.WASTE_KNOWN if is_cheap else 1
        for signed in again:
            self._take(sender, signed)
        if self.catch_up.go_on(sender, page, waste):
            self.waiting.heard(sender)

    def _fetch_news(self) -> None:
        news, self.replica.news = self.replica.news, []
        if news:
            self.catch_up.changed(self._now)
        for item in news:
            match item:
                case Learned(signed):
                    self._emit(item)
                    self.relay.pass_on(signed, self._now)
                case Replace():
                    self._emit(item)
                case Rewound():
                    if self.me is not None:
                        self.signer.ask_again()
                    if self._feed.take_back(item.since):
                        self.waiting.take_back_the_end()
                case Proven(error, proof):
                    self._emit(Accuse(error.author, error.step, str(error), proof))
                    for signed in error.evidence:
                        self._emit(Broadcast(Carried(*signed.wire)))

    # Owed messages

    def _pump(self) -> None:
        """Settle, vote and sign until nothing is left to do."""
        while True:
            self.replica.settle()
            self._fetch_news()
            position = self.history.position
            is_formed = position.step >= FORMED
            if self.me is not None and not is_formed:
                if self.is_withdrawn:
                    self.signer.concede()
                if self.signer.is_conceding and not self._is_told_called_off:
                    self._is_told_called_off = True
                    self._emit(CalledOff())
            if is_formed and not self._diverged and self.replica.is_diverged:
                self._diverged = True
                state = None if position.state is None else plain(position.state)
                self._feed.show(Diverged(position.step, repr(state)))
            if self._feed.bring_up_to_date():
                self.relay.tell_cut()  # the match has formed: a CUT may now name players that this node never reached
            is_choice = stage_of(position) is Stage.CHOOSE
            self.waiting.timeouts.open_step(position.tip, is_choice, self._now, self.replica.hurried)
            if not self.waiting.may_sign and self.waiting.try_to_sign_again(self._now):
                self.catch_up.ask_nobody()
                continue
            is_signing = self.me is not None and self.waiting.may_sign and not self._diverged
            if is_signing and is_formed and self._vote():
                continue
            has_signed = is_signing and self._do_what_is_owed()
            if not has_signed or (
                self.replica.is_calm and self.history.missing() and position is self.history.position
            ):
                break  # this node's message leaves the step open, and nothing else can have changed
        self._check_timers()
        # After the end, any RESULT may be the last missing one.
        position = self.history.position
        is_open = position.step >= FORMED and position.kind is not None
        self._calm_tip = position.tip if is_open else b""

    def _vote(self) -> bool:
        """Sign and send the vote that this node owes, and return whether there was one."""
        vote = self.waiting.voter.vote(self._now, self.waiting.has_quorum)
        if vote is not None:
            self._send(self.signer.sign(self.history.root, *spell_vote(vote)))
        return vote is not None

    def _do_what_is_owed(self) -> bool:
        """Sign and send the message that this node owes without a choice, and return whether there was one."""
        owed = self.signer.owes(self.may_commit)
        if owed is not None:
            is_forming = self.history.position.step < FORMED
            if is_forming and self.signer.is_host and owed.kind != Kind.RESIGN:  # all goes through the host
                for _, signed in sorted(self.history.held.items()):
                    self._emit(Broadcast(Carried(*signed.wire)))
            self._sign(*owed)
        return owed is not None

    def _sign(self, kind: int, body: Value) -> None:
        self._send(self.signer.sign(self.history.position, kind, body))

    def _send(self, signed: Signed) -> None:
        binds = self.signer.binds(signed.message.kind)
        outcome = self.replica.take(signed)
        assert outcome is Outcome.ADDED, outcome
        self.replica.settle()
        self._fetch_news()  # if it binds, it is stored before it is sent
        self._emit(Broadcast(Carried(*signed.wire), binds))

    # Time

    def _check_timers(self) -> None:
        now, was_over = self._now, self.waiting.is_over
        due = [self._feed.tell_lost(now), self.waiting.next_due(now)]
        if self.waiting.is_over and not was_over:
            self._tell_the_end()
        due.append(self._compare_notes())
        self.waiting.set_alarm(min([time for time in due if time > now], default=math.inf), now)

    def _tell_the_end(self) -> None:
        state = self.history.position.state
        assert state is not None
        result = MatchResult(self.id.hex(), state.places, self.by_seat(), confirmed=self.is_confirmed)
        self._feed.show(result)

    def _compare_notes(self) -> float:
        """Report to the others what this node holds, and ask peers that hold more; return when to do so next."""
        now = self._now
        if self.catch_up.due(now) <= now:
            have = self.catch_up.tell(now)
            if have is not None and self.me is not None:
                self._emit(Announce(have))
            for author, need in self.catch_up.questions(now):
                self._emit(Send(author, need))
        return self.catch_up.due(now)
