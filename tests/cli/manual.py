"""The man page, generated from the help texts. ``python -m tests.cli.manual`` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from cli import VERSION
from cli.exits import ExitCode
from cli.front import build

PAGE: Final = Path(__file__).parents[2] / "docs" / "p2pdice.1"
EXIT_CODES: Final = {
    ExitCode.DONE: "Done; of verify: fair.",
    ExitCode.FAILURE: "Failure.",
    ExitCode.USAGE: "The command was typed wrongly.",
    ExitCode.UNREACHABLE: "The network, the table or a player cannot be reached.",
    ExitCode.MISMATCH: "Versions or rules differ.",
    ExitCode.FULL: "No seat is free.",
    ExitCode.REFUSED: "Refused.",
    ExitCode.TOO_FEW: "Too few players were there for too long.",
    ExitCode.MISCONDUCT: "verify: a player's own signature proves that they broke the rules.",
    ExitCode.INCOMPLETE: "verify: nothing is wrong so far, but the match is not over.",
    ExitCode.ALTERED: "verify: the file is unreadable or was altered; no player is blamed.",
    ExitCode.UNPROVEN: "verify: the match was fair, but the file contains claims that cannot be proven.",
    ExitCode.INTERRUPTED: "Interrupted.",
}
ENVIRONMENT: Final = {
    "P2PDICE_PASSPHRASE": "The passphrase of your key, for scripts. Programs that p2pdice starts do not inherit it.",
    "P2PDICE_NEW_PASSPHRASE": "For identity passphrase in a script: the new passphrase.",
    "P2PDICE_HOME": "Like --home: where identity, matches and log are kept.",
    "P2PDICE_CONFIG": "The file with the settings.",
    "P2PDICE_ASCII": "1 for terminals that cannot show pictures of dice.",
    "NO_COLOR": "Like --no-color.",
}


def manual() -> str:
    """Return the man page as troff source."""
    front = build()
    with front.make_context("p2pdice", [], resilient_parsing=True) as context:
        lines = [
            f'.TH P2PDICE 1 "" "p2pdice {VERSION}" "User Commands"',
            '.\\" Made of the help by: python -m tests.cli.manual',
            ".SH NAME",
            r"p2pdice \- Liar\(aqs Dice for people on one network",
            ".SH SYNOPSIS",
            r".B p2pdice",
            _text("[OPTIONS] COMMAND [ARGS]..."),
            ".SH DESCRIPTION",
            *_paragraphs(front.help),
            *_paragraphs(front.epilog),
            ".SH OPTIONS",
            *_parameters(front, context),
            ".SH COMMANDS",
            *(line for name in front.list_commands(context) for line in _command(front, name, context)),
            ".SH EXIT STATUS",
            *_list((str(int(code)), EXIT_CODES[code]) for code in ExitCode),
            ".SH ENVIRONMENT",
            *_list(ENVIRONMENT.items()),
        ]
    return "\n".join([*lines, ""])


def _command(group: Any, name: str, parent: Any) -> Iterator[str]:
    """Yield a command's usage, help, options and examples, and those of its subcommands."""
    command = group.get_command(parent, name)
    if command.hidden:
        return
    with command.make_context(name, [], parent=parent, resilient_parsing=True) as context:
        yield f".SS {_text(' '.join([context.command_path, *command.collect_usage_pieces(context)]))}"
        yield from _paragraphs(command.help)
        yield from _parameters(command, context)
        yield from _paragraphs(command.epilog)
        for member in getattr(command, "commands", {}):
            yield from _command(command, member, context)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    shared = {option.name for option in context.parent.command.params} if context.parent else set()
    listed = [each for each in command.get_params(context) if each.name not in {*shared, "help"}]
    return _list(record for record in (each.get_help_record(context) for each in listed) if record and record[1])


def _list(items: Any) -> Iterator[str]:
    for term, meaning in items:
        yield from (".TP", f".B {_text(term)}", _text(meaning))


def _paragraphs(text: str | None) -> Iterator[str]:
    """Yield the paragraphs of a help text. As in Click, one that begins with a backspace keeps its line breaks."""
    for paragraph in (text or "").replace("\b\n", "\b").split("\n\n"):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *map(_text, paragraph[1:].splitlines()), ".fi")
        elif paragraph.strip():
            yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Escape text so that troff prints it unchanged in any locale."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace('"', r"\(dq")
    return re.sub(r"[^\x20-\x7e]", lambda sign: rf"\[u{ord(sign[0]):04X}]", re.sub(r"^(?=[.])", r"\&", escaped))


if __name__ == "__main__":
    PAGE.write_text(manual(), encoding="ascii")
