"""What happened in the matches that are over: one match in figures, and the record of a player over all of them."""
