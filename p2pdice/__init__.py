"""The game: pure rules, no I/O, no clock, no randomness."""
