"""Evenings in the simulator: people with real purses play one simulated match after another, with all kinds of faults.
Processes also die while they write a purse. Nobody lies: :mod:`tests.simulation.ledgers` has evenings with liars."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import permutations
from random import Random
from typing import Final, NamedTuple

from protocol.consensus.ends import End, Shown, end_of, gather, read_shown, stakes_of, void_evidence, void_message
from protocol.crypto.keys import MatchKey
from protocol.match.match import Match
from protocol.wire.messages import sign
from protocol.wire.purses import MATCH_BYTES, Record
from tests.simulation.faults import Fault
from tests.simulation.home import PURSE_POINTS, PurseHome
from tests.simulation.ledgers import PEOPLE, StuckStakeError, WrongSumError
from tests.simulation.scenario import Plan, draw
from tests.simulation.signatures import cached_checks
from tests.simulation.simulation import Figures, Simulation
from tests.simulation.world import identity_of, join_record

MATCHES: Final = 30
"""Matches per evening."""


class LostStakeError(AssertionError):
    """A player has forgotten another player's stake or purse, although the stakes of their match were opened."""


class Evening:
    """One evening of :data:`PEOPLE` people.

    :param resources: closes their disks.
    """

    def __init__(self, seed: int, resources: ExitStack) -> None:
        self.random = Random(seed)
        self.figures = Figures()
        self.homes = []
        for number in range(PEOPLE):
            home = PurseHome(identity_of(f"{seed} {number}".encode(), 0))
            resources.callback(home.disk.memory.close)
            self.homes.append(home)
        self.ends: dict[bytes, End] = {}
        """The ends of finished matches. A match is named by the first bytes of its id, as in records."""
        self.given_up: set[tuple[bytes, bytes]] = set()
        """(owner, match) of each stake that its owner gave up."""
        self.restored: set[bytes] = set()
        """Owners whose purse a backup may have reset. They may bet the same coins twice, which ends their era."""
        self.voids = 0

    @property
    def settled(self) -> int:
        """The number of records in all purses."""
        return sum(home.purse.end.height for home in self.homes)

    def play(self) -> None:
        """Play a match and settle it. If it cannot be settled, its players may void it or give up their stakes.

        :raises AssertionError: if an invariant of purses does not hold.
        """
        players = self._sit_down()
        world = Simulation(self._plan(len(players)), homes=players)
        self.figures.add(world.run())
        backups = (fault for fault in world.plan.faults if fault.kind == "restored backup")
        self.restored.update(world.genesis.roster[fault.node].join.identity for fault in backups)
        for home in players:
            home.open()
        matches = [
            machine.match
            for machine in world.machines
            if machine.match is not None and machine.confirmed is not None and machine.match.is_ended
        ]
        ends = [end_of(match.history) for match in matches]
        assert len({end.account for end in ends}) <= 1
        if ends:
            self.ends[world.match[:MATCH_BYTES]] = ends[0]
        self._check_stakes(world, players)
        self._check_settled(world, matches, players)
        if not matches and self.random.random() < 0.5:
            self._make_void(world, players)
        for home in players:
            own = home.keeper.own
            if own.stake is not None and self.random.random() < 0.3:
                self.given_up.add((home.identity.public, own.busy[:MATCH_BYTES]))
                home.keeper.forfeit()
        self.check()

    def _sit_down(self) -> list[PurseHome]:
        """Return players with idle purses, after all of them have shown their purses to each other.

        If fewer than two are idle, all people give up their open stakes first.
        """
        sample = self.random.sample(self.homes, self.random.randint(2, PEOPLE))
        players = [home for home in sample if not home.keeper.find_hindrance()]
        if len(players) < 2:
            for home in self.homes:
                if home.keeper.find_hindrance():
                    self.given_up.add((home.identity.public, home.keeper.own.busy[:MATCH_BYTES]))
                    home.keeper.forfeit()
            return self._sit_down()
        for owner, other in permutations(players, 2):
            verdict = other.keeper.judge(self._show(owner))
            if verdict.back is not None and owner.keeper.take_own(verdict.back):
                return self._sit_down()  # the owner's backup had lost records; the purse may be busy now
            assert not verdict.flaw, verdict.flaw
        return players

    def _show(self, home: PurseHome) -> Shown:
        record = join_record(b"table", 0, identity=home.identity, head=home.purse.head)
        return read_shown(*home.keeper.show(record).wire)

    def _plan(self, players: int) -> Plan:
        """Return a match for stakes with the faults of a random seed, and further crashes around writes of purses."""
        while True:
            drawn = draw(self.random.randrange(2**32))
            if drawn.players == players and not drawn.misbehaviour:
                break
        changes = {"stakes": "yes"} if drawn.preset == "motes" else {"stakes": "yes", "dice": "1"}
        faults = (*drawn.faults, *(self._crash(players) for _ in range(self.random.randrange(4))))
        # A dead node suspends a match of two, and blocks a player with a restored backup, who waits for all others.
        may_die = all(fault.kind != "restored backup" for fault in faults)
        core = "dead node" if may_die and self.random.random() < 0.3 else drawn.core
        return replace(drawn, ruleset=drawn.ruleset.with_options(changes), core=core, faults=faults)

    def _crash(self, players: int) -> Fault:
        node, other = self.random.sample(range(players), 2)
        point = self.random.choice(PURSE_POINTS)
        seconds = round(self.random.uniform(0.5, 5.0), 3)
        return Fault("crash", self.random.randrange(400), node, other, seconds, point=point)

    def _make_void(self, world: Simulation, players: list[PurseHome]) -> None:
        """Let all players sign that a suspended match is void."""
        signatures = {
            author: sign(void_message(world.match, author), MatchKey(seed)).signature
            for author, seed in enumerate(world.seeds)
        }
        staked = [home for home in players if home.keeper.own.busy == world.match]
        for home in staked:
            home.keeper.take_evidence(void_evidence(world.data, signatures))
        self.voids += bool(staked)

    # What must hold

    def _check_stakes(self, world: Simulation, players: list[PurseHome]) -> None:
        """Check that all players who saw the opened stakes still know them after their processes were restarted."""
        by_identity = {home.identity.public: home for home in players}
        for machine in world.machines:
            state = machine.match.history.position.state if machine.match is not None else None
            if machine.match is None or state is None or not state.wagers:
                continue
            roster = world.genesis.roster
            home = by_identity[roster[machine.author].join.identity]
            for author in stakes_of(machine.match.history):
                met = home.store.purses.met(roster[author].join.identity)
                if not any(each.match == world.match and each.stake for each in met):
                    raise LostStakeError(f"node {machine.node} has forgotten what {author} has staked")
                if author != machine.author and not any(each.match == world.match and each.shown for each in met):
                    raise LostStakeError(f"node {machine.node} has forgotten the purse of {author}")

    def _check_settled(self, world: Simulation, matches: list[Match], players: list[PurseHome]) -> None:
        """Check that every player at the end of the match has settled it, if enough players signed the result."""
        by_identity = {home.identity.public: home for home in players}
        for match in matches:
            assert match.me is not None
            home = by_identity[world.genesis.roster[match.me].join.identity]
            if gather(match.history) is not None and home.keeper.own.busy == world.match:
                raise StuckStakeError(f"player {match.me} has not settled the match")

    def check(self) -> None:
        """Check that each record agrees with the end of its match.

        :raises AssertionError: if one of them differs.
        """
        for home in self.homes:
            purse = home.purse
            assert purse.era == 0 or home.identity.public in self.restored
            assert purse.end.balance == (0 if purse.era else 1000) + sum(record.change for record in purse.records)
            for record in purse.records:
                if record != self._due(home, record):
                    raise WrongSumError("a match changed a purse by a wrong amount")

    def _due(self, home: PurseHome, record: Record) -> Record:
        """Return the record that the owner should have for a match."""
        end = self.ends.get(record.match)
        if (home.identity.public, record.match) in self.given_up:
            return record._replace(change=-record.bet, ticket_change=-record.tickets, soul=0)
        if end is None:
            return record._replace(change=0, ticket_change=0, soul=0)  # the match is void
        author = end.author(home.identity.public)
        assert author is not None
        return end.record(author, (record.bet, record.tickets))


class Result(NamedTuple):
    """The result of an evening."""

    seed: int
    figures: Counter[str]
    failure: str = ""
    """A traceback; empty if all checks held."""


def run_evening(seed: int) -> Result:
    """Play one evening. A failure is returned, not raised."""
    failure = ""
    with ExitStack() as resources, cached_checks():
        evening = Evening(seed, resources)
        try:
            for _ in range(MATCHES):
                evening.play()
        except Exception:  # noqa: BLE001 - any exception is a finding
            failure = traceback.format_exc()
        counted = Counter(
            {
                "evenings": 1,
                "matches": evening.figures.matches,
                "of these over": len(evening.ends),
                "records": evening.settled,
                "stakes given up": len(evening.given_up),
                "void matches": evening.voids,
                "processes that died": evening.figures.crashes.total(),
                "of these around a write of a purse": sum(
                    count for point, count in evening.figures.crashes.items() if point.endswith("purse")
                ),
            }
        )
    return Result(seed, counted, failure)


def run_evenings(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    """Yield the result of every evening, in order."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_evening, seeds)
