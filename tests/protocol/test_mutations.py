"""The verifier rejects every change to a fair transcript. It blames the player who signed the offence, or no player."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from p2pdice.rulesets import PRESETS
from protocol.consensus.verifier import Judgement, verify
from protocol.wire.messages import Kind
from tests.protocol.mutations import (
    ALTERATIONS,
    OFFENCES,
    FairMatch,
    altered_headers,
    altered_proofs,
    judge,
    judge_end,
    judge_file,
    judge_whole,
    play,
    proofs,
)
from tests.simulation.signatures import cached_checks
from tests.tiers import slowly, thoroughly

MATCHES = 100
"""The number of matches of each ruleset in the slow test."""
SHARES = 10
"""The number of tests into which the matches of one ruleset are divided, so that they can run in parallel."""
SPECIAL = {"a stake above funds", "changed votes", "not named by the votes", "a vote against its author's CLOSE"}
"""Changes that need a match with stakes or with a player voted out."""
WHOLE = 400
"""One in this many files is also verified in full, from the first byte to the last."""


@cached_checks()
def examine(
    played: FairMatch, places: list[int], rng: Random, *, every_byte: bool = False, share: int = 1
) -> Counter[str]:
    """Check the verdict on every change at these messages; return how often each change was made, by name.

    :param share: each change is made at the first message that allows it, then at one in ``share`` of the others.
    """
    names = [record.join.nickname for record in played.genesis.roster]
    done: Counter[str] = Counter()
    possible: Counter[str] = Counter()

    def is_due(name: str) -> bool:
        possible[name] += 1
        return possible[name] == 1 or (possible[name] + len(name)) % share == 0

    for place in places:
        for name, alteration in ALTERATIONS.items():
            if name != "appended" and place == len(played.messages):
                continue
            changed = list(alteration(played, place, rng))
            if not changed or not is_due(name):
                continue
            if name == "truncated" and not every_byte:
                changed = rng.sample(changed, 4)
            for rest in changed:
                expect(played, place, rest, None, rng, name)
            done[name] += len(changed)
        for name, offence in OFFENCES.items():
            if name != "a message after the end" and place == len(played.messages):
                continue
            offences = list(offence(played, place, rng))
            if not offences or not is_due(name):
                continue
            for rest, author in offences:
                expect(played, place, rest, names[author], rng, name)
            done[name] += len(offences)
    for data in altered_headers(played, rng):
        verdict = verify(data)
        assert (verdict.verdict, verdict.culprit) == (Judgement.ALTERED, None)
        done["altered header"] += 1
    return done


def expect(played: FairMatch, place: int, rest: bytes, culprit: str | None, rng: Random, name: str) -> None:
    verdict = (judge_end if name == "truncated" else judge)(played, place, rest)
    verdicts = {Judgement.MISCONDUCT} if culprit else {Judgement.ALTERED, Judgement.INCOMPLETE}
    assert verdict.verdict in verdicts, (name, place, verdict)
    assert verdict.culprit == culprit, (name, place, verdict)
    # A proof of misconduct after the end of a match does not change its result.
    assert culprit or not verdict.winners
    if not rng.randrange(WHOLE):
        whole = judge_whole(played, place, rest)
        known = place if name == "truncated" else played.starts[played.step(place)]
        assert (whole.verdict, whole.culprit, whole.step) == (verdict.verdict, verdict.culprit, verdict.step)
        assert whole.signatures == known + verdict.signatures


FEW = ["classic", "motes", *thoroughly(name for name in PRESETS if name not in ("classic", "motes"))]


@pytest.mark.parametrize("players", [*thoroughly([2]), 3])
@pytest.mark.parametrize("preset", FEW)
def test_a_sample_of_changes(preset: str, players: int) -> None:
    rng = Random(f"{preset} {players}")
    played = play(PRESETS[preset], players, rng.randrange(2**32))
    assert verify(played.data).verdict is Judgement.FAIR
    end = len(played.messages)
    firsts = {
        (played.position(place).purpose, each.message.kind): place
        for place, each in reversed(list(enumerate(played.messages)))
    }
    places = sorted({*firsts.values(), *rng.sample(range(end), 5), end - 1, end})
    done = examine(played, places, rng, share=3)
    assert set(done) >= (ALTERATIONS.keys() | OFFENCES.keys()) - SPECIAL
    assert "a stake above funds" in done or not played.genesis.ruleset.stakes


@pytest.mark.parametrize("preset", FEW)
def test_changes_to_a_match_with_a_player_voted_out(preset: str) -> None:
    rng = Random(f"{preset} votes")
    played = voted(preset, rng)
    votes = [place for place, each in enumerate(played.messages) if each.message.kind is Kind.CLOSE]
    steps = {played.step(place) for place in votes[:3]}
    places = [place for place in range(len(played.messages)) if played.step(place) in steps]
    done = examine(played, places, rng, share=2)
    assert set(done) >= {"changed votes", "more votes", "not named by the votes", "a vote against its author's CLOSE"}


def voted(preset: str, rng: Random) -> FairMatch:
    """Return a match in which a player fell silent and was voted out."""
    while True:
        played = play(PRESETS[preset], rng.choice((3, 4)), rng.randrange(2**32), leaves_after=rng.randrange(60, 400))
        if played.has_votes:
            assert verify(played.data).verdict in (Judgement.FAIR, Judgement.UNPROVEN)
            return played


@pytest.mark.parametrize("preset", ["motes", *thoroughly(name for name in PRESETS if name != "motes")])
def test_proofs_are_accepted_and_altered_proofs_are_not(preset: str) -> None:
    rng = Random(f"{preset} proofs")
    played = play(PRESETS[preset], 3, rng.randrange(2**32))
    names = [record.join.nickname for record in played.genesis.roster]
    for data, author in proofs(played, rng):
        assert judged(played, data, rng) == (Judgement.MISCONDUCT, names[author])
    for data in altered_proofs(played, rng):
        assert judged(played, data, rng) == (Judgement.ALTERED, None)


def judged(played: FairMatch, data: bytes, rng: Random) -> tuple[Judgement, str | None]:
    """Return the verdict on a file and the culprit's name. One file in ten is also verified in full."""
    verdict = judge_file(played, data)
    if not rng.randrange(10):
        whole = verify(data)
        assert (whole.verdict, whole.culprit, whole.step) == (verdict.verdict, verdict.culprit, verdict.step)
    return verdict.verdict, verdict.culprit


@pytest.mark.parametrize(
    "preset", [*thoroughly(["classic", "motes"]), *slowly(each for each in PRESETS if each not in ("classic", "motes"))]
)
def test_every_change_to_every_message_of_one_match(preset: str) -> None:
    rng = Random(f"{preset} thoroughly")
    played = play(PRESETS[preset], 2, rng.randrange(2**32))
    done = examine(played, list(range(len(played.messages) + 1)), rng)
    assert set(done) >= (ALTERATIONS.keys() | OFFENCES.keys()) - SPECIAL


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("preset", PRESETS)
def test_every_change_to_every_message_of_many_matches(preset: str, share: int) -> None:
    done: Counter[str] = Counter()
    for number in range(share, MATCHES, SHARES):
        rng = Random(f"{preset} {number}")
        played = play(PRESETS[preset], rng.choice((2, 2, 2, 3)), rng.randrange(2**32))
        done += examine(played, list(range(len(played.messages) + 1)), rng, every_byte=True)
        if not number % 4:
            played = voted(preset, rng)
            done += examine(played, list(range(len(played.messages) + 1)), rng)
    print(preset, share, done.total(), dict(done))
