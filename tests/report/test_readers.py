"""The page's verifier and this program read every structure alike: both refuse it, or both read the same in it."""

from __future__ import annotations

import pytest

from tests.report.readers import page, program
from tests.report.structures import STRUCTURES, Structure, differences, inputs
from tests.tiers import thoroughly

every_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda each: each.name.replace(" ", "-"))


@every_structure
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [0, *thoroughly([20_000])])
def test_both_read_the_same(structure: Structure, count: int) -> None:
    with page() as there:
        differing, answers = differences(structure, inputs(structure, count, seed=count), there, program())
    assert differing == []
    assert answers >= structure.answers


@every_structure
def test_a_fault_of_the_page_is_found(structure: Structure) -> None:
    with page(*structure.planted) as there:
        assert any(differences(structure, inputs(structure, 0, seed), there, program())[0] for seed in range(10))
