"""Solved rounds of classic between two players with at most three dice each, and a player that uses them.

- :mod:`~p2pdice.solved.policy`: the rounds, the policies shipped with the package, and the player
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation, which requires numpy
- :mod:`~p2pdice.solved.exploitability`: the most that an opponent can win against a policy, computed independently

``python -m p2pdice.solved`` computes the policies and reports their quality.
"""

from __future__ import annotations

from p2pdice.solved.policy import SolvedPlayer, solved_move

__all__ = ["SolvedPlayer", "solved_move"]
