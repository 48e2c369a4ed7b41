"""What a peer may send is counted for the peer, over all its links and keys."""

from __future__ import annotations

import pytest

from protocol.limits import BURST, FIRST_FRAMES, RATE, Limits
from protocol.net.link import Allowance, Allowances

ADA, BEN = b"Ada".ljust(32), b"Ben".ljust(32)


def link(allowances: Allowances, key: bytes, host: str) -> Allowance:
    allowance = allowances.of(key, host, is_own_machine=False)
    assert allowance is not None
    return allowance


def says(allowance: Allowance, frames: int, now: float = 0, frame: bytes = b"said") -> int:
    """Have so many frames come over a link; return how many are read at once."""
    for number in range(frames):
        if allowance.must_wait(now):
            return number
        allowance.count(frame, now)
    return frames


def test_a_player_has_one_allowance_over_all_links_and_from_all_addresses() -> None:
    allowances = Allowances(Limits())
    allowances.roster = {ADA}
    assert says(link(allowances, ADA, "192.0.2.1"), 2 * BURST) == BURST
    for number in range(2, 9):
        assert says(link(allowances, ADA, f"192.0.2.{number}"), BURST) == FIRST_FRAMES
    assert says(link(allowances, ADA, "192.0.2.9"), BURST, now=2) == 2 * RATE - 7 * FIRST_FRAMES


@pytest.mark.parametrize(
    ("others", "is_the_same"),
    [("192.0.2.1", True), ("192.0.2.2", False), ("2001:db8::2", True), ("2001:db8:0:1::2", False)],
)
def test_strangers_have_one_allowance_for_each_place_whatever_their_keys(others: str, is_the_same: bool) -> None:
    allowances = Allowances(Limits())
    mine = "2001:db8::1" if ":" in others else "192.0.2.1"
    assert says(link(allowances, ADA, mine), 2 * BURST) == BURST
    assert says(link(allowances, BEN, others), BURST) == (FIRST_FRAMES if is_the_same else BURST)


def test_a_stranger_over_the_rate_holds_up_no_player_and_no_newcomer() -> None:
    """Those who come from the same place can greet and ask for a seat, and then they are players."""
    allowances = Allowances(Limits())
    assert says(link(allowances, ADA, "192.0.2.1"), 2 * BURST) == BURST
    newcomer = link(allowances, BEN, "192.0.2.1")
    assert says(newcomer, 2) == 2
    allowances.roster = {BEN}
    assert says(newcomer, BURST) == BURST


def test_first_frames_that_never_wait_count() -> None:
    allowances = Allowances(Limits())
    for _ in range(BURST // FIRST_FRAMES):
        assert says(link(allowances, ADA, "192.0.2.1"), FIRST_FRAMES) == FIRST_FRAMES
    assert says(link(allowances, ADA, "192.0.2.1"), BURST) == FIRST_FRAMES


def test_records_that_carry_next_to_nothing_end_what_never_waits() -> None:
    allowances = Allowances(Limits())
    allowance = link(allowances, ADA, "192.0.2.1")
    allowance.count_records(BURST, now=0)
    assert says(allowance, 1) == 0


def test_long_frames_are_counted_by_their_bytes_over_all_links() -> None:
    bounds = Limits()
    allowances = Allowances(bounds)
    page = bytes(bounds.frame)
    first = says(link(allowances, ADA, "192.0.2.1"), 1000, frame=page)
    assert first == bounds.catch_up_burst // len(page)
    assert says(link(allowances, ADA, "192.0.2.1"), 1000, frame=page) == FIRST_FRAMES


def test_programs_of_this_machine_are_not_counted() -> None:
    assert Allowances(Limits()).of(ADA, "127.0.0.1", is_own_machine=True) is None
