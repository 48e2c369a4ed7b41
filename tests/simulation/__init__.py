"""Whole matches of real nodes in one process: a virtual clock, a seeded scheduler, links that can fail."""
