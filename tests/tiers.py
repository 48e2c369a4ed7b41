"""Marks for test parameters that the README's command leaves to longer runs; see docs/testing.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def thoroughly(values: Iterable[object]) -> list[ParameterSet]:
    """Return values of a parameter that only thorough runs try, in addition to those of every run."""
    return [pytest.param(value, marks=pytest.mark.thorough) for value in values]


def slowly(values: Iterable[object]) -> list[ParameterSet]:
    """Return values of a parameter that only slow runs try."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
