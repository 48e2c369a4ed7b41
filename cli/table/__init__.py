"""The table as a person sees it: what is on it, how it is shown, and what can be typed at it."""
