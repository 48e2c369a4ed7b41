"""The policies of ``mind``: solved rounds of classic between two players, and nets trained by self-play.

- :mod:`~p2pdice.solved.policy`: the policy, from the tables and nets in this package
- :mod:`~p2pdice.solved.rounds`: rounds of classic between two players, and numbers for their moves
- :mod:`~p2pdice.solved.net`: the net that approximates the solutions of rounds without a table
- :mod:`~p2pdice.solved.learnt`: nets trained by self-play, for more players and other rulesets
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation, which requires numba
- :mod:`~p2pdice.solved.selfplay`: magnetic mirror descent, which requires numba
- :mod:`~p2pdice.solved.perceptron`: the training of nets, which requires numpy
- :mod:`~p2pdice.solved.training`: computes all tables and nets, which requires numba
- :mod:`~p2pdice.solved.exploitability`: the most that an opponent can win against a policy, computed independently

``python -m p2pdice.solved train`` computes tables and nets; ``python -m p2pdice.solved check`` reports the quality of
the solutions.
"""
