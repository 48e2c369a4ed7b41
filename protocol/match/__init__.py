"""A match and its lobby as one node runs them. No I/O, no clock."""
