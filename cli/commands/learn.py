"""``p2pdice learn``: a first round in 60 seconds."""

from __future__ import annotations

from typing import Final

import typer

from cli.commands.nickname import NameOption, nickname
from cli.exits import Failure
from cli.front import application
from cli.settings import Settings, is_interactive
from cli.table.play import run, show
from cli.table.showing import PaceOption, UiOption, showing

EPILOG: Final = """\b
Examples:
  p2pdice learn
  p2pdice learn --ui line     in sentences, for screen readers
"""

app = application()


@app.command(epilog=EPILOG)
def learn(ctx: typer.Context, name: NameOption = None, ui: UiOption = None, pace: PaceOption = None) -> None:
    """Learn the game in 60 seconds: one round against Coach.

    You have three dice each, and Coach says what to do in five steps. Nothing counts, nothing is kept, and no network
    is used. Escape skips the lesson.
    """
    from cli.table.lesson_table import LessonTable

    if not is_interactive():
        raise Failure("A lesson needs a terminal.", hint="The rules in words: p2pdice rules classic")
    settings = ctx.ensure_object(Settings)
    run(show(LessonTable(settings, showing(settings, ui, pace, None), nickname(name))))
