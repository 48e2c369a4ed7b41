"""Fuzzing: whatever comes in is accepted, or refused with the one documented error.

A :class:`~tests.fuzz.target.Target` says what one kind of input must hold to. hypothesis runs all of them in
``test_targets``; ``python -m tests.fuzz.long TARGET --seconds N`` runs one under atheris, guided by coverage.
"""
