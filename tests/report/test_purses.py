"""Matches with purses: purses.js makes them and knows what is due. Both verifiers say so."""

import subprocess
from pathlib import Path

import pytest

from tests.report.corpus import Sample
from tests.report.readers import node
from tests.report.test_agreement import check


@pytest.mark.thorough
def test_both_verifiers_judge_purses_and_stakes_as_the_specification_says(tmp_path: Path) -> None:
    command = [node(), str(Path(__file__).with_name("purses.js")), str(tmp_path)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    made = sorted(tmp_path.iterdir())
    assert len(made) > 50
    for path in made:
        verdict, _, name = path.stem.partition(", ")
        assert check([Sample(name, path.read_bytes())]) == {verdict: 1}, name
