"""Hashes, keys and their words, short codes, dice that nobody can choose, and certificates that carry keys."""
