"""Tournaments in memory, which measure by how much one bot is better than another."""
