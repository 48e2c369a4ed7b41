"""Solved rounds of classic between two players with at most five dice each.

- :mod:`~p2pdice.solved.policy`: the policy, by tables and a net that are shipped with the package
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation, which requires numba
- :mod:`~p2pdice.solved.distil`: the training of the net on the solutions, which requires numba
- :mod:`~p2pdice.solved.exploitability`: the most that an opponent can win against a policy, computed independently

``python -m p2pdice.solved train`` computes tables and net; ``python -m p2pdice.solved check`` reports their quality.
"""
