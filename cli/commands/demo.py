"""``p2pdice demo`` and ``p2pdice learn``, which need no other players."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from shutil import get_terminal_size
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.bots.crew import DemoMatch
from cli.commands.bot_options import LevelsOption, dealt
from cli.commands.judging import progress_line, read_transcript
from cli.commands.replay import opened, told_verdict
from cli.exits import Failure
from cli.front import application
from cli.output import is_interactive
from cli.preferences import NameOption, Ui, nickname
from cli.render import Paragraphs, command_line, counted, escape, shown_path, wrapped
from cli.rulesets import RulesOption, SetOption, chosen_ruleset
from cli.settings import Settings
from cli.table.lesson_table import LessonTable
from cli.table.play import run, show
from cli.table.replay_table import DemoTable
from cli.table.terminal import PaceOption, UiOption, showing
from cli.text.narrate import event_name
from p2pdice.events import LeadPassed
from p2pdice.motes import twin_soul
from protocol.consensus.verifier import Judgement, verify
from protocol.events import (
    Continued,
    Happened,
    MatchStarted,
    Misbehaved,
    Notice,
    Overdue,
    PeerBack,
    PeerLost,
    Suspended,
    TakenBack,
)

if TYPE_CHECKING:
    from protocol.consensus.verifier import Verdict

EPILOG: Final = """\b
Examples:
  p2pdice demo
  p2pdice demo --players 6 --rules perudo
  p2pdice demo --rules motes --players 3
  p2pdice demo --level mind --level press
  p2pdice demo --fast
  p2pdice demo --seed 7 --out demo --json
"""

app = application()


@app.command(epilog=EPILOG)
def demo(
    ctx: typer.Context,
    players: Annotated[int, typer.Option("--players", min=2, max=10, metavar="N", help="House bots at the table.")] = 4,
    rules: RulesOption = "classic",
    changes: SetOption = None,
    level: LevelsOption = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="S", show_default=False, help="Fix the bots' choices (never the dice)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", file_okay=False, show_default=False, help="Keep the players' homes in DIR."
        ),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Print one line per round, as in a pipe; takes seconds.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object: the summary and every event.")] = False,
    ui: UiOption = None,
    pace: PaceOption = None,
) -> None:
    """Watch a whole match between house bots on this machine.

    Each bot is a process of its own. The bots find each other by multicast, connect over TLS, and sign every step. Then
    each bot's transcript is verified, and all must be identical to the last byte. At a terminal you see the match at
    the table afterwards, with explanations, in at most two minutes: Space skips a round, End skips to the end. In a
    pipe each round is a line.
    """
    is_shown = is_interactive() and not (fast or as_json)
    chosen_ruleset(rules, changes)  # here, so that a mistake is reported once, not by every child process
    levels = dealt(level, players)
    chosen = ["--rules", rules, *(part for change in changes or () for part in ("--set", change))]
    folder = (out if out is not None else Path(mkdtemp(prefix="p2pdice-demo-"))).resolve()
    account = RoundSummary()
    with progress_line(sys.stderr if as_json else sys.stdout) as progress:
        if seed is not None:
            progress.line("The seed fixes the bots' choices. Dice and keys are secret, and differ every time.")
        some = counted(players, "player").capitalize()
        if not is_shown:
            progress.line(f"{some}, rules {escape(rules)}, homes in {shown_path(folder)}")

        def tell(text: str) -> None:
            if not is_shown:
                progress.line(wrapped(text, get_terminal_size().columns))

        def show(event: dict[str, Any]) -> None:
            for line in account.take(event):
                tell(line)
            if event["type"] in _TOLD:
                tell(event["sentence"])
            progress.now(account.latest or "The bots are looking for each other.")

        exhibition = DemoMatch(levels, chosen, folder, seed, show, progress.line)
        progress.now("The bots are starting.")
        began = time.perf_counter()
        run(exhibition.run())
        played = time.perf_counter()
        progress.now("Verifying the transcripts.")
        verdict, paths = judge(exhibition)
    summary = {
        "match": verdict.match,
        "rules": verdict.rules,
        "players": list(verdict.players),
        "winners": list(verdict.winners),
        **account.outcome(),
        "rounds": account.rounds,
        "steps": verdict.steps,
        "signatures": verdict.signatures,
        "verdict": verdict.verdict,
        "identical": True,
        "discovery": "multicast" if all(each.found_by_itself for each in exhibition.contestants) else "direct",
        "seed": seed,
        "seconds": round(played - began, 3),
        "verify_seconds": round(time.perf_counter() - played, 3),
        "folder": str(folder),
        "transcripts": [str(path) for path in paths],
        "events": account.events,
    }
    if as_json:
        print(json.dumps(summary))
        return
    if is_shown:
        _show(paths[0], ctx.ensure_object(Settings), ui, pace)
    _print(summary, account.ending)


_TOLD: Final = {
    event_name(each) for each in (MatchStarted, PeerLost, PeerBack, Suspended, Continued, Overdue, Misbehaved, Notice)
}
"""The types of events whose sentences are printed between rounds."""


def judge(exhibition: DemoMatch) -> tuple[Verdict, list[Path]]:
    """Verify and compare the transcripts of all bots; return the verdict and their paths.

    :raises Failure: if a transcript is not fair, or the transcripts differ.
    """
    paths = [each.transcript for each in exhibition.contestants if each.transcript is not None]
    contents = [read_transcript(path) for path in paths]
    verdicts = [verify(content) for content in contents]
    for path, verdict in zip(paths, verdicts, strict=True):
        if verdict.verdict is not Judgement.FAIR:
            raise Failure(f"The transcript {shown_path(path)} is {verdict.verdict}: {escape(verdict.reason)}.")
    if len(set(contents)) > 1:
        raise Failure("The players' transcripts differ.", hint=f"Compare them: {', '.join(map(shown_path, paths))}")
    return verdicts[0], paths


def _show(path: Path, settings: Settings, ui: Ui | None, pace: float | None) -> None:
    """Show the match in a transcript at the table."""
    _, _, replay = opened(str(path), settings, as_json=False)
    verdict = "\n".join(told_verdict(replay))
    run(show(DemoTable(replay, showing(settings, ui, pace, bell=False), verdict)))


def _print(summary: dict[str, Any], ending: str) -> None:
    print()
    took = f"{counted(summary['rounds'], 'round').capitalize()} in {summary['seconds']:.1f} seconds."
    print(wrapped(f"{ending} {took}", get_terminal_size().columns))
    number = len(summary["transcripts"])
    checked = f"{counted(summary['signatures'], 'signature')} of {counted(summary['steps'], 'step')}"
    same = f"{counted(number, 'transcript').capitalize()} verified, byte for byte the same: {checked}, all valid."
    print(wrapped(same, get_terminal_size().columns))
    for path in summary["transcripts"]:
        print(f"    {shown_path(Path(path))}")
    print(f"Verify one yourself:\n    {command_line('verify', Path(summary['transcripts'][0]))}")
    print(f"See the match again, with all dice:\n    {command_line('replay', Path(summary['transcripts'][0]))}")


LEARN_EPILOG: Final = """\b
Examples:
  p2pdice learn
  p2pdice learn --ui line     in sentences, for screen readers
"""

learn_app = application()


@learn_app.command(epilog=LEARN_EPILOG)
def learn(ctx: typer.Context, name: NameOption = None, ui: UiOption = None, pace: PaceOption = None) -> None:
    """Learn the game in 60 seconds: one round against Coach.

    You and Coach have three dice each, and Coach tells you what to do in five steps. Nothing counts, nothing is kept,
    and no network is used. Escape skips the lesson.
    """
    if not is_interactive():
        raise Failure("A lesson needs a terminal.", hint="The rules in words: p2pdice rules classic")
    settings = ctx.ensure_object(Settings)
    run(show(LessonTable(showing(settings, ui, pace, None), nickname(name))))


class RoundSummary:
    """Turns a stream of events in the form of :mod:`cli.text.narrate` into printed rounds and a summary."""

    def __init__(self) -> None:
        self.rounds = 0
        self.ending = ""
        """The result of the match as a sentence; empty before the end."""
        self.events: list[dict[str, Any]] = []
        """The events of the game as the engine encodes them. A ``taken-back`` event voids the latest of them: the match
        continues from an earlier point."""
        self.latest = ""
        """The last event as a sentence."""
        self._paragraphs = Paragraphs()

    def take(self, data: dict[str, Any]) -> list[str]:
        """Record an event; return the lines that are complete now."""
        told: str = data["sentence"]
        if data["type"] == event_name(TakenBack):
            self.events.append({"type": "taken-back"})
            return [*self._paragraphs.end(), told]
        if data["type"] != event_name(Happened):
            return []
        event = data["event"]
        self.events.append(event)
        if event["type"] == LeadPassed.type:  # the next round's headline names who starts it
            return []
        self.latest = told.rpartition("\n")[2]
        match event["type"]:
            case "round":
                self.rounds = event["round"]
                return list(self._paragraphs.begin(told))
            case "over":
                self.ending = told
                return list(self._paragraphs.end())
        return list(self._paragraphs.take(told))

    def outcome(self) -> dict[str, Any]:
        """Return the match's pledges, stakes and results, under the keys that ``p2pdice referee`` uses."""
        found: dict[str, Any] = {}
        for event in self.events:
            match event["type"]:
                case "pledges" | "stakes":
                    found[event["type"]] = event[event["type"]]
                case "prize":
                    found["prize"] = event["mote"]
                case "twin-soul":
                    soul = twin_soul(event["die"].partition("@")[0], event["prize"])
                    found["twin_soul"] = {"name": soul.name, "motes": list(soul.motes)}
                case "tickets":
                    found["ticket_delta"] = [int(seat in event["seats"]) for seat in range(len(found["pledges"]))]
                case "paid":
                    found |= {key: event[key] for key in ("payout", "delta", "ticket_delta")}
                case "over":
                    found["places"] = event["places"]
        return found
