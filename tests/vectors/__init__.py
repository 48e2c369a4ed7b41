"""Generated test vectors: ``python -m tests.vectors`` writes the files, and the tables and traces in SPEC.md."""
