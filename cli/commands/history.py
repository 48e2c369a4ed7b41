"""``p2pdice history``: the matches played, and statistics about their players."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.commands.judging import on_all_cores, progress_over, read_transcript
from cli.commands.matches import read
from cli.front import JsonOption, application
from cli.history import LEGEND, WARNING, data, dice_lines, figures, heading, records, table
from cli.home import home_of
from cli.output import say
from cli.render import command_line, counted, escape, listing, local_time
from cli.text.match_list import TRANSCRIPT, ListedMatch, listed_with_files
from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import Judgement, examine
from protocol.crypto.keys import fingerprint
from protocol.match.replay import Replay
from protocol.storage.archive import winners_in
from protocol.storage.home import Home
from protocol.wire.names import ruleset_label

if TYPE_CHECKING:
    from cli.history import MatchFigures
    from protocol.consensus.verifier import Mapped
    from protocol.storage.home import Home

EPILOG: Final = """\b
Examples:
  p2pdice history
  p2pdice history --player Ada --since 2026-11-01
  p2pdice history --rules perudo --json
  p2pdice history stats
  p2pdice history stats --player K7QF-2M3A
"""
STATS_EPILOG: Final = """\b
wins         out of finished matches, with the 95% interval (Wilson's)
x luck       wins, as a multiple of what luck alone gives
bluffs       bids that the bidder's own dice made less than half likely
calls right  calls of liar or exact that were right
dice dealt   ones to sixes
by luck      how often fair dice are at least this uneven (chi-square),
             multiplied by the number of players, at most 100% (Holm)
"""

HOUSE: Final = "house"
"""The argument of ``--rules`` that selects all house rules."""

app = application()

PlayerOption = Annotated[
    str | None,
    typer.Option(
        "--player",
        metavar="NAME|FINGERPRINT",
        show_default=False,
        help="Only matches with this player: a name, or the beginning of a fingerprint.",
    ),
]
RulesFilterOption = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="R",
        show_default=False,
        help="Only matches with these rules: a preset, the name of house rules, or house for all house rules.",
    ),
]


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise typer.BadParameter(f"{escape(text)} is not a day, such as 2026-11-22.") from None


SinceOption = Annotated[
    datetime | None,
    typer.Option("--since", metavar="DAY", parser=_day, show_default=False, help="From DAY on."),
]
UntilOption = Annotated[
    datetime | None,
    typer.Option("--until", metavar="DAY", parser=_day, show_default=False, help="Up to and including DAY."),
]


@app.callback(invoke_without_command=True, epilog=EPILOG)
def history(
    ctx: typer.Context,
    player: PlayerOption = None,
    rules: RulesFilterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look back at the matches that you finished or watched.

    Without a subcommand, it lists them, newest first. To name the winner of a match that has only a transcript, that
    transcript is verified; the others are not. With "stats" it verifies all transcripts, and counts wins, bluffs, calls
    and dice.
    """
    if ctx.invoked_subcommand is not None:
        if (player, rules, since, until, as_json) != (None, None, None, None, False):
            raise typer.BadParameter("put the options after stats: history stats --player Ada")
        return
    chosen, unread = _chosen(ctx, player, rules, since, until)
    found = _with_ends(chosen, as_json)
    if as_json:
        left_out = [each.name for each in unread]
        print(json.dumps({"matches": [each.to_json() for each in found], "left_out": left_out}))
        return
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        say(each.line(width))
    if found:
        say(f"{counted(len(found), 'match', 'matches').capitalize()}.")
    elif (player, rules, since, until) == (None, None, None, None):
        say(f"No match has ended here yet. To play one:\n    {command_line('host')}")
    else:
        say("There is no such match here.")
    if unread:
        names = listing([escape(each.name) for each in unread])
        say(f"Left out, because this version cannot tell who played what: {names}.")


@app.command(epilog=STATS_EPILOG)
def stats(
    ctx: typer.Context,
    player: PlayerOption = None,
    rules: RulesFilterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count what each player won, bluffed and called, and the dice that each was dealt.

    Each transcript is verified first. Matches that have no transcript, are unfinished or were not fair are left out,
    and named.
    """
    meant, unread = _chosen(ctx, player, rules, since, until)
    chosen = [each for each in meant if each.transcript is not None]
    paths = [each.transcript for each in chosen if each.transcript is not None]
    matches: list[MatchFigures] = []
    left_out = [escape(each.name) for each in (*(one for one in meant if one.transcript is None), *unread)]
    with on_all_cores(read_figures, paths) as judged, progress_over(paths, as_json) as tell:
        for place, (each, path) in enumerate(zip(chosen, paths, strict=True), 1):
            tell(f"verifying match {place} of {len(chosen)}")
            match = judged(path)
            if match is None:
                left_out.append(escape(each.name))
            else:
                matches.append(match)
    found = records(reversed(matches))
    if as_json:
        print(json.dumps({"matches": len(matches), "left_out": left_out, "players": data(found)}))
        return
    say(heading(len(matches), found, left_out))
    if not found:
        return
    print()
    own = {
        fingerprint(each.genesis.roster[each.me].join.identity)
        for each in chosen
        if each.genesis is not None and each.me is not None
    }
    for line in table(found, own):
        print(line)
    print()
    say(LEGEND)
    print()
    for line in dice_lines(found, own):
        print(line)
    print()
    say(WARNING)


def read_figures(path: Path, mapped: Mapped) -> MatchFigures | None:
    """Verify a transcript; return the figures of its match, or None if it is unreadable, unfinished or not fair.

    :param mapped: as for :func:`protocol.consensus.verifier.examine`.
    """
    try:
        examined = examine(read_transcript(path), mapped)
    except OSError:
        return None
    fair = (Judgement.FAIR, Judgement.UNPROVEN)
    return figures(Replay(examined, path)) if examined.verdict.verdict in fair else None


def _with_ends(found: Sequence[ListedMatch], as_json: bool) -> list[ListedMatch]:
    """Return the matches, with the ends of those that have only a transcript."""
    to_read = {
        each.match: (each.transcript, each.genesis.roster)
        for each in found
        if each.state == TRANSCRIPT and each.transcript is not None and each.genesis is not None
    }
    if not to_read:
        return [*found]
    paths = [path for path, _ in to_read.values()]
    ends: list[ListedMatch] = []
    with on_all_cores(winners_in, paths) as judged, progress_over(paths, as_json) as tell:
        for each in found:
            if each.match not in to_read:
                ends.append(each)
                continue
            tell(f"reading {escape(each.name)}")
            path, roster = to_read[each.match]
            winners = judged(path)
            keys = [fingerprint(record.join.identity) for record in roster]
            won = tuple(author for author, key in enumerate(keys) if key in (winners or ()))
            ends.append(each._replace(winners=won, is_incomplete=winners is None))
    return ends


def _chosen(
    ctx: typer.Context, player: str | None, rules: str | None, since: datetime | None, until: datetime | None
) -> tuple[list[ListedMatch], list[ListedMatch]]:
    """Return the finished matches that fit the options, and those whose fit cannot be determined; newest first.

    :raises typer.BadParameter: if ``rules`` is neither a preset nor the name of house rules in a kept match.
    """
    home = home_of(ctx)
    finished = _finished(home)
    names = tuple(dict.fromkeys((*PRESETS, HOUSE, *(each.rules_name for each in finished if each.rules_name))))
    if rules is not None and rules.casefold() not in map(str.casefold, names):
        raise typer.BadParameter(f"{escape(rules)} is not one of {listing([*map(escape, names)], 'or')}.")
    first, last = since or datetime.min, until or datetime.max
    by_day = sorted(finished, key=lambda each: -_moment(each))
    then = [(each, _is_meant(each, player, rules)) for each in by_day if first.date() <= _day_of(each) <= last.date()]
    return [each for each, is_meant in then if is_meant], [each for each, is_meant in then if is_meant is None]


def _finished(home: Home) -> Sequence[ListedMatch]:
    if not home.has_store:
        return listed_with_files(home, (), ())
    with read(home) as (_, kept):
        return listed_with_files(home, [each for each in kept if each.over or each.claim], kept)


def _moment(match: ListedMatch) -> float:
    """Return when a match began; for a match known only from its transcript, when that file was written."""
    if match.begun is not None:
        return match.begun
    assert match.transcript is not None
    return match.transcript.stat().st_mtime


def _day_of(match: ListedMatch) -> date:
    begun = local_time(_moment(match))
    return date.max if begun is None else begun.date()


def _is_meant(match: ListedMatch, player: str | None, rules: str | None) -> bool | None:
    """Return whether a match fits ``player`` and ``rules``; None if its record is too old or damaged to tell."""
    if player is None and rules is None:
        return True
    genesis = match.genesis
    if genesis is None:
        return None
    called = {match.rules_name.casefold(), ruleset_label(genesis.ruleset).casefold().split()[0]}
    if rules is not None and rules.casefold() not in called:
        return False
    if player is None:
        return True
    word = player.strip().casefold()
    return any(
        word in _called(record.join.nickname) or fingerprint(record.join.identity).casefold().startswith(word)
        for record in genesis.roster
    )


def _called(nickname: str) -> tuple[str, str]:
    """Return the texts that select a nickname: the whole nickname, and the part before a bot's mark."""
    return nickname.casefold(), nickname.partition(" (")[0].casefold()
