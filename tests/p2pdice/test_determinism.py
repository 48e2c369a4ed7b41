"""Equal inputs give equal states and events in every process."""

import os
import pickle
import subprocess
import sys
from hashlib import sha256
from random import Random

from p2pdice.engine import legal_moves
from p2pdice.rulesets import PRESETS
from p2pdice.state import plain

from .scripted import random_play


def digest() -> str:
    """Return a digest of all states and events of one random match for each preset."""
    digest = sha256()
    for name, ruleset in PRESETS.items():
        for _, state, events in random_play(ruleset, 6, Random(name), departures=0.02):
            digest.update(repr((plain(state), events)).encode())
    return digest.hexdigest()


def test_a_state_is_the_same_after_pickling() -> None:
    for name, ruleset in PRESETS.items():
        for _, state, _ in random_play(ruleset, 3, Random(name)):
            copy = pickle.loads(pickle.dumps(state))
            assert (copy, hash(copy), legal_moves(copy)) == (state, hash(state), legal_moves(state))


def test_matches_do_not_depend_on_hash_randomization() -> None:
    def in_process(seed: str) -> str:
        code = f"from {__name__} import digest; print(digest())"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    assert {in_process("0"), in_process("1"), in_process("4711")} == {digest()}
