"""What a home keeps: the store, transcripts, and how matches are named."""
