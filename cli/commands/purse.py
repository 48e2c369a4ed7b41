"""``p2pdice purse``: the coins, run tickets and Twin Souls that a player keeps between matches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from cli.bots.crew import at_home
from cli.commands.matches import MatchArgument
from cli.commands.people import WhoArgument, find
from cli.exits import ExitCode, Failure
from cli.front import JsonOption, YesOption, application, stands_alone
from cli.home import home_of
from cli.output import complain, confirm, say
from cli.render import command_line, counted, escape, listing, sentence, shown
from cli.settings import home_words
from p2pdice.moves import Stake, parse_move
from p2pdice.plurals import coins
from protocol.errors import NodeError
from protocol.node.purse import PurseKeeper
from protocol.storage import archive
from protocol.storage.home import Home
from protocol.storage.stakes import Voiding, met, purse_owner, void_lines, with_stakes
from protocol.wire.purses import MATCH_BYTES, SOUL_NAMES

if TYPE_CHECKING:
    from protocol.storage.purses import OwnPurse
    from protocol.storage.store import Store

EPILOG: Final = """\b
Examples:
  p2pdice purse
  p2pdice purse --json
  p2pdice purse forfeit
  p2pdice purse void 2026-10-03-friday             your line for the others
  p2pdice purse void 2026-10-03-friday VOID-K… VOID-Q…  with the others' lines
  p2pdice purse forget Anna

\b
MATCH is named as in p2pdice matches: its name, or the first digits of its id.
"""
RECORDS: Final = 12
"""Maximum number of matches in the list."""
SHOWN_OF_A_LINE: Final = 20
"""How many characters of a refused line are shown."""
NO_PURSE: Final = "You have no purse yet. You get one, with 1,000 coins, at your first table with stakes."
WORTH: Final = (
    "Anybody can make new keys, and each begins with 1,000 coins. So coins mean something only among people who know"
    " each other's keys."
)

app = application()


class _Account(NamedTuple):
    """A purse, and the facts about its current match that are shown with it."""

    own: OwnPurse
    names: dict[bytes, str]
    """The names of the matches kept here, by the first :data:`MATCH_BYTES` bytes of their ids."""
    can_resume: bool
    """Whether the match that keeps the purse busy can be resumed."""
    is_void: bool
    """Whether the owner has signed that this match is void."""
    sealed: tuple[int, int] | None
    """The coins and run tickets that the owner has staked in this match, while nobody else can see them yet."""


@app.callback(invoke_without_command=True, epilog=EPILOG)
def purse(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with all matches.")] = False,
) -> None:
    """Show your coins, run tickets and Twin Souls, and the matches they came from.

    You bet coins in matches with stakes (host --stakes, and the rules motes). Such a match keeps your purse busy from
    its beginning until it is over and more than half of its players have signed its end. Until then you cannot play
    for other stakes.

    What are coins worth? Keys are free, and every new key begins with 1,000 coins. Nobody can stop a person from
    playing against their own keys, and winning as many coins as they like. So coins mean something only among people
    who know each other's keys (see p2pdice people).

    Everybody you play with remembers your purse. If you lose it, or go back to a backup, they hand back what is
    missing when you next sit down with them. If you stake something before that, your purse contradicts itself, and you
    begin another one without coins.
    """
    if not stands_alone(ctx, as_json, "purse", "--json"):
        return
    home = home_of(ctx)
    account = _read(home)
    if as_json:
        print(json.dumps(_json(account)))
    elif account is None:
        say(NO_PURSE)
    else:
        say("\n".join(_described(home, account)))


def _read(home: Home) -> _Account | None:
    """Return the purse of a home; None if the home has none."""
    if not home.has_store:
        return None
    with archive.read_store(home) as store:
        if store.loss is not None:
            complain(sentence(archive.describe(store.loss)))
        owner = purse_owner(home, store)
        if not owner:
            return None
        own = PurseKeeper(store, owner, complain).own
        matches = store.matches()
        busy = next((each for each in matches if each.match == own.busy), None)
        can_resume = busy is not None and (busy.claim is not None or busy in archive.unfinished(matches))
        names = {each.match[:MATCH_BYTES]: each.name for each in matches}
        sealed = _sealed(store.choices(own.busy).values()) if busy is not None and own.stake is None else None
        return _Account(own, names, can_resume, busy is not None and busy.void, sealed)


def _sealed(choices: Iterable[str]) -> tuple[int, int] | None:
    moves = (parse_move(text) for text in choices if text.startswith("stake "))  # other stored choices are to concede
    return next(((each.bet, each.tickets) for each in moves if isinstance(each, Stake)), None)


def _described(home: Home, account: _Account) -> Iterator[str]:
    (purse, _, busy, stake), names, can_resume, is_void, sealed = account
    end, words = purse.end, home_words(home.path)
    yield f"{coins(end.balance)}; {counted(end.tickets, 'run ticket')}."
    if end.souls:
        souls = (f"{SOUL_NAMES[number]}{f' ({count} times)' if count > 1 else ''}" for number, count in end.souls)
        yield f"Twin Souls: {', '.join(souls)}."
    if busy:
        name, match = _name(names, busy), busy.hex()[:8]
        staked = f"{_stake(stake or sealed)} staked" if stake or sealed else "you have not staked anything yet"
        hidden = ", not opened yet" if sealed else ""
        yield f"Busy with {name}: {staked}{hidden}{', void once all have signed that' if is_void else ''}."
        if can_resume:
            yield f"To play on:\n    {command_line('resume', name, *words)}"
        get_back, give_up = "To take your stake back", "To give your stake up"
        if not (stake or sealed):
            get_back, give_up = "To free your purse", "To free your purse without them"
        if can_resume or is_void:
            yield f"{get_back}, if all players agree:\n    {command_line('purse', 'void', match, *words)}"
        yield "If the match is over for others in it, they hand its end to you at a table with stakes."
        yield f"{give_up}:\n    {command_line('purse', 'forfeit', *words)}"
    if purse.era:
        yield f"This is your purse number {purse.era + 1}; it began without coins."
    if not end.height:
        yield "No match with stakes has changed it yet."
        yield WORTH
        return
    left_out = f"; --json has more, here are the last {RECORDS}" if len(purse.records) > RECORDS else ""
    yield f"Matches with stakes, {end.height:,} in all, the last first{left_out}:"
    for height, record in reversed(list(enumerate(purse.records, purse.states[0].height + 1))[-RECORDS:]):
        soul = f"  {SOUL_NAMES[record.soul]}" if record.soul else ""
        yield f"  {height:>5}  {record.change:>+10,d}, {record.bet:,d} staked  {_name(names, record.match)}{soul}"
    yield WORTH


def _name(names: dict[bytes, str], match: bytes) -> str:
    return names.get(match[:MATCH_BYTES]) or match.hex()[:8]


def _json(account: _Account | None) -> dict[str, Any]:
    if account is None:
        return {"purse": None}
    (purse, _, busy, stake), names, can_resume, is_void, sealed = account
    end = purse.end
    busy_with = {
        **_as_json(busy, stake or sealed),
        "name": names.get(busy[:MATCH_BYTES]),
        "sealed": sealed is not None,
        "can_resume": can_resume,
        "void": is_void,
    }
    return {
        "head": end.id.hex(),
        "era": purse.era,
        "height": end.height,
        "balance": end.balance,
        "tickets": end.tickets,
        "souls": {SOUL_NAMES[number]: count for number, count in end.souls},
        "busy": busy_with if busy else None,
        "records": [
            {**each._asdict(), "match": each.match.hex(), "name": names.get(each.match), "soul": SOUL_NAMES[each.soul]}
            for each in purse.records
        ],
    }


@app.command(epilog=EPILOG)
def forfeit(ctx: typer.Context, is_sure: YesOption = False, as_json: JsonOption = False) -> None:
    """Give up what you have staked in the match that your purse is busy with. This cannot be undone.

    If the match continues after all, its end adds nothing to your purse, even if you win.
    """
    home = home_of(ctx)
    with _opened(home) as store:
        keeper = _keeper(home, store)
        _, _, busy, stake = keeper.own
        if not busy:
            raise Failure("You have nothing staked in any match.")
        called = store.name(busy) or f"match {busy.hex()[:8]}"
        command = command_line("purse", "forfeit", "--yes", *home_words(home.path))
        confirm(f"Give up {_stake(stake)} in {called} for ever?", is_sure, command, as_json=as_json)
        keeper.forfeit()
        left = keeper.own.purse.end.balance
    if as_json:
        print(json.dumps({**_as_json(busy, stake), "balance": left}))
    else:
        print(f"You have given up {_stake(stake)}. Your purse has {coins(left)} now.")


@app.command(epilog=EPILOG)
def void(
    ctx: typer.Context,
    match: MatchArgument,
    lines: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LINE]...", help="What the other players sent you.", show_default=False),
    ] = None,
    is_sure: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Take back what is staked in a match that nobody will finish. All its players have to agree.

    Each player runs this once, and sends the printed line to all the others, by any means. Then everybody runs it again
    with the lines of all the others, and gets the coins and run tickets back. Your own bots sign with you, and their
    lines are printed below yours. For MATCH, use the first digits of the match's id, because its name can differ from
    player to player.

    Once you have signed, you cannot continue that match. If the others finish it instead, they win your stake.
    """
    home = home_of(ctx)
    with _opened(home) as store:
        played = with_stakes(store, match)
        if played is None:
            hint = f"What is kept here: {command_line('matches', *home_words(home.path))}"
            raise Failure(f"No match with stakes is called {escape(match)}.", hint=hint)
        keeper, voiding = _keeper(home, store), Voiding(store, played)
        own = keeper.own
        stake = own.stake if own.busy == played else None
        for line in void_lines(lines or ()):
            try:
                voiding.take(line)
            except ValueError as error:
                raise Failure(f"{escape(_cut(line))} cannot be taken: {error}.", code=ExitCode.USAGE) from None
        players = listing([escape(name) for name in voiding.players])
        back = f" You get {_stake(stake)} back when all have signed." if stake else ""
        question = (
            f"Sign that the match of {players} is void?{back} After that you cannot continue it. If the others"
            " finish it anyway, they win your stake."
        )
        command = command_line("purse", "void", match, *(lines or ()), "--yes", *home_words(home.path))
        confirm(question, voiding.has_signed or is_sure, command, as_json=as_json)
        line, is_done = voiding.sign(), store.purses.evidence(played) != ()
        of_bots = {} if is_done else _signed_by_bots(home, store, played)
        for each in of_bots.values():
            voiding.take(each)
        if not voiding.missing:
            keeper.take_evidence(voiding.evidence)
    missing = () if is_done else voiding.missing
    if as_json:
        told = {"line": line, "bot_lines": [*of_bots.values()], "missing": missing, "void": not missing}
        print(json.dumps({**_as_json(played, stake), **told}))
        return
    print(f"Your line, for all the others:\n{line}")
    for name, each in of_bots.items() if missing else ():
        print(f"And that of your bot {escape(name)}:\n{each}")
    if is_done:
        print("The match is void already.")
    elif missing:
        others = ["LINE"] * (len(voiding.players) - 1)
        again = command_line("purse", "void", played.hex()[:8], *others, *home_words(home.path))
        say(
            f"Still missing: the lines of {listing([escape(name) for name in missing])}. Give the lines of all"
            f" the others in one command:\n    {again}"
        )
    else:
        say("The match is void." + (f" You have {_stake(stake)} back." if stake else ""))


def _signed_by_bots(home: Home, store: Store, match: bytes) -> dict[str, str]:
    """Sign for the owner's own bots; return their lines by the bot's name. Only this machine can sign for them."""
    lines = {}
    stored = store.match(match)
    for bot in at_home(home, stored).bots if stored is not None else ():
        with suppress(NodeError), closing(archive.open_store(Home(bot.home))) as its_store:
            lines[bot.name] = Voiding(its_store, match).sign()
    return lines


@app.command(epilog=EPILOG)
def forget(ctx: typer.Context, who: WhoArgument, is_sure: YesOption = False) -> None:
    """Forget what you know about another player's purse from your matches together.

    A purse is refused if it no longer shows any record that you know, for example after five hundred matches with
    others. If you believe its owner anyway, forget the purse: then it is accepted like a stranger's.
    """
    home = home_of(ctx)
    with _opened(home) as store:
        person, name = find(store.people.everybody(), " ".join(who), home)
        called = escape(name) or person.fingerprint
        known = met(store, person.fingerprint)
        if known is None:
            raise Failure(f"You have not played for stakes with {called}.")
        command = command_line("purse", "forget", person.fingerprint, "--yes", *home_words(home.path))
        confirm(f"Accept any purse that {called} shows from now on?", is_sure, command)
        store.purses.forget(known)
    print(f"The purse of {called} is forgotten.")


@contextmanager
def _opened(home: Home) -> Iterator[Store]:
    """Open the store of a home. A missing store is not created, because it would have no purse.

    :raises Failure: if the home has no store.
    """
    if not home.has_store:
        raise Failure(NO_PURSE)
    with closing(archive.open_store(home)) as store:
        yield store


def _keeper(home: Home, store: Store) -> PurseKeeper:
    owner = purse_owner(home, store)
    if not owner:
        raise Failure(NO_PURSE)
    return PurseKeeper(store, owner, lambda text: complain(sentence(shown((text,)))))


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_OF_A_LINE else f"{line[:SHOWN_OF_A_LINE]}…"


def _stake(stake: tuple[int, int] | None) -> str:
    bet, tickets = stake or (0, 0)
    return coins(bet) + (f" and {counted(tickets, 'run ticket')}" if tickets else "")


def _as_json(match: bytes, stake: tuple[int, int] | None) -> dict[str, Any]:
    bet, tickets = stake or (0, 0)
    return {"match": match.hex(), "bet": bet, "tickets": tickets}
