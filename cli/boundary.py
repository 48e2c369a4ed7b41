"""The boundary between commands and shell: the only place that turns errors into messages and exit codes."""

from __future__ import annotations

import os
import re
import sys
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from cli.exits import ExitCode, Failure, code_of
from cli.output import discard_output, guard, say
from cli.render import command_line, escape, harmless, one_line, sentence, shown, shown_path, stated
from cli.settings import Settings, home_words, take_passphrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocol.errors import ProtocolError


def run() -> int:
    """Run the command line in ``sys.argv`` and return its exit code. No exception of the command escapes."""
    settings = Settings()
    take_passphrases()
    _open_closed_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A character that the console cannot encode, or input in a wrong encoding, must not end a match.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    guard()
    return _finish(_run(settings))


def _finish(code: int) -> int:
    """Flush the output, and return the final exit code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        # A closed pipe means that the reader has seen enough. If the command failed, its error was already reported.
        if code == ExitCode.DONE and not isinstance(error, BrokenPipeError):
            report(as_failure(error) or Failure("The output could not be written."), sys.stderr)
        return ExitCode.FAILURE
    return code


def _open_closed_streams() -> None:
    # Otherwise the next file, perhaps the store, would get the descriptor of a closed stream, and its output in it.
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - stays open until the process ends
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _run(settings: Settings) -> int:
    try:
        from cli.front import build

        code = build().main(prog_name="p2pdice", obj=settings, standalone_mode=False)
        return code if isinstance(code, int) else ExitCode.DONE
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.FAILURE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.FAILURE
    except Exception as error:  # noqa: BLE001 - nothing outside of this function handles exceptions
        if (code := tell_misuse(error)) is not None:
            return code
        if (stranded := _stranded(error)) is not None:
            report(stranded, sys.stderr)  # without --home, whose path cannot be resolved here
            return stranded.code
        failure = as_failure(error) or _unexpected(error, settings)
        report(failure, sys.stderr, home_words(settings.home_if_any))
        return failure.code


def tell_misuse(error: Any) -> int | None:
    """Print a usage error of Typer and return its exit code; return None for any other error.

    Usage errors are recognized by their attributes, because Typer vendors click and keeps its classes private.
    """
    if not hasattr(error, "format_message"):
        return 1 if type(error).__name__ == "Abort" else None
    ctx = getattr(error, "ctx", None)
    if isinstance(hint := getattr(error, "param_hint", None), str):
        error.param_hint = (hint,)  # in a sequence, so that Typer quotes it, as it quotes its own hints
    option = getattr(error, "option_name", "")
    if ctx is not None and option and not option.startswith("--"):
        error.message = _not_an_option(ctx, option)
    if ctx is None or error.message != ctx.get_help():
        error.message = harmless(error.message).replace("\n", "\\x0a")  # the message can contain typed text, unescaped
    shown = StringIO()
    error.show(file=shown)
    say(shown.getvalue().removesuffix("\n"), sys.stderr)
    return int(error.exit_code)


def _not_an_option(ctx: Any, option: str) -> str:
    """Return the error message for an argument such as ``-50``, which begins with a dash but is no option.

    :param option: the dash and the first character after it.
    """
    word = next((each for each in sys.argv[1:] if each.startswith(option)), option)
    command = ctx.command_path.split()[1:]
    takes_words = any(each.param_type_name == "argument" for each in ctx.command.params) and command[:1] != ["bot"]
    remedy = f" If it is a name or a file: {command_line(*command, '--', word)}" if takes_words else ""
    return f"There is no option {word}.{remedy}"


def report(failure: Failure, stream: TextIO, home: Sequence[str] = ()) -> None:
    """Print a failure: the problem, its cause, and what to type next.

    :param home: the arguments that select the player's home. They are added to each recommended command that lacks
        ``--home``: typed without them, it would act on another home.
    """
    # Each command has a line to itself, so that nothing else is copied with it.
    choices = (f"{meaning}:\n    {_at_home(typed, home)}" for typed, meaning in failure.choices)
    prose = (f"Error: {failure.what}", failure.why, failure.hint)
    lines = (*(_all_at_home(each, home) for each in prose), *choices)
    say("\n".join(line for line in lines if line), stream)


def _at_home(command: str, home: Sequence[str]) -> str:
    if not home or " --home " in command:
        return command
    own, dashes, program = command.partition(" -- ")  # a bot's command follows the dashes
    return f"{own}{command_line(*home).removeprefix(command_line())}{dashes}{program}"


SUBCOMMANDS: Final = (
    "backup",
    "forfeit",
    "forget",
    "list",
    "new",
    "passphrase",
    "restore",
    "save",
    "set",
    "trust",
    "untrust",
    "void",
)
"""The subcommands that error messages recommend."""


def _all_at_home(prose: str, home: Sequence[str]) -> str:
    from cli.front import COMMANDS

    # In prose a command ends with its clause. If other words follow, the end of the command cannot be recognized.
    command = rf"p2pdice (?:{'|'.join(COMMANDS)})(?: (?:{'|'.join(SUBCOMMANDS)}))?(?: --[a-z]+| [A-Z-]+)*(?=[,;:.)]|$)"
    return re.sub(command, lambda found: _at_home(found[0], home), prose, flags=re.MULTILINE)


def as_failure(error: Exception) -> Failure | None:
    """Return the failure to report for an expected error; None for an unexpected one."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, ModuleNotFoundError):
        return Failure(
            f"A part of p2pdice is missing: {error.name}.", hint="Install p2pdice again, or use the one in its .venv."
        )
    # Imported late: these modules are slow to load, and most commands end without an error.
    from p2pdice.errors import RulesError
    from protocol.errors import ProtocolError

    if isinstance(error, RulesError):
        return Failure(escape(str(error)), hint="The rulesets and their options: p2pdice rules", code=ExitCode.USAGE)
    if isinstance(error, ProtocolError):
        return _of_protocol(error)
    if isinstance(error, OSError):
        reason = sentence(error.strerror or str(error))
        return Failure(f"{shown_path(Path(str(error.filename)))}: {reason}" if error.filename else reason)
    return None


def _stranded(error: BaseException | None) -> Failure | None:
    """Return a failure if the error arose because the current folder was removed; None for any other error."""
    while error is not None:
        if isinstance(error, FileNotFoundError) and not os.path.isabs(error.filename or ""):
            try:
                os.getcwd()
            except FileNotFoundError:
                former = f", {shown_path(Path(name))}," if (name := os.environ.get("PWD")) else ""
                hint = "Change to another folder with cd, and try again."
                return Failure(f"The current folder{former} was removed.", hint=hint)
        error = error.__cause__ or error.__context__
    return None


def _of_protocol(error: ProtocolError) -> Failure:
    outcome, reason = sentence(error.outcome), stated(error.parts) or f"{type(error).__name__}."
    what, why = (outcome, reason) if outcome else (reason, "")
    choices = [
        (shown((typed,) if isinstance(typed, str) else typed), escape(meaning)) for typed, meaning in error.choices
    ]
    return Failure(what, why, sentence(escape(error.hint)), code_of(error), choices)


def _unexpected(error: Exception, settings: Settings) -> Failure:
    what = f"Something went wrong inside p2pdice ({type(error).__name__}: {one_line(str(error))})."
    try:
        import logging

        from cli.home import open_log

        if (home := settings.home_if_any) is None:
            return Failure(what, "There is no log, as this account has no home folder.")
        path = open_log(home)
        logging.getLogger("p2pdice").error("unexpected error", exc_info=error)
    except OSError as unwritable:
        return Failure(what, f"The log could not be written either: {unwritable}.")
    return Failure(what, f"The details are in {shown_path(path)}.")
