"""Fuzzing: every input is accepted, or refused with the documented error.

A :class:`~tests.fuzz.target.Target` checks this for one kind of input. ``test_targets`` runs all of them with
hypothesis. ``python -m tests.fuzz.long TARGET --seconds N`` runs one with atheris, which is guided by coverage.
"""
