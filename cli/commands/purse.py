"""``p2pdice purse``: the coins, run tickets and Twin Souls that are kept from match to match."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from cli.commands.matches import JsonOption, MatchArgument
from cli.confirmation import confirm
from cli.exits import ExitCode, Failure
from cli.front import application
from cli.output import complain, say
from cli.render import command_line, counted, escape, listing, sentence, shown
from cli.settings import Settings, home_words
from p2pdice.plurals import plural

if TYPE_CHECKING:
    from protocol import Frozen, Home, Purse, PurseKeeper, PurseLine, PurseOrigin, PursePartner, Store

EPILOG: Final = """\b
Examples:
  p2pdice purse
  p2pdice purse --json
  p2pdice purse forfeit 2026-10-03-friday
  p2pdice purse void 2026-10-03-friday             your line for the others
  p2pdice purse void 2026-10-03-friday VOID-K… VOID-Q…  with the others' lines
  p2pdice purse new

\b
MATCH is named as in p2pdice matches: its name, or the first digits of its id.
"""
ENTRIES: Final = 12
"""Entries that are listed."""
SHOWN_OF_A_LINE: Final = 20
"""Letters of a wrong line that are shown."""
ENTRY_WORDS: Final = {
    "OPENING": "opened",
    "FREEZE": "frozen",
    "SETTLEMENT": "settled",
    "VOID": "void",
    "FORFEIT": "forfeited",
}
ORIGINS: Final = ("won and lost in matches", "given up", "by entries that were lost with an old backup")
"""What is said of where coins came from, after those to begin with."""
NO_PURSE: Final = "You have no purse yet. You get one, with 1,000 coins, at your first table with stakes."
WORTH: Final = (
    "Anybody can make new keys, and each begins with 1,000 coins. So coins mean something only among people who know"
    " each other's keys: see where they came from."
)

BEFORE_FORFEIT: Final = (
    "That match is not kept here, as after going back to a backup. If you have played for stakes since the backup, do"
    " not give up anything yet: sit down at a table with those people, and they hand back what your purse lacks."
    " Otherwise it gets two ends, and is over."
)

NOT_KEPT: Final = (
    "Not all of these matches are kept here, as after going back to a backup. A player for whom such a match is settled"
    " or void tells you its end at a table with stakes."
)

app = application()

SureOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


class _Account(NamedTuple):
    """What there is to show of a purse."""

    purse: Purse
    lines: Sequence[PurseLine]
    """Its last entries."""
    origin: PurseOrigin
    partners: Sequence[PursePartner]
    """With whom its matches were settled."""
    names: dict[bytes, str]
    """Of the matches for which something is frozen."""
    to_resume: Sequence[bytes]
    """Those among them that can be played on."""
    void: Sequence[bytes]
    """Those among them that the owner has signed to be void."""
    voidable: Sequence[bytes]
    """Those among them that can become void. Bots do not sign that."""
    has_lost: bool
    """One of them is not kept here."""


@app.callback(invoke_without_command=True, epilog=EPILOG)
def purse(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with all entries.")] = False,
) -> None:
    """Show your coins, run tickets and Twin Souls, and where they came from.

    Coins are bet in matches with stakes (host --stakes, and the rules motes). A bet is frozen until the match is over
    and more than half of its players have signed its end. Frozen coins cannot be bet again, but you can go on playing
    with the others.

    What are coins worth? Keys are free, and every new key begins with 1,000 coins. Nobody can keep a person from
    playing against keys of their own, and from winning as many coins as they like. So coins mean something only among
    people who know each other's keys (see p2pdice people).

    The others remember the newest entry of every purse that was in a match with them. If you go back to a backup, they
    hand back what you lack. If you have played from the backup by then, your purse has two ends. Then it is over, and
    you begin another one without coins.
    """
    from protocol import Home

    if ctx.invoked_subcommand is not None:
        if as_json:
            instead = command_line("purse", "--json", *home_words(ctx.ensure_object(Settings).private_home()))
            raise typer.BadParameter(f"here it is only for the purse itself, as in: {instead}", param_hint="--json")
        return
    home = Home(ctx.ensure_object(Settings).private_home())
    account = _read(home, -1 if as_json else ENTRIES)
    if as_json:
        print(json.dumps(_json(account)))
    elif account is None:
        print(NO_PURSE)
    else:
        say("\n".join(_described(home, account)))


def _read(home: Home, last: int) -> _Account | None:
    """Return the purse with so many of its last entries; None if there is none."""
    from protocol.storage import archive

    if not home.has_store:
        return None
    with archive.read_store(home) as store:
        if store.loss is not None:
            complain(sentence(archive.describe(store.loss)))
        found = archive.purse(home, store)
        if found is None:
            return None
        lines = store.purses.lines(found.key, last)
        names = {each.match: store.name(each.match) for each in found.frozen}
        stored = tuple(filter(None, (store.match(each.match) for each in found.frozen)))
        to_resume = [each.match for each in archive.unfinished(stored) if each.formed]
        void = [each.match for each in stored if each.void]
        origin, partners = store.purses.origin(found), store.purses.partners(found.key)
        voidable = [each for each in (*to_resume, *void) if not archive.has_bots(store, each)]
        has_lost = len(stored) < len(found.frozen)
        return _Account(found, lines, origin, partners, names, to_resume, void, voidable, has_lost)


def _described(home: Home, account: _Account) -> Iterator[str]:
    found, lines, origin, partners, names, to_resume, *_ = account
    coins, tickets = found.balance - found.funds, found.tickets - found.free_tickets
    frozen_coins = f", {coins:,} of them frozen" if coins else ""
    frozen_tickets = f" ({tickets:,} frozen)" if tickets else ""
    yield f"{_coins(found.balance)}{frozen_coins}; {counted(found.tickets, 'run ticket')}{frozen_tickets}."
    if found.souls:
        souls = ", ".join(f"{escape(name)}{f' ({number} times)' if number > 1 else ''}" for name, number in found.souls)
        yield f"Twin Souls: {souls}."
    if found.frozen:
        is_something = bool(coins or tickets)
        yield "Frozen until their matches are over:"
        for each in found.frozen:
            signed = ", void once all have signed that" if each.match in account.void else ""
            yield f"  {_name(each.match, names)}: {_stake(each)}{signed}"
        if to_resume:
            yield f"To play on:\n    {command_line('resume', _name(to_resume[0], names), *home_words(home.path))}"
        if account.voidable and is_something:
            words = command_line("purse", "void", account.voidable[0].hex()[:8], *home_words(home.path))
            yield f"To take back what is frozen for a match, if all its players agree:\n    {words}"
        if account.has_lost:
            yield NOT_KEPT
        if is_something:
            words = command_line("purse", "forfeit", _name(found.frozen[0].match, names), *home_words(home.path))
            yield f"To give up what is frozen for a match that will never end:\n    {words}"
    left_out = f"; --json has all, here are the last {ENTRIES}" if found.height + 1 > ENTRIES else ""
    yield f"Entries, {found.height + 1:,} in all, the last first{left_out}:"
    for line in lines:
        is_change = line.kind.name in ("SETTLEMENT", "VOID", "FORFEIT")
        what = ENTRY_WORDS[line.kind.name]
        amount = f"{line.change:+,d}" if is_change else f"{line.change:,d}"
        yield f"  {line.height:>5}  {what:<9}  {amount:>10}  {line.name or line.match.hex()[:8]}".rstrip()
    yield "Where the coins came from:"
    yield f"  {origin.grant:>10,d}  to begin with"
    for change, words in zip(origin[1:], ORIGINS, strict=True):
        if change:
            yield f"  {change:>+10,d}  {words}"
    if partners:
        yield "Won and lost in matches with (a match counts for each of the others in it):"
        for partner in partners:
            yield (
                f"  {partner.change:>+10,d}  {escape(partner.name)}  {partner.fingerprint}"
                f"  {counted(partner.matches, 'match', 'matches')}"
            )
    yield WORTH


def _coins(number: int) -> str:
    return f"{number:,} {plural(number, 'coin')}"


def _name(match: bytes, names: dict[bytes, str]) -> str:
    return names.get(match) or match.hex()[:8]


def _json(account: _Account | None) -> dict[str, Any]:
    if account is None:
        return {"purse": None}
    found, lines, origin, partners, names, to_resume, void, *_ = account
    return {
        "purse": found.key.hex(),
        "height": found.height,
        "head": found.head.hex(),
        "balance": found.balance,
        "funds": found.funds,
        "tickets": found.tickets,
        "free_tickets": found.free_tickets,
        "souls": dict(found.souls),
        "frozen": [
            {
                **_as_json(each),
                "name": names.get(each.match) or None,
                "can_resume": each.match in to_resume,
                "void": each.match in void,
            }
            for each in found.frozen
        ],
        "entries": [
            {
                "height": line.height,
                "kind": line.kind.name.lower(),
                "match": line.match.hex() or None,
                "name": line.name or None,
                "coins": line.change,
            }
            for line in lines
        ],
        "origin": origin._asdict(),
        "partners": [partner._asdict() for partner in partners],
    }


@app.command(epilog=EPILOG)
def forfeit(
    ctx: typer.Context,
    match: MatchArgument,
    is_sure: SureOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give up the coins and run tickets that are frozen for a match. It cannot be taken back.

    Nobody gets them from you. If the match goes on after all, its end brings nothing into your purse, even if you win.
    """
    from protocol import Home

    home = Home(ctx.ensure_object(Settings).private_home())
    with _opened(home) as store:
        frozen = _frozen(home, store, match)
        what = _stake(frozen)
        called = store.name(frozen.match) or f"match {frozen.match.hex()[:8]}"
        if store.match(frozen.match) is None:
            complain(BEFORE_FORFEIT)
        command = command_line("purse", "forfeit", match, "--yes", *home_words(home.path))
        confirm(f"Give up {what} in {called} for ever?", is_sure, command, as_json=as_json)
        keeper = _keeper(home, store)
        keeper.own.forfeit(frozen.match)
        left = keeper.own.purse
    if as_json:
        print(json.dumps({**_as_json(frozen), "balance": left.balance}))
        return
    print(f"You have given up {what}. Your purse has {_coins(left.balance)} now.")


@app.command(epilog=EPILOG)
def void(
    ctx: typer.Context,
    match: MatchArgument,
    lines: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LINE]...", help="What the other players sent you.", show_default=False),
    ] = None,
    is_sure: SureOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take back what is frozen for a match that nobody will finish. All its players have to agree.

    Each player runs this once, and sends the line that it prints to all the others, by whatever means. Players who have
    nothing frozen do so, too. With the lines of all the others, everybody runs it again, and has the coins and run
    tickets back. MATCH is best given by the first digits of its id, as its name can differ from player to player.

    Whoever has signed so cannot play on in that match. If the others finish it instead, they win your stake.
    """
    from protocol import Frozen, Home, Voiding, void_lines
    from protocol.storage import archive

    home = Home(ctx.ensure_object(Settings).private_home())
    with _opened(home) as store:
        played, frozen = _played(home, store, match)
        last = store.purses.last_of(archive.purse_owner(home, store), played)
        if last is not None and last.name == "SETTLEMENT":
            raise Failure(
                "That match is settled.", hint=f"What is frozen: {command_line('purse', *home_words(home.path))}"
            )
        is_done = last is not None and last.name == "VOID"
        voiding = Voiding(store, played)
        players = listing([escape(name) for name in voiding.players])
        back = f" You get {_stake(frozen)} back when all have signed." if frozen is not None else ""
        for line in void_lines(lines or ()):
            try:
                voiding.take(line)
            except ValueError as error:
                raise Failure(f"{escape(_cut(line))} cannot be taken: {error}.", code=ExitCode.USAGE) from None
        question = (
            f"Sign that the match of {players} is void?{back} You cannot play on in it then. If the others finish it"
            " instead, they win what you have staked."
        )
        command = command_line("purse", "void", match, *(lines or ()), "--yes", *home_words(home.path))
        confirm(question, voiding.has_signed or is_sure, command, as_json=as_json)
        own = voiding.sign()
        if not as_json:  # first, as the others need it even if this purse has no room for the entry
            print(f"Your line, for all the others:\n{own}")
        if frozen is not None and not voiding.missing:
            _keeper(home, store).own.void(played, voiding.evidence)
    if as_json:
        missing = list(voiding.missing)
        stake = frozen or Frozen(played, 0, 0, 0)
        print(json.dumps({**_as_json(stake), "line": own, "missing": missing, "void": not missing}))
        return
    if is_done:
        print("The match is void already.")
    elif voiding.missing:
        others = ["LINE"] * (len(voiding.players) - 1)
        again = command_line("purse", "void", played.hex()[:8], *others, *home_words(home.path))
        say(
            f"Not here yet: the lines of {listing([escape(name) for name in voiding.missing])}. Give the lines of all"
            f" the others in one command:\n    {again}"
        )
    else:
        say("The match is void." + (f" You have {_stake(frozen)} back." if frozen is not None else ""))


@app.command("new", epilog=EPILOG)
def begin_anew(
    ctx: typer.Context,
    is_sure: SureOption = False,
) -> None:
    """Give up your purse, with all that is in it, and begin another one without coins. It cannot be taken back.

    This helps if entries of your purse were lost with an old backup, and people who knew it before do not take it any
    more. Matches that are not settled bring nothing into the new purse. You win coins again from those who have some.
    """
    from protocol import DamagedPurseError, Home
    from protocol.storage import archive

    home = Home(ctx.ensure_object(Settings).private_home())
    with _opened(home) as store:
        try:
            found = archive.purse(home, store)
        except DamagedPurseError:
            what = "your damaged purse"
        else:
            if found is None:
                raise Failure(NO_PURSE)
            frozen = f", {found.balance - found.funds:,} of them frozen," if found.frozen else ""
            what = f"your purse with {_coins(found.balance)}{frozen}"
        command = command_line("purse", "new", "--yes", *home_words(home.path))
        confirm(f"Give up {what} for ever?", is_sure, command)
        keeper = _keeper(home, store)
        keeper.begin_anew()
        left = keeper.own.purse
    print(f"You have given up your purse. You have a new one with {_coins(left.balance)}.")


@contextmanager
def _opened(home: Home) -> Iterator[Store]:
    """Hold the store of a home. None is made, as no purse would be in it."""
    from protocol.storage import archive

    if not home.has_store:
        raise Failure(NO_PURSE)
    with closing(archive.open_store(home)) as store:
        yield store


def _keeper(home: Home, store: Store) -> PurseKeeper:
    from protocol import PurseKeeper
    from protocol.storage import archive

    return PurseKeeper(store, archive.purse_owner(home, store), lambda text: say(sentence(shown((text,)))))


def _frozen(home: Home, store: Store, match: str) -> Frozen:
    """Return what is frozen for the match that a person names."""
    from protocol.storage import archive

    found = archive.purse(home, store)
    frozen = None if found is None else archive.frozen(store, found, match)
    if frozen is None:
        hint = f"What is frozen: {command_line('purse', *home_words(home.path))}"
        raise Failure(f"Nothing of yours is frozen for a match called {escape(match)}.", hint=hint)
    return frozen


def _played(home: Home, store: Store, match: str) -> tuple[bytes, Frozen | None]:
    """Return the match that a person names, which may be one without a stake of theirs, and what is frozen for it."""
    from protocol.storage import archive

    found = archive.purse(home, store)
    played = archive.with_stakes(store, found, match)
    if played is None:
        hint = f"What is kept here: {command_line('matches', *home_words(home.path))}"
        raise Failure(f"No match with stakes is called {escape(match)}.", hint=hint)
    return played, found.frozen_for(played) if found is not None else None


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_OF_A_LINE else f"{line[:SHOWN_OF_A_LINE]}…"


def _stake(frozen: Frozen) -> str:
    return _coins(frozen.bet) + (f" and {counted(frozen.tickets, 'run ticket')}" if frozen.tickets else "")


def _as_json(frozen: Frozen) -> dict[str, Any]:
    return {"match": frozen.match.hex(), "bet": frozen.bet, "tickets": frozen.tickets}
