"""Every target takes its examples, what becomes of them by a few changes, and any bytes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

EXPENSIVE = {"identity": 15, "store": 25, "verifier": 60, "verify-command": 15}
"""Targets of which one input takes many milliseconds, and how many inputs they get here."""
RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_examples(target: Target) -> None:
    for data in target.examples():
        target.check(data)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_changed_examples(target: Target) -> None:
    examples = target.examples()

    @settings(RELAXED, max_examples=EXPENSIVE.get(target.name, 200))
    @given(st.sampled_from(examples), st.integers(1, 4), st.randoms())
    def changed(data: bytes, changes: int, rng: Random) -> None:
        for _ in range(changes):
            data = target.mutate(rng, data)
        target.check(data)

    changed()


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_any_bytes(target: Target) -> None:
    @settings(RELAXED, max_examples=EXPENSIVE.get(target.name, 60) // 2)
    @given(st.binary(max_size=300))
    def any_bytes(data: bytes) -> None:
        target.check(data)

    any_bytes()
