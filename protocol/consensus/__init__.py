"""The history that the players of a match agree on: its rules, replicas and verifier. No I/O."""
