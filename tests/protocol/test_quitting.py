"""What it brings to leave, in each phase in which one can: never more than the bound that docs/threat-model.md states.

A quitter here falls silent for good at the moment when a message of one kind is owed, after having seen whatever the
others sent before: the best moment for whoever wants to profit by it. The others vote them out.
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
    """Says nothing any more once a message of this phase is owed and all others have sent theirs."""

    phase: tuple[Purpose, int]
    is_silent = False

    def _do_what_is_owed(self) -> bool:
        position = self.history.position
        is_owed = (position.purpose, position.kind) == self.phase and self.me in position.owed
        if is_owed and (position.purpose is not Purpose.DEAL or self._may_go(position)):
            self.is_silent = True
        return not self.is_silent and super()._do_what_is_owed()

    def _may_go(self, position: Position) -> bool:
        # In the second round: the first deal has no commitments that rode in an opening.
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


def test_who_falls_silent_at_the_last_lock_holds_nobody_up_and_loses_nothing() -> None:
    world = play(LAST, (1,), 3)
    for me in (0, 2):
        history = world.machines[me].match.history
        assert (history.position.purpose, history.position.left) == (Purpose.END, ())
        assert {vote.message.author for vote in history.position.certificate} == {0, 2}
        assert verify(world.machines[me].transcript).verdict == Judgement.FAIR


@pytest.mark.parametrize("phase", [each for each in PHASES if each[0] in ROLLS and each not in FORMING], ids=named)
def test_a_roll_that_somebody_left_is_thrown_away_with_all_its_secrets(phase: tuple[Purpose, int]) -> None:
    """Behind the LOCK the one who leaves may know the outcome: nothing of that roll may be used again. Nobody leaves at
    the LOCK itself: the others go on without its message, and then without the share."""
    purpose, kind = phase
    world = play(phase, (1,), 3)
    chain = world.machines[0].match.history.chain
    (left,) = (place for place, position in enumerate(chain) if position.left and not chain[place - 1].left)
    before, after = chain[left - 1], chain[left]
    assert (before.purpose, before.kind) == (purpose, Kind.REVEAL if kind is Kind.LOCK else kind)
    if kind is Kind.COMMIT:
        assert after.committed is not None
        assert set(after.committed.given) == {0, 2}  # it goes on with those who committed
        return
    assert (after.purpose, after.kind, after.committed) == (purpose, Kind.COMMIT, None)
    assert before.committed is not None
    anew = chain[left + 1].committed
    assert anew is not None
    old = {commitment for commitments in before.committed.given.values() for commitment in commitments}
    new = {commitment for commitments in anew.given.values() for commitment in commitments}
    assert not old & new


@pytest.mark.parametrize("quitters", [(1,), (1, 2)])
def test_m_sacrificed_seats_buy_their_friends_no_more_than_m_further_draws(quitters: tuple[int, ...]) -> None:
    """The bound that is stated: who leaves at the REVEAL lets the roll be repeated, once for each seat given up."""

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


def test_a_withheld_opening_makes_one_round_void_at_most_and_costs_the_seat() -> None:
    world = play((Purpose.SHOWDOWN, Kind.OPEN), (1,), 3)
    assert len(happened(world, 0, RoundVoid)) <= 1
    (out,) = [event for event in happened(world, 0, PlayerOut) if event.reason == "evicted"]  # type: ignore[attr-defined]
    seats = world.machines[0].match.history.position.seats
    assert out.seat == seats.index(1)  # type: ignore[attr-defined]
    shown = happened(world, 0, HandsShown)
    hidden = [event for event in shown if event.hands[seats.index(1)] is None]  # type: ignore[attr-defined]
    assert len(hidden) <= 1


def test_two_players_never_deal_anew_without_each_other() -> None:
    """Of two nobody is a majority: the match waits, and is never won by whoever is still there."""
    world = play((Purpose.DEAL, Kind.REVEAL), (1,), 2)
    history = world.machines[0].match.history
    assert history.position.kind is Kind.REVEAL
    assert history.position.left == ()
    assert not world.machines[0].transcript


@pytest.mark.parametrize("phase", FORMING, ids=named)
def test_a_player_who_signs_no_genesis_only_keeps_the_match_from_beginning(
    phase: tuple[Purpose, int],
) -> None:
    world = play(phase, (1,), 3)
    for machine in world.machines:
        position = machine.match.history.position
        assert (position.purpose, position.kind) == phase
        assert not machine.match.is_formed
        assert not machine.proofs
        assert not machine.transcript


# Who is called silent, and by whom


class Deaf(Match):
    """Takes nothing that player 0 signed once the match runs: a liar who says that they are silent."""

    def _take(self, sender: int, signed: Signed) -> None:
        is_dropped = signed.message.author == 0 and signed.message.step > 5
        if not is_dropped:
            super()._take(sender, signed)


@pytest.mark.parametrize(("players", "liars"), [(3, (1, 2)), (5, (1, 2, 3))])
def test_a_lying_majority_can_put_a_player_out_without_proof(players: int, liars: tuple[int, ...]) -> None:
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
    # Honest players who went along with the majority can be among those who say so.
    said_by = verdict.reason.partition(", say ")[2].split(", ")
    assert len(said_by) == players // 2 + 1


@pytest.mark.parametrize(("players", "liars"), [(3, (1,)), (5, (1, 2))])
def test_a_minority_that_calls_somebody_silent_is_left_behind(players: int, liars: tuple[int, ...]) -> None:
    rules = PRESETS["classic"].with_options({"dice": "2"})
    world = World(rules, players, seed=2, patience=HURRIED, kinds=dict.fromkeys(liars, Deaf))
    honest = [machine for me, machine in enumerate(world.machines) if me not in liars]
    while not all(machine.transcript for machine in honest):
        assert world.step()
    assert {machine.match.history.position.left for machine in honest} == {liars}


def lose_one_message(players: int, losers: tuple[int, ...]) -> World:
    """Let a move of player 0 be lost on the way to some, while all links stand."""
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
            # One after which somebody is on turn who misses it: else what comes next would tell that it is missing.
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
def test_nobody_is_put_out_whose_message_a_connected_player_has(players: int, losers: tuple[int, ...]) -> None:
    """Neither its author, nor whoever was not shown it and so could not answer: who waits asks the others in time."""
    world = lose_one_message(players, losers)
    assert len({machine.match.history.position.tip for machine in world.machines}) == 1
    assert world.machines[0].match.history.position.purpose is Purpose.END
    assert world.machines[0].match.history.position.left == ()
