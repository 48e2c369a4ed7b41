"""The invariants of every world, checked while it runs. Most checks name the section of SPEC.md that promises them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum, auto
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
"""How many wake-ups a node may request in one virtual second. Usually there are at most three."""

VOTES_A_SECOND: Final = 16
"""How many votes an honest player may sign in one virtual second. A round of votes takes longer than that."""

QUESTIONS_A_SECOND: Final = 100
"""How many NEEDs an honest player may send to one peer in one virtual second. A cheat answers with pages of twenty
useless messages, and a node accepts up to fifteen hundred of these at once."""


class Check(StrEnum):
    """The checks. Their values are their names in reports."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name.lower().replace("_", " ")

    NO_NODE_WAKES_TOO_OFTEN = auto()
    NO_FRAME_IS_TOO_LONG = auto()
    NO_HONEST_PLAYER_IS_BLAMED = auto()
    THE_VERIFIER_CONFIRMS_ACCUSATIONS = auto()
    FINAL_HISTORIES_ARE_EQUAL = auto()
    THE_VERIFIER_ACCEPTS_TRANSCRIPTS = auto()
    EQUAL_HISTORIES_HAVE_EQUAL_STATES = auto()
    NOBODY_IS_EVICTED_WITHOUT_VOTES = auto()
    A_MAJORITY_REMAINS = auto()
    DICE_ARE_CONSERVED = auto()
    FUNDS_ARE_CONSERVED = auto()
    MESSAGES_ARE_STORED_BEFORE_SENDING = auto()
    NO_CONFIRMED_DATA_IS_LOST = auto()
    THE_TIP_IS_THE_HASH_OF_THE_HISTORY = auto()
    LOCKS_AGREE = auto()
    NO_SECRET_IS_SENT_BEFORE_ITS_LOCK = auto()
    NO_FRAME_CONTAINS_AN_UNOPENED_SECRET = auto()
    NOBODY_RESIGNS_BY_MISTAKE = auto()
    ONE_MESSAGE_PER_SLOT = auto()
    NO_NODE_VOTES_TOO_OFTEN = auto()
    STORED_VOTES_ARE_BOUNDED = auto()
    NO_NODE_ASKS_TOO_OFTEN = auto()
    MESSAGES_KEPT_FOR_LATER_ARE_BOUNDED = auto()
    BUFFERS_ARE_BOUNDED = auto()
    NO_GUEST_SIGNS_A_FALSE_PROPOSAL = auto()
    NOBODY_IS_EVICTED_FROM_A_PROPOSAL = auto()
    A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED = auto()
    NOBODY_IS_BOUND_TO_TWO_PROPOSALS = auto()
    A_LATE_CONTRADICTION_CHANGES_NO_STEP = auto()
    WORK_IS_BOUNDED = auto()
    EVERY_MATCH_ENDS = auto()
    CHEATS_ARE_NOTICED = auto()
    CONTRADICTIONS_ARE_PROVEN = auto()
    EQUAL_SEEDS_GIVE_EQUAL_RUNS = auto()
    NO_FRAME_DEPENDS_ON_AN_UNOPENED_SECRET = auto()


class Violation(AssertionError):
    """An invariant does not hold."""

    def __init__(self, check: Check, text: str) -> None:
        super().__init__(f"{check}: {text}")
        self.check = check


def slot(message: Message) -> tuple[Any, ...]:
    """Return the slot of a message. A player may sign only one message per slot.

    It is (author, step, T). A vote's slot also has its kind and round, and an author has a single slot for RESULT.
    """
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
    """Checks the invariants of one world, and counts these checks."""

    def __init__(self, world: Simulation) -> None:
        self.world = world
        self.counts: Counter[str] = Counter()
        """How often each check has been made."""
        self.blamed: set[int] = set()
        """The authors that an honest node has accused."""
        self.evicted: set[int] = set()
        """The authors that were voted out: an honest node has closed a step without their message."""
        self._agreed: dict[bytes, tuple[object, ...]] = {}
        """By tip, the state that the first node computed there."""
        self._looked: dict[int, list[bytes]] = {}
        """By node, the tips of its history that were checked."""
        self._signed: dict[tuple[Any, ...], bytes] = {}
        """By slot, the id of the message that its honest author has sent."""
        self._opened: set[bytes] = set()
        """The messages that opened a secret after its LOCK was closed."""
        self._restored: set[int] = set()
        """The authors whose store was restored from a backup."""
        self._lost: dict[int, set[bytes]] = {}
        """By node, the messages that a restored backup lacks. Removed once the node has signed something new."""
        self._started: dict[int, float] = {}
        """By node, when its process last started."""
        self.is_exempt = False
        """Whether the promises no longer cover this world: a player has signed something new although only absent
        players hold what that player's backup lacks (docs/threat-model.md, "An old backup whose last messages nobody
        shows")."""
        self._followed: set[bytes] = set()
        """The tips whose hash was checked."""
        self._parsed: dict[tuple[bytes, bytes], Signed] = {}
        self._had: WeakKeyDictionary[Replica, dict[tuple[Any, ...], Signed]] = WeakKeyDictionary()
        """By node and slot, the first message of a cheat that the node was given."""
        self._wakes: dict[int, tuple[int, int]] = {}
        """By node, the last virtual second with a wake-up and the number of wake-ups in it."""
        self._votes: Counter[tuple[int, int]] = Counter()
        """How many votes were signed, by author and virtual second."""
        self._declined: set[bytes] = set()
        """The tips at which an honest host signed RESIGN, which withdraws its proposal."""
        self._questions: Counter[tuple[int, int, int]] = Counter()
        """How many NEEDs were sent, by node, peer and virtual second."""

    def _hold(self, check: Check, holds: bool, text: str) -> None:
        self.counts[check] += 1
        if not holds:
            raise Violation(check, text)

    # Called by the simulation

    def after_input(self, machine: Machine) -> None:
        """Check the history of a node after it has handled an input."""
        if not machine.is_honest or machine.match is None:
            return
        chain = machine.match.history.chain
        tips = self._looked.get(machine.node, [])
        # T is a hash of the whole history: two histories with equal tips at one step are equal up to that step.
        known = min(len(tips), len(chain))
        while known and tips[known - 1] != chain[known - 1].tip:
            known -= 1
        for step in range(known, len(chain)):
            self._has_the_agreed_state(machine, chain[step])
            if chain[step].root_step == step:
                self._late_contradictions_change_no_step(machine, chain)
            if step == FORMED:
                self._may_be_formed(machine, chain)
            if step:
                self._tip_is_the_hash(chain[step - 1], chain[step])
                self._evicts_only_by_votes(machine, chain, step)
                if chain[step].happened:
                    self._dice_and_funds(chain[step - 1].state, chain[step])
        if known < len(chain) or known < len(tips):
            self._looked[machine.node] = [*tips[:known], *(place.tip for place in chain[known:])]
            self.world.bill.goes_on(self.world.scheduler.now, chain[-1].left)
        self._buffers_are_bounded(machine)

    def awake(self, machine: Machine) -> None:
        """Check that a node does not wake up too often."""
        now = int(self.world.scheduler.now)
        second, wakes = self._wakes.get(machine.node, (now, 0))
        wakes = wakes + 1 if second == now else 1
        self._wakes[machine.node] = now, wakes
        self._hold(
            Check.NO_NODE_WAKES_TOO_OFTEN,
            wakes <= WAKES,
            f"node {machine.node} was woken {wakes} times in second {now}",
        )

    def before_sending(self, machine: Machine, author: int, frame: Frame, data: bytes) -> None:
        """Check a frame, and its messages, before it leaves a node."""
        if not machine.is_honest:
            return
        self._hold(Check.NO_FRAME_IS_TOO_LONG, len(data) <= limits.FRAME, f"a frame of {len(data)} bytes")
        self._contains_no_unopened_secret(machine, data)
        if isinstance(frame, Need):
            self._asks_not_too_often(machine, author)
        if isinstance(frame, Carried):
            self._message_may_leave(machine, (frame.data, frame.signature))
        elif isinstance(frame, Page):
            for wire in frame.messages:
                self._message_may_leave(machine, wire)

    def accused(self, machine: Machine, accusation: Accuse) -> None:
        """Check an accusation that a node shows to its owner: the proof convinces the verifier and names a cheat."""
        if not machine.is_honest or machine.match is None:
            return
        author = accusation.author
        self.blamed.add(author)
        verdict = verify(accusation.proof)
        name = machine.match.info[author].name
        self._hold(
            Check.THE_VERIFIER_CONFIRMS_ACCUSATIONS,
            verdict.verdict is Judgement.MISCONDUCT and verdict.culprit == name,
            f"{verdict.verdict} ({verdict.reason}) instead of misconduct by {name}",
        )
        self._hold(
            Check.NO_HONEST_PLAYER_IS_BLAMED,
            not self.world.is_honest(author),
            f"node {machine.node} blames {author} in step {accusation.step}: {accusation.reason}",
        )

    def taken(self, replica: Replica, signed: Signed) -> None:
        """Check that an honest node that was given two contradicting messages can prove it (SPEC.md §5).

        There are exceptions, because a node does not keep everything. Of each author it keeps a single message for
        histories that it does not follow, and a single vote on steps that are final.

        :param signed: the message that the node was given last. It may have refused it.
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
                Check.CONTRADICTIONS_ARE_PROVEN,
                message.author in replica.proven,
                f"node {me} cannot prove that author {message.author} signed two messages for step {message.step}",
            )

    def stored(self, machine: Machine) -> None:
        """Check that other players' votes do not fill a node's disk (SPEC.md §6).

        In each round a node stores its own ABSENT and CLOSE, and the votes that justify them: ABSENTs and CLOSEs of a
        majority.
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
        self._hold(Check.STORED_VOTES_ARE_BOUNDED, len(sizes) <= most, text)

    @staticmethod
    def _is_forgotten(had: Mapping[tuple[Any, ...], Signed], message: Message) -> bool:
        """Return whether a node may drop a vote, because its author has voted in too many rounds of one root."""
        if message.kind not in VOTES:
            return False
        of_root = [signed for place, signed in had.items() if place[:4] == slot(message)[:4]]
        return len({read_vote(signed).round for signed in of_root}) > limits.VOTE_ROUNDS_LATER

    def found(self, node: int, store: Store) -> None:
        """Check that a process that starts after a crash or power cut does not report lost data."""
        self._started[node] = self.world.scheduler.now
        text = f"the store of node {node} reports that confirmed data is lost"
        self._hold(Check.NO_CONFIRMED_DATA_IS_LOST, store.loss is None, text)

    def restored(self, process: Process, lost: set[bytes]) -> None:
        """Record that a store was restored from a backup.

        :param lost: the ids of the messages that the backup lacks.
        """
        self._restored.add(process.author)
        self._lost.setdefault(process.node, set()).update(lost)

    def at_the_end(self) -> None:
        """Make the checks that are due when the world has ended."""
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
        if self.world.plan.is_calm:  # players who are cut off from each other are promised nothing
            dead = {machine.data for machine in self.world.honest() if machine.is_called_off}
            formed = {each.data for each in self.world.honest() if each.match is not None and each.match.is_formed}
            self._hold(
                Check.A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED,
                dead.isdisjoint(formed),
                "a match counts as formed at one node and as called off at another",
            )
        finished = [each for each in self.world.honest() if each.transcript and each.match and each.match.is_ended]
        ends = {machine.match.history.position.tip for machine in finished if machine.match is not None}
        # While faults cut honest players off from each other, a liar can make a fork. No promise excludes that
        # (docs/threat-model.md).
        cheat = self.world.cheat
        is_excused = cheat is not None and cheat.acted > 0 and bool(self.world.plan.faults)
        self._hold(
            Check.FINAL_HISTORIES_ARE_EQUAL,
            len(ends) <= 1 or is_excused,
            "two honest nodes have different final histories",
        )
        self.counts["forks by a liar between players who are cut off"] += len(ends) > 1
        cheats = {
            entry.join.nickname
            for author, entry in enumerate(self.world.genesis.roster)
            if not self.world.is_honest(author)
        }
        for transcript in {machine.transcript for machine in finished}:
            verdict = verify(transcript)
            is_right = verdict.verdict in (Judgement.FAIR, Judgement.UNPROVEN) or verdict.culprit in cheats
            self._hold(Check.THE_VERIFIER_ACCEPTS_TRANSCRIPTS, is_right, f"{verdict.verdict}: {verdict.reason}")

    # One method for each check

    def _has_the_agreed_state(self, machine: Machine, position: Position) -> None:
        """Check that nodes with the same T have the same state (SPEC.md §5)."""
        what = (position.step, position.kind, position.owed, position.base, position.seats, position.state)
        agreed = self._agreed.setdefault(position.tip, what)
        self._hold(
            Check.EQUAL_HISTORIES_HAVE_EQUAL_STATES,
            agreed == what,
            f"node {machine.node} differs at step {position.step}",
        )

    def _evicts_only_by_votes(self, machine: Machine, chain: list[Position], step: int) -> None:
        """Check that identical CLOSEs of over half of the base close a step that lacks a message (SPEC.md §6)."""
        before, after = chain[step - 1 : step + 1]
        missing = set(before.owed) - set(after.entries)
        if not missing:
            self.counts[Check.NOBODY_IS_EVICTED_WITHOUT_VOTES] += 1
            return
        told = f"node {machine.node} closed step {before.step} without {missing}"
        self._hold(Check.NOBODY_IS_EVICTED_FROM_A_PROPOSAL, before.step >= FORMED, told)
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
        self._hold(Check.NOBODY_IS_EVICTED_WITHOUT_VOTES, is_voted, told)
        if not is_lock:
            self.evicted |= missing
        left = len(base - set(before.left) - leaving)
        self._hold(Check.A_MAJORITY_REMAINS, 2 * left > len(base), f"{left} of {base} after step {before.step}")

    def _may_be_formed(self, machine: Machine, chain: list[Position]) -> None:
        """Check that no node forms a proposal that its host has withdrawn (SPEC.md §9, "Proposals")."""
        self._hold(
            Check.A_WITHDRAWN_PROPOSAL_IS_NOT_FORMED,
            self._declined.isdisjoint(place.tip for place in chain[:FORMED]),
            f"node {machine.node} has formed it",
        )

    def _late_contradictions_change_no_step(self, machine: Machine, chain: list[Position]) -> None:
        """Check that a cheat who contradicts a message late does not change a step after which others have signed.

        The check is made at the next root. Until then a node may reopen the step: the second message may arrive before
        those that were signed after the step, which have half a second to arrive (SPEC.md §6, T and patience).
        """
        cheat, root = self.world.cheat, chain[-1].root_step
        if (
            cheat is not None
            and (stands := cheat.stands) is not None
            and stands.step <= root
            and self.world.plan.is_calm
        ):
            self._hold(
                Check.A_LATE_CONTRADICTION_CHANGES_NO_STEP,
                chain[stands.step].tip == stands.tip,
                f"node {machine.node} closed step {stands.step - 1} in another way",
            )

    def _base(self, chain: list[Position]) -> set[int]:
        """Return the players who may vote on the last step of a chain. Independent implementation of SPEC.md §5."""
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
        """Check that dice and coins are gained and lost only by the rules."""
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

    def _message_may_leave(self, machine: Machine, wire: tuple[bytes, bytes]) -> None:
        """Check a message in a frame that is about to leave a node. Messages of other authors are not checked."""
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
            self._binds_once(machine, signed.message)
        assert machine.match is not None
        has_left = self._signed.get(slot(signed.message)) == signed.id
        # A message that a backup had lost and others returned is passed on at once, but stored when its step opens.
        is_given_back = machine.author in self._restored and has_left
        # After the next root a node has forgotten its votes, although one may still be leaving. It has also forgotten
        # its messages on branches that the votes rejected, although peers may return them later.
        history, branches = machine.match.history, machine.match.replica.ballot.branches
        is_beside = signed.message.tip not in branches.positions and not history.goes_through(signed.message)
        is_vote = signed.message.kind in VOTES and signed.message.step < history.position.root_step
        is_settled = is_vote or (has_left and is_beside)
        self._hold(
            Check.MESSAGES_ARE_STORED_BEFORE_SENDING,
            signed.id in machine.disk.own or is_given_back or is_settled or not self._binds(machine, signed.message),
            f"node {machine.node} sent a message of step {signed.message.step} that is not on its disk",
        )
        # A message that peers return after a crash may be sent again before the node knows its step again.
        if signed.message.kind in (Kind.REVEAL, Kind.OPEN, Kind.STAKE) and signed.data not in self._opened:
            self._opens_after_the_lock(machine, signed.message)
            self._opened.add(signed.data)
        self._one_message_per_slot(machine, signed)
        self._resigns_on_purpose(machine, signed.message)

    def _binds(self, machine: Machine, message: Message) -> bool:
        """Return whether an author who forgot this message could sign a different one in its slot (SPEC.md §11)."""
        assert machine.match is not None
        chain = machine.match.history.chain
        if message.kind is Kind.WITNESS or not machine.match.has_committed:
            return False
        if message.kind not in (Kind.REVEAL, Kind.OPEN):
            return True
        if message.step >= len(chain):  # signed before a crash that also lost the step, and returned by peers
            return self._signed.get(slot(message)) is None
        place = chain[message.step]
        witnesses = {*range(self.world.plan.players)}.difference(place.players, place.left)
        step, tip, lock = place.locks[0]
        given = (Message(message.match, step, tip, author, Kind.WITNESS, lock) for author in witnesses)
        return any(message_id(each.encoded()) not in machine.disk.own for each in given)

    def _binds_once(self, machine: Machine, message: Message) -> None:
        """Check that a player signs the COMMIT of a first roll, which binds, in one proposal at a time (SPEC.md §9)."""
        if message.kind is Kind.RESIGN and machine.author == self.world.host:
            self._declined.add(message.tip)
        if message.kind is not Kind.COMMIT or slot(message) in self._signed:  # a repeated COMMIT does not bind again
            return
        others = (each for each in self.world.honest() if each.author == machine.author and each is not machine)
        bound = [each.node for each in others if each.match is not None and each.match.is_bound]
        self._hold(
            Check.NOBODY_IS_BOUND_TO_TWO_PROPOSALS,
            not bound,
            f"node {machine.node} signs COMMIT while bound as {bound}",
        )

    def _tip_is_the_hash(self, before: Position, after: Position) -> None:
        """Check that T is the hash of the whole history. Independent implementation of SPEC.md §5."""
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
        self._hold(Check.THE_TIP_IS_THE_HASH_OF_THE_HISTORY, after.tip == tip, f"step {after.step}")
        signed_by_all = (signed.message for signed in after.entries.values() if signed.message.kind is Kind.LOCK)
        locks = [message.body[:32] for message in signed_by_all if isinstance(message.body, bytes)]
        self._hold(Check.LOCKS_AGREE, len(set(locks)) <= 1, f"step {before.step} closed with different LOCKs")

    def _opens_after_the_lock(self, machine: Machine, message: Message) -> None:
        """Check that no secret is sent before the LOCK that precedes its step is closed (SPEC.md §5)."""
        assert machine.match is not None
        chain = machine.match.history.chain
        place = chain[message.step] if message.step < len(chain) else None
        is_locked = place is not None and chain[message.step - 1].kind is Kind.LOCK and place.root_step == place.step
        self._hold(
            Check.NO_SECRET_IS_SENT_BEFORE_ITS_LOCK,
            is_locked,
            f"node {machine.node} sends {RULES[message.kind].name} in step {message.step}",
        )

    def _contains_no_unopened_secret(self, machine: Machine, data: bytes) -> None:
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
            Check.NO_FRAME_CONTAINS_AN_UNOPENED_SECRET,
            all(any(secret in opened for opened in self._opened) for secret in given_away),
            f"node {machine.node} gives a secret away in step {position.step}",
        )

    def _resigns_on_purpose(self, machine: Machine, message: Message) -> None:
        """Check that no player resigns because of a crash (docs/threat-model.md).

        A player may resign whose restored backup lacks secrets, or a guest whose host withdrew the match although other
        players form it (SPEC.md §9).
        """
        if message.kind is Kind.RESIGN:
            willing = machine.has_conceded or machine.author in self._restored or machine.was_called_off
            self._hold(Check.NOBODY_RESIGNS_BY_MISTAKE, willing, f"node {machine.node} in step {message.step}")

    def _one_message_per_slot(self, machine: Machine, signed: Signed) -> None:
        """Check that an honest player signs one message per slot, despite crashes and disk errors (SPEC.md §5)."""
        place = slot(signed.message)
        if signed.message.kind in VOTES and place not in self._signed:
            self._votes_not_too_often(machine)
        known = self._signed.setdefault(place, signed.id)
        if known != signed.id and machine.author in self._restored and not self._is_held(known):
            # The backup lacks a message that no peer has received. The author may sign another.
            self._signed[place] = known = signed.id
        self._hold(
            Check.ONE_MESSAGE_PER_SLOT,
            known == signed.id,
            f"node {machine.node} signed two messages for step {signed.message.step}, "
            f"now {RULES[signed.message.kind].name}",
        )

    def _votes_not_too_often(self, machine: Machine) -> None:
        """Check that a node does not rush through rounds of votes, but waits for other votes in each (SPEC.md §6)."""
        second = machine.author, int(self.world.scheduler.now)
        self._votes[second] += 1
        votes = self._votes[second]
        self._hold(
            Check.NO_NODE_VOTES_TOO_OFTEN, votes <= VOTES_A_SECOND, f"node {machine.node} signs {votes} in a second"
        )

    def _asks_not_too_often(self, machine: Machine, author: int) -> None:
        """Check that a node does not send too many requests to a peer (SPEC.md §10)."""
        second = machine.node, author, int(self.world.scheduler.now)
        self._questions[second] += 1
        asked = self._questions[second]
        self._hold(
            Check.NO_NODE_ASKS_TOO_OFTEN,
            asked <= QUESTIONS_A_SECOND,
            f"node {machine.node} asks {author} {asked} times in a second",
        )

    def _is_held(self, message: bytes) -> bool:
        return any(message in self._held(machine) for machine in self.world.honest())

    def _held(self, machine: Machine) -> set[bytes]:
        """Return the ids of all messages on a node's disk and in its history."""
        books: list[Mapping[int, Signed]] = []
        if machine.match is not None:
            history = machine.match.history
            books = [history.held, *(place.entries for place in history.chain)]
        return machine.disk.own.union(signed.id for book in books for signed in book.values())

    def _nobody_else_holds(self, machine: Machine, lost: set[bytes]) -> bool:
        """Return whether only players for whom a restarted node need not wait hold what it lost (SPEC.md §11)."""
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
        """Check that a node keeps a bounded number of its peers' messages (SPEC.md §6, §10)."""
        match = machine.match
        assert match is not None
        replica, ballot = match.replica, match.replica.ballot
        for book in (ballot.branches.later, replica._votes_ahead):
            kept = max((len(messages) for messages in book.values()), default=0)
            self._hold(
                Check.MESSAGES_KEPT_FOR_LATER_ARE_BOUNDED,
                kept <= limits.FUTURE_PER_AUTHOR + 1,
                f"{kept} messages of one author",
            )
        if self.world.scheduler.events % 8:
            return
        bound = 64 * self.world.plan.players + len(match.history.chain)
        for holder in (match, replica, ballot, ballot.branches):
            for name, value in vars(holder).items():
                if isinstance(value, dict | list | set):
                    most = bound + 2 * self.world.plan.players * ballot.round if holder is ballot else bound
                    self._hold(Check.BUFFERS_ARE_BOUNDED, len(value) <= most, f"{name} has {len(value)} entries")
