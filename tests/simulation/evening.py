"""Evenings in the simulator: people with real purses play one match after the other, and their coins are counted."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, cast

from protocol.consensus.purse_proofs import read_proof
from protocol.consensus.settlements import gather, read_evidence, stakes_of
from protocol.consensus.voids import void_data, write_void
from protocol.crypto.hashing import tagged_hash
from protocol.crypto.keys import MatchKey
from protocol.match.own_purse import PurseError
from protocol.wire.genesis import Join
from protocol.wire.purses import EntryKind, Purse
from tests.simulation.faults import Fault
from tests.simulation.home import PURSE_POINTS, PurseHome
from tests.simulation.scenario import Plan, draw
from tests.simulation.simulation import Figures, Simulation
from tests.simulation.world import identity_of

PEOPLE: Final = 6
GRANT: Final = 1000


class Played(NamedTuple):
    """A match whose end is known."""

    match: bytes
    changes: dict[bytes, int]
    """What it changes in the purses of its players, by identity."""
    bonus: int
    """Coins that its winners get, and nobody has lost."""


class WrongSumError(AssertionError):
    """There are more coins than there should be, or fewer."""


class LostHeadError(AssertionError):
    """Somebody does not know any more what another has frozen in a match of both."""


class StuckStakeError(AssertionError):
    """A match is over, and its evidence does not settle it."""


class LostEntriesError(AssertionError):
    """A purse has lost entries that others at the table know."""


class _Seat(NamedTuple):
    """What a table looks at in a join record."""

    identity: bytes
    purse: Purse


class Evening:
    """Some people, their purses, and every trouble that a match can have.

    :param folder: for their homes.
    """

    def __init__(self, seed: int, folder: Path, resources: ExitStack) -> None:
        self.random = Random(seed)
        self.figures = Figures()
        self.homes = []
        for number in range(PEOPLE):
            name = f"{seed} {number}".encode()
            home = PurseHome(folder / f"{number}.sqlite3", identity_of(name, 0), tagged_hash("test-purse", name))
            resources.callback(home.close)
            self.homes.append(home)
        self.played: list[Played] = []
        self.given_up = 0
        """Coins, by FORFEITs."""
        self.forfeits = self.voids = self.backups = 0

    @property
    def settled(self) -> int:
        """How often a purse has settled a match."""
        return sum(len(self._settlements(home)) for home in self.homes)

    def play(self) -> None:
        """Play a match, and settle it as far as it can be settled.

        :raises AssertionError: if the coins are not what they should be.
        """
        players = self._sit_down()
        plan = self._plan(len(players))
        world = Simulation(plan, homes=players)
        self.figures.add(world.run())
        histories = [machine.match.history for machine in world.network.machines.values() if machine.match is not None]
        for home in players:
            home.close()  # so only what is stored counts from now on
        self._check_heads(world, players)
        self._check_settled(world, players)
        match = world.match
        found = [evidence for history in histories if (evidence := gather(history)) is not None]
        if found:
            assert len({evidence.account for evidence in found}) == 1
            self._note(found[0].encoded())
        for home in players:
            if (frozen := home.purse.frozen_for(match)) is not None and self.random.random() < 0.3:
                home.keeper.own.forfeit(match)
                self.given_up += frozen.bet
                self.forfeits += 1
        for home in players:
            if found and home.purse.frozen_for(match) is not None and self.random.random() < 0.5:
                self._settle_late(home, found[0].encoded())
        if not found and not any(history.results for history in histories) and self.random.random() < 0.5:
            self._make_void(world, players)
        self.check()

    def _sit_down(self) -> list[PurseHome]:
        """Let some people show each other their purses, and hand back what others know."""
        players = self.random.sample(self.homes, self.random.randint(2, PEOPLE))
        for home in players:
            if self._is_known(home, players) and self.random.random() < 0.2:
                self._go_back(home, players)
            home.copy()
        pairs = list(permutations(players, 2))
        for owner, other in pairs:
            self._show(owner, other)
            self._hand_back(other, owner)
        for owner, other in pairs:
            self._show(owner, other)
            flaw = other.keeper.flaw(self._seat(owner))
            assert not flaw, flaw
        return players

    def _is_known(self, home: PurseHome, players: list[PurseHome]) -> bool:
        """Tell whether somebody at the table knows the newest entry of a purse: without it the purse would be forked.
        It has been at a table, so there is a backup."""
        key, newest = home.purse.key, home.purse.head
        met = [other.store.purses.met(key) for other in players if other is not home]
        return any(each.shown.purse.head == newest for each in met if each is not None and each.shown is not None)

    def _go_back(self, home: PurseHome, players: list[PurseHome]) -> None:
        """Put back the backup from before a match. The others hand back what it lacks."""
        purse = home.purse
        home.go_back()
        self.backups += 1
        for other in players:
            if other is not home:
                self._show(home, other)
        if home.purse != purse:
            raise LostEntriesError("a purse from a backup lacks entries that others know")

    def _show(self, owner: PurseHome, other: PurseHome) -> None:
        """Show a purse, and how it goes on from what the other knows of it."""
        _, proof = owner.keeper.bring()
        shown = [proof]
        while shown:
            for known in other.keeper.take(shown.pop(0)).back:
                shown += owner.keeper.take(known).back

    def _hand_back(self, other: PurseHome, owner: PurseHome) -> None:
        """Show the owner of a purse how matches have ended for which something is frozen in it."""
        for end in other.keeper.ends(self._seat(owner)):
            if self.random.random() < 0.7:
                owner.keeper.take(end.encoded())

    def _seat(self, home: PurseHome) -> Join:
        return cast("Join", _Seat(home.identity.public, home.purse))

    def _plan(self, players: int) -> Plan:
        """Return a match of so many for stakes, with whatever trouble its seed has, and processes that die while they
        write a purse."""
        while True:
            drawn = draw(self.random.randrange(2**32))
            if drawn.players == players and not drawn.misbehaviour:
                break
        changes = {"stakes": "yes"} if drawn.preset == "motes" else {"stakes": "yes", "dice": "1"}
        faults = [self._crash(players) for _ in range(self.random.randrange(4))]
        ruleset = drawn.ruleset.with_options(changes)
        core = "dead node" if self.random.random() < 0.3 else drawn.core  # then a match of two is suspended
        faults = [*drawn.faults, *faults]
        return replace(drawn, ruleset=ruleset, is_on_real_store=False, core=core, faults=tuple(faults))

    def _crash(self, players: int) -> Fault:
        node, other = self.random.sample(range(players), 2)
        point = self.random.choice(PURSE_POINTS)
        seconds = round(self.random.uniform(0.5, 5.0), 3)
        return Fault("crash", self.random.randrange(400), node, other, seconds, point=point)

    def _note(self, evidence: bytes) -> None:
        ended = read_evidence(evidence)
        genesis, account = ended.genesis, ended.account
        changes = {
            record.join.identity: account.changes(genesis, author)[0] for author, record in enumerate(genesis.roster)
        }
        bonus = 0
        for author in account.winners:
            bet, funds = account.bets[author][0], genesis.holdings(author)[0]
            bonus += bet * bet // funds if funds else 0
        if sum(changes.values()) != bonus:
            raise WrongSumError("a match makes coins")
        self.played.append(Played(ended.match, changes, bonus))

    def _settle_late(self, home: PurseHome, evidence: bytes) -> None:
        try:
            home.keeper.own.settle(evidence)
        except PurseError:
            return  # there is no room yet
        except ValueError as error:
            raise StuckStakeError(str(error)) from None

    def _make_void(self, world: Simulation, players: list[PurseHome]) -> None:
        """Let all sign that a suspended match is void."""
        said = void_data(world.match)
        evidence = write_void(
            world.data, {author: MatchKey(seed).sign(said) for author, seed in enumerate(world.seeds)}
        )
        for home in players:
            if home.purse.frozen_for(world.match) is not None:
                home.keeper.own.void(world.match, evidence)
                self.voids += 1

    # What must hold

    def _check_heads(self, world: Simulation, players: list[PurseHome]) -> None:
        """Whoever has seen the stakes open knows what the others have frozen, also after their process has died."""
        by_identity = {home.identity.public: home for home in players}
        for machine in world.network.machines.values():
            if machine.match is None:
                continue
            history = machine.match.history
            state = history.position.state
            if state is None or not state.wagers:
                continue
            roster = history.genesis.roster
            home = by_identity[roster[machine.author].join.identity]
            for author in stakes_of(history):
                purse = roster[author].join.purse
                assert purse is not None
                if author == machine.author:
                    continue
                met = home.store.purses.met(purse.key)
                if met is None or met.shown is None or met.shown.purse.height <= purse.height:
                    raise LostHeadError(f"node {machine.node} has forgotten what {author} has frozen")

    def _check_settled(self, world: Simulation, players: list[PurseHome]) -> None:
        """Whoever has come to the end of a match has settled it, if enough have signed."""
        by_identity = {home.identity.public: home for home in players}
        for machine in world.network.machines.values():
            if machine.match is None or machine.confirmed is None or gather(machine.match.history) is None:
                continue
            home = by_identity[world.genesis.roster[machine.author].join.identity]
            if home.purse.frozen_for(world.match) is not None and home.keeper.own.has_room:
                raise StuckStakeError(f"node {machine.node} has not settled the match")

    def check(self) -> None:
        """Hold the sum of all coins to what it should be, and each purse to its proof.

        :raises AssertionError: if they differ.
        """
        due = GRANT * PEOPLE - self.given_up
        for match, changes, bonus in self.played:
            due += bonus - sum(
                change
                for home in self.homes
                if (change := changes.get(home.identity.public, 0)) and match not in self._settlements(home)
            )
        if (sum_ := sum(home.purse.balance for home in self.homes)) != due:
            raise WrongSumError(f"{sum_} coins instead of {due}")
        for home in self.homes:
            settled = self._settlements(home)
            assert len(set(settled)) == len(settled), "a match is settled once"
            assert read_proof(home.keeper.own.proof()).purse == home.purse
            assert home.purse.funds >= 0

    def _settlements(self, home: PurseHome) -> list[bytes]:
        lines = home.store.purses.lines(home.purse.key, -1)
        return [line.match for line in lines if line.kind is EntryKind.SETTLEMENT]
