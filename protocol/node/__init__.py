"""A node: one player's program on the LAN, built from the other subpackages."""
