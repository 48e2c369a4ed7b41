"""``p2pdice report``: a page that shows a match, and verifies it again in the reader's browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from cli.commands.replay import opened
from cli.commands.verify import CODES, headline
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.output import say
from cli.render import escape, sentence, shown_path
from cli.report.page import page
from cli.settings import Settings
from protocol.files import write_whole

EPILOG: Final = """\b
Examples:
  p2pdice report last
  p2pdice report 2026-11-22-friday -o friday.html
  p2pdice report match.p2pdice -o match.html

\b
The exit codes are those of p2pdice replay.
"""

app = application()


@app.command(epilog=EPILOG)
def report(
    ctx: typer.Context,
    match: Annotated[str, typer.Argument(metavar="FILE|MATCH", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", dir_okay=False, show_default=False, help="Write to FILE, a new file."
        ),
    ] = None,
) -> None:
    """Make a page that shows a match and verifies it in the browser.

    One HTML file: the verdict, the players, each round with what was likely and what was true, pictures of the dice,
    and every signature. It carries the transcript, and fetches nothing. Mail it, or put it on a disk.
    """
    path, data, replayed = opened(match, ctx.ensure_object(Settings), as_json=False)
    target = out if out is not None else Path(f"{path.stem}.html")
    if target.exists():
        raise Failure(f"{shown_path(target)} exists already.", hint="Give a file that does not exist yet: -o FILE")
    if not target.absolute().parent.is_dir():
        raise Failure(f"There is no folder {shown_path(target.parent)}.", hint="Create it first, or give another file.")
    verdict = f"{headline(replayed.verdict)} {sentence(escape(replayed.verdict.reason))}"
    write_whole(target, page(replayed, data, verdict).encode())
    say(f"The report is {shown_path(target)}; open it in a browser.")
    code = CODES[replayed.verdict.verdict]
    raise typer.Exit(ExitCode.DONE if code is ExitCode.UNPROVEN else code)
