"""A node: one player's program on the LAN, made of the other wings."""
