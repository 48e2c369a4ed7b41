"""Words: how matches are named and moves are said."""
