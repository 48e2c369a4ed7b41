"""Hashes, joint randomness, keys and their words, short codes, and the certificates that carry keys."""
