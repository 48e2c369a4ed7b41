"""``python -m tests.fuzz.guided TARGET CORPUS [libFuzzer's options]``: one guided run. ``long`` starts this process."""

from __future__ import annotations

import sys
from random import Random


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["p2pdice", "protocol", "cli"]):
        from tests.fuzz.targets import TARGETS

    name, *arguments = sys.argv[1:]
    target = TARGETS[name]

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = Random(seed)
        changed = target.mutate(rng, data) if rng.randrange(2) else atheris.Mutate(data, max_size)
        return changed[:max_size]

    atheris.Setup([sys.argv[0], *arguments], target.check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
