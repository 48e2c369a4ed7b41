"""Questions before something that cannot be undone."""

from __future__ import annotations

import typer

from cli.exits import ExitCode, Failure
from cli.output import agrees
from cli.settings import is_interactive


def confirm(question: str, is_sure: bool, command: str, *, as_json: bool = False) -> None:
    """Let the owner say yes.

    :param is_sure: they have said so already.
    :param command: the one that does not ask.
    :param as_json: standard output is data, so nothing can be asked.
    :raises Failure: if nobody can be asked.
    :raises typer.Exit: if they do not say yes.
    """
    if is_sure:
        return
    if as_json or not is_interactive():
        why = "with --json nothing is asked" if as_json else "there is no terminal to ask at"
        hint = f"If you are sure: {command}"
        raise Failure(f"Nothing was changed: {why}.", hint=hint, code=ExitCode.USAGE)
    if not agrees(question):
        print("Nothing was changed.")
        raise typer.Exit(ExitCode.DONE)
