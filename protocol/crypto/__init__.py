"""Hashes, keys, dice that nobody can choose, and certificates that carry keys."""
