"""What a league night tells: every event, the standings after each match, and in the end how it went."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cli.exits import ExitCode
from cli.output import say
from cli.render import shown_path
from cli.text.event_json import NAMES, NIGHT_OVER, STANDINGS, event_line
from cli.text.narrate import narrate
from cli.text.seating import display_names
from p2pdice.plurals import plural
from protocol.events import DiceRolled, LobbyChanged, MatchResult, Notice, YourTurn
from protocol.files import write_whole
from protocol.storage import archive

if TYPE_CHECKING:
    from cli.text.seating import Seating
    from protocol.events import NodeEvent, PlayerInfo
    from protocol.storage.home import Home


class Ending(StrEnum):
    """Why a night is over."""

    DONE = "done"
    TOO_FEW = "too-few"
    INTERRUPTED = "interrupted"
    FAILED = "failed"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command. An interrupted or failed one ends by an exception."""
        return _EXIT_CODES[self]


@dataclass(slots=True)
class Score:
    """One player's night."""

    player: PlayerInfo
    """As they were called last."""
    matches: int = 0
    wins: int = 0
    beaten: int = 0
    """Players who had a worse place in a match, one for each such match."""


class Scores:
    """The standings of a night. Players are told apart by their keys, as anybody can take any name."""

    def __init__(self) -> None:
        self._scores: dict[str, Score] = {}

    def add(self, over: MatchResult) -> None:
        """Count a match."""
        behind = len(over.players)
        for place, seats in enumerate(over.places):
            behind -= len(seats)
            for seat in seats:
                player = over.players[seat]
                score = self._scores.setdefault(player.fingerprint, Score(player))
                score.player = player
                score.matches += 1
                score.wins += place == 0
                score.beaten += behind

    def ranked(self) -> list[Score]:
        """Return the scores: the most wins first, then the most beaten."""
        return sorted(self._scores.values(), key=lambda score: (-score.wins, -score.beaten))

    def sentence(self) -> str:
        """Return the scores as a sentence without its full stop."""
        ranked = self.ranked()
        names = display_names([score.player for score in ranked])
        return "; ".join(
            f"{name} won {score.wins} of {score.matches}, beat {score.beaten}"
            for name, score in zip(names, ranked, strict=True)
        )

    def to_json(self) -> list[dict[str, Any]]:
        """Return the scores for programs."""
        return [
            {
                "name": score.player.name,
                "fingerprint": score.player.fingerprint,
                "matches": score.matches,
                "wins": score.wins,
                "beaten": score.beaten,
            }
            for score in self.ranked()
        ]


class LeagueReport:
    """Prints a night: in sentences, or as NDJSON.

    The dice of the bot in the host's seat are not told: whoever reads along may sit at the table.

    :param matches: how many there shall be.
    :param out: folder for the transcripts, beside those in the home. It is made at once if there is none.
    :raises OSError: if that cannot be done.
    """

    def __init__(self, home: Home, matches: int, out: Path | None, *, as_json: bool) -> None:
        self._home = home
        self._of = matches
        self._out = out.resolve() if out is not None else None
        if self._out is not None:
            self._out.mkdir(parents=True, exist_ok=True)
        self.as_json = as_json
        self._scores = Scores()
        self._transcripts: list[Path] = []

    def show(self, event: NodeEvent, seating: Seating) -> None:
        """Tell an event of the node, and after a match the standings."""
        if isinstance(event, DiceRolled | YourTurn):
            return
        if isinstance(event, MatchResult):
            event = replace(event, transcript=self._kept(event.transcript))
            self._transcripts.append(event.transcript)
        sentence = narrate(_without_me(event), seating)
        if self.as_json:
            print(event_line(event, seating, sentence=sentence), flush=True)
        else:
            say(sentence)
        if isinstance(event, MatchResult):
            self._scores.add(event)
            self._say(STANDINGS, f"After {self._played}: {self._scores.sentence()}.", **self._standings())

    def pass_on(self, said: dict[str, Any]) -> None:
        """Tell the news of a program, which are written as :mod:`cli.text.event_json` says."""
        if self.as_json:
            print(json.dumps(said), flush=True)
        else:
            say(said["sentence"])

    def notice(self, text: str) -> None:
        """Tell something that has no event of its own."""
        self._say(NAMES[Notice], text, text=text)

    def close(self, ending: Ending, left: bytes) -> None:
        """Tell how the night ended, and write the transcript of the match that it left.

        :param left: id of the last match; empty if none was formed since the table was opened.
        """
        unfinished = self._saved(left) if left else None
        sentence = f"{_ENDINGS[ending].format(self._played)}."
        if unfinished is not None:
            sentence += f" The last match is unfinished. Its transcript so far is {shown_path(unfinished)}"
        path = str(unfinished) if unfinished is not None else None
        self._say(NIGHT_OVER, sentence, ending=ending, unfinished=path, **self._standings())

    @property
    def _played(self) -> str:
        return f"{len(self._transcripts)} of {self._of} {plural(self._of, 'match', 'matches')}"

    def _standings(self) -> dict[str, Any]:
        return {
            "matches": len(self._transcripts),
            "of": self._of,
            "players": self._scores.to_json(),
            "transcripts": list(map(str, self._transcripts)),
        }

    def _kept(self, transcript: Path) -> Path:
        """Return where the transcript of a match lies for the owner of the night."""
        if self._out is None:
            return transcript
        write_whole(self._out / transcript.name, transcript.read_bytes())
        return self._out / transcript.name

    def _saved(self, match: bytes) -> Path | None:
        """Write the transcript of an unfinished match, and return its path; None if it is finished."""
        with archive.read_store(self._home) as store:
            stored = next((each for each in store.matches() if each.match == match), None)
            if stored is None or stored.over:
                return None
            data = archive.transcript(store, stored)
            path = archive.path_for(self._home, store, stored)
        write_whole(path, data)
        return self._kept(path)

    def _say(self, what: str, sentence: str, /, **data: Any) -> None:
        self.pass_on({"type": what, "sentence": sentence, **data})


_EXIT_CODES: Final = {
    Ending.DONE: ExitCode.DONE,
    Ending.TOO_FEW: ExitCode.TOO_FEW,
    Ending.INTERRUPTED: ExitCode.INTERRUPTED,
    Ending.FAILED: ExitCode.FAILURE,
}
_ENDINGS: Final = {
    Ending.DONE: "The night is over after {}",
    Ending.TOO_FEW: "The night ended after {}: too few players were there",
    Ending.INTERRUPTED: "The night was interrupted after {}",
    Ending.FAILED: "The night broke off after {}",
}


def _without_me(event: NodeEvent) -> NodeEvent:
    """Return a change at the table as it is told where nobody sits who could be called *you*."""
    if not isinstance(event, LobbyChanged):
        return event
    return replace(event, players=tuple(replace(player, is_me=False) for player in event.players))
