"""Policies for rounds of classic between two players with at most five dice each, made from solutions of these rounds.

- :mod:`~p2pdice.solved.rounds`: the rounds, and numbers for their moves
- :mod:`~p2pdice.solved.policy`: the policy, by tables and the net that are shipped with the package
- :mod:`~p2pdice.solved.net`: the net, which approximates the solutions of rounds without a table
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation, which requires numba
- :mod:`~p2pdice.solved.training`: from solutions to tables and the net, which requires numba
- :mod:`~p2pdice.solved.exploitability`: the most that an opponent can win against a policy, computed independently

``python -m p2pdice.solved train`` computes tables and net; ``python -m p2pdice.solved check`` reports their quality.
"""
