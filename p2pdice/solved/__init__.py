"""The policies of ``mind``: solutions of rounds of classic between two players, and a net that learnt by self-play.

- :mod:`~p2pdice.solved.policy`: the policy, by tables and the nets that are shipped with the package
- :mod:`~p2pdice.solved.rounds`: the rounds of classic between two, and numbers for their moves
- :mod:`~p2pdice.solved.net`: the net that approximates the solutions of such rounds without a table
- :mod:`~p2pdice.solved.learnt`: the net that has learnt rounds of more players and of other rulesets by self-play
- :mod:`~p2pdice.solved.solve`: counterfactual regret minimisation, which requires numba
- :mod:`~p2pdice.solved.selfplay`: magnetic mirror descent, which requires numba
- :mod:`~p2pdice.solved.perceptron`: nets in training, which require numpy
- :mod:`~p2pdice.solved.training`: makes all tables and nets, which requires numba
- :mod:`~p2pdice.solved.exploitability`: the most that an opponent can win against a policy, computed independently

``python -m p2pdice.solved train`` computes tables and nets; ``python -m p2pdice.solved check`` reports the quality of
the solutions.
"""
