"""Tournaments in memory: which bot is better, by how much, and how sure that is."""
