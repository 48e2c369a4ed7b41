"""Programs and house players at a table, their processes, and what drives the engine without a network."""
