"""What the tests of the protocol share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.signatures import cached_checks


@pytest.fixture(scope="module", autouse=True)
def checked_once() -> Iterator[None]:
    """Check each signature once in a file of tests: the nodes of a world and the judge are given the same ones."""
    with cached_checks():
        yield
