"""The voting rule of SPEC.md, §6 holds in all states of small worlds, and on random walks through larger ones.

To test the tests, each line of the rule is once left out or replaced by a plausible mistake. Each mistake names the
claim that must fail.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from protocol.consensus import ballot as ballot_module
from protocol.consensus.ballot import Ballot, Polka, elect, is_possible
from protocol.consensus.kinds import Vote, VoteValue
from protocol.consensus.position import Position
from protocol.wire.messages import Kind
from tests.simulation import small_worlds
from tests.simulation.replacing import replaced
from tests.simulation.small_worlds import Explorer, State, Table, ViolationError

HONEST = ("agree", "live")
LIAR = ("agree", "live", "in time", "stands")

WORLDS: dict[str, dict[str, Any]] = {
    "turn": {"script": "t0,L"},
    "turn, two and a witness": {"live": (0, 1), "witnesses": (2,), "script": "t0,L"},
    "three segments": {"script": "L,j,L", "rounds": 1},
    "two fall out by the turn": {"script": "t0,L", "falls": {0: (1, 2)}},
    "one resigns": {"script": "t0,j,L", "resigns": {1: 1}, "rounds": 1},
    "one dies and comes back": {"script": "t0,L", "crashes": {1: 1}, "rounds": 1},
    "turn, two and two witnesses": {"live": (0, 1), "witnesses": (2, 3), "script": "t0,L", "rounds": 1},
    "the last OPEN, then RESULT": {"script": "o,L", "rounds": 1},
    "a turn of the liar": {"script": "t0,L", "liar": 0, "connected": (1, 2), "lies": 4},
    "a turn of another": {"script": "t1,L", "liar": 0, "connected": (1, 2)},
    "the liar votes against all": {"script": "t0,L", "liar": 0, "connected": (1, 2), "lies": 3, "is_inventing": True},
    "joint with a liar": {"script": "j,L", "liar": 0, "connected": (1, 2), "lies": 3},
    "the liar withholds an OPEN": {"script": "o,L,o,L", "liar": 0, "connected": (1, 2), "lies": 3, "rounds": 1},
    "a liar beside witnesses": {
        "live": (0, 1),
        "witnesses": (2, 3),
        "script": "t0,L",
        "liar": 0,
        "connected": (1, 2, 3),
        "lies": 3,
        "rounds": 1,
    },
    "a liar among four": {
        "live": (0, 1, 2, 3),
        "script": "t0,L",
        "liar": 0,
        "connected": (1, 2, 3),
        "lies": 3,
        "rounds": 1,
    },
    "two steps with a liar": {"script": "t0,j,L", "liar": 0, "connected": (1, 2), "lies": 3},
}
"""Worlds whose states are all visited, up to a limit."""

WALKS: dict[str, dict[str, Any]] = {
    "witnesses, a RESIGN, crashes, a shrinking base": {
        "live": (0, 1, 2),
        "witnesses": (3, 4),
        "script": "t0,j,L,j,L",
        "bases": ((0, 1, 2, 3, 4), (0, 1, 2)),
        "falls": {1: (2,)},
        "resigns": {1: 3},
        "crashes": dict.fromkeys(range(5), 1),
        "rounds": 3,
    },
    "five with crashes": {
        "live": (0, 1, 2, 3, 4),
        "script": "j,L,j,L",
        "crashes": dict.fromkeys(range(5), 1),
        "rounds": 3,
    },
    "the liar is a finalist": {
        "live": (0, 1),
        "witnesses": (2, 3),
        "script": "t0,L,j,L",
        "liar": 0,
        "connected": (1, 2, 3),
        "lies": 6,
        "rounds": 4,
    },
    "five with a liar": {
        "live": (0, 1, 2, 3, 4),
        "script": "t2,j,L,j,L",
        "liar": 2,
        "connected": (0, 1, 3, 4),
        "lies": 6,
        "rounds": 4,
    },
    "two turns, votes of the liar's own": {
        "script": "t0,t1,L,j,L",
        "liar": 0,
        "connected": (1, 2),
        "lies": 8,
        "is_inventing": True,
        "rounds": 4,
    },
    "two fall out, one lies": {
        "live": (0, 1, 2, 3),
        "script": "t0,j,L,j,L",
        "falls": {1: (2, 3)},
        "liar": 0,
        "connected": (1, 2, 3),
        "lies": 6,
        "rounds": 4,
    },
    "a witness lies": {
        "live": (0, 1, 2),
        "witnesses": (3, 4),
        "script": "t0,L,j,L",
        "liar": 4,
        "connected": (0, 1, 2),
        "lies": 5,
        "rounds": 3,
    },
    "the last OPENs with a liar": {
        "live": (0, 1, 2, 3),
        "script": "j,o,L,o,L",
        "liar": 0,
        "connected": (1, 2, 3),
        "lies": 5,
        "rounds": 3,
    },
    "a liar beside crashes": {
        "script": "t0,j,L",
        "liar": 0,
        "connected": (1, 2),
        "lies": 5,
        "crashes": {1: 1, 2: 1},
        "rounds": 3,
    },
    "many rounds of those cut off": {"script": "j,L", "liar": 2, "crashes": {0: 1, 1: 1}, "rounds": 7},
    "many rounds of five cut off": {"live": (0, 1, 2, 3, 4), "script": "t0,j,L", "liar": 2, "rounds": 7},
}
"""Worlds with too many states to visit all of them."""


def claims_of(world: dict[str, Any]) -> tuple[str, ...]:
    """Return the claims that must hold in a world.

    With a liar, players who are cut off from each other are promised only what the explorer always checks. With a liar
    and crashes, *stands* and *in time* are not promised: restarted players in these worlds sign before they ask others
    for lost messages (docs/threat-model.md, *One history*).
    """
    if "liar" in world and "connected" not in world:
        return ()
    return LIAR if "liar" in world and "crashes" not in world else HONEST


def tiers(few: int, many: int, most: int) -> list[Any]:
    """Return three values of a parameter: for ordinary, thorough and slow test runs."""
    return [
        pytest.param(few, id="ordinary"),
        pytest.param(many, id="thorough", marks=pytest.mark.thorough),
        pytest.param(most, id="slow", marks=pytest.mark.slow),
    ]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("limit", tiers(300, 3_000, 1_000_000))
def test_every_state_of_a_small_world(name: str, limit: int) -> None:
    world = WORLDS[name]
    states, _ = Explorer(Table(**world)).explore(claims_of(world), limit)
    assert states >= min(limit, 10_000)


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("walks", tiers(2, 15, 5_000))
def test_long_walks(name: str, walks: int) -> None:
    world = WALKS[name]
    explorer, chance = Explorer(Table(**world)), random.Random(walks)
    for _ in range(walks):
        explorer.walk(chance, 150, claims_of(world), 3 if "liar" in world else 0)


# Mistakes in the rule, in the order of the lines of SPEC.md that they break


class LocksAfterVotes(Ballot):
    """Signs a LOCK after its own vote."""

    @property
    def may_lock(self) -> bool:
        assert self.me is not None
        return not any(signed.message.kind is Kind.LOCK for signed in self.branches.own(self.me))


class ResignsAfterVotes(Ballot):
    """Signs RESIGN after its own vote."""

    @property
    def may_resign(self) -> bool:
        return True


class HolesAtLocks(Ballot):
    """Votes to continue without players who have not signed a LOCK."""

    def wish(self, over: Collection[int]) -> VoteValue | None:
        value, position, held = super().wish(over), self.line[-1], self.held
        is_own = value is not None and self.leading is None and position.kind is Kind.LOCK
        voters = {vote.author for vote in self.votes()}
        absent = set(self.missing).difference(voters, (self.me,))
        if not is_own or not absent:
            return value
        entries = tuple(
            b"" if author in absent else held[author].id if author in held else b"" for author in position.owed
        )
        return VoteValue(position.step, position.tip, entries)

    def _leaving(self, value: VoteValue) -> set[int] | None:
        position = self.branches.positions.get(value.tip)
        if position is not None and position.kind is Kind.LOCK and isinstance(value.entries, tuple):
            return {author for author, entry in zip(position.owed, value.entries, strict=True) if not entry}
        return super()._leaving(value)


class NobodyLeads(Ballot):
    """Votes for the messages that it has, even if there is a polka for another value."""

    @property
    def leading(self) -> Polka | None:
        return None


class FirstPolkaLeads(Ballot):
    """Follows the first polka, not the latest."""

    @property
    def leading(self) -> Polka | None:
        return next(iter(self._counted.polkas), None)


class EveryPolkaLeads(Ballot):
    """Follows polkas that depend on a proven cheat's vote."""

    @property
    def leading(self) -> Polka | None:
        return min(self._counted.polkas, key=lambda polka: (-polka.round, polka.value.order()), default=None)


class OnlyCleanLead(Ballot):
    """Follows only clean polkas, even if a player has closed another one."""

    def _is_closed(self, closes: Any, polka: Polka) -> bool:
        return False


class ForgetsItsClose(Ballot):
    """Keeps only the votes of the last four rounds, even if its own CLOSE depends on older ones."""

    def _forget(self) -> None:
        super()._forget()
        for slot in [slot for slot in self._votes if slot[0] < self.round - 3]:
            del self._votes[slot]


class RoundsOfItsOwn(Ballot):
    """Leaves a round once it has closed it itself, without a majority of others."""

    def _derive(self) -> Any:
        known, closes = self._votes, [vote for vote in self.votes() if vote.is_close and vote.author == self.me]
        alike = {(vote.round, each, True): (vote._replace(value=None),) for vote in closes for each in self.root.base}
        self._votes = {slot: tuple(vote._replace(author=slot[1]) for vote in votes) for slot, votes in alike.items()}
        self._votes.update(known)
        count = super()._derive()
        self._votes = known
        return count


class NeverNil(Ballot):
    """Never closes a round with nil."""

    @property
    def nil_vote(self) -> Vote | None:
        return None


class ClosesAnyRound(Ballot):
    """Closes polkas of earlier rounds, even if it has closed such a round with nil."""

    @property
    def close_vote(self) -> Vote | None:
        found = [polka for polka in self._counted.polkas if self._is_clean(polka)]
        if self.me is None or not found or not self._may_vote:
            return None
        vote = Vote(self.root.tip, self.me, True, found[-1].round, found[-1].value)
        return None if any(vote[:-1] == each[:-1] for each in self.votes()) else vote


class ClosesOnCheats(Ballot):
    """Closes a polka that depends on a proven cheat's vote."""

    def _derive(self) -> Any:
        count = super()._derive()
        values = [polka.value for polka in count.polkas if polka.round == count.round]
        return count._replace(clean=min(values, key=VoteValue.order, default=None))


class BoundByItsLock(Ballot):
    """Never leaves the branch on which it has signed a LOCK."""

    @property
    def line(self) -> list[Position]:
        own = self.branches.own(self.me) if self.me is not None else ()
        locks = (signed.message.tip for signed in own if signed.message.kind is Kind.LOCK)
        return next((self.branches.path(tip) for tip in locks), super().line)


class VotersStandStill(Ballot):
    """Does not follow the history any further once it has voted."""

    @property
    def line(self) -> list[Position]:
        own = [vote.value.tip for vote in self.votes() if vote.author == self.me and vote.value is not None]
        return self.branches.path(own[0]) if own and own[0] in self.branches.positions else super().line


class CheatsCloseNothing(Ballot):
    """Reopens every step with a message of a proven cheat, even if others have signed after it."""

    @property
    def line(self) -> list[Position]:
        line, convicted = super().line, self._convicted
        ends = (
            number
            for number, each in enumerate(line)
            if each.kind is not Kind.LOCK and convicted.intersection(each.owed)
        )
        return line[: next(ends, len(line) - 1) + 1]


class CountsWhoRemains(Ballot):
    """Counts a majority of the players who remain instead of a majority of all."""

    def _is_clean(self, polka: Polka) -> bool:
        leaving = self._leaving(polka.value)
        assert leaving is not None
        position = self.branches.positions[polka.value.tip]
        base = set(position.base).difference(position.left, leaving)
        return 2 * len(polka.voters & base - self._convicted) > len(base)


Elect = Callable[[Position, Collection[int], Iterable[int], Iterable[int]], tuple[int, ...]]


def of_those_who_remain(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Ask for a majority of the players who remain, instead of a majority of all."""
    base = tuple(author for author in position.base if author not in (*position.left, *leaving))
    return elect(position._replace(base=base), (), set(voters).intersection(base), backers)


def more_than_half(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Do not ask for half of the players who stay in the game."""
    counted = set(voters).intersection(position.base).difference(position.left)
    chosen = sorted(counted)[: position.majority]
    return tuple(chosen) if len(chosen) == position.majority and is_possible(position, leaving) else ()


def half_in_the_round(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Count the votes of players who stay in the game in a single round only."""
    return elect(position, leaving, voters, ())


def two_of_several(
    position: Position, leaving: Collection[int], voters: Iterable[int], backers: Iterable[int]
) -> tuple[int, ...]:
    """Also ask for two players who stay in the game, if there are two."""
    stay = set(position.live).difference(leaving)
    is_enough = len(stay.intersection({*voters, *backers})) >= min(2, len(stay))
    return elect(position, leaving, voters, backers) if is_enough else ()


class Planted(NamedTuple):
    """A mistake, and a world that reveals it."""

    claim: str
    """The claim that must fail."""
    world: dict[str, Any]
    seed: int | None = None
    """The seed of a walk that reveals it; None if exploring the first states does."""
    rule: type[Ballot] = Ballot
    quorum: Elect | None = None


TURN: dict[str, Any] = {"script": "t0,L"}
CHEAT: dict[str, Any] = {"script": "t0,L", "liar": 0, "connected": (1, 2), "lies": 4}
FOUR: dict[str, Any] = {"live": (0, 1, 2, 3), "script": "j,L", "liar": 0, "connected": (1, 2, 3), "lies": 4}
TWO_AND_WITNESSES: dict[str, Any] = {"live": (0, 1), "witnesses": (2, 3, 4), "script": "t0,L", "rounds": 1}

PLANTED = {
    "a LOCK after a vote": Planted("live", TURN, rule=LocksAfterVotes),
    "RESIGN after a vote": Planted(
        "agree",
        {"live": (0, 1, 2), "witnesses": (3,), "script": "t0,j,L", "resigns": {1: 1, 2: 1}, "rounds": 1},
        1851,
        ResignsAfterVotes,
    ),
    "holes at a LOCK": Planted("agree", {**TURN, "rounds": 1, "are_locks_ordinary": True}, 0, HolesAtLocks),
    "RESIGN at a LOCK": Planted("agree", {**TURN, "rounds": 1, "are_locks_ordinary": True, "resigns": {1: 1}}, 186),
    "who fell out owes no LOCK": Planted("agree", {**TURN, "falls": {0: (1, 2)}, "is_lock_owed_by_live": True}),
    "a majority of those who remain": Planted(
        "agree", {"live": (0, 1, 2, 3), "script": "j,L", "rounds": 1}, 11, CountsWhoRemains, of_those_who_remain
    ),
    "no half of those who stay": Planted("agree", TWO_AND_WITNESSES, 24, quorum=more_than_half),
    "half in one round": Planted(
        "live", {"live": (0, 1, 2, 3), "witnesses": (4,), "script": "j,L"}, 68, quorum=half_in_the_round
    ),
    "two of several": Planted(
        "live", {"live": (0, 1), "witnesses": (2, 3), "script": "L", "rounds": 1}, quorum=two_of_several
    ),
    "no polka leads": Planted("nobody honest contradicts themselves", TURN, rule=NobodyLeads),
    "the first polka leads": Planted(
        "nobody honest contradicts themselves", {"script": "j,L", "rounds": 3}, 459, FirstPolkaLeads
    ),
    "only clean polkas lead": Planted("nobody honest contradicts themselves", CHEAT, 313, OnlyCleanLead),
    "a CLOSE is forgotten": Planted(
        "nobody honest contradicts themselves", {"script": "j,L", "liar": 2, "rounds": 7}, 1, ForgetsItsClose
    ),
    "never nil": Planted("live", TURN, rule=NeverNil),
    "closes any round": Planted("nobody honest contradicts themselves", TURN, rule=ClosesAnyRound),
    "bound by its LOCK": Planted(
        "live", {"script": "j,L", "liar": 0, "connected": (1, 2), "lies": 4}, rule=BoundByItsLock
    ),
    "voters stand still": Planted("live", {"script": "j,L"}, rule=VotersStandStill),
    "cheats close nothing": Planted("stands", {**FOUR, "script": "t0,t1,L"}, 174, CheatsCloseNothing),
    "no time for cheats": Planted(
        "stands",
        {
            "live": (0, 1, 2, 3, 4),
            "script": "t0,t1,L",
            "liar": 0,
            "connected": (1, 2, 3, 4),
            "lies": 3,
            "rounds": 1,
            "has_no_time_for_cheats": True,
        },
        10_172,
    ),
    "votes are not stored": Planted(
        "nobody honest is convicted", {**TURN, "rounds": 1, "crashes": {2: 1}, "are_votes_forgotten": True}
    ),
    "proofs are not stored": Planted(
        "live", {**CHEAT, "script": "t0,j,L", "lies": 3, "crashes": {2: 1}, "are_proofs_forgotten": True}, 153
    ),
}


def found(planted: Planted, seeds: Iterable[int]) -> tuple[str, int]:
    """Return (claim, seed): the first claim that a mistake violates, and the seed of the walk that reveals it.

    The claim is empty if none is violated. The seed is -1 if the world is explored instead of walked through.
    """
    with ExitStack() as stack:
        if planted.quorum is not None:
            for module in (ballot_module, small_worlds):
                stack.enter_context(replaced(module, elect, planted.quorum))
        explorer, seed = Explorer(Table(**planted.world, rule=planted.rule)), -1
        claims = (planted.claim,) if planted.claim in LIAR else HONEST
        try:
            if planted.seed is None:
                explorer.explore(claims, 12_000)
            for seed in seeds if planted.seed is not None else ():
                explorer.walk(random.Random(seed), 150, claims, 3 if "liar" in planted.world else 0)
        except ViolationError as error:
            return error.claim, seed
    return "", seed


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_found(mistake: str) -> None:
    planted = PLANTED[mistake]
    assert found(planted, (planted.seed or 0,)) == (planted.claim, -1 if planted.seed is None else planted.seed)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", [name for name, planted in PLANTED.items() if planted.seed is not None])
def test_a_planted_mistake_is_first_found_at_its_seed(mistake: str) -> None:
    planted = PLANTED[mistake]
    assert found(planted, range(20_000)) == (planted.claim, planted.seed)


# Mistakes that only rare orders of events reveal. Each order is given event by event.

PUTS_OUT = """
    1 0x@
    1 3o@
    1 0 ABSENT(0,  0x,1o,-,3o, -1)@
    1 vote
    1 2o@
    3 0x@
    3 1o@
    3 1 ABSENT(0,  0x,1o,-,3o, -1)@
    3 vote
    3 0 ABSENT(0,  0x,1o,-,3o, -1)@
    1 3 ABSENT(0,  0x,1o,-,3o, -1)@
    2 1o@
    2 1 ABSENT(0,  0x,1o,-,3o, -1)@
    2 3o@
    2 3 ABSENT(0,  0x,1o,-,3o, -1)@
    2 0 ABSENT(0,  0x,1o,-,3o, -1)@
    3 close
    1 close
    3 1 CLOSE(0,  0x,1o,-,3o, -1)@
    3 0 CLOSE(0,  0x,1o,-,3o, -1)@
    """
"""Player 1 receives 2's message after only 0 and 1 have voted that 2 is absent, and player 3 never receives it."""

COURSES: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing is shown first": ("in time", {**FOUR, "is_inventing": True, "is_impatient": True}, PUTS_OUT),
    "patience by example": ("in time", {**FOUR, "is_inventing": True, "joins_early": True}, PUTS_OUT),
    "closes at once": (
        "agree",
        {**CHEAT, "is_hasty": True},
        """
        1 vote
        1 nil
        2 1 ABSENT(0,  -, -1)@
        2 1 CLOSE(0, nil, -1)@
        2 vote
        1 0x@
        2 close
        1 0 CLOSE(0,  -, -1)@
        1 vote
        2 0x@
        2 1 ABSENT(1, /t0x state, -1)@
        2 0 ABSENT(1, /t0x state, -1)@
        2 close
        2 0 CLOSE(1, /t0x state, -1)@
        1 2 ABSENT(0,  -, -1)@
        1 2 CLOSE(0,  -, -1)@
        """,
    ),
    "closes on cheats": (
        "agree",
        {**CHEAT, "rule": ClosesOnCheats},
        """
        1 vote
        1 0 ABSENT(0,  -, -1)@
        2 0x@
        1 2o@/t0x
        2 0 ABSENT(0,  -, -1)@
        2 vote
        1 2 ABSENT(0, /t0x state, -1)@
        1 0 ABSENT(0, /t0x state, -1)@
        2 0 ABSENT(0, /t0x state, -1)@
        2 close
        1 0x@
        1 2 CLOSE(0, /t0x state, -1)@
        2 1 ABSENT(0,  -, -1)@
        1 close
        1 vote
        2 1 CLOSE(0,  -, -1)@
        2 1 ABSENT(1,  -, 0)@
        2 vote
        1 2 ABSENT(1,  -, 0)@
        1 close
        2 1 CLOSE(1,  -, -1)@
        2 close
        1 0 CLOSE(0, /t0x state, -1)@
        """,
    ),
    "rounds of one's own": (
        "agree",
        {"script": "t0,L", "liar": 0, "rounds": 3, "rule": RoundsOfItsOwn},
        """
        1 vote
        1 nil
        1 vote
        2 0x@
        1 2o@/t0x
        2 1 ABSENT(0,  -, -1)@
        2 vote
        2 0 ABSENT(0, /t0x state, -1)@
        2 close
        2 1 CLOSE(0, nil, -1)@
        2 1 ABSENT(1,  -, -1)@
        2 0 ABSENT(1,  -, -1)@
        2 close
        1 0 ABSENT(1,  -, -1)@
        1 close
        1 2 ABSENT(0, /t0x state, -1)@
        1 2 CLOSE(0, /t0x state, -1)@
        1 2 CLOSE(1,  -, -1)@
        2 0 CLOSE(0, /t0x state, -1)@
        """,
    ),
    "every polka leads": (
        "agree",
        {**CHEAT, "rule": EveryPolkaLeads},
        """
        1 vote
        1 nil
        2 0x@
        1 2o@/t0x
        2 1 ABSENT(0,  -, -1)@
        2 1 CLOSE(0, nil, -1)@
        2 vote
        1 2 ABSENT(0, /t0x state, -1)@
        1 0 ABSENT(0, /t0x state, -1)@
        2 0 ABSENT(0, /t0x state, -1)@
        2 close
        1 0 ABSENT(0,  -, -1)@
        1 0x@
        1 2 CLOSE(0, /t0x state, -1)@
        1 vote
        2 0 ABSENT(0,  -, -1)@
        2 1 ABSENT(1,  -, 0)@
        2 vote
        1 2 ABSENT(1,  -, 0)@
        1 close
        2 1 CLOSE(1,  -, -1)@
        2 close
        1 0 CLOSE(0, /t0x state, -1)@
        """,
    ),
}


def follow(explorer: Explorer, course: str) -> State:
    """Return the state after a sequence of events. :raises LookupError: if one of them cannot happen."""
    state = explorer.start
    for line in course.strip().splitlines():
        player, told = line.strip().split(maxsplit=1)
        state = explorer.take(state, int(player), told)
    return state


@pytest.mark.parametrize("mistake", COURSES)
def test_a_rare_order_in_which_a_mistake_does_harm(mistake: str) -> None:
    claim, world, course = COURSES[mistake]
    explorer = Explorer(Table(**world))
    assert explorer.violated(claim, follow(explorer, course))
    mended = {**world, "rule": Ballot, "is_hasty": False, "is_impatient": False, "joins_early": False}
    with pytest.raises(LookupError):
        follow(Explorer(Table(**mended)), course)
