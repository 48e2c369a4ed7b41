"""A liar can neither put out nor delay an honest, linked player, whether others relay his messages or he sends them."""

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
"""Seconds by which an attack may delay an honest player's messages, if the player has a core of its own.

On a busy machine the player takes longer for each message, while the attack is as fast as before.
"""
MEMORY: Final = 32 * 1024 * 1024
"""Bytes of memory that an attack may cost an honest player."""


def withstand(folder: Path, seats: int, attack: Attack) -> Outcome:
    """Check that honest players lose nothing through one liar's attack.

    A delay or a lost link is measured once more before it fails a test, because the machine may have been busy.
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
            assert outcome.lost == (), "a player who is throttled, or throttles, is not silent"
        if outcome.later <= LATER * outcome.slowness and not lost:
            break
    assert outcome.later <= LATER * outcome.slowness
    assert lost == []
    return outcome


def are_honest(link: str, seats: int) -> bool:
    """Return whether neither player of a link is the liar."""
    return NAMES[seats - 1] not in link


@pytest.mark.parametrize("seats", [*thoroughly([5]), *slowly([3])])
def test_votes_over_new_links_do_not_overtake_honest_messages(tmp_path: Path, seats: int) -> None:
    """The victim was once put out after six seconds, because the others' messages waited behind 2,660 votes.

    With three players that happened in one match of ten even without any delay, because one voter was enough.
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
    """Each of the three others relays the messages that the liar signs as he plays, and a repeated vote only once."""
    outcome = withstand(tmp_path, 5, replace(AT_THE_LIMIT, kind=kind))
    assert outcome.passed_on <= 3 * (outcome.signed + CALM)
    assert outcome.thrown > 2 * outcome.passed_on


@pytest.mark.parametrize(
    "kind", ["mixed", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "mixed")]
)
def test_a_flood_over_the_liars_own_link_delays_no_other_player(tmp_path: Path, kind: str) -> None:
    """The link stays as well: neither a throttled peer nor one that throttles counts as silent."""
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
