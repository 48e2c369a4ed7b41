"""All targets, by name."""

from __future__ import annotations

from typing import Final

from tests.fuzz.target import Target
from tests.fuzz.targets import (
    bots,
    canonical,
    frames,
    identity,
    joinlines,
    lobby,
    messages,
    moves,
    purses,
    referee,
    replay_command,
    rules,
    store,
    txt,
    verifier,
    verify_command,
    words,
)

_MODULES: Final = (
    *(bots, canonical, frames, identity, joinlines, lobby, messages, moves, referee, rules, store, txt, verifier),
    *(purses, replay_command, verify_command, words),
)
TARGETS: Final[dict[str, Target]] = {target.name: target for module in _MODULES for target in module.TARGETS}
