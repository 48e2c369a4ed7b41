"""What a fuzzing target is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.mutation import mutate


@dataclass(frozen=True, slots=True)
class Target:
    """A function of the program that reads untrusted bytes."""

    name: str
    check: Callable[[bytes], None]
    """Passes the bytes to the code under test. Returns if they were accepted, or refused with the documented error, and
    all assertions hold. Any exception is a finding."""
    examples: Callable[[], Sequence[bytes]]
    """Mostly valid inputs, to be mutated."""
    mutate: Callable[[Random, bytes], bytes] = mutate
    """Changes an input, but keeps most of its structure."""
