"""Sentences: events, rules and odds in words, and the names and lists of matches and players."""
