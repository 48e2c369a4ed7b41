"""One module a command; imported by cli.front when the command runs."""
