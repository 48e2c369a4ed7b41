"""Transcripts to measure with, played in memory."""

from p2pdice import PRESETS
from tests.simulation.world import played as play


def played(players: int) -> bytes:
    """Return the transcript of a whole match of ``classic`` between house bots."""
    return play(PRESETS["classic"], players)
