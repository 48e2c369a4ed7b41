"""``p2pdice replay`` with a hostile file: it prints only printable lines, or refuses the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands.replay import data_lines, story
from protocol.consensus.verifier import Judgement, examine
from protocol.match.replay import NoMatchError, Replay
from tests.fuzz.samples import sign_transcript
from tests.fuzz.target import Target
from tests.fuzz.targets import verifier

PATH = Path("hostile.p2pdice")


def check(data: bytes) -> None:
    for content in dict.fromkeys((data, sign_transcript(data))):
        _look_back(content)


def _look_back(content: bytes) -> None:
    examined = examine(content)
    if examined.history is None:
        with pytest.raises(NoMatchError):
            Replay(examined, PATH)
        return
    assert examined.verdict.verdict is not Judgement.ALTERED
    replay = Replay(examined, PATH)
    for seat in (None, 0):
        told = "\n".join(story(replay, seat, []))
        assert told.replace("\n", "").isprintable()
        _, *events = map(json.loads, data_lines(replay, seat, PATH))
        assert all(0 <= event["step"] <= replay.last_step + 1 for event in events)


TARGETS = (Target("replay-command", check, verifier.examples, verifier.mutate),)
