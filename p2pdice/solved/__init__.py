"""Rounds of classic between two players with at most three dice each: solved, and how to play them.

- :mod:`~p2pdice.solved.rounds`: the bid sequences of such a round, from the engine
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation; it needs numpy
- :mod:`~p2pdice.solved.exploitability`: the most that anybody can win against a policy, worked out another way
- :mod:`~p2pdice.solved.policy`: the tables that come with the package
- :mod:`~p2pdice.solved.player`: a player who plays by them

``python -m p2pdice.solved`` makes the tables and says how good they are.
"""

from __future__ import annotations

from p2pdice.solved.player import SolvedPlayer
from p2pdice.solved.policy import solved_move

__all__ = ["SolvedPlayer", "solved_move"]
