"""The page's verifier and this program read the same from every input, or both refuse it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.readers import Ask, page, program
from tests.report.structures import STRUCTURES, Structure, contradictions_in_files, differences, inputs
from tests.tiers import thoroughly

every_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda each: each.name.replace(" ", "-"))


@pytest.fixture(scope="module")
def there() -> Iterator[Ask]:
    """The readers of the page."""
    with page() as readers:
        yield readers


@every_structure
def test_both_read_the_same(structure: Structure, there: Ask) -> None:
    differing, answers = differences(structure, inputs(structure, 0, seed=0), there, program())
    assert differing == []
    assert answers >= structure.answers


@pytest.mark.parametrize(
    "structure",
    [*STRUCTURES[::3], *thoroughly(each for number, each in enumerate(STRUCTURES) if number % 3)],
    ids=lambda each: each.name.replace(" ", "-"),
)
def test_a_planted_fault_of_the_page_is_found(structure: Structure) -> None:
    with page(*structure.planted) as faulty:
        assert any(differences(structure, inputs(structure, 0, seed), faulty, program())[0] for seed in range(10))


@every_structure
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "count", [pytest.param(500, marks=pytest.mark.thorough), pytest.param(20_000, marks=pytest.mark.slow)]
)
def test_both_read_the_same_in_many_inputs(structure: Structure, count: int, there: Ask) -> None:
    differing, _ = differences(structure, inputs(structure, count, seed=count), there, program())
    assert differing == []


def test_both_convict_on_contradicting_messages_in_either_order(there: Ask) -> None:
    files, culprits = zip(*contradictions_in_files(), strict=True)
    convicted = [["tmisconduct", f"t{each}"] for each in culprits]
    for ask in (there, program()):
        assert [each[:2] for each in ask("file", files) if isinstance(each, list)] == convicted
