"""The output of runs with different seeds can be added up."""

from collections.abc import Iterator
from functools import cache

import pytest

from tests.simulation import campaign as seeds
from tests.simulation.__main__ import campaign
from tests.simulation.adding import NotAddableError, Sum


@pytest.fixture(autouse=True, scope="module")
def each_seed_runs_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "run_seed", cache(seeds.run_seed))
        yield


def run(capsys: pytest.CaptureFixture[str], first: int, count: int) -> str:
    """Return the output of a run of these seeds."""
    assert campaign(first, count, jobs=1) == 0
    return capsys.readouterr().out


def counts(output: str) -> list[str]:
    """Return the rows of all tables with a single column of numbers."""
    return [line for line in output.splitlines() if line.startswith("| ") and line.count("|") == 3]


def cost(output: str, name: str) -> list[str]:
    """Return the row of one misbehaviour in the table of costs."""
    rows = [line.strip("| ").split(" | ") for line in output.splitlines() if line.startswith(f"| {name} |")]
    return next(row for row in rows if len(row) > 2)


def test_two_runs_add_up_to_the_run_of_all_their_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, both = run(capsys, 7, 2), run(capsys, 9, 2), run(capsys, 7, 4)
    total = Sum()
    total.add(second)
    total.add(first)
    added = total.as_markdown()
    assert added.startswith("4 seeds (7 to 10) in 2 runs")
    hours = "| virtual hours"  # printed with one decimal by each run
    assert [row for row in counts(added) if hours not in row] == [row for row in counts(both) if hours not in row]
    worlds, out, _, until_out, _, halt, _, stored, *_ = cost(both, "nothing")[1:]
    assert cost(added, "nothing")[1:6] == [worlds, out, until_out, halt, stored]


def test_no_seed_is_counted_twice(capsys: pytest.CaptureFixture[str]) -> None:
    total = Sum()
    total.add(run(capsys, 7, 2))
    with pytest.raises(NotAddableError, match="seeds 8 to 8 overlap seeds 7 to 8"):
        total.add(run(capsys, 8, 1))


def test_the_output_of_an_unfinished_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotAddableError, match="one finished run"):
        Sum().add(run(capsys, 7, 1).split("\n\n")[0].partition("failures")[0])
