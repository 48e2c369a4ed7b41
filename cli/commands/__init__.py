"""A module for each command; :mod:`cli.front` imports it when the command runs."""
