"""The list of the matches that a home keeps, for people and as JSON: their names, players and winners."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.output import say
from cli.render import command_line, escape, listing
from cli.settings import home_words
from cli.text.seating import display_names

if TYPE_CHECKING:
    from protocol import Genesis, Home, StoredMatch


_OLD: Final = "old"
_VOID: Final = "void"


class Listed(NamedTuple):
    """One match of the list."""

    name: str
    """The name to type for the match."""
    match: bytes
    genesis: bytes
    state: str
    """``unfinished``, ``proposed``, ``finished``; ``void`` if the owner has signed so; ``transcript`` for a match that
    was only watched, or is forgotten; ``old`` for any match of another version of the protocol."""
    begun: int | None
    """Seconds since 1970, if that is known."""
    table: str
    winners: tuple[int, ...]
    """Roster indices."""
    transcript: Path | None
    can_go_on: bool
    """Whether the player can return to the match, with the right key."""
    other_key: str
    """Fingerprint of the key with which the match was begun, if it is not the present one; else empty."""
    rules_name: str = ""
    """What people here call its house rules: any text. Empty if no name is known."""

    def to_json(self) -> dict[str, Any]:
        """Return the match as JSON-able data; ``begun`` is local time."""
        from protocol import MalformedGenesisError, parse_genesis, ruleset_label

        try:
            genesis = parse_genesis(self.genesis)
        except MalformedGenesisError:
            genesis = None
        players = [record.join.nickname for record in genesis.roster] if genesis is not None else []
        begun = datetime.fromtimestamp(self.begun) if self.begun is not None else None
        return {
            "name": self.name,
            "table": self.table or None,
            "match": self.match.hex(),
            "state": self.state,
            "begun": begun.isoformat(timespec="minutes") if begun is not None else None,
            "rules": ruleset_label(genesis.ruleset) if genesis is not None else None,
            "rules_name": self.rules_name or None,
            "players": players,
            "winners": [players[author] for author in self.winners if author < len(players)],
            "transcript": str(self.transcript) if self.transcript is not None else None,
            "other_key": self.other_key or None,
        }

    def line(self, width: int = 0) -> str:
        """Return the match in a line.

        :param width: columns for the name.
        """
        from protocol import MalformedGenesisError, parse_genesis, ruleset_label, version_of
        from protocol.version import written_by

        time = f"  {datetime.fromtimestamp(self.begun):%H:%M}" if self.begun is not None else ""
        start = f"{self.name.ljust(width)}  {self.state:10}"
        try:
            genesis = parse_genesis(self.genesis)
        except MalformedGenesisError:
            why = written_by(version_of(self.genesis)) if self.state == _OLD else "damaged: nobody can tell who plays"
            return f"{start}  {why}"
        players = listing(_names(genesis))
        rules = escape(self.rules_name) or ruleset_label(genesis.ruleset)
        begun = f"; begun with another key, {self.other_key}" if self.other_key else ""
        signed = "; you have signed that it is void" if self.state == _VOID else ""
        return f"{start}{time}  {rules}: {players}{self.won}{signed}{begun}"

    @property
    def won(self) -> str:
        """Return the winners, as the end of a sentence; empty if they are not known."""
        from protocol import parse_genesis

        players = _names(parse_genesis(self.genesis)) if self.winners else ()
        winners = [players[author] for author in self.winners if author < len(players)]
        return f"; {listing(winners)} won" if winners else ""


def _names(genesis: Genesis) -> tuple[str, ...]:
    from protocol import fingerprint
    from protocol.events import PlayerInfo

    return display_names(
        [PlayerInfo(record.join.nickname, fingerprint(record.join.identity)) for record in genesis.roster]
    )


def listed(home: Home, stored: Sequence[StoredMatch], kept: Sequence[StoredMatch]) -> list[Listed]:
    """Return matches of a store for the list.

    :param kept: all that the store holds; no two of these get the same name.
    """
    from protocol.storage.archive import files_by_match, is_old, names_of, other_owner, rules_names, unfinished

    files, names, of_rules = files_by_match(home), names_of(kept), rules_names(home)
    open_ones = {each.match for each in unfinished(kept)}
    return [
        Listed(
            names[each.match],
            each.match,
            each.genesis,
            _OLD if is_old(each) else _state(each),
            each.created,
            each.table_name,
            each.winners,
            files.get(each.match),
            each.match in open_ones,
            other_owner(home, each) if each.match in open_ones else "",
            _rules_name(of_rules, each.genesis),
        )
        for each in stored
    ]


def _state(stored: StoredMatch) -> str:
    if stored.over:
        return "finished"
    return _VOID if stored.void else "unfinished" if stored.formed else "proposed"


def only_on_disk(home: Home, kept: Sequence[StoredMatch]) -> Iterator[Listed]:
    """Yield the matches with only a transcript, because they were watched or forgotten; the last written first."""
    from protocol import PROTOCOL_VERSION, version_of
    from protocol.storage import archive

    names = archive.rules_names(home)
    for name, match, genesis, path in archive.only_on_disk(home, kept):
        state = "transcript" if version_of(genesis) == PROTOCOL_VERSION else _OLD
        rules = _rules_name(names, genesis)
        yield Listed(name, match, genesis, state, None, "", (), path, can_go_on=False, other_key="", rules_name=rules)


def _rules_name(names: dict[bytes, str], genesis: bytes) -> str:
    from protocol import MalformedGenesisError, parse_genesis, ruleset_hash

    try:
        return names.get(ruleset_hash(parse_genesis(genesis).ruleset), "") if names else ""
    except MalformedGenesisError:
        return ""


def show(matches: Sequence[Listed], home: Home, as_json: bool) -> None:
    """Print a line for each match and the commands for one, or one JSON object."""
    if as_json:
        print(json.dumps({"matches": [each.to_json() for each in matches]}))
        return
    width = max((len(each.name) for each in matches), default=0)
    for each in matches:
        say(each.line(width))
    to_resume = next((each for each in matches if each.can_go_on and not each.other_key), None)
    to_see = next((each for each in matches if each.state in ("finished", "transcript")), None)
    to_save = to_see if to_see is not None and to_see.transcript is None else None
    commands = (
        ("resume", "Return to", to_resume),
        ("matches save", "First", to_save),
        ("replay", "See again", to_see),
        ("verify", "Verify", to_see),
    )
    for command, what, match in commands:
        if match is not None:
            print(f"{what + ':':10} {command_line(*command.split(), match.name, *home_words(home.path))}")
