"""The environment passes PettingZoo's tests, plays by the engine's rules, and rewards the winner."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pdice.errors import RulesetError
from p2pdice.moves import Bid
from p2pdice.rulesets import OPTIONS, PRESETS
from p2pdice.vector import encode

if TYPE_CHECKING:
    from pettingzoo.test import api_test, seed_test

    from p2pdice.environment import LiarsDice


@pytest.fixture(scope="module", autouse=True)
def _pettingzoo() -> None:
    """Import PettingZoo, slowly, only in workers that run these tests, and not in all that collect them."""
    global LiarsDice, api_test, seed_test
    from pettingzoo.test import api_test, seed_test

    from p2pdice.environment import LiarsDice


def play(env: LiarsDice, seed: int) -> tuple[list[tuple[str, int]], dict[str, float]]:
    """Play a random match; return its actions and each agent's total reward."""
    rng, actions = Random(seed), []
    env.reset(seed=seed)
    rewards = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _info = env.last()
        rewards[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        assert env.observation_space(agent).contains(observation)
        legal = [number for number, is_legal in enumerate(observation["action_mask"]) if is_legal]
        actions.append((agent, rng.choice(legal)))
        env.step(actions[-1][1])
    return actions, rewards


# PettingZoo's test warns of unusual spaces and observations, which are intended here.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("rules", "dice", "players"), [*((name, "5", 3) for name in PRESETS if name != "motes"), ("classic", "1", 2)]
)
def test_pettingzoo_finds_no_fault(rules: str, dice: str, players: int) -> None:
    api_test(LiarsDice(PRESETS[rules].with_options({"dice": dice}), players), num_cycles=400)


@given(
    st.fixed_dictionaries(
        {
            "dice": st.sampled_from(["1", "2", "3"]),
            **{
                name: st.sampled_from(OPTIONS[name].choices)
                for name in OPTIONS
                if name not in ("motes", "stakes", "dice")
            },
        }
    ),
    st.sampled_from([2, 3, 4, 10]),
    st.integers(0, 2**32),
)
def test_any_ruleset_is_played_to_its_end(options: dict[str, str], players: int, seed: int) -> None:
    try:
        ruleset = PRESETS["classic"].with_options(options)
    except RulesetError:
        return
    _, rewards = play(LiarsDice(ruleset, players), seed)
    assert sum(rewards.values()) == pytest.approx(0)
    assert max(rewards.values()) == 1.0


@pytest.mark.parametrize("dice", [1, 2, 5])
@pytest.mark.parametrize("rules", ["classic", "spot-on", "plain", "joker"])
def test_the_last_action_is_the_highest_listed_bid(rules: str, dice: int) -> None:
    env = LiarsDice(PRESETS[rules].with_options({"dice": f"{dice}"}), players=3)
    env.reset(seed=1)
    opening = env.observe(env.agent_selection)["action_mask"]
    assert opening[encode(Bid(3 * dice, 6))]
    assert len(opening) == encode(Bid(3 * dice, 6)) + 1


@pytest.mark.filterwarnings("ignore")
def test_a_seed_determines_the_match() -> None:
    seed_test(lambda: LiarsDice("classic", players=3), num_cycles=200)


def test_equal_seeds_repeat_a_match_and_others_do_not() -> None:
    env = LiarsDice("classic", 3)
    assert play(env, 1) == play(env, 1) != play(env, 2)


def test_an_illegal_action_loses_the_match() -> None:
    env = LiarsDice("classic", 3)
    env.reset(seed=1)
    loser = env.agent_selection
    env.step(0)  # there is no bid that could be called
    assert env.rewards == {agent: -1.0 if agent == loser else 0.5 for agent in env.possible_agents}
    assert all(env.terminations.values())


@pytest.mark.parametrize("action", [0, 1, 2, 5, 6])
def test_every_action_is_legal_or_ends_the_match(action: int) -> None:
    env = LiarsDice("classic", 3)
    env.reset(seed=1)
    player, legal = env.agent_selection, env.observe(env.agent_selection)["action_mask"][action]
    assert env.action_space(player).contains(action)
    env.step(action)
    assert env.rewards[player] == (0.0 if legal else -1.0)
    assert all(env.terminations.values()) is not bool(legal)


def test_a_player_on_turn_cannot_step_without_a_move() -> None:
    env = LiarsDice("classic", 2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="has to make a move"):
        env.step(None)


def test_only_the_chosen_render_mode_renders() -> None:
    silent, speaking = LiarsDice(), LiarsDice(render_mode="ansi")
    silent.reset(seed=1)
    speaking.reset(seed=1)
    assert (silent.render(), speaking.render()) == (None, "dice 5 5, bid none")
    with pytest.raises(ValueError, match="human"):
        LiarsDice(render_mode="human")


def test_observations_hide_the_dice_of_others() -> None:
    def seen(agent: int, other_dice: list[int]) -> Any:
        env = LiarsDice("classic", 2)
        env.reset(seed=1)
        env._hands = ((1, 2, 3, 4, 5), tuple(other_dice))
        return env.observe(f"player_{agent}")["observation"].tolist()

    assert seen(0, [6, 6, 6, 6, 6]) == seen(0, [1, 1, 1, 1, 1])
    assert seen(1, [6, 6, 6, 6, 6]) != seen(1, [1, 1, 1, 1, 1])


def test_other_rules_are_refused() -> None:
    with pytest.raises(RulesetError, match="motes"):
        LiarsDice("motes")
