"""A player who quits in any phase gains no more than the bound in docs/threat-model.md.

Each quitter here falls silent when it owes a message of one kind and has seen everything that the others sent before.
That is the best moment to profit. The others then vote the quitter out.
"""

import pytest

from p2pdice.events import HandsShown, PlayerOut, RoundVoid
from p2pdice.rulesets import PRESETS
from p2pdice.stakes import settlement
from protocol.consensus.kinds import RULES, SCRIPTS, parse_signed
from protocol.consensus.position import Position, Purpose
from protocol.consensus.verifier import Judgement, verify
from protocol.match.match import Match
from protocol.wire.frames import Carried
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind, Signed
from tests.simulation.world import World

HURRIED = Patience(5, 5)
PHASES = [(purpose, kind) for purpose, script in SCRIPTS.items() for kind in script if purpose is not Purpose.FORMING]
LAST = (Purpose.ENDING, Kind.LOCK)
FORMING = [(Purpose.FORMING, Kind.LOCK), (Purpose.SEATING, Kind.COMMIT)]
ROLLS = (Purpose.SEATING, Purpose.DEAL, Purpose.PUBLIC_DIE)
MOTES = PRESETS["motes"]


def named(phase: tuple[Purpose, int]) -> str:
    return f"{phase[0].value}-{RULES[phase[1]].name}"


class Silent(Match):
    """Falls silent for good as soon as it owes a message of this phase."""

    phase: tuple[Purpose, int]
    is_silent = False

    def _do_what_is_owed(self) -> bool:
        position = self.history.position
        is_owed = (position.purpose, position.kind) == self.phase and self.me in position.owed
        if is_owed and (position.purpose is not Purpose.DEAL or self._may_go(position)):
            self.is_silent = True
        return not self.is_silent and super()._do_what_is_owed()

    def _may_go(self, position: Position) -> bool:
        # Wait for the second round: the first deal has no commitments carried by an OPEN message.
        assert position.state is not None
        return position.state.round > 1 or position.kind is Kind.COMMIT

    def _vote(self) -> bool:
        return not self.is_silent and super()._vote()


def play(phase: tuple[Purpose, int], quitters: tuple[int, ...], players: int) -> World:
    kind = type("Quitter", (Silent,), {"phase": phase})
    is_long = phase[0] in (Purpose.STAKES, Purpose.PUBLIC_DIE)
    rules = MOTES if is_long else PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, seed=5, patience=HURRIED, kinds=dict.fromkeys(quitters, kind))
    world.run()
    return world


def happened(world: World, me: int, kind: type) -> list[object]:
    history = world.machines[me].match.history
    return [event for position in history.chain for event, _ in position.happened if isinstance(event, kind)]


@pytest.mark.parametrize("phase", [each for each in PHASES if each not in (*FORMING, LAST)], ids=named)
def test_a_player_who_falls_silent_loses_and_the_others_finish(phase: tuple[Purpose, int]) -> None:
    world = play(phase, (1,), 3)
    histories = [world.machines[me].match.history for me in (0, 2)]
    assert len({history.position.tip for history in histories}) == 1
    history = histories[0]
    state = history.position.state
    assert history.position.purpose is Purpose.END
    assert state is not None
    quitter = history.position.seats.index(1)
    assert state.places[-1] == (quitter,)
    assert history.position.left == (1,)
    assert settlement(state).delta[quitter] <= 0
    verdict = verify(world.machines[0].transcript)
    assert (verdict.verdict, verdict.culprit) == (Judgement.UNPROVEN, None)
    assert world.machines[1].match.history.genesis.roster[1].join.nickname in verdict.reason


def test_a_player_silent_at_the_last_lock_delays_no_player_and_loses_nothing() -> None:
    world = play(LAST, (1,), 3)
    for me in (0, 2):
        history = world.machines[me].match.history
        assert (history.position.purpose, history.position.left) == (Purpose.END, ())
        assert {vote.message.author for vote in history.position.certificate} == {0, 2}
        assert verify(world.machines[me].transcript).verdict == Judgement.FAIR


@pytest.mark.parametrize("phase", [each for each in PHASES if each[0] in ROLLS and each not in FORMING], ids=named)
def test_a_roll_is_discarded_with_all_its_secrets_when_a_player_quits(phase: tuple[Purpose, int]) -> None:
    """After the LOCK a quitter may know the outcome, so no secret of that roll may be used again. A player silent
    at the LOCK itself is evicted at the REVEAL: the others go on without the LOCK, and then without the share."""
    purpose, kind = phase
    world = play(phase, (1,), 3)
    chain = world.machines[0].match.history.chain
    (left,) = (place for place, position in enumerate(chain) if position.left and not chain[place - 1].left)
    before, after = chain[left - 1], chain[left]
    assert (before.purpose, before.kind) == (purpose, Kind.REVEAL if kind is Kind.LOCK else kind)
    if kind is Kind.COMMIT:
        assert after.committed is not None
        assert set(after.committed.given) == {0, 2}  # the roll goes on with the players who committed
        return
    assert (after.purpose, after.kind, after.committed) == (purpose, Kind.COMMIT, None)
    assert before.committed is not None
    anew = chain[left + 1].committed
    assert anew is not None
    old = {commitment for commitments in before.committed.given.values() for commitment in commitments}
    new = {commitment for commitments in anew.given.values() for commitment in commitments}
    assert not old & new


@pytest.mark.parametrize("quitters", [(1,), (1, 2)])
def test_giving_up_m_seats_causes_at_most_m_new_draws(quitters: tuple[int, ...]) -> None:
    """A quitter at the REVEAL causes one new roll for each seat given up, which is the bound in the threat model."""

    class OneByOne(Silent):
        phase = (Purpose.DEAL, Kind.REVEAL)

        def _may_go(self, position: Position) -> bool:
            mates = [author for author in quitters if author not in position.left]
            return super()._may_go(position) and bool(mates) and mates[0] == self.me

    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, 5, seed=3, patience=HURRIED, kinds=dict.fromkeys(quitters, OneByOne))
    world.run()
    chain = world.machines[0].match.history.chain
    assert chain[-1].purpose is Purpose.END
    assert chain[-1].left == quitters
    draws: dict[int, int] = {}
    for position in chain:
        if (position.purpose, position.kind) == (Purpose.DEAL, Kind.REVEAL):
            assert position.state is not None
            draws[position.state.round] = draws.get(position.state.round, 0) + 1
    assert max(draws.values()) == len(quitters) + 1
    assert sorted(draws.values())[:-1] == [1] * (len(draws) - 1)


def test_withholding_an_opening_voids_at_most_one_round_and_costs_the_seat() -> None:
    world = play((Purpose.SHOWDOWN, Kind.OPEN), (1,), 3)
    assert len(happened(world, 0, RoundVoid)) <= 1
    (out,) = [event for event in happened(world, 0, PlayerOut) if event.reason == "evicted"]  # type: ignore[attr-defined]
    seats = world.machines[0].match.history.position.seats
    assert out.seat == seats.index(1)  # type: ignore[attr-defined]
    shown = happened(world, 0, HandsShown)
    hidden = [event for event in shown if event.hands[seats.index(1)] is None]  # type: ignore[attr-defined]
    assert len(hidden) <= 1


def test_one_of_two_players_never_deals_again_alone() -> None:
    """One player of two is not a majority, so the match waits and the remaining player does not win."""
    world = play((Purpose.DEAL, Kind.REVEAL), (1,), 2)
    history = world.machines[0].match.history
    assert history.position.kind is Kind.REVEAL
    assert history.position.left == ()
    assert not world.machines[0].transcript


@pytest.mark.parametrize("phase", FORMING, ids=named)
def test_a_match_does_not_form_without_every_signature_on_the_genesis(
    phase: tuple[Purpose, int],
) -> None:
    world = play(phase, (1,), 3)
    for machine in world.machines:
        position = machine.match.history.position
        assert (position.purpose, position.kind) == phase
        assert not machine.match.is_formed
        assert not machine.proofs
        assert not machine.transcript


# False claims that a player is silent


class Deaf(Match):
    """Ignores everything that player 0 signs once the match runs, and so claims falsely that player 0 is silent."""

    def _take(self, sender: int, signed: Signed) -> None:
        is_dropped = signed.message.author == 0 and signed.message.step > 5
        if not is_dropped:
            super()._take(sender, signed)


@pytest.mark.parametrize(("players", "liars"), [(3, (1, 2)), (5, (1, 2, 3))])
def test_a_lying_majority_can_evict_a_player_without_proof(players: int, liars: tuple[int, ...]) -> None:
    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, seed=2, patience=HURRIED, kinds=dict.fromkeys(liars, Deaf))
    world.run()
    honest = world.machines[0].match
    assert honest.history.position.left == (0,)
    assert not any(machine.proofs for machine in world.machines)
    verdict = verify(world.machines[1].transcript)
    assert (verdict.verdict, verdict.culprit) == (Judgement.UNPROVEN, None)
    names = [entry.join.nickname for entry in world.genesis.roster]
    assert f"{names[0]} was silent" in verdict.reason
    # Honest players who followed the majority may be named in the claim, too.
    said_by = verdict.reason.partition(", say ")[2].split(", ")
    assert len(said_by) == players // 2 + 1


@pytest.mark.parametrize(("players", "liars"), [(3, (1,)), (5, (1, 2))])
def test_a_minority_that_calls_a_player_silent_is_left_behind(players: int, liars: tuple[int, ...]) -> None:
    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, seed=2, patience=HURRIED, kinds=dict.fromkeys(liars, Deaf))
    honest = [machine for me, machine in enumerate(world.machines) if me not in liars]
    while not all(machine.transcript for machine in honest):
        assert world.step()
    assert {machine.match.history.position.left for machine in honest} == {liars}


def lose_one_message(players: int, losers: tuple[int, ...]) -> World:
    """Drop one move of player 0 on the way to the losers, although all links are up."""
    worlds = (lose_one_message_of(seed, players, losers) for seed in range(3, 30))
    return next(world for world in worlds if world is not None)


def lose_one_message_of(seed: int, players: int, losers: tuple[int, ...]) -> World | None:
    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, seed, patience=HURRIED)
    lost = b""
    send = world.send

    def lossy(me: int, other: int, frame: object) -> None:
        nonlocal lost
        if me == 0 and isinstance(frame, Carried):
            following = world.machines[0].match.history.position
            is_move = parse_signed(*frame).message.kind is Kind.MOVE
            # The next player must be a loser; otherwise the next message would reveal the gap.
            if not lost and is_move and following.purpose is Purpose.TURN and set(following.owed) <= set(losers):
                lost = frame.data
            if frame.data == lost and other in losers:
                return
        send(me, other, frame)  # type: ignore[arg-type]

    while not all(machine.match.is_formed for machine in world.machines):
        world.step()
    world.send = lossy  # type: ignore[method-assign]
    world.run()
    return world if lost else None


@pytest.mark.parametrize(("players", "losers"), [(3, (1,)), (4, (1, 2)), (5, (1, 2)), (5, (1, 2, 3))])
def test_no_player_is_evicted_if_a_connected_player_has_their_message(players: int, losers: tuple[int, ...]) -> None:
    """Neither the author nor the losers are evicted, because waiting nodes ask the others for messages in time."""
    world = lose_one_message(players, losers)
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    assert world.machines[0].match.history.position.purpose is Purpose.END
    assert world.machines[0].match.history.position.left == ()
