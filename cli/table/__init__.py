"""The user interface at a table: its state, its pictures on the full screen, its lines, and the typed words."""
