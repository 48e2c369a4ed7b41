"""``p2pdice verify``, the offline judge of transcripts and proofs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.boundary import report as report_failure
from cli.commands.judging import named_transcript, on_all_cores, progress_over, read_transcript
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.output import complain, say
from cli.render import command_line, counted, escape, listing, local_time, sentence, shown_path, stated
from cli.settings import Settings, home_words
from cli.text.narrate import unfamiliar, words_for
from cli.text.narrate_game import ticket_change
from p2pdice.plurals import plural
from protocol.consensus import verifier
from protocol.crypto.keys import parse_fingerprint
from protocol.events import PlayerInfo
from protocol.storage import archive
from protocol.storage.database import StoreError
from protocol.storage.home import Home

if TYPE_CHECKING:
    from protocol.consensus.verifier import Mapped, Verdict
    from protocol.storage.people import Mismatch, Person

EPILOG: Final = """\b
Examples:
  p2pdice verify last                 the last one you played or watched
  p2pdice verify 2026-11-22-friday    as p2pdice matches lists it
  p2pdice verify match.p2pdice
  p2pdice verify --trust K7QF-2M3A-... --trust ZZ22-... match.p2pdice
  p2pdice verify --json *.p2pdice | jq .verdict

\b
Exit codes: 0 fair, 10 misconduct proven, 11 incomplete, 12 unreadable or
altered, 13 fair but with claims that cannot be proven, or with a player whom
--trust does not name, 4 written by another protocol version, 1 a file is
missing or is not a regular file. With several files the worst one counts, in
the order 10, 12, 4, 1, 11, 13, 0.
"""

app = application()


@app.command(epilog=EPILOG)
def verify(
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE|MATCH...", help="Files, or matches of yours, such as last.", show_default=False),
    ],
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="FINGERPRINT",
            show_default=False,
            help="A player you trust, yourself included; repeat it, or separate several with commas.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line per file.")] = False,
) -> None:
    """Judge transcripts and proofs of misconduct, without any network.

    Every signature, every commitment, every die and every move is checked again, from the file alone: it does not
    matter where the file comes from. Players choose their own names; their fingerprints say who they are.

    FILE is any transcript or proof. MATCH is one of yours: "last" for the one that ended last, its name in the list of
    p2pdice matches, or any unique beginning of its id.
    """
    trusted = None if trust is None else _fingerprints(trust)
    settings = ctx.ensure_object(Settings)
    named = [_named(name, settings) for name in files]
    paths = [each for each in named if isinstance(each, Path)]
    reports = []
    with ExitStack() as stack, on_all_cores(judge, paths) as judged, progress_over(paths, as_json) as tell:
        remember = _remembering(settings, stack)
        for place, (name, path) in enumerate(zip(files, named, strict=True)):
            tell(f"judging file {place + 1} of {len(files)}")
            try:
                if not isinstance(path, Path):
                    raise path
                report = _judged(name, path, judged, trusted, remember)
            except OSError as error:
                where = path if isinstance(path, Path) else Path(error.filename or name)
                complain(f"{shown_path(where)}: {sentence(error.strerror or str(error))}")
            except Failure as failure:
                report_failure(failure, sys.stderr, home_words(settings.home_if_any))
            else:
                reports.append(report)
                _show(report, as_json)
    if not as_json and any(report.verdict.players for report in reports):
        say(LIMITS)
    if not as_json and len(files) > 1:
        verdicts: Counter[str] = Counter(report.verdict.verdict for report in reports)
        verdicts["not judged"] = len(files) - len(reports)
        say(f"{len(files)} files: {', '.join(f'{count} {each}' for each, count in verdicts.items() if count)}.")
    if not as_json and len(reports) == len(files) == 1 and reports[0].has_match:
        (report,) = reports
        words = words_for(report.path, (report.verdict.match or "")[:8])
        again = (command_line(each, *words) for each in ("replay", "report"))
        say("\n    ".join(["See the match again, or make a page of it:", *again]))
    codes = {report.code for report in reports} | ({ExitCode.FAILURE} if len(reports) < len(files) else set())
    raise typer.Exit(next(code for code in WORST_FIRST if code in codes))


LIMITS: Final = "No file can show whether its keys belong to different people, or when they played."


def _fingerprints(given: Iterable[str]) -> frozenset[str]:
    """Return the fingerprints in the arguments of ``--trust``, each one or several separated by commas.

    :raises typer.BadParameter: if a text is not a fingerprint. Empty text is refused, too: a script with an unset
        variable must not trust everybody.
    """
    try:
        return frozenset(parse_fingerprint(each) for text in given for each in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--trust") from None


WORST_FIRST: Final = (
    ExitCode.MISCONDUCT,
    ExitCode.ALTERED,
    ExitCode.MISMATCH,
    ExitCode.FAILURE,
    ExitCode.INCOMPLETE,
    ExitCode.UNPROVEN,
    ExitCode.DONE,
)
CODES: Final = {
    "fair": ExitCode.DONE,
    "misconduct": ExitCode.MISCONDUCT,
    "incomplete": ExitCode.INCOMPLETE,
    "altered": ExitCode.ALTERED,
    "unproven": ExitCode.UNPROVEN,
    "other version": ExitCode.MISMATCH,
}


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """A player in the file whose key or name the reader's home knows from other matches."""

    name: str
    """The name in the file."""
    person: Person
    mismatch: Mismatch

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        namesakes = [{"name": each.name, "fingerprint": each.fingerprint} for each in self.mismatch.namesakes]
        return {
            "fingerprint": self.person.fingerprint,
            "trusted": self.person.is_trusted,
            "matches": self.person.matches,
            "known_as": list(self.mismatch.known_as),
            "namesakes": namesakes,
        }


def _remembering(settings: Settings, stack: ExitStack) -> Callable[[Verdict], tuple[Acquaintance, ...]]:
    """Return a function that finds the players of a file whom the reader's home knows, or none without a store.

    :param stack: the context in which the store stays open.
    """
    path = settings.home_if_any
    if path is None or not (home := Home(path)).store.exists():
        return lambda _: ()
    try:
        store = stack.enter_context(archive.read_store(home))
        own = archive.own_fingerprint(home, store.matches)
    except StoreError as error:
        complain(f"No player can be recognised: {stated(error.parts)}")
        return lambda _: ()

    def remember(verdict: Verdict) -> tuple[Acquaintance, ...]:
        match = bytes.fromhex(verdict.match or "")
        known = (
            Acquaintance(name, store.people.person(key, match), store.people.mismatch(key, name, match))
            for name, key in zip(verdict.players, verdict.fingerprints, strict=True)
            if key != own
        )
        try:
            return tuple(each for each in known if each.person.names or each.person.is_trusted or any(each.mismatch))
        except StoreError as error:
            complain(f"No player can be recognised: {stated(error.parts)}")
            return ()

    return remember


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The report on one file."""

    path: Path
    verdict: Verdict
    date: str | None = None
    """When the file was last modified, in local time (ISO 8601); no signature covers it."""
    strangers: tuple[str, ...] = ()
    """The fingerprints of players whom --trust does not name; empty without that option."""
    people: tuple[Acquaintance, ...] = ()
    """The players whose keys or names the reader's home knows."""
    is_kept: bool = False
    """Whether the file is in the reader's home and was named by its match."""

    @property
    def code(self) -> ExitCode:
        """The exit code for this file alone."""
        code = CODES[self.verdict.verdict]
        return ExitCode.UNPROVEN if code is ExitCode.DONE and self.strangers else code

    @property
    def has_match(self) -> bool:
        """Whether the file contains a match that can be replayed."""
        return self.verdict.steps > 0 and self.code is not ExitCode.ALTERED

    def to_json(self) -> dict[str, Any]:
        """Return the report as the object that ``--json`` prints."""
        return {
            "file": str(self.path),
            **self.verdict.to_json(),
            "date": self.date,
            "untrusted": list(self.strangers),
            "people": [each.to_json() for each in self.people],
        }


def _named(name: str, settings: Settings) -> Path | Failure | OSError:
    """Return the path of the named transcript, or the error if there is none, for a later report."""
    try:
        return named_transcript(name, settings)
    except (Failure, OSError) as error:
        return error


def judge(path: Path, mapped: Mapped) -> tuple[Verdict, float]:
    """Return the verdict on a file, and its modification time as a Unix time.

    :param mapped: as for :func:`protocol.consensus.verifier.verify`.
    :raises OSError: if the file cannot be read.
    """
    data = read_transcript(path)
    return verifier.verify(data, mapped), path.stat().st_mtime


def _judged(
    name: str,
    path: Path,
    judged: Callable[[Path], tuple[Verdict, float]],
    trusted: frozenset[str] | None,
    remember: Callable[[Verdict], tuple[Acquaintance, ...]],
) -> FileVerdict:
    """Return the full report on a file.

    :param name: the argument that named the file.
    :param judged: returns the result of :func:`judge`.
    :raises OSError: if the file cannot be read.
    """
    verdict, modified = judged(path)
    strangers = () if trusted is None else tuple(each for each in verdict.fingerprints if each not in trusted)
    written = local_time(modified)
    date = None if written is None else written.isoformat(timespec="seconds")
    return FileVerdict(path, verdict, date, strangers, is_kept=path != Path(name), people=remember(verdict))


def _show(report: FileVerdict, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report.to_json()), flush=True)
    else:
        say("\n".join(describe(report)))


def headline(verdict: Verdict) -> str:
    """Return a verdict in a few words, with the name and fingerprint of a culprit."""
    culprit = f"{escape(verdict.culprit or '')} ({verdict.culprit_fingerprint})"
    return {
        "fair": "FAIR.",
        "misconduct": f"MISCONDUCT by {culprit}, proven by their own signature.",
        "incomplete": "INCOMPLETE.",
        "altered": "UNREADABLE OR ALTERED; this blames nobody.",
        "unproven": "FAIR, but with claims that cannot be proven.",
        "other version": "ANOTHER PROTOCOL VERSION.",
    }[verdict.verdict]


def describe(report: FileVerdict) -> list[str]:
    """Return the lines of a report: the verdict, its reason, the players, and how much was checked."""
    verdict = report.verdict
    lines = [sentence(escape(verdict.reason))]
    if verdict.verdict == "altered" and report.path.suffix.lower() == ".html":
        lines.append("A page of p2pdice report is no proof: verify the transcript from which it was made.")
    if verdict.match is not None:
        lines.append(f"Match {verdict.match[:12]} ({escape(verdict.rules or '')}).")
        if report.date is not None:
            date = report.date[:16].replace("T", " ")
            lines.append(f"File last modified {date}; this is not evidence, because dates are not signed.")
    lines += _players(report)
    lines += [
        unfamiliar(
            PlayerInfo(each.name, each.person.fingerprint),
            each.mismatch.known_as,
            [PlayerInfo(other.name, other.fingerprint) for other in each.mismatch.namesakes],
            each.mismatch.trusted,
            is_over=True,
        )
        for each in report.people
        if any(each.mismatch)
    ]
    if verdict.alike:
        alike = listing([escape(name) for name in verdict.alike])
        lines.append(f"Names that are easily confused: {alike}. Only the fingerprints tell them apart.")
    lines += _purses(verdict)
    if verdict.signatures:
        checked = f"{counted(verdict.signatures, 'signature')} in {counted(verdict.steps, 'step')}"
        lines.append(f"{checked[:1].upper()}{checked[1:]} checked and valid.")
    title = report.path.stem if report.is_kept else str(report.path)
    return [f"{escape(title)}: {_headline(report)}", *(f"  {line}" for line in lines)]


def _headline(report: FileVerdict) -> str:
    """Return the headline of the verdict, which mentions untrusted players if the match was otherwise fair."""
    verdict = headline(report.verdict)
    if report.verdict.verdict not in ("fair", "unproven") or not report.strangers:
        return verdict
    before = ", but" if report.verdict.verdict == "fair" else ", and"
    return f"{verdict[:-1]}{before} --trust does not name {counted(len(report.strangers), 'player')}."


def _purses(verdict: Verdict) -> Iterator[str]:
    """Yield how the match changed its players' purses, and a warning about the limits of that evidence."""
    if not verdict.purses:
        return
    yield "Stakes, each out of the purse that the player has signed for this match:"
    for name, purse in zip(verdict.players, verdict.purses, strict=True):
        if purse.change is None:
            yield f"  {escape(name)}: {counted(purse.balance, 'coin')} to bet; not settled, as the match is not over"
            continue
        tickets = ticket_change(purse.ticket_change or 0)
        soul = escape(purse.soul or "")
        change = f"{purse.change:+,d} {plural(purse.change, 'coin')}"
        changes = ", ".join(filter(None, (change, tickets, soul)))
        held = f"{purse.balance:,} before, {purse.balance + purse.change:,} now"
        yield f"  {escape(name)}: bet {purse.bet:,}; {held} ({changes})"
    yield "No file can show that the purses had nothing newer, or that the coins there were right."


def _players(report: FileVerdict) -> Iterator[str]:
    """Yield a line for each player: name, fingerprint, whether they won, and whether the reader trusts them."""
    verdict = report.verdict
    names = [escape(name) for name in verdict.players]
    trusted = {each.person.fingerprint for each in report.people if each.person.is_trusted}
    width = max(map(len, names), default=0)
    for name, fingerprint in zip(names, verdict.fingerprints, strict=True):
        notes = ["won"] if fingerprint in verdict.winner_fingerprints else []
        notes += ["trusted"] if fingerprint in trusted and fingerprint not in report.strangers else []
        notes += ["NOT TRUSTED"] if fingerprint in report.strangers else []
        yield f"  {name.ljust(width)}  {fingerprint}" + (f"  {', '.join(notes)}" if notes else "")
