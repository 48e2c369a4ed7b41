"""The history that the players of a match agree on: its rules, its replicas, its judge. No I/O."""
