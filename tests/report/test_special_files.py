"""Both verifiers give the expected verdict on files that scripts have made, each of them special in one respect."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.report.corpus import Sample
from tests.report.readers import node
from tests.report.test_agreement import check


@pytest.mark.parametrize(("script", "least"), [("histories.js", 65), ("purses.js", 29)])
def test_both_verifiers_judge_each_file_as_the_specification_says(script: str, least: int, tmp_path: Path) -> None:
    command = [node(), str(Path(__file__).with_name(script)), str(tmp_path)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    due: dict[str, list[Sample]] = defaultdict(list)
    for path in sorted(tmp_path.iterdir()):
        verdict, _, name = path.stem.partition(", ")
        due[verdict].append(Sample(name, path.read_bytes()))
    assert sum(map(len, due.values())) >= least
    for verdict, samples in due.items():
        assert check(samples) == {verdict: len(samples)}
