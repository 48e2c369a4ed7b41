"""The invariants of every world, checked while it runs. Each check names the source of its claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from p2pdice.events import DieGained, DieLost
from p2pdice.stakes import settlement
from p2pdice.state import Expect, State
from protocol import limits
from protocol.consensus.kinds import CARRIED, RULES, parse_signed, read_vote
from protocol.consensus.position import FORMED, Position
from protocol.consensus.verifier import Judgement, verify
from protocol.crypto.hashing import HASH_BYTES, derive_secret
from protocol.match.effects import Accuse
from protocol.wire.frames import Carried, Frame, Need, Page
from protocol.wire.messages import VOTES, Kind, Message, Signed, message_id

if TYPE_CHECKING:
    from protocol.consensus.replica import Replica
    from protocol.storage.store import Store
    from tests.simulation.machine import Machine, Process
    from tests.simulation.simulation import Simulation


WAKES: Final = 16
"""The most wake-ups that a node may request in one virtual second; usually there are at most three."""


VOTES_A_SECOND: Final = 16
"""The most votes that an honest player may sign in one virtual second; a voting round takes longer."""


QUESTIONS_A_SECOND: Final = 100
"""How many NEEDs an honest player may send to one other in one virtual second, whose answers hold twenty messages that
are of no use: fifteen hundred of these may come at once."""


class Check(StrEnum):
    """The checks, by their names in reports."""

    NO_NODE_KEEPS_ITSELF_AWAKE = "no node keeps itself awake"
    FRAMES_FIT = "frames fit"
    NO_HONEST_PLAYER_IS_BLAMED = "no honest player is blamed"
    THE_VERIFIER_NAMES_THE_CULPRIT = "the verifier names the culprit"
    ONE_HISTORY = "one history"
    THE_VERIFIER_ACCEPTS = "the verifier accepts"
    ONE_STATE_PER_HISTORY = "one state per history"
    NOBODY_IS_EVICTED_BUT_BY_VOTES = "nobody is evicted but by votes"
    A_MAJORITY_IS_LEFT = "a majority is left"
    DICE_ARE_CONSERVED = "dice are conserved"
    FUNDS_ARE_CONSERVED = "funds are conserved"
    STORED_BEFORE_SENT = "stored before sent"
    THE_NOTE_IS_NOT_AHEAD = "the newest note is not ahead of the disk"
    T_IS_THE_HASH_OF_THE_STEP = "T is the hash of the step"
    LOCKS_AGREE = "locks agree"
    NO_SECRET_BEFORE_A_LOCK = "no secret before a lock"
    UNOPENED_SECRETS_ARE_IN_NO_FRAME = "unopened secrets are in no frame"
    NOBODY_RESIGNS_UNASKED = "nobody resigns unasked"
    ONE_MESSAGE_PER_SLOT = "one message per slot"
    VOTES_TAKE_THEIR_TIME = "votes take their time"
    THE_STORE_GROWS_WITH_THE_MATCH = "the store grows with the match"
    QUESTIONS_ARE_BOUNDED = "questions are bounded"
    KEPT_FOR_LATER = "kept for later"
    BUFFERS_ARE_BOUNDED = "buffers are bounded"
    NO_GUEST_SIGNS_A_FALSE_PROPOSAL = "no guest signs a false proposal"
    NOBODY_IS_ABSENT_FROM_A_PROPOSAL = "nobody is absent from a proposal"
    A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED = "a withdrawn proposal is not formed"
    NOBODY_IS_BOUND_TWICE = "nobody is bound twice"
    WHAT_OTHERS_WENT_ON_WITH_STANDS = "what others went on with stands"
    WORK_IS_BOUNDED = "work is bounded"
    EVERY_MATCH_ENDS = "every match ends"
    THE_CULPRIT_IS_NAMED = "the culprit is named"
    TWO_MESSAGES_ARE_A_PROOF = "two messages are a proof"
    THE_SAME_SEED_TAKES_THE_SAME_COURSE = "the same seed takes the same course"
    SECRETS_LEAVE_NO_TRACE = "secrets leave no trace"


class Violation(AssertionError):
    """An invariant does not hold."""

    def __init__(self, check: Check, text: str) -> None:
        super().__init__(f"{check}: {text}")
        self.check = check


def slot(message: Message) -> tuple[Any, ...]:
    """Return what a player may sign one message for: (author, step, T), for a vote its kind and round as well, and for
    RESULT the whole match."""
    place = (message.author, message.step, message.tip)
    if message.kind == Kind.RESULT:
        return (message.author, Kind.RESULT)
    if message.kind == Kind.WITNESS:
        return (*place, Kind.WITNESS)
    if message.kind in VOTES:
        assert isinstance(message.body, tuple)
        return (*place, RULES[message.kind].name, message.body[0])
    return place


class Checks:
    """All invariants of one world."""

    def __init__(self, world: Simulation) -> None:
        self.world = world
        self.counts: Counter[str] = Counter()
        """How often each check has been made."""
        self.blamed: set[int] = set()
        """Authors whom an honest node has accused."""
        self.evicted: set[int] = set()
        """Authors without whom an honest node has closed a step."""
        self._agreed: dict[bytes, tuple[object, ...]] = {}
        self._looked: dict[int, list[bytes]] = {}
        self._signed: dict[tuple[Any, ...], bytes] = {}
        self._opened: set[bytes] = set()
        """Messages that have opened a secret after its LOCK."""
        self._restored: set[int] = set()
        self._lost: dict[int, set[bytes]] = {}
        """The messages that a backup has lost and whose author has signed nothing new since, by node."""
        self._started: dict[int, float] = {}
        """When the process of each node last started."""
        self.is_exempt = False
        """Whether the promises do not cover this world: a player has signed something new, although only players who
        are away hold what their backup has lost (docs/threat-model.md, "An old backup whose last messages nobody
        shows")."""
        self._followed: set[bytes] = set()
        self._parsed: dict[tuple[bytes, bytes], Signed] = {}
        self._had: WeakKeyDictionary[Replica, dict[tuple[Any, ...], Signed]] = WeakKeyDictionary()
        """By node, the first message of a cheat that it has accepted for each slot."""
        self._wakes: dict[int, tuple[int, int]] = {}
        """By node, a virtual second and the number of wake-ups in it."""
        self._votes: Counter[tuple[int, int]] = Counter()
        """The number of votes signed, by author and second."""
        self._declined: set[bytes] = set()
        """The tips at which an honest host has resigned from a proposal."""
        self._questions: Counter[tuple[int, int, int]] = Counter()
        """The number of NEEDs sent, by node, peer and second."""

    def _hold(self, check: Check, holds: bool, text: str) -> None:
        self.counts[check] += 1
        if not holds:
            raise Violation(check, text)

    # When something happens

    def after_input(self, machine: Machine) -> None:
        """Check a node after it has taken an input."""
        if not machine.is_honest or machine.match is None:
            return
        chain = machine.match.history.chain
        tips = self._looked.get(machine.node, [])
        # T names all that came before: whatever is equal at one step is equal up to there.
        known = min(len(tips), len(chain))
        while known and tips[known - 1] != chain[known - 1].tip:
            known -= 1
        for step in range(known, len(chain)):
            self._one_state_per_history(machine, chain[step])
            if chain[step].root_step == step:
                self._what_others_went_on_with_stands(machine, chain)
            if step == FORMED:
                self._may_be_formed(machine, chain)
            if step:
                self._follows(chain[step - 1], chain[step])
                self._steps_close_with_all(machine, chain, step)
                if chain[step].happened:
                    self._dice_and_funds(chain[step - 1].state, chain[step])
        if known < len(chain) or known < len(tips):
            self._looked[machine.node] = [*tips[:known], *(place.tip for place in chain[known:])]
            self.world.bill.goes_on(self.world.scheduler.now, chain[-1].left)
        self._buffers_are_bounded(machine)

    def awake(self, machine: Machine) -> None:
        """Check that a node does not request too many wake-ups."""
        now = int(self.world.scheduler.now)
        second, wakes = self._wakes.get(machine.node, (now, 0))
        wakes = wakes + 1 if second == now else 1
        self._wakes[machine.node] = now, wakes
        self._hold(
            Check.NO_NODE_KEEPS_ITSELF_AWAKE,
            wakes <= WAKES,
            f"node {machine.node} was woken {wakes} times in second {now}",
        )

    def before_sending(self, machine: Machine, author: int, frame: Frame, data: bytes) -> None:
        """Check a frame that is about to leave a node."""
        if not machine.is_honest:
            return
        self._hold(Check.FRAMES_FIT, len(data) <= limits.FRAME, f"a frame of {len(data)} bytes")
        self._secrets_stay(machine, data)
        if isinstance(frame, Need):
            self._questions_are_bounded(machine, author)
        if isinstance(frame, Carried):
            self._leaves(machine, (frame.data, frame.signature))
        elif isinstance(frame, Page):
            for wire in frame.messages:
                self._leaves(machine, wire)

    def accused(self, machine: Machine, accusation: Accuse) -> None:
        """Check an accusation, with its proof, that a node shows to its owner."""
        if not machine.is_honest or machine.match is None:
            return
        author = accusation.author
        self.blamed.add(author)
        verdict = verify(accusation.proof)
        name = machine.match.info[author].name
        self._hold(
            Check.THE_VERIFIER_NAMES_THE_CULPRIT,
            verdict.verdict is Judgement.MISCONDUCT and verdict.culprit == name,
            f"{verdict.verdict} ({verdict.reason}) instead of misconduct by {name}",
        )
        self._hold(
            Check.NO_HONEST_PLAYER_IS_BLAMED,
            not self.world.is_honest(author),
            f"node {machine.node} blames {author} in step {accusation.step}: {accusation.reason}",
        )

    def taken(self, replica: Replica, signed: Signed) -> None:
        """A node has taken a message, or refused it.

        As soon as an honest node has two that contradict each other, it can prove it (SPEC.md §5). But it keeps of each
        author one message only of histories that it is not on, and one vote on what is final.
        """
        message, me, history = signed.message, replica.me, replica.history
        is_foreign = message.step <= history.position.step and not history.goes_through(message)
        is_past = message.kind in VOTES and message.step < history.position.root_step
        is_early = message.kind == Kind.RESULT and history.position.kind is not None
        is_past = is_past or (message.kind in VOTES and message.author in history.root.left)
        if me is None or is_foreign or is_past or is_early or message.match != history.match:
            return
        if not self.world.is_honest(me) or self.world.is_honest(message.author):
            return
        had = self._had.setdefault(replica, {})
        first = had.setdefault(slot(message), signed)
        if first.id == signed.id:
            return
        keys = history.keys[message.author]
        if not keys.verifies(first.signature, first.data):
            had[slot(message)] = signed
        elif keys.verifies(signed.signature, signed.data) and not self._is_forgotten(had, message):
            self._hold(
                Check.TWO_MESSAGES_ARE_A_PROOF,
                message.author in replica.proven,
                f"node {me} has two of author {message.author} for step {message.step}",
            )

    def stored(self, machine: Machine) -> None:
        """Check that votes of others do not make a node's disk grow (SPEC.md §6).

        In each round a node stores its own ABSENT and CLOSE, and what they rest on: the CLOSEs of a majority, and its
        ABSENTs.
        """
        if not machine.is_honest or machine.match is None or not machine.disk.votes[machine.id]:
            return
        chain = machine.match.history.chain
        grounds = {signed.id for position in chain for signed in position.certificate}
        sizes = [size for vote, size in machine.disk.votes[machine.id].items() if vote not in grounds]
        self.world.bill.holds(sum(sizes))
        ballot = machine.match.replica.ballot
        most = (2 + 2 * ballot.root.majority) * (ballot.round + 2)
        text = f"{len(sizes)} votes in round {ballot.round}"
        self._hold(Check.THE_STORE_GROWS_WITH_THE_MATCH, len(sizes) <= most, text)

    @staticmethod
    def _is_forgotten(had: Mapping[tuple[Any, ...], Signed], message: Message) -> bool:
        """Return whether a node may drop a vote because its author votes in too many rounds of one root."""
        if message.kind not in VOTES:
            return False
        of_root = [signed for place, signed in had.items() if place[:4] == slot(message)[:4]]
        return len({read_vote(signed).round for signed in of_root}) > limits.VOTE_ROUNDS_LATER

    def found(self, node: int, store: Store) -> None:
        """Check that a starting process reports no loss after a mere crash or power cut."""
        self._started[node] = self.world.scheduler.now
        text = f"node {node} is told that its store lacks what it had confirmed"
        self._hold(Check.THE_NOTE_IS_NOT_AHEAD, store.loss is None, text)

    def restored(self, process: Process, lost: set[bytes]) -> None:
        """Record that a store was restored from a backup: messages that only it had are lost."""
        self._restored.add(process.author)
        self._lost.setdefault(process.node, set()).update(lost)

    def at_the_end(self) -> None:
        """Check the world after its end."""
        for machine in self.world.honest():
            if machine.match is not None:
                history = machine.match.history
                books = (
                    *(history.held, history.results, *history.countersigned.values()),
                    *(place.entries for place in history.chain),
                )
                told = {signed.id for book in books for signed in book.values()}
                told.update(signed.id for place in history.chain for signed in place.certificate)
                sizes = machine.disk.sizes[machine.id]
                self.world.bill.holds(sum(size for kept, size in sizes.items() if kept not in told))
        if self.world.plan.is_calm:  # who is cut off from others is promised nothing
            dead = {machine.data for machine in self.world.honest() if machine.is_called_off}
            formed = {each.data for each in self.world.honest() if each.match is not None and each.match.is_formed}
            self._hold(
                Check.A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED,
                dead.isdisjoint(formed),
                "one node holds a match to be formed that another holds to be called off",
            )
        finished = [each for each in self.world.honest() if each.transcript and each.match and each.match.is_ended]
        ends = {machine.match.history.position.tip for machine in finished if machine.match is not None}
        # A liar among honest players whom faults have cut off from each other can make a fork: it is no promise
        # (docs/threat-model.md).
        cheat = self.world.cheat
        is_excused = cheat is not None and cheat.acted > 0 and bool(self.world.plan.faults)
        self._hold(Check.ONE_HISTORY, len(ends) <= 1 or is_excused, "two honest nodes have come to different ends")
        self.counts["forks by a liar between players who are cut off"] += len(ends) > 1
        cheats = {
            entry.join.nickname
            for author, entry in enumerate(self.world.genesis.roster)
            if not self.world.is_honest(author)
        }
        for transcript in {machine.transcript for machine in finished}:
            verdict = verify(transcript)
            is_right = verdict.verdict in (Judgement.FAIR, Judgement.UNPROVEN) or verdict.culprit in cheats
            self._hold(Check.THE_VERIFIER_ACCEPTS, is_right, f"{verdict.verdict}: {verdict.reason}")

    # The checks

    def _one_state_per_history(self, machine: Machine, position: Position) -> None:
        """Check that nodes at the same T have the same state (SPEC.md §5)."""
        what = (position.step, position.kind, position.owed, position.base, position.seats, position.state)
        agreed = self._agreed.setdefault(position.tip, what)
        self._hold(Check.ONE_STATE_PER_HISTORY, agreed == what, f"node {machine.node} differs at step {position.step}")

    def _steps_close_with_all(self, machine: Machine, chain: list[Position], step: int) -> None:
        """Check that a step closes without a message only by identical CLOSEs of over half of the base (SPEC.md §6)."""
        before, after = chain[step - 1 : step + 1]
        missing = set(before.owed) - set(after.entries)
        if not missing:
            self.counts[Check.NOBODY_IS_EVICTED_BUT_BY_VOTES] += 1
            return
        told = f"node {machine.node} closed step {before.step} without {missing}"
        self._hold(Check.NOBODY_IS_ABSENT_FROM_A_PROPOSAL, before.step >= FORMED, told)
        is_lock = before.kind is Kind.LOCK
        base = self._base(chain[:step])
        resigned = {author for author, signed in after.entries.items() if signed.message.kind is Kind.RESIGN}
        leaving = set[int]() if is_lock else missing | resigned
        stay = set(before.live) - leaving
        votes = [signed.message for signed in after.certificate]
        closes = [vote for vote in votes if vote.kind is Kind.CLOSE]
        named: Any = before.signed_hash
        if not is_lock:
            named = tuple(after.entries[author].id if author in after.entries else b"" for author in before.owed)
        aim = (before.step, before.tip, named)
        is_voted = (
            2 * len({vote.author for vote in closes} & base.difference(before.left)) > len(base)
            and 2 * len(stay.intersection(vote.author for vote in votes)) >= len(stay)
            and {(vote.step, vote.tip) for vote in votes} == {(before.root_step, chain[before.root_step].tip)}
            and len({vote.body for vote in closes}) == 1
            and all(isinstance(vote.body, tuple) and vote.body[1] == aim for vote in votes)
        )
        self._hold(Check.NOBODY_IS_EVICTED_BUT_BY_VOTES, is_voted, told)
        if not is_lock:
            self.evicted |= missing
        left = len(base - set(before.left) - leaving)
        self._hold(Check.A_MAJORITY_IS_LEFT, 2 * left > len(base), f"{left} of {base} after step {before.step}")

    def _may_be_formed(self, machine: Machine, chain: list[Position]) -> None:
        """Check that nobody forms a proposal that the host has withdrawn (SPEC.md §9, "Proposals")."""
        self._hold(
            Check.A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED,
            self._declined.isdisjoint(place.tip for place in chain[:FORMED]),
            f"node {machine.node} holds it to be formed",
        )

    def _what_others_went_on_with_stands(self, machine: Machine, chain: list[Position]) -> None:
        """A step after which others have signed is closed for good as they closed it, whatever its author shows later.

        Until then a node may take it back: the second message may overtake what was signed after the step, and half a
        second is left for that to come (SPEC.md §6, T and patience).
        """
        cheat, root = self.world.cheat, chain[-1].root_step
        if (
            cheat is not None
            and (stands := cheat.stands) is not None
            and stands.step <= root
            and self.world.plan.is_calm
        ):
            self._hold(
                Check.WHAT_OTHERS_WENT_ON_WITH_STANDS,
                chain[stands.step].tip == stands.tip,
                f"node {machine.node} closed step {stands.step - 1} otherwise",
            )

    def _base(self, chain: list[Position]) -> set[int]:
        """Return the players who may vote on the last step of a chain, computed independently (SPEC.md §5)."""
        locks = [place.step for place in chain[:-1] if place.kind is Kind.LOCK]
        if not locks or locks[-1] <= FORMED:
            return set(range(self.world.plan.players))
        base = {author for step in locks[-3:] for author in chain[step].owed}
        for place in chain[locks[-2] + 2 : locks[-1] + 1]:
            for signed in place.entries.values():
                body = signed.message.body
                if signed.message.kind is Kind.REVEAL and isinstance(body, bytes):
                    base.update(body[HASH_BYTES::CARRIED])
                elif signed.message.kind is Kind.OPEN and isinstance(body, tuple) and isinstance(body[-1], bytes):
                    base.update(body[-1][::CARRIED])
        return base.difference(chain[locks[-1]].left)

    def _dice_and_funds(self, before: State | None, position: Position) -> None:
        """Check that dice and coins appear and disappear only by the rules (SPEC.md)."""
        after = position.state
        if before is None or after is None:
            return
        events = [event for event, _ in position.happened]
        lost = sum(isinstance(event, DieLost) for event in events)
        won = sum(isinstance(event, DieGained) for event in events)
        taken = sum(before.dice) - sum(after.dice) - lost + won
        left_behind = sum(dice for seat, dice in enumerate(before.dice) if seat not in after.live)
        self._hold(
            Check.DICE_ARE_CONSERVED, 0 <= taken <= left_behind, f"{before.dice} became {after.dice} by {events}"
        )
        if after.awaits is Expect.OVER and after.wagers:
            bonus = sum(
                wager.bet * wager.bet // wager.funds
                for seat, wager in enumerate(after.wagers)
                if seat in after.winners and wager.funds
            )
            self._hold(Check.FUNDS_ARE_CONSERVED, sum(settlement(after).delta) == bonus, f"paid {settlement(after)}")

    def _leaves(self, machine: Machine, wire: tuple[bytes, bytes]) -> None:
        signed = self._parsed.get(wire)
        if signed is None:
            signed = self._parsed[wire] = parse_signed(*wire)
        if signed.message.author != machine.author:
            return
        node = machine.process.node
        if node in self._lost and self._signed.get(slot(signed.message)) != signed.id:
            self.is_exempt = self._nobody_else_holds(machine, self._lost.pop(node))
        if self.is_exempt:
            return
        if signed.message.step < FORMED:
            self._forms(machine, signed.message)
        assert machine.match is not None
        has_left = self._signed.get(slot(signed.message)) == signed.id
        # What a backup lost and others gave back is passed on at once, stored when its step opens.
        is_given_back = machine.author in self._restored and has_left
        # A vote that is under way when the next LOCK is complete is forgotten with all others, and so is a message of a
        # branch that the votes decided against, though others may show it later.
        history, branches = machine.match.history, machine.match.replica.ballot.branches
        is_beside = signed.message.tip not in branches.positions and not history.goes_through(signed.message)
        is_vote = signed.message.kind in VOTES and signed.message.step < history.position.root_step
        is_settled = is_vote or (has_left and is_beside)
        self._hold(
            Check.STORED_BEFORE_SENT,
            signed.id in machine.disk.own or is_given_back or is_settled or not self._binds(machine, signed.message),
            f"node {machine.node} sent a message of step {signed.message.step} that is not on its disk",
        )
        # A message that others give back after a crash may leave again before its step is known again.
        if signed.message.kind in (Kind.REVEAL, Kind.OPEN, Kind.STAKE) and signed.data not in self._opened:
            self._no_secret_before_a_lock(machine, signed.message)
            self._opened.add(signed.data)
        self._one_message_per_slot(machine, signed)
        self._resigns_only_when_asked(machine, signed.message)

    def _binds(self, machine: Machine, message: Message) -> bool:
        """Return whether an author who had forgotten a message could sign another in its place (SPEC.md §11)."""
        assert machine.match is not None
        chain = machine.match.history.chain
        if message.kind is Kind.WITNESS or not machine.match.has_committed:
            return False
        if message.kind not in (Kind.REVEAL, Kind.OPEN):
            return True
        if message.step >= len(chain):  # signed before a crash that took the step, too, and given back by others
            return self._signed.get(slot(message)) is None
        place = chain[message.step]
        witnesses = {*range(self.world.plan.players)}.difference(place.players, place.left)
        step, tip, lock = place.locks[0]
        given = (Message(message.match, step, tip, author, Kind.WITNESS, lock) for author in witnesses)
        return any(message_id(each.encoded()) not in machine.disk.own for each in given)

    def _forms(self, machine: Machine, message: Message) -> None:
        """Check that a player is bound, by the COMMIT of the first roll, in one proposal at a time (SPEC.md §9)."""
        if message.kind is Kind.RESIGN and machine.author == self.world.host:
            self._declined.add(message.tip)
        if message.kind is not Kind.COMMIT or slot(message) in self._signed:  # shown once more, it binds nobody anew
            return
        others = (each for each in self.world.honest() if each.author == machine.author and each is not machine)
        bound = [each.node for each in others if each.match is not None and each.match.is_bound]
        self._hold(Check.NOBODY_IS_BOUND_TWICE, not bound, f"node {machine.node} signs what binds node {bound}")

    def _follows(self, before: Position, after: Position) -> None:
        """Check that T covers the whole history, by an independent implementation of SPEC.md §5."""
        if after.tip in self._followed:
            return
        self._followed.add(after.tip)
        players = self.world.plan.players
        named = {} if before.kind is Kind.LOCK else after.entries
        ids = [named[author].id if author in named else b"" for author in range(players)]
        parts = [before.tip, before.step.to_bytes(8, "big"), *ids]
        tag = b"p2pdice/3/step"
        head = bytes((len(tag),)) + tag + bytes((len(parts),))
        tip = sha256(head + b"".join(len(part).to_bytes(4, "big") + part for part in parts)).digest()
        self._hold(Check.T_IS_THE_HASH_OF_THE_STEP, after.tip == tip, f"step {after.step}")
        signed_by_all = (signed.message for signed in after.entries.values() if signed.message.kind is Kind.LOCK)
        locks = [message.body[:32] for message in signed_by_all if isinstance(message.body, bytes)]
        self._hold(Check.LOCKS_AGREE, len(set(locks)) <= 1, f"step {before.step} closed with different LOCKs")

    def _no_secret_before_a_lock(self, machine: Machine, message: Message) -> None:
        """Check that no secret leaves before the LOCK in front of it is closed (SPEC.md §5)."""
        assert machine.match is not None
        chain = machine.match.history.chain
        place = chain[message.step] if message.step < len(chain) else None
        is_locked = place is not None and chain[message.step - 1].kind is Kind.LOCK and place.root_step == place.step
        self._hold(
            Check.NO_SECRET_BEFORE_A_LOCK,
            is_locked,
            f"node {machine.node} sends {RULES[message.kind].name} in step {message.step}",
        )

    def _secrets_stay(self, machine: Machine, data: bytes) -> None:
        """Check that no frame contains a share or a hand key before the step that opens it."""
        assert machine.match is not None
        position = machine.match.history.position
        seed = self.world.seeds[machine.author]
        secrets = []
        for standing in (position.committed, position.committed_ahead):
            if standing is not None:
                secrets.append(derive_secret(seed, standing.context, "hand"))
                if position.kind is not Kind.REVEAL:
                    secrets.append(derive_secret(seed, standing.context, "share"))
        if position.deal is not None and position.kind is not Kind.OPEN:
            secrets.append(derive_secret(seed, position.deal.context, "hand"))
        given_away = (secret for secret in secrets if secret in data)
        self._hold(
            Check.UNOPENED_SECRETS_ARE_IN_NO_FRAME,
            all(any(secret in opened for opened in self._opened) for secret in given_away),
            f"node {machine.node} gives a secret away in step {position.step}",
        )

    def _resigns_only_when_asked(self, machine: Machine, message: Message) -> None:
        """A crash costs nothing (docs/threat-model.md); only a backup may have lost what cannot be opened any more.

        A guest resigns from a match that is formed though its host had withdrawn it before the guest (SPEC.md §9).
        """
        if message.kind is Kind.RESIGN:
            willing = machine.has_conceded or machine.author in self._restored or machine.was_called_off
            self._hold(Check.NOBODY_RESIGNS_UNASKED, willing, f"node {machine.node} in step {message.step}")

    def _one_message_per_slot(self, machine: Machine, signed: Signed) -> None:
        """Check that an honest player signs one message per slot, whatever happens to process and disk (SPEC.md §5)."""
        place = slot(signed.message)
        if signed.message.kind in VOTES and place not in self._signed:
            self._votes_take_their_time(machine)
        known = self._signed.setdefault(place, signed.id)
        if known != signed.id and machine.author in self._restored and not self._is_held(known):
            # The backup lost what nobody else ever got: it is as if it had never been signed.
            self._signed[place] = known = signed.id
        self._hold(
            Check.ONE_MESSAGE_PER_SLOT,
            known == signed.id,
            f"node {machine.node} signed two messages for step {signed.message.step}, "
            f"now {RULES[signed.message.kind].name}",
        )

    def _votes_take_their_time(self, machine: Machine) -> None:
        """Check that a node that has voted waits for the others before the next round (SPEC.md §6)."""
        second = machine.author, int(self.world.scheduler.now)
        self._votes[second] += 1
        votes = self._votes[second]
        self._hold(
            Check.VOTES_TAKE_THEIR_TIME, votes <= VOTES_A_SECOND, f"node {machine.node} signs {votes} in a second"
        )

    def _questions_are_bounded(self, machine: Machine, author: int) -> None:
        """Check that a node's requests to a peer are bounded, and so is the cost of the answers (SPEC.md §10)."""
        second = machine.node, author, int(self.world.scheduler.now)
        self._questions[second] += 1
        asked = self._questions[second]
        self._hold(
            Check.QUESTIONS_ARE_BOUNDED,
            asked <= QUESTIONS_A_SECOND,
            f"node {machine.node} asks {author} {asked} times in a second",
        )

    def _is_held(self, message: bytes) -> bool:
        return any(message in self._held(machine) for machine in self.world.honest())

    def _held(self, machine: Machine) -> set[bytes]:
        """Return the ids of the messages that a node has on its disk or in its history."""
        books: list[Mapping[int, Signed]] = []
        if machine.match is not None:
            history = machine.match.history
            books = [history.held, *(place.entries for place in history.chain)]
        return machine.disk.own.union(signed.id for book in books for signed in book.values())

    def _nobody_else_holds(self, machine: Machine, lost: set[bytes]) -> bool:
        """Return whether nobody for whom a restarted node has to wait holds what it lost (SPEC.md §11)."""
        assert machine.match is not None
        match, patience = machine.match, self.world.plan.patience.automatic
        here = {machine.author, *match.waiting.linked}
        waited = self.world.scheduler.now - self._started[machine.process.node]
        is_patient = waited < patience - 0.1  # timers may be early
        honest = self.world.honest()
        shown = {each for other in honest if other.author in here for each in self._held(other)}
        own = {each for place, each in self._signed.items() if place[0] == machine.author} & lost.difference(shown)
        away = {other.author for other in honest if other.author not in here and own & self._held(other)}
        return bool(own) and not (is_patient and away.intersection(match.history.position.base))

    def _buffers_are_bounded(self, machine: Machine) -> None:
        """Check that the data that a node keeps of its peers' messages is bounded (SPEC.md §6, §10)."""
        match = machine.match
        assert match is not None
        replica, ballot = match.replica, match.replica.ballot
        for book in (ballot.branches.later, replica._votes_ahead):
            kept = max((len(messages) for messages in book.values()), default=0)
            self._hold(Check.KEPT_FOR_LATER, kept <= limits.FUTURE_PER_AUTHOR + 1, f"{kept} messages of one author")
        if self.world.scheduler.events % 8:
            return
        bound = 64 * self.world.plan.players + len(match.history.chain)
        for holder in (match, replica, ballot, ballot.branches):
            for name, value in vars(holder).items():
                if isinstance(value, dict | list | set):
                    most = bound + 2 * self.world.plan.players * ballot.round if holder is ballot else bound
                    self._hold(Check.BUFFERS_ARE_BOUNDED, len(value) <= most, f"{name} has {len(value)} entries")
