"""A liar can neither evict nor delay honest players, whether he floods them directly or others relay his flood."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from protocol.limits import BURST, RATE
from tests.network.liar import KINDS
from tests.network.namespaces import lan
from tests.network.relays import AT_THE_LIMIT, CALM, FULL_SPEED, NAMES, NEW_LINKS, Attack, Outcome, attacked
from tests.tiers import slowly, thoroughly

LATER: Final = 0.25
"""Seconds by which an attack may delay the messages of an honest player that has a core of its own.

On a busy machine, a player needs longer for each message, but the attack is as fast as ever.
"""
MEMORY: Final = 32 * 1024 * 1024
"""Bytes of memory that an attack may cost an honest player."""


def withstand(folder: Path, seats: int, attack: Attack) -> Outcome:
    """Check that one liar's attack costs honest players nothing.

    After a delay or a lost link, the match is played once more before the test fails: the machine may have been busy.
    """
    for number in range(2):
        (at := folder / str(number)).mkdir()
        with lan(seats) as wire:
            outcome = asyncio.run(attacked(at, wire, seats, attack))
        print(f"{seats} players, {attack}: {outcome}")
        assert outcome.thrown > RATE
        assert outcome.put_out == ()
        lost = [link for link in outcome.lost if are_honest(link, seats)]
        assert outcome.is_in_order
        assert len(outcome.winners) == 1
        assert outcome.memory < MEMORY
        assert outcome.stored <= outcome.signed + BURST
        if not attack.is_apart and not attack.is_anew:
            assert outcome.lost == (), "throttling must not make a link count as silent"
        if outcome.later <= LATER * outcome.slowness and not lost:
            break
    assert outcome.later <= LATER * outcome.slowness
    assert lost == []
    return outcome


def are_honest(link: str, seats: int) -> bool:
    """Return whether both players of a link are honest."""
    return NAMES[seats - 1] not in link


@pytest.mark.parametrize("seats", [*thoroughly([5]), *slowly([3])])
def test_votes_over_new_links_do_not_overtake_honest_messages(tmp_path: Path, seats: int) -> None:
    """The victim was once voted out after six seconds, because the others' messages were queued behind 2,660 votes.

    With three players, it happened in one of ten matches even without a delay, because one vote was enough.
    """
    withstand(tmp_path, seats, NEW_LINKS)


@pytest.mark.slow
@pytest.mark.parametrize("seats", [3, 5])
@pytest.mark.parametrize("attack", [AT_THE_LIMIT, NEW_LINKS, FULL_SPEED], ids=["limit", "new links", "full speed"])
@pytest.mark.parametrize("kind", ["votes", "mixed"])
def test_relayed_floods_do_not_delay_honest_messages(tmp_path: Path, kind: str, attack: Attack, seats: int) -> None:
    withstand(tmp_path, seats, replace(attack, kind=kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["far_votes", "votes_elsewhere", "elsewhere", "future", "repeated"])
def test_useless_messages_are_not_relayed(tmp_path: Path, kind: str) -> None:
    """Each of the three other players relays only the liar's moves, and a repeated vote once."""
    outcome = withstand(tmp_path, 5, replace(AT_THE_LIMIT, kind=kind))
    assert outcome.passed_on <= 3 * (outcome.signed + CALM)
    assert outcome.thrown > 2 * outcome.passed_on


@pytest.mark.parametrize(
    "kind", ["mixed", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "mixed")]
)
def test_a_flood_over_the_liars_own_link_delays_no_other_player(tmp_path: Path, kind: str) -> None:
    """The link also stays up: neither the throttled peer nor the throttling one counts as silent."""
    withstand(tmp_path, 3, replace(FULL_SPEED, kind=kind, is_apart=False))


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [AT_THE_LIMIT, NEW_LINKS, replace(FULL_SPEED, in_pieces=True)],
    ids=["limit", "new links", "a byte in a record"],
)
@pytest.mark.parametrize("seats", [3, 5])
def test_more_floods_over_the_liars_own_link_delay_no_other_player(tmp_path: Path, seats: int, attack: Attack) -> None:
    withstand(tmp_path, seats, replace(attack, kind="mixed", is_apart=False))
