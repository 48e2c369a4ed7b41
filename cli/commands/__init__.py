"""The commands. :mod:`cli.front` imports a command's module when the command runs."""
