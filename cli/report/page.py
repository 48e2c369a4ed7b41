"""The page of a report: one HTML file that fetches nothing, under a policy that forbids every fetch.

Names and all other texts of players are escaped by the template engine. Scripts and styles run only if their hashes
stand in the policy, so no text of a player can become either.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from cli.render import listing
from cli.report.charts import HEIGHT, SMALL, WIDTH, bars, dice_over_time
from cli.report.contents import Contents, contents
from cli.text.chance import ENOUGH_DICE

if TYPE_CHECKING:
    from protocol.match.replay import Replay

STYLE: Final = "report.css"
TEMPLATE: Final = "report.html.j2"
ORDER: Final = "verifier/order.txt"
"""The names of the verifier's scripts, in the order in which they have to run."""
UI: Final = "show_checks.js"


def page(replayed: Replay, transcript: bytes, verdict: str) -> str:
    """Return the report on a match as HTML. The same transcript gives the same page, whatever its file is called.

    :param transcript: the bytes of the file, which the page carries.
    :param verdict: the verdict of this program, in a sentence.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    shown = contents(replayed)
    dice = _dice(shown, replayed)
    own = "base-uri 'none'; form-action 'none'"
    style, script = _text(STYLE), scripts()
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_text),
    )
    return environment.get_template(TEMPLATE).render(
        title=_title(shown, replayed.verdict.rules or ""),
        played=sum(bool(each.dice) for each in shown.rounds),
        verdict=verdict,
        judged=replayed.verdict,
        shown=shown,
        chart=dice_over_time(shown.seating.names, dice),
        small=dice_over_time([""] * len(shown.seating.names), dice, SMALL),
        small_width=SMALL,
        dice=dice,
        ended=len(dice) > sum(bool(each.dice) for each in shown.rounds),
        width=WIDTH,
        height=HEIGHT,
        bars=bars,
        enough_dice=ENOUGH_DICE,
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; {own}",
        transcript=b64encode(transcript).decode("ascii"),
    )


def _title(shown: Contents, rules: str) -> str:
    """Return who won; of an unfinished match who plays."""
    if winners := shown.winners:
        return f"{listing(winners)} {'win' if len(winners) > 1 else 'wins'}: {rules}"
    return f"{listing(shown.seating.names)}: {rules}, not finished"


def scripts() -> str:
    """Return the verifier and what shows its checks, as one script."""
    names = _text(ORDER).split()
    return "\n".join([*(_text(f"verifier/{name}") for name in names), _text(UI)])


def _dice(shown: Contents, replayed: Replay) -> list[tuple[int, ...]]:
    """Return the dice by seat at the start of each round, and at the end."""
    counts = [each.dice for each in shown.rounds if each.dice]
    end = replayed.last_dice
    return [*counts, end] if counts and end else counts or [(0,) * len(replayed.players)]


def _text(name: str) -> str:
    return files("cli.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
