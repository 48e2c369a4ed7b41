"""Every ruleset played over the protocol, which knows none of their rules."""

import random
import re
from pathlib import Path

import pytest

import protocol
from p2pdice.moves import Stake
from p2pdice.players import OddsPlayer
from p2pdice.rulesets import PRESETS, Ruleset
from p2pdice.stakes import NEWCOMER_COINS
from p2pdice.views import state_json
from protocol.consensus.position import Purpose
from protocol.consensus.verifier import verify
from protocol.wire.genesis import Patience
from protocol.wire.messages import Kind
from tests.simulation.world import World
from tests.tiers import thoroughly


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("players", [2, *thoroughly([5])])
def test_every_preset_ends_with_identical_fair_transcripts(preset: str, players: int) -> None:
    world = World(PRESETS[preset], players, seed=players)
    world.run()
    (transcript,) = {machine.transcript for machine in world.machines}
    assert verify(transcript).verdict == "fair"


@pytest.mark.parametrize("seed", [*range(5), *thoroughly(range(5, 15))])
def test_random_rulesets_with_crashes_end_with_identical_fair_transcripts(seed: int) -> None:
    rng = random.Random(seed)
    world = World(house_rules(rng), rng.randrange(2, 5), seed)
    for _ in range(12):
        for _ in range(rng.randrange(60)):
            world.step()
        me = rng.randrange(len(world.machines))
        world.crash(me)
        world.restart(me)
    world.run()
    (transcript,) = {machine.transcript for machine in world.machines}
    assert verify(transcript).verdict == "fair"


def house_rules(rng: random.Random) -> Ruleset:
    """Return a random preset, with stakes and fewer dice if it allows them."""
    preset = PRESETS[rng.choice(sorted(PRESETS))]
    if preset.motes:
        return preset
    return preset.with_options(
        {"dice": str(rng.randrange(1, 4)), "stakes": rng.choice(["yes", "no"]), "dice-cap": "none"}
    )


def test_the_prize_and_powers_that_roll_use_joint_randomness() -> None:
    world = World(PRESETS["motes"], 3, seed=3)
    world.run()
    purposes = [position.purpose for position in world.machines[0].match.history.chain]
    assert Purpose.STAKES in purposes
    assert Purpose.PUBLIC_DIE in purposes


class Spender(OddsPlayer):
    """A player who stakes all coins and tickets."""

    def stake(self, funds: int, tickets: int) -> Stake:
        return Stake(funds, tickets)


def test_stakes_are_sealed_until_all_are_locked_and_then_opened_to_all() -> None:
    world = World(PRESETS["classic"].with_options({"stakes": "yes", "dice": "1"}), 3, seed=4, player=Spender)
    world.run()
    chain = world.machines[0].match.history.chain
    opened = [signed for position in chain for signed in position.entries.values() if signed.message.kind is Kind.STAKE]
    assert len(opened) == 3
    kinds = [position.kind for position in chain if position.purpose is Purpose.STAKES]
    assert kinds == [Kind.COMMIT, Kind.LOCK, Kind.STAKE]
    state = chain[-1].state
    assert state is not None
    (winner,) = state.winners
    # All players staked 1,000 of 1,000: the pool is 3,000, and the bonus 1,000 × 1,000 / 1,000.
    assert state_payout(world)[winner] == 4000


def test_in_a_match_without_purses_all_players_are_newcomers() -> None:
    rules = PRESETS["classic"].with_options({"stakes": "yes", "dice": "1"})
    first = World(rules, 3, seed=4, player=Spender)
    first.run()
    second = World(rules, 3, seed=4, player=Spender, patience=Patience(3600, 1800))  # the same players in another match
    second.run()
    assert max(state_payout(first)) == 4000
    assert [record.join.identity for record in first.genesis.roster] == [
        record.join.identity for record in second.genesis.roster
    ]
    state = second.machines[0].match.history.position.state
    assert state is not None
    assert {(wager.funds, wager.owned) for wager in state.wagers} == {(NEWCOMER_COINS, 0)}


def state_payout(world: World) -> tuple[int, ...]:
    state = world.machines[0].match.history.position.state
    assert state is not None
    payout = state_json(state)["payout"]
    assert isinstance(payout, list)
    return tuple(payout)


def test_a_stake_survives_a_crash_between_commitment_and_opening() -> None:
    world = World(PRESETS["classic"].with_options({"stakes": "yes", "dice": "1"}), 2, seed=5, player=Spender)
    while not any(machine.choices for machine in world.machines):
        world.step()
    me = next(me for me, machine in enumerate(world.machines) if machine.choices)
    world.crash(me)
    world.restart(me)
    world.run()
    (transcript,) = {machine.transcript for machine in world.machines}
    assert verify(transcript).verdict == "fair"


def test_a_match_ends_although_a_player_loses_the_stored_stake() -> None:
    world = World(PRESETS["classic"].with_options({"stakes": "yes", "dice": "1"}), 3, seed=6, player=Spender)
    while not any(machine.choices for machine in world.machines):
        world.step()
    me = next(me for me, machine in enumerate(world.machines) if machine.choices)
    for _ in range(6):
        world.step()
    world.crash(me)
    world.machines[me].choices.clear()
    world.restart(me)
    world.run()
    history = world.machines[(me + 1) % 3].match.history
    assert history.position.purpose is Purpose.END
    resigned = [s for p in history.chain for s in p.entries.values() if s.message.kind is Kind.RESIGN]
    assert [signed.message.author for signed in resigned] in ([me], [])


def test_the_protocol_names_no_preset_and_no_power() -> None:
    """So a new ruleset or power needs no change to the protocol."""
    words = {*PRESETS, "light", "grey", "neutral", "blue", "red", "dark", "palifico", "siding", "liar", "exact"} - {
        "plain"
    }
    found = {}
    for path in Path(protocol.__file__).parent.rglob("*.py"):
        code = re.sub(r'"""(?:.|\n)*?"""|#.*|>>>.*', "", path.read_text(encoding="utf-8"))
        if hits := words & set(re.findall(r"[\"']([a-z-]+)[\"']", code)):
            found[path.name] = hits
    assert not found
