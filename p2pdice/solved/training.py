"""The stages of training, and the files of their results: solutions first, then tables and the net.

A working folder keeps what is finished: a solution for each round, and the state of the net every thousand steps. So
training that is interrupted continues there. It depends on nothing but its :class:`Plan`; with numpy limited to one
thread, the same versions of the libraries on the same machine yield the same bytes. Requires numba.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from p2pdice.solved import net, tables
from p2pdice.solved.distil import SCALE, Lessons, Pupil
from p2pdice.solved.solve import Reals, Solver, Tree, table

TREMBLE: Final = 0.01
"""The tremble of solutions from which the net learns. Tables have none: what they leave out is never reached."""
SAVED: Final = 1000
"""The state of the net is saved after this many steps."""

Say = Callable[[str], None]
"""Called with each line about the progress."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to train, and with which random numbers."""

    seed: int
    table_iterations: int
    """Iterations for each table."""
    iterations: int
    """Iterations for each round from which the net learns."""
    steps: int
    """Training steps of the net."""


def train(plan: Plan, folder: Path, package: Path, say: Say) -> None:
    """Make the tables and the net, continuing from what the folder holds, and write them to ``package``.

    :raises ValueError: if the folder belongs to another plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "plan.json"
    text = json.dumps(asdict(plan))
    if record.exists() and record.read_text() != text:
        raise ValueError(f"{folder} belongs to other training: {record.read_text()}")
    _write(record, text.encode())
    results = {}
    solutions = {}
    numbers = range(1, net.MOST + 1)
    for dice in product(numbers, numbers):
        if max(dice) <= tables.MOST:
            results[tables.file_name(*dice)] = _table(dice, plan, folder, say)
        else:
            solutions[dice] = _solution(dice, plan, folder, say)
    results[net.FILE] = _distilled(Lessons(solutions), plan, folder, say)
    for name, packed in results.items():
        _write(package / name, packed)
        say(f"{name}: {len(packed):,} bytes")


def _table(dice: tuple[int, int], plan: Plan, folder: Path, say: Say) -> bytes:
    path = folder / tables.file_name(*dice)
    if not path.exists():
        tree = Tree(*dice)
        _write(path, tables.pack(*dice, table(tree, _solved(tree, 0.0, plan.table_iterations, say))))
    return path.read_bytes()


def _solution(dice: tuple[int, int], plan: Plan, folder: Path, say: Say) -> npt.NDArray[np.uint16]:
    path = folder / f"{dice[0]}-{dice[1]}.npy"
    if not path.exists():
        solution = _solved(Tree(*dice), TREMBLE, plan.iterations, say)
        with _part(path).open("wb") as file:
            np.save(file, np.rint(solution * SCALE).astype(np.uint16))
        _part(path).replace(path)
    found: npt.NDArray[np.uint16] = np.load(path)
    return found


def _solved(tree: Tree, tremble: float, iterations: int, say: Say) -> Reals:
    say(f"{tree.dice[0]} against {tree.dice[1]} dice: {len(tree.bids):,} sequences of bids, {iterations} iterations")
    solver = Solver(tree, tremble)
    for _ in range(iterations):
        solver.iterate()
    return solver.strategy()


def _distilled(lessons: Lessons, plan: Plan, folder: Path, say: Say) -> bytes:
    pupil = Pupil(plan.seed, plan.steps)
    path = folder / "net.npz"
    if path.exists():
        with np.load(path) as saved:
            pupil.restore(saved)
    losses = []
    while pupil.step < plan.steps:
        losses.append(pupil.learn(lessons))
        if pupil.step % SAVED == 0 or pupil.step == plan.steps:
            say(f"step {pupil.step:,} of {plan.steps:,}: divergence {np.mean(losses):.4f}")
            losses.clear()
            with _part(path).open("wb") as file:
                np.savez(file, **pupil.saved())
            _part(path).replace(path)
    return net.pack([net.Layer(weights.tolist(), biases.tolist()) for weights, biases in pupil.layers])


def _write(path: Path, content: bytes) -> None:
    _part(path).write_bytes(content)
    _part(path).replace(path)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")
