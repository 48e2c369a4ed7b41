"""The list of the matches that a home keeps, for people and as JSON: what each is called, who played, who won."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cli.output import say
from cli.render import command_line, listing
from cli.settings import home_words
from cli.text.seating import display_names

if TYPE_CHECKING:
    from protocol import Home, StoredMatch


_OLD: Final = "old"


class Listed(NamedTuple):
    """One match of the list."""

    name: str
    """What to type for it."""
    match: bytes
    genesis: bytes
    state: str
    """``unfinished``, ``proposed``, ``finished``; ``transcript`` for one that was only watched, or is forgotten;
    ``old`` for one of another version of the protocol, whatever became of it."""
    begun: int | None
    """Seconds since 1970, if that is known."""
    table: str
    winners: tuple[int, ...]
    """Roster indices."""
    transcript: Path | None

    @property
    def can_go_on(self) -> bool:
        """Whether one can return to it."""
        return self.state in ("unfinished", "proposed")

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
            "players": players,
            "winners": [players[author] for author in self.winners if author < len(players)],
            "transcript": str(self.transcript) if self.transcript is not None else None,
        }

    def line(self, width: int = 0) -> str:
        """Return the match in a line.

        :param width: columns for the name.
        """
        from protocol import MalformedGenesisError, fingerprint, parse_genesis, ruleset_label, version_of
        from protocol.events import PlayerInfo
        from protocol.version import written_by

        time = f"  {datetime.fromtimestamp(self.begun):%H:%M}" if self.begun is not None else ""
        start = f"{self.name.ljust(width)}  {self.match.hex()[:8]}  {self.state:10}"
        try:
            genesis = parse_genesis(self.genesis)
        except MalformedGenesisError:
            why = written_by(version_of(self.genesis)) if self.state == _OLD else "damaged: nobody can tell who plays"
            return f"{start}  {why}"
        players = display_names(
            [PlayerInfo(record.join.nickname, fingerprint(record.join.identity)) for record in genesis.roster]
        )
        winners = [players[author] for author in self.winners if author < len(players)]
        won = f"; {listing(winners)} won" if winners else ""
        return f"{start}{time}  {ruleset_label(genesis.ruleset)}: {listing(players)}{won}"


def listed(home: Home, stored: Sequence[StoredMatch], kept: Sequence[StoredMatch]) -> list[Listed]:
    """Return matches of a store for the list.

    :param kept: all that the store holds: what names a match names no other of these.
    """
    from protocol.storage.archive import is_old, name_of
    from protocol.storage.transcript_files import transcripts

    files = dict(transcripts(home))
    return [
        Listed(
            name_of(each, kept),
            each.match,
            each.genesis,
            _OLD if is_old(each) else "finished" if each.over else "unfinished" if each.formed else "proposed",
            each.created,
            each.table,
            each.winners,
            files.get(each.match),
        )
        for each in stored
    ]


def only_on_disk(home: Home, kept: Sequence[StoredMatch]) -> Iterator[Listed]:
    """Yield the matches with only a transcript, because they were watched or forgotten; the last written first."""
    from protocol import PROTOCOL_VERSION, version_of
    from protocol.storage.match_names import is_name, short_id
    from protocol.storage.transcript_files import genesis_of, transcripts, written

    known = {each.match for each in kept}
    files = {match: path for match, path in transcripts(home) if match not in known}
    for match, path in sorted(files.items(), key=lambda item: written(item[1]), reverse=True):
        # A file that came from elsewhere may be called anything.
        name = path.stem if is_name(path.stem) else short_id(match, [*files, *known])
        genesis = genesis_of(path) or b""
        state = "transcript" if version_of(genesis) == PROTOCOL_VERSION else _OLD
        yield Listed(name, match, genesis, state, None, "", (), path)


def show(matches: Sequence[Listed], home: Home, as_json: bool) -> None:
    """Print matches, a line each and what can be done with them, or one JSON object."""
    if as_json:
        print(json.dumps({"matches": [each.to_json() for each in matches]}))
        return
    width = max((len(each.name) for each in matches), default=0)
    for each in matches:
        say(each.line(width))
    commands = (("resume", "Return to", True), ("replay", "See again", False), ("verify", "Verify", False))
    for command, what, can_go_on in commands:
        newest = next((each.name for each in matches if each.state != _OLD and each.can_go_on is can_go_on), None)
        if newest is not None:
            print(f"{what + ':':10} {command_line(command, newest, *home_words(home.path))}")
