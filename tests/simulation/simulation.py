"""Runs the world of one plan: nodes, network, disks, faults and at most one cheat."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from p2pdice.moves import Concede, Move
from p2pdice.players import OddsPlayer, Player
from p2pdice.views import View
from protocol.consensus.branches import Outcome
from protocol.consensus.ends import Shown
from protocol.consensus.kinds import RULES, parse_signed
from protocol.consensus.replica import Replica
from protocol.crypto.keys import MatchKey
from protocol.files import write_own
from protocol.match import match
from protocol.match.effects import Withdrawn
from protocol.match.lobby import GuestTable, HostedTable, TableSettings
from protocol.match.match import Match
from protocol.node import playing, session
from protocol.wire.frames import decode_frame, encode_frame
from protocol.wire.genesis import Genesis, JoinRecord, MalformedGenesisError, make_join_record, match_id
from protocol.wire.messages import Kind, Signed
from protocol.wire.purses import Purse
from tests.simulation.cores import CORES
from tests.simulation.costs import Bill, Cost
from tests.simulation.disk import Disk
from tests.simulation.faults import STRIKES, Fault
from tests.simulation.home import PurseHome
from tests.simulation.invariants import Check, Checks, Violation
from tests.simulation.machine import Machine, Observed, Process
from tests.simulation.misbehaviour import MISBEHAVIOURS, BentMatch, Misbehaviour, Proposal
from tests.simulation.network import Network
from tests.simulation.replacing import replaced, replaced_value
from tests.simulation.scenario import Plan
from tests.simulation.scheduler import Scheduler, Streams, Trace
from tests.simulation.world import IDENTITIES, TABLE, identity_of, join_record, match_seed

PATIENCE: Final = 60.0
"""Virtual seconds without progress after which a world counts as stuck. Delays that the plan explains are added."""
DECODED: Final = 4_096
"""The sizes of the caches of decoded frames and parsed messages."""
EVENTS: Final = 300_000
"""A world with more events than this counts as endless."""


@dataclass
class Figures:
    """Counts of what happened in one or many worlds."""

    matches: int = 0
    finished: int = 0
    suspended: int = 0
    """Matches that wait for players who left or misbehaved."""
    unformed: int = 0
    """Matches that were never formed."""
    exempt: int = 0
    """Matches that were stopped because the promises did not cover them any more."""
    refused: int = 0
    """False proposals that no guest signed."""
    players: int = 0
    frames: int = 0
    steps: int = 0
    seconds: float = 0.0
    """Virtual seconds."""
    faults: Counter[str] = field(default_factory=Counter)
    cores: Counter[str] = field(default_factory=Counter)
    misbehaviours: Counter[str] = field(default_factory=Counter)
    rulesets: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    """How often processes passed each point at which they can die."""
    crashes: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    costs: dict[str, Cost] = field(default_factory=dict)
    """By the name of the misbehaviour."""

    def add(self, other: Figures) -> None:
        for name, value in vars(other).items():
            if isinstance(value, Counter):
                getattr(self, name).update(value)
            elif isinstance(value, dict):
                for kind, cost in value.items():
                    self.costs.setdefault(kind, Cost()).add(cost)
            else:
                setattr(self, name, getattr(self, name) + value)


class Owner(Player):
    """The person at a node, who moves by odds or at random, and may concede."""

    def __init__(self, world: Simulation) -> None:
        self._world = world
        self._odds = OddsPlayer(world.streams.bots)

    def choose(self, view: View) -> Move:
        plan, chance = self._world.plan, self._world.streams.bots
        if chance.random() < plan.quits:
            return Concede()
        return chance.choice(view.legal) if plan.is_random else self._odds.choose(view)


class Simulation:
    """One world.

    :param keep: called with every line of the trace.
    :param homes: the homes of the players, if they bring purses to a match with stakes.
    """

    def __init__(
        self,
        plan: Plan,
        keep: Callable[[str], None] | None = None,
        homes: Sequence[PurseHome] = (),
    ) -> None:
        self.plan = plan
        self.homes = homes
        self.streams = Streams(plan.seed)
        self.scheduler = Scheduler()
        self.trace = Trace(keep)
        self.figures = Figures()
        self.bill = Bill(plan.misbehaviour, plan.culprit)
        self.checks = Checks(self)
        self.network = Network(self.scheduler, self.streams.network, self.trace)
        self.network.usual_latency = plan.usual_latency
        self.healed_at = 0.0
        """The time when all faults so far have healed."""
        self.decoded = lru_cache(DECODED)(decode_frame)
        """Cached, because most frames are sent to several nodes."""
        self.parsed = lru_cache(DECODED)(parse_signed)
        self._faults = list(plan.faults)
        self.resources = ExitStack()
        """Closed at the end of the world."""
        self.acting: list[Process] = []
        """The processes whose code is running, the innermost last."""
        self.genesis, self.seeds = self._sit_down()
        self.data = self.genesis.encoded()
        self.match = match_id(self.data)
        self._authors = {record.join.identity: author for author, record in enumerate(self.genesis.roster)}
        self._shown = {record.join.identity: self._show(record) for record in self.genesis.roster}
        self.cheat: Misbehaviour | None = None
        self.machines: list[Machine] = []
        """One for each match or proposal of each process."""
        for author in range(plan.players):
            process = Process(self, author, author, self._disk(author), Owner(self))
            self.network.processes[author] = process
            self.machines.append(Machine(process, author, self.data))
        self._bend()

    # Before the match

    def _sit_down(self) -> tuple[Genesis, tuple[bytes, ...]]:
        """Let all players sit down at a table in the lobby. Return the genesis and the players' match seeds."""
        plan = self.plan
        seed = plan.seed.to_bytes(8, "big")
        people = [home.identity for home in self.homes] or [identity_of(seed, number) for number in range(plan.players)]
        purses = [home.purse for home in self.homes] or [Purse.new(each.public) for each in people]
        records = [
            join_record(seed, number, identity=who, head=purse.head if plan.ruleset.stakes else None)
            for number, (who, purse) in enumerate(zip(people, purses, strict=True))
        ]
        by_author = sorted(records, key=lambda record: record.join.identity)
        self.host = by_author.index(records[0])
        kind = MISBEHAVIOURS.get(plan.misbehaviour)
        if kind is not None and kind.hosts is not None and (self.host == plan.culprit) is not kind.hosts:
            self.host = plan.culprit if kind.hosts else (plan.culprit + 1) % plan.players
        host = by_author[self.host]
        guests = [record for record in records if record is not host]
        settings = TableSettings("table", plan.ruleset, plan.players, plan.patience)
        table = HostedTable(settings, TABLE, host, "")
        for record in guests:
            table.admit(record.join.identity, record.wire)
        genesis = table.genesis()
        self._seats = {}
        for record in guests:
            seat = GuestTable(TABLE, host.join.identity)
            seat.own = record
            seat.update(table.frame())
            self._seats[record.join.identity] = seat
        by_identity = {record.join.identity: match_seed(seed, number) for number, record in enumerate(records)}
        return genesis, tuple(by_identity[record.join.identity] for record in genesis.roster)

    def _show(self, record: JoinRecord) -> Shown:
        """Return a player's purse as shown at the table."""
        home = next((home for home in self.homes if home.identity.public == record.join.identity), None)
        return home.keeper.show(record) if home is not None else Shown(record, Purse.new(record.join.identity))

    def _disk(self, author: int) -> Disk:
        if self.homes:
            return next(each.disk for each in self.homes if self._authors[each.identity.public] == author)
        return self._new(Disk())

    def _new(self, disk: Disk) -> Disk:
        self.resources.callback(disk.memory.close)
        return disk

    def _bend(self) -> None:
        kind = MISBEHAVIOURS.get(self.plan.misbehaviour)
        if kind is None or issubclass(kind, Proposal):
            return
        machine = self.machines[self.plan.culprit]
        machine.process.is_honest = False
        self.cheat = kind(machine, self.streams.misbehaviour)

    def withdraw(self) -> None:
        """Let the host withdraw its proposal, unless the match is formed."""
        host = self.machines[self.host]
        if host.is_called_off or (host.match is not None and host.match.is_formed):
            return
        if host.process.is_listening:
            host.feed(Withdrawn())
        self.scheduler.after(1.0, self.withdraw)  # again, because a crash may make the host forget it

    def propose_anew(self, author: int) -> None:
        """Let the host propose another match with the same players, after one of them has signed a new join record."""
        records = list(self.genesis.roster)
        join = records[author].join
        nonce = bytes(32)
        key = MatchKey(self.seeds[author])
        records[author] = make_join_record(join._replace(nonce=nonce), IDENTITIES[join.identity], key)
        data = self.genesis._replace(roster=tuple(records)).encoded()
        self._shown[join.identity] = self._shown[join.identity]._replace(record=records[author])
        host = self.machines[self.host].process
        others = [process for process in self.network.processes.values() if process is not host]

        def propose() -> None:
            self._ask(host, data)
            for process in others:
                later = self.scheduler.now + self.streams.misbehaviour.uniform(0.0, 2 * self.plan.usual_latency)
                process.plan(later, partial(self._ask, process, data))
                self.scheduler.after(1.0, partial(self._ask_again, process, data))

        host.plan(self.scheduler.now, propose)  # does nothing if the host dies first

    def _ask_again(self, process: Process, data: bytes) -> None:
        """Ask a player again to sign a proposal, because the process may have died before it was asked."""
        if process.is_running:
            process.plan(self.scheduler.now, partial(self._ask, process, data))
        elif not process.is_gone:
            self.scheduler.after(1.0, partial(self._ask_again, process, data))

    def _ask(self, process: Process, data: bytes) -> None:
        if any(each.process is process and each.data == data for each in self.machines):
            return
        if process.active.proposals.formed is not None:  # a guest whose match has begun accepts no proposals
            return
        machine = Machine(process, self.plan.players + process.author, data)
        self.machines.append(machine)
        process.active.runtime.purses.shown.update(self.shown_to(process.identity))
        machine.take_part()

    def copy_home(self, machine: Machine, friends: Iterable[int]) -> None:
        """Start a second node from a copied home. The ``friends`` are linked to this one from now on."""
        node = len(self.network.processes)
        copy = Process(self, node, machine.author, self._new(machine.disk.copy()), Owner(self))
        copy.is_honest = False
        self.network.processes[node] = copy
        self.machines.append(Machine(copy, node, machine.data))
        for friend in sorted(friends):
            self.network.want_no_more(machine.node, friend)
            self.network.want(node, friend)
        copy.start()

    # Called by processes

    def author(self, identity: bytes) -> int:
        """Return the roster index of a player; −1 for an identity that does not play."""
        return self._authors.get(identity, -1)

    def shown_to(self, identity: bytes) -> dict[bytes, Shown]:
        """Return the purses of all other players, by owner."""
        return {owner: shown for owner, shown in self._shown.items() if owner != identity}

    def note(self, what: str, *details: object) -> None:
        """Add an event to the trace."""
        self.trace.note(self.scheduler.now, what, *details)

    def honest(self) -> list[Machine]:
        """Return the machines that do not misbehave."""
        return [machine for machine in self.machines if machine.is_honest]

    def is_honest(self, author: int) -> bool:
        """Return whether a player does not misbehave on any machine."""
        return all(machine.is_honest for machine in self.machines if machine.author == author)

    def think(self) -> float:
        """Return how many seconds an owner thinks about a move."""
        mean = self.plan.think
        return round(self.streams.bots.expovariate(1 / mean), 3) if mean else 0.0

    def bent(self, process: Process, author: int, data: bytes) -> Iterable[bytes]:
        """Return the frames to send in place of this one. They differ only for a cheat."""
        cheat = self.cheat
        if cheat is None or cheat.machine.process is not process or not cheat.is_there:
            return (data,)
        frame = self.decoded(data)
        frames = cheat.outgoing(author, frame)
        bent = [each if isinstance(each, bytes) else data if each is frame else encode_frame(each) for each in frames]
        seconds = cheat.delay()
        if not seconds:
            return bent
        for each in bent:
            process.plan(self.scheduler.now + seconds, partial(self.network.send, process.node, author, each))
        return ()

    # Faults

    def heal_after(self, seconds: float, call: Callable[[], None]) -> None:
        """Schedule the end of a fault."""
        self.healed_at = max(self.healed_at, self.scheduler.now + seconds)
        self.scheduler.after(seconds, call)

    def _strike(self, fault: Fault) -> None:
        self.note("fault", *fault)
        if STRIKES[fault.kind](self, fault):
            self.figures.faults[fault.kind] += 1
        self.healed_at = max(self.healed_at, self.scheduler.now + fault.seconds)

    # Running

    def run(self) -> Figures:
        """Run the world to its end.

        :raises Violation: if an invariant does not hold.
        """

        def parse(data: bytes, signature: bytes) -> Signed:
            return self.parsed(data, signature)

        taken = Replica.take

        def take(replica: Replica, signed: Signed) -> Outcome:
            try:
                return taken(replica, signed)
            finally:
                self.checks.taken(replica, signed)

        with (
            self.resources,
            replaced(match, parse_signed, parse),
            replaced(session, parse_signed, parse),
            replaced(Replica, taken, take),
            replaced_value(playing, Match, self._make_match),
            replaced(secrets, secrets.token_bytes, self._draw),
            replaced(session, write_own, self._write),
        ):
            self._run()
        return self.figures

    def _make_match(self, data: bytes, *arguments: Any, **options: Any) -> Match:
        machine = next((each for each in self.acting[-1].machines if each.data == data), None)
        make: Callable[..., Match] = Match
        if self.cheat is not None and self.cheat.machine is machine:
            make = partial(BentMatch, self.cheat)
        elif machine is not None and machine.is_honest:
            make = partial(Observed, machine)
        made = make(data, *arguments, **options)
        if machine is not None:  # else it belongs to an earlier match of the evening
            machine.match = made
        return made

    def _draw(self, count: int | None = None) -> bytes:
        return next(self.acting[-1].secrets)

    def _write(self, path: Path, data: bytes) -> None:
        self.acting[-1].write(path, data)

    def _run(self) -> None:
        plan, figures = self.plan, self.figures
        figures.matches, figures.players = 1, plan.players
        figures.rulesets[plan.preset] += 1
        kind = MISBEHAVIOURS.get(plan.misbehaviour)
        if kind is not None and issubclass(kind, Proposal):
            self._propose(kind)
        else:
            self._play()
            if self.cheat is None or self.cheat.acted:
                figures.costs[self.bill.name] = self.bill.closed()
        if self.cheat is not None and self.cheat.acted:
            figures.misbehaviours[plan.misbehaviour] += 1
        figures.frames = self.network.delivered
        figures.seconds = self.scheduler.now
        figures.checks = self.checks.counts

    def _propose(self, kind: type[Proposal]) -> None:
        """Let every guest judge the false proposal of the host."""
        for identity, seat in sorted(self._seats.items()):
            try:
                accepted = seat.check_proposal(kind.bend(self.genesis, identity, self.streams.misbehaviour))
            except MalformedGenesisError as error:
                self.note("refused", str(error))
            else:
                if accepted is not None:
                    raise Violation(Check.NO_GUEST_SIGNS_A_FALSE_PROPOSAL, f"{self.plan.misbehaviour} was accepted")
            self.checks.counts[Check.NO_GUEST_SIGNS_A_FALSE_PROPOSAL] += 1
        self.figures.refused += 1
        self.figures.misbehaviours[self.plan.misbehaviour] += 1

    def _play(self) -> None:
        for seat in self._seats.values():
            seat.check_proposal(self.data)
        nodes = sorted(self.network.processes)
        for node in nodes:
            self.network.processes[node].start()
        for node in nodes:
            for other in nodes[:node]:
                self.network.want(node, other)
        if self.plan.core:
            CORES[self.plan.core].begin(self, self.plan.seed % self.plan.players)
            self.figures.cores[self.plan.core] += 1
        best, progress_at = -1, 0.0
        while not self._is_over():
            while self._faults and self.scheduler.events >= self._faults[0].after:
                self._strike(self._faults.pop(0))
            if not self.scheduler.step():
                if not self._faults:
                    break
                self._strike(self._faults.pop(0))
            if self.cheat is not None and self.cheat.is_there:
                self.cheat.noticed()
            if self.cheat is not None and self.cheat.acted:
                self.bill.acted(self.scheduler.now)
            if self.checks.is_exempt:
                self.figures.exempt += 1
                return
            if self.scheduler.events > EVENTS:
                raise Violation(Check.WORK_IS_BOUNDED, f"still busy after {EVENTS} events")
            if self.scheduler.events % 16 == 0:
                progress = self._progress()
                if progress > best:
                    best, progress_at = progress, self.scheduler.now
                if self.scheduler.now - max(progress_at, self.healed_at) > self._limit():
                    break
        self._judge()

    def _progress(self) -> int:
        return sum(
            machine.match.history.position.step + (machine.confirmed is not None)
            for machine in self.honest()
            if machine.match is not None
        )

    def _limit(self) -> float:
        """Return how long the world may make no progress, in virtual seconds."""
        slow = self.plan.think * 20 + self.plan.usual_latency * 100
        if self.plan.core:
            slow += 5 * PATIENCE  # a sleeping node may miss the same opportunity several times
        if not self._has_quorum():
            return slow + PATIENCE
        return slow + PATIENCE + 2 * self.plan.patience.human + 8 * self.plan.patience.automatic

    def _has_quorum(self) -> bool:
        """Return whether the honest players who can still take part are enough for any decision.

        A decision takes more than half of the base, and half of the players in the game unless they vote at a LOCK.
        """
        present = {
            machine.author for machine in self.honest() if not (machine.process.is_gone or machine.is_called_off)
        }
        histories = [machine.match.history for machine in self.honest() if machine.match is not None]
        if not histories:
            return False
        history = max(histories, key=lambda history: history.position.root_step)
        newest = history.position
        resigned = {author for author, signed in history.held.items() if signed.message.kind is Kind.RESIGN}
        staying = present.intersection(newest.base).difference(newest.left, resigned, self.checks.evicted)
        live = set(newest.live) if newest.kind is Kind.LOCK else set()
        return 2 * len(staying) > len(newest.base) and 2 * len(staying & live) >= len(live)

    def _may_stop(self) -> bool:
        """Return whether the match may need votes to continue. It does as soon as one player has voted, because this
        player signs no LOCK until the next root."""
        cheat, core = self.cheat, CORES.get(self.plan.core)
        matches = [machine.match for machine in self.honest() if machine.match is not None]
        if any(match.replica.ballot.has_votes for match in matches):
            return True
        return (cheat is not None and cheat.acted > 0 and cheat.may_stop) or (core is not None and core.may_stop)

    def _all_may_be_silent(self) -> bool:
        """Return whether all players may have conceded, one of them on a branch that it lost in a crash. That player
        cannot tell the branches apart and signs nothing after its RESIGN, so that the match stands still."""
        restarted = any(machine.process.starts > 1 for machine in self.honest())
        return restarted and all(machine.has_conceded for machine in self.honest())

    def _is_over(self) -> bool:
        return all(
            machine.process.is_gone
            or machine.is_called_off
            or (machine.process.is_running and (machine.confirmed is not None or self._plays_another(machine)))
            for machine in self.honest()
        )

    def _plays_another(self, machine: Machine) -> bool:
        """Return whether a player has finished another match, and this one was never formed."""
        others = (other for other in self.honest() if other.author == machine.author and other is not machine)
        return machine.match is not None and not machine.match.is_formed and any(other.confirmed for other in others)

    def _judge(self) -> None:
        plan, figures = self.plan, self.figures
        ended = self._is_over()
        host = self.machines[self.host]
        cheat = self.cheat if self.cheat is not None and self.cheat.acted else None
        if ended and any(machine.confirmed is not None for machine in self.honest()):
            figures.finished += 1
        elif ended:
            figures.unformed += 1  # all players have given it up
        elif not any(machine.match and machine.match.is_formed for machine in self.honest()) and (
            self._may_stop()
            or any(machine.match and machine.match.unheard for machine in self.honest())
            or (host.is_called_off and host.match is None)  # in a crash the host forgot that it withdrew
        ):
            # A restarted node signs nothing before others have shown it its earlier messages. And as long as one player
            # has not signed the genesis, there is no match that could continue.
            figures.unformed += 1
        elif (self._may_stop() or self._all_may_be_silent()) and not self._has_quorum():
            figures.suspended += 1
        else:
            stuck = {machine.node: self._where(machine) for machine in self.honest()}
            raise Violation(Check.EVERY_MATCH_ENDS, f"no progress: {stuck}")
        self.checks.counts[Check.EVERY_MATCH_ENDS] += 1
        if cheat is not None and cheat.is_detectable() and not plan.faults:  # faults may lose the proof
            self.checks.counts[Check.CHEATS_ARE_NOTICED] += 1
            if plan.culprit not in self.checks.blamed:
                raise Violation(Check.CHEATS_ARE_NOTICED, f"no honest player noticed {plan.misbehaviour}")
        self.checks.at_the_end()
        figures.steps = max(
            (machine.match.history.position.step for machine in self.honest() if machine.match is not None), default=0
        )

    def _where(self, machine: Machine) -> str:
        if machine.match is None:
            return "down"
        history = machine.match.history
        position = history.position
        kind = RULES[position.kind].name if position.kind is not None else "nothing"
        return f"step {position.step} ({position.purpose.value}, {kind}) awaiting {history.missing()}"
