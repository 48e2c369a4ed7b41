"""Bots: programs and house players, their seats and processes, and the referee, which runs the engine as a filter."""
