"""The home of a player: the store, people, backups, transcripts, and the archive of matches."""
