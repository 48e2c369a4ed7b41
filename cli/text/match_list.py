"""The list of the matches that a home stores, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from cli.output import say
from cli.render import command_line, counted, escape, listing
from cli.rulesets import rules_shown
from cli.settings import home_words
from cli.text.seating import display_names
from protocol.crypto.keys import fingerprint
from protocol.events import PlayerInfo
from protocol.storage import archive
from protocol.storage.archive import (
    TranscriptFile,
    is_old,
    names_of,
    only_on_disk,
    other_owners,
    roster_index,
    unfinished,
)
from protocol.storage.database import StoreError
from protocol.storage.home import Home
from protocol.storage.store import StoredMatch
from protocol.version import PROTOCOL_VERSION, written_by
from protocol.wire.genesis import Genesis, MalformedGenesisError, unchecked_genesis, version_of
from protocol.wire.names import ruleset_hash, ruleset_label

_OLD: Final = "old"
_VOID: Final = "void"
_CLAIMED: Final = "claimed"
TRANSCRIPT: Final = "transcript"
"""The state of a match that has only a transcript."""


class ListedMatch(NamedTuple):
    """One match in the list."""

    name: str
    """The name to type for the match."""
    match: bytes
    genesis: Genesis | None
    """As stored; its signatures are not checked. None if it is damaged, or from another version of the protocol."""
    version: int
    """The version of the protocol according to the genesis."""
    state: str
    """``unfinished``, ``proposed`` or ``finished``; ``void`` if the owner has signed that it is; ``claimed`` if the
    owner left it because the other player was away; ``transcript`` for a match that was only watched, or was forgotten;
    ``old`` for any match from another version of the protocol."""
    begun: int | None
    """Seconds since 1970; None if unknown."""
    table: str
    winners: tuple[int, ...]
    """The winners as roster indices."""
    transcript: Path | None
    can_go_on: bool = False
    """Whether the player can return to the match, given the right key."""
    other_key: str = ""
    """The fingerprint of the key that began the match, if it is not the present one; otherwise empty."""
    away: int = 0
    """Seconds for which the other player of a claimed match had been away; otherwise 0."""
    rules_name: str = ""
    """The local name of its house rules, which may be any text; empty if unknown."""
    me: int | None = None
    """The reader's roster index; None if the reader only watched the match, or if it is unknown."""
    is_incomplete: bool = False
    """Whether its transcript was verified, and the match does not end in it."""

    def to_json(self) -> dict[str, Any]:
        """Return the match as data for JSON. ``begun`` is in local time."""
        genesis = self.genesis
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
            "away": self.away or None,
            "incomplete": self.is_incomplete or None,
        }

    def line(self, width: int = 0) -> str:
        """Return the match in one line, as ``p2pdice history`` and ``p2pdice matches`` print it.

        :param width: columns for the name.
        """
        time = f"  {datetime.fromtimestamp(self.begun):%H:%M}" if self.begun is not None else ""
        start = f"{self.name.ljust(width)}  {self.state:10}"
        if self.genesis is None:
            why = written_by(self.version) if self.state == _OLD else "damaged: nobody can tell who plays"
            return f"{start}  {why}"
        shown = enumerate(_names(self.genesis))
        players = listing([f"{name} (you)" if author == self.me else name for author, name in shown])
        rules = escape(self.rules_name or rules_shown(ruleset_label(self.genesis.ruleset)))
        begun = f"; begun with another key, {self.other_key}" if self.other_key else ""
        signed = {_VOID: "; you have signed that it is void", _CLAIMED: "; nobody won: you left it"}.get(self.state, "")
        if self.away:
            signed += f" when the other player had been away for {counted(self.away, 'second')}"
        incomplete = "; incomplete" if self.is_incomplete else ""
        return f"{start}{time}  {rules}: {players}{self.won}{signed}{begun}{incomplete}"

    @property
    def won(self) -> str:
        """The winners, as the end of a sentence; empty if unknown."""
        players = _names(self.genesis) if self.winners and self.genesis is not None else ()
        winners = ["you" if author == self.me else players[author] for author in self.winners if author < len(players)]
        return f"; {listing(winners)} won" if winners else ""


def _names(genesis: Genesis) -> tuple[str, ...]:
    return display_names(
        [PlayerInfo(record.join.nickname, fingerprint(record.join.identity)) for record in genesis.roster]
    )


def listed(home: Home, stored: Sequence[StoredMatch], kept: Sequence[StoredMatch]) -> list[ListedMatch]:
    """Return list entries for matches of a store.

    :param kept: all matches in the store; no two of them get the same name.
    """
    return [*_of_store(home, stored, kept, archive.files_by_match(home), archive.rules_names(home))]


def listed_with_files(home: Home, stored: Sequence[StoredMatch], kept: Sequence[StoredMatch]) -> list[ListedMatch]:
    """Return list entries for matches of a store, then for those with only a transcript, because they were watched or
    forgotten; the last written one first.

    :param kept: all matches in the store.
    """
    files, rules = archive.files_by_match(home), archive.rules_names(home)
    return [*_of_store(home, stored, kept, files, rules), *_of_files(home, files, kept, rules)]


def _of_store(
    home: Home,
    stored: Sequence[StoredMatch],
    kept: Sequence[StoredMatch],
    files: Mapping[bytes, TranscriptFile],
    rules: Mapping[bytes, str],
) -> Iterator[ListedMatch]:

    names, open_ones = names_of(kept), {each.match for each in unfinished(kept)}
    returned_to = [each for each in stored if each.match in open_ones or (each.claim is not None and not is_old(each))]
    other_keys = other_owners(home, returned_to)
    for each in stored:
        if each.given_up and not each.formed:
            continue  # it was only proposed, and never seen to begin
        genesis, file = _read(each.genesis), files.get(each.match)
        yield ListedMatch(
            names[each.match],
            each.match,
            genesis,
            version_of(each.genesis),
            _OLD if is_old(each) else _state(each),
            each.created,
            each.table_name,
            each.winners,
            file.path if file is not None else None,
            each.match in open_ones,
            other_keys.get(each.match, ""),
            each.claim.away if each.claim is not None else 0,
            _rules_name(rules, genesis),
            _me(each),
        )


def _of_files(
    home: Home, files: Mapping[bytes, TranscriptFile], kept: Sequence[StoredMatch], rules: Mapping[bytes, str]
) -> Iterator[ListedMatch]:

    own = archive.own_fingerprint(home, lambda: kept)
    for name, (match, path, data) in only_on_disk(files, kept):
        genesis, version = _read(data), version_of(data)
        state = TRANSCRIPT if version == PROTOCOL_VERSION else _OLD
        called = _rules_name(rules, genesis)
        roster = genesis.roster if genesis is not None else ()
        me = next((author for author, record in enumerate(roster) if fingerprint(record.join.identity) == own), None)
        yield ListedMatch(name, match, genesis, version, state, None, "", (), path, rules_name=called, me=me)


def _me(stored: StoredMatch) -> int | None:
    try:
        return roster_index(stored)
    except (MalformedGenesisError, StoreError):
        return None


def _state(stored: StoredMatch) -> str:
    if stored.over:
        return "finished"
    if stored.claim is not None:
        return _CLAIMED
    return _VOID if stored.void else "unfinished" if stored.formed else "proposed"


def _read(data: bytes) -> Genesis | None:
    try:
        return unchecked_genesis(data)
    except MalformedGenesisError:
        return None


def _rules_name(names: Mapping[bytes, str], genesis: Genesis | None) -> str:
    return names.get(ruleset_hash(genesis.ruleset), "") if names and genesis is not None else ""


def show(matches: Sequence[ListedMatch], home: Home, as_json: bool) -> None:
    """Print a line for each match and examples of commands, or one JSON object."""
    if as_json:
        print(json.dumps({"matches": [each.to_json() for each in matches]}))
        return
    width = max((len(each.name) for each in matches), default=0)
    for each in matches:
        say(each.line(width))
    to_resume = next((each for each in matches if each.can_go_on and not each.other_key), None)
    to_take_back = next((each for each in matches if each.state == _CLAIMED and not each.other_key), None)
    to_see = next((each for each in matches if each.state in ("finished", TRANSCRIPT)), None)
    to_save = to_see if to_see is not None and to_see.transcript is None else None
    commands = (
        ("resume", "Return to", to_resume),
        ("resume", "Take back", to_take_back),
        ("matches save", "First", to_save),
        ("replay", "See again", to_see),
        ("verify", "Verify", to_see),
    )
    for command, what, match in commands:
        if match is not None:
            print(f"{what + ':':10} {command_line(*command.split(), match.name, *home_words(home.path))}")
