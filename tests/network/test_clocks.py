"""Players whose clocks show different years can play together. libfaketime, if it is installed, sets the clocks."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from tests.network.processes import agree, processes
from tests.network.test_processes import LOOPBACK

PLACES: Final = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime")


def at_year(year: int | None) -> tuple[str, ...]:
    """Return the command prefix that starts a command on 3 January of a year; empty for the real time."""
    if year is None:
        return ()
    found = [each for place in PLACES for each in Path("/").glob(f"{place[1:]}/libfaketime.so.1")]
    if sys.platform != "linux" or not found:
        pytest.skip("no other clock without libfaketime: install the package faketime")
    return (
        "env",
        f"LD_PRELOAD={found[0]}",
        f"FAKETIME=@{year}-01-03 12:00:00",
        # The monotonic clock, which event loops and timeouts use, stays real.
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
    )


@pytest.mark.parametrize(
    ("host", "guest"),
    [
        (1970, None),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in [(None, 1970), (1970, 2100), (2039, None), (None, 2100)]
        ),
    ],
)
async def test_players_whose_clocks_show_different_years_finish_a_match(
    tmp_path: Path, host: int | None, guest: int | None
) -> None:
    one_die = ("--dice", "1")
    async with processes(tmp_path) as at:
        ada = await at.start("A", "--host", "2", *one_die, *LOOPBACK, prefix=at_year(host))
        line = (await ada.until("opened"))["join_line"]
        ben = await at.start("B", "--join", line, *LOOPBACK, prefix=at_year(guest))
        await agree(ada, ben)
    for name, year in (("A", host), ("B", guest)):
        (transcript,) = (tmp_path / name / "matches").iterdir()
        assert transcript.name.startswith(f"{year or datetime.now().year}-")
