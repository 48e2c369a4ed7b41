"""A person's table: its board, its pictures, and the words that can be typed there."""
