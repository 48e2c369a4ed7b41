"""Test vectors that a program makes: ``python -m tests.vectors`` writes the files, and SPEC.md's part about them."""
