"""A match and its lobby as one node lives them. No I/O, no clock."""
