"""The home of a player: the store, transcripts, and names of matches."""
