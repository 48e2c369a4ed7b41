"""Simulated matches of real nodes in one process, with a virtual clock, a seeded scheduler, and links that can fail."""
