"""The agreement: how laptops that do not trust each other play one game."""
