"""The longest matches that the rules allow: every round steps through all bids, up to 999 sixes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2pdice.moves import FACES, MAX_QUANTITY
from p2pdice.rulesets import PRESETS
from protocol.consensus.history import History
from protocol.consensus.reading import Reading
from protocol.consensus.transcript import TRANSCRIPT_TAG
from protocol.wire.canonical import encode
from tests.protocol.scribe import due
from tests.simulation.world import genesis

MARATHON: Final = PRESETS["classic"].with_options({"raise": "standard", "dice": "10"})
HIGHEST: Final = (MAX_QUANTITY, FACES[-1])


def marathon(players: int, dice: int = 10) -> Iterator[bytes]:
    """Yield the transcript of the longest match in pieces. With ten players it exceeds 100 MiB."""
    table, seeds = genesis(MARATHON.with_options({"dice": str(dice)}), players, b"marathon")
    history = History(table.encoded())
    reading = Reading(history)
    yield encode((TRANSCRIPT_TAG, history.genesis_data))
    while history.position.kind is not None:
        position = history.position
        for author in position.owed:
            signed = due(history, author, seeds[author], _next_bid)
            reading.add(signed)
            yield encode(signed.wire)
        reading.drop_position()


def _next_bid(history: History) -> str:
    state = history.position.state
    assert state is not None
    if state.bid is None:
        return "1x1"
    quantity, face, _ = state.bid
    if (quantity, face) == HIGHEST:
        return "liar"
    return f"{quantity}x{face + 1}" if face < FACES[-1] else f"{quantity + 1}x1"
