"""Text: how matches, transcripts and players are named and listed, and what a bid was worth, in sentences."""
