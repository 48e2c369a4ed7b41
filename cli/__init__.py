"""The command line: Typer commands, the tables at which people play, and bots."""

from __future__ import annotations

import gc
import sys

from p2pdice.version import VERSION

__all__ = ["VERSION", "main"]


def main() -> None:
    """Run the command line in ``sys.argv`` and end the process with the exit code that :mod:`cli.exits` documents."""
    try:
        if sys.argv[1:] == ["--version"]:
            # Scripts may call this in a loop, so it does not import the command line parser.
            _print_version()
            return
        gc.disable()  # until cli.front has imported the command: see gc_paused there
        from cli.boundary import run

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)


def _print_version() -> None:
    try:
        print(f"p2pdice {VERSION}", flush=True)
    except OSError as error:
        from cli.output import discard_output

        discard_output()
        sys.exit(1 if isinstance(error, BrokenPipeError) else f"Error: {error.strerror}.")
