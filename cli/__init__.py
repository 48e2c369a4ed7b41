"""The front door: Typer commands, the line-mode table, house bots."""
