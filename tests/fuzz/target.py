"""What a fuzzing target is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.mutation import mutate


@dataclass(frozen=True, slots=True)
class Target:
    """One way in for bytes that nobody vouches for."""

    name: str
    check: Callable[[bytes], None]
    """Give the bytes to the code under test. Returns if they were accepted or refused with the documented error, and
    what must hold then holds; anything else that is raised is a finding."""
    examples: Callable[[], Sequence[bytes]]
    """Inputs that get far, to be mutated."""
    mutate: Callable[[Random, bytes], bytes] = mutate
    """Change an input in a way that keeps most of its structure."""
