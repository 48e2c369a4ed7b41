"""The verifier in JavaScript and ``p2pdice verify`` agree on every file: on the verdict, the culprit and all counts."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import Judgement
from tests.cli.test_replay import play
from tests.protocol.mutations import play as small
from tests.report.corpus import VECTORS, Sample, changes, samples
from tests.report.readers import node, page, program
from tests.report.structures import sort
from tests.simulation.world import played
from tests.tiers import thoroughly

MAKER = Path(__file__).with_name("make.js")
AT_ONCE = 500
"""The number of files in memory at a time."""


def check(chosen: Iterable[Sample]) -> Counter[str]:
    """Check that both verifiers give the same answer for each file, and return how often each verdict occurred."""
    seen: Counter[str] = Counter()
    rest = iter(chosen)
    with page() as there:
        here = program()
        while some := list(islice(rest, AT_ONCE)):
            files = [sample.data for sample in some]
            for sample, one, other in zip(some, there("file", files), here("file", files), strict=True):
                assert one == other, sample.label
                seen[sort("file", one)] += 1
    return seen


def made(count: int, folder: Path) -> list[Sample]:
    """Return matches made in JavaScript: Python's verdict reveals mistakes in the JavaScript rules."""
    done = subprocess.run(
        [node(), str(MAKER), str(folder), str(count), "made"],
        capture_output=True,
        text=True,
        check=True,
        timeout=3600,
    )
    found = [Sample(Path(path).name, Path(path).read_bytes()) for path in done.stdout.splitlines()]
    assert len(found) == count
    return found


@pytest.mark.parametrize("name", ["classic", "motes"])
def test_both_verifiers_agree_on_a_fair_match(name: str) -> None:
    data = play(PRESETS[name]).machines[0].transcript
    assert check([Sample(name, data)]) == {"fair": 1}


def test_both_verifiers_agree_on_vectors_and_changed_files() -> None:
    rng = random.Random(3)
    tiny = small(PRESETS["classic"].with_options({"dice": "1"}), 2, 3)
    unfinished = Sample("unfinished", tiny.data[: len(tiny.data) - len(tiny.rest(len(tiny.messages) // 2))])
    changed = rng.sample([*changes("classic", tiny, rng)], 60)
    seen = check([*islice(samples(1), len(VECTORS)), unfinished, *changed])
    assert seen.keys() >= {Judgement.MISCONDUCT, Judgement.ALTERED, Judgement.INCOMPLETE}


@pytest.mark.parametrize("count", [12, *thoroughly([60])])
def test_both_verifiers_agree_on_departures_votes_and_misconduct(count: int, tmp_path: Path) -> None:
    assert check(made(count, tmp_path)).keys() >= {
        Judgement.FAIR,
        Judgement.MISCONDUCT,
        Judgement.INCOMPLETE,
    }


@pytest.mark.thorough
def test_both_verifiers_agree_on_fair_matches_of_all_rules_and_many_sizes() -> None:
    chosen = [Sample(f"{name} {size}", played(rules, size, 2)) for name, rules in PRESETS.items() for size in (2, 4)]
    chosen.append(Sample("classic 10", played(PRESETS["classic"], 10, 2)))
    assert check(chosen) == {"fair": len(chosen)}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_both_verifiers_agree_on_ten_thousand_files(tmp_path: Path) -> None:
    seen = check(chain(made(1_000, tmp_path), islice(samples(1), 9_000)))
    assert seen.total() == 10_000
    assert min(seen[each] for each in Judgement if each is not Judgement.OTHER_VERSION) >= 200, seen
