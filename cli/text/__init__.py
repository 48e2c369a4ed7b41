"""Sentences: what happens, the rules and the odds in words, and how matches and players are named and listed."""
