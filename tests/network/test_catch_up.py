"""Who falls behind catches up, however far."""

from __future__ import annotations

import pytest

from p2pdice import PRESETS
from protocol.effects import Effect, Linked, Needed, Over, Paged, Received, Send, Ticked
from protocol.limits import FUTURE_PER_AUTHOR
from protocol.match import Match
from protocol.wire import Need, Page
from tests.simulation.world import World


@pytest.mark.parametrize("behind", range(FUTURE_PER_AUTHOR - 2, FUTURE_PER_AUTHOR + 4))
def test_a_message_that_there_was_no_room_to_keep_is_asked_for_even_the_last_one(behind: int) -> None:
    """An onlooker hears the end of what one player says, receipt included, before that of the other."""
    world = World(PRESETS["classic"], 2, seed=6)
    world.run()
    source = world.machines[0].match
    history = [signed for position in source.record.chain[1:] for signed in position.entries.values()]
    said = [[signed for signed in history if signed.message.author == author] for author in (0, 1)]
    early = said[1][-behind].message.step
    receipts = [source.record.results[author] for author in (0, 1)]

    onlooker = Match(world.data, None, b"")
    for author in (0, 1):
        onlooker.handle(Linked(author), 0.0)
    now = 100.0  # long after the links came up
    effects: list[Effect] = []
    for signed in [signed for signed in history if signed.message.step < early]:
        onlooker.handle(Received(signed.message.author, signed), now)
    for author in (1, 0):
        for signed in [*(each for each in said[author] if each.message.step >= early), receipts[author]]:
            effects += onlooker.handle(Received(author, signed), now)
    while now < 110:
        now += 1
        effects += onlooker.handle(Ticked(), now)
        asked = [each.frame for each in effects if isinstance(each, Send) and isinstance(each.frame, Need)]
        effects = [each for each in effects if isinstance(each, Over)]
        for need in asked[-1:]:
            for answer in source.handle(Needed(1, need), now):
                if isinstance(answer, Send) and isinstance(answer.frame, Page):
                    effects += onlooker.handle(Paged(0, answer.frame), now)
    assert effects == [Over(confirmed=True)]
    assert onlooker.record.position.tip == source.record.position.tip
