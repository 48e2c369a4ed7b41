"""Bots: programs and house players, their seats at a table, their processes, and the engine as a filter."""
