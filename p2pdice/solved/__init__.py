"""Rounds of classic between two players with at most three dice each: solved, and how to play them.

- :mod:`~p2pdice.solved.policy`: the rounds, the tables that come with the package, and a player who plays by them
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation; it needs numpy
- :mod:`~p2pdice.solved.exploitability`: the most that anybody can win against a policy, worked out another way

``python -m p2pdice.solved`` makes the tables and says how good they are.
"""

from __future__ import annotations

from p2pdice.solved.policy import SolvedPlayer, solved_move

__all__ = ["SolvedPlayer", "solved_move"]
