"""Links between nodes, and how tables are found on a LAN."""
