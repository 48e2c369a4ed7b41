"""The simulator catches every planted bug, by the check that the bug names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol.consensus import replica as replica_module
from protocol.consensus.kinds import parse_signed
from protocol.match.match import Match
from tests.simulation.campaign import run_seed
from tests.simulation.invariants import Check
from tests.simulation.plant import Bug, NotCaughtError, Plant, catch, first_catch
from tests.simulation.planted import PLANTED, WITHIN, as_row, own_messages_are_not_stored
from tests.simulation.replacing import NoTargetError, replaced
from tests.tiers import thoroughly

LOOKED_AT = 200
""".ci/run runs all seeds below this one, without planted bugs."""
FIRST = {bug.check: name for name, bug in reversed([*PLANTED.items()])}.values()
"""The first bug for each check."""
RELIABILITY = Path(__file__).parents[2] / "docs" / "reliability.md"


@pytest.mark.parametrize("name", [*FIRST, *thoroughly(name for name in PLANTED if name not in FIRST)])
def test_a_planted_bug_is_caught(name: str) -> None:
    bug = PLANTED[name]
    assert bug.seed < WITHIN
    assert catch(bug, bug.seed), f"not at seed {bug.seed}; run python -m tests.simulation.planted {name!r}"


@pytest.mark.parametrize("seed", sorted({bug.seed for bug in PLANTED.values() if bug.seed >= LOOKED_AT}))
def test_nothing_is_caught_without_a_planted_bug(seed: int) -> None:
    assert not run_seed(seed).failure, "the seed fails even without a planted bug"


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_no_seed_fails_otherwise_before_a_planted_bug_is_caught(name: str) -> None:
    assert first_catch(PLANTED[name], WITHIN) <= PLANTED[name].seed


def test_the_page_on_reliability_names_seed_and_check_of_every_bug() -> None:
    section = RELIABILITY.read_text(encoding="utf-8").partition("### Planted bugs")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .*\| *\d+ *\|.*\|$", section, re.MULTILINE)
    assert rows == [as_row(name) for name in PLANTED]


# What does not count as catching a bug


@contextmanager
def reads_what_is_gone(plant: Plant) -> Iterator[None]:
    """A plant with an error: it reads an attribute that no longer exists."""
    handle = Match.handle

    def bad(match: Match, item: object, now: float) -> object:
        plant.runs()
        return match._resumed  # type: ignore[attr-defined]

    Match.handle = bad  # type: ignore[assignment, method-assign]
    yield
    Match.handle = handle  # type: ignore[method-assign]


@contextmanager
def does_nothing(plant: Plant) -> Iterator[None]:
    yield


@contextmanager
def is_found_but_never_runs(plant: Plant) -> Iterator[None]:
    with own_messages_are_not_stored(Plant()):
        yield


def test_an_exception_does_not_count_as_a_catch() -> None:
    with pytest.raises(NotCaughtError, match=r"an exception instead of a failed check(.|\n)*AttributeError"):
        catch(Bug(reads_what_is_gone, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0), 0)


def test_another_failed_check_does_not_count_as_a_catch() -> None:
    with pytest.raises(NotCaughtError, match="this failed first: messages are stored before sending"):
        catch(Bug(own_messages_are_not_stored, Check.ONE_MESSAGE_PER_SLOT, 0), 0)


def test_a_bug_that_never_ran_does_not_count_as_caught() -> None:
    with pytest.raises(NotCaughtError, match="never ran"):
        catch(Bug(is_found_but_never_runs, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0), 0)
    assert not catch(Bug(does_nothing, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0), 0)
    with pytest.raises(NotCaughtError, match="not caught by 2 seeds"):
        first_catch(Bug(does_nothing, Check.MESSAGES_ARE_STORED_BEFORE_SENDING, 0), 2)


def test_a_plant_whose_target_is_gone_fails() -> None:
    assert "parse_signed" not in vars(replica_module)
    with pytest.raises(NoTargetError), replaced(replica_module, parse_signed, parse_signed):
        raise AssertionError("the target was replaced")


def test_a_plant_is_removed_even_after_an_exception() -> None:
    handle = Match.handle

    def fail() -> None:
        with own_messages_are_not_stored(Plant()):
            assert Match.handle is not handle
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert Match.handle is handle
