"""Texts for people: events, rules and odds as sentences, and the names and lists of matches and players."""
